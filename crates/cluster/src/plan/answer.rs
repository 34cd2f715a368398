//! What does a plan consist of?

use crate::map::ShardMap;
use crate::names::NodeName;
use crate::plan::step::Step;
use crate::set::ShardSet;
use crate::truth::CopyAhead;

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
    /// A copy that may have more than the node on which a map that is made anew has the shard.
    #[error("{0}; `shardid verify` says so until both are compared")]
    CopyAhead(CopyAhead),
    /// A node on which the program may make no role to follow it by.
    #[error(
        "node {0} cannot be followed, so no shard is moved from it or to it: that takes a superuser in its `url`"
    )]
    NotFollowed(NodeName),
}
