//! What stands in the way of a move on one node?

use shardid_cluster::NodeName;

use crate::failure::Failure;

/// Something that stands in the way, and the command that helps.
pub(super) type Problem = (String, String);

/// Problems on a node, as failures.
pub(super) fn failures_of(node: &NodeName, problems: Vec<Problem>) -> Vec<Failure> {
    let failure =
        |(problem, hint): Problem| Failure::new(problem).at(format!("node {node}")).hint(hint);
    problems.into_iter().map(failure).collect()
}
