//! Which scenarios are there of shards that are made, and made again?

use crate::scenario::{Kind, Scenario};

/// The shard is made in them, and often not for good.
impl Scenario {
    /// A shard that is dropped, or lost with its schema, and made again.
    pub fn dropped_and_made_again() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 3),
            (Kind::Drop, 1),
            (Kind::Create, 1),
            (Kind::Tick, 3),
            (Kind::Crash, 1),
        ])
    }

    /// A shard that is made in a transaction that takes ids, rolled back, and made again.
    pub fn made_and_rolled_back() -> Self {
        Self { has_shard: false, step: 1, commits_wait: true, ..Self::quiet() }.with(&[
            (Kind::Visit, 3),
            (Kind::Create, 2),
            (Kind::Tick, 4),
            (Kind::Crash, 1),
        ])
    }

    /// A shard whose making commits without waiting for the disk.
    pub fn made_without_waiting() -> Self {
        Self { has_shard: false, step: 1, ..Self::quiet() }.with(&[
            (Kind::Visit, 4),
            (Kind::Create, 2),
            (Kind::Tick, 2),
            (Kind::Crash, 1),
        ])
    }

    /// A shard that is made in a transaction that gives it a new file after a savepoint.
    pub fn made_with_savepoint() -> Self {
        Self { has_shard: false, step: 1, ..Self::quiet() }.with(&[
            (Kind::Visit, 3),
            (Kind::Create, 1),
            (Kind::Alter, 1),
            (Kind::Savepoint, 1),
            (Kind::Tick, 2),
            (Kind::Crash, 1),
        ])
    }

    /// A shard that is lost and made again, and put back by `setval` in that transaction.
    pub fn made_again_and_put_back() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 2),
            (Kind::Drop, 1),
            (Kind::Create, 1),
            (Kind::SetvalBack, 1),
            (Kind::Tick, 3),
        ])
    }

    /// A shard that is lost and made again, and given a new file in that transaction.
    pub fn made_again_and_altered() -> Self {
        Self::quiet().with(&[
            (Kind::Visit, 3),
            (Kind::Drop, 1),
            (Kind::Create, 1),
            (Kind::Alter, 1),
            (Kind::Tick, 3),
        ])
    }

    /// A shard that is made after the point of a restore, runs ahead, and is made again.
    pub fn made_after_the_point_of_a_restore() -> Self {
        Self { has_shard: false, ..Self::quiet() }.with(&[
            (Kind::Visit, 4),
            (Kind::Create, 2),
            (Kind::Restore, 1),
            (Kind::Tick, 1),
        ])
    }

    /// The same as [`Self::made_and_rolled_back`] where `wal_level` is `minimal`.
    pub fn made_with_minimal_wal() -> Self {
        Self { has_shard: false, minimal: true, ..Self::quiet() }.with(&[
            (Kind::Visit, 3),
            (Kind::Create, 2),
            (Kind::Alter, 1),
            (Kind::Tick, 2),
            (Kind::Crash, 1),
        ])
    }
}
