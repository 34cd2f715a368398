//! Moves at random, every second one cut by a kill at random.

use std::time::{Duration, Instant};

use shardid_tests::estate::{Estate, Tally, Writer};
use shardid_tests::rand;
use shardid_tests::rand::Rng;

/// How long: `SHARDID_SOAK_SECONDS`, or a short while as part of all tests.
fn seconds() -> u64 {
    let text = std::env::var("SHARDID_SOAK_SECONDS").unwrap_or_else(|_| "25".into());
    text.parse().expect("SHARDID_SOAK_SECONDS is a number of seconds")
}

#[test]
fn soak_of_moves_that_are_killed_at_random() {
    let mut rng = shardid_tests::rng("moves");
    let estate = Estate::start(3, 12);
    // Shards 0, 4 and 8 are born on pg1, pg2 and pg3.
    let shards = [0, 4, 8];
    let mut writers = Vec::new();
    for shard in shards {
        estate.make_tables(shard);
        for lane in 0..2 {
            let writer = Writer::begin(&estate, shard, lane << 40, Duration::from_millis(3));
            writers.push((shard, writer));
        }
    }
    let end = Instant::now() + Duration::from_secs(seconds());
    let (mut moves, mut cut) = (0, 0);
    while Instant::now() < end || cut < 2 {
        moves += 1;
        let shard = shards[rng.random_range(0..shards.len())];
        let others: Vec<String> =
            estate.nodes().into_iter().filter(|node| *node != estate.home(shard)).collect();
        let to = &others[rng.random_range(0..others.len())];
        let mut command = estate.command(&["move", &shard.to_string(), "--to", to, "--yes"]);
        if moves % 2 == 1 {
            assert!(command.status().expect("the program runs").success(), "move {moves}");
        } else {
            cut += 1;
            trouble(&estate, command, &mut rng);
            settle(&estate, shard, &mut rng);
        }
        let id = estate.last_move(shard);
        if estate.state(&id) == "done" {
            let word = if rng.random_ratio(1, 3) { "rollback" } else { "retire" };
            estate.run(&[word, &id]).ok();
        }
        for (_, writer) in &writers {
            writer.wait_for(1);
        }
    }
    let mut tallies: Vec<(u32, Tally)> = Vec::new();
    for (shard, writer) in writers {
        let tally = writer.end();
        match tallies.last_mut().filter(|(last, _)| *last == shard) {
            Some((_, all)) => all.add(tally),
            None => tallies.push((shard, tally)),
        }
    }
    let mut rows = 0;
    for (shard, tally) in &tallies {
        rows += tally.acknowledged.len();
        estate.assert_whole(*shard, tally);
        estate.assert_no_trace(*shard);
    }
    estate.assert_no_streams();
    if estate.run(&["help"]).stdout.contains("\n  verify") {
        let verified = estate.run(&["verify", "--data"]);
        assert_eq!(verified.code, 0, "{}\n{}", verified.stdout, verified.stderr);
    }
    println!("{moves} moves, {cut} of them cut, {rows} rows, none lost");
}

/// Starts a move and kills it, or one of the servers, somewhere in its course.
fn trouble(estate: &Estate, mut command: std::process::Command, rng: &mut rand::rngs::StdRng) {
    let mut child = command.stderr(std::process::Stdio::null()).spawn().expect("the program runs");
    std::thread::sleep(Duration::from_millis(rng.random_range(0..4_000)));
    match rng.random_range(0..2 * estate.servers.len()) {
        number if number < estate.servers.len() => {
            estate.servers[number].kill9();
            if rng.random() {
                let _ = child.kill();
            }
            let _ = child.wait();
            estate.servers[number].start();
        }
        _ => {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Brings a shard's move, if one stands, to its end: by either word.
fn settle(estate: &Estate, shard: u32, rng: &mut rand::rngs::StdRng) {
    let id = estate.last_move(shard);
    if id.is_empty() {
        return;
    }
    let state = estate.state(&id);
    if ["done", "aborted"].contains(&state.as_str()) {
        return;
    }
    let word = if state != "switched" && rng.random() { "abort" } else { "resume" };
    // What killed it may have killed others' connections too: once more, then.
    let run = estate.run(&[word, &id]);
    if run.code != 0 {
        eprintln!("{word} {id} while {state}: {}", run.stderr);
        estate.run(&["resume", &id]).ok();
    }
}
