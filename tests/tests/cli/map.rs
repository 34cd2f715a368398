//! The map in every form.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::cluster::Cluster;

#[test]
fn the_map_is_printed_for_people_and_for_programs() {
    let cluster = Cluster::of(2, 6);
    let error = cluster.run(&["map"]).refused();
    assert!(
        error.contains("the cluster has no map yet") && error.contains("`shardid apply`"),
        "{error}"
    );
    cluster.run(&["apply", "--yes"]).ok();
    let table = cluster.run(&["map"]).ok();
    assert_eq!(
        table,
        "cluster photos: map version 1, 6 shards\n\nNODE  SHARDS  WHICH\npg1        3  0-2\npg2        3  3-5\n"
    );
    let csv = cluster.run(&["map", "--format", "csv"]).ok();
    assert_eq!(csv, "shard,node\n0,pg1\n1,pg1\n2,pg1\n3,pg2\n4,pg2\n5,pg2\n");
    let json = cluster.run(&["map", "--format", "json"]).ok();
    let flat: String = json.split_whitespace().collect();
    assert!(flat.starts_with(r#"{"cluster":"photos","layout":"instagram","version":1,"shards":6,"map":[{"shard":0,"node":"pg1"},"#), "{json}");
}

#[test]
fn pgdog_gets_a_database_per_node_and_a_schema_per_shard() {
    let cluster = Cluster::of(2, 2);
    cluster.nodes[0].psql("CREATE EXTENSION shardid; SELECT create_shard(0, 'odd name')");
    cluster.run(&["apply", "--yes"]).ok();
    let text = cluster.run(&["map", "--format", "pgdog"]).ok();
    let database = |node: usize| {
        let port = cluster.nodes[node].server().port();
        let name = cluster.nodes[node].name();
        format!(
            "[[databases]]\nname = \"photos\"\nhost = \"127.0.0.1\"\nport = {port}\ndatabase_name = \"{name}\"\nshard = {node}\n"
        )
    };
    let schema = |name: &str, node: usize| {
        format!("[[sharded_schemas]]\ndatabase = \"photos\"\nname = \"{name}\"\nshard = {node}\n")
    };
    let parts = [database(0), database(1), schema("odd name", 0), schema("shard_0001", 1)];
    assert_eq!(text, format!("# shardid: cluster photos, map version 1\n\n{}", parts.join("\n")));
}

#[test]
fn whoever_watches_the_map_sees_each_change() {
    let cluster = Cluster::applied(2, 8);
    assert_eq!(cluster.run(&["map", "--watch", "--format", "csv"]).code, 2);
    let watch = |format: &str| {
        let mut command = cluster.command(&["map", "--watch", "--format", format]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        (child, lines, first)
    };
    let (mut people, mut people_lines, people_first) = watch("table");
    let (mut programs, mut programs_lines, programs_first) = watch("json");
    assert!(people_first.ends_with("  map version 1: 0-3 on pg1; 4-7 on pg2"), "{people_first}");
    assert!(programs_first.contains(r#""version":1"#), "{programs_first}");
    cluster.nodes[0].psql(
        "BEGIN;
         UPDATE shardid.map SET node = 'pg2', map_version = 2 WHERE shard IN (1, 2);
         UPDATE shardid.catalog SET map_version = 2;
         NOTIFY shardid_map, '2';
         COMMIT;",
    );
    let line = people_lines.next().unwrap().unwrap();
    assert!(line.ends_with("  map version 2: 1-2 from pg1 to pg2"), "{line}");
    let line = programs_lines.next().unwrap().unwrap();
    assert_eq!(line, r#"{"version":2,"changes":[{"shards":"1-2","from":"pg1","to":"pg2"}]}"#);
    for child in [&mut people, &mut programs] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
