//! Many moves by one command: drain, rebalance, and what Ctrl-C leaves.

use std::time::{Duration, Instant};

use postgres::Client;
use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::{crowded, wait_until};

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
        estate.run(&["retire", id, "--yes"]).ok();
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

/// Holds a lock on a table of the new copy of shard 0, in a transaction.
fn lock_new_copy(estate: &Estate) -> Client {
    let mut client = estate.node("pg2").connect(DATABASE);
    client
        .batch_execute("BEGIN; LOCK TABLE shard_0000.item IN SHARE MODE")
        .expect("the table is there");
    client
}

#[test]
fn the_second_ctrl_c_stops_a_move_under_way_where_it_can_stand() {
    let estate = Estate::start(2, 4);
    for shard in 0..2 {
        estate.make_tables(shard);
    }
    let mut held =
        estate.run_held("copying/before-Subscribe", &["move", "0-1", "--to", "pg2", "--yes"]);
    // A copy that does not end.
    let mut locking = lock_new_copy(&estate);
    let id = estate.last_move(0);
    held.go_on();
    wait_until(Duration::from_secs(30), "the copy to begin", || {
        let name =
            format!("SELECT count(*) FROM pg_subscription WHERE subname = 'shardid_move_{id}'");
        estate.psql("pg2", &name) == "1"
    });
    held.interrupt();
    held.wait_for(
        "no new move begins, and those under way are finished; press Ctrl-C again to stop them",
    );
    held.interrupt();
    let run = held.end();
    let said = run.stderr;
    assert_eq!(run.code, 3, "{said}");
    for part in [
        "stopping at the next safe point",
        "stopped as you asked",
        "0 of 2 moves are done",
        &format!("`shardid resume {id}`"),
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    locking.batch_execute("ROLLBACK").expect("the server is up");
    assert_eq!((estate.state(&id).as_str(), estate.last_move(1).as_str()), ("copying", ""));
    estate.run(&["resume", &id]).ok();
    estate.run(&["retire", &id, "--yes"]).ok();
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
    estate.run(&["retire", &id, "--yes"]).ok();
    estate.assert_no_streams();
}

#[test]
fn ctrl_c_cancels_a_statement_that_waits() {
    let estate = Estate::start(2, 2);
    estate.make_tables(0);
    estate.psql("pg1", "INSERT INTO shard_0000.item (n) SELECT generate_series(1, 1000)");
    let mut held =
        estate.run_held("copying/before-MakeIndexes", &["move", "0", "--to", "pg2", "--yes"]);
    let mut locking = lock_new_copy(&estate);
    let id = estate.last_move(0);
    held.go_on();
    wait_until(Duration::from_secs(30), "the statement to wait", || {
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        estate.psql("pg2", waiting) != "0"
    });
    held.interrupt();
    let began = Instant::now();
    let run = held.end();
    assert_eq!(run.code, 3, "{}", run.stderr);
    let took = began.elapsed();
    assert!(took < crowded(Duration::from_secs(20)), "it took {took:?}");
    assert!(run.stderr.contains("stopped as you asked"), "{}", run.stderr);
    assert_eq!(estate.state(&id), "copying");
    // The server has let go of it as well.
    wait_until(Duration::from_secs(5), "nobody to wait", || {
        estate.psql("pg2", "SELECT count(*) FROM pg_locks WHERE NOT granted") == "0"
    });
    locking.batch_execute("ROLLBACK").expect("the server is up");

    // A slot waits for transactions that have nothing to do with it: that is said.
    locking.batch_execute("BEGIN; SELECT pg_current_xact_id()").expect("the server is up");
    let mut held = estate.run_held("copying/before-PrepareWayBack", &["resume", &id]);
    wait_until(Duration::from_secs(60), "it to be open for ten seconds", || {
        let old =
            "SELECT count(*) FROM pg_stat_activity WHERE xact_start < now() - interval '10 s'";
        estate.psql("pg2", old) != "0"
    });
    held.go_on();
    held.wait_for("s: the way back is ready when it ends");
    held.interrupt();
    let run = held.end();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("stopped as you asked"), "{}", run.stderr);
    locking.batch_execute("ROLLBACK").expect("the server is up");

    estate.run(&["resume", &id]).ok();
    assert_eq!(estate.psql("pg2", "SELECT count(*) FROM shard_0000.item"), "1000");
    estate.run(&["retire", &id, "--yes"]).ok();
    estate.assert_no_streams();
}
