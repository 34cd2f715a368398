//! How does a switched move go back to its source, where the target has lost rows that the source has?

use std::collections::BTreeMap;

use shardid_cluster::{Ahead, MoveEvent, MoveState};

use super::ahead::{has_lost, may_lack};
use super::context::MoveContext;
use super::elsewhere::{Elsewhere, Generators};
use super::fence;
use super::home::Home;
use super::journal::{Move, MoveJournal};
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::sql;

/// A target that has lost rows.
pub(crate) struct LostTarget {
    pub(crate) why: Ahead,
    /// Whether the shard is open there all the same.
    pub(crate) is_open: bool,
}

/// The switched moves whose target has lost rows, by number; as far as their targets answer.
pub(crate) async fn lost_targets(file: &ClusterFile) -> Result<BTreeMap<i64, LostTarget>, Failure> {
    let moves = MoveJournal::look(file).await?.list(0).await?;
    let mut found = BTreeMap::new();
    for record in moves.iter().filter(|record| record.state == MoveState::Switched) {
        let Ok(mut target) = MoveSession::look(file, &record.target).await else { continue };
        if let Ok(Some(why)) = has_lost(&mut target, record).await {
            let open = sqlx::query_scalar(sql!("move/sequence/is_open.sql"));
            let open: Vec<bool> = target.column(open.bind(record.shard.as_sql())).await?;
            found.insert(record.id, LostTarget { why, is_open: open == [true] });
        }
    }
    Ok(found)
}

/// Why a move does not go back from a target that was opened without the rows that it has lost.
pub(crate) fn open_there(record: &Move, why: Ahead) -> Failure {
    let Move { id, shard, target, .. } = record;
    Failure::new(format!("shard {shard} is open on {target}: {why}")).standing().hint(format!(
        "look what is written there; `shardid resume {id} --accept-loss` goes on with it"
    ))
}

/// Refuses to go back from a target on which somebody may have written, unless that is accepted.
pub(crate) fn check_not_opened(
    record: &Move,
    why: Ahead,
    accept_loss: bool,
) -> Result<(), Failure> {
    let Move { id, shard, source, target, opening, .. } = record;
    if accept_loss || !opening {
        return Ok(());
    }
    Err(Failure::new(format!("node {target} {}: {why}", may_lack(shard)))
        .detail(format!("it had been opened there, or nearly, and what was written since is not on {source}"))
        .standing()
        .hint(format!(
            "bring back a server that has it; or `shardid abort {id} --accept-loss` goes back to {source} without it"
        )))
}

/// Has a switched move go back: the map has the shard on the source again, if the target still
/// lacks what it had, and is not open.
pub(crate) async fn go_back(
    context: &mut MoveContext<'_>,
    accept_loss: bool,
) -> Result<(), Failure> {
    let (id, shard) = (context.record.id, context.record.shard);
    let Some(why) = has_lost(&mut context.target, &context.record).await? else {
        return Err(Failure::new(format!("move {id} is switched and cannot be aborted"))
            .standing()
            .hint(format!("`shardid resume {id}` goes on")));
    };
    let open = sqlx::query_scalar(sql!("move/sequence/is_open.sql")).bind(shard.as_sql());
    if context.target.column::<bool>(open).await? == [true] {
        return Err(open_there(&context.record, why));
    }
    check_not_opened(&context.record, why, accept_loss)?;
    context.advance(MoveEvent::GoBack).await
}

/// Opens the source again of a move that was switched, and tells the nodes.
pub(super) async fn open_source(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let needed = [context.source.node.clone(), context.target.node.clone()];
    open_on_source(context.file, &mut context.journal, &mut context.source, &context.record)
        .await?;
    match context.record.was_switched {
        true => fence::tell_of(context.file, context.record.shard, &[&needed[0], &needed[1]]).await,
        false => Ok(()),
    }
}

/// The same with a session on the source alone, and nobody is told.
pub(super) async fn open_on_source(
    file: &ClusterFile,
    journal: &mut MoveJournal,
    source: &mut MoveSession,
    record: &Move,
) -> Result<(), Failure> {
    let home = Home::of(source, record.shard).await?;
    if !record.was_switched || home.is_none_or(|home| home.state == "open") {
        return Ok(());
    }
    let version = journal.version_of(record.shard).await?;
    let mut known = Generators::of(source, record.shard).await?;
    // They have come to their end where the source was closed.
    known.rules.extend(record.rules.clone());
    fence::open_on(source, file, record, version, known, Elsewhere::of_source(record)).await
}
