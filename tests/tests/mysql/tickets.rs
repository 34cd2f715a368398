//! next_ticket and next_tickets: classes, ends, errors, many clients.

use shardid_tests::my::{Engine, Server, expect_refused, query, shared, try_query};
use shardid_tests::{assert_unique, on_both_engines, wait_until};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use crate::harness::{EndOf, at_once};

on_both_engines!(
    numbers_stay_in_their_class,
    many_numbers_are_one_block_of_the_class,
    refusals_have_their_sqlstate_and_say_what_helps,
    the_end_is_an_error_and_not_a_repeat,
    sixteen_clients_on_four_names_get_no_error_and_no_number_twice,
    two_servers_of_which_one_is_killed_never_share_a_number,
    a_rollback_gives_the_number_again,
    every_row_of_a_statement_has_its_own_number,
    a_ticket_that_is_made_again_hands_out_nothing_of_the_blocks_of_before,
    procedures_do_the_same_whatever_a_commit_does_in_a_session,
);

fn procedures_do_the_same_whatever_a_commit_does_in_a_session(engine: Engine) {
    for kind in ["CHAIN", "RELEASE"] {
        let client = &mut shared(engine).connect();
        query::<u64>(client, &format!("SET completion_type = '{kind}'"));
        let name = format!("ends_by_{}", kind.to_lowercase());
        for call in [
            format!("create_ticket('{name}', 1, 2)"),
            format!("raise_ticket('{name}', 100)"),
            format!("limit_ticket('{name}', 1000)"),
            format!("restep_ticket('{name}', 2, 2, 1000)"),
            "adopt()".to_owned(),
        ] {
            try_query::<shardid_tests::mysql::Row>(client, &format!("CALL shardid.{call}"))
                .unwrap_or_else(|refused| panic!("{kind}, {call}: {refused:?}"));
        }
        assert_eq!(query::<u64>(client, &format!("SELECT shardid.next_ticket('{name}')")), [1002]);
        query::<u64>(client, &format!("CALL shardid.drop_ticket('{name}')"));
    }
}

fn a_ticket_that_is_made_again_hands_out_nothing_of_the_blocks_of_before(engine: Engine) {
    let client = &mut shared(engine).connect();
    let other = &mut shared(engine).connect();
    let take = |client: &mut _| query::<u64>(client, "SELECT shardid.next_ticket('again')")[0];
    query::<u64>(client, "CALL shardid.create_ticket('again', 1, 2)");
    for _ in 0..20 {
        take(client);
        take(other);
    }
    query::<u64>(client, "CALL shardid.drop_ticket('again'); ");
    query::<u64>(client, "CALL shardid.create_ticket('again', 2, 2)");
    let mut given = Vec::new();
    for _ in 0..30 {
        given.extend([take(client), take(other)]);
    }
    assert!(given.iter().all(|number| number % 2 == 0), "{given:?} are of the even server");
    let all: HashSet<u64> = given.iter().copied().collect();
    assert_eq!(all.len(), given.len(), "{given:?}");
    // One that is in a transaction is waited for.
    query::<u64>(other, "BEGIN");
    take(other);
    let waiting = &mut shared(engine).connect();
    query::<u64>(waiting, "SET innodb_lock_wait_timeout = 1");
    expect_refused(waiting, "CALL shardid.drop_ticket('again')", "HY000");
    query::<u64>(other, "COMMIT");
    query::<u64>(waiting, "CALL shardid.drop_ticket('again')");
    expect_refused(client, "SELECT shardid.next_ticket('again')", "42704");
}

fn numbers_stay_in_their_class(engine: Engine) {
    let client = &mut shared(engine).connect();
    for (server, servers, expected) in
        [(1, 2, [1, 3, 5]), (2, 2, [2, 4, 6]), (3, 3, [3, 6, 9]), (1, 1, [1, 2, 3])]
    {
        let name = format!("class_{server}_{servers}");
        query::<u64>(client, &format!("CALL shardid.create_ticket('{name}', {server}, {servers})"));
        let got: Vec<u64> = (0..3)
            .map(|_| query(client, &format!("SELECT shardid.next_ticket('{name}')"))[0])
            .collect();
        assert_eq!(got, expected, "server {server} of {servers}");
    }
}

fn many_numbers_are_one_block_of_the_class(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(client, "CALL shardid.create_ticket_above('many', 2, 3, 100)");
    assert_eq!(query::<u64>(client, "SELECT shardid.next_tickets('many', 1000)"), [101]);
    assert_eq!(query::<u64>(client, "SELECT shardid.next_ticket('many')"), [101 + 1000 * 3]);
    expect_refused(client, "SELECT shardid.next_tickets('many', 0)", "22023");
    expect_refused(client, "SELECT shardid.next_tickets('many', 1000001)", "22023");
    expect_refused(client, "SELECT shardid.next_tickets('many', NULL)", "22023");
    query::<u64>(client, "SELECT shardid.next_tickets('many', 1000000)");
}

fn refusals_have_their_sqlstate_and_say_what_helps(engine: Engine) {
    let client = &mut shared(engine).connect();
    let words = expect_refused(client, "SELECT shardid.next_ticket('absent')", "42704");
    assert!(words.contains("CALL shardid.create_ticket('absent', 1, 1)"), "{words}");
    query::<u64>(client, "CALL shardid.create_ticket('there', 1, 2)");
    expect_refused(client, "CALL shardid.create_ticket('there', 1, 2)", "42710");
    expect_refused(client, "CALL shardid.create_ticket_above('there', 1, 2, 5)", "42710");
    query::<u64>(client, "CALL shardid.create_ticket_above('there', 1, 2, 0)");
    for (server, servers) in [("0", "1"), ("2", "1"), ("1", "1001"), ("NULL", "1"), ("1", "NULL")] {
        let sql = format!("CALL shardid.create_ticket('bad', {server}, {servers})");
        expect_refused(client, &sql, "22023");
    }
    query::<u64>(client, "CALL shardid.create_ticket('widest', 1000, 1000)");
    expect_refused(client, "CALL shardid.create_ticket('', 1, 1)", "22023");
    for procedure in [
        "drop_ticket('absent')",
        "limit_ticket('absent', 5)",
        "raise_ticket('absent', 5)",
        "restep_ticket('absent', 1, 1, 5)",
    ] {
        expect_refused(client, &format!("CALL shardid.{procedure}"), "42704");
    }
    // Fewer than one number would take the ticket back.
    for inside in ["NULL, 0", "0, 0", "-5, 0", "1000001, 0", "1, NULL"] {
        let sql = format!("SELECT shardid.take_tickets('there', {inside})");
        let words = expect_refused(client, &sql, "22023");
        assert!(words.contains("hint: "), "{words}");
    }
    query::<u64>(client, "SET TRANSACTION READ ONLY; START TRANSACTION");
    expect_refused(client, "SELECT shardid.next_ticket('there')", "25006");
    query::<u64>(client, "ROLLBACK");
    // 64 characters of name, twice in the words, are more than a message holds.
    let name = "n".repeat(64);
    expect_refused(client, &format!("SELECT shardid.next_ticket('{name}')"), "42704");
}

fn the_end_is_an_error_and_not_a_repeat(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(client, "CALL shardid.create_ticket_above('end', 1, 2, 9223372036854775804)");
    assert_eq!(
        query::<u64>(client, "SELECT shardid.next_ticket('end')"),
        [9_223_372_036_854_775_805]
    );
    expect_refused(client, "SELECT shardid.next_tickets('end', 2)", "22003");
    assert_eq!(
        query::<u64>(client, "SELECT shardid.next_ticket('end')"),
        [9_223_372_036_854_775_807]
    );
    for _ in 0..3 {
        expect_refused(client, "SELECT shardid.next_ticket('end')", "22003");
    }
}

fn sixteen_clients_on_four_names_get_no_error_and_no_number_twice(engine: Engine) {
    let server = shared(engine);
    let names = ["photos", "users", "likes", "orders"];
    for (class, name) in names.iter().enumerate() {
        server.query(&format!("CALL shardid.create_ticket('{name}', {}, 4)", class + 1));
    }
    let got = at_once(server, 16, |session, client| {
        (0..500)
            .map(|turn| {
                let class = (session + turn) % 4;
                (
                    class,
                    query::<i64>(
                        client,
                        &format!("SELECT shardid.next_ticket('{}')", names[class]),
                    )[0],
                )
            })
            .collect()
    });
    for class in 0..4 {
        let of_class: Vec<(usize, Vec<i64>)> = got
            .iter()
            .map(|(session, all)| {
                (
                    *session,
                    all.iter().filter(|(of, _)| *of == class).map(|(_, number)| *number).collect(),
                )
            })
            .collect();
        assert_eq!(assert_unique(&of_class), 16 * 500 / 4);
        assert!(
            of_class
                .iter()
                .flat_map(|(_, all)| all)
                .all(|number| number % 4 == (class as i64 + 1) % 4)
        );
    }
}

fn two_servers_of_which_one_is_killed_never_share_a_number(engine: Engine) {
    let servers: Vec<Server> = (1..=2)
        .map(|number| {
            let server = Server::builder(engine).option(&format!("--server-id={number}")).start();
            server.query(&format!("CALL shardid.create_ticket('photos', {number}, 2)"));
            server
        })
        .collect();
    let done = AtomicBool::new(false);
    let got: Vec<(usize, Vec<i64>)> = scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|session| {
                let (servers, done) = (&servers, &done);
                scope.spawn(move || {
                    let mut got = Vec::new();
                    // Each client prefers one, and takes the other while that is down.
                    let mut turn = session;
                    while !done.load(Ordering::Relaxed) {
                        let Ok(mut client) = servers[turn % 2].try_connect() else {
                            turn += 1;
                            continue;
                        };
                        while !done.load(Ordering::Relaxed) {
                            match try_query::<i64>(
                                &mut client,
                                "SELECT shardid.next_ticket('photos')",
                            ) {
                                Ok(numbers) => got.extend(numbers),
                                Err(refused) => {
                                    // The connection broke: nothing else may reach a client.
                                    assert!(
                                        refused.sqlstate.is_empty()
                                            || refused.sqlstate.starts_with("08"),
                                        "{refused:?}"
                                    );
                                    break;
                                }
                            }
                        }
                        turn += 1;
                    }
                    (session, got)
                })
            })
            .collect();
        let end = EndOf(&done);
        for _ in 0..3 {
            sleep(Duration::from_millis(400));
            servers[0].kill9();
            sleep(Duration::from_millis(200));
            servers[0].start();
        }
        sleep(Duration::from_millis(400));
        drop(end);
        threads.into_iter().map(|thread| thread.join().expect("no client has an error")).collect()
    });
    let all = assert_unique(&got);
    let odd = got.iter().flat_map(|(_, numbers)| numbers).filter(|number| *number % 2 == 1).count();
    assert!(odd > 10 && all - odd > 10, "both servers were used: {odd} of {all}");
    wait_until(Duration::from_secs(5), "the server that was killed", || {
        servers[0].try_connect().is_ok()
    });
}

fn a_rollback_gives_the_number_again(engine: Engine) {
    // What docs/mysql.md warns of: take tickets outside of transactions.
    let client = &mut shared(engine).connect();
    query::<u64>(client, "CALL shardid.create_ticket('undone', 1, 1)");
    query::<u64>(client, "START TRANSACTION");
    assert_eq!(query::<u64>(client, "SELECT shardid.next_ticket('undone')"), [1]);
    query::<u64>(client, "ROLLBACK");
    assert_eq!(query::<u64>(client, "SELECT shardid.next_ticket('undone')"), [1]);
}

fn every_row_of_a_statement_has_its_own_number(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(client, "CALL shardid.create_ticket('rows', 2, 2); CREATE DATABASE each_row");
    query::<u64>(client, "CREATE TABLE each_row.t (id BIGINT UNSIGNED PRIMARY KEY, n INT)");
    query::<u64>(
        client,
        "INSERT INTO each_row.t WITH RECURSIVE g AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM g WHERE n < 500)
         SELECT shardid.next_ticket('rows'), n FROM g",
    );
    let all = "SELECT count(DISTINCT id), min(id), sum(id % 2) FROM each_row.t";
    assert_eq!(query::<(u64, u64, u64)>(client, all), [(500, 2, 0)]);
}
