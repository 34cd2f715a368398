//! Clocks of nodes that are too far apart.

use super::{Estate, Finding};

/// Clocks further apart than this leave ids of different shards in an odd order.
const APART_MAX_US: i64 = 1_000_000;

pub(super) fn check(estate: &Estate<'_>) -> Vec<Finding> {
    let visits = || estate.visits.iter();
    // Beyond what the measuring may be off.
    let ahead = visits().max_by_key(|visit| visit.skew.ahead_us - visit.skew.error_us);
    let behind = visits().min_by_key(|visit| visit.skew.ahead_us + visit.skew.error_us);
    let (Some(ahead), Some(behind)) = (ahead, behind) else { return Vec::new() };
    let apart =
        (ahead.skew.ahead_us - ahead.skew.error_us) - (behind.skew.ahead_us + behind.skew.error_us);
    if apart <= APART_MAX_US {
        return Vec::new();
    }
    vec![Finding::between(
        format!(
            "the clock of node {} is {} ms ahead of that of {}",
            ahead.node,
            apart / 1000,
            behind.node
        ),
        "have both keep time: `chronyc tracking`, or `timedatectl`, on each",
    )]
}
