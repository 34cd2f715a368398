//! Moves for people and programs: the plan of several, and the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use shardid_cluster::{MoveState, NodeName, PlannedMove, ShardSet};

use crate::moving::{Move, Reader};
use crate::talk;
use crate::view::table::{Column, Table};
use crate::view::{counted, ranges, time};

/// What is to be moved, a line for each pair of nodes.
pub(crate) fn plan(moves: &[PlannedMove]) -> String {
    let mut pairs: BTreeMap<(&NodeName, &NodeName), ShardSet> = BTreeMap::new();
    for planned in moves {
        pairs.entry((&planned.source, &planned.target)).or_default().insert(planned.shard);
    }
    let mut text = format!("{}\n", counted(moves.len() as u64, "move"));
    for ((source, target), shards) in pairs {
        let count = counted(shards.len(), "shard");
        text.push_str(&format!("  {source} -> {target}: {count}: {}\n", ranges(&shards)));
    }
    text
}

/// A duration for people: `12 ms`, `3.4 s`, `5 min`.
fn duration(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..120_000 => {
            format!("{:.1} s", Duration::from_millis(ms.unsigned_abs()).as_secs_f64())
        }
        _ => format!("{} min", ms / 60_000),
    }
}

/// What has become of the old copy of one of these moves; `parted` are those whose old copy does not follow, whatever
/// the journal says.
fn old_copy(record: &Move, moves: &[Move], parted: &BTreeSet<i64>) -> &'static str {
    match (record.has_old_copy(), record.can_roll_back()) {
        (true, _) if record.retiring => "being dropped",
        (true, _) if !record.keeps_old_copy(moves) => "the shard again",
        (true, true) if !parted.contains(&record.id) => "follows",
        (true, _) => "kept",
        _ => "",
    }
}

/// The journal, a line per move.
///
/// `parted` are those whose old copy does not follow, whatever the journal says.
pub(crate) fn table(
    moves: &[Move],
    log: &BTreeMap<i64, Vec<(String, i64)>>,
    parted: &BTreeSet<i64>,
) -> String {
    if moves.is_empty() {
        return "no moves\n".to_owned();
    }
    let mut table = Table::new([
        Column::right("MOVE"),
        Column::right("SHARD"),
        Column::left("FROM"),
        Column::left("TO"),
        Column::left("STATE"),
        Column::right("SINCE"),
        Column::right("FENCED"),
        Column::left("OLD COPY"),
    ]);
    for record in moves {
        let states = log.get(&record.id).map(Vec::as_slice).unwrap_or_default();
        let since = states.last().filter(|_| !record.state.is_over()).map(|(_, ms)| duration(*ms));
        let fenced: i64 = states.iter().filter(|(s, _)| s == "fenced").map(|(_, ms)| ms).sum();
        let kind = if record.rollback_of.is_some() { " (back)" } else { "" };
        table.row([
            record.id.to_string(),
            record.shard.to_string(),
            record.source.to_string(),
            record.target.to_string(),
            format!("{}{kind}", record.state),
            since.unwrap_or_default(),
            if fenced > 0 { duration(fenced) } else { String::new() },
            old_copy(record, moves, parted).to_owned(),
        ]);
    }
    table.to_string()
}

/// What a state that hurts keeps waiting.
fn hurts(state: MoveState) -> &'static str {
    match state {
        MoveState::Fenced => ", and writers are refused",
        // Until the target is open, which comes soon after.
        MoveState::Switched => ", and writers may be refused",
        _ => "",
    }
}

/// Says what can be done with moves that stand, and with old copies, but for those of which more is to be
/// said.
pub(crate) fn what_to_do(moves: &[Move], held: &BTreeSet<i64>) {
    // Of a shard that a move has in hand nothing else is done before that has ended.
    let standing: ShardSet = moves.iter().filter(|m| !m.state.is_over()).map(|m| m.shard).collect();
    let moves: Vec<&Move> = moves.iter().filter(|m| !held.contains(&m.id)).collect();
    for record in moves.iter().filter(|m| !m.state.is_over()) {
        let id = record.id;
        let abort = if record.state.can_abort() {
            format!(" or `shardid abort {id}`")
        } else {
            String::new()
        };
        let hurts = hurts(record.state);
        talk::line(format_args!(
            "move {id} is {}{hurts}; begun {} by {}: `shardid resume {id}`{abort}",
            record.state,
            time(record.planned_us),
            record.planned_by
        ));
    }
    let first = |which: fn(&Move) -> bool| {
        moves.iter().find(|m| which(m) && !standing.contains(m.shard)).map(|m| m.id)
    };
    match (first(Move::can_roll_back), first(Move::has_old_copy)) {
        (Some(follows), Some(_)) => talk::line(format_args!(
            "old copies: `shardid rollback {follows}` goes back, `shardid retire {follows}` drops it"
        )),
        (None, Some(kept)) => {
            talk::line(format_args!("old copies: `shardid retire {kept}` drops it"));
        }
        _ => {}
    }
}

/// What a problem of a move is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// Its nodes, of which nothing is known then.
    Nodes,
    /// What its copy follows by, which is nothing that keeps it from being done.
    Stream,
    /// Its old copy, of which nothing else is to be said.
    OldCopy,
    /// The move itself, which stands.
    Standing,
}

/// What is the matter with a move or its old copy, and what is to be done.
pub(crate) struct Problem {
    pub(crate) id: i64,
    pub(crate) of: About,
    pub(crate) problem: String,
    pub(crate) mend: String,
}

impl Problem {
    /// Says it of one of these moves.
    pub(crate) fn say(&self, moves: &[Move]) {
        let Self { id, of, problem, mend } = self;
        let state = moves.iter().find(|record| record.id == *id).map(|record| record.state);
        match (of, state) {
            (About::Stream, _) => talk::line(format_args!("move {id}: {problem}; {mend}")),
            (About::Standing, Some(state)) => {
                let hurts = hurts(state);
                talk::line(format_args!("move {id} is {state}{hurts}: {problem}: {mend}"));
            }
            _ => talk::line(format_args!("{problem}: {mend}")),
        }
    }
}

/// That a stream is not read, and what that costs.
pub(crate) fn unread(stream: &Reader) -> Vec<Problem> {
    let Reader { id, reader, slot, node, .. } = stream;
    let megabytes = stream.kept_bytes / 1_000_000;
    let (what, instead) = match stream.old_copy {
        true => ("the old copy", format!("`shardid retire {id}`")),
        false => ("the new copy", format!("`shardid abort {id}`")),
    };
    let said = |problem: String, mend: String| {
        let of = About::Stream;
        Problem { id: *id, of, problem, mend }
    };
    if stream.is_lost() {
        let lost = stream.lost().into_iter();
        return lost
            .map(|(problem, mend)| Problem { id: *id, of: About::Standing, problem, mend })
            .collect();
    }
    let silent = said(
        format!(
            "{what} on {reader} does not follow: nobody reads slot {slot} of {node}, which keeps {megabytes} MB of WAL"
        ),
        format!("see pg_stat_subscription and the server's log on {reader}, or {instead}"),
    );
    let refused = stream.refused.as_ref().map(|why| {
        let mend = "`shardid apply` has it connect anew".to_owned();
        said(format!("{reader} cannot connect to {node}: {why}"), mend)
    });
    [silent].into_iter().chain(refused).collect()
}

/// What was found of moves beside the journal.
pub(crate) struct Found {
    /// Those whose old copy does not follow, whatever the journal says.
    pub(crate) parted: BTreeSet<i64>,
    /// Those whose old copy may have rows that the shard has lost, and is held back for that.
    pub(crate) held_back: BTreeSet<i64>,
    pub(crate) problems: Vec<Problem>,
}

impl Found {
    /// The moves of which more is said than what the journal has.
    pub(crate) fn said(&self) -> BTreeSet<i64> {
        let said = self.problems.iter().filter(|it| it.of != About::Stream);
        said.map(|it| it.id).collect()
    }
}

/// The journal with the time in each state, and what the nodes say.
pub(crate) fn json(
    moves: &[Move],
    log: &BTreeMap<i64, Vec<(String, i64)>>,
    found: &Found,
) -> Value {
    let one = |record: &Move| {
        let problems = found.problems.iter().filter(|it| it.id == record.id);
        let problems: Vec<Value> =
            problems.map(|it| json!({"problem": it.problem, "mend": it.mend})).collect();
        let states = log.get(&record.id).map(Vec::as_slice).unwrap_or_default();
        json!({
            "move": record.id,
            "shard": record.shard.number(),
            "schema": record.schema,
            "source": record.source.as_str(),
            "target": record.target.as_str(),
            "rollback_of": record.rollback_of,
            "state": record.state.as_str(),
            "planned_at": time(record.planned_us),
            "planned_by": record.planned_by,
            "state_since": time(record.since_us),
            "retired_at": record.retired_us.map(time),
            "old_copy": old_copy(record, moves, &found.parted),
            "held_back": found.held_back.contains(&record.id),
            "problems": problems,
            "states": states.iter().map(|(state, ms)| json!({"state": state, "ms": ms})).collect::<Vec<_>>(),
        })
    };
    Value::Array(moves.iter().map(one).collect())
}
