//! A quick start stays one: what is made and used in one transaction gives ids at once, they
//! are not of the future, and a first load of millions neither waits nor fails.

use std::time::{Duration, Instant};

use shardid_tests::postgres::Client;
use shardid_tests::{Database, assert_rising, crowded};

use crate::ask::{ids, one, run, run_ahead, with_shard_5};

const TABLE: &str =
    "CREATE TABLE t (n serial, a bigint DEFAULT next_id(5), b bigint DEFAULT next_id_from('ids'))";

/// The statements of a first hour.
fn steps() -> [&'static str; 6] {
    [
        "CREATE EXTENSION shardid",
        "SELECT create_shard(5)",
        "SELECT create_id_sequence('ids', 5)",
        TABLE,
        "INSERT INTO t SELECT FROM generate_series(1, 100)",
        "INSERT INTO t DEFAULT VALUES",
    ]
}

/// Asserts that all ids are unique, rise, and are not of the future.
#[track_caller]
fn all_in_order(client: &mut Client, count: usize) {
    for column in ["a", "b"] {
        let taken = ids(client, &format!("SELECT {column} FROM t ORDER BY n"));
        assert_rising(&taken);
        assert_eq!(taken.len(), count);
        let ahead: bool =
            one(client, &format!("SELECT max(id_time({column})) > clock_timestamp() FROM t"));
        assert!(!ahead, "ids of the future");
    }
}

#[test]
fn extension_shard_and_rows_may_be_made_in_one_transaction_and_in_several() {
    for between in ["; ", "; COMMIT; BEGIN; ", "; SAVEPOINT a; ", "; RELEASE a; SAVEPOINT a; "] {
        let database = Database::fresh_plain();
        let mut client = database.connect();
        run(&mut client, &format!("BEGIN; SAVEPOINT a; {}; COMMIT", steps().join(between)));
        all_in_order(&mut client, 101);
        run(&mut database.connect(), "INSERT INTO t DEFAULT VALUES");
        all_in_order(&mut client, 102);
    }
}

#[test]
fn a_sequence_made_and_altered_in_one_transaction_gives_ids_after_it() {
    let database = Database::fresh_plain();
    let mut client = database.connect();
    let [extension, shard, sequence, table, insert, _] = steps();
    run(
        &mut client,
        &format!(
            "BEGIN; {extension}; {shard}; {sequence}; {table}; ALTER SEQUENCE ids OWNED BY t.b; \
             ALTER SEQUENCE shard_0005.shard_id_seq CACHE 1; COMMIT"
        ),
    );
    run(&mut client, insert);
    run(&mut database.connect(), "INSERT INTO t DEFAULT VALUES");
    all_in_order(&mut client, 101);
}

#[test]
fn a_shard_may_take_up_a_sequence_that_an_extension_left_and_give_ids_in_one_transaction() {
    let database = with_shard_5();
    let mut client = database.connect();
    let before = run_ahead(&mut client, 5);
    run(
        &mut client,
        "DROP EXTENSION shardid CASCADE; CREATE EXTENSION shardid; BEGIN; SELECT create_shard(5)",
    );
    let within = ids(&mut client, "SELECT next_id(5)")[0];
    assert!(within > before);
    run(&mut client, "COMMIT");
    assert!(ids(&mut database.connect(), "SELECT next_id(5)")[0] > within);
}

#[test]
fn a_dump_is_restored_in_one_transaction_and_gives_ids_after_it() {
    let database = Database::fresh_plain();
    let mut client = database.connect();
    for step in steps() {
        run(&mut client, step);
    }
    let last = run_ahead(&mut client, 5);
    let output = |command: &mut std::process::Command| {
        let output = command.output().expect("it can be run");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let file = tempfile();
    output(database.command("pg_dump").args(["-Fc", "-f", &file]));
    let copy = Database::fresh_plain();
    output(copy.command("pg_restore").args(["-1", "--exit-on-error", "-d", copy.name(), &file]));
    let mut client = copy.connect();
    assert!(ids(&mut client, "INSERT INTO t DEFAULT VALUES RETURNING a")[0] > last);
    // Over what is there: tables and sequences are dropped and made again.
    output(copy.command("pg_restore").args([
        "-1",
        "--clean",
        "--if-exists",
        "--exit-on-error",
        "-d",
        copy.name(),
        &file,
    ]));
    assert!(ids(&mut copy.connect(), "INSERT INTO t DEFAULT VALUES RETURNING a")[0] > last);
    std::fs::remove_file(file).unwrap();
    let dump = output(&mut database.command("pg_dump"));
    let copy = Database::fresh_plain();
    let dump = String::from_utf8_lossy(&dump);
    // The dump empties the search path, for its own session.
    copy.psql(&format!(
        "BEGIN;\n{dump}\nSET search_path = public;\nCOMMIT;\nINSERT INTO t DEFAULT VALUES;"
    ));
    assert!(ids(&mut copy.connect(), "SELECT max(a) FROM t")[0] > last);
}

/// A path in the folder for temporary files that nobody has.
fn tempfile() -> String {
    let name = format!("shardid-quick-{}", std::process::id());
    std::env::temp_dir().join(name).display().to_string()
}

#[test]
fn a_first_load_of_three_million_ids_neither_waits_nor_fails() {
    let database = Database::fresh_plain();
    let mut client = database.connect();
    for step in steps() {
        run(&mut client, step);
    }
    run(&mut client, "SET shardid.max_wait = 0");
    let began = Instant::now();
    run(&mut client, "SELECT count(next_id(5)) FROM generate_series(1, 3000000)");
    run(&mut client, "SELECT count(next_id_from('ids')) FROM generate_series(1, 3000000)");
    let took = began.elapsed();
    assert!(took < crowded(Duration::from_secs(60)), "{took:?}");
    // So does one in the transaction that makes the shard.
    run(&mut client, "BEGIN; SELECT create_shard(6)");
    run(&mut client, "SELECT count(next_id(6)) FROM generate_series(1, 3000000); COMMIT");
    run(&mut client, "SELECT next_id(6)");
    // And others that begin at the same time are not sent into the future by it.
    run(&mut client, "SELECT create_shard(7)");
    let ahead: bool = one(&mut client, "SELECT id_time(next_id(7)) > clock_timestamp()");
    assert!(!ahead, "a new shard begins in the future");
}
