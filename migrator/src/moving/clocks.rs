//! Is the clock of the node that a shard goes to behind that of the node that it leaves, or far ahead of it?

use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::postgres::sql;
use crate::postgres::statistics::skew;

/// Why a shard would give no ids on a node for a while, if so: its ids go on from where they are, and no further
/// ahead of the clock than `shardid.max_drift` there.
pub(super) async fn behind(
    from: &mut MoveSession,
    to: &mut MoveSession,
) -> Result<Option<Failure>, Failure> {
    let here = skew(&mut from.connection, &from.node).await?;
    let there = skew(&mut to.connection, &to.node).await?;
    let allowed: Vec<i64> = to.column(sqlx::query_scalar(sql!("move/check/max_drift.sql"))).await?;
    let behind_us = here.ahead_us - there.ahead_us;
    // Less what the two looks may be wrong by.
    let at_least_us = behind_us - here.error_us - there.error_us;
    if at_least_us <= allowed.first().copied().unwrap_or(0) {
        return Ok(None);
    }
    Ok(Some(
        Failure::new(format!(
            "the clock of node {} is {} s behind that of node {}: a shard that comes from there would give no ids for as long",
            to.node,
            behind_us / 1_000_000,
            from.node
        ))
        .hint("set the clocks right, by a time service on both machines"),
    ))
}

/// Why ids that a shard would give on a node keep it from giving any once the clock there is set right, if so.
pub(super) async fn far_ahead(
    from: &mut MoveSession,
    to: &mut MoveSession,
) -> Result<Option<Failure>, Failure> {
    let jump = sqlx::query_scalar(sql!("move/check/max_jump.sql"));
    let Some(allowed) = from.column::<i64>(jump).await?.first().copied() else { return Ok(None) };
    let here = skew(&mut from.connection, &from.node).await?;
    let there = skew(&mut to.connection, &to.node).await?;
    let ahead_us = there.ahead_us - here.ahead_us;
    if ahead_us - here.error_us - there.error_us <= allowed {
        return Ok(None);
    }
    Ok(Some(
        Failure::new(format!(
            "the clock of node {} is {} s ahead of that of node {}: a shard that comes from there would give ids of that time, and none once the clock is right",
            to.node,
            ahead_us / 1_000_000,
            from.node
        ))
        .hint("set the clocks right, by a time service on both machines"),
    ))
}
