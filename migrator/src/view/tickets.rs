//! Tickets, their servers and changes of them, for people and for programs.

use serde_json::{Value, json};
use shardid_cluster::{
    Class, MARGIN, NodeName, TicketChange, TicketPlan, TicketProblem, TicketStep, TicketTruth,
    classes,
};

use crate::tickets::Look;
use crate::view::counted;
use crate::view::table::{Column, Table};

/// The plan for tickets, below that for shards.
pub(crate) fn text(plan: &TicketPlan) -> String {
    let mut text = String::new();
    if !plan.steps.is_empty() {
        text.push_str("\ntickets\n");
    }
    for step in &plan.steps {
        text.push_str(&format!("  {}\n", line(step)));
    }
    for note in &plan.notes {
        text.push_str(&format!("\nnote: {note}\n"));
    }
    text
}

/// A step, in half a sentence.
pub(crate) fn line(step: &TicketStep) -> String {
    let list =
        |nodes: &[NodeName]| nodes.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ");
    match step {
        TicketStep::Install { node, from: 0, to } => {
            format!("+ {node}: make schema shardid (migrations 1 to {to})")
        }
        TicketStep::Install { node, from, to } => {
            format!("~ {node}: bring schema shardid up to date (migrations {} to {to})", from + 1)
        }
        TicketStep::MigrateCatalog { from, to } => {
            format!("+ catalog: make its tables (migrations {} to {to})", from + 1)
        }
        TicketStep::Write { ticket, servers } => {
            format!("+ catalog: ticket {ticket}, handed out by {}", list(servers))
        }
        TicketStep::Create { ticket, node, class, floor: 0 } => {
            format!("+ {node}: ticket {ticket}, {}", numbers(*class, 0))
        }
        TicketStep::Create { ticket, node, class, floor } => {
            format!("+ {node}: ticket {ticket} again, {}", numbers(*class, *floor))
        }
        TicketStep::Raise { ticket, node, from, floor } => {
            format!(
                "~ {node}: ticket {ticket} goes on above {floor}, not at {from}: it has forgotten numbers"
            )
        }
        TicketStep::Close { ticket, node, from, floor } => {
            format!(
                "~ {node}: ticket {ticket} is handed out above {floor} alone, not at {from}, and not before its servers have their own numbers: it has forgotten numbers"
            )
        }
        TicketStep::Realign { ticket, after, .. } => {
            format!(
                "~ ticket {ticket}: give {} their own numbers, above all that were handed out",
                list(after)
            )
        }
        TicketStep::Resume { ticket } => {
            format!("~ ticket {ticket}: go on with the change of its servers that is unfinished")
        }
        TicketStep::Adopt { node } => {
            format!(
                "~ {node}: hand out what another server did until now, above all that it may have given"
            )
        }
        TicketStep::Rename { rename } => {
            format!("~ catalog: {} is called {}", rename.from, rename.to)
        }
        TicketStep::Know { node } => {
            format!("+ catalog: know {node} by a mark that is left there")
        }
    }
}

/// What is said once a step is done.
pub(crate) fn done(step: &TicketStep) -> String {
    line(step).trim_start_matches(['+', '~', ' ']).to_owned()
}

/// `1, 3, 5, …`: the first numbers of a class above a floor.
pub(crate) fn numbers(class: Class, floor: u64) -> String {
    let first = (floor + 1..).find(|number| class.contains(*number)).unwrap_or(floor);
    let step = u64::from(class.servers);
    format!("{first}, {}, {}, …", first + step, first + 2 * step)
}

/// The plan for programs.
pub(crate) fn json(plan: &TicketPlan) -> Value {
    json!({
        "steps": plan.steps.iter().map(line).collect::<Vec<_>>(),
        "notes": plan.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// A line per ticket and server.
pub(crate) fn status(look: &Look) -> String {
    let truth = &look.truth;
    let mut table = Table::new([
        Column::left("TICKET"),
        Column::left("NODE"),
        Column::left("STATE"),
        Column::left("SERVER"),
        Column::left("CLASS"),
        Column::right("LAST"),
        Column::right("SEEN"),
        Column::left("NEXT"),
    ]);
    for (ticket, known) in &truth.known {
        for (node, seen) in &known.servers {
            let answer = look.nodes.iter().find(|(other, _)| other == node).map(|(_, a)| a);
            let state = truth.state(node, ticket);
            let dash = || "-".to_owned();
            table.row([
                ticket.to_string(),
                node.to_string(),
                match (answer, state) {
                    (Some(Err(_)) | None, _) => "down",
                    (Some(Ok(_)), None) if look.not_ours(node).is_some() => "taken",
                    (Some(Ok(_)), None) => "missing",
                    (Some(Ok(_)), Some(state)) if state.ceiling.is_some() => "limited",
                    (Some(Ok(_)), Some(_)) => "up",
                }
                .to_owned(),
                answer
                    .and_then(|answer| answer.as_ref().ok())
                    .map_or_else(dash, |answer| answer.version.clone()),
                state.map_or_else(dash, |state| state.class.to_string()),
                state.map_or_else(dash, |state| match state.last > state.floor {
                    true => state.last.to_string(),
                    false => dash(),
                }),
                seen.last.map_or_else(dash, |seen| seen.number.to_string()),
                state.map_or_else(dash, |state| numbers(state.class, state.last)),
            ]);
        }
    }
    table.to_string()
}

/// The same for programs.
pub(crate) fn status_json(look: &Look, found: &[TicketProblem]) -> Value {
    let truth = &look.truth;
    let mut tickets = serde_json::Map::new();
    for (ticket, known) in &truth.known {
        let nodes = known.nodes();
        let servers: Vec<Value> = classes(&nodes)
            .zip(&known.servers)
            .map(|((node, wanted), (_, seen))| {
                let answer = look.nodes.iter().find(|(other, _)| other == node);
                let answer = answer.and_then(|(_, answer)| answer.as_ref().ok());
                let state = truth.state(node, ticket);
                json!({
                    "node": node.as_str(),
                    "state": if answer.is_some() { "up" } else { "down" },
                    "version": answer.map(|answer| answer.version.clone()),
                    "identity": answer.map(|answer| answer.server.identity.clone()),
                    "server": wanted.server,
                    "servers": wanted.servers,
                    "found_server": state.map(|state| state.class.server),
                    "found_servers": state.map(|state| state.class.servers),
                    "last": state.map(|state| state.last),
                    "floor": state.map(|state| state.floor),
                    "ceiling": state.and_then(|state| state.ceiling),
                    "high_water": seen.high_water(),
                    "seen_at_us": seen.last.map(|seen| seen.at_us),
                })
            })
            .collect();
        tickets.insert(ticket.to_string(), Value::Array(servers));
    }
    let changes = truth.changes.iter().map(|change| {
        json!({
            "change": change.id, "ticket": change.ticket.as_str(), "state": change.state.as_str(),
            "floor": change.floor,
            "before": change.before.iter().map(NodeName::as_str).collect::<Vec<_>>(),
            "after": change.after.iter().map(NodeName::as_str).collect::<Vec<_>>(),
        })
    });
    json!({
        "tickets": tickets,
        "changes": changes.collect::<Vec<_>>(),
        "findings": findings_json(found),
    })
}

/// A line per finding: what, where, and what mends it.
pub(crate) fn findings(found: &[TicketProblem]) -> String {
    let line = |problem: &TicketProblem| format!("{problem}: {}\n", problem.mend());
    found.iter().map(line).collect()
}

/// The same for programs.
pub(crate) fn findings_json(found: &[TicketProblem]) -> Value {
    let finding = |problem: &TicketProblem| {
        json!({
            "node": problem.node().map(NodeName::as_str),
            "problem": problem.to_string(),
            "mend": problem.mend(),
        })
    };
    found.iter().map(finding).collect()
}

/// A change of servers with its arithmetic.
pub(crate) fn change(change: &TicketChange, truth: &TicketTruth) -> String {
    let servers = |count: usize| counted(count as u64, "server");
    let mut text = format!(
        "ticket {}: {} -> {}\n\n",
        change.ticket,
        servers(change.before.len()),
        servers(change.after.len())
    );
    let mut table = Table::new([
        Column::left("NODE"),
        Column::left("NOW"),
        Column::right("LAST"),
        Column::left("THEN"),
        Column::left("NUMBERS"),
    ]);
    let dash = || "-".to_owned();
    let now = |node: &NodeName| truth.state(node, &change.ticket);
    for (node, class) in classes(&change.after) {
        table.row([
            node.to_string(),
            now(node).map_or_else(dash, |state| state.class.to_string()),
            now(node).map_or_else(dash, |state| state.last.to_string()),
            class.to_string(),
            numbers(class, change.floor),
        ]);
    }
    for node in change.before.iter().filter(|node| !change.after.contains(node)) {
        table.row([
            node.to_string(),
            now(node).map_or_else(dash, |state| state.class.to_string()),
            now(node).map_or_else(dash, |state| state.last.to_string()),
            match change.gone.contains(node) {
                true => "gone".to_owned(),
                false => "none".to_owned(),
            },
            dash(),
        ]);
    }
    text.push_str(&table.to_string());
    text.push_str(&format!(
        "\nAll numbers up to {} are left to the old classes ({} above the highest now);\n\
         the new ones begin above it, when every old server has stopped there.\n",
        change.floor, MARGIN
    ));
    text
}
