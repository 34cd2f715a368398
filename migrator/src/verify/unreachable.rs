//! Nodes that did not answer, or could not be looked at.

use super::{Estate, Finding};

pub(super) fn check(estate: &Estate<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (node, failure) in &estate.unreachable {
        for (message, hint) in failure.messages() {
            // Failures of a node name it themselves.
            let message = message.strip_prefix(&format!("node {node}: ")).unwrap_or(message);
            let mend = hint.unwrap_or("look at `shardid status`");
            findings.push(Finding::on(node, message, mend));
        }
    }
    findings
}
