//! What is left by `DROP EXTENSION CASCADE`, `CREATE EXTENSION` and `create_shard()`, which takes up the sequence that is
//! there? The extension's tables and numbers are new ones, and the horizon is where the sequence stands.

use shardid_ids::LIVE;

use crate::layout::{layout, shard};
use crate::number::{Number, Which};
use crate::wal::{Record, Row};
use crate::world::World;

impl World {
    /// Has the extension be made anew; whether it could be.
    pub(crate) fn reinstall(&mut self) -> bool {
        let Some(number) = self.row.file.filter(|_| !self.row.unlogged) else { return false };
        if self.transaction.is_some() || !self.nobody_takes() {
            return false;
        }
        let file = self.file(number);
        let page = self.stored(number).buffer.page;
        let trace = page.trace_of(file);
        // Where somebody has put it back, or the sequence that it takes the place of was lost, and
        // nothing else says how far ids went, all traces of that go.
        let unknown = trace.is_none_or(|trace| trace.replaces == 1);
        if unknown && (page.log_cnt != LIVE || self.given.is_put_back()) {
            return false;
        }
        self.installation += 1;
        // It is older than the new tables.
        self.backup = None;
        self.numbers = [Number::begin(); 2];
        let last = page.last().max(trace.map_or(-1, |trace| trace.last));
        let reached = layout().position_at_or_below(shard(), last);
        let horizon_us = reached.map_or(-1, |at| layout().instant_of(layout().index_of(at)));
        self.log_number(Which::Horizon, horizon_us);
        self.log_number(Which::Drift, -1);
        self.row = Row { known: true, file: Some(number), ..Row::NONE };
        self.wal.insert(Record::Row(self.row));
        self.wal.flush_all();
        self.new_sessions();
        true
    }
}
