//! A long random run: sessions take ids while crashes, clock steps, promotions
//! and strangers come over them, and every id received is kept and compared.
//!
//! `make soak` runs it for as long as it is told, `make test` for a short while.
//! The seed determines every choice, but not the instants at which processes
//! get to run: a run that found something is likely, not certain, to find it
//! again. Rooms: [`ledger`] holds the ids received and the rules they must keep,
//! [`world`] the servers and what their clock was, [`session`] takes ids,
//! [`ways`] are the ways of taking them, [`trouble`] lets things happen, of which
//! [`takeover`] has those that move the shards elsewhere. [`fn@moves`] is a run of
//! its own, of the program that moves shards.

mod generators;
mod ledger;
mod moves;
mod session;
mod takeover;
mod trouble;
mod ways;
mod world;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;

pub use moves::{Seen, Until, moves};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// Everything, at random, for a while: shards of several layouts, all ways
    /// of taking ids.
    Random(Duration),
    /// Six sessions take so many ids each on one shard, in 20 crashes at random
    /// moments, with clock steps and a promotion in between.
    Crashes {
        /// Ids that each session takes.
        ids_each: u64,
    },
}

/// Who makes the ids. All but the first are known to repeat: with them a run
/// must find something, or it could not find anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// The extension.
    Shardid,
    /// Instagram's function, whose counter is not tied to the millisecond.
    Classic,
    /// The extension, but somebody puts a sequence back while the clock is behind.
    PutBack,
}

/// What a run has seen, where it found nothing.
#[derive(Debug, Clone)]
pub struct Report {
    /// Ids received, no two of them the same.
    pub ids: u64,
    /// How often a session began.
    pub sessions: u64,
    /// How often the clock rule or a fence refused, as it should.
    pub refused: u64,
    /// How often each thing happened.
    pub events: BTreeMap<&'static str, u64>,
    /// How many ids were received in each way.
    pub ways: BTreeMap<&'static str, u64>,
    /// How long it took.
    pub elapsed: Duration,
}

/// What a run has found.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule that was broken, and by what.
    pub what: String,
    /// The last things that happened before.
    pub events: Vec<String>,
    /// How many ids had been received.
    pub ids: u64,
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

    /// A generator of choices, determined by the seed and a name.
    fn rng(&self, name: &str) -> StdRng {
        let mut hasher = DefaultHasher::new();
        (self.seed, name).hash(&mut hasher);
        StdRng::seed_from_u64(hasher.finish())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ids to {} sessions in {:.1} s: none came twice, all rose within their session",
            grouped(self.ids),
            grouped(self.sessions),
            self.elapsed.as_secs_f64()
        )?;
        let list = |counts: &BTreeMap<&'static str, u64>| {
            let parts: Vec<String> =
                counts.iter().map(|(name, count)| format!("{name} {}", grouped(*count))).collect();
            parts.join(", ")
        };
        writeln!(f, "happened: {}", list(&self.events))?;
        writeln!(f, "ids by way: {}", list(&self.ways))?;
        write!(f, "refused by the clock rule or a fence: {}", grouped(self.refused))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\nafter {} ids, and what happened last:", self.what, grouped(self.ids))?;
        for event in &self.events {
            writeln!(f, "{event}")?;
        }
        Ok(())
    }
}

/// 1,234,567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(123), "123");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
