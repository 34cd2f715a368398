//! Short ways to ask a server, for tests that ask much.

use shardid_tests::Database;
use shardid_tests::postgres::Client;
use shardid_tests::postgres::types::FromSql;

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

/// Takes ids until the shard is seconds ahead of the clock, and returns the highest.
///
/// What comes next must be above it: no look at the clock would see to that.
#[track_caller]
pub(crate) fn run_ahead(client: &mut Client, shard: i32) -> i64 {
    let highest = one(client, &format!("SELECT max(id) FROM next_ids({shard}, 4000000) id"));
    let ahead: f64 = one(
        client,
        &format!("SELECT extract(epoch FROM id_time({highest}) - clock_timestamp())::float8"),
    );
    assert!(ahead > 0.5, "only {ahead} s ahead of the clock: the test would prove nothing");
    highest
}

/// A database with the extension and shard 5 in it.
#[track_caller]
pub(crate) fn with_shard_5() -> Database<'static> {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5)");
    database
}
