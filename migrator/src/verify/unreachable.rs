//! Nodes that did not answer, could not be looked at, are not in the cluster file, or have another name there.

use shardid_cluster::{CatalogNode, Rename};

use super::{Estate, Finding};

pub(super) fn check(estate: &Estate<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let unread = estate.visits.iter().filter_map(|it| Some((&it.node, it.unread.as_ref()?)));
    let unreachable = estate.unreachable.iter().map(|(node, failure)| (node, failure));
    for (node, failure) in unreachable.chain(unread) {
        for (message, hint) in failure.messages() {
            // Failures of a node name it themselves.
            let message = message.strip_prefix(&format!("node {node}: ")).unwrap_or(message);
            let mend = hint.unwrap_or("look at `shardid status`");
            findings.push(Finding::on(node, message, mend));
        }
    }
    findings.extend(left_out(estate));
    findings.extend(renamed(estate));
    findings
}

/// Nodes that the catalog knows by another name.
fn renamed(estate: &Estate<'_>) -> Vec<Finding> {
    let renames = estate.catalog().map(|catalog| catalog.renames.clone()).unwrap_or_default();
    let finding = |rename: Rename| {
        let problem = format!("the catalog has it by the name {}", rename.from);
        Finding::on(&rename.to, problem, "`shardid apply` gives it its new one")
    };
    renames.into_iter().map(finding).collect()
}

/// Nodes that the catalog knows, and nobody was told to look at. One that has another name in the file
/// was looked at by that.
fn left_out(estate: &Estate<'_>) -> Vec<Finding> {
    let Some(catalog) = estate.catalog() else { return Vec::new() };
    let is_looked_at = |known: &CatalogNode| {
        estate.visits.iter().any(|visit| visit.seen.truth.identity == known.identity)
    };
    let known = catalog
        .nodes
        .iter()
        .filter(|(node, known)| estate.file.declared.node(node).is_none() && !is_looked_at(known));
    known
        .map(|(node, _)| {
            let mend = match (catalog.map.on(node).is_empty(), catalog.needed.get(node)) {
                (false, _) => {
                    format!("put [nodes.{node}] into the file: shards live there by the map")
                }
                (true, Some(moves)) if !moves.is_empty() => format!(
                    "put [nodes.{node}] into the file: `shardid moves` shows {}, which {} it",
                    named(moves),
                    if moves.len() == 1 { "needs" } else { "need" }
                ),
                (true, _) => "`shardid apply` takes it out of the catalog".to_owned(),
            };
            let problem =
                "it is in the catalog, and not in the cluster file: nobody has looked at it";
            Finding::on(node, problem, mend)
        })
        .collect()
}

/// The moves of a list.
fn named(moves: &[i64]) -> String {
    let numbers: Vec<String> = moves.iter().map(i64::to_string).collect();
    format!("move{} {}", if moves.len() == 1 { "" } else { "s" }, numbers.join(", "))
}
