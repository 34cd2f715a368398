//! A standby refuses, and goes on above when it is promoted.

use shardid_tests::{Clock, Database, Server, assert_rising, expect_error};

#[test]
fn a_standby_refuses_ids_and_once_promoted_goes_on_above_with_a_slower_clock() {
    let primary = Server::builder().clock(Clock::AtStart).start();
    let database = Database::on(&primary);
    database.psql(
        "SELECT create_shard(5); CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_id(5), n int)",
    );
    let standby =
        Server::builder().name("standby").clock(Clock::AtStart).start_standby_of(&primary);

    let mut client = database.connect();
    let mut taken: Vec<i64> = Vec::new();
    for _ in 0..20 {
        let rows = client
            .query("INSERT INTO t (n) SELECT generate_series(1, 1000) RETURNING id", &[])
            .unwrap();
        taken.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
    }
    primary.wait_for(&standby);
    for sql in ["SELECT next_id(5)", "SELECT next_id()", "SELECT next_ids(5, 2)"] {
        let refusal = expect_error(&mut standby.connect(database.name()), sql, "25006");
        assert!(refusal.message.contains("next_id()"), "{refusal:?}");
    }
    // Reading is what a standby is for.
    let seen =
        standby.psql(database.name(), "SELECT count(id_time(id)), count(*) FROM t, shardid.shards");
    assert_eq!(seen, "20000|20000");

    primary.kill9();
    // The new machine's clock is eight seconds slow.
    standby.set_clock(-8.0);
    standby.restart();
    standby.promote();
    let mut client = standby.connect(database.name());
    let rows = client
        .query("INSERT INTO t (n) SELECT generate_series(1, 1000) RETURNING id", &[])
        .unwrap();
    taken.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
    assert_rising(&taken);
    assert_eq!(taken.len(), 21_000);
}
