//! From N servers to M without a repeated number, cut and taken up anywhere.
//!
//! A floor is chosen above every number handed out so far, with room for those
//! that are handed out meanwhile. Then, in this order and never another:
//!
//! 1. every old server gets a ceiling: it hands out nothing above the floor;
//! 2. when *all* of them have it, every new server gets its new class, all of
//!    whose numbers are above the floor;
//! 3. servers that left hand out nothing more.
//!
//! So numbers of old classes are at or below the floor and numbers of new ones
//! above it, whatever is cut, repeated or late.

use crate::names::{NodeName, TicketName};
use crate::tickets::{Class, MARGIN, TicketState, classes};
use crate::words::words;

words! { "a state of a change of ticket servers":
    /// How far a change has come. Each state is written down before its effects.
    pub enum ChangeState {
        /// The floor is chosen; the old servers are being limited to it.
        Planned = "planned",
        /// All old servers are limited; the new ones are given their classes.
        Limited = "limited",
        /// All new servers have their classes; those that left are told to end.
        Stepped = "stepped",
        /// Nothing is left to do.
        Done = "done",
    }
}

/// A change of a ticket's servers, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketChange {
    /// Its number in the journal.
    pub id: i64,
    /// The ticket.
    pub ticket: TicketName,
    /// The servers it had, in the order of their classes.
    pub before: Vec<NodeName>,
    /// The servers it is to have.
    pub after: Vec<NodeName>,
    /// Servers whose owner says that they are gone for good: they are not
    /// asked, and the floor is above all that the old ones of them can have handed out.
    pub gone: Vec<NodeName>,
    /// Old numbers are at or below it, new ones above.
    pub floor: u64,
    /// How far it has come.
    pub state: ChangeState,
}

/// Why servers cannot be taken for gone in a change that stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotGone {
    /// It takes no part.
    #[error("{0} takes no part in the change of ticket {1}")]
    NoPart(NodeName, TicketName),
    /// Nobody would hand the ticket out.
    #[error("ticket {0} would have no server")]
    NoServer(TicketName),
    /// Old servers are gone that may not have been told where to end.
    #[error("nobody knows how far {0} has got")]
    HowFar(NodeName),
    /// There are not enough numbers left.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
}

impl TicketChange {
    /// The change where these servers are gone for good; `states` are of the old ones that are
    /// left, and `above` is a number at or above all that those which are gone can have handed
    /// out.
    ///
    /// Until all old servers are limited no new class has begun: the floor rises above `above`, and
    /// the classes are of those that are left. After that classes stay as they were
    /// written down, since some may be in use; nobody has that of a server that is gone.
    pub fn without<'a>(
        &self,
        gone: &[NodeName],
        states: impl IntoIterator<Item = &'a TicketState>,
        above: Option<u64>,
    ) -> Result<Self, NotGone> {
        let mut change = self.clone();
        for node in gone {
            if !self.before.contains(node) && !self.after.contains(node) {
                return Err(NotGone::NoPart(node.clone(), self.ticket.clone()));
            }
            if !change.gone.contains(node) {
                change.gone.push(node.clone());
            }
        }
        if self.state == ChangeState::Planned {
            if let (Some(node), None) = (gone.iter().find(|node| self.before.contains(node)), above)
            {
                return Err(NotGone::HowFar(node.clone()));
            }
            change.after.retain(|node| !gone.contains(node));
            change.floor = change.floor.max(first_floor(states, above.unwrap_or(0))?);
        }
        match change.after.iter().all(|node| change.gone.contains(node)) {
            true => Err(NotGone::NoServer(self.ticket.clone())),
            false => Ok(change),
        }
    }
}

impl TicketChange {
    /// Whether the servers are further than the journal, which then comes from a backup: one has a
    /// class that begins above what this change allows for, or was told to end there.
    ///
    /// A floor is written down before any server is told of it.
    pub fn is_outdated<'a>(&self, states: impl IntoIterator<Item = &'a TicketState>) -> bool {
        let has_begun = |state: &TicketState| match self.state {
            // Until then no server has a new class.
            ChangeState::Planned => state.floor >= self.floor,
            _ => state.floor > self.floor,
        };
        let ends_later = |state: &TicketState| {
            state.ceiling.is_some_and(|ceiling| ceiling > self.floor.saturating_add(1))
        };
        states.into_iter().any(|state| has_begun(state) || ends_later(state))
    }

    /// Whether a server that is in this state cannot be given its class by this change any more: it stands above the
    /// floor, as one does that was raised above what it had forgotten.
    pub fn is_passed_by(&self, state: &TicketState) -> bool {
        self.state == ChangeState::Limited && state.floor != self.floor && state.last > self.floor
    }

    /// Whether a server has been given the class that it keeps.
    pub fn has_its_class(&self, node: &NodeName, state: &TicketState) -> bool {
        let mut classes = classes(&self.after);
        self.state == ChangeState::Stepped
            && state.floor == self.floor
            && classes.any(|(other, class)| other == node && class == state.class)
    }

    /// The same change begun anew, from all servers that hand the ticket out now, with their states; `above` is a
    /// number that others of its servers have reached.
    pub fn anew(
        &self,
        handing_out: &[(NodeName, &TicketState)],
        above: u64,
    ) -> Result<Self, NoRoom> {
        let states = handing_out.iter().map(|(_, state)| *state);
        let floor = first_floor(states, self.floor.max(above))?;
        let before = handing_out.iter().map(|(node, _)| node.clone()).collect();
        Ok(Self { before, floor, state: ChangeState::Planned, ..self.clone() })
    }
}

/// One thing to do on one server. Each may be done twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeEffect {
    /// Hand out nothing at or above the ceiling.
    Limit {
        /// The server.
        node: NodeName,
        /// The first number that must not be handed out.
        ceiling: u64,
    },
    /// Hand out this class, above the floor, instead of the one before.
    Restep {
        /// The server.
        node: NodeName,
        /// The new class.
        class: Class,
        /// All its numbers are above it.
        floor: u64,
    },
    /// Begin to hand out this class, above the floor; a server that served the
    /// ticket earlier goes on.
    Create {
        /// The server.
        node: NodeName,
        /// Its class.
        class: Class,
        /// All its numbers are above it.
        floor: u64,
    },
    /// Hand out nothing more. What was handed out stays known there, so that
    /// nobody begins the ticket at 1 again by mistake.
    Retire {
        /// The server.
        node: NodeName,
        /// No number of its is above it, however quick its clients are.
        floor: u64,
    },
}

/// There are not enough numbers left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the numbers end at {max}, and the new servers would have to begin above {floor}")]
pub struct NoRoom {
    /// The largest number there can be.
    pub max: u64,
    /// Where the new numbers would have to begin.
    pub floor: u64,
}

/// The floor for a change of servers that look like this; `above` is a number
/// that the caller knows to have been handed out.
pub fn first_floor<'a>(
    states: impl IntoIterator<Item = &'a TicketState>,
    above: u64,
) -> Result<u64, NoRoom> {
    let (mut highest, mut max) = (above, u64::MAX);
    for state in states {
        highest = highest.max(state.last).max(state.floor);
        max = max.min(state.max);
    }
    let floor = highest.saturating_add(MARGIN);
    // The last class must fit a number above it as well.
    match floor.saturating_add(MARGIN) < max {
        true => Ok(floor),
        false => Err(NoRoom { max, floor }),
    }
}

/// What is to be done in the state that a change is in. The next state may be
/// written down when all of it is done.
pub fn change_effects(change: &TicketChange) -> Vec<ChangeEffect> {
    let asked = |node: &&NodeName| !change.gone.contains(node);
    let floor = change.floor;
    match change.state {
        ChangeState::Planned => (change.before.iter().filter(asked))
            .map(|node| ChangeEffect::Limit { node: node.clone(), ceiling: floor + 1 })
            .collect(),
        ChangeState::Limited => classes(&change.after)
            .filter(|(node, _)| asked(node))
            .map(|(node, class)| {
                let node = node.clone();
                match change.before.contains(&node) {
                    true => ChangeEffect::Restep { node, class, floor },
                    false => ChangeEffect::Create { node, class, floor },
                }
            })
            .collect(),
        ChangeState::Stepped => (change.before.iter().filter(asked))
            .filter(|node| !change.after.contains(node))
            .map(|node| ChangeEffect::Retire { node: node.clone(), floor })
            .collect(),
        ChangeState::Done => Vec::new(),
    }
}

/// The state after all effects of this one; `None` at the end.
pub fn next_change_state(state: ChangeState) -> Option<ChangeState> {
    match state {
        ChangeState::Planned => Some(ChangeState::Limited),
        ChangeState::Limited => Some(ChangeState::Stepped),
        ChangeState::Stepped => Some(ChangeState::Done),
        ChangeState::Done => None,
    }
}

#[cfg(test)]
mod tests;
