//! Which faults are there, and which one is the k-th of a seed?
//!
//! Faults are numbered from 1. A seed's first faults are each kind once, in an
//! order of the seed's own; after them come kinds by weight. The k-th fault of a
//! seed is the same whichever faults were there before it in the same run, so that
//! a long run can be made in parts.

use std::fmt;
use std::str::FromStr;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::Soak;
use super::operation::Operation;

/// What may come over the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `kill -9` of everything.
    Crash,
    /// `kill -9` of one session.
    KilledSession,
    /// An orderly stop and start.
    Restart,
    /// A step of the clock.
    ClockStep,
    /// A stranger's `setval`, forward.
    SetvalForward,
    /// A checkpoint.
    Checkpoint,
    /// A standby begins to follow.
    Standby,
    /// A standby that has everything takes over.
    Promotion,
    /// A standby takes over that lost the tail.
    LostTail,
    /// The server is restored to a named restore point.
    PointInTime,
    /// The database is dumped and restored.
    Dump,
    /// `CREATE DATABASE … TEMPLATE`; the run goes on in the copy.
    CopyMoved,
    /// `CREATE DATABASE … TEMPLATE`; the copy is used beside the run.
    CopyBeside,
    /// Another lease and another limit of the drift.
    Settings,
    /// A shard is fenced for a moment.
    Fence,
    /// Nothing.
    Pause,
    /// A session with a larger drift than the others comes and goes.
    Drift,
    /// READ ONLY transactions, which must give no ids.
    ReadOnly,
    /// Parallel workers.
    Parallel,
    /// A transaction around this operation on a sequence.
    Operation(Operation),
    /// A transaction around several operations.
    Mixed,
}

/// A kind, its name, and how often it happens compared to the rest.
const FAULTS: [(Kind, &str, u32); 30] = [
    (Kind::Crash, "crash", 6),
    (Kind::KilledSession, "killed-session", 3),
    (Kind::Restart, "restart", 2),
    (Kind::ClockStep, "clock-step", 8),
    (Kind::SetvalForward, "setval-forward", 2),
    (Kind::Checkpoint, "checkpoint", 3),
    (Kind::Standby, "standby", 1),
    (Kind::Promotion, "promotion", 1),
    (Kind::LostTail, "lost-tail", 1),
    (Kind::PointInTime, "point-in-time", 1),
    (Kind::Dump, "dump", 1),
    (Kind::CopyMoved, "copy-moved", 1),
    (Kind::CopyBeside, "copy-beside", 1),
    (Kind::Settings, "settings", 2),
    (Kind::Fence, "fence", 3),
    (Kind::Pause, "pause", 2),
    (Kind::Drift, "drift", 2),
    (Kind::ReadOnly, "read-only", 1),
    (Kind::Parallel, "parallel", 1),
    (Kind::Operation(Operation::Start), "alter-start", 3),
    (Kind::Operation(Operation::Type), "alter-type", 2),
    (Kind::Operation(Operation::Cache), "alter-cache", 2),
    (Kind::Operation(Operation::Restart), "alter-restart", 3),
    (Kind::Operation(Operation::RestartWith), "alter-restart-with", 3),
    (Kind::Operation(Operation::Unlogged), "unlogged", 3),
    (Kind::Operation(Operation::Truncate), "truncate", 3),
    (Kind::Operation(Operation::SetvalBack), "setval-back", 3),
    (Kind::Operation(Operation::DropShard), "drop-shard", 2),
    (Kind::Operation(Operation::DropSchema), "drop-schema", 2),
    (Kind::Mixed, "mixed", 4),
];

/// All kinds.
pub fn kinds() -> impl Iterator<Item = Kind> {
    FAULTS.iter().map(|(kind, _, _)| *kind)
}

impl Kind {
    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        let found = FAULTS.iter().find(|(kind, _, _)| *kind == self);
        found.expect("all kinds are in the table").1
    }

    /// Whether the old library repeats ids by itself where this comes over it, on any
    /// shard. What an operation does to one shard is kept from it by the choice of shards.
    pub(super) fn breaks_the_old_library(self) -> bool {
        matches!(self, Self::LostTail | Self::PointInTime | Self::CopyMoved | Self::CopyBeside)
    }

    /// Whether makers other than the extension take part.
    pub(super) fn is_plain(self) -> bool {
        !matches!(self, Self::Operation(_) | Self::Mixed | Self::Drift)
            && !matches!(self, Self::ReadOnly | Self::Parallel)
            && !self.breaks_the_old_library()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = FAULTS.iter().find(|(_, name, _)| *name == text);
        found.map(|(kind, _, _)| *kind).ok_or_else(|| {
            let names: Vec<&str> = FAULTS.iter().map(|(_, name, _)| *name).collect();
            format!("no fault is called {text:?}; there are {}", names.join(", "))
        })
    }
}

/// The faults of a run, by number.
pub(super) struct Faults {
    menu: Vec<(Kind, u32)>,
    /// The first ones: each kind once.
    first: Vec<Kind>,
}

impl Faults {
    /// Of the kinds that `may` happen in this run.
    pub(super) fn new(soak: &Soak, may: impl Fn(Kind) -> bool) -> Self {
        let menu: Vec<(Kind, u32)> = FAULTS
            .iter()
            .filter(|(kind, _, _)| may(*kind))
            .map(|(kind, _, weight)| (*kind, *weight))
            .collect();
        let mut first: Vec<Kind> = menu.iter().map(|(kind, _)| *kind).collect();
        first.shuffle(&mut soak.rng("order of the faults"));
        Self { menu, first }
    }

    /// The fault of that number, and what all its choices are drawn from.
    pub(super) fn number(&self, soak: &Soak, number: u64) -> (Kind, StdRng) {
        let mut rng = soak.rng(&format!("fault {number}"));
        let at = usize::try_from(number - 1).expect("it fits");
        let kind = match self.first.get(at) {
            Some(kind) => *kind,
            None => *by_weight(&self.menu, &mut rng),
        };
        (kind, rng)
    }
}

/// Chooses one of a list by weight.
pub(super) fn by_weight<'a, T>(list: &'a [(T, u32)], rng: &mut StdRng) -> &'a T {
    let mut left = rng.random_range(0..list.iter().map(|(_, weight)| weight).sum());
    for (item, weight) in list {
        if left < *weight {
            return item;
        }
        left -= weight;
    }
    unreachable!("what is left is below the sum")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_one_name_that_leads_back_to_it() {
        for kind in kinds() {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("crush".parse::<Kind>().unwrap_err().contains("there are crash, "));
    }

    #[test]
    fn the_faults_of_a_seed_are_the_same_in_every_part_and_begin_with_each_kind_once() {
        let soak = Soak::for_tests(7);
        let faults = Faults::new(&soak, |_| true);
        let names = |from: u64, to: u64| -> Vec<&str> {
            (from..=to).map(|number| faults.number(&soak, number).0.name()).collect()
        };
        let all = names(1, 300);
        assert_eq!(all[149..], names(150, 300));
        let mut first = all[..FAULTS.len()].to_vec();
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), FAULTS.len());
        let other = Soak::for_tests(8);
        assert_ne!(Faults::new(&other, |_| true).number(&other, 1).1, faults.number(&soak, 1).1);
    }
}
