//! Two programs at one shard, at every place and with every fault: whatever the second one
//! is told to do while the first stands there, afterwards one node has the shard open, map
//! and nodes agree, and no row is lost.
//!
//! The places come from the effects of the real states. `MATRIX=40` plays so many cases of
//! the seed, `MATRIX=all` every one.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use shardid_cluster::{MoveKind, MoveState, effects};
use shardid_tests::estate::{Estate, Held, Tally, Writer};
use shardid_tests::rand::seq::SliceRandom;
use shardid_tests::rng;

/// What the first program is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Move,
    Rollback,
    /// Of a move that was cut behind its fence.
    Abort,
    /// Of a move back that was cut behind its fence.
    AbortRollback,
    Retire,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It is killed where it stands.
    Killed,
    /// It goes on while the second waits, and dies at the next place.
    DiesAtNext,
    /// It loses its session with the catalogue, and with it the lock; the second has done
    /// all it was told when the first goes on.
    LosesLock,
}

/// What the second program is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Second {
    Resume,
    Abort,
    Rollback,
    Retire,
    Move,
    Drain,
    Rebalance,
    Apply,
}

#[derive(Debug, Clone)]
struct Case {
    first: First,
    place: String,
    next: Option<String>,
    fault: Fault,
    second: Second,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, place, fault, second, .. } = self;
        write!(f, "{first:?} at {place}, {fault:?}; {second:?}")
    }
}

/// The places of some states, in order.
pub(crate) fn places(kind: MoveKind, states: &[MoveState]) -> Vec<String> {
    let mut places = Vec::new();
    for state in states {
        for effect in effects(kind, *state) {
            places.push(format!("{state}/before-{effect:?}"));
        }
        places.push(format!("{state}/before-next"));
        places.push(format!("{state}/after-next"));
    }
    places
}

fn places_of(first: First) -> Vec<String> {
    use MoveState::{Aborting, Copying, Fenced, Following, Planned, Switched};
    match first {
        First::Move => places(MoveKind::Copy, &[Planned, Copying, Following, Fenced, Switched]),
        First::Rollback => places(MoveKind::Rollback, &[Planned, Following, Fenced, Switched]),
        First::Abort => places(MoveKind::Copy, &[Aborting]),
        First::AbortRollback => places(MoveKind::Rollback, &[Aborting]),
        First::Retire => ["subscription", "schema", "slot", "publication"]
            .map(|kind| format!("gone/{kind}"))
            .to_vec(),
    }
}

/// All that there is.
fn all_cases() -> Vec<Case> {
    use First::{Abort, AbortRollback, Move, Retire, Rollback};
    let mut cases = Vec::new();
    for first in [Move, Rollback, Abort, AbortRollback, Retire] {
        let places = places_of(first);
        for (n, place) in places.iter().enumerate() {
            for fault in [Fault::Killed, Fault::DiesAtNext, Fault::LosesLock] {
                for second in [
                    Second::Resume,
                    Second::Abort,
                    Second::Rollback,
                    Second::Retire,
                    Second::Move,
                    Second::Drain,
                    Second::Rebalance,
                    Second::Apply,
                ] {
                    let (place, next) = (place.clone(), places.get(n + 1).cloned());
                    if fault != Fault::DiesAtNext || next.is_some() {
                        cases.push(Case { first, place, next, fault, second });
                    }
                }
            }
        }
    }
    cases
}

/// A command that ends a move or takes it back.
fn ending(word: &str, id: String) -> Vec<String> {
    vec![word.to_owned(), id, "--yes".to_owned()]
}

/// Two nodes, and a shard that a writer writes to.
struct Lane {
    estate: Estate,
    shard: u32,
}

impl Lane {
    fn new() -> Self {
        // Shard 0 is born on pg1, shard 1 on pg2.
        let estate = Estate::start(2, 2);
        estate.make_tables(0);
        Self { estate, shard: 0 }
    }

    fn other(&self) -> &'static str {
        if self.estate.home(self.shard) == "pg1" { "pg2" } else { "pg1" }
    }

    fn ask(&self, sql: &str) -> Vec<String> {
        self.estate.psql("pg1", sql).lines().map(str::to_owned).collect()
    }

    /// Ends the sessions that hold the lock of the shard's moves.
    fn take_lock_away(&self) {
        let ended = self.ask(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_locks
              WHERE locktype = 'advisory' AND classid = 324843900 AND objid = {} AND granted",
            self.shard
        ));
        assert_eq!(ended, ["t"], "one program has the lock");
    }

    /// Begins what the first program is to do, and leaves it standing at the place; none
    /// where it does not come there.
    fn begin(&self, case: &Case) -> Held {
        let (estate, number) = (&self.estate, self.shard.to_string());
        let there = ["move", &number, "--to", self.other(), "--yes"];
        let arguments: Vec<String> = match case.first {
            First::Move => there.map(str::to_owned).to_vec(),
            First::Abort => {
                estate.run_cut("fenced/before-next", &there);
                ending("abort", estate.last_move(self.shard))
            }
            First::Rollback | First::AbortRollback | First::Retire => {
                estate.run(&there).ok();
                let id = estate.last_move(self.shard);
                match case.first {
                    First::Retire => ending("retire", id),
                    First::Rollback => ending("rollback", id),
                    _ => {
                        estate.run_cut("fenced/before-next", &["rollback", &id, "--yes"]);
                        ending("abort", estate.last_move(self.shard))
                    }
                }
            }
        };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match (case.fault, &case.next) {
            (Fault::DiesAtNext, Some(next)) => {
                estate.run_held_then_cut(&case.place, next, &arguments)
            }
            _ => estate.run_held(&case.place, &arguments),
        }
    }

    /// What the second program is told, for what there is.
    fn second(&self, second: Second) -> Vec<String> {
        let last = self.estate.last_move(self.shard);
        let done = format!(
            "SELECT coalesce(max(move), 0) FROM shardid.move WHERE shard = {} AND kind = 'copy'",
            self.shard
        );
        let copy = self.ask(&done).concat();
        let number = self.shard.to_string();
        let words: Vec<&str> = match second {
            Second::Resume => vec!["resume", &last],
            Second::Abort => vec!["abort", &last, "--yes"],
            Second::Rollback => vec!["rollback", &copy, "--yes"],
            Second::Retire => vec!["retire", &copy, "--yes"],
            Second::Move => vec!["move", &number, "--to", self.other(), "--yes"],
            Second::Drain => vec!["drain", "pg1", "--yes"],
            Second::Rebalance => vec!["rebalance", "--yes"],
            Second::Apply => vec!["apply", "--yes"],
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// Ends all that stands, drops old copies, and looks whether all is well.
    fn settle(&self) {
        let standing =
            "SELECT move FROM shardid.move WHERE state NOT IN ('done', 'aborted') ORDER BY move";
        for id in self.ask(standing) {
            self.estate.run(&["resume", &id]).ok();
        }
        assert_eq!(self.ask(standing), Vec::<String>::new());
        let old = "SELECT move FROM shardid.move WHERE state = 'done' AND kind = 'copy' AND retired_at IS NULL";
        for id in self.ask(old) {
            self.estate.run(&["retire", &id, "--yes"]).ok();
        }
        self.estate.run(&["apply", "--yes"]).ok();
        let plan = self.estate.run(&["plan"]);
        assert_eq!(plan.code, 0, "{}{}", plan.stdout, plan.stderr);
        assert!(plan.stdout.contains("nothing to do"), "{}{}", plan.stdout, plan.stderr);
        for shard in [0, 1] {
            self.estate.assert_no_trace(shard);
        }
        self.estate.assert_no_streams();
    }

    /// Plays a case; returns what a writer was told meanwhile, and what both programs said.
    fn play(&self, case: &Case, first_row: i64) -> Tally {
        let writer = Writer::begin(&self.estate, self.shard, first_row, Duration::from_millis(4));
        writer.wait_for(1);
        let first = self.begin(case);
        let second = self.second(case.second);
        let words: Vec<&str> = second.iter().map(String::as_str).collect();
        match case.fault {
            Fault::Killed => {
                first.kill();
                self.estate.run(&words);
            }
            Fault::DiesAtNext => {
                thread::scope(|scope| {
                    let second = scope.spawn(|| self.estate.run(&words));
                    thread::sleep(Duration::from_millis(500));
                    first.let_go();
                    second.join().expect("it ends");
                });
            }
            Fault::LosesLock => {
                self.take_lock_away();
                self.estate.run(&words);
                // Whatever it does now, another has taken over, or it is alone as before.
                first.let_go();
            }
        }
        self.settle();
        writer.wait_for(2);
        writer.end()
    }
}

/// How many are played where nobody says.
const SAMPLE: usize = 12;

#[test]
fn two_programs_at_one_shard_leave_it_whole_and_open_once() {
    let mut cases = all_cases();
    cases.shuffle(&mut rng("matrix of moves"));
    let count = match std::env::var("MATRIX") {
        Ok(all) if all == "all" => cases.len(),
        Ok(count) => count.parse().expect("MATRIX is a number, or all"),
        Err(_) => SAMPLE,
    };
    cases.truncate(count);
    let cases = Mutex::new(VecDeque::from(cases));
    let lane = || {
        let lane = Lane::new();
        let mut tally = Tally::default();
        for first_row in (0..).step_by(1_000_000) {
            let next = cases.lock().expect("nobody panics with it").pop_front();
            let Some(case) = next else { break };
            if count > SAMPLE {
                eprintln!("{case}");
            }
            let played = catch_unwind(AssertUnwindSafe(|| {
                tally.add(lane.play(&case, first_row));
                lane.estate.assert_whole(lane.shard, &tally);
            }));
            if let Err(cause) = played {
                eprintln!("in: {case}\n{}", lane.estate.run(&["moves"]).stdout);
                cases.lock().expect("nobody panics with it").clear();
                resume_unwind(cause);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(lane);
        scope.spawn(lane);
    });
}
