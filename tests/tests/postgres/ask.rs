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

/// Brings the shard five seconds ahead of the clock, and returns its last id.
///
/// What comes next must be above it: no look at the clock would see to that.
#[track_caller]
pub(crate) fn run_ahead(client: &mut Client, shard: i32) -> i64 {
    // Each nextval() is a whole tick, so this is quick.
    let sql = "SELECT nextval(s.sequence) FROM shardid.shard s, generate_series(1, 5000 - \
             extract(epoch FROM id_time(next_id($1), s.layout) - clock_timestamp())::int * 1000) \
         WHERE s.shard = $1";
    client.query(sql, &[&shard]).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let last = one(client, &format!("SELECT next_id({shard})"));
    let ahead: f64 = one(
        client,
        &format!("SELECT extract(epoch FROM id_time({last}) - clock_timestamp())::float8"),
    );
    assert!(ahead > 4.0, "only {ahead} s ahead of the clock: the test would prove nothing");
    last
}

/// A database with the extension and shard 5 in it.
#[track_caller]
pub(crate) fn with_shard_5() -> Database<'static> {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5)");
    database
}
