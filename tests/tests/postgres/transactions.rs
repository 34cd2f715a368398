//! Transactions that roll back, wait, or hold a cursor: gaps, and never an id twice.

use std::thread;
use std::time::Duration;

use shardid_tests::postgres::Client;
use shardid_tests::{Database, assert_rising, assert_unique, expect_error, wait_until};

use crate::ask::{ids, one, run, with_shard_5};

#[test]
fn ids_that_are_rolled_back_are_gaps_and_never_come_again() {
    let database = with_shard_5();
    let mut client = database.connect();
    let mut taken: Vec<i64> = Vec::new();
    let take = |client: &mut Client, taken: &mut Vec<i64>| {
        taken.extend(ids(client, "SELECT next_id(5) FROM generate_series(1, 40)"));
    };
    for end in ["COMMIT", "ROLLBACK", "ROLLBACK AND CHAIN; COMMIT"] {
        run(&mut client, "BEGIN");
        take(&mut client, &mut taken);
        for undo in ["ROLLBACK TO a", "RELEASE a", "ROLLBACK TO a; RELEASE a"] {
            run(&mut client, "SAVEPOINT a");
            take(&mut client, &mut taken);
            run(&mut client, "SAVEPOINT b");
            take(&mut client, &mut taken);
            // An error in between as well.
            assert!(client.batch_execute("SELECT next_id(5), 1 / 0").is_err());
            run(&mut client, "ROLLBACK TO b");
            take(&mut client, &mut taken);
            run(&mut client, undo);
            take(&mut client, &mut taken);
        }
        run(&mut client, end);
        take(&mut client, &mut taken);
    }
    // The same by exceptions, which are savepoints too.
    run(
        &mut client,
        "CREATE TABLE kept (id bigint PRIMARY KEY, n serial); \
         CREATE FUNCTION sometimes(n int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE id bigint; BEGIN \
             BEGIN id := next_id(5); INSERT INTO kept VALUES (id); PERFORM 1 / (n % 3); \
             EXCEPTION WHEN division_by_zero THEN NULL; END; RETURN id; END $$",
    );
    taken.extend(ids(&mut client, "SELECT sometimes(n) FROM generate_series(1, 300) n"));
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM kept"), 200);
    assert_rising(&taken);
}

#[test]
fn a_prepared_transaction_keeps_its_ids_and_holds_off_a_drop() {
    let database = with_shard_5();
    database.psql("CREATE TABLE t (id bigint PRIMARY KEY)");
    let name = database.name();
    let mut client = database.connect();
    let mut taken = ids(&mut client, "SELECT next_ids(5, 10)");
    for (prepared, end) in [("kept", "COMMIT"), ("undone", "ROLLBACK")] {
        run(&mut client, "BEGIN");
        taken.extend(ids(
            &mut client,
            "INSERT INTO t SELECT next_id(5) FROM generate_series(1, 10) RETURNING id",
        ));
        run(&mut client, &format!("PREPARE TRANSACTION '{name}_{prepared}'"));
        taken.extend(ids(&mut client, "SELECT next_id(5) FROM generate_series(1, 10)"));
        // It may come back with its ids at any time, so the shard must stay.
        let mut other = database.connect();
        expect_error(&mut other, "SET lock_timeout = '100ms'; SELECT drop_shard(5)", "55P03");
        run(&mut other, &format!("{end} PREPARED '{name}_{prepared}'"));
        taken.extend(ids(&mut client, "SELECT next_id(5) FROM generate_series(1, 10)"));
    }
    assert_rising(&taken);
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM t"), 10);
    run(&mut client, "SELECT drop_shard(5)");
}

#[test]
fn next_ids_gives_as_many_as_are_asked_for_and_no_more() {
    let database = with_shard_5();
    let mut client = database.connect();
    for count in [0, 1, 1023, 1024, 1025, 100_000] {
        let taken = ids(&mut client, &format!("SELECT * FROM next_ids(5, {count})"));
        assert_rising(&taken);
        assert_eq!(taken.len(), count);
        let taken = ids(&mut client, &format!("SELECT next_ids(5, {count})"));
        assert_rising(&taken);
        assert_eq!(taken.len(), count);
    }
    // One that is not asked for its rest takes none for it.
    let before = ids(&mut client, "SELECT next_id(5)")[0];
    let few = ids(&mut client, "SELECT next_ids(5, 2000000000) LIMIT 3");
    let after = ids(&mut client, "SELECT next_id(5)")[0];
    assert_eq!(few.len(), 3);
    assert_rising(&[&[before][..], &few, &[after]].concat());
    assert!((after >> 23) - (before >> 23) < 1000, "far more than three were taken");
    assert!(ids(&mut client, "SELECT id FROM next_ids(5, NULL) id").is_empty());
    assert_eq!(ids(&mut client, "SELECT count(*) FROM next_ids(5, 3) a, next_ids(5, 4) b"), [12]);
    // Two at once in one row, and next_id between them.
    let mixed = ids(
        &mut client,
        "SELECT unnest(ARRAY[a, b, c]) FROM \
             (SELECT next_ids(5, 5000) a, next_ids(5, 5000) b, next_id(5) c) AS rows",
    );
    assert_eq!(assert_unique(&[("rows", mixed)]), 15_000);
}

#[test]
fn a_cursor_gives_its_ids_once_also_after_its_transaction() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "BEGIN; \
         DECLARE held CURSOR WITH HOLD FOR SELECT * FROM next_ids(5, 3000); \
         DECLARE listed CURSOR WITH HOLD FOR SELECT next_ids(5, 3000); \
         DECLARE single SCROLL CURSOR WITH HOLD FOR SELECT next_id(5) FROM generate_series(1, 3000)",
    );
    let mut taken = Vec::new();
    let mut fetch = |client: &mut Client, many: &str| {
        for cursor in ["held", "listed", "single"] {
            taken.extend(ids(client, &format!("FETCH {many} FROM {cursor}")));
            taken.extend(ids(client, "SELECT next_id(5)"));
        }
    };
    fetch(&mut client, "700");
    run(&mut client, "SAVEPOINT a");
    fetch(&mut client, "700");
    run(&mut client, "ROLLBACK TO a");
    fetch(&mut client, "700");
    run(&mut client, "COMMIT");
    fetch(&mut client, "ALL");
    // A rollback to a savepoint moves no cursor back, so all rows came once.
    assert_eq!(assert_unique(&[("cursors and statements", taken)]), 9000 + 12);
    // Going back shows the same rows, and takes nothing.
    let again = ids(&mut client, "FETCH BACKWARD ALL FROM single");
    assert_eq!(again.len(), 3000);
    assert!(again.is_sorted_by(|a, b| a > b));
}

#[test]
fn a_pooler_may_discard_all_between_two_clients() {
    let database = with_shard_5();
    let mut client = database.connect();
    let mut taken = Vec::new();
    run(&mut client, "SET shardid.shard = 5");
    for what in ["DISCARD ALL", "DISCARD SEQUENCES", "DISCARD PLANS", "RESET ALL"] {
        taken.extend(ids(&mut client, "SELECT next_id() FROM generate_series(1, 300)"));
        run(&mut client, what);
        taken.extend(ids(&mut client, "SELECT next_id(5) FROM generate_series(1, 300)"));
        assert_eq!(one::<String>(&mut client, "SHOW shardid.shard"), "-1");
    }
    assert_rising(&taken);
}

#[test]
fn a_shard_made_in_a_transaction_that_rolls_back_was_never_there() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "BEGIN; SELECT create_shard(5); SELECT next_id(5), next_id(); ROLLBACK");
    expect_error(&mut client, "SELECT next_id(5)", "42704");
    expect_error(&mut client, "SELECT next_id()", "55000");
    run(
        &mut client,
        "BEGIN; SAVEPOINT a; SELECT create_shard(5); SELECT next_id(5), next_id(); ROLLBACK TO a",
    );
    expect_error(&mut client, "SELECT next_id(5)", "42704");
    run(&mut client, "ROLLBACK");
    assert_eq!(
        one::<i64>(&mut client, "SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_0005'"),
        0
    );
    // And one that was dropped so is there still.
    run(&mut client, "SELECT create_shard(5)");
    let before = ids(&mut client, "SELECT next_id(5)")[0];
    run(&mut client, "BEGIN; SELECT next_id(5); SELECT drop_shard(5)");
    expect_error(&mut client, "SELECT next_id(5)", "42704");
    run(&mut client, "ROLLBACK");
    assert!(ids(&mut client, "SELECT next_id()")[0] > before);
}

#[test]
fn of_two_sessions_that_make_one_shard_the_second_waits_and_is_told() {
    let database = Database::fresh();
    for (shard, end, level) in [
        (1, "COMMIT", "READ COMMITTED"),
        (2, "COMMIT", "SERIALIZABLE"),
        (3, "ROLLBACK", "READ COMMITTED"),
    ] {
        let mut first = database.connect();
        run(&mut first, &format!("BEGIN; SELECT create_shard({shard}); SELECT next_id({shard})"));
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                let mut client = database.connect();
                let done = client.batch_execute(&format!(
                    "BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM shardid.shard; \
                     SELECT create_shard({shard}); COMMIT"
                ));
                done.err().map(|error| error.code().expect("the server said it").code().to_owned())
            });
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                 AND wait_event_type = 'Lock'";
            wait_until(Duration::from_secs(30), "the second to wait", || {
                database.psql(waits) == "1"
            });
            run(&mut first, end);
            let said = second.join().expect("it ends");
            match (end, level) {
                ("ROLLBACK", _) => assert_eq!(said, None),
                (_, "SERIALIZABLE") => {
                    assert!(
                        matches!(said.as_deref(), Some("40001" | "42710" | "42P07")),
                        "{said:?}"
                    )
                }
                _ => assert_eq!(said.as_deref(), Some("42710")),
            }
        });
        assert_eq!(database.psql(&format!("SELECT count(next_id({shard}))")), "1");
    }
    assert_eq!(database.psql("SELECT count(*) FROM shardid.shards"), "3");
}
