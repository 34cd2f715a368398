//! What does a node say of where it comes from, in each of its lives?

use shardid_cluster::{Descent, Lineage};

/// The timeline of a node that is in one of its lives.
pub(super) fn lineage(life: u8) -> Lineage {
    Lineage { system_identifier: 1, timeline: u32::from(life) + 1 }
}

/// The end of each life; the next one begins before it.
pub(super) const END: u64 = 10;

/// What a node says in one of its lives, where each was left at a position.
pub(super) fn descent(life: u8, left: u64) -> Descent {
    let left = (1..=u32::from(life)).map(|timeline| (timeline, left)).collect();
    Descent { now: lineage(life), database: 5, position: 2 * END, left }
}
