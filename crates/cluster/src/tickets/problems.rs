//! What of the tickets could repeat a number, and the command that mends it.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{NodeName, TicketName};
use crate::set::ShardSet;
use crate::tickets::{ByHand, Class, TicketTruth, classes, look_of};

/// Something on a server that could repeat a number.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TicketProblem {
    /// The server hands out other numbers than it should.
    #[error("ticket {ticket} on {node} hands out class {found} and not {wanted}")]
    WrongClass {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
        /// What it hands out.
        found: Class,
        /// What the catalog says.
        wanted: Class,
    },
    /// The server has handed out numbers that it does not remember.
    #[error("ticket {ticket} on {node} stands at {last}, although {high_water} was handed out")]
    Behind {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
        /// What it remembers.
        last: u64,
        /// What was seen.
        high_water: u64,
    },
    /// The server was restored from a backup.
    #[error(
        "node {0} was restored from a backup: it does not carry the mark that was last left there"
    )]
    OldMark(NodeName),
    /// The server has an earlier mark than another one, and the catalog knows of none that is as late.
    #[error(
        "node {0} has an earlier mark than other servers, and the catalog knows of no later one: both are new or from a backup"
    )]
    EarlierMark(NodeName),
    /// The catalog knows less than a mark on this server tells.
    #[error("the catalog is of an earlier time than node {0}: it does not know the mark there")]
    OldCatalog(NodeName),
    /// Somebody has said that the server was restored, and it is not raised yet.
    #[error(
        "node {0} was restored from a backup, and is not raised above all that it has given yet"
    )]
    NotRaised(NodeName),
    /// Another server answers.
    #[error("node {0} is another server than before, or a restored one")]
    OtherServer(NodeName),
    /// It has what another server handed out, and hands out nothing.
    #[error(
        "node {0} took over from another server, or was made from one: it hands out no ids and no tickets"
    )]
    Elsewhere(NodeName),
    /// Something that it has of another server is not adopted with the rest.
    #[error(
        "{what} on {node} is of the server that this one took over from, and hands out nothing"
    )]
    ByHand {
        /// What it is.
        what: ByHand,
        /// The server.
        node: NodeName,
    },
    /// Two nodes are one server, or one is a copy of the other.
    #[error("nodes {0} and {1} are one server, or one is a copy of the other")]
    SameServer(NodeName, NodeName),
    /// The ticket is gone from the server.
    #[error("ticket {ticket} is not on {node}, which should hand it out")]
    Missing {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
    },
    /// The ticket is there, and what counts its numbers is not.
    #[error("the sequence of ticket {ticket} on {node} was dropped: it hands out nothing there")]
    NoSequence {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
        /// What it handed out.
        class: Class,
    },
    /// A server hands out a ticket that it should not.
    #[error("ticket {ticket} is on {node}, which is none of its servers")]
    Stray {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
    },
    /// A server that nobody has named hands out the rest of a ticket.
    #[error("class {class} of ticket {ticket} is on no server of the cluster file{}", nothing_on(.without))]
    Unseen {
        /// The ticket.
        ticket: TicketName,
        /// What that server hands out.
        class: Class,
        /// Servers of the ticket that have answered, and have nothing of it: one of them may have lost it.
        without: Vec<NodeName>,
    },
    /// A ceiling that no change accounts for.
    #[error(
        "ticket {ticket} on {node} ends before {ceiling}, although its servers are not being changed"
    )]
    Ceiling {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
        /// The ceiling.
        ceiling: u64,
    },
    /// A change that was cut.
    #[error("a change of the servers of ticket {0} is unfinished")]
    Standing(TicketName),
    /// Two MySQL servers make ids for one shard.
    #[error("shards {shards} make ids on {first} and on {second}")]
    OpenTwice {
        /// The shards.
        shards: ShardSet,
        /// A server.
        first: NodeName,
        /// Another one.
        second: NodeName,
    },
    /// A MySQL server makes ids for shards of the map.
    #[error("shards {shards} make ids on {node}, although the map has them on PostgreSQL nodes")]
    Mapped {
        /// The shards.
        shards: ShardSet,
        /// The server.
        node: NodeName,
    },
}

impl TicketProblem {
    /// The command that mends it.
    pub fn mend(&self) -> String {
        match self {
            Self::WrongClass { .. }
            | Self::Behind { .. }
            | Self::OldMark(_)
            | Self::EarlierMark(_)
            | Self::OldCatalog(_)
            | Self::NotRaised(_)
            | Self::OtherServer(_)
            | Self::Elsewhere(_)
            | Self::Missing { .. }
            | Self::Ceiling { .. } => "shardid apply".to_owned(),
            Self::ByHand { what: ByHand::Gapless(ticket), node } => {
                format!("on {node}, with its last number: CALL shardid.raise_ticket('{ticket}', …)")
            }
            Self::ByHand { what: ByHand::NoRoom(_), node } => format!(
                "on {node}, with as many numbers as that server may have handed out besides: CALL shardid.adopt_leaving_out(…)"
            ),
            Self::NoSequence { ticket, node, class: Class { server, servers } } => format!(
                "on {node}, with a number above all that it can have handed out: SELECT shardid.create_ticket_above('{ticket}', {server}, {servers}, …)"
            ),
            Self::SameServer(_, second) => format!(
                "stop one of them, give node {second} a server of its own, then `shardid apply`"
            ),
            Self::Stray { ticket, node } => format!(
                "`shardid apply` has it end there, and the others go on above it; `shardid tickets add-server {ticket} {node}` has it take part"
            ),
            Self::Unseen { ticket, class, without } => format!(
                "{}put the server that hands it out into the cluster file, and {ticket} goes on above it: `shardid apply`; if class {class} is gone for good, or no backup has it, raise {ticket} on another server above all that it can have handed out, and say `--accept-unseen`",
                without
                    .iter()
                    .map(|node| format!("if node {node} has lost it, put its schema shardid back from a backup that has {ticket}, then `shardid apply --restored {node}`; else "))
                    .collect::<String>(),
            ),
            Self::Standing(ticket) => format!("shardid tickets resume {ticket}"),
            Self::OpenTwice { second: node, .. } | Self::Mapped { node, .. } => {
                format!("take others on {node}, and drop these there: CALL shardid.drop_shard(…)")
            }
        }
    }

    /// The same, where some servers that are to have the ticket may have lost what nobody hands out.
    pub fn perhaps_lost_by(mut self, declared: &[NodeName], truth: &TicketTruth) -> Self {
        if let Self::Unseen { ticket, without, .. } = &mut self {
            let more = declared.iter().filter(|node| {
                !without.contains(node)
                    && truth.servers.contains_key(*node)
                    && truth.state(node, ticket).is_none()
            });
            let more: Vec<NodeName> = more.cloned().collect();
            without.extend(more);
        }
        self
    }

    /// The server that hands this ticket out and is none of its servers.
    pub fn stray_of(&self, of: &TicketName) -> Option<&NodeName> {
        match self {
            Self::Stray { ticket, node } if ticket == of => Some(node),
            _ => None,
        }
    }

    /// Whether servers of this ticket may hand out each other's numbers.
    pub(super) fn is_overlap(&self, of: &TicketName) -> bool {
        matches!(self, Self::WrongClass { ticket, .. } | Self::Ceiling { ticket, .. } if ticket == of)
    }

    /// Whether what this server says of itself cannot be taken for what it was.
    ///
    /// A change that stands is on all servers.
    pub fn is_on(&self, server: &NodeName) -> bool {
        match self {
            Self::SameServer(first, second) | Self::OpenTwice { first, second, .. } => {
                first == server || second == server
            }
            other => other.node() == Some(server),
        }
    }

    /// The server it is on, unless it is between servers.
    pub fn node(&self) -> Option<&NodeName> {
        match self {
            Self::WrongClass { node, .. }
            | Self::Behind { node, .. }
            | Self::OldMark(node)
            | Self::EarlierMark(node)
            | Self::OldCatalog(node)
            | Self::NotRaised(node)
            | Self::OtherServer(node)
            | Self::Elsewhere(node)
            | Self::ByHand { node, .. }
            | Self::Missing { node, .. }
            | Self::NoSequence { node, .. }
            | Self::Stray { node, .. }
            | Self::Ceiling { node, .. }
            | Self::Mapped { node, .. } => Some(node),
            Self::SameServer(..)
            | Self::Standing(_)
            | Self::OpenTwice { .. }
            | Self::Unseen { .. } => None,
        }
    }
}

fn nothing_on(nodes: &[NodeName]) -> String {
    nodes.iter().map(|node| format!("; node {node} has nothing of it")).collect()
}

/// Classes of a ticket that servers of it say there are, and that none of all that answered has.
///
/// A catalog and a cluster file that are both of an older time know nothing of a server that was added
/// since; those that are to get other classes say themselves how many they were. Of a ticket that
/// the catalog does not know, as where it is new, all of them say it.
pub fn unseen(
    ticket: &TicketName,
    servers: &[NodeName],
    truth: &TicketTruth,
) -> Vec<TicketProblem> {
    let is_known = truth.known.contains_key(ticket);
    let count = u32::try_from(servers.len()).unwrap_or(u32::MAX);
    let last_known = truth.last_look_known();
    // What it was before the catalog has seen it last: a server that comes back tells of an earlier time.
    let is_history = |node: &NodeName| {
        let Some(known) = truth.known_servers.get(node) else { return false };
        let mark = truth.servers.get(node).and_then(|server| server.mark.as_ref());
        is_known
            && mark.is_some_and(|mark| !known.marks.contains(mark) && look_of(mark) <= last_known)
    };
    let states: Vec<Class> =
        truth.servers.values().filter_map(|s| s.tickets.get(ticket)).map(|s| s.class).collect();
    let here = servers.iter().filter(|node| !is_history(node));
    let here = here.filter_map(|node| truth.state(node, ticket));
    let others =
        here.filter(|state| !state.has_ended() && (!is_known || state.class.servers != count));
    let without: Vec<NodeName> = servers
        .iter()
        .filter(|node| truth.servers.contains_key(*node) && truth.state(node, ticket).is_none())
        .cloned()
        .collect();
    let mut found = Vec::new();
    for servers in others.map(|state| state.class.servers).collect::<BTreeSet<u32>>() {
        let all = (1..=servers).map(|server| Class { server, servers });
        let missing: Vec<Class> = all.filter(|class| !states.contains(class)).collect();
        // Some of them have other classes by now, where a change was lost half-way.
        let changed = states.iter().filter(|class| class.servers != servers).count();
        if missing.len() > changed {
            let unseen = |class| TicketProblem::Unseen {
                ticket: ticket.clone(),
                class,
                without: without.clone(),
            };
            found.extend(missing.into_iter().map(unseen));
        }
    }
    found
}

/// Everything that could repeat a number, of the servers that answered.
pub fn problems(truth: &TicketTruth) -> Vec<TicketProblem> {
    let mut found = Vec::new();
    let mut by_identity: BTreeMap<&str, &NodeName> = BTreeMap::new();
    let mut earlier: Vec<(&NodeName, &ShardSet)> = Vec::new();
    let said_restored = truth.said_restored();
    let (last_here, last_known) = (truth.last_look_here(), truth.last_look_known());
    for (node, server) in &truth.servers {
        // A server without our schema does not say which one it is yet.
        let twin = Some(&server.identity).filter(|identity| !identity.is_empty());
        if let Some(first) = twin.and_then(|identity| by_identity.insert(identity, node)) {
            found.push(TicketProblem::SameServer(first.clone(), node.clone()));
        }
        let mapped = server.shards.and(&truth.mapped);
        if !mapped.is_empty() {
            found.push(TicketProblem::Mapped { shards: mapped, node: node.clone() });
        }
        for (first, shards) in &earlier {
            let shards = shards.and(&server.shards);
            if !shards.is_empty() {
                let (first, second) = ((*first).clone(), node.clone());
                found.push(TicketProblem::OpenTwice { shards, first, second });
            }
        }
        earlier.push((node, &server.shards));
        if server.elsewhere {
            found.push(TicketProblem::Elsewhere(node.clone()));
        }
        found.extend(
            server
                .by_hand
                .iter()
                .map(|what| TicketProblem::ByHand { what: what.clone(), node: node.clone() }),
        );
        let tickets = server.without_sequence.iter();
        found.extend(tickets.filter_map(|ticket| {
            let class = server.tickets.get(ticket)?.class;
            Some(TicketProblem::NoSequence { ticket: ticket.clone(), node: node.clone(), class })
        }));
        let look = server.mark.as_ref().map(|mark| look_of(mark));
        match truth.known_servers.get(node) {
            Some(known) if known.identity != server.identity => {
                found.push(TicketProblem::OtherServer(node.clone()));
            }
            _ if said_restored.contains(node) => found.push(TicketProblem::NotRaised(node.clone())),
            // The catalog is lost with what it knew, and its servers may be so with it.
            _ if last_known < last_here && look.is_some_and(|look| look < last_here) => {
                found.push(TicketProblem::EarlierMark(node.clone()));
            }
            Some(_) if look.is_some_and(|look| look > last_known) => {
                found.push(TicketProblem::OldCatalog(node.clone()));
            }
            Some(known) if !server.mark.as_ref().is_some_and(|m| known.marks.contains(m)) => {
                found.push(TicketProblem::OldMark(node.clone()));
            }
            _ => {}
        }
    }
    let changing: Vec<&TicketName> = truth.changes.iter().map(|change| &change.ticket).collect();
    for (ticket, known) in &truth.known {
        // Between two sets of servers nothing is where it will be.
        if changing.contains(&ticket) {
            found.push(TicketProblem::Standing(ticket.clone()));
            continue;
        }
        let nodes = known.nodes();
        found.extend(unseen(ticket, &nodes, truth));
        for ((node, wanted), (_, seen)) in classes(&nodes).zip(&known.servers) {
            if !truth.servers.contains_key(node) {
                continue;
            }
            let (ticket, node) = (ticket.clone(), node.clone());
            let Some(state) = truth.state(&node, &ticket) else {
                found.push(TicketProblem::Missing { ticket, node });
                continue;
            };
            if state.class != wanted {
                let found_class = state.class;
                found.push(TicketProblem::WrongClass {
                    ticket: ticket.clone(),
                    node: node.clone(),
                    found: found_class,
                    wanted,
                });
            }
            if let Some(ceiling) = state.ceiling {
                let (ticket, node) = (ticket.clone(), node.clone());
                found.push(TicketProblem::Ceiling { ticket, node, ceiling });
            }
            // Without its sequence nobody knows where it stands.
            let lost =
                truth.servers.get(&node).is_some_and(|it| it.without_sequence.contains(&ticket));
            if !lost && state.is_behind(seen.high_water()) {
                let (last, high_water) = (state.last, seen.high_water());
                found.push(TicketProblem::Behind { ticket, node, last, high_water });
            }
        }
    }
    for (node, server) in &truth.servers {
        for (ticket, state) in &server.tickets {
            if state.has_ended() {
                continue;
            }
            let Some(known) = truth.known.get(ticket) else { continue };
            let mut changes = truth.changes.iter().filter(|change| change.ticket == *ticket);
            let takes_part = changes.any(|c| c.before.contains(node) || c.after.contains(node));
            if !takes_part && !known.nodes().contains(node) {
                let (ticket, node) = (ticket.clone(), node.clone());
                found.push(TicketProblem::Stray { ticket, node });
            }
        }
    }
    found
}
