//! How is a copy of a shard dropped, and nothing else with it?

use shardid_cluster::MoveState;

use super::copies::{check_guarded, check_made_since, takes_along, unguarded_in};
use super::held::held;
use super::home::{Home, check_name};
use super::journal::Move;
use super::move_session::{AGAIN, Batch, MoveSession};
use super::progress::line;
use crate::cuts;
use crate::failure::Failure;
use crate::postgres::{connect, failure, sql};

/// How long dropping a copy waits for those who still read it; and how long without a word.
const LOCK_MS: u64 = 60_000;
const QUIET_MS: u64 = 2_000;

/// Drops a copy, if nothing outside its schema would go with it.
///
/// One transaction locks its tables, looks what would go, drops, and looks whether anything
/// else has gone. A type or a function of the schema is not locked by that: what comes to need
/// one in the moment between the look and the drop goes with it.
pub(super) async fn drop_schema(server: &mut MoveSession, record: &Move) -> Result<(), Failure> {
    let schema = record.schema.as_str();
    let of_schema = |text: &'static str| sqlx::query_scalar::<_, String>(text).bind(schema);
    let locks = server.column(of_schema(sql!("move/clean/lock.sql"))).await?;
    let begin = |ms: u64| {
        let mut begin = vec![format!("SET LOCAL lock_timeout = {ms}")];
        begin.extend(locks.iter().cloned());
        begin
    };
    if let Batch::LockTimeout = server.begin_with(begin(QUIET_MS)).await? {
        let waits = held(server, schema, "the copy cannot be dropped yet").await;
        for (message, _) in waits.messages() {
            line(format_args!("  node {}: {message}", server.node));
        }
        if let Batch::LockTimeout = server.begin_with(begin(LOCK_MS)).await? {
            return Err(still_used(server, record).await);
        }
    }
    let dropped = drop_behind_locks(server, record).await;
    let end = if dropped.is_ok() { sql!("move/commit.sql") } else { sql!("move/rollback.sql") };
    let ended = server.run(sqlx::query(end)).await;
    dropped.and(ended)
}

async fn drop_behind_locks(server: &mut MoveSession, record: &Move) -> Result<(), Failure> {
    let schema = record.schema.as_str();
    let of_schema = |text: &'static str| sqlx::query_scalar::<_, String>(text).bind(schema);
    let home = sqlx::query_scalar(sql!("move/clean/is_home.sql")).bind(record.shard.as_sql());
    let home: Vec<String> = server.column(home.bind(schema)).await?;
    if let Some(state) = home.first() {
        return Err(is_home(server, record, state));
    }
    // Whoever waited for the same locks may have swapped two names.
    if Home::of(server, record.shard).await?.is_some_and(|home| home.state == "moved") {
        check_name(server, record).await?;
    }
    let outside =
        server.column(of_schema(sql!("move/closure.sql", "move/clean/outside.sql"))).await?;
    if !outside.is_empty() {
        return Err(takes_along(server, record, &outside));
    }
    let mut statements = server.column(of_schema(sql!("move/clean/before.sql"))).await?;
    let query = sqlx::query_scalar(sql!("move/clean/drop_schema.sql"));
    let query = query.bind(schema).bind(record.shard.as_sql());
    statements.extend(server.column::<String>(query).await?);
    cuts::at(format_args!("drop/before"));
    if let Batch::LockTimeout = server.one_batch(statements).await? {
        return Err(still_used(server, record).await);
    }
    let gone = gone_with_it(server).await?;
    if !gone.is_empty() {
        return Err(takes_along(server, record, &gone));
    }
    // The schema is ours alone now: nobody can make anything in it any more, and another session
    // sees all that was there before it went.
    let mut other = connect(&server.node, &server.address, "move").await?;
    let made = sqlx::query_scalar(sql!("move/clean/made_since.sql")).bind(schema);
    let made: Vec<String> =
        made.fetch_all(&mut other).await.map_err(|error| failure(&server.node, &error))?;
    check_made_since(server, record, &made)?;
    // A copy that is given up was never an old one: its guard is for clients, and lets through what fills it.
    if record.state == MoveState::Aborting {
        return Ok(());
    }
    let off = unguarded_in(&mut other, record).await;
    check_guarded(server, record, &off.map_err(|error| failure(&server.node, &error))?)
}

fn is_home(server: &MoveSession, record: &Move, state: &str) -> Failure {
    Failure::new(format!(
        "schema {} is no copy: shard {} lives there, and is {state}",
        record.schema, record.shard
    ))
    .at(format!("node {}", server.node))
    .hint("nothing was dropped; `shardid verify` says what is wrong")
}

/// What was to stay, and this transaction has dropped. What others drop meanwhile is gone for
/// another session too.
async fn gone_with_it(server: &mut MoveSession) -> Result<Vec<String>, Failure> {
    let gone: Vec<(i64, i64)> = server.rows(sqlx::query_as(sql!("move/clean/gone.sql"))).await?;
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let (catalogs, numbers): (Vec<i64>, Vec<i64>) = gone.into_iter().unzip();
    let mut other = connect(&server.node, &server.address, "move").await?;
    let query = sqlx::query_scalar(sql!("move/clean/still_there.sql"));
    let still_there = query.bind(catalogs).bind(numbers).fetch_all(&mut other).await;
    still_there.map_err(|error| failure(&server.node, &error))
}

async fn still_used(server: &mut MoveSession, record: &Move) -> Failure {
    let what = format!("could not drop the copy in schema {}", record.schema);
    held(server, &record.schema, &what).await.hint(AGAIN)
}
