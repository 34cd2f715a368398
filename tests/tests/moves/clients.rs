//! Clients that hold something of one shard, while another one moves.

use std::thread;
use std::time::Duration;

use shardid_tests::estate::{Estate, schema};
use shardid_tests::wait_until;

use crate::behalf::MOVE;

/// A move whose role waited for a client's table had the database's row already, and all others on it waited as well.
#[test]
fn a_role_that_waits_for_a_client_keeps_no_other_move_waiting() {
    let (estate, schema) = (Estate::start(2, 4), schema(0));
    let second = (1..4).find(|shard| estate.home(*shard) == "pg1").expect("it has two");
    for shard in [0, second] {
        let table = format!("CREATE TABLE {}.t (id bigint PRIMARY KEY)", self::schema(shard));
        estate.psql("pg1", &table);
    }
    let held = estate.run_held("switched/before-EndStream", &MOVE);
    let mut client = estate.node("pg2").connect("app");
    client.batch_execute(&format!("BEGIN; TRUNCATE {schema}.t")).unwrap();
    let moved = thread::scope(|scope| {
        let moved = scope.spawn(|| held.let_go());
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%''shardid_move_1''::regrole%' AND wait_event_type = 'Lock'";
        wait_until(Duration::from_secs(60), "the role to be dropped", || {
            estate.psql("pg2", waits) == "1"
        });
        // There it makes a slot, which waits for all who write.
        let other = estate.run_held(
            "copying/before-PrepareWayBack",
            &["move", &second.to_string(), "--to", "pg2", "--yes"],
        );
        client.batch_execute("COMMIT").unwrap();
        let (moved, other) = (moved.join().unwrap(), other.let_go());
        assert_eq!(other.code, 0, "{}", other.stderr);
        assert!(!other.stderr.contains("waiting on node"), "{}", other.stderr);
        moved
    });
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    assert_eq!(
        estate.psql("pg2", "SELECT count(*) FROM pg_roles WHERE rolname ~ '^shardid_move'"),
        "0"
    );
}

/// The size of each table of the database was asked for, which waits for whoever has locked it.
#[test]
fn the_sizes_of_other_tables_are_not_asked_for() {
    let (estate, schema) = (Estate::start(1, 1), schema(0));
    estate.psql(
        "pg1",
        &format!("CREATE TABLE {schema}.t AS SELECT 1 AS n; CREATE TABLE other AS SELECT 1 AS n"),
    );
    let mut other = estate.node("pg1").connect("app");
    other.batch_execute("BEGIN; LOCK TABLE other IN ACCESS EXCLUSIVE MODE").unwrap();
    let mut client = estate.node("pg1").connect("app");
    client.batch_execute("SET lock_timeout = '2s'").unwrap();
    let filled = include_str!("../../../sql/postgres/move/copy/filled.sql");
    assert_eq!(client.query(filled, &[&schema]).expect("it does not wait").len(), 1);
    let parts = include_str!("../../../sql/postgres/move/copy/parts.sql");
    let parts = client.query(parts, &[&schema, &8_i64, &true]).expect("it does not wait");
    assert_eq!(parts.len(), 1);
}

/// Writers waited for twice as long as they were to, and the error blamed a function that was not there.
#[test]
fn a_lock_on_the_new_copy_takes_the_fence_down() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    let held = estate.run_held(
        "fenced/before-CarryOver",
        &["move", "0", "--to", "pg2", "--fence-seconds-max", "10", "--yes"],
    );
    let mut client = estate.node("pg2").connect("app");
    client
        .batch_execute(&format!("BEGIN; LOCK TABLE {schema}.t IN ACCESS EXCLUSIVE MODE"))
        .unwrap();
    let client = thread::spawn(move || {
        thread::sleep(Duration::from_secs(7));
        client.batch_execute("COMMIT").expect("it is open");
    });
    let run = held.let_go();
    client.join().unwrap();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lost = "back to following: a lock on the copy on pg2 was held by process ";
    assert!(run.stderr.contains(lost), "{}", run.stderr);
}

/// Who had a right to one sequence, and read where it stands in a transaction, kept the shard closed on both nodes.
#[test]
fn who_reads_a_sequence_of_the_new_copy_after_the_switch_does_not_keep_it_closed() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY DEFAULT next_id(0)); CREATE SEQUENCE {schema}.s CYCLE"));
    for place in ["switched/before-CheckTarget", "switched/before-OpenTarget"] {
        let held = estate.run_held(place, &MOVE);
        let mut client = estate.node("pg2").connect("app");
        let (moved, is_over) = std::sync::mpsc::channel::<()>();
        let reads = format!("BEGIN; SELECT pg_sequence_last_value('{schema}.s')");
        let client = thread::spawn(move || {
            client.batch_execute(&reads).expect("it waits at most");
            is_over.recv().expect_err("the move has ended");
        });
        let run = held.let_go();
        drop(moved);
        client.join().unwrap();
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(!run.stderr.contains("waiting on node"), "{}", run.stderr);
        estate.psql(
            "pg2",
            &format!("INSERT INTO {schema}.t DEFAULT VALUES; SELECT nextval('{schema}.s')"),
        );
        estate.run(&["rollback", &estate.last_move(0), "--yes"]).ok();
        estate.run(&["retire", "--all", "--yes"]).ok();
    }
}
