//! One visit to the page of a shard's sequence: lock, advance, log, release, flush.
//!
//! The page belongs to an ordinary sequence relation, and `nextval`, `setval`,
//! `ALTER SEQUENCE … RESTART` and a restored dump may change it as well. Three
//! fields tell how far an id is safe:
//!
//! - `last_value` is the last id handed out (or the end of a block somebody
//!   holds), in full. A generator's sequence is made as one that was called; in a
//!   new file one that was not has been restarted, from where nobody knows;
//! - `log_cnt` is the *negative* of the lease: the highest id that the last WAL
//!   record covers. PostgreSQL's own code leaves `log_cnt >= 0`, and reads a
//!   negative one as "log now"; so either side notices the other and logs again.
//! - `t_cid` of the tuple, which means nothing in a frozen tuple, numbers the
//!   *chain* of records: a run of our own, each covering more than the one
//!   before, with no checkpoint in between. Inside a chain an older record still
//!   covers what it covered, so a backend that knows it flushed need not wait
//!   for a newer one. After a break it must: a stranger's record may have put
//!   the position back, and records before a checkpoint are no longer read.

use core::ffi::c_int;

use pgrx::pg_sys;
use shardid_ids::{Layout, Position, Refused, Renewal, Shard, advance, after_unknown, renew};

use super::{backend, ffi};

/// What a visit needs to know.
pub(crate) struct Request {
    pub(crate) sequence: pg_sys::Oid,
    pub(crate) layout: Layout,
    pub(crate) shard: Shard,
    /// How many ids are wanted; the tick may have fewer.
    pub(crate) want: i64,
    /// The last id this backend has handed out for the shard: never go below it.
    pub(crate) floor: i64,
    pub(crate) lease_ticks: i64,
    pub(crate) max_drift_ticks: i64,
    /// Up to which time of the wall clock it is known not to have jumped, in Unix microseconds.
    pub(crate) clock_checked_until_us: i64,
    /// Up to where this backend knows WAL to be flushed.
    pub(crate) flushed: Flushed,
    /// Where the page was at the last visit, if that was in this transaction.
    pub(crate) place: Option<Place>,
}

/// Where the page of a relation is: good while the relation is locked and unchanged.
///
/// With it a visit needs neither the relation cache nor the buffer table, which
/// are a third of what `nextval` spends.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    file: ffi::RelationFile,
    buffer: pg_sys::Buffer,
    needs_wal: bool,
}

/// A lease that is known to be on disk: a chain, and the tick it reaches to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flushed {
    pub(crate) chain: u32,
    pub(crate) until: i64,
}

impl Flushed {
    /// Nothing is known.
    pub(crate) const NOTHING: Self = Self { chain: 0, until: -1 };

    fn covers(self, chain: u32, tick: i64) -> bool {
        self.chain == chain && tick <= self.until
    }
}

/// What a visit brings back.
#[derive(Clone, Copy)]
pub(crate) enum Visit {
    /// `count` ids from `first` on, safe to hand out, all of tick `position.tick`.
    Taken { first: i64, count: i64, position: Position, flushed: Flushed, place: Place },
    /// The clock rule said no; the page is unchanged.
    Refused(Refused),
    /// The clock is due for a check against the steady one; the page is unchanged.
    CheckClock,
    /// There is no such relation any more.
    Gone,
    /// Unlogged or temporary.
    NotPermanent,
    /// Not a sequence's page.
    Broken,
}

/// The data of a sequence's one tuple (`FormData_pg_sequence_data`).
#[repr(C)]
struct SequenceData {
    last_value: i64,
    log_cnt: i64,
    is_called: u8,
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

/// Takes ids from the page and makes sure that they survive a crash.
///
/// The caller has locked the relation, and may write.
pub(crate) fn visit(request: &Request) -> Visit {
    // SAFETY: one guard around the whole path; nothing in it needs dropping,
    // and no Rust code in it can panic.
    unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| visit_guarded(request)) }
}

/// The page of a sequence, under its exclusive content lock.
struct Page {
    buffer: pg_sys::Buffer,
    header: *mut pg_sys::PageHeaderData,
    tuple: *mut pg_sys::HeapTupleHeaderData,
    tuple_length: u32,
    data: *mut SequenceData,
}

impl Page {
    /// Finds and locks the page of a relation.
    ///
    /// # Safety
    /// The relation is locked by this transaction. The caller unlocks and
    /// releases the buffer.
    unsafe fn open(sequence: pg_sys::Oid, place: Option<Place>) -> Result<(Self, Place), Visit> {
        // SAFETY: the recent buffer is only taken if it still holds that page.
        unsafe {
            if let Some(place) = place
                && ffi::ReadRecentBuffer(place.file, 0, 0, place.buffer)
            {
                return Self::lock(place.buffer).map(|page| (page, place));
            }
            let relation = ffi::try_relation_open(sequence, pg_sys::NoLock as _);
            if relation.is_null() {
                return Err(Visit::Gone);
            }
            let class = &*(*relation).rd_rel;
            let page = if class.relkind as u8 != pg_sys::RELKIND_SEQUENCE {
                Err(Visit::Broken)
            } else if class.relpersistence as u8 != pg_sys::RELPERSISTENCE_PERMANENT {
                Err(Visit::NotPermanent)
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
    unsafe fn lock(buffer: pg_sys::Buffer) -> Result<Self, Visit> {
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
                return Err(Visit::Broken);
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
    unsafe fn chain(&self) -> u32 {
        // SAFETY: the tuple is frozen, so the field holds a command id and no xvac.
        unsafe { (*self.tuple).t_choice.t_heap.t_field3.t_cid }
    }

    /// # Safety
    /// The page is locked.
    unsafe fn lsn(&self) -> pg_sys::XLogRecPtr {
        // SAFETY: reads the header of the locked page.
        unsafe {
            let lsn = (*self.header).pd_lsn;
            (u64::from(lsn.xlogid) << 32) | u64::from(lsn.xrecoff)
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

/// # Safety
/// Runs under a guard; the relation is locked by this transaction.
unsafe fn visit_guarded(request: &Request) -> Visit {
    // SAFETY: as the caller says.
    unsafe {
        match Page::open(request.sequence, request.place) {
            Ok((page, place)) => take(request, page, place),
            Err(visit) => visit,
        }
    }
}

/// # Safety
/// As `visit_guarded`; `page` is at `place`, locked, and released here.
unsafe fn take(request: &Request, page: Page, place: Place) -> Visit {
    let Request { layout, shard, .. } = request;
    // SAFETY: the page is locked from here to `UnlockReleaseBuffer`. Everything
    // that can fail happens before the critical section; inside it are only
    // assignments and PostgreSQL's own WAL calls.
    unsafe {
        let data = page.data;
        // The clock is read under the lock: a wait for it must not make it old.
        let now_us = backend::now_us();
        if now_us > request.clock_checked_until_us {
            ffi::UnlockReleaseBuffer(page.buffer);
            return Visit::CheckClock;
        }
        let now = layout.tick_at(now_us);
        let old_chain = page.chain();
        let called = (*data).is_called != 0;
        // A value that was not called yet is the next one, not the last one.
        let stored = if called { (*data).last_value } else { (*data).last_value - 1 };
        let mut last = layout.position_at_or_below(*shard, stored.max(request.floor));
        let mut max_drift = request.max_drift_ticks;
        if !called && old_chain == 0 {
            // A new file: TRUNCATE … RESTART IDENTITY or the like. The value is an old one.
            last = last.max(after_unknown(now, max_drift, layout.slots()));
            max_drift = max_drift.saturating_add(1);
        }
        let position = match advance(last, now, max_drift, layout.slots(), layout.ticks()) {
            Ok(position) => position,
            Err(refused) => {
                ffi::UnlockReleaseBuffer(page.buffer);
                return Visit::Refused(refused);
            }
        };
        let count = request.want.min(layout.slots() - position.slot);
        let first = layout.id(*shard, position);

        let old_lsn = page.lsn();
        let leased =
            ((*data).log_cnt < 0).then(|| layout.tick_of((*data).log_cnt.wrapping_neg())).flatten();
        // Dirty first, then the redo pointer: a checkpoint that begins after we have
        // read the pointer then finds the page dirty, and writes what we put there.
        ffi::MarkBufferDirty(page.buffer);
        // A checkpoint since the last record: crash recovery would no longer read it.
        let unread = old_lsn <= ffi::GetRedoRecPtr();
        let unbroken = leased.filter(|_| !unread);
        let renewal = renew(
            position.tick,
            unbroken,
            request.lease_ticks,
            request.max_drift_ticks,
            layout.ticks() - 1,
        );
        let (until, chain) = match renewal {
            Renewal::Keep => (leased.unwrap_or(position.tick), old_chain),
            Renewal::Extend(until) => (until, old_chain),
            // A lease that merely ran out is followed by the next of its chain.
            Renewal::Must(until) if unbroken.is_some() => (until, old_chain),
            Renewal::Must(until) => {
                (until.max(leased.unwrap_or(until)), old_chain.wrapping_add(1).max(1))
            }
        };
        let lease = layout.id(*shard, Position { tick: until, slot: layout.slots() - 1 });
        let logged = place.needs_wal;
        let record = SequenceRecord { file: place.file };
        let callers_end = pg_sys::XactLastRecEnd;
        let mut lsn = old_lsn;

        pg_sys::CritSectionCount += 1;
        if renewal != Renewal::Keep && logged {
            ffi::XLogBeginInsert();
            ffi::XLogRegisterBuffer(0, page.buffer, pg_sys::REGBUF_WILL_INIT as u8);
            // As it is to be after a crash: at the end of the lease, and logged by nobody.
            (*page.tuple).t_choice.t_heap.t_field3.t_cid = chain;
            (*data).last_value = lease;
            (*data).is_called = 1;
            (*data).log_cnt = 0;
            ffi::XLogRegisterData((&raw const record).cast(), size_of::<SequenceRecord>() as u32);
            ffi::XLogRegisterData(page.tuple.cast(), page.tuple_length);
            lsn = ffi::XLogInsert(pg_sys::RmgrIds::RM_SEQ_ID as u8, XLOG_SEQ_LOG);
            page.set_lsn(lsn);
        }
        (*data).last_value = first + (count - 1);
        (*data).is_called = 1;
        // Without WAL (a relation made in this transaction under wal_level
        // minimal) nothing is covered, and the next visit says so again.
        (*data).log_cnt = if logged { -lease } else { 0 };
        pg_sys::CritSectionCount -= 1;
        ffi::UnlockReleaseBuffer(page.buffer);

        // The wait for the record is ours alone: the commit need not wait for it again.
        pg_sys::XactLastRecEnd = callers_end;
        let mut flushed = request.flushed;
        if logged && !flushed.covers(chain, position.tick) {
            let (covering, reaches) = match renewal {
                Renewal::Extend(_) => (old_lsn, leased.unwrap_or(position.tick)),
                Renewal::Keep | Renewal::Must(_) => (lsn, until),
            };
            ffi::XLogFlush(covering);
            flushed = Flushed { chain, until: reaches };
        }
        if let Renewal::Extend(_) = renewal {
            ffi::XLogSetAsyncXactLSN(lsn);
        }
        Visit::Taken { first, count, position, flushed, place }
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
        #[cfg(any(feature = "pg13", feature = "pg14", feature = "pg15"))]
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
    #[cfg(any(feature = "pg13", feature = "pg14", feature = "pg15"))]
    unsafe {
        (*relation).rd_node
    }
    // SAFETY: reads a field of an open relation.
    #[cfg(any(feature = "pg16", feature = "pg17", feature = "pg18"))]
    unsafe {
        (*relation).rd_locator
    }
}
