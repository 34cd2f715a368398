//! How does a session with the library take ids? It is the rim, `generator.rs` and
//! `page/sequence.rs` of the extension, around the real [`shardid_ids::visit()`].

use shardid_ids::{Flush, LIVE, Request, Server, Trace, Visit};

use crate::given::Giver;
use crate::layout::{layout, shard, ticks_us};
use crate::leave_out::{leave_out, trace_left};
use crate::mending::{Mending, Off};
use crate::scenario::{Kind, Scenario};
use crate::session::{Asking, Pending};
use crate::world::World;

/// When a checkpoint begins during a visit: between what it does to the page first, and
/// the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meanwhile {
    Nothing,
    CheckpointBegins,
}

impl World {
    /// One visit of a session, or one more; says whether anything has changed.
    pub(crate) fn ask(
        &mut self,
        scenario: &Scenario,
        who: usize,
        want: i64,
        meanwhile: Meanwhile,
    ) -> bool {
        let settings = scenario.sessions[who];
        let off = scenario.off;
        let Some((number, made_here, logged)) = self.usable(scenario, who) else { return false };
        let again = self.sessions[who].asking;
        if again.is_none() && !self.left.spend(Kind::Visit) {
            return false;
        }
        let asking = again.unwrap_or(Asking { want, beyond: None, unknown: None });
        if let Some(lsn) = asking.unknown {
            self.look_up(scenario, who, asking, lsn);
            return meanwhile == Meanwhile::Nothing;
        }

        let session = self.sessions[who];
        let mut server = Server {
            file: self.file(number),
            redo: self.redo,
            logged,
            made_here,
            installation: self.installation,
        };
        if meanwhile == Meanwhile::CheckpointBegins {
            let late = off.is(Mending::DirtyFirst);
            self.stored(number).dirty |= !late;
            self.begin_checkpoint();
        }
        self.stored(number).dirty = true;
        let seen = self.stored(number).buffer.page;
        let mut page = seen;
        let mut request = Request {
            layout: layout(),
            shard: shard(),
            want: asking.want,
            floor: session.floor,
            now_us: self.now_us(),
            now: layout().tick_at(self.now_us()),
            lease: settings.lease * layout().slots(),
            // All drifts here are below the usual one, which is noted before any id.
            noted_drift: if session.drift < ticks_us(settings.max_drift) {
                -1
            } else {
                layout().whole_ticks(session.drift)
            },
            max_drift: settings.max_drift,
            horizon_us: session.horizon,
            beyond: asking.beyond,
            trusts_new: false,
            flushed: session.flushed,
        };
        leave_out(off, &mut page, &mut server, &mut request);
        let visit = match shardid_ids::visit(&page, &server, &request) {
            Ok(visit) => visit,
            Err(_) if meanwhile != Meanwhile::Nothing => return false,
            Err(refusal) => return self.refused(scenario, who, asking, logged, refusal),
        };
        server.file = self.file(number);
        server.made_here = made_here;
        let lsn = self.put(number, &visit, &server, off);
        let trace = trace_left(&visit, &server, lsn, off);
        self.delivered_later(who, &visit, seen.lsn, lsn, &trace, off);
        if off.is(Mending::HorizonFirst) && visit.record.is_some() {
            let later = trace.lease + settings.lease * layout().slots();
            self.sessions[who].late_horizon = Some(layout().instant_of(later));
        }
        true
    }

    /// The file that the session would take from, whether its transaction has made the
    /// relation, and whether changes are logged; `None` where it is refused.
    fn usable(&self, scenario: &Scenario, who: usize) -> Option<(u32, bool, bool)> {
        let off = scenario.off;
        let level = self.transaction.as_ref().filter(|_| who == 0).map(|t| t.top());
        let row = match level {
            Some(level) => level.row,
            None => self.row_for_others()?,
        };
        let (made, new_file) = level.map_or((false, false), |l| (l.made.is_some(), l.new_file));
        let refused = (new_file && !off.is(Mending::NewFile))
            || (level.is_some_and(|l| l.own_new_file) && !off.is(Mending::OwnNewFile));
        let number = row.file.filter(|_| !refused && !row.unlogged)?;
        Some((number, made, !(scenario.minimal && (made || new_file))))
    }

    /// The record that the visit asks for, and the page as it is after it.
    fn put(&mut self, number: u32, visit: &Visit, server: &Server, off: Off) -> u64 {
        let mut lsn = self.stored(number).buffer.page.lsn;
        if let Some(until) = visit.record {
            self.set(number, until, LIVE);
            lsn = self.log_page(number);
        }
        let trace = trace_left(visit, server, lsn, off);
        let log_cnt = match off.is(Mending::Live) {
            true => -layout().id(shard(), layout().position_of(trace.lease)),
            false => LIVE,
        };
        self.set(number, visit.last(), log_cnt);
        self.stored(number).buffer.page.trace = Some(trace);
        lsn
    }

    fn set(&mut self, number: u32, last_value: i64, log_cnt: i64) {
        let page = &mut self.stored(number).buffer.page;
        (page.last_value, page.log_cnt, page.is_called) = (last_value, log_cnt, true);
    }

    fn delivered_later(
        &mut self,
        who: usize,
        visit: &Visit,
        before: u64,
        lsn: u64,
        trace: &Trace,
        off: Off,
    ) {
        let until = match visit.flush {
            _ if off.is(Mending::Flush) => 0,
            Flush::Nothing => 0,
            Flush::Before => before,
            Flush::Page => lsn,
        };
        self.given.set_right();
        let session = &mut self.sessions[who];
        let flushed = visit.flushed(session.flushed, trace);
        session.asking = None;
        session.pending =
            Some(Pending { first: visit.first, count: visit.count, lsn: until, flushed });
        if until <= self.wal.flushed() {
            self.deliver(who);
        }
    }

    /// The flush is done, and the ids leave.
    pub(crate) fn deliver(&mut self, who: usize) -> bool {
        let Some(pending) = self.sessions[who].pending.take() else { return false };
        self.wal.flush(pending.lsn);
        let session = &mut self.sessions[who];
        session.flushed = pending.flushed;
        session.floor = pending.first + (pending.count - 1);
        self.given.give(Giver::Library, pending.first, pending.count);
        true
    }
}
