//! A move on its way: the journal's record, and a hand on each server it needs.

use std::time::Duration;

use clap::ValueEnum;
use shardid_cluster::MoveState;

use super::journal::{Journal, Move};
use super::server::Server;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::talk;

/// How carefully both copies are compared behind the fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verify {
    /// Count and sum every table, if all together have at most 100,000 rows
    Cheap,
    /// Count and sum every table, however long writers wait for it
    Full,
    /// Trust the replication
    None,
}

/// What a person chose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) fence_max: Duration,
    pub(crate) verify: Verify,
}

/// A move on its way.
pub(crate) struct Road<'a> {
    pub(crate) file: &'a ClusterFile,
    pub(crate) record: Move,
    pub(crate) options: Options,
    pub(crate) journal: Journal,
    pub(crate) source: Server,
    pub(crate) target: Server,
}

impl<'a> Road<'a> {
    /// Connects to everything a move needs, and locks the move.
    pub(crate) async fn enter(
        file: &'a ClusterFile,
        id: i64,
        options: Options,
    ) -> Result<Self, Failure> {
        let mut journal = Journal::open(file).await?;
        journal.lock(id).await?;
        let record = journal.read(id).await?;
        let source = Server::connect(file, &record.source).await?;
        let target = Server::connect(file, &record.target).await?;
        Ok(Self { file, record, options, journal, source, target })
    }

    /// Says something about this move.
    pub(crate) fn say(&self, text: impl std::fmt::Display) {
        talk::line(format_args!("  shard {}: {text}", self.record.shard));
    }

    /// Writes the next state down.
    pub(crate) async fn advance(&mut self, next: MoveState) -> Result<(), Failure> {
        self.journal.advance(&mut self.record, next).await
    }

    /// Notes an object on the source or the target before it is made.
    pub(crate) async fn leave_on_source(&mut self, kind: &str, name: &str) -> Result<(), Failure> {
        self.journal.leave(self.record.id, &self.source.node, kind, name).await
    }

    /// Notes an object on the target before it is made.
    pub(crate) async fn leave_on_target(&mut self, kind: &str, name: &str) -> Result<(), Failure> {
        self.journal.leave(self.record.id, &self.target.node, kind, name).await
    }

    /// Notes that the objects of this move of these kinds and names are gone.
    pub(crate) async fn forget(&mut self, kinds: &[&str], name: &str) -> Result<(), Failure> {
        let owner = self.record.rollback_of.unwrap_or(self.record.id);
        for id in [self.record.id, owner] {
            for left in self.journal.leftovers(id).await? {
                if left.name == name && kinds.contains(&left.kind.as_str()) {
                    self.journal.removed(left.leftover).await?;
                }
            }
        }
        Ok(())
    }
}
