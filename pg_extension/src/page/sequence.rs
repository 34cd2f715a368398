//! One visit to the page of a shard's sequence: lock, take, log, release, flush.
//!
//! What comes out of a page and what must be in WAL first is decided by
//! [`shardid_ids::visit()`], which says how the page, the trace on it and strangers go
//! together. Here are the clock, the page and the log that it speaks of.

use pgrx::pg_sys;
use shardid_ids::{
    self as ids, Flush, Flushed, LIVE, Layout, Position, Refusal, Server, Shard, Trace,
};

use super::backend::Timeline;
use super::held::{Page, Place, Unusable};
use super::{clocks, ffi};

/// What a visit needs to know.
pub(crate) struct Request {
    pub(crate) sequence: pg_sys::Oid,
    pub(crate) layout: &'static Layout,
    pub(crate) shard: Shard,
    /// How many ids are wanted; the tick may have fewer.
    pub(crate) want: i64,
    /// The last id this backend has handed out for the shard: never go below it.
    pub(crate) floor: i64,
    pub(crate) lease_slots: i64,
    pub(crate) max_drift_ticks: i64,
    /// The largest drift that is known to be remembered.
    pub(crate) noted_drift_ticks: i64,
    /// Up to which time of the wall clock it is known not to have jumped, in Unix microseconds.
    pub(crate) clock_checked_until_us: i64,
    /// What the horizon is known to be, in Unix microseconds.
    pub(crate) horizon_us: i64,
    /// Where the past is unknown: the last index that can have been given out.
    pub(crate) beyond: Option<i64>,
    /// Whether the extension's SQL does not say on the page that a generator is new.
    pub(crate) trusts_new: bool,
    /// Up to where this backend knows WAL to be flushed.
    pub(crate) flushed: Flushed,
    pub(crate) timeline: Timeline,
    /// Which installation of the extension this is.
    pub(crate) installation: pg_sys::Oid,
    /// Where the page was at the last visit, if that still holds.
    pub(crate) place: Option<Place>,
}

/// What a visit brings back.
#[derive(Clone, Copy)]
pub(crate) enum Visit {
    /// `count` ids from `first` on, safe to hand out, all of tick `position.tick`.
    Taken { first: i64, count: i64, position: Position, flushed: Flushed, place: Place },
    /// The rules say no, for the page at `place`, which is unchanged.
    Refused(Refusal, Place),
    /// The clock is due for a check against the steady one; the page is unchanged.
    CheckClock,
    /// It is no sequence to take ids from.
    Unusable(Unusable),
}

/// Takes ids from the page and makes sure that they survive a crash.
///
/// The caller has locked the relation, and may write.
pub(crate) fn visit(request: &Request) -> Visit {
    // SAFETY: one guard around the whole path; nothing in it needs dropping,
    // and no Rust code in it can panic.
    unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| visit_guarded(request)) }
}

/// # Safety
/// Runs under a guard; the relation is locked by this transaction.
unsafe fn visit_guarded(request: &Request) -> Visit {
    // Before the page is locked, to hold it for a shorter time. Where that has to be
    // waited for, the clock is a little late, and the next id still above the last one.
    let now_us = clocks::now_us();
    if now_us > request.clock_checked_until_us {
        return Visit::CheckClock;
    }
    let now = request.layout.tick_at(now_us);
    // SAFETY: as the caller says.
    unsafe {
        match Page::open(request.sequence, request.place) {
            Ok((page, place)) => take(request, now_us, now, page, place),
            Err(unusable) => Visit::Unusable(unusable),
        }
    }
}

/// # Safety
/// As `visit_guarded`; `page` is at `place`, locked, and released here.
unsafe fn take(request: &Request, now_us: i64, now: i64, page: Page, place: Place) -> Visit {
    // SAFETY: the page is locked from here to `UnlockReleaseBuffer`. Everything
    // that can fail happens before the critical section; inside it are only
    // assignments and PostgreSQL's own WAL calls.
    unsafe {
        // Dirty first, then the redo pointer: a checkpoint that begins after we have
        // read the pointer then finds the page dirty, and writes what we put there.
        ffi::MarkBufferDirty(page.buffer);
        let server = Server {
            file: place.file(request.timeline.number),
            redo: ffi::GetRedoRecPtr(),
            logged: place.needs_wal,
            made_here: place.made_here,
            installation: request.installation.to_u32(),
        };
        let seen = page.seen();
        let asked = ids::Request {
            layout: request.layout,
            shard: request.shard,
            want: request.want,
            floor: request.floor,
            now_us,
            now,
            lease: request.lease_slots,
            noted_drift: request.noted_drift_ticks,
            max_drift: request.max_drift_ticks,
            horizon_us: request.horizon_us,
            beyond: request.beyond,
            trusts_new: request.trusts_new,
            flushed: request.flushed,
        };
        let visit = match ids::visit(&seen, &server, &asked) {
            Ok(visit) => visit,
            Err(refusal) => {
                ffi::UnlockReleaseBuffer(page.buffer);
                return Visit::Refused(refusal, place);
            }
        };
        let callers_end = pg_sys::XactLastRecEnd;
        let mut lsn = seen.lsn;

        pg_sys::CritSectionCount += 1;
        if let Some(until) = visit.record {
            page.set(until, LIVE);
            lsn = page.write_record(place);
        }
        let trace = visit.trace(&server, lsn);
        page.set(visit.last(), LIVE);
        page.leave(trace);
        pg_sys::CritSectionCount -= 1;
        ffi::UnlockReleaseBuffer(page.buffer);

        // The wait for the record is ours alone: the commit need not wait for it again.
        pg_sys::XactLastRecEnd = callers_end;
        match visit.flush {
            Flush::Nothing => {}
            Flush::Before => ffi::XLogFlush(seen.lsn),
            Flush::Page => ffi::XLogFlush(lsn),
        }
        if visit.nudge {
            ffi::XLogSetAsyncXactLSN(lsn);
        }
        Visit::Taken {
            first: visit.first,
            count: visit.count,
            position: visit.position,
            flushed: visit.flushed(request.flushed, &trace),
            place,
        }
    }
}

/// Says on the page of a generator that this transaction has made that ids begin with
/// `first`: that nothing above it was given out, or that it `replaces` one that did.
/// Returns whether it could.
///
/// The caller has locked the relation.
pub(crate) fn begin(
    sequence: pg_sys::Oid,
    first: i64,
    replaces: bool,
    timeline: Timeline,
) -> Result<bool, Unusable> {
    // SAFETY: as `visit`; the page is locked from `open` to `UnlockReleaseBuffer`.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            let (page, place) = Page::open(sequence, None)?;
            if place.made_here {
                stand_at(&page, place, first, replaces, timeline);
            }
            ffi::UnlockReleaseBuffer(page.buffer);
            Ok(place.made_here)
        })
    }
}

/// Says on the page of a generator that it has given out nothing above `last`, or above what
/// the page knows of: it has done so on another server. With `if_known` only where the page
/// knows that: what does not know it begins beyond the horizon.
///
/// The caller has locked the relation.
pub(crate) fn go_on_above(
    sequence: pg_sys::Oid,
    last: i64,
    if_known: bool,
    timeline: Timeline,
) -> Result<(), Unusable> {
    // SAFETY: as `visit`; the page is locked from `open_any_file` to `UnlockReleaseBuffer`.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            let (page, place) = Page::open_any_file(sequence)?;
            let known = page.seen().trace_of(place.file(timeline.number));
            if known.is_some() || !if_known {
                let last = known.map_or(last, |trace| trace.last.max(last));
                stand_at(&page, place, last, false, timeline);
            }
            ffi::UnlockReleaseBuffer(page.buffer);
            Ok(())
        })
    }
}

/// Has a generator stand at an id, and leaves the trace that says so.
///
/// # Safety
/// Runs under a guard; `page` is at `place`, and locked.
unsafe fn stand_at(page: &Page, place: Place, last: i64, replaces: bool, timeline: Timeline) {
    // SAFETY: inside the critical section are only assignments and the WAL calls.
    unsafe {
        ffi::MarkBufferDirty(page.buffer);
        let mut lsn = page.lsn();
        pg_sys::CritSectionCount += 1;
        page.set(last, LIVE);
        if place.needs_wal {
            lsn = page.write_record(place);
        }
        page.leave(Trace::new(place.file(timeline.number), lsn, last, replaces));
        pg_sys::CritSectionCount -= 1;
    }
}

/// The last number that the page shows, be it what a dump has set: not all that was given out.
///
/// The caller has locked the relation.
pub(crate) fn shown(sequence: pg_sys::Oid) -> Result<i64, Unusable> {
    // SAFETY: as `visit`; the page is only read.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            let (page, _) = Page::open(sequence, None)?;
            let seen = page.seen();
            ffi::UnlockReleaseBuffer(page.buffer);
            Ok(seen.last())
        })
    }
}

/// The highest id that the page knows to have been given out; `None` where it does not know.
///
/// The caller has locked the relation.
pub(crate) fn last(sequence: pg_sys::Oid, timeline: Timeline) -> Result<Option<i64>, Unusable> {
    // SAFETY: as `visit`; the page is only read.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            let (page, place) = Page::open(sequence, None)?;
            let seen = page.seen();
            ffi::UnlockReleaseBuffer(page.buffer);
            let trace = seen.trace_of(place.file(timeline.number));
            let known = trace.filter(|trace| trace.replaces == 0);
            Ok(known.map(|trace| trace.last.max(seen.last())))
        })
    }
}
