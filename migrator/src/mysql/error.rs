//! What a MySQL server says, as a person needs it.

use shardid_cluster::NodeName;
use sqlx::Row;
use sqlx::mysql::{MySqlConnection, MySqlDatabaseError};

use crate::failure::Failure;
use crate::mysql::sql;

/// An error of a node's server.
pub(crate) fn failure(node: &NodeName, error: &sqlx::Error) -> Failure {
    let place = format!("node {node}");
    let Some(said) = database_error(error) else {
        return match error {
            sqlx::Error::Io(cause) => Failure::new(format!("lost the connection: {cause}")),
            other => Failure::new(other),
        }
        .at(place);
    };
    // Our own errors say what helps at their end, on one line.
    let (message, hint) = match said.message().split_once(": hint: ") {
        Some((message, hint)) => (message, Some(hint)),
        None => (said.message(), None),
    };
    let failure = Failure::new(message).at(place).answered();
    match (hint, said.number()) {
        (Some(hint), _) => failure.hint(hint),
        // The server names whoever has logged in by the host that he comes from, which an account of his need not have.
        (None, 1142 | 1370) => failure.hint(
            "connect as a user with all privileges on schema shardid; if the account that installed it lacks them, whose name and host it is told by `SELECT current_user()`, routines run with its rights: GRANT ALL ON shardid.* TO that account WITH GRANT OPTION, and the other grants of docs/mysql.md, \"What a server needs\"",
        ),
        (None, 1044 | 1045 | 1227 | 1698) => failure
            .hint("connect as a user with all privileges on schema shardid, see docs/mysql.md"),
        (None, 1418 | 1419) => failure.hint(
            "SET GLOBAL log_bin_trust_function_creators = 1, or connect as a user with SUPER",
        ),
        (None, 1205) => failure.hint(
            "somebody holds a lock for long: look at SHOW PROCESSLIST, and at XA RECOVER for what waits for XA COMMIT or XA ROLLBACK, then try again",
        ),
        // Routines and views run with the rights of who made them.
        (None, 1449) => failure.hint(format!(
            "have the account again that installed schema shardid: `RENAME USER … TO {who}` where it has another name now, else `CREATE USER {who} IDENTIFIED BY '…'`, and the grants of docs/mysql.md, \"What a server needs\"",
            who = said.message().split(['(', ')']).nth(1).unwrap_or("it")
        )),
        // 1290 is of other options, too.
        (None, 1290 | 1836) if said.message().contains("read-only") || said.message().contains("read only") => failure.hint("it is read-only: name the server that takes writes"),
        (None, _) => failure,
    }
}

/// Adds the names of what XA has prepared there, where the error is that a lock was waited for: no list of processes
/// has them.
pub(crate) async fn naming_prepared(
    connection: &mut MySqlConnection,
    error: &sqlx::Error,
    failure: Failure,
) -> Failure {
    let has_waited = number(error) == Some(1205) || error.to_string().contains("XA RECOVER");
    if !has_waited {
        return failure;
    }
    // MySQL tells only some of them, and then there are none.
    let prepared = sqlx::raw_sql(sql!("look/prepared.sql")).fetch_all(connection).await;
    prepared.unwrap_or_default().iter().fold(failure, |failure, row| {
        let name: Vec<u8> = row.try_get_unchecked("data").unwrap_or_default();
        failure.detail(format_args!("prepared by XA: {}", String::from_utf8_lossy(&name)))
    })
}

/// The SQLSTATE that a server refused with.
pub(crate) fn sqlstate(error: &sqlx::Error) -> Option<&str> {
    database_error(error)?.code()
}

/// The number that a server refused with.
pub(crate) fn number(error: &sqlx::Error) -> Option<u16> {
    Some(database_error(error)?.number())
}

fn database_error(error: &sqlx::Error) -> Option<&MySqlDatabaseError> {
    error.as_database_error()?.try_downcast_ref()
}
