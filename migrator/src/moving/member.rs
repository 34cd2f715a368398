//! Is a node the one of the cluster that the catalog means, and no further than it?

use std::collections::{BTreeMap, BTreeSet};

use shardid_cluster::{Identity, NodeName, Refusal};

use super::move_session::MoveSession;
use super::problem::{Problem, failures_of};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{ids, sql};

/// What a node says of the cluster that it belongs to.
#[derive(sqlx::FromRow)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) node: String,
    layout: String,
    shards: i64,
    map_version: i64,
}

/// Refuses to lay hands on a move where a node knows a newer map than the catalog, or is not the
/// one that the cluster file names: what the journal says of it is not so, and the copy that is to
/// be dropped by it may be the shard.
pub(super) async fn check_member(
    server: &mut MoveSession,
    file: &ClusterFile,
) -> Result<(), Failure> {
    let problems = not_of_cluster(server, file).await?;
    Failure::all(failures_of(&server.node.clone(), problems)).map_or(Ok(()), Err)
}

/// The same where the other node of a move is gone for good: this one may be restored, too, and not adopted yet, for which
/// the other one would have to answer. Until it is adopted it gives no ids.
pub(super) async fn check_survivor(
    server: &mut MoveSession,
    file: &ClusterFile,
) -> Result<(), Failure> {
    let problems = problems(server, file, true).await?;
    Failure::all(failures_of(&server.node.clone(), problems)).map_or(Ok(()), Err)
}

/// Why a node cannot be told of a new map: the `apply` that gives it its first copy was cut
/// off, or it is another node, or a copy of it that answers at its address. All moves tell both
/// nodes, after they have switched.
pub(super) async fn not_of_cluster(
    server: &mut MoveSession,
    file: &ClusterFile,
) -> Result<Vec<Problem>, Failure> {
    problems(server, file, false).await
}

async fn problems(
    server: &mut MoveSession,
    file: &ClusterFile,
    may_be_restored: bool,
) -> Result<Vec<Problem>, Failure> {
    let identity = identity(server).await?;
    let has_extension = has_extension(server).await?;
    let member = match has_extension {
        true => member(server).await?,
        false => None,
    };
    // Only now: another move may bring a newer map here at any time, but writes it there first.
    let (catalog, keeper) = ids::catalog(file).await?;
    let others = [
        match may_be_restored {
            true => catalog.swapped(&server.node, &identity),
            false => catalog.another_database(&server.node, &identity),
        },
        catalog.another_database(&file.declared.catalog, &keeper),
    ];
    if let Some(refusal) = others.into_iter().flatten().next() {
        return Ok(vec![(refusal.to_string(), refusal.hint())]);
    }
    if !has_extension {
        let hint = "`shardid apply` installs it".to_owned();
        return Ok(vec![("the extension shardid is missing".to_owned(), hint)]);
    }
    let version = catalog.map.version;
    let declared = &file.declared;
    let mut hint = "`shardid plan` shows what is to be done, `shardid apply` does it";
    let problem = match member {
        None => "it has no copy of the map yet".to_owned(),
        Some(it) if it.name != declared.name.as_str() || it.node != server.node.as_str() => {
            format!("it is node {} of cluster {}", it.node, it.name)
        }
        Some(it)
            if it.layout != declared.layout.as_str()
                || it.shards != i64::from(declared.shards.get()) =>
        {
            format!("its copy of the map is one of {} shards of layout {}", it.shards, it.layout)
        }
        Some(it) if it.map_version > version.0 => {
            hint = "the catalog is of an earlier time: restore a newer one, or bring it up to the nodes by `shardid catalog rebuild`";
            format!(
                "its copy of the map has version {}, and the catalog has {}",
                it.map_version, version
            )
        }
        Some(_) => return Ok(Vec::new()),
    };
    Ok(vec![(problem, hint.to_owned())])
}

/// The nodes of these at whose address another node of the cluster answers, with what `shardid plan` says of it: what
/// is found there is nothing to go by.
pub(crate) async fn swapped(
    file: &ClusterFile,
    nodes: BTreeSet<&NodeName>,
) -> Result<BTreeMap<NodeName, Failure>, Failure> {
    let mut found = BTreeMap::new();
    if nodes.is_empty() {
        return Ok(found);
    }
    let (catalog, _) = ids::catalog(file).await?;
    for node in nodes.into_iter().filter(|node| file.address(node).is_ok()) {
        let Ok(mut server) = MoveSession::look(file, node).await else { continue };
        let Ok(identity) = identity(&mut server).await else { continue };
        let refusal = catalog.swapped(node, &identity);
        let failure = |it: Refusal| (node.clone(), Failure::from(it));
        found.extend(refusal.map(failure));
    }
    Ok(found)
}

/// Which database a server is.
pub(super) async fn identity(server: &mut MoveSession) -> Result<Identity, Failure> {
    let row = sqlx::query_as::<_, (i64, String)>(sql!("follow/identity.sql"));
    let row = server.row(row).await?;
    let (system_identifier, database) = row.expect("it is a row of functions");
    Ok(Identity { system_identifier, database })
}

/// What a node with the extension says of its cluster, where it has a copy of the map.
pub(super) async fn member(server: &mut MoveSession) -> Result<Option<Member>, Failure> {
    server.row(sqlx::query_as(sql!("move/check/member.sql"))).await
}

/// Whether the extension is installed there.
pub(super) async fn has_extension(server: &mut MoveSession) -> Result<bool, Failure> {
    let query = sqlx::query_scalar(sql!("move/check/has_extension.sql"));
    Ok(server.column::<bool>(query).await? == [true])
}
