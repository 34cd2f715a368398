//! A visit to the page of a shard's sequence: which ids come out of it, what the page
//! says afterwards, and what must be in WAL before they leave.
//!
//! The extension makes such a visit under the page's lock, the model makes the same
//! visits in every order. Nothing here reads a clock or a page.
//!
//! A page holds the sequence's own data, which `nextval`, `setval` and DDL change as
//! well, and a [`Trace`], which only we write. The trace lies outside the tuple: a new
//! file does not inherit it, redo clears it, `setval` leaves it. It says of which file it
//! is and after which record it was written, so that it is believed only where it holds:
//!
//! | What the page has | Its lease | Its position |
//! |---|---|---|
//! | a trace of this file, after the page's last record, which a crash would read | holds | holds |
//! | a trace of this file, and somebody has logged since, or a checkpoint came, or another installation of the extension | void | the higher of both |
//! | no trace of this file, on this timeline | void | unknown |
//!
//! Where the position is unknown, ids begin beyond the *horizon*: an instant in WAL that
//! no lease of any generator of the database reaches past. That is so after a crash, in a
//! new file, a copy, a restored dump, and on a new timeline. In a long tick they also begin
//! where the clock is in it: of a database that another one takes the place of, what it gave
//! since lies before that, once the clock has passed it.
//!
//! Leases and the horizon count in *indexes*: positions in a row, so many slots a tick. A
//! tick may be long, and what is beyond a part of one need not be beyond the whole.
//!
//! Ids of a transaction that rolls back may have been seen, and so are not to come again.
//! A transaction that has made a generator gives out none that are ahead of the clock, to
//! the slot: if it is made again, it begins where the clock is then. One that has replaced
//! or restored a generator gives out none at all before it commits.

use crate::clock::{Position, Refused, advance};
use crate::layout::{Layout, Shard};
use crate::lease::{Renewal, renew};

/// `log_cnt` of a page that we have written last, and in our WAL records. `nextval` and
/// the library 0.1.0 read it as "nothing is logged ahead".
pub const LIVE: i64 = i64::MIN;

/// A file of a relation, on a timeline: what a trace is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct File {
    /// Oid of the tablespace.
    pub tablespace: u32,
    /// Oid of the database.
    pub database: u32,
    /// The relation's file number.
    pub number: u32,
    /// The timeline that WAL is written on.
    pub timeline: u32,
}

/// What the last visit of ours has left on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Trace {
    // What each visit changes comes first: it shares a cache line with the page's head.
    /// The highest id that was given out, or is held in a block.
    pub last: i64,
    /// The tick of that id, which need not be divided out of it again.
    pub tick: i64,
    /// Where our last record ends: the page's LSN, unless somebody has logged since.
    pub lsn: u64,
    /// The file it was left in.
    pub file: File,
    /// Where the first record of the chain ends: an unbroken run of ours, each of which
    /// covers more than the one before. 0 where nothing was logged, and before the
    /// transaction that has made the file has committed: the first record after that is
    /// flushed with the commit.
    pub chain: u64,
    /// The last index that the last record covers.
    pub lease: i64,
    /// How many indexes it covered when it was written.
    pub span: i64,
    /// 1 where the generator takes the place of another one of its shard, and has given
    /// nothing out yet; 0 elsewhere.
    pub replaces: u32,
    /// Of which installation of the extension the horizon is that the lease lies before.
    pub installation: u32,
}

impl Trace {
    /// The trace of a new generator that begins above `first`, in the transaction that
    /// makes it.
    pub fn new(file: File, lsn: u64, first: i64, replaces: bool) -> Self {
        Self {
            file,
            lsn,
            chain: 0,
            lease: -1,
            span: 0,
            last: first,
            tick: -1,
            replaces: u32::from(replaces),
            // It has no lease.
            installation: 0,
        }
    }
}

/// A page, as it is read under its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Page {
    /// The sequence's `last_value`.
    pub last_value: i64,
    /// The sequence's `log_cnt`.
    pub log_cnt: i64,
    /// The sequence's `is_called`.
    pub is_called: bool,
    /// Where the page's last WAL record ends.
    pub lsn: u64,
    /// What is found in its free space, of whichever file.
    pub trace: Option<Trace>,
}

impl Page {
    /// The last number that was handed out, as PostgreSQL sees it: a value that was not
    /// called yet is the next one, not the last one.
    pub fn last(&self) -> i64 {
        if self.is_called { self.last_value } else { self.last_value.saturating_sub(1) }
    }

    /// The trace, if it was left in this file.
    pub fn trace_of(&self, file: File) -> Option<Trace> {
        self.trace.filter(|trace| trace.file == file)
    }

    /// The trace, if nobody has logged since it was left, a crash would read its record, and the
    /// horizon is the one that its lease lies before.
    pub fn trace_that_holds(&self, server: &Server) -> Option<Trace> {
        self.trace_of(server.file).filter(|trace| {
            server.logged
                && trace.lsn == self.lsn
                && self.lsn > server.redo
                && trace.installation == server.installation
                && (trace.chain != 0 || server.made_here)
        })
    }
}

/// What the server says, when the page is held and marked dirty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// Which file the page is of.
    pub file: File,
    /// The redo pointer: a crash reads what was logged after it.
    pub redo: u64,
    /// Whether changes of the relation are logged.
    pub logged: bool,
    /// Whether this transaction has made the relation: it goes if that rolls back.
    pub made_here: bool,
    /// Which installation of the extension the database has: with it the horizon begins anew.
    pub installation: u32,
}

/// What is asked for, and what the session knows.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The generator's layout.
    pub layout: &'a Layout,
    /// The generator's shard.
    pub shard: Shard,
    /// How many ids are wanted, 1 or more; the tick may have fewer.
    pub want: i64,
    /// The highest id that the session was given by this generator; -1 for none.
    pub floor: i64,
    /// What the clock reads, in Unix microseconds.
    pub now_us: i64,
    /// The tick of that.
    pub now: i64,
    /// How long a lease is, in slots.
    pub lease: i64,
    /// How far ahead of the clock an id may be, in ticks.
    pub max_drift: i64,
    /// An instant (Unix microseconds) that the horizon in WAL is at or beyond.
    pub horizon_us: i64,
    /// Where the past is unknown: the last index that can have been given out.
    pub beyond: Option<i64>,
    /// The largest drift, in ticks, that is known to be remembered.
    pub noted_drift: i64,
    /// Whether a new generator is trusted that nobody of ours has begun: the extension's
    /// SQL is that of 0.1.0, which does not say so on the page.
    pub trusts_new: bool,
    /// What the session knows to be flushed.
    pub flushed: Flushed,
}

/// A lease that is known to be on disk: a chain, and the index it reaches to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flushed {
    /// The chain, as in [`Trace::chain`].
    pub chain: u64,
    /// The last index that a flushed record of it covers.
    pub until: i64,
}

impl Flushed {
    /// Nothing is known.
    pub const NOTHING: Self = Self { chain: 0, until: -1 };

    fn covers(self, chain: u64, index: i64) -> bool {
        chain != 0 && self.chain == chain && index <= self.until
    }
}

/// Why a visit brings no ids; the page stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The clock rule says no.
    Clock(Refused),
    /// It may replace another generator, and its transaction has not committed.
    Replaces,
    /// Nobody of ours has said on the page where it stands: come again with
    /// [`Request::beyond`].
    UnknownPast {
        /// The page's LSN: ids of which nothing is known were given out before.
        lsn: u64,
        /// Whether the sequence itself says where it is to begin, not where it stands.
        restarted: bool,
    },
    /// The next id is further ahead of the clock than is remembered: have it be, and come
    /// again.
    UnnotedDrift {
        /// How far, in ticks, where the horizon alone has put it there; `None` where the
        /// generator has gone there itself, and may go on.
        by_horizon: Option<i64>,
    },
    /// Have the horizon reach further, and come again.
    BeyondHorizon {
        /// Where it has to reach at least, in Unix microseconds.
        until_us: i64,
        /// Where it would reach for the next lease as well.
        target_us: i64,
    },
}

/// What has to be on disk before the ids leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// Nothing more than is known to be.
    Nothing,
    /// WAL up to where the page's last record ended when it was read.
    Before,
    /// WAL up to the page's last record, this visit's if it has written one.
    Page,
}

/// What comes of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// The first id.
    pub first: i64,
    /// How many there are, all of one tick.
    pub count: i64,
    /// Where the first one lies.
    pub position: Position,
    /// What a record says as `last_value`, if one is written, with [`LIVE`].
    pub record: Option<i64>,
    /// What has to be on disk before the ids leave.
    pub flush: Flush,
    /// Whether the record need not be waited for: somebody should flush it soon.
    pub nudge: bool,
    /// The chain that goes on; `None` where this visit's record begins one.
    chain: Option<u64>,
    /// The last index that is covered from now on.
    lease: i64,
    /// How many indexes the last record covered.
    span: i64,
    /// The last index that what is flushed covers.
    flushed_until: i64,
}

impl Visit {
    /// The highest id of the visit: the page's `last_value` from now on.
    pub fn last(&self) -> i64 {
        self.first + (self.count - 1)
    }

    /// The trace to leave, given where the page's last record ends.
    pub fn trace(&self, server: &Server, lsn: u64) -> Trace {
        let counts = server.logged && !server.made_here;
        let chain = if counts { self.chain.unwrap_or(lsn) } else { 0 };
        Trace {
            file: server.file,
            lsn,
            chain,
            lease: self.lease,
            span: self.span,
            last: self.last(),
            tick: self.position.tick,
            replaces: 0,
            installation: server.installation,
        }
    }

    /// What the session knows after the flush.
    pub fn flushed(&self, before: Flushed, trace: &Trace) -> Flushed {
        match self.flush {
            Flush::Nothing => before,
            Flush::Before | Flush::Page => {
                Flushed { chain: trace.chain, until: self.flushed_until }
            }
        }
    }
}

/// A short lease, in microseconds.
///
/// A generator that has begun beyond what is known, or ahead of the clock, has one first, and
/// twice as much each time after it: if it is restarted, or made again, over and over, as tests
/// do with their tables, it should not run away from the clock. And one that is nearly as far ahead of the clock as
/// it may be has such leases: others that begin beyond them should not have to wait.
const SHORT_SPAN_US: i64 = 10_000;

/// Takes ids from a page.
///
/// The page is to be marked dirty before the redo pointer is read: a checkpoint that
/// begins in between then finds it dirty, and writes what the visit puts there.
#[inline]
pub fn visit(page: &Page, server: &Server, request: &Request<'_>) -> Result<Visit, Refusal> {
    let Request { layout, shard, now, .. } = *request;
    let own = page.trace_of(server.file);
    if server.made_here && !request.trusts_new && own.is_none_or(|trace| trace.replaces == 1) {
        return Err(Refusal::Replaces);
    }
    let unknown = own.is_none_or(|trace| trace.replaces == 1);
    let known = page.last().max(request.floor).max(own.map_or(-1, |trace| trace.last));
    let mut last = match own {
        // Divisions are slow, and all others wait.
        Some(trace) if trace.last == known && trace.tick >= 0 => {
            let begin = layout.id(shard, Position { tick: trace.tick, slot: 0 });
            Some(Position { tick: trace.tick, slot: known - begin })
        }
        _ => layout.position_at_or_below(shard, known),
    };
    let mut by_horizon = false;
    if unknown {
        let beyond = request
            .beyond
            .ok_or(Refusal::UnknownPast { lsn: page.lsn, restarted: !page.is_called })?;
        // Whoever had it before has waited for what it gave, by its share of the tick; for the last
        // slot to the tick's end.
        let slot = layout.slot_at(request.now_us).min(layout.slots() - 2);
        if !server.made_here && slot >= 0 && (0..layout.ticks()).contains(&now) {
            last = last.max(Some(Position { tick: now, slot }));
        }
        if beyond >= 0 {
            let end = layout.index_of(layout.last_position());
            let horizon = Some(layout.position_of(beyond.min(end)));
            by_horizon = horizon > last;
            last = last.max(horizon);
        }
    }
    let max_drift = if server.made_here { 0 } else { request.max_drift };
    let position =
        advance(last, now, max_drift, layout.slots(), layout.ticks()).map_err(Refusal::Clock)?;
    let mut count = request.want.min(layout.slots() - position.slot);
    if server.made_here && position.tick == now {
        // Up to where the clock is within its tick.
        let reached = layout.slot_at(request.now_us) - position.slot + 1;
        if reached < 1 {
            return Err(Refusal::Clock(Refused::TooFarAhead { drift: 0, ready_tick: now }));
        }
        count = count.min(reached);
    }
    let first = layout.id(shard, position);

    let drift = position.tick - now;
    if drift > request.noted_drift {
        return Err(Refusal::UnnotedDrift { by_horizon: by_horizon.then_some(drift) });
    }
    let begin = layout.index_of(position);
    let index = begin + (count - 1);
    // It was begun above one of before, which had gone ahead of the clock.
    let begins_ahead =
        own.is_some_and(|trace| trace.tick < 0) && begin > layout.index_at(request.now_us);
    let holds = page.trace_that_holds(server);
    let short = layout.whole_slots(SHORT_SPAN_US).min(request.lease);
    let farthest = now.saturating_add(request.max_drift).saturating_mul(layout.slots());
    let room = farthest.saturating_sub(index).max(short);
    let span = match own {
        _ if unknown || begins_ahead => short,
        Some(trace) if trace.span > 0 => {
            room.min(request.lease).min(trace.span.saturating_mul(2)).max(short)
        }
        _ => room.min(request.lease),
    };
    // Where a lease is shorter than a slot: some of what is left of the tick.
    let rest = layout.slots() - position.slot - count;
    let span = if span > 0 { span } else { rest.min(layout.slots_counted(SHORT_SPAN_US)) };
    let renewal = renew(
        index,
        holds.map(|trace| trace.lease),
        span,
        holds.map_or(0, |trace| trace.span / 2),
        room,
        layout.index_of(layout.last_position()),
    );
    let new_lease = match renewal {
        Renewal::Keep => None,
        Renewal::Extend(until) | Renewal::Must(until) => Some(until),
    };
    if let Some(until) = new_lease {
        let until_us = layout.instant_of(until);
        if until_us > request.horizon_us {
            // Where it should not run away from the clock, no further than it has to.
            let next = if unknown || begins_ahead { until } else { until.saturating_add(span) };
            let target_us = layout.instant_of(next);
            return Err(Refusal::BeyondHorizon { until_us, target_us });
        }
    }
    // A lease that merely ran out is followed by the next of its chain.
    let chain = holds.map(|trace| trace.chain).filter(|&chain| chain != 0);
    let leased = holds.map_or(index, |trace| trace.lease);
    let lease = new_lease.unwrap_or(leased);
    let record = new_lease
        .filter(|_| server.logged)
        .map(|until| layout.id(shard, layout.position_of(until)));
    let is_flushed = chain.is_some_and(|chain| request.flushed.covers(chain, index));
    let extends = matches!(renewal, Renewal::Extend(_));
    let (flush, flushed_until) = match (server.logged && !is_flushed, extends) {
        (false, _) => (Flush::Nothing, -1),
        // The old record covers the ids, and was written a while ago.
        (true, true) => (Flush::Before, leased),
        (true, false) => (Flush::Page, lease),
    };
    let span = if new_lease.is_some() { span } else { holds.map_or(span, |trace| trace.span) };
    let nudge = extends && record.is_some();
    Ok(Visit { first, count, position, record, flush, nudge, chain, lease, span, flushed_until })
}
