//! Roles that may insert into a table, and may not take ids for it.

use std::collections::BTreeSet;

use super::finding::quoted;
use super::{Estate, Finding};

pub(super) fn check(estate: &Estate<'_>) -> Vec<Finding> {
    // One grant mends all tables of a shard: the first one speaks for the others.
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for (node, column) in estate.columns() {
        let Some(sequence) = &column.sequence else { continue };
        for role in &column.barred {
            if !told.insert((node, sequence, role)) {
                continue;
            }
            findings.push(Finding::on(
                node,
                format!(
                    "role {role} may insert into {}, and may not take ids of shard {}, as a default of that table does",
                    column.table, column.shard
                ),
                format!(
                    "another default for column {} of that table, of role {}, where {role} is to have no ids of shard {}; where it is, {}",
                    column.column, column.owner, column.shard,
                    quoted(&format!("GRANT USAGE ON SEQUENCE {sequence} TO {role};"))
                ),
            ));
        }
    }
    findings
}
