//! Statements that are transactions of their own, one right after the other: they share a
//! block of ids, and what changes in between counts all the same.

use shardid_tests::postgres::Client;
use shardid_tests::{assert_rising, expect_error};

use crate::ask::{column, ids, one, run, with_shard_5};

/// Takes ids in that many transactions of their own, one right after the other, so that
/// ids are left in a block; then does what is given, in one of its own as well.
///
/// A procedure's transactions follow each other within microseconds.
fn loop_then(transactions: i32, then: &str) -> String {
    format!(
        "DO $$ BEGIN FOR i IN 1..{transactions} LOOP PERFORM next_id(5); COMMIT; END LOOP; {then} END $$"
    )
}

/// How often a change is put after a loop: the block's millisecond may be over in one.
const TIMES: i32 = 20;

#[test]
fn statements_right_after_each_other_lock_the_sequence_once_for_many_and_their_ids_rise() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(&mut client, "CREATE TABLE taken (n serial, id bigint, locked boolean)");
    run(
        &mut client,
        "DO $$ DECLARE id bigint; locked boolean; BEGIN FOR i IN 1..3000 LOOP \
             id := next_id(5); \
             locked := EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() \
                 AND relation = 'shard_0005.shard_id_seq'::regclass); \
             INSERT INTO taken (id, locked) VALUES (id, locked); \
             IF i % 3 = 0 THEN ROLLBACK; ELSE COMMIT; END IF; \
         END LOOP; END $$",
    );
    assert_rising(&ids(&mut client, "SELECT id FROM taken ORDER BY n"));
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM taken"), 2_000);
    let locked =
        |client: &mut Client| -> i64 { one(client, "SELECT count(*) FROM taken WHERE locked") };
    let of_blocks = locked(&mut client);
    assert!((1..1_900).contains(&of_blocks), "{of_blocks} of 2000 locked the sequence");

    run(&mut client, "TRUNCATE taken; SET shardid.block = 1");
    run(
        &mut client,
        "DO $$ BEGIN FOR i IN 1..300 LOOP \
             INSERT INTO taken (id, locked) SELECT next_id(5), false; \
             UPDATE taken SET locked = true WHERE EXISTS (SELECT FROM pg_locks \
                 WHERE pid = pg_backend_pid() AND relation = 'shard_0005.shard_id_seq'::regclass) \
                 AND n = (SELECT max(n) FROM taken); \
             COMMIT; \
         END LOOP; END $$",
    );
    assert_eq!(locked(&mut client), 300, "a block of one is no block");
}

#[test]
fn a_transaction_of_several_statements_locks_the_sequence_whatever_came_before_it() {
    let database = with_shard_5();
    let mut client = database.connect();
    for _ in 0..50 {
        let sql = "SELECT next_id(5); ".repeat(7);
        run(&mut client, &sql);
        for _ in 0..7 {
            run(&mut client, "SELECT next_id(5)");
        }
        run(&mut client, "BEGIN; SELECT next_id(5)");
        let locked: Vec<String> = column(
            &mut client,
            "SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() \
             AND relation = 'shard_0005.shard_id_seq'::regclass",
        );
        assert_eq!(locked, ["RowExclusiveLock"]);
        run(&mut client, "COMMIT");
    }
}

#[test]
fn nobody_gets_what_is_left_of_anothers_block() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(&mut client, "CREATE ROLE left_over_bob; GRANT USAGE ON SCHEMA public TO left_over_bob");
    for _ in 0..TIMES {
        let sql = loop_then(9, "SET LOCAL ROLE left_over_bob; PERFORM next_id(5);");
        let refusal = expect_error(&mut client, &sql, "42501");
        assert!(refusal.message.contains("shard_id_seq"), "{refusal:?}");
    }
    // Nor does who has lost the right.
    run(
        &mut client,
        "GRANT USAGE ON SCHEMA shard_0005 TO left_over_bob; \
         CREATE PROCEDURE take_right_away() SECURITY DEFINER LANGUAGE sql AS \
             'REVOKE ALL ON SEQUENCE shard_0005.shard_id_seq FROM left_over_bob'",
    );
    for _ in 0..TIMES {
        run(&mut client, "GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq TO left_over_bob");
        run(&mut client, "SET ROLE left_over_bob");
        let sql = loop_then(9, "CALL take_right_away(); COMMIT; PERFORM next_id(5);");
        expect_error(&mut client, &sql, "42501");
        run(&mut client, "RESET ROLE");
    }
    run(&mut client, "DROP OWNED BY left_over_bob; DROP ROLE left_over_bob");
}

#[test]
fn what_is_left_of_a_block_is_not_for_read_only_transactions_nor_for_a_shard_that_changed() {
    let database = with_shard_5();
    let mut client = database.connect();
    for _ in 0..TIMES {
        let sql = loop_then(9, "SET TRANSACTION READ ONLY; PERFORM next_id(5);");
        expect_error(&mut client, &sql, "25006");
        let fence = "UPDATE shardid.shard SET state = 'fenced' WHERE shard = 5; COMMIT;";
        let sql = loop_then(9, &format!("{fence} PERFORM next_id(5);"));
        expect_error(&mut client, &sql, "SI002");
        run(&mut client, "UPDATE shardid.shard SET state = 'open' WHERE shard = 5");
        // In its own transaction, too, and back.
        let sql =
            loop_then(9, "ALTER SEQUENCE shard_0005.shard_id_seq CACHE 1; PERFORM next_id(5);");
        expect_error(&mut client, &sql, "55000");
    }
    let before = ids(&mut client, "SELECT next_id(5)");
    let sql = loop_then(
        9,
        "ALTER SEQUENCE shard_0005.shard_id_seq CACHE 1; ROLLBACK; PERFORM next_id(5); COMMIT;",
    );
    run(&mut client, &sql);
    let after = ids(&mut client, "SELECT next_id(5)");
    assert!(after > before);
}
