//! What a move needs of two servers together: that each reaches the other, and
//! that there is room for what is to come.

use std::collections::BTreeMap;

use shardid_cluster::{FOLLOWER_PREFIX, NodeName, PlannedMove};
use sqlx::AssertSqlSafe;

use super::login;
use super::move_session::MoveSession;
use super::sizes::shard_sizes;
use crate::failure::Failure;
use crate::postgres::sql;
use crate::talk;

/// A move of less than this is not worth a word about the disk.
const NOTED_BYTES: i64 = 100_000_000;

/// Has `from` connect to `to` by the address of the cluster file and the role that it follows
/// by, and leaves nothing.
pub(super) async fn reach(
    from: &mut MoveSession,
    to: &mut MoveSession,
) -> Result<Option<Failure>, Failure> {
    let Some(why) = login::try_to_reach(from, to).await? else { return Ok(None) };
    let failure = Failure::new(format!(
        "node {} cannot reach node {} at {}: {why}",
        from.node,
        to.node,
        to.address.shown()
    ));
    Ok(Some(failure.hint(format!(
        "the servers use the url of the cluster file too, but for user and password: write it so that it leads to {} from {}, and let roles that begin with {FOLLOWER_PREFIX} in by a password in pg_hba.conf",
        to.node, from.node
    ))))
}

/// Compares what is to be moved to each node with what is free there, where a
/// server can say that; where not, says so.
pub(super) async fn room(
    servers: &mut BTreeMap<NodeName, MoveSession>,
    moves: &[PlannedMove],
) -> Result<Vec<Failure>, Failure> {
    let mut sizes: BTreeMap<&NodeName, BTreeMap<i32, i64>> = BTreeMap::new();
    let mut coming: BTreeMap<&NodeName, i64> = BTreeMap::new();
    for planned in moves {
        if !sizes.contains_key(&planned.source) {
            let source = servers.get_mut(&planned.source).expect("the caller has connected");
            sizes.insert(&planned.source, shard_sizes(source).await?);
        }
        let bytes = sizes[&planned.source].get(&planned.shard.as_sql()).copied().unwrap_or(0);
        *coming.entry(&planned.target).or_default() += bytes;
    }
    let mut failures = Vec::new();
    for (node, bytes) in coming {
        let target = servers.get_mut(node).expect("the caller has connected");
        match free_bytes(target).await? {
            Some(free) if free < bytes => failures.push(
                Failure::new(format!(
                    "node {node} has {} MB free, and the shards to be moved there take {} MB",
                    free / 1_000_000,
                    (bytes + 999_999) / 1_000_000
                ))
                .hint("move fewer shards, or make room there first"),
            ),
            None if bytes >= NOTED_BYTES => talk::line(format_args!(
                "  note: {} MB go to {node}; whether its disk has room is not known, as it has no function public.shardid_free_bytes()",
                bytes / 1_000_000
            )),
            _ => {}
        }
    }
    Ok(failures)
}

async fn free_bytes(server: &mut MoveSession) -> Result<Option<i64>, Failure> {
    let statement: Vec<String> =
        server.column(sqlx::query_scalar(sql!("move/check/free.sql"))).await?;
    let Some(statement) = statement.into_iter().next() else { return Ok(None) };
    let free: Vec<Option<i64>> =
        server.column(sqlx::query_scalar(AssertSqlSafe(statement))).await?;
    Ok(free.into_iter().next().flatten())
}
