//! One visit to the page of a ticket's or segment's sequence: take so many numbers at once.
//!
//! It is what `nextval` does, for a whole run of numbers, and the two may alternate:
//! `log_cnt` is the *negative* of how many numbers our last WAL record covers beyond
//! `last_value`, which is believed where a trace says that this is the file and the
//! record. `nextval` reads it as "log now", and we trust no count of its own: where a
//! sequence was made in the same transaction and `wal_level` is minimal, it counts
//! numbers that no record covers. Two more things differ. The numbers are those
//! of a class above a floor, wherever somebody's `setval` has put the sequence. And no
//! number leaves before the record that covers it is safe: `nextval` leaves that to the
//! commit of whoever wrote the record, so a crash may have it repeat what others of
//! that record were given meanwhile.

use pgrx::pg_sys;
use shardid_ids::{Class, Server, Trace};

use super::held::{Page, Place, Unusable};
use super::{backend, ffi};

/// What a visit needs to know.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) sequence: pg_sys::Oid,
    pub(crate) class: Class,
    /// All numbers are above it.
    pub(crate) floor: i64,
    /// No number is above it.
    pub(crate) top: i64,
    /// How many numbers are wanted: all of them or none.
    pub(crate) count: i64,
    /// How many more a record is to cover; a crash skips as many.
    pub(crate) ahead: i64,
    /// The end of WAL that is known to be safe.
    pub(crate) safe: pg_sys::XLogRecPtr,
    pub(crate) timeline: backend::Timeline,
    /// Where the page was at the last visit, if that was in this transaction.
    pub(crate) place: Option<Place>,
    /// Whether a sequence that this transaction has made may take the place of another one.
    pub(crate) replaces: bool,
}

/// What a visit brings back.
#[derive(Clone, Copy)]
pub(crate) enum Visit {
    /// The numbers from `first` on, safe to hand out as WAL is up to `safe`;
    /// `logged` where it took a record.
    Taken { first: i64, logged: bool, safe: pg_sys::XLogRecPtr, place: Place },
    /// There are not so many left above `last`; the page is unchanged.
    Exhausted { last: i64 },
    /// It is no sequence to take numbers from.
    Unusable(Unusable),
}

/// Takes numbers from the page and makes sure that they survive a crash.
///
/// The caller has locked the relation, and may write.
pub(crate) fn visit(request: &Request) -> Visit {
    // SAFETY: one guard around the whole path; nothing in it needs dropping,
    // and no Rust code in it can panic.
    let visit = unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| match Page::open(request.sequence, request.place) {
            Ok((page, place)) if request.replaces && place.made_here => {
                ffi::UnlockReleaseBuffer(page.buffer);
                Visit::Unusable(Unusable::Replaces)
            }
            Ok((page, place)) => take(request, page, place),
            Err(unusable) => Visit::Unusable(unusable),
        })
    };
    // The page's last record is the one that covers the numbers, whoever wrote it.
    if let Visit::Taken { safe, .. } = visit
        && safe != request.safe
    {
        backend::wait_for_wal(safe);
    }
    visit
}

/// # Safety
/// Runs under a guard; the relation is locked by this transaction; `page` is at
/// `place`, locked, and released here.
unsafe fn take(request: &Request, page: Page, place: Place) -> Visit {
    let Request { class, top, count, .. } = *request;
    // SAFETY: the page is locked from here to `UnlockReleaseBuffer`. Everything
    // that can fail happens before the critical section; inside it are only
    // assignments and PostgreSQL's own WAL calls.
    unsafe {
        let seen = page.seen();
        let last = seen.last().max(request.floor);
        let Some((first, end)) = class.run(last, count, top) else {
            ffi::UnlockReleaseBuffer(page.buffer);
            return Visit::Exhausted { last };
        };
        // Dirty first, then the redo pointer: see `sequence`.
        ffi::MarkBufferDirty(page.buffer);
        let server = Server {
            file: place.file(request.timeline.number),
            redo: ffi::GetRedoRecPtr(),
            logged: place.needs_wal,
            made_here: place.made_here,
            // No horizon is asked for them.
            installation: 0,
        };
        let mut lsn = seen.lsn;
        // What our record covers begins right after `last_value`. In a new file, and after
        // a checkpoint, a crash would not read that record any more.
        let covered = seen.is_called
            && seen.last_value.checked_add(class.step()) == Some(first)
            && seen.log_cnt <= -count
            && seen.trace_that_holds(&server).is_some();
        let left = seen.log_cnt.wrapping_add(count);
        let more = class.room(end, request.ahead, top);
        let callers_end = pg_sys::XactLastRecEnd;

        pg_sys::CritSectionCount += 1;
        if !covered && place.needs_wal {
            // As it is to be after a crash: beyond all that the record covers.
            page.set(end + more * class.step(), 0);
            lsn = page.write_record(place);
        }
        page.set(
            end,
            match (covered, place.needs_wal) {
                (true, _) => left,
                (false, true) => -more,
                // Without WAL nothing is covered, and the next visit says so again.
                (false, false) => 0,
            },
        );
        let trace = Trace::new(server.file, lsn, end, false);
        // What is not committed yet is not flushed with a later record either.
        page.leave(Trace { chain: if place.made_here { 0 } else { lsn }, ..trace });
        pg_sys::CritSectionCount -= 1;
        ffi::UnlockReleaseBuffer(page.buffer);

        // The wait for the record is ours alone: the commit need not wait for it again.
        pg_sys::XactLastRecEnd = callers_end;
        Visit::Taken { first, logged: !covered && place.needs_wal, safe: lsn, place }
    }
}
