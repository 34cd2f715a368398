//! The nodes of a cluster as they were found, and asking them more.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use shardid_cluster::{CatalogTruth, NodeName, NodeTruth, Truth};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection, FromRow};

use crate::failure::Failure;
use crate::file::{Address, ClusterFile};
use crate::postgres::descent::Owner;
use crate::postgres::look::{Seen, look};
use crate::postgres::statistics::{Skew, skew};
use crate::postgres::{Waiter, connect, failure, sql};

/// Everything that the checks look at.
pub(crate) struct Estate<'f> {
    pub(crate) file: &'f ClusterFile,
    /// The nodes that answered.
    pub(super) visits: Vec<Visit>,
    /// The others, with what was in the way.
    pub(super) unreachable: Vec<(NodeName, Failure)>,
}

/// A node that answered, with the connection to it.
pub(super) struct Visit {
    pub(super) node: NodeName,
    pub(super) seen: Seen,
    pub(super) skew: Skew,
    pub(super) columns: Vec<IdColumn>,
    /// Why those are not known, where somebody keeps everybody from reading about a table.
    pub(super) unread: Option<Failure>,
    pub(super) connection: PgConnection,
    pub(super) address: Address,
    /// The server process of the connection.
    pub(super) pid: i32,
}

/// A column whose default takes ids; names are quoted where they need it.
#[derive(Debug, Clone, FromRow)]
pub(super) struct IdColumn {
    pub(super) table: String,
    pub(super) column: String,
    /// Who owns the table, and may have given it the default.
    pub(super) owner: String,
    /// The default that takes ids of the shard whose schema this is.
    pub(super) own_default: String,
    #[sqlx(rename = "type")]
    pub(super) type_name: String,
    /// The shard that the ids are of.
    pub(super) shard: i32,
    /// The layout of the generator, if it is here.
    pub(super) layout: Option<String>,
    /// The shards that live in the table's schema.
    pub(super) homes: Vec<i32>,
    /// The sequence behind the ids; `None` where it is not on this node.
    pub(super) sequence: Option<String>,
    /// Roles that may insert, and may not take ids.
    pub(super) barred: Vec<String>,
    /// A query for the highest id of the shard above $1.
    pub(super) beyond: Option<String>,
    /// A query that counts, in a sample, ids that are not of the shard.
    pub(super) foreign: Option<String>,
}

impl IdColumn {
    /// Whether its table is in the schema of another shard.
    pub(super) fn is_foreign(&self) -> bool {
        !self.homes.is_empty() && !self.homes.contains(&self.shard)
    }
}

impl<'f> Estate<'f> {
    /// Visits all nodes at once.
    pub(crate) async fn visit(file: &'f ClusterFile) -> Self {
        let visits = join_all(file.postgres().map(|(node, address)| visit(file, node, address)));
        let mut estate = Self { file, visits: Vec::new(), unreachable: Vec::new() };
        for ((node, _), visit) in file.postgres().zip(visits.await) {
            match visit {
                Ok(visit) => estate.visits.push(visit),
                Err(failure) => estate.unreachable.push((node.clone(), failure)),
            }
        }
        estate.look_behind_copies().await;
        estate.find_renames();
        estate
    }

    /// Has what the catalog knows of a node with a new name in the cluster file be by that one.
    fn find_renames(&mut self) {
        let Some(mut truth) = self.truth() else { return };
        truth.find_renames(|name| self.file.declared.node(name).is_some());
        if let Some(visit) = self.visits.iter_mut().find(|visit| visit.seen.catalog.is_some()) {
            visit.seen.catalog = Some(truth.catalog);
        }
    }

    /// Looks once more where nodes are, after it was seen how far copies of them have got: these go on, and are followed,
    /// between the two looks.
    async fn look_behind_copies(&mut self) {
        if self.visits.iter().all(|visit| visit.seen.truth.filled.is_empty()) {
            return;
        }
        for visit in self.visits.iter_mut().filter(|visit| visit.seen.truth.descent.is_some()) {
            // One that does not answer by now is as it was seen.
            if let Ok(Some(owner)) = Owner::of(&mut visit.connection, &visit.node).await {
                (visit.seen.truth.descent, visit.seen.truth.slots) =
                    (Some(owner.descent), owner.slots);
            }
        }
    }

    /// What each node that answered says of itself.
    pub(super) fn nodes(&self) -> BTreeMap<NodeName, NodeTruth> {
        self.visits.iter().map(|visit| (visit.node.clone(), visit.seen.truth.clone())).collect()
    }

    /// The catalog, if its node answered and it has a map.
    pub(super) fn catalog(&self) -> Option<&CatalogTruth> {
        let seen = self.visits.iter().find_map(|visit| visit.seen.catalog.as_ref());
        seen.filter(|catalog| catalog.map.version.0 > 0)
    }

    /// All of it, as a plan is made from; none without a catalog.
    pub(super) fn truth(&self) -> Option<Truth> {
        let catalog = self.catalog()?.clone();
        Some(Truth { catalog, nodes: self.nodes(), streams: BTreeMap::new() })
    }

    /// The node of the catalog, if it answered and has one.
    pub(super) fn keeper(&mut self) -> Option<&mut Visit> {
        self.catalog()?;
        let catalog = &self.file.declared.catalog;
        self.visits.iter_mut().find(|visit| visit.node == *catalog)
    }

    /// The shards that moves have in hand now, by the journal.
    pub(super) async fn moving_now(&mut self) -> Result<BTreeSet<i32>, Failure> {
        let Some(keeper) = self.keeper() else { return Ok(BTreeSet::new()) };
        let rows: Vec<(Vec<i32>,)> = keeper.rows(sql!("look/moving.sql")).await?;
        Ok(rows.into_iter().flat_map(|(shards,)| shards).collect())
    }

    /// The nodes that have the extension.
    pub(super) fn installed(&mut self) -> impl Iterator<Item = &mut Visit> {
        self.visits.iter_mut().filter(|visit| visit.seen.truth.extension.installed.is_some())
    }

    /// Fails where reading tables would run code of those who own them with a superuser's rights.
    pub(super) async fn check_guarded(&mut self) -> Result<(), Failure> {
        for visit in self.installed() {
            let problems: Vec<(String, String)> = visit.rows(sql!("verify/unguarded.sql")).await?;
            if let Some((problem, hint)) = problems.into_iter().next() {
                return Err(Failure::new(problem).at(format!("node {}", visit.node)).hint(hint));
            }
        }
        Ok(())
    }

    /// Every column that takes ids, with its node.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&NodeName, &IdColumn)> {
        self.visits
            .iter()
            .flat_map(|visit| visit.columns.iter().map(|column| (&visit.node, column)))
    }
}

impl Visit {
    /// The rows of a query, which cannot change anything.
    pub(super) async fn rows<R>(&mut self, query: &'static str) -> Result<Vec<R>, Failure>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let (node, address) = (self.node.clone(), self.address.clone());
        let waiter = Waiter { node, address, pid: self.pid };
        let (rows, holder) = waiter.over(rows(&mut self.connection, query)).await;
        rows.map_err(|error| waiter.failure(&error, holder))
    }

    /// Connects anew, where the connection is lost.
    pub(super) async fn connect_again(&mut self) -> Result<(), Failure> {
        (self.connection, self.pid) = connected(&self.node, &self.address).await?;
        Ok(())
    }
}

/// A connection to a node, and its server process.
async fn connected(node: &NodeName, address: &Address) -> Result<(PgConnection, i32), Failure> {
    let mut connection = connect(node, address, "verify").await?;
    let pid = sqlx::query_scalar(sql!("move/session_pid.sql")).fetch_one(&mut connection).await;
    Ok((connection, pid.map_err(|error| failure(node, &error))?))
}

async fn visit(file: &ClusterFile, node: &NodeName, address: &Address) -> Result<Visit, Failure> {
    let (mut connection, pid) = connected(node, address).await?;
    let skew = skew(&mut connection, node).await?;
    let seen = look(&mut connection, &file.declared, node).await?;
    let (node, address) = (node.clone(), address.clone());
    let mut visit =
        Visit { node, seen, skew, columns: Vec::new(), unread: None, connection, address, pid };
    if visit.seen.truth.extension.installed.is_some() {
        match visit.rows(sql!("verify/columns.sql")).await {
            Ok(columns) => visit.columns = columns,
            // Anybody may lock a table of his own: that hides nothing else.
            Err(failure) if failure.is_answer() => visit.unread = Some(failure),
            Err(failure) => return Err(failure),
        }
    }
    Ok(visit)
}

async fn rows<R>(connection: &mut PgConnection, query: &'static str) -> Result<Vec<R>, sqlx::Error>
where
    R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
{
    let mut transaction = connection.begin_with(sql!("look/begin.sql")).await?;
    sqlx::query(sql!("look/limits.sql")).execute(&mut *transaction).await?;
    let rows = sqlx::query_as(query).fetch_all(&mut *transaction).await;
    transaction.rollback().await?;
    rows
}
