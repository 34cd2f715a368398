//! Tickets: numbers from a counter that several servers share by offset and step.
//!
//! N servers hand out one ticket: number k of them has the numbers that leave
//! the rest k when divided by N (N itself leaves 0). No server ever asks
//! another. What is left to do, and is done here as values in, values out:
//!
//! - [`change`] grows or shrinks the set of servers without a repeated number;
//! - [`rebase`] says how far a server must jump that has forgotten numbers;
//! - [`plan`] is the difference between what should be and what is;
//! - [`problems`] is what could repeat a number on the servers as they are.

mod change;
mod plan;
mod problems;
mod rebase;

use std::collections::BTreeMap;
use std::fmt;

pub use change::{
    ChangeEffect, ChangeState, NoRoom, TicketChange, change_effects, first_floor, next_change_state,
};
pub use plan::{TicketNote, TicketPlan, TicketStep, ticket_plan};
pub use problems::{TicketProblem, problems, unseen};
pub(crate) use rebase::forgetful;
pub use rebase::{MARGIN, Seen, SeenAt, forgotten_above, safe_floor};

use crate::names::{NodeName, TicketName};
use crate::rename::{Rename, renames};
use crate::set::ShardSet;

/// The most servers that one ticket may have: each one more makes its numbers
/// sparser.
pub const SERVERS_MAX: usize = 1000;

/// Which numbers a server hands out: those that leave `server` modulo `servers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// 1 … servers.
    pub server: u32,
    /// How many servers there are; also the step from number to number.
    pub servers: u32,
}

impl Class {
    /// Whether a number is one of these.
    pub fn contains(self, number: u64) -> bool {
        number % u64::from(self.servers) == u64::from(self.server % self.servers)
    }

    /// The largest of these up to a number; 0 where there is none.
    pub fn at_or_below(self, number: u64) -> u64 {
        let servers = u64::from(self.servers);
        let beyond = (number % servers + servers - u64::from(self.server % self.servers)) % servers;
        number.saturating_sub(beyond)
    }
}

impl fmt::Display for Class {
    /// `2 of 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.server, self.servers)
    }
}

/// The class of each server of a ticket, in their order.
pub fn classes(servers: &[NodeName]) -> impl Iterator<Item = (&NodeName, Class)> {
    let count = u32::try_from(servers.len()).expect("checked when it was declared");
    servers.iter().zip(1..).map(move |(node, server)| (node, Class { server, servers: count }))
}

/// A ticket of the cluster file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredTicket {
    /// Its name.
    pub name: TicketName,
    /// The servers that hand it out, in the order of their classes.
    pub servers: Vec<NodeName>,
}

/// A ticket as one server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketState {
    /// The numbers it hands out.
    pub class: Class,
    /// The last number it handed out; the floor where there was none yet.
    pub last: u64,
    /// Every number of this class is above it.
    pub floor: u64,
    /// No number at or above it is handed out: the set of servers is being changed.
    pub ceiling: Option<u64>,
    /// The largest number there can be.
    pub max: u64,
}

impl TicketState {
    /// Whether it has forgotten a number of its own up to one that was seen, or was raised to.
    pub fn is_behind(&self, high_water: u64) -> bool {
        self.last < self.class.at_or_below(high_water)
    }

    /// Whether it hands out nothing more: the server was taken away from the ticket.
    pub fn has_ended(&self) -> bool {
        self.ceiling.is_some_and(|ceiling| self.last + 1 >= ceiling)
    }
}

/// What a server has of another one, and adopting leaves as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ByHand {
    /// A ticket without gaps: somebody has to say its last number.
    Gapless(String),
    /// A ticket or a segment tag that is too near its end for numbers to be left out.
    NoRoom(String),
}

impl ByHand {
    /// Whether it is this ticket.
    pub fn is_ticket(&self, ticket: &TicketName) -> bool {
        match self {
            Self::Gapless(name) => name == ticket.as_str(),
            Self::NoRoom(what) => what.strip_prefix("ticket ") == Some(ticket.as_str()),
        }
    }
}

impl std::fmt::Display for ByHand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gapless(ticket) => write!(f, "ticket {ticket}, which has no gaps,"),
            Self::NoRoom(what) => write!(f, "{what}, which is near its end,"),
        }
    }
}

/// What one ticket server said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TicketServer {
    /// Which server it is: another one, or one from a backup, says something else.
    pub identity: String,
    /// What was last left there to know it again by.
    pub mark: Option<String>,
    /// Whether what it has is of another server, which it took over from or was made from.
    pub elsewhere: bool,
    /// What of that has to be taken over by hand.
    pub by_hand: Vec<ByHand>,
    /// The last of our migrations that was run there; `None` where the tickets
    /// come with something else (PostgreSQL's extension).
    pub migration: Option<i32>,
    /// Its tickets.
    pub tickets: BTreeMap<TicketName, TicketState>,
    /// Shards that a MySQL server makes ids for, on its own account.
    pub shards: ShardSet,
}

/// A ticket server as the catalogue knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownServer {
    /// Which server it was.
    pub identity: String,
    /// What was left there to know it again by, and what was about to be.
    pub marks: Vec<String>,
}

/// A ticket as the catalogue knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownTicket {
    /// Its servers in the order of their classes, each with what was seen there.
    pub servers: Vec<(NodeName, Seen)>,
}

impl KnownTicket {
    /// The servers, in the order of their classes.
    pub fn nodes(&self) -> Vec<NodeName> {
        self.servers.iter().map(|(node, _)| node.clone()).collect()
    }
}

/// Everything that was seen about tickets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TicketTruth {
    /// The node that keeps the catalogue.
    pub catalog: Option<NodeName>,
    /// The last migration of a catalogue on MySQL; `None` where it is on
    /// PostgreSQL, which the plan of the shards brings up to date.
    pub catalog_migration: Option<i32>,
    /// The servers that the catalogue knows.
    pub known_servers: BTreeMap<NodeName, KnownServer>,
    /// The tickets that the catalogue knows.
    pub known: BTreeMap<TicketName, KnownTicket>,
    /// Changes of servers that are standing.
    pub changes: Vec<TicketChange>,
    /// What the servers said.
    pub servers: BTreeMap<NodeName, TicketServer>,
    /// The shards of the map, all of which live on PostgreSQL nodes.
    pub mapped: ShardSet,
    /// Servers that the catalogue still knows by the names that they had. All else here has the
    /// names that they are to have.
    pub renames: Vec<Rename>,
}

impl TicketTruth {
    /// Finds the servers to which the cluster file gives another name than the catalogue, and
    /// has what is known of them be by the new one. Those of a change that stands keep theirs.
    pub fn find_renames(&mut self, is_declared: impl Fn(&NodeName) -> bool) {
        let known = self.known_servers.iter();
        let known = known.map(|(name, server)| (name.clone(), server.identity.clone())).collect();
        let seen = self.servers.iter().map(|(name, server)| (name, &server.identity));
        // A server without our schema does not say which one it is yet.
        let seen = seen.filter(|(_, identity)| !identity.is_empty());
        let at_work: Vec<&NodeName> = (self.changes.iter())
            .flat_map(|change| [&change.before, &change.after, &change.gone])
            .flatten()
            .collect();
        let mut found = renames(&known, seen, is_declared);
        found.retain(|rename| !at_work.contains(&&rename.from));
        for Rename { from, to } in &found {
            if let Some(server) = self.known_servers.remove(from) {
                self.known_servers.insert(to.clone(), server);
            }
            let all = self.known.values_mut().flat_map(|known| &mut known.servers);
            all.filter(|(node, _)| node == from).for_each(|(node, _)| node.clone_from(to));
        }
        self.renames = found;
    }

    /// A ticket as a server has it.
    pub fn state(&self, node: &NodeName, ticket: &TicketName) -> Option<&TicketState> {
        self.servers.get(node)?.tickets.get(ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_servers_have_odd_and_even_numbers_and_three_have_thirds() {
        let of = |server, servers| {
            let class = Class { server, servers };
            (1..=9).filter(|n| class.contains(*n)).collect::<Vec<u64>>()
        };
        assert_eq!(of(1, 2), [1, 3, 5, 7, 9]);
        assert_eq!(of(2, 2), [2, 4, 6, 8]);
        assert_eq!(of(1, 3), [1, 4, 7]);
        assert_eq!(of(2, 3), [2, 5, 8]);
        assert_eq!(of(3, 3), [3, 6, 9]);
        assert_eq!(of(1, 1), (1..=9).collect::<Vec<u64>>());
        for servers in 1..=7 {
            for (server, number) in (1..=servers).flat_map(|s| (0..50).map(move |n| (s, n))) {
                let class = Class { server, servers };
                let below = (1..=number).rev().find(|n| class.contains(*n)).unwrap_or(0);
                assert_eq!(class.at_or_below(number), below, "{class} below {number}");
            }
        }
    }
}
