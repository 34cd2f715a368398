//! The steps, where there is a way.

use std::collections::BTreeMap;

use crate::declared::Declared;
use crate::follower::{FollowerRole, Stream, StreamFault, follower_role};
use crate::map::{MapVersion, ShardMap};
use crate::names::NodeName;
use crate::plan::{NodeChange, Note, Plan, Program, Step};
use crate::refusal::Refusal;
use crate::rename::Rename;
use crate::set::ShardSet;
use crate::spread::spread;
use crate::truth::{NodeTruth, Truth};

/// The steps, in the only order that is safe to cut: what a step stands on was
/// made by an earlier one, and the map is written before any shard is created.
pub(super) fn steps(
    declared: &Declared,
    truth: &Truth,
    program: &Program,
) -> Result<Plan, Refusal> {
    let is_first = truth.catalog.map.version == MapVersion(0);
    let mut map = match is_first {
        true => first_map(declared, truth)?,
        false => truth.catalog.map.clone(),
    };
    let mut steps = Vec::new();
    for (name, seen) in in_file_order(declared, truth) {
        steps.extend(extension(name, seen));
    }
    steps.extend(catalog(declared, truth, program));
    for rename in &truth.catalog.renames {
        map.version = map.version.next();
        steps.push(rename_node(rename, truth, map.version));
    }
    for node in declared.postgres() {
        steps.extend(write_node(node.name.clone(), node.weight, truth));
    }
    if is_first {
        steps.push(Step::WriteMap { map: map.clone() });
    }
    if truth.catalog.rebuilt {
        steps.push(Step::RebuildMap { map: map.clone() });
    }
    for (name, seen) in in_file_order(declared, truth) {
        // Those that a lost move was about to open here, or has closed and goes back to, are opened, not made.
        let to_open = truth.awaited(name).and(&map.on(name)).or(&truth.recalled(name));
        let others = truth.catalog.moving.or(&to_open);
        let missing = map.on(name).without(&seen.held()).without(&others);
        if !missing.is_empty() {
            steps.push(Step::CreateShards { node: name.clone(), shards: missing });
        }
        steps.extend(tell(name, seen, &map, &others));
    }
    for (name, seen) in in_file_order(declared, truth) {
        let shut = seen.fenced.or(&truth.awaited(name)).or(&truth.recalled(name));
        let shut = shut.and(&map.on(name)).without(&truth.catalog.moving);
        if !shut.is_empty() {
            steps.push(Step::OpenShards { node: name.clone(), shards: shut });
        }
    }
    for (name, seen) in in_file_order(declared, truth) {
        steps.extend(follow(declared, truth, name, seen));
    }
    for (follower, streams) in &truth.streams {
        steps.extend(connect(truth, follower, streams));
    }
    for name in truth.catalog.nodes.keys() {
        if declared.node(name).is_none() {
            steps.push(Step::RemoveNode { node: name.clone() });
        }
    }
    // At the end: whoever reads for long is in the way of this, and of nothing else.
    for (name, seen) in in_file_order(declared, truth) {
        let left = seen.left_fences().and(&map.on(name)).without(&truth.catalog.moving);
        if !left.is_empty() {
            steps.push(Step::TakeAwayFences { node: name.clone(), shards: left });
        }
    }
    let notes = notes(declared, truth, &map);
    Ok(Plan { steps, map, notes })
}

fn in_file_order<'a>(
    declared: &'a Declared,
    truth: &'a Truth,
) -> impl Iterator<Item = (&'a NodeName, &'a NodeTruth)> {
    declared.postgres().filter_map(|node| truth.nodes.get_key_value(&node.name))
}

/// The first map: by weight, around the shards that exist already.
fn first_map(declared: &Declared, truth: &Truth) -> Result<ShardMap, Refusal> {
    let weights: Vec<_> = declared.postgres().map(|n| (n.name.clone(), n.weight)).collect();
    let here: BTreeMap<_, _> = truth.nodes.iter().map(|(n, t)| (n.clone(), t.held())).collect();
    let placed = spread(declared.shards, &weights, &here).map_err(|_| Refusal::NoWeight)?;
    let mut map = ShardMap::new(truth.catalog.map.version.next());
    for (node, shards) in &placed {
        map.place(node, shards);
    }
    Ok(map)
}

fn extension(name: &NodeName, seen: &NodeTruth) -> Option<Step> {
    let node = name.clone();
    match (&seen.extension.installed, &seen.extension.available) {
        (None, Some(version)) => Some(Step::InstallExtension { node, version: version.clone() }),
        (Some(from), Some(to)) if from < to => {
            Some(Step::UpgradeExtension { node, from: from.clone(), to: to.clone() })
        }
        _ => None,
    }
}

fn catalog(declared: &Declared, truth: &Truth, program: &Program) -> Option<Step> {
    let from = truth.catalog.migrations.last().map_or(0, |migration| migration.version);
    let to = program.migrations.last().map_or(0, |migration| migration.version);
    (from < to).then(|| Step::MigrateCatalog { node: declared.catalog.clone(), from, to })
}

fn rename_node(rename: &Rename, truth: &Truth, version: MapVersion) -> Step {
    let identity = truth.catalog.nodes[&rename.to].identity.clone();
    Step::RenameNode { rename: rename.clone(), identity, version }
}

fn write_node(name: NodeName, weight: u32, truth: &Truth) -> Option<Step> {
    let identity = truth.nodes.get(&name)?.identity.clone();
    let change = match truth.catalog.nodes.get(&name) {
        None => NodeChange::Add,
        Some(known) if known.identity != identity => NodeChange::Adopt(known.identity.clone()),
        Some(known) if known.weight != weight => NodeChange::Weight(known.weight),
        Some(_) => return None,
    };
    Some(Step::WriteNode { node: name, weight, identity, change })
}

/// Gives a node its copy of the map, unless it has exactly that.
fn tell(name: &NodeName, seen: &NodeTruth, map: &ShardMap, moving: &ShardSet) -> Option<Step> {
    let mut differ = ShardSet::new();
    for (home, shards) in map.nodes() {
        let known = if home == name {
            seen.held().without(&seen.unstamped)
        } else {
            seen.moved.get(home.as_str()).cloned().unwrap_or_default()
        };
        differ = differ.or(&shards.without(&known));
    }
    let shards = differ.without(moving);
    let from = seen.member.as_ref().map_or(MapVersion(0), |member| member.map_version);
    let was = seen.member.as_ref().map(|member| &member.node);
    let was = was.filter(|was| *was != name.as_str()).cloned();
    let same = shards.is_empty() && from == map.version && was.is_none();
    (!same).then(|| Step::TellNode { node: name.clone(), was, from, to: map.version, shards })
}

/// Lets all others follow a node, and nobody else.
fn follow(declared: &Declared, truth: &Truth, name: &NodeName, seen: &NodeTruth) -> Vec<Step> {
    let Some(known) = &seen.followers else { return Vec::new() };
    let others = in_file_order(declared, truth).filter(|(other, _)| *other != name);
    let wanted: Vec<(NodeName, String)> =
        others.map(|(other, seen)| (other.clone(), follower_role(other, &seen.identity))).collect();
    let strange: Vec<String> = known
        .iter()
        .filter(|(role, it)| it.here && !wanted.iter().any(|(_, wanted)| wanted == *role))
        .map(|(role, _)| role.clone())
        .collect();
    let ready = |role: &String| known.get(role).is_some_and(FollowerRole::is_ready);
    let missing: Vec<_> = wanted.into_iter().filter(|(_, role)| !ready(role)).collect();
    let mut steps = Vec::new();
    if !missing.is_empty() {
        steps.push(Step::LetFollow { node: name.clone(), followers: missing });
    }
    if !strange.is_empty() {
        steps.push(Step::ForgetFollowers { node: name.clone(), roles: strange });
    }
    steps
}

/// Connects the streams anew that need it. A role is of a server, and so is its secret: those
/// that follow databases of one server by it go together.
fn connect(truth: &Truth, follower: &NodeName, streams: &[Stream]) -> Vec<Step> {
    let server = |stream: &Stream| {
        truth.nodes.get(&stream.publisher).map(|seen| seen.identity.system_identifier)
    };
    let mut servers: BTreeMap<i64, Vec<Stream>> = BTreeMap::new();
    for stream in streams {
        if let Some(server) = server(stream) {
            servers.entry(server).or_default().push(stream.clone());
        }
    }
    let faulty = |streams: &Vec<Stream>| streams.iter().any(|stream| stream.fault.is_some());
    let steps = servers.into_values().filter(faulty).map(|mut streams| {
        // With a new secret all have to be told.
        if !streams.iter().any(|stream| stream.fault == Some(StreamFault::Secret)) {
            streams.retain(|stream| stream.fault.is_some());
        }
        Step::Connect { node: follower.clone(), streams }
    });
    steps.collect()
}

fn notes(declared: &Declared, truth: &Truth, map: &ShardMap) -> Vec<Note> {
    let mut notes = Vec::new();
    let all = ShardSet::all(declared.shards);
    if truth.catalog.rebuilt {
        notes.extend(truth.copies_ahead().into_iter().map(Note::CopyAhead));
    }
    let several = declared.postgres().count() > 1;
    for (name, seen) in in_file_order(declared, truth) {
        let node = name.clone();
        if several && seen.followers.is_none() {
            notes.push(Note::NotFollowed(node.clone()));
        }
        let outside = seen.held().without(&all);
        if !outside.is_empty() {
            let count = declared.shards.get();
            notes.push(Note::Outside { node: node.clone(), shards: outside, count });
        }
        let weight = declared.node(name).map_or(0, |node| node.weight);
        if weight > 0 && map.on(name).is_empty() {
            notes.push(Note::Empty(node));
        }
    }
    notes
}
