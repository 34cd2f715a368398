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

#[test]
fn a_node_that_an_apply_was_cut_over_is_refused_as_a_target_until_the_next_apply() {
    let estate = Estate::start(3, 6);
    estate.make_tables(0);
    let whole = |estate: &Estate| {
        let plan = estate.run(&["plan"]);
        assert!(plan.stdout.contains("nothing to do"), "{}{}", plan.stdout, plan.stderr);
        estate.assert_no_trace(0);
        estate.assert_no_streams();
    };
    estate.run(&["drain", "pg3", "--yes"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    // The roles by which servers follow each other are theirs, and outlive the database.
    for place in ["apply/before-Shards-pg3", "apply/before-Extension-pg3"] {
        let server = estate.node("pg3");
        server.psql("postgres", &format!("DROP DATABASE {DATABASE} WITH (FORCE)"));
        server.psql("postgres", &format!("CREATE DATABASE {DATABASE}"));
        estate.run_cut(place, &["apply", "--yes"]);
        let run = estate.run(&["move", "0", "--to", "pg3", "--yes"]);
        let last = estate.last_move(0);
        let refused = run.refused();
        assert!(refused.contains("`shardid apply`"), "{place}: {refused}");
        assert_eq!(last, "", "{place}: nothing was begun");
        estate.run(&["apply", "--yes"]).ok();
        whole(&estate);
    }
}

#[test]
fn a_node_that_was_told_of_some_shards_only_takes_another_one() {
    let estate = Estate::start(3, 6);
    estate.make_tables(0);
    estate.make_tables(2);
    estate.run(&["drain", "pg3", "--yes"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    let server = estate.node("pg3");
    server.psql("postgres", &format!("DROP DATABASE {DATABASE} WITH (FORCE)"));
    server.psql("postgres", &format!("CREATE DATABASE {DATABASE}"));
    estate.run_cut("apply/before-Shards-pg3", &["apply", "--yes"]);
    // A move between two others tells it of the one shard.
    let shard = 2;
    let to = if estate.home(shard) == "pg1" { "pg2" } else { "pg1" };
    estate.run(&["move", "2", "--to", to, "--yes"]).ok();
    assert_eq!(estate.psql("pg3", "SELECT string_agg(shard::text, ',') FROM shardid.shard"), "2");
    estate.run(&["move", "0", "--to", "pg3", "--yes"]).ok();
    assert_eq!(estate.home(0), "pg3");
    assert_eq!(estate.psql("pg3", "SELECT count(shard_0000.next_id())"), "1");
    estate.run(&["rollback", &estate.last_move(0), "--yes"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    estate.run(&["apply", "--yes"]).ok();
    let plan = estate.run(&["plan"]);
    assert!(plan.stdout.contains("nothing to do"), "{}{}", plan.stdout, plan.stderr);
    estate.assert_no_trace(0);
    estate.assert_no_streams();
}
