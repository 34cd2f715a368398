//! What a server says, as a person needs it.

use shardid_cluster::NodeName;
use sqlx::postgres::{PgDatabaseError, PgErrorPosition};

use crate::failure::Failure;

/// What a server says of a database that it does not have.
const NO_DATABASE: &str = "3D000";

/// An error of a statement of ours in which nothing of others runs: its hint is ours.
pub(crate) fn failure_of_ours(node: &NodeName, error: &sqlx::Error) -> Failure {
    said_by(node, error, true)
}

/// An error of a node's server, with the server's own detail and hint.
pub(crate) fn failure(node: &NodeName, error: &sqlx::Error) -> Failure {
    said_by(node, error, false)
}

fn said_by(node: &NodeName, error: &sqlx::Error, hint_is_ours: bool) -> Failure {
    let place = format!("node {node}");
    let Some(said) = database_error(error) else {
        return match error {
            sqlx::Error::Io(cause) => Failure::new(format!("lost the connection: {cause}")),
            other => Failure::new(other),
        }
        .at(place);
    };
    let mut failure = Failure::new(said.message()).at(place);
    // Where there is no such database, the server may have lost it, or it has another name.
    failure = match said.code() {
        NO_DATABASE => failure.without_database(),
        _ => failure.answered(),
    };
    if let Some(detail) = said.detail() {
        failure = failure.detail(detail);
    }
    match (said.hint(), said.code()) {
        (Some(hint), _) if hint_is_ours => failure.hint(hint),
        // It may be what a function of somebody's has raised: not the word of this program.
        (Some(hint), _) => failure.detail(format!("the server's hint: {hint}")),
        (None, "42501") => {
            failure.hint("connect as the role that owns the database, or see docs/privileges.md")
        }
        (None, "42P01") if said.message().contains("\"shardid.") => failure.hint(
            "that database has not what the cluster file says: is it the catalog's? `shardid plan` shows what is missing",
        ),
        (None, "57014") => failure.hint("the server is busy: try again later"),
        (None, "55P03") => {
            failure.hint("somebody holds a lock for long: look at pg_stat_activity, then try again")
        }
        (None, _) => failure,
    }
}

/// Whether a server refused with this SQLSTATE.
pub(crate) fn is_sqlstate(error: &sqlx::Error, code: &str) -> bool {
    database_error(error).is_some_and(|said| said.code() == code)
}

/// Whether a server said itself what helps.
pub(crate) fn has_hint(error: &sqlx::Error) -> bool {
    database_error(error).is_some_and(|said| said.hint().is_some())
}

/// What a server said, without anything around it.
pub(crate) fn message(error: &sqlx::Error) -> String {
    database_error(error).map_or_else(|| error.to_string(), |said| said.message().to_owned())
}

/// How much of a statement is said with its error, in characters; a dump may have millions.
const SHOWN_MAX: usize = 1_000;

/// A statement, to be said with its error; of a long text the part that the error is about, or how
/// it begins.
pub(crate) fn part_of(statement: &str, error: &sqlx::Error) -> String {
    if statement.chars().count() <= SHOWN_MAX {
        return format!("statement: {statement}");
    }
    let at = match database_error(error).and_then(PgDatabaseError::position) {
        // In characters, from 1 on.
        Some(PgErrorPosition::Original(at)) => statement.char_indices().nth(at.saturating_sub(1)),
        _ => None,
    };
    let begin = at.and_then(|(at, _)| statement[..at].rfind("\n\n")).map_or(0, |blank| blank + 2);
    let part: String = statement[begin..].chars().take(SHOWN_MAX).collect();
    let part = part.split("\n\n").next().unwrap_or_default();
    format!("statement, one of many: {}", part.trim_end())
}

fn database_error(error: &sqlx::Error) -> Option<&PgDatabaseError> {
    error.as_database_error()?.try_downcast_ref()
}
