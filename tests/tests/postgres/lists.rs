//! Lists and names that hold: many shards, shards that are there already, rows that came from
//! elsewhere, and which shard a key belongs to.

use std::time::{Duration, Instant};

use shardid_tests::{Database, Server, expect_error};

use crate::ask::{ids, one, run, with_shard_5};

/// The row kept a bare number after DROP SCHEMA CASCADE; restored, it was that of users_id_seq,
/// which next_id() overwrote and drop_shard() dropped.
#[test]
fn a_row_whose_number_is_that_of_another_sequence_touches_nothing_of_it() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "CREATE SEQUENCE users_id_seq; SELECT nextval('users_id_seq'); SELECT create_id_sequence('t_id', 5)",
    );
    run(
        &mut client,
        "DROP SCHEMA shard_0005 CASCADE; UPDATE shardid.shard SET sequence = 'users_id_seq'; \
         UPDATE shardid.id_sequence SET sequence = 'users_id_seq'",
    );
    for sql in [
        "SELECT next_id(5)",
        "SELECT next_ids(5, 2)",
        "SELECT next_id()",
        "SELECT next_id_from('users_id_seq')",
    ] {
        let refusal = expect_error(&mut client, sql, "55000");
        assert!(refusal.message.contains("users_id_seq"), "{refusal:?}");
        assert!(refusal.hint.contains("create_shard(5)"), "{refusal:?}");
    }
    run(&mut client, "DELETE FROM shardid.id_sequence; SELECT drop_shard(5)");
    assert_eq!(ids(&mut client, "SELECT nextval('users_id_seq')"), [2]);
    // And the other way: made again, it goes on.
    run(&mut client, "SELECT create_shard(5)");
    run(&mut client, "SELECT next_id(5); UPDATE shardid.shard SET sequence = 'users_id_seq'");
    run(&mut client, "SELECT create_shard(5, 'anew')");
    run(&mut client, "SELECT next_id(5)");
    assert_eq!(ids(&mut client, "SELECT nextval('users_id_seq')"), [3]);
}

#[test]
fn a_dump_with_a_shard_that_was_lost_restores_and_the_shard_is_made_again() {
    let database = with_shard_5();
    let last = ids(&mut database.connect(), "SELECT next_id(5)")[0];
    database.psql("SELECT create_shard(6); DROP SCHEMA shard_0005 CASCADE");
    let dump = database.command("pg_dump").output().expect("pg_dump runs");
    let copy = Database::fresh_plain();
    copy.psql(&String::from_utf8(dump.stdout).expect("a dump is text"));
    assert_eq!(
        copy.psql("SELECT shard, sequence FROM shardid.shard ORDER BY 1"),
        "5|\n6|shard_0006.shard_id_seq"
    );
    let mut client = copy.connect();
    let refusal = expect_error(&mut client, "SELECT next_id(5)", "42704");
    assert!(refusal.hint.contains("create_shard(5)"), "{refusal:?}");
    run(&mut client, "SELECT next_id(6); SELECT create_shard(5)");
    assert!(ids(&mut client, "SELECT next_id(5)")[0] > last);
}

/// 8,192 in one statement failed at about 2,700, and dropping 1,600 took 40 s.
#[test]
fn thousands_of_shards_are_made_and_dropped() {
    let server = Server::builder()
        .name("many shards")
        .conf("max_locks_per_transaction = 10")
        .conf("autovacuum = off")
        .fsync(false)
        .start();
    let database = Database::on(&server);
    let mut client = database.connect();
    expect_error(
        &mut client,
        "SELECT count(create_shard(n)) FROM generate_series(0, 1499) n",
        "53200",
    );
    let began = Instant::now();
    run(&mut client, "CALL shardid.create_shards(0, 1000)");
    // Again, as after a cut: what is there stays.
    let id = ids(&mut client, "SELECT next_id(1000)")[0];
    run(&mut client, "CALL shardid.create_shards(0, 1499)");
    assert!(ids(&mut client, "SELECT next_id(1000)")[0] > id);
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM shardid.shards"), 1500);
    let making = began.elapsed();
    // Without statistics, one by one.
    let began = Instant::now();
    for shard in 0..1500 {
        run(&mut client, &format!("SELECT drop_shard({shard})"));
    }
    let dropping = began.elapsed();
    assert!(
        dropping < making * 3 + Duration::from_secs(5),
        "{dropping:?} to drop what took {making:?} to make"
    );
    assert_eq!(
        one::<i64>(&mut client, "SELECT count(*) FROM pg_class WHERE relname = 'shard_id_seq'"),
        0
    );
}

#[test]
fn what_is_there_is_left_where_it_is_the_same() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(&mut client, "SELECT create_id_sequence('t_id', 5)");
    let last = ids(&mut client, "SELECT next_id(5)")[0];
    for sql in [
        "create_shard(5, if_not_exists => true)",
        "create_shard(5, 'shard_0005', if_not_exists => true)",
        "create_shard(5, above => 1, if_not_exists => true)",
    ] {
        assert_eq!(
            one::<String>(&mut client, &format!("SELECT {sql}::text")),
            "shard_0005.shard_id_seq"
        );
    }
    assert_eq!(
        one::<String>(
            &mut client,
            "SELECT create_id_sequence('t_id', 5, if_not_exists => true)::text"
        ),
        "t_id"
    );
    for sql in [
        "SELECT create_shard(5, 'elsewhere', if_not_exists => true)",
        "SELECT create_shard(5, layout => 'js53', if_not_exists => true)",
        "SELECT create_shard(5, above => id_at(now() + interval '5 s'), if_not_exists => true)",
        "SELECT create_shard(5)",
        "SELECT create_id_sequence('t_id', 5)",
    ] {
        expect_error(&mut client, sql, "42710");
    }
    assert!(ids(&mut client, "SELECT next_id(5)")[0] > last);
    // What is not there is made.
    run(
        &mut client,
        "SELECT create_shard(6, if_not_exists => true), create_id_sequence('u_id', 6, if_not_exists => true); SELECT next_id(6)",
    );
}

#[test]
fn a_shard_begins_above_the_ids_of_an_earlier_generator() {
    let database = Database::fresh();
    let mut client = database.connect();
    let above = ids(&mut client, "SELECT id_at(now() + interval '5 s') + 77")[0];
    run(&mut client, &format!("SELECT create_shard(5, above => {above})"));
    assert!(ids(&mut client, "SELECT next_id(5)")[0] > above);
    run(&mut client, "SELECT create_shard(6, above => 12345)");
    assert!(one::<bool>(
        &mut client,
        "SELECT id_time(next_id(6)) BETWEEN now() - interval '1 minute' AND clock_timestamp()"
    ));
    // Beyond the drift that is allowed no id would come.
    let refusal = expect_error(
        &mut client,
        "SELECT create_shard(7, above => id_at(now() + interval '11 s'))",
        "22003",
    );
    assert!(refusal.hint.contains("epoch"), "{refusal:?}");
}

/// The vectors are part of the promise: a program in any language gives the same.
#[test]
fn a_key_belongs_to_the_same_shard_for_ever() {
    let database = Database::fresh();
    let mut client = database.connect();
    let vectors = [
        ("'', 8192", 449),
        ("'42', 8192", 2280),
        ("42, 8192", 2280),
        ("42::smallint, 8192", 2280),
        ("42::bigint, 8192", 2280),
        ("'\\x3432'::bytea, 8192", 2280),
        ("'alice', 8192", 10),
        ("'Zürich', 8192", 2915),
        ("'alice'::varchar, 1", 0),
    ];
    for (arguments, shard) in vectors {
        assert_eq!(
            one::<i32>(&mut client, &format!("SELECT shard_for({arguments})")),
            shard,
            "{arguments}"
        );
    }
    let uuid = "7f1d3c9e-0b52-4e6a-9a55-6f3a1f0c2d4e";
    let same = format!(
        "SELECT shard_for('{}'::uuid, 8192) = shard_for('{uuid}'::text, 8192)",
        uuid.to_uppercase()
    );
    assert!(one::<bool>(&mut client, &same));
    // All shards get about as much.
    let least_and_most = "SELECT min(n) > 800 AND max(n) < 1200 FROM (SELECT count(*) AS n FROM generate_series(1, 15000) k GROUP BY shard_for(k, 16)) AS s";
    assert!(one::<bool>(&mut client, least_and_most));
    for shards in ["0", "-1"] {
        expect_error(&mut client, &format!("SELECT shard_for('a', {shards})"), "22023");
    }
}

/// A monitor saw no drift where the owner saw an hour.
#[test]
fn who_may_not_see_a_last_id_sees_no_drift_and_a_monitor_sees_all() {
    let database = with_shard_5();
    let (somebody, monitor) = (database.role("somebody"), database.role("monitor"));
    database.psql(&format!("GRANT pg_monitor TO {monitor}; SELECT create_shard(6)"));
    database
        .psql("SELECT setval('shard_0005.shard_id_seq', id_at(now() + interval '1 h') + 5 * 1024)");
    let drift = |role: &str, shard: i32| {
        let sql = format!(
            "SELECT coalesce((drift > interval '59 minutes')::text, 'null') FROM shardid.shards WHERE shard = {shard}"
        );
        one::<String>(&mut database.connect_as(role), &sql)
    };
    assert_eq!(drift(&monitor, 5), "true");
    assert_eq!(drift(&monitor, 6), "false");
    assert_eq!(drift(&somebody, 5), "null");
    database.psql(&format!("GRANT SELECT ON SEQUENCE shard_0005.shard_id_seq TO {somebody}"));
    assert_eq!(drift(&somebody, 5), "true");
    assert_eq!(drift(&somebody, 6), "null");
    // A monitor takes no ids, and reads no other sequence by it.
    let mut client = database.connect_as(&monitor);
    expect_error(&mut client, "SELECT next_id(5)", "42501");
    database.psql("CREATE SEQUENCE other; SELECT nextval('other')");
    let other = "SELECT coalesce(shardid.generator_last('other'), -1)";
    assert_eq!(one::<i64>(&mut client, other), -1);
    expect_error(
        &mut database.connect_as(&somebody),
        "SELECT shardid.generator_last_for_monitor('shard_0006.shard_id_seq')",
        "42501",
    );
}

#[test]
fn names_that_are_none_are_refused() {
    let database = with_shard_5();
    let mut client = database.connect();
    for (sqlstate, sql) in [
        ("42939", "SELECT create_shard(602, 'information_schema')"),
        ("42939", "SELECT create_shard(602, 'shardid')"),
        ("42939", "SELECT create_shard(602, 'pg_temp')"),
        ("42939", "SELECT create_id_sequence('pg_temp.tt', 5)"),
        ("42939", "SELECT create_id_sequence('pg_catalog.tt', 5)"),
        ("42602", "SELECT create_id_sequence('', 5)"),
        ("22004", "SELECT shardid.first_id(NULL, 'instagram', NULL)"),
        ("22004", "SELECT shardid.first_id(5, NULL, NULL)"),
        ("22004", "SELECT shardid.last_id_at_most(NULL, NULL, NULL)"),
        ("22004", "SELECT shardid.layout_ticks(NULL, NULL, NULL, NULL, NULL)"),
    ] {
        let refusal = expect_error(&mut client, sql, sqlstate);
        assert!(!refusal.hint.is_empty(), "{sql}: {refusal:?}");
    }
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM shardid.shard"), 1);
}
