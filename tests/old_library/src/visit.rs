//! One visit to the page of a shard's sequence: lock, advance, log, release, flush.
//!
//! `pg_extension/src/page/sequence.rs` of 0.1.0 as it was, without the floor of
//! `next_id` and the check for a clock that jumps.
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

use pgrx::pg_sys;
use shardid_ids::{Layout, Position, Shard};

use crate::page::{Page, Place, Unusable};
use crate::rules::{Refused, Renewal, advance, after_unknown, renew};
use crate::{ffi, session};

/// What a visit needs to know.
pub(crate) struct Request {
    pub(crate) sequence: pg_sys::Oid,
    pub(crate) layout: Layout,
    pub(crate) shard: Shard,
    /// How many ids are wanted; the tick may have fewer.
    pub(crate) want: i64,
    pub(crate) lease_ticks: i64,
    pub(crate) max_drift_ticks: i64,
    /// Up to where this backend knows WAL to be flushed.
    pub(crate) flushed: Flushed,
    /// Where the page was at the last visit, if that was in this transaction.
    pub(crate) place: Option<Place>,
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
    /// `count` ids from `first` on, safe to hand out, all of one tick.
    Taken { first: i64, count: i64, flushed: Flushed, place: Place },
    /// The clock rule said no; the page is unchanged.
    Refused(Refused),
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
    // SAFETY: as the caller says.
    unsafe {
        match Page::open(request.sequence, request.place) {
            Ok((page, place)) => take(request, page, place),
            Err(unusable) => Visit::Unusable(unusable),
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
        let now = layout.tick_at(session::now_us());
        let old_chain = page.chain();
        let called = (*data).is_called != 0;
        let mut last = layout.position_at_or_below(*shard, (*data).last());
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
        let callers_end = pg_sys::XactLastRecEnd;
        let mut lsn = old_lsn;

        pg_sys::CritSectionCount += 1;
        if renewal != Renewal::Keep && logged {
            // As it is to be after a crash: at the end of the lease, and logged by nobody.
            (*page.tuple).t_choice.t_heap.t_field3.t_cid = chain;
            (*data).last_value = lease;
            (*data).is_called = 1;
            (*data).log_cnt = 0;
            lsn = page.write_record(place);
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
        Visit::Taken { first, count, flushed, place }
    }
}
