//! What others do meanwhile neither closes a shard nor costs its last copy.

use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate, Held, schema};
use shardid_tests::postgres::Client;
use shardid_tests::{expect_error, wait_until};

use crate::shared;

/// A session that reads a copy and does not end.
fn reader(estate: &Estate, node: &str, shard: u32) -> Client {
    let mut client = estate.node(node).connect(DATABASE);
    let read = format!("BEGIN; SELECT count(*) FROM {}.item", schema(shard));
    client.batch_execute(&read).expect("a copy may be read");
    client
}

fn written(shard: u32) -> String {
    format!("UPDATE {}.item SET n = n", schema(shard))
}

fn write(estate: &Estate, node: &str, shard: u32) {
    estate.psql(node, &written(shard));
}

fn switched_off(estate: &Estate, node: &str, shard: u32) -> String {
    estate.psql(
        node,
        &format!(
            "SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid \
             WHERE tgname = 'shardid_fence' AND tgenabled = 'D' AND c.relnamespace = '{}'::regnamespace",
            schema(shard)
        ),
    )
}

/// That the triggers of a fence which somebody has kept are named.
fn names_what_is_left(estate: &Estate, node: &str, shard: u32) {
    let found = estate.run(&["verify"]);
    let says = format!("{node}: shard {shard} is open, and its tables have triggers of a fence");
    assert!(found.stdout.contains(&says), "{}{}", found.stdout, found.stderr);
}

/// It kept the shard closed on both nodes: to drop a trigger waited for it, after the switch.
#[test]
fn whoever_reads_a_copy_does_not_keep_its_shard_closed() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let number = shard.to_string();
    estate.make_tables(shard);
    // The new copy, while it follows; then the old one.
    let held =
        estate.run_held("following/before-Compare", &["move", &number, "--to", "pg2", "--yes"]);
    let mut of_new = reader(&estate, "pg2", shard);
    let run = held.let_go();
    assert_eq!(run.code, 0, "{}", run.stderr);
    write(&estate, "pg2", shard);
    assert_ne!(switched_off(&estate, "pg2", shard), "0");
    names_what_is_left(&estate, "pg2", shard);
    let mut of_old = reader(&estate, "pg1", shard);
    of_new.batch_execute("ROLLBACK").expect("it is there");
    // Its triggers that are switched off are in nobody's way, and not carried.
    let run = estate.run(&["rollback", &estate.last_move(shard), "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stderr.contains("not carried back"), "{}", run.stderr);
    write(&estate, "pg1", shard);
    assert_ne!(switched_off(&estate, "pg1", shard), "0");
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    expect_error(
        &mut estate.node("pg1").connect(DATABASE),
        &format!("UPDATE {}.item SET n = n", schema(shard)),
        "SI001",
    );
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    assert_ne!(switched_off(&estate, "pg1", shard), "0");
    names_what_is_left(&estate, "pg1", shard);
    of_old.batch_execute("ROLLBACK").expect("it is there");
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    assert_eq!(switched_off(&estate, "pg1", shard), "0");
    estate.assert_no_trace(shard);
}

/// A VACUUM of the copy that was to be opened had the shard open nowhere, and one at home kept it closed
/// when the move was given up.
#[test]
fn whoever_locks_a_copy_does_not_keep_its_shard_closed() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let number = shard.to_string();
    estate.make_tables(shard);
    let lock = format!("BEGIN; LOCK TABLE {}.item IN SHARE UPDATE EXCLUSIVE MODE", schema(shard));
    let locked = |node: &str| {
        let mut other = estate.node(node).connect(DATABASE);
        other.batch_execute(&lock).expect("nobody else has it");
        other
    };
    // Behind the fence, on the source: it is opened again, and a restored table switches nothing on.
    let held =
        estate.run_held("fenced/before-CarryOver", &["move", &number, "--to", "pg2", "--yes"]);
    let mut other = locked("pg1");
    held.kill();
    estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
    write(&estate, "pg1", shard);
    other.batch_execute("ROLLBACK").expect("it is there");
    estate.psql("pg1", &format!("ALTER TABLE {}.item ENABLE TRIGGER ALL", schema(shard)));
    write(&estate, "pg1", shard);
    names_what_is_left(&estate, "pg1", shard);
    estate.run(&["apply", "--yes"]).ok();
    estate.run(&["verify"]).ok();
    // On the copy that is to be opened.
    let held =
        estate.run_held("following/before-Compare", &["move", &number, "--to", "pg2", "--yes"]);
    let mut other = locked("pg2");
    let run = held.let_go();
    assert_eq!(run.code, 0, "{}", run.stderr);
    write(&estate, "pg2", shard);
    other.batch_execute("ROLLBACK").expect("it is there");
    let mut other = locked("pg1");
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    write(&estate, "pg1", shard);
    other.batch_execute("ROLLBACK").expect("it is there");
    // Nor on the source after the fence, where the old copy follows all the same.
    let held = estate.run_held("fenced/before-next", &["move", &number, "--to", "pg2", "--yes"]);
    let mut other = locked("pg1");
    held.let_go().ok();
    write(&estate, "pg2", shard);
    let mut closed = estate.node("pg1").connect(DATABASE);
    expect_error(&mut closed, &written(shard), "SI001");
    other.batch_execute("ROLLBACK").expect("it is there");
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}

/// It was told of a shard that is not open there yet, and the move stood.
#[test]
fn a_move_that_stands_switched_is_in_no_other_moves_way() {
    let estate = Estate::start(3, 9);
    let on_pg1: Vec<u32> = (0..9).filter(|shard| estate.home(*shard) == "pg1").collect();
    let [first, second, third] = on_pg1[..] else { panic!("{on_pg1:?}") };
    for (shard, at) in
        [(first, "switched/before-GuardSource"), (second, "switched/before-OpenTarget")]
    {
        estate.make_tables(shard);
        estate.run_cut(at, &["move", &shard.to_string(), "--to", "pg2", "--yes"]);
    }
    for to in ["pg2", "pg3", "pg1"] {
        estate.run(&["move", &third.to_string(), "--to", to, "--yes"]).ok();
        estate.run(&["retire", &estate.last_move(third), "--yes"]).ok();
    }
    for shard in [first, second] {
        estate.run(&["resume", &estate.last_move(shard)]).ok();
        write(&estate, "pg2", shard);
    }
    estate.run(&["retire", "--all", "--yes"]).ok();
    estate.run(&["verify"]).ok();
    estate.run(&["plan"]).ok();
}

/// `retire` dropped what nobody else had, and the hint of `rollback` led there.
#[test]
fn the_last_copy_of_a_shard_or_a_table_is_not_dropped() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.make_tables(shard);
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.gone (id int PRIMARY KEY); CREATE TABLE {schema}.part (id int PRIMARY KEY) PARTITION BY RANGE (id); \
             CREATE TABLE {schema}.part_1 PARTITION OF {schema}.part FOR VALUES FROM (0) TO (9); CREATE TABLE {schema}.part_2 (id int PRIMARY KEY)"
        ),
    );
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    // What has become a partition there is not gone.
    estate.psql(
        "pg2",
        &format!(
            "ALTER TABLE {schema}.part ATTACH PARTITION {schema}.part_2 FOR VALUES FROM (9) TO (20)"
        ),
    );
    estate.run(&["retire", &id, "--dry-run"]).ok();
    estate.psql("pg2", &format!("DROP TABLE {schema}.gone, {schema}.part_1"));
    let refused = |words: &str| {
        for command in
            [["retire", &id, "--dry-run"], ["retire", &id, "--yes"], ["rollback", &id, "--yes"]]
        {
            let error = estate.run(&command).refused();
            assert!(error.contains(words), "{command:?}: {error}");
            assert!(!error.contains("`shardid retire"), "{command:?}: {error}");
        }
    };
    refused("has tables that node pg2 has not: gone");
    // Partitions go when their time is over.
    assert!(!estate.run(&["retire", &id, "--dry-run"]).stderr.contains("part_1"));
    estate.psql("pg2", &format!("DROP SCHEMA {schema} CASCADE"));
    refused(&format!("node pg2 does not have shard {shard}"));
    assert_eq!(estate.psql("pg1", &format!("SELECT count(*) FROM {schema}.gone")), "0");
    let found = estate.run(&["verify"]);
    assert!(
        found.stdout.contains(&format!("an old copy is on pg1, in schema {schema}")),
        "{found:?}"
    );
    let all = estate.run(&["retire", "--all", "--yes"]).refused();
    assert!(all.contains("is the last one") && all.contains(&format!("move {id}")), "{all}");
}

/// The dry run offered to drop the shard itself, and to abort what could not be aborted.
#[test]
fn a_rollback_that_stands_switched_is_named_before_anything_else() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let number = shard.to_string();
    estate.make_tables(shard);
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    for (at, can_abort) in
        [("fenced/before-AwaitDrained", true), ("switched/before-OpenTarget", false)]
    {
        estate.run_cut(at, &["rollback", &id, "--yes"]);
        let back = estate.last_move(shard);
        for command in [["retire", &id, "--dry-run"], ["retire", &id, "--yes"]] {
            let error = estate.run(&command).refused();
            assert!(error.contains(&format!("move {back} is going back")), "{error}");
            assert_eq!(error.contains("shardid abort"), can_abort, "{error}");
        }
        if can_abort {
            estate.run(&["abort", &back, "--yes"]).ok();
        } else {
            estate.run(&["resume", &back]).ok();
            let run = estate.run(&["abort", &back, "--yes"]);
            assert_eq!(run.code, 1, "{}", run.stderr);
        }
    }
    estate.assert_no_trace(shard);
}

/// The shard was back, and the copy that it had left could not go: neither forth nor back.
#[test]
fn what_needs_the_copy_that_a_rollback_leaves_is_found_before_it_begins() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.make_tables(shard);
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    for (make, name, take) in [
        (
            format!("CREATE PUBLICATION p FOR TABLE {schema}.item"),
            "in publication p",
            "DROP PUBLICATION p",
        ),
        (
            format!("CREATE VIEW public.v AS SELECT * FROM {schema}.item"),
            "public.v",
            "DROP VIEW public.v",
        ),
    ] {
        estate.psql("pg2", &make);
        for command in [["rollback", &id, "--dry-run"], ["rollback", &id, "--yes"]] {
            let error = estate.run(&command).refused();
            assert!(error.contains(name), "{error}");
        }
        assert_eq!(estate.home(shard), "pg2");
        estate.psql("pg2", take);
    }
    estate.psql("pg2", "CREATE TABLE public.defs (n int)");
    let rule =
        format!("CREATE RULE rr AS ON INSERT TO public.defs DO ALSO SELECT * FROM {schema}.item");
    estate.psql("pg2", &rule);
    let error = estate.run(&["rollback", &id, "--dry-run"]).refused();
    assert!(error.contains("rule rr on table public.defs"), "{error}");
    estate.psql("pg2", "DROP TABLE public.defs");
    estate.run(&["rollback", &id, "--yes"]).ok();
    estate.assert_no_trace(shard);
}

/// A node that was down when a shard was moved was given the number of the next map, and seemed to know it.
#[test]
fn a_node_that_missed_a_map_is_given_the_whole_of_the_next_one() {
    let estate = Estate::start(3, 6);
    let on = |node: &str| (0..6).find(|shard| estate.home(*shard) == node).expect("it has some");
    let (first, second) = (on("pg1"), on("pg3"));
    estate.node("pg2").stop();
    let run = estate.run(&["move", &first.to_string(), "--to", "pg3", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    estate.node("pg2").start();
    estate.run(&["move", &second.to_string(), "--to", "pg1", "--yes"]).ok();
    let known = format!("SELECT node FROM shardid.shard WHERE shard = {first}");
    assert_eq!(estate.psql("pg2", &known), "pg3");
    estate.run(&["plan"]).ok();
    estate.run(&["verify"]).ok();
}

/// The lock of a program that was stopped said nothing of who has it.
#[test]
fn whoever_has_a_shard_in_hand_is_named() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.make_tables(shard);
    let held: Held = estate.run_held(
        "following/before-Compare",
        &["move", &shard.to_string(), "--to", "pg2", "--yes"],
    );
    wait_until(Duration::from_secs(30), "it stands", || !estate.last_move(shard).is_empty());
    let id = estate.last_move(shard);
    let run = estate.run(&["abort", &id, "--yes"]);
    assert!(run.stderr.contains("shardid move by "), "{}", run.stderr);
    assert!(run.stderr.contains("pg_terminate_backend"), "{}", run.stderr);
    held.let_go();
}

/// A slot waits for all that have written anywhere on the server, also where nobody is connected.
#[test]
fn a_prepared_transaction_that_the_copy_waits_for_is_named() {
    let estate =
        Estate::start_with(2, 4, |_, builder| builder.conf("max_prepared_transactions = 2"));
    let (shard, _) = crate::catalog::shard_on_pg1(&estate);
    estate.psql(
        "pg1",
        "CREATE TABLE elsewhere (); BEGIN; INSERT INTO elsewhere DEFAULT VALUES; PREPARE TRANSACTION 'it''s held'",
    );
    let name = shard.to_string();
    let run = estate.run(&["move", &name, "--to", "pg2", "--yes", "--stall-seconds-max", "2"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    for says in [
        "nothing can follow node pg1 before transactions end that write there: prepared transaction 'it''s held' (postgres, app), open for",
        "wait for it, or end it: COMMIT PREPARED 'it''s held' or ROLLBACK PREPARED 'it''s held' in database app",
    ] {
        assert!(run.stderr.contains(says), "{}", run.stderr);
    }
    estate.psql("pg1", "COMMIT PREPARED 'it''s held'");
    let id = estate.last_move(shard);
    // One of a session that is connected is named by its process.
    let mut writer = estate.node("pg1").connect("app");
    writer.batch_execute("BEGIN; INSERT INTO elsewhere DEFAULT VALUES").unwrap();
    let run = estate.run(&["resume", &id, "--stall-seconds-max", "2"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("SELECT pg_catalog.pg_terminate_backend("), "{}", run.stderr);
    writer.batch_execute("COMMIT").unwrap();
    estate.run(&["resume", &id]).ok();
    assert_eq!(estate.home(shard), "pg2");
}

/// It ended between the switch and the opening, as that was where it had something to say: the shard took
/// writes nowhere.
#[test]
fn a_move_whose_words_nobody_can_read_goes_on_to_its_end() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let full =
        || std::fs::File::options().write(true).open("/dev/full").expect("it is always there");
    let run = estate
        .command(&["move", &shard.to_string(), "--to", "pg2", "--yes"])
        .stdout(full())
        .stderr(full())
        .status()
        .expect("the program runs");
    // Data that cannot be printed is a failure, at the end.
    assert!(matches!(run.code(), Some(0 | 1)), "{run}");
    let id = estate.last_move(shard);
    assert_eq!(estate.state(&id), "done");
    estate.assert_whole(shard, &shardid_tests::estate::Tally::default());
    let run = estate.command(&["retire", &id, "--yes"]).stderr(full()).status().expect("it runs");
    assert!(run.success(), "{run}");
    estate.assert_no_trace(shard);
}

/// `verify` said OK beside a shard that took no writes until somebody looked at `moves`.
#[test]
fn verify_names_a_move_that_was_cut_behind_its_fence_and_none_that_is_being_made() {
    let (estate, shard) = (Estate::start(2, 2), 0);
    estate.make_tables(shard);
    for (place, state) in
        [("fenced/before-CarryOver", "fenced"), ("switched/before-OpenTarget", "switched")]
    {
        let to = if estate.home(shard) == "pg1" { "pg2" } else { "pg1" };
        let arguments = ["move", "0", "--to", to, "--yes"];
        estate.run_cut(place, &arguments);
        let id = estate.last_move(shard);
        let named = format!(
            "move {id} of shard 0 stands {state}, and writers of the shard may be refused: `shardid resume {id}`"
        );
        let verified = estate.run(&["verify"]);
        assert_eq!(verified.code, 1, "{}", verified.stdout);
        assert!(verified.stdout.contains(&named), "{named}: {}", verified.stdout);

        let held = estate.run_held("switched/before-OpenTarget", &["resume", &id]);
        assert!(!estate.run(&["verify"]).stdout.contains("stands"));
        held.let_go().ok();
        assert_eq!(estate.run(&["verify"]).stdout, "OK: 15 checks on 2 nodes\n");
        estate.run(&["retire", &id, "--yes"]).ok();
    }
    let held = estate.run_held("fenced/before-CarryOver", &["move", "0", "--to", "pg2", "--yes"]);
    assert!(!estate.run(&["verify"]).stdout.contains("stands"));
    held.let_go().ok();
}
