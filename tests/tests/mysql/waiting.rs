//! Nobody waits for somebody else's transaction to get an id.

use shardid_tests::my::{Engine, Server, query, shared};
use shardid_tests::mysql::Conn;
use shardid_tests::on_both_engines;

use crate::harness::{ids, new_shard};

on_both_engines!(
    open_transactions_of_others_keep_nobody_waiting,
    an_old_snapshot_gets_new_ids,
    a_block_of_somebody_else_is_not_waited_for,
    blocks_leave_nothing_behind,
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

fn a_block_of_somebody_else_is_not_waited_for(engine: Engine) {
    let server = &Server::builder(engine).start();
    server.query("CALL shardid.create_ticket('a', 1, 1); CALL shardid.create_ticket('b', 1, 1)");
    let (holder, client) = (&mut server.connect(), &mut server.connect());
    query::<u64>(client, "SET innodb_lock_wait_timeout = 1");
    if engine == Engine::MariaDb {
        // All places of blocks are held. MySQL would wait for its own one.
        query::<u64>(holder, "START TRANSACTION; UPDATE shardid.ticket_block SET step = 1");
        let mut all = tickets(client, "a", 40);
        all.extend(query::<i64>(client, "SELECT shardid.next_tickets('a', 5)"));
        query::<u64>(holder, "ROLLBACK");
        all.extend(tickets(client, "a", 100));
        shardid_tests::assert_rising(&all);
    }
    // And a transaction that has a block keeps nobody else from other tickets.
    query::<u64>(holder, "START TRANSACTION");
    tickets(holder, "a", 20);
    shardid_tests::assert_rising(&tickets(client, "b", 100));
    query::<u64>(holder, "COMMIT");
}

fn blocks_leave_nothing_behind(engine: Engine) {
    let server = &Server::builder(engine).start();
    server.query("CALL shardid.create_ticket('a', 1, 1)");
    let mut all = Vec::new();
    for level in ["READ UNCOMMITTED", "SERIALIZABLE", "READ COMMITTED", "REPEATABLE READ"] {
        let client = &mut server.connect();
        query::<u64>(client, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        query::<u64>(client, "START TRANSACTION");
        all.extend(tickets(client, "a", 100));
        let turn = "SELECT turn FROM shardid.ticket_block WHERE session = connection_id()";
        assert!(query::<i64>(client, turn)[0] > 8, "{level}: it took blocks");
        query::<u64>(client, "COMMIT");
    }
    shardid_tests::assert_rising(&all);
    assert_eq!(server.value::<i64>("SELECT count(*) FROM shardid.ticket_block"), 4096);
}
