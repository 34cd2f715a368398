//! What the cluster file declares, checked.

use shardid_ids::Layout;

use crate::names::{ClusterName, LayoutName, NodeName, TicketName};
use crate::shard::ShardCount;

/// What kind of server a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL.
    Postgres,
    /// MySQL or MariaDB.
    Mysql,
}

/// One node of the cluster file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredNode {
    /// Its name.
    pub name: NodeName,
    /// What kind of server it is.
    pub engine: Engine,
    /// Its share of the shards, against the other nodes' weights; 0 is none.
    pub weight: u32,
}

/// A ticket of the cluster file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredTicket {
    /// Its name.
    pub name: TicketName,
    /// The servers that hand it out, in the order of their classes.
    pub servers: Vec<NodeName>,
}

/// A cluster as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// Its name.
    pub name: ClusterName,
    /// How many logical shards it has, for as long as it lives; none where it
    /// has no PostgreSQL nodes.
    pub shards: ShardCount,
    /// The layout of all its ids.
    pub layout: LayoutName,
    /// The node that keeps the map.
    pub catalog: NodeName,
    /// Its nodes, in the order of the file.
    pub nodes: Vec<DeclaredNode>,
    /// Its tickets, in the order of the file.
    pub tickets: Vec<DeclaredTicket>,
}

/// Why a declaration is invalid, with the key of the cluster file to look at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeclaredError {
    /// There are no nodes.
    #[error("a cluster needs at least one node")]
    NoNodes,
    /// Shards, and no node that can hold them.
    #[error("shards live on PostgreSQL nodes, and there is none")]
    NoHome,
    /// PostgreSQL nodes, and no shards for them.
    #[error("missing field `shards`")]
    NoShards,
    /// `catalog` is not a node.
    #[error("there is no node {0}")]
    NoSuchCatalog(NodeName),
    /// `catalog` is a MySQL node.
    #[error("node {0} is not a PostgreSQL server, and only one of those can keep the map")]
    CatalogEngine(NodeName),
    /// More shards than the layout has numbers for.
    #[error("layout {layout} has room for at most {most} shards, not {shards}")]
    TooManyShards {
        /// The layout.
        layout: LayoutName,
        /// How many it can tell apart.
        most: i64,
        /// How many were asked for.
        shards: ShardCount,
    },
}

impl DeclaredError {
    /// The key of the cluster file that is to blame.
    pub fn key(&self) -> &'static str {
        match self {
            Self::NoNodes => "nodes",
            Self::NoHome => "cluster.shards",
            Self::NoShards => "cluster",
            Self::NoSuchCatalog(_) | Self::CatalogEngine(_) => "cluster.catalog",
            Self::TooManyShards { .. } => "cluster.shards",
        }
    }
}

impl Declared {
    /// Checks what no single key can tell by itself.
    pub fn check(self) -> Result<Self, DeclaredError> {
        if self.nodes.is_empty() {
            return Err(DeclaredError::NoNodes);
        }
        match (self.has_shards(), self.postgres().next().is_some()) {
            (true, false) => return Err(DeclaredError::NoHome),
            (false, true) => return Err(DeclaredError::NoShards),
            (true, true) | (false, false) => {}
        }
        match self.node(&self.catalog) {
            None => return Err(DeclaredError::NoSuchCatalog(self.catalog)),
            Some(node) if self.has_shards() && node.engine != Engine::Postgres => {
                return Err(DeclaredError::CatalogEngine(self.catalog));
            }
            Some(_) => {}
        }
        if let Some(layout) = self.builtin_layout() {
            self.fits(&layout)?;
        }
        Ok(self)
    }

    /// Checks that the layout can tell all shards apart.
    pub fn fits(&self, layout: &Layout) -> Result<(), DeclaredError> {
        if i64::from(self.shards.get()) <= layout.shards() {
            return Ok(());
        }
        Err(DeclaredError::TooManyShards {
            layout: self.layout.clone(),
            most: layout.shards(),
            shards: self.shards,
        })
    }

    /// The layout, where it is one of those that come with shardid.
    pub fn builtin_layout(&self) -> Option<Layout> {
        shardid_ids::builtin(self.layout.as_str())
    }

    /// A node by its name.
    pub fn node(&self, name: &NodeName) -> Option<&DeclaredNode> {
        self.nodes.iter().find(|node| node.name == *name)
    }

    /// Whether it has shards, and with them a map.
    pub fn has_shards(&self) -> bool {
        self.shards != ShardCount::NONE
    }

    /// A ticket by its name.
    pub fn ticket(&self, name: &TicketName) -> Option<&DeclaredTicket> {
        self.tickets.iter().find(|ticket| ticket.name == *name)
    }

    /// The nodes that tickets have to do with: those that the file names as
    /// their servers, and every MySQL node.
    pub fn ticket_nodes(&self) -> impl Iterator<Item = &DeclaredNode> {
        let serves = |node: &NodeName| self.tickets.iter().any(|t| t.servers.contains(node));
        self.nodes.iter().filter(move |node| node.engine == Engine::Mysql || serves(&node.name))
    }

    /// The nodes that can hold shards, in the order of the file.
    pub fn postgres(&self) -> impl Iterator<Item = &DeclaredNode> {
        self.nodes.iter().filter(|node| node.engine == Engine::Postgres)
    }
}
