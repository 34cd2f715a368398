//! Which scenarios are there? Those that make a shard are in `makings.rs`.

use crate::scenario::{Kind, Scenario, Settings};

/// The scenarios that are gone through from end to end.
impl Scenario {
    /// Two sessions, checkpoints, crashes, a page written at any time, a clock set back.
    pub fn crashes() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 3),
            (Kind::Checkpoint, 1),
            (Kind::Evict, 1),
            (Kind::Crash, 1),
            (Kind::Tick, 1),
            (Kind::Back, 1),
        ])
    }

    /// A checkpoint that begins while a session holds the page.
    pub fn checkpoint_in_visit() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 4),
            (Kind::CheckpointInVisit, 1),
            (Kind::Evict, 1),
            (Kind::Crash, 1),
        ])
    }

    /// A stranger's `nextval`, and a crash. A lease is longer than `nextval` logs ahead.
    pub fn nextval() -> Self {
        Self {
            sessions: vec![
                Settings { lease: 6, max_drift: 6 },
                Settings { lease: 1, max_drift: 6 },
            ],
            ..Self::quiet()
        }
        .with(&[(Kind::Visit, 3), (Kind::Nextval, 3), (Kind::Crash, 1)])
    }

    /// The same, with enough visits to get beyond what one `nextval` logs ahead.
    pub fn beyond_nextval() -> Self {
        Self::nextval().with(&[(Kind::Visit, 5), (Kind::Nextval, 1)])
    }

    /// A stranger's `setval`, back, forward and not called, with `nextval` and a crash.
    pub fn setval() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 3),
            (Kind::Nextval, 1),
            (Kind::SetvalBack, 1),
            (Kind::SetvalForward, 1),
            (Kind::Crash, 1),
        ])
    }

    /// The library 0.1.0 in another session, a stranger, and a crash.
    pub fn old_library() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 2),
            (Kind::OldVisit, 2),
            (Kind::Nextval, 1),
            (Kind::Checkpoint, 1),
            (Kind::Crash, 1),
        ])
    }

    /// New files, committed and rolled back, also to a savepoint; ids asked for meanwhile.
    pub fn new_files() -> Self {
        Self { persistence: true, ..Self::quiet() }.with(&[
            (Kind::Visit, 4),
            (Kind::Alter, 2),
            (Kind::Savepoint, 1),
            (Kind::Crash, 1),
        ])
    }

    /// `RESTART`, committed and rolled back.
    pub fn restarts() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 3),
            (Kind::Restart, 1),
            (Kind::Savepoint, 1),
            (Kind::Nextval, 1),
            (Kind::Crash, 1),
        ])
    }

    /// A database that is made of this one.
    pub fn copies() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 4),
            (Kind::Copy, 1),
            (Kind::Checkpoint, 1),
            (Kind::Crash, 1),
        ])
    }

    /// The extension is made anew, and takes up the sequence that is there.
    pub fn reinstalled() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 4),
            (Kind::Reinstall, 1),
            (Kind::Restart, 1),
            (Kind::Crash, 1),
        ])
    }

    /// A server that was restored to a point of its past, or a standby that takes over.
    pub fn restores() -> Self {
        Self {
            sessions: vec![
                Settings { lease: 2, max_drift: 4 },
                Settings { lease: 1, max_drift: 1 },
            ],
            ..Self::quiet()
        }
        .with(&[(Kind::Visit, 4), (Kind::BackUp, 1), (Kind::Restore, 1), (Kind::Tick, 1)])
    }

    /// A server that was restored, where strangers come to the sequence first.
    pub fn restored_for_strangers() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 4),
            (Kind::Restore, 1),
            (Kind::Nextval, 1),
            (Kind::SetvalBack, 1),
        ])
    }

    /// A server that was restored, where the sequence gets a new file first.
    pub fn restored_and_altered() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 4),
            (Kind::Restore, 1),
            (Kind::Alter, 1),
            (Kind::Restart, 1),
        ])
    }

    /// Sessions that know a chain, a checkpoint that breaks it, and a crash.
    pub fn chains() -> Self {
        Self::quiet().with(&[(Kind::Visit, 5), (Kind::Checkpoint, 1), (Kind::Crash, 1)])
    }

    /// Other generators that take leases, are restarted, and write WAL; the horizon's page
    /// is written at any time, and a crash loses WAL.
    pub fn others() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 2),
            (Kind::Other, 2),
            (Kind::Restart, 1),
            (Kind::Evict, 1),
            (Kind::Crash, 1),
        ])
    }

    /// The horizon is put back by hand, and the sequence restarted.
    pub fn horizon_put_back() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 3),
            (Kind::HorizonBack, 1),
            (Kind::Restart, 1),
            (Kind::Other, 1),
        ])
    }

    /// A server that was restored, and then crashes.
    pub fn restored_and_crashed() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 3),
            (Kind::Restore, 1),
            (Kind::Other, 1),
            (Kind::Crash, 1),
        ])
    }

    /// A server that was restored, and once more, with other generators.
    pub fn restored_twice() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 4),
            (Kind::BackUp, 1),
            (Kind::Restore, 2),
            (Kind::Restart, 1),
        ])
    }

    /// All of it but the old library, for long random walks.
    ///
    /// The seed chooses whether shards are made and dropped, the server is restored, or
    /// the clock set back: what the limits of the crate's docs keep apart.
    pub fn everything(seed: u64) -> Self {
        let (makes, restores, back) = [(3, 0, 0), (0, 2, 0), (0, 0, 2)][(seed % 3) as usize];
        let choice = |bit: u64| (seed / 3) & bit != 0;
        Self {
            sessions: match choice(1) {
                true => {
                    vec![Settings { lease: 3, max_drift: 4 }, Settings { lease: 1, max_drift: 1 }]
                }
                false => Self::quiet().sessions,
            },
            persistence: true,
            commits_wait: choice(2),
            has_shard: makes == 0 || choice(4),
            minimal: restores == 0 && choice(8),
            step: if choice(16) { 1 } else { 2 },
            wants: &[1, 2],
            ..Self::quiet()
        }
        .with(&[
            (Kind::Visit, 20),
            (Kind::Nextval, 3),
            (Kind::SetvalBack, 2),
            (Kind::SetvalForward, 1),
            (Kind::Alter, 4),
            (Kind::Restart, 2),
            (Kind::Drop, makes),
            (Kind::Create, makes),
            (Kind::Savepoint, 3),
            (Kind::Copy, 1),
            (Kind::Reinstall, 1),
            (Kind::Checkpoint, 3),
            (Kind::CheckpointInVisit, 2),
            (Kind::Evict, 3),
            (Kind::Crash, 3),
            (Kind::BackUp, restores),
            (Kind::Restore, restores),
            (Kind::Other, 4),
            (Kind::Tick, 20),
            (Kind::Back, back),
        ])
    }
}
