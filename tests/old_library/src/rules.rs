//! The clock rule and the lease rule of 0.1.0.

use shardid_ids::Position;

/// Why there is no next position at this moment.
#[derive(Clone, Copy)]
pub(crate) enum Refused {
    /// Further ahead of the clock than allowed, until it has reached `ready_tick`.
    TooFarAhead { ready_tick: i64 },
    /// The layout has no ticks left.
    Ended,
}

/// Returns the position after `last`, given that the clock reads tick `now`.
pub(crate) fn advance(
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
        return Err(Refused::TooFarAhead { ready_tick: next.tick - max_drift });
    }
    Ok(next)
}

/// Returns the position to go on after where the last one is not known.
pub(crate) fn after_unknown(now: i64, max_drift: i64, slots: i64) -> Option<Position> {
    let tick = now.saturating_add(max_drift);
    (tick >= 0).then_some(Position { tick, slot: slots - 1 })
}

/// What to log before an id of some tick may be handed out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewal {
    /// Nothing: the lease covers it and will for a while.
    Keep,
    /// The old lease still covers the id; log a new one now and don't wait for it.
    Extend(i64),
    /// Nothing covers the id yet: log this lease and wait until it is flushed.
    Must(i64),
}

/// Decides about the lease for an id of tick `tick`.
pub(crate) fn renew(
    tick: i64,
    leased: Option<i64>,
    lease: i64,
    ahead_max: i64,
    last_tick: i64,
) -> Renewal {
    let lease = lease.max(1);
    match leased {
        Some(until) if tick <= until => {
            let half = (lease / 2).max(1);
            let new = (until + lease).min(tick + ahead_max.max(lease)).min(last_tick);
            if tick + half > until && new > until { Renewal::Extend(new) } else { Renewal::Keep }
        }
        _ => Renewal::Must(tick.saturating_add(lease).min(last_tick)),
    }
}
