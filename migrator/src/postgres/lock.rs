//! Only one program changes a cluster at a time, and only one session a node.

use std::time::Duration;

use shardid_cluster::NodeName;
use sqlx::FromRow;
use sqlx::postgres::PgConnection;

use crate::failure::Failure;
use crate::postgres::{failure, is_sqlstate, sql};
use crate::talk;

#[derive(FromRow)]
struct Holder {
    pid: i32,
    program: String,
    address: String,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` (from {}, server process {})", self.program, self.address, self.pid)
    }
}

/// Takes a node's lock for as long as this session lasts; the catalog node's
/// is that of the cluster.
///
/// Says for whom it waits, and gives up after `wait`.
pub(crate) async fn take(
    connection: &mut PgConnection,
    node: &NodeName,
    wait: Duration,
) -> Result<(), Failure> {
    let failed = |error: sqlx::Error| failure(node, &error);
    let got_it: bool = sqlx::query_scalar(sql!("lock/try.sql"))
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    if got_it {
        return Ok(());
    }
    let holder: Option<Holder> = sqlx::query_as(sql!("lock/holder.sql"))
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed)?;
    let holder = holder.map_or("somebody".to_owned(), |holder| holder.to_string());
    let busy = || {
        Failure::new(format!("node {node} is being changed by {holder}"))
            .hint("wait for it to end, or give it longer with `--wait-seconds-max`")
    };
    if wait.is_zero() {
        return Err(busy());
    }
    talk::line(format_args!("waiting for {holder}, at most {} s", wait.as_secs()));
    set_timeout(connection, node, &format!("{}ms", wait.as_millis())).await?;
    match sqlx::query(sql!("lock/wait.sql")).execute(&mut *connection).await {
        Err(error) if is_sqlstate(&error, "55P03") => return Err(busy()),
        other => other.map_err(failed)?,
    };
    set_timeout(connection, node, "0").await
}

/// Makes sure that the lock is still ours before something is changed: it goes
/// with the session, which a restart of the server may have ended.
pub(crate) async fn check(connection: &mut PgConnection, node: &NodeName) -> Result<(), Failure> {
    let held: Result<bool, _> =
        sqlx::query_scalar(sql!("lock/held.sql")).fetch_one(&mut *connection).await;
    match held {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new("the cluster's lock was lost")
            .at(format!("node {node}"))
            .hint("connect to the servers themselves: a pooler that changes sessions between transactions loses locks")),
        Err(error) => Err(failure(node, &error)),
    }
}

async fn set_timeout(
    connection: &mut PgConnection,
    node: &NodeName,
    timeout: &str,
) -> Result<(), Failure> {
    sqlx::query(sql!("lock/timeout.sql"))
        .bind(timeout)
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(|error| failure(node, &error))
}
