//! The clock rule: the next position, whatever the clock does.

/// A place in a shard's stream of ids: a tick and a slot within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Ticks since the layout's epoch.
    pub tick: i64,
    /// 0 … slots-1.
    pub slot: i64,
}

/// Why there is no next position at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The next position is further ahead of the clock than allowed: try again
    /// when the clock has reached `ready_tick`.
    #[error("the next id is {drift} ticks ahead of the clock")]
    TooFarAhead {
        /// How far ahead of the clock the next position is, in ticks.
        drift: i64,
        /// The tick from which on the next position is allowed.
        ready_tick: i64,
    },
    /// The layout has no ticks left.
    #[error("the layout has ended")]
    Ended,
}

/// Returns the position after `last`, given that the clock reads tick `now`.
///
/// The result is always greater than `last`, also when the clock has stepped
/// back. A full tick borrows the next one, up to `max_drift` ticks ahead of
/// the clock. `slots` is how many ids a tick holds, `ticks` how many ticks the
/// layout has.
pub fn advance(
    last: Option<Position>,
    now: i64,
    max_drift: i64,
    slots: i64,
    ticks: i64,
) -> Result<Position, Refused> {
    let floor = match last {
        None => Position { tick: 0, slot: 0 },
        Some(p) if p.slot + 1 < slots => Position { tick: p.tick, slot: p.slot + 1 },
        Some(p) => Position { tick: p.tick + 1, slot: 0 },
    };
    let next = floor.max(Position { tick: now, slot: 0 });
    if next.tick >= ticks {
        return Err(Refused::Ended);
    }
    let drift = next.tick.saturating_sub(now);
    if drift > max_drift {
        return Err(Refused::TooFarAhead { drift, ready_tick: next.tick - max_drift });
    }
    Ok(next)
}

/// Two clocks read at one moment: the one on the wall, and one that nobody sets.
///
/// Times are in microseconds; what they count from does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockBase {
    /// The wall clock.
    pub wall_us: i64,
    /// A clock that only runs.
    pub steady_us: i64,
}

impl ClockBase {
    /// How far the wall clock has jumped since `self`, in microseconds; negative is back.
    pub fn jump_us(self, now: ClockBase) -> i64 {
        now.wall_us
            .saturating_sub(self.wall_us)
            .saturating_sub(now.steady_us.saturating_sub(self.steady_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICKS: i64 = 1 << 40;

    proptest! {
        #[test]
        fn a_clock_that_does_anything_never_gets_an_id_twice(
            slots in 1i64..5,
            max_drift in 0i64..20,
            clock in prop::collection::vec(-5i64..60, 1..300),
        ) {
            let mut last = None;
            for now in clock {
                match advance(last, now, max_drift, slots, TICKS) {
                    Ok(next) => {
                        prop_assert!(Some(next) > last);
                        prop_assert!(next.tick >= now);
                        prop_assert!(next.tick - now <= max_drift);
                        prop_assert!((0..slots).contains(&next.slot));
                        // No slot is left out without a reason: it is the clock's, or follows the last.
                        let follows = last.is_none_or(|l: Position| {
                            next == Position { slot: l.slot + 1, ..l }
                                || next == Position { tick: l.tick + 1, slot: 0 }
                        });
                        let clocked = next == Position { tick: now, slot: 0 };
                        prop_assert!(clocked || follows);
                        last = Some(next);
                    }
                    Err(Refused::TooFarAhead { drift, ready_tick }) => {
                        prop_assert!(drift > max_drift && ready_tick > now);
                        // Waiting until the tick it names is enough, and less is not.
                        prop_assert!(advance(last, ready_tick, max_drift, slots, TICKS).is_ok());
                        prop_assert!(advance(last, ready_tick - 1, max_drift, slots, TICKS).is_err());
                    }
                    Err(Refused::Ended) => prop_assert!(false, "far from the end"),
                }
            }
        }
    }

    #[test]
    fn without_drift_a_full_tick_waits_for_the_next() {
        let full = Some(Position { tick: 7, slot: 3 });
        assert_eq!(
            advance(full, 7, 0, 4, TICKS),
            Err(Refused::TooFarAhead { drift: 1, ready_tick: 8 })
        );
        assert_eq!(advance(full, 8, 0, 4, TICKS), Ok(Position { tick: 8, slot: 0 }));
        assert_eq!(advance(full, 7, 1, 4, TICKS), Ok(Position { tick: 8, slot: 0 }));
    }

    #[test]
    fn the_last_tick_is_used_up_and_then_refused() {
        let near = Some(Position { tick: 9, slot: 2 });
        assert_eq!(advance(near, 9, 5, 4, 10), Ok(Position { tick: 9, slot: 3 }));
        let full = Some(Position { tick: 9, slot: 3 });
        assert_eq!(advance(full, 9, 5, 4, 10), Err(Refused::Ended));
        assert_eq!(advance(None, 10, 5, 4, 10), Err(Refused::Ended));
    }

    #[test]
    fn a_clock_before_the_epoch_is_too_far_behind() {
        assert!(matches!(advance(None, -11, 10, 4, TICKS), Err(Refused::TooFarAhead { .. })));
        assert_eq!(advance(None, -10, 10, 4, TICKS), Ok(Position { tick: 0, slot: 0 }));
    }

    #[test]
    fn a_jump_is_what_the_wall_clock_did_beyond_the_steady_one() {
        let base = ClockBase { wall_us: 1_000, steady_us: 50 };
        assert_eq!(base.jump_us(ClockBase { wall_us: 1_500, steady_us: 550 }), 0);
        assert_eq!(base.jump_us(ClockBase { wall_us: 5_500, steady_us: 550 }), 4_000);
        assert_eq!(base.jump_us(ClockBase { wall_us: 500, steady_us: 550 }), -1_000);
    }
}
