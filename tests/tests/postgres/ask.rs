//! Short ways to ask a server, for tests that ask much.

use std::sync::atomic::{AtomicBool, Ordering};

use shardid_tests::postgres::Client;
use shardid_tests::postgres::types::FromSql;
use shardid_tests::{Builder, Clock, Database, Server};

/// The first column of all rows of a query.
#[track_caller]
pub(crate) fn column<T: for<'a> FromSql<'a>>(client: &mut Client, sql: &str) -> Vec<T> {
    let rows = client.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

/// The only value of a query.
#[track_caller]
pub(crate) fn one<T: for<'a> FromSql<'a>>(client: &mut Client, sql: &str) -> T {
    let row = client.query_one(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    row.get(0)
}

/// The ids of a query.
#[track_caller]
pub(crate) fn ids(client: &mut Client, sql: &str) -> Vec<i64> {
    column(client, sql)
}

/// Runs statements that must work.
#[track_caller]
pub(crate) fn run(client: &mut Client, sql: &str) {
    client.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

/// Brings a shard five seconds ahead of the clock, and returns its last id.
///
/// What comes next must be above it: no look at the clock would see to that.
#[track_caller]
pub(crate) fn run_ahead(client: &mut Client, shard: i32) -> i64 {
    let sql = "SELECT sequence::text, layout FROM shardid.shard WHERE shard = $1";
    let row = client.query_one(sql, &[&shard]).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    ahead(client, &format!("next_id({shard})"), row.get(0), row.get(1))
}

/// The same for an id sequence of the default layout.
#[track_caller]
pub(crate) fn run_sequence_ahead(client: &mut Client, sequence: &str) -> i64 {
    ahead(client, &format!("next_id_from('{sequence}')"), sequence, "instagram")
}

#[track_caller]
fn ahead(client: &mut Client, take: &str, sequence: &str, layout: &str) -> i64 {
    let left = |client: &mut Client| -> (i64, i64) {
        let sql = format!(
            "SELECT id, ((5 - extract(epoch FROM id_time(id, name) - clock_timestamp())) / extract(epoch FROM tick))::bigint \
             FROM shardid.layout, (SELECT {take} AS id) AS taken WHERE name = '{layout}'"
        );
        let row = client.query_one(&sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        (row.get(0), row.get(1))
    };
    let (_, ticks) = left(client);
    // Each nextval() is a whole tick, so this is quick.
    run(client, &format!("SELECT nextval('{sequence}') FROM generate_series(1, {ticks})"));
    let (last, missing) = left(client);
    assert!(missing <= ticks.max(0) / 2, "not ahead of the clock: the test would prove nothing");
    last
}

/// A database with the extension and shard 5 in it.
#[track_caller]
pub(crate) fn with_shard_5() -> Database<'static> {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5)");
    database
}

/// A server whose WAL leaves its buffers only when somebody waits for it, and whose
/// clock may be far behind after a crash.
pub(crate) fn lazy_server() -> Builder {
    Server::builder()
        .clock(Clock::Steerable)
        .conf("wal_writer_delay = '10s'")
        .conf("checkpoint_timeout = '1h'")
        .conf("autovacuum = off")
        .conf("shardid.max_drift = '1d'")
}

/// Takes ids by one statement after the other until the server is gone; only those count
/// that a client has seen. Nothing may fail before `crashed` is said.
pub(crate) fn take_until_crash(
    database: &Database<'_>,
    crashed: &AtomicBool,
    mut statement: impl FnMut() -> String,
) -> Vec<i64> {
    let after = |error| assert!(crashed.load(Ordering::Relaxed), "before the crash: {error:?}");
    let mut taken = Vec::new();
    // On a busy machine the crash may come before the session does.
    let mut client = match database.server().try_connect(database.name()) {
        Ok(client) => client,
        Err(error) => {
            after(error);
            return taken;
        }
    };
    loop {
        match client.query(&statement(), &[]) {
            Ok(rows) => taken.extend(rows.iter().map(|row| row.get::<_, i64>(0))),
            Err(error) => {
                after(error);
                return taken;
            }
        }
    }
}
