//! The event triggers of a move: who is at work when they come or go is waited for.
//!
//! A command asks at its beginning whether there are any, looks for those of its kind at its end,
//! and then runs them one after the other. One that has asked before an event trigger came does
//! not run it, and one whose function is dropped meanwhile ends the command of whoever it is with
//! `cache lookup failed for function`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgArguments, Postgres};
use sqlx::query::QueryAs;

use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::postgres::sql;

/// How long it is waited for statements that were at work when an event trigger came or went:
/// hardly any of them has to do with one, and then only at its end.
const AT_WORK_MAX: Duration = Duration::from_secs(2);
/// The same for those that have written nothing by then, as a long query does not.
const READING_MAX: Duration = Duration::from_millis(100);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A statement that makes or drops an event trigger, and the schemas of the functions that are of
/// no use after it.
pub(super) type Change = (String, Vec<String>);

/// Carries out what a query finds; whether there was anything.
pub(super) async fn change(
    server: &mut MoveSession,
    query: QueryAs<'_, Postgres, Change, PgArguments>,
) -> Result<bool, Failure> {
    let changes: Vec<Change> = server.rows(query).await?;
    if changes.is_empty() {
        return Ok(false);
    }
    let (statements, unused): (Vec<_>, Vec<_>) = changes.into_iter().unzip();
    server.carry_out(statements).await?;
    await_work(server).await?;
    let query = sqlx::query_scalar(sql!("move/stream/drop_unused.sql")).bind(unused.concat());
    let statements = server.column(query).await?;
    server.carry_out(statements).await?;
    Ok(true)
}

/// Carries out what a query finds, in a transaction that is open, which makes what they are about.
pub(super) async fn make(
    server: &mut MoveSession,
    query: QueryAs<'_, Postgres, Change, PgArguments>,
) -> Result<(), Failure> {
    let changes: Vec<Change> = server.rows(query).await?;
    server.carry_out(changes.into_iter().map(|(statement, _)| statement).collect()).await
}

/// Waits until no statement is at work that may have looked before.
async fn await_work(server: &mut MoveSession) -> Result<(), Failure> {
    let began = Instant::now();
    let mut left = at_work(server).await?;
    while !left.is_empty() && began.elapsed() < AT_WORK_MAX {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = at_work(server).await?;
        let may_write = began.elapsed() < READING_MAX;
        left.retain(|session, _| now.get(session).is_some_and(|writes| *writes || may_write));
    }
    Ok(())
}

/// The sessions that are at work, and whether each has written anything.
async fn at_work(server: &mut MoveSession) -> Result<BTreeMap<String, bool>, Failure> {
    let rows = server.rows(sqlx::query_as(sql!("move/stream/at_work.sql"))).await?;
    Ok(rows.into_iter().collect())
}
