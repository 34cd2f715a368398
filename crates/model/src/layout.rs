//! What do ids and ticks look like here?

use shardid_ids::{Layout, Position, Shard};

/// The tick that the clock reads at first.
pub(crate) const BEGIN: i64 = 4;

/// 64 ticks, 2 shards, 2 ids of each in a tick. A tick is as long as the first lease of a
/// generator of which nothing was known.
pub(crate) fn layout() -> &'static Layout {
    static LAYOUT: std::sync::OnceLock<Layout> = std::sync::OnceLock::new();
    LAYOUT.get_or_init(|| Layout::new(0, TICK_US, Some(64), 2, 2).expect("it is a layout"))
}

/// A tick, in microseconds.
pub(crate) const TICK_US: i64 = 10_000;

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
