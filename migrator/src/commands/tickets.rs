//! `shardid tickets`: the servers that share a ticket, and changing them.

mod verify;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use shardid_cluster::{
    NodeName, Rename, SERVERS_MAX, TicketName, TicketProblem, TicketTruth, problems,
};

use crate::cli::{TicketServers, Tickets, TicketsRemove};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::stdout::{print, print_json};
use crate::talk;
use crate::tickets::{self, Look, Said, TicketJournal, Wanted};
use crate::view::tickets as view;

pub(super) async fn run(file: Option<&Path>, command: &Tickets) -> Result<ExitCode, Failure> {
    let file = ClusterFile::load_any(file)?;
    match command {
        Tickets::Status { json } => status(&file, *json).await,
        Tickets::AddServer(args) => add(&file, args).await.map(|()| ExitCode::SUCCESS),
        Tickets::RemoveServer(args) => remove(&file, args).await.map(|()| ExitCode::SUCCESS),
        Tickets::Resume { ticket, gone, above, wait_seconds_max } => {
            let said = Said { gone, above: *above, ..Said::default() };
            resume(&file, ticket, said, *wait_seconds_max).await.map(|()| ExitCode::SUCCESS)
        }
        Tickets::Verify(args) => verify::verify(&file, args).await,
    }
}

async fn status(file: &ClusterFile, json: bool) -> Result<ExitCode, Failure> {
    let look = tickets::look(file, "status", true).await?;
    let found = problems(&look.truth);
    if json {
        print_json(&view::status_json(&look, &found))?;
    } else if look.truth.known.is_empty() {
        talk::line(
            "there are no tickets yet: declare one as [tickets.NAME] in the cluster file, then `shardid apply`",
        );
    } else {
        print(&view::status(&look))?;
    }
    let down = report_down(&look, json);
    if !json && !found.is_empty() {
        talk::line(format_args!("\n{}", view::findings(&found).trim_end()));
    }
    Ok(if down { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Says which servers did not answer; whether there are any.
fn report_down(look: &Look, quiet: bool) -> bool {
    let mut down = false;
    for (node, answer) in &look.nodes {
        let not_ours = look.not_ours(node);
        if let Some(failure) = answer.as_ref().err().or(not_ours.as_ref()) {
            for (message, hint) in failure.messages().filter(|_| !quiet) {
                match hint {
                    Some(hint) => talk::line(format_args!("{message}: {hint}")),
                    None => talk::line(message),
                }
            }
            down = true;
        }
    }
    down
}

async fn add(file: &ClusterFile, args: &TicketServers) -> Result<(), Failure> {
    for node in &args.nodes {
        file.address(node)?;
    }
    change(
        file,
        args,
        |before| {
            let mut after = before.to_vec();
            // Each once, however often it is said.
            for node in &args.nodes {
                if !after.contains(node) {
                    after.push(node.clone());
                }
            }
            after
        },
        (&[], 0),
    )
    .await
}

async fn remove(file: &ClusterFile, args: &TicketsRemove) -> Result<(), Failure> {
    let gone: &[NodeName] = if args.gone { &args.servers.nodes } else { &[] };
    change(
        file,
        &args.servers,
        |before| before.iter().filter(|node| !args.servers.nodes.contains(node)).cloned().collect(),
        (gone, args.above.unwrap_or(0)),
    )
    .await
}

/// Changes the servers of a ticket to what `after` makes of them.
async fn change(
    file: &ClusterFile,
    args: &TicketServers,
    after: impl Fn(&[NodeName]) -> Vec<NodeName>,
    (gone, above): (&[NodeName], u64),
) -> Result<(), Failure> {
    let wait = Duration::from_secs(args.wait_seconds_max.into());
    if !args.yes {
        let shown = prepare(file, args, &after, gone, above).await?;
        let Some((wanted, truth)) = shown else { return Ok(()) };
        print(&view::change(&wanted.plan(&truth)?, &truth))?;
        if args.dry_run {
            return Ok(());
        }
        if !talk::ask("Change the servers?")? {
            return Err(Failure::new("not confirmed: nothing was changed"));
        }
    }
    // What is looked at from here on, nobody else changes.
    let mut journal = TicketJournal::connect(file, "tickets").await?;
    journal.session.lock(&journal.node, wait).await?;
    let Some((wanted, truth)) = prepare(file, args, &after, gone, above).await? else {
        return Ok(());
    };
    if args.yes {
        print(&view::change(&wanted.plan(&truth)?, &truth))?;
    }
    talk::line("");
    tickets::change(file, &mut journal, &wanted, &truth, wait).await?;
    finish(file, &mut journal, &wanted.ticket).await
}

/// What is to be changed, or all reasons against it; nothing where it is so already.
async fn prepare(
    file: &ClusterFile,
    args: &TicketServers,
    after: impl Fn(&[NodeName]) -> Vec<NodeName>,
    gone: &[NodeName],
    above: u64,
) -> Result<Option<(Wanted, TicketTruth)>, Failure> {
    let ticket = &args.ticket;
    let look = tickets::look_also(file, "tickets", true, &args.nodes).await?;
    if let Some(Rename { from, to }) = look.truth.renames.first() {
        return Err(Failure::new(format!("node {from} is called {to} in the cluster file"))
            .hint("`shardid apply` renames it first"));
    }
    let known = look.truth.known.get(ticket).ok_or_else(|| no_ticket(file, ticket))?;
    let before = known.nodes();
    let after = after(&before);
    if let Some(change) = look.truth.changes.iter().find(|change| change.ticket == *ticket) {
        if change.after == after {
            let hint = format!("`shardid tickets resume {ticket}` goes on with it");
            return Err(Failure::new(format!("this very change of ticket {ticket} is unfinished"))
                .hint(hint)
                .standing());
        }
        return Err(Failure::new(format!(
            "another change of the servers of ticket {ticket} is unfinished"
        ))
        .hint(format!("end it first: `shardid tickets resume {ticket}`"))
        .standing());
    }
    if before == after {
        talk::line(format_args!("ticket {ticket} has exactly these servers already"));
        return Ok(None);
    }
    if !(1..=SERVERS_MAX).contains(&after.len()) {
        return Err(Failure::new(format!("ticket {ticket} would have {} servers", after.len()))
            .hint(format!("a ticket has 1 to {SERVERS_MAX}")));
    }
    let refused = refusals(ticket, &look, &before, &after, gone, above);
    if let Some(failure) = Failure::all(refused) {
        return Err(failure);
    }
    let (ticket, gone) = (ticket.clone(), gone.to_vec());
    let known = before.clone();
    Ok(Some((Wanted { ticket, known, before, after, gone, above }, look.truth)))
}

/// All reasons against a change.
fn refusals(
    ticket: &TicketName,
    look: &Look,
    before: &[NodeName],
    after: &[NodeName],
    gone: &[NodeName],
    above: u64,
) -> Vec<Failure> {
    let mut refused = Vec::new();
    let truth = &look.truth;
    for node in before.iter().chain(after.iter().filter(|node| !before.contains(node))) {
        let answer = look.nodes.iter().find(|(other, _)| other == node).map(|(_, answer)| answer);
        if gone.contains(node) {
            let answers = match answer {
                // What another cluster has is gone for this one.
                Some(Ok(_)) => look.not_ours(node).is_none(),
                Some(Err(failure)) => failure.is_answer(),
                None => false,
            };
            if answers {
                refused.push(Failure::new(format!("node {node} answers, so it is not gone")).hint(
                    format!("`shardid tickets remove-server {ticket} {node}` without --gone"),
                ));
            }
            continue;
        }
        if let Some(not_ours) = look.not_ours(node).filter(|_| before.contains(node)) {
            refused.push(not_ours.hint_instead(format!(
                "`shardid tickets remove-server {ticket} {node} --gone --above NUMBER` lets go of it; `shardid apply --restored {node}` takes it over"
            )));
            continue;
        }
        match answer {
            Some(Ok(answer)) => {
                for refusal in &answer.refusals {
                    for (message, hint) in refusal.messages() {
                        refused.push(Failure::new(message).hint(hint.unwrap_or("mend that first")));
                    }
                }
                if answer.server.identity.is_empty() {
                    refused.push(
                        Failure::new(format!("node {node} has no schema shardid yet"))
                            .hint("shardid apply"),
                    );
                }
            }
            Some(Err(failure)) => {
                let (message, _) = failure.messages().next().unwrap_or_default();
                let stops =
                    "every server must have stopped at the floor before another goes on above it";
                refused.push(Failure::new(message).hint(match failure.is_answer() {
                    true => format!("{stops}; {node} is there: mend that first"),
                    false => format!(
                        "{stops}; bring {node} back, or if it is gone for good: `shardid tickets remove-server {ticket} {node} --gone --above NUMBER`"
                    ),
                }));
            }
            None => refused.push(
                Failure::new(format!("there is no node {node} in the cluster file"))
                    .hint(format!("add [nodes.{node}] with its url")),
            ),
        }
    }
    if let Some(known) = truth.known.get(ticket).filter(|_| !gone.is_empty()) {
        let seen = known.servers.iter().filter(|(node, _)| gone.contains(node));
        let high = seen.map(|(_, seen)| seen.high_water()).max().unwrap_or(0);
        if above < high {
            refused.push(
                Failure::new(format!(
                    "--above {above} is below {high}, which was handed out already"
                ))
                .hint(format!("--above {high}, or the highest number of your own tables where that is above it")),
            );
        }
    }
    for problem in problems(truth) {
        let about = match &problem {
            TicketProblem::Stray { ticket: of, node } => of == ticket && !after.contains(node),
            TicketProblem::Standing(_) => false,
            TicketProblem::SameServer(..) => true,
            // What it says of another ticket is of no account here.
            TicketProblem::ByHand { what, .. } => what.is_ticket(ticket),
            other => other.node().is_some_and(|node| {
                (before.contains(node) || after.contains(node)) && !gone.contains(node)
            }),
        };
        if about {
            let mend = problem.mend();
            refused.push(Failure::new(problem).hint(mend));
        }
    }
    refused
}

fn no_ticket(file: &ClusterFile, ticket: &TicketName) -> Failure {
    let failure = Failure::new(format!("there is no ticket {ticket}"));
    match file.declared.ticket(ticket) {
        Some(_) => failure.hint("it is in the cluster file: `shardid apply` makes it"),
        None => failure.hint(format!(
            "declare it as [tickets.{ticket}] in {}, then `shardid apply`",
            file.path.display()
        )),
    }
}

async fn resume(
    file: &ClusterFile,
    ticket: &TicketName,
    said: Said<'_>,
    wait: u32,
) -> Result<(), Failure> {
    let wait = Duration::from_secs(wait.into());
    let mut journal = TicketJournal::connect(file, "tickets").await?;
    journal.session.lock(&journal.node, wait).await?;
    let standing = journal.read().await?.changes.into_iter().find(|c| c.ticket == *ticket);
    let Some(standing) = standing else {
        return Err(Failure::new(format!(
            "no change of the servers of ticket {ticket} is unfinished"
        ))
        .hint("shardid tickets status"));
    };
    let ended = tickets::resume(file, &mut journal, standing, said, wait).await?;
    finish(file, &mut journal, ticket).await?;
    for node in ended.gone.iter().filter(|node| ended.after.contains(node)) {
        talk::line(format_args!(
            "{node} is one of its servers still, and nobody hands its numbers out: `shardid tickets remove-server {ticket} {node} --gone --above NUMBER`"
        ));
    }
    Ok(())
}

/// Remembers the servers as they are now, and says what is left for a person to do.
async fn finish(
    file: &ClusterFile,
    journal: &mut TicketJournal,
    ticket: &TicketName,
) -> Result<(), Failure> {
    let servers: Vec<NodeName> =
        journal.read().await?.known.get(ticket).map(|known| known.nodes()).unwrap_or_default();
    let look = tickets::look_also(file, "tickets", true, &servers).await?;
    let notes = tickets::noted(journal, &look.truth).await?;
    for node in look.truth.servers.keys() {
        if !look.truth.known_servers.contains_key(node) {
            tickets::apply::mark(file, journal, &look.truth, &notes, node).await?;
        }
    }
    let is = look.truth.known.get(ticket).map(|known| known.nodes()).unwrap_or_default();
    let list = |quote: &str| {
        is.iter().map(|node| format!("{quote}{node}{quote}")).collect::<Vec<_>>().join(", ")
    };
    talk::line(format_args!("done: ticket {ticket} is handed out by {}", list("")));
    if file.declared.ticket(ticket).is_none_or(|declared| declared.servers != is) {
        talk::line(format_args!(
            "write it into {}: [tickets.{ticket}] servers = [{}]",
            file.path.display(),
            list("\"")
        ));
    }
    Ok(())
}
