//! What is one change of a plan?

use semver::Version;

use crate::follower::Stream;
use crate::identity::Identity;
use crate::map::{MapVersion, ShardMap};
use crate::names::NodeName;
use crate::rename::Rename;
use crate::set::ShardSet;

/// One change. Each may be interrupted at any point and made again.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `CREATE EXTENSION` on a node.
    InstallExtension {
        /// The node.
        node: NodeName,
        /// The version it will have.
        version: Version,
    },
    /// `ALTER EXTENSION UPDATE` on a node.
    UpgradeExtension {
        /// The node.
        node: NodeName,
        /// The version it has.
        from: Version,
        /// The version it will have.
        to: Version,
    },
    /// Makes the catalog's tables, or brings them up to date.
    MigrateCatalog {
        /// The catalog node.
        node: NodeName,
        /// The last migration that was run; 0 where there is no catalog yet.
        from: i32,
        /// The last migration there is.
        to: i32,
    },
    /// Writes a node into the catalog, or its new weight or identity.
    WriteNode {
        /// The node.
        node: NodeName,
        /// Its weight.
        weight: u32,
        /// Which database it is.
        identity: Identity,
        /// What about it changes.
        change: NodeChange,
    },
    /// Gives a node another name in the catalog: a new version of the map.
    RenameNode {
        /// The names.
        rename: Rename,
        /// Which database it is.
        identity: Identity,
        /// The version of the map by then.
        version: MapVersion,
    },
    /// Writes the cluster and its first map into the catalog, in one transaction.
    WriteMap {
        /// The map.
        map: ShardMap,
    },
    /// Writes the cluster and a map that was made from the nodes into the catalog, in one
    /// transaction, in place of what it has.
    RebuildMap {
        /// The map.
        map: ShardMap,
    },
    /// Creates shards on their node.
    CreateShards {
        /// The node.
        node: NodeName,
        /// The shards.
        shards: ShardSet,
    },
    /// Gives a node its copy of the map.
    TellNode {
        /// The node.
        node: NodeName,
        /// The name by which it knows itself, if that is another one.
        was: Option<String>,
        /// The version it has a copy of; 0 where it belongs to no cluster yet.
        from: MapVersion,
        /// The version it will have.
        to: MapVersion,
        /// The shards about which its copy says something else.
        shards: ShardSet,
    },
    /// Opens shards that live on a node by the map, and that no move is going to open: the one
    /// that has fenced them there, or was about to open them there, is not in the journal, or over.
    OpenShards {
        /// The node.
        node: NodeName,
        /// The shards.
        shards: ShardSet,
    },
    /// Takes away the triggers that a fence has left on the tables of shards that are open, and that no move
    /// is about: they refuse nothing, and each write pays for them.
    TakeAwayFences {
        /// The node.
        node: NodeName,
        /// The shards.
        shards: ShardSet,
    },
    /// Forgets a node that holds no shards.
    RemoveNode {
        /// The node.
        node: NodeName,
    },
    /// Makes the roles by which others follow a node, with no secret yet.
    LetFollow {
        /// The node that is followed.
        node: NodeName,
        /// Who follows, and the role of each.
        followers: Vec<(NodeName, String)>,
    },
    /// Has streams connect anew, with the rights that they should have.
    Connect {
        /// The node that follows.
        node: NodeName,
        /// All its streams from one server.
        streams: Vec<Stream>,
    },
    /// Drops roles that nobody follows a node by any more.
    ForgetFollowers {
        /// The node.
        node: NodeName,
        /// The roles.
        roles: Vec<String>,
    },
}

impl Step {
    /// The node that the step is about; the map is about all of them.
    pub fn node(&self) -> Option<&NodeName> {
        match self {
            Self::InstallExtension { node, .. }
            | Self::UpgradeExtension { node, .. }
            | Self::MigrateCatalog { node, .. }
            | Self::WriteNode { node, .. }
            | Self::CreateShards { node, .. }
            | Self::TellNode { node, .. }
            | Self::OpenShards { node, .. }
            | Self::TakeAwayFences { node, .. }
            | Self::RemoveNode { node }
            | Self::LetFollow { node, .. }
            | Self::Connect { node, .. }
            | Self::ForgetFollowers { node, .. } => Some(node),
            Self::RenameNode { rename, .. } => Some(&rename.to),
            Self::WriteMap { .. } | Self::RebuildMap { .. } => None,
        }
    }
}

/// What a [`Step::WriteNode`] is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeChange {
    /// The node is new.
    Add,
    /// Its weight was another one.
    Weight(u32),
    /// It was another database, and the new one is adopted.
    Adopt(Identity),
}
