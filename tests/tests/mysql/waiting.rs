//! Nobody waits for somebody else's transaction to get an id.

use std::time::{Duration, Instant};

use shardid_tests::my::{Engine, query, shared};
use shardid_tests::on_both_engines;

use crate::harness::{ids, new_shard};

on_both_engines!(open_transactions_of_others_keep_nobody_waiting, an_old_snapshot_gets_new_ids);

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
                        &format!("SET TRANSACTION ISOLATION LEVEL {level}; START TRANSACTION"),
                    );
                    ids(&mut client, shard, 20);
                    client
                })
                .collect();
        let began = Instant::now();
        let mut got = Vec::new();
        let client = &mut server.connect();
        query::<u64>(client, "SET innodb_lock_wait_timeout = 1");
        for _ in 0..20 {
            got.extend(ids(client, shard, 20));
            for other in &mut open {
                got.extend(ids(other, shard, 5));
            }
        }
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{:?} for {} ids",
            began.elapsed(),
            got.len()
        );
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
