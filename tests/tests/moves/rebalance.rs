//! Many moves by one command: drain, rebalance, and what Ctrl-C leaves.

use std::process::Stdio;
use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate, interrupt, schema};
use shardid_tests::wait_until;

/// How many shards each node holds, by the map.
fn spread(estate: &Estate) -> String {
    estate.psql(
        "pg1",
        "SELECT string_agg(n.node || ' ' || (SELECT count(*) FROM shardid.map m WHERE m.node = n.node), ', ' ORDER BY n.node) FROM shardid.node n",
    )
}

fn retire_all(estate: &Estate) {
    let old = estate.psql(
        "pg1",
        "SELECT move FROM shardid.move WHERE state = 'done' AND kind = 'copy' AND retired_at IS NULL ORDER BY move",
    );
    for id in old.lines() {
        estate.run(&["retire", id]).ok();
    }
}

/// What the nodes have written by now, in transactions that were given a number.
fn written(estate: &Estate) -> Vec<String> {
    estate
        .nodes()
        .iter()
        .map(|node| {
            let rows = estate.psql(node, "SELECT string_agg(xmin::text || ' ' || state, ',' ORDER BY shard) FROM shardid.shard");
            let next = estate.psql(node, "SELECT pg_snapshot_xmax(pg_current_snapshot())");
            format!("{rows} {next}")
        })
        .collect()
}

#[test]
fn nodes_are_emptied_and_evened_out_by_the_fewest_moves() {
    let estate = Estate::start(3, 9);
    for shard in 0..9 {
        estate.make_tables(shard);
    }
    assert_eq!(spread(&estate), "pg1 3, pg2 3, pg3 3");

    // Nothing to do is nothing done.
    let before = written(&estate);
    let run = estate.run(&["rebalance", "--yes"]);
    assert!(run.code == 0 && run.stderr.contains("nothing to move"), "{}", run.stderr);

    // A plan that is only looked at changes nothing: not one transaction has a number.
    let run = estate.run(&["drain", "pg3", "--dry-run"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("3 moves\n"), "{}", run.stdout);
    assert!(
        run.stdout.contains("pg3 -> pg1") && run.stdout.contains("pg3 -> pg2"),
        "{}",
        run.stdout
    );
    assert_eq!(written(&estate), before);

    estate.run(&["drain", "pg3", "--yes", "--parallel", "3", "--no-rollback"]).ok();
    let now = spread(&estate);
    assert!(now == "pg1 5, pg2 4, pg3 0" || now == "pg1 4, pg2 5, pg3 0", "{now}");
    retire_all(&estate);
    estate.assert_no_streams();
    let run = estate.run(&["drain", "pg3", "--yes"]);
    assert!(run.code == 0 && run.stderr.contains("nothing to move"), "{}", run.stderr);

    // Ctrl-C lets the move under way end, and says what is left.
    let held = estate.run_held("copying/before-AwaitCopy", &["rebalance", "--yes"]);
    held.interrupt();
    let run = held.let_go();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("no new move begins"), "{}", run.stderr);
    assert!(run.stderr.contains("stopped: 1 of 3 moves are done"), "{}", run.stderr);
    assert!(
        run.stderr.contains("-> pg3: 2 shards") || run.stderr.contains("-> pg3: 1 shard:"),
        "{}",
        run.stderr
    );
    assert!(spread(&estate).ends_with("pg3 1"), "{}", spread(&estate));

    let run = estate.run(&["rebalance", "--max-moves", "1", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(spread(&estate).ends_with("pg3 2"), "{}", spread(&estate));
    estate.run(&["rebalance", "--parallel", "2", "--yes"]).ok();
    assert_eq!(spread(&estate), "pg1 3, pg2 3, pg3 3");

    let before = written(&estate);
    estate.run(&["rebalance", "--yes"]).ok();
    assert_eq!(written(&estate), before, "twice changes nothing");
    retire_all(&estate);
    for shard in 0..9 {
        estate.assert_no_trace(shard);
    }
    estate.assert_no_streams();

    // By size: one large shard outweighs all the others of its node.
    let large = estate.psql("pg1", "SELECT min(shard) FROM shardid.map WHERE node = 'pg1'");
    let large: u32 = large.parse().unwrap();
    estate.psql(
        "pg1",
        &format!(
            "INSERT INTO {0}.item (n) SELECT generate_series(1, 60000); ANALYZE {0}.item",
            schema(large)
        ),
    );
    let run = estate.run(&["rebalance", "--by", "size", "--dry-run"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("pg1 -> "), "{}", run.stdout);
    assert!(!run.stdout.contains("-> pg1"), "{}", run.stdout);
}

#[test]
fn the_second_ctrl_c_stops_a_move_under_way_where_it_can_stand() {
    let estate = Estate::start(2, 4);
    for shard in 0..2 {
        estate.make_tables(shard);
    }
    let mut locking = estate.node("pg2").connect(DATABASE);
    let mut command = estate.command(&["move", "0-1", "--to", "pg2", "--yes"]);
    let child = command.stderr(Stdio::piped()).spawn().expect("the program runs");
    // A copy that does not end: its table is locked as soon as it is there.
    let there = "SELECT to_regclass('shard_0000.item') IS NOT NULL";
    wait_until(Duration::from_secs(30), "the new copy", || {
        locking.query_one(there, &[]).expect("the server is up").get(0)
    });
    locking
        .batch_execute("BEGIN; LOCK TABLE shard_0000.item IN SHARE MODE")
        .expect("the table is there");
    let id = estate.last_move(0);
    wait_until(Duration::from_secs(30), "the copy to begin", || {
        let name =
            format!("SELECT count(*) FROM pg_subscription WHERE subname = 'shardid_move_{id}'");
        estate.psql("pg2", &name) == "1"
    });
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(500));
    interrupt(&child);
    let output = child.wait_with_output().expect("it is our child");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for part in [
        "no new move begins; those under way go on to their end; once more stops them",
        "stopping where the move can stand",
        "stopped as you asked",
        "0 of 2 moves are done",
        &format!("`shardid resume {id}`"),
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    locking.batch_execute("ROLLBACK").expect("the server is up");
    assert_eq!((estate.state(&id).as_str(), estate.last_move(1).as_str()), ("copying", ""));
    estate.run(&["resume", &id]).ok();
    estate.run(&["retire", &id]).ok();
    estate.assert_no_streams();
}

#[test]
fn a_single_move_stops_at_ctrl_c_where_it_can_stand() {
    let estate = Estate::start(2, 2);
    estate.make_tables(0);
    let held =
        estate.run_held("following/before-AwaitClose", &["move", "0", "--to", "pg2", "--yes"]);
    held.interrupt();
    let run = held.let_go();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("stopped as you asked"), "{}", run.stderr);
    let id = estate.last_move(0);
    assert!(run.stderr.contains(&format!("`shardid resume {id}`")), "{}", run.stderr);
    estate.psql("pg1", "INSERT INTO shard_0000.item (n) VALUES (1)");
    let shown = estate.run(&["moves"]);
    assert!(
        shown.stdout.contains("following") && shown.stderr.contains("shardid abort"),
        "{shown:?}"
    );
    estate.run(&["resume", &id]).ok();
    let json = estate.run(&["moves", "--json"]).ok();
    for state in ["planned", "copying", "following", "fenced", "switched", "done"] {
        assert!(json.contains(&format!("\"state\": \"{state}\"")), "{state} is not in {json}");
    }
    estate.run(&["retire", &id]).ok();
    estate.assert_no_streams();
}
