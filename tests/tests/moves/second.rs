//! Two programs at one move: what the second one decides holds for the state that it
//! finds once the first one has let go.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use shardid_tests::estate::{DATABASE, Writer, schema};
use shardid_tests::wait_until;

use crate::shared;

/// What another program does first that begins to work on a move.
fn take_over(id: &str) -> String {
    format!(
        "WITH drawn AS (UPDATE shardid.catalog SET move_term = move_term + 1 RETURNING move_term)
         UPDATE shardid.move SET term = move_term FROM drawn WHERE move = {id}"
    )
}

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
        // In one way or the other, by when it has read where the move was.
        assert!(said.contains("cannot be aborted"), "{cut}: {said}");
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
    estate.psql("pg1", &take_over(&id));
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
    estate.psql("pg1", &take_over(&id));
    let overtaken = held.let_go();
    assert_eq!(overtaken.code, 3, "{}", overtaken.stderr);
    assert!(overtaken.stderr.contains("somebody else has begun"), "{}", overtaken.stderr);
    let noted =
        format!("SELECT count(*) FROM shardid.leftover WHERE move = {id} AND kind = 'fence'");
    assert_eq!(estate.psql("pg1", &noted), "0");

    // On a node: it claims a term far above, as after a catalog that was restored.
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
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%LOCK TABLE%{schema}.%'"
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

/// What a program does on the nodes goes by the move as it is when nobody else can take it
/// further any more, and one that was overtaken does not take it back.
#[test]
fn a_program_goes_by_the_state_that_it_finds_with_its_term() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let number = shard.to_string();
    estate.run_cut("following/before-next", &["move", &number, "--to", "pg2", "--yes"]);
    let id = estate.last_move(shard);

    // Another has lost its lock, and gives the move up before we have a term.
    let held = estate.run_held("claim/before-term", &["resume", &id]);
    let gives_up = format!("UPDATE shardid.move SET state = 'aborting' WHERE move = {id}");
    estate.psql("pg1", &gives_up);
    held.let_go().ok();
    assert_eq!((estate.state(&id).as_str(), estate.home(shard).as_str()), ("aborted", "pg1"));
    estate.assert_no_trace(shard);

    // Another has drawn a term after ours, and has claimed the node already.
    estate.run_cut("following/before-next", &["move", &number, "--to", "pg2", "--yes"]);
    let id = estate.last_move(shard);
    let held = estate.run_held("claim/before-pg1", &["resume", &id]);
    estate.psql(
        "pg1",
        &format!("UPDATE shardid.catalog SET move_term = move_term + 1; SELECT shardid.claim_shard({shard}, (SELECT move_term FROM shardid.catalog)::bigint)"),
    );
    let overtaken = held.let_go();
    assert_eq!(overtaken.code, 3, "{}", overtaken.stderr);
    assert!(overtaken.stderr.contains("somebody else has begun"), "{}", overtaken.stderr);
    estate.run(&["abort", &id, "--yes"]).ok();
}

/// Where the shard is may have changed since a command looked at the map.
#[test]
fn a_move_from_where_the_shard_is_no_more_is_not_begun_and_leaves_the_old_copy_guarded() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    let there = ["move", &number, "--to", "pg2", "--yes"];
    let held = estate.run_held("plan/before", &there);
    estate.run(&there).ok();
    let refused = held.let_go().refused();
    assert!(refused.contains(&format!("shard {shard} is not on pg1 any more")), "{refused}");
    let first = estate.last_move(shard);
    let moves = format!("SELECT count(*) FROM shardid.move WHERE shard = {shard}");
    assert_eq!(estate.psql("pg1", &moves), "1");

    // What lowers a fence leaves the guard of an old copy alone, whoever says it.
    estate.psql(
        "pg1",
        &format!("INSERT INTO shardid.move (shard, source, target, schema, way_back, planned_by) VALUES ({shard}, 'pg1', 'pg2', '{schema}', false, 'test')"),
    );
    estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
    let late = estate
        .node("pg1")
        .connect(DATABASE)
        .execute(&format!("INSERT INTO {schema}.item (id, n) VALUES (1, -1)"), &[]);
    let code = late.unwrap_err().code().map(|code| code.code().to_owned());
    assert_eq!(code.as_deref(), Some("SI001"));
    estate.run(&["retire", &first, "--yes"]).ok();
}

/// A client whose map is two moves old does not write to a copy that is being made.
#[test]
fn a_new_copy_takes_no_writes_before_the_shard_is_there() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    let there = ["move", &number, "--to", "pg2", "--yes"];
    let insert = format!("INSERT INTO {schema}.item (id, n) VALUES (1, -1)");
    for place in ["copying/after-MakeSchema", "following/before-next", "switched/before-OpenTarget"]
    {
        let held = estate.run_held(place, &there);
        let early = estate.node("pg2").connect(DATABASE).execute(&insert, &[]);
        let error = early.expect_err(place);
        let code = error.code().map(|code| code.code().to_owned());
        assert_eq!(code.as_deref(), Some("SI001"), "{place}: {error:?}");
        held.kill();
        let id = estate.last_move(shard);
        match place {
            "switched/before-OpenTarget" => estate.run(&["resume", &id]).ok(),
            _ => estate.run(&["abort", &id, "--yes"]).ok(),
        };
    }
    assert_eq!(estate.home(shard), "pg2");
    estate.node("pg2").connect(DATABASE).execute(&insert, &[]).unwrap();
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}
