//! The difference between what should be and what is, as steps to take.

mod checks;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use semver::Version;

use crate::declared::Declared;
use crate::follower::Stream;
use crate::map::{MapVersion, ShardMap};
use crate::names::NodeName;
use crate::refusal::Refusal;
use crate::rename::Rename;
use crate::set::ShardSet;
use crate::truth::{Identity, Migration, Truth};

/// What this program is, as far as a plan depends on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Its version.
    pub version: Version,
    /// The oldest extension it can work with.
    pub extension_min: Version,
    /// The migrations of the catalogue's tables, in order.
    pub migrations: Vec<Migration>,
}

/// One change. Each may be cut at any instant and made again.
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
    /// Makes the catalogue's tables, or brings them up to date.
    MigrateCatalog {
        /// The catalogue node.
        node: NodeName,
        /// The last migration that was run; 0 where there is no catalogue yet.
        from: i32,
        /// The last migration there is.
        to: i32,
    },
    /// Writes a node into the catalogue, or its new weight or identity.
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
    /// Gives a node another name in the catalogue: a new version of the map.
    RenameNode {
        /// The names.
        rename: Rename,
        /// Which database it is.
        identity: Identity,
        /// The version of the map by then.
        version: MapVersion,
    },
    /// Writes the cluster and its first map into the catalogue, in one transaction.
    WriteMap {
        /// The map.
        map: ShardMap,
    },
    /// Writes the cluster and a map that was made from the nodes into the catalogue, in one
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

/// Something to know that stops nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Note {
    /// Shards with numbers that the cluster does not have.
    #[error("node {node} has shards {shards} outside the cluster's {count}; they are left alone")]
    Outside {
        /// The node.
        node: NodeName,
        /// Its shards.
        shards: ShardSet,
        /// How many the cluster has.
        count: u32,
    },
    /// A node that got no shards because the map is older than it.
    #[error("node {0} holds no shards yet; `shardid rebalance` gives it its share")]
    Empty(NodeName),
    /// A node on which the program may make no role to follow it by.
    #[error(
        "node {0} cannot be followed, so no shard is moved from it or to it: that takes a superuser in its `url`"
    )]
    NotFollowed(NodeName),
}

/// What is to be done, in this order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The changes.
    pub steps: Vec<Step>,
    /// The map as it will be.
    pub map: ShardMap,
    /// What else there is to know.
    pub notes: Vec<Note>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// Finds the steps from what is to what should be.
///
/// The steps are safe to cut anywhere: the plan made afterwards goes on where
/// they stopped. No step moves a shard. A node named in `adopt` may be another
/// database than before. All reasons against are given at once.
pub fn plan(
    declared: &Declared,
    truth: &Truth,
    program: &Program,
    adopt: &BTreeSet<NodeName>,
) -> Result<Plan, Vec<Refusal>> {
    let refusals = checks::refusals(declared, truth, program, adopt);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    steps::steps(declared, truth, program).map_err(|refusal| vec![refusal])
}
