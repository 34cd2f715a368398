//! What the program relies on when it changes the servers of a ticket in use.

use shardid_tests::postgres::Client;
use shardid_tests::{Database, expect_error};

use crate::ask::{column, ids, one, run};
use crate::errors::refuses;

/// `name|server|servers|last_ticket|ceiling|floor` of the only ticket.
fn shown(client: &mut Client) -> String {
    one(
        client,
        "SELECT concat_ws('|', name, server, servers, coalesce(last_ticket::text, '-'), coalesce(ceiling::text, '-'), floor) \
         FROM shardid.tickets",
    )
}

const TAKE: &str = "SELECT next_ticket('photos')";
const PLAIN: &str = "SELECT nextval('shardid_tickets.photos')";

#[test]
fn a_ticket_made_above_a_floor_may_be_made_twice() {
    let database = Database::fresh();
    let mut client = database.connect();
    for _ in 0..2 {
        run(&mut client, "SELECT shardid.create_ticket_above('photos', 2, 3, 1000)");
        assert_eq!(shown(&mut client), "photos|2|3|-|-|1000");
    }
    assert_eq!(ids(&mut client, TAKE), [1001]);
    run(&mut client, "SELECT shardid.create_ticket_above('photos', 2, 3, 1000)");
    assert_eq!(ids(&mut client, PLAIN), [1004]);
    refuses(
        &mut client,
        r#"
        42710 | SELECT shardid.create_ticket_above('photos', 2, 3, 1001) | "photos" exists | FROM shardid.tickets
        42710 | SELECT shardid.create_ticket_above('photos', 1, 3, 1000) | "photos" exists | FROM shardid.tickets
        42710 | SELECT shardid.create_ticket_above('photos', 2, 4, 1000) | "photos" exists | FROM shardid.tickets
        "#,
    );
}

#[test]
fn a_ceiling_is_never_reached_until_it_is_lifted() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_ticket('photos', 1, 2); SELECT next_tickets('photos', 5)");
    refuses(
        &mut client,
        r#"
        55000 | SELECT shardid.limit_ticket('photos', 9) | up to 9 + below 9 | above 9
        55000 | SELECT shardid.limit_ticket('photos', 5) | up to 9 + below 5 | above 9
        "#,
    );
    for _ in 0..2 {
        run(&mut client, "SELECT shardid.limit_ticket('photos', 14)");
        assert_eq!(shown(&mut client), "photos|1|2|9|14|0");
    }
    expect_error(&mut client, "SELECT next_tickets('photos', 3)", "55000");
    assert_eq!(ids(&mut client, TAKE), [11]);
    assert_eq!(ids(&mut client, PLAIN), [13]);
    for _ in 0..2 {
        let refusal = expect_error(&mut client, TAKE, "55000");
        assert!(
            refusal.message.contains("\"photos\" ends before 14 on this server"),
            "{refusal:?}"
        );
        assert!(refusal.hint.contains("shardid tickets status"), "{refusal:?}");
        expect_error(&mut client, PLAIN, "2200H");
    }
    // The same again, at its ceiling, and a higher one.
    run(&mut client, "SELECT shardid.limit_ticket('photos', 14)");
    run(&mut client, "SELECT shardid.limit_ticket('photos', 16)");
    assert_eq!(ids(&mut client, TAKE), [15]);
    run(&mut client, "SELECT shardid.limit_ticket('photos', NULL)");
    assert_eq!(shown(&mut client), "photos|1|2|15|-|0");
    assert_eq!(ids(&mut client, TAKE), [17]);
    assert_eq!(ids(&mut client, PLAIN), [19]);
}

#[test]
fn a_ticket_may_be_limited_to_nothing() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('photos', 3, 3); SELECT shardid.limit_ticket('photos', 1)",
    );
    for sql in [TAKE, "SELECT next_ticket_gapless('photos')"] {
        expect_error(&mut client, sql, "55000");
    }
    expect_error(&mut client, PLAIN, "2200H");
    assert_eq!(shown(&mut client), "photos|3|3|-|1|0");
    run(&mut client, "SELECT shardid.limit_ticket('photos', NULL)");
    assert_eq!(ids(&mut client, PLAIN), [3]);
    assert_eq!(ids(&mut client, TAKE), [6]);
}

#[test]
fn other_steps_begin_above_the_floor_and_lift_the_ceiling() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('photos', 2, 2); SELECT next_tickets('photos', 3); SELECT shardid.limit_ticket('photos', 101)",
    );
    refuses(
        &mut client,
        r#"
        55000 | SELECT shardid.restep_ticket('photos', 2, 3, 5)   | up to 6 + floor 5 | at or above
        22023 | SELECT shardid.restep_ticket('photos', 4, 3, 100) | server 4 of 3     | create_ticket
        22004 | SELECT shardid.restep_ticket('photos', 4, 3, NULL) | a floor          | create_ticket
        "#,
    );
    for _ in 0..2 {
        run(&mut client, "SELECT shardid.restep_ticket('photos', 2, 3, 100)");
        assert_eq!(shown(&mut client), "photos|2|3|-|-|100");
    }
    assert_eq!(ids(&mut client, PLAIN), [101]);
    assert_eq!(ids(&mut client, TAKE), [104]);
    // Again, after it has handed out numbers: nothing, and a ceiling of later stays.
    run(&mut client, "SELECT shardid.limit_ticket('photos', 200)");
    run(&mut client, "SELECT shardid.restep_ticket('photos', 2, 3, 100)");
    assert_eq!(shown(&mut client), "photos|2|3|104|200|100");
    refuses(
        &mut client,
        "55000 | SELECT shardid.restep_ticket('photos', 2, 3, 103) | up to 104 + floor 103 | above",
    );
    // Within one transaction, where the session knows the old steps, and undone with it:
    // what was taken by the new ones would come again by the old.
    run(&mut client, "BEGIN");
    assert_eq!(ids(&mut client, TAKE), [107]);
    run(&mut client, "SELECT shardid.restep_ticket('photos', 1, 1, 1000)");
    let refusal = expect_error(&mut client, TAKE, "55000");
    assert!(refusal.message.contains("new file") && refusal.hint.contains("COMMIT"), "{refusal:?}");
    run(&mut client, "ROLLBACK");
    assert_eq!(ids(&mut client, TAKE), [110]);
    assert_eq!(ids(&mut database.connect(), PLAIN), [113]);
    // A floor that is just the last number.
    run(&mut client, "SELECT shardid.restep_ticket('photos', 5, 5, 113)");
    assert_eq!(ids(&mut client, TAKE), [115]);
}

#[test]
fn a_ticket_is_raised_and_never_lowered() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('photos', 1, 2); SELECT shardid.raise_ticket('photos', 100)",
    );
    assert_eq!(ids(&mut client, TAKE), [101]);
    for above in [100, 101, 50, 0] {
        run(&mut client, &format!("SELECT shardid.raise_ticket('photos', {above})"));
    }
    assert_eq!(ids(&mut client, PLAIN), [103]);
    run(&mut client, "SELECT shardid.raise_ticket('photos', 105)");
    assert_eq!(shown(&mut client), "photos|1|2|105|-|100");
    assert_eq!(ids(&mut client, TAKE), [107]);
    // Beyond its ceiling: it hands out nothing until that is lifted, and then above.
    run(
        &mut client,
        "SELECT shardid.limit_ticket('photos', 200); SELECT shardid.raise_ticket('photos', 300)",
    );
    expect_error(&mut client, TAKE, "55000");
    expect_error(&mut client, PLAIN, "2200H");
    expect_error(&mut client, "SELECT shardid.restep_ticket('photos', 1, 3, 250)", "55000");
    run(&mut client, "SELECT shardid.limit_ticket('photos', NULL)");
    assert_eq!(ids(&mut client, PLAIN), [301]);
    assert_eq!(ids(&mut client, TAKE), [303]);
}

#[test]
fn a_gapless_ticket_changes_its_servers_as_well() {
    let database = Database::fresh();
    let mut client = database.connect();
    let take = "SELECT next_ticket_gapless('photos')";
    run(&mut client, "SELECT create_ticket('photos', 1, 2)");
    assert_eq!(ids(&mut client, take), [1]);
    run(&mut client, "SELECT shardid.limit_ticket('photos', 5)");
    assert_eq!(ids(&mut client, take), [3]);
    expect_error(&mut client, take, "55000");
    expect_error(&mut client, "SELECT shardid.restep_ticket('photos', 1, 1, 2)", "55000");
    run(&mut client, "SELECT shardid.restep_ticket('photos', 1, 3, 8)");
    assert_eq!(shown(&mut client), "photos|1|3|-|-|8");
    assert_eq!(ids(&mut client, take), [10]);
    run(
        &mut client,
        "SELECT shardid.raise_ticket('photos', 20), shardid.raise_ticket('photos', 5)",
    );
    assert_eq!(ids(&mut client, take), [22]);
    expect_error(&mut client, TAKE, "55000");
    expect_error(&mut client, PLAIN, "2200H");
}

#[test]
fn every_database_is_a_server_of_its_own() {
    let (one_of_two, other) = (Database::fresh(), Database::fresh());
    let read = "INSERT INTO shardid.server DEFAULT VALUES RETURNING instance";
    let (a, b): (Vec<String>, Vec<String>) =
        (column(&mut one_of_two.connect(), read), column(&mut other.connect(), read));
    assert_eq!((a.len(), b.len()), (1, 1));
    assert_ne!(a, b);
}

/// A rollback brings the ticket that was dropped back, and with it the numbers that were taken from
/// the new one.
#[test]
fn a_ticket_or_tag_that_takes_the_place_of_another_gives_numbers_after_the_commit() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_ticket('photos'), create_segment('orders', 10)");
    assert_eq!(ids(&mut client, TAKE), [1]);
    run(&mut client, "SELECT * FROM next_segment('orders')");
    let replaced = [
        ("SELECT drop_ticket('photos'), shardid.create_ticket_above('photos', 1, 1, 1)", TAKE),
        (
            "DROP SEQUENCE shardid_tickets.photos; SELECT drop_ticket('photos'), create_ticket('photos')",
            "SELECT * FROM next_tickets('photos', 3)",
        ),
        (
            "SELECT drop_segment('orders'), create_segment('orders', 10, start => 11)",
            "SELECT * FROM next_segment('orders')",
        ),
        (
            "SAVEPOINT a; SELECT drop_ticket('photos'); RELEASE a; SELECT create_ticket('photos')",
            TAKE,
        ),
    ];
    for (replace, take) in replaced {
        run(&mut client, &format!("BEGIN; {replace}"));
        let refusal = expect_error(&mut client, take, "55000");
        assert!(refusal.message.contains("was replaced or restored"), "{take}: {refusal:?}");
        assert!(refusal.hint.contains("COMMIT first"), "{take}: {refusal:?}");
        run(&mut client, "ROLLBACK");
    }
    assert_eq!(ids(&mut client, TAKE), [2]);
    run(&mut client, &format!("BEGIN; {}; COMMIT", replaced[0].0));
    assert_eq!(ids(&mut client, TAKE), [2]);
    // What takes nobody's place gives numbers at once.
    run(&mut client, "BEGIN; SELECT create_ticket('new'), create_segment('newer', 5)");
    run(&mut client, "SELECT next_ticket('new'), next_segment('newer'); COMMIT");
}

/// It said that numbers had been handed out, and nobody had taken one.
#[test]
fn a_ticket_that_was_raised_before_its_first_number_may_still_be_without_gaps() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_ticket('photos'), shardid.raise_ticket('photos', 5000)");
    assert_eq!(shown(&mut client), "photos|1|1|-|-|5000");
    assert_eq!(ids(&mut client, "SELECT next_ticket_gapless('photos')"), [5001]);
    run(&mut client, "SELECT shardid.raise_ticket('photos', 6000)");
    assert_eq!(ids(&mut client, "SELECT next_ticket_gapless('photos')"), [6001]);
}
