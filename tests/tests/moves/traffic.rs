//! Moves there and back under full traffic, on the shard and on its neighbours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use shardid_tests::estate::{DATABASE, Estate, Tally, Writer};
use shardid_tests::{Refusal, crowded, is_whole};

/// Reads a shard where the map has it, and counts what was read; panics where
/// it is refused or has to wait.
fn read(estate: &Estate, shard: u32, stopped: &AtomicBool) -> u64 {
    let mut reads = 0;
    let mut last = 0i64;
    let mut clients: Vec<_> = estate.servers.iter().map(|s| s.connect(DATABASE)).collect();
    let rows = format!("SELECT count(*), max(n) FROM shard_{shard:04}.item");
    let map = format!("SELECT node FROM shardid.map WHERE shard = {shard}");
    let mut home = 0;
    while !stopped.load(Ordering::Relaxed) {
        let began = Instant::now();
        match clients[home].query_one(&rows, &[]) {
            Ok(row) => {
                reads += 1;
                let count: i64 = row.get(0);
                assert!(count >= last, "a reader saw {last} rows, then {count}");
                last = count;
            }
            // The old copy is dropped: whoever still reads there is late.
            Err(error) => {
                let refusal = Refusal::of(&error).expect("the server is up");
                assert_eq!(refusal.sqlstate, "42P01", "{refusal:?}");
            }
        }
        let waited = began.elapsed();
        assert!(waited < crowded(Duration::from_secs(3)), "a reader waited {waited:?}");
        let node: String = clients[0].query_one(&map, &[]).expect("the catalog is up").get(0);
        home = if node == "pg1" { 0 } else { 1 };
        thread::sleep(Duration::from_millis(2));
    }
    reads
}

/// Ten round trips, or three where `SHARDID_WHOLE` is not set.
fn moves_made() -> usize {
    if is_whole() { 20 } else { 6 }
}

#[test]
fn round_trips_under_traffic_lose_no_row_refuse_no_reader_and_hardly_stop_writers() {
    let estate = Estate::start(2, 8);
    let (shard, neighbour) = (0, 1);
    estate.make_tables(shard);
    estate.make_tables(neighbour);
    let stopped = Arc::new(AtomicBool::new(false));
    let mut moves = Vec::new();
    let (tally, beside, reads) = thread::scope(|scope| {
        let writers: Vec<Writer> =
            (0..3).map(|i| Writer::begin(&estate, shard, i << 40, Duration::ZERO)).collect();
        let beside = Writer::begin(&estate, neighbour, 0, Duration::from_millis(1));
        let readers: Vec<_> = [shard, neighbour]
            .map(|shard| {
                let (estate, stopped) = (&estate, &stopped);
                scope.spawn(move || read(estate, shard, stopped))
            })
            .into();
        // They end also where something fails here.
        let moved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for to in ["pg2", "pg1"].into_iter().cycle().take(moves_made()) {
                let began = Instant::now();
                estate.run(&["move", "0", "--to", to, "--yes"]).ok();
                moves.push((began, Instant::now()));
                writers[0].wait_for(5);
                estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
            }
        }));
        stopped.store(true, Ordering::Relaxed);
        let mut tally = Tally::default();
        for writer in writers {
            tally.add(writer.end());
        }
        let beside = beside.end();
        let reads: u64 = readers.into_iter().map(|r| r.join().expect("no reader fails")).sum();
        if let Err(cause) = moved {
            std::panic::resume_unwind(cause);
        }
        (tally, beside, reads)
    });
    estate.assert_whole(shard, &tally);
    estate.assert_whole(neighbour, &beside);
    estate.assert_no_trace(shard);
    estate.assert_no_streams();

    assert_eq!(tally.nameless, 0, "each SI001 names the node");
    let known = ["SI001", "SI002"];
    assert!(tally.refused.keys().all(|code| known.contains(&code.as_str())), "{:?}", tally.refused);
    assert!(tally.refused.contains_key("SI001"), "{:?}", tally.refused);
    assert_eq!(beside.refused.len(), 0, "neighbours notice nothing");

    // The longest wait of any write that began during each move.
    let longest = |tally: &Tally| -> Vec<Duration> {
        let mut longest: Vec<Duration> =
            moves.iter().map(|(from, to)| tally.longest_between(*from, *to)).collect();
        longest.sort();
        longest
    };
    let (pauses, others) = (longest(&tally), longest(&beside));
    println!(
        "{} moves, {} rows, {reads} reads; longest write of each move: median {:?}, longest {:?}; \
         of a neighbour: median {:?}, longest {:?}; refused {:?}",
        moves.len(),
        tally.acknowledged.len(),
        pauses[pauses.len() / 2],
        pauses[pauses.len() - 1],
        others[others.len() / 2],
        others[others.len() - 1],
        tally.refused
    );
    // 300 ms, where nothing else runs.
    assert!(pauses[pauses.len() / 2] < crowded(Duration::from_millis(900)), "{pauses:?}");
}
