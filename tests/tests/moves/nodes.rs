//! Nodes come and go: the journal outlives them.

use std::fs;

use shardid_tests::estate::{DATABASE, Estate};

/// The cluster file without a node, or with one more name for a server.
fn declare(estate: &Estate, nodes: &[(&str, &str)]) {
    let mut text = "[cluster]\nname = \"photos\"\nshards = 4\ncatalog = \"pg1\"\n".to_owned();
    for (name, server) in nodes {
        let url = estate.node(server).url(DATABASE);
        text.push_str(&format!("\n[nodes.{name}]\nurl = \"{url}\"\n"));
    }
    fs::write(estate.folder().join("shardid.toml"), text).expect("the folder is ours");
}

#[test]
fn a_node_can_go_once_no_move_needs_it_and_one_database_is_one_node() {
    let estate = Estate::start(2, 4);
    // One server under two names: a move between them would copy a shard onto itself.
    declare(&estate, &[("pg1", "pg1"), ("pg2", "pg2"), ("pg3", "pg1")]);
    let refused = estate.run(&["move", "0", "--to", "pg3", "--yes"]).refused();
    assert!(refused.contains("nodes pg1 and pg3 are one database"), "{refused}");
    // Under another name it is not taken for a new one.
    declare(&estate, &[("pg1", "pg1"), ("pg9", "pg2")]);
    let refused = estate.run(&["plan"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("pg2"), "{}", refused.stderr);

    declare(&estate, &[("pg1", "pg1"), ("pg2", "pg2")]);
    estate.run(&["drain", "pg2", "--yes"]).ok();
    declare(&estate, &[("pg1", "pg1")]);
    let refused = estate.run(&["apply", "--yes"]).refused();
    let moves =
        estate.psql("pg1", "SELECT string_agg(move::text, ', ' ORDER BY move) FROM shardid.move");
    assert!(refused.contains(&format!("but moves {moves} need it")), "{refused}");
    declare(&estate, &[("pg1", "pg1"), ("pg2", "pg2")]);
    estate.run(&["retire", "--all", "--yes"]).ok();
    declare(&estate, &[("pg1", "pg1")]);
    estate.run(&["apply", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", "SELECT string_agg(node, ',') FROM shardid.node"), "pg1");
    // What it took part in is still told.
    let told = estate.run(&["moves"]).ok();
    assert!(told.contains("pg2"), "{told}");
    let plan = estate.run(&["plan"]);
    assert!(
        plan.code == 0 && plan.stdout.contains("nothing to do"),
        "{}{}",
        plan.stdout,
        plan.stderr
    );
}
