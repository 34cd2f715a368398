//! Which servers of a ticket have forgotten numbers, and how far can they have been?

use std::collections::BTreeSet;

use crate::names::{NodeName, TicketName};
use crate::tickets::rebase::floor_within;
use crate::tickets::{Seen, TicketChange, TicketProblem, TicketTruth, problems, safe_floor};

/// The servers that have forgotten numbers, by what they say and by `restored`, where somebody says it of them.
pub(crate) fn forgetful(truth: &TicketTruth, restored: &[NodeName]) -> BTreeSet<NodeName> {
    let problems = problems(truth);
    // A mark that the catalog does not know is one that it has forgotten, if it
    // is its own server that comes from a backup: that one is not believed either.
    let is_old =
        |p: &TicketProblem| matches!(p, TicketProblem::OldMark(_) | TicketProblem::OldCatalog(_));
    let old_marks = problems.iter().any(is_old);
    let catalog = truth.catalog.iter().filter(|_| old_marks);
    let found = problems.iter().filter_map(|problem| match problem {
        TicketProblem::OldMark(node)
        | TicketProblem::EarlierMark(node)
        | TicketProblem::OldCatalog(node)
        | TicketProblem::NotRaised(node)
        | TicketProblem::OtherServer(node)
        | TicketProblem::Elsewhere(node) => Some(node),
        _ => None,
    });
    restored.iter().chain(catalog).chain(found).cloned().collect()
}

/// How far a server of a ticket can have got that has forgotten numbers; none where it has not. `said` is a number of which
/// somebody says that it was not above it.
///
/// One that the catalog does not count among its servers any more has given nothing above what those stood at that
/// went on without it.
pub(crate) fn forgotten_on(
    node: &NodeName,
    ticket: &TicketName,
    truth: &TicketTruth,
    forgetful: &BTreeSet<NodeName>,
    said: u64,
    now_us: i64,
) -> Option<u64> {
    let state = truth.state(node, ticket);
    let known = truth.known.get(ticket).map_or(&[][..], |known| &known.servers);
    let seen = known.iter().find(|(other, _)| other == node).map(|(_, seen)| *seen);
    let is_behind = |seen: Seen| state.is_none_or(|state| state.is_behind(seen.high_water()));
    if !forgetful.contains(node) && !seen.is_some_and(is_behind) {
        return None;
    }
    let others = known.iter().filter(|(other, _)| other != node);
    let high_waters = others.map(|(_, seen)| seen.high_water());
    let peers = truth.servers.iter().filter(|(other, _)| *other != node);
    let lasts = peers.filter_map(|(_, peer)| peer.tickets.get(ticket)).map(|state| state.last);
    // What was left on the servers themselves, also on this one: the catalog may be from a backup.
    let states = truth.servers.values().filter_map(|server| server.tickets.get(ticket));
    let largest = states.map(|state| state.max).min().unwrap_or(u64::MAX);
    let notes = || truth.servers.values().filter_map(|server| server.notes.get(ticket));
    let seen = seen.unwrap_or_default();
    let last = state.map_or(0, |state| state.last).max(said);
    let others: Vec<u64> = high_waters.chain(lasts).collect();
    let noted = notes().map(|seen| seen.reach(now_us));
    let floor = safe_floor(last, &seen, others.iter().copied().chain(noted), now_us);
    let noted = notes().map(Seen::high_water);
    let known = others.into_iter().chain(noted).chain([last, seen.high_water()]).max();
    Some(floor_within(floor, known.unwrap_or(0), largest))
}

/// The tickets of servers that were restored of which nobody else can remember how far they were: neither a catalog on a
/// server that was not, and which has seen them there, nor another server. The same backup put back twice would begin at
/// the same number twice.
///
/// On MySQL one that is another server than before counts as restored without a word: it is made from a backup. On
/// PostgreSQL it may be a standby that was promoted.
pub fn not_remembered(truth: &TicketTruth, restored: &[NodeName]) -> Vec<(TicketName, NodeName)> {
    let problems = problems(truth);
    let others = problems.iter().filter_map(|problem| match problem {
        TicketProblem::OtherServer(node) => Some(node),
        _ => None,
    });
    let others: BTreeSet<&NodeName> = others.collect();
    let is_lost = |node: &NodeName| restored.contains(node) || others.contains(node);
    let is_catalog_there = truth.catalog.as_ref().is_some_and(|catalog| !is_lost(catalog));
    // One that is new, or from before it knew the server, remembers nothing of it.
    let is_in_catalog = |ticket: &TicketName, node: &NodeName| {
        let servers = truth.known.get(ticket).into_iter().flat_map(|known| &known.servers);
        let mut seen = servers.filter(|(_, seen)| seen.last.is_some()).map(|(of, _)| of);
        let mut changes = truth.changes.iter().filter(|change| change.ticket == *ticket);
        is_catalog_there
            && (seen.any(|of| of == node) || changes.any(|change| change.after.contains(node)))
    };
    let remembers = |ticket: &TicketName| {
        let mut witnesses = truth.servers.iter().filter(|(node, _)| !is_lost(node));
        witnesses.any(|(_, server)| {
            server.notes.contains_key(ticket) || server.tickets.contains_key(ticket)
        })
    };
    let is_mysql = |node: &NodeName| truth.servers.get(node).is_some_and(|s| s.migration.is_some());
    let asked = truth
        .servers
        .iter()
        .filter(|(node, _)| restored.contains(node) || (others.contains(node) && is_mysql(node)));
    let tickets = asked.flat_map(|(node, _)| {
        let of_it = handed_out_by(node, truth);
        of_it.into_iter().map(|ticket| (ticket.clone(), node.clone()))
    });
    tickets.filter(|(ticket, node)| !is_in_catalog(ticket, node) && !remembers(ticket)).collect()
}

/// The tickets that a server hands out, by itself or by the catalog, which may be from another moment.
pub fn handed_out_by<'t>(node: &NodeName, truth: &'t TicketTruth) -> BTreeSet<&'t TicketName> {
    let here = truth.servers.get(node).into_iter().flat_map(|server| &server.tickets);
    let here = here.filter(|(_, state)| !state.has_ended());
    let known = truth.known.iter().filter(|(_, known)| known.nodes().contains(node));
    here.map(|(ticket, _)| ticket).chain(known.map(|(ticket, _)| ticket)).collect()
}

/// Whether a server of a ticket has forgotten numbers of it.
pub fn has_forgotten(
    node: &NodeName,
    ticket: &TicketName,
    truth: &TicketTruth,
    restored: &[NodeName],
) -> bool {
    forgotten_on(node, ticket, truth, &forgetful(truth, restored), 0, 0).is_some()
}

/// A number that servers of a change which stands, and which have forgotten numbers, can have reached; 0 where
/// none has. What was handed out since the change was planned may be above its floor.
pub fn forgotten_above(
    change: &TicketChange,
    truth: &TicketTruth,
    restored: &[NodeName],
    now_us: i64,
) -> u64 {
    let forgetful = forgetful(truth, restored);
    let known = truth.known.get(&change.ticket).map(|known| known.nodes()).unwrap_or_default();
    let mut nodes: Vec<&NodeName> = change.before.iter().chain(&change.after).collect();
    // One that is to begin has nothing to forget yet.
    nodes.retain(|node| truth.state(node, &change.ticket).is_some());
    let nodes = nodes.into_iter().chain(&known).filter(|node| !change.gone.contains(node));
    let above = |node| forgotten_on(node, &change.ticket, truth, &forgetful, 0, now_us);
    nodes.filter_map(above).max().unwrap_or(0)
}
