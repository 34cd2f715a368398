//! With what does a scenario begin?

use shardid_ids::Trace;

use crate::given::Given;
use crate::layout::{BEGIN, id, layout, ticks_us};
use crate::mending::Off;
use crate::number::{Number, Which};
use crate::pages::{Stored, new_page};
use crate::scenario::Scenario;
use crate::session::{Old, Session};
use crate::wal::{Record, Row, Wal};
use crate::world::World;

impl World {
    /// A shard that was made a while ago, or none at all; a backup, all on disk.
    pub(crate) fn begin(scenario: &Scenario) -> Self {
        let mut world = Self {
            now: BEGIN * layout().slots(),
            given: Given::default(),
            wal: Wal::default(),
            redo: 0,
            control_redo: 0,
            checkpoint: None,
            timeline: 1,
            timeline_begins: 0,
            database: 1,
            installation: 1,
            files: Vec::new(),
            next_file: 1,
            numbers: [Number::begin(); 2],
            row: Row::NONE,
            transaction: None,
            sessions: Vec::new(),
            old: Old::default(),
            stranger: None,
            backup: None,
            left: scenario.budget,
        };
        world.sessions = vec![Session::NEW; scenario.sessions.len()];
        if scenario.drift_is_noted {
            let drift = scenario.sessions.iter().map(|s| s.max_drift).max().unwrap_or(-1);
            world.raise(Which::Drift, ticks_us(drift), Off::default());
        }
        if scenario.has_shard {
            let buffer = new_page(id(BEGIN - 1, 0));
            world.files.push(Stored { number: 1, buffer, dirty: true, disk: None });
            world.next_file = 2;
            let lsn = world.log_page(1);
            let trace = Trace::new(world.file(1), lsn, id(BEGIN - 1, 0), false);
            world.stored(1).buffer.page.trace = Some(trace);
            world.row = Row { known: true, file: Some(1), ..Row::NONE };
            world.wal.insert(Record::Row(world.row));
        }
        world.back_up();
        world
    }
}
