//! Which triggers of keys were switched off, as by `ALTER TABLE … DISABLE TRIGGER ALL`? A dump does not tell.

use shardid_cluster::NodeName;

use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::postgres::sql;

/// A trigger by which the server keeps a key, and its state.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
struct KeyState {
    on_table: String,
    of_table: String,
    key: String,
    function: String,
    state: String,
}

async fn of(server: &mut MoveSession, schema: &str) -> Result<Vec<KeyState>, Failure> {
    let query = sqlx::query_as(sql!("move/carry/key_states.sql")).bind(schema);
    server.rows(query).await
}

/// The statements that have the keys of a copy be kept as they are at the source.
pub(super) async fn statements(
    source: &mut MoveSession,
    target: &mut MoveSession,
    schema: &str,
) -> Result<Vec<String>, Failure> {
    let states = of(source, schema).await?;
    let column = |of: fn(&KeyState) -> &String| states.iter().map(of).cloned().collect::<Vec<_>>();
    let query = sqlx::query_scalar(sql!("move/carry/set_key_states.sql"))
        .bind(column(|it| &it.on_table))
        .bind(column(|it| &it.of_table))
        .bind(column(|it| &it.key))
        .bind(column(|it| &it.function))
        .bind(column(|it| &it.state));
    target.column(query).await
}

/// Refuses where they are not.
pub(super) async fn check(
    source: &mut MoveSession,
    target: &mut MoveSession,
    schema: &str,
) -> Result<(), Failure> {
    let (here, there) = (of(source, schema).await?, of(target, schema).await?);
    let differs = here.iter().find(|it| !there.contains(it));
    match differs.or_else(|| there.iter().find(|it| !here.contains(it))) {
        None => Ok(()),
        Some(KeyState { key, of_table, on_table, .. }) => {
            Err(unlike(&target.node, key, of_table, on_table))
        }
    }
}

fn unlike(node: &NodeName, key: &str, of_table: &str, on_table: &str) -> Failure {
    Failure::new(format!(
        "the triggers of key {key} on {of_table}, which are on {on_table}, are not in the state that they have at the source"
    ))
    .at(format!("node {node}"))
}
