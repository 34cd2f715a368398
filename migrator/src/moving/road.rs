//! A move on its way: the journal's record, and a hand on each server it needs.

use std::time::Duration;

use clap::ValueEnum;
use shardid_cluster::{LeftoverKind, MoveEvent, MoveState};

use super::checks;
use super::compare::Marks;
use super::fence;
use super::journal::{Journal, Move};
use super::progress::Progress;
use super::sequences::Given;
use super::server::Server;
use super::watch::Sessions;
use crate::failure::Failure;
use crate::file::ClusterFile;

/// How long a target may take to answer before writers at the source go on without it.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// How carefully both copies are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verify {
    /// Count and sum every table: while writers wait if all have at most 100,000 rows and 32 MB, else before
    Full,
    /// The same, if all have no more than that
    Cheap,
    /// Trust the replication
    None,
}

/// What a person chose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) fence_max: Duration,
    pub(crate) verify: Verify,
    /// How long a copy or a stream may stand still.
    pub(crate) stall_max: Duration,
    /// How far standbys of the target may be behind.
    pub(crate) lag_max_bytes: Option<i64>,
}

/// A move on its way.
pub(crate) struct Road<'a> {
    pub(crate) file: &'a ClusterFile,
    pub(crate) record: Move,
    pub(crate) options: Options,
    pub(super) progress: Progress,
    /// As of which state of tables and target this run has compared all rows.
    pub(super) compared: Option<Marks>,
    /// Whether it took longer than writers may wait.
    pub(super) compares_slowly: bool,
    pub(crate) journal: Journal,
    pub(crate) source: Server,
    pub(crate) target: Server,
    /// How often transactions that may have changed the schema did not end behind the fence.
    pub(super) outwaited: u32,
    /// A session on the source for its sequences, and whether it holds them.
    pub(super) holding: Option<Server>,
    pub(super) held: bool,
    /// What they had given out when they were held.
    pub(super) given: Vec<Given>,
}

impl<'a> Road<'a> {
    /// Connects to everything a move needs, and locks the move.
    pub(crate) async fn enter(
        file: &'a ClusterFile,
        id: i64,
        options: Options,
    ) -> Result<Self, Failure> {
        Entrance::enter(file, id).await?.road(file, options).await
    }

    /// Says something about this move.
    pub(crate) fn say(&self, text: impl std::fmt::Display) {
        self.progress.say(text);
    }

    /// The server processes that work for this move, by node.
    pub(super) async fn sessions(&mut self) -> Result<Sessions, Failure> {
        let mut sessions = self.workers().await?;
        let journal = &mut self.journal.server;
        let pids = journal.pids().await?;
        sessions.entry(journal.node.clone()).or_default().extend(pids);
        Ok(sessions)
    }

    /// Those of them at source and target, which do what a move does there.
    pub(super) async fn workers(&mut self) -> Result<Sessions, Failure> {
        let mut sessions = Sessions::new();
        for server in [&mut self.source, &mut self.target] {
            let pids = server.pids().await?;
            sessions.insert(server.node.clone(), pids);
        }
        Ok(sessions)
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

/// A move to which only the journal and the source are at hand.
pub(crate) struct Entrance {
    pub(crate) journal: Journal,
    pub(crate) record: Move,
    source: Server,
}

impl Entrance {
    /// Connects to catalogue and source, and locks the move.
    pub(crate) async fn enter(file: &ClusterFile, id: i64) -> Result<Self, Failure> {
        let mut journal = Journal::open(file).await?;
        let mut record = journal.begin(id).await?;
        let mut source = Server::connect(file, &record.source).await?;
        checks::check_member(&mut source, file).await?;
        journal.claim(&mut record, &mut [&mut source]).await?;
        Ok(Self { journal, record, source })
    }

    /// Connects to the target too. Where that is not to be had, writers do not
    /// wait for it.
    pub(crate) async fn road(
        mut self,
        file: &ClusterFile,
        options: Options,
    ) -> Result<Road<'_>, Failure> {
        let mut target = match Server::connect(file, &self.record.target).await {
            Ok(target) => target,
            Err(failure) => {
                self.relieve().await?;
                return Err(failure);
            }
        };
        // One that knows a newer map may have the shard open: then the fence has to stand.
        checks::check_member(&mut target, file).await?;
        if let Err(failure) = self.claim_both(&mut target).await {
            self.relieve().await?;
            return Err(failure);
        }
        let Self { journal, record, source } = self;
        let progress = Progress::of(record.shard);
        Ok(Road {
            file,
            record,
            options,
            progress,
            compared: None,
            compares_slowly: false,
            outwaited: 0,
            journal,
            source,
            target,
            holding: None,
            held: false,
            given: Vec::new(),
        })
    }

    /// Claims the shard on both nodes.
    async fn claim_both(&mut self, target: &mut Server) -> Result<(), Failure> {
        let mut servers = [&mut self.source, target];
        self.journal.claim(&mut self.record, &mut servers).await
    }

    /// Lets writers go on at the source, where the shard still lives.
    async fn relieve(&mut self) -> Result<(), Failure> {
        if self.record.state == MoveState::Fenced {
            self.journal.advance(&mut self.record, MoveEvent::FenceLost).await?;
        }
        if matches!(self.record.state, MoveState::Following | MoveState::Aborting) {
            fence::lower_on(&mut self.source, &self.record).await?;
        }
        Ok(())
    }

    /// Writes down that the move is given up, unless it has been switched meanwhile, and
    /// lets writers go on.
    ///
    /// A target that is down is not asked; one that answers and knows a newer map than the
    /// catalogue may have the shard open.
    pub(crate) async fn give_up(&mut self, file: &ClusterFile) -> Result<(), Failure> {
        let target = Server::connect(file, &self.record.target);
        if let Ok(Ok(mut target)) = tokio::time::timeout(ANSWER_MAX, target).await {
            checks::check_member(&mut target, file).await?;
        }
        self.journal.advance(&mut self.record, MoveEvent::Abort).await?;
        self.relieve().await
    }
}
