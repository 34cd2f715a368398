//! No id comes twice over a crash: what was handed out is in WAL before it leaves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use shardid_tests::rand::Rng;
use shardid_tests::{Clock, Database, Server, assert_rising, assert_unique, rng};

use crate::ask::{ids, lazy_server, take_until_crash};

/// Crashes the server, sets its clock an hour back, and returns the next id.
///
/// With the clock behind, nothing but what was in WAL keeps the id from coming again.
fn next_after_crash(database: &Database<'_>) -> i64 {
    database.server().kill9();
    database.server().set_clock(-3600.0);
    database.server().start();
    ids(&mut database.connect(), "SELECT next_id(5)")[0]
}

#[test]
fn the_first_id_of_a_lease_is_in_wal_before_it_is_handed_out() {
    let server = lazy_server().start();
    let database = Database::on(&server);
    database.psql("SELECT create_shard(5); CHECKPOINT");
    let mut client = database.connect();
    let taken = ids(&mut client, "SELECT next_id(5)");
    let next = next_after_crash(&database);
    assert!(next > taken[0], "{next} after {}", taken[0]);
}

#[test]
fn an_id_beyond_the_lease_is_in_wal_before_it_is_handed_out() {
    let server = lazy_server().start();
    let database = Database::on(&server);
    database.psql("SELECT create_shard(5); CHECKPOINT");
    let mut client = database.connect();
    // Seven leases' worth in one statement, so far ahead of the clock.
    let taken = ids(&mut client, "SELECT next_ids(5, 7000000)");
    let next = next_after_crash(&database);
    assert!(next > *taken.last().unwrap(), "{next} after {}", taken.last().unwrap());
}

#[test]
fn ids_after_a_checkpoint_are_logged_again_with_checksums_on() {
    let server = lazy_server().start();
    let database = Database::on(&server);
    assert_eq!(database.psql("SHOW data_checksums"), "on");
    database.psql("SELECT create_shard(5)");
    let mut client = database.connect();
    ids(&mut client, "SELECT next_id(5)");
    server.checkpoint();
    // Inside the lease: without the look at the redo pointer nothing would be logged.
    let taken = ids(&mut client, "SELECT next_ids(5, 100000)");
    let next = next_after_crash(&database);
    assert!(next > *taken.last().unwrap(), "{next} after {}", taken.last().unwrap());
    assert!(server.psql("postgres", "SELECT sum(checksum_failures) FROM pg_stat_database") == "0");
}

#[test]
fn an_id_after_a_checkpoint_is_flushed_although_the_lease_was() {
    let server = lazy_server().start();
    let database = Database::on(&server);
    database.psql("SELECT create_shard(5)");
    let (mut one, mut other) = (database.connect(), database.connect());
    // Both know the lease to be flushed.
    ids(&mut one, "SELECT next_id(5)");
    ids(&mut other, "SELECT next_id(5)");
    server.checkpoint();
    let taken = ids(&mut one, "SELECT next_ids(5, 20000)");
    let more = ids(&mut other, "SELECT next_ids(5, 20000)");
    let next = next_after_crash(&database);
    let last = taken.last().max(more.last()).unwrap();
    assert!(next > *last, "{next} after {last}");
}

#[test]
fn an_id_after_a_strangers_nextval_is_flushed_although_the_lease_was() {
    let server = lazy_server().start();
    let database = Database::on(&server);
    database.psql("SELECT create_shard(5)");
    let mut client = database.connect();
    client.batch_execute("SET shardid.lease = '10min'").unwrap();
    ids(&mut client, "SELECT next_id(5)");
    // Logs a position only 33 ticks ahead, below the lease, and flushes it by its commit.
    ids(&mut client, "SELECT nextval('shard_0005.shard_id_seq')");
    let taken = ids(&mut client, "SELECT next_ids(5, 100000)");
    let next = next_after_crash(&database);
    assert!(next > *taken.last().unwrap(), "{next} after {}", taken.last().unwrap());
}

#[test]
fn nextval_setval_and_next_id_may_alternate_with_crashes_between() {
    let server = lazy_server().start();
    let database = Database::on(&server);
    database.psql("SELECT create_shard(5)");
    let mut random = rng("alternate");
    let mut rounds: Vec<(String, Vec<i64>)> = Vec::new();
    let mut above = -1;
    for round in 0..6 {
        let mut client = database.connect();
        let mut taken = Vec::new();
        for _ in 0..random.random_range(1..30) {
            let many = random.random_range(1..3_000);
            let sql = match random.random_range(0..4) {
                0 => "SELECT nextval('shard_0005.shard_id_seq')".to_owned(),
                1 => format!("SELECT next_ids(5, {many})"),
                2 => "SELECT next_id(5)".to_owned(),
                // As a restored dump does it: to the last id, called.
                _ => "SELECT setval('shard_0005.shard_id_seq', last_value, true) * 0 + next_id(5) \
                      FROM shard_0005.shard_id_seq"
                    .to_owned(),
            };
            taken.extend(ids(&mut client, &sql));
        }
        if random.random_bool(0.3) {
            server.checkpoint();
        }
        // Not in order: `nextval` leaves behind it what the session still has of a block.
        let (&lowest, &highest) = taken.iter().min().zip(taken.iter().max()).unwrap();
        assert!(
            lowest > above,
            "round {round} gave {lowest}, and the last crash came after {above}"
        );
        above = next_after_crash(&database);
        assert!(above > highest, "{above} came after a crash, and {highest} before it");
        taken.push(above);
        rounds.push((format!("round {round}"), taken));
    }
    assert_unique(&rounds);
}

#[test]
fn kill_9_under_load_with_the_clock_two_seconds_behind_repeats_nothing() {
    let server = Server::builder().clock(Clock::Steerable).start();
    let database = Database::on(&server);
    database.psql("SELECT create_shard(5)");
    let mut random = rng("two seconds behind");
    let mut all: Vec<(String, Vec<i64>)> = Vec::new();
    for round in 0..5 {
        let crashed = AtomicBool::new(false);
        let mut sessions = Vec::new();
        thread::scope(|scope| {
            let running: Vec<_> = (0..4)
                .map(|_| {
                    let (database, crashed) = (&database, &crashed);
                    let mut ways =
                        ["SELECT next_id(5)", "SELECT next_id(5) FROM generate_series(1, 300)"]
                            .into_iter()
                            .cycle();
                    let statement = move || ways.next().expect("it goes round").to_owned();
                    scope.spawn(move || take_until_crash(database, crashed, statement))
                })
                .collect();
            thread::sleep(Duration::from_millis(random.random_range(100..900)));
            crashed.store(true, Ordering::Relaxed);
            server.kill9();
            sessions.extend(running.into_iter().map(|r| r.join().unwrap()));
        });
        for (session, taken) in sessions.into_iter().enumerate() {
            assert_rising(&taken);
            all.push((format!("session {session} of round {round}"), taken));
        }
        // The first start is two seconds behind, and each later one half a second more.
        server.set_clock(-2.0 - 0.5 * f64::from(round));
        server.start();
    }
    assert!(assert_unique(&all) > 1_000);
}
