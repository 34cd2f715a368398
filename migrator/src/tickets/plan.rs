//! The plan for tickets, or all reasons against it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use shardid_cluster::{
    MARGIN, NodeName, Restored, TicketName, TicketNote, TicketPlan, TicketProblem, TicketTruth,
    handed_out_by, not_remembered, problems, ticket_plan, unseen,
};

use super::clock::now_us;
use super::look::Look;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::mysql::migrate;

/// What a person chose.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// Servers that were restored from a backup.
    pub(crate) restored: Vec<NodeName>,
    /// A number at or above all that those can have handed out.
    pub(crate) above: Option<u64>,
    /// The same of single tickets, which that number does not go for.
    pub(crate) above_of: Vec<(TicketName, u64)>,
    /// Whether numbers may be repeated after a power loss.
    pub(crate) accept_power_loss: bool,
    /// Whether servers that hand out a ticket, and are not in the cluster file, are gone for good.
    pub(crate) accept_unseen: bool,
    /// How long to wait for another program.
    pub(crate) wait: Duration,
}

impl Options {
    pub(super) fn restored(&self) -> Restored<'_> {
        Restored { nodes: &self.restored, above: self.above.unwrap_or(0), above_of: &self.above_of }
    }
}

/// The plan for tickets, or all reasons against it.
pub(crate) fn plan(
    file: &ClusterFile,
    look: &Look,
    options: &Options,
) -> Result<TicketPlan, Failure> {
    let by_hand = problems(&look.truth).into_iter().filter(|problem| {
        matches!(problem, TicketProblem::SameServer(..) | TicketProblem::NoSequence { .. })
    });
    let tickets = file.declared.tickets.iter().filter(|_| !options.accept_unseen);
    let missing = tickets.flat_map(|ticket| {
        let declared = &ticket.servers;
        let known = look.truth.known.get(&ticket.name).map(|known| known.nodes());
        let changes = look.truth.changes.iter().any(|change| change.ticket == ticket.name);
        let servers = known.unwrap_or_else(|| ticket.servers.clone());
        let found = match changes {
            true => Vec::new(),
            false => unseen(&ticket.name, &servers, &look.truth),
        };
        // A server that a catalog from a backup does not know of may have lost it with that.
        found.into_iter().map(|problem| problem.perhaps_lost_by(declared, &look.truth))
    });
    let failures = by_hand.chain(missing).map(|problem| {
        let mend = problem.mend();
        Failure::new(problem).hint(mend)
    });
    let mut forgotten = not_remembered(&look.truth, &options.restored);
    // One that is in no file is left alone, and named. A number is said of those alone that are said to be restored.
    let is_ours = |ticket: &TicketName| {
        let mut declared = file.declared.tickets.iter();
        look.truth.known.contains_key(ticket) || declared.any(|one| one.name == *ticket)
    };
    let is_said = |ticket: &TicketName, node: &NodeName| {
        let is_number = options.above_of.iter().any(|(of, _)| of == ticket);
        (is_number || options.above.is_some()) && options.restored.contains(node)
    };
    forgotten.retain(|(ticket, node)| is_ours(ticket) && !is_said(ticket, node));
    let mut restored: Vec<&NodeName> =
        options.restored.iter().chain(forgotten.iter().map(|(_, node)| node)).collect();
    restored.sort();
    restored.dedup();
    let lacking = forgotten.iter().map(|(ticket, _)| ticket).collect();
    let command = command(options, &look.truth, &restored, lacking, &is_ours);
    let failures = failures
        .chain(without_routines(look, options))
        .chain(in_no_file(file, &look.truth).into_iter().filter(|_| !options.accept_unseen))
        .chain(forgotten.iter().map(|(ticket, node)| nobody_remembers(ticket, node, &command)))
        .chain(not_for_all(options, &look.truth, &is_ours));
    if let Some(failure) = Failure::all(failures) {
        return Err(failure);
    }
    let latest = (look.latest(), migrate::latest(&migrate::of_catalog()));
    let restored = options.restored();
    let mut plan = ticket_plan(&file.declared.tickets, &look.truth, restored, latest, now_us());
    plan.notes.extend(look.others.iter().map(|(node, cluster)| TicketNote::TakenOver {
        node: node.clone(),
        cluster: cluster.clone(),
    }));
    Ok(plan)
}

/// Servers that have what was restored without its routines, while nobody says how far they were: made again,
/// they would hand out what they handed out before.
fn without_routines(look: &Look, options: &Options) -> Vec<Failure> {
    let said = look.truth.said_restored();
    let answers =
        look.nodes.iter().filter_map(|(node, answer)| Some((node, answer.as_ref().ok()?)));
    let bare = answers.filter(|(node, answer)| {
        let counts = answer.server.tickets.values().any(|state| state.last > 0);
        answer.is_bare && counts && !said.contains(*node) && !options.restored.contains(*node)
    });
    let failures = bare.map(|(node, _)| {
        Failure::new(format!(
            "node {node} has the tables of schema shardid and none of its routines, as after a dump without --routines"
        ))
        .hint(format!("`shardid apply --restored {node}` makes them, and goes on above all numbers"))
    });
    failures.collect()
}

/// Servers that hand out a ticket by what the catalog knows, and that nobody can ask.
fn in_no_file(file: &ClusterFile, truth: &TicketTruth) -> Vec<Failure> {
    let path = file.path.display();
    let changing = |ticket: &TicketName| truth.changes.iter().any(|it| it.ticket == *ticket);
    let known = truth.known.iter().filter(|(ticket, _)| !changing(ticket));
    let failures = known.filter_map(|(ticket, known)| {
        let nodes = known.nodes().into_iter().filter(|node| !file.addresses.contains_key(node));
        let nodes: Vec<String> = nodes.map(|node| node.to_string()).collect();
        if nodes.is_empty() {
            return None;
        }
        let (list, all) = (nodes.join(", "), nodes.join(" "));
        let hint = match nodes.len() == known.servers.len() {
            true => format!(
                "put it back; if none of them ever comes back: `shardid apply --accept-unseen`, and the servers of {ticket} in {path} go on above all that was seen of it"
            ),
            false => format!(
                "put it back, then `shardid tickets remove-server {ticket} {all}`; what is gone for good: `shardid tickets remove-server {ticket} {all} --gone --above NUMBER`, or, where that is refused, `shardid apply --accept-unseen`, and the others go on above all that was seen of it"
            ),
        };
        Some(
            Failure::new(format!(
                "ticket {ticket} is handed out by {list}, and there is no such node in {path}"
            ))
            .hint(hint),
        )
    });
    failures.collect()
}

/// Why a restored server is not raised by what it remembers itself.
fn nobody_remembers(ticket: &TicketName, node: &NodeName, command: &str) -> Failure {
    Failure::new(format!(
        "nobody remembers how far ticket {ticket} was on {node}, which was restored from a backup, or made from one"
    ))
    .detail(
        "What the catalog knows is from the backup as well, and no other server was told of it: the same backup put back twice would begin at the same number twice.",
    )
    .hint(format!(
        "look for the highest number in all columns of yours that hold the ticket, as with `SELECT max(id) FROM photos`, and say one that is not below it: `{command}`"
    ))
}

/// The tickets of some servers that are raised, each with the largest number that it can have.
fn ends(
    nodes: &[&NodeName],
    truth: &TicketTruth,
    is_ours: &impl Fn(&TicketName) -> bool,
) -> BTreeMap<TicketName, u64> {
    let tickets = nodes.iter().flat_map(|node| handed_out_by(node, truth));
    let end = |ticket: &TicketName| {
        let states = truth.servers.values().filter_map(|server| server.tickets.get(ticket));
        states.map(|state| state.max).min().unwrap_or(i64::MAX.unsigned_abs())
    };
    let raised = tickets.filter(|ticket| is_ours(ticket));
    raised.map(|ticket| (ticket.clone(), end(ticket))).collect()
}

/// The command by which numbers are said that are lacking: one for all tickets, where all of them go as far.
fn command(
    options: &Options,
    truth: &TicketTruth,
    restored: &[&NodeName],
    lacking: BTreeSet<&TicketName>,
    is_ours: &impl Fn(&TicketName) -> bool,
) -> String {
    let mut text = "shardid apply".to_owned();
    for node in restored {
        text.push_str(&format!(" --restored {node}"));
    }
    for (ticket, above) in &options.above_of {
        text.push_str(&format!(" --above {ticket}={above}"));
    }
    let ends: Vec<u64> = ends(restored, truth, is_ours).into_values().collect();
    let (nearest, farthest) = (ends.iter().min(), ends.iter().max());
    let is_one_for_all = nearest.zip(farthest).is_none_or(|(near, far)| *near >= far / 2);
    if is_one_for_all && options.above_of.is_empty() {
        text.push_str(" --above NUMBER");
        return text;
    }
    for ticket in lacking {
        text.push_str(&format!(" --above {ticket}=NUMBER"));
    }
    text
}

/// Why numbers that were said cannot be those of the tickets that they go for, before the first is raised.
fn not_for_all(
    options: &Options,
    truth: &TicketTruth,
    is_ours: &impl Fn(&TicketName) -> bool,
) -> Vec<Failure> {
    let restored: Vec<&NodeName> = options.restored.iter().collect();
    let ends = ends(&restored, truth, is_ours);
    let own = |ticket: &TicketName| options.above_of.iter().any(|(of, _)| of == ticket);
    let others: BTreeMap<&TicketName, u64> =
        ends.iter().filter(|(ticket, _)| !own(ticket)).map(|(t, end)| (t, *end)).collect();
    let mut failures = Vec::new();
    let farthest = others.values().max();
    let nearest = others.iter().min_by_key(|(_, end)| **end);
    if let (Some(above), Some(farthest), Some((ticket, end))) = (options.above, farthest, nearest)
        && *end < farthest / 2
    {
        let lacking = others.keys().copied().collect();
        let command = command(options, truth, &restored, lacking, is_ours);
        failures.push(
            Failure::new(format!(
                "--above {above} would go for tickets that do not go as far as each other: ticket {ticket} ends at {end}"
            ))
            .hint(format!("say a number for each, all that is below it is left out: `{command}`")),
        );
        return failures;
    }
    for (ticket, above) in &options.above_of {
        if !ends.contains_key(ticket) {
            failures.push(Failure::usage(format!(
                "--above {ticket}={above}: no server that was restored hands out a ticket {ticket}"
            )));
        }
    }
    for (ticket, end) in &ends {
        let above = options.restored().above(ticket);
        if above > end.saturating_sub(MARGIN) {
            failures.push(
                Failure::new(format!(
                    "--above {above} leaves nothing of ticket {ticket}, which ends at {end}"
                ))
                .hint("look for the highest number in your own tables"),
            );
        }
    }
    failures
}
