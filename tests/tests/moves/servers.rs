//! Servers that crash and ways that are cut in the middle of a move.

use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate, Proxy, Writer};
use shardid_tests::{sample, wait_until};

/// How many servers are killed, of eighteen, and ways are cut, of eight, where not all are.
const KILLED: usize = 5;
const CUT: usize = 3;

const PAUSE: Duration = Duration::from_millis(4);

/// Where the servers are killed: each state of a move, at its heart.
const PLACES: [&str; 6] = [
    "copying/before-AwaitCopy",
    "copying/before-PrepareWayBack",
    "following/before-AwaitClose",
    "fenced/before-AwaitDrained",
    "switched/before-OpenTarget",
    "switched/before-OpenWayBack",
];

/// pg1 keeps the catalog, shard 4 lives on pg2 and is moved to pg3.
const SHARD: u32 = 4;

#[test]
fn a_server_killed_in_any_state_of_a_move_costs_no_row() {
    let estate = Estate::start(3, 12);
    estate.make_tables(SHARD);
    let mut tally = shardid_tests::estate::Tally::default();
    let mut first = 0;
    let mut cases = Vec::new();
    for (i, place) in PLACES.into_iter().enumerate() {
        for (j, victim) in ["source", "target", "catalog"].into_iter().enumerate() {
            let abort = !place.starts_with("switched") && (i + j) % 2 == 1;
            cases.push((place, victim, abort));
        }
    }
    for (place, victim, abort) in sample("servers killed", cases, KILLED) {
        first += 1_000_000;
        let writer = Writer::begin(&estate, SHARD, first, PAUSE);
        writer.wait_for(1);
        let home = estate.home(SHARD);
        let other = if home == "pg2" { "pg3" } else { "pg2" };
        let held = estate.run_held(place, &["move", "4", "--to", other, "--yes"]);
        let server = match victim {
            "source" => estate.node(&home),
            "target" => estate.node(other),
            _ => estate.node("pg1"),
        };
        server.kill9();
        let run = held.let_go();
        assert_eq!(run.code, 3, "{place}, {victim} killed:\n{}", run.stderr);
        assert!(run.stderr.contains("shardid resume"), "{}", run.stderr);
        server.start();
        let id = estate.last_move(SHARD);
        if abort {
            estate.run(&["abort", &id, "--yes"]).ok();
            assert_eq!(estate.home(SHARD), home);
        } else {
            estate.run(&["resume", &id]).ok();
            assert_eq!(estate.home(SHARD), other);
            writer.wait_for(3);
            // What follows begins where it should, also after a crash of its server.
            estate.run(&["rollback", &id, "--yes"]).ok();
            assert_eq!(estate.home(SHARD), home);
        }
        writer.wait_for(2);
        tally.add(writer.end());
        estate.assert_whole(SHARD, &tally);
        estate.assert_no_trace(SHARD);
    }
    estate.assert_no_streams();
}

#[test]
fn writers_do_not_wait_for_a_target_that_stays_down() {
    let estate = Estate::start(3, 12);
    estate.make_tables(SHARD);
    let writer = Writer::begin(&estate, SHARD, 1, PAUSE);
    for (word, end, home) in [("abort", "aborted", "pg2"), ("resume", "done", "pg3")] {
        // Program and target die behind the fence, which stands.
        let held =
            estate.run_held("fenced/before-AwaitDrained", &["move", "4", "--to", "pg3", "--yes"]);
        held.kill();
        estate.node("pg3").kill9();
        let before = writer.written();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(writer.written(), before, "the fence stands");
        let id = estate.last_move(SHARD);
        let run = estate.say(word, &id);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains("could not reach node pg3"), "{}", run.stderr);
        // They go on where they were, though nothing can be removed yet.
        writer.wait_for(5);
        estate.node("pg3").start();
        estate.run(&["resume", &id]).ok();
        assert_eq!((estate.state(&id).as_str(), estate.home(SHARD).as_str()), (end, home));
        writer.wait_for(5);
    }
    let tally = writer.end();
    estate.run(&["retire", &estate.last_move(SHARD), "--yes"]).ok();
    estate.assert_whole(SHARD, &tally);
    estate.assert_no_trace(SHARD);
}

#[test]
fn a_way_that_is_cut_stops_the_move_and_it_goes_on_once_mended() {
    let estate = Estate::start(3, 12);
    estate.make_tables(SHARD);
    let proxies: Vec<Proxy> =
        estate.servers.iter().map(|server| Proxy::to(server.port())).collect();
    estate.declare(12, |number, _| {
        format!("postgres://postgres@127.0.0.1:{}/{DATABASE}", proxies[number - 1].port())
    });
    let mut tally = shardid_tests::estate::Tally::default();
    let places = [PLACES[0], PLACES[2], PLACES[3], PLACES[5]];
    let cases = places.into_iter().flat_map(|p| [(p, 1), (p, 2)]).collect();
    for (i, (place, victim)) in sample("ways cut", cases, CUT).into_iter().enumerate() {
        let writer = Writer::begin(&estate, SHARD, (i as i64) << 32, PAUSE);
        writer.wait_for(1);
        let home = estate.home(SHARD);
        let other = if home == "pg2" { "pg3" } else { "pg2" };
        let held = estate.run_held(place, &["move", "4", "--to", other, "--yes"]);
        // Both the program and the other server lose their way to it.
        proxies[victim].cut();
        let run = held.let_go();
        assert_eq!(run.code, 3, "{place}, pg{} cut off:\n{}", victim + 1, run.stderr);
        proxies[victim].mend();
        let id = estate.last_move(SHARD);
        estate.run(&["resume", &id]).ok();
        assert_eq!(estate.home(SHARD), other);
        // The old copy follows over a way that comes and goes.
        proxies[if other == "pg3" { 2 } else { 1 }].cut();
        writer.wait_for(5);
        proxies[if other == "pg3" { 2 } else { 1 }].mend();
        estate.run(&["rollback", &id, "--yes"]).ok();
        writer.wait_for(2);
        tally.add(writer.end());
        estate.assert_whole(SHARD, &tally);
        estate.assert_no_trace(SHARD);
    }
    wait_until(Duration::from_secs(10), "the last slots to go", || {
        estate.psql("pg2", "SELECT count(*) FROM pg_replication_slots") == "0"
    });
    estate.assert_no_streams();
}
