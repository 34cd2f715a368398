//! Changing a ticket while it is in use: ceilings, other classes, floors.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use shardid_tests::my::{Engine, Server, expect_refused, query, shared, try_query};
use shardid_tests::mysql::Conn;
use shardid_tests::{assert_unique, on_both_engines, wait_until};

use crate::harness::EndOf;

on_both_engines!(
    a_ceiling_stops_below_itself,
    another_class_goes_on_above_the_floor,
    changes_may_be_made_again,
    raising_never_goes_back,
    a_class_that_changes_under_load_repeats_nothing,
    flickrs_table_that_changes_under_load_repeats_nothing,
    many_numbers_come_with_the_class_they_are_of,
    a_ceiling_that_is_lifted_just_then_is_not_taken_for_the_end,
);

fn next(client: &mut Conn, name: &str) -> u64 {
    query(client, &format!("SELECT shardid.next_ticket('{name}')"))[0]
}

fn a_ceiling_stops_below_itself(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(
        client,
        "CALL shardid.create_ticket('c1', 1, 2); CALL shardid.limit_ticket('c1', 5)",
    );
    assert_eq!((next(client, "c1"), next(client, "c1")), (1, 3));
    let words = expect_refused(client, "SELECT shardid.next_ticket('c1')", "55000");
    assert!(words.contains("shardid tickets status"), "{words}");
    expect_refused(client, "SELECT shardid.next_tickets('c1', 2)", "55000");
    let words = expect_refused(client, "CALL shardid.limit_ticket('c1', 3)", "55000");
    assert!(words.contains("last_ticket of c1 is 3"), "{words}");
    query::<u64>(client, "CALL shardid.limit_ticket('c1', 6)");
    assert_eq!(next(client, "c1"), 5);
    query::<u64>(client, "CALL shardid.limit_ticket('c1', NULL)");
    assert_eq!(next(client, "c1"), 7);
}

fn another_class_goes_on_above_the_floor(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(client, "CALL shardid.create_ticket('c2', 1, 2)");
    assert_eq!(next(client, "c2"), 1);
    query::<u64>(client, "CALL shardid.limit_ticket('c2', 100)");
    expect_refused(client, "CALL shardid.restep_ticket('c2', 2, 3, 0)", "55000");
    query::<u64>(client, "CALL shardid.restep_ticket('c2', 2, 3, 100)");
    let view = "SELECT name, server, servers, last_ticket, ceiling, `floor` FROM shardid.tickets WHERE name = 'c2'";
    type Row = (String, u32, u32, Option<u64>, Option<u64>, u64);
    assert_eq!(query::<Row>(client, view), [("c2".into(), 2, 3, None, None, 100)]);
    assert_eq!((next(client, "c2"), next(client, "c2")), (101, 104));
    assert_eq!(query::<Row>(client, view), [("c2".into(), 2, 3, Some(104), None, 100)]);
    expect_refused(client, "CALL shardid.restep_ticket('c2', 4, 3, 200)", "22023");
    expect_refused(client, "CALL shardid.restep_ticket('c2', 1, 3, NULL)", "22003");
}

fn changes_may_be_made_again(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(
        client,
        "CALL shardid.create_ticket('c3', 1, 2); CALL shardid.limit_ticket('c3', 50)",
    );
    query::<u64>(
        client,
        "CALL shardid.limit_ticket('c3', 50); CALL shardid.restep_ticket('c3', 1, 3, 50)",
    );
    assert_eq!(next(client, "c3"), 52);
    // Once more, though numbers were handed out: and a ceiling set since then stays.
    query::<u64>(
        client,
        "CALL shardid.limit_ticket('c3', 55); CALL shardid.restep_ticket('c3', 1, 3, 50)",
    );
    expect_refused(client, "SELECT shardid.next_ticket('c3')", "55000");
    query::<u64>(
        client,
        "CALL shardid.limit_ticket('c3', NULL); CALL shardid.raise_ticket('c3', 60)",
    );
    query::<u64>(client, "CALL shardid.restep_ticket('c3', 1, 3, 50)");
    assert_eq!(next(client, "c3"), 61);
}

fn raising_never_goes_back(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(
        client,
        "CALL shardid.create_ticket('c4', 1, 10); CALL shardid.raise_ticket('c4', 100)",
    );
    assert_eq!(next(client, "c4"), 101);
    query::<u64>(client, "CALL shardid.raise_ticket('c4', 5)");
    assert_eq!(next(client, "c4"), 111);
    expect_refused(client, "CALL shardid.raise_ticket('c4', 9223372036854775808)", "22003");
}

fn a_class_that_changes_under_load_repeats_nothing(engine: Engine) {
    under_load(
        engine,
        "photos",
        "CALL shardid.create_ticket('photos', 1, 2)",
        "SELECT shardid.next_ticket('photos')",
    );
}

fn flickrs_table_that_changes_under_load_repeats_nothing(engine: Engine) {
    under_load(
        engine,
        "Tickets64",
        "CREATE DATABASE flickr; CALL shardid.create_flickr_tables('flickr', 1, 2)",
        "REPLACE INTO flickr.Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()",
    );
}

fn many_numbers_come_with_the_class_they_are_of(engine: Engine) {
    let server = Server::builder(engine).start();
    server.query("CALL shardid.create_ticket('many', 1, 2)");
    let (done, taken) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (got, classes) = scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|session| {
                let (server, done, taken) = (&server, &done, &taken);
                scope.spawn(move || {
                    let (mut client, mut got) = (server.connect(), Vec::new());
                    while !done.load(Ordering::Relaxed) {
                        let call = "CALL shardid.next_tickets('many', 5)";
                        match try_query::<(i64, i64, i64)>(&mut client, call) {
                            Ok(rows) => {
                                taken.fetch_add(rows.len(), Ordering::Relaxed);
                                got.extend(rows);
                            }
                            Err(refused) => assert_eq!(refused.sqlstate, "55000", "{refused:?}"),
                        }
                    }
                    (session, got)
                })
            })
            .collect();
        let end = EndOf(&done);
        let admin = &mut server.connect();
        let mut classes = vec![(1, 2, 0)];
        for (number, servers) in [(1, 3), (4, 5), (2, 2)] {
            more(&taken, 10);
            let floor = limit(admin, "many", 500);
            let change =
                format!("CALL shardid.restep_ticket('many', {number}, {servers}, {floor})");
            query::<u64>(admin, &change);
            classes.push((number, servers, floor));
        }
        more(&taken, 10);
        drop(end);
        let got: Vec<_> = threads.into_iter().map(|t| t.join().expect("no error")).collect();
        (got, classes)
    });
    let mut numbers = Vec::new();
    for (session, rows) in got {
        let mut own = Vec::new();
        for (first, last, delta) in rows {
            assert_eq!(last, first + 4 * delta);
            let (class, servers, _) =
                classes.iter().rev().find(|(_, _, floor)| first > *floor).expect("above 0");
            assert_eq!((first % servers, delta), (class % servers, *servers), "{classes:?}");
            own.extend((0..5).map(|n| first + n * delta));
        }
        numbers.push((session, own));
    }
    assert!(assert_unique(&numbers) >= 4 * 10 * 5);
    let client = &mut server.connect();
    expect_refused(client, "CALL shardid.next_tickets('absent', 5)", "42704");
    expect_refused(client, "CALL shardid.next_tickets('many', 0)", "22023");
}

/// In READ COMMITTED the row that did not fit is let go of, and another statement of the same call said why: a
/// ticket without a ceiling was used up (22003).
fn a_ceiling_that_is_lifted_just_then_is_not_taken_for_the_end(engine: Engine) {
    // Quick rather than safe: what is looked for is between two statements.
    let server = Server::builder(engine)
        .option("--innodb-flush-log-at-trx-commit=0")
        .option("--sync-binlog=0")
        .start();
    server.query("CALL shardid.create_ticket('c5', 1, 1)");
    let (done, refused) = (AtomicBool::new(false), AtomicUsize::new(0));
    scope(|scope| {
        for _ in 0..3 {
            let (server, done, refused) = (&server, &done, &refused);
            scope.spawn(move || {
                let end = EndOf(done);
                let client = &mut server.connect();
                query::<u64>(client, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
                while !done.load(Ordering::Relaxed) {
                    if let Err(why) =
                        try_query::<u64>(client, "SELECT shardid.next_tickets('c5', 1)")
                    {
                        assert_eq!(why.sqlstate, "55000", "{why:?}");
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
                drop(end);
            });
        }
        let end = EndOf(&done);
        let admin = &mut server.connect();
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until
            && refused.load(Ordering::Relaxed) < 8000
            && !done.load(Ordering::Relaxed)
        {
            for ceiling in ["1", "NULL"] {
                query::<u64>(admin, &format!("UPDATE shardid.ticket SET ceiling = {ceiling}"));
            }
        }
        drop(end);
    });
    assert!(refused.into_inner() > 300);
}

/// Waits until clients have taken so many numbers more. A time would not do: while a machine
/// is busy, or its disk, they take few, and of some class none.
fn more(taken: &AtomicUsize, count: usize) {
    let enough = taken.load(Ordering::Relaxed) + count;
    wait_until(Duration::from_secs(120), "clients to take numbers", || {
        taken.load(Ordering::Relaxed) >= enough
    });
}

/// Sets a ceiling so much above the last number, and returns the floor below it.
/// Where clients are quicker than we are, it is tried again, with more room.
fn limit(admin: &mut Conn, ticket: &str, room: i64) -> i64 {
    for turn in 1..1000 {
        let last = format!("SELECT last_ticket FROM shardid.ticket WHERE name = '{ticket}'");
        let floor = query::<i64>(admin, &last)[0] + turn * room;
        let limit = format!("CALL shardid.limit_ticket('{ticket}', {})", floor + 1);
        match try_query::<u64>(admin, &limit) {
            Ok(_) => return floor,
            Err(refused) => assert_eq!(refused.sqlstate, "55000", "{refused:?}"),
        }
    }
    panic!("{ticket} was never below a ceiling");
}

/// Eight clients, while the class goes 1 of 2, 1 of 3, 4 of 5, 2 of 2, each time
/// by ceiling, floor and new class. Every number has to be of a class that was
/// current, above its floor and below its ceiling, and none may come twice.
fn under_load(engine: Engine, ticket: &str, create: &str, take: &str) {
    let server = Server::builder(engine).start();
    server.query(create);
    let (done, taken) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut classes = vec![(1, 2, 0)];
    let got: Vec<(usize, Vec<i64>)> = scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|session| {
                let (server, done, taken) = (&server, &done, &taken);
                scope.spawn(move || {
                    let (mut client, mut got) = (server.connect(), Vec::new());
                    // Half of them keep no lock on a row that they do not change.
                    let isolation = ["READ COMMITTED", "REPEATABLE READ"][session % 2];
                    let isolate = format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}");
                    query::<u64>(&mut client, &isolate);
                    while !done.load(Ordering::Relaxed) {
                        match try_query::<i64>(&mut client, take) {
                            Ok(numbers) => {
                                taken.fetch_add(numbers.len(), Ordering::Relaxed);
                                got.extend(numbers);
                            }
                            Err(refused) => {
                                assert_eq!(refused.sqlstate, "55000", "{refused:?}");
                                assert!(refused.message.contains(" ends before "), "{refused:?}");
                                sleep(Duration::from_millis(1));
                            }
                        }
                    }
                    (session, got)
                })
            })
            .collect();
        let end = EndOf(&done);
        let admin = &mut server.connect();
        for (number, servers) in [(1, 3), (4, 5), (2, 2)] {
            more(&taken, 40);
            let floor = limit(admin, ticket, 200);
            sleep(Duration::from_millis(30));
            query::<u64>(
                admin,
                &format!("CALL shardid.restep_ticket('{ticket}', {number}, {servers}, {floor})"),
            );
            classes.push((number, servers, floor));
            more(&taken, 20);
            query::<u64>(
                admin,
                &format!("CALL shardid.raise_ticket('{ticket}', {})", floor + 1000),
            );
        }
        more(&taken, 40);
        drop(end);
        threads
            .into_iter()
            .map(|thread| thread.join().expect("only ceilings are refused"))
            .collect()
    });
    assert!(assert_unique(&got) >= 4 * 40);
    for number in got.iter().flat_map(|(_, numbers)| numbers) {
        let (class, servers, _) =
            classes.iter().rev().find(|(_, _, floor)| number > floor).expect("all are above 0");
        assert_eq!(
            number % servers,
            class % servers,
            "{number} is not {class} of {servers}: {classes:?}"
        );
    }
}
