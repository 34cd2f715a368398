//! A move that is cut at any step is finished by `resume`, or undone by `abort`.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use shardid_tests::estate::{Estate, Tally, Writer};
use shardid_tests::sample;

/// How many lives `make test` draws by the seed, of all at each place.
const SAMPLE: usize = 13;

/// Where a move can be cut: before each effect, before and after each state is
/// written down, before and after lines about what has to be removed. After an
/// effect is before the next one; and what a state has begun is done again by
/// `resume` from its first effect on, so that each is done twice here.
const MOVE: &[&str] = &[
    "planned/before-Check",
    "planned/before-next",
    "copying/before-MakeSchema",
    "left/schema",
    "copying/before-Publish",
    "left/publication",
    "copying/before-Subscribe",
    "left/slot",
    "left/subscription",
    "copying/before-AwaitCopy",
    "copying/before-MakeIndexes",
    "copying/before-PrepareWayBack",
    "copying/before-next",
    "following/before-LowerFence",
    "following/before-Compare",
    "following/before-AwaitClose",
    "following/before-next",
    "fenced/before-RaiseFence",
    "left/fence",
    "fenced/before-AwaitDrained",
    "fenced/before-CarryOver",
    "fenced/before-SealWayBack",
    "fenced/before-next",
];

/// From here on a move only goes forward.
const SWITCHED: &[&str] = &[
    "switched/before-GuardSource",
    "switched/before-OpenTarget",
    "switched/before-EndStream",
    "gone/subscription",
    "gone/slot",
    "gone/publication",
    "switched/before-OpenWayBack",
    "way-back/made",
    "way-back/placed",
    "switched/before-TellNodes",
    "switched/before-CleanUp",
    "switched/before-next",
    "switched/after-next",
];

/// The same for a move back to the old copy.
const ROLLBACK: &[&str] = &[
    "planned/before-Check",
    "planned/before-next",
    "following/before-LowerFence",
    "following/before-Compare",
    "following/before-AwaitClose",
    "following/before-next",
    "fenced/before-RaiseFence",
    "fenced/before-AwaitDrained",
    "fenced/before-CarryOver",
    "fenced/before-next",
];

const ROLLBACK_SWITCHED: &[&str] = &[
    "switched/before-GuardSource",
    "switched/before-OpenTarget",
    "switched/before-EndStream",
    "switched/before-TellNodes",
    "switched/before-CleanUp",
    "gone/schema",
    "switched/before-next",
    "switched/after-next",
];

/// Where giving up can be cut.
const ABORT: &[&str] = &[
    "aborting/before-LowerFence",
    "aborting/before-RemoveAll",
    "gone/fence",
    "gone/slot",
    "gone/publication",
    "gone/subscription",
    "gone/schema",
    "aborting/before-next",
];

const RETIRE: &[&str] = &["gone/subscription", "gone/slot", "gone/publication", "gone/schema"];

/// One life of a shard; where it says nothing, nothing is cut.
#[derive(Debug, Clone, Copy, Default)]
struct Case {
    move_cut: Option<&'static str>,
    /// Instead of `resume`; and where that is cut in turn.
    abort: bool,
    abort_cut: Option<&'static str>,
    rollback_cut: Option<&'static str>,
    rollback_abort: bool,
    retire_cut: Option<&'static str>,
}

/// Every place once: a move there and the way back in one case.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let back = ROLLBACK.iter().chain(ROLLBACK_SWITCHED).copied().map(Some);
    let there = MOVE.iter().chain(SWITCHED).copied();
    for (place, back) in there.zip(back.chain(std::iter::repeat(None))) {
        let retire_cut = (cases.len() >= 18).then(|| RETIRE[cases.len() % RETIRE.len()]);
        cases.push(Case {
            move_cut: Some(place),
            rollback_cut: back,
            retire_cut,
            ..Case::default()
        });
    }
    for place in MOVE {
        cases.push(Case { move_cut: Some(place), abort: true, ..Case::default() });
    }
    for place in ABORT {
        cases.push(Case {
            move_cut: Some("fenced/before-next"),
            abort: true,
            abort_cut: Some(place),
            ..Case::default()
        });
    }
    for place in ROLLBACK {
        cases.push(Case { rollback_cut: Some(place), rollback_abort: true, ..Case::default() });
    }
    cases
}

/// Lives a case on a shard, with a writer at work, and looks at what is left.
fn live(estate: &Estate, shard: u32, first: i64, case: Case) -> Tally {
    let writer = Writer::begin(estate, shard, first, Duration::from_millis(4));
    writer.wait_for(1);
    let home = estate.home(shard);
    let other = if home == "pg1" { "pg2" } else { "pg1" };
    let number = shard.to_string();
    let going = ["move", &number, "--to", other, "--yes"];
    match case.move_cut {
        Some(place) => estate.run_cut(place, &going),
        None => drop(estate.run(&going).ok()),
    }
    let id = estate.last_move(shard);
    if case.abort {
        match case.abort_cut {
            Some(place) => {
                estate.run_cut(place, &["abort", &id, "--yes"]);
                // Either word goes on with it.
                let word = if place.starts_with("gone") { "resume" } else { "abort" };
                estate.say(word, &id).ok();
            }
            None => drop(estate.run(&["abort", &id, "--yes"]).ok()),
        }
        assert_eq!(estate.state(&id), "aborted");
        assert_eq!(estate.home(shard), home);
        writer.wait_for(2);
        let tally = writer.end();
        estate.assert_no_trace(shard);
        return tally;
    }
    if case.move_cut.is_some() {
        estate.run(&["resume", &id]).ok();
    }
    assert_eq!(estate.state(&id), "done");
    assert_eq!(estate.home(shard), other);
    writer.wait_for(2);
    if let Some(place) = case.rollback_cut {
        estate.run_cut(place, &["rollback", &id, "--yes"]);
        let back = estate.last_move(shard);
        let word = if case.rollback_abort { "abort" } else { "resume" };
        estate.say(word, &back).ok();
        let end = if case.rollback_abort { ("aborted", other) } else { ("done", home.as_str()) };
        assert_eq!((estate.state(&back).as_str(), estate.home(shard).as_str()), end);
        writer.wait_for(2);
    }
    if case.rollback_cut.is_none() || case.rollback_abort {
        if let Some(place) = case.retire_cut {
            estate.run_cut(place, &["retire", &id, "--yes"]);
        }
        estate.run(&["retire", &id, "--yes"]).ok();
        writer.wait_for(2);
    }
    let tally = writer.end();
    estate.assert_no_trace(shard);
    tally
}

/// Lives cases side by side, each lane on a shard of its own.
fn live_all(cases: VecDeque<Case>, lanes: u32) {
    let estate = Estate::start(2, 8);
    let cases = Mutex::new(cases);
    let lane = |shard: u32| {
        estate.make_tables(shard);
        let mut tally = Tally::default();
        for first in (0..).step_by(1_000_000) {
            let Some(case) = cases.lock().expect("nobody panics with it").pop_front() else {
                break;
            };
            let lived = catch_unwind(AssertUnwindSafe(|| {
                tally.add(live(&estate, shard, first, case));
                estate.assert_whole(shard, &tally);
            }));
            if let Err(cause) = lived {
                eprintln!("in {case:?}\n{}", estate.run(&["moves"]).stdout);
                cases.lock().expect("nobody panics with it").clear();
                resume_unwind(cause);
            }
        }
    };
    thread::scope(|scope| {
        // Shards 0 to 3 are born on pg1, 4 to 7 on pg2.
        for shard in (0..8).step_by(8 / lanes as usize) {
            scope.spawn(move || lane(shard));
        }
    });
    estate.assert_no_streams();
}

#[test]
fn a_move_cut_at_any_step_is_finished_or_undone_and_no_row_is_lost() {
    live_all(sample("cut moves", cases(), SAMPLE).into(), 4);
}
