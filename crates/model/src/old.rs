//! How does a session with the library 0.1.0 take ids? It keeps its lease in `log_cnt`, as
//! a negative number, and the number of its chain in `t_cid`; it knows of no trace.

use shardid_ids::{Position, Renewal, advance, renew};

use crate::given::Giver;
use crate::layout::{layout, shard};
use crate::scenario::{Kind, Scenario};
use crate::session::Pending;
use crate::world::World;

impl World {
    /// Its `take`.
    pub(crate) fn ask_old(&mut self, scenario: &Scenario, want: i64) -> bool {
        let Some(number) = self.row_for_others().filter(|r| !r.unlogged).and_then(|r| r.file)
        else {
            return false;
        };
        if self.old.pending.is_some() || !self.left.spend(Kind::OldVisit) {
            return false;
        }
        let settings = scenario.old;
        let redo = self.redo;
        let (now, old, layout) = (self.tick(), self.old, layout());
        let image = self.stored(number).buffer;
        let known = image.page.last().max(old.floor);
        let mut last = layout.position_at_or_below(shard(), known);
        let mut max_drift = settings.max_drift;
        if !image.page.is_called && image.chain == 0 {
            let unknown = Position { tick: now + max_drift, slot: layout.slots() - 1 };
            last = last.max(Some(unknown));
            max_drift += 1;
        }
        let Ok(position) = advance(last, now, max_drift, layout.slots(), layout.ticks()) else {
            return false;
        };
        let count = want.min(layout.slots() - position.slot);
        let first = layout.id(shard(), position);
        let log_cnt = image.page.log_cnt;
        let leased = (log_cnt < 0).then(|| layout.tick_of(log_cnt.wrapping_neg())).flatten();
        let old_lsn = image.page.lsn;
        let unbroken = leased.filter(|_| old_lsn > redo);
        let end = layout.ticks() - 1;
        let renewal = renew(
            position.tick,
            unbroken,
            settings.lease,
            settings.lease / 2,
            settings.max_drift,
            end,
        );
        let (until, chain) = match renewal {
            Renewal::Keep => (leased.unwrap_or(position.tick), image.chain),
            Renewal::Extend(until) => (until, image.chain),
            Renewal::Must(until) if unbroken.is_some() => (until, image.chain),
            Renewal::Must(until) => {
                (until.max(leased.unwrap_or(until)), image.chain.wrapping_add(1).max(1))
            }
        };
        let lease = layout.id(shard(), Position { tick: until, slot: layout.slots() - 1 });

        let mut lsn = old_lsn;
        let file = self.stored(number);
        file.dirty = true;
        file.buffer.page.is_called = true;
        if renewal != Renewal::Keep {
            file.buffer.chain = chain;
            file.buffer.page.last_value = lease;
            file.buffer.page.log_cnt = 0;
            lsn = self.log_page(number);
        }
        let page = &mut self.stored(number).buffer.page;
        page.last_value = first + (count - 1);
        page.log_cnt = -lease;

        let covered = old.flushed.0 == chain && position.tick <= old.flushed.1;
        let (lsn, flushed) = match renewal {
            _ if covered => (0, old.flushed),
            Renewal::Extend(_) => (old_lsn, (chain, leased.unwrap_or(position.tick))),
            Renewal::Keep | Renewal::Must(_) => (lsn, (chain, until)),
        };
        let nothing = shardid_ids::Flushed::NOTHING;
        self.old.pending = Some((Pending { first, count, lsn, flushed: nothing }, flushed));
        if lsn <= self.wal.flushed() {
            self.deliver_old();
        }
        true
    }

    /// The flush is done, and the ids leave.
    pub(crate) fn deliver_old(&mut self) -> bool {
        let Some((pending, flushed)) = self.old.pending.take() else { return false };
        self.wal.flush(pending.lsn);
        self.old.flushed = flushed;
        self.old.floor = pending.first + (pending.count - 1);
        self.given.give(Giver::Old, pending.first, pending.count);
        true
    }
}
