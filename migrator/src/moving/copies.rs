//! What would be lost if a copy of a shard were dropped?

use shardid_cluster::MoveState;
use sqlx::FromRow;
use sqlx::postgres::PgConnection;

use super::journal::Move;
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::postgres::{failure, sql};

/// Refuses to go back where the copy that is left, which goes at the end, would take something along.
pub(super) async fn check_new_copy(server: &mut MoveSession, record: &Move) -> Result<(), Failure> {
    let outside = outside_of(server, &record.schema).await?;
    if outside.is_empty() { Ok(()) } else { Err(takes_along(server, record, &outside)) }
}

/// Refuses to drop a copy in which somebody has made tables that are none of the shard.
pub(super) fn check_made_since(
    server: &MoveSession,
    record: &Move,
    made: &[String],
) -> Result<(), Failure> {
    if made.is_empty() {
        return Ok(());
    }
    let (schema, made) = (&record.schema, made.join(", "));
    let (home, since) = match record.state {
        MoveState::Aborting => (&record.source, "during the move"),
        _ => (&record.target, "since the shard left"),
    };
    Err(Failure::new(format!(
        "the copy in schema {schema} cannot be dropped: somebody has made {made} there {since}"
    ))
    .at(format!("node {}", server.node))
    .hint(format!(
        "take what it holds to node {home}, or out of the schema: ALTER TABLE ... SET SCHEMA ...; then run the same command again"
    )))
}

/// A table whose guard was switched off, or is not there.
#[derive(Debug, FromRow)]
pub(crate) struct Unguarded {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) shard: i32,
    pub(crate) is_missing: bool,
    /// What puts it back.
    pub(crate) mend: String,
    /// Where another schema has the guards, and this one none: what gives that its name back.
    pub(crate) renames: Option<String>,
}

impl Unguarded {
    /// What is wrong where another schema has the copy's name, and what puts that right.
    pub(crate) fn renamed(&self) -> Option<(String, String)> {
        let Self { schema, shard, .. } = self;
        let renames = self.renames.clone()?;
        Some((
            format!(
                "schema {schema} is not the old copy of shard {shard}, which has another name now"
            ),
            renames,
        ))
    }
}

/// The tables of an old copy whose guard does not hold.
pub(super) async fn unguarded(
    server: &mut MoveSession,
    record: &Move,
) -> Result<Vec<Unguarded>, Failure> {
    unguarded_in(&mut server.connection, record)
        .await
        .map_err(|error| failure(&server.node, &error))
}

/// The same by another session.
pub(super) async fn unguarded_in(
    connection: &mut PgConnection,
    record: &Move,
) -> Result<Vec<Unguarded>, sqlx::Error> {
    let query = sqlx::query_as(sql!("move/clean/unguarded.sql"));
    let query = query.bind(vec![record.schema.clone()]).bind(vec![record.shard.as_sql()]);
    let mut off: Vec<Unguarded> = query.fetch_all(connection).await?;
    off.retain(|it| it.schema == record.schema);
    Ok(off)
}

/// Refuses to drop a copy whose guard somebody has switched off or dropped, with what may have come there.
pub(super) fn check_guarded(
    server: &MoveSession,
    record: &Move,
    off: &[Unguarded],
) -> Result<(), Failure> {
    let [first, others @ ..] = off else { return Ok(()) };
    if let Some((what, mend)) = first.renamed() {
        return Err(Failure::new(what)
            .at(format!("node {}", server.node))
            .hint(format!("{mend} there, then run the same command again")));
    }
    let more =
        if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    let what = if off.iter().any(|it| it.is_missing) { "dropped" } else { "switched off" };
    let mend: Vec<&str> = off.iter().map(|it| it.mend.as_str()).collect();
    Err(Failure::new(format!(
        "the copy in schema {} cannot be dropped: the guard of table {}{more} was {what}, and what somebody has written there would go with it",
        record.schema, first.name
    ))
    .at(format!("node {}", server.node))
    .hint(format!(
        "take that to node {}; then {} and run the same command again",
        record.target,
        mend.join(" ")
    )))
}

/// Says what would go with a copy.
pub(super) fn takes_along(server: &MoveSession, record: &Move, outside: &[String]) -> Failure {
    Failure::new(format!(
        "the copy in schema {} cannot be dropped: with it would go {}",
        record.schema,
        outside.join(", ")
    ))
    .at(format!("node {}", server.node))
    .hint("these are none of the shard: have them need it no more, then run the same command again")
}

/// What would go with a schema and is none of it, nor ours, which goes before.
pub(super) async fn outside_of(
    server: &mut MoveSession,
    schema: &str,
) -> Result<Vec<String>, Failure> {
    let query = sqlx::query_scalar(sql!("move/closure.sql", "move/clean/outside.sql")).bind(schema);
    let mut outside: Vec<String> = server.column(query).await?;
    outside.retain(|what| {
        !["shardid_move_", "shardid_back_"]
            .iter()
            .any(|ours| what.contains(&format!(" in publication {ours}")))
    });
    Ok(outside)
}
