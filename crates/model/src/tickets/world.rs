//! What is the state of servers and journal, and what does a statement do to it?

use std::collections::BTreeSet;

use shardid_cluster::{ChangeState, NodeName, classes};

use super::program::Program;
use super::rule::Rule;
use super::statement::{Ran, Record, Server, Statement, name, number};
use crate::protocol::Rules;

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// The servers.
    pub servers: [Option<Server>; 3],
    /// Whose session has locked each.
    pub locks: [Option<u8>; 3],
    /// The servers that the catalog knows, in the order of their classes.
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
