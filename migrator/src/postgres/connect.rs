//! Getting into a node's database.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use nix::unistd::{User, gethostname, getuid};
use shardid_cluster::NodeName;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions};

use crate::failure::Failure;
use crate::file::Address;
use crate::postgres::{failure, failure_of_ours, sql};
use crate::talk;

/// `too_many_connections`.
const TOO_MANY: &str = "53300";

/// The nodes of which it was said that commits wait there.
static SAID: Mutex<BTreeSet<NodeName>> = Mutex::new(BTreeSet::new());

/// Connects to a node, within the time that its URL allows.
///
/// `task` is what `pg_stat_activity` says about the session, beside who runs it.
pub(crate) async fn connect(
    node: &NodeName,
    address: &Address,
    task: &str,
) -> Result<PgConnection, Failure> {
    let shown = address.shown();
    let options = address.postgres().map_err(|error| match error {
        sqlx::Error::Configuration(cause) => {
            Failure::usage(format!("node {node}: its url cannot be used: {cause}"))
        }
        other => Failure::usage(format!("node {node}: its url cannot be used: {other}")),
    })?;
    let options = options
        .application_name(&format!("shardid {task} by {}", who()))
        .disable_statement_logging();
    let limit = address.connect_timeout();
    let unreachable = |why: String| {
        Failure::new(format!("could not reach node {node} at {shown}: {why}"))
            .hint("is the server running, and may this machine and role connect? `shardid status` shows all nodes")
    };
    match tokio::time::timeout(limit, options.connect()).await {
        Err(_) => Err(unreachable(format!("no answer within {} s", limit.as_secs()))),
        Ok(Ok(mut connection)) => {
            // Each by itself: what comes first decides how the next is read.
            for block in [
                sql!("session/unlimited.sql"),
                sql!("session/path.sql"),
                sql!("session/itself.sql"),
                sql!("session/changed.sql", "session/usual.sql"),
                sql!("session/functions_as_owners.sql"),
                sql!("session/own_schema.sql"),
                sql!("session/own_catalog.sql"),
                sql!("session/end_alone.sql"),
            ] {
                let done = sqlx::raw_sql(block).execute(&mut connection).await;
                done.map_err(|error| failure_of_ours(node, &error))?;
            }
            if let Some(why) = commits_wait(node, &mut connection).await?
                && SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(node.clone())
            {
                talk::line(format_args!("note: node {node}: {why}"));
            }
            Ok(connection)
        }
        Ok(Err(sqlx::Error::Io(cause))) => Err(unreachable(cause.to_string())),
        Ok(Err(error @ sqlx::Error::Database(_))) if super::is_sqlstate(&error, TOO_MANY) => {
            Err(failure(node, &error).hint(format!(
                "once connections of node {node} have ended, run the same command again; max_connections is how many it takes"
            )))
        }
        Ok(Err(error @ sqlx::Error::Database(_))) => Err(failure(node, &error)
            .hint(format!("look at `url` of node {node}, and at pg_hba.conf of its server"))),
        // It says something, and be it that it has no TLS.
        Ok(Err(error @ (sqlx::Error::Tls(_) | sqlx::Error::Protocol(_)))) => {
            Err(unreachable(error.to_string()).answered())
        }
        Ok(Err(error)) => Err(unreachable(error.to_string())),
    }
}

/// Keeps a table from being replaced until the transaction ends; false where the name, quoted where it
/// needs that, is no table's by now: a view would run what its owner likes.
pub(crate) async fn hold_table(
    connection: &mut PgConnection,
    table: &str,
) -> Result<bool, sqlx::Error> {
    let lock: String = sqlx::query_scalar(sql!("session/lock_table.sql"))
        .bind(table)
        .fetch_one(&mut *connection)
        .await?;
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut *connection).await?;
    sqlx::query_scalar(sql!("session/is_table.sql")).bind(table).fetch_one(connection).await
}

/// Reads a table that is held on behalf of who owns it: what its expressions call is called with that role's rights.
pub(crate) async fn on_behalf<T>(
    connection: &mut PgConnection,
    table: &str,
    read: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
) -> Result<T, sqlx::Error> {
    let begin: Option<String> = sqlx::query_scalar(sql!("session/on_behalf.sql"))
        .bind(table)
        .fetch_optional(&mut *connection)
        .await?;
    if let Some(begin) = &begin {
        sqlx::raw_sql(AssertSqlSafe(begin.as_str())).execute(&mut *connection).await?;
    }
    let found = read(connection).await?;
    if begin.is_some() {
        sqlx::raw_sql(sql!("session/on_own_behalf.sql")).execute(connection).await?;
    }
    Ok(found)
}

/// Why commits of a session would wait, where nobody is there to answer.
pub(crate) async fn commits_wait(
    node: &NodeName,
    connection: &mut PgConnection,
) -> Result<Option<String>, Failure> {
    let query = sqlx::query_scalar(sql!("commits_wait.sql"));
    query.fetch_optional(connection).await.map_err(|error| failure(node, &error))
}

/// User and machine that run this program.
pub(crate) fn who() -> String {
    let user =
        User::from_uid(getuid()).ok().flatten().map_or_else(|| getuid().to_string(), |u| u.name);
    let host = gethostname().ok().and_then(|host| host.into_string().ok());
    format!("{user}@{}", host.unwrap_or_else(|| "localhost".into()))
}
