//! Two programs at one shard, at every place and with every fault: whatever the second one
//! is told to do while the first stands there, afterwards one node has the shard open, map
//! and nodes agree, and no row is lost.
//!
//! `places` has where a first program can stand, `lane` plays a case. The cases of a seed are
//! numbered, each first program in its turn: `make test` plays the first ones, `make soak
//! ARGS='--scenario matrix'` all, or a part. `MATRIX=record` has the program say its places.

mod lane;
mod places;

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use shardid_tests::rand::seq::SliceRandom;
use shardid_tests::rng;

use lane::Lane;
pub(crate) use places::places;

/// What the first program is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Move,
    /// By several sessions.
    MoveByParts,
    Rollback,
    /// Of a move that was cut behind its fence.
    Abort,
    /// Of a move back that was cut behind its fence.
    AbortRollback,
    Retire,
    /// Of a move that was cut while its copy was being made.
    Resume,
    /// Of a move that was cut behind its fence.
    ResumeFenced,
    /// Of a move back that was cut behind its fence.
    ResumeRollback,
    /// Of a move that was being given up.
    ResumeAbort,
    Drain,
    Rebalance,
    /// With a node that joins.
    ApplyJoin,
    /// With a node that leaves.
    ApplyPart,
    /// With a shard that is open nowhere, for the catalog has forgotten its move.
    ApplyOpen,
}

impl First {
    const ALL: [Self; 15] = [
        Self::Move,
        Self::MoveByParts,
        Self::Rollback,
        Self::Abort,
        Self::AbortRollback,
        Self::Retire,
        Self::Resume,
        Self::ResumeFenced,
        Self::ResumeRollback,
        Self::ResumeAbort,
        Self::Drain,
        Self::Rebalance,
        Self::ApplyJoin,
        Self::ApplyPart,
        Self::ApplyOpen,
    ];

    /// Whether it is played with every fault; the others are at places that these come to,
    /// or do not hold the lock of a shard.
    fn has_every_fault(self) -> bool {
        use First::{Abort, AbortRollback, Move, Retire, Rollback};
        matches!(self, Move | Rollback | Abort | AbortRollback | Retire)
    }
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It is killed where it stands.
    Killed,
    /// It goes on while the second waits, and dies at the next place.
    DiesAtNext,
    /// It loses its session with the catalog, and with it the lock; the second has done
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

impl Second {
    const ALL: [Self; 8] = [
        Self::Resume,
        Self::Abort,
        Self::Rollback,
        Self::Retire,
        Self::Move,
        Self::Drain,
        Self::Rebalance,
        Self::Apply,
    ];
}

#[derive(Debug, Clone)]
struct Case {
    first: First,
    /// The how-manieth place of the first program, from 0.
    at: usize,
    fault: Fault,
    second: Second,
}

impl Case {
    fn place(&self) -> &'static str {
        places::of(self.first)[self.at]
    }

    /// Where it dies that was let go.
    fn next(&self) -> Option<&'static str> {
        places::of(self.first).get(self.at + 1).copied()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, fault, second, .. } = self;
        write!(f, "{first:?} at {}, {fault:?}; {second:?}", self.place())
    }
}

/// All that there is for a first program.
fn cases_of(first: First) -> Vec<Case> {
    let places = places::of(first);
    let locked = places.iter().position(|place| place.starts_with("claim/"));
    let mut cases = Vec::new();
    for at in 0..places.len() {
        let is_last = at + 1 == places.len();
        for fault in [Fault::Killed, Fault::DiesAtNext, Fault::LosesLock] {
            let is_played = match fault {
                Fault::Killed => first.has_every_fault() || is_last,
                Fault::DiesAtNext => !is_last,
                Fault::LosesLock => first.has_every_fault() && locked.is_some_and(|n| at >= n),
            };
            if is_played {
                cases.extend(Second::ALL.map(|second| Case { first, at, fault, second }));
            }
        }
    }
    cases
}

/// All that there is, in the order of the seed, in which first programs take turns.
fn all_cases() -> Vec<Case> {
    let rng = &mut rng("matrix of moves");
    let mut piles = First::ALL.map(cases_of);
    piles.shuffle(rng);
    for pile in &mut piles {
        pile.shuffle(rng);
    }
    let most = piles.iter().map(Vec::len).max().unwrap_or_default();
    (0..most).flat_map(|n| piles.iter().filter_map(move |pile| pile.get(n).cloned())).collect()
}

/// How many are played where nobody says.
const SAMPLE: usize = 5;

/// Which of the numbered cases are played, and until when.
struct Part {
    from: usize,
    count: usize,
    until: Option<Instant>,
}

impl Part {
    fn asked() -> Self {
        let number = |name: &str| {
            let text = std::env::var(name).ok()?;
            Some(text.parse::<usize>().unwrap_or_else(|_| panic!("{name} is {text:?}")))
        };
        let count = match std::env::var("MATRIX") {
            Ok(all) if all == "all" => usize::MAX,
            Ok(_) => number("MATRIX").expect("it is set"),
            Err(_) => SAMPLE,
        };
        let seconds = number("MATRIX_SECONDS");
        let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds as u64));
        Self { from: number("MATRIX_FROM").unwrap_or(1), count, until }
    }
}

fn record() {
    let mut lane = Lane::new();
    let recorded = First::ALL.map(|first| {
        eprintln!("recording {first:?}");
        (first, lane.record(first))
    });
    places::write(&recorded);
}

#[test]
fn two_programs_at_one_shard_leave_it_whole_and_open_once() {
    if std::env::var("MATRIX").is_ok_and(|matrix| matrix == "record") {
        return record();
    }
    let part = Part::asked();
    let all = all_cases();
    let end = part.from.saturating_add(part.count).min(all.len() + 1);
    let numbered = (1..).zip(&all).skip(part.from - 1).take(part.count);
    let cases: VecDeque<(usize, &Case)> = numbered.collect();
    let cases = Mutex::new(cases);
    let lane = || {
        let mut lane = Lane::new();
        loop {
            if part.until.is_some_and(|until| Instant::now() > until) {
                break;
            }
            let next = cases.lock().expect("nobody panics with it").pop_front();
            let Some((number, case)) = next else { break };
            if part.count > SAMPLE {
                eprintln!("{number} of {}: {case}", all.len());
            }
            let first_row = i64::try_from(number).expect("they are few") * 1_000_000;
            let played = catch_unwind(AssertUnwindSafe(|| lane.play(case, first_row)));
            if let Err(cause) = played {
                let moves = lane.estate.run(&["moves"]);
                eprintln!("in case {number}: {case}\n{}{}", moves.stdout, moves.stderr);
                cases.lock().expect("nobody panics with it").clear();
                resume_unwind(cause);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(lane);
        scope.spawn(lane);
    });
    let left = cases.into_inner().expect("nobody panics with it");
    if part.count > SAMPLE {
        let next = left.front().map_or(end, |(number, _)| *number);
        eprintln!("cases {} to {} of {} were played", part.from, next - 1, all.len());
    }
}
