//! What a fence leaves around a shard that is open: triggers that refuse nothing, and that each write pays for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::{expect_error, wait_until};

use crate::shared;

const MOVE: [&str; 5] = ["move", "0", "--to", "pg2", "--yes"];

/// How many triggers of a fence the tables of a shard have on a node.
fn triggers(estate: &Estate, node: &str, shard: u32) -> String {
    let schema = schema(shard);
    estate.psql(
        node,
        &format!(
            "SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
              WHERE t.tgfoid = 'shardid.refuse_write()'::regprocedure AND c.relnamespace = '{schema}'::regnamespace"
        ),
    )
}

/// A look at a table that is open there meanwhile was enough: the triggers stayed, nobody named them, and `apply`
/// had nothing to do.
#[test]
fn what_a_reader_keeps_of_a_fence_is_said_and_named_and_apply_takes_it_away() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    estate.make_tables(0);
    let held = estate.run_held("switched/before-OpenTarget", &MOVE);
    let mut reader = estate.node("pg2").connect(DATABASE);
    let look = format!("BEGIN; SELECT count(*) FROM {schema}.item");
    reader.batch_execute(&look).unwrap();
    let moved = held.let_go();
    assert_eq!(moved.code, 0, "{}{}", moved.stdout, moved.stderr);
    let kept = "triggers of the fence stay on 1 table on pg2, which takes writes: locks there are held by process ";
    for says in [kept, "; `shardid apply` takes them away later", "done"] {
        assert!(moved.stderr.contains(says), "{says}: {}", moved.stderr);
    }
    // Of the table that nobody reads they are gone.
    assert_eq!(triggers(&estate, "pg2", 0), "2");
    let write = format!("INSERT INTO {schema}.item (n) VALUES (1)");
    estate.psql("pg2", &write);

    let named =
        "pg2: shard 0 is open, and its tables have triggers of a fence that are of no use any more";
    let verified = estate.run(&["verify"]);
    assert_eq!(verified.code, 1, "{}{}", verified.stdout, verified.stderr);
    for says in [named, "`shardid apply` takes them away"] {
        assert!(verified.stdout.contains(says), "{says}: {}", verified.stdout);
    }
    let planned = estate.run(&["plan"]).stdout;
    let step = "pg2: take away what a fence has left around 1 shard: 0 (open, and it slows writes)";
    assert!(planned.contains(step), "{planned}");
    assert!(!planned.contains("open 1 shard"), "{planned}");

    let stopped = estate.run(&["apply", "--yes"]);
    assert_ne!(stopped.code, 0, "{}{}", stopped.stdout, stopped.stderr);
    for says in [
        "node pg2: shard 0 is open, and triggers of the fence stay on 1 table: locks on tables of schema shard_0000 are held by process ",
        "SELECT pg_catalog.pg_terminate_backend(…) there ends a process, ROLLBACK PREPARED '…' a prepared transaction; then run the same command again",
    ] {
        assert!(stopped.stderr.contains(says), "{says}: {}", stopped.stderr);
    }
    estate.psql("pg2", &format!("INSERT INTO {schema}.item (n) VALUES (2)"));

    // A fence that is raised while it is at that stays, and so does what is there of it.
    reader.batch_execute("ROLLBACK").unwrap();
    let raise = "BEGIN; UPDATE shardid.shard SET state = 'fenced' WHERE shard = 0";
    reader.batch_execute(raise).unwrap();
    let at_it = estate.run_held("open/claimed", &["apply", "--yes"]);
    let waiting = thread::spawn(move || at_it.let_go());
    let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'shardid_fence|DROP TRIGGER'";
    wait_until(Duration::from_secs(20), "it to wait for the row", || {
        estate.psql("pg2", waits) == "t"
    });
    reader.batch_execute("COMMIT").unwrap();
    let overtaken = waiting.join().unwrap();
    assert_ne!(overtaken.code, 0, "{}{}", overtaken.stdout, overtaken.stderr);
    assert!(overtaken.stderr.contains("shard 0 is not open any more"), "{}", overtaken.stderr);
    assert_eq!(triggers(&estate, "pg2", 0), "2");
    estate.psql("pg2", "UPDATE shardid.shard SET state = 'open' WHERE shard = 0");

    estate.run_cut("apply/before-Unfence-pg2", &["apply", "--yes"]);
    let applied = estate.run(&["apply", "--yes"]);
    assert_eq!(applied.code, 0, "{}", applied.stderr);
    let done = "pg2: nothing of a fence is left around 1 shard";
    assert!(applied.stderr.contains(done), "{}{}", applied.stdout, applied.stderr);
    assert_eq!(triggers(&estate, "pg2", 0), "0");
    assert_eq!(estate.run(&["verify"]).stdout, "OK: 15 checks on 2 nodes\n");
    assert!(estate.run(&["plan"]).stdout.contains("nothing to do"));
    // The old copy's guard is another thing.
    assert_ne!(triggers(&estate, "pg1", 0), "0");
    estate.run(&["retire", "1", "--yes"]).ok();
    estate.assert_no_trace(0);
}

/// Those who wrote to several tables were in the way of each other's and of theirs.
#[test]
fn nothing_of_a_fence_is_left_where_many_write_to_many_tables() {
    const TABLES: u32 = 8;
    let (estate, shard) = (shared::estate(), shared::shard());
    let (number, schema) = (shard.to_string(), schema(shard));
    let table = |n: u32| format!("{schema}.t{n}");
    for n in 0..TABLES {
        let table = table(n);
        estate.psql(
            "pg1",
            &format!("CREATE TABLE {table} (id bigint PRIMARY KEY DEFAULT {schema}.next_id())"),
        );
    }
    let stopped = AtomicBool::new(false);
    let (stopped, table) = (&stopped, &table);
    thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                let mut client = estate.node("pg2").connect(DATABASE);
                while !stopped.load(Ordering::Relaxed) {
                    let mut order: Vec<u32> = (0..TABLES).collect();
                    if writer % 2 == 1 {
                        order.reverse();
                    }
                    let writes = order.into_iter().map(|n| {
                        format!("INSERT INTO {} DEFAULT VALUES; SELECT pg_sleep(0.01)", table(n))
                    });
                    let all = writes.collect::<Vec<_>>().join("; ");
                    // Until the shard has come.
                    if client.batch_execute(&format!("BEGIN; {all}; COMMIT")).is_err() {
                        client.batch_execute("ROLLBACK").unwrap();
                        thread::sleep(Duration::from_millis(5));
                    }
                }
            });
        }
        let moved = estate.run(&["move", &number, "--to", "pg2", "--yes"]);
        let left = triggers(estate, "pg2", shard);
        stopped.store(true, Ordering::Relaxed);
        assert_eq!(moved.code, 0, "{}{}", moved.stdout, moved.stderr);
        assert_eq!(left, "0", "{}", moved.stdout);
    });
    let written = estate.psql("pg2", &format!("SELECT count(*) > 0 FROM {}", table(0)));
    assert_eq!(written, "t");
}

/// What is around a shard that is given up has to go as well.
#[test]
fn what_a_reader_keeps_of_a_fence_that_was_given_up_goes_by_apply() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    estate.make_tables(0);
    estate.run_cut("fenced/before-AwaitDrained", &MOVE);
    let fenced = triggers(&estate, "pg1", 0);
    assert_eq!(fenced, "4");

    // It stands: that is no left over.
    let verified = estate.run(&["verify"]);
    assert!(!verified.stdout.contains("triggers of a fence still"), "{}", verified.stdout);
    let planned = estate.run(&["plan"]).stdout;
    assert!(planned.contains("nothing to do"), "{planned}");
    estate.run(&["apply", "--yes"]).ok();
    assert_eq!(triggers(&estate, "pg1", 0), fenced);
    let mut client = estate.node("pg1").connect(DATABASE);
    expect_error(&mut client, &format!("INSERT INTO {schema}.item (n) VALUES (1)"), "SI002");

    let mut reader = estate.node("pg1").connect(DATABASE);
    reader.batch_execute(&format!("BEGIN; SELECT count(*) FROM {schema}.line")).unwrap();
    let aborted = estate.run(&["abort", "1", "--yes"]);
    assert_eq!(aborted.code, 0, "{}", aborted.stderr);
    let kept = "triggers of the fence stay on 1 table on pg1, which takes writes";
    assert!(aborted.stderr.contains(kept), "{}", aborted.stderr);
    reader.batch_execute("ROLLBACK").unwrap();
    assert_eq!(triggers(&estate, "pg1", 0), "2");
    estate.run(&["apply", "--yes"]).ok();
    assert_eq!(triggers(&estate, "pg1", 0), "0");
    assert_eq!(estate.run(&["verify"]).stdout, "OK: 15 checks on 2 nodes\n");
}
