//! What is the state of everything at one moment?

use shardid_ids::{File, Layout, Position, Shard, Trace};

use crate::ddl::Transaction;
use crate::given::Given;
use crate::mending::Off;
use crate::number::{Number, Which};
use crate::old::Old;
use crate::recovery::Backup;
use crate::scenario::{Budget, Scenario};
use crate::session::{Pending, Session};
use crate::storage::{Stored, new_page};
use crate::wal::{Record, Row, Wal};

/// A server, its sessions, and what was given out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// What the clock reads, in slots.
    pub now: i64,
    /// The ids that have left.
    pub given: Given,
    /// What is logged.
    pub wal: Wal,
    /// The redo pointer, as sessions read it.
    pub redo: u64,
    /// From where a crash reads WAL: the redo pointer of the last checkpoint that ended.
    pub control_redo: u64,
    /// The checkpoint under way: the files that it has to write.
    pub checkpoint: Option<Vec<u32>>,
    /// The timeline.
    pub timeline: u32,
    /// Where it begins.
    pub timeline_begins: u64,
    /// The database that is looked at.
    pub database: u32,
    /// The files that a row names.
    pub files: Vec<Stored>,
    /// The number of the next file.
    pub next_file: u32,
    /// `shardid.horizon` and `shardid.largest_drift`.
    pub numbers: [Number; 2],
    /// What is committed.
    pub row: Row,
    /// The one transaction that changes something; it is the first session's.
    pub transaction: Option<Transaction>,
    /// The sessions with the library.
    pub sessions: Vec<Session>,
    /// The session with the library 0.1.0.
    pub old: Old,
    /// What a stranger has taken by `nextval` and not committed yet, and whether the
    /// sequence was put back then.
    pub stranger: Option<(Pending, bool)>,
    /// What a restore begins with.
    pub backup: Option<Box<Backup>>,
    /// What may still happen.
    pub left: Budget,
}

/// The tick that the clock reads at first.
pub(crate) const BEGIN: i64 = 4;

/// 64 ticks, 2 shards, 2 ids of each in a tick. A tick is as long as the first lease of a
/// generator of which nothing was known.
pub(crate) fn layout() -> &'static Layout {
    static LAYOUT: std::sync::OnceLock<Layout> = std::sync::OnceLock::new();
    LAYOUT.get_or_init(|| Layout::new(0, TICK_US, Some(64), 2, 2).expect("it is a layout"))
}

const TICK_US: i64 = 10_000;

/// So many ticks, in microseconds.
pub(crate) fn ticks_us(ticks: i64) -> i64 {
    ticks * TICK_US
}

/// The shard that all is about.
pub(crate) fn shard() -> Shard {
    layout().shard(1).expect("the layout has it")
}

/// An id of the shard.
pub(crate) fn id(tick: i64, slot: i64) -> i64 {
    let tick = tick.clamp(0, layout().ticks() - 1);
    layout().id(shard(), Position { tick, slot })
}

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

    /// What the clock reads, in microseconds.
    pub(crate) fn now_us(&self) -> i64 {
        self.now * (TICK_US / layout().slots())
    }

    /// The tick that the clock reads.
    pub(crate) fn tick(&self) -> i64 {
        layout().tick_at(self.now_us())
    }

    /// Nobody is connected any more; whoever comes knows nothing.
    pub(crate) fn new_sessions(&mut self) {
        self.sessions.fill(Session::NEW);
        self.old = Old::default();
        self.stranger = None;
    }

    /// What a trace in that file says.
    pub(crate) fn file(&self, number: u32) -> File {
        File { tablespace: 1, database: self.database, number, timeline: self.timeline }
    }

    /// The row that others than the transaction's session see, if nothing keeps them away.
    pub(crate) fn row_for_others(&self) -> Option<Row> {
        let locked = self.transaction.as_ref().is_some_and(Transaction::locks);
        (!locked).then_some(self.row)
    }

    /// Whether nobody is in the middle of taking ids, so that the sequence can be locked.
    pub(crate) fn nobody_takes(&self) -> bool {
        let idle = |session: &Session| session.is_idle();
        self.sessions.iter().all(idle) && self.old.pending.is_none() && self.stranger.is_none()
    }
}
