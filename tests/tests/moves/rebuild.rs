//! The catalog is made anew from the nodes while a program that moves a shard stands still, or a node is back
//! that was given up.

use shardid_tests::estate::{DATABASE, Estate};

use crate::catalog::{is_as_the_file_says, lose, shard_on_pg1};
use crate::gone::shard_on;

/// It had written catalog and map before it knew that a node could be told, and when the program went on
/// the shard was open nowhere, for good.
#[test]
fn a_program_that_stood_still_changes_nothing_after_the_catalog_was_made_anew() {
    for place in ["switched/before-GuardSource", "switched/before-OpenTarget"] {
        let estate = Estate::start(3, 4);
        let (shard, write) = shard_on(&estate, "pg2");
        estate.psql("pg2", &write);
        let held = estate.run_held(place, &["move", &shard.to_string(), "--to", "pg3", "--yes"]);
        lose(&estate);
        // Its journal was in this database. Nothing is written while it may go on.
        let refused = estate.run(&["catalog", "rebuild", "--yes"]).refused();
        let says = format!("is working on a move of shard {shard}\n");
        assert!(refused.contains("node pg1: process ") && refused.contains(&says), "{refused}");
        assert_eq!(estate.psql("pg1", "SELECT to_regclass('shardid.catalog') IS NULL"), "t");
        let end = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = 324843900";
        assert_eq!(estate.psql("pg1", end), "t");
        estate.run(&["catalog", "rebuild", "--yes"]).ok();
        assert_ne!(held.let_go().code, 0, "{place}");
        estate.run(&["apply", "--yes"]).ok();
        is_as_the_file_says(&estate);
        let home = estate.home(shard);
        let other = if home == "pg2" { "pg3" } else { "pg2" };
        estate.psql(&home, &write);
        assert!(estate.node(other).try_psql(DATABASE, &write).is_err(), "{place}: {other}");
        let open = format!("SELECT state FROM shardid.shard WHERE shard = {shard}");
        assert_eq!(estate.psql(&home, &open), "open", "{place}");
    }
}

#[test]
fn nothing_is_written_where_a_node_cannot_be_claimed() {
    let estate = Estate::start(2, 4);
    let (shard, _) = shard_on_pg1(&estate);
    lose(&estate);
    // A session that no program would end.
    let mut holder = estate.node("pg2").connect(DATABASE);
    holder.batch_execute("SET application_name = 'somebody'").unwrap();
    holder
        .batch_execute(&format!(
            "SELECT shardid.claim_shard({shard}, 1); BEGIN; SELECT shardid.check_term({shard}, 1)"
        ))
        .unwrap();
    let refused = estate.run(&["catalog", "rebuild", "--yes"]).refused();
    assert!(refused.contains("node pg2: process "), "{refused}");
    assert!(refused.contains("somebody) has shards in hand"), "{refused}");
    assert!(refused.contains("pg_terminate_backend"), "{refused}");
    assert_eq!(estate.psql("pg1", "SELECT to_regclass('shardid.catalog') IS NULL"), "t");
    let version = "SELECT map_version FROM shardid.cluster";
    assert_eq!(estate.psql("pg1", version) + &estate.psql("pg2", version), "11");
    holder.batch_execute("ROLLBACK").unwrap();
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    is_as_the_file_says(&estate);
}

/// `rebuild` named `verify`, and that named `rebuild`.
#[test]
fn a_node_that_is_back_from_before_the_end_of_a_move_is_closed_as_verify_says_without_a_catalog() {
    let estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    let number = shard.to_string();
    estate.run_cut("switched/before-GuardSource", &["move", &number, "--to", "pg3", "--yes"]);
    let id = estate.last_move(shard);
    estate.node("pg2").kill9();
    estate.run(&["resume", &id, "--gone", "pg2"]).ok();
    estate.psql("pg3", &write);
    estate.servers[1].start();
    lose(&estate);
    let refused = estate.run(&["catalog", "rebuild", "--yes"]).refused();
    assert!(refused.contains("`shardid verify` says which copy"), "{refused}");
    let found = estate.run(&["verify"]).stdout;
    let says = format!(
        "shard {shard} is open on pg3, and on pg2 behind a fence: the one on pg2 is of an older map"
    );
    let line =
        found.lines().find(|line| line.starts_with(&says)).unwrap_or_else(|| panic!("{found}"));
    let statement = line.rsplit_once(": on pg2 `").expect("a command").1;
    estate.psql("pg2", statement.trim_end_matches('`'));
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    is_as_the_file_says(&estate);
    assert_eq!(estate.home(shard), "pg3");
    estate.psql("pg3", &write);
}
