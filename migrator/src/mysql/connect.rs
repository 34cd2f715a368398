//! Getting into a MySQL or MariaDB server.

use shardid_cluster::NodeName;
use sqlx::mysql::MySqlConnection;
use sqlx::{ConnectOptions, Executor};

use crate::failure::Failure;
use crate::file::Address;
use crate::mysql::{failure, sql};

/// Connects to a node, within the time that its URL allows.
pub(crate) async fn connect(
    node: &NodeName,
    address: &Address,
) -> Result<MySqlConnection, Failure> {
    let shown = address.shown();
    let options = address
        .mysql()
        .map_err(|error| Failure::usage(format!("node {node}: its url cannot be used: {error}")))?
        .disable_statement_logging();
    let limit = address.connect_timeout();
    let unreachable = |why: String| {
        Failure::new(format!("could not reach node {node} at {shown}: {why}"))
            .hint("is the server running, and may this machine and user connect?")
    };
    let mut connection = match tokio::time::timeout(limit, options.connect()).await {
        Err(_) => return Err(unreachable(format!("no answer within {} s", limit.as_secs()))),
        Ok(Ok(connection)) => connection,
        Ok(Err(sqlx::Error::Io(cause))) => return Err(unreachable(cause.to_string())),
        Ok(Err(error @ sqlx::Error::Database(_))) => {
            return Err(failure(node, &error).hint(format!(
                "look at `url` of node {node}, and at [client] in ~/.my.cnf for user and password"
            )));
        }
        // It says something, and be it that it has no TLS.
        Ok(Err(error @ (sqlx::Error::Tls(_) | sqlx::Error::Protocol(_)))) => {
            return Err(unreachable(error.to_string()).answered());
        }
        Ok(Err(error)) => return Err(unreachable(error.to_string())),
    };
    connection.execute(sql!("session/begin.sql")).await.map_err(|error| failure(node, &error))?;
    Ok(connection)
}
