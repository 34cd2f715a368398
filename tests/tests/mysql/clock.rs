//! The clock steps: ids never repeat, and never run away from it.

use std::time::{Duration, Instant};

use shardid_tests::my::{Engine, Server, expect_refused, query};
use shardid_tests::{Clock, assert_rising, on_both_engines};

use crate::harness::{ids, new_shard};

on_both_engines!(
    a_clock_that_steps_back_repeats_nothing,
    ids_more_than_ten_seconds_ahead_are_refused_after_a_second,
    a_session_that_waits_goes_on_when_the_clock_does,
    an_hour_that_comes_twice_comes_once_in_ids,
    a_timestamp_of_another_season_moves_no_id,
);

fn steerable(engine: Engine) -> Server {
    Server::builder(engine).clock(Clock::Steerable).start()
}

fn a_clock_that_steps_back_repeats_nothing(engine: Engine) {
    let server = steerable(engine);
    let shard = new_shard(&server, "instagram");
    let client = &mut server.connect();
    // MySQL takes some 70 ms for a statement with this kind of clock.
    let count = if engine == Engine::MySql { 15 } else { 100 };
    let mut all = ids(client, shard, count);
    for offset in [-3.0, -9.0, 5.0, -4.0] {
        server.set_clock(offset);
        all.extend(ids(client, shard, count));
        all.extend(ids(&mut server.connect(), shard, count));
    }
    assert_rising(&all);
}

fn ids_more_than_ten_seconds_ahead_are_refused_after_a_second(engine: Engine) {
    let server = steerable(engine);
    let shard = new_shard(&server, "instagram");
    let client = &mut server.connect();
    let before = ids(client, shard, 10);
    server.set_clock(-9.0);
    let near = ids(client, shard, 10);
    server.set_clock(-60.0);
    let began = Instant::now();
    let words = expect_refused(client, &format!("SELECT shardid.next_id({shard})"), "55000");
    assert!(began.elapsed() > Duration::from_millis(900), "it waited {:?}", began.elapsed());
    assert!(words.contains("s ahead of the clock"), "{words}");
    server.set_clock(0.0);
    let after = ids(client, shard, 10);
    assert_rising(&[before, near, after].concat());
}

fn a_session_that_waits_goes_on_when_the_clock_does(engine: Engine) {
    let server = steerable(engine);
    let shard = new_shard(&server, "instagram");
    let client = &mut server.connect();
    let before = ids(client, shard, 1);
    server.set_clock(-10.4);
    let after = ids(client, shard, 1);
    assert_rising(&[before, after].concat());
}

fn an_hour_that_comes_twice_comes_once_in_ids(engine: Engine) {
    // Central Europe leaves summer time at 01:00 UTC: 02:30 comes twice. The zone
    // is the system's, since the tables of named ones are seldom loaded.
    let server =
        Server::builder(engine).clock(Clock::Steerable).zone("CET-1CEST,M3.5.0,M10.5.0/3").start();
    let shard = new_shard(&server, "instagram");
    let client = &mut server.connect();
    let now: i64 = query(client, "SELECT unix_timestamp()")[0];
    let change = 1_792_890_000; // 2026-10-25 01:00:00 UTC
    let mut times = Vec::new();
    // Half an hour before, and half an hour after the change: in order, so that
    // what is checked is the hour and not the rule against going back.
    for at in [change - 1800, change + 1800] {
        server.set_clock((at - now) as f64);
        let id = ids(client, shard, 1)[0];
        times.push(
            query::<i64>(
                client,
                &format!("SELECT timestampdiff(SECOND, '1970-01-01', shardid.id_time({id}))"),
            )[0] - at,
        );
        let local: Vec<String> = query(client, "SELECT date_format(sysdate(), '%H:%i')");
        assert_eq!(local, ["02:30"], "the zone is the one meant");
    }
    assert!(times.iter().all(|off| (0..5).contains(off)), "ids are off by {times:?} s");

    // What was taken in the first time is not taken for the second, though the session's
    // clock says that no time has gone by.
    let change = change + 365 * 86_400 + 6 * 86_400; // 2027-10-31 01:00:00 UTC
    let offset = (change - 1800 - now) as f64;
    server.set_clock(offset);
    let mut before = ids(client, shard, 30);
    server.set_clock(offset + 3600.0);
    let after = ids(client, shard, 1)[0];
    let at = format!("SELECT timestampdiff(SECOND, '1970-01-01', shardid.id_time({after}))");
    assert!(query::<i64>(client, &at)[0] >= change + 1800, "an id of an hour ago");
    before.push(after);
    assert_rising(&before);
}

/// In summer, with `timestamp` set to a day of winter, ids were an hour ahead of the clock.
fn a_timestamp_of_another_season_moves_no_id(engine: Engine) {
    let server =
        Server::builder(engine).clock(Clock::Steerable).zone("CET-1CEST,M3.5.0,M10.5.0/3").start();
    let shard = new_shard(&server, "instagram");
    let client = &mut server.connect();
    let now: i64 = query(client, "SELECT unix_timestamp()")[0];
    let (winter, summer) = (1_800_000_000, 1_815_000_000); // January and July of 2027
    for (at, other) in [(summer, winter), (summer + 180 * 86_400, summer)] {
        server.set_clock((at + 1800 - now) as f64);
        let last = ids(client, shard, 1)[0];
        // Half an hour ahead of the clock.
        server.set_clock((at - now) as f64);
        for setting in [&*other.to_string(), "DEFAULT"] {
            query::<u64>(client, &format!("SET timestamp = {setting}"));
            let words =
                expect_refused(client, &format!("SELECT shardid.next_id({shard})"), "55000");
            assert!(words.contains("CALL shardid.lower_counters()"), "{words}");
        }
        query::<u64>(client, &format!("SET timestamp = {other}"));
        let words = expect_refused(client, "CALL shardid.adopt()", "55000");
        assert!(words.contains("SET timestamp = DEFAULT"), "{words}");
        // Less than ten seconds ahead, such a session is given ids by the clock of now.
        server.set_clock((at + 1795 - now) as f64);
        assert!(ids(client, shard, 1)[0] > last);
        query::<u64>(client, "SET timestamp = DEFAULT");
    }
}
