//! Which servers of a ticket have forgotten numbers, and how far can they have been?

use std::collections::BTreeSet;

use crate::names::NodeName;
use crate::tickets::{TicketChange, TicketProblem, TicketTruth, problems, safe_floor};

/// The servers that have forgotten numbers, by what they say and by `restored`, where somebody says it of them.
pub(crate) fn forgetful(truth: &TicketTruth, restored: &[NodeName]) -> BTreeSet<NodeName> {
    let problems = problems(truth);
    // A mark that the catalog does not know is one that it has forgotten, if it
    // is its own server that comes from a backup: that one is not believed either.
    let old_marks = problems.iter().any(|problem| matches!(problem, TicketProblem::OldMark(_)));
    let catalog = truth.catalog.iter().filter(|_| old_marks);
    let found = problems.iter().filter_map(|problem| match problem {
        TicketProblem::OldMark(node)
        | TicketProblem::OtherServer(node)
        | TicketProblem::Elsewhere(node) => Some(node),
        _ => None,
    });
    restored.iter().chain(catalog).chain(found).cloned().collect()
}

/// A number that old servers of a change which stands, and which have forgotten numbers, can have reached; 0 where
/// none has. What was handed out since the change was planned may be above its floor.
pub fn forgotten_above(
    change: &TicketChange,
    truth: &TicketTruth,
    restored: &[NodeName],
    now_us: i64,
) -> u64 {
    let ticket = &change.ticket;
    let Some(known) = truth.known.get(ticket) else { return 0 };
    let forgot = forgetful(truth, restored);
    let last = |node: &NodeName| truth.state(node, ticket).map_or(0, |state| state.last);
    let floors =
        known.servers.iter().filter(|(node, _)| !change.gone.contains(node)).map(|(node, seen)| {
            let is_behind =
                truth.state(node, ticket).is_none_or(|state| state.is_behind(seen.high_water()));
            if !forgot.contains(node) && !is_behind {
                return 0;
            }
            let others = known.servers.iter().filter(|(other, _)| other != node);
            let reached = others.flat_map(|(other, seen)| [last(other), seen.high_water()]);
            safe_floor(last(node), seen, reached, now_us)
        });
    floors.max().unwrap_or(0)
}
