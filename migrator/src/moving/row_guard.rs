//! What keeps rows out of a new copy that do not come by its stream.

use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::QueryScalar;

use super::context::MoveContext;
use super::copies;
use super::journal::Move;
use super::move_session::{Batch, MoveSession, WAIT_MAX};
use crate::failure::Failure;
use crate::postgres::sql;

/// What makes the guard: on all tables, as they are where it is asked, or on those there that have none.
pub(super) fn made(
    record: &Move,
    of_all: bool,
) -> QueryScalar<'static, Postgres, String, PgArguments> {
    sqlx::query_scalar(sql!("move/carry/guard_rows.sql"))
        .bind(record.shard.as_sql())
        .bind(record.schema.clone())
        .bind(of_all)
}

/// Makes it on the tables of a copy that have none, from where the stream begins.
pub(super) async fn make(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let statements = context.target.column(made(&context.record, false)).await?;
    change(context, statements).await
}

/// Has the tables take rows that sessions of the program copy.
pub(super) async fn take_away(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let query = sqlx::query_scalar(sql!("move/copy/let_rows.sql"));
    let statements = context.target.column(query.bind(context.record.schema.as_str())).await?;
    change(context, statements).await
}

/// Gives the tables of a copy that is to follow the guards that they have not, and says so.
pub(super) async fn give_back(
    server: &mut MoveSession,
    record: &Move,
) -> Result<Option<String>, Failure> {
    let off = copies::unguarded(server, record).await?;
    if off.is_empty() {
        return Ok(None);
    }
    let (names, mend): (Vec<String>, Vec<String>) =
        off.into_iter().map(|it| (it.name, it.mend)).unzip();
    let (node, names) = (server.node.clone(), names.join(", "));
    match server.all_or_none(mend, WAIT_MAX.as_millis().try_into().unwrap_or(u64::MAX)).await? {
        Batch::Done => Ok(Some(format!(
            "WARNING: on {node} the guard of {names} was put back: it had been dropped or switched off, or the table was made there since; rows that were written there meanwhile are in that copy alone"
        ))),
        Batch::LockTimeout => {
            let what = format!("the guard of {names} cannot be put back");
            Err(server.name_holder(Failure::new(what).at(format!("node {node}")).hint(format!(
                "look at pg_stat_activity there, then `shardid resume {}`",
                record.id
            ))))
        }
    }
}

async fn change(context: &mut MoveContext<'_>, statements: Vec<String>) -> Result<(), Failure> {
    if statements.is_empty() {
        return Ok(());
    }
    let lock_ms = context.options.stall_max.min(WAIT_MAX).as_millis();
    let lock_ms = lock_ms.try_into().unwrap_or(u64::MAX);
    match context.target.all_or_none(statements, lock_ms).await? {
        Batch::LockTimeout => {
            Err(is_locked(context, "the guard of the copy cannot be changed".to_owned()))
        }
        Batch::Done => Ok(()),
    }
}

/// That somebody locks a table of a copy, and who does.
pub(super) fn is_locked(context: &mut MoveContext<'_>, what: String) -> Failure {
    let failure = Failure::new(what).at(format!("node {}", context.target.node)).hint(format!(
        "look at pg_stat_activity there, then `shardid resume {}`",
        context.record.id
    ));
    context.target.name_holder(failure)
}
