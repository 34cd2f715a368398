//! What is refused is refused before anything is changed, with what helps.

use crate::cluster::Cluster;

/// Runs an apply that must be refused without touching anything.
#[track_caller]
fn refused(cluster: &Cluster) -> String {
    let before = cluster.rows();
    let error = cluster.run(&["apply", "--yes"]).refused();
    assert_eq!(before, cluster.rows());
    error
}

#[test]
fn what_a_cluster_is_for_life_cannot_be_changed() {
    let cluster = Cluster::applied(2, 8);
    cluster.edit("shards = 8", "shards = 16");
    let error = refused(&cluster);
    assert!(error.contains("cluster photos has 8 shards for the whole of its life"), "{error}");
    assert!(error.contains("put `shards = 8` back"), "{error}");
    cluster.edit("shards = 16", "shards = 8\nlayout = \"snowflake\"");
    assert!(refused(&cluster).contains("has layout instagram for the whole of its life"));
    cluster.edit("layout = \"snowflake\"", "");
    cluster.edit("\"photos\"", "\"pics\"");
    assert!(refused(&cluster).contains("the catalog on pg1 is about cluster photos, not pics"));
    cluster.edit("\"pics\"", "\"photos\"");
    cluster.edit("catalog = \"pg1\"", "catalog = \"pg2\"");
    assert!(
        refused(&cluster).contains("pg2 has no catalog, but node pg1 belongs to cluster photos")
    );
}

#[test]
fn a_node_that_holds_shards_cannot_be_left_out() {
    let cluster = Cluster::applied(2, 8);
    let text = std::fs::read_to_string(cluster.folder().join("shardid.toml")).unwrap();
    cluster.write(&text[..text.find("[nodes.pg2]").unwrap()]);
    let error = refused(&cluster);
    assert!(
        error.contains("node pg2 is not in the cluster file, but it holds 4 shards (4-7)"),
        "{error}"
    );
    assert!(error.contains("`shardid drain pg2`"), "{error}");
}

#[test]
fn addresses_that_lead_to_the_wrong_database_are_noticed() {
    let cluster = Cluster::applied(2, 8);
    let (one, two) = (cluster.nodes[0].url(), cluster.nodes[1].url());
    cluster.edit(&two, &one);
    assert!(refused(&cluster).contains("nodes pg1 and pg2 are the same database"));
    cluster.declare(8, |_| String::new());
    cluster.edit(&one, "postgres://swap");
    cluster.edit(&two, &one);
    cluster.edit("postgres://swap", &two);
    // The catalog is now looked for where it is not.
    assert!(refused(&cluster).contains("pg1 has no catalog"));
    cluster.edit("catalog = \"pg1\"", "catalog = \"pg2\"");
    let error = refused(&cluster);
    assert!(error.contains("the database at pg1's address is node pg2"), "{error}");
    assert!(error.contains("the database at pg2's address is node pg1"), "{error}");

    let other = Cluster::of(1, 8);
    other.edit("\"photos\"", "\"pics\"");
    other.edit(&other.nodes[0].url(), &two);
    assert!(refused(&other).contains("belongs to cluster photos"));
}

#[test]
fn shards_in_two_places_are_refused_with_the_command_that_mends_it() {
    let before = Cluster::of(2, 8);
    for node in &before.nodes {
        node.psql("CREATE EXTENSION shardid; SELECT create_shard(5)");
    }
    let error = refused(&before);
    assert!(error.contains("shard 5 is open on two nodes, pg1 and pg2"), "{error}");
    assert!(error.contains("`shardid moves` shows a move of shard 5"), "{error}");
    before.nodes[0].psql("SELECT drop_shard(5)");
    before.run(&["apply", "--yes"]).ok();
    assert!(before.run(&["map", "--format", "csv"]).ok().contains("\n5,pg2\n"));

    let layouts = Cluster::of(1, 8);
    layouts.nodes[0]
        .psql("CREATE EXTENSION shardid; SELECT create_shard(2, layout => 'snowflake')");
    assert!(
        refused(&layouts)
            .contains("shard 2 is on pg1 with another layout than the cluster's instagram")
    );
}

#[test]
fn an_edited_migration_and_a_newer_catalog_are_refused_by_name() {
    let cluster = Cluster::applied(1, 4);
    let pg1 = &cluster.nodes[0];
    pg1.psql("UPDATE shardid.catalog_history SET checksum = '1' WHERE version = 3");
    let error = refused(&cluster);
    assert!(error.contains("migration 3 (map) of the catalog on pg1 is not the one"), "{error}");
    pg1.psql("DELETE FROM shardid.catalog_history WHERE version = 3");
    pg1.psql("UPDATE shardid.catalog SET program = '7.8.9'");
    pg1.psql("INSERT INTO shardid.catalog_history SELECT 99, 'later', applied_on, '5' FROM shardid.catalog_history LIMIT 1");
    let error = refused(&cluster);
    assert!(error.contains("was brought up to date by shardid 7.8.9"), "{error}");
    assert!(error.contains("use shardid 7.8.9 or later"), "{error}");
}

#[test]
fn a_layout_of_ones_own_must_be_the_same_everywhere() {
    let cluster = Cluster::of(2, 8);
    cluster.edit("shards = 8", "shards = 8\nlayout = \"mine\"");
    let error = refused(&cluster);
    assert!(error.contains("node pg1 has no layout mine"), "{error}");
    for (node, slots) in cluster.nodes.iter().zip([1024, 2048]) {
        node.psql(&format!(
            "CREATE EXTENSION shardid; SELECT create_layout('mine', '2026-01-01', '1 ms', 64, {slots})"
        ));
    }
    assert!(refused(&cluster).contains("layout mine is not the same on nodes pg1 and pg2"));
    cluster.nodes[1].psql("DELETE FROM shardid.layout WHERE name = 'mine'; SELECT create_layout('mine', '2026-01-01', '1 ms', 64, 1024)");
    cluster.run(&["apply", "--yes"]).ok();
    let id = cluster.run(&["id", "next", "7"]).ok();
    let decoded = cluster.run(&["id", "decode", id.trim()]).ok();
    assert!(decoded.lines().nth(1).unwrap().trim_end().ends_with("7     0"), "{decoded}");
}
