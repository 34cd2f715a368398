//! Two nodes that are one database, or a database and a physical copy of it.
//!
//! Databases of one server have one system identifier too, and are fine.

use super::{Estate, Finding};

pub(super) fn check(estate: &Estate<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (i, first) in estate.visits.iter().enumerate() {
        for second in &estate.visits[i + 1..] {
            let identity = &first.seen.truth.identity;
            if *identity != second.seen.truth.identity {
                continue;
            }
            findings.push(Finding::between(
                format!(
                    "nodes {} and {} are one database, or one is a copy of the other: {} on system {}",
                    first.node, second.node, identity.database, identity.system_identifier
                ),
                format!(
                    "stop the copy, or correct `url` of node {} or {}, then `shardid plan`",
                    first.node, second.node
                ),
            ));
        }
    }
    findings
}
