//! Taking ids from the node that a shard lives on, and reading layouts there.

use std::collections::BTreeMap;

use futures_util::TryStreamExt;
use futures_util::future::try_join_all;
use shardid_cluster::{CatalogTruth, Identity, MapVersion, NodeName, Shard};
use shardid_ids::Layout;
use sqlx::postgres::{PgConnection, PgListener, PgPoolOptions};

use crate::failure::Failure;
use crate::file::{Address, ClusterFile};
use crate::postgres::look::LayoutRow;
use crate::postgres::{connect, failure_of_ours, is_sqlstate, sql};

/// Where the map has a shard, by the catalog, or by another node's copy of
/// the map while the catalog cannot be reached.
pub(crate) async fn home(file: &ClusterFile, shard: Shard) -> Result<NodeName, Failure> {
    let catalog = &file.declared.catalog;
    let unreachable = match connect(catalog, file.address(catalog)?, "id next").await {
        Ok(mut connection) => {
            return home_in(&mut connection, catalog, shard, sql!("id/home.sql"))
                .await?
                .ok_or_else(|| no_home(file, shard));
        }
        Err(failure) => failure,
    };
    for (node, address) in file.postgres().filter(|(node, _)| *node != catalog) {
        let Ok(mut connection) = connect(node, address, "id next").await else { continue };
        if let Ok(Some(home)) =
            home_in(&mut connection, node, shard, sql!("id/home_copy.sql")).await
        {
            return Ok(home);
        }
    }
    Err(unreachable)
}

async fn home_in(
    connection: &mut PgConnection,
    node: &NodeName,
    shard: Shard,
    query: &'static str,
) -> Result<Option<NodeName>, Failure> {
    let row: Result<Option<(Option<String>, i64)>, _> =
        sqlx::query_as(query).bind(shard.as_sql()).fetch_optional(connection).await;
    let row = match row {
        // No such table: nothing was applied here yet.
        Err(error) if is_sqlstate(&error, "42P01") || is_sqlstate(&error, "3F000") => None,
        other => other.map_err(|error| failure_of_ours(node, &error))?,
    };
    match row {
        None | Some((_, 0)) => {
            Err(Failure::new("the cluster has no map yet").hint("make it with `shardid apply`"))
        }
        Some((None, _)) => Ok(None),
        Some((Some(home), _)) => NodeName::new(&home)
            .map(Some)
            .map_err(|error| Failure::new(error).at(format!("the map on {node}"))),
    }
}

fn no_home(file: &ClusterFile, shard: Shard) -> Failure {
    let last = file.declared.shards.get() - 1;
    Failure::new(format!("cluster {} has no shard {shard}", file.declared.name))
        .hint(format!("its shards are 0 to {last}"))
}

/// Takes ids of a shard and hands each to `got`.
pub(crate) async fn next(
    node: &NodeName,
    address: &Address,
    shard: Shard,
    count: i32,
    mut got: impl FnMut(i64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut connection = connect(node, address, "id next").await?;
    let failed = |error: sqlx::Error| failure_of_ours(node, &error);
    sqlx::query(sql!("apply/use_extension.sql")).execute(&mut connection).await.map_err(failed)?;
    let mut ids = sqlx::query_scalar::<_, i64>(sql!("id/next.sql"))
        .bind(shard.as_sql())
        .bind(count)
        .fetch(&mut connection);
    while let Some(id) = ids.try_next().await.map_err(failed)? {
        got(id)?;
    }
    Ok(())
}

/// A layout that does not come with shardid, as the catalog node has it.
pub(crate) async fn layout(file: &ClusterFile, name: &str) -> Result<Layout, Failure> {
    let node = &file.declared.catalog;
    let mut connection = connect(node, file.address(node)?, "id").await?;
    let row: Option<LayoutRow> = sqlx::query_as(sql!("look/layout.sql"))
        .bind(name)
        .fetch_optional(&mut connection)
        .await
        .map_err(|error| failure_of_ours(node, &error))?;
    row.ok_or_else(|| unknown_layout(name).at(format!("node {node}")))?
        .layout()
        .map_err(|error| Failure::new(format!("layout {name} is invalid: {error}")))
}

/// There is no such layout.
pub(crate) fn unknown_layout(name: &str) -> Failure {
    let known: Vec<&str> = shardid_ids::BUILTIN.iter().map(|builtin| builtin.name).collect();
    Failure::new(format!("there is no layout {name}"))
        .hint(format!("built in are {}; another one needs a cluster file", known.join(", ")))
}

/// The map of the cluster, by its catalog.
pub(crate) async fn map(file: &ClusterFile) -> Result<shardid_cluster::ShardMap, Failure> {
    catalog(file).await.map(|(catalog, _)| catalog.map)
}

/// What the catalog knows, with the map, and which database has said it.
pub(crate) async fn catalog(file: &ClusterFile) -> Result<(CatalogTruth, Identity), Failure> {
    let node = &file.declared.catalog;
    let mut connection = connect(node, file.address(node)?, "map").await?;
    let seen = super::look::look(&mut connection, &file.declared, node).await?;
    let catalog = seen.catalog.unwrap_or_default();
    if catalog.map.version == MapVersion(0) {
        return Err(Failure::new("the cluster has no map yet").hint("make it with `shardid apply`"));
    }
    Ok((catalog, seen.truth.identity))
}

/// The schema of every shard, by the nodes that hold them.
pub(crate) async fn schemas(file: &ClusterFile) -> Result<BTreeMap<Shard, String>, Failure> {
    let asking = file.postgres().map(|(node, address)| async move {
        let mut connection = connect(node, address, "map").await?;
        let rows: Vec<(i32, String)> = sqlx::query_as(sql!("id/schemas.sql"))
            .fetch_all(&mut connection)
            .await
            .map_err(|error| failure_of_ours(node, &error))?;
        rows.into_iter()
            .map(|(shard, schema)| Ok((Shard::try_from(shard).map_err(Failure::new)?, schema)))
            .collect::<Result<Vec<_>, Failure>>()
    });
    Ok(try_join_all(asking).await?.into_iter().flatten().collect())
}

/// News that the map has changed.
pub(crate) struct Changes {
    node: NodeName,
    listener: PgListener,
}

impl Changes {
    /// Begins to listen at the catalog node.
    pub(crate) async fn listen(file: &ClusterFile) -> Result<Self, Failure> {
        let node = file.declared.catalog.clone();
        let address = file.address(&node)?;
        // One that cannot be reached is told here, in bounded time.
        connect(&node, address, "map --watch").await?;
        let failed = |error: sqlx::Error| failure_of_ours(&node, &error);
        let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(
            address.postgres().map_err(failed)?.application_name("shardid map --watch"),
        );
        let mut listener = PgListener::connect_with(&pool).await.map_err(failed)?;
        listener.listen("shardid_map").await.map_err(failed)?;
        Ok(Self { node, listener })
    }

    /// Waits for a change. A connection that was lost and made again counts as
    /// one, as news may have been missed.
    pub(crate) async fn next(&mut self) -> Result<(), Failure> {
        self.listener
            .try_recv()
            .await
            .map(|_| ())
            .map_err(|error| failure_of_ours(&self.node, &error))
    }
}
