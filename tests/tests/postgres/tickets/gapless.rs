//! Tickets without gaps: for numbers that an auditor counts.

use std::thread;
use std::time::Duration;

use shardid_tests::rand::Rng;
use shardid_tests::{Database, assert_unique, expect_error, rng, wait_until};

use crate::ask::{ids, one, run};

const TAKE: &str = "SELECT next_ticket_gapless('invoices')";

#[test]
fn a_rollback_gives_its_numbers_back() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_ticket('invoices')");
    for _ in 0..2 {
        // The first one ever, too.
        run(&mut client, "BEGIN");
        assert_eq!(ids(&mut client, TAKE), [1]);
        assert_eq!(ids(&mut client, TAKE), [2]);
        run(&mut client, "ROLLBACK");
    }
    assert_eq!(ids(&mut client, TAKE), [1]);
    run(&mut client, "BEGIN");
    assert_eq!(ids(&mut client, TAKE), [2]);
    run(&mut client, "SAVEPOINT a");
    assert_eq!(ids(&mut client, TAKE), [3]);
    run(&mut client, "ROLLBACK TO a");
    assert_eq!(ids(&mut client, TAKE), [3]);
    run(&mut client, "COMMIT");
    assert_eq!(ids(&mut client, "SELECT last_ticket FROM shardid.tickets WHERE gapless"), [3]);
}

#[test]
fn it_waits_for_whoever_took_the_one_before() {
    let database = Database::fresh();
    database.psql("SELECT create_ticket('invoices')");
    for (end, expected) in [("COMMIT", 2), ("ROLLBACK", 3), ("COMMIT", 5)] {
        let mut first = database.connect();
        run(&mut first, "BEGIN");
        ids(&mut first, TAKE);
        thread::scope(|scope| {
            let second = scope.spawn(|| ids(&mut database.connect(), TAKE));
            wait_until(Duration::from_secs(30), "the second to wait", || {
                let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
                second.is_finished() || database.psql(waits) == "1"
            });
            assert!(!second.is_finished(), "the second did not wait");
            run(&mut first, end);
            assert_eq!(second.join().unwrap(), [expected]);
        });
    }
    // In a snapshot of its own it cannot go on above what it does not see.
    let mut first = database.connect();
    run(&mut first, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM shardid.ticket");
    ids(&mut database.connect(), TAKE);
    expect_error(&mut first, TAKE, "40001");
}

#[test]
fn eight_clients_who_roll_back_at_random_leave_no_gap() {
    let database = Database::fresh();
    database.psql("SELECT create_ticket('invoices', 2, 2)");
    let kept: Vec<(usize, Vec<i64>)> = thread::scope(|scope| {
        let sessions: Vec<_> = (0..8)
            .map(|session| {
                let database = &database;
                scope.spawn(move || {
                    let mut client = database.connect();
                    let mut random = rng(&format!("gapless {session}"));
                    let mut kept = Vec::new();
                    for _ in 0..60 {
                        run(&mut client, "BEGIN");
                        let taken: Vec<i64> = (0..random.random_range(1..4))
                            .flat_map(|_| ids(&mut client, TAKE))
                            .collect();
                        if random.random_bool(0.4) {
                            run(&mut client, "ROLLBACK");
                        } else {
                            run(&mut client, "COMMIT");
                            kept.extend(taken);
                        }
                    }
                    (session, kept)
                })
            })
            .collect();
        sessions.into_iter().map(|session| session.join().unwrap()).collect()
    });
    let count = assert_unique(&kept);
    let mut numbers: Vec<i64> = kept.into_iter().flat_map(|(_, kept)| kept).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=count as i64).map(|n| 2 * n).collect::<Vec<i64>>());
}

#[test]
fn a_ticket_is_used_in_one_way() {
    let database = Database::fresh();
    let mut client = database.connect();
    for (name, first) in [
        ("a", "SELECT next_ticket('a')"),
        ("b", "SELECT nextval('shardid_tickets.b')"),
        ("c", "SELECT next_tickets('c', 3)"),
    ] {
        run(&mut client, &format!("SELECT create_ticket('{name}'); {first}"));
        let gapless = format!("SELECT next_ticket_gapless('{name}')");
        let refusal = expect_error(&mut client, &gapless, "55000");
        assert!(refusal.message.contains(&format!("\"{name}\"")), "{refusal:?}");
        assert!(refusal.hint.contains("create_ticket"), "{refusal:?}");
        run(&mut client, first);
    }
    // The other way round, in a session that knows the ticket, and in another.
    run(&mut client, "SELECT create_ticket('invoices')");
    let mut knew = database.connect();
    run(&mut knew, "BEGIN; SELECT next_ticket('a')");
    expect_error(&mut knew, "SELECT next_ticket('invoices') / 0", "22012");
    run(&mut knew, "ROLLBACK");
    run(&mut client, "SELECT drop_ticket('invoices'); SELECT create_ticket('invoices')");
    assert_eq!(ids(&mut client, TAKE), [1]);
    for client in [&mut client, &mut knew, &mut database.connect()] {
        for sql in ["SELECT next_ticket('invoices')", "SELECT next_tickets('invoices', 3)"] {
            let refusal = expect_error(client, sql, "55000");
            assert!(refusal.message.contains("\"invoices\" is gapless"), "{refusal:?}");
            assert!(refusal.hint.contains("next_ticket_gapless('invoices')"), "{refusal:?}");
        }
        expect_error(client, "SELECT nextval('shardid_tickets.invoices')", "2200H");
    }
    assert_eq!(ids(&mut knew, TAKE), [2]);
}

#[test]
fn the_first_number_waits_for_those_who_are_just_taking_others() {
    let database = Database::fresh();
    database.psql("SELECT create_ticket('invoices')");
    let mut other = database.connect();
    run(&mut other, "BEGIN; SELECT next_ticket('invoices')");
    thread::scope(|scope| {
        let first = scope.spawn(|| expect_error(&mut database.connect(), TAKE, "55000"));
        thread::sleep(Duration::from_millis(200));
        assert!(!first.is_finished(), "it did not wait");
        run(&mut other, "ROLLBACK");
        first.join().unwrap();
    });
    // The number was given out, whatever became of it.
    assert_eq!(one::<i64>(&mut other, "SELECT next_ticket('invoices')"), 2);
}

#[test]
fn the_end_is_an_error() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('invoices', 1, 1000); SELECT next_ticket_gapless('invoices'); \
         SELECT shardid.raise_ticket('invoices', 9223372036854774000)",
    );
    assert_eq!(ids(&mut client, TAKE), [9_223_372_036_854_774_001]);
    assert_eq!(ids(&mut client, TAKE), [9_223_372_036_854_775_001]);
    let refusal = expect_error(&mut client, TAKE, "22003");
    assert!(refusal.message.contains("\"invoices\""), "{refusal:?}");
}

/// It was taken up without a word, and had nothing to give.
#[test]
fn a_sequence_that_a_gapless_ticket_left_is_not_taken_up() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_ticket('invoices')");
    assert_eq!(ids(&mut client, TAKE), [1]);
    run(&mut client, "DROP EXTENSION shardid; CREATE EXTENSION shardid");
    let refusal = expect_error(&mut client, "SELECT create_ticket('invoices')", "55000");
    assert!(refusal.message.contains("shardid_tickets.invoices"), "{refusal:?}");
    // As the hint says.
    let (rename, above) = refusal
        .hint
        .strip_prefix("Rename it: ")
        .and_then(|hint| hint.split_once("; then, "))
        .unwrap();
    run(&mut client, &rename.replace("...", "old"));
    run(&mut client, &above[above.find("SELECT").unwrap()..].replace("highest", "1"));
    assert_eq!(ids(&mut client, TAKE), [2]);
}

/// The error said that nobody knows, and had the row dropped that did.
#[test]
fn a_gapless_ticket_that_lost_its_sequence_says_where_it_stood() {
    let database = Database::fresh();
    let mut client = database.connect();
    for locked in [false, true] {
        run(&mut client, "SELECT create_ticket('in''voices', 2, 3)");
        let take = "SELECT next_ticket_gapless('in''voices')";
        assert_eq!([ids(&mut client, take)[0], ids(&mut client, take)[0]], [2, 5]);
        let mut other = database.connect();
        if locked {
            // Then the row keeps a number that is nothing's.
            run(&mut other, "BEGIN; SELECT FROM shardid.ticket FOR UPDATE");
        }
        run(&mut client, "DROP SEQUENCE shardid_tickets.\"in'voices\"");
        run(&mut other, "ROLLBACK");
        for sql in [
            "SELECT create_ticket('in''voices', 2, 3, if_not_exists => true)",
            "SELECT create_ticket('in''voices')",
        ] {
            let refusal = expect_error(&mut client, sql, "42710");
            assert!(refusal.message.contains("was dropped"), "{refusal:?}");
        }
        for sql in [
            take,
            "SELECT next_ticket('in''voices')",
            "SELECT shardid.raise_ticket('in''voices', 7)",
            // Also where there is nothing to change.
            "SELECT shardid.limit_ticket('in''voices', NULL)",
            "SELECT shardid.restep_ticket('in''voices', 2, 3, 0)",
        ] {
            let refusal = expect_error(&mut client, sql, "55000");
            assert_eq!(refusal.detail, "Its last number was 5.");
        }
        // A column uses the ticket, as most do.
        run(&mut client, "CREATE TABLE t (n bigint DEFAULT next_ticket_gapless('in''voices'))");
        let below = "SELECT shardid.create_ticket_above('in''voices', 2, 3, 4)";
        let hint = expect_error(&mut client, below, "42710").hint;
        assert_eq!(hint, expect_error(&mut client, take, "55000").hint);
        run(&mut client, &format!("BEGIN; {hint}"));
        // What a rollback takes back is given again; a number without that promise may not be.
        expect_error(&mut client, "SELECT next_ticket('in''voices')", "55000");
        run(&mut client, &format!("ROLLBACK; {hint}"));
        assert_eq!(ids(&mut client, take), [8]);
        // What is above a ceiling is another server's, and stays so.
        run(
            &mut client,
            "SELECT shardid.limit_ticket('in''voices', 11); DROP SCHEMA shardid_tickets CASCADE",
        );
        for sql in [take, "SELECT shardid.raise_ticket('in''voices', 7)"] {
            let hint = expect_error(&mut client, sql, "55000").hint;
            let hint = hint.replace("With a number above all of them: ", "").replace("...", "9");
            run(&mut client, &hint);
            expect_error(&mut client, take, "55000");
            run(&mut client, "DROP SCHEMA shardid_tickets CASCADE");
        }
        run(&mut client, "DROP TABLE t; SELECT drop_ticket('in''voices')");
    }
}

/// Nothing but to drop the ticket was said, which the columns that use it refuse.
#[test]
fn a_ticket_that_lost_its_sequence_is_made_again_above_what_it_gave_while_columns_use_it() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('photos', 2, 3); CREATE TABLE t (n bigint PRIMARY KEY DEFAULT next_ticket('photos'));
         INSERT INTO t SELECT FROM generate_series(1, 5); SELECT shardid.limit_ticket('photos', 100); DROP SCHEMA shardid_tickets CASCADE",
    );
    let hint = expect_error(&mut client, "INSERT INTO t DEFAULT VALUES", "55000").hint;
    let again = hint.strip_prefix("With a number above all of them: ").expect("what to say");
    // The program says the same twice, and knows nothing of numbers that were given since.
    expect_error(&mut client, &again.replace("...", "0"), "42710");
    run(&mut client, &again.replace("...", "14"));
    assert_eq!(ids(&mut client, "INSERT INTO t DEFAULT VALUES RETURNING n"), [17]);
    let ceiling = "SELECT ceiling FROM shardid.ticket";
    assert_eq!(ids(&mut client, ceiling), [100]);
}

/// It went on above what the sequence has room for, and `raise_ticket` gave the server's own words.
#[test]
fn a_ticket_that_was_kept_to_small_numbers_ends_there() {
    let database = Database::fresh();
    let mut client = database.connect();
    for gapless in [false, true] {
        run(&mut client, "SELECT create_ticket('invoices')");
        let take = if gapless { TAKE } else { "SELECT next_ticket('invoices')" };
        run(&mut client, "ALTER SEQUENCE shardid_tickets.invoices AS integer");
        assert_eq!(ids(&mut client, take), [1]);
        // The end itself says that a ticket is gapless.
        let last = if gapless { 2_147_483_647 } else { 2_147_483_646 };
        run(&mut client, &format!("SELECT shardid.raise_ticket('invoices', {})", last - 1));
        assert_eq!(ids(&mut client, take), [last]);
        expect_error(&mut client, take, "22003");
        for raised in [
            "SELECT shardid.raise_ticket('invoices', 2147483648)",
            "SELECT shardid.restep_ticket('invoices', 1, 2, 3000000000)",
        ] {
            let refusal = expect_error(&mut client, raised, "22003");
            assert!(refusal.message.contains("\"invoices\""), "{refusal:?}");
            assert!(
                refusal
                    .hint
                    .starts_with("ALTER SEQUENCE shardid_tickets.invoices AS bigint NO MAXVALUE"),
                "{refusal:?}"
            );
        }
        if gapless {
            let hint = expect_error(&mut client, take, "22003").hint;
            run(&mut client, &hint);
            assert_eq!(ids(&mut client, take), [2_147_483_648]);
            // Nor does the sequence seem to stand below them now.
            expect_error(&mut client, "SELECT nextval('shardid_tickets.invoices')", "2200H");
        }
        run(&mut client, "SELECT drop_ticket('invoices')");
    }
}

/// It was taken away without a word.
#[test]
fn an_end_that_somebody_chose_stays() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('invoices'); ALTER SEQUENCE shardid_tickets.invoices MAXVALUE 3",
    );
    assert_eq!(ids(&mut client, TAKE), [1]);
    assert_eq!(
        ids(&mut client, "SELECT next_ticket_gapless('invoices') FROM generate_series(1, 2)"),
        [2, 3]
    );
    expect_error(&mut client, TAKE, "22003");
    expect_error(&mut client, "SELECT shardid.raise_ticket('invoices', 4)", "22003");
    run(&mut client, "SELECT create_ticket('c'); ALTER SEQUENCE shardid_tickets.c MAXVALUE 3");
    run(&mut client, "SELECT shardid.raise_ticket('c', 1)");
    assert_eq!(ids(&mut client, "SELECT next_ticket('c')"), [2]);
    expect_error(&mut client, "SELECT next_ticket('c')", "22003");
    let hint = expect_error(&mut client, "SELECT shardid.raise_ticket('c', 10)", "22003").hint;
    run(&mut client, &hint);
    run(&mut client, "SELECT shardid.raise_ticket('c', 10)");
    assert_eq!(ids(&mut client, "SELECT next_ticket('c')"), [11]);
    // The end of a ceiling is no such choice.
    run(&mut client, "SELECT shardid.limit_ticket('c', 20), shardid.restep_ticket('c', 1, 1, 19)");
    assert_eq!(ids(&mut client, "SELECT next_ticket('c')"), [20]);
    run(
        &mut client,
        "SELECT create_segment('s', 10); ALTER SEQUENCE shardid_segments.s AS integer",
    );
    let hint =
        expect_error(&mut client, "SELECT shardid.raise_segment('s', 3000000000)", "22003").hint;
    run(&mut client, &hint);
    run(&mut client, "SELECT shardid.raise_segment('s', 3000000000)");
}

/// What only the row said went with the extension: that it is gapless, and which numbers are
/// another server's by now.
#[test]
fn a_sequence_that_says_not_enough_is_not_taken_up() {
    let database = Database::fresh();
    let mut client = database.connect();
    for before in [
        "ALTER SEQUENCE shardid_tickets.invoices AS integer; SELECT next_ticket_gapless('invoices')",
        "SELECT next_ticket('invoices'), shardid.limit_ticket('invoices', 1000)",
        "SELECT next_ticket_gapless('invoices'), shardid.limit_ticket('invoices', 1000)",
    ] {
        run(&mut client, "SELECT create_ticket('invoices')");
        run(&mut client, before);
        run(&mut client, "DROP EXTENSION shardid; CREATE EXTENSION shardid");
        expect_error(&mut client, "SELECT create_ticket('invoices')", "55000");
        run(&mut client, "DROP SCHEMA shardid_tickets CASCADE");
    }
}

/// Its right was looked at before the wait, and the ticket was another by then.
#[test]
fn whoever_waited_for_a_ticket_that_became_anothers_is_given_no_number() {
    let database = Database::fresh();
    let app = database.role("app");
    let grant = format!(
        "GRANT USAGE ON SCHEMA shardid_tickets TO {app}; GRANT USAGE ON SEQUENCE shardid_tickets.invoices TO {app}"
    );
    database.psql("SELECT create_ticket('invoices')");
    database.psql(&grant);
    let mut owner = database.connect();
    // The table as a whole, so that whoever waits reads the row that is there afterwards.
    run(&mut owner, "BEGIN; LOCK TABLE shardid.ticket IN EXCLUSIVE MODE");
    run(&mut owner, "SELECT drop_ticket('invoices'), create_ticket('invoices')");
    let refusal = thread::scope(|scope| {
        let waiting = scope.spawn(|| expect_error(&mut database.connect_as(&app), TAKE, "42501"));
        wait_until(Duration::from_secs(30), "the other to wait", || {
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
            waiting.is_finished() || database.psql(waits) == "1"
        });
        assert!(!waiting.is_finished(), "the other did not wait");
        run(&mut owner, "COMMIT");
        waiting.join().unwrap()
    });
    assert!(refusal.message.contains("invoices"), "{refusal:?}");
    assert_eq!(ids(&mut owner, TAKE), [1]);
}

/// What another session has made since a snapshot was a key that is there already, in words of the
/// server.
#[test]
fn a_ticket_and_a_tag_that_were_made_meanwhile_are_to_be_tried_again() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_ticket('a'), create_segment('a', 10)");
    for make in ["SELECT create_ticket('invoices')", "SELECT create_segment('orders', 10)"] {
        run(&mut client, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM shardid.ticket");
        database.psql(make);
        expect_error(&mut client, make, "40001");
        run(&mut client, "ROLLBACK");
        expect_error(&mut client, make, "42710");
    }
}

/// pg_dump reads rows as of its snapshot, and sequences as they stand when it comes to them: a
/// ticket whose first number without gaps lies between the two stands at the end, and counts nothing.
#[test]
fn a_dump_that_overlooks_the_first_number_is_told_how_far_a_ticket_went() {
    let database = Database::fresh();
    let mut client = database.connect();
    let make = "SELECT create_ticket('invoices'), create_ticket('odd', 1, 2), create_ticket('few'), create_ticket('small'); \
        ALTER SEQUENCE shardid_tickets.small AS integer; ALTER SEQUENCE shardid_tickets.few MAXVALUE 1000";
    run(&mut client, make);
    let mut older = database.connect();
    run(&mut older, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    let counted = "SELECT count(last_gapless) FROM shardid.ticket";
    assert_eq!(ids(&mut older, counted), [0]);
    run(&mut client, "SELECT next_ticket_gapless(name) FROM shardid.ticket");
    let end = "SELECT last_value FROM shardid_tickets.invoices";
    assert_eq!((ids(&mut older, counted), ids(&mut older, end)), (vec![0], vec![i64::MAX]));
    // Nobody takes that for a number: `tickets verify` would remember it.
    assert_eq!(ids(&mut older, "SELECT count(last_ticket) FROM shardid.tickets"), [0]);
    // What is restored: the rows as they were, the sequences as they stand.
    let restored = Database::fresh();
    let mut client = restored.connect();
    run(&mut client, make);
    for (name, end) in
        [("invoices", i64::MAX), ("odd", i64::MAX), ("small", 2_147_483_647), ("few", 1000)]
    {
        run(&mut client, &format!("SELECT setval('shardid_tickets.{name}', {end})"));
        for take in ["next_ticket", "next_ticket_gapless"] {
            let refusal = expect_error(&mut client, &format!("SELECT {take}('{name}')"), "55000");
            let hint = format!("SELECT shardid.raise_ticket('{name}', 1000);");
            assert!(refusal.hint.contains(&hint), "{take}: {refusal:?}");
        }
    }
    run(&mut client, "SELECT shardid.raise_ticket('invoices', 7), shardid.raise_ticket('odd', 8)");
    assert_eq!(ids(&mut client, TAKE), [8]);
    assert_eq!(ids(&mut client, "SELECT next_ticket_gapless('odd')"), [9]);
    expect_error(&mut client, "SELECT next_ticket('invoices')", "55000");
    run(&mut client, "SELECT shardid.raise_ticket('invoices', 3)");
    assert_eq!(ids(&mut client, TAKE), [9], "it was lowered");
    for name in ["small", "few"] {
        run(&mut client, &format!("SELECT shardid.raise_ticket('{name}', 900)"));
        assert_eq!(ids(&mut client, &format!("SELECT next_ticket_gapless('{name}')")), [901]);
    }
    // A plain one that is used up is not at its end.
    run(
        &mut client,
        "SELECT create_ticket('used'); ALTER SEQUENCE shardid_tickets.used MAXVALUE 10",
    );
    assert_eq!(ids(&mut client, "SELECT * FROM next_tickets('used', 9)").len(), 9);
    expect_error(&mut client, "SELECT next_ticket('used')", "22003");
    run(&mut client, "SELECT shardid.raise_ticket('used', 3)");
    expect_error(&mut client, "SELECT next_ticket('used')", "22003");
    expect_error(&mut client, "SELECT next_ticket_gapless('used')", "55000");
}

#[test]
fn a_ticket_that_was_raised_before_its_first_number_can_be_gapless_whatever_its_class_is() {
    let database = Database::fresh();
    let mut client = database.connect();
    for (server, servers) in [(1, 1), (1, 2), (2, 2), (2, 5)] {
        let name = format!("'{server} of {servers}'");
        run(&mut client, &format!("SELECT create_ticket({name}, {server}, {servers})"));
        run(&mut client, &format!("SELECT shardid.raise_ticket({name}, 100)"));
        let last = format!("SELECT count(last_ticket) FROM shardid.tickets WHERE name = {name}");
        assert_eq!(ids(&mut client, &last), [0]);
        let first = (101..).find(|n| n % servers == server % servers).unwrap();
        assert_eq!(ids(&mut client, &format!("SELECT next_ticket_gapless({name})")), [first]);
    }
}
