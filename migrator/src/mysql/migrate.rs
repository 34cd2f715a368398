//! The schema on a MySQL server, by refinery's migrations.
//!
//! DDL is no part of a transaction there, so a cut may leave a migration made
//! and not written down: each of them may be run again. Whoever calls
//! [`schema`] or [`catalog`] holds the server's lock.

use std::collections::{BTreeMap, BTreeSet};

use refinery_core::{Migration, Runner, Target};
use shardid_cluster::NodeName;
use sqlx::Executor;
use sqlx::mysql::MySqlConnection;

use crate::cuts;
use crate::failure::Failure;
use crate::mysql::{failure, sql};
use crate::refinery::refinery_session;
use crate::talk;

use crate::mysql::migrations::{CATALOG, SCHEMA};
use crate::mysql::routines::{self, Routine, dropped_by};

fn parsed(files: &[(&str, &str)]) -> Vec<Migration> {
    let parse = |(name, sql): &(&str, &str)| {
        Migration::unapplied(name, sql).expect("the names of the files are in refinery's form")
    };
    let mut migrations: Vec<Migration> = files.iter().map(parse).collect();
    migrations.sort_by_key(Migration::version);
    migrations
}

/// The migrations of the schema, in order.
pub(crate) fn of_schema() -> Vec<Migration> {
    parsed(&SCHEMA)
}

/// The migrations of a catalog.
pub(crate) fn of_catalog() -> Vec<Migration> {
    parsed(&CATALOG)
}

/// The number of the last migration.
pub(crate) fn latest(migrations: &[Migration]) -> i32 {
    migrations.last().map_or(0, Migration::version)
}

/// Routines, triggers and views that are missing, or are those of an earlier version, by kind and name.
pub(crate) async fn wrong_routines(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<Vec<String>, Failure> {
    let wrong = routines::to_make(connection, node).await?;
    Ok(wrong.into_iter().map(|routine| routine.name).collect())
}

/// Whether a schema that was made whole has its tables alone, as after a dump without --routines.
pub(crate) async fn has_no_routines(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<bool, Failure> {
    routines::are_all_gone(connection, node).await
}

/// The tables that the migrations up to one make and leave, and whether each counts by itself.
fn tables(done: i32) -> BTreeMap<String, bool> {
    let mut made = BTreeMap::new();
    for migration in of_schema().iter().filter(|migration| migration.version() <= done) {
        let mut last = None;
        for line in migration.sql().unwrap_or_default().lines() {
            if let Some(rest) = line.strip_prefix("CREATE TABLE IF NOT EXISTS shardid.") {
                last = rest.split([' ', '(']).next().map(str::to_owned);
                made.extend(last.clone().map(|name| (name, false)));
            } else if let Some(name) = line.strip_prefix("DROP TABLE IF EXISTS shardid.") {
                made.remove(name.trim_end_matches(';'));
            }
            if line.contains(" UNSIGNED ") && line.contains(" AUTO_INCREMENT") {
                made.extend(last.clone().map(|name| (name, true)));
            }
        }
    }
    made
}

/// Tables that count no more: a dump leaves that out where it is made with `--skip-opt` or
/// `--skip-create-options` on MariaDB. Nobody gets an id then.
pub(crate) async fn tables_that_lost_their_count(
    connection: &mut MySqlConnection,
    node: &NodeName,
    done: i32,
) -> Result<Vec<Failure>, Failure> {
    let columns: Vec<(String, String, String)> = sqlx::query_as(sql!("look/no_count.sql"))
        .fetch_all(connection)
        .await
        .map_err(|error| failure(node, &error))?;
    let counting = tables(done);
    let counts = |table: &str| {
        counting.iter().any(|(name, counts)| *counts && name.eq_ignore_ascii_case(table))
    };
    let lost = columns.into_iter().filter(|(table, ..)| counts(table));
    Ok(lost
        .map(|(table, column, kind)| {
            Failure::new(format!("table shardid.{table} has lost its AUTO_INCREMENT, in a dump perhaps"))
                .at(format!("node {node}"))
                .hint(format!(
                    "ALTER TABLE shardid.{table} MODIFY {column} {kind} NOT NULL AUTO_INCREMENT, then `shardid apply --restored {node}`"
                ))
        })
        .collect())
}

/// The tables without which `apply` does not go on: those that the migrations up to one have made, and that the last
/// one has. What a later one drops has nothing in it that is still wanted, and may be gone already where
/// that was cut before it was written down.
fn kept(done: i32) -> impl Iterator<Item = String> {
    let last = tables(latest(&of_schema()));
    tables(done).into_keys().filter(move |table| last.contains_key(table))
}

/// Tables that are not there, though the history says that they were made. Made again, they
/// would be empty, and numbers would come again.
pub(crate) async fn no_missing_tables(
    connection: &mut MySqlConnection,
    node: &NodeName,
    done: i32,
) -> Result<(), Failure> {
    let there: Vec<String> = sqlx::query_scalar(sql!("look/tables.sql"))
        .fetch_all(connection)
        .await
        .map_err(|error| failure(node, &error))?;
    // A server may have all names in lower case.
    let is_there = |table: &String| there.iter().any(|other| other.eq_ignore_ascii_case(table));
    let missing: Vec<String> = kept(done).filter(|table| !is_there(table)).collect();
    let what = match missing.as_slice() {
        [] => return Ok(()),
        [one] => format!("table {one} of schema shardid is missing"),
        [one, more @ ..] => {
            format!("table {one} and {} more of schema shardid are missing", more.len())
        }
    };
    Err(Failure::new(what).at(format!("node {node}")).hint(format!(
        "put schema shardid back from a backup of this server, then `shardid apply --restored {node}`"
    )))
}

/// Makes the schema or brings it up to date, and makes routines again that are missing or of an earlier version. Whoever was granted
/// a routine before has it afterwards.
pub(crate) async fn schema(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<(), Failure> {
    let failed = |error: sqlx::Error| failure(node, &error);
    connection.execute(sql!("session/create_schema.sql")).await.map_err(failed)?;
    connection.execute(sql!("session/keep_grants.sql")).await.map_err(failed)?;
    // A program was cut before it had given again what went with the routines that it made anew.
    give_again(connection, node).await.map_err(|error| may_not(node, &error))?;
    let steps = match routines::there(connection, node).await?.is_empty() {
        // Nothing is granted on what is not there: who makes it all need not see what others may.
        true => {
            let all = of_schema();
            run(connection, &all, "shardid.schema_history", node, latest(&all)).await?;
            Vec::new()
        }
        false => pending(connection, node).await?,
    };
    let all: BTreeSet<String> = steps.iter().flat_map(|step| step.drops.clone()).collect();
    may_give_again(connection, node, &all).await?;
    for step in steps {
        take(connection, node, step).await?;
    }
    let again: Vec<Step> =
        routines::to_make(connection, node).await?.iter().map(Step::again).collect();
    let all: BTreeSet<String> = again.iter().flat_map(|step| step.drops.clone()).collect();
    may_give_again(connection, node, &all).await?;
    for step in again {
        take(connection, node, step).await?;
    }
    connection.execute(sql!("session/begin.sql")).await.map_err(failed)?;
    connection.execute(sql!("session/forget_all_grants.sql")).await.map_err(failed)?;
    Ok(())
}

/// Refuses, while nothing is gone, who could not give again what is granted on routines. What is there is given
/// once more, which changes nothing.
async fn may_give_again(
    connection: &mut MySqlConnection,
    node: &NodeName,
    drops: &BTreeSet<String>,
) -> Result<(), Failure> {
    note_grants(connection, node, drops).await?;
    let Err(error) = give_again(connection, node).await else { return Ok(()) };
    // What is revoked from now on is not to come back by this.
    let forgotten = connection.execute(sql!("session/forget_grants.sql")).await;
    forgotten.map_err(|error| failure(node, &error))?;
    Err(may_not(node, &error))
}

/// Runs a file. Grants are kept no longer than that takes: what is granted or revoked before or after it is
/// what counts.
async fn take(
    connection: &mut MySqlConnection,
    node: &NodeName,
    step: Step,
) -> Result<(), Failure> {
    let failed = |error: sqlx::Error| failure(node, &error);
    note_grants(connection, node, &step.drops).await?;
    let done = match step.how {
        How::Migration(version) => {
            run(connection, &of_schema(), "shardid.schema_history", node, version).await
        }
        How::Again(sql) => {
            let done = sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *connection).await;
            done.map(|_| ()).map_err(failed)
        }
    };
    if done.is_err() {
        // MariaDB takes grants away before it waits for whoever uses a routine.
        let _ = give_again(connection, node).await;
        return done;
    }
    cuts::at(format_args!("schema/before-grants"));
    give_again(connection, node).await.map_err(failed)
}

/// A file that is to be run.
struct Step {
    how: How,
    /// The routines that it drops, by kind and name in lower case, such as `function next_id`.
    drops: BTreeSet<String>,
}

enum How {
    /// For the first time.
    Migration(i32),
    /// Once more, since what it makes is missing, or is of an earlier version.
    Again(String),
}

impl Step {
    fn again(routine: &Routine) -> Self {
        let sql = routine.statements();
        Self { drops: dropped_by(&sql), how: How::Again(sql) }
    }
}

/// What has not been run yet.
async fn pending(connection: &mut MySqlConnection, node: &NodeName) -> Result<Vec<Step>, Failure> {
    let failed = |error: sqlx::Error| failure(node, &error);
    let (begun, _): (bool, bool) =
        sqlx::query_as(sql!("look/has.sql")).fetch_one(&mut *connection).await.map_err(failed)?;
    let known: Vec<(i32, String, String)> = match begun {
        true => sqlx::query_as(sql!("look/migrations.sql"))
            .fetch_all(connection)
            .await
            .map_err(failed)?,
        false => Vec::new(),
    };
    let done = known.iter().map(|(version, ..)| *version).max().unwrap_or(0);
    let all = of_schema();
    let later = all.iter().filter(|migration| migration.version() > done);
    let step = |migration: &Migration| Step {
        how: How::Migration(migration.version()),
        drops: dropped_by(migration.sql().unwrap_or_default()),
    };
    Ok(later.map(step).collect())
}

fn may_not(node: &NodeName, error: &sqlx::Error) -> Failure {
    let why =
        error.as_database_error().map_or_else(|| error.to_string(), |it| it.message().to_owned());
    Failure::new(format!(
        "the grants on its routines could not be given again when they are made anew: {why}"
    ))
    .at(format!("node {node}"))
    .hint("use a user who may read mysql.procs_priv and mysql.user, and has what is granted WITH GRANT OPTION")
}

/// Writes down what is granted on routines of ours that are about to be dropped, if any is there. Refuses
/// where some could not be given again.
async fn note_grants(
    connection: &mut MySqlConnection,
    node: &NodeName,
    drops: &BTreeSet<String>,
) -> Result<(), Failure> {
    let there = routines::there(connection, node).await?;
    let gone: Vec<&str> =
        there.iter().map(String::as_str).filter(|name| drops.contains(*name)).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let gone = gone.join(",");
    let nobody: Vec<String> = sqlx::query_scalar(sql!("session/whose_grants.sql"))
        .bind(gone.as_str())
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| may_not(node, &error))?;
    if let Some(who) = nobody.first() {
        return Err(Failure::new(format!(
            "the grants on its routines of {who} could not be given again when they are made anew: there is no such user"
        ))
        .at(format!("node {node}"))
        .hint(format!(
            "`DROP USER IF EXISTS {who}` takes away what a user has left who is no more; else REVOKE them, and grant them again afterwards"
        )));
    }
    let noted = sqlx::query(sql!("session/note_grants.sql")).bind(gone);
    noted.execute(connection).await.map(|_| ()).map_err(|error| may_not(node, &error))
}

/// Whether a program was cut before it had given again what was granted.
pub(crate) async fn grants_are_kept(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<bool, Failure> {
    let kept = sqlx::query_scalar(sql!("look/grants_are_kept.sql")).fetch_one(connection).await;
    kept.map_err(|error| failure(node, &error))
}

/// Gives again what is written down, and forgets it. Who has nothing to give need not see who the
/// server's users are.
async fn give_again(connection: &mut MySqlConnection, node: &NodeName) -> Result<(), sqlx::Error> {
    let any: bool =
        sqlx::query_scalar(sql!("look/grants_are_kept.sql")).fetch_one(&mut *connection).await?;
    if !any {
        return Ok(());
    }
    let statements: Vec<String> =
        sqlx::query_scalar(sql!("session/kept_grants.sql")).fetch_all(&mut *connection).await?;
    connection.execute(sql!("session/no_new_users.sql")).await?;
    for statement in statements {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut *connection).await?;
    }
    // A user that was dropped meanwhile, and one that was renamed, look alike.
    let of_nobody: Vec<(String, String)> =
        sqlx::query_as(sql!("session/kept_of_nobody.sql")).fetch_all(&mut *connection).await?;
    for (who, statement) in of_nobody {
        talk::line(format_args!(
            "  {node}: there is no user {who} any more, whose grant went with a routine that was made anew: if it has another name now, say there: {statement}"
        ));
    }
    connection.execute(sql!("session/begin.sql")).await?;
    connection.execute(sql!("session/forget_grants.sql")).await?;
    Ok(())
}

/// Makes the catalog's tables or brings them up to date.
pub(crate) async fn catalog(
    connection: &mut MySqlConnection,
    node: &NodeName,
) -> Result<(), Failure> {
    let all = of_catalog();
    run(connection, &all, "shardid.catalog_history", node, latest(&all)).await
}

async fn run(
    connection: &mut MySqlConnection,
    migrations: &[Migration],
    history: &str,
    node: &NodeName,
    up_to: i32,
) -> Result<(), Failure> {
    connection
        .execute(sql!("session/create_schema.sql"))
        .await
        .map_err(|error| failure(node, &error))?;
    let done = Runner::new(migrations)
        .set_target(Target::Version(up_to))
        .set_migration_table_name(history)
        .run_async(&mut Session(connection))
        .await;
    done.map(|_| ()).map_err(|error| said_of_run(error, node))
}

fn said_of_run(error: refinery_core::Error, node: &NodeName) -> Failure {
    let cause =
        std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<sqlx::Error>());
    match cause {
        Some(cause) => failure(node, cause),
        None => Failure::new(error).at(format!("node {node}")),
    }
}

refinery_session!(Session, MySqlConnection);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_schema_are_known_for_each_migration() {
        assert!(tables(0).is_empty());
        let first: Vec<String> = tables(1).into_keys().collect();
        assert_eq!(first, ["server"]);
        let all = tables(latest(&of_schema()));
        for table in ["ticket", "Tickets64", "counter_128", "ticket_block", "position"] {
            assert!(all.contains_key(table), "{table}");
        }
        assert!(
            tables(13).contains_key("block") && !all.contains_key("block"),
            "it was dropped later"
        );
        assert!(kept(22).any(|table| table == "ticket") && kept(22).all(|table| table != "block"));
        let counting: Vec<&str> =
            all.iter().filter_map(|(name, counts)| counts.then_some(name.as_str())).collect();
        assert_eq!(counting, ["Tickets32", "Tickets64", "counter", "counter_128", "position"]);
    }
}
