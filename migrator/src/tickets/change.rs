//! Changing the servers of a ticket, from the journal's state to the end.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::try_join_all;
use shardid_cluster::{
    ChangeEffect, ChangeState, MARGIN, NodeName, NotGone, SeenAt, TicketChange, TicketName,
    TicketState, TicketTruth, change_effects, first_floor, forgotten_above, next_change_state,
    problems, unseen,
};

use super::look::look;
use super::server::Limited;
use super::{TicketJournal, TicketServer};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::intent::{self, Intent};
use crate::talk;

/// A change that somebody asks for.
pub(crate) struct Wanted {
    pub(crate) ticket: TicketName,
    /// The servers that the catalog has.
    pub(crate) known: Vec<NodeName>,
    /// The servers that hand it out now.
    pub(crate) before: Vec<NodeName>,
    /// Those that are to.
    pub(crate) after: Vec<NodeName>,
    /// Old servers that are gone for good.
    pub(crate) gone: Vec<NodeName>,
    /// A number at or above all that were handed out and forgotten; 0 where
    /// the servers themselves know.
    pub(crate) above: u64,
}

impl Wanted {
    /// The change as it would be written down now. A server that hands the
    /// ticket out although it is none of its servers is one of the old ones.
    pub(crate) fn plan(&self, truth: &TicketTruth) -> Result<TicketChange, Failure> {
        let mut before = self.before.clone();
        let strays = self.after.iter().filter(|node| {
            !self.before.contains(node)
                && truth.state(node, &self.ticket).is_some_and(|state| !state.has_ended())
        });
        before.extend(strays.cloned());
        let states = before.iter().filter(|node| !self.gone.contains(node));
        let states = states.filter_map(|node| truth.state(node, &self.ticket));
        let floor = first_floor(states, self.above).map_err(|error| {
            Failure::new(error)
                .at(format!("ticket {}", self.ticket))
                .hint("begin a new ticket in a wider column: Tickets64 in place of Tickets32")
        })?;
        Ok(TicketChange {
            id: 0,
            ticket: self.ticket.clone(),
            before,
            after: self.after.clone(),
            gone: self.gone.clone(),
            floor,
            state: ChangeState::Planned,
        })
    }
}

/// Makes a change: writes it down, then goes through it.
pub(crate) async fn change(
    file: &ClusterFile,
    journal: &mut TicketJournal,
    wanted: &Wanted,
    truth: &TicketTruth,
    wait: Duration,
) -> Result<(), Failure> {
    let change = wanted.plan(truth)?;
    let servers = connect(file, &change, &journal.node, wait).await?;
    cuts::at(format_args!("tickets/before-planned"));
    let mut change = journal.begin_change(&change, &wanted.known).await?;
    cuts::at(format_args!("tickets/after-planned"));
    journal.take(&mut change).await.map_err(|failure| standing(failure, &change))?;
    let mut run = Run { file, journal, servers, change: &mut change };
    intent::drive(&mut run).await.map_err(|failure| standing(failure, &change))
}

/// What somebody says of the servers of a change that is unfinished.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Said<'a> {
    /// They were restored from a backup.
    pub(crate) restored: &'a [NodeName],
    /// They are gone for good.
    pub(crate) gone: &'a [NodeName],
    /// A number at or above all that those can have handed out.
    pub(crate) above: Option<u64>,
}

/// Goes on with a change that is unfinished. Returns it as it has ended.
pub(crate) async fn resume(
    file: &ClusterFile,
    journal: &mut TicketJournal,
    mut change: TicketChange,
    said: Said<'_>,
    wait: Duration,
) -> Result<TicketChange, Failure> {
    let restored = said.restored;
    let truth = look(file, "tickets", true).await.map_err(|failure| standing(failure, &change))?;
    let truth = truth.truth;
    let is_outdated = is_outdated(&change, &truth);
    match is_outdated {
        true => take_all(&mut change, &truth),
        false => take_strays(&mut change, &truth),
    }
    .map_err(|failure| standing(failure, &change))?;
    check_gone(&change, &truth, said).map_err(|failure| standing(failure, &change))?;
    let without = without(&change, &truth, said).map_err(|failure| standing(failure, &change))?;
    check_there(&without, &truth).map_err(|failure| standing(failure, &change))?;
    let servers = connect(file, &without, &journal.node, wait)
        .await
        .map_err(|failure| standing(failure, &change))?;
    cuts::at(format_args!("tickets/before-take"));
    journal.take(&mut change).await.map_err(|failure| standing(failure, &change))?;
    if is_outdated && self::is_outdated(&change, &truth) {
        let handing_out = handing_out(&change.ticket, &truth);
        let anew = change.anew(&handing_out).map_err(|error| {
            standing(Failure::new(error).at(format!("ticket {}", change.ticket)), &change)
        })?;
        let floor = anew.floor;
        let anew = journal.begin_anew(&mut change, anew).await;
        anew.map_err(|failure| standing(failure, &change))?;
        talk::line(format_args!(
            "  the catalog is of an earlier time than the servers: the change begins anew, above {floor}"
        ));
        cuts::at(format_args!("tickets/after-anew"));
    }
    if !said.gone.is_empty() {
        // As it is now: another program may have taken it further.
        let without =
            self::without(&change, &truth, said).map_err(|failure| standing(failure, &change))?;
        let gone = journal.declare_gone(&mut change, without).await;
        gone.map_err(|failure| standing(failure, &change))?;
        cuts::at(format_args!("tickets/after-gone"));
    }
    go_above_forgotten(journal, &mut change, &truth, restored)
        .await
        .map_err(|failure| standing(failure, &change))?;
    let mut run = Run { file, journal, servers, change: &mut change };
    intent::drive(&mut run).await.map_err(|failure| standing(failure, &change))?;
    Ok(change)
}

/// Refuses to take a server for gone that hands the ticket out, or has handed out more than is said.
fn check_gone(change: &TicketChange, truth: &TicketTruth, said: Said<'_>) -> Result<(), Failure> {
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
        .hint("look for the highest number in your own tables")),
        None => Ok(()),
    }
}

/// The change where those servers are gone that somebody says are.
fn without(
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
fn check_there(change: &TicketChange, truth: &TicketTruth) -> Result<(), Failure> {
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
fn take_strays(change: &mut TicketChange, truth: &TicketTruth) -> Result<(), Failure> {
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
fn handing_out<'t>(
    ticket: &TicketName,
    truth: &'t TicketTruth,
) -> Vec<(NodeName, &'t TicketState)> {
    let states = truth
        .servers
        .iter()
        .filter_map(|(node, server)| server.tickets.get(ticket).map(|state| (node.clone(), state)));
    states.filter(|(_, state)| !state.has_ended()).collect()
}

/// Whether the servers are further than the journal: the catalog comes from a backup.
fn is_outdated(change: &TicketChange, truth: &TicketTruth) -> bool {
    let states = handing_out(&change.ticket, truth);
    change.is_outdated(states.into_iter().map(|(_, state)| state))
}

/// Has all servers that hand the ticket out take part in a change that begins anew. One that is not
/// in the cluster file is missed by the classes of the others.
fn take_all(change: &mut TicketChange, truth: &TicketTruth) -> Result<(), Failure> {
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
async fn go_above_forgotten(
    journal: &mut TicketJournal,
    change: &mut TicketChange,
    truth: &TicketTruth,
    restored: &[NodeName],
) -> Result<(), Failure> {
    let above = forgotten_above(change, truth, restored, now_us());
    if change.state != ChangeState::Planned || above <= change.floor {
        return Ok(());
    }
    let states = change.before.iter().filter_map(|node| truth.state(node, &change.ticket));
    let floor = first_floor(states, above)
        .map_err(|error| Failure::new(error).at(format!("ticket {}", change.ticket)))?;
    talk::line(format_args!("  a server has forgotten numbers: a higher floor, {floor}"));
    journal.raise_floor(change, floor).await
}

fn standing(failure: Failure, change: &TicketChange) -> Failure {
    failure
        .detail(format!(
            "the change of the servers of ticket {} is unfinished (state: {}); no number is handed out twice meanwhile",
            change.ticket,
            change.state.as_str()
        ))
        .hint(format!(
            "once that is mended: `shardid tickets resume {0}`; where a server never comes back: `shardid tickets resume {0} --gone NODE --above NUMBER`",
            change.ticket
        ))
        .standing()
}

type Servers = BTreeMap<NodeName, TicketServer>;

/// Connects to all servers that the change has to do with, and locks them: a
/// program that was killed may have left a statement behind.
async fn connect(
    file: &ClusterFile,
    change: &TicketChange,
    catalog: &NodeName,
    wait: Duration,
) -> Result<Servers, Failure> {
    let mut nodes: Vec<&NodeName> = change.before.iter().chain(&change.after).collect();
    nodes.retain(|node| !change.gone.contains(node));
    nodes.sort();
    nodes.dedup();
    let connecting = nodes.into_iter().map(|node| async move {
        let server = TicketServer::connect(file, node, "tickets").await;
        let mut server = server.map_err(|failure| match change.id {
            // Not written down yet.
            0 => failure,
            _ => failure.detail(format!(
                "where {node} never comes back: `shardid tickets resume {} --gone {node} --above NUMBER`",
                change.ticket
            )),
        })?;
        // The catalog's lock, which is ours already, is that of its node.
        if node != catalog {
            server.session.lock(node, wait).await?;
        }
        // This one is held by the very session that changes tickets there, on all of them:
        // what a program that has lost the catalog has under way ends first.
        server.session.lock_tickets(node, wait).await?;
        Ok::<_, Failure>((node.clone(), server))
    });
    Ok(try_join_all(connecting).await?.into_iter().collect())
}

/// One run of the program on a change.
struct Run<'a> {
    file: &'a ClusterFile,
    journal: &'a mut TicketJournal,
    servers: Servers,
    change: &'a mut TicketChange,
}

impl Intent for Run<'_> {
    type State = ChangeState;
    type Event = Limited;

    const PLACE: &'static str = "tickets/";

    fn unfinished(&self) -> Option<ChangeState> {
        next_change_state(self.change.state).map(|_| self.change.state)
    }

    /// Says whether a server had passed its ceiling before it was limited.
    async fn take_effects(&mut self) -> Result<Limited, Failure> {
        self.journal.session.check_lock(&self.journal.node).await?;
        let state = self.change.state;
        let mut passed = false;
        for (number, effect) in change_effects(self.change).iter().enumerate() {
            cuts::at(format_args!("tickets/{state}/before-{}", number + 1));
            let limited = act(&mut self.servers, &self.change.ticket, effect).await?;
            passed |= limited == Limited::Passed;
            cuts::at(format_args!("tickets/{state}/after-{}", number + 1));
        }
        Ok(if passed { Limited::Passed } else { Limited::Yes })
    }

    async fn advance(&mut self, limited: Limited) -> Result<(), Failure> {
        if limited == Limited::Passed {
            // Clients were quicker than the margin: a higher floor, and again.
            let floor = higher_floor(self.file, self.change).await?;
            return self.journal.raise_floor(self.change, floor).await;
        }
        let Some(next) = next_change_state(self.change.state) else { return Ok(()) };
        // From here on the catalog knows the new servers, all of which stand at the floor.
        let seen = SeenAt { number: self.change.floor, at_us: now_us() };
        let seen = shardid_cluster::Seen::default().then(seen);
        let after: Option<Vec<_>> = (self.change.state == ChangeState::Limited)
            .then(|| self.change.after.iter().map(|node| (node.clone(), seen)).collect());
        self.journal.advance(self.change, next, after.as_deref()).await
    }
}

async fn act(
    servers: &mut Servers,
    ticket: &TicketName,
    effect: &ChangeEffect,
) -> Result<Limited, Failure> {
    let (ChangeEffect::Limit { node, .. }
    | ChangeEffect::Restep { node, .. }
    | ChangeEffect::Create { node, .. }
    | ChangeEffect::Retire { node, .. }) = effect;
    let server = servers.get_mut(node).expect("all servers that are asked are connected");
    match effect {
        ChangeEffect::Limit { ceiling, .. } => {
            let limited = server.limit(ticket, *ceiling).await?;
            if limited == Limited::Yes {
                talk::line(format_args!("  {node}: ends before {ceiling}"));
            }
            return Ok(limited);
        }
        ChangeEffect::Restep { class, floor, .. } => {
            server.restep(ticket, *class, *floor).await?;
            talk::line(format_args!("  {node}: class {class}, above {floor}"));
        }
        ChangeEffect::Create { class, floor, .. } => {
            server.begin(ticket, *class, *floor).await?;
            talk::line(format_args!("  {node}: begins with class {class}, above {floor}"));
        }
        ChangeEffect::Retire { floor, .. } => {
            let last = server.retire(ticket, *floor).await?;
            talk::line(format_args!("  {node}: has ended at {last}"));
        }
    }
    Ok(Limited::Yes)
}

/// A floor above all that the old servers have handed out by now, with twice
/// the room that was not enough.
async fn higher_floor(file: &ClusterFile, change: &TicketChange) -> Result<u64, Failure> {
    let truth = look(file, "tickets", true).await?.truth;
    let states = change.before.iter().filter_map(|node| truth.state(node, &change.ticket));
    let floor = first_floor(states, change.floor.saturating_add(MARGIN))
        .map_err(|error| Failure::new(error).at(format!("ticket {}", change.ticket)))?;
    talk::line(format_args!("  the servers were quicker: a higher floor, {floor}"));
    Ok(floor)
}

/// Microseconds since 1970, by this machine's clock.
pub(crate) fn now_us() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.ok().and_then(|now| i64::try_from(now.as_micros()).ok()).unwrap_or(0)
}
