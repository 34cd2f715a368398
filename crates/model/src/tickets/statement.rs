//! What do servers and journal keep, and which transactions change it?

use shardid_cluster::{
    ChangeEffect, ChangeState, Class, NodeName, TicketChange, TicketName, TicketState,
};

/// A ticket as a server has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Server {
    /// The numbers that it hands out.
    pub class: Class,
    /// The last of them.
    pub last: u64,
    /// They are all above it.
    pub floor: u64,
    /// And below this.
    pub ceiling: Option<u64>,
}

impl Server {
    pub(crate) fn state(&self) -> TicketState {
        let Self { class, last, floor, ceiling } = *self;
        TicketState { class, last, floor, ceiling, max: u64::MAX }
    }
}

/// A change in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// The servers that it is from.
    pub before: Vec<u8>,
    /// And to.
    pub after: Vec<u8>,
    /// Old numbers are at or below it.
    pub floor: u64,
    /// How far it is.
    pub state: ChangeState,
    /// The last program that has taken it in hand.
    pub term: u8,
}

impl Record {
    /// As the rules take it.
    pub(crate) fn change(&self) -> TicketChange {
        let names = |servers: &[u8]| servers.iter().map(|server| name(*server)).collect();
        TicketChange {
            id: 1,
            ticket: TicketName::new("orders").expect("it is a name"),
            before: names(&self.before),
            after: names(&self.after),
            gone: Vec::new(),
            floor: self.floor,
            state: self.state,
        }
    }
}

pub(super) fn name(server: u8) -> NodeName {
    NodeName::new(&format!("my{server}")).expect("it is a name")
}

/// The number of a server.
pub(crate) fn number(node: &NodeName) -> usize {
    node.as_str().trim_start_matches("my").parse().expect("we have named it")
}

/// A transaction of a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Statement {
    /// On a server.
    Limit(usize, u64),
    /// On a server: another class above a floor, or the first one.
    Restep(usize, Class, u64),
    /// On a server: nothing more.
    End(usize),
    /// In the journal: a change begins, of servers that were so; nothing of it is known yet.
    Begin(Record, Vec<u8>),
    /// In the journal: from a state to the next.
    Advance(ChangeState, ChangeState),
    /// In the journal: a higher floor.
    Raise(u64),
}

impl Statement {
    /// What the real rule asks for.
    pub(crate) fn of(effect: &ChangeEffect) -> Self {
        match effect {
            ChangeEffect::Limit { node, ceiling } => Self::Limit(number(node), *ceiling),
            ChangeEffect::Restep { node, class, floor }
            | ChangeEffect::Create { node, class, floor } => {
                Self::Restep(number(node), *class, *floor)
            }
            ChangeEffect::Retire { node, .. } => Self::End(number(node)),
        }
    }

    /// The server that it is about.
    pub(crate) fn server(&self) -> Option<usize> {
        match self {
            Self::Limit(server, _) | Self::Restep(server, ..) | Self::End(server) => Some(*server),
            _ => None,
        }
    }
}

/// How a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ran {
    Done,
    /// The server has handed out more than the ceiling.
    Passed,
    Refused,
}
