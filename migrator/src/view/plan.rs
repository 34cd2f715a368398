//! A plan as a person would want to review it, and as JSON.

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use shardid_cluster::{
    Declared, NodeChange, NodeName, Plan, ShardSet, Step, Stream, StreamFault, Truth,
};

use crate::failure::Failure;
use crate::printable::printable;
use crate::view::{counted, ranges};

/// The plan, under a line about the cluster.
pub(crate) fn text(declared: &Declared, truth: &Truth, plan: &Plan) -> String {
    let versions = match truth.catalog.map.version == plan.map.version {
        true => format!("map version {}", plan.map.version),
        false => format!("map version {} -> {}", truth.catalog.map.version, plan.map.version),
    };
    let mut text = format!(
        "cluster {}: {}, layout {}, {versions}\n",
        declared.name,
        counted(declared.shards.get(), "shard"),
        declared.layout
    );
    let mut room = "";
    for step in &plan.steps {
        if room_of(step) != room {
            room = room_of(step);
            text.push_str(&format!("\n{room}\n"));
        }
        for line in lines(step) {
            let style = style_of(&line);
            text.push_str(&format!("  {style}{}{style:#}\n", printable(&line)));
        }
    }
    for note in &plan.notes {
        text.push_str(&format!("\nnote: {}\n", printable(&note.to_string())));
    }
    text
}

/// The heading that a step stands under.
fn room_of(step: &Step) -> &'static str {
    match step {
        Step::InstallExtension { .. } | Step::UpgradeExtension { .. } => "extension",
        Step::MigrateCatalog { .. }
        | Step::RenameNode { .. }
        | Step::WriteNode { .. }
        | Step::RemoveNode { .. } => "catalog",
        Step::WriteMap { .. } | Step::RebuildMap { .. } => "map",
        Step::CreateShards { .. }
        | Step::TellNode { .. }
        | Step::OpenShards { .. }
        | Step::TakeAwayFences { .. } => "shards",
        Step::LetFollow { .. } | Step::Connect { .. } | Step::ForgetFollowers { .. } => "following",
    }
}

/// Green for what is made, yellow for what is changed, red for what goes. The
/// streams that this is printed to leave it out where there is no terminal.
fn style_of(line: &str) -> Style {
    let color = match line.chars().next() {
        Some('+') => AnsiColor::Green,
        Some('~') => AnsiColor::Yellow,
        _ => AnsiColor::Red,
    };
    Style::new().fg_color(Some(color.into()))
}

/// A step, as it is named when it fails.
pub(crate) fn failed(step: &Step) -> String {
    format!("this was to be done: {}", lines(step).join(", "))
}

fn lines(step: &Step) -> Vec<String> {
    match step {
        Step::InstallExtension { node, version } => {
            vec![format!("+ {node}: install shardid {version}")]
        }
        Step::UpgradeExtension { node, from, to } => {
            vec![format!("~ {node}: upgrade shardid {from} -> {to}")]
        }
        Step::MigrateCatalog { node, from: 0, to } => {
            vec![format!("+ {node}: make the tables (migrations 1 to {to})")]
        }
        Step::MigrateCatalog { node, from, to } => {
            vec![format!("~ {node}: bring the tables up to date (migrations {} to {to})", from + 1)]
        }
        Step::WriteNode { node, weight, identity, change } => vec![match change {
            NodeChange::Add => format!("+ {node}: join with weight {weight}"),
            NodeChange::Weight(before) => format!("~ {node}: weight {before} -> {weight}"),
            NodeChange::Adopt(before) => format!(
                "~ {node}: adopt {} on system {} in place of {} on system {}",
                identity.database,
                identity.system_identifier,
                before.database,
                before.system_identifier
            ),
        }],
        Step::RenameNode { rename, .. } => {
            vec![format!("~ {}: renamed from {}", rename.to, rename.from)]
        }
        Step::WriteMap { map } => {
            map.nodes().map(|(node, shards)| format!("+ {node}: {}", shards_of(shards))).collect()
        }
        Step::RebuildMap { map } => {
            let has = |(node, shards)| format!("~ {node}: has {}", shards_of(shards));
            map.nodes().map(has).collect()
        }
        Step::CreateShards { node, shards } => {
            vec![format!("+ {node}: create {}", shards_of(shards))]
        }
        Step::TellNode { node, was: Some(was), to, .. } => {
            vec![format!("~ {node}: knows itself as {was} no more; copy of the map, version {to}")]
        }
        Step::TellNode { node, from, to, .. } if from.0 == 0 => {
            vec![format!("+ {node}: copy of the map, version {to}")]
        }
        Step::TellNode { node, from, to, shards, .. } if from == to => {
            vec![format!("~ {node}: copy of the map, {}", shards_of(shards))]
        }
        Step::TellNode { node, from, to, .. } => {
            vec![format!("~ {node}: copy of the map, version {from} -> {to}")]
        }
        Step::OpenShards { node, shards } => {
            let which = shards_of(shards);
            vec![format!("~ {node}: open {which} (no move goes on with them)")]
        }
        Step::TakeAwayFences { node, shards } => {
            let which = shards_of(shards);
            vec![format!(
                "~ {node}: take away what a fence has left around {which} (open, and it slows writes)"
            )]
        }
        Step::RemoveNode { node } => vec![format!("- {node}: forget")],
        Step::LetFollow { node, followers } => {
            vec![format!("+ {node}: let {} follow, by a role for each", names_of(followers))]
        }
        Step::Connect { node, streams } => streams
            .iter()
            .map(|stream| format!("~ {node}: connect {} anew: {}", stream.name, why(stream)))
            .collect(),
        Step::ForgetFollowers { node, roles } => {
            roles.iter().map(|role| format!("- {node}: role {role}")).collect()
        }
    }
}

fn names_of(followers: &[(NodeName, String)]) -> String {
    let names: Vec<&str> = followers.iter().map(|(node, _)| node.as_str()).collect();
    names.join(", ")
}

fn why(stream: &Stream) -> String {
    let publisher = &stream.publisher;
    match stream.fault {
        Some(StreamFault::Login) => format!("{publisher} does not let it in as it should"),
        Some(StreamFault::Address) => format!("{publisher} has another address"),
        Some(StreamFault::Rights) => "it is applied with a superuser's rights".to_owned(),
        Some(StreamFault::Secret) | None => format!("a new secret at {publisher}"),
    }
}

fn shards_of(shards: &ShardSet) -> String {
    format!("{}: {}", counted(shards.len(), "shard"), ranges(shards))
}

/// What is said once a step is done.
pub(crate) fn done(step: &Step) -> String {
    match step {
        Step::InstallExtension { node, version } => format!("{node}: installed shardid {version}"),
        Step::UpgradeExtension { node, to, .. } => format!("{node}: upgraded shardid to {to}"),
        Step::MigrateCatalog { node, to, .. } => format!("{node}: catalog is at migration {to}"),
        Step::WriteNode { node, change: NodeChange::Add, .. } => format!("{node}: joined"),
        Step::WriteNode { node, change: NodeChange::Weight(_), weight, .. } => {
            format!("{node}: has weight {weight}")
        }
        Step::WriteNode { node, change: NodeChange::Adopt(_), .. } => format!("{node}: adopted"),
        Step::RenameNode { rename, .. } => format!("{}: renamed from {}", rename.to, rename.from),
        Step::WriteMap { map } | Step::RebuildMap { map } => {
            format!("map: wrote version {}", map.version)
        }
        Step::CreateShards { node, shards } => {
            format!("{node}: created {}", counted(shards.len(), "shard"))
        }
        Step::TellNode { node, to, .. } => format!("{node}: has map version {to}"),
        Step::OpenShards { node, shards } => {
            format!("{node}: {} can be written to again", counted(shards.len(), "shard"))
        }
        Step::TakeAwayFences { node, shards } => {
            format!("{node}: nothing of a fence is left around {}", counted(shards.len(), "shard"))
        }
        Step::RemoveNode { node } => format!("{node}: forgotten"),
        Step::LetFollow { node, followers } => {
            format!("{node}: can be followed by {}", names_of(followers))
        }
        Step::Connect { node, streams } => {
            format!("{node}: connected {} anew", counted(streams.len() as u64, "stream"))
        }
        Step::ForgetFollowers { node, roles } => {
            format!("{node}: dropped {}", counted(roles.len() as u64, "role"))
        }
    }
}

/// The plan for programs.
pub(crate) fn json(declared: &Declared, truth: &Truth, plan: &Plan) -> Value {
    json!({
        "cluster": declared.name.as_str(),
        "layout": declared.layout.as_str(),
        "shards": declared.shards.get(),
        "map_version": { "from": truth.catalog.map.version.0, "to": plan.map.version.0 },
        "steps": plan.steps.iter().map(step_json).collect::<Vec<_>>(),
        "notes": plan.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "refused": [],
    })
}

/// The reasons why there is no plan, for programs.
pub(crate) fn refused_json(declared: &Declared, refused: &Failure) -> Value {
    let reasons =
        refused.messages().map(|(message, hint)| json!({"message": message, "hint": hint}));
    json!({
        "cluster": declared.name.as_str(),
        "layout": declared.layout.as_str(),
        "shards": declared.shards.get(),
        "steps": null,
        "refused": reasons.collect::<Vec<_>>(),
    })
}

fn step_json(step: &Step) -> Value {
    let count = |shards: &ShardSet| json!(shards.len());
    match step {
        Step::InstallExtension { node, version } => {
            json!({"do": "install_extension", "node": node.as_str(), "version": version.to_string()})
        }
        Step::UpgradeExtension { node, from, to } => json!({
            "do": "upgrade_extension", "node": node.as_str(), "from": from.to_string(), "to": to.to_string(),
        }),
        Step::MigrateCatalog { node, from, to } => {
            json!({"do": "migrate_catalog", "node": node.as_str(), "from": from, "to": to})
        }
        Step::WriteNode { node, weight, change, .. } => {
            let change = match change {
                NodeChange::Add => "add",
                NodeChange::Weight(_) => "weight",
                NodeChange::Adopt(_) => "adopt",
            };
            json!({"do": "write_node", "node": node.as_str(), "weight": weight, "change": change})
        }
        Step::RenameNode { rename, version, .. } => json!({
            "do": "rename_node", "node": rename.to.as_str(), "from": rename.from.as_str(), "version": version.0,
        }),
        Step::WriteMap { map } | Step::RebuildMap { map } => {
            let places: serde_json::Map<String, Value> = map
                .nodes()
                .map(|(node, shards)| (node.to_string(), json!(shards.to_string())))
                .collect();
            let step =
                if matches!(step, Step::WriteMap { .. }) { "write_map" } else { "rebuild_map" };
            json!({"do": step, "version": map.version.0, "nodes": places})
        }
        Step::CreateShards { node, shards } => json!({
            "do": "create_shards", "node": node.as_str(), "shards": shards.to_string(), "count": count(shards),
        }),
        Step::TellNode { node, was, from, to, shards } => json!({
            "do": "tell_node", "node": node.as_str(), "was": was, "from": from.0, "to": to.0,
            "shards": shards.to_string(), "count": count(shards),
        }),
        Step::OpenShards { node, shards } => json!({
            "do": "open_shards", "node": node.as_str(), "shards": shards.to_string(), "count": count(shards),
        }),
        Step::TakeAwayFences { node, shards } => json!({
            "do": "take_away_fences", "node": node.as_str(), "shards": shards.to_string(), "count": count(shards),
        }),
        Step::RemoveNode { node } => json!({"do": "remove_node", "node": node.as_str()}),
        Step::LetFollow { node, followers } => {
            let names: Vec<&str> = followers.iter().map(|(name, _)| name.as_str()).collect();
            json!({"do": "let_follow", "node": node.as_str(), "followers": names})
        }
        Step::Connect { node, streams } => {
            let names: Vec<&str> = streams.iter().map(|stream| stream.name.as_str()).collect();
            json!({"do": "connect", "node": node.as_str(), "streams": names})
        }
        Step::ForgetFollowers { node, roles } => {
            json!({"do": "forget_followers", "node": node.as_str(), "roles": roles})
        }
    }
}
