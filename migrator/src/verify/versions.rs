//! Nodes without the extension, or with an older one than the others.

use super::{Estate, Finding};

pub(super) fn check(estate: &Estate<'_>) -> Vec<Finding> {
    let installed = |visit: &super::estate::Visit| visit.seen.truth.extension.installed.clone();
    let newest = estate.visits.iter().filter_map(installed).max();
    let mut findings = Vec::new();
    for visit in &estate.visits {
        let problem = match (&visit.seen.truth.extension.installed, &newest) {
            (None, _) => "has no extension shardid".to_owned(),
            (Some(here), Some(newest)) if here < newest => {
                format!("has extension version {here}, and other nodes have {newest}")
            }
            _ => continue,
        };
        findings.push(Finding::on(&visit.node, problem, "`shardid apply`"));
    }
    findings
}
