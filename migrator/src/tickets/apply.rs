//! The steps of a plan for tickets, taken one by one under the locks.

use std::collections::BTreeSet;

use shardid_cluster::{
    NodeName, Notes, Seen, SeenAt, TicketName, TicketStep, TicketTruth, mark_of_look,
    mark_of_restored,
};

use super::change::{Wanted, change, resume};
use super::clock::now_us;
use super::look::look_taking;
use super::notes::{has_room, note, note_restored, noted, text_on};
use super::plan::{Options, plan};
use super::{Said, Session, TicketJournal, TicketServer};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::mysql::migrate;
use crate::random;
use crate::talk;
use crate::view::tickets as view;

/// Whether tickets are anybody's business in this cluster.
pub(crate) fn concerns(file: &ClusterFile) -> bool {
    file.declared.ticket_nodes().next().is_some()
}

/// Writes down which servers were restored, before anything is changed. What it has written, `apply` goes on with.
pub(crate) async fn say_restored(file: &ClusterFile, options: &Options) -> Result<(), Failure> {
    if options.restored.is_empty() {
        return Ok(());
    }
    // The lock of the catalog: who looks at servers meanwhile would leave a mark on them.
    let nothing = |failure: Failure| nothing_noted(failure, options);
    let mut journal = TicketJournal::connect(file, "apply").await.map_err(nothing)?;
    journal.session.lock(&journal.node, options.wait).await.map_err(nothing)?;
    let whole = || async {
        look_taking(file, "apply", options.accept_power_loss, &options.restored).await?.whole()
    };
    let mut seen = whole().await.map_err(nothing)?;
    plan(file, &seen, options)?;
    let noted = to_be_noted(&seen.truth, options);
    if let [first, _, ..] = &noted[..]
        && !seen.truth.servers.get(first).is_some_and(has_room)
    {
        // An earlier schema has no room for the names of the others.
        install(file, &journal.node, first, options).await.map_err(nothing)?;
        seen = whole().await.map_err(nothing)?;
    }
    note_all(file, &seen.truth, options).await?;
    for node in &options.restored {
        talk::line(format_args!("  {node}: noted as restored"));
    }
    journal.session.close().await;
    Ok(())
}

async fn note_all(
    file: &ClusterFile,
    truth: &TicketTruth,
    options: &Options,
) -> Result<(), Failure> {
    let nodes = to_be_noted(truth, options);
    let tickets: BTreeSet<TicketName> =
        options.restored.iter().flat_map(|node| tickets_of(node, truth)).collect();
    let said = tickets.into_iter().map(|ticket| {
        let above = options.restored().above(&ticket);
        (ticket, above)
    });
    let said: Vec<(TicketName, u64)> = said.filter(|(_, above)| *above > 0).collect();
    let mark = Some(mark_of_restored(&nodes));
    let is_noted = |node: &&NodeName| truth.servers.get(*node).is_some_and(|it| it.mark == mark);
    let mut noted = nodes.iter().find(is_noted);
    for node in &nodes {
        note_restored(file, truth, node, &nodes, &said).await.map_err(|failure| {
            let Some(first) = noted else { return nothing_noted(failure, options) };
            let all: Vec<&str> = nodes.iter().map(NodeName::as_str).collect();
            failure
                .detail(format!(
                    "It is noted on {first} that {} were restored: `shardid apply` goes on with them.",
                    all.join(", ")
                ))
                .hint("mend that, then `shardid apply`")
        })?;
        noted = noted.or(Some(node));
    }
    Ok(())
}

/// Says that what was said is noted on no server yet.
fn nothing_noted(failure: Failure, options: &Options) -> Failure {
    let nodes: Vec<String> =
        options.restored.iter().map(|node| format!("--restored {node}")).collect();
    failure
        .detail(format!(
            "No server is noted as restored yet: say it again, with the same numbers, `shardid apply {}`.",
            nodes.join(" ")
        ))
        .hint("mend that, then say it again")
}

/// The servers on which it is noted that they were restored: those of which somebody says it now, and those of which it
/// was said before. One that has room for the names of all comes first.
fn to_be_noted(truth: &TicketTruth, options: &Options) -> Vec<NodeName> {
    let mut all = truth.said_restored();
    all.extend(options.restored.iter().cloned());
    // Where nothing is there yet, there is nothing that it has forgotten.
    let server = |node: &NodeName| truth.servers.get(node).filter(|it| !it.identity.is_empty());
    let mut nodes: Vec<NodeName> = all.into_iter().filter(|node| server(node).is_some()).collect();
    nodes.sort_by_key(|node| !server(node).is_some_and(has_room));
    nodes
}

/// The tickets of a server, as it or the catalog knows them.
fn tickets_of(node: &NodeName, truth: &TicketTruth) -> BTreeSet<TicketName> {
    let here = truth.servers.get(node).into_iter().flat_map(|server| server.tickets.keys());
    let known = truth.known.iter().filter(|(_, known)| known.nodes().contains(node));
    here.chain(known.map(|(ticket, _)| ticket)).cloned().collect()
}

/// Takes the steps of the plan, made anew under the locks.
pub(crate) async fn run(file: &ClusterFile, options: &Options) -> Result<(), Failure> {
    let mut journal = TicketJournal::connect(file, "apply").await?;
    journal.session.lock(&journal.node, options.wait).await?;
    let mut done = 0;
    let mut step_done = |step: &TicketStep| {
        talk::line(format_args!("  {}", view::done(step)));
        cuts::at(format_args!("tickets/apply/after-{done}"));
        done += 1;
    };
    // Schemas come first: what a server says about itself is in them.
    let seen =
        look_taking(file, "apply", options.accept_power_loss, &options.restored).await?.whole()?;
    for step in plan(file, &seen, options)?.steps {
        match &step {
            TicketStep::Install { node, .. } => install(file, &journal.node, node, options).await?,
            TicketStep::MigrateCatalog { .. } => {
                if let Session::Mysql(connection) = &mut journal.session {
                    migrate::catalog(connection, &journal.node).await?;
                }
            }
            _ => continue,
        }
        step_done(&step);
    }
    // The names of some may stand on others alone, and may be about to change.
    let is_noted = |node: &NodeName| {
        seen.truth.servers.get(node).is_none_or(|server| server.is_said_restored())
    };
    if !options.restored.is_empty() || !seen.truth.said_restored().iter().all(is_noted) {
        // An earlier schema had no room for what was said of it.
        let seen = look_taking(file, "apply", options.accept_power_loss, &options.restored)
            .await?
            .whole()?;
        note_all(file, &seen.truth, options).await?;
    }
    loop {
        let seen = look_taking(file, "apply", options.accept_power_loss, &options.restored)
            .await?
            .whole()?;
        let steps = plan(file, &seen, options)?.steps;
        // What a server of a change that stands has forgotten is seen to when that is done, and its mark
        // tells of it until then.
        let resumes = steps.iter().any(|step| matches!(step, TicketStep::Resume { .. }));
        for step in steps {
            if resumes && matches!(step, TicketStep::Know { .. }) {
                continue;
            }
            journal.session.check_lock(&journal.node).await?;
            take(file, &mut journal, &seen.truth, &step, options).await.map_err(|failure| {
                failure.detail(format!("this was to be done: {}", view::line(&step)))
            })?;
            step_done(&step);
        }
        if !resumes {
            break;
        }
    }
    journal.session.close().await;
    Ok(())
}

/// Makes the schema on a MySQL server, or brings it up to date.
async fn install(
    file: &ClusterFile,
    catalog: &NodeName,
    node: &NodeName,
    options: &Options,
) -> Result<(), Failure> {
    let mut server = TicketServer::connect(file, node, "apply").await?;
    if node != catalog {
        server.session.lock(node, options.wait).await?;
    }
    // This one is held by the very session that makes routines, also where that of the catalog has the other: what a
    // program that was killed has under way ends first.
    server.session.lock_tickets(node, options.wait).await?;
    if let Session::Mysql(connection) = &mut server.session {
        migrate::schema(connection, node).await?;
    }
    server.session.close().await;
    Ok(())
}

async fn take(
    file: &ClusterFile,
    journal: &mut TicketJournal,
    truth: &TicketTruth,
    step: &TicketStep,
    options: &Options,
) -> Result<(), Failure> {
    match step {
        TicketStep::Install { .. } | TicketStep::MigrateCatalog { .. } => {}
        TicketStep::Rename { rename } => journal.rename(rename).await?,
        TicketStep::Write { ticket, servers } => {
            let servers: Vec<_> =
                servers.iter().map(|node| (node.clone(), Seen::default())).collect();
            journal.write(ticket, &servers).await?;
        }
        TicketStep::Create { ticket, node, class, floor } => {
            let mut server = TicketServer::connect(file, node, "apply").await?;
            if *floor > 0 {
                note(file, journal, truth, (ticket, node), *floor).await?;
            }
            server.create(ticket, *class, *floor).await?;
            saw(journal, truth, ticket, node, *floor).await?;
        }
        TicketStep::Raise { ticket, node, floor, .. } => {
            let mut server = TicketServer::connect(file, node, "apply").await?;
            note(file, journal, truth, (ticket, node), *floor).await?;
            // Before a client has a number above it: where both servers are put back again, nobody else knows.
            saw(journal, truth, ticket, node, *floor).await?;
            server.raise(ticket, *floor).await?;
        }
        TicketStep::Close { ticket, node, floor, .. } => {
            let mut server = TicketServer::connect(file, node, "apply").await?;
            server.close(ticket).await?;
            note(file, journal, truth, (ticket, node), *floor).await?;
            server.raise_closed(ticket, *floor).await?;
            saw(journal, truth, ticket, node, *floor).await?;
        }
        TicketStep::Realign { ticket, before, after, above } => {
            // A step before this one may have written it.
            let known = journal.read().await?.known.get(ticket).map(|known| known.nodes());
            let wanted = Wanted {
                ticket: ticket.clone(),
                known: known.unwrap_or_default(),
                before: before.clone(),
                after: after.clone(),
                gone: Vec::new(),
                above: *above,
            };
            change(file, journal, &wanted, truth, options.wait).await?;
        }
        TicketStep::Resume { ticket } => {
            let standing = truth.changes.iter().find(|change| change.ticket == *ticket);
            if let Some(standing) = standing {
                let said = Said { restored: &options.restored, is_closed: true, ..Said::default() };
                resume(file, journal, standing.clone(), said, options.wait).await?;
            }
        }
        TicketStep::Adopt { node } => {
            let mut server = TicketServer::connect(file, node, "apply").await?;
            server.adopt().await?;
            server.session.close().await;
        }
        TicketStep::Know { node } => {
            let notes = noted(journal, truth).await?;
            mark(file, journal, truth, &notes, node).await?;
        }
    }
    Ok(())
}

async fn saw(
    journal: &mut TicketJournal,
    truth: &TicketTruth,
    ticket: &TicketName,
    node: &NodeName,
    number: u64,
) -> Result<(), Failure> {
    let known = truth.known.get(ticket).and_then(|known| {
        known.servers.iter().find(|(other, _)| other == node).map(|(_, seen)| *seen)
    });
    let seen = known.unwrap_or_default().raised(SeenAt { number, at_us: now_us() });
    journal.seen(ticket, node, seen).await
}

/// Writes down which server a node is, and leaves a new mark there, with what it is told of the others.
pub(crate) async fn mark(
    file: &ClusterFile,
    journal: &mut TicketJournal,
    truth: &TicketTruth,
    notes: &Notes,
    node: &NodeName,
) -> Result<(), Failure> {
    // One that has no schema yet hands out nothing, and `apply` gives it its mark with that.
    let seen = truth.servers.get(node).filter(|seen| !seen.identity.is_empty());
    let Some(seen) = seen else { return Ok(()) };
    let mark = mark_of_look(&random::text(22)?, truth.next_look());
    let mut server = TicketServer::connect(file, node, "mark").await?;
    journal.begin_mark(node, &seen.identity, &mark).await?;
    server.mark(&text_on(file, seen, &mark, notes)).await?;
    journal.end_mark(node, &seen.identity).await?;
    server.session.close().await;
    Ok(())
}

/// Remembers how far every server is, so that one that forgets is noticed.
pub(crate) async fn remember(
    file: &ClusterFile,
    journal: &mut TicketJournal,
    truth: &TicketTruth,
) -> Result<(), Failure> {
    // By new names the catalog does not know them yet, and would take them for other servers.
    if !truth.renames.is_empty() {
        return Ok(());
    }
    for (ticket, known) in &truth.known {
        for (node, seen) in &known.servers {
            let Some(state) = truth.state(node, ticket) else { continue };
            let seen = seen.then(SeenAt { number: state.last, at_us: now_us() });
            journal.seen(ticket, node, seen).await?;
        }
    }
    let notes = noted(journal, truth).await?;
    for node in truth.servers.keys() {
        mark(file, journal, truth, &notes, node).await?;
    }
    Ok(())
}
