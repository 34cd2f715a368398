//! Driving what a journal says is to be done: a move of a shard, a change of ticket servers.

use std::fmt::Display;

use crate::cuts;
use crate::failure::Failure;

/// What a journal holds with a state, of which each has effects and leads to another.
pub(crate) trait Intent {
    /// A word of the journal.
    type State: Copy + Display;
    /// How the effects of a state have ended.
    type Event;

    /// What the places at which it can be cut begin with, beside the state.
    const PLACE: &'static str = "";

    /// The state that the journal holds; `None` once nothing is left to do.
    fn unfinished(&self) -> Option<Self::State>;

    /// Takes the effects of the state. Each can be taken again after a cut.
    async fn take_effects(&mut self) -> Result<Self::Event, Failure>;

    /// Has the journal hold the state to which that leads. An error where the journal
    /// holds another state, or the term of another program.
    async fn advance(&mut self, event: Self::Event) -> Result<(), Failure>;
}

/// Drives it until nothing is left to do.
///
/// Every step begins with what the journal holds and ends with the next state in it: a
/// program that is killed anywhere is followed by one that takes the same effects again.
pub(crate) async fn drive<I: Intent>(intent: &mut I) -> Result<(), Failure> {
    while let Some(state) = intent.unfinished() {
        let event = intent.take_effects().await?;
        cuts::at(format_args!("{}{state}/before-next", I::PLACE));
        intent.advance(event).await?;
        cuts::at(format_args!("{}{state}/after-next", I::PLACE));
    }
    Ok(())
}
