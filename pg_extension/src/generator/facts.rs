//! What has to hold before ids are taken: the generator's facts, its lock, and the right to it.

use super::{BACKEND, Facts, Generator, KEPT_PART, KEPT_US, shared};
use crate::page::backend::{self, Transaction};
use crate::page::{catalog, held, relations};
use crate::report::{self, Report};
use crate::settings;

impl Generator {
    /// Makes sure of the facts, the lock, and the right to take ids.
    pub(super) fn ready(&self) -> Result<Facts, Report> {
        let now = Transaction::current();
        if self.owner.get() == now
            && self.allowed.get() == now.user()
            && !backend::read_only()
            && let Some(facts) = self.facts.get()
        {
            return Ok(facts);
        }
        backend::refuse_where_no_writes(c"next_id()")?;
        let (facts, may) = loop {
            let changes = BACKEND.get().changes.get();
            let facts = match self.facts.get() {
                Some(facts) => facts,
                None => self.read()?,
            };
            // Before the lock, which would be kept: whoever may not take ids hinders nobody.
            let may = relations::may_use(facts.sequence, now.user());
            if may == Some(false) {
                return Err(report::no_privilege(&relations::relation_name(facts.sequence)));
            }
            if self.locked_in.get() != now.local() || self.locked.get() != facts.sequence {
                // Whoever fences or drops the shard holds this lock; behind it the
                // facts may be others, and then the change has been announced.
                held::lock(facts.sequence);
                self.locked.set(facts.sequence);
                self.locked_in.set(now.local());
            }
            if BACKEND.get().changes.get() == changes {
                self.facts.set(Some(facts));
                if self.floor_layout.replace(Some(facts.layout)) != Some(facts.layout) {
                    self.floor.set(-1);
                }
                if may.is_some() {
                    self.allowed.set(now.user());
                }
                break (facts, may);
            }
        };
        // Dropped past the extension's tables, with its schema perhaps. The shard may have been
        // made again since these facts were read.
        if may.is_none() {
            self.facts.set(None);
            return match self.read()?.sequence == facts.sequence {
                true => Err(self.unknown()),
                false => self.ready(),
            };
        }
        self.owner.set(now);
        if !self.place.get().is_some_and(|place| place.lasts()) {
            self.place.set(None);
        }
        self.drop_block();
        Ok(facts)
    }

    fn read(&self) -> Result<Facts, Report> {
        let (shard, layout_name, sequence, table) = match self.key.as_sequence() {
            Some(sequence) => {
                let (shard, layout) =
                    catalog::id_sequence(sequence).ok_or_else(|| self.unknown())?;
                // One that is dropped is as one that never was: its number is free for id sequences.
                if let Some(row) = catalog::shard(shard).filter(|row| row.state != "dropped") {
                    check_state(&row)?;
                }
                (shard, layout, sequence, catalog::table(c"id_sequence"))
            }
            None => {
                let row = catalog::shard(self.key.as_shard()).ok_or_else(|| self.unknown())?;
                check_state(&row)?;
                let sequence = row.sequence.ok_or_else(|| self.unknown())?;
                (row.shard, row.layout, sequence, catalog::table(c"shard"))
            }
        };
        let layout =
            catalog::layout(&layout_name).ok_or_else(|| report::no_layout(&layout_name))?;
        let shard = layout.shard(shard.into()).map_err(|_| {
            report::shard_not_in_layout(shard.into(), &layout_name, layout.shards())
        })?;
        // Its number may have come from elsewhere, and be that of anything here: to write ids
        // into a sequence of somebody else would break what that is for.
        if let Some(shape) = catalog::sequence_shape(sequence) {
            let (increment, min) =
                (layout.shards() * layout.slots(), shard.number() * layout.slots());
            if (shape.increment, shape.min) != (increment, min) {
                let name = relations::relation_name(sequence);
                return Err(report::not_its_generator(
                    &name,
                    shard.number(),
                    self.key.as_sequence().is_some(),
                    increment,
                    min,
                ));
            }
        }
        // A block has no more, whatever the layout has.
        let most_kept = (layout.whole_slots(KEPT_US) / KEPT_PART).min(settings::BLOCK_MAX.into());
        self.most_kept.set(most_kept as u16);
        let installation = catalog::table(c"shard");
        Ok(Facts { sequence, table, installation, shard, layout: shared(layout) })
    }

    pub(super) fn unknown(&self) -> Report {
        match self.key.as_sequence() {
            Some(sequence) => report::no_id_sequence(&relations::relation_name(sequence)),
            None => report::no_such_shard(self.key.as_shard()),
        }
    }

    pub(super) fn layout_name(&self) -> String {
        match self.key.as_sequence() {
            Some(sequence) => catalog::id_sequence(sequence).map(|(_, layout)| layout),
            None => catalog::shard(self.key.as_shard()).map(|row| row.layout),
        }
        .unwrap_or_default()
    }
}

/// Refuses a shard that does not give ids here: moved, fenced, dropped, or restored from elsewhere.
fn check_state(row: &catalog::ShardRow) -> Result<(), Report> {
    match row.state.as_str() {
        "moved" => {
            let node = row.node.as_deref().unwrap_or("?");
            return Err(report::moved(row.shard, node, row.map_version));
        }
        "fenced" => return Err(report::fenced(row.shard)),
        "dropped" => return Err(report::no_such_shard(row.shard)),
        _ => {}
    }
    if let (Some(system), Some(database)) = (row.system_identifier, &row.database)
        && (system != backend::system_identifier() || !backend::in_database(database))
    {
        return Err(report::restored_elsewhere(row.shard, database));
    }
    Ok(())
}
