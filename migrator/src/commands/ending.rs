//! `shardid abort`, `rollback`, `retire`: what ends moves, takes them back, and drops old copies.
//!
//! All moves that are named are looked at before the first is touched.

use std::collections::BTreeMap;
use std::path::Path;

use shardid_cluster::{MoveEvent, MoveState, NodeName, next_state};

use crate::cli::{Abort, EndMoves, Retire, Several};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::moving::origin;
use crate::moving::{
    self, ClaimedMove, Move, MoveContext, MoveJournal, Options, Retiring, Without, drive,
};
use crate::stdout::print;
use crate::talk;

use super::moving::stands;
use super::way::Beside;

/// What there is to do about a move.
enum Todo {
    /// This, in a line.
    Do(String),
    /// Nothing, and why.
    Nothing(String),
}

/// What a command makes of a move, and of what there is beside it.
type Look<'a> = &'a dyn Fn(&Move, &Beside<'_>) -> Result<Todo, Failure>;

/// What is looked at on the nodes before anything is asked.
#[derive(Clone, Copy)]
enum Closer<'a> {
    Nothing,
    /// Whether it can be given up without that node.
    Without {
        node: &'a NodeName,
        accept_loss: bool,
    },
    /// Whether the old copy can be dropped, also where it may have rows that the shard has lost.
    OldCopy {
        accept_loss: bool,
    },
    /// Whether it can be forgotten with its node.
    GoneCopy,
    /// What the old copy has not, to which a move goes back.
    WayBack,
}

/// The moves that are named and have something to be done, once that is confirmed.
async fn confirmed(
    file: &ClusterFile,
    named: &Several,
    look: Look<'_>,
    closer: Closer<'_>,
    question: &str,
) -> Result<Vec<Move>, Failure> {
    let mut journal = MoveJournal::look(file).await?;
    let mut failures = Vec::new();
    let mut records = Vec::new();
    let ids = named.ids();
    let known = journal.list(i64::MAX).await?;
    let missing = ids.iter().filter(|id| known.iter().all(|record| record.id != **id));
    failures.extend(no_moves(&missing.copied().collect::<Vec<_>>()));
    records.extend(known.into_iter().filter(|record| ids.contains(&record.id)));
    let beside = Beside::read(file, &mut journal, &records).await?;
    if named.all {
        // Those about which there is something to do; that is what "all" means here.
        let all = journal.list(i64::MAX).await?.into_iter();
        records.extend(all.filter(|record| matches!(look(record, &beside), Ok(Todo::Do(_)))));
    }
    // What is to be done with each move, and what is to be known of that.
    let mut lines: BTreeMap<i64, String> = BTreeMap::new();
    let mut todo = Vec::new();
    for record in records {
        match look(&record, &beside) {
            Ok(Todo::Do(line)) => {
                lines.insert(record.id, format!("  move {}: {line}\n", record.id));
                todo.push(record);
            }
            Ok(Todo::Nothing(why)) => talk::line(format_args!("move {} {why}", record.id)),
            Err(failure) => failures.push(failure),
        }
    }
    for record in &todo {
        match closer {
            Closer::OldCopy { accept_loss } if !record.retiring => {
                let looked = moving::check_old_copy(file, record, accept_loss).await;
                failures.extend(looked.err().map(|f| f.detail(format!("move {}", record.id))));
            }
            Closer::Without { node, accept_loss } => {
                let how = Without { gives_up: true, accept_loss };
                let looked = moving::check_gone(file, record, node, how).await;
                failures.extend(looked.err());
            }
            Closer::GoneCopy => {
                let looked = moving::check_gone_copy(file, record).await;
                failures.extend(looked.err().map(|f| f.detail(format!("move {}", record.id))));
            }
            Closer::WayBack => {
                // What does not follow cannot be gone back to.
                let unread = moving::readers(file, std::slice::from_ref(record)).await;
                failures.extend(unread.iter().filter_map(moving::Reader::refusal));
                if let Err(failure) = moving::ahead::check_way_back(file, record).await {
                    failures.push(failure.detail(format!("move {}", record.id)));
                    continue;
                }
                match moving::look_at_way_back(file, record).await {
                    Ok(told) => {
                        let told = told.iter().map(|line| format!("    {line}\n"));
                        lines.entry(record.id).or_default().extend(told);
                    }
                    Err(failure) => failures.push(failure.detail(format!("move {}", record.id))),
                }
            }
            _ => {}
        }
    }
    Failure::all(failures).map_or(Ok(()), Err)?;
    let lines: String = todo.iter().filter_map(|record| lines.remove(&record.id)).collect();
    if todo.is_empty() {
        talk::line("nothing to do");
    } else if named.dry_run {
        print(&lines)?;
        todo.clear();
    } else {
        talk::line(lines.trim_end());
        let instead = "look at what it does with `--dry-run`, then say `--yes`";
        if !named.yes && !talk::ask_or(question, instead)? {
            return Err(Failure::new("not confirmed: nothing was changed"));
        }
    }
    Ok(todo)
}

/// Says which moves there are not, all at once.
fn no_moves(ids: &[i64]) -> Option<Failure> {
    let what = match ids {
        [] => return None,
        [id] => format!("there is no move {id}"),
        ids => {
            // `3-5`, where all between are missing too.
            let mut runs: Vec<(i64, i64)> = Vec::new();
            for id in ids.iter().copied() {
                match runs.last_mut() {
                    Some((_, last)) if *last + 1 == id => *last = id,
                    _ => runs.push((id, id)),
                }
            }
            let shown = runs.iter().map(|(first, last)| match first == last {
                true => first.to_string(),
                false => format!("{first}-{last}"),
            });
            format!("there are no moves {}", shown.collect::<Vec<_>>().join(","))
        }
    };
    Some(Failure::new(what).hint("`shardid moves` lists them"))
}

pub(super) async fn abort(file: Option<&Path>, args: &Abort) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    let (gone, accept_loss) = (args.gone.as_ref(), args.accept_loss);
    let args = &args.moves;
    let lost = moving::lost_moves(&file).await?;
    let moves = MoveJournal::look(&file).await?.list(0).await?;
    // Who does not ask lets writers go on first, which may wait; the copy is looked at before it is dropped.
    let lost_by_source = match gone.is_none() && !args.several.yes {
        true => moving::lost_sources(&file, &moves).await?,
        false => BTreeMap::new(),
    };
    let look = |record: &Move, beside: &Beside<'_>| {
        let Move { id, state, shard, source, target, .. } = record;
        if *state == MoveState::Aborted {
            return Ok(Todo::Nothing("is aborted already".to_owned()));
        }
        // The journal decides under the lock of the shard; this is only the sooner answer.
        if next_state(record.kind, *state, MoveEvent::Abort).is_ok() {
            let kept = lost_by_source.get(id).map(|why| {
                let kept = if accept_loss { "" } else { ", and is kept" };
                format!("\n    {}{kept}", origin::problem(record, *why))
            });
            return Ok(Todo::Do(format!(
                "shard {shard} is to stay on {source}, and to take writes there{}",
                kept.unwrap_or_default()
            )));
        }
        if *state == MoveState::Switched && gone == Some(&record.target) {
            return Ok(Todo::Do(format!("shard {shard} goes back to {source}")));
        }
        if let Some(back) = lost.get(id).filter(|back| gone.is_none() && back.goes_back(record)) {
            if back.is_open {
                return Err(back.open_there(record));
            }
            moving::check_not_opened(record, back.lost, accept_loss)?;
            let problem = back.lost.problem(record);
            return Ok(Todo::Do(format!("shard {shard} goes back to {source}: {problem}")));
        }
        let failure = Failure::new(format!("move {id} is {state} and cannot be aborted"));
        Err(match state {
            MoveState::Done => failure.hint(beside.way_back(*shard, source)),
            _ => failure
                .detail(format!(
                    "where {target} never comes back: `shardid abort {id} --gone {target}`"
                ))
                .standing()
                .hint(format!("`shardid resume {id}` goes on")),
        })
    };
    let mut failures = Vec::new();
    let how = Without { gives_up: true, accept_loss };
    let closer = gone.map_or(Closer::Nothing, |node| Closer::Without { node, accept_loss });
    for record in confirmed(&file, &args.several, &look, closer, "Give this up?").await? {
        let ended = match gone {
            None => {
                let options = Options { accept_loss, ..args.options.into() };
                abort_one(&file, &record, options).await
            }
            Some(node) => match moving::end_without(&file, record.id, node, how).await {
                Ok(state) => {
                    talk::line(format_args!("move {} is {state}", record.id));
                    Ok(())
                }
                Err(failure) => Err(stands(failure, record.id, record.state)),
            },
        };
        if let Err(failure) = ended {
            failures.push(failure);
        }
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

async fn abort_one(file: &ClusterFile, record: &Move, options: Options) -> Result<(), Failure> {
    let Move { id, state, .. } = record;
    // First what writers wait for: the target may be down for long.
    let mut claimed =
        ClaimedMove::enter(file, *id).await.map_err(|failure| stands(failure, *id, *state))?;
    // Another program may have ended it since it was looked at.
    let now = claimed.record.state;
    match now {
        MoveState::Aborted => {
            talk::line(format_args!("move {id} is aborted already"));
            return Ok(());
        }
        MoveState::Done => {
            return Err(Failure::new(format!("move {id} is done and cannot be aborted"))
                .hint("`shardid moves` shows what can be done with it"));
        }
        // Only where it was when it was looked at: then its target was seen to have lost rows.
        MoveState::Switched if *state == MoveState::Switched => {
            let stood = |failure| stands(failure, *id, now);
            let mut context = claimed.context(file, options).await.map_err(stood)?;
            moving::go_back(&mut context, options.accept_loss).await.map_err(stood)?;
            let state = drive(&mut context).await?;
            talk::line(format_args!("move {id} is {state}"));
            return Ok(());
        }
        _ => {}
    }
    let nodes = moving::nodes_of(file, record);
    let given_up = moving::watched(file, nodes, claimed.give_up(file)).await;
    given_up.map_err(|failure| stands(failure, *id, claimed.record.state))?;
    let mut context = claimed.context(file, options).await.map_err(|failure| {
        stands(failure, *id, MoveState::Aborting).detail(format!(
            "writers go on at {}; `shardid resume {id}` removes the rest once all servers are up",
            record.source
        ))
    })?;
    let state = drive(&mut context).await?;
    talk::line(format_args!("move {id} is {state}"));
    Ok(())
}

pub(super) async fn rollback(file: Option<&Path>, args: &EndMoves) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    let look = |record: &Move, beside: &Beside<'_>| {
        let Move { id, shard, source, target, .. } = record;
        // It may be at the old copy, and have taken away what that followed by.
        if let (true, Some(other)) = (record.can_roll_back(), beside.standing(*shard)) {
            let Move { id, target, state, .. } = other;
            let message =
                format!("shard {shard} is already being moved: move {id} to {target} is {state}");
            return Err(Failure::new(message).standing().hint(beside.way_back(*shard, source)));
        }
        if record.can_roll_back() {
            return Ok(Todo::Do(format!("shard {shard} goes back from {target} to {source}")));
        }
        match beside.taken_back_by(*id) {
            Some(back) if beside.is_on(*shard, source) => Ok(Todo::Nothing(format!(
                "was rolled back by move {}: shard {shard} is on {source} again",
                back.id
            ))),
            _ => Err(no_way_back(record, beside)),
        }
    };
    let records = confirmed(&file, &args.several, &look, Closer::WayBack, "Go back?").await?;
    moving::watch_for_interrupts(records.len() > 1);
    let mut failures = Vec::new();
    for record in records {
        if moving::asked_to_stop() {
            break;
        }
        if let Err(failure) = roll_back_one(&file, &record, args.options.into()).await {
            failures.push(failure);
        }
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

async fn roll_back_one(file: &ClusterFile, record: &Move, options: Options) -> Result<(), Failure> {
    let Move { shard, source, target, .. } = record;
    // Before anything is written down: what does not follow cannot be gone back to.
    let unread = moving::readers(file, std::slice::from_ref(record)).await;
    Failure::all(unread.iter().filter_map(moving::Reader::refusal)).map_or(Ok(()), Err)?;
    let mut journal = MoveJournal::open(file).await?;
    let id = journal.plan(*shard, target, source, Some(record.id), &record.schema, false).await;
    let id = match id {
        Ok(id) => id,
        Err(failure) => {
            // Another move of the shard, or the old copy was dropped meanwhile.
            let moves = journal.list(0).await?;
            let stands = moves.iter().any(|m| m.shard == *shard && !m.state.is_over());
            return Err(if stands { failure.standing() } else { failure });
        }
    };
    drop(journal);
    talk::line(format_args!("move {id}: shard {shard} back from {target} to {source}"));
    let mut context = MoveContext::enter(file, id, options)
        .await
        .map_err(|failure| stands(failure, id, MoveState::Planned))?;
    let state = drive(&mut context).await?;
    talk::line(format_args!("move {id} is {state}"));
    Ok(())
}

/// Why a move cannot be rolled back, and what can be done instead.
fn no_way_back(record: &Move, beside: &Beside<'_>) -> Failure {
    let Move { id, shard, state, source, .. } = record;
    let because = |why: &str| Failure::new(format!("move {id} cannot be rolled back: {why}"));
    let way_back = || beside.way_back(*shard, source);
    match (state, record.retired_us, record.rollback_of) {
        (MoveState::Done, _, Some(earlier)) => {
            because(&format!("it took move {earlier} back itself")).hint(way_back())
        }
        (MoveState::Done, Some(_), _) => because(&match beside.taken_back_by(*id) {
            Some(back) => format!("move {} did that, and the shard has left again", back.id),
            None => "its old copy was dropped".to_owned(),
        })
        .hint(way_back()),
        (MoveState::Done, None, _) if record.retiring => {
            because("its old copy is being dropped").hint(way_back())
        }
        (MoveState::Done, None, _) => {
            because("its old copy does not follow (--no-rollback)").hint(way_back())
        }
        (state, ..) if state.is_over() => {
            because(&format!("it is {state}: the shard has stayed where it was"))
                .hint("`shardid map` shows where each shard is")
        }
        (state, ..) if state.can_abort() => because(&format!("it is {state}"))
            .standing()
            .hint(format!("`shardid abort {id}` gives it up, `shardid resume {id}` goes on")),
        (state, ..) => because(&format!("it is {state}"))
            .standing()
            .hint(format!("`shardid resume {id}` first")),
    }
}

/// Drops the old copies of several moves; one that cannot be at that moment does not keep
/// the others. Those on a node that is gone are forgotten.
pub(super) async fn retire(file: Option<&Path>, args: &Retire) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    let gone = args.gone.as_ref();
    let look = |record: &Move, _: &Beside<'_>| {
        let Move { id, shard, source, state, .. } = record;
        if let Some(node) = gone.filter(|node| *node != source && record.has_old_copy()) {
            let failure =
                Failure::new(format!("the old copy of move {id} is on {source}, not on {node}"));
            return Err(failure.hint(format!("`shardid retire {id}` drops it")));
        }
        if record.has_old_copy() {
            let verb = if gone.is_some() { "forget" } else { "drop" };
            return Ok(Todo::Do(format!("{verb} the old copy of shard {shard} on {source}")));
        }
        if record.retired_us.is_some() {
            return Ok(Todo::Nothing("is retired already".to_owned()));
        }
        Err(Failure::new(format!("move {id} has no old copy to drop: it is {state}"))
            .hint("`shardid moves` shows what can be done with each"))
    };
    let (closer, question) = match gone {
        Some(_) => (Closer::GoneCopy, "Forget this?"),
        None => (Closer::OldCopy { accept_loss: args.accept_loss }, "Drop this?"),
    };
    if let Some(node) = gone.filter(|_| args.several.all) {
        let moves = MoveJournal::look(&file).await?.list(i64::MAX).await?;
        if moves.iter().all(|record| record.source != *node) && file.address(node).is_err() {
            return Err(Failure::new(format!("no move has an old copy on node {node}"))
                .hint("`shardid moves` lists them, with their nodes"));
        }
    }
    let how = Retiring { is_gone: gone.is_some(), accept_loss: args.accept_loss };
    let mut failures = Vec::new();
    for record in confirmed(&file, &args.several, &look, closer, question).await? {
        match moving::retire(&file, record.id, how).await {
            Ok(()) => talk::line(format_args!("move {} is retired", record.id)),
            Err(failure) => failures.push(failure),
        }
    }
    Failure::all(failures).map_or(Ok(()), Err)
}
