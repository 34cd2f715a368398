//! What has become of the servers of a change that stands, and can it go on from where the journal has it?

use std::time::Duration;

use shardid_cluster::{
    ChangeState, NodeName, NotGone, TicketChange, TicketName, TicketState, TicketStep, TicketTruth,
    first_floor, forgetful_steps, forgotten_above, has_forgotten, problems, unseen,
};

use super::clock::now_us;
use super::look::Look;
use super::notes::note;
use super::{TicketJournal, TicketServer};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::talk;
use crate::view::tickets as view;

/// What somebody says of the servers of a change that is unfinished.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Said<'a> {
    /// They were restored from a backup.
    pub(crate) restored: &'a [NodeName],
    /// Those that have forgotten numbers hand out none of them since a moment ago.
    pub(crate) is_closed: bool,
    /// They are gone for good.
    pub(crate) gone: &'a [NodeName],
    /// A number at or above all that those can have handed out.
    pub(crate) above: Option<u64>,
}

/// Refuses to take a server for gone that answers, whatever it says: one that lets nobody in for a moment
/// goes on with its class for those who are in.
pub(super) fn check_silent(
    look: &Look,
    ticket: &TicketName,
    gone: &[NodeName],
) -> Result<(), Failure> {
    for (node, answer) in look.nodes.iter().filter(|(node, _)| gone.contains(node)) {
        let Err(failure) = answer else { continue };
        if failure.is_answer() {
            let said =
                failure.messages().map(|(message, _)| message).collect::<Vec<_>>().join("; ");
            return Err(Failure::new(format!("node {node} answers, so it is not gone"))
                .detail(said)
                .hint(format!(
                    "mend that, then `shardid tickets resume {ticket}` without --gone {node}"
                )));
        }
    }
    Ok(())
}

/// Refuses to go on with a change on servers that another cluster has taken meanwhile.
pub(super) fn check_ours(look: &Look, change: &TicketChange) -> Result<(), Failure> {
    let nodes = change.before.iter().chain(&change.after);
    let ours = nodes.filter(|node| !change.gone.contains(node));
    let failures = ours.filter_map(|node| {
        Some(look.not_ours(node)?.hint_instead(format!(
            "`shardid tickets resume {} --gone {node} --above NUMBER` ends the change without it",
            change.ticket
        )))
    });
    Failure::all(failures).map_or(Ok(()), Err)
}

/// Refuses to take a server for gone that hands the ticket out, or has handed out more than is said.
pub(super) fn check_gone(
    change: &TicketChange,
    truth: &TicketTruth,
    said: Said<'_>,
) -> Result<(), Failure> {
    let ticket = &change.ticket;
    if let Some(node) = said.gone.iter().find(|node| truth.state(node, ticket).is_some()) {
        return Err(Failure::new(format!(
            "node {node} answers, and has the ticket: it is not gone"
        ))
        .hint(format!("`shardid tickets resume {ticket}` without --gone {node}")));
    }
    let known = truth.known.get(ticket).into_iter().flat_map(|known| &known.servers);
    let seen = known.filter(|(node, _)| said.gone.contains(node));
    let high = seen.map(|(_, seen)| seen.high_water()).max().unwrap_or(0);
    match said.above.filter(|above| *above < high) {
        Some(above) => Err(Failure::new(format!(
            "--above {above} is below {high}, which was handed out already"
        ))
        .hint(format!(
            "--above {high}, or the highest number of your own tables where that is above it"
        ))),
        None => Ok(()),
    }
}

/// The change where those servers are gone that somebody says are.
pub(super) fn without(
    change: &TicketChange,
    truth: &TicketTruth,
    said: Said<'_>,
) -> Result<TicketChange, Failure> {
    if said.gone.is_empty() {
        return Ok(change.clone());
    }
    let left = change.before.iter().filter(|node| !said.gone.contains(node));
    let states = left.filter_map(|node| truth.state(node, &change.ticket));
    change.without(said.gone, states, said.above).map_err(|refusal| {
        let failure = Failure::new(&refusal).at(format!("ticket {}", change.ticket));
        match refusal {
            NotGone::HowFar(node) => failure.hint(format!(
                "say a number at or above all that it can have handed out, which your own tables know: `shardid tickets resume {} --gone {node} --above NUMBER`",
                change.ticket
            )),
            _ => failure,
        }
    })
}

/// Refuses to go on where a server has forgotten the ticket altogether, as one that was made anew.
pub(super) fn check_there(change: &TicketChange, truth: &TicketTruth) -> Result<(), Failure> {
    let is_asked = |node: &&NodeName| match change.state {
        ChangeState::Planned => true,
        ChangeState::Limited => change.after.contains(node),
        ChangeState::Stepped | ChangeState::Done => false,
    };
    let asked = change.before.iter().filter(is_asked).filter(|node| !change.gone.contains(node));
    let ticket = &change.ticket;
    let mut lost = asked
        .filter(|node| truth.servers.contains_key(node) && truth.state(node, ticket).is_none());
    match lost.next() {
        Some(node) => Err(Failure::new(format!(
            "ticket {ticket} is not on {node} any more, which has handed it out: made there anew it would repeat numbers"
        ))),
        None => Ok(()),
    }
}

/// Has servers that hand the ticket out, and that a change which stands does not know of, take part in
/// it: they end with the old ones. A catalog from a backup has forgotten them.
pub(super) fn take_strays(change: &mut TicketChange, truth: &TicketTruth) -> Result<(), Failure> {
    let found = problems(truth);
    for node in found.iter().filter_map(|problem| problem.stray_of(&change.ticket)) {
        let ends_before = |ceiling: u64| ceiling <= change.floor.saturating_add(1);
        let state = truth.state(node, &change.ticket);
        let has_been_limited = state.and_then(|state| state.ceiling).is_some_and(ends_before);
        if change.state != ChangeState::Planned && !has_been_limited {
            return Err(Failure::new(format!(
                "ticket {} is on {node}, which the change that stands does not know of",
                change.ticket
            ))
            .detail("The catalog seems to be from an older backup than this server.")
            .hint("put a newer backup of the catalog back"));
        }
        change.before.push(node.clone());
    }
    Ok(())
}

/// The servers that hand a ticket out now, of those that answer, and how far each is.
pub(super) fn handing_out<'t>(
    ticket: &TicketName,
    truth: &'t TicketTruth,
) -> Vec<(NodeName, &'t TicketState)> {
    let states = truth
        .servers
        .iter()
        .filter_map(|(node, server)| server.tickets.get(ticket).map(|state| (node.clone(), state)));
    states.filter(|(_, state)| !state.has_ended()).collect()
}

/// How far the servers of a change are that answer.
pub(super) fn highest(change: &TicketChange, truth: &TicketTruth) -> u64 {
    let nodes = change.before.iter().chain(&change.after);
    let states = nodes.filter_map(|node| truth.state(node, &change.ticket));
    states.map(|state| state.last).max().unwrap_or(0)
}

/// Why a change cannot go on from where the journal has it, if it cannot.
pub(super) fn why_anew(
    change: &TicketChange,
    truth: &TicketTruth,
    restored: &[NodeName],
) -> Option<&'static str> {
    let ticket = &change.ticket;
    let states = handing_out(ticket, truth);
    if change.is_outdated(states.into_iter().map(|(_, state)| state)) {
        return Some("the catalog is of an earlier time than the servers");
    }
    if change.state != ChangeState::Limited {
        return None;
    }
    // It may have had its new class, and handed out numbers of it.
    let after = change.after.iter().filter(|node| !change.gone.contains(node));
    let mut lost = after.filter(|node| {
        has_forgotten(node, ticket, truth, restored)
            || truth.state(node, ticket).is_some_and(|state| change.is_passed_by(state))
    });
    lost.next().map(|_| "a server has forgotten numbers, or stands above the others")
}

/// Sees to it that servers which have forgotten numbers of the ticket repeat none, before anything else may stop the
/// program. Whether there were any.
pub(super) async fn close_forgetful(
    file: &ClusterFile,
    journal: &mut TicketJournal,
    change: &TicketChange,
    truth: &TicketTruth,
    restored: &[NodeName],
    wait: Duration,
) -> Result<bool, Failure> {
    let steps = forgetful_steps(change, truth, restored, now_us());
    let highest = steps.iter().filter_map(TicketStep::forgotten).max();
    for step in &steps {
        let (TicketStep::Close { ticket, node, floor, .. }
        | TicketStep::Raise { ticket, node, floor, .. }) = step
        else {
            continue;
        };
        let mut server = TicketServer::connect(file, node, "tickets").await?;
        server.session.lock_tickets(node, wait).await?;
        let is_closed = matches!(step, TicketStep::Close { .. });
        if is_closed {
            server.close(ticket).await?;
        }
        note(file, journal, truth, (ticket, node), highest.unwrap_or(*floor)).await?;
        match is_closed {
            true => server.raise_closed(ticket, *floor).await?,
            false => server.raise(ticket, *floor).await?,
        }
        server.session.close().await;
        talk::line(format_args!("  {}", view::done(step)));
    }
    Ok(!steps.is_empty())
}

/// Has all servers that hand the ticket out take part in a change that begins anew. One that is not
/// in the cluster file is missed by the classes of the others.
pub(super) fn take_all(change: &mut TicketChange, truth: &TicketTruth) -> Result<(), Failure> {
    let ticket = &change.ticket;
    let out = handing_out(ticket, truth).into_iter().map(|(node, _)| node);
    let mut before: Vec<NodeName> = change.before.iter().cloned().chain(out).collect();
    before.sort();
    before.dedup();
    let mut nodes: Vec<NodeName> = before.iter().chain(&change.after).cloned().collect();
    nodes.sort();
    nodes.dedup();
    if let Some(problem) = unseen(ticket, &nodes, truth).into_iter().next() {
        let mend = problem.mend();
        return Err(Failure::new(problem)
            .detail("The catalog is from an older backup than the servers.")
            .hint(mend));
    }
    change.before = before;
    Ok(())
}

/// Raises the floor above what old servers can have handed out that have forgotten it since the change was
/// planned: one that was not limited then may have gone beyond the floor. Later on all of them were.
pub(super) async fn go_above_forgotten(
    journal: &mut TicketJournal,
    change: &mut TicketChange,
    truth: &TicketTruth,
    restored: &[NodeName],
    now_us: i64,
) -> Result<(), Failure> {
    let forgotten = forgotten_above(change, truth, restored, now_us);
    let above = forgotten.max(highest(change, truth));
    if change.state != ChangeState::Planned || above <= change.floor {
        return Ok(());
    }
    let nodes = change.before.iter().chain(&change.after);
    let states = nodes.filter_map(|node| truth.state(node, &change.ticket));
    let floor = first_floor(states, above)
        .map_err(|error| Failure::new(error).at(format!("ticket {}", change.ticket)))?;
    match forgotten > change.floor {
        true => {
            talk::line(format_args!("  a server has forgotten numbers: a higher floor, {floor}"))
        }
        false => talk::line(format_args!("  a server stands above it: a higher floor, {floor}")),
    }
    journal.raise_floor(change, floor).await
}
