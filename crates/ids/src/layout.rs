//! How an id is put together: `(time × shards + shard) × slots + slot`.

use crate::clock::Position;

/// The latest instant there is, in Unix microseconds: in the year 294247, a
/// little before the end of PostgreSQL's `timestamptz`.
pub const TIME_MAX_US: i64 = i64::MAX;

/// The longest tick: a day. Ids that share a day are not ordered by time.
const TICK_MAX_US: i64 = 86_400_000_000;

/// The longest that a slot counts where an instant stands for an index.
const SLOT_MAX_US: i128 = 100;

/// Epoch, tick, and how many shards and slots share one tick.
///
/// A value of this type always fits a positive 64-bit integer: with powers of
/// two the parts are bit fields, with powers of ten they are digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    epoch_us: i64,
    tick_us: i64,
    ticks: i64,
    shards: i64,
    slots: i64,
}

/// A shard number that was checked against its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard(i64);

impl Shard {
    /// The number, 0 … shards-1.
    pub fn number(self) -> i64 {
        self.0
    }
}

/// An id taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Ticks since the layout's epoch.
    pub tick: i64,
    /// Shard, 0 … shards-1.
    pub shard: i64,
    /// Number within tick and shard, 0 … slots-1.
    pub slot: i64,
}

/// Why a layout is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A count below one.
    #[error("{what} must be at least 1, not {value}")]
    TooSmall {
        /// `shards`, `slots` or `ticks`.
        what: &'static str,
        /// What was given.
        value: i64,
    },
    /// More shards than a shard number (a 32-bit integer) can name.
    #[error("shards must be at most 2147483648, not {0}")]
    TooManyShards(i64),
    /// A tick outside 1 µs … 1 day.
    #[error("tick must be between 1 microsecond and 1 day, not {0} microseconds")]
    Tick(i64),
    /// An epoch that leaves no time at all.
    #[error("epoch is too late, or ticks are too many: the end is beyond what a time can say")]
    Epoch,
    /// `ticks × shards × slots` is larger than 2^63.
    #[error(
        "layout does not fit a positive bigint: {ticks} ticks of {shards} shards × {slots} slots"
    )]
    TooLarge {
        /// Ticks asked for (1 where none were asked for).
        ticks: i64,
        /// Shards asked for.
        shards: i64,
        /// Slots asked for.
        slots: i64,
    },
}

/// Why a number or a time is not of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Ids are positive.
    #[error("id {0} is negative")]
    Negative(i64),
    /// The number is larger than the layout's last id.
    #[error("id {id} is beyond the layout's last id {last}")]
    Beyond {
        /// The number.
        id: i64,
        /// The layout's last id.
        last: i64,
    },
    /// A shard number outside 0 … shards-1.
    #[error("shard {shard} is outside 0 to {}", shards - 1)]
    Shard {
        /// The number.
        shard: i64,
        /// How many shards the layout has.
        shards: i64,
    },
    /// The instant is at or past the layout's end.
    #[error("the time is past the layout's end")]
    Ended,
}

impl Layout {
    /// Checks and makes a layout.
    ///
    /// `epoch_us` is in Unix microseconds, `tick_us` in microseconds. Without
    /// `ticks` the layout lasts as long as a positive 64-bit integer allows.
    pub fn new(
        epoch_us: i64,
        tick_us: i64,
        ticks: Option<i64>,
        shards: i64,
        slots: i64,
    ) -> Result<Self, LayoutError> {
        for (what, value) in [("shards", shards), ("slots", slots), ("ticks", ticks.unwrap_or(1))] {
            if value < 1 {
                return Err(LayoutError::TooSmall { what, value });
            }
        }
        if shards > 1 << 31 {
            return Err(LayoutError::TooManyShards(shards));
        }
        if !(1..=TICK_MAX_US).contains(&tick_us) {
            return Err(LayoutError::Tick(tick_us));
        }
        let per_tick = i128::from(shards) * i128::from(slots);
        let fit = (1i128 << 63) / per_tick;
        let in_time = (i128::from(TIME_MAX_US) - i128::from(epoch_us)) / i128::from(tick_us);
        if in_time < 1 {
            return Err(LayoutError::Epoch);
        }
        let wanted = i128::from(ticks.unwrap_or(1));
        if wanted > fit {
            return Err(LayoutError::TooLarge { ticks: wanted as i64, shards, slots });
        }
        let most = fit.min(in_time).min(i128::from(i64::MAX));
        if wanted > most {
            return Err(LayoutError::Epoch);
        }
        Ok(Self { epoch_us, tick_us, ticks: ticks.unwrap_or(most as i64), shards, slots })
    }

    /// The layout's first instant, in Unix microseconds.
    pub fn epoch_us(&self) -> i64 {
        self.epoch_us
    }

    /// The unit of time, in microseconds.
    pub fn tick_us(&self) -> i64 {
        self.tick_us
    }

    /// How many ticks fit; the last one is `ticks - 1`.
    pub fn ticks(&self) -> i64 {
        self.ticks
    }

    /// How many shards there may be.
    pub fn shards(&self) -> i64 {
        self.shards
    }

    /// How many ids one shard has in one tick.
    pub fn slots(&self) -> i64 {
        self.slots
    }

    /// Ids of one whole tick over all shards: the `INCREMENT` of a sequence.
    pub fn per_tick(&self) -> i64 {
        // Cannot overflow unless only one tick fits, and then nothing steps by it.
        self.shards.saturating_mul(self.slots)
    }

    /// The first instant that no id can have, in Unix microseconds.
    pub fn ends_at_us(&self) -> i64 {
        self.time_us(self.ticks)
    }

    /// The layout's last id of any shard.
    pub fn last_id(&self) -> i64 {
        let end = i128::from(self.ticks) * i128::from(self.shards) * i128::from(self.slots);
        (end - 1) as i64
    }

    /// The last position of any shard.
    pub fn last_position(&self) -> Position {
        Position { tick: self.ticks - 1, slot: self.slots - 1 }
    }

    /// Checks a shard number.
    pub fn shard(&self, number: i64) -> Result<Shard, IdError> {
        if (0..self.shards).contains(&number) {
            Ok(Shard(number))
        } else {
            Err(IdError::Shard { shard: number, shards: self.shards })
        }
    }

    /// The id of a position on a shard; the position is inside the layout.
    pub fn id(&self, shard: Shard, position: Position) -> i64 {
        debug_assert!((0..self.ticks).contains(&position.tick));
        debug_assert!((0..self.slots).contains(&position.slot));
        (position.tick * self.shards + shard.0) * self.slots + position.slot
    }

    /// Takes an id apart.
    pub fn decode(&self, id: i64) -> Result<Parts, IdError> {
        if id < 0 {
            return Err(IdError::Negative(id));
        }
        if id > self.last_id() {
            return Err(IdError::Beyond { id, last: self.last_id() });
        }
        let rest = id / self.slots;
        Ok(Parts { tick: rest / self.shards, shard: rest % self.shards, slot: id % self.slots })
    }

    /// The tick of an id, without the rest; `None` for a number that is not one.
    pub fn tick_of(&self, id: i64) -> Option<i64> {
        let tick = id / self.per_tick();
        (id >= 0 && tick < self.ticks).then_some(tick)
    }

    /// The position on `shard` that is not above `id`, or `None` where there is none.
    ///
    /// For an id of the shard that is its own position. For a foreign number
    /// (somebody called `setval`) it is the shard's last position below it, so
    /// that going on after it never comes out below the number.
    pub fn position_at_or_below(&self, shard: Shard, id: i64) -> Option<Position> {
        let parts = self.decode(id.min(self.last_id())).ok()?;
        match parts.shard.cmp(&shard.0) {
            std::cmp::Ordering::Equal => Some(Position { tick: parts.tick, slot: parts.slot }),
            std::cmp::Ordering::Greater => {
                Some(Position { tick: parts.tick, slot: self.slots - 1 })
            }
            std::cmp::Ordering::Less if parts.tick == 0 => None,
            std::cmp::Ordering::Less => {
                Some(Position { tick: parts.tick - 1, slot: self.slots - 1 })
            }
        }
    }

    /// The tick an instant (Unix microseconds) falls in; negative before the epoch.
    pub fn tick_at(&self, time_us: i64) -> i64 {
        // Saturates only where one is in the far past and the other in the far future.
        time_us.saturating_sub(self.epoch_us).div_euclid(self.tick_us)
    }

    /// The slot an instant falls in, where the slots of a tick share out its time.
    pub fn slot_at(&self, time_us: i64) -> i64 {
        let within_us = time_us.saturating_sub(self.epoch_us).rem_euclid(self.tick_us);
        (i128::from(within_us) * i128::from(self.slots) / i128::from(self.tick_us)) as i64
    }

    /// How long each slot of a tick counts where an instant stands for an index: a slot's
    /// share of its tick, in microseconds as a fraction, and 100 at most. Ids of a layout
    /// with long ticks and few slots would otherwise count as hours ahead of others.
    fn slot_length(&self) -> (i128, i128) {
        let (tick_us, slots) = (i128::from(self.tick_us), i128::from(self.slots));
        if tick_us <= SLOT_MAX_US * slots { (tick_us, slots) } else { (SLOT_MAX_US, 1) }
    }

    /// The last index that counts as of an instant, or of one before.
    pub fn index_at(&self, time_us: i64) -> i64 {
        let within_us = time_us.saturating_sub(self.epoch_us).rem_euclid(self.tick_us);
        let (length, per) = self.slot_length();
        let slot = (i128::from(within_us) * per / length).min(i128::from(self.slots) - 1) as i64;
        self.tick_at(time_us).saturating_mul(self.slots).saturating_add(slot)
    }

    /// The first instant, in Unix microseconds, that an index counts as of.
    pub fn instant_of(&self, index: i64) -> i64 {
        let position = self.position_of(index);
        let (length, per) = self.slot_length();
        // Rounded up; at most a tick.
        let within_us = (i128::from(position.slot) * length + per - 1) / per;
        self.time_us(position.tick).saturating_add(within_us as i64)
    }

    /// The first instant, in Unix microseconds, at which [`slot_at`](Self::slot_at) is behind a
    /// position.
    pub fn slot_after(&self, position: Position) -> i64 {
        let share = (i128::from(position.slot) + 1) * i128::from(self.tick_us);
        let slots = i128::from(self.slots);
        // Rounded up; at most a tick.
        let within_us = (share + slots - 1) / slots;
        self.time_us(position.tick).saturating_add(within_us as i64)
    }

    /// The position of an index.
    pub fn position_of(&self, index: i64) -> Position {
        Position { tick: index.div_euclid(self.slots), slot: index.rem_euclid(self.slots) }
    }

    /// The index of a position: how many positions are before it.
    pub fn index_of(&self, position: Position) -> i64 {
        position.tick.saturating_mul(self.slots).saturating_add(position.slot)
    }

    /// A span in microseconds as whole slots, rounded down.
    pub fn whole_slots(&self, span_us: i64) -> i64 {
        match span_us.checked_mul(self.slots) {
            Some(product) => product / self.tick_us,
            None => {
                let slots = i128::from(span_us) * i128::from(self.slots) / i128::from(self.tick_us);
                slots.min(i128::from(i64::MAX)) as i64
            }
        }
    }

    /// How many slots count as long as a span in microseconds, at their share of the tick or less:
    /// see [`instant_of`](Self::instant_of).
    pub fn slots_counted(&self, span_us: i64) -> i64 {
        let (length, per) = self.slot_length();
        (i128::from(span_us) * per / length).min(i128::from(i64::MAX)) as i64
    }

    /// The first instant of a tick, in Unix microseconds.
    pub fn time_us(&self, tick: i64) -> i64 {
        // `new` has made sure that the layout's last tick has a time; beyond it, saturate.
        let time = i128::from(self.epoch_us) + i128::from(tick) * i128::from(self.tick_us);
        time.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// The lowest id of the tick an instant falls in; 0 before the epoch.
    pub fn id_at(&self, time_us: i64) -> Result<i64, IdError> {
        let tick = self.tick_at(time_us).max(0);
        if tick >= self.ticks {
            return Err(IdError::Ended);
        }
        Ok(tick * self.shards * self.slots)
    }

    /// A span in microseconds as whole ticks, rounded down.
    pub fn whole_ticks(&self, span_us: i64) -> i64 {
        span_us / self.tick_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_layout() -> impl Strategy<Value = Layout> {
        (
            -3_000_000_000_000_000i64..3_000_000_000_000_000,
            1i64..=86_400_000_000,
            1i64..=1 << 31,
            1i64..=1 << 30,
        )
            .prop_map(|(epoch, tick, shards, slots)| {
                Layout::new(epoch, tick, None, shards, slots).expect("inside the limits")
            })
    }

    /// Of any size, so that small ones and limits come as often as large ones.
    fn any_number() -> impl Strategy<Value = i64> {
        (any::<i64>(), 0u32..64).prop_map(|(number, bits)| number >> bits)
    }

    proptest! {
        // Few numbers make a layout.
        #![proptest_config(ProptestConfig::with_cases(8192))]

        /// Also numbers that no layout has: one is refused, or what it says of ids is in order.
        #[test]
        fn no_numbers_make_it_panic(
            epoch in any_number(), tick in any_number(), ticks in proptest::option::of(any_number()),
            shards in any_number(), slots in any_number(), id in any_number(), time in any_number(),
        ) {
            if let Ok(layout) = Layout::new(epoch, tick, ticks, shards, slots) {
                prop_assert!(layout.last_id() >= 0 && layout.ticks() > 0);
                let _ = (layout.decode(id), layout.tick_of(id), layout.id_at(time), layout.tick_at(time));
            }
        }
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            layout in any_layout(), tick in any::<u64>(), shard in any::<u64>(), slot in any::<u64>(),
        ) {
            let tick = (tick % layout.ticks() as u64) as i64;
            let shard = (shard % layout.shards() as u64) as i64;
            let slot = (slot % layout.slots() as u64) as i64;
            let id = layout.id(layout.shard(shard).unwrap(), Position { tick, slot });
            prop_assert!(id >= 0);
            prop_assert_eq!(layout.decode(id), Ok(Parts { tick, shard, slot }));
            prop_assert_eq!(layout.tick_of(id), Some(tick));
            let time = layout.time_us(tick);
            prop_assert_eq!(layout.tick_at(time), tick);
            prop_assert!(layout.id_at(time).unwrap() <= id);
            if tick + 1 < layout.ticks() {
                prop_assert!(layout.id_at(layout.time_us(tick + 1)).unwrap() > id);
            }
        }

        #[test]
        fn an_instant_and_its_index_go_together(
            layout in any_layout(), tick in any::<u64>(), slot in any::<u64>(), later_us in 0i64..1 << 40,
        ) {
            let tick = (tick % layout.ticks() as u64) as i64;
            let slot = (slot % layout.slots() as u64) as i64;
            let index = layout.index_of(Position { tick, slot });
            prop_assert_eq!(layout.position_of(index), Position { tick, slot });
            let instant = layout.instant_of(index);
            prop_assert!(instant >= layout.time_us(tick) && instant <= layout.time_us(tick + 1));
            if tick + 1 < layout.ticks() {
                prop_assert!(layout.index_at(instant) >= index);
                prop_assert!(layout.index_at(instant - 1) < index);
                prop_assert!(layout.index_at(instant.saturating_add(later_us)) >= index);
            }
        }

        #[test]
        fn ids_sort_by_tick_first(layout in any_layout(), a in any::<u64>(), b in any::<u64>()) {
            let at = |n: u64| Position { tick: (n % layout.ticks() as u64) as i64, slot: 0 };
            let (low, high) = (layout.shard(0).unwrap(), layout.shard(layout.shards() - 1).unwrap());
            if at(a).tick < at(b).tick {
                prop_assert!(layout.id(high, at(a)) < layout.id(low, at(b)));
            }
        }

        #[test]
        fn a_foreign_number_is_never_above_what_follows_it(
            layout in any_layout(), id in 0i64.., shard in any::<u64>(),
        ) {
            let shard = layout.shard((shard % layout.shards() as u64) as i64).unwrap();
            let id = id.min(layout.last_id());
            match layout.position_at_or_below(shard, id) {
                None => {
                    let first = layout.id(shard, Position { tick: 0, slot: 0 });
                    prop_assert!(first > id);
                }
                Some(position) => {
                    prop_assert!(layout.id(shard, position) <= id);
                    let next = if position.slot + 1 < layout.slots() {
                        Position { slot: position.slot + 1, ..position }
                    } else {
                        Position { tick: position.tick + 1, slot: 0 }
                    };
                    if next.tick < layout.ticks() {
                        prop_assert!(layout.id(shard, next) > id);
                    }
                }
            }
        }
    }

    #[test]
    fn limits_are_refused_on_the_far_side_only() {
        let ok = |ticks, shards, slots| Layout::new(0, 1_000, ticks, shards, slots);
        assert!(ok(Some(1 << 40), 1 << 13, 1 << 10).is_ok());
        assert!(matches!(
            ok(Some((1 << 40) + 1), 1 << 13, 1 << 10),
            Err(LayoutError::TooLarge { .. })
        ));
        assert!(ok(None, 1 << 31, 1 << 32).is_ok());
        assert!(matches!(ok(None, 1 << 31, (1 << 32) + 1), Err(LayoutError::TooLarge { .. })));
        assert_eq!(ok(None, (1 << 31) + 1, 1), Err(LayoutError::TooManyShards((1 << 31) + 1)));
        assert!(matches!(ok(None, 0, 1), Err(LayoutError::TooSmall { what: "shards", .. })));
        assert!(matches!(ok(None, 1, 0), Err(LayoutError::TooSmall { what: "slots", .. })));
        assert!(matches!(ok(Some(0), 1, 1), Err(LayoutError::TooSmall { what: "ticks", .. })));
        assert_eq!(Layout::new(0, 0, None, 1, 1), Err(LayoutError::Tick(0)));
        assert!(Layout::new(0, TICK_MAX_US, None, 1, 1).is_ok());
        assert_eq!(
            Layout::new(0, TICK_MAX_US + 1, None, 1, 1),
            Err(LayoutError::Tick(TICK_MAX_US + 1))
        );
        assert_eq!(Layout::new(TIME_MAX_US, 1, None, 1, 1), Err(LayoutError::Epoch));
    }

    #[test]
    fn the_last_id_is_the_largest_bigint_when_the_layout_is_full() {
        let layout = Layout::new(0, 1_000, None, 1 << 13, 1 << 10).unwrap();
        assert_eq!(layout.ticks(), 1 << 40);
        assert_eq!(layout.last_id(), i64::MAX);
        assert_eq!(layout.decode(-1), Err(IdError::Negative(-1)));
        assert_eq!(layout.id_at(layout.ends_at_us()), Err(IdError::Ended));
        assert!(layout.id_at(layout.ends_at_us() - 1).is_ok());
        assert_eq!(layout.id_at(-5), Ok(0));
    }
}
