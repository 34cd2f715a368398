//! Moves at random under traffic, every second one in trouble: the program ends at a place in
//! its course, it or a server is killed by `kill -9` at random, and a second program is told
//! something else about the same shard meanwhile.

use std::fmt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rand::Rng;
use rand::rngs::StdRng;

use crate::assert_unique;
use crate::estate::{Estate, Tally, Writer};

/// When to end.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// After so many moves.
    Moves(u32),
    /// After a while, and two moves that were cut.
    Elapsed(Duration),
}

/// What a run has seen.
#[derive(Debug)]
pub struct Seen {
    moves: u32,
    cut: u32,
    seconds: u32,
    back: u32,
    rows: usize,
    took: Duration,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { moves, cut, seconds: programs, back, rows, took } = self;
        let seconds = took.as_secs();
        write!(
            f,
            "{moves} moves, {cut} of them cut at a place or by kill -9, {programs} with a second \
             program at the shard, {back} taken back, in {seconds} s; "
        )?;
        write!(f, "{rows} acknowledged rows, none lost, none twice, nothing left over")
    }
}

/// Moves shards between three servers while six clients write to them.
///
/// In the end every row that was acknowledged is on exactly one node, ids are
/// unique and rise, nothing is left over, and `shardid verify --data` is content.
///
/// # Panics
///
/// Where that is not so. The servers' logs are kept.
pub fn moves(rng: &mut StdRng, until: Until, talk: bool) -> Seen {
    let began = Instant::now();
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
    let (mut moves, mut cut, mut seconds, mut back) = (0, 0, 0, 0);
    while match until {
        Until::Moves(most) => moves < most,
        Until::Elapsed(least) => began.elapsed() < least || cut < 2,
    } {
        moves += 1;
        let shard = shards[rng.random_range(0..shards.len())];
        let others: Vec<String> =
            estate.nodes().into_iter().filter(|node| *node != estate.home(shard)).collect();
        let to = &others[rng.random_range(0..others.len())];
        let mut command = estate.command(&["move", &shard.to_string(), "--to", to, "--yes"]);
        if moves % 2 == 1 {
            let output = command.output().expect("the program runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "move {moves}: {said}");
        } else {
            cut += 1;
            seconds += u32::from(trouble(&estate, command, shard, rng));
            settle(&estate, shard, rng);
        }
        let id = estate.last_move(shard);
        // One that was killed before it was written down leaves the one before it.
        let old_copy = format!(
            "SELECT count(*) FROM shardid.move WHERE move = nullif('{id}', '')::bigint
                AND state = 'done' AND kind = 'copy' AND retired_at IS NULL"
        );
        if estate.psql("pg1", &old_copy) == "1" {
            let word = if rng.random_ratio(1, 3) { "rollback" } else { "retire" };
            back += u32::from(word == "rollback");
            estate.say(word, &id).ok();
        }
        for (_, writer) in &writers {
            writer.wait_for(1);
        }
        if talk {
            eprintln!("soak: {moves} moves, {} s", began.elapsed().as_secs());
        }
    }
    let mut tallies: Vec<(u32, Tally)> = Vec::new();
    let mut ids: Vec<(String, Vec<i64>)> = Vec::new();
    for (number, (shard, writer)) in writers.into_iter().enumerate() {
        let tally = writer.end();
        let taken = tally.acknowledged.values().copied().collect();
        ids.push((format!("writer {number} of shard {shard}"), taken));
        match tallies.last_mut().filter(|(last, _)| *last == shard) {
            Some((_, all)) => all.add(tally),
            None => tallies.push((shard, tally)),
        }
    }
    let rows = assert_unique(&ids);
    // A node that was down when a shard moved between two others was not told of it.
    estate.run(&["apply", "--yes"]).ok();
    let plan = estate.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
    for (shard, tally) in &tallies {
        estate.assert_whole(*shard, tally);
        estate.assert_no_trace(*shard);
    }
    estate.assert_no_streams();
    let verified = estate.run(&["verify", "--data"]);
    assert_eq!(verified.code, 0, "{}\n{}", verified.stdout, verified.stderr);
    Seen { moves, cut, seconds, back, rows, took: began.elapsed() }
}

/// Places in a move at which the program may end itself: in each state, before and behind
/// what is done in it.
const PLACES: [&str; 14] = [
    "planned/before-next",
    "copying/before-Subscribe",
    "copying/before-MakeIndexes",
    "copying/before-next",
    "following/before-AwaitClose",
    "fenced/before-RaiseFence",
    "fenced/before-CarryOver",
    "fenced/before-next",
    "fenced/after-next",
    "switched/before-OpenTarget",
    "switched/before-EndStream",
    "switched/before-OpenWayBack",
    "switched/before-TellNodes",
    "switched/before-next",
];

/// Starts a move, and cuts it, or kills it or one of the servers, somewhere in its course;
/// returns whether a second program was told something meanwhile.
fn trouble(estate: &Estate, mut command: Command, shard: u32, rng: &mut StdRng) -> bool {
    let place = rng.random_bool(0.5).then(|| PLACES[rng.random_range(0..PLACES.len())]);
    if let Some(place) = place {
        command.env("SHARDID_CUT_AT", place);
    }
    let mut child = command.stderr(Stdio::null()).spawn().expect("the program runs");
    std::thread::sleep(Duration::from_millis(rng.random_range(0..4_000)));
    let second = rng.random_bool(0.5).then(|| {
        let words = second(estate, shard, rng);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut second = estate.command(&words);
        second.stdout(Stdio::null()).stderr(Stdio::null());
        second.spawn().expect("the program runs")
    });
    // Where the second one waits for the first, it is to find it at work, or gone.
    if second.is_some() {
        std::thread::sleep(Duration::from_millis(rng.random_range(0..1_000)));
    }
    let number = rng.random_range(0..2 * estate.servers.len());
    let server = estate.servers.get(number);
    if let Some(server) = server {
        server.kill9();
    }
    // One that is to end at a place comes there, unless a server has gone.
    if place.is_none() && (server.is_none() || rng.random()) {
        let _ = child.kill();
    }
    let _ = child.wait();
    let had_second = second.is_some();
    if let Some(mut second) = second {
        let _ = second.wait();
    }
    if let Some(server) = server {
        server.start();
    }
    had_second
}

/// What a second program is told while the first is at a shard.
fn second(estate: &Estate, shard: u32, rng: &mut StdRng) -> Vec<String> {
    let id = estate.last_move(shard);
    let nodes = estate.nodes();
    let node = nodes[rng.random_range(0..nodes.len())].clone();
    let shard = shard.to_string();
    let words: Vec<&str> = match rng.random_range(0..8) {
        0 => vec!["resume", &id],
        1 => vec!["abort", &id, "--yes"],
        2 => vec!["rollback", &id, "--yes"],
        3 => vec!["retire", &id, "--yes"],
        4 => vec!["move", &shard, "--to", &node, "--yes"],
        5 => vec!["drain", &node, "--yes"],
        6 => vec!["rebalance", "--yes"],
        _ => vec!["apply", "--yes"],
    };
    words.into_iter().map(str::to_owned).collect()
}

/// Brings all moves that stand to their end, by either word.
fn settle(estate: &Estate, shard: u32, rng: &mut StdRng) {
    let standing =
        "SELECT move FROM shardid.move WHERE state NOT IN ('done', 'aborted') ORDER BY move";
    for id in estate.psql("pg1", standing).lines() {
        let state = estate.state(id);
        let word = if state != "switched" && rng.random() { "abort" } else { "resume" };
        // What killed it may have killed others' connections too: once more, then.
        let run = estate.say(word, id);
        if run.code != 0 {
            eprintln!("{word} {id} while {state}: {}", run.stderr);
            estate.run(&["resume", id]).ok();
        }
    }
    // What a second program has moved as well, a drain above all.
    let old = format!(
        "SELECT move FROM shardid.move WHERE state = 'done' AND kind = 'copy' AND retired_at IS NULL
            AND move::text <> '{}' ORDER BY move",
        estate.last_move(shard)
    );
    for id in estate.psql("pg1", &old).lines() {
        estate.run(&["retire", id, "--yes"]).ok();
    }
}
