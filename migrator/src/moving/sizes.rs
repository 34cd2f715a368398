//! How large the shards of a node are.

use std::collections::BTreeMap;

use super::move_session::{Batch, MoveSession};
use crate::failure::Failure;
use crate::postgres::sql;

/// How long the sizes wait for whoever rewrites a table, or locks it.
const LOCK_MS: u64 = 2_000;

/// The shards that live on a node, each with the bytes of its schema.
///
/// Where somebody keeps a table locked, they are what the server last noted of all.
pub(crate) async fn shard_sizes(server: &mut MoveSession) -> Result<BTreeMap<i32, i64>, Failure> {
    let bounds = vec![format!("SET LOCAL lock_timeout = {LOCK_MS}")];
    let mut sizes = None;
    if let Batch::Done = server.begin_with(bounds).await? {
        sizes = server.rows_at_once(sqlx::query_as(sql!("move/shard_sizes.sql"))).await?;
    }
    let sizes: Vec<(i32, i64)> = match sizes {
        Some(sizes) => {
            server.run(sqlx::query(sql!("move/commit.sql"))).await?;
            sizes
        }
        None => server.rows(sqlx::query_as(sql!("move/shard_pages.sql"))).await?,
    };
    Ok(sizes.into_iter().collect())
}
