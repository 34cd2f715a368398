//! A number of the whole database that only rises: the `last_value` of a sequence.
//!
//! The extension keeps two instants and a length of time in such sequences. They are
//! raised past any transaction, as `nextval` does, and all is in WAL that is written
//! after they have been read.

use pgrx::pg_sys;
use shardid_ids::{self as ids, File, Trace};

use super::backend::Timeline;
use super::ffi;
use super::held::{Page, Unusable};

/// Has the number be at least that, and returns it.
///
/// `flush` waits until it is on disk; without, it is as soon as any later WAL is. The
/// caller has locked the relation, and may write.
pub(crate) fn raise(
    sequence: pg_sys::Oid,
    at_least: i64,
    flush: bool,
    timeline: Timeline,
) -> Result<i64, Unusable> {
    // SAFETY: one guard around the path, as in `sequence`; the page is locked from
    // `open` to `UnlockReleaseBuffer`, with nothing that can fail in the critical section.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            let (page, place) = Page::open(sequence, None)?;
            let seen = page.seen();
            let file = place.file(timeline.number);
            let value = highest(&seen, file).max(at_least);
            let mut lsn = seen.lsn;
            let callers_end = pg_sys::XactLastRecEnd;
            if seen.last() < value {
                ffi::MarkBufferDirty(page.buffer);
                pg_sys::CritSectionCount += 1;
                page.set(value, mark(timeline));
                if place.needs_wal {
                    lsn = page.write_record(place);
                }
                let kept = seen.trace_of(file).map(|kept| (kept.lsn, kept.last));
                // Those who ask about the timeline before do not mean what was raised in
                // this one.
                let (asked, answer) = kept
                    .filter(|(asked, _)| *asked >= timeline.begins)
                    .unwrap_or((timeline.begins, seen.last()));
                page.leave(trace(file, asked, answer, value));
                pg_sys::CritSectionCount -= 1;
            }
            ffi::UnlockReleaseBuffer(page.buffer);
            pg_sys::XactLastRecEnd = callers_end;
            if flush {
                ffi::XLogFlush(lsn);
            }
            Ok(value)
        })
    }
}

/// What the page says, in WAL as well, of the timeline that the number was last raised on: in
/// `log_cnt`, where `nextval` reads anything below 1 as "log now".
fn mark(timeline: Timeline) -> i64 {
    -1 - i64::from(timeline.number)
}

/// Whether the number was last raised on the present timeline.
///
/// One that was never raised has no mark: then it is of this timeline if its record is. Whoever
/// copies a database writes new records of old pages; and one that was raised, and has no mark,
/// was altered since, or set by `pg_upgrade`, which says nothing of where it was raised.
fn is_of(timeline: Timeline, seen: &ids::Page) -> bool {
    match seen.log_cnt {
        0.. => !seen.is_called && seen.lsn > timeline.begins,
        mark_there => mark_there == mark(timeline),
    }
}

/// Whether the number was last raised on the present timeline, as far as can be seen.
pub(crate) fn is_present(sequence: pg_sys::Oid, timeline: Timeline) -> Result<bool, Unusable> {
    // SAFETY: as `raise`; the page is only read.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            let (page, _) = Page::open(sequence, None)?;
            let seen = page.seen();
            ffi::UnlockReleaseBuffer(page.buffer);
            Ok(is_of(timeline, &seen))
        })
    }
}

/// Has the number be at least that, if it was last raised on an earlier timeline: what
/// raised it there last may be lost.
pub(crate) fn take_over(
    sequence: pg_sys::Oid,
    at_least: i64,
    timeline: Timeline,
) -> Result<(), Unusable> {
    // SAFETY: as `raise`.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            let (page, place) = Page::open(sequence, None)?;
            let seen = page.seen();
            if !is_of(timeline, &seen) {
                let file = place.file(timeline.number);
                let value = seen.last().max(at_least);
                let callers_end = pg_sys::XactLastRecEnd;
                ffi::MarkBufferDirty(page.buffer);
                pg_sys::CritSectionCount += 1;
                page.set(value, mark(timeline));
                if place.needs_wal {
                    page.write_record(place);
                }
                page.leave(trace(file, timeline.begins, value, value));
                pg_sys::CritSectionCount -= 1;
                pg_sys::XactLastRecEnd = callers_end;
            }
            ffi::UnlockReleaseBuffer(page.buffer);
            Ok(())
        })
    }
}

/// What the number was at most when WAL ended at `lsn`; what it is, for 0.
///
/// Those who ask go on above it, which raises it again. So the page keeps the answer, and
/// where WAL ended when it was given, for all who ask about an earlier moment: many that
/// ask at once get one answer, and not each a higher one. The answer is in no WAL; where
/// it is lost, the next is what the number is then. It is about WAL that is on disk: what
/// is not may be lost in a crash that the page outlives, and be written anew.
pub(crate) fn at_most_at(
    sequence: pg_sys::Oid,
    lsn: pg_sys::XLogRecPtr,
    timeline: Timeline,
) -> Result<i64, Unusable> {
    // SAFETY: as above; the trace is written to the locked page, marked dirty.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            ffi::XLogFlush(lsn);
            let (page, place) = Page::open(sequence, None)?;
            let seen = page.seen();
            let file = place.file(timeline.number);
            let answer = match seen.trace_of(file) {
                Some(kept) if lsn != 0 && lsn <= kept.lsn => kept.last,
                _ => {
                    // While the page is held, nobody raises the number.
                    let end = ffi::GetFlushRecPtr(core::ptr::null_mut());
                    ffi::MarkBufferDirty(page.buffer);
                    let answer = highest(&seen, file);
                    page.leave(trace(file, end, answer, answer));
                    answer
                }
            };
            ffi::UnlockReleaseBuffer(page.buffer);
            Ok(answer)
        })
    }
}

/// The number, also where somebody has put the sequence back.
fn highest(seen: &ids::Page, file: File) -> i64 {
    seen.last().max(seen.trace_of(file).map_or(i64::MIN, |kept| kept.lease))
}

/// What the page of a number keeps: an answer that was given, about WAL up to `asked`, and
/// in the place of a lease the number.
fn trace(file: File, asked: u64, answer: i64, number: i64) -> Trace {
    Trace { lease: number, ..Trace::new(file, asked, answer, false) }
}
