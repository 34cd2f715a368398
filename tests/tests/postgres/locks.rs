//! Nobody keeps others waiting who may not write to what they wait for.
//!
//! `create_shard` and its like took advisory locks with keys that anybody could take, and keep.

use std::thread;
use std::time::Duration;

use shardid_tests::{Database, expect_error, wait_until};

use crate::ask::{column, one, run, with_shard_5};

/// What takes a lock of its own, and the table that it is about.
const LOCKING: [(&str, &str); 8] = [
    ("SELECT create_shard(7)", "shard"),
    ("SELECT create_id_sequence('photo_ids', 5)", "id_sequence"),
    ("SELECT create_layout('mine', '2026-01-01Z', '10 ms', 1024, 10000)", "layout"),
    ("SELECT create_ticket('photos')", "ticket"),
    ("SELECT shardid.create_ticket_above('bills', 1, 1, 5)", "ticket"),
    ("SELECT create_segment('orders', 10)", "segment"),
    ("SELECT shardid.claim_shard(5, 7)", "shard_term"),
    ("SELECT shardid.check_term(5, 7)", "shard_term"),
];

#[test]
fn no_function_takes_a_lock_that_anybody_may_take() {
    let database = with_shard_5();
    let mut client = database.connect();
    for (sql, table) in LOCKING {
        run(&mut client, &format!("BEGIN; {sql}"));
        let held: Vec<String> = column(
            &mut client,
            "SELECT concat_ws(' ', locktype, classid::regclass, objid) FROM pg_locks \
             WHERE pid = pg_backend_pid() AND locktype IN ('advisory', 'object') AND (locktype = 'advisory' OR classid >= 16384)",
        );
        let ours = format!("object shardid.{table} ");
        assert!(
            !held.is_empty() && held.iter().all(|lock| lock.starts_with(&ours)),
            "{sql}: {held:?}"
        );
        run(&mut client, "COMMIT");
    }
    let calls: Vec<String> = column(
        &mut client,
        "SELECT p.oid::regprocedure::text FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid \
         WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND p.prosrc LIKE '%advisory%'",
    );
    assert_eq!(calls, Vec::<String>::new());
}

#[test]
fn two_sessions_that_make_the_same_are_one_after_the_other() {
    let database = with_shard_5();
    let (mut first, mut second) = (database.connect(), database.connect());
    run(&mut second, "SET lock_timeout = '200ms'");
    for (sql, _) in LOCKING.into_iter().take(7) {
        run(&mut first, &format!("BEGIN; {sql}"));
        expect_error(&mut second, sql, "55P03");
        run(&mut first, "ROLLBACK");
    }
    // Others go on meanwhile, and so do those who only look whether a claim stands.
    run(&mut first, "SELECT shardid.claim_shard(5, 7), shardid.claim_shard(6, 7)");
    run(
        &mut first,
        "BEGIN; SELECT create_shard(7); SELECT shardid.check_term(5, 7); SELECT create_ticket('photos')",
    );
    run(
        &mut second,
        "SELECT create_shard(8); SELECT shardid.check_term(5, 7); SELECT shardid.claim_shard(6, 8)",
    );
    expect_error(&mut second, "SELECT shardid.claim_shard(5, 8)", "55P03");
    run(&mut first, "COMMIT");
    run(&mut second, "SELECT shardid.claim_shard(5, 8)");
}

#[test]
fn who_may_not_write_may_not_lock() {
    let database = with_shard_5();
    let stranger = database.role("stranger");
    let mut client = database.connect_as(&stranger);
    for table in ["shard", "id_sequence", "layout", "ticket", "segment", "shard_term"] {
        for alone in ["true", "false"] {
            let sql = format!("SELECT shardid.lock_number('shardid.{table}', 5, {alone})");
            let refusal = expect_error(&mut client, &sql, "42501");
            assert!(refusal.message.contains(&format!("shardid.{table}")), "{refusal:?}");
        }
    }
    let owned = Database::fresh_plain();
    let owner = owned.role("owner");
    owned.psql(&format!("ALTER DATABASE {} OWNER TO {owner}", owned.name()));
    run(
        &mut owned.connect_as(&owner),
        "CREATE EXTENSION shardid; SELECT create_shard(5), create_ticket('photos'), create_segment('orders', 10)",
    );
}

/// Has two sessions run a statement each, of which the first commits when the second waits for
/// it; returns what the second one's SQLSTATE is, if it fails.
#[track_caller]
fn one_waits_for_the_other(database: &Database<'_>, first: &str, second: &str) -> Option<String> {
    let (mut a, mut b) = (database.connect(), database.connect());
    let process: i32 = one(&mut b, "SELECT pg_backend_pid()");
    run(&mut a, &format!("BEGIN; {first}"));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| b.batch_execute(second));
        let blocked = format!("SELECT pg_blocking_pids({process}) = ARRAY[pg_backend_pid()]");
        while !one::<bool>(&mut a, &blocked) && !waiting.is_finished() {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!waiting.is_finished(), "{second} did not wait");
        run(&mut a, "COMMIT");
        let result = waiting.join().expect("it does not panic");
        result.err().map(|error| error.code().expect("of the server").code().to_owned())
    })
}

/// The second one failed with what PostgreSQL says of its own catalogs: 23505.
#[test]
fn who_waited_for_another_that_makes_the_same_sees_what_that_one_has_made() {
    let database = with_shard_5();
    for (makes, again) in [
        ("SELECT create_shard(7@)", "42710"),
        ("SELECT create_shard(8, 'named'@)", "42710"),
        ("SELECT create_id_sequence('photo_ids', 5@)", "42710"),
        ("SELECT create_id_sequence('public.\"Photo ids\"', 5@)", "42710"),
        ("SELECT create_layout('mine', '2026-01-01Z', '10 ms', 1024, 10000@)", "42710"),
        ("SELECT create_ticket('photos'@)", "42710"),
        ("SELECT create_segment('orders', 10@)", "42710"),
    ] {
        let once = makes.replace('@', ", if_not_exists => true");
        assert_eq!(one_waits_for_the_other(&database, &once, &once), None, "{once}");
        let other = makes
            .replace("photo", "bill")
            .replace("Photo", "Bill")
            .replace("orders", "others")
            .replace("mine", "yours")
            .replace("(7", "(17")
            .replace("(8, 'named'", "(18, 'other'")
            .replace('@', "");
        let refused = one_waits_for_the_other(&database, &other, &other);
        assert_eq!(refused.as_deref(), Some(again), "{other}");
    }
    // Two shards in one schema, and a shard in the schema that another is given by itself.
    for (first, second) in [
        ("SELECT create_shard(30, 'sch')", "SELECT create_shard(31, 'sch')"),
        ("SELECT create_shard(32)", "SELECT create_shard(33, 'shard_0032')"),
    ] {
        let refused = one_waits_for_the_other(&database, first, second);
        assert_eq!(refused.as_deref(), Some("42723"), "{second}");
    }
    run(
        &mut database.connect(),
        "SELECT next_id(7), next_id(8), next_id(30), next_id_from('photo_ids')",
    );
}

/// The lock was taken first, and a savepoint keeps it: drop_shard waited, and all behind it.
#[test]
fn whoever_may_take_nothing_locks_nothing() {
    let database = with_shard_5();
    let stranger = database.role("stranger");
    database.psql(
        "SELECT create_ticket('photos'), create_segment('orders', 10), create_id_sequence('own', 5)",
    );
    let mut client = database.connect_as(&stranger);
    run(&mut client, "BEGIN");
    for sql in [
        "SELECT next_id(5)",
        "SELECT next_ids(5, 10)",
        "SELECT next_id_from('own')",
        "SELECT next_ticket('photos')",
        "SELECT next_ticket_gapless('photos')",
        "SELECT next_segment('orders')",
    ] {
        run(&mut client, "SAVEPOINT a");
        expect_error(&mut client, sql, "42501");
        run(&mut client, "ROLLBACK TO a");
    }
    let held: Vec<String> = column(
        &mut client,
        "SELECT concat_ws(' ', relation::regclass, mode) FROM pg_locks \
         WHERE pid = pg_backend_pid() AND mode <> 'AccessShareLock' AND locktype = 'relation'",
    );
    assert_eq!(held, Vec::<String>::new());
}

/// Whoever may write to the tables listed another's sequence, and kept the row locked.
#[test]
fn nobody_waits_for_a_row_to_drop_what_is_his_own() {
    let database = with_shard_5();
    let app = database.role("app");
    database.psql(&format!("CREATE SCHEMA mine AUTHORIZATION {app}"));
    let mut client = database.connect_as(&app);
    run(&mut client, "CREATE TABLE mine.t (id serial); SET lock_timeout = '1s'");
    database.psql(
        "INSERT INTO shardid.segment (tag, sequence, step, start, delta, remainder) VALUES ('x', 'mine.t_id_seq', 10, 1, 1, 0)",
    );
    let mut other = database.connect();
    run(&mut other, "BEGIN; SELECT FROM shardid.segment FOR UPDATE");
    run(&mut client, "DROP TABLE mine.t");
    run(&mut other, "ROLLBACK");
    let lost = expect_error(&mut other, "SELECT next_segment('x')", "55000");
    assert!(lost.message.contains("was dropped"), "{lost:?}");
}

/// It was a syntax error at a number, or the word that one must own it.
#[test]
fn what_is_dropped_while_it_is_waited_for_is_to_be_tried_again() {
    let database = with_shard_5();
    for (call, sequence, sqlstate) in [
        ("SELECT drop_ticket('t')", "shardid_tickets.t", "40001"),
        ("SELECT shardid.raise_ticket('t', 100)", "shardid_tickets.t", "40001"),
        ("SELECT next_ticket_gapless('t')", "shardid_tickets.t", "40001"),
        ("SELECT drop_segment('s')", "shardid_segments.s", "40001"),
        // All that there was to drop is gone.
        ("SELECT drop_shard(6)", "shard_0006.shard_id_seq", ""),
    ] {
        database.psql("SELECT create_ticket('t', if_not_exists => true), create_segment('s', 10, if_not_exists => true), create_shard(6, if_not_exists => true)");
        // One who has used it, one who drops it, and behind both the call.
        let mut uses = database.connect();
        run(&mut uses, &format!("BEGIN; SELECT nextval('{sequence}')"));
        let waits = |process: i32| {
            let sql = format!("SELECT cardinality(pg_blocking_pids({process})) > 0");
            wait_until(Duration::from_secs(20), "it waits", || database.psql(&sql) == "t");
        };
        let refused = thread::scope(|scope| {
            let session = |sql: String| {
                let mut client = database.connect();
                let process: i32 = one(&mut client, "SELECT pg_backend_pid()");
                let running = scope.spawn(move || client.batch_execute(&sql));
                waits(process);
                running
            };
            let drops = session(format!("DROP SEQUENCE {sequence} CASCADE"));
            let calls = session(call.to_owned());
            run(&mut uses, "ROLLBACK");
            drops.join().expect("it does not panic").expect("it is dropped");
            let refused = calls.join().expect("it does not panic").err();
            refused.and_then(|error| error.code().map(|code| code.code().to_owned()))
        });
        assert_eq!(refused.unwrap_or_default(), sqlstate, "{call}");
        database.psql("SELECT drop_ticket('t'), drop_segment('s')");
        if sequence.starts_with("shard_") {
            database.psql("SELECT create_shard(6)");
        }
    }
}

/// Whoever may write to the tables may lock them, and kept every `DROP` of the database waiting.
#[test]
fn nobody_waits_for_a_table_of_the_extension_to_drop_what_is_his_own() {
    let database = with_shard_5();
    let app = database.role("app");
    database.psql(&format!("CREATE SCHEMA mine AUTHORIZATION {app}"));
    let mut client = database.connect_as(&app);
    run(&mut client, "SET lock_timeout = '1s'");
    let mut other = database.connect();
    for table in ["layout", "shard", "id_sequence", "dropped_id_sequence", "ticket", "segment"] {
        run(&mut client, "CREATE TABLE mine.t (id serial)");
        run(&mut other, &format!("BEGIN; LOCK TABLE shardid.{table}"));
        run(&mut client, "DROP TABLE mine.t");
        run(&mut other, "COMMIT");
    }
    // Nor is anybody refused since another has written there since his transaction began.
    let made = "SELECT create_id_sequence('a', 5), create_id_sequence('b', 5)";
    database.psql(made);
    run(&mut other, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class");
    database.psql("DROP SEQUENCE a");
    run(&mut other, "DROP SEQUENCE b; COMMIT");
    // What could not be written down is found by its bare number, and is none for long.
    database.psql(made);
    let bare = "SELECT count(*) FROM shardid.id_sequence WHERE sequence::text ~ '^[0-9]+$'";
    assert_eq!(database.psql(bare), "0");
    // A transaction that sees a shard as it was before makes it again by the hint.
    run(&mut other, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class");
    database.psql(
        "ALTER EVENT TRIGGER shardid_sequence_dropped DISABLE; DROP SCHEMA shard_0005 CASCADE",
    );
    let refusal = expect_error(&mut database.connect(), "SELECT next_id(5)", "42704");
    run(&mut other, &format!("{} COMMIT; SELECT next_id(5)", refusal.hint));
}

/// `42P07`, is not an id sequence of shard 52, with the hint to rename it: it was.
#[test]
fn what_was_made_since_a_transaction_began_is_not_taken_for_something_else() {
    let database = with_shard_5();
    database.psql("SELECT create_ticket('a'), create_segment('a', 10)");
    for sql in [
        "SELECT create_shard(52, if_not_exists => true)",
        "SELECT create_id_sequence('own', 5, if_not_exists => true)",
        "SELECT create_ticket('t', if_not_exists => true)",
        "SELECT create_segment('s', 10, if_not_exists => true)",
    ] {
        let mut later = database.connect();
        run(&mut later, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class");
        database.psql(sql);
        let refusal = expect_error(&mut later, sql, "40001");
        assert!(refusal.hint.starts_with("Try again"), "{refusal:?}");
        run(&mut later, "ROLLBACK");
        run(&mut later, sql);
    }
}

/// A drop waited for another of the same shard, and two that crossed were a deadlock.
#[test]
fn nobody_waits_for_who_drops_another_id_sequence_of_the_shard() {
    let database = with_shard_5();
    database.psql(
        "SELECT create_id_sequence('a', 5), create_id_sequence('b', 5), create_id_sequence('c', 5)",
    );
    let (mut first, mut second) = (database.connect(), database.connect());
    run(&mut first, "BEGIN; DROP SEQUENCE a");
    run(&mut second, "SET lock_timeout = '1s'; DROP SEQUENCE b");
    run(&mut second, "SELECT create_id_sequence('d', 5)");
    run(&mut first, "COMMIT; DROP SEQUENCE c");
    // What could not be written down is found by its bare number.
    let left = "SELECT count(*) FROM shardid.id_sequence; SELECT shard, floor IS NOT NULL FROM shardid.dropped_id_sequence";
    assert_eq!(database.psql(left), "2\n5|t");
}

/// A row that its drop could not write to kept a bare number, and `BEGIN; create_id_sequence();
/// next_id_from()` of a role that may take no rows away was refused from then on.
#[test]
fn what_others_have_dropped_keeps_no_new_id_sequence_from_giving_ids_at_once() {
    let database = with_shard_5();
    let maker = database.role("maker");
    database.psql(&format!(
        "GRANT CREATE ON SCHEMA public TO {maker}; GRANT INSERT, UPDATE ON shardid.shard, shardid.id_sequence, shardid.dropped_id_sequence TO {maker};
         GRANT EXECUTE ON FUNCTION create_id_sequence(text, integer, text, boolean), shardid.raise_horizon(bigint, text),
             shardid.create_generator(name, name, integer, text, bigint, boolean) TO {maker}"
    ));
    let mut client = database.connect_as(&maker);
    run(&mut client, "SELECT create_id_sequence('mine', 5), create_id_sequence('own', 5)");
    database.psql("SELECT create_id_sequence('a', 5)");
    let mut other = database.connect();
    run(&mut other, "BEGIN; DROP SEQUENCE a");
    run(&mut client, "DROP SEQUENCE mine");
    run(&mut other, "COMMIT");
    let bare = "SELECT count(*) FROM shardid.id_sequence WHERE sequence::text ~ '^[0-9]+$'";
    assert_eq!(database.psql(bare), "1", "the test would prove nothing");
    run(
        &mut client,
        "BEGIN; SELECT create_id_sequence('new', 5); SELECT next_id_from('new'); COMMIT",
    );
    assert_eq!(database.psql(bare), "1", "the test would prove nothing");

    // What its own transaction has dropped, a rollback brings back.
    database.psql("SELECT create_id_sequence('a', 5)");
    run(&mut other, "BEGIN; DROP SEQUENCE a");
    run(&mut client, "BEGIN; DROP SEQUENCE own; SELECT create_id_sequence('own', 5)");
    expect_error(&mut client, "SELECT next_id_from('own')", "55000");
    run(&mut client, "ROLLBACK; SELECT next_id_from('own')");
    run(&mut other, "ROLLBACK");
}

/// Whoever may only read a table could keep everybody from making an index on it.
#[test]
fn asking_how_far_a_generator_went_locks_no_table() {
    let database = with_shard_5();
    let reader = database.role("reader");
    database.psql(&format!("CREATE TABLE public.t (a int); GRANT SELECT ON public.t TO {reader}"));
    let mut asking = database.connect_as(&reader);
    run(
        &mut asking,
        "BEGIN; SELECT shardid.last_id_at_most('public.t', 5, 'instagram'), shardid.last_id_at_most('shardid.shard', 5, 'instagram')",
    );
    let locks: Vec<String> = column(
        &mut asking,
        "SELECT relation::regclass::text FROM pg_locks JOIN pg_class c ON c.oid = relation \
         WHERE pid = pg_backend_pid() AND mode = 'RowExclusiveLock' AND relkind <> 'S'",
    );
    assert_eq!(locks, Vec::<String>::new());
}
