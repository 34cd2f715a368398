//! What `verify` found, for people and for programs.

use serde_json::{Value, json};

use crate::file::ClusterFile;
use crate::printable::in_one_line;
use crate::verify::{Finding, Report};
use crate::view::counted;

/// A line per finding: where, what, and what mends it.
pub(crate) fn text(nodes: usize, report: &Report) -> String {
    if report.findings.is_empty() {
        return format!(
            "OK: {} on {}\n",
            counted(report.checks as u64, "check"),
            counted(nodes as u64, "node")
        );
    }
    let line = |(_, finding): &(&str, Finding)| {
        let place = finding.node.as_ref().map(|node| format!("{node}: ")).unwrap_or_default();
        // One line each, whatever a server's message looks like.
        in_one_line(&format!("{place}{}: {}", finding.problem, finding.mend)) + "\n"
    };
    report.findings.iter().map(line).collect()
}

/// The same for programs.
pub(crate) fn json(file: &ClusterFile, nodes: usize, report: &Report) -> Value {
    let finding = |(check, finding): &(&str, Finding)| {
        json!({
            "check": check,
            "node": finding.node.as_ref().map(shardid_cluster::NodeName::as_str),
            "problem": finding.problem,
            "mend": finding.mend,
        })
    };
    json!({
        "cluster": file.declared.name.as_str(),
        "checks": report.checks,
        "nodes": nodes,
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}
