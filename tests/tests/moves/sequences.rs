//! A plain `nextval` is no write that a fence on tables could stop; it gives no
//! number twice all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::{Refusal, assert_unique, expect_error, wait_until};

use crate::shared;

/// What `nextval` says of a sequence that has come to its end.
const CLOSED: &str = "2200H";

fn make(estate: &Estate, shard: u32) -> String {
    let schema = schema(shard);
    estate.psql(
        &estate.home(shard),
        &format!(
            "CREATE SEQUENCE {schema}.plain;
             CREATE SEQUENCE {schema}.cached CACHE 20;
             CREATE SEQUENCE {schema}.down INCREMENT -2 MAXVALUE 100000 MINVALUE -100000 START 100000;
             CREATE SEQUENCE {schema}.small AS smallint MINVALUE -32768 START -32768;
             CREATE SEQUENCE {schema}.lowest MINVALUE -9223372036854775808 START -9223372036854775808;
             CREATE SEQUENCE {schema}.highest INCREMENT -1 MAXVALUE 9223372036854775807 START 9223372036854775807;
             CREATE SEQUENCE {schema}.round MAXVALUE 3 CYCLE;
             CREATE SEQUENCE {schema}.\"odd % \"\"name\"\"\" START 7;
             CREATE TABLE {schema}.counted (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, serial bigserial);"
        ),
    );
    schema
}

/// Takes numbers from a sequence wherever it gives them.
fn take(estate: &Estate, sequence: &str, stopped: &AtomicBool, taken: &AtomicUsize) -> Vec<i64> {
    let mut clients: Vec<_> = ["pg1", "pg2"].map(|n| estate.node(n).connect(DATABASE)).into();
    let sql = format!("SELECT nextval('{sequence}')");
    let (mut numbers, mut at) = (Vec::new(), 0);
    while !stopped.load(Ordering::Relaxed) {
        match clients[at].query_one(&sql, &[]) {
            Ok(row) => {
                numbers.push(row.get(0));
                taken.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                let refusal = Refusal::of(&error).expect("the servers are up");
                // Closed, or dropped with its copy, perhaps while this waited for a lock on it.
                assert!(
                    [CLOSED, "42P01", "3F000"].contains(&refusal.sqlstate.as_str())
                        || refusal.message.starts_with("could not open relation with OID"),
                    "{refusal:?}"
                );
                at = 1 - at;
            }
        }
        thread::sleep(Duration::from_micros(300));
    }
    numbers
}

#[test]
fn a_plain_nextval_gives_no_number_twice_there_and_back_again() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (make(estate, shard), shard.to_string());
    let (stopped, taken) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
    let names = ["plain", "cached", "down", "counted_serial_seq"];
    thread::scope(|scope| {
        let takers: Vec<_> = names
            .map(|name| {
                let (sequence, stopped, taken) = (format!("{schema}.{name}"), &stopped, &taken);
                scope.spawn(move || take(estate, &sequence, stopped, taken))
            })
            .into();
        let more = || {
            let wanted = taken.load(Ordering::Relaxed) + 200;
            wait_until(Duration::from_secs(30), "numbers to be taken", || {
                taken.load(Ordering::Relaxed) >= wanted || takers.iter().any(|t| t.is_finished())
            });
        };
        let moved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..4 {
                more();
                estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
                more();
                // Nearly back: the old copy's sequences were opened again.
                let id = estate.last_move(shard);
                estate.run_cut("fenced/before-next", &["rollback", &id, "--yes"]);
                estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
                let mut old = estate.node("pg1").connect(DATABASE);
                expect_error(&mut old, &format!("SELECT nextval('{schema}.plain')"), CLOSED);
                more();
                estate.run(&["rollback", &id, "--yes"]).ok();
            }
            more();
        }));
        stopped.store(true, Ordering::Relaxed);
        for (name, taker) in names.iter().zip(takers) {
            let numbers = taker.join().expect("a taker does not panic");
            assert!(numbers.len() > 100, "{name}: {}", numbers.len());
            assert_unique(&[(name, numbers)]);
        }
        if let Err(cause) = moved {
            std::panic::resume_unwind(cause);
        }
    });
    estate.assert_no_trace(shard);
}

/// They began where they are made to begin, and gave whoever asked there what the others had given long ago.
#[test]
fn the_sequences_of_a_copy_that_is_not_the_shard_yet_give_nothing() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = make(estate, shard);
    let all = format!(
        "SELECT string_agg(relname, E'\\n' ORDER BY relname) FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'S'"
    );
    let names = estate.psql("pg1", &all);
    let names: Vec<&str> = names.lines().collect();
    let take = |node: &str, name: &str| {
        let name = format!("{schema}.\"{}\"", name.replace('"', "\"\""));
        let sql = format!("SELECT nextval('{}')", name.replace('\'', "''"));
        estate.node(node).connect(DATABASE).query_one(&sql, &[]).map(|row| row.get::<_, i64>(0))
    };
    let before: Vec<i64> = names.iter().map(|name| take("pg1", name).unwrap()).collect();
    for place in ["copying/before-AwaitCopy", "following/before-AwaitClose"] {
        let arguments = ["move", &shard.to_string(), "--to", "pg2", "--yes"];
        let held = match place.starts_with("copying") {
            true => estate.run_held(place, &arguments),
            false => estate.run_held(place, &["resume", &estate.last_move(shard)]),
        };
        for name in &names {
            let refused = take("pg2", name).expect_err(name);
            assert_eq!(refused.code().map(|code| code.code()), Some(CLOSED), "{name} at {place}");
        }
        held.kill();
    }
    estate.run(&["resume", &estate.last_move(shard)]).ok();
    // They go on, by the rules that they had.
    for (name, before) in names.iter().zip(before) {
        let next = take("pg2", name).unwrap();
        assert_ne!(next, before, "{name}");
    }
}

#[test]
fn sequences_of_every_kind_are_closed_where_they_were_and_go_on_where_they_are() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (make(estate, shard), shard.to_string());
    let rules = format!(
        "SELECT relname, seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle
           FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid WHERE relnamespace = '{schema}'::regnamespace ORDER BY 1"
    );
    let before = estate.psql("pg1", &rules);
    // A session that keeps numbers in its cache.
    let mut early = estate.node("pg1").connect(DATABASE);
    let cached = format!("SELECT nextval('{schema}.cached')");
    let first: i64 = early.query_one(&cached, &[]).expect("it is open").get(0);
    assert_eq!(first, 1);
    estate.psql("pg1", &format!("SELECT nextval('{schema}.plain'), nextval('{schema}.small')"));
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    expect_error(&mut early, &cached, CLOSED);
    let all = [
        ("plain", "2"),
        ("cached", "21"),
        ("down", "100000"),
        ("small", "-32767"),
        ("lowest", "-9223372036854775808"),
        ("highest", "9223372036854775807"),
        ("round", "1"),
        ("\"odd % \"\"name\"\"\"", "7"),
        ("counted_id_seq", "1"),
        ("counted_serial_seq", "1"),
        ("shard_id_seq", ""),
    ];
    let mut old = estate.node("pg1").connect(DATABASE);
    for (name, next) in all {
        let sql = format!("SELECT nextval('{schema}.{name}')");
        expect_error(&mut old, &sql, CLOSED);
        let given = estate.psql("pg2", &sql);
        assert!(next.is_empty() || given == next, "{name} gives {given}, not {next}");
    }
    assert_eq!(estate.psql("pg2", &rules), before);
    let last = format!("SELECT next_id({shard})");
    let last: i64 = estate.psql("pg2", &last).parse().expect("an id");
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &rules), before);
    for (name, next) in
        [("plain", "3"), ("down", "99998"), ("round", "2"), ("highest", "9223372036854775806")]
    {
        assert_eq!(
            estate.psql("pg1", &format!("SELECT nextval('{schema}.{name}')")),
            next,
            "{name}"
        );
    }
    let id: i64 = estate.psql("pg1", &format!("SELECT next_id({shard})")).parse().expect("an id");
    assert!(id > last, "{id} after {last}");
    estate.assert_no_trace(shard);
}

#[test]
fn numbers_taken_between_the_switch_and_a_resume_are_not_given_again() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (make(estate, shard), shard.to_string());
    let next = format!("SELECT nextval('{schema}.plain')");
    for (place, taken) in
        [("switched/before-GuardSource", true), ("switched/before-OpenTarget", false)]
    {
        estate.run_cut(place, &["move", &number, "--to", "pg2", "--yes"]);
        let mut last: i64 = 0;
        for _ in 0..if taken { 5 } else { 0 } {
            last = estate.psql("pg1", &next).parse().expect("a number");
        }
        estate.run(&["resume", &estate.last_move(shard)]).ok();
        let mut old = estate.node("pg1").connect(DATABASE);
        expect_error(&mut old, &next, CLOSED);
        let given: i64 = estate.psql("pg2", &next).parse().expect("a number");
        assert!(given > last, "{given} after {last}");
        // Once the target gives numbers, a second resume must not take it back.
        estate.run_cut(
            "switched/before-OpenTarget",
            &["rollback", &estate.last_move(shard), "--yes"],
        );
        estate.run(&["resume", &estate.last_move(shard)]).ok();
        let back: i64 = estate.psql("pg1", &next).parse().expect("a number");
        assert!(back > given, "{back} after {given}");
    }
    estate.run_cut("switched/before-EndStream", &["move", &number, "--to", "pg2", "--yes"]);
    let given: i64 = estate.psql("pg2", &next).parse().expect("a number");
    estate.run(&["resume", &estate.last_move(shard)]).ok();
    let more: i64 = estate.psql("pg2", &next).parse().expect("a number");
    assert!(more > given, "{more} after {given}");
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}

#[test]
fn a_transaction_that_has_called_nextval_sends_the_fence_back_until_it_ends() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (make(estate, shard), shard.to_string());
    // Once the slot is made: that waits for transactions too.
    let held =
        estate.run_held("following/before-AwaitClose", &["move", &number, "--to", "pg2", "--yes"]);
    let mut client = estate.node("pg1").connect(DATABASE);
    // One that had to log its number has a transaction id, and is waited for as whatever may
    // have changed the schema: that is another way to lose a fence. The next 32 need none.
    let next =
        format!("SELECT nextval('{schema}.plain'), pg_current_xact_id_if_assigned() IS NULL");
    let (open, taken) = loop {
        let mut open = client.transaction().expect("the server is up");
        let row = open.query_one(&next, &[]).expect("it is open");
        if row.get(1) {
            break (open, row.get::<_, i64>(0));
        }
        open.commit().expect("the server is up");
    };
    let run = thread::scope(|scope| {
        let moving = scope.spawn(|| held.let_go());
        let id = estate.last_move(shard);
        wait_until(Duration::from_secs(30), "a fence to be lost", || {
            let lost = format!(
                "SELECT count(*) FROM shardid.move_log WHERE state = 'fenced' AND move = {id}"
            );
            estate.psql("pg1", &lost).parse::<u32>().expect("a count") >= 2
        });
        open.rollback().expect("the server is up");
        moving.join().expect("it does not panic")
    });
    assert_eq!(run.code, 0, "{}", run.stderr);
    // Whose it is.
    let words = "back to following: a transaction that has called nextval, or locks a table, does not end: process ";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    let given: i64 =
        estate.psql("pg2", &format!("SELECT nextval('{schema}.plain')")).parse().expect("a number");
    assert!(given > taken, "{given} after {taken}");
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}

/// A move brings where they stand, so nothing has to be left out for what is not known.
#[test]
fn ids_of_a_moved_shard_begin_no_further_ahead_than_others() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let schema = schema(shard);
    estate.psql(
        "pg1",
        &format!("SELECT create_id_sequence('{schema}.ids', {shard}); SELECT next_id_from('{schema}.ids')"),
    );
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let sql = format!(
        "SELECT greatest(id_time(next_id({shard})), id_time(next_id_from('{schema}.ids'))) - clock_timestamp() < interval '5 s'"
    );
    assert_eq!(estate.psql("pg2", &sql), "t");
}
