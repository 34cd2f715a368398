//! What a transaction has made and not committed is seen by nobody: a move waits for it, or says
//! afterwards what it has changed; and no copy is dropped with what it has made there.

use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate, Held, schema};
use shardid_tests::postgres::Client;
use shardid_tests::program::Run;
use shardid_tests::{crowded, sample, wait_until};

use crate::shared;

/// How many of them are tried, where not all are.
const SAMPLE: usize = 3;

/// Changes of a schema, of which most leave no lock: the statement, and what the server calls it.
const CHANGES: [(&str, &str); 9] = [
    (
        "CREATE TABLE {s}.made (id int PRIMARY KEY); INSERT INTO {s}.made VALUES (1)",
        "table {s}.made",
    ),
    ("GRANT SELECT ON {s}.item TO PUBLIC", "table {s}.item"),
    ("GRANT USAGE ON SCHEMA {s} TO PUBLIC", "schema {s}"),
    ("CREATE FUNCTION {s}.one() RETURNS int LANGUAGE sql AS 'SELECT 1'", "function {s}.one()"),
    (
        "ALTER DEFAULT PRIVILEGES IN SCHEMA {s} GRANT SELECT ON TABLES TO PUBLIC",
        "default privileges on new relations",
    ),
    ("COMMENT ON SCHEMA {s} IS 'new'", "schema {s}"),
    ("CREATE TYPE {s}.mood AS ENUM ('good')", "type {s}.mood"),
    ("CREATE STATISTICS {s}.st ON id, n FROM {s}.item", ""),
    ("ALTER FUNCTION {s}.next_id() COST 7", "function {s}.next_id()"),
];

/// A transaction that has done something and is open.
fn open(estate: &Estate, node: &str, statement: &str) -> Client {
    let mut client = estate.node(node).connect(DATABASE);
    client.batch_execute(&format!("BEGIN; {statement}")).expect("nobody is in its way");
    client
}

fn end_after(held: Held, client: &mut Client, wait: Duration, how: &str) -> Run {
    let mut held = held;
    held.go_on();
    std::thread::sleep(wait);
    client.batch_execute(how).expect("the transaction is open");
    held.end()
}

#[test]
fn a_move_waits_for_what_is_not_committed_and_carries_or_refuses_it() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    let wait = crowded(Duration::from_millis(900));
    let cases = CHANGES.iter().filter(|(_, name)| !name.is_empty()).collect();
    for (change, name) in sample("changes that are not committed", cases, SAMPLE) {
        let (change, name) = (change.replace("{s}", &schema), name.replace("{s}", &schema));
        let moving = ["move", &number, "--to", "pg2", "--yes"];
        let held = estate.run_held("following/after-AwaitClose", &moving);
        let mut client = open(estate, "pg1", &change);
        let run = end_after(held, &mut client, wait, "COMMIT");
        assert!(run.code == 3, "{change}: {}", run.stderr);
        assert!(run.stderr.contains("has written, and may have changed"), "{}", run.stderr);
        let refused = run.stderr;
        assert!(refused.contains("was changed during the move"), "{change}: {refused}");
        assert!(refused.contains(&name), "{change}: {name} is not in {refused}");
        estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
        assert_eq!(estate.home(shard), "pg1");
    }
    // One that is rolled back, or prepared and rolled back, has changed nothing.
    for prepare in [false, true] {
        let held = estate
            .run_held("following/after-AwaitClose", &["move", &number, "--to", "pg2", "--yes"]);
        let mut client = open(estate, "pg1", &format!("COMMENT ON SCHEMA {schema} IS 'other'"));
        let mut how = "ROLLBACK";
        if prepare {
            client.batch_execute("PREPARE TRANSACTION 'unseen'").expect("it may be prepared");
            how = "ROLLBACK PREPARED 'unseen'";
        }
        let run = end_after(held, &mut client, wait, how);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let who = if prepare { "prepared transaction 'unseen'" } else { "process " };
        assert!(run.stderr.contains(&format!("back to following: {who}")), "{}", run.stderr);
        assert!(!run.stderr.contains("WARNING"), "{}", run.stderr);
        estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    }
    estate.assert_no_trace(shard);
}

/// One that writes the last look has not seen, and changes the schema before the old copy is closed.
#[test]
fn what_was_open_at_the_switch_is_named_after_it() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    for (change, name) in [0, 3, 4, 5].map(|at: usize| CHANGES[at]) {
        let (change, name) = (change.replace("{s}", &schema), name.replace("{s}", &schema));
        let moving = ["move", &number, "--to", "pg2", "--yes"];
        let mut held = estate.run_held("fenced/before-next", &moving);
        let mut client = open(estate, "pg1", &change);
        held.go_on();
        // Nobody waits for it: the shard is open at once.
        wait_until(Duration::from_secs(10), "the shard is open", || {
            estate.psql("pg2", &format!("SELECT state FROM shardid.shard WHERE shard = {shard}"))
                == "open"
        });
        client.batch_execute("COMMIT").expect("the transaction is open");
        let run = held.end();
        assert_eq!(run.code, 0, "{}", run.stderr);
        let said = run.stderr.lines().find(|line| line.contains("WARNING"));
        assert!(said.is_some_and(|said| said.contains(&name)), "{change}: {}", run.stderr);
        if change.contains("TABLE") && change.contains("made") {
            estate.psql("pg1", &format!("DROP TABLE {schema}.made"));
        }
        estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    }
}

/// Who keeps writers waiting is named, and after three times what helps.
#[test]
fn who_keeps_a_fence_away_is_named() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    let held =
        estate.run_held("fenced/before-RaiseFence", &["move", &number, "--to", "pg2", "--yes"]);
    // It has written nothing: no look at writers finds it.
    let mut client = open(
        estate,
        "pg1",
        &format!("SET application_name = 'nightly'; LOCK {schema}.item IN ROW EXCLUSIVE MODE"),
    );
    let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).expect("it is open").get(0);
    let run = end_after(held, &mut client, crowded(Duration::from_secs(4)), "COMMIT");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lost = format!("ms by process {pid} (");
    let said = run.stderr.lines().find(|line| line.contains(&lost)).unwrap_or(&run.stderr);
    assert!(said.contains("back to following: a lock on its tables was held for "), "{said}");
    assert!(said.contains(" nightly, idle in transaction for "), "{said}");
    assert!(run.stderr.contains("3 fences were lost: a larger `--fence-seconds-max`"), "{said}");
}

/// Moves that run at once would wait for each other, each for what the other writes down.
#[test]
fn a_session_of_another_move_is_not_waited_for() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let number = shard.to_string();
    let moving = ["move", &number, "--to", "pg2", "--yes", "--no-rollback"];
    let held = estate.run_held("following/before-AwaitClose", &moving);
    let mut client = estate.node("pg1").connect(DATABASE);
    client
        .batch_execute("SET application_name = 'shardid move by somebody'; BEGIN; CREATE TABLE public.of_a_move ()")
        .expect("nobody is in its way");
    let run = held.let_go();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stderr.contains("has written"), "{}", run.stderr);
    client.batch_execute("ROLLBACK").expect("it is open still");
}

#[test]
fn no_copy_is_dropped_with_a_table_that_somebody_has_made_in_it() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    let make = format!("CREATE TABLE {schema}.mine AS SELECT 1 AS id");
    let refuse_and_keep = |node: &str, run: Run| {
        assert_eq!(run.code, 3, "{}", run.stderr);
        let refused = run.stderr;
        assert!(refused.contains(&format!("table {schema}.mine")), "{refused}");
        assert_eq!(estate.psql(node, &format!("SELECT id FROM {schema}.mine")), "1");
        estate.psql(node, &format!("DROP TABLE {schema}.mine"));
    };
    // In the new copy of a move that is given up.
    estate.run_cut("following/before-Compare", &["move", &number, "--to", "pg2", "--yes"]);
    estate.psql("pg2", &make);
    let id = estate.last_move(shard);
    refuse_and_keep("pg2", estate.run(&["abort", &id, "--yes"]));
    estate.run(&["resume", &id]).ok();
    // In the copy that a rollback leaves: committed before it is dropped, and meanwhile.
    for meanwhile in [false, true] {
        estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
        let back = ["rollback", &estate.last_move(shard), "--yes"];
        let held = estate.run_held("switched/before-CleanUp", &back);
        let run = if meanwhile {
            let mut client = open(estate, "pg2", &make);
            end_after(held, &mut client, Duration::from_millis(1500), "COMMIT")
        } else {
            estate.psql("pg2", &make);
            held.let_go()
        };
        refuse_and_keep("pg2", run);
        estate.run(&["resume", &estate.last_move(shard)]).ok();
        assert_eq!(estate.home(shard), "pg1");
    }
    estate.assert_no_trace(shard);
}
