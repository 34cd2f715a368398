//! Nobody keeps others waiting who may not write to what they wait for.
//!
//! `create_shard` and its like took advisory locks with keys that anybody could take, and keep.

use shardid_tests::{Database, expect_error};

use crate::ask::{column, run, with_shard_5};

/// What takes a lock of its own, and the table that it is about.
const LOCKING: [(&str, &str); 6] = [
    ("SELECT create_shard(7)", "shard"),
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
        assert_eq!(held.len(), 1, "{sql}: {held:?}");
        assert!(held[0].starts_with(&format!("object shardid.{table} ")), "{sql}: {held:?}");
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
    for (sql, _) in LOCKING.into_iter().take(5) {
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
    for table in ["shard", "ticket", "segment", "shard_term"] {
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
