//! A move on its way: the journal's record, and a hand on each server it needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardid_cluster::{LeftoverKind, MoveEvent};

use super::dumped_schema::DumpedSchema;
use super::journal::{Move, MoveJournal};
use super::move_session::MoveSession;
use super::options::Options;
use super::progress::MoveProgress;
use super::watch::Sessions;
use crate::failure::Failure;
use crate::file::ClusterFile;

/// A move on its way.
pub(crate) struct MoveContext<'a> {
    pub(crate) file: &'a ClusterFile,
    pub(crate) record: Move,
    pub(crate) options: Options,
    pub(super) progress: MoveProgress,
    /// The definitions that this run carries over, once it has read them.
    pub(super) dumped: Option<Arc<DumpedSchema>>,
    /// Whether this run has seen that the copy has the indexes by which a stream finds rows.
    pub(super) finds_rows: bool,
    /// As of which state of tables and target this run has compared all rows.
    pub(super) compared: Option<Marks>,
    /// Whether it took longer than writers may wait.
    pub(super) compares_slowly: bool,
    pub(crate) journal: MoveJournal,
    pub(crate) source: MoveSession,
    pub(crate) target: MoveSession,
    /// Whether this run has seen that the source has all that the copy may have: its sessions are with that server.
    pub(super) source_checked: bool,
    /// Whether this program had the move go back: the word for that is none for what the copy has.
    pub(super) went_back: bool,
    /// How often transactions that may have changed the schema did not end behind the fence.
    pub(super) outwaited: u32,
    /// A session on the source for its sequences, and whether it holds them.
    pub(super) holding: Option<MoveSession>,
    pub(super) held: bool,
    /// A session on the target for its sequences, and whether it has them locked until it opens them.
    pub(super) opening: Option<MoveSession>,
    pub(super) locked: bool,
    /// What they had given out when they were held.
    pub(super) given: Vec<Given>,
}

/// What would not be the same if rows had changed past replication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marks {
    /// By table, at the source.
    pub(super) tables: BTreeMap<String, String>,
    /// Since when the target runs.
    pub(super) target: String,
}

/// How far the ids of a generator can have gone.
#[derive(sqlx::FromRow)]
pub(super) struct Given {
    /// The sequence's, on the source.
    pub(super) oid: sqlx::postgres::types::Oid,
    /// The highest id that it can have given out.
    pub(super) last: i64,
    pub(super) layout: String,
}

impl MoveContext<'_> {
    /// Says something about this move.
    pub(crate) fn say(&self, text: impl std::fmt::Display) {
        self.progress.say(text);
    }

    /// The server processes that work for this move, by node.
    pub(super) fn sessions(&self) -> Sessions {
        let mut sessions = self.workers();
        let journal = &self.journal.server;
        sessions.entry(journal.node.clone()).or_default().push(journal.pid());
        sessions
    }

    /// Those of them at source and target, which do what a move does there.
    pub(super) fn workers(&self) -> Sessions {
        let of = |server: &MoveSession| (server.node.clone(), vec![server.pid()]);
        [of(&self.source), of(&self.target)].into()
    }

    /// Writes down the state that follows an event.
    pub(crate) async fn advance(&mut self, event: MoveEvent) -> Result<(), Failure> {
        self.journal.advance(&mut self.record, event).await
    }

    /// Notes an object on the source or the target before it is made.
    pub(crate) async fn leave_on_source(
        &mut self,
        kind: LeftoverKind,
        name: &str,
    ) -> Result<(), Failure> {
        self.journal.leave(self.record.id, &self.source.node, kind, name).await
    }

    /// Notes an object on the target before it is made.
    pub(crate) async fn leave_on_target(
        &mut self,
        kind: LeftoverKind,
        name: &str,
    ) -> Result<(), Failure> {
        self.journal.leave(self.record.id, &self.target.node, kind, name).await
    }

    /// Notes that the objects of this move of these kinds and names are gone.
    pub(crate) async fn forget(
        &mut self,
        kinds: &[LeftoverKind],
        name: &str,
    ) -> Result<(), Failure> {
        let owner = self.record.rollback_of.unwrap_or(self.record.id);
        for id in [self.record.id, owner] {
            for left in self.journal.leftovers(id).await? {
                if left.name == name && kinds.contains(&left.kind) {
                    self.journal.removed(&left).await?;
                }
            }
        }
        Ok(())
    }
}
