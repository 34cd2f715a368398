//! Copies of the map that are not what the catalog says.

use shardid_cluster::{CatalogTruth, NodeName, ShardSet};

use super::estate::Visit;
use super::{Estate, Finding};
use crate::view::ranges;

pub(super) fn check(estate: &Estate<'_>) -> Vec<Finding> {
    let Some(catalog) = estate.catalog() else { return without_catalog(estate) };
    let mut findings = Vec::new();
    for visit in &estate.visits {
        let Some(problem) = version(catalog, visit) else {
            findings.extend(places(estate, catalog, visit));
            continue;
        };
        let newer = visit.seen.truth.member.as_ref().map(|member| member.newest)
            > Some(catalog.map.version);
        let mend = match newer {
            true => format!(
                "{} seems to be restored from an older backup: restore a newer one, or `shardid catalog rebuild`",
                estate.file.declared.catalog
            ),
            false => "`shardid apply`".to_owned(),
        };
        findings.push(Finding::on(&visit.node, problem, mend));
    }
    findings
}

/// Where nodes have copies of a map, and nobody has the map itself.
fn without_catalog(estate: &Estate<'_>) -> Vec<Finding> {
    let declared = &estate.file.declared;
    let members = estate.visits.iter().filter(|visit| visit.seen.truth.member.is_some());
    let keeper_answers = estate.visits.iter().any(|visit| visit.node == declared.catalog);
    if members.count() == 0 || !keeper_answers {
        return Vec::new();
    }
    let held =
        estate.visits.iter().fold(ShardSet::new(), |all, visit| all.or(&visit.seen.truth.held()));
    let nowhere = ShardSet::all(declared.shards).without(&held);
    let mut findings = vec![Finding::on(
        &declared.catalog,
        "the catalog is not here, and nodes have copies of its map",
        "restore it from a backup, or `shardid catalog rebuild`",
    )];
    if !estate.unreachable.is_empty() {
        return findings;
    }
    let nodes = estate.nodes();
    let awaited =
        nodes.iter().fold(ShardSet::new(), |all, (name, seen)| all.or(&seen.awaited(name, &nodes)));
    let awaited = nowhere.and(&awaited);
    if !awaited.is_empty() {
        findings.push(Finding::between(
            format!("these shards are open on no node: {}", ranges(&awaited)),
            "a move of each was lost with the catalog: `shardid catalog rebuild` opens it where it was about to be opened",
        ));
    }
    let lost = nowhere.without(&awaited);
    if !lost.is_empty() {
        findings.push(Finding::between(
            format!("these shards are on no node: {}", ranges(&lost)),
            "put the nodes that hold them into the cluster file, or bring them back as docs/cluster.md has it (a node that has lost a shard); then `shardid catalog rebuild`",
        ));
    }
    findings
}

/// What is wrong with the version of a copy.
fn version(catalog: &CatalogTruth, visit: &Visit) -> Option<String> {
    let right = catalog.map.version;
    match &visit.seen.truth.member {
        // Without the extension there is nothing to have a copy in.
        None if visit.seen.truth.extension.installed.is_none() => None,
        None => Some("has no copy of the map".to_owned()),
        Some(member) if member.newest > right => {
            Some(format!("knows map version {}, and the catalog has {right}", member.newest))
        }
        Some(member) if member.map_version != right => {
            Some(format!("has map version {}, and the catalog has {right}", member.map_version))
        }
        Some(_) => None,
    }
}

/// Shards of which a copy of the right version says something else.
fn places(estate: &Estate<'_>, catalog: &CatalogTruth, visit: &Visit) -> Vec<Finding> {
    let truth = &visit.seen.truth;
    let mut findings = Vec::new();
    for (home, shards) in &truth.moved {
        let right = NodeName::new(home).map(|home| catalog.map.on(&home)).unwrap_or_default();
        for shard in shards.without(&right).without(&catalog.moving).iter() {
            let Some(place) = catalog.map.node_of(shard).filter(|place| **place != visit.node)
            else {
                continue;
            };
            findings.push(Finding::on(
                &visit.node,
                format!("says that shard {shard} lives on {home}, and the map says {place}"),
                "`shardid apply`",
            ));
        }
    }
    let moved = truth.moved.values().fold(ShardSet::new(), |all, some| all.or(some));
    let unknown = catalog
        .map
        .shards()
        .without(&catalog.map.on(&visit.node))
        .without(&truth.held())
        .without(&moved)
        .without(&truth.dropped)
        .without(&catalog.moving);
    if truth.member.is_some() && !unknown.is_empty() {
        let problem = format!("does not know where these shards live: {}", ranges(&unknown));
        findings.push(Finding::on(&visit.node, problem, "`shardid apply`"));
    }
    let strays = truth.open.without(&catalog.map.on(&visit.node)).without(&catalog.moving);
    for shard in strays.iter() {
        let open_at_home = estate.visits.iter().any(|other| {
            catalog.map.node_of(shard) == Some(&other.node) && other.seen.truth.open.contains(shard)
        });
        if let Some(place) = catalog.map.node_of(shard).filter(|_| !open_at_home) {
            findings.push(Finding::on(
                &visit.node,
                format!("shard {shard} is open here, and the map says that it lives on {place}"),
                "restore the node or the catalog that is from an older backup, then `shardid plan`",
            ));
        }
    }
    findings
}
