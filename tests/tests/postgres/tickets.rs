//! Tickets: numbers of one server's class, in order, by whatever way they are taken.

mod change;
mod crash;
mod estate;
mod gapless;
mod load;

use shardid_tests::{Database, assert_rising, expect_error};

use crate::ask::{ids, one, run};
use crate::errors::refuses;

/// By its snapshot, a transaction lifted an end that somebody had set meanwhile.
#[test]
fn what_was_changed_since_a_snapshot_is_not_changed_back() {
    let database = Database::fresh();
    let mut other = database.connect();
    run(&mut other, "SELECT create_ticket('t'), create_ticket('g'), create_segment('s', 10)");
    for change in [
        "SELECT shardid.raise_ticket('t', 5)",
        "SELECT shardid.limit_ticket('t', 5000)",
        "SELECT shardid.restep_ticket('t', 1, 2, 10)",
        "SELECT next_ticket_gapless('g')",
        "SELECT shardid.raise_segment('s', 5)",
    ] {
        let mut client = database.connect();
        run(&mut client, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
        run(
            &mut other,
            "ALTER SEQUENCE shardid_tickets.t MAXVALUE 100; ALTER SEQUENCE shardid_tickets.g MAXVALUE 100; \
             ALTER SEQUENCE shardid_segments.s MAXVALUE 100",
        );
        expect_error(&mut client, change, "40001");
        run(&mut client, "ROLLBACK");
        let most = "SELECT max(seqmax) FROM pg_sequence WHERE seqrelid::regclass::text ~ '^shardid_(tickets|segments)'";
        assert_eq!(one::<i64>(&mut other, most), 100, "{change}");
    }
}

#[test]
fn two_servers_give_odd_and_even_numbers_and_three_each_a_third() {
    for (server, servers, expected) in [
        (1, 1, [1, 2, 3, 4]),
        (1, 2, [1, 3, 5, 7]),
        (2, 2, [2, 4, 6, 8]),
        (1, 3, [1, 4, 7, 10]),
        (2, 3, [2, 5, 8, 11]),
        (3, 3, [3, 6, 9, 12]),
        (1000, 1000, [1000, 2000, 3000, 4000]),
    ] {
        let database = Database::fresh();
        let mut client = database.connect();
        run(&mut client, &format!("SELECT create_ticket('photos', {server}, {servers})"));
        assert_eq!(
            one::<Option<i64>>(&mut client, "SELECT last_ticket FROM shardid.tickets"),
            None
        );
        // By each way in turn, and in another session.
        let mut taken = ids(&mut client, "SELECT next_ticket('photos')");
        taken.extend(ids(&mut client, "SELECT nextval('shardid_tickets.photos')"));
        taken.extend(ids(&mut database.connect(), "SELECT * FROM next_tickets('photos', 2)"));
        assert_eq!(taken, expected);
        assert_eq!(ids(&mut client, "SELECT last_ticket FROM shardid.tickets"), taken[3..]);
    }
}

#[test]
fn a_rollback_leaves_gaps_and_a_number_never_comes_again() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_ticket('photos', 2, 2)");
    let mut taken = ids(&mut client, "SELECT next_ticket('photos')");
    run(&mut client, "BEGIN");
    taken.extend(ids(&mut client, "SELECT next_tickets('photos', 10)"));
    run(&mut client, "SAVEPOINT a");
    taken.extend(ids(&mut client, "SELECT next_ticket('photos')"));
    run(&mut client, "ROLLBACK TO a");
    taken.extend(ids(&mut client, "SELECT next_ticket('photos')"));
    run(&mut client, "ROLLBACK");
    taken.extend(ids(&mut client, "SELECT next_ticket('photos')"));
    assert_rising(&taken);
    assert_eq!(*taken.last().unwrap(), 28);
}

#[test]
fn numbers_come_in_defaults_inserts_copies_and_functions() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('photos', 1, 2); \
         CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_ticket('photos'), n int); \
         INSERT INTO t (n) SELECT generate_series(1, 5000); \
         PREPARE p AS INSERT INTO t (n) VALUES (1); EXECUTE p; EXECUTE p; \
         DO $$ BEGIN FOR i IN 1..100 LOOP INSERT INTO t (n) VALUES (i); END LOOP; END $$; \
         COPY t (n) FROM PROGRAM 'seq 1 100'; \
         INSERT INTO t SELECT id, 0 FROM next_tickets('photos', 1000) AS id",
    );
    let taken = ids(&mut client, "SELECT id FROM t ORDER BY id");
    assert_eq!(taken, (0..6202).map(|n| 2 * n + 1).collect::<Vec<i64>>());
    // NULL gives NULL, or no rows; no row at all takes no number.
    assert_eq!(one::<Option<i64>>(&mut client, "SELECT next_ticket(NULL)"), None);
    assert!(ids(&mut client, "SELECT * FROM next_tickets('photos', NULL)").is_empty());
    assert_eq!(ids(&mut client, "SELECT next_ticket('photos')"), [12_405]);
}

#[test]
fn a_ticket_has_any_name() {
    let database = Database::fresh();
    let mut client = database.connect();
    let longest = "ö".repeat(31);
    for name in ["photos", "Odd \"name\"", "it's", "a.b", "100 %s", "table", &longest] {
        let literal = name.replace('\'', "''");
        run(&mut client, &format!("SELECT create_ticket('{literal}', 1, 2)"));
        assert_eq!(ids(&mut client, &format!("SELECT next_ticket('{literal}')")), [1]);
        assert_eq!(ids(&mut client, &format!("SELECT next_tickets('{literal}', 2)")), [3, 5]);
        run(&mut client, &format!("SELECT shardid.restep_ticket('{literal}', 1, 1, 100)"));
        assert_eq!(ids(&mut client, &format!("SELECT next_ticket('{literal}')")), [101]);
        let sequence: String = one(
            &mut client,
            &format!("SELECT sequence::text FROM shardid.tickets WHERE name = '{literal}'"),
        );
        run(&mut client, &format!("SELECT nextval('{}')", sequence.replace('\'', "''")));
        run(&mut client, &format!("SELECT drop_ticket('{literal}')"));
        expect_error(&mut client, &format!("SELECT next_ticket('{literal}')"), "42704");
    }
    let left = "SELECT count(*) FROM pg_class WHERE relnamespace = 'shardid_tickets'::regnamespace";
    assert_eq!(one::<i64>(&mut client, left), 0);
}

#[test]
fn what_is_refused_is_refused_whole() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('photos', 1, 2); SELECT create_ticket('lost'); DROP SEQUENCE shardid_tickets.lost; \
         SELECT create_ticket('used'); CREATE TABLE t (a bigint DEFAULT next_ticket('used')); \
         SELECT create_ticket('read'); CREATE TABLE u (a bigint DEFAULT nextval('shardid_tickets.read')); \
         CREATE TABLE shardid_tickets.taken (a int); CREATE SEQUENCE shardid_tickets.other INCREMENT 3",
    );
    let long = "x".repeat(64);
    let table = r#"
        42710 | SELECT create_ticket('photos')               | "photos" exists   | FROM shardid.tickets
        42710 | SELECT shardid.create_ticket_above('photos', 1, 2, 5) | "photos" exists | FROM shardid.tickets
        22004 | SELECT create_ticket(NULL)                   | needs a name      | create_ticket('photos'
        22004 | SELECT create_ticket('')                     | needs a name      | create_ticket('photos'
        22004 | SELECT create_ticket('a', NULL, 2)           | a server          | create_ticket('photos'
        42622 | SELECT create_ticket('LONG')                 | too long + LONG   | shorter
        22023 | SELECT create_ticket('a', 0, 2)              | server 0 of 2     | create_ticket('a', 2, 3)
        22023 | SELECT create_ticket('a', 3, 2)              | server 3 of 2     | create_ticket('a', 2, 3)
        22023 | SELECT create_ticket('a', 1, 1001)           | server 1 of 1001  | create_ticket('a', 2, 3)
        22023 | SELECT create_ticket('a', -1, -1)            | server -1 of -1   | create_ticket('a', 2, 3)
        22023 | SELECT shardid.create_ticket_above('a', 1, 1, -1) | above -1     | 0
        22023 | SELECT shardid.create_ticket_above('a', 1, 1, 9223372036854774808) | above 9223372036854774808 | highest
        42P07 | SELECT create_ticket('taken')                | shardid_tickets.taken | RENAME
        42P07 | SELECT create_ticket('other', 1, 2)          | shardid_tickets.other + 1 of 2 | RENAME
        42704 | SELECT next_ticket('nope')                   | "nope"            | SELECT create_ticket('nope')
        42704 | SELECT next_ticket('it''s')                  | "it's"            | SELECT create_ticket('it''s')
        42704 | SELECT next_tickets('nope', 3)               | "nope"            | SELECT create_ticket('nope')
        42704 | SELECT next_ticket_gapless('nope')           | "nope"            | SELECT create_ticket('nope')
        42704 | SELECT drop_ticket('nope')                   | "nope"            | SELECT create_ticket('nope')
        42704 | SELECT drop_ticket(NULL)                     | "null"            | SELECT create_ticket('photos')
        42704 | SELECT shardid.limit_ticket('nope', 5)       | "nope"            | SELECT create_ticket('nope')
        42704 | SELECT shardid.restep_ticket('nope', 1, 2, 5) | "nope"           | SELECT create_ticket('nope')
        42704 | SELECT shardid.raise_ticket('nope', 5)       | "nope"            | SELECT create_ticket('nope')
        22023 | SELECT next_tickets('photos', 0)             | 1 to 1000000 + 0  | next_tickets(
        22023 | SELECT next_tickets('photos', -1)            | -1                | next_tickets(
        22023 | SELECT next_tickets('photos', 1000001)       | 1000001           | next_tickets(
        55000 | SELECT next_ticket('lost')                   | "lost" + dropped  | create_ticket_above('lost', 1, 1, ...)
        55000 | SELECT next_ticket_gapless('lost')           | "lost" + dropped  | create_ticket_above('lost', 1, 1, ...)
        55000 | SELECT shardid.raise_ticket('lost', 5)       | "lost" + dropped  | create_ticket_above('lost', 1, 1, ...)
        2BP01 | SELECT drop_ticket('used')                   | "used" + defaults | DROP DEFAULT
        2BP01 | SELECT drop_ticket('read')                   | "read" + defaults | DROP DEFAULT
        42809 | SELECT shardid.take_numbers('t', 5)          | t is not a sequence | create_segment
        "#;
    refuses(&mut client, &table.replace("LONG", &long));
    // In a read-only transaction, and with what is done about the others.
    run(&mut client, "SET default_transaction_read_only = on");
    for sql in
        ["next_ticket('photos')", "next_tickets('photos', 2)", "next_ticket_gapless('photos')"]
    {
        expect_error(&mut client, &format!("SELECT {sql}"), "25006");
    }
    run(&mut client, "RESET default_transaction_read_only");
    run(
        &mut client,
        "SELECT shardid.create_ticket_above('lost', 1, 1, 9); \
         DROP TABLE t, u; SELECT drop_ticket('used'), drop_ticket('read')",
    );
    assert_eq!(ids(&mut client, "SELECT next_ticket('lost')"), [10]);
}

#[test]
fn the_last_number_is_given_out_and_then_an_error_never_a_repeat() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('photos', 1, 2); SELECT shardid.raise_ticket('photos', 9223372036854774807); \
         SELECT create_ticket('small', 2, 2); ALTER SEQUENCE shardid_tickets.small AS integer; \
         SELECT shardid.raise_ticket('small', 2147483600)",
    );
    for (name, left, last) in [("photos", 499, i64::MAX - 2), ("small", 23, 2_147_483_646)] {
        let most = format!("SELECT * FROM next_tickets('{name}', {})", left - 3);
        assert_eq!(ids(&mut client, &most).len(), left - 3);
        expect_error(&mut client, &format!("SELECT * FROM next_tickets('{name}', 4)"), "22003");
        let one = format!("SELECT next_ticket('{name}')");
        assert_eq!(ids(&mut client, &one), [last - 4]);
        assert_eq!(ids(&mut client, &one), [last - 2]);
        assert_eq!(ids(&mut client, &one), [last]);
        for _ in 0..3 {
            let refusal = expect_error(&mut client, &one, "22003");
            assert!(refusal.message.contains(name), "{refusal:?}");
            assert!(refusal.detail.contains(&format!("{last}")), "{refusal:?}");
        }
        // That a sequence stands at its end says that its ticket is gapless.
        let nextval = format!("SELECT nextval('shardid_tickets.{name}')");
        if name == "photos" {
            assert_eq!(ids(&mut client, &nextval), [i64::MAX]);
        }
        expect_error(&mut client, &nextval, "2200H");
    }
}

#[test]
fn whatever_setval_or_restart_does_the_numbers_stay_in_the_class_and_above_the_floor() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT shardid.create_ticket_above('photos', 2, 3, 100)");
    let take = "SELECT next_ticket('photos')";
    assert_eq!(ids(&mut client, take), [101]);
    for (sql, next) in [
        ("SELECT setval('shardid_tickets.photos', 150)", 152),
        ("SELECT setval('shardid_tickets.photos', 152, false)", 152),
        ("SELECT setval('shardid_tickets.photos', 7)", 101),
        ("ALTER SEQUENCE shardid_tickets.photos RESTART", 101),
        ("ALTER SEQUENCE shardid_tickets.photos RESTART 300 INCREMENT 7", 302),
        ("SELECT setval('shardid_tickets.photos', 400)", 401),
    ] {
        run(&mut client, sql);
        assert_eq!(ids(&mut client, take), [next], "{sql}");
        assert_eq!(ids(&mut client, take), [next + 3], "{sql}");
    }
}
