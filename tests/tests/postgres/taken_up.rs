//! What has the name of a sequence to be made is taken up only if it will do, and else named
//! with the command for what it is.

use shardid_tests::{Database, expect_error};

use crate::ask::{one, run};

/// What makes a sequence of that name, and that name.
const NAMES: [(&str, &str); 4] = [
    ("SELECT create_shard(5, 'own')", "own.shard_id_seq"),
    ("SELECT create_id_sequence('own.ids', 5)", "own.ids"),
    ("SELECT create_ticket('photos')", "shardid_tickets.photos"),
    ("SELECT create_segment('orders', 10)", "shardid_segments.orders"),
];

/// Kinds of relations that somebody may have put there, and the command that alters each.
const KINDS: [(&str, &str); 6] = [
    ("CREATE VIEW @ AS SELECT 1 AS a", "ALTER VIEW @ "),
    ("CREATE TABLE @ (a int)", "ALTER TABLE @ "),
    ("CREATE TABLE @ (a int) PARTITION BY RANGE (a)", "ALTER TABLE @ "),
    ("CREATE MATERIALIZED VIEW @ AS SELECT 1 AS a", "ALTER MATERIALIZED VIEW @ "),
    ("CREATE TYPE @ AS (a int)", "ALTER TYPE @ "),
    ("CREATE SEQUENCE @ INCREMENT 7", "ALTER SEQUENCE @ "),
];

/// It was `ALTER SEQUENCE` whatever was there.
#[test]
fn a_hint_names_the_command_for_what_is_there() {
    let database = Database::fresh();
    let stranger = database.role("stranger");
    database.psql(&format!(
        "CREATE SCHEMA own; CREATE SCHEMA shardid_tickets; CREATE SCHEMA shardid_segments; \
         GRANT CREATE, USAGE ON SCHEMA own, shardid_tickets, shardid_segments TO {stranger}"
    ));
    let mut client = database.connect();
    for (makes, name) in NAMES {
        for (there, command) in KINDS {
            for (role, sqlstate) in [(stranger.as_str(), "42501"), ("postgres", "42P07")] {
                run(
                    &mut client,
                    &format!(
                        "BEGIN; SET LOCAL ROLE {role}; {}; SET LOCAL ROLE NONE; SAVEPOINT a",
                        there.replace('@', name)
                    ),
                );
                let refusal = expect_error(&mut client, makes, sqlstate);
                let command = command.replace('@', name);
                let (_, given) = refusal
                    .hint
                    .split_once(&command)
                    .unwrap_or_else(|| panic!("{there}: {refusal:?}"));
                // It is a command for that kind, whichever is left to be filled in.
                let rest = given
                    .split(';')
                    .next()
                    .expect("a split has a first part")
                    .replace("...", "another");
                run(&mut client, &format!("ROLLBACK TO a; {command}{rest}; ROLLBACK"));
            }
        }
    }
}

/// `setval: value … is out of bounds`; and one that begins again repeats ids by `nextval`.
#[test]
fn a_sequence_that_ends_before_its_layout_is_taken_up_when_it_was_altered() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "CREATE SCHEMA own; SELECT create_layout('mine', '2026-01-01Z', '1 s', 10, 10, 2147483648)",
    );
    // Shard 5 of 10, with 10 slots: its last id is the last but 40 of 2147483648 * 100.
    let last: i64 = 2_147_483_648 * 100 - 41;
    let make = |options: &str| {
        format!(
            "DROP SEQUENCE IF EXISTS own.shard_id_seq CASCADE; CREATE SEQUENCE own.shard_id_seq INCREMENT 100 MINVALUE 50 {options}"
        )
    };
    for options in [
        format!("MAXVALUE {}", last - 1),
        "MAXVALUE 1000".to_owned(),
        "AS integer".to_owned(),
        "CYCLE".to_owned(),
        format!("MAXVALUE {last} CYCLE"),
    ] {
        run(&mut client, &make(&options));
        for sql in [
            "SELECT create_shard(5, 'own', 'mine')",
            "SELECT create_id_sequence('own.shard_id_seq', 5, 'mine')",
        ] {
            let refusal = expect_error(&mut client, sql, "55000");
            assert!(refusal.message.contains("own.shard_id_seq"), "{refusal:?}");
            assert!(refusal.detail.contains(&last.to_string()), "{refusal:?}");
            run(&mut client, &format!("BEGIN; {}; {sql}; ROLLBACK", refusal.hint));
        }
    }
    // The limit itself will do.
    run(&mut client, &make(&format!("MAXVALUE {last}")));
    run(&mut client, "SELECT create_shard(5, 'own', 'mine'); SELECT next_id(5)");

    run(
        &mut client,
        "CREATE SCHEMA shardid_tickets; CREATE SCHEMA shardid_segments; \
         CREATE SEQUENCE shardid_tickets.photos MINVALUE -1000 START 1 CYCLE; CREATE SEQUENCE shardid_segments.orders MAXVALUE 100 CYCLE; \
         SELECT create_ticket('photos'), create_segment('orders', 10)",
    );
    let cycles = "SELECT count(*) FROM pg_sequence WHERE seqcycle";
    assert_eq!(one::<i64>(&mut client, cycles), 0);
}

/// Under the name that its sequence was given, a second one went on in it, and ended it when it
/// was dropped.
#[test]
fn what_is_listed_already_is_not_taken_up_by_another() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_shard(5), create_ticket('t'), create_segment('s', 10), next_ticket('t'), next_segment('s'); \
         ALTER SEQUENCE shardid_tickets.t RENAME TO t2; ALTER SEQUENCE shardid_segments.s RENAME TO s2",
    );
    for (sql, whose) in [
        ("SELECT create_ticket('t2')", "ticket t"),
        ("SELECT create_segment('s2', 10)", "segment tag s"),
        ("SELECT create_id_sequence('shard_0005.shard_id_seq', 5)", "shard 5"),
    ] {
        let refusal = expect_error(&mut client, sql, "42P07");
        assert!(
            refusal.message.ends_with(&format!("exists already: it is {whose}")),
            "{refusal:?}"
        );
    }
    run(&mut client, "SELECT next_id(5), next_ticket('t'), next_segment('s')");
}

/// The hint was to rename it, and the ticket that was made then gave its numbers again.
#[test]
fn the_sequence_of_a_ticket_of_several_servers_is_taken_up_as_it_says() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_ticket('t', 2, 3), create_ticket('raised', 3, 3)");
    run(
        &mut client,
        "SELECT shardid.restep_ticket('raised', 1, 2, 1000), shardid.raise_ticket('raised', 2000)",
    );
    run(&mut client, "SELECT next_ticket('t'), next_ticket('raised')");
    run(&mut client, "DROP EXTENSION shardid; CREATE EXTENSION shardid");
    for (name, number) in [("t", 5), ("raised", 2003)] {
        let refusal =
            expect_error(&mut client, &format!("SELECT create_ticket('{name}')"), "42P07");
        let (_, again) = refusal.hint.split_once(": ").expect("what to say");
        run(&mut client, again);
        assert_eq!(one::<i64>(&mut client, &format!("SELECT next_ticket('{name}')")), number);
    }
}

/// `42601`, in a text of our own.
#[test]
fn a_plain_sequence_is_no_ticket() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_ticket('a'); CREATE SEQUENCE shardid_tickets.b");
    let refusal = expect_error(&mut client, "SELECT create_ticket('b')", "42P07");
    assert!(refusal.message.contains("is not a ticket of server 1 of 1"), "{refusal:?}");
}

/// A dump without data, restored by a superuser: no way of taking the owner's function up was named.
#[test]
fn a_next_id_of_another_role_is_taken_up_once_that_role_may_make_shards() {
    let database = Database::fresh();
    let owner = database.role("owner");
    database.psql(&format!(
        "SELECT create_shard(5); CREATE TABLE t (id bigint DEFAULT shard_0005.next_id()); DELETE FROM shardid.shard; \
         ALTER SCHEMA shard_0005 OWNER TO {owner}; ALTER SEQUENCE shard_0005.shard_id_seq OWNER TO {owner}; \
         ALTER FUNCTION shard_0005.next_id() OWNER TO {owner}"
    ));
    let mut client = database.connect();
    let refusal = expect_error(&mut client, "SELECT create_shard(5)", "42501");
    assert!(refusal.message.contains("shard_0005.next_id()"), "{refusal:?}");
    // Another schema would begin at the clock, and is no way out.
    assert!(!refusal.hint.contains("another schema"), "{refusal:?}");
    run(&mut client, refusal.hint.split_once(": ").expect("the command").1);
    run(&mut client, "SELECT create_shard(5); INSERT INTO t DEFAULT VALUES");
    // One that is somebody's own is none to be taken up.
    run(
        &mut client,
        &format!(
            "CREATE SCHEMA own; CREATE FUNCTION own.next_id() RETURNS bigint RETURN 1; ALTER FUNCTION own.next_id() OWNER TO {owner}"
        ),
    );
    expect_error(&mut client, "SELECT create_shard(6, 'own')", "42723");
}

/// What was given of a lease from before lay beyond the horizon of the new extension: when the sequence was put back then, or
/// made again, all of it came again. With ticks of an hour no bulk load was needed for it.
#[test]
fn what_an_extension_that_was_made_again_gives_of_an_old_lease_comes_once() {
    for (makes, takes) in [
        ("SELECT create_shard(5)", "1200000"),
        (
            "SELECT create_layout('hours', now() - interval '1 minute', '1 h', 8, 100000); SELECT create_shard(5, layout => 'hours')",
            "10",
        ),
    ] {
        for puts_back in [
            "ALTER SEQUENCE shard_0005.shard_id_seq RESTART",
            "DROP SEQUENCE shard_0005.shard_id_seq CASCADE; MAKES",
            "DROP SCHEMA shard_0005 CASCADE; MAKES",
        ] {
            let database = Database::fresh();
            database.psql(makes);
            let mut client = database.connect();
            run(&mut client, &format!("SELECT count(next_id(5)) FROM generate_series(1, {takes})"));
            run(&mut client, "DROP EXTENSION shardid CASCADE; CREATE EXTENSION shardid");
            run(&mut client, makes);
            let take = |table: &str, count: i32| {
                let mut client = database.connect();
                run(
                    &mut client,
                    &format!(
                        "SET shardid.max_drift = '3h'; CREATE TABLE {table} AS SELECT next_id(5) AS id FROM generate_series(1, {count})"
                    ),
                );
            };
            take("before", 5_000);
            let make = makes.rsplit("; ").next().expect("the last statement makes the shard");
            run(&mut database.connect(), &puts_back.replace("MAKES", make));
            take("after", 100_000);
            let twice =
                "SELECT count(*) FROM (SELECT id FROM before INTERSECT SELECT id FROM after) t";
            assert_eq!(database.psql(twice), "0", "{makes}, {puts_back}");
        }
    }
}
