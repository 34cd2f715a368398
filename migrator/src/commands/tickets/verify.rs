//! `shardid tickets verify`: what could repeat a number, and how far each server is, which is remembered.

use std::process::ExitCode;
use std::time::Duration;

use shardid_cluster::{NodeName, TicketName, TicketProblem, TicketTruth, problems};

use crate::cli::TicketsVerify;
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::stdout::{print, print_json};
use crate::tickets::{self, Look, TicketJournal};
use crate::view::tickets as view;

pub(super) async fn verify(file: &ClusterFile, args: &TicketsVerify) -> Result<ExitCode, Failure> {
    let mut look = tickets::look(file, "verify", args.accept_power_loss).await?;
    // Another program may change servers before the lock is ours: what is remembered is seen under it. Where it
    // is not to be had, what was found is said all the same.
    let mut journal = None;
    // Before the first `apply` there is nothing to remember, and nowhere to.
    let is_empty = look.truth.known.is_empty();
    let is_any_sound = || !sound(&look, &problems(&look.truth)).0.servers.is_empty();
    if !args.dry_run && !is_empty && is_any_sound() {
        cuts::at(format_args!("tickets/verify/before-lock"));
        let locked = lock(file).await;
        if locked.is_ok() {
            look = tickets::look(file, "verify", args.accept_power_loss).await?;
        }
        journal = Some(locked);
    }
    let found = problems(&look.truth);
    let mut said: Vec<String> = Vec::new();
    for (node, answer) in &look.nodes {
        let failures: Vec<&Failure> = match answer {
            Ok(answer) => answer.refusals.iter().collect(),
            Err(failure) => vec![failure],
        };
        for (message, hint) in failures.iter().flat_map(|failure| failure.messages()) {
            said.push(format!("{message}: {}", hint.unwrap_or("look at `shardid tickets status`")));
        }
        if let Ok(answer) = answer
            && let Some(first) = answer.missing.first()
        {
            let what = match answer.missing.len() - 1 {
                0 => format!("{first} of schema shardid is missing, or of an earlier version"),
                more => format!(
                    "{first} and {more} more of schema shardid are missing, or of an earlier version"
                ),
            };
            // A view that is dropped by hand tells of no restore.
            let mend = match answer.missing.iter().all(|one| one.starts_with("view ")) {
                true => format!("shardid apply; after a restore shardid apply --restored {node}"),
                false => format!(
                    "as after a dump without --routines --triggers: shardid apply --restored {node}"
                ),
            };
            said.push(format!("node {node}: {what}: {mend}"));
        }
    }
    let changing =
        |name: &TicketName| look.truth.changes.iter().any(|change| change.ticket == *name);
    for ticket in &file.declared.tickets {
        if !look.truth.known.contains_key(&ticket.name) && !changing(&ticket.name) {
            said.push(format!(
                "ticket {} of the cluster file is not in the catalog: shardid apply",
                ticket.name
            ));
        }
    }
    if args.json {
        let mut value = view::status_json(&look, &found);
        value["refusals"] = said.clone().into();
        print_json(&value)?;
    } else {
        let lines: String = said.iter().map(|line| format!("{line}\n")).collect();
        print(&format!("{lines}{}", view::findings(&found)))?;
    }
    // A server that is down, or wrong, keeps nobody from remembering the others.
    let (sound, not_remembered) = sound(&look, &found);
    if let Some(journal) = journal {
        tickets::apply::remember(file, &mut journal?, &sound).await?;
    }
    if !found.is_empty() || !said.is_empty() {
        if !args.json && !not_remembered.is_empty() {
            let nodes: Vec<String> = not_remembered.iter().map(ToString::to_string).collect();
            print(&format!("how far it is, is not remembered of {}\n", nodes.join(", ")))?;
        }
        return Ok(ExitCode::FAILURE);
    }
    if !args.json {
        let servers = look.nodes.len();
        print(&format!(
            "nothing found on {}{}\n",
            crate::view::counted(servers as u64, "server"),
            if args.dry_run || is_empty { "" } else { "; how far each is, is remembered" }
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The catalog, under the lock.
async fn lock(file: &ClusterFile) -> Result<TicketJournal, Failure> {
    let mut journal = TicketJournal::connect(file, "verify").await?;
    journal.session.lock(&journal.node, Duration::from_secs(10)).await?;
    Ok(journal)
}

/// What was seen of the servers that nothing was found on, and the others.
fn sound(look: &Look, found: &[TicketProblem]) -> (TicketTruth, Vec<NodeName>) {
    let mut truth = look.truth.clone();
    let mut left_out = Vec::new();
    for (node, answer) in &look.nodes {
        let refused = !answer.as_ref().is_ok_and(|answer| answer.refusals.is_empty());
        if refused || found.iter().any(|problem| problem.is_on(node)) {
            truth.servers.remove(node);
            left_out.push(node.clone());
        }
    }
    (truth, left_out)
}
