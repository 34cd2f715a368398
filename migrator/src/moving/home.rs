//! Where is a shard on a node: its schema, its sequence, its state?

use shardid_cluster::Shard;

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
