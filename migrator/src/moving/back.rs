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
use super::home::{Home, is_open, named_elsewhere};
use super::journal::{Move, MoveJournal};
use super::move_session::MoveSession;
use super::sequences;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::sql;

/// What a node has lost since a move was switched, so that it goes back.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lost {
    /// The target has lost rows that had come to it.
    Rows(Ahead),
    /// The source has lost its fence, and is open: to go on with a move back would drop what was written there since.
    Fence,
    /// The copy that is to be opened is gone, or what says how its sequences go on.
    Copy(Gone),
}

/// What is gone of a copy that is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    /// All of it.
    Schema,
    /// The subscription that has filled it.
    Subscription,
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
        if let Some(source) = source
            && record.kind == MoveKind::Rollback
            && is_open(source, record.shard).await?
        {
            return Ok(Some(Self::Fence));
        }
        Ok(gone(target, record).await?.map(Self::Copy))
    }

    /// What is the matter with the node.
    pub(crate) fn problem(self, record: &Move) -> String {
        let Move { shard, source, target, schema, .. } = record;
        match self {
            Self::Rows(why) => format!("node {target} {}: {why}", may_lack(shard)),
            Self::Fence => format!("shard {shard} is {}", open_behind_fence(source)),
            Self::Copy(Gone::Schema) => {
                format!(
                    "node {target}: the copy of shard {shard} is not there any more: schema {schema}"
                )
            }
            Self::Copy(Gone::Subscription) => format!(
                "node {target}: subscription {} is gone, which says how the sequences of shard {shard} go on",
                record.stream()
            ),
        }
    }
}

/// What is gone of the copy that a move is to open, if it is not open yet.
async fn gone(target: &mut MoveSession, record: &Move) -> Result<Option<Gone>, Failure> {
    if is_open(target, record.shard).await? {
        return Ok(None);
    }
    let query = sqlx::query_as(sql!("move/clean/whole.sql"))
        .bind(record.schema.as_str())
        .bind(record.shard.as_sql())
        .bind(record.stream());
    let found: Option<(bool, Option<String>, bool)> = target.row(query).await?;
    match found {
        Some((false, Some(elsewhere), _)) => {
            Err(named_elsewhere(target, record, "the new copy of shard", &elsewhere).await?)
        }
        Some((false, None, _)) => Ok(Some(Gone::Schema)),
        Some((true, _, false)) => Ok(Some(Gone::Subscription)),
        _ => Ok(None),
    }
}

/// Refuses to open a copy that is not there, or of which nobody knows how its sequences go on; the second where it is not
/// opened all the same.
pub(super) async fn check_copy(
    target: &mut MoveSession,
    record: &Move,
    accept_loss: bool,
) -> Result<(), Failure> {
    match gone(target, record).await? {
        Some(gone) if gone == Gone::Schema || !accept_loss => {
            let lost = Lost::Copy(gone);
            let instead = LostMove { lost, is_open: false }.instead(record);
            Err(Failure::new(lost.problem(record)).hint(instead))
        }
        _ => Ok(()),
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
            Lost::Fence | Lost::Copy(_) => self.lost.problem(record),
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
            Lost::Copy(_) => format!("`shardid resume {id}` goes on"),
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
    context.went_back = true;
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
    if let Some(rules) = &record.rules {
        let bound = sqlx::query_scalar(sql!("move/sequence/bound.sql"))
            .bind(record.schema.as_str())
            .bind(rules.as_str());
        known.rules = source.column(bound).await?;
    }
    fence::open_on(source, file, record, version, known, Elsewhere::of_source(record)).await?;
    sequences::say_at_end(source, record, record.rules.as_deref()).await
}
