//! Who holds what a move cannot have.

use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::postgres::sql;

/// Who holds what could not be had in time.
pub(super) async fn held(server: &mut MoveSession, schema: &str, what: &str) -> Failure {
    let whose = match (server.take_holder(), holders(server, schema).await) {
        // Who comes next is to be known as well.
        (Some(holder), Some(all)) if all.contains(", process ") || all.contains(", prepared ") => {
            format!("it has waited for a lock: {holder}; all who hold some there: {all}")
        }
        (Some(holder), _) => format!("it has waited for a lock: {holder}"),
        (None, Some(holders)) => {
            format!("locks on tables of schema {schema} are held by {holders}")
        }
        (None, None) => match writer(server).await {
            Some(writer) => format!("perhaps it has waited for what is written by {writer}"),
            None => "somebody held a lock on the shard's tables or sequences".to_owned(),
        },
    };
    Failure::new(format!("{what}: {whose}")).at(format!("node {}", server.node))
}

/// Who holds locks on the tables of a schema that keep writers or a fence out, if anybody does.
pub(super) async fn holders(server: &mut MoveSession, schema: &str) -> Option<String> {
    let query =
        sqlx::query_scalar(sql!("move/prepared.sql", "move/fence/holders.sql")).bind(schema);
    let holders: Vec<String> = server.column(query).await.unwrap_or_default();
    (!holders.is_empty()).then(|| holders.join(", "))
}

/// Who has written for the longest time on a server without an end: a right that is granted, or a name that is
/// changed, locks no table, and keeps others from changing it all the same.
pub(super) async fn writer(server: &mut MoveSession) -> Option<String> {
    let query = sqlx::query_as(sql!("move/prepared.sql", "move/check/writing.sql"));
    let writers: Vec<(String, String)> = server.rows(query).await.unwrap_or_default();
    writers.into_iter().next().map(|(who, _)| who)
}
