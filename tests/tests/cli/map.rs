//! The map in every form.

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
