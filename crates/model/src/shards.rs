//! How are shards made and dropped? It is `create_shard()` and `drop_shard()` of the
//! extension's SQL.

use shardid_ids::{Position, Trace};

use crate::layout::{id, layout, shard, ticks_us};
use crate::mending::Mending;
use crate::pages::new_page;
use crate::scenario::Scenario;
use crate::transaction::Level;
use crate::wal::Row;
use crate::world::World;

impl World {
    pub(crate) fn drop_schema(&mut self, level: &mut Level) -> bool {
        let there = level.row.file.take().is_some();
        level.anew = true;
        (level.made, level.new_file, level.own_new_file) = (None, false, false);
        there
    }

    pub(crate) fn drop_shard(&mut self, scenario: &Scenario, level: &mut Level) -> bool {
        let settings = scenario.sessions[0];
        if !level.row.known {
            return false;
        }
        let last = match level.row.file {
            Some(number) => self.stored(number).buffer.page.last_value,
            None => {
                let horizon_us = self.read_horizon(settings, scenario.off);
                id(layout().tick_at(horizon_us), layout().slots() - 1)
            }
        };
        let left_us = ticks_us(last / layout().per_tick() + 1) - self.now_us();
        if left_us > 0 && left_us <= ticks_us(settings.max_drift + 2 * settings.lease + 1) {
            return false;
        }
        level.row.floor = level.row.floor.max(last);
        self.drop_schema(level)
    }

    /// `create_generator` with `first_id` and `begin_generator`.
    pub(crate) fn create_shard(
        &mut self,
        scenario: &Scenario,
        level: &mut Level,
        at: usize,
    ) -> bool {
        if level.row.file.is_some() {
            return false;
        }
        let replaces = level.row.known && !scenario.off.is(Mending::Begins);
        let mut begin = Position { tick: self.tick(), slot: layout().slot_at(self.now_us()) };
        if let Some(until_us) = self.of_earlier_timelines(scenario.sessions[0], scenario.off) {
            begin = begin.max(Position { tick: layout().tick_at(until_us) + 1, slot: 0 });
        }
        if let Some(floor) = layout().position_at_or_below(shard(), level.row.floor) {
            begin = begin.max(Position { tick: floor.tick + 1, slot: 0 });
        }
        let first = id(begin.tick, begin.slot);
        let number = self.make_file(new_page(first), !scenario.minimal);
        let trace =
            Trace::new(self.file(number), self.stored(number).buffer.page.lsn, first, replaces);
        self.stored(number).buffer.page.trace = Some(trace);
        level.row = Row { known: true, file: Some(number), unlogged: false, ..level.row };
        level.made = Some(at);
        true
    }
}
