//! How does a switched move go back to its source, where the target has lost rows that the source has, or the source
//! is open again?

use std::collections::BTreeMap;

use shardid_cluster::{Ahead, MoveEvent, MoveKind, MoveState};

use super::ahead::{
    close_and_open, goes_back, has_lost, may_lack, open_behind_fence, open_on_both,
};
use super::context::MoveContext;
use super::elsewhere::{Elsewhere, Generators};
use super::fence;
use super::home::{Home, is_open};
use super::journal::{Move, MoveJournal};
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::ClusterFile;

/// What a node has lost since a move was switched, so that it goes back.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lost {
    /// The target has lost rows that had come to it.
    Rows(Ahead),
    /// The source has lost its fence, and is open: to go on with a move back would drop what was written there since.
    Fence,
}

impl Lost {
    /// What a move has lost, if it has lost anything that it goes back for.
    async fn look(
        source: Option<&mut MoveSession>,
        target: &mut MoveSession,
        record: &Move,
    ) -> Result<Option<Self>, Failure> {
        if let Some(why) = has_lost(target, record).await? {
            return Ok(Some(Self::Rows(why)));
        }
        match source {
            Some(source) if record.kind == MoveKind::Rollback => {
                Ok(is_open(source, record.shard).await?.then_some(Self::Fence))
            }
            _ => Ok(None),
        }
    }

    /// What is the matter with the node.
    pub(crate) fn problem(self, record: &Move) -> String {
        let Move { shard, source, target, .. } = record;
        match self {
            Self::Rows(why) => format!("node {target} {}: {why}", may_lack(shard)),
            Self::Fence => format!("shard {shard} is {}", open_behind_fence(source)),
        }
    }
}

/// A move that goes back.
pub(crate) struct LostMove {
    pub(crate) lost: Lost,
    /// Whether the shard is open on the target all the same.
    pub(crate) is_open: bool,
}

impl LostMove {
    /// Why it does not go back: the target was opened all the same.
    pub(crate) fn open_there(&self, record: &Move) -> Failure {
        let Move { shard, target, .. } = record;
        let message = match self.lost {
            Lost::Rows(why) => format!("shard {shard} is open on {target}: {why}"),
            Lost::Fence => self.lost.problem(record),
        };
        Failure::new(message).standing().hint(self.goes_on(record))
    }

    /// Whether it does: a move whose source is open goes on, once what was written there may be left.
    pub(crate) fn goes_back(&self, record: &Move) -> bool {
        record.kind == MoveKind::Rollback || !matches!(self.lost, Lost::Fence)
    }

    /// What there is to be done about it.
    pub(crate) fn instead(&self, record: &Move) -> String {
        match self.is_open {
            _ if !self.goes_back(record) => close_and_open(record),
            true => self.goes_on(record),
            // What was written on the target is not on the source.
            false if record.opening => format!("`shardid abort {}{}", record.id, goes_back(record)),
            false => format!("`shardid abort {}` goes back to {}", record.id, record.source),
        }
    }

    /// How it goes on where the target was opened.
    fn goes_on(&self, record: &Move) -> String {
        let Move { id, target, .. } = record;
        match self.lost {
            Lost::Rows(_) => format!(
                "look what is written on {target}, where it is open; `shardid resume {id} --accept-loss` goes on with it"
            ),
            Lost::Fence => open_on_both(record),
        }
    }
}

/// The switched moves that go back, or of which the source is open, by number; as far as their nodes answer.
pub(crate) async fn lost_moves(file: &ClusterFile) -> Result<BTreeMap<i64, LostMove>, Failure> {
    let moves = MoveJournal::look(file).await?.list(0).await?;
    let mut found = BTreeMap::new();
    for record in moves.iter().filter(|record| record.state == MoveState::Switched) {
        let Ok(mut target) = MoveSession::look(file, &record.target).await else { continue };
        let mut source = MoveSession::look(file, &record.source).await.ok();
        let Ok(mut lost) = Lost::look(source.as_mut(), &mut target, record).await else { continue };
        if let (None, Some(source)) = (lost, &mut source) {
            // It is fenced, until it is an old copy.
            lost = is_open(source, record.shard).await?.then_some(Lost::Fence);
        }
        if let Some(lost) = lost {
            let is_open = is_open(&mut target, record.shard).await?;
            found.insert(record.id, LostMove { lost, is_open });
        }
    }
    Ok(found)
}

/// Refuses to go back from a target on which somebody may have written, unless that is accepted.
pub(crate) fn check_not_opened(
    record: &Move,
    lost: Lost,
    accept_loss: bool,
) -> Result<(), Failure> {
    let Move { id, source, opening, .. } = record;
    if accept_loss || !opening {
        return Ok(());
    }
    Err(Failure::new(lost.problem(record))
        .detail(format!("it had been opened on {}, or nearly, and what was written there since is not on {source}", record.target))
        .standing()
        .hint(format!(
            "bring back a server that has it; or `shardid abort {id} --accept-loss` goes back to {source} without it"
        )))
}

/// Has a switched move go back: the map has the shard on the source again, if the target still
/// lacks what it had, or the source its fence, and the target is not open.
pub(crate) async fn go_back(
    context: &mut MoveContext<'_>,
    accept_loss: bool,
) -> Result<(), Failure> {
    let id = context.record.id;
    let (source, target) = (Some(&mut context.source), &mut context.target);
    let Some(lost) = Lost::look(source, target, &context.record).await? else {
        return Err(Failure::new(format!("move {id} is switched and cannot be aborted"))
            .standing()
            .hint(format!("`shardid resume {id}` goes on")));
    };
    if is_open(target, context.record.shard).await? {
        return Err(LostMove { lost, is_open: true }.open_there(&context.record));
    }
    check_not_opened(&context.record, lost, accept_loss)?;
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
