//! The five statements that a new user types first.

use shardid_tests::{Database, assert_rising, assert_unique, shared};

#[test]
fn a_table_fills_itself_with_ids_of_its_shard() {
    let database = Database::fresh();
    assert_eq!(shared().psql("postgres", "SHOW shared_preload_libraries"), "");
    let mut client = database.connect();
    client
        .batch_execute(
            "SELECT create_shard(5);
             CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_id(5), n int);
             INSERT INTO t (n) SELECT n FROM generate_series(1, 10000) AS n",
        )
        .expect("the first statements of the README work");
    let rows = client.query("SELECT id FROM t ORDER BY n", &[]).expect("the table is there");
    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(ids.len(), 10_000);
    assert_rising(&ids);
    assert_unique(&[("the table", ids)]);
    assert_eq!(database.psql("SELECT DISTINCT id_shard(id) FROM t"), "5");
}
