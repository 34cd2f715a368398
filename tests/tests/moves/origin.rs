//! The node that has a shard is promoted or restored while the shard is copied from it: the copy may have
//! the only rows that the node has lost, and is dropped only by who has been told.

use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate};
use shardid_tests::{Server, wait_until};

use crate::gone::shard_on;
use crate::switched::{fail_over, standby_behind};

/// Begins to move a shard from pg2 to pg3, and writes a row when it follows, which comes to the copy; a
/// standby of pg2 has the row, or lacks it. The move is cut at a place.
fn cut_move(estate: &Estate, place: &str, is_behind: bool) -> (u32, String, String, Server) {
    let (shard, write) = shard_on(estate, "pg2");
    estate.psql("pg2", &write);
    let number = shard.to_string();
    let held = if place.starts_with("copying/") {
        "copying/before-MakeIndexes"
    } else {
        "following/before-LowerFence"
    };
    let command = ["move", &number, "--to", "pg3", "--yes"];
    let mut held = estate.run_held_then_cut(held, place, &command);
    let standby = standby_behind(estate, "pg2");
    estate.psql("pg2", &write);
    let last = estate.psql("pg2", &rows(shard));
    wait_until(Duration::from_secs(60), "the new copy to have the row", || {
        estate.psql("pg3", &rows(shard)) == last
    });
    if !is_behind {
        standby.start();
        estate.node("pg2").wait_for(&standby);
        standby.stop();
    }
    held.go_on();
    assert_eq!(held.end().code, -1, "{place}");
    (shard, write, estate.last_move(shard), standby)
}

fn rows(shard: u32) -> String {
    format!("SELECT count(*), max(n) FROM shard_{shard:04}.item")
}

/// `abort`, which was the only word, dropped the copy with them.
#[test]
fn a_copy_that_has_what_a_promoted_source_has_lost_is_kept_until_that_is_accepted() {
    for (place, state) in [
        ("copying/before-PrepareWayBack", "copying"),
        ("following/before-Compare", "following"),
        ("fenced/after-AwaitDrained", "fenced"),
        ("fenced/after-AwaitDrained", "aborting"),
    ] {
        let mut estate = Estate::start(3, 4);
        let (shard, write, id, standby) = cut_move(&estate, place, true);
        if state == "aborting" {
            estate.run_cut("aborting/before-RemoveAll", &["abort", &id, "--yes"]);
        }
        assert_eq!(estate.state(&id), state);
        let last = estate.psql("pg3", &rows(shard));
        fail_over(&mut estate, "pg2", standby);
        assert_ne!(estate.psql("pg2", &rows(shard)), last, "{state}: the test shows nothing");
        if state == "following" {
            estate.run(&["apply", "--adopt", "pg2", "--yes"]);
        }
        let says = format!(
            "the copy of shard {shard} on pg3 may have rows that node pg2 has lost: it was promoted or restored, and is on timeline 2, which does not have all of timeline 1"
        );
        let instead = format!("`shardid abort {id} --accept-loss`");
        let plain = format!("`shardid abort {id}`");
        for command in [&["moves"][..], &["verify"], &["resume", &id, "--stall-seconds-max", "10"]]
        {
            let run = estate.run(command);
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(said.contains(&says) && said.contains(&instead), "{state} {command:?}: {said}");
            assert!(!said.contains(&plain), "{state} {command:?}: {said}");
        }
        let shown = estate.run(&["abort", &id, "--dry-run"]).ok();
        assert!(shown.contains(&format!("{says}, and is kept")), "{state}: {shown}");
        for command in [&["abort", &id, "--yes"], &["resume", &id, "--verify=none"][..]] {
            let refused = estate.run(command);
            assert_eq!(refused.code, 3, "{state}: {}", refused.stderr);
            assert!(refused.stderr.contains(&says), "{state}: {}", refused.stderr);
            assert!(refused.stderr.contains(&instead), "{state}: {}", refused.stderr);
            // Writers go on meanwhile, and nothing is dropped.
            estate.psql("pg2", &write);
            assert_eq!(estate.psql("pg3", &rows(shard)), last, "{state}");
        }
        assert_eq!((estate.state(&id).as_str(), estate.home(shard).as_str()), ("aborting", "pg2"));
        let word = if state == "following" { "resume" } else { "abort" };
        let mut end = vec![word, &id, "--accept-loss"];
        end.extend((word == "abort").then_some("--yes"));
        // Cut once its own work has taken away what it would be known by.
        estate.run_cut("gone/slot", &end);
        estate.run(&end).ok();
        assert_eq!(estate.state(&id), "aborted", "{state}");
        estate.psql("pg2", &write);
        estate.assert_no_trace(shard);
        estate.run(&["verify"]).ok();
    }
}

/// It was forgotten without a word, with the disk of its node to be thrown away.
#[test]
fn a_copy_whose_node_is_gone_is_named_before_it_is_forgotten() {
    let mut estate = Estate::start(3, 4);
    let (shard, write, id, standby) = cut_move(&estate, "fenced/after-AwaitDrained", true);
    fail_over(&mut estate, "pg2", standby);
    estate.node("pg3").kill9();
    let gone = ["abort", &id, "--gone", "pg3", "--yes"];
    let instead = format!("`shardid abort {id} --gone pg3 --accept-loss` gives the move up");
    for _ in 0..2 {
        let refused = estate.run(&gone);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        let says = format!("the copy of shard {shard} on pg3 may have rows that node pg2 has lost");
        assert!(refused.stderr.contains(&says), "{}", refused.stderr);
        assert!(refused.stderr.contains(&instead), "{}", refused.stderr);
        // Writers go on meanwhile.
        estate.psql("pg2", &write);
        assert_eq!(estate.state(&id), "aborting");
    }
    estate.run(&[&gone[..], &["--accept-loss"]].concat()).ok();
    assert_eq!((estate.state(&id).as_str(), estate.home(shard).as_str()), ("aborted", "pg2"));
    estate.psql("pg2", &write);
}

#[test]
fn a_copy_that_has_no_more_than_its_promoted_source_is_dropped() {
    let mut estate = Estate::start(3, 4);
    let (shard, write, id, standby) = cut_move(&estate, "following/before-Compare", false);
    fail_over(&mut estate, "pg2", standby);
    assert_eq!(estate.psql("pg2", &rows(shard)), estate.psql("pg3", &rows(shard)));
    let refused = estate.run(&["resume", &id, "--stall-seconds-max", "10"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let says = format!("replication slot shardid_move_{id} is gone");
    assert!(refused.stderr.contains(&says), "{}", refused.stderr);
    estate.run(&["abort", &id, "--yes"]).ok();
    estate.psql("pg2", &write);
    estate.assert_no_trace(shard);
}

/// Its own work takes the slot away.
#[test]
fn a_move_that_is_given_up_needs_no_word_for_what_it_has_removed_itself() {
    let estate = Estate::start(2, 4);
    for place in ["gone/subscription", "gone/slot", "gone/schema"] {
        let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
        if place == "gone/subscription" {
            estate.make_tables(shard);
        }
        let number = shard.to_string();
        estate.run_cut("following/before-next", &["move", &number, "--to", "pg2", "--yes"]);
        let id = estate.last_move(shard);
        estate.run_cut(place, &["abort", &id, "--yes"]);
        assert!(!estate.run(&["moves"]).stderr.contains("may have"), "{place}");
        estate.run(&["resume", &id]).ok();
        assert_eq!(estate.state(&id), "aborted", "{place}");
        assert!(estate.node("pg1").try_psql(DATABASE, "SELECT 1").is_ok());
        estate.assert_no_trace(shard);
    }
}
