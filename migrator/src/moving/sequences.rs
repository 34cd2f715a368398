//! The sequences of a shard: held while the fence is switched, carried over, closed.
//!
//! The fence stops `next_id` and every write, but not a plain `nextval` in a
//! statement of its own. So a session of its own locks all sequences before it
//! is read where they stand, and lets go of them only by the transaction that
//! makes the source the old copy. In it they come to their end: what was carried
//! over is not handed out here again.

use std::time::Instant;

use shardid_cluster::MoveKind;

use super::outcome::Fence;
use super::road::{Given, Road};
use super::server::{Batch, Server};
use crate::failure::Failure;
use crate::postgres::sql;

/// The longest that the fence waits for transactions that have called `nextval`.
const HOLD_MS_MAX: u128 = 400;

/// Where nobody waits, or the way is only forward.
const LOCK_MS: u128 = 10_000;

/// Locks the sequences of the source, and brings those of the target to where
/// they stand.
pub(super) async fn carry_over(road: &mut Road<'_>, deadline: Instant) -> Result<Fence, Failure> {
    let left = deadline.saturating_duration_since(Instant::now()).as_millis();
    if !hold(road, left.clamp(1, HOLD_MS_MAX)).await? {
        return Ok(Fence::Lost("a transaction that has called nextval does not end".to_owned()));
    }
    let mut statements = Vec::new();
    if road.record.kind == MoveKind::Rollback {
        let schema = road.record.schema.as_str();
        let query = sqlx::query_scalar(sql!("move/sequence/rules.sql")).bind(schema);
        statements = road.source.column(query).await?;
    }
    statements.extend(positions(road).await?);
    match road.target.all_or_none(vec![statements.join(";\n")], 1_000).await? {
        Batch::Done => Ok(Fence::Held),
        Batch::LockTimeout => {
            Ok(Fence::Lost("somebody locks the sequences of the new copy".to_owned()))
        }
    }
}

/// Has a session ready, so that the fence need not wait for one.
pub(super) async fn prepare(road: &mut Road<'_>) -> Result<(), Failure> {
    if road.holding.is_none() {
        let (node, term) = (road.source.node.clone(), road.source.term());
        road.holding = Some(Server::connect_as(road.file, &node, term).await?);
    }
    Ok(())
}

/// Lets everybody use the sequences of the source again.
pub(super) fn let_go(road: &mut Road<'_>) {
    // Its transaction goes with the session.
    road.holding = None;
    road.held = false;
}

/// Runs statements on the source, together with those that close its sequences.
///
/// Where the program was cut between the switch and here, nobody held them: they
/// are carried over once more, unless the target gives numbers already.
pub(super) async fn close_with(
    road: &mut Road<'_>,
    statements: Vec<String>,
) -> Result<Batch, Failure> {
    let was_held = road.held;
    if !was_held && !hold(road, LOCK_MS).await? {
        return Ok(Batch::LockTimeout);
    }
    let fresh = if was_held { Vec::new() } else { positions(road).await? };
    let schema = road.record.schema.clone();
    let holding = holding(road);
    let mut all = vec![format!("SET LOCAL lock_timeout = {LOCK_MS}")];
    all.extend(statements);
    all.extend(closing(holding, &schema).await?);
    all.push("COMMIT".to_owned());
    let done = holding.one_batch(all).await?;
    let_go(road);
    if let Batch::LockTimeout = done {
        return Ok(Batch::LockTimeout);
    }
    let query =
        sqlx::query_scalar(sql!("move/sequence/is_open.sql")).bind(road.record.shard.as_sql());
    if !fresh.is_empty() && road.target.column::<bool>(query).await? == [false] {
        return road.target.all_or_none(vec![fresh.join(";\n")], 1_000).await;
    }
    Ok(Batch::Done)
}

/// Closes the sequences of an old copy that was nearly gone back to.
pub(super) async fn close_old_copy(road: &mut Road<'_>) -> Result<(), Failure> {
    let schema = road.record.schema.clone();
    let statements = closing(&mut road.target, &schema).await?;
    match road.target.all_or_none(statements, LOCK_MS as u64).await? {
        Batch::Done => Ok(()),
        Batch::LockTimeout => Err(in_use(&road.target)),
    }
}

/// Somebody is in the way for longer than we may wait.
fn in_use(server: &Server) -> Failure {
    Failure::new("somebody holds the shard's sequences for long")
        .at(format!("node {}", server.node))
        .hint("look at pg_stat_activity there")
}

async fn hold(road: &mut Road<'_>, ms: u128) -> Result<bool, Failure> {
    prepare(road).await?;
    let schema = road.record.schema.clone();
    let query = sqlx::query_scalar(sql!("move/sequence/hold.sql"))
        .bind(schema.as_str())
        .bind(i64::try_from(ms).unwrap_or(i64::MAX));
    let mut statements: Vec<String> = road.source.column(query).await?;
    let locks = statements.split_off(statements.len().min(1));
    road.held = false;
    let server = holding(road);
    let Batch::Done = server.begin_with(statements).await? else { return Ok(false) };
    // Nobody takes ids any more, and what each has given out is still known.
    let query = sqlx::query_as(sql!("move/sequence/given.sql")).bind(schema.as_str());
    let Some(given) = server.rows_at_once(query).await? else { return Ok(false) };
    let Batch::Done = server.go_on_with(locks).await? else { return Ok(false) };
    road.given = given;
    road.held = true;
    Ok(true)
}

fn holding<'r>(road: &'r mut Road<'_>) -> &'r mut Server {
    road.holding.as_mut().expect("it was prepared")
}

/// Where the sequences stand, as statements for the other copy.
async fn positions(road: &mut Road<'_>) -> Result<Vec<String>, Failure> {
    let (mut generators, mut last_ids, mut layouts) = (Vec::new(), Vec::new(), Vec::new());
    for Given { oid, last, layout } in &road.given {
        generators.push(*oid);
        last_ids.push(*last);
        layouts.push(layout.clone());
    }
    let query = sqlx::query_scalar(sql!("move/sequence/positions.sql"))
        .bind(road.record.schema.clone())
        .bind(generators)
        .bind(last_ids)
        .bind(layouts)
        .bind(road.record.shard.as_sql());
    holding(road).column(query).await
}

async fn closing(server: &mut Server, schema: &str) -> Result<Vec<String>, Failure> {
    server.column(sqlx::query_scalar(sql!("move/sequence/close.sql")).bind(schema)).await
}
