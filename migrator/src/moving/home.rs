//! Where is a shard on a node: its schema, its sequence, its state?

use shardid_cluster::Shard;

use super::journal::Move;
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::postgres::sql;

/// The shard's sequence and state on one of the two nodes.
#[derive(sqlx::FromRow)]
pub(super) struct Home {
    pub(super) schema: String,
    pub(super) sequence: String,
    pub(super) state: String,
}

impl Home {
    /// Where a shard is on a node, if it has a sequence there.
    pub(super) async fn of(
        server: &mut MoveSession,
        shard: Shard,
    ) -> Result<Option<Self>, Failure> {
        let query = sqlx::query_as(sql!("move/journal/schema_of.sql")).bind(shard.as_sql());
        server.row(query).await
    }
}

/// Whether a node gives ids of a shard.
pub(super) async fn is_open(server: &mut MoveSession, shard: Shard) -> Result<bool, Failure> {
    let query = sqlx::query_scalar(sql!("move/sequence/is_open.sql")).bind(shard.as_sql());
    Ok(server.column::<bool>(query).await? == [true])
}

/// Refuses where the schema of a move's name is another one by now, on one of its nodes, and the shard's or its copy's has
/// another name: what goes by the name would be done to that one. Nothing is known of one without a sequence.
pub(super) async fn check_name(server: &mut MoveSession, record: &Move) -> Result<(), Failure> {
    let Some(home) = Home::of(server, record.shard).await? else { return Ok(()) };
    if home.schema == record.schema {
        return Ok(());
    }
    let what = if home.state == "moved" { "the old copy of shard" } else { "shard" };
    Err(named_elsewhere(server, record, what, &home.schema).await?)
}

/// That what a move knows by a name has another one, and what gives it that back.
pub(super) async fn named_elsewhere(
    server: &mut MoveSession,
    record: &Move,
    what: &str,
    schema: &str,
) -> Result<Failure, Failure> {
    let query = sqlx::query_scalar(sql!("move/clean/named_again.sql"));
    let statements = query.bind(schema).bind(record.schema.as_str());
    let statements: Vec<String> = server.column(statements).await?;
    Ok(Failure::new(format!(
        "{what} {} is in schema {schema} now, and not in {}",
        record.shard, record.schema
    ))
    .at(format!("node {}", server.node))
    .hint(format!("`{}` there, then run the same command again", statements.join(" "))))
}
