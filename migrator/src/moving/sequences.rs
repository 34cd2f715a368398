//! The sequences of a shard: held while the fence is switched, carried over, closed.
//!
//! The fence stops `next_id` and every write, but not a plain `nextval` in a
//! statement of its own. So a session of its own locks all sequences before it
//! is read where they stand, and lets go of them only by the transaction that
//! makes the source the old copy. In it they come to their end: what was carried
//! over is not handed out here again. Nor does anybody switch off or replace the
//! triggers of the fence meanwhile, which wait for it. Those of the new copy are at their end from the
//! beginning, until they are carried over.

use std::time::Instant;

use super::context::{Given, MoveContext};
use super::home::is_open;
use super::move_session::{Batch, MoveSession};
use super::outcome::Fence;
use crate::failure::Failure;
use crate::postgres::sql;

/// The longest that the fence waits for transactions that have called `nextval`.
const HOLD_MS_MAX: u128 = 400;

/// Where nobody waits, or the way is only forward.
const LOCK_MS: u128 = 10_000;

/// Locks the sequences of the source, and brings those of the target to where
/// they stand.
pub(super) async fn carry_over(
    context: &mut MoveContext<'_>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    let left = deadline.saturating_duration_since(Instant::now()).as_millis();
    if !hold(context, left.clamp(1, HOLD_MS_MAX)).await? {
        return Ok(Fence::Lost(
            "a transaction that has called nextval, or locks a table, does not end".to_owned(),
        ));
    }
    let query = sqlx::query_scalar(sql!("move/sequence/rules.sql"));
    let query = query.bind(context.record.schema.as_str());
    let mut statements: Vec<String> = context.source.column(query).await?;
    statements.extend(positions(context, false).await?);
    match context.target.all_or_none(vec![statements.join(";\n")], 1_000).await? {
        Batch::Done => Ok(Fence::Held),
        Batch::LockTimeout => {
            Ok(Fence::Lost("somebody locks the sequences of the new copy".to_owned()))
        }
    }
}

/// Has a session ready, so that the fence need not wait for one.
pub(super) async fn prepare(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    if context.holding.is_none() {
        let (node, term) = (context.source.node.clone(), context.source.term());
        context.holding = Some(MoveSession::connect_as(context.file, &node, term).await?);
    }
    Ok(())
}

/// Lets everybody use the sequences of the source again.
pub(super) fn let_go(context: &mut MoveContext<'_>) {
    // Its transaction goes with the session.
    context.holding = None;
    context.held = false;
}

/// Runs statements on the source, together with those that close its sequences.
///
/// Where the program was cut between the switch and here, nobody held them: they
/// are carried over once more. A target that gives numbers already is only told of ids that the
/// source has given since, where that was found open: it goes on above them.
pub(super) async fn close_with(
    context: &mut MoveContext<'_>,
    statements: Vec<String>,
) -> Result<Batch, Failure> {
    let was_held = context.held;
    if !was_held && !hold(context, LOCK_MS).await? {
        return Ok(Batch::LockTimeout);
    }
    let (mut fresh, mut is_open_there) = (Vec::new(), false);
    // Not where they were held: writers wait.
    if !was_held {
        is_open_there = is_open(&mut context.target, context.record.shard).await?;
        if !is_open_there || context.record.reopened {
            fresh = positions(context, is_open_there).await?;
        }
    }
    let schema = context.record.schema.clone();
    let holding = holding(context);
    let mut all = vec![format!("SET LOCAL lock_timeout = {LOCK_MS}")];
    all.extend(statements);
    all.extend(closing(holding, &schema).await?);
    all.push("COMMIT".to_owned());
    let done = holding.one_batch(all).await?;
    let_go(context);
    if let Batch::LockTimeout = done {
        return Ok(Batch::LockTimeout);
    }
    if fresh.is_empty() {
        return Ok(Batch::Done);
    }
    let mut statements = vec![fresh.join(";\n")];
    if is_open_there {
        let shut = sqlx::query_as(sql!("move/sequence/shut.sql"));
        let shut: Vec<(String, String)> =
            context.target.rows(shut.bind(context.record.shard.as_sql())).await?;
        let (shut, open): (Vec<_>, Vec<_>) = shut.into_iter().unzip();
        statements = shut.into_iter().chain(statements).chain(open).collect();
    }
    context.target.all_or_none(statements, LOCK_MS as u64).await
}

/// Statements by which the sequences of a new copy are closed, in the transaction that makes them.
pub(super) async fn closing_new(context: &mut MoveContext<'_>) -> Result<Vec<String>, Failure> {
    let query = sqlx::query_scalar(sql!("move/sequence/close_new.sql"));
    context.source.column(query.bind(context.record.schema.as_str())).await
}

/// Closes the sequences of an old copy that was nearly gone back to.
pub(super) async fn close_old_copy(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let schema = context.record.schema.clone();
    let statements = closing(&mut context.target, &schema).await?;
    match context.target.all_or_none(statements, LOCK_MS as u64).await? {
        Batch::Done => Ok(()),
        Batch::LockTimeout => Err(in_use(&context.target)),
    }
}

/// Somebody is in the way for longer than we may wait.
fn in_use(server: &MoveSession) -> Failure {
    Failure::new("somebody holds the shard's sequences for long")
        .at(format!("node {}", server.node))
        .hint("look at pg_stat_activity there")
}

async fn hold(context: &mut MoveContext<'_>, ms: u128) -> Result<bool, Failure> {
    prepare(context).await?;
    let schema = context.record.schema.clone();
    let query = sqlx::query_scalar(sql!("move/sequence/hold.sql"))
        .bind(schema.as_str())
        .bind(i64::try_from(ms).unwrap_or(i64::MAX));
    let mut statements: Vec<String> = context.source.column(query).await?;
    let locks = statements.split_off(statements.len().min(1));
    context.held = false;
    let server = holding(context);
    let Batch::Done = server.begin_with(statements).await? else { return Ok(false) };
    // Nobody takes ids any more, and what each has given out is still known.
    let query = sqlx::query_as(sql!("move/sequence/given.sql")).bind(schema.as_str());
    let Some(given) = server.rows_at_once(query).await? else { return Ok(false) };
    let Batch::Done = server.go_on_with(locks).await? else { return Ok(false) };
    let keep = sqlx::query_as(sql!("move/fence/keep.sql")).bind(schema.as_str());
    let Some(keep) = server.rows_at_once::<(String,)>(keep).await? else { return Ok(false) };
    let keep = keep.into_iter().map(|(statement,)| statement).collect();
    let Batch::Done = server.go_on_with(keep).await? else { return Ok(false) };
    context.given = given;
    context.held = true;
    Ok(true)
}

fn holding<'r>(context: &'r mut MoveContext<'_>) -> &'r mut MoveSession {
    context.holding.as_mut().expect("it was prepared")
}

/// Where the sequences stand, or the generators alone, as statements for the other copy.
async fn positions(
    context: &mut MoveContext<'_>,
    only_generators: bool,
) -> Result<Vec<String>, Failure> {
    let (mut generators, mut last_ids, mut layouts) = (Vec::new(), Vec::new(), Vec::new());
    for Given { oid, last, layout } in &context.given {
        generators.push(*oid);
        last_ids.push(*last);
        layouts.push(layout.clone());
    }
    let query = sqlx::query_scalar(sql!("move/sequence/positions.sql"))
        .bind(context.record.schema.clone())
        .bind(generators)
        .bind(last_ids)
        .bind(layouts)
        .bind(context.record.shard.as_sql())
        .bind(only_generators);
    holding(context).column(query).await
}

async fn closing(server: &mut MoveSession, schema: &str) -> Result<Vec<String>, Failure> {
    server.column(sqlx::query_scalar(sql!("move/sequence/close.sql")).bind(schema)).await
}
