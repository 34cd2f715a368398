//! Segments: blocks of numbers to use up in memory, none of which comes twice.

use std::thread;

use shardid_tests::postgres::Client;
use shardid_tests::{Database, Server, assert_rising, assert_unique, expect_error};

use crate::ask::{ids, one, run};
use crate::errors::refuses;

/// The numbers of the next segment, as a client uses them up.
fn next(client: &mut Client, arguments: &str) -> Vec<i64> {
    let sql = format!("SELECT * FROM next_segment({arguments})");
    let row = client.query_one(&sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let (first, last, delta): (i64, i64, i32) =
        (row.get("first"), row.get("last"), row.get("delta"));
    (first..=last).step_by(delta.try_into().expect("it is positive")).collect()
}

/// `biz_tag|max_id|step|delta|remainder` of all tags.
fn shown(database: &Database<'_>) -> String {
    database.psql("SELECT biz_tag, max_id, step, delta, remainder FROM shardid.segments ORDER BY 1")
}

#[test]
fn segments_follow_one_another_with_both_ends_in_them() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_segment('orders', 1000), create_segment('later', 10, start => 500)",
    );
    assert_eq!(shown(&database), "later|499|10|1|0\norders|0|1000|1|0");
    assert_eq!(next(&mut client, "'orders'"), (1..=1000).collect::<Vec<i64>>());
    assert_eq!(next(&mut database.connect(), "'orders'"), (1001..=2000).collect::<Vec<i64>>());
    assert_eq!(next(&mut client, "'orders', 3"), [2001, 2002, 2003]);
    assert_eq!(next(&mut client, "'orders', NULL")[0], 2004);
    assert_eq!(next(&mut client, "'later'"), (500..510).collect::<Vec<i64>>());
    assert_eq!(shown(&database), "later|509|10|1|0\norders|3003|1000|1|0");
    // What somebody takes by hand is nobody else's.
    assert_eq!(ids(&mut client, "SELECT nextval('shardid_segments.orders')"), [3004]);
    assert_eq!(next(&mut client, "'orders', 2"), [3005, 3006]);
}

#[test]
fn two_databases_share_the_numbers_by_delta_and_remainder() {
    let (even, odd) = (Database::fresh(), Database::fresh());
    even.psql("SELECT create_segment('orders', 1000, delta => 2, remainder => 0)");
    odd.psql("SELECT create_segment('orders', 1000, delta => 2, remainder => 1)");
    let (mut a, mut b) = (even.connect(), odd.connect());
    assert_eq!(next(&mut a, "'orders'"), (1..=500).map(|n| 2 * n).collect::<Vec<i64>>());
    assert_eq!(next(&mut b, "'orders'"), (0..500).map(|n| 2 * n + 1).collect::<Vec<i64>>());
    // Of any length, from anywhere, in any class: all numbers of it and no others.
    for (step, start, delta, remainder) in
        [(7, 0, 7, 3), (10, 1, 7, 0), (23, 100, 10, 9), (5, 4, 5, 4)]
    {
        even.psql(&format!(
            "SELECT drop_segment('orders'); SELECT create_segment('orders', {step}, {start}, {delta}, {remainder})"
        ));
        let taken: Vec<i64> = (0..50).flat_map(|_| next(&mut a, "'orders'")).collect();
        let expected: Vec<i64> =
            (start..start + 50 * step).filter(|number| number % delta == remainder).collect();
        assert_eq!(taken, expected, "{step} from {start}, {remainder} of {delta}");
    }
}

#[test]
fn a_rollback_and_a_crash_give_no_segment_twice() {
    let server =
        Server::builder().conf("wal_writer_delay = '10s'").conf("autovacuum = off").start();
    let database = Database::on(&server);
    let mut client = database.connect();
    run(&mut client, "SELECT create_segment('orders', 100)");
    let mut taken = next(&mut client, "'orders'");
    for end in ["ROLLBACK", "COMMIT"] {
        run(&mut client, "BEGIN");
        taken.extend(next(&mut client, "'orders'"));
        run(&mut client, end);
    }
    taken.extend(next(&mut client, "'orders', 5"));
    run(&mut client, "BEGIN");
    taken.extend(next(&mut client, "'orders'"));
    server.kill9();
    server.start();
    let mut client = database.connect();
    taken.extend(next(&mut client, "'orders'"));
    assert_rising(&taken);
    // A number of the crashed server's that nobody has seen may be missing, and no more than that.
    assert!(*taken.last().unwrap() <= 505 + 100 + 32, "{taken:?}");
}

#[test]
fn the_step_changes_while_sixteen_clients_take_segments() {
    let database = Database::fresh();
    database.psql("SELECT create_segment('orders', 10)");
    let all: Vec<(usize, Vec<i64>)> = thread::scope(|scope| {
        let sessions: Vec<_> = (0..16)
            .map(|session| {
                let database = &database;
                scope.spawn(move || {
                    let mut client = database.connect();
                    let taken: Vec<i64> =
                        (0..100).flat_map(|_| next(&mut client, "'orders'")).collect();
                    assert_rising(&taken);
                    (session, taken)
                })
            })
            .collect();
        let mut admin = database.connect();
        // It waits for nobody, not even for a transaction that stays open.
        let mut open = database.connect();
        run(&mut open, "BEGIN; SELECT next_segment('orders')");
        for step in [1, 50, 7, 1000, 20] {
            run(
                &mut admin,
                &format!("SET lock_timeout = '10s'; SELECT alter_segment('orders', {step})"),
            );
        }
        run(&mut open, "ROLLBACK");
        sessions.into_iter().map(|session| session.join().unwrap()).collect()
    });
    assert!(assert_unique(&all) >= 16 * 100);
    let mut client = database.connect();
    assert_eq!(next(&mut client, "'orders'").len(), 20);
    let times =
        "SELECT update_time BETWEEN now() - interval '1 minute' AND now() FROM shardid.segments";
    assert!(one::<bool>(&mut client, times));
}

#[test]
fn what_is_refused_is_refused_whole() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_segment('orders', 1000, delta => 10); CREATE TABLE shardid_segments.taken (a int); \
         CREATE SEQUENCE shardid_segments.other INCREMENT 3",
    );
    let table = r#"
        42710 | SELECT create_segment('orders', 1000)           | "orders" exists    | FROM shardid.segments
        22004 | SELECT create_segment(NULL, 1000)               | needs a name       | create_segment('orders'
        22004 | SELECT create_segment('', 1000)                 | needs a name       | create_segment('orders'
        22004 | SELECT create_segment('a', NULL)                | a step             | create_segment('orders'
        42622 | SELECT create_segment('LONG', 1000)             | too long + LONG    | shorter
        22023 | SELECT create_segment('a', 0)                   | "a" + 0 numbers    | create_segment('a', 2000
        22023 | SELECT create_segment('a', 1000000001)          | 1000000001 numbers | create_segment('a', 2000
        22023 | SELECT create_segment('a', 9, delta => 10)      | 9 numbers + 10th   | create_segment('a', 2000
        22023 | SELECT create_segment('a', 9, start => -1)      | from -1 on         | create_segment('a', 2000
        22023 | SELECT create_segment('a', 9, 9223372036854775807) | from 9223372036854775807 on | create_segment('a', 2000
        22023 | SELECT create_segment('a', 9, delta => 0)       | 0th                | create_segment('a', 2000
        22023 | SELECT create_segment('a', 9, remainder => 1)   | leaves 1           | create_segment('a', 2000
        22023 | SELECT create_segment('a', 9, delta => 3, remainder => -1) | leaves -1 | create_segment('a', 2000
        42P07 | SELECT create_segment('taken', 10)              | shardid_segments.taken | RENAME
        42P07 | SELECT create_segment('other', 10)              | shardid_segments.other | RENAME
        42704 | SELECT next_segment('nope')                     | "nope"             | create_segment('nope', 1000)
        42704 | SELECT next_segment(NULL)                       | "null"             | create_segment('orders', 1000)
        42704 | SELECT alter_segment('nope', 10)                | "nope"             | FROM shardid.segments
        42704 | SELECT drop_segment('nope')                     | "nope"             | FROM shardid.segments
        22023 | SELECT next_segment('orders', 9)                | span 9             | next_segment('orders')
        22023 | SELECT next_segment('orders', 1000000001)       | span 1000000001    | next_segment('orders')
        22023 | SELECT alter_segment('orders', 9)               | span 9             | alter_segment('orders', 1000)
        22023 | SELECT alter_segment('orders', 1000000001)      | span 1000000001    | alter_segment('orders', 1000)
        22023 | SELECT alter_segment('orders', NULL)            | span null          | alter_segment('orders', 1000)
        "#;
    refuses(&mut client, &table.replace("LONG", &"x".repeat(64)));
    run(&mut client, "SET default_transaction_read_only = on");
    expect_error(&mut client, "SELECT next_segment('orders')", "25006");
    // The limits themselves are taken.
    run(&mut client, "RESET default_transaction_read_only");
    run(
        &mut client,
        "SELECT create_segment('least', 1, 0), create_segment('most', 1000000000, 0, 1000000000, 999999999); \
         SELECT next_segment('least'), next_segment('most'); SELECT drop_segment('orders')",
    );
    expect_error(&mut client, "SELECT next_segment('orders')", "42704");
}

#[test]
fn the_end_is_an_error_and_never_a_repeat() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_segment('orders', 100, 9223372036854775658)");
    assert_eq!(next(&mut client, "'orders'").last(), Some(&9_223_372_036_854_775_757));
    for _ in 0..2 {
        let refusal = expect_error(&mut client, "SELECT next_segment('orders')", "22003");
        assert!(
            refusal.message.contains("shardid_segments.orders has fewer than 100 numbers"),
            "{refusal:?}"
        );
    }
    assert_eq!(next(&mut client, "'orders', 50").last(), Some(&i64::MAX));
    expect_error(&mut client, "SELECT next_segment('orders', 1)", "22003");
}

#[test]
fn the_description_is_the_comment_of_the_sequence() {
    let database = Database::fresh();
    database.psql(
        "SELECT create_segment('leaf-segment-test', 2000); \
         COMMENT ON SEQUENCE shardid_segments.\"leaf-segment-test\" IS 'Test leaf Segment Mode Get Id'",
    );
    assert_eq!(
        database.psql("SELECT biz_tag, max_id, step, description FROM shardid.segments"),
        "leaf-segment-test|0|2000|Test leaf Segment Mode Get Id"
    );
}

/// The hint left out delta and remainder, and whoever followed it handed out what the other
/// database did.
#[test]
fn a_tag_that_lost_its_sequence_is_made_again_with_its_own_numbers_by_the_hint() {
    let database = Database::fresh();
    let mut client = database.connect();
    let tag = "it's \"x\" %s";
    let literal = "'it''s \"x\" %s'";
    run(
        &mut client,
        &format!("SELECT create_segment({literal}, 2000, start => 10, delta => 3, remainder => 2)"),
    );
    let before = next(&mut client, literal);
    run(&mut client, "DROP SCHEMA shardid_segments CASCADE");
    let hints: Vec<String> = [
        ("55000", format!("SELECT next_segment({literal})")),
        ("55000", format!("SELECT shardid.raise_segment({literal}, 5000)")),
        ("42710", format!("SELECT create_segment({literal}, 2000, 10, 3, 2)")),
        (
            "42710",
            format!("SELECT create_segment({literal}, 2000, 10, 3, 2, if_not_exists => true)"),
        ),
    ]
    .iter()
    .map(|(sqlstate, sql)| {
        let refusal = expect_error(&mut client, sql, sqlstate);
        assert!(refusal.message.contains(tag) && refusal.detail.contains("10"), "{refusal:?}");
        refusal.hint
    })
    .collect();
    assert!(hints.iter().all(|hint| *hint == hints[0]), "{hints:?}");
    // As it stands it cannot be run: the start is for whoever knows how far the numbers went.
    let commands = hints[0].replace("then, with a start above all of them: ", "");
    expect_error(&mut client, &commands, "42601");
    run(&mut client, &commands.replace("...", "2010"));
    let after = next(&mut client, literal);
    assert_rising(&[before, after.clone()].concat());
    assert!(after.iter().all(|number| number % 3 == 2), "{after:?}");
    // What is still there still knows where it stands.
    run(&mut client, "SELECT create_segment('orders', 10); SELECT next_segment('orders')");
    run(&mut client, "ALTER SEQUENCE shardid_segments.orders INCREMENT 2");
    let refusal = expect_error(&mut client, "SELECT next_segment('orders')", "55000");
    assert!(!refusal.hint.contains("drop"), "{refusal:?}");
    run(&mut client, &refusal.hint);
    assert_eq!(next(&mut client, "'orders', 2"), [11, 12]);
}

/// A sequence that was there was taken up where it stood, whatever the start: numbers came twice.
#[test]
fn a_tag_begins_at_its_start_also_where_its_sequence_is_there() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_segment('orders', 10); SELECT next_segment('orders')");
    let again = "DROP EXTENSION shardid; CREATE EXTENSION shardid";
    for (start, first) in [(1, 11), (21, 21), (5, 31), (41, 41), (42, 51)] {
        run(&mut client, again);
        run(&mut client, &format!("SELECT create_segment('orders', 10, start => {start})"));
        assert_eq!(next(&mut client, "'orders'")[0], first);
    }
    // As somebody has repaired it, and by the hint that follows.
    run(
        &mut client,
        "DROP SEQUENCE shardid_segments.orders; CREATE SEQUENCE shardid_segments.orders",
    );
    run(
        &mut client,
        "SELECT drop_segment('orders'); SELECT create_segment('orders', 10, start => 2001)",
    );
    assert_eq!(next(&mut client, "'orders'")[0], 2001);
    run(
        &mut client,
        "SELECT drop_segment('orders'); CREATE SEQUENCE shardid_segments.orders MINVALUE -9223372036854775808 START -9223372036854775808; \
         SELECT create_segment('orders', 10, start => 3000)",
    );
    assert_eq!(next(&mut client, "'orders'")[0], 3000);
    run(&mut client, &format!("{again}; ALTER SEQUENCE shardid_segments.orders MAXVALUE 5000"));
    let refusal =
        expect_error(&mut client, "SELECT create_segment('orders', 10, start => 6001)", "55000");
    run(&mut client, &refusal.hint);
    run(&mut client, "SELECT create_segment('orders', 10, start => 6001)");
    assert_eq!(next(&mut client, "'orders'")[0], 6001);
}
