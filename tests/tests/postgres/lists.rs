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
    for (sql, helps) in [
        ("SELECT next_id(5)", "create_shard(5)"),
        ("SELECT next_ids(5, 2)", "create_shard(5)"),
        ("SELECT next_id()", "create_shard(5)"),
        // One that is an id sequence is not made by what makes a shard's.
        ("SELECT next_id_from('users_id_seq')", "create_id_sequence("),
    ] {
        let refusal = expect_error(&mut client, sql, "55000");
        assert!(refusal.message.contains("users_id_seq"), "{refusal:?}");
        assert!(refusal.hint.contains(helps), "{refusal:?}");
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

/// The rows kept bare numbers, which a dump carried to where they were those of other things.
#[test]
fn what_is_dropped_with_its_schema_leaves_no_number_behind() {
    let database = with_shard_5();
    let owner = database.role("owner");
    database.psql(&format!(
        "SELECT create_shard(6), create_ticket('photos'), create_segment('orders', 10), create_id_sequence('t_id', 5); \
         CREATE TABLE shard_0006.t (id int); \
         ALTER SCHEMA shard_0005 OWNER TO {owner}"
    ));
    run(&mut database.connect_as(&owner), "DROP SCHEMA shard_0005 CASCADE");
    run(
        &mut database.connect(),
        "ALTER SEQUENCE shard_0006.shard_id_seq OWNED BY shard_0006.t.id; ALTER TABLE shard_0006.t DROP COLUMN id CASCADE; \
         DROP SCHEMA shardid_tickets, shardid_segments CASCADE; DROP SEQUENCE t_id",
    );
    let rows = "SELECT 's', shard, sequence FROM shardid.shard ORDER BY 2; SELECT 't', name, sequence FROM shardid.ticket; \
        SELECT 'g', tag, sequence FROM shardid.segment";
    assert_eq!(database.psql(rows), "s|5|\ns|6|\nt|photos|\ng|orders|");
    let dump = database.command("pg_dump").output().expect("pg_dump runs");
    let copy = Database::fresh_plain();
    copy.psql(&String::from_utf8(dump.stdout).expect("a dump is text"));
    assert_eq!(copy.psql(rows), database.psql(rows));
    assert_eq!(copy.psql("SELECT count(*) FROM shardid.id_sequence"), "0");
    for database in [&database, &copy] {
        let mut client = database.connect();
        for (sqlstate, sql, hint) in [
            ("42704", "SELECT next_id(5)", "create_shard(5)"),
            ("55000", "SELECT next_ticket('photos')", "create_ticket_above('photos', 1, 1, ...)"),
            (
                "55000",
                "SELECT next_ticket_gapless('photos')",
                "create_ticket_above('photos', 1, 1, ...)",
            ),
            (
                "55000",
                "SELECT shardid.raise_ticket('photos', 5)",
                "create_ticket_above('photos', 1, 1, ...)",
            ),
            ("55000", "SELECT next_segment('orders')", "drop_segment('orders')"),
            (
                "42710",
                "SELECT create_ticket('photos', if_not_exists => true)",
                "create_ticket_above('photos', 1, 1, ...)",
            ),
            (
                "42710",
                "SELECT create_segment('orders', 10, if_not_exists => true)",
                "drop_segment('orders')",
            ),
        ] {
            let refusal = expect_error(&mut client, sql, sqlstate);
            assert!(refusal.hint.contains(hint), "{sql}: {refusal:?}");
        }
        run(
            &mut client,
            "SELECT * FROM shardid.shards, shardid.tickets, shardid.segments; SELECT create_shard(5), drop_shard(6); \
             SELECT drop_ticket('photos'), drop_segment('orders'); SELECT shardid.create_ticket_above('photos', 1, 1, 77), create_segment('orders', 10, 100)",
        );
        assert_eq!(ids(&mut client, "SELECT next_ticket('photos')"), [78]);
        run(&mut client, "SELECT next_id(5)");
        run(
            &mut client,
            "DROP EXTENSION shardid CASCADE; DROP SCHEMA shard_0005 CASCADE; CREATE EXTENSION shardid",
        );
    }
}

/// As the number of a ticket or a segment, too.
#[test]
fn a_ticket_or_segment_whose_number_is_that_of_another_sequence_takes_nothing_of_it() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "CREATE SEQUENCE users_id_seq INCREMENT 2; SELECT nextval('users_id_seq'), create_ticket('photos'), create_segment('orders', 10); \
         UPDATE shardid.ticket SET sequence = 'users_id_seq'; UPDATE shardid.segment SET sequence = 'users_id_seq'",
    );
    for sql in [
        "SELECT next_ticket('photos')",
        "SELECT next_ticket_gapless('photos')",
        "SELECT shardid.raise_ticket('photos', 5)",
        "SELECT next_segment('orders')",
    ] {
        expect_error(&mut client, sql, "55000");
    }
    run(&mut client, "SELECT drop_ticket('photos'), drop_segment('orders')");
    assert_eq!(ids(&mut client, "SELECT nextval('users_id_seq')"), [3]);
}

/// A shard that lives elsewhere could be opened here, where its old sequence was dropped by hand.
#[test]
fn a_shard_that_lives_elsewhere_is_not_made_again_where_its_old_sequence_is_gone() {
    let database = with_shard_5();
    let mut client = database.connect();
    for state in ["moved", "fenced"] {
        run(
            &mut client,
            &format!(
                "UPDATE shardid.shard SET state = '{state}', node = 'pg2' WHERE shard = 5; DROP SCHEMA IF EXISTS shard_0005 CASCADE"
            ),
        );
        expect_error(&mut client, "SELECT create_shard(5)", "42710");
    }
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
        let refusal = expect_error(&mut client, sql, "42710");
        assert_eq!(refusal.detail.contains("not above"), sql.contains("above"), "{refusal:?}");
    }
    assert!(ids(&mut client, "SELECT next_id(5)")[0] > last);
    for (same, others) in [
        (
            "create_layout('mine', '2026-01-01Z', '10 ms', 1000, 1000, if_not_exists => true)",
            [
                "create_layout('mine', '2026-01-02Z', '10 ms', 1000, 1000, if_not_exists => true)",
                "create_layout('mine', '2026-01-01Z', '10 ms', 1000, 1000, 5000000000, true)",
            ],
        ),
        (
            "create_ticket('photos', 1, 2, if_not_exists => true)",
            [
                "create_ticket('photos', 2, 2, if_not_exists => true)",
                "create_ticket('photos', 1, 3, if_not_exists => true)",
            ],
        ),
        (
            "create_segment('orders', 10, if_not_exists => true)",
            [
                "create_segment('orders', 20, if_not_exists => true)",
                "create_segment('orders', 10, 5, if_not_exists => true)",
            ],
        ),
        (
            "create_id_sequence('v_id', 5, if_not_exists => true)",
            [
                "create_id_sequence('v_id', 4, if_not_exists => true)",
                "create_id_sequence('v_id', 5, 'js53', if_not_exists => true)",
            ],
        ),
    ] {
        let made: String = one(&mut client, &format!("SELECT {same}::text"));
        assert_eq!(one::<String>(&mut client, &format!("SELECT {same}::text")), made);
        let without = same.replace(", if_not_exists => true", "");
        for other in others.iter().chain([&without.as_str()]) {
            let refusal = expect_error(&mut client, &format!("SELECT {other}"), "42710");
            // What it is, so that one sees what differs.
            assert!(refusal.detail.chars().any(|c| c.is_ascii_digit()), "{other}: {refusal:?}");
        }
    }
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
    assert!(
        refusal.hint.contains("try again in a moment") && refusal.hint.contains("epoch"),
        "{refusal:?}"
    );
}

/// Nobody but the sequence would know of it, and that is put back or lost before its first id.
#[test]
fn a_shard_that_has_given_no_id_yet_still_begins_above_the_ids_of_an_earlier_generator() {
    let database = Database::fresh();
    let mut client = database.connect();
    let above =
        ids(&mut client, "SELECT id_at(now() + interval '9 s', 'instagram')")[0] + (5 << 10);
    for loses in [
        "ALTER SEQUENCE shard_0005.shard_id_seq RESTART WITH 5120",
        "DROP SCHEMA shard_0005 CASCADE; SELECT create_shard(5)",
    ] {
        run(&mut client, &format!("SELECT create_shard(5, above => {above}); {loses}"));
        let id = ids(&mut client, "SELECT next_id(5)")[0];
        assert!(id > above, "{id} is not above {above} after {loses}");
        run(
            &mut client,
            "DROP EXTENSION shardid CASCADE; DROP SCHEMA shard_0005 CASCADE; CREATE EXTENSION shardid",
        );
    }
}

/// The vectors are part of the promise: a program in any language gives the same.
#[test]
fn a_key_belongs_to_the_same_shard_for_ever() {
    let database = Database::fresh();
    let mut client = database.connect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/keys.csv");
    for line in std::fs::read_to_string(file).expect("the vectors are there").lines().skip(1) {
        let [key, shards, shard] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let sql = format!("SELECT shard_for('{key}', {shards})::text");
        assert_eq!(one::<String>(&mut client, &sql), shard, "{line}");
        if key.parse::<i64>().is_ok() {
            let sql = format!("SELECT shard_for({key}::bigint, {shards})::text");
            assert_eq!(one::<String>(&mut client, &sql), shard, "{line}");
        }
    }
    let vectors = [
        ("42, 8192", 2280),
        ("42::smallint, 8192", 2280),
        ("42::bigint, 8192", 2280),
        ("'\\x3432'::bytea, 8192", 2280),
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
        ("0A000", "SELECT shardid.generator_changed()"),
        ("0A000", "SELECT shardid.replicated_row()"),
    ] {
        let refusal = expect_error(&mut client, sql, sqlstate);
        assert!(!refusal.hint.is_empty(), "{sql}: {refusal:?}");
    }
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM shardid.shard"), 1);
}

/// SQLAlchemy, JDBC and sqlx send a bigint, psycopg a smallint, psql nothing: each found no function
/// of that type, or two.
#[test]
fn a_shard_is_named_by_a_number_of_any_type() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "PREPARE untyped AS SELECT next_id($1); PREPARE typed(bigint) AS SELECT next_id($1)",
    );
    let mut last = 0;
    for sql in [
        "SELECT next_id(5)",
        "SELECT next_id(5::bigint)",
        "SELECT next_id(5::smallint)",
        "SELECT next_id('5')",
        "EXECUTE untyped(5)",
        "EXECUTE typed(5)",
        "SELECT next_ids(5::bigint, 1)",
        "SELECT next_ids('5', '1')",
        "SELECT next_ids(5, 1)",
    ] {
        let id = ids(&mut client, sql)[0];
        assert!(id > last, "{sql} gives {id} after {last}");
        last = id;
    }
    let row = client.query_one("SELECT next_id($1)", &[&5_i64]).unwrap();
    assert!(row.get::<_, i64>(0) > last);
    // 2^32 + 5 is not 5.
    for number in ["4294967301", "-4294967291", "-1", "2147483648", "9223372036854775807"] {
        for sql in [format!("SELECT next_id({number})"), format!("SELECT next_ids({number}, 1)")] {
            let refusal = expect_error(&mut client, &sql, "22003");
            assert!(refusal.message.contains(&format!("shard {number} ")), "{refusal:?}");
        }
    }
    expect_error(&mut client, "SELECT next_ids(5, -1)", "22003");
    // However it is written, a default is seen that uses the shard.
    for default in ["next_id(5)", "next_id('5')", "next_id(5::bigint)", "shardid.next_id(5)"] {
        run(&mut client, &format!("CREATE TABLE t (id bigint DEFAULT {default})"));
        assert!(one::<i64>(&mut client, "INSERT INTO t DEFAULT VALUES RETURNING id") > last);
        let refusal = expect_error(&mut client, "SELECT drop_shard(5)", "2BP01");
        assert!(refusal.detail.contains("t.id"), "{default}: {refusal:?}");
        run(&mut client, "DROP TABLE t");
    }
    run(&mut client, "CREATE TABLE t (id bigint DEFAULT next_id(55)); SELECT drop_shard(5)");
}

/// A function of another role is that role's, however much it looks like what create_shard makes.
#[test]
fn a_next_id_that_another_role_has_written_is_not_dropped_with_the_shard() {
    let database = with_shard_5();
    let other = database.role("other");
    let sequence = database.psql("SELECT sequence FROM shardid.shards WHERE shard = 5");
    database.psql(&format!(
        "GRANT CREATE ON DATABASE {} TO {other}; GRANT USAGE ON SCHEMA shard_0005 TO {other}; \
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA shardid TO {other}",
        database.name()
    ));
    let mut client = database.connect_as(&other);
    run(&mut client, "CREATE SCHEMA app");
    run(
        &mut client,
        &format!(
            "CREATE FUNCTION app.next_id() RETURNS bigint LANGUAGE sql RETURN shardid.next_id(5, '{sequence}'::regclass)"
        ),
    );
    let mut client = database.connect();
    let refusal = expect_error(&mut client, "SELECT drop_shard(5)", "2BP01");
    assert!(refusal.detail.contains("app.next_id()"), "{refusal:?}");
    run(&mut client, "DROP FUNCTION app.next_id(); SELECT drop_shard(5)");
}

/// With a pool, the next user of the connection saw the last one's id.
#[test]
fn a_connection_that_is_given_on_shows_no_last_id() {
    let database = with_shard_5();
    let mut client = database.connect();
    for discard in ["DISCARD ALL", "DISCARD SEQUENCES"] {
        let id = ids(&mut client, "SELECT next_id(5)")[0];
        run(&mut client, "DISCARD PLANS; RESET ALL; DISCARD TEMP");
        assert_eq!(ids(&mut client, "SELECT last_id()"), [id]);
        run(&mut client, discard);
        expect_error(&mut client, "SELECT last_id()", "55000");
        expect_error(&mut client, "SELECT lastval()", "55000");
        assert!(ids(&mut client, "SELECT next_id(5)")[0] > id);
    }
    // One that was not run has discarded nothing.
    let id = ids(&mut client, "SELECT next_id(5)")[0];
    expect_error(&mut client, "BEGIN; DISCARD ALL", "25001");
    run(&mut client, "ROLLBACK");
    assert_eq!(ids(&mut client, "SELECT last_id()"), [id]);
}
