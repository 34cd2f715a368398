//! Looking at servers, in transactions that cannot change anything.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use semver::Version;
use shardid_cluster::{
    CatalogCluster, CatalogNode, CatalogTruth, Declared, Extension, Filled, Identity, MapVersion,
    Membership, Migration, NodeName, NodeTruth, Shard, ShardMap, ShardSet, Truth,
};
use shardid_ids::{Layout, LayoutError};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, FromRow};

use crate::failure::Failure;
use crate::file::{Address, ClusterFile};
use crate::postgres::descent::{NotedRow, Owner};
use crate::postgres::followers::{self, Following, JournalStream};
use crate::postgres::{catalog, connect, failure, sql};

/// Looks at all PostgreSQL nodes of a cluster file at once.
///
/// Fails when any of them does: a plan needs the whole truth.
pub(crate) async fn truth(file: &ClusterFile, task: &str) -> Result<Truth, Failure> {
    let looks = file.postgres().map(|(node, address)| look_at(&file.declared, node, address, task));
    let mut truth = Truth::default();
    let (mut journal, mut following) = (Vec::new(), BTreeMap::new());
    let mut failures = Vec::new();
    for ((node, _), seen) in file.postgres().zip(join_all(looks).await) {
        match seen {
            Ok(seen) => {
                truth.nodes.insert(node.clone(), seen.truth);
                following.insert(node.clone(), seen.following);
                journal.extend(seen.journal);
                if let Some(catalog) = seen.catalog {
                    truth.catalog = catalog;
                }
            }
            Err(failure) => failures.push(failure),
        }
    }
    let keeper = &file.declared.catalog;
    if failures.is_empty()
        && let Some(address) = file.postgres().find(|(node, _)| *node == keeper)
        && truth.nodes.values().any(|seen| knows_newer(seen, &truth.catalog))
    {
        // A move may have gone on between the two looks, and the catalog is always before the nodes.
        let seen = look_at(&file.declared, keeper, address.1, task).await?;
        truth.catalog = seen.catalog.unwrap_or_default();
    }
    truth.find_renames(|name| file.declared.node(name).is_some());
    followers::note_streams(&mut truth, file, journal, &following);
    if failures.is_empty() {
        look_behind_copies(file, task, &mut truth).await?;
    }
    Failure::all(failures).map_or(Ok(truth), Err)
}

/// Looks once more where nodes are, after it was seen how far copies of them have got: these go on, and are followed, between
/// the two looks.
async fn look_behind_copies(
    file: &ClusterFile,
    task: &str,
    truth: &mut Truth,
) -> Result<(), Failure> {
    if truth.nodes.values().all(|seen| seen.filled.is_empty()) {
        return Ok(());
    }
    for (node, address) in file.postgres() {
        let Some(seen) = truth.nodes.get_mut(node).filter(|seen| seen.descent.is_some()) else {
            continue;
        };
        let mut connection = connect(node, address, task).await?;
        let owner = Owner::of(&mut connection, node).await?;
        let _ = connection.close().await;
        if let Some(Owner { descent, slots, .. }) = owner {
            (seen.descent, seen.slots) = (Some(descent), slots);
        }
    }
    Ok(())
}

/// Whether a node knows a newer map than a catalog that has one.
fn knows_newer(seen: &NodeTruth, catalog: &CatalogTruth) -> bool {
    let version = catalog.map.version;
    version.0 > 0 && seen.member.as_ref().is_some_and(|member| member.newest > version)
}

/// What was seen on one node.
pub(crate) struct Seen {
    /// The server's version, as it says it.
    pub(crate) server_version: String,
    /// The node.
    pub(crate) truth: NodeTruth,
    /// The catalog, where this is the node that keeps it.
    pub(crate) catalog: Option<CatalogTruth>,
    following: Following,
    journal: Vec<JournalStream>,
}

async fn look_at(
    declared: &Declared,
    node: &NodeName,
    address: &Address,
    task: &str,
) -> Result<Seen, Failure> {
    let mut connection = connect(node, address, task).await?;
    let seen = look(&mut connection, declared, node).await?;
    // The server notices a closed connection by itself; nothing hangs on it.
    let _ = connection.close().await;
    Ok(seen)
}

/// Looks at one node through a connection that is there already.
pub(crate) async fn look(
    connection: &mut PgConnection,
    declared: &Declared,
    node: &NodeName,
) -> Result<Seen, Failure> {
    let mut transaction = connection
        .begin_with(sql!("look/begin.sql"))
        .await
        .map_err(|error| failure(node, &error))?;
    let seen = look_inside(&mut transaction, declared, node).await?;
    transaction.rollback().await.map_err(|error| failure(node, &error))?;
    Ok(seen)
}

#[derive(FromRow)]
struct ServerRow {
    server_version: String,
    database: String,
    system_identifier: i64,
    standby: bool,
    superuser: bool,
    available: Option<String>,
    installed: Option<String>,
    has_shards: bool,
    has_history: bool,
    has_catalog: bool,
}

/// A layout as a server has it.
#[derive(FromRow)]
pub(crate) struct LayoutRow {
    epoch_us: i64,
    tick_us: i64,
    ticks: i64,
    shards: i64,
    slots: i64,
}

impl LayoutRow {
    /// Checks that it is one.
    pub(crate) fn layout(self) -> Result<Layout, LayoutError> {
        Layout::new(self.epoch_us, self.tick_us, Some(self.ticks), self.shards, self.slots)
    }
}

#[derive(FromRow)]
struct CatalogRow {
    cluster: Option<String>,
    layout: Option<String>,
    shards: Option<i64>,
    map_version: i64,
    program: String,
}

#[derive(FromRow)]
struct ShardsRow {
    state: String,
    home: Option<String>,
    same_layout: bool,
    stamped: bool,
    server: Option<i64>,
    database: Option<String>,
    is_sent: bool,
    is_copy: bool,
    shards: Vec<i32>,
}

async fn look_inside(
    connection: &mut PgConnection,
    declared: &Declared,
    node: &NodeName,
) -> Result<Seen, Failure> {
    let failed = |error: sqlx::Error| failure(node, &error);
    let odd = |what: String| Failure::new(what).at(format!("node {node}"));
    sqlx::query(sql!("look/limits.sql")).execute(&mut *connection).await.map_err(failed)?;
    let server: ServerRow = sqlx::query_as(sql!("look/server.sql"))
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let version = |text: Option<String>| {
        text.map(|text| {
            text.parse::<Version>()
                .map_err(|_| odd(format!("the extension has the odd version {text}")))
        })
        .transpose()
    };
    let mut truth = NodeTruth {
        identity: Identity {
            system_identifier: server.system_identifier,
            database: server.database,
        },
        standby: server.standby,
        extension: Extension {
            available: version(server.available)?,
            installed: version(server.installed)?,
        },
        layout: None,
        member: None,
        open: ShardSet::new(),
        fenced: ShardSet::new(),
        fences: ShardSet::new(),
        dropped: ShardSet::new(),
        moved: BTreeMap::new(),
        sent: ShardSet::new(),
        wholes: BTreeMap::new(),
        descent: None,
        slots: Vec::new(),
        publications: Vec::new(),
        filled: Vec::new(),
        copies: ShardSet::new(),
        unstamped: ShardSet::new(),
        copy_of: None,
        other_layout: ShardSet::new(),
        followers: None,
    };
    let mut following = Following::default();
    if server.superuser {
        let (roles, found) = followers::look(&mut *connection).await.map_err(failed)?;
        truth.followers = Some(roles);
        following = found;
    }
    if server.has_shards {
        let row: Option<LayoutRow> = sqlx::query_as(sql!("look/layout.sql"))
            .bind(declared.layout.as_str())
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed)?;
        truth.layout = row
            .map(LayoutRow::layout)
            .transpose()
            .map_err(|error| odd(format!("layout {} is invalid: {error}", declared.layout)))?;
        let member: Option<(String, String, i64, i64)> = sqlx::query_as(sql!("look/member.sql"))
            .fetch_optional(&mut *connection)
            .await
            .map_err(failed)?;
        truth.member = member.map(|(cluster, node, version, newest)| Membership {
            cluster,
            node,
            map_version: MapVersion(version),
            newest: MapVersion(newest),
        });
        let rows: Vec<ShardsRow> = sqlx::query_as(sql!("look/shards.sql"))
            .bind(declared.name.as_str())
            .bind(node.as_str())
            .bind(declared.layout.as_str())
            .fetch_all(&mut *connection)
            .await
            .map_err(failed)?;
        for row in rows {
            sort_in(&mut truth, row).map_err(odd)?;
        }
        if !truth.sent.is_empty() {
            let noted: Vec<NotedRow> = sqlx::query_as(sql!("look/noted.sql"))
                .fetch_all(&mut *connection)
                .await
                .map_err(failed)?;
            for row in noted {
                let shard = Shard::try_from(row.shard).map_err(|error| odd(error.to_string()))?;
                truth.wholes.extend(row.whole().map(|whole| (shard, whole)));
            }
        }
        // A file of the server's is not for everybody to read, and who may not opens nothing.
        if server.superuser {
            if let Some(Owner { descent, slots, .. }) = Owner::of(&mut *connection, node).await? {
                (truth.descent, truth.slots) = (Some(descent), slots);
            }
            truth.publications = sqlx::query_scalar(sql!("look/publications.sql"))
                .fetch_all(&mut *connection)
                .await
                .map_err(failed)?;
            let filled: Vec<(String, i32, Option<i64>)> = sqlx::query_as(sql!("look/filled.sql"))
                .fetch_all(&mut *connection)
                .await
                .map_err(failed)?;
            for (stream, shard, reached) in filled {
                let shard = Shard::try_from(shard).map_err(|error| odd(error.to_string()))?;
                let reached = reached.map(i64::cast_unsigned);
                truth.filled.push(Filled { shard, stream, reached });
            }
        }
        let fences: Vec<i32> = sqlx::query_scalar(sql!("look/fences.sql"))
            .fetch_one(&mut *connection)
            .await
            .map_err(failed)?;
        truth.fences = shard_set(fences).map_err(odd)?;
    }
    let catalog = match *node == declared.catalog {
        true if server.has_history => {
            Some(look_at_catalog(connection, node, server.has_catalog).await?)
        }
        true => Some(CatalogTruth::default()),
        false => None,
    };
    let journal = match (&catalog, server.has_catalog) {
        (Some(catalog), true) if !catalog.nodes.is_empty() => {
            followers::journal(connection).await.map_err(failed)?
        }
        _ => Vec::new(),
    };
    Ok(Seen { server_version: server.server_version, truth, catalog, following, journal })
}

/// Adds what a node says about some shards.
fn sort_in(truth: &mut NodeTruth, row: ShardsRow) -> Result<(), String> {
    let shards = shard_set(row.shards)?;
    match row.state.as_str() {
        "open" => truth.open = truth.open.or(&shards),
        "fenced" => truth.fenced = truth.fenced.or(&shards),
        "dropped" => truth.dropped = truth.dropped.or(&shards),
        "moved" => {
            let home = truth.moved.entry(row.home.unwrap_or_default()).or_default();
            *home = home.or(&shards);
            if row.is_sent {
                truth.sent = truth.sent.or(&shards);
            }
            if row.is_copy {
                truth.copies = truth.copies.or(&shards);
            }
        }
        other => return Err(format!("shards {shards} are in the odd state {other}")),
    }
    if matches!(row.state.as_str(), "open" | "fenced") {
        if let (Some(system_identifier), Some(database)) = (row.server, row.database) {
            let home = Identity { system_identifier, database };
            truth.copy_of = truth.copy_of.take().or((home != truth.identity).then_some(home));
        }
        if !row.stamped {
            truth.unstamped = truth.unstamped.or(&shards);
        }
        if !row.same_layout {
            truth.other_layout = truth.other_layout.or(&shards);
        }
    }
    Ok(())
}

fn shard_set(numbers: Vec<i32>) -> Result<ShardSet, String> {
    let shards: Result<ShardSet, _> = numbers.into_iter().map(Shard::try_from).collect();
    shards.map_err(|error| error.to_string())
}

/// Looks at the catalog's tables; `whole` tells whether they are all there.
async fn look_at_catalog(
    connection: &mut PgConnection,
    node: &NodeName,
    whole: bool,
) -> Result<CatalogTruth, Failure> {
    let failed = |error: sqlx::Error| failure(node, &error);
    let odd = |what: String| Failure::new(what).at(format!("the catalog on {node}"));
    let mut truth = CatalogTruth::default();
    let run: Vec<(i32, String, String)> = sqlx::query_as(sql!("look/migrations.sql"))
        .fetch_all(&mut *connection)
        .await
        .map_err(failed)?;
    for (version, name, checksum) in run {
        let checksum =
            checksum.parse().map_err(|_| odd(format!("migration {version} has no checksum")))?;
        truth.migrations.push(Migration { version, name, checksum });
    }
    // These columns are there in every version to come, so that an older program
    // can say what it needs.
    let row: Option<CatalogRow> = sqlx::query_as(sql!("look/catalog.sql"))
        .fetch_optional(&mut *connection)
        .await
        .map_err(failed)?;
    let Some(row) = row else { return Ok(truth) };
    truth.program = row.program.parse().ok();
    if let (Some(name), Some(layout), Some(shards)) = (row.cluster, row.layout, row.shards) {
        truth.cluster = Some(CatalogCluster { name, layout, shards });
    }
    truth.map = ShardMap::new(MapVersion(row.map_version));
    // What a later program has made of the other tables is not for us to read.
    let known = catalog::marks();
    if !whole || !truth.migrations.iter().all(|run| known.contains(run)) {
        return Ok(truth);
    }
    let nodes: Vec<(String, i32, i64, String)> =
        sqlx::query_as(sql!("look/nodes.sql")).fetch_all(&mut *connection).await.map_err(failed)?;
    for (name, weight, system_identifier, database) in nodes {
        let name = NodeName::new(&name).map_err(|error| odd(format!("node {name:?}: {error}")))?;
        let weight =
            u32::try_from(weight).map_err(|_| odd(format!("node {name} has weight {weight}")))?;
        let identity = Identity { system_identifier, database };
        truth.nodes.insert(name, CatalogNode { weight, identity });
    }
    let map: Vec<(String, Vec<i32>)> =
        sqlx::query_as(sql!("look/map.sql")).fetch_all(&mut *connection).await.map_err(failed)?;
    for (name, shards) in map {
        let name = NodeName::new(&name).map_err(|error| odd(format!("node {name:?}: {error}")))?;
        truth.map.place(&name, &shard_set(shards).map_err(odd)?);
    }
    let moving: Vec<i32> = sqlx::query_scalar(sql!("look/moving.sql"))
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    truth.moving = shard_set(moving).map_err(odd)?;
    for (statement, nodes) in [
        (sql!("look/needed.sql"), &mut truth.needed),
        (sql!("look/at_work.sql"), &mut truth.at_work),
    ] {
        let rows: Vec<(String, Vec<i64>)> =
            sqlx::query_as(statement).fetch_all(&mut *connection).await.map_err(failed)?;
        for (name, moves) in rows {
            let name =
                NodeName::new(&name).map_err(|error| odd(format!("node {name:?}: {error}")))?;
            nodes.insert(name, moves);
        }
    }
    Ok(truth)
}
