//! The state of a cluster, for people and for programs.

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use shardid_cluster::{Engine, NodeName};

use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::statistics::{Skew, Statistics};
use crate::printable::in_one_line;
use crate::talk;
use crate::tickets::{Answer, Look};
use crate::view::table::{Column, Table};
use crate::view::{counted, day, time};

type Answers = [(NodeName, Result<Statistics, Failure>)];

/// What MySQL and MariaDB nodes said.
type Mysql<'a> = [(&'a NodeName, Result<&'a Answer, &'a Failure>)];

/// The MySQL nodes of the file; all of them are down where the catalog is,
/// without which nobody knows what to ask them.
pub(crate) fn mysql_of<'a>(
    file: &'a ClusterFile,
    look: &'a Result<Look, Failure>,
) -> Vec<(&'a NodeName, Result<&'a Answer, &'a Failure>)> {
    let nodes = file.declared.nodes.iter().filter(|node| node.engine == Engine::Mysql);
    nodes
        .filter_map(|node| match look {
            Err(failure) => Some((&node.name, Err(failure))),
            Ok(look) => {
                let (_, answer) = look.nodes.iter().find(|(name, _)| *name == node.name)?;
                Some((&node.name, answer.as_ref()))
            }
        })
        .collect()
}

/// Clocks further apart than this are worth a word.
const SKEW_MAX_US: i64 = 500_000;

/// A line about the cluster, a line per node.
pub(crate) fn text(file: &ClusterFile, nodes: &Answers, mysql: &Mysql<'_>) -> String {
    let mut table = Table::new([
        Column::left("NODE"),
        Column::left("STATE"),
        Column::left("SERVER"),
        Column::left("SHARDID"),
        Column::right("SHARDS"),
        Column::right("WEIGHT"),
        Column::right("SIZE"),
        Column::right("CLOCK"),
        Column::right("MAP"),
    ]);
    for (node, answer) in nodes {
        let weight = file.declared.node(node).map_or(0, |node| node.weight).to_string();
        let dash = || "-".to_owned();
        match answer {
            Ok(answer) => {
                let truth = &answer.seen.truth;
                let version = answer.seen.server_version.split(' ').next().unwrap_or_default();
                table.row([
                    node.to_string(),
                    state(answer).to_owned(),
                    version.to_owned(),
                    truth.extension.installed.as_ref().map_or_else(dash, ToString::to_string),
                    truth.held().len().to_string(),
                    weight,
                    answer.bytes.map_or_else(dash, bytes),
                    clock(answer.skew),
                    truth
                        .member
                        .as_ref()
                        .map_or_else(dash, |member| member.map_version.to_string()),
                ]);
            }
            Err(_) => {
                let cells = [
                    node.to_string(),
                    "down".into(),
                    dash(),
                    dash(),
                    dash(),
                    weight,
                    dash(),
                    dash(),
                    dash(),
                ];
                table.row(cells);
            }
        }
    }
    for (node, answer) in mysql {
        let dash = || "-".to_owned();
        let (state, server, schema) = match answer {
            Ok(answer) => {
                let schema = answer.server.migration.filter(|last| *last > 0);
                let state = if schema.is_some() { "up" } else { "new" };
                let schema = schema.map_or_else(dash, |last| format!("schema {last}"));
                (state, answer.version.clone(), schema)
            }
            Err(_) => ("down", dash(), dash()),
        };
        table.row([
            node.to_string(),
            state.to_owned(),
            server,
            schema,
            dash(),
            dash(),
            dash(),
            dash(),
            dash(),
        ]);
    }
    format!("{}\n\n{table}", headline(file, nodes))
}

fn headline(file: &ClusterFile, nodes: &Answers) -> String {
    let declared = &file.declared;
    if !declared.has_shards() {
        return format!(
            "cluster {}: ticket servers alone, catalog on {}",
            declared.name, declared.catalog
        );
    }
    let ends = layout(file, nodes).map(|layout| format!(", to {}", day(layout.ends_at_us())));
    let version = map_version(file, nodes).map(|version| format!("map version {version}"));
    format!(
        "cluster {}: {}, {}, catalog on {}\nlayout {}{}",
        declared.name,
        counted(declared.shards.get(), "shard"),
        version.as_deref().unwrap_or("no map yet"),
        declared.catalog,
        declared.layout,
        ends.as_deref().unwrap_or_default(),
    )
}

/// What else a person should know, below the table.
pub(crate) fn remarks(file: &ClusterFile, nodes: &Answers, mysql: &Mysql<'_>) {
    let mut said = false;
    let mut say = |text: String| {
        if !std::mem::replace(&mut said, true) {
            talk::line("");
        }
        talk::view(&text);
    };
    for (_, answer) in nodes {
        if let Err(failure) = answer {
            for (message, _) in failure.messages() {
                let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
                say(format!("{red}{}{red:#}", in_one_line(message)));
            }
        }
    }
    let mut failures: Vec<&str> = Vec::new();
    for failure in mysql.iter().filter_map(|(_, answer)| answer.err()) {
        failures.extend(failure.messages().map(|(message, _)| message));
    }
    failures.dedup();
    for message in failures {
        let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
        say(format!("{red}{}{red:#}", in_one_line(message)));
    }
    if !file.declared.tickets.is_empty() {
        let names: Vec<&str> =
            file.declared.tickets.iter().map(|ticket| ticket.name.as_str()).collect();
        let tickets = counted(names.len() as u64, "ticket");
        say(format!("{tickets}, {}: `shardid tickets status`", names.join(", ")));
    }
    let answers =
        || nodes.iter().filter_map(|(node, answer)| answer.as_ref().ok().map(|a| (node, a)));
    if let Some(apart) = skew_between(nodes).filter(|apart| *apart > SKEW_MAX_US) {
        say(format!("clocks are {} apart: check NTP on the nodes", milliseconds(apart)));
    }
    for (node, answer) in answers() {
        for drift in &answer.drifts {
            say(format!(
                "shard {} on {node} is {} ms ahead of the clock",
                drift.shard, drift.drift_ms
            ));
        }
        for slot in answer.slots.iter().filter(|slot| slot.is_lost) {
            say(format!(
                "slot {} on {node} is lost for good, and what follows by it follows no more: `shardid moves`",
                slot.slot
            ));
        }
        for slot in answer.slots.iter().filter(|slot| !slot.active && !slot.is_lost) {
            say(format!(
                "slot {} on {node} is not used and keeps {} of WAL",
                slot.slot,
                bytes(slot.bytes)
            ));
        }
        if let Some(version) = map_version(file, nodes) {
            let copy = answer.seen.truth.member.as_ref().map_or(0, |member| member.map_version.0);
            if copy != version {
                say(format!(
                    "the copy of the map on {node} is not version {version}: `shardid apply`"
                ));
            }
        }
    }
    if let Some((node, holds, share)) = uneven(file, nodes) {
        say(format!(
            "{node} holds {}, by weight it would be {share}: `shardid rebalance`",
            counted(holds, "shard")
        ));
    }
}

/// The node furthest from its share, where that is more than one shard.
fn uneven(file: &ClusterFile, nodes: &Answers) -> Option<(NodeName, u32, u32)> {
    let map = catalog_map(file, nodes)?;
    let weights: u64 = file.declared.postgres().map(|node| u64::from(node.weight)).sum();
    let share = |weight: u32| {
        (u64::from(file.declared.shards.get()) * u64::from(weight) + weights / 2)
            .checked_div(weights)
    };
    let off = |node: &shardid_cluster::DeclaredNode| {
        let holds = map.on(&node.name).len();
        let share = u32::try_from(share(node.weight)?).ok()?;
        Some((node.name.clone(), holds, share))
    };
    let furthest =
        file.declared.postgres().filter_map(off).max_by_key(|(_, h, s)| h.abs_diff(*s))?;
    (furthest.1.abs_diff(furthest.2) > 1).then_some(furthest)
}

/// The state for programs.
pub(crate) fn json(file: &ClusterFile, nodes: &Answers, mysql: &Mysql<'_>) -> Value {
    let declared = &file.declared;
    json!({
        "cluster": declared.name.as_str(),
        "shards": declared.shards.get(),
        "layout": declared.layout.as_str(),
        "layout_ends_at": layout(file, nodes).map(|layout| time(layout.ends_at_us())),
        "catalog": declared.catalog.as_str(),
        "map_version": map_version(file, nodes),
        "clocks_apart_ms": skew_between(nodes).map(whole_ms),
        "nodes": nodes
            .iter()
            .map(|(node, answer)| node_json(file, node, answer))
            .chain(mysql.iter().map(|(node, answer)| mysql_json(file, node, answer)))
            .collect::<Vec<_>>(),
    })
}

fn mysql_json(file: &ClusterFile, node: &NodeName, answer: &Result<&Answer, &Failure>) -> Value {
    let address = file.addresses.get(node).map(|address| address.shown());
    match answer {
        Ok(answer) => json!({
            "node": node.as_str(), "address": address, "state": "up", "error": null,
            "server_version": answer.version, "schema": answer.server.migration,
        }),
        Err(failure) => {
            let why: Vec<&str> = failure.messages().map(|(message, _)| message).collect();
            json!({
                "node": node.as_str(), "address": address, "state": "down", "error": why.join("; "),
            })
        }
    }
}

fn node_json(file: &ClusterFile, node: &NodeName, answer: &Result<Statistics, Failure>) -> Value {
    let address = file.addresses.get(node).map(|address| address.shown());
    let weight = file.declared.node(node).map(|node| node.weight);
    let answer = match answer {
        Ok(answer) => answer,
        Err(failure) => {
            let why: Vec<&str> = failure.messages().map(|(message, _)| message).collect();
            return json!({
                "node": node.as_str(), "address": address, "weight": weight,
                "state": "down", "error": why.join("; "),
            });
        }
    };
    let truth = &answer.seen.truth;
    let Skew { ahead_us, error_us } = answer.skew;
    json!({
        "node": node.as_str(),
        "address": address,
        "weight": weight,
        "state": state(answer),
        "error": null,
        "server_version": answer.seen.server_version,
        "extension_version": truth.extension.installed.as_ref().map(ToString::to_string),
        "system_identifier": truth.identity.system_identifier.to_string(),
        "shards": truth.held().len(),
        "shards_open": truth.open.to_string(),
        "shards_fenced": truth.fenced.to_string(),
        "bytes": answer.bytes,
        "map_version": truth.member.as_ref().map(|member| member.map_version.0),
        "clock_ahead_ms": whole_ms(ahead_us),
        "clock_error_ms": whole_ms(error_us),
        "drift": answer.drifts.iter().map(|d| json!({"shard": d.shard, "ms": d.drift_ms})).collect::<Vec<_>>(),
        "slots": answer.slots.iter()
            .map(|s| json!({"slot": s.slot, "active": s.active, "lost": s.is_lost, "bytes": s.bytes}))
            .collect::<Vec<_>>(),
    })
}

fn state(answer: &Statistics) -> &'static str {
    let truth = &answer.seen.truth;
    match () {
        () if truth.standby => "standby",
        () if truth.member.is_none() => "new",
        () => "up",
    }
}

fn catalog_map<'a>(
    file: &ClusterFile,
    nodes: &'a Answers,
) -> Option<&'a shardid_cluster::ShardMap> {
    let (_, keeper) = nodes.iter().find(|(node, _)| *node == file.declared.catalog)?;
    let catalog = keeper.as_ref().ok()?.seen.catalog.as_ref()?;
    (catalog.map.version.0 > 0).then_some(&catalog.map)
}

/// The version of the map: the catalog's, or the latest copy while it is down.
fn map_version(file: &ClusterFile, nodes: &Answers) -> Option<i64> {
    let copies =
        nodes.iter().filter_map(|(_, answer)| answer.as_ref().ok()?.seen.truth.member.as_ref());
    let latest = || copies.map(|member| member.map_version.0).max();
    catalog_map(file, nodes).map(|map| map.version.0).or_else(latest)
}

fn layout(file: &ClusterFile, nodes: &Answers) -> Option<shardid_ids::Layout> {
    let asked = || nodes.iter().find_map(|(_, answer)| answer.as_ref().ok()?.seen.truth.layout);
    file.declared.builtin_layout().or_else(asked)
}

/// How far the nodes' clocks are apart, beyond what the measuring may be off.
fn skew_between(nodes: &Answers) -> Option<i64> {
    let skews: Vec<Skew> =
        nodes.iter().filter_map(|(_, a)| a.as_ref().ok().map(|a| a.skew)).collect();
    let most = skews.iter().map(|skew| skew.ahead_us - skew.error_us).max()?;
    let least = skews.iter().map(|skew| skew.ahead_us + skew.error_us).min()?;
    (skews.len() > 1).then_some((most - least).max(0))
}

fn whole_ms(us: i64) -> i64 {
    (us as f64 / 1000.0).round() as i64
}

/// How far a clock is ahead, where that is more than the measuring may be off.
fn clock(skew: Skew) -> String {
    milliseconds(if skew.ahead_us.abs() > skew.error_us { skew.ahead_us } else { 0 })
}

fn milliseconds(us: i64) -> String {
    match whole_ms(us) {
        ms @ -9999..=9999 => format!("{ms:+} ms").replace("+0", "0"),
        ms => format!("{:+} s", ms / 1000),
    }
}

/// Bytes in three digits or so.
fn bytes(bytes: i64) -> String {
    let mut value = bytes as f64;
    let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while let Some(next) = units.next().filter(|_| value >= 999.5) {
        value /= 1024.0;
        unit = next;
    }
    match value {
        small if small < 9.95 && unit != "B" => format!("{small:.1} {unit}"),
        other => format!("{other:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_show_their_sign_unless_they_agree() {
        assert_eq!(milliseconds(400), "0 ms");
        assert_eq!(milliseconds(-2600), "-3 ms");
        assert_eq!(milliseconds(3_600_000_000), "+3600 s");
    }

    #[test]
    fn sizes_are_short() {
        let shown = [0, 999, 1000, 729_088, 1_048_576, 12_345_678_901, i64::MAX].map(bytes);
        assert_eq!(
            shown,
            ["0 B", "999 B", "1.0 KiB", "712 KiB", "1.0 MiB", "11 GiB", "8388608 TiB"]
        );
    }
}
