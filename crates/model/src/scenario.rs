//! Who takes part, with which settings, and how often?

use crate::mending::{Mending, Off};

/// What happens a limited number of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
#[allow(missing_docs)]
pub enum Kind {
    Visit,
    OldVisit,
    Nextval,
    SetvalBack,
    SetvalForward,
    Alter,
    Restart,
    Drop,
    Create,
    Savepoint,
    Copy,
    Reinstall,
    Checkpoint,
    CheckpointInVisit,
    Evict,
    Crash,
    BackUp,
    Restore,
    Other,
    HorizonBack,
    Tick,
    Back,
}

const KINDS: usize = Kind::Back as usize + 1;

/// How often each may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Budget([u8; KINDS]);

impl Budget {
    /// Whether one is left.
    pub fn has(&self, kind: Kind) -> bool {
        self.0[kind as usize] > 0
    }

    /// Leaves plenty of them.
    pub(crate) fn refill(&mut self, kind: Kind) {
        self.0[kind as usize] = u8::MAX;
    }

    /// Takes one, if one is left.
    pub fn spend(&mut self, kind: Kind) -> bool {
        let left = &mut self.0[kind as usize];
        let some = *left > 0;
        *left = left.saturating_sub(1);
        some
    }
}

/// A session's settings, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// `shardid.lease`.
    pub lease: i64,
    /// `shardid.max_drift`.
    pub max_drift: i64,
}

/// Who takes part, and how often.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The sessions with the library; the first one runs the statements.
    pub sessions: Vec<Settings>,
    /// The settings of the session with the old library.
    pub old: Settings,
    /// How often what may happen.
    pub budget: Budget,
    /// How many ids a visit asks for: one of these.
    pub wants: &'static [i64],
    /// By how many slots the clock goes on; a tick has two.
    pub step: i64,
    /// By how many ticks the clock is set back.
    pub back: i64,
    /// Whether there is a shard already.
    pub has_shard: bool,
    /// Whether all drifts were in use before the backup.
    pub drift_is_noted: bool,
    /// Whether `ALTER SEQUENCE` also changes the persistence.
    pub persistence: bool,
    /// Whether `wal_level` is `minimal`.
    pub minimal: bool,
    /// Whether every commit waits for the disk, as with `synchronous_commit`.
    pub commits_wait: bool,
    /// Whether it is also looked at, in each state, if a visit would end with ids.
    pub has_to_end: bool,
    /// What is left out.
    pub off: Off,
}

impl Scenario {
    /// Two sessions, a shard, and nothing that happens.
    pub fn quiet() -> Self {
        Self {
            sessions: vec![
                Settings { lease: 2, max_drift: 2 },
                Settings { lease: 1, max_drift: 2 },
            ],
            old: Settings { lease: 2, max_drift: 2 },
            budget: Budget::default(),
            wants: &[2],
            step: 2,
            back: 2,
            has_shard: true,
            drift_is_noted: true,
            persistence: false,
            minimal: false,
            commits_wait: false,
            has_to_end: false,
            off: Off::default(),
        }
    }

    /// With so many of these.
    pub fn with(mut self, counts: &[(Kind, u8)]) -> Self {
        for &(kind, count) in counts {
            self.budget.0[kind as usize] = count;
        }
        self
    }

    /// Without these rules.
    pub fn without(self, mendings: &[Mending]) -> Self {
        Self { off: Off::these(mendings), ..self }
    }
}
