//! Servers that could hand out a ticket's number twice.

use shardid_cluster::problems;

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::tickets;

/// Whether the cluster has anything to do with tickets.
pub(super) fn concerns(estate: &Estate<'_>) -> bool {
    tickets::apply::concerns(estate.file)
}

pub(super) async fn check(estate: &Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let look = tickets::look(estate.file, "verify", true).await?;
    let mut findings = Vec::new();
    for (node, answer) in &look.nodes {
        // A PostgreSQL node that does not answer has a finding of its own.
        let known = estate.unreachable.iter().any(|(other, _)| other == node);
        let refused: Vec<&Failure> = match answer {
            Ok(answer) => answer.refusals.iter().collect(),
            Err(failure) if !known => vec![failure],
            Err(_) => Vec::new(),
        };
        for (message, hint) in refused.into_iter().flat_map(Failure::messages) {
            let message = message.strip_prefix(&format!("node {node}: ")).unwrap_or(message);
            findings.push(Finding::on(node, message, hint.unwrap_or("shardid tickets status")));
        }
    }
    for problem in problems(&look.truth) {
        let (node, mend) = (problem.node().cloned(), problem.mend());
        findings.push(Finding { node, problem: problem.to_string(), mend });
    }
    Ok(findings)
}
