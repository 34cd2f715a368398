//! Changing the servers of a ticket, from the journal's state to the end.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::try_join_all;
use shardid_cluster::{
    ChangeEffect, ChangeState, MARGIN, NodeName, SeenAt, TicketChange, TicketName, TicketTruth,
    change_effects, first_floor, next_change_state,
};

use super::clock::now_us;
use super::look::look;
use super::server::Limited;
use super::standing::{
    Said, check_gone, check_ours, check_silent, check_there, close_forgetful, go_above_forgotten,
    handing_out, highest, take_all, take_strays, why_anew, without,
};
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
        // One that comes back stands where it ended, or above what it had forgotten.
        let states = before.iter().chain(&self.after).filter(|node| !self.gone.contains(node));
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

/// Goes on with a change that is unfinished. Returns it as it has ended.
pub(crate) async fn resume(
    file: &ClusterFile,
    journal: &mut TicketJournal,
    mut change: TicketChange,
    said: Said<'_>,
    wait: Duration,
) -> Result<TicketChange, Failure> {
    let restored = said.restored;
    let found = look(file, "tickets", true).await;
    let found = found.map_err(|failure| unfinished(failure, &change))?;
    check_silent(&found, &change.ticket, said.gone)
        .map_err(|failure| unfinished(failure, &change))?;
    let left = TicketChange {
        gone: change.gone.iter().chain(said.gone).cloned().collect(),
        ..change.clone()
    };
    check_ours(&found, &left).map_err(|failure| unfinished(failure, &change))?;
    let mut truth = found.truth;
    let closed = match said.is_closed {
        true => Ok(false),
        false => close_forgetful(file, journal, &change, &truth, restored, wait).await,
    };
    if closed.map_err(|failure| unfinished(failure, &change))? {
        let again = look(file, "tickets", true).await;
        truth = again.map_err(|failure| standing(failure, &change))?.truth;
    }
    let begins_anew = why_anew(&change, &truth, restored).is_some();
    match begins_anew {
        true => take_all(&mut change, &truth),
        false => take_strays(&mut change, &truth),
    }
    .map_err(|failure| standing(failure, &change))?;
    check_gone(&change, &truth, said).map_err(|failure| standing(failure, &change))?;
    let without_gone =
        without(&change, &truth, said).map_err(|failure| standing(failure, &change))?;
    check_there(&without_gone, &truth).map_err(|failure| standing(failure, &change))?;
    let servers = connect(file, &without_gone, &journal.node, wait)
        .await
        .map_err(|failure| standing(failure, &change))?;
    cuts::at(format_args!("tickets/before-take"));
    journal.take(&mut change).await.map_err(|failure| standing(failure, &change))?;
    if begins_anew && let Some(why) = why_anew(&change, &truth, restored) {
        let handing_out = handing_out(&change.ticket, &truth);
        let anew = change.anew(&handing_out, highest(&change, &truth)).map_err(|error| {
            standing(Failure::new(error).at(format!("ticket {}", change.ticket)), &change)
        })?;
        let floor = anew.floor;
        let anew = journal.begin_anew(&mut change, anew).await;
        anew.map_err(|failure| standing(failure, &change))?;
        talk::line(format_args!("  {why}: the change begins anew, above {floor}"));
        cuts::at(format_args!("tickets/after-anew"));
    }
    if !said.gone.is_empty() {
        // As it is now: another program may have taken it further.
        let without_gone =
            without(&change, &truth, said).map_err(|failure| standing(failure, &change))?;
        let gone = journal.declare_gone(&mut change, without_gone).await;
        gone.map_err(|failure| standing(failure, &change))?;
        cuts::at(format_args!("tickets/after-gone"));
    }
    go_above_forgotten(journal, &mut change, &truth, restored, now_us())
        .await
        .map_err(|failure| standing(failure, &change))?;
    let mut run = Run { file, journal, servers, change: &mut change };
    intent::drive(&mut run).await.map_err(|failure| standing(failure, &change))?;
    Ok(change)
}

/// Of servers none of which has forgotten numbers, or hands out any.
fn standing(failure: Failure, change: &TicketChange) -> Failure {
    unfinished(failure, change).detail("no number is handed out twice meanwhile")
}

fn unfinished(failure: Failure, change: &TicketChange) -> Failure {
    let ticket = &change.ticket;
    // A server that has said something is there.
    let instead = match failure.is_answer() {
        true => String::new(),
        false => format!(
            "; where a server never comes back: `shardid tickets resume {ticket} --gone NODE --above NUMBER`"
        ),
    };
    failure
        .detail(format!(
            "the change of the servers of ticket {} is unfinished (state: {})",
            change.ticket,
            change.state.as_str()
        ))
        .hint(format!("once that is mended: `shardid tickets resume {ticket}`{instead}"))
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
            _ if failure.is_answer() => failure,
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
    /// Whether a server had passed its ceiling before it was limited.
    type Event = bool;

    const PLACE: &'static str = "tickets/";

    fn unfinished(&self) -> Option<ChangeState> {
        next_change_state(self.change.state).map(|_| self.change.state)
    }

    async fn take_effects(&mut self) -> Result<bool, Failure> {
        self.journal.session.check_lock(&self.journal.node).await?;
        let state = self.change.state;
        let mut passed = false;
        for (number, effect) in change_effects(self.change).iter().enumerate() {
            cuts::at(format_args!("tickets/{state}/before-{}", number + 1));
            passed |= act(&mut self.servers, &self.change.ticket, effect).await?;
            cuts::at(format_args!("tickets/{state}/after-{}", number + 1));
        }
        Ok(passed)
    }

    async fn advance(&mut self, passed: bool) -> Result<(), Failure> {
        if passed {
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

/// Whether a server had passed its ceiling before it was limited.
async fn act(
    servers: &mut Servers,
    ticket: &TicketName,
    effect: &ChangeEffect,
) -> Result<bool, Failure> {
    let (ChangeEffect::Limit { node, .. }
    | ChangeEffect::Restep { node, .. }
    | ChangeEffect::Create { node, .. }
    | ChangeEffect::Retire { node, .. }) = effect;
    let server = servers.get_mut(node).expect("all servers that are asked are connected");
    match effect {
        ChangeEffect::Limit { ceiling, .. } => match server.limit(ticket, *ceiling).await? {
            Limited::Passed => return Ok(true),
            Limited::Before(ceiling) => {
                talk::line(format_args!("  {node}: ends before {ceiling}"));
            }
        },
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
    Ok(false)
}

/// A floor above all that the old servers have handed out by now, with twice
/// the room that was not enough.
async fn higher_floor(file: &ClusterFile, change: &TicketChange) -> Result<u64, Failure> {
    let truth = look(file, "tickets", true).await?.truth;
    let nodes = change.before.iter().chain(&change.after);
    let states = nodes.filter_map(|node| truth.state(node, &change.ticket));
    let floor = first_floor(states, change.floor.saturating_add(MARGIN))
        .map_err(|error| Failure::new(error).at(format!("ticket {}", change.ticket)))?;
    talk::line(format_args!("  the servers were quicker: a higher floor, {floor}"));
    Ok(floor)
}
