//! A long random run: sessions take ids while crashes, clock steps, promotions
//! and strangers come over them, and every id received is kept and compared.
//!
//! `make soak` runs it for as long as it is told, `make test` for a short while.
//! The seed determines every choice, but not the instants at which processes
//! get to run: a run that found something is likely, not certain, to find it
//! again. Rooms: [`ledger`] holds the ids received and the rules they must keep,
//! [`hours`] what clock they go by, [`proof`] plants repeats that must be noticed;
//! [`world`] is where it takes place, [`watch`] what was found there; [`session`] takes ids, [`ways`] are the ways of
//! taking them, [`script`] mixes statements in a transaction. [`fault`] numbers what
//! happens and [`trouble`] lets it happen: [`surgery`] does an [`operation`] on a
//! sequence, [`takeover`] moves the shards to another server, [`copies`] to another
//! database. [`fn@moves`] is a run of its own, of the program that moves shards.

mod copies;
mod fault;
mod generators;
mod hours;
mod ledger;
mod moves;
mod operation;
mod play;
mod proof;
mod queries;
mod report;
mod script;
mod session;
mod steps;
mod surgery;
mod takeover;
mod trouble;
mod watch;
mod ways;
mod world;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;

pub use fault::{Kind, kinds};
pub use moves::{Seen, Until, moves};
pub use report::{Finding, Report};
pub use script::Ending;
use world::World;

/// What a run is to do.
#[derive(Debug, Clone)]
pub struct Soak {
    /// Determines every choice.
    pub seed: u64,
    /// What happens, and for how long.
    pub scenario: Scenario,
    /// Who makes the ids.
    pub maker: Maker,
    /// Whether a line is printed to standard error for everything that happens.
    pub talk: bool,
}

/// What happens in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scenario {
    /// Faults at random, on shards of several layouts, with all ways of taking ids.
    Random(Part),
    /// Six sessions take so many ids each on one shard, in 20 crashes at random
    /// moments, with clock steps and a promotion in between.
    Crashes {
        /// Ids that each session takes.
        ids_each: u64,
    },
}

/// Which of the numbered faults of a seed happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The number of the first; 1 is where a seed begins.
    pub from: u64,
    /// The number of the last.
    pub to: u64,
    /// How long it may take at most: what is left is for another part.
    pub limit: Duration,
    /// The only kinds of fault; all where there are none.
    pub only: Vec<Kind>,
    /// How operations on sequences end, if not at random.
    pub ending: Option<Ending>,
}

impl Part {
    /// Each kind of fault once.
    pub fn each_kind() -> Self {
        let to = kinds().count().try_into().expect("there are not that many");
        Self { from: 1, to, limit: Duration::from_secs(300), only: Vec::new(), ending: None }
    }

    /// Whatever happens for a while.
    pub fn lasting(limit: Duration) -> Self {
        Self { from: 1, to: u64::MAX, limit, only: Vec::new(), ending: None }
    }
}

/// Who makes the ids. All but the first are known to repeat: with them a run
/// must find something, or it could not find anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// The extension.
    Shardid,
    /// Instagram's function, whose counter is not tied to the millisecond.
    Classic,
    /// A function that now and then returns the session's last id once more.
    Planted,
    /// The extension; but after the first fault a session hands in an id from before it.
    Forged,
}

impl Soak {
    /// Runs to the end, or until something is found.
    ///
    /// # Errors
    ///
    /// With what was found. The logs of the servers are kept under
    /// `target/test-logs`.
    ///
    /// # Panics
    ///
    /// Where a server does not start or stop.
    pub fn run(&self) -> Result<Report, Finding> {
        let start = Instant::now();
        let world = Arc::new(World::new(self));
        let sessions: Vec<_> = (0..6)
            .map(|number| {
                let world = Arc::clone(&world);
                let name = format!("session {number}");
                thread::Builder::new()
                    .name(name)
                    .spawn(move || session::run(&world, number))
                    .expect("a thread can be made")
            })
            .collect();
        // What happens is done here, one thing after another.
        let happened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            trouble::run(&world);
        }));
        world.stop();
        for session in sessions {
            if session.join().is_err() {
                world.fail("a session panicked");
            }
        }
        if let Err(panic) = happened {
            std::panic::resume_unwind(panic);
        }
        world.check_the_end();
        world.report(start.elapsed())
    }

    #[cfg(test)]
    fn for_tests(seed: u64) -> Self {
        let scenario = Scenario::Random(Part::each_kind());
        Self { seed, scenario, maker: Maker::Shardid, talk: false }
    }

    /// A generator of choices, determined by the seed and a name.
    fn rng(&self, name: &str) -> StdRng {
        let mut hasher = DefaultHasher::new();
        (self.seed, name).hash(&mut hasher);
        StdRng::seed_from_u64(hasher.finish())
    }
}
