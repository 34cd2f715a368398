//! Two programs at one move: what the second one decides holds for the state that it
//! finds once the first one has let go.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use shardid_tests::estate::{DATABASE, Writer, schema};
use shardid_tests::wait_until;

use crate::shared;

#[test]
fn an_abort_that_was_overtaken_by_the_switch_changes_nothing() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let number = shard.to_string();
    let writer = Writer::begin(estate, shard, 0, Duration::from_millis(2));
    let mut home = ("pg1", "pg2");
    for cut in ["fenced/after-next", "switched/before-GuardSource", "switched/after-OpenTarget"] {
        let mover = estate.run_held_then_cut(
            "fenced/before-next",
            cut,
            &["move", &number, "--to", home.1, "--yes", "--no-rollback"],
        );
        let id = estate.last_move(shard);
        let aborted = thread::scope(|scope| {
            let aborting = scope.spawn(|| estate.run(&["abort", &id, "--yes"]));
            // Until it waits for the mover to end.
            thread::sleep(Duration::from_millis(1_500));
            assert!(!aborting.is_finished(), "the move is locked");
            mover.let_go();
            aborting.join().expect("it ends")
        });
        let said = aborted.stderr;
        assert_eq!(aborted.code, 3, "{cut}: {said}");
        assert!(said.contains("a move that is switched cannot be aborted"), "{cut}: {said}");
        assert!(said.contains(&format!("`shardid resume {id}`")), "{cut}: {said}");
        assert_eq!(estate.state(&id), "switched", "{cut}");
        estate.run(&["resume", &id]).ok();
        assert_eq!((estate.state(&id).as_str(), estate.home(shard).as_str()), ("done", home.1));
        writer.wait_for(20);
        estate.run(&["retire", &id, "--yes"]).ok();
        home = (home.1, home.0);
    }
    let tally = writer.end();
    estate.assert_whole(shard, &tally);
}

/// What the journal and the nodes hold decides, also where the lock was lost.
#[test]
fn a_program_that_was_overtaken_changes_neither_journal_nor_node() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    let writer = Writer::begin(estate, shard, 0, Duration::from_millis(2));
    let there = ["move", &number, "--to", "pg2", "--yes"];

    // In the journal: another has begun to work on the move.
    let held = estate.run_held("following/before-next", &there);
    let id = estate.last_move(shard);
    estate.psql("pg1", &format!("UPDATE shardid.move SET term = term + 1 WHERE move = {id}"));
    let overtaken = held.let_go();
    assert_eq!(overtaken.code, 3, "{}", overtaken.stderr);
    let words = format!("somebody else has begun to work on move {id}");
    assert!(overtaken.stderr.contains(&words), "{}", overtaken.stderr);
    assert_eq!(estate.state(&id), "following");
    // Nor was it anything else for a moment.
    let log =
        format!("SELECT count(*) FROM shardid.move_log WHERE move = {id} AND state = 'fenced'");
    assert_eq!(estate.psql("pg1", &log), "0");

    // In what it notes before it makes something.
    let held = estate.run_held("fenced/before-RaiseFence", &["resume", &id]);
    estate.psql("pg1", &format!("UPDATE shardid.move SET term = term + 1 WHERE move = {id}"));
    let overtaken = held.let_go();
    assert_eq!(overtaken.code, 3, "{}", overtaken.stderr);
    assert!(overtaken.stderr.contains("somebody else has begun"), "{}", overtaken.stderr);
    let noted =
        format!("SELECT count(*) FROM shardid.leftover WHERE move = {id} AND kind = 'fence'");
    assert_eq!(estate.psql("pg1", &noted), "0");

    // On a node: it claims a term far above, as after a catalogue that was restored.
    let held = estate.run_held("fenced/before-AwaitDrained", &["resume", &id]);
    let known = estate.psql("pg1", &format!("SELECT shardid.claim_shard({shard}, 1000000)"));
    assert_eq!(known, "1000000");
    let overtaken = held.let_go();
    assert_eq!(overtaken.code, 3, "{}", overtaken.stderr);
    let words = format!("another program has taken over the move of shard {shard}");
    assert!(overtaken.stderr.contains(&words), "{}", overtaken.stderr);
    // It could not take its own fence down either.
    let fence = format!("SELECT state FROM shardid.shard WHERE shard = {shard}");
    assert_eq!(estate.psql("pg1", &fence), "fenced");

    // Whoever goes on draws a term above it.
    estate.run(&["resume", &id]).ok();
    assert_eq!((estate.state(&id).as_str(), estate.home(shard).as_str()), ("done", "pg2"));
    let known = format!("SELECT term > 1000000 FROM shardid.shard_term WHERE shard = {shard}");
    assert_eq!(estate.psql("pg2", &known), "t");

    // What a program that was killed has left waiting does not come late.
    let mut reader = estate.node("pg1").connect(DATABASE);
    reader.batch_execute(&format!("BEGIN; SELECT FROM {schema}.item LIMIT 1")).unwrap();
    let mut retire = estate.command(&["retire", &id, "--yes"]);
    let mut retire = retire.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let dropping = format!(
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%DROP SCHEMA {schema}%'"
    );
    wait_until(Duration::from_secs(20), "the copy to be dropped", || {
        !estate.psql("pg1", &dropping).is_empty()
    });
    let late = estate.psql("pg1", &dropping);
    retire.kill().unwrap();
    retire.wait().unwrap();
    let refused = estate.run(&["rollback", &id, "--yes"]).refused();
    assert!(refused.contains(&format!("`shardid retire {id}` ends that")), "{refused}");
    thread::scope(|scope| {
        let again = scope.spawn(|| estate.run(&["retire", &id, "--yes"]));
        wait_until(Duration::from_secs(10), "the first one's session to be ended", || {
            let there = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {late}");
            estate.psql("pg1", &there) == "0"
        });
        reader.batch_execute("COMMIT").unwrap();
        again.join().expect("it ends").ok();
    });
    let tally = writer.end();
    estate.assert_whole(shard, &tally);
    estate.assert_no_trace(shard);
}
