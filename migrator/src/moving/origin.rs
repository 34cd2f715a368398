//! Has the node that a shard is copied from lost what its new copy may have?

use std::collections::BTreeMap;

use shardid_cluster::{
    Ahead, CopyAhead, Descent, LeftoverKind, MoveKind, MoveState, NodeName, Origin, copy_ahead,
};

use super::ahead::{self, descent};
use super::context::MoveContext;
use super::journal::{Leftover, Move, MoveJournal};
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::descent::SlotFault;
use crate::postgres::sql;

/// Notes what the source is, right before the copy begins.
pub(super) async fn note(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let Descent { now, database, .. } = descent(&mut context.source).await?.descent;
    let origin = Origin { of: now, database };
    context.journal.note_origin(context.record.id, origin).await?;
    context.record.origin = Some(origin);
    Ok(())
}

/// Refuses to go on where the source has lost what the copy may have, or to drop the copy, unless that is
/// accepted.
pub(super) async fn check_source(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let may_drop = context.record.state == MoveState::Aborting
        && context.options.accept_loss
        && !context.went_back;
    if !may_drop && let Some(refused) = refuse(context).await? {
        return Err(refused);
    }
    context.source_checked = true;
    Ok(())
}

/// Why a copy cannot follow any more: what it follows by is gone, which a standby that took over never had.
pub(super) async fn cannot_follow(
    context: &mut MoveContext<'_>,
    node: &NodeName,
    slot: &str,
    fault: SlotFault,
) -> Failure {
    match refuse(context).await {
        Ok(Some(refused)) => refused,
        _ => slot_is_no_more(&context.record, node, slot, fault),
    }
}

/// Why nobody can follow by a slot of a node any more, if that is so.
pub(super) async fn slot_fault(
    server: &mut MoveSession,
    slot: &str,
) -> Result<Option<SlotFault>, Failure> {
    let query = sqlx::query_scalar(sql!("move/slots.sql", "move/stream/slot_lost.sql")).bind(slot);
    Ok(match server.column::<bool>(query).await?[..] {
        [] => Some(SlotFault::Gone),
        [true, ..] => Some(SlotFault::Lost),
        [false, ..] => None,
    })
}

/// What follows by a slot that somebody has dropped, that a standby which took over never had, or that is lost.
pub(super) fn slot_is_no_more(
    record: &Move,
    node: &NodeName,
    slot: &str,
    fault: SlotFault,
) -> Failure {
    Failure::new(format!("replication slot {slot} {fault}")).at(format!("node {node}")).hint(
        format!(
            "the copy cannot follow without it: give the move up with `shardid abort {}`",
            record.id
        ),
    )
}

async fn refuse(context: &mut MoveContext<'_>) -> Result<Option<Failure>, Failure> {
    if !is_concerned(&context.record) {
        return Ok(None);
    }
    let left = context.journal.leftovers(context.record.id).await?;
    let MoveContext { source, target, record, .. } = context;
    let why = look(source, Some(target), record, &left).await?;
    Ok(why.map(|why| Failure::new(problem(record, why)).hint(mend(record.id)).standing()))
}

/// The unfinished moves of these whose copy may have rows that their source has lost, by number, and why;
/// as far as their nodes answer.
pub(crate) async fn lost_sources(
    file: &ClusterFile,
    moves: &[Move],
) -> Result<BTreeMap<i64, Ahead>, Failure> {
    let mut found = BTreeMap::new();
    for record in moves.iter().filter(|record| is_concerned(record)) {
        let (Ok(mut source), Ok(mut target)) = (
            MoveSession::look(file, &record.source).await,
            MoveSession::look(file, &record.target).await,
        ) else {
            continue;
        };
        let mut journal = MoveJournal::look(file).await?;
        // A program may be at it, and remove what it is looked for: that is seen when it is read again.
        let mut why = None;
        for _ in 0..2 {
            let record = journal.read(record.id).await?;
            let left = journal.leftovers(record.id).await?;
            why = look(&mut source, Some(&mut target), &record, &left).await.ok().flatten();
            if why.is_none() {
                break;
            }
        }
        found.extend(why.map(|why| (record.id, why)));
    }
    Ok(found)
}

/// Whether a move has a copy that is not the shard, nor was.
fn is_concerned(record: &Move) -> bool {
    use MoveState::{Aborting, Copying, Fenced, Following};
    record.kind == MoveKind::Copy && matches!(record.state, Copying | Following | Fenced | Aborting)
}

/// Refuses to forget a copy whose node is gone where its source may have lost what was there, unless that is accepted.
pub(super) async fn check_without_copy(
    journal: &mut MoveJournal,
    source: &mut MoveSession,
    record: &Move,
    accept_loss: bool,
) -> Result<(), Failure> {
    if accept_loss {
        return Ok(());
    }
    let left = journal.leftovers(record.id).await?;
    match look(source, None, record, &left).await? {
        None => Ok(()),
        // What is being given up may have taken its slot away already.
        Some(Ahead::NoSlot) => Ok(()),
        Some(why) => {
            let Move { id, target, .. } = record;
            Err(Failure::new(problem(record, why))
                .hint(format!(
                    "look for the disk or a backup of {target}, which may have them; `shardid abort {id} --gone {target} --accept-loss` gives the move up without"
                ))
                .standing())
        }
    }
}

/// Why the new copy of a move may have rows that its source has lost. Without a session on its node nobody can tell how far
/// it has got.
async fn look(
    source: &mut MoveSession,
    target: Option<&mut MoveSession>,
    record: &Move,
    left: &[Leftover],
) -> Result<Option<Ahead>, Failure> {
    let has = |kind| left.iter().any(|left| left.kind == kind && left.node == record.target);
    let is_subscribed = has(LeftoverKind::Subscription);
    let has_begun = record.origin.is_some() || is_subscribed;
    if !is_concerned(record) || !has(LeftoverKind::Schema) || !has_begun {
        return Ok(None);
    }
    let name = record.stream();
    // Before the source is asked, which goes on meanwhile.
    let reached: Option<(Option<i64>,)> = match target {
        Some(target) => {
            target.row(sqlx::query_as(sql!("move/clean/copied.sql")).bind(name.as_str())).await?
        }
        None => None,
    };
    let reached = reached.and_then(|(reached,)| reached).map(i64::cast_unsigned);
    let gone = sqlx::query_scalar::<_, bool>(sql!("move/stream/slot_gone.sql")).bind(&name);
    // Once the subscription is removed, so is the slot, by the move itself.
    let has_slot = !is_subscribed || source.column(gone).await? != [true];
    let now = descent(source).await?.descent;
    Ok(copy_ahead(record.origin, &now, reached, has_slot))
}

/// What is the matter with a copy that may have more than its source.
pub(crate) fn problem(record: &Move, why: Ahead) -> String {
    let Move { shard, source, target, .. } = record;
    let (node, from, stream) = (target.clone(), source.clone(), record.stream());
    CopyAhead { shard: *shard, node, stream, from, why }.to_string()
}

/// What is to be done about it.
pub(crate) fn mend(id: i64) -> String {
    format!("{}; then `shardid abort {id} --accept-loss`", ahead::COMPARE)
}
