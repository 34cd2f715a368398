//! The page of a sequence, held: found, locked, and written to WAL.
//!
//! `pg_extension/src/page/held.rs` of 0.1.0, as it was.

use core::ffi::c_int;

use pgrx::pg_sys;

use crate::ffi;

/// Where the page of a relation is: good while the relation is locked and unchanged.
///
/// With it a visit needs neither the relation cache nor the buffer table, which
/// are a third of what `nextval` spends.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    file: ffi::RelationFile,
    buffer: pg_sys::Buffer,
    /// Whether changes of the relation are logged.
    pub(crate) needs_wal: bool,
}

/// Why a relation is no sequence to take from.
#[derive(Clone, Copy)]
pub(crate) enum Unusable {
    /// There is no such relation any more.
    Gone,
    /// Unlogged or temporary.
    NotPermanent,
    /// Not a sequence's page.
    Broken,
}

/// The data of a sequence's one tuple (`FormData_pg_sequence_data`).
#[repr(C)]
pub(crate) struct SequenceData {
    pub(crate) last_value: i64,
    pub(crate) log_cnt: i64,
    pub(crate) is_called: u8,
}

impl SequenceData {
    /// The last number that was handed out: a value that was not called yet is
    /// the next one, not the last one.
    pub(crate) fn last(&self) -> i64 {
        if self.is_called != 0 { self.last_value } else { self.last_value.saturating_sub(1) }
    }
}

/// The head of the WAL record (`xl_seq_rec`); the tuple follows it.
#[repr(C)]
struct SequenceRecord {
    file: ffi::RelationFile,
}

const SEQUENCE_MAGIC: u32 = 0x1717;
const XLOG_SEQ_LOG: u8 = 0;
const NO_SUBTRANSACTION: pg_sys::SubTransactionId = 0;

/// Locks the sequence for the transaction, as `nextval` does; waits for a fence.
pub(crate) fn lock(sequence: pg_sys::Oid) {
    // SAFETY: as `lock_and_open_sequence` of PostgreSQL: the lock belongs to the
    // top transaction, so that it outlives savepoints. Should the wait raise an
    // error, the abort sets the owner right again.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            let owner = ffi::CurrentResourceOwner;
            ffi::CurrentResourceOwner = ffi::TopTransactionResourceOwner;
            ffi::LockRelationOid(sequence, pg_sys::RowExclusiveLock as _);
            ffi::CurrentResourceOwner = owner;
        });
    }
}

/// The page of a sequence, under its exclusive content lock.
pub(crate) struct Page {
    pub(crate) buffer: pg_sys::Buffer,
    header: *mut pg_sys::PageHeaderData,
    pub(crate) tuple: *mut pg_sys::HeapTupleHeaderData,
    tuple_length: u32,
    pub(crate) data: *mut SequenceData,
}

impl Page {
    /// Finds and locks the page of a relation.
    ///
    /// # Safety
    /// The relation is locked by this transaction. The caller unlocks and
    /// releases the buffer.
    pub(crate) unsafe fn open(
        sequence: pg_sys::Oid,
        place: Option<Place>,
    ) -> Result<(Self, Place), Unusable> {
        // SAFETY: the recent buffer is only taken if it still holds that page.
        unsafe {
            if let Some(place) = place
                && ffi::ReadRecentBuffer(place.file, 0, 0, place.buffer)
            {
                return Self::lock(place.buffer).map(|page| (page, place));
            }
            let relation = ffi::try_relation_open(sequence, pg_sys::NoLock as _);
            if relation.is_null() {
                return Err(Unusable::Gone);
            }
            let class = &*(*relation).rd_rel;
            let page = if class.relkind as u8 != pg_sys::RELKIND_SEQUENCE {
                Err(Unusable::Broken)
            } else if class.relpersistence as u8 != pg_sys::RELPERSISTENCE_PERMANENT {
                Err(Unusable::NotPermanent)
            } else {
                let buffer = ffi::ReadBuffer(relation, 0);
                let (file, needs_wal) = (file_of(relation), needs_wal(relation));
                Self::lock(buffer).map(|page| (page, Place { file, buffer, needs_wal }))
            };
            ffi::relation_close(relation, pg_sys::NoLock as _);
            page
        }
    }

    /// Locks a pinned buffer and finds the tuple in it.
    ///
    /// # Safety
    /// `buffer` is pinned, and is page 0 of a permanent sequence.
    unsafe fn lock(buffer: pg_sys::Buffer) -> Result<Self, Unusable> {
        // SAFETY: a permanent relation's buffers are in shared memory, numbered
        // from 1; the magic number says that the page is laid out as below.
        unsafe {
            ffi::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as c_int);
            let start = pg_sys::BufferBlocks.add((buffer as usize - 1) * pg_sys::BLCKSZ as usize);
            let header = start.cast::<pg_sys::PageHeaderData>();
            let special = usize::from((*header).pd_special);
            // An `ItemIdData`: 15 bits of offset, 2 of flags, 15 of length.
            let item = (*header).pd_linp.as_ptr().cast::<u32>().read();
            let (offset, length) = ((item & 0x7FFF) as usize, item >> 17);
            let whole =
                special + 4 <= pg_sys::BLCKSZ as usize && offset + length as usize <= special;
            if !whole || *start.add(special).cast::<u32>() != SEQUENCE_MAGIC {
                ffi::UnlockReleaseBuffer(buffer);
                return Err(Unusable::Broken);
            }
            let tuple = start.add(offset).cast::<pg_sys::HeapTupleHeaderData>();
            let data = tuple.cast::<u8>().add((*tuple).t_hoff as usize).cast::<SequenceData>();
            Ok(Self { buffer, header, tuple, tuple_length: length, data })
        }
    }

    /// The chain that the last record belongs to.
    ///
    /// # Safety
    /// The page is locked.
    pub(crate) unsafe fn chain(&self) -> u32 {
        // SAFETY: the tuple is frozen, so the field holds a command id and no xvac.
        unsafe { (*self.tuple).t_choice.t_heap.t_field3.t_cid }
    }

    /// # Safety
    /// The page is locked.
    pub(crate) unsafe fn lsn(&self) -> pg_sys::XLogRecPtr {
        // SAFETY: reads the header of the locked page.
        unsafe {
            let lsn = (*self.header).pd_lsn;
            (u64::from(lsn.xlogid) << 32) | u64::from(lsn.xrecoff)
        }
    }

    /// Writes a WAL record of the page as it is, of the kind that `nextval` writes;
    /// returns where it ends.
    ///
    /// # Safety
    /// The page is locked, at `place`, and marked dirty, inside a critical section.
    pub(crate) unsafe fn write_record(&self, place: Place) -> pg_sys::XLogRecPtr {
        let record = SequenceRecord { file: place.file };
        // SAFETY: the record is the head and the whole tuple of the locked page.
        unsafe {
            ffi::XLogBeginInsert();
            ffi::XLogRegisterBuffer(0, self.buffer, pg_sys::REGBUF_WILL_INIT as u8);
            ffi::XLogRegisterData((&raw const record).cast(), size_of::<SequenceRecord>() as u32);
            ffi::XLogRegisterData(self.tuple.cast(), self.tuple_length);
            let lsn = ffi::XLogInsert(pg_sys::RmgrIds::RM_SEQ_ID as u8, XLOG_SEQ_LOG);
            self.set_lsn(lsn);
            lsn
        }
    }

    /// # Safety
    /// The page is locked and marked dirty, inside a critical section.
    unsafe fn set_lsn(&self, lsn: pg_sys::XLogRecPtr) {
        // SAFETY: writes the header of the locked page.
        unsafe {
            (*self.header).pd_lsn.xlogid = (lsn >> 32) as u32;
            (*self.header).pd_lsn.xrecoff = lsn as u32;
        }
    }
}

/// Whether changes of the relation are logged (`RelationNeedsWAL`).
///
/// # Safety
/// `relation` is open.
unsafe fn needs_wal(relation: pg_sys::Relation) -> bool {
    // SAFETY: reads fields of an open relation, and a setting.
    unsafe {
        let made_here = (*relation).rd_createSubid != NO_SUBTRANSACTION;
        #[cfg(feature = "pg15")]
        let new_file = (*relation).rd_firstRelfilenodeSubid != NO_SUBTRANSACTION;
        #[cfg(any(feature = "pg16", feature = "pg17", feature = "pg18"))]
        let new_file = (*relation).rd_firstRelfilelocatorSubid != NO_SUBTRANSACTION;
        pg_sys::wal_level >= pg_sys::WalLevel::WAL_LEVEL_REPLICA as c_int
            || !(made_here || new_file)
    }
}

/// Where the relation's file is.
///
/// # Safety
/// `relation` is open.
unsafe fn file_of(relation: pg_sys::Relation) -> ffi::RelationFile {
    // SAFETY: reads a field of an open relation.
    #[cfg(feature = "pg15")]
    unsafe {
        (*relation).rd_node
    }
    // SAFETY: reads a field of an open relation.
    #[cfg(any(feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        (*relation).rd_locator
    }
}
