//! A column goes on with another kind of generator of the same shard: nothing comes again.

use shardid_tests::{Database, expect_error};

use crate::account::{Account, COARSE, Generator, assert_none_twice, ids_of};
use crate::ask::{column, one, run};

const KINDS: [Generator; 2] = [Generator::Shard(5), Generator::Sequence(5)];

/// The ways in which a generator goes.
const DROPS: [(Generator, &str); 4] = [
    (Generator::Shard(5), "SELECT drop_shard(5)"),
    (Generator::Shard(5), "DROP SEQUENCE shard_0005.shard_id_seq CASCADE"),
    (Generator::Shard(5), "DROP SCHEMA shard_0005 CASCADE"),
    (Generator::Sequence(5), "DROP SEQUENCE ids_5"),
];

/// A column that went from an id sequence to the shard got 200 of 200 ids again; the other way round
/// the id sequence gave none, and the hint made a shard that nobody wanted.
#[test]
fn a_column_that_goes_from_one_kind_of_generator_to_the_other_gets_no_id_again() {
    let mut accounts = Vec::new();
    for (old, drop) in DROPS {
        for new in KINDS {
            for (begin, end) in [("BEGIN", "COMMIT"), ("", "")] {
                let database = Database::fresh();
                let mut client = database.connect();
                run(&mut client, &format!("{COARSE}; {}", old.make()));
                let mut account = Account::new(format!("{drop}, then {new:?}, {begin} {end}"));
                account.take("before", &mut client, &old.take(ids_of(4)));
                run(&mut client, &format!("{begin}; {drop}; {}; {end}", new.make()));
                account.take("after", &mut client, &new.take(ids_of(8)));
                accounts.push(account);
            }
        }
    }
    assert_none_twice(&accounts);
}

/// A rollback brings the old one back, as it was before the ids of the new one.
#[test]
fn a_generator_in_the_place_of_another_kind_gives_ids_after_the_commit() {
    for (old, drop) in DROPS {
        for new in KINDS {
            let database = Database::fresh();
            let mut client = database.connect();
            run(&mut client, &format!("{COARSE}; {}", old.make()));
            run(&mut client, &old.take(4));
            run(&mut client, &format!("BEGIN; {drop}; {}; SAVEPOINT s", new.make()));
            let refusal = expect_error(&mut client, &new.take(1), "55000");
            assert!(refusal.hint.contains("COMMIT"), "{drop}, then {new:?}: {refusal:?}");
            run(&mut client, "ROLLBACK");
            run(&mut client, &old.take(4));
        }
    }
}

/// PostgreSQL keeps what a call gave for the next row with the same arguments (Memoize), also of a
/// volatile function: 600 rows had 12 ids.
#[test]
fn each_row_that_is_joined_with_new_ids_has_its_own() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_shard(5), create_shard(6), create_ticket('t');
         CREATE TABLE orders (n int PRIMARY KEY, shard int, count int);
         INSERT INTO orders SELECT n, 5 + n % 2, 1 + n % 3 FROM generate_series(1, 300) AS n;
         ANALYZE orders",
    );
    for call in [
        "next_ids(o.shard, o.count)",
        "next_ids(5, o.count)",
        "next_ids(o.shard::bigint, 2)",
        "shardid.next_ids(o.shard, o.count)",
        "next_tickets('t', o.count)",
        "next_id(o.shard)",
    ] {
        let from = format!("FROM orders AS o, LATERAL {call} AS id");
        let plan: Vec<String> = column(&mut client, &format!("EXPLAIN SELECT id {from}"));
        assert!(!plan.concat().contains("Memoize"), "{call}: {plan:#?}");
        let doubled: i64 =
            one(&mut client, &format!("SELECT count(*) - count(DISTINCT id) {from}"));
        assert_eq!(doubled, 0, "{call}");
    }
}
