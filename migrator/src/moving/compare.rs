//! Both copies compared: large ones before the fence, small ones behind it.
//!
//! Two copies are the same only as of the same moment. Behind the fence every
//! moment will do; before it one is made: the source's tables are locked for as
//! long as the target takes to catch up, both servers remember what they see,
//! and writers go on while that is read. What may have changed since then past
//! replication (a table that is rewritten, a target that was replaced) is
//! noticed behind the fence. Then such tables are compared there where they are
//! small, and otherwise all is compared once more.

use std::time::{Duration, Instant};

use shardid_cluster::MoveKind;
use sqlx::AssertSqlSafe;

use super::context::{Marks, MoveContext};
use super::move_session::{Batch, MoveSession};
use super::options::Verify;
use super::outcome::Fence;
use super::{following, stop};
use crate::failure::Failure;
use crate::postgres::{failure, hold_table, is_sqlstate, on_behalf, sql};

/// As many rows are compared behind the fence, and as many bytes: some tenths of a second.
const CHEAP_ROWS: i64 = 100_000;
const CHEAP_BYTES: i64 = 32 * 1024 * 1024;
/// Each takes some 2 ms, however few rows it has.
const CHEAP_TABLES: usize = 300;

/// Which part of the time that writers may wait is for comparing.
const PART: u32 = 3;

/// The longest that writers wait for a moment's lock, and again while the target
/// catches up.
const MOMENT_MS: u64 = 200;

/// How often a moment is tried before the move is left standing.
const MOMENTS_MAX: u32 = 50;

/// A table of the shard, quoted, with how many rows it may have, and how many bytes it takes.
type Rows = (String, i64, i64);

/// What a table holds: how many rows, and their sum in any order.
type Sum = (i64, String);

/// Compares all rows of both copies, as of one moment, while writers go on; small ones are compared
/// behind the fence.
pub(super) async fn fully(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    if context.options.verify != Verify::Full || context.compared.is_some() {
        return Ok(());
    }
    let tables = tables(context).await?;
    if is_small(context, &tables) {
        return Ok(());
    }
    let marks = marks(context).await?;
    let mut here = MoveSession::connect(context.file, &context.source.node).await?;
    let mut there = MoveSession::connect(context.file, &context.target.node).await?;
    let mut moments = 0;
    while !one_moment(context, &mut here, &mut there).await? {
        moments += 1;
        if moments == MOMENTS_MAX {
            return Err(Failure::new(format!(
                "{MOMENTS_MAX} times the target did not catch up within {MOMENT_MS} ms, so both copies cannot be compared"
            ))
            .hint(format!(
                "`shardid resume {}` when less is written; `--verify cheap` compares small shards only",
                context.record.id
            )));
        }
        tokio::time::sleep(Duration::from_millis(20 * u64::from(moments))).await;
    }
    context.say("comparing all rows");
    let (began, mut rows) = (Instant::now(), 0);
    for (table, ..) in tables {
        let (ours, theirs) = tokio::join!(sum(&mut here, &table), sum(&mut there, &table));
        let (ours, theirs) = (ours?, theirs?);
        check(context, &table, &ours, &theirs)?;
        rows += ours.0;
        stop::check_stop()?;
    }
    let seconds = began.elapsed().as_secs_f64();
    context.say(format_args!("{rows} rows compared in {seconds:.1} s"));
    context.compared = Some(marks);
    Ok(())
}

/// Whether there is little enough to compare it while writers wait.
fn is_small(context: &MoveContext<'_>, tables: &[Rows]) -> bool {
    let rows: i64 = tables.iter().map(|table| table.1).sum();
    let bytes: i64 = tables.iter().map(|table| table.2).sum();
    let is_cheap = rows <= CHEAP_ROWS && bytes <= CHEAP_BYTES && tables.len() <= CHEAP_TABLES;
    is_cheap && !context.compares_slowly
}

async fn marks(context: &mut MoveContext<'_>) -> Result<Marks, Failure> {
    let query = sqlx::query_as(sql!("move/compare/marks.sql")).bind(context.record.schema.clone());
    let tables: Vec<(String, String)> = context.source.rows(query).await?;
    let target: Vec<String> =
        context.target.column(sqlx::query_scalar(sql!("move/compare/start.sql"))).await?;
    Ok(Marks { tables: tables.into_iter().collect(), target: target.concat() })
}

/// Compares both copies behind the fence, if that is asked for and they are small; of large ones,
/// whether what was compared before is what there is.
pub(super) async fn within(
    context: &mut MoveContext<'_>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    if context.options.verify == Verify::None {
        return Ok(Fence::Held);
    }
    let tables = tables(context).await?;
    if !is_small(context, &tables) {
        return match context.options.verify {
            Verify::Full => still_as_compared(context, tables, deadline).await,
            _ => Ok(Fence::Held),
        };
    }
    behind(context, tables, deadline).await
}

/// Compares tables while writers wait.
async fn behind(
    context: &mut MoveContext<'_>,
    tables: Vec<Rows>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    let most = deadline.min(Instant::now() + context.options.fence_max / PART);
    bound(context, Some(most)).await?;
    for server in [&mut context.source, &mut context.target] {
        server.run(sqlx::query(sql!("move/compare/begin.sql"))).await?;
    }
    let outcome = compare(context, tables, most).await;
    for server in [&mut context.source, &mut context.target] {
        server.run(sqlx::query(sql!("move/rollback.sql"))).await?;
    }
    bound(context, None).await?;
    outcome
}

/// Whether what was compared before the fence is what there is. Of a table that was rewritten since, as by TRUNCATE, the rows
/// are compared where they are few.
async fn still_as_compared(
    context: &mut MoveContext<'_>,
    mut tables: Vec<Rows>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    let now = marks(context).await?;
    let Some(then) = context.compared.take() else {
        return Ok(Fence::Lost("it has grown, and is to be compared before".to_owned()));
    };
    if then.target != now.target {
        let node = &context.target.node;
        return Ok(Fence::Lost(format!("node {node} was started since it was compared")));
    }
    tables.retain(|(name, ..)| then.tables.get(name) != now.tables.get(name));
    if let Some((name, ..)) = tables.first() {
        let rewritten = format!("table {name} was rewritten since it was compared");
        if !is_small(context, &tables) {
            return Ok(Fence::Lost(rewritten));
        }
        if let Fence::Lost(why) = behind(context, tables, deadline).await? {
            return Ok(Fence::Lost(format!("{rewritten}, and {why}")));
        }
    }
    context.compared = Some(now);
    Ok(Fence::Held)
}

async fn compare(
    context: &mut MoveContext<'_>,
    tables: Vec<Rows>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    for (table, ..) in tables {
        let is_late = Instant::now() > deadline;
        let (ours, theirs) = tokio::join!(
            try_sum(&mut context.source, &table),
            try_sum(&mut context.target, &table)
        );
        let (Some(ours), Some(theirs), false) = (ours?, theirs?, is_late) else {
            // Before the next fence, where it may take as long as it does.
            context.compares_slowly = true;
            return Ok(Fence::Lost("comparing both copies took too long".to_owned()));
        };
        check(context, &table, &ours, &theirs)?;
    }
    Ok(Fence::Held)
}

/// No statement on either server may go on after the deadline.
async fn bound(context: &mut MoveContext<'_>, deadline: Option<Instant>) -> Result<(), Failure> {
    let most = deadline.map_or(Duration::ZERO, |deadline| {
        deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    });
    let (here, there) = tokio::join!(context.source.bound(most), context.target.bound(most));
    here.and(there)
}

fn check(context: &MoveContext<'_>, table: &str, ours: &Sum, theirs: &Sum) -> Result<(), Failure> {
    if ours == theirs {
        return Ok(());
    }
    let which = match context.record.kind {
        MoveKind::Copy => "the new copy",
        MoveKind::Rollback => "the old copy",
    };
    Err(Failure::new(format!(
        "{which} of table {table} differs: {} rows on {}, {} on {}",
        ours.0, context.source.node, theirs.0, context.target.node
    ))
    .hint(format!("`shardid abort {}`: the shard stays where it is", context.record.id)))
}

async fn tables(context: &mut MoveContext<'_>) -> Result<Vec<Rows>, Failure> {
    let query = sqlx::query_as(sql!("move/carry/tables.sql")).bind(context.record.schema.as_str());
    context.source.rows(query).await
}

/// What a table holds, within a transaction.
async fn sum(server: &mut MoveSession, table: &str) -> Result<Sum, Failure> {
    let held = hold_table(&mut server.connection, table).await;
    if !held.map_err(|error| failure(&server.node, &error))? {
        return Err(replaced(server, table));
    }
    let statement = sum_statement(server, table).await?;
    let row = sum_of(server, table, statement).await;
    row.map_err(|error| failure(&server.node, &error))
}

async fn sum_of(
    server: &mut MoveSession,
    table: &str,
    statement: String,
) -> Result<Sum, sqlx::Error> {
    let query = sqlx::query_as(AssertSqlSafe(statement));
    on_behalf(&mut server.connection, table, async |connection| query.fetch_one(connection).await)
        .await
}

/// The same; none where the server has run out of time.
async fn try_sum(server: &mut MoveSession, table: &str) -> Result<Option<Sum>, Failure> {
    match hold_table(&mut server.connection, table).await {
        Ok(true) => {}
        Ok(false) => return Err(replaced(server, table)),
        Err(error) if is_sqlstate(&error, "57014") => return Ok(None),
        Err(error) => return Err(failure(&server.node, &error)),
    }
    let statement = sum_statement(server, table).await?;
    match sum_of(server, table, statement).await {
        Ok(row) => Ok(Some(row)),
        Err(error) if is_sqlstate(&error, "57014") => Ok(None),
        Err(error) => Err(failure(&server.node, &error)),
    }
}

fn replaced(server: &MoveSession, table: &str) -> Failure {
    Failure::new(format!("table {table} was replaced during the move"))
        .at(format!("node {}", server.node))
}

async fn sum_statement(server: &mut MoveSession, table: &str) -> Result<String, Failure> {
    let query = sqlx::query_scalar(sql!("move/carry/sum.sql")).bind(table);
    Ok(server.column::<String>(query).await?.concat())
}

/// Has both servers remember what they see at a moment at which both copies are
/// the same; false where they did not come to be, and nobody waits any more.
async fn one_moment(
    context: &mut MoveContext<'_>,
    here: &mut MoveSession,
    there: &mut MoveSession,
) -> Result<bool, Failure> {
    following::catch_up(context).await?;
    let query = sqlx::query_scalar(sql!("move/compare/hold.sql"))
        .bind(context.record.schema.as_str())
        .bind(i64::try_from(MOMENT_MS).unwrap_or(i64::MAX));
    let statements: Vec<String> = context.source.column(query).await?;
    let Batch::Done = context.source.begin_with(statements).await? else { return Ok(false) };
    let outcome = remember(context, here, there).await;
    context.source.run(sqlx::query(sql!("move/rollback.sql"))).await?;
    let both = outcome?;
    if !both {
        here.run(sqlx::query(sql!("move/rollback.sql"))).await?;
    }
    Ok(both)
}

/// While the source's tables are locked.
async fn remember(
    context: &mut MoveContext<'_>,
    here: &mut MoveSession,
    there: &mut MoveSession,
) -> Result<bool, Failure> {
    let deadline = Instant::now() + Duration::from_millis(MOMENT_MS);
    // What has been committed must be on disk to be sent.
    here.run(sqlx::query(sql!("move/compare/flush.sql"))).await?;
    here.run(sqlx::query(sql!("move/compare/begin.sql"))).await?;
    // The first query of the transaction: from here on it sees nothing new.
    let position = sqlx::query_scalar(sql!("move/stream/flushed.sql"));
    let position = here.column::<String>(position).await?.concat();
    if !following::drained(context, &position, deadline).await? {
        return Ok(false);
    }
    there.run(sqlx::query(sql!("move/compare/begin.sql"))).await?;
    there.column::<String>(sqlx::query_scalar(sql!("move/stream/flushed.sql"))).await?;
    Ok(true)
}
