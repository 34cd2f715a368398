//! What a move counts as taken on a server is what the server counts.

use std::time::Duration;

use shardid_tests::postgres::Client;
use shardid_tests::{Server, wait_until};

use crate::ask::{one, run};

const CAPACITY: &str = include_str!("../../../sql/postgres/move/check/capacity.sql");

/// The query leaves out the server's own processes by name. A version that has one of another name
/// makes this fail, rather than a move refuse for want of a worker.
#[test]
fn an_idle_server_has_one_worker() {
    let server = Server::start_new();
    let mut client = server.connect("postgres");
    let version: i32 = one(&mut client, "SELECT current_setting('server_version_num')::int");
    if version >= 170_000 {
        // It has a process of its own.
        run(&mut client, "ALTER SYSTEM SET summarize_wal = on");
        run(&mut client, "SELECT pg_reload_conf()");
        wait_until(Duration::from_secs(20), "WAL to be summarized", || {
            one(
                &mut client,
                "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type LIKE '%summarizer')",
            )
        });
    }
    let taken = |client: &mut Client| {
        let rows = client.query(CAPACITY, &[]).unwrap();
        rows.iter().map(|row| (row.get(0), row.get(4))).collect::<Vec<(String, i64)>>()
    };
    let of = |bound: &str, count: i64| (bound.to_owned(), count);
    // What launches logical replication; all others are the server's own or a client, and whoever
    // asked if the server is up may not be gone yet.
    let idle = [
        of("workers", 0),
        of("processes", 1),
        of("slots", 0),
        of("senders", 0),
        of("origins", 0),
        of("connections", 0),
    ];
    wait_until(Duration::from_secs(20), "nothing to be taken", || taken(&mut client) == idle);
    run(&mut client, "SELECT pg_create_physical_replication_slot('kept')");
    let standby = server.standby();
    server.wait_for(&standby);
    let now = taken(&mut client);
    assert_eq!(
        now[1..5],
        [of("processes", 1), of("slots", now[2].1), of("senders", 1), of("origins", 0)]
    );
    assert!(now[2].1 >= 1, "{now:?}");
    // Whoever plans a move may not be a superuser, and is told that by the move.
    run(&mut client, "CREATE ROLE asks LOGIN");
    let mut asks = server.connect_as("postgres", "asks");
    assert_eq!(taken(&mut asks).len(), 6);
}
