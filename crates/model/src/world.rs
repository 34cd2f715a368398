//! What is the state of everything at one moment?

use shardid_ids::File;

use crate::given::Given;
use crate::layout::{TICK_US, layout};
use crate::number::Number;
use crate::pages::{Backup, Stored};
use crate::scenario::Budget;
use crate::session::{Old, Pending, Session};
use crate::transaction::Transaction;
use crate::wal::{Row, Wal};

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
    /// Which installation of the extension it has.
    pub installation: u32,
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

impl World {
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
