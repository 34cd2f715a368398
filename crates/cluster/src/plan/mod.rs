//! The difference between what should be and what is, as steps to take.

mod answer;
mod checks;
mod program;
mod step;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use answer::{Note, Plan};
pub use program::Program;
pub use step::{NodeChange, Step};

use crate::declared::Declared;
use crate::names::NodeName;
use crate::refusal::Refusal;
use crate::truth::Truth;

/// Finds the steps from what is to what should be.
///
/// The steps are safe to cut anywhere: the plan made afterwards goes on where
/// they stopped. No step moves a shard. A node named in `adopt` may be another
/// database than before. All reasons against are given at once.
pub fn plan(
    declared: &Declared,
    truth: &Truth,
    program: &Program,
    adopt: &BTreeSet<NodeName>,
) -> Result<Plan, Vec<Refusal>> {
    let refusals = checks::refusals(declared, truth, program, adopt);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    steps::steps(declared, truth, program).map_err(|refusal| vec![refusal])
}
