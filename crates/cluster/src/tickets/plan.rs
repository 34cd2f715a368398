//! The steps from what the tickets are to what they should be.

use std::collections::BTreeSet;

use crate::declared::DeclaredTicket;
use crate::names::{NodeName, TicketName};
use crate::rename::Rename;
use crate::tickets::forgetful::forgotten_on;
use crate::tickets::{Class, KnownTicket, TicketChange, TicketTruth, classes, forgetful, problems};

/// One change. Each may be interrupted at any point and made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketStep {
    /// Makes the schema on a MySQL server, or brings it up to date.
    Install {
        /// The server.
        node: NodeName,
        /// The last migration that was run; 0 where there is none of it yet.
        from: i32,
        /// The last migration there is.
        to: i32,
    },
    /// Makes the tables of a catalog on MySQL, or brings them up to date.
    MigrateCatalog {
        /// The last migration that was run.
        from: i32,
        /// The last migration there is.
        to: i32,
    },
    /// Gives a server another name in the catalog.
    Rename {
        /// The names.
        rename: Rename,
    },
    /// Writes a ticket and its servers into the catalog.
    Write {
        /// The ticket.
        ticket: TicketName,
        /// Its servers, in the order of their classes.
        servers: Vec<NodeName>,
    },
    /// Makes a ticket on a server.
    Create {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
        /// The numbers it hands out there.
        class: Class,
        /// All of them are above it.
        floor: u64,
    },
    /// Lets a server that has forgotten numbers go on above them.
    Raise {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
        /// The last number it remembers.
        from: u64,
        /// All further numbers are above it.
        floor: u64,
    },
    /// Has a server that has forgotten numbers hand out nothing until it gets its class anew, above them.
    Close {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
        /// The last number it remembers.
        from: u64,
        /// A number above all that it can have handed out.
        floor: u64,
    },
    /// Gives all servers of a ticket their own classes again, above all numbers.
    Realign {
        /// The ticket.
        ticket: TicketName,
        /// The servers that hand it out now.
        before: Vec<NodeName>,
        /// Those that are to, in the order of their classes.
        after: Vec<NodeName>,
        /// A number above all that they can have handed out and forgotten.
        above: u64,
    },
    /// Goes on with a change of servers that is unfinished.
    Resume {
        /// The ticket.
        ticket: TicketName,
    },
    /// Lets a server hand out what is still of the one that it took over from.
    Adopt {
        /// The server.
        node: NodeName,
    },
    /// Writes down which server a node is, and leaves a mark there to know it by.
    Know {
        /// The server.
        node: NodeName,
    },
}

impl TicketStep {
    /// A number above all that a server can have handed out and forgotten, if this is what sees to that.
    pub fn forgotten(&self) -> Option<u64> {
        match self {
            Self::Close { floor, .. } | Self::Raise { floor, .. } => Some(*floor),
            _ => None,
        }
    }
}

/// Something to know that stops nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TicketNote {
    /// The file names a server that does not serve the ticket yet.
    #[error(
        "ticket {ticket} is not handed out by {node} yet: `shardid tickets add-server {ticket} {node}`"
    )]
    ToAdd {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
    },
    /// A server of the ticket is not in the file any more.
    #[error(
        "ticket {ticket} is still handed out by {node}: `shardid tickets remove-server {ticket} {node}`, or name it in [tickets.{ticket}]"
    )]
    ToRemove {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
    },
    /// The file names the same servers in another order.
    #[error(
        "ticket {ticket} has its servers in the order {servers}; the order in the cluster file changes nothing"
    )]
    Order {
        /// The ticket.
        ticket: TicketName,
        /// The servers, as they are.
        servers: String,
    },
    /// A ticket that the file does not name.
    #[error("ticket {0} is not in the cluster file; it is left alone")]
    Undeclared(TicketName),
    /// A ticket of a restored server that is not raised with the others.
    #[error(
        "ticket {ticket} of {node} is not in the cluster file, and is not raised: where it has handed out numbers since the backup, `raise_ticket` above them"
    )]
    NotRaised {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
    },
    /// A segment tag of a restored server, which nobody raises.
    #[error(
        "segment tag {tag} of {node} is not raised: where it has handed out blocks since the backup, leave out as many numbers, `CALL shardid.next_segment('{}', NUMBER);`", tag.replace('\'', "''")
    )]
    SegmentNotRaised {
        /// The tag.
        tag: String,
        /// The server.
        node: NodeName,
    },
    /// A server of a ticket that is gone for good.
    #[error("ticket {ticket} goes on without {node}, which is taken for gone for good")]
    Gone {
        /// The ticket.
        ticket: TicketName,
        /// The server.
        node: NodeName,
    },
    /// A server that another cluster has used.
    #[error("node {node} hands out tickets of cluster {cluster}, and is taken over from it")]
    TakenOver {
        /// The server.
        node: NodeName,
        /// The cluster that loses it.
        cluster: String,
    },
    /// A MySQL server that hands out no ticket.
    #[error(
        "node {0} is a MySQL server and serves no ticket; it gets the functions for ids and tickets, and no shard of the map"
    )]
    Functions(NodeName),
}

/// What somebody says of servers that were restored from a backup.
#[derive(Debug, Clone, Copy, Default)]
pub struct Restored<'a> {
    /// The servers.
    pub nodes: &'a [NodeName],
    /// A number at or above all that they can have handed out; 0 where nobody has said one.
    pub above: u64,
    /// The same of single tickets, which that number does not go for.
    pub above_of: &'a [(TicketName, u64)],
}

impl Restored<'_> {
    /// A number at or above all that they can have handed out of a ticket; 0 where nobody has said one.
    pub fn above(&self, ticket: &TicketName) -> u64 {
        let own = self.above_of.iter().filter(|(of, _)| of == ticket);
        own.map(|(_, above)| *above).max().unwrap_or(self.above)
    }
}

/// What is to be done about tickets, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TicketPlan {
    /// The changes.
    pub steps: Vec<TicketStep>,
    /// What else there is to know.
    pub notes: Vec<TicketNote>,
}

/// Finds the steps from what is to what should be.
///
/// `latest` is the last migration of the schema on MySQL, `latest_catalog` that
/// of a catalog there; a server in `restored` has forgotten numbers, whatever
/// it says itself, and a number that is too low for it does no harm. No step adds or removes a server of a ticket.
pub fn ticket_plan(
    declared: &[DeclaredTicket],
    truth: &TicketTruth,
    restored: Restored<'_>,
    (latest, latest_catalog): (i32, i32),
    now_us: i64,
) -> TicketPlan {
    let mut plan = TicketPlan::default();
    for (node, server) in &truth.servers {
        if let Some(from) = server.migration.filter(|from| *from < latest) {
            plan.steps.push(TicketStep::Install { node: node.clone(), from, to: latest });
        }
    }
    if let Some(from) = truth.catalog_migration.filter(|from| *from < latest_catalog) {
        plan.steps.push(TicketStep::MigrateCatalog { from, to: latest_catalog });
    }
    let rename = |rename: &Rename| TicketStep::Rename { rename: rename.clone() };
    plan.steps.extend(truth.renames.iter().map(rename));
    let problems = problems(truth);
    let forgetful = forgetful(truth, restored.nodes);
    let forgot = |node: &NodeName| forgetful.contains(node);
    let forgotten = |node: &NodeName, ticket: &TicketName| {
        let said = if restored.nodes.contains(node) { restored.above(ticket) } else { 0 };
        forgotten_on(node, ticket, truth, &forgetful, said, now_us)
    };
    // How far one can have got that is lost: by what the catalog has seen, and by what was left on others.
    let lost = |node: &NodeName, ticket: &TicketName| {
        let node_alone = BTreeSet::from([node.clone()]);
        forgotten_on(node, ticket, truth, &node_alone, 0, now_us).unwrap_or(0)
    };
    let unremembered = |node: &NodeName, ticket: &TicketName| {
        if noted_above_all(ticket, truth) { lost(node, ticket) } else { 0 }
    };
    // Whoever would repeat numbers is stopped or raised before anything that may fail.
    let mut rest = TicketPlan::default();
    for ticket in declared {
        match truth.known.get(&ticket.name) {
            None => {
                let floors = (&forgotten, &unremembered);
                begin(ticket, truth, floors, &mut plan.steps, &mut rest);
            }
            Some(_) => notes(ticket, truth, &mut rest),
        }
    }
    for (ticket, known) in &truth.known {
        if !declared.iter().any(|declared| declared.name == *ticket) {
            rest.notes.push(TicketNote::Undeclared(ticket.clone()));
        }
        let nodes = known.nodes();
        let stands = truth.changes.iter().any(|change| change.ticket == *ticket);
        let strays = problems.iter().filter_map(|problem| problem.stray_of(ticket));
        let strays: Vec<NodeName> = strays.cloned().collect();
        // Of those that nobody can ask somebody has said that they are gone.
        let (there, gone): (Vec<NodeName>, Vec<NodeName>) =
            nodes.iter().cloned().partition(|node| truth.servers.contains_key(node));
        // Where classes overlap, nobody may go on before everybody is above; nor where a server that is
        // none of these hands it out: a catalog from a backup has forgotten that one.
        let is_mixed = stands
            || !strays.is_empty()
            || !gone.is_empty()
            || problems.iter().any(|problem| problem.is_overlap(ticket));
        let mut above = gone.iter().map(|node| lost(node, ticket)).max().unwrap_or(0);
        if is_mixed {
            let (mut closed, most) = close(ticket, &nodes, truth, &forgotten);
            plan.steps.append(&mut closed);
            above = above.max(most);
        }
        if stands {
            rest.steps.push(TicketStep::Resume { ticket: ticket.clone() });
            continue;
        }
        let mut steps = Vec::new();
        for ((node, class), (_, seen)) in classes(&nodes).zip(&known.servers) {
            let (ticket, node) = (ticket.clone(), node.clone());
            match (truth.state(&node, &ticket), forgotten(&node, &ticket)) {
                // Nothing was ever seen of it: an earlier apply was cut here.
                (None, _) if seen.last.is_none() => {
                    let floor = unremembered(&node, &ticket);
                    steps.push(TicketStep::Create { ticket, node, class, floor });
                }
                (None, floor) => {
                    let floor = floor.unwrap_or(0);
                    above = above.max(floor);
                    steps.push(TicketStep::Create { ticket, node, class, floor });
                }
                (Some(state), Some(floor)) if !is_mixed => {
                    let from = state.last;
                    plan.steps.push(TicketStep::Raise { ticket, node, from, floor });
                }
                (Some(_), _) => {}
            }
        }
        if !is_mixed {
            rest.steps.append(&mut steps);
            continue;
        }
        let of_file = declared.iter().filter(|declared| declared.name == *ticket);
        let after = match there.is_empty() {
            // None of them is left: it is those of the cluster file that go on.
            true => of_file.flat_map(|declared| declared.servers.clone()).collect(),
            false => there,
        };
        let before: Vec<NodeName> =
            having(ticket, &nodes, truth).into_iter().chain(strays).collect();
        if after.is_empty() {
            continue;
        }
        let without = gone.into_iter().map(|node| (ticket.clone(), node));
        rest.notes.extend(without.map(|(ticket, node)| TicketNote::Gone { ticket, node }));
        rest.steps.push(TicketStep::Realign { ticket: ticket.clone(), before, after, above });
    }
    plan.steps.append(&mut rest.steps);
    plan.notes.append(&mut rest.notes);
    for (node, server) in &truth.servers {
        if server.elsewhere {
            plan.steps.push(TicketStep::Adopt { node: node.clone() });
        }
        if forgot(node) {
            let others = server.tickets.iter().filter(|(ticket, state)| {
                let is_declared = declared.iter().any(|declared| declared.name == **ticket);
                !is_declared && !truth.known.contains_key(*ticket) && !state.has_ended()
            });
            plan.notes.extend(others.map(|(ticket, _)| {
                let (ticket, node) = (ticket.clone(), node.clone());
                TicketNote::NotRaised { ticket, node }
            }));
            // What is of another server goes on further, when it is taken over.
            let segments = server.segments.iter().filter(|_| !server.elsewhere);
            plan.notes.extend(segments.map(|tag| {
                let (tag, node) = (tag.clone(), node.clone());
                TicketNote::SegmentNotRaised { tag, node }
            }));
        }
        if !truth.known_servers.contains_key(node) || forgot(node) {
            plan.steps.push(TicketStep::Know { node: node.clone() });
        }
    }
    plan
}

/// The steps by which servers that have forgotten numbers repeat none while a change of a ticket's servers stands,
/// whatever stops that.
pub fn forgetful_steps(
    change: &TicketChange,
    truth: &TicketTruth,
    restored: &[NodeName],
    now_us: i64,
) -> Vec<TicketStep> {
    let known = truth.known.get(&change.ticket).map(KnownTicket::nodes).unwrap_or_default();
    let forgetful = forgetful(truth, restored);
    let forgotten = |node: &NodeName, ticket: &TicketName| {
        forgotten_on(node, ticket, truth, &forgetful, 0, now_us)
    };
    close(&change.ticket, &known, truth, &forgotten).0
}

/// Has those servers that have forgotten numbers of a ticket hand out nothing until they get a class anew: its own, and
/// others that hand it out. A number above all that they can have reached, too.
fn close(
    ticket: &TicketName,
    nodes: &[NodeName],
    truth: &TicketTruth,
    forgotten: &impl Fn(&NodeName, &TicketName) -> Option<u64>,
) -> (Vec<TicketStep>, u64) {
    let having = truth.servers.iter().filter_map(|(node, server)| {
        let state = server.tickets.get(ticket)?;
        // Where its sequence is gone it hands out nothing.
        let is_open = !state.has_ended() && !server.without_sequence.contains(ticket);
        (nodes.contains(node) || is_open).then_some((node, state))
    });
    let mut changes = truth.changes.iter().filter(|change| change.ticket == *ticket);
    let change = changes.next();
    let mut above = 0;
    let mut steps = Vec::new();
    for (node, state) in having {
        let Some(floor) = forgotten(node, ticket) else { continue };
        above = above.max(floor);
        let keeps_class = change.is_some_and(|change| change.has_its_class(node, state));
        let (ticket, node, from) = (ticket.clone(), node.clone(), state.last);
        steps.push(match keeps_class {
            true => TicketStep::Raise { ticket, node, from, floor },
            false => TicketStep::Close { ticket, node, from, floor },
        });
    }
    (steps, above)
}

/// A ticket that nobody knows yet: first it is written down, then made. What
/// is on a server already is somebody's earlier ticket, and is gone on above.
fn begin(
    ticket: &DeclaredTicket,
    truth: &TicketTruth,
    (forgotten, unremembered): (
        &impl Fn(&NodeName, &TicketName) -> Option<u64>,
        &impl Fn(&NodeName, &TicketName) -> u64,
    ),
    first: &mut Vec<TicketStep>,
    plan: &mut TicketPlan,
) {
    let (name, servers) = (&ticket.name, &ticket.servers);
    plan.steps.push(TicketStep::Write { ticket: name.clone(), servers: servers.clone() });
    let mut before = having(name, servers, truth);
    // The catalog is new, and the tickets are not: one that is not to hand it out has done so.
    let others = truth.servers.iter().filter(|(node, _)| !servers.contains(node));
    before.extend(others.filter_map(|(node, server)| {
        let state = server.tickets.get(name).filter(|state| !state.has_ended());
        state.map(|_| node.clone())
    }));
    if !before.is_empty() {
        let (ticket, after) = (name.clone(), servers.clone());
        let (mut closed, above) = close(name, servers, truth, forgotten);
        first.append(&mut closed);
        let lost = servers.iter().map(|node| unremembered(node, name)).max();
        let above = above.max(lost.unwrap_or(0));
        plan.steps.push(TicketStep::Realign { ticket, before, after, above });
        return;
    }
    for (node, class) in classes(servers) {
        let (ticket, node) = (name.clone(), node.clone());
        let floor = unremembered(&node, &ticket);
        plan.steps.push(TicketStep::Create { ticket, node, class, floor });
    }
}

/// Whether a server was told that a ticket has been further than any that hands it out is: the one that was is lost, and
/// with it the catalog that knew of it.
fn noted_above_all(ticket: &TicketName, truth: &TicketTruth) -> bool {
    let noted = truth.servers.values().filter_map(|server| server.notes.get(ticket));
    let noted = noted.map(|seen| seen.high_water()).max().unwrap_or(0);
    let states = truth.servers.values().filter_map(|server| server.tickets.get(ticket));
    noted > states.map(|state| state.last).max().unwrap_or(0)
}

/// Those of some servers that have a ticket.
fn having(ticket: &TicketName, nodes: &[NodeName], truth: &TicketTruth) -> Vec<NodeName> {
    nodes.iter().filter(|node| truth.state(node, ticket).is_some()).cloned().collect()
}

fn notes(ticket: &DeclaredTicket, truth: &TicketTruth, plan: &mut TicketPlan) {
    let is = truth.known[&ticket.name].nodes();
    let name = || ticket.name.clone();
    let before = plan.notes.len();
    for node in ticket.servers.iter().filter(|node| !is.contains(node)) {
        plan.notes.push(TicketNote::ToAdd { ticket: name(), node: node.clone() });
    }
    // One that is gone for good is taken out without a word.
    let there = is.iter().filter(|node| truth.servers.contains_key(*node));
    for node in there.filter(|node| !ticket.servers.contains(node)) {
        plan.notes.push(TicketNote::ToRemove { ticket: name(), node: node.clone() });
    }
    if plan.notes.len() == before && is != ticket.servers {
        let servers: Vec<&str> = is.iter().map(NodeName::as_str).collect();
        plan.notes.push(TicketNote::Order { ticket: name(), servers: servers.join(", ") });
    }
}

#[cfg(test)]
mod tests;
