//! Whether there is a way from what is to what should be.

use std::collections::BTreeSet;

use crate::declared::Declared;
use crate::map::MapVersion;
use crate::names::NodeName;
use crate::plan::Program;
use crate::refusal::Refusal;
use crate::rename::Rename;
use crate::set::ShardSet;
use crate::truth::{NodeTruth, Truth};

/// All reasons against a plan, the weightiest first.
pub(super) fn refusals(
    declared: &Declared,
    truth: &Truth,
    program: &Program,
    adopt: &BTreeSet<NodeName>,
) -> Vec<Refusal> {
    // A catalog that this program cannot read tells nothing else.
    let mut found = catalog_tables(declared, truth, program);
    if found.is_empty() {
        found = cluster(declared, truth);
    }
    if found.is_empty() {
        found = nodes(declared, truth, program, adopt);
    }
    if found.is_empty() {
        found = layouts(declared, truth);
        found.extend(places(declared, truth));
    }
    found
}

/// Whether the catalog's tables are ones that this program knows.
fn catalog_tables(declared: &Declared, truth: &Truth, program: &Program) -> Vec<Refusal> {
    let catalog = || declared.catalog.clone();
    for run in &truth.catalog.migrations {
        match program.migrations.iter().find(|known| known.version == run.version) {
            Some(known) if known == run => {}
            Some(known) => {
                return vec![Refusal::CatalogEdited {
                    catalog: catalog(),
                    version: run.version,
                    name: known.name.clone(),
                }];
            }
            None => {
                let needs = truth.catalog.program.as_ref();
                return vec![Refusal::CatalogNewer {
                    catalog: catalog(),
                    needs: needs.map_or("of a later version".into(), ToString::to_string),
                    have: program.version.clone(),
                }];
            }
        }
    }
    Vec::new()
}

/// Whether the catalog is about the cluster that is declared.
fn cluster(declared: &Declared, truth: &Truth) -> Vec<Refusal> {
    let mut found = Vec::new();
    let catalog = &declared.catalog;
    let Some(cluster) = &truth.catalog.cluster else {
        if truth.catalog.rebuilt {
            return found;
        }
        for (node, seen) in &truth.nodes {
            if let Some(member) = &seen.member {
                found.push(Refusal::CatalogLost {
                    catalog: catalog.clone(),
                    node: node.clone(),
                    cluster: member.cluster.clone(),
                    version: member.newest,
                });
            }
        }
        return found;
    };
    if cluster.name != declared.name.as_str() {
        return vec![Refusal::Name {
            catalog: catalog.clone(),
            found: cluster.name.clone(),
            declared: declared.name.clone(),
        }];
    }
    if cluster.shards != i64::from(declared.shards.get()) {
        found.push(Refusal::Shards {
            cluster: declared.name.clone(),
            found: cluster.shards,
            declared: declared.shards.get(),
        });
    }
    if cluster.layout != declared.layout.as_str() {
        found.push(Refusal::Layout {
            cluster: declared.name.clone(),
            found: cluster.layout.clone(),
            declared: declared.layout.clone(),
        });
    }
    found
}

/// Whether each node is what it is taken for, and able to do what it should.
fn nodes(
    declared: &Declared,
    truth: &Truth,
    program: &Program,
    adopt: &BTreeSet<NodeName>,
) -> Vec<Refusal> {
    let mut found = Vec::new();
    let version = truth.catalog.map.version;
    let names: Vec<&NodeName> = declared.postgres().map(|node| &node.name).collect();
    for (i, name) in names.iter().copied().enumerate() {
        let Some(seen) = truth.nodes.get(name) else { continue };
        let before = names[..i].iter().copied();
        let twin = |other: &&NodeName| {
            truth.nodes.get(*other).map(|n| &n.identity) == Some(&seen.identity)
        };
        if let Some(twin) = before.into_iter().find(twin) {
            found.push(Refusal::SameServer { first: twin.clone(), second: name.clone() });
            continue;
        }
        found.extend(belongs(declared, name, seen, version, truth));
        // A catalog that was lost knows nothing; the node's own shards do.
        let known = truth.catalog.nodes.get(name).map(|node| &node.identity);
        let known = known.or(seen.copy_of.as_ref());
        if let Some(known) = known.filter(|known| **known != seen.identity && !adopt.contains(name))
        {
            found.push(Refusal::AnotherServer {
                node: name.clone(),
                known: known.clone(),
                found: seen.identity.clone(),
                rebuilt: truth.catalog.rebuilt,
            });
        }
        if seen.standby {
            found.push(Refusal::Standby(name.clone()));
        }
        found.extend(extension(name, seen, program));
    }
    for Rename { from, to } in &truth.catalog.renames {
        if let Some(moves) = truth.catalog.at_work.get(to) {
            let (from, to, moves) = (from.clone(), to.clone(), moves.clone());
            found.push(Refusal::RenamedAtWork { from, to, moves });
        }
    }
    for (node, moves) in &truth.catalog.needed {
        if truth.catalog.nodes.contains_key(node) && !names.contains(&node) {
            found.push(Refusal::NeededByMoves { node: node.clone(), moves: moves.clone() });
        }
    }
    for (node, shards) in truth.catalog.map.nodes() {
        if !names.contains(&node) {
            found.push(Refusal::HoldsShards { node: node.clone(), shards: shards.clone() });
        }
    }
    found
}

/// Whether a node that belongs to a cluster belongs to this one, by this name.
fn belongs(
    declared: &Declared,
    name: &NodeName,
    seen: &NodeTruth,
    version: MapVersion,
    truth: &Truth,
) -> Option<Refusal> {
    let member = seen.member.as_ref()?;
    if member.cluster != declared.name.as_str() {
        let cluster = member.cluster.clone();
        return Some(Refusal::OtherCluster { node: name.clone(), cluster });
    }
    // One that has another name in the catalog by now is told.
    let known = truth.catalog.nodes.get(name);
    let was_renamed = known.is_some_and(|known| known.identity == seen.identity)
        && truth.catalog.nodes.keys().all(|other| other.as_str() != member.node);
    if member.node != name.as_str() && !was_renamed {
        let is_taken = is_taken(&member.node, seen, truth);
        // One that has left comes back as one that is new.
        if !(is_taken && seen.held().is_empty() && seen.copies.is_empty()) {
            let (node, found) = (name.clone(), member.node.clone());
            return Some(Refusal::OtherNode { node, found, is_taken });
        }
    }
    (member.newest > version).then(|| Refusal::CatalogBehind {
        catalog: declared.catalog.clone(),
        version,
        node: name.clone(),
        found: member.newest,
    })
}

/// Whether the name that a database goes by is another one's by now: it has left the cluster, and the other answers
/// as what the catalog knows.
fn is_taken(name: &str, seen: &NodeTruth, truth: &Truth) -> bool {
    let known = &truth.catalog.nodes;
    let is_known = known.values().any(|node| node.identity == seen.identity);
    let owner = known.iter().find(|(other, _)| other.as_str() == name);
    let owner = owner.and_then(|(other, node)| Some((node, truth.nodes.get(other)?)));
    !is_known && owner.is_some_and(|(node, answers)| node.identity == answers.identity)
}

/// Whether a node has, or can have, an extension that this program understands.
fn extension(name: &NodeName, seen: &NodeTruth, program: &Program) -> Option<Refusal> {
    let best = seen.extension.available.as_ref().max(seen.extension.installed.as_ref());
    match best {
        None => Some(Refusal::NotInstalled(name.clone())),
        Some(best) if *best < program.extension_min => Some(Refusal::ExtensionTooOld {
            node: name.clone(),
            available: best.clone(),
            needs: program.extension_min.clone(),
        }),
        Some(_) => None,
    }
}

/// Whether all nodes mean the same by the cluster's layout.
fn layouts(declared: &Declared, truth: &Truth) -> Vec<Refusal> {
    let mut found = Vec::new();
    let mut first: Option<(&NodeName, shardid_ids::Layout)> = None;
    for (name, seen) in &truth.nodes {
        let layout = match (seen.layout, declared.builtin_layout()) {
            (Some(layout), _) => layout,
            // It comes with the extension, which is about to be installed.
            (None, Some(builtin)) if seen.extension.installed.is_none() => builtin,
            (None, _) => {
                let layout = declared.layout.clone();
                found.push(Refusal::LayoutMissing { node: name.clone(), layout });
                continue;
            }
        };
        match first {
            None => {
                found.extend(declared.fits(&layout).err().map(Refusal::Declared));
                first = Some((name, layout));
            }
            Some((other, known)) if known != layout => found.push(Refusal::LayoutDiffers {
                layout: declared.layout.clone(),
                first: other.clone(),
                second: name.clone(),
            }),
            Some(_) => {}
        }
    }
    found
}

/// Whether the shards are where they may be.
fn places(declared: &Declared, truth: &Truth) -> Vec<Refusal> {
    let mut found = Vec::new();
    let ours = ShardSet::all(declared.shards).without(&truth.catalog.moving);
    // Where the map has an opinion, the copy that it does not know is named below.
    let unmapped = ours.without(&truth.catalog.map.shards());
    let held: Vec<(&NodeName, ShardSet)> =
        truth.nodes.iter().map(|(name, seen)| (name, seen.held().and(&unmapped))).collect();
    for (i, (name, here)) in held.iter().enumerate() {
        for (other, there) in &held[..i] {
            let both = here.and(there);
            if !both.is_empty() {
                found.push(Refusal::OpenTwice {
                    shards: both,
                    first: (*other).clone(),
                    second: (*name).clone(),
                });
            }
        }
    }
    for (name, seen) in &truth.nodes {
        let other_layout = seen.other_layout.and(&ours);
        if !other_layout.is_empty() {
            found.push(Refusal::OtherLayout {
                shards: other_layout,
                node: name.clone(),
                layout: declared.layout.clone(),
            });
        }
        for (home, shards) in truth.catalog.map.nodes().filter(|(home, _)| *home != name) {
            let astray = seen.held().and(shards).and(&ours);
            if !astray.is_empty() {
                found.push(Refusal::OpenElsewhere {
                    shards: astray,
                    node: name.clone(),
                    home: home.clone(),
                });
            }
        }
        let to_open = truth.awaited(name).or(&truth.recalled(name));
        let home = truth.catalog.map.on(name).and(&ours).without(&to_open);
        for (to, shards) in &seen.moved {
            let gone = shards.and(&home);
            if !gone.is_empty() {
                found.push(Refusal::MovedAway { shards: gone, node: name.clone(), to: to.clone() });
            }
        }
        // Made anew it would have no rows, and its old copy would be one too many.
        let missing = home.without(&seen.held());
        for (other, it) in truth.nodes.iter().filter(|(other, _)| *other != name) {
            let shards = it.copies.and(&missing);
            if !shards.is_empty() {
                let (node, copy) = (name.clone(), other.clone());
                found.push(Refusal::LostWithCopy { shards, node, copy });
            }
        }
    }
    found
}
