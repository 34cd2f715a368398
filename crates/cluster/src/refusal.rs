//! The reasons why there is no way from what is to what should be.

use semver::Version;

use crate::ahead::Ahead;
use crate::declared::DeclaredError;
use crate::identity::Identity;
use crate::map::MapVersion;
use crate::names::{ClusterName, LayoutName, NodeName};
use crate::set::ShardSet;

/// A reason to change nothing, found before anything was changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The catalog is about a cluster of another name.
    #[error("the catalog on {catalog} is about cluster {found}, not {declared}")]
    Name {
        /// The catalog node.
        catalog: NodeName,
        /// The cluster it is about.
        found: String,
        /// The cluster of the file.
        declared: ClusterName,
    },
    /// The number of shards was changed.
    #[error(
        "cluster {cluster} has {found} shards for the whole of its life, and cannot have {declared}"
    )]
    Shards {
        /// The cluster.
        cluster: ClusterName,
        /// How many it has.
        found: i64,
        /// How many the file says.
        declared: u32,
    },
    /// The layout was changed.
    #[error(
        "cluster {cluster} has layout {found} for the whole of its life, and cannot have {declared}"
    )]
    Layout {
        /// The cluster.
        cluster: ClusterName,
        /// Its layout.
        found: String,
        /// The layout of the file.
        declared: LayoutName,
    },
    /// A node belongs to the cluster already, but the catalog is empty.
    #[error(
        "{catalog} has no catalog, but node {node} belongs to cluster {cluster} at map version {version}"
    )]
    CatalogLost {
        /// The catalog node of the file.
        catalog: NodeName,
        /// A node that is a member.
        node: NodeName,
        /// Of this cluster.
        cluster: String,
        /// With this version of the map.
        version: MapVersion,
    },
    /// A node has seen a newer map than the catalog.
    #[error(
        "node {node} has map version {found}, newer than version {version} of the catalog on {catalog}"
    )]
    CatalogBehind {
        /// The catalog node.
        catalog: NodeName,
        /// Its version.
        version: MapVersion,
        /// The node.
        node: NodeName,
        /// The node's version.
        found: MapVersion,
    },
    /// The catalog was made by a later program.
    #[error(
        "the catalog on {catalog} was brought up to date by shardid {needs}, and this is shardid {have}"
    )]
    CatalogNewer {
        /// The catalog node.
        catalog: NodeName,
        /// The program that the catalog wants at least.
        needs: String,
        /// This program.
        have: Version,
    },
    /// A migration that was run is not the one this program has.
    #[error(
        "migration {version} ({name}) of the catalog on {catalog} is not the one that this program has"
    )]
    CatalogEdited {
        /// The catalog node.
        catalog: NodeName,
        /// The migration's number.
        version: i32,
        /// The migration's name, as this program knows it.
        name: String,
    },
    /// A node belongs to another cluster.
    #[error("node {node} belongs to cluster {cluster}")]
    OtherCluster {
        /// The node.
        node: NodeName,
        /// The cluster it belongs to.
        cluster: String,
    },
    /// A URL leads to another node of the cluster.
    #[error("the database at {node}'s address is node {found} of this cluster")]
    OtherNode {
        /// The name in the file.
        node: NodeName,
        /// The name it goes by.
        found: String,
        /// Whether another database has that name by now.
        is_taken: bool,
    },
    /// Two nodes are one database.
    #[error(
        "nodes {first} and {second} are the same database, or one is a physical copy of the other"
    )]
    SameServer {
        /// The one.
        first: NodeName,
        /// The other.
        second: NodeName,
    },
    /// A node is not the database it was.
    #[error("node {node} is another database than before: {found} instead of {known}",
        found = shown(.found), known = shown(.known))]
    AnotherServer {
        /// The node.
        node: NodeName,
        /// What the catalog knows, or the node's shards do.
        known: Identity,
        /// What answered.
        found: Identity,
        /// Whether the catalog is being made from the nodes.
        rebuilt: bool,
    },
    /// A node takes no writes.
    #[error("node {0} is a standby, which takes no writes")]
    Standby(NodeName),
    /// The server has no extension to create.
    #[error("the extension shardid is not installed in the server of node {0}")]
    NotInstalled(NodeName),
    /// The server's extension is too old for this program.
    #[error(
        "node {node} offers version {available} of the extension, and this program needs {needs}"
    )]
    ExtensionTooOld {
        /// The node.
        node: NodeName,
        /// What its server offers.
        available: Version,
        /// What this program needs at least.
        needs: Version,
    },
    /// A layout that somebody has to make first.
    #[error("node {node} has no layout {layout}")]
    LayoutMissing {
        /// The node.
        node: NodeName,
        /// The layout.
        layout: LayoutName,
    },
    /// The same name for two layouts.
    #[error("layout {layout} is not the same on nodes {first} and {second}")]
    LayoutDiffers {
        /// The layout.
        layout: LayoutName,
        /// The one.
        first: NodeName,
        /// The other.
        second: NodeName,
    },
    /// The declaration does not fit the layout that a node has.
    #[error(transparent)]
    Declared(#[from] DeclaredError),
    /// Shards that hand out ids on two nodes.
    #[error("{} open on two nodes, {first} and {second}", shards_are(.shards))]
    OpenTwice {
        /// The shards.
        shards: ShardSet,
        /// The one node.
        first: NodeName,
        /// The other.
        second: NodeName,
    },
    /// Shards that hand out ids where the map has them on another node.
    #[error("{} open on {node}, but the map has {} on {home}", shards_are(.shards), them(.shards))]
    OpenElsewhere {
        /// The shards.
        shards: ShardSet,
        /// Where they are open.
        node: NodeName,
        /// Where the map has them.
        home: NodeName,
    },
    /// Shards that their own node believes to live elsewhere.
    #[error("node {node} says that {} on {to}, but the map has {} on {node}", shards_are(.shards), them(.shards))]
    MovedAway {
        /// The shards.
        shards: ShardSet,
        /// The node that the map has them on.
        node: NodeName,
        /// Where that node believes them to be.
        to: String,
    },
    /// Shards that their node has lost, and of which another one has an old copy.
    #[error("{} not on node {node}, where the map has {}, and node {copy} has an old copy", shards_are(.shards), them(.shards))]
    LostWithCopy {
        /// The shards.
        shards: ShardSet,
        /// The node that the map has them on.
        node: NodeName,
        /// The node with the old copy.
        copy: NodeName,
    },
    /// Shards with another layout.
    #[error("{} on {node} with another layout than the cluster's {layout}", shards_are(.shards))]
    OtherLayout {
        /// The shards.
        shards: ShardSet,
        /// The node.
        node: NodeName,
        /// The cluster's layout.
        layout: LayoutName,
    },
    /// A node that is to go still holds shards.
    #[error("node {node} is not in the cluster file, but it holds {}", shards_of(.shards))]
    HoldsShards {
        /// The node.
        node: NodeName,
        /// Its shards.
        shards: ShardSet,
    },
    /// A node that is to go is needed by moves.
    #[error("node {node} is not in the cluster file, but {} it", moves_need(.moves))]
    NeededByMoves {
        /// The node.
        node: NodeName,
        /// The moves.
        moves: Vec<i64>,
    },
    /// A node is to have another name, and unfinished moves have it by the old one.
    #[error("node {from} cannot become {to} now: {} it", moves_need(.moves))]
    RenamedAtWork {
        /// The name it has.
        from: NodeName,
        /// The name it is to have.
        to: NodeName,
        /// The moves.
        moves: Vec<i64>,
    },
    /// The catalog is as new as the nodes.
    #[error("the catalog on {catalog} has map version {version}, and no node a newer one")]
    NothingToRebuild {
        /// The catalog node.
        catalog: NodeName,
        /// Its version.
        version: MapVersion,
    },
    /// Shards that no node has.
    #[error("{} on no node of the cluster file", shards_are(.0))]
    OnNoNode(ShardSet),
    /// Shards that a lost move was about to open on a node of which nothing shows that it has all rows.
    #[error("{}", may_lack(.shards, .node, .home, .why.as_ref()))]
    MayLack {
        /// The shards.
        shards: ShardSet,
        /// The node.
        node: NodeName,
        /// The node that has closed them, with all rows.
        home: NodeName,
        /// What speaks against it, if anything does.
        why: Option<Ahead>,
    },
    /// Nowhere to put a new cluster's shards.
    #[error("no node may hold shards: every weight is 0")]
    NoWeight,
}

fn moves_need(moves: &[i64]) -> String {
    match moves {
        [one] => format!("move {one} needs"),
        many => {
            let numbers: Vec<String> = many.iter().map(i64::to_string).collect();
            format!("moves {} need", numbers.join(", "))
        }
    }
}

impl Refusal {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Name { found, .. } => format!(
                "to go on with that cluster, put `name = \"{found}\"` back; for a new one, name another database"
            ),
            Self::Shards { found, .. } => format!(
                "put `shards = {found}` back: a shard's number is part of its ids, so a cluster with another number of shards is a new cluster"
            ),
            Self::Layout { found, .. } => format!(
                "put `layout = \"{found}\"` back: ids of two layouts in one column cannot be told apart"
            ),
            Self::CatalogLost { .. } => {
                "name the node that keeps the map as `catalog`, or restore its database; if it is lost for good, `shardid catalog rebuild` makes it anew from the nodes".into()
            }
            Self::CatalogBehind { catalog, .. } => format!(
                "{catalog} was restored from an older backup, or is the catalog no more: restore a newer one, or bring it up to the nodes by `shardid catalog rebuild`"
            ),
            Self::CatalogNewer { needs, .. } => {
                format!("use shardid {needs} or later: `shardid --version` tells")
            }
            Self::CatalogEdited { .. } => {
                "use the program that made this catalog; released migrations never change".into()
            }
            Self::OtherCluster { node, .. } => {
                format!("look at `url` of node {node}, or give it a database of its own")
            }
            Self::OtherNode { node, found, is_taken: true } => format!(
                "{found} is another database by now, and this one has shards of the time when it was {found}: leave {node} out of the cluster file, or name an empty database"
            ),
            Self::OtherNode { node, found, is_taken: false } => {
                format!("look at `url` of nodes {node} and {found}: they seem to be swapped")
            }
            Self::SameServer { first, second } => {
                format!("look at `url` of nodes {first} and {second}; two nodes need two databases")
            }
            Self::AnotherServer { node, rebuilt, .. } => format!(
                "correct `url` of node {node}; or, if {node} was restored or upgraded to a new server, and the old one is gone for good: `shardid {} --adopt {node}`",
                if *rebuilt { "catalog rebuild" } else { "apply" }
            ),
            Self::Standby(node) => format!("point `url` of node {node} at the primary"),
            Self::NotInstalled(_) => {
                "on the server's machine: `make install PG_CONFIG=$(command -v pg_config)`".into()
            }
            Self::ExtensionTooOld { .. } => {
                "install the newer one on the server's machine: `make install PG_CONFIG=$(command -v pg_config)`".into()
            }
            Self::LayoutMissing { node, layout } => format!(
                "make it on {node} as on the other nodes: `CREATE EXTENSION IF NOT EXISTS shardid; SELECT create_layout('{layout}', …)`"
            ),
            Self::LayoutDiffers { layout, .. } => {
                format!("look at both: `SELECT * FROM shardid.layouts WHERE name = '{layout}'`")
            }
            Self::Declared(_) => "choose fewer shards or another layout".into(),
            Self::OpenTwice { shards, .. } => format!(
                "`shardid moves` shows a move of shard {} that stands, and `shardid resume` mends that; where none does, `shardid verify` says which copy is of an older map: look which is in use before anything is changed",
                any(shards)
            ),
            Self::OpenElsewhere { shards, node, .. } => format!(
                "`shardid moves` shows a move of shard {} that stands, and `shardid resume` mends that; where none does, the shard was made on {node} by hand, or {node} was restored from a backup or promoted: `shardid verify` says what closes it",
                any(shards)
            ),
            Self::MovedAway { .. } => {
                "the catalog or the node seems to be restored from an older backup, or promoted without the end of a move; `shardid verify` says what can be done".into()
            }
            Self::LostWithCopy { node, copy, .. } => format!(
                "keep that copy, which may be all that is left of their rows: `apply` would make them anew without any. Restore {node} from a backup, or bring the rows over from {copy}, as docs/cluster.md has it (a node that has lost a shard)"
            ),
            Self::OtherLayout { node, shards, .. } => format!(
                "leave {node} out of this cluster, or look at who uses it there: `SELECT * FROM shardid.shards WHERE shard = {}`",
                any(shards)
            ),
            Self::HoldsShards { node, .. } => {
                format!("put [nodes.{node}] back and empty it first: `shardid drain {node}`")
            }
            Self::NeededByMoves { node, moves } => format!(
                "put [nodes.{node}] back with the address that it had; `shardid moves` shows what can be done with each: `shardid resume {0}` ends one that stands, `shardid retire {0}` drops an old copy, and `shardid retire --all --gone {node}` forgets those that are gone with the node",
                moves.first().copied().unwrap_or_default()
            ),
            Self::RenamedAtWork { from, moves, .. } => format!(
                "put [nodes.{from}] back, finish with `shardid resume {0}` or `shardid abort {0}`, and rename it then",
                moves.first().copied().unwrap_or_default()
            ),
            Self::NothingToRebuild { .. } => {
                "`shardid plan` shows what is different; the catalog needs nothing".into()
            }
            Self::OnNoNode(_) => {
                "put the nodes that hold them into the cluster file; a new one in their place would give ids again. How a node gets one back that it has lost is in docs/cluster.md (a node that has lost a shard)".into()
            }
            Self::MayLack { shards, node, home, .. } => format!(
                "bring a server back as {node} that has them; or `shardid catalog rebuild --accept-loss` opens {} on {home} again, which has all rows that were written there: what was written on {node} since, if it had been opened, is lost then",
                shards_of(shards)
            ),
            Self::NoWeight => "give at least one node `weight = 1`".into(),
        }
    }
}

/// What is the matter with a node that may lack rows of shards which another one has closed.
fn may_lack(shards: &ShardSet, node: &NodeName, home: &NodeName, why: Option<&Ahead>) -> String {
    let shards = shards_of(shards);
    match why {
        Some(why) => {
            format!("node {node} may have lost rows of {shards} that had come to it: {why}")
        }
        None => format!(
            "nothing shows that node {node} has all rows of {shards}, which a move has closed on {home}"
        ),
    }
}

/// `shard 5 is`, `shards 5-7 are`.
fn shards_are(shards: &ShardSet) -> String {
    match shards.len() {
        1 => format!("shard {shards} is"),
        _ => format!("shards {shards} are"),
    }
}

/// `shard 5`, `3 shards (5-7)`.
fn shards_of(shards: &ShardSet) -> String {
    match shards.len() {
        1 => format!("shard {shards}"),
        n => format!("{n} shards ({shards})"),
    }
}

fn them(shards: &ShardSet) -> &'static str {
    if shards.len() == 1 { "it" } else { "them" }
}

fn any(shards: &ShardSet) -> String {
    shards.first().map(|shard| shard.to_string()).unwrap_or_default()
}

fn shown(identity: &Identity) -> String {
    format!("{} on system {}", identity.database, identity.system_identifier)
}
