//! What is the state of servers and journal, and what does a statement do to it?

use std::collections::BTreeSet;

use shardid_cluster::{
    ChangeEffect, ChangeState, Class, NodeName, TicketChange, TicketName, TicketState, classes,
};

use super::program::Program;
use crate::protocol::Rules;

/// A rule that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Rule {
    /// A change begins from the servers that the catalogue has. Out: from those that were read.
    KnownServers,
    /// Who works on a change goes by what it is when it is taken in hand. Out: by what was read.
    ReadWhenTaken,
    /// The journal goes on from the state that is read, for the last program alone.
    CompareAndSet,
    /// Servers are locked by the sessions that change them.
    ServerLock,
    /// New classes begin when all old servers have their ceiling. Out: one after the other.
    CeilingsFirst,
    /// A floor that was passed is raised. Out: it stays.
    RaiseFloor,
}

impl From<Rule> for u32 {
    fn from(rule: Rule) -> Self {
        rule as Self
    }
}

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

fn name(server: u8) -> NodeName {
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

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// The servers.
    pub servers: [Option<Server>; 3],
    /// Whose session has locked each.
    pub locks: [Option<u8>; 3],
    /// The servers that the catalogue knows, in the order of their classes.
    pub known: Vec<u8>,
    /// The last change.
    pub change: Option<Record>,
    /// Who has the lock of the cluster.
    pub lock: Option<u8>,
    /// The programs.
    pub programs: [Program; 2],
    /// What a program that was killed has under way, with its number and term.
    pub late: Option<(Statement, u8, u8)>,
    /// The numbers that were handed out.
    pub given: BTreeSet<u64>,
    /// Whether one was handed out twice.
    pub twice: bool,
    /// How many programs may still begin.
    pub begins: u8,
    /// How many statements may still be late.
    pub lates: u8,
    /// How often the lock may still be lost.
    pub losses: u8,
    /// How many numbers may still be taken.
    pub takes: u8,
    /// How often clients may still be quicker than anybody believes.
    pub rushes: u8,
}

impl World {
    /// A client takes the next number of a server above another one.
    pub(crate) fn take(&mut self, server: usize, above: u64) -> bool {
        let Some(state) = self.servers[server].as_mut() else { return false };
        let first = state.last.max(above) + 1;
        let next = (first..).find(|n| state.class.contains(*n)).expect("numbers go on");
        if state.ceiling.is_some_and(|ceiling| next >= ceiling) {
            return false;
        }
        state.last = next;
        self.twice |= !self.given.insert(next);
        true
    }

    /// Runs a statement for the program with a term.
    pub(crate) fn run(&mut self, statement: &Statement, term: u8, rules: Rules) -> Ran {
        match statement {
            Statement::Limit(server, ceiling) => {
                let Some(state) = self.servers[*server].as_mut() else { return Ran::Refused };
                if state.last >= *ceiling {
                    return Ran::Passed;
                }
                state.ceiling = Some(*ceiling);
            }
            Statement::Restep(server, class, floor) => {
                let new = Server { class: *class, last: *floor, floor: *floor, ceiling: None };
                match &mut self.servers[*server] {
                    Some(state) if state.class == *class && state.floor == *floor => {}
                    Some(state) if state.last > *floor => return Ran::Refused,
                    state => *state = Some(new),
                }
            }
            Statement::End(server) => {
                let Some(state) = self.servers[*server].as_mut() else { return Ran::Refused };
                state.ceiling = Some(state.last + 1);
            }
            Statement::Begin(record, known) => {
                let standing = self.standing();
                let others = rules.hold(Rule::KnownServers) && self.known != *known;
                if standing || others {
                    return Ran::Refused;
                }
                let term = self.change.as_ref().map_or(0, |change| change.term);
                self.change = Some(Record { term, ..record.clone() });
            }
            Statement::Advance(from, to) => {
                let Some(change) = self.change.as_mut() else { return Ran::Refused };
                let ours = change.state == *from && change.term == term;
                if rules.hold(Rule::CompareAndSet) && !ours {
                    return Ran::Refused;
                }
                change.state = *to;
                if *from == ChangeState::Limited {
                    self.known = change.after.clone();
                }
            }
            Statement::Raise(floor) => {
                let Some(change) = self.change.as_mut() else { return Ran::Refused };
                let ours = change.term == term || !rules.hold(Rule::CompareAndSet);
                if change.state != ChangeState::Planned || !ours {
                    return Ran::Refused;
                }
                change.floor = change.floor.max(*floor);
            }
        }
        Ran::Done
    }

    /// Whether a change is not over.
    pub(crate) fn standing(&self) -> bool {
        self.change.as_ref().is_some_and(|change| change.state != ChangeState::Done)
    }

    /// What is wrong where nothing stands.
    pub(crate) fn wrong_at_rest(&self) -> Option<&'static str> {
        let known: Vec<NodeName> = self.known.iter().map(|server| name(*server)).collect();
        for (node, class) in classes(&known) {
            match self.servers[number(node)] {
                Some(state) if state.class == class && state.ceiling.is_none() => {}
                Some(state) if state.class == class => return Some("a server hands out nothing"),
                _ => return Some("a server does not hand out its class"),
            }
        }
        let goes_on = |server: &Server| !server.state().has_ended();
        let other = (0..3_u8).filter(|server| !self.known.contains(server));
        let mut stray =
            other.filter(|server| self.servers[usize::from(*server)].as_ref().is_some_and(goes_on));
        stray.next().map(|_| "a server that left hands out numbers")
    }
}
