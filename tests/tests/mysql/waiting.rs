//! Nobody waits for somebody else's transaction to get an id.

use shardid_tests::my::{Engine, Server, query, shared};
use shardid_tests::mysql::Conn;
use shardid_tests::on_both_engines;

use crate::harness::{ids, new_shard};

on_both_engines!(
    open_transactions_of_others_keep_nobody_waiting,
    an_old_snapshot_gets_new_ids,
    clearing_away_old_rows_waits_for_nobody,
    rows_that_could_not_be_cleared_away_are_not_made,
);

fn open_transactions_of_others_keep_nobody_waiting(engine: Engine) {
    let server = shared(engine);
    for layout in ["instagram", "js53"] {
        let shard = new_shard(server, layout);
        // Four that have taken ids, in every isolation, and do not end.
        let mut open: Vec<_> =
            ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
                .iter()
                .map(|level| {
                    let mut client = server.connect();
                    query::<u64>(
                        &mut client,
                        &format!("SET innodb_lock_wait_timeout = 1; SET TRANSACTION ISOLATION LEVEL {level}; START TRANSACTION"),
                    );
                    ids(&mut client, shard, 20);
                    client
                })
                .collect();
        let mut got = Vec::new();
        let client = &mut server.connect();
        // A wait for anybody's transaction is an error.
        query::<u64>(client, "SET innodb_lock_wait_timeout = 1");
        for _ in 0..20 {
            got.extend(ids(client, shard, 20));
            for other in &mut open {
                got.extend(ids(other, shard, 5));
            }
        }
        assert_eq!(shardid_tests::assert_unique(&[(layout, got)]), 800);
    }
}

fn an_old_snapshot_gets_new_ids(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    let old = &mut server.connect();
    query::<u64>(old, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    let others = ids(&mut server.connect(), shard, 100);
    let own = ids(old, shard, 100);
    shardid_tests::assert_rising(&[others, own].concat());
}

fn tickets(client: &mut Conn, ticket: &str, count: usize) -> Vec<i64> {
    let sql = format!("SELECT shardid.next_ticket('{ticket}')");
    (0..count).map(|_| query::<i64>(client, &sql)[0]).collect()
}

fn clearing_away_old_rows_waits_for_nobody(engine: Engine) {
    let server = &Server::builder(engine).start();
    server.query("CALL shardid.create_ticket('a', 1, 1); CALL shardid.create_ticket('b', 1, 1)");
    let holder = &mut server.connect();
    query::<u64>(holder, "START TRANSACTION");
    let mut all = tickets(holder, "a", 20);
    let held: i64 = query(holder, "SELECT @shardid_ticket_block_row")[0];
    // The next block of anybody clears away the row that is still held.
    let client = &mut server.connect();
    query::<u64>(client, &format!("INSERT INTO shardid.block VALUES ({})", held + 5039));
    query::<u64>(client, "SET innodb_lock_wait_timeout = 1");
    tickets(client, "b", 20);
    let rows: Vec<i64> = query(client, "SELECT max(id) FROM shardid.block");
    assert!(rows[0] > held + 5039, "a block was taken: {rows:?}");
    query::<u64>(holder, "COMMIT");
    all.extend(tickets(holder, "a", 20));
    // And one that nobody holds goes.
    let old = rows[0] + 100_000;
    query::<u64>(client, &format!("INSERT INTO shardid.block VALUES ({old}), ({})", old + 5039));
    tickets(client, "b", 100);
    let left: Vec<i64> = query(client, &format!("SELECT id FROM shardid.block WHERE id = {old}"));
    assert!(left.is_empty(), "it was of no use any more");
    shardid_tests::assert_unique(&[("all", all)]);
}

fn rows_that_could_not_be_cleared_away_are_not_made(engine: Engine) {
    let server = &Server::builder(engine).start();
    server.query("CALL shardid.create_ticket('a', 1, 1)");
    for (level, blocks) in [
        ("READ UNCOMMITTED", false),
        ("SERIALIZABLE", false),
        ("READ COMMITTED", true),
        ("REPEATABLE READ", true),
    ] {
        let client = &mut server.connect();
        query::<u64>(client, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        // One session goes on in a block of its own for a tenth of a second.
        let had: i64 = server.value("SELECT coalesce(max(id), 0) FROM shardid.block");
        query::<u64>(client, "START TRANSACTION");
        let all = tickets(client, "a", 100);
        query::<u64>(client, "COMMIT");
        shardid_tests::assert_rising(&all);
        let has: i64 = server.value("SELECT coalesce(max(id), 0) FROM shardid.block");
        assert_eq!(has > had, blocks, "{level}");
    }
}
