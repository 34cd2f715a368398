//! Would a repeat be noticed? After each fault an id from before it is handed in again.
//!
//! It waits until a session has taken ids from that generator after the fault, and comes
//! with them, as an id would that the generator gave twice. So it proves that the
//! generator gives ids after the fault, and that they are held against those from before.

use std::collections::BTreeMap;
use std::time::Instant;

use super::fault::Kind;

/// An id that will be handed in again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plant {
    pub(super) kind: Kind,
    /// The generator.
    pub(super) which: usize,
    /// Given before the fault.
    pub(super) id: i64,
    /// When the fault was over.
    pub(super) from: Instant,
}

/// The plants of a run.
#[derive(Default)]
pub(super) struct Proof {
    waiting: Vec<Plant>,
    pub(super) noticed: BTreeMap<&'static str, u64>,
}

impl Proof {
    pub(super) fn plant(&mut self, plant: Plant) {
        self.waiting.push(plant);
    }

    /// The plants that come with ids which were asked for after `since`.
    pub(super) fn due(&mut self, which: usize, since: Instant) -> Vec<Plant> {
        let due = |plant: &mut Plant| plant.which == which && plant.from < since;
        self.waiting.extract_if(.., due).collect()
    }

    pub(super) fn notice(&mut self, kind: Kind) {
        *self.noticed.entry(kind.name()).or_default() += 1;
    }
}
