//! Slots that are lost for good: their server has removed WAL that was not read from them yet.

use std::time::{Duration, Instant};

use shardid_tests::estate::{Estate, schema};
use shardid_tests::wait_until;

const MOVE: [&str; 5] = ["move", "0", "--to", "pg2", "--yes"];

/// Has a node lose a slot that nobody reads.
fn lose(estate: &Estate, node: &str, slot: &str) {
    let is = |what: &str| {
        estate.psql(
            node,
            &format!("SELECT {what} FROM pg_replication_slots WHERE slot_name = '{slot}'"),
        )
    };
    wait_until(Duration::from_secs(20), "the slot to be free", || is("NOT active") == "t");
    let server = estate.node(node);
    server.set_conf("max_slot_wal_keep_size = '1MB'");
    wait_until(Duration::from_secs(60), "the slot to be lost", || {
        for _ in 0..3 {
            estate.psql(
                node,
                "SELECT pg_logical_emit_message(false, 'test', 'x'); SELECT pg_switch_wal()",
            );
        }
        server.checkpoint();
        is("wal_status") == "lost"
    });
    server.set_conf("max_slot_wal_keep_size = -1");
}

/// It was said to follow and could be gone back to, which stalled, and did so again each time it was resumed.
#[test]
fn an_old_copy_whose_slot_is_lost_follows_no_more_and_is_retired() {
    let estate = Estate::start(2, 2);
    estate.make_tables(0);
    estate.run(&MOVE).ok();
    estate.psql("pg1", "ALTER SUBSCRIPTION shardid_back_1 DISABLE");
    lose(&estate, "pg2", "shardid_back_1");
    estate.psql("pg1", "ALTER SUBSCRIPTION shardid_back_1 ENABLE");

    let lost = "slot shardid_back_1 is lost for good (see wal_status in pg_replication_slots), and the old copy of shard 0 on pg1 follows no more";
    let instead = "it cannot be gone back to: `shardid retire 1`";
    let moves = estate.run(&["moves"]);
    assert!(!moves.stdout.contains("follows"), "{}", moves.stdout);
    assert!(moves.stderr.contains(&format!("node pg2: {lost}: {instead}")), "{}", moves.stderr);
    for other in ["goes back", "nobody reads"] {
        assert!(!moves.stderr.contains(other), "{other}: {}", moves.stderr);
    }
    let verified = estate.run(&["verify"]);
    assert_eq!(verified.code, 1, "{}{}", verified.stdout, verified.stderr);
    assert!(verified.stdout.contains(&format!("pg2: {lost}: {instead}")), "{}", verified.stdout);
    let status = estate.run(&["status"]);
    let says = "slot shardid_back_1 on pg2 is lost for good, and what follows by it follows no more: `shardid moves`";
    assert!(
        format!("{}{}", status.stdout, status.stderr).contains(says),
        "{}{}",
        status.stdout,
        status.stderr
    );

    // Before anything is made.
    let refused = estate.run(&["rollback", "1", "--yes"]).refused();
    assert!(refused.contains(lost) && refused.contains(instead), "{refused}");
    assert_eq!(estate.last_move(0), "1");
    // The slot is there, so nothing was restored: no word of loss is asked for.
    estate.run(&["retire", "1", "--yes"]).ok();
    estate.assert_no_trace(0);
    assert_eq!(estate.run(&["verify"]).stdout, "OK: 15 checks on 2 nodes\n");
}

/// It was said to be gone on with, and each `resume` stalled; so was a rollback.
#[test]
fn a_move_whose_slot_is_lost_is_given_up() {
    let estate = Estate::start(2, 2);
    estate.make_tables(0);
    estate.run_cut("following/before-Compare", &MOVE);
    estate.psql("pg2", "ALTER SUBSCRIPTION shardid_move_1 DISABLE");
    lose(&estate, "pg1", "shardid_move_1");
    estate.psql("pg2", "ALTER SUBSCRIPTION shardid_move_1 ENABLE");
    is_given_up(&estate, "1", "pg2", "slot shardid_move_1 of pg1");
    estate.assert_no_trace(0);
    assert_eq!(estate.run(&["verify"]).stdout, "OK: 15 checks on 2 nodes\n");

    estate.run(&MOVE).ok();
    estate.run_cut("following/before-Compare", &["rollback", "2", "--yes"]);
    estate.psql("pg1", "ALTER SUBSCRIPTION shardid_back_2 DISABLE");
    lose(&estate, "pg2", "shardid_back_2");
    estate.psql("pg1", "ALTER SUBSCRIPTION shardid_back_2 ENABLE");
    is_given_up(&estate, "3", "pg1", "slot shardid_back_2 of pg2");
    estate.run(&["retire", "2", "--yes"]).ok();
    estate.assert_no_trace(0);
    assert_eq!(estate.run(&["verify"]).stdout, "OK: 15 checks on 2 nodes\n");
}

/// All that is said of a move with a copy that cannot follow, and that it ends as it is said.
fn is_given_up(estate: &Estate, id: &str, copy: &str, slot: &str) {
    let lost = format!(
        "the copy on {copy} cannot follow any more: {slot} is lost for good (see wal_status in pg_replication_slots): `shardid abort {id}`"
    );
    let moves = estate.run(&["moves"]).stderr;
    assert!(moves.contains(&format!("move {id} is following: {lost}")), "{moves}");
    assert!(!moves.contains("nobody reads") && !moves.contains("`shardid resume"), "{moves}");
    let verified = estate.run(&["verify"]).stdout;
    assert!(verified.contains(&lost), "{verified}");
    let began = Instant::now();
    for verify in ["none", "full"] {
        let stopped = estate.run(&["resume", id, "--verify", verify]);
        assert_eq!(stopped.code, 3, "{}{}", stopped.stdout, stopped.stderr);
        for says in [
            "replication slot shardid_",
            " is lost for good",
            &format!("give the move up with `shardid abort {id}`"),
        ] {
            assert!(stopped.stderr.contains(says), "{says}: {}", stopped.stderr);
        }
    }
    assert!(began.elapsed() < Duration::from_secs(60), "it stalls");
    estate.run(&["abort", id, "--yes"]).ok();
}

/// What nobody needs of a slot yet is made once more.
#[test]
fn a_slot_that_is_lost_before_it_is_needed_is_made_anew() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    estate.make_tables(0);
    estate.psql("pg1", &format!("INSERT INTO {schema}.item (n) VALUES (1)"));
    estate.run_cut("left/subscription", &MOVE);
    lose(&estate, "pg1", "shardid_move_1");
    estate.psql("pg1", &format!("INSERT INTO {schema}.item (n) VALUES (2)"));
    estate.run_cut("following/before-AwaitClose", &["resume", "1"]);
    lose(&estate, "pg2", "shardid_back_1");
    estate.psql("pg1", &format!("INSERT INTO {schema}.item (n) VALUES (3)"));
    estate.run(&["resume", "1"]).ok();
    estate.psql("pg2", &format!("INSERT INTO {schema}.item (n) VALUES (4)"));
    let rows = format!("SELECT string_agg(n::text, ' ' ORDER BY n) FROM {schema}.item");
    assert_eq!(estate.psql("pg2", &rows), "1 2 3 4");
    wait_until(Duration::from_secs(30), "the old copy to follow", || {
        estate.psql("pg1", &rows) == "1 2 3 4"
    });
    assert_eq!(estate.run(&["verify"]).stdout, "OK: 15 checks on 2 nodes\n");
    estate.run(&["rollback", "1", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &rows), "1 2 3 4");
}
