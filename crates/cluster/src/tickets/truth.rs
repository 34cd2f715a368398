//! What is: what was seen of tickets on their servers and in the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::names::{NodeName, TicketName};
use crate::rename::{Rename, renames};
use crate::set::ShardSet;
use crate::tickets::change::TicketChange;
use crate::tickets::class::TicketState;
use crate::tickets::rebase::{Notes, Seen};
use crate::tickets::{look_of, restored_by};

/// Everything that was seen about tickets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TicketTruth {
    /// The node that keeps the catalog.
    pub catalog: Option<NodeName>,
    /// The last migration of a catalog on MySQL; `None` where it is on
    /// PostgreSQL, which the plan of the shards brings up to date.
    pub catalog_migration: Option<i32>,
    /// The servers that the catalog knows.
    pub known_servers: BTreeMap<NodeName, KnownServer>,
    /// The tickets that the catalog knows.
    pub known: BTreeMap<TicketName, KnownTicket>,
    /// Changes of servers that are unfinished.
    pub changes: Vec<TicketChange>,
    /// What the servers said.
    pub servers: BTreeMap<NodeName, TicketServer>,
    /// The shards of the map, all of which live on PostgreSQL nodes.
    pub mapped: ShardSet,
    /// Servers that the catalog still knows by the names that they had. All else here has the
    /// names that they are to have.
    pub renames: Vec<Rename>,
}

impl TicketTruth {
    /// Finds the servers to which the cluster file gives another name than the catalog, and
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

    /// The number of the last look of which a server has a mark; 0 for none.
    pub(crate) fn last_look_here(&self) -> u64 {
        let marks = self.servers.values().filter_map(|server| server.mark.as_ref());
        marks.map(|mark| look_of(mark)).max().unwrap_or(0)
    }

    /// The same, by the marks that the catalog knows.
    pub(crate) fn last_look_known(&self) -> u64 {
        let marks = self.known_servers.values().flat_map(|known| &known.marks);
        marks.map(|mark| look_of(mark)).max().unwrap_or(0)
    }

    /// The number of a look that is made now.
    pub fn next_look(&self) -> u64 {
        self.last_look_here().max(self.last_look_known()).saturating_add(1)
    }

    /// The servers of which somebody has said that they were restored, and that are not raised yet: those on which it is
    /// noted, and those that were said with them.
    pub fn said_restored(&self) -> BTreeSet<NodeName> {
        let mut said = BTreeSet::new();
        for (node, server) in &self.servers {
            let Some(named) = server.mark.as_deref().and_then(restored_by) else { continue };
            said.insert(node.clone());
            said.extend(named.into_iter().map(|name| {
                let rename = self.renames.iter().find(|rename| rename.from == name);
                rename.map_or(name, |rename| rename.to.clone())
            }));
        }
        said
    }

    /// A ticket as a server has it.
    pub fn state(&self, node: &NodeName, ticket: &TicketName) -> Option<&TicketState> {
        self.servers.get(node)?.tickets.get(ticket)
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

impl fmt::Display for ByHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    /// What was left there with it: how far each ticket was on all of its servers together.
    pub notes: Notes,
    /// Whether what it has is of another server, which it took over from or was made from.
    pub elsewhere: bool,
    /// What of that has to be taken over by hand.
    pub by_hand: Vec<ByHand>,
    /// Tickets of which somebody has dropped what counts their numbers.
    pub without_sequence: Vec<TicketName>,
    /// The last of our migrations that was run there; `None` where the tickets
    /// come with something else (PostgreSQL's extension).
    pub migration: Option<i32>,
    /// Its tickets.
    pub tickets: BTreeMap<TicketName, TicketState>,
    /// Tags of segments that a MySQL server hands out.
    pub segments: Vec<String>,
    /// Shards that a MySQL server makes ids for, on its own account.
    pub shards: ShardSet,
}

impl TicketServer {
    /// Whether it is noted on it that it was restored, and it is not raised yet.
    pub fn is_said_restored(&self) -> bool {
        self.mark.as_deref().and_then(restored_by).is_some()
    }
}

/// A ticket server as the catalog knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownServer {
    /// Which server it was.
    pub identity: String,
    /// What was left there to know it again by, and what was about to be.
    pub marks: Vec<String>,
}

/// A ticket as the catalog knows it.
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
