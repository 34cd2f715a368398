//! The map for people, for programs, and for PgDog.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shardid_cluster::{Declared, NodeName, Shard, ShardMap};

use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::view::table::{Column, Table};
use crate::view::{counted, ranges};

/// A line per node.
pub(crate) fn table(file: &ClusterFile, map: &ShardMap) -> String {
    let declared = &file.declared;
    let mut table =
        Table::new([Column::left("NODE"), Column::right("SHARDS"), Column::left("WHICH")]);
    for node in declared.postgres() {
        let shards = map.on(&node.name);
        table.row([node.name.to_string(), shards.len().to_string(), ranges(&shards)]);
    }
    for (node, shards) in map.nodes().filter(|(node, _)| declared.node(node).is_none()) {
        table.row([format!("{node} (not in the file)"), shards.len().to_string(), ranges(shards)]);
    }
    let shards = counted(map.shards().len(), "shard");
    format!("cluster {}: map version {}, {shards}\n\n{table}", declared.name, map.version)
}

/// Every shard with its node.
pub(crate) fn json(declared: &Declared, map: &ShardMap) -> Value {
    let pairs = map.by_shard();
    let pair = |(shard, node): &(Shard, &NodeName)| json!({"shard": shard.number(), "node": node.as_str()});
    json!({
        "cluster": declared.name.as_str(),
        "layout": declared.layout.as_str(),
        "version": map.version.0,
        "shards": declared.shards.get(),
        "map": pairs.iter().map(pair).collect::<Vec<_>>(),
    })
}

/// What has changed in the map, on a line.
pub(crate) fn change_line(before: &ShardMap, after: &ShardMap) -> String {
    let name =
        |node: &Option<NodeName>| node.as_ref().map_or("nowhere".to_owned(), ToString::to_string);
    let changes = shardid_cluster::changes(before, after);
    let parts = changes.iter().map(|change| match before.version.0 {
        0 => format!("{} on {}", ranges(&change.shards), name(&change.to)),
        _ => format!(
            "{} from {} to {}",
            ranges(&change.shards),
            name(&change.from),
            name(&change.to)
        ),
    });
    let parts: Vec<String> = parts.collect();
    let now = super::time(jiff::Timestamp::now().as_microsecond());
    format!("{now}  map version {}: {}\n", after.version, parts.join("; "))
}

/// The same for programs: an object a line.
pub(crate) fn change_json(before: &ShardMap, after: &ShardMap) -> String {
    let name = |node: &Option<NodeName>| node.as_ref().map(NodeName::as_str).map(str::to_owned);
    let changes = shardid_cluster::changes(before, after);
    let parts = changes.iter().map(|change| {
        json!({"shards": change.shards.to_string(), "from": name(&change.from), "to": name(&change.to)})
    });
    format!("{}\n", json!({"version": after.version.0, "changes": parts.collect::<Vec<_>>()}))
}

/// A line per shard; names need no quotes.
pub(crate) fn csv(map: &ShardMap) -> String {
    let line = |(shard, node): (Shard, &NodeName)| format!("{shard},{node}\n");
    let lines: String = map.by_shard().into_iter().map(line).collect();
    format!("shard,node\n{lines}")
}

/// The databases and sharded schemas of pgdog.toml.
///
/// PgDog numbers servers from 0; ours are numbered in the order of the cluster
/// file, so a node is added at its end. Users and passwords are PgDog's own.
pub(crate) fn pgdog(
    file: &ClusterFile,
    map: &ShardMap,
    schemas: &BTreeMap<Shard, String>,
) -> Result<String, Failure> {
    let cluster = file.declared.name.as_str();
    let mut text = format!("# shardid: cluster {cluster}, map version {}\n", map.version);
    for (number, (_, address)) in file.postgres().enumerate() {
        let Some(place) = address.place() else { continue };
        let host = place.socket.map_or(place.host, |socket| socket.display().to_string());
        text.push_str(&format!(
            "\n[[databases]]\nname = {}\nhost = {}\nport = {}\ndatabase_name = {}\nshard = {number}\n",
            quoted(cluster),
            quoted(&host),
            place.port,
            quoted(&place.database),
        ));
    }
    let numbers: Vec<&NodeName> = file.postgres().map(|(node, _)| node).collect();
    for (shard, node) in map.by_shard() {
        let number = numbers.iter().position(|name| *name == node).ok_or_else(|| {
            Failure::new(format!(
                "node {node} holds shard {shard} but is not in {}",
                file.path.display()
            ))
            .hint(format!("put [nodes.{node}] back"))
        })?;
        let schema = schemas.get(&shard).ok_or_else(|| {
            Failure::new(format!("shard {shard} is not on node {node}, where the map has it"))
                .hint("see what is wrong with `shardid plan`")
        })?;
        text.push_str(&format!(
            "\n[[sharded_schemas]]\ndatabase = {}\nname = {}\nshard = {number}\n",
            quoted(cluster),
            quoted(schema)
        ));
    }
    Ok(text)
}

/// A TOML string; its escapes are those of JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
