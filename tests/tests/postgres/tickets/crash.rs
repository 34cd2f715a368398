//! No number comes twice over a crash, and no change of a ticket is forgotten.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use shardid_tests::postgres::Client;
use shardid_tests::rand::Rng;
use shardid_tests::{Database, Server, assert_rising, assert_unique, rng, wait_until};

use crate::ask::{ids, one, run, take_until_crash};

/// A server whose WAL leaves its buffers only when somebody waits for it.
fn server() -> Server {
    Server::builder()
        .conf("wal_writer_delay = '10s'")
        .conf("checkpoint_timeout = '1h'")
        .conf("autovacuum = off")
        .start()
}

fn with_ticket(server: &Server) -> Database<'_> {
    let database = Database::on(server);
    database.psql("SELECT create_ticket('photos', 1, 2); CHECKPOINT");
    database
}

const TAKE: &str = "SELECT next_ticket('photos')";
const PLAIN: &str = "SELECT nextval('shardid_tickets.photos')";

/// Crashes the server and returns the next number.
fn next_after_crash(database: &Database<'_>) -> i64 {
    database.server().kill9();
    database.server().start();
    ids(&mut database.connect(), TAKE)[0]
}

/// Asserts that the next number after a crash is above all that were taken.
#[track_caller]
fn goes_on_above(database: &Database<'_>, taken: &[i64]) -> i64 {
    let (next, last) = (next_after_crash(database), *taken.last().unwrap());
    assert!(next > last, "{next} after {last}");
    assert_eq!(next % 2, 1, "{next}");
    next
}

#[test]
fn a_number_is_safe_before_it_is_handed_out_also_in_a_transaction_that_never_ends() {
    let server = server();
    let database = with_ticket(&server);
    let mut client = database.connect();
    let taken = ids(&mut client, TAKE);
    goes_on_above(&database, &taken);
    let mut client = database.connect();
    run(&mut client, "BEGIN");
    let taken = ids(&mut client, "SELECT next_tickets('photos', 1000)");
    goes_on_above(&database, &taken);
    // More than one record's worth, one by one.
    let mut client = database.connect();
    run(&mut client, "BEGIN");
    let taken: Vec<i64> = (0..300).flat_map(|_| ids(&mut client, TAKE)).collect();
    goes_on_above(&database, &taken);
}

#[test]
fn a_number_that_another_sessions_record_covers_is_safe_although_that_one_has_not_committed() {
    let server = server();
    let database = with_ticket(&server);
    let (mut client, mut other) = (database.connect(), database.connect());
    // What a session writes at its first look at things would be flushed for it.
    for client in [&mut client, &mut other] {
        ids(client, "SELECT next_ticket('photos') + nextval('shardid_tickets.photos') * 0");
    }
    // One of these takes a record, which waits for a commit that never comes.
    run(&mut other, "BEGIN; SELECT nextval('shardid_tickets.photos') FROM generate_series(1, 40)");
    let taken = ids(&mut client, TAKE);
    goes_on_above(&database, &taken);
}

#[test]
fn numbers_after_a_checkpoint_are_logged_again() {
    let server = server();
    let database = with_ticket(&server);
    let mut client = database.connect();
    ids(&mut client, TAKE);
    server.checkpoint();
    // Of those that the record before it covered.
    let taken = ids(&mut client, "SELECT next_tickets('photos', 5)");
    goes_on_above(&database, &taken);
    assert_eq!(server.psql("postgres", "SELECT sum(checksum_failures) FROM pg_stat_database"), "0");
}

#[test]
fn a_crash_skips_thirty_two_numbers_and_more_only_of_a_ticket_in_heavy_use() {
    let server = server();
    let database = with_ticket(&server);
    // Now and then: as with nextval().
    let mut client = database.connect();
    ids(&mut client, TAKE);
    thread::sleep(Duration::from_millis(1_100));
    let taken = ids(&mut client, "SELECT next_tickets('photos', 40)");
    assert!(goes_on_above(&database, &taken) <= taken.last().unwrap() + 2 * 33);
    // Many at a time: the more, the further ahead it is made safe.
    let mut client = database.connect();
    let before = ids(&mut client, TAKE)[0];
    ids(&mut client, "SELECT count(next_ticket('photos')) FROM generate_series(1, 100000)");
    assert!(next_after_crash(&database) <= before + 2 * (100_000 + 65_536 + 33));
}

#[test]
fn strangers_and_crashes_in_any_order_repeat_nothing() {
    let server = server();
    let database = with_ticket(&server);
    let mut random = rng("ticket strangers");
    let mut taken = vec![0];
    for _ in 0..6 {
        let mut client = database.connect();
        for _ in 0..random.random_range(1..30) {
            let sql = match random.random_range(0..6) {
                0 => PLAIN.to_owned(),
                1 => format!("SELECT next_tickets('photos', {})", random.random_range(1..200)),
                2 => "SELECT next_ticket('photos') FROM generate_series(1, 50)".to_owned(),
                // As a restored dump does it.
                3 => "SELECT setval('shardid_tickets.photos', last_value, true) * 0 + next_ticket('photos') \
                      FROM shardid_tickets.photos WHERE is_called"
                    .to_owned(),
                4 => "SELECT shardid.raise_ticket('photos', last_value + 10); SELECT 1".replace(
                    "last_value",
                    &taken.last().unwrap().to_string(),
                ),
                _ => TAKE.to_owned(),
            };
            if sql.contains("raise") {
                run(&mut client, &sql);
                taken.extend(ids(&mut client, TAKE));
            } else {
                taken.extend(ids(&mut client, &sql));
            }
        }
        if random.random_bool(0.3) {
            server.checkpoint();
        }
        taken.push(next_after_crash(&database));
    }
    assert_rising(&taken);
    assert!(taken[1..].iter().all(|number| number % 2 == 1));
}

#[test]
fn a_change_that_was_told_of_is_there_after_a_crash_without_synchronous_commit() {
    let server = server();
    let database = with_ticket(&server);
    let change = |sql: &str| {
        let mut client = database.connect();
        run(&mut client, "SET synchronous_commit = off");
        run(&mut client, sql);
        server.kill9();
        server.start();
    };
    let shown = || {
        database
            .psql("SELECT name, server, servers, coalesce(ceiling, 0), floor FROM shardid.tickets")
    };
    change("SELECT shardid.limit_ticket('photos', 100)");
    assert_eq!(shown(), "photos|1|2|100|0");
    change("SELECT shardid.restep_ticket('photos', 2, 3, 100)");
    assert_eq!(shown(), "photos|2|3|0|100");
    assert_eq!(ids(&mut database.connect(), PLAIN), [101]);
    change("SELECT shardid.raise_ticket('photos', 1000)");
    assert_eq!(ids(&mut database.connect(), TAKE), [1001]);
    // Of a gapless ticket only a row changes, which on its own nobody would wait for.
    database.psql("SELECT create_ticket('invoices'); SELECT next_ticket_gapless('invoices')");
    change("SELECT shardid.limit_ticket('invoices', 2)");
    let ceiling = "SELECT ceiling FROM shardid.tickets WHERE gapless";
    assert_eq!(ids(&mut database.connect(), ceiling), [2]);
}

#[test]
fn a_ticket_made_changed_and_used_in_one_transaction_survives_a_crash_where_that_writes_no_wal() {
    let server = Server::builder().conf("wal_level = minimal").conf("max_wal_senders = 0").start();
    let database = Database::on(&server);
    let mut client = database.connect();
    let mut taken = vec![0];
    for change in [
        "SELECT create_ticket('photos', 1, 2)",
        "SELECT shardid.limit_ticket('photos', 100000)",
        "SELECT shardid.restep_ticket('photos', 3, 3, 100000)",
        "SELECT shardid.raise_ticket('photos', 200000)",
    ] {
        run(&mut client, &format!("BEGIN; {change}"));
        // The others give it a new file, and a rollback would bring back the old one.
        if change.contains("create_ticket") {
            taken.extend(ids(
                &mut client,
                "SELECT next_ticket('photos') FROM generate_series(1, 300)",
            ));
        }
        taken.extend(ids(&mut client, PLAIN));
        run(&mut client, "COMMIT");
        taken.extend(ids(&mut client, "SELECT next_tickets('photos', 3)"));
        server.kill9();
        server.start();
        client = database.connect();
        taken.extend(ids(&mut client, TAKE));
    }
    assert_rising(&taken);
    assert!(*taken.last().unwrap() > 200_000);
}

#[test]
fn kill_9_under_load_while_the_servers_change_repeats_nothing() {
    let server = Server::start_new();
    let database = with_ticket(&server);
    let mut random = rng("ticket crashes");
    let mut all: Vec<(String, Vec<i64>)> = Vec::new();
    for round in 0..5 {
        let crashed = AtomicBool::new(false);
        thread::scope(|scope| {
            let running: Vec<_> = (0..4)
                .map(|_| {
                    let (database, crashed) = (&database, &crashed);
                    // Not by nextval(): a number that it gives out of another session's record is
                    // only as safe as PostgreSQL makes it.
                    let mut ways = [
                        TAKE,
                        "SELECT next_ticket('photos') FROM generate_series(1, 300)",
                        "SELECT next_tickets('photos', 50)",
                    ]
                    .into_iter()
                    .cycle();
                    let statement = move || ways.next().expect("it goes round").to_owned();
                    scope.spawn(move || take_until_crash(database, crashed, statement))
                })
                .collect();
            let changing = scope.spawn(|| change_until_crash(&database, &crashed));
            thread::sleep(Duration::from_millis(random.random_range(100..900)));
            crashed.store(true, Ordering::Relaxed);
            server.kill9();
            changing.join().unwrap();
            for (session, taken) in running.into_iter().enumerate() {
                let taken = taken.join().unwrap();
                assert_rising(&taken);
                all.push((format!("session {session} of round {round}"), taken));
            }
        });
        server.start();
    }
    assert!(assert_unique(&all) > 1_000);
}

/// Has the ticket go on by other steps, above a floor with little room.
fn change_until_crash(database: &Database<'_>, crashed: &AtomicBool) {
    // On a busy machine the crash may come before the session does.
    let mut client = match database.server().try_connect(database.name()) {
        Ok(client) => client,
        Err(error) => {
            assert!(crashed.load(Ordering::Relaxed), "before the crash: {error:?}");
            return;
        }
    };
    let mut random = rng("ticket steps");
    loop {
        let (server, room) = (random.random_range(1..=3), random.random_range(0..20_000));
        let sql = format!(
            "SELECT shardid.restep_ticket('photos', {server}, 3, coalesce(last_ticket, floor) + {room}) FROM shardid.tickets"
        );
        if let Err(error) = client.batch_execute(&sql) {
            let refused = error.code().is_some_and(|code| code.code() == "55000");
            assert!(refused || crashed.load(Ordering::Relaxed), "before the crash: {error:?}");
            if !refused {
                return;
            }
        }
    }
}

#[test]
fn a_number_waits_for_the_standby_that_a_commit_would_wait_for() {
    let primary = Server::builder().name("primary").start();
    let database = Database::on(&primary);
    database.psql("SELECT create_ticket('photos')");
    let standby = primary.standby();
    primary.set_conf("synchronous_standby_names = '*'");
    let mut client: Client = database.connect();
    assert_eq!(ids(&mut client, TAKE), [1]);
    standby.stop();
    thread::scope(|scope| {
        // More than the last record covers, so that it takes a new one.
        let waiting = scope.spawn(move || ids(&mut client, "SELECT next_tickets('photos', 1000)"));
        wait_until(Duration::from_secs(30), "the wait", || {
            let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
            waiting.is_finished() || primary.psql("postgres", waits) == "1"
        });
        let waited = !waiting.is_finished();
        standby.start();
        assert_eq!(waiting.join().unwrap().len(), 1000);
        // First, since what ends a test that failed would wait for the standby, too.
        primary.set_conf("synchronous_standby_names = ''");
        assert!(waited, "it did not wait");
    });
    // Which therefore knows of it when it takes over.
    primary.kill9();
    standby.set_conf("synchronous_standby_names = ''");
    standby.promote();
    assert!(ids(&mut standby.connect(database.name()), TAKE)[0] > 1001);
}

/// Its last records were on the way when the primary was lost; nothing told of it.
#[test]
fn a_standby_that_takes_over_without_the_last_numbers_can_be_known_and_mended() {
    let primary = Server::builder().name("primary").start();
    let database = Database::on(&primary);
    database.psql("SELECT create_ticket('photos'); SELECT create_segment('orders', 10)");
    let standby = primary.standby();
    primary.wait_for(&standby);
    let forgotten = "SELECT (SELECT count(*) FROM shardid.ticket WHERE history <> shardid.history()) \
        + (SELECT count(*) FROM shardid.segment WHERE history <> shardid.history())";
    let mut client = database.connect();
    assert_eq!(ids(&mut client, forgotten), [0]);
    assert_eq!(
        one::<Option<String>>(&mut standby.connect(database.name()), "SELECT shardid.history()"),
        None
    );
    standby.stop();
    let taken = ids(&mut client, "SELECT next_ticket('photos') FROM generate_series(1, 1000)");
    run(&mut client, "SELECT next_segment('orders', 1000)");
    primary.kill9();
    standby.start();
    standby.promote();
    let mut client = standby.connect(database.name());
    assert!(ids(&mut client, TAKE)[0] <= *taken.last().unwrap(), "the test would prove nothing");
    assert_eq!(ids(&mut client, forgotten), [2]);
    run(
        &mut client,
        "SELECT shardid.raise_ticket('photos', 5000), shardid.raise_segment('orders', 7000)",
    );
    assert_eq!(ids(&mut client, forgotten), [0]);
    assert_eq!(ids(&mut client, TAKE), [5001]);
    assert_eq!(ids(&mut client, "SELECT first FROM next_segment('orders')"), [7001]);
    // Never lower.
    run(
        &mut client,
        "SELECT shardid.raise_ticket('photos', 5), shardid.raise_segment('orders', 7)",
    );
    assert_eq!(ids(&mut client, TAKE), [5002]);
    assert_eq!(ids(&mut client, "SELECT first FROM next_segment('orders')"), [7011]);
    for (sqlstate, sql) in [
        ("22023", "SELECT shardid.raise_segment('orders', -1)"),
        ("22023", "SELECT shardid.raise_segment('orders', NULL)"),
        ("42704", "SELECT shardid.raise_segment('nothing', 5)"),
    ] {
        shardid_tests::expect_error(&mut client, sql, sqlstate);
    }
}

#[test]
fn a_standby_refuses_and_goes_on_above_once_promoted() {
    let primary = Server::builder().name("primary").start();
    let database = Database::on(&primary);
    database.psql(
        "SELECT create_ticket('photos', 2, 2); SELECT create_ticket('invoices'); SELECT create_segment('orders', 1000)",
    );
    let standby = primary.standby();
    let mut client = database.connect();
    let taken = ids(&mut client, "SELECT next_ticket('photos') FROM generate_series(1, 1000)");
    ids(&mut client, "SELECT next_ticket_gapless('invoices')");
    run(&mut client, "SELECT next_segment('orders')");
    primary.wait_for(&standby);
    let mut reader = standby.connect(database.name());
    for sql in [
        "SELECT next_ticket('photos')",
        "SELECT next_tickets('photos', 2)",
        "SELECT next_ticket_gapless('invoices')",
        "SELECT next_segment('orders')",
        "SELECT shardid.limit_ticket('photos', 100000)",
    ] {
        shardid_tests::expect_error(&mut reader, sql, "25006");
    }
    assert_eq!(
        one::<i64>(&mut reader, "SELECT count(*) FROM shardid.tickets, shardid.segments"),
        2
    );
    primary.kill9();
    standby.promote();
    let mut client = standby.connect(database.name());
    let next = ids(&mut client, TAKE)[0];
    assert!(next > *taken.last().unwrap() && next % 2 == 0, "{next}");
    assert_eq!(ids(&mut client, "SELECT next_ticket_gapless('invoices')"), [2]);
    assert!(ids(&mut client, "SELECT first FROM next_segment('orders')")[0] > 1000);
}
