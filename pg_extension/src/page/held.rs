//! The page of a sequence, held: found, locked, and written to WAL.
//!
//! What is common to those that take from it: [`super::sequence`] takes ids,
//! [`super::numbers`] takes numbers, [`super::highest`] keeps a number that only rises.
//!
//! Beside the sequence's tuple a page may hold a trace of ours, in its free space right
//! behind the item pointer (`shardid_ids::Trace` says what it is for). PostgreSQL leaves
//! free space alone: a rewrite does not copy it, redo and full-page images clear it,
//! `wal_consistency_checking` masks it, and checksums are made of the whole page.

use core::ffi::c_int;

use pgrx::pg_sys;
use shardid_ids::{self as ids, File, Trace};

use super::ffi;

/// Where the page of a relation is: good while the relation is locked and unchanged.
///
/// With it a visit needs neither the relation cache nor the buffer table, which
/// are a third of what `nextval` spends.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    file: ffi::RelationFile,
    buffer: pg_sys::Buffer,
    /// Whether changes of the relation are logged.
    pub(super) needs_wal: bool,
    /// Whether this transaction has made the relation: it goes if that rolls back.
    pub(super) made_here: bool,
}

impl Place {
    /// What a trace on this page is of.
    pub(super) fn file(&self, timeline: u32) -> File {
        self.file.of_timeline(timeline)
    }

    /// Whether changes of the relation are logged.
    pub(crate) fn needs_wal(&self) -> bool {
        self.needs_wal
    }

    /// Whether this transaction has made the relation.
    pub(crate) fn made_here(&self) -> bool {
        self.made_here
    }

    /// Whether it is good in a later transaction as well.
    pub(crate) fn lasts(&self) -> bool {
        self.needs_wal && !self.made_here
    }
}

impl ffi::RelationFile {
    pub(super) fn of_timeline(self, timeline: u32) -> File {
        File {
            tablespace: self.spcOid.to_u32(),
            database: self.dbOid.to_u32(),
            number: self.relNumber.to_u32(),
            timeline,
        }
    }
}

/// Why a relation is no sequence to take from.
#[derive(Clone, Copy)]
pub(crate) enum Unusable {
    /// There is no such relation any more.
    Gone,
    /// Unlogged or temporary.
    NotPermanent,
    /// This transaction gave an existing sequence a new file: a rollback would bring the
    /// old one back, which knows nothing of what was taken from the new one.
    NewFile,
    /// This transaction has made it, and may have dropped another one for it, which a
    /// rollback would bring back.
    Replaces,
    /// A view, a table, or another relation.
    NotASequence,
    /// Not a sequence's page.
    Broken,
}

/// The data of a sequence's one tuple (`FormData_pg_sequence_data`).
#[repr(C)]
pub(super) struct SequenceData {
    pub(super) last_value: i64,
    pub(super) log_cnt: i64,
    pub(super) is_called: u8,
}

/// The head of the WAL record (`xl_seq_rec`); the tuple follows it.
#[repr(C)]
struct SequenceRecord {
    file: ffi::RelationFile,
}

/// A trace as it lies on the page.
#[repr(C)]
struct Marked {
    magic: u64,
    trace: Trace,
}

/// Says that a trace follows, and in which form: "shardid1".
const TRACE_MAGIC: u64 = u64::from_le_bytes(*b"shardid1");

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

/// Holds the sequence's lock while something is done, and not until the transaction ends.
pub(crate) fn while_locked<T>(sequence: pg_sys::Oid, work: impl FnOnce() -> T) -> T {
    // SAFETY: what raises an error in between ends the transaction, and the lock with it.
    unsafe { pg_sys::LockRelationOid(sequence, pg_sys::RowExclusiveLock as _) };
    let done = work();
    // SAFETY: it was taken above.
    unsafe { pg_sys::UnlockRelationOid(sequence, pg_sys::RowExclusiveLock as _) };
    done
}

/// Locks the content of a pinned buffer. Who holds it is done within a fraction of a microsecond,
/// but for a record once a lease: to be put to sleep and woken up takes several.
///
/// # Safety
/// `buffer` is pinned, and this session does not hold its content lock.
unsafe fn lock_exclusively(buffer: pg_sys::Buffer) {
    // SAFETY: as the caller says.
    unsafe {
        // Each try takes the memory from who holds it: ever fewer, for some microseconds.
        for pauses in [4, 8, 16, 32, 64, 64, 64] {
            if ffi::ConditionalLockBuffer(buffer) {
                return;
            }
            for _ in 0..pauses {
                core::hint::spin_loop();
            }
        }
        ffi::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as c_int);
    }
}

/// The page of a sequence, under its exclusive content lock.
pub(super) struct Page {
    pub(super) buffer: pg_sys::Buffer,
    header: *mut pg_sys::PageHeaderData,
    pub(super) tuple: *mut pg_sys::HeapTupleHeaderData,
    tuple_length: u32,
    pub(super) data: *mut SequenceData,
    /// Where a trace lies, if the page has room for one.
    trace: Option<core::ptr::NonNull<Marked>>,
}

impl Page {
    /// Finds and locks the page of a relation.
    ///
    /// # Safety
    /// The relation is locked by this transaction. The caller unlocks and
    /// releases the buffer.
    pub(super) unsafe fn open(
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
            Self::find(sequence, false)
        }
    }

    /// The same for who takes nothing from the page, whether or not its file is new: what is
    /// left on it goes with the file.
    ///
    /// # Safety
    /// As [`open`](Self::open).
    pub(super) unsafe fn open_any_file(sequence: pg_sys::Oid) -> Result<(Self, Place), Unusable> {
        // SAFETY: as the caller says.
        unsafe { Self::find(sequence, true) }
    }

    /// # Safety
    /// As [`open`](Self::open).
    unsafe fn find(sequence: pg_sys::Oid, any_file: bool) -> Result<(Self, Place), Unusable> {
        // SAFETY: the relation is locked by this transaction.
        unsafe {
            let relation = ffi::try_relation_open(sequence, pg_sys::NoLock as _);
            if relation.is_null() {
                return Err(Unusable::Gone);
            }
            let class = &*(*relation).rd_rel;
            let page = if class.relkind as u8 != pg_sys::RELKIND_SEQUENCE {
                Err(Unusable::NotASequence)
            } else if class.relpersistence as u8 != pg_sys::RELPERSISTENCE_PERMANENT {
                Err(Unusable::NotPermanent)
            } else if !any_file && has_new_file(relation) {
                Err(Unusable::NewFile)
            } else {
                let buffer = ffi::ReadBuffer(relation, 0);
                let (file, needs_wal) = (file_of(relation), needs_wal(relation));
                let made_here = (*relation).rd_createSubid != NO_SUBTRANSACTION;
                Self::lock(buffer).map(|page| (page, Place { file, buffer, needs_wal, made_here }))
            };
            ffi::relation_close(relation, pg_sys::NoLock as _);
            page
        }
    }

    /// Locks a pinned buffer and finds the tuple in it.
    ///
    /// # Safety
    /// `buffer` is pinned, and is page 0 of a sequence that is not temporary.
    pub(super) unsafe fn lock(buffer: pg_sys::Buffer) -> Result<Self, Unusable> {
        // SAFETY: such a relation's buffers are in shared memory, numbered
        // from 1; the magic number says that the page is laid out as below.
        unsafe {
            lock_exclusively(buffer);
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
            let pointers = core::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);
            let place = (pointers + size_of::<u32>()).next_multiple_of(8);
            let fits = place + size_of::<Marked>() <= usize::from((*header).pd_upper)
                && usize::from((*header).pd_lower) <= place;
            let trace = core::ptr::NonNull::new(start.add(place).cast()).filter(|_| fits);
            Ok(Self { buffer, header, tuple, tuple_length: length, data, trace })
        }
    }

    /// What the page says.
    ///
    /// # Safety
    /// The page is locked.
    #[inline]
    pub(super) unsafe fn seen(&self) -> ids::Page {
        // SAFETY: reads the locked page.
        unsafe {
            ids::Page {
                last_value: (*self.data).last_value,
                log_cnt: (*self.data).log_cnt,
                is_called: (*self.data).is_called != 0,
                lsn: self.lsn(),
                trace: self.trace(),
            }
        }
    }

    /// Has the sequence stand at a value that was handed out.
    ///
    /// # Safety
    /// The page is locked and marked dirty, inside a critical section.
    #[inline]
    pub(super) unsafe fn set(&self, last_value: i64, log_cnt: i64) {
        // SAFETY: writes the locked page.
        unsafe {
            (*self.data).last_value = last_value;
            (*self.data).is_called = 1;
            (*self.data).log_cnt = log_cnt;
        }
    }

    /// The trace on the page, of whichever file.
    ///
    /// # Safety
    /// The page is locked.
    #[inline]
    pub(super) unsafe fn trace(&self) -> Option<Trace> {
        // SAFETY: the place was checked to lie within the page; any bits are numbers.
        unsafe {
            let marked = self.trace?.as_ptr();
            ((*marked).magic == TRACE_MAGIC).then(|| (*marked).trace)
        }
    }

    /// Leaves a trace on the page.
    ///
    /// # Safety
    /// The page is locked and marked dirty.
    #[inline]
    pub(super) unsafe fn leave(&self, trace: Trace) {
        if let Some(place) = self.trace {
            // SAFETY: the place was checked to lie within the page's free space.
            unsafe {
                let marked = place.as_ptr();
                let there = (*marked).trace;
                let Trace { last, tick, lsn, .. } = trace;
                // What stays as it is is not written: other processors have it in their
                // caches.
                if (*marked).magic == TRACE_MAGIC && trace == (Trace { last, tick, lsn, ..there }) {
                    (*marked).trace.last = last;
                    (*marked).trace.tick = tick;
                    (*marked).trace.lsn = lsn;
                } else {
                    marked.write(Marked { magic: TRACE_MAGIC, trace });
                }
            }
        }
    }

    /// # Safety
    /// The page is locked.
    pub(super) unsafe fn lsn(&self) -> pg_sys::XLogRecPtr {
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
    pub(super) unsafe fn write_record(&self, place: Place) -> pg_sys::XLogRecPtr {
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

/// The subtransactions that gave the relation its first and its present file, where this
/// transaction did.
///
/// # Safety
/// `relation` is open.
unsafe fn new_files(
    relation: pg_sys::Relation,
) -> (pg_sys::SubTransactionId, pg_sys::SubTransactionId) {
    // SAFETY: reads fields of an open relation.
    #[cfg(feature = "pg15")]
    unsafe {
        ((*relation).rd_firstRelfilenodeSubid, (*relation).rd_newRelfilenodeSubid)
    }
    // SAFETY: reads fields of an open relation.
    #[cfg(any(feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        ((*relation).rd_firstRelfilelocatorSubid, (*relation).rd_newRelfilelocatorSubid)
    }
}

/// Whether a rollback, perhaps to a savepoint, would bring back an older file of the
/// relation: one from before this transaction, or from before the present subtransaction.
///
/// # Safety
/// `relation` is open.
unsafe fn has_new_file(relation: pg_sys::Relation) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        let (first, present) = new_files(relation);
        match (*relation).rd_createSubid {
            NO_SUBTRANSACTION => first != NO_SUBTRANSACTION,
            made => present != NO_SUBTRANSACTION && present != made,
        }
    }
}

/// Whether changes of the relation are logged (`RelationNeedsWAL`).
///
/// # Safety
/// `relation` is open.
unsafe fn needs_wal(relation: pg_sys::Relation) -> bool {
    // SAFETY: as the caller says; reads a setting.
    unsafe {
        let new = (*relation).rd_createSubid != NO_SUBTRANSACTION
            || new_files(relation).0 != NO_SUBTRANSACTION;
        pg_sys::wal_level >= pg_sys::WalLevel::WAL_LEVEL_REPLICA as c_int || !new
    }
}

/// Where the relation's file is.
///
/// # Safety
/// `relation` is open.
pub(super) unsafe fn file_of(relation: pg_sys::Relation) -> ffi::RelationFile {
    // SAFETY: reads a field of an open relation; until 15 it has other names.
    #[cfg(feature = "pg15")]
    unsafe {
        let pg_sys::RelFileNode { spcNode, dbNode, relNode } = (*relation).rd_node;
        ffi::RelationFile { spcOid: spcNode, dbOid: dbNode, relNumber: relNode }
    }
    // SAFETY: reads a field of an open relation.
    #[cfg(any(feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        let pg_sys::RelFileLocator { spcOid, dbOid, relNumber } = (*relation).rd_locator;
        ffi::RelationFile { spcOid, dbOid, relNumber }
    }
}
