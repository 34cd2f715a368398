//! How is a move taken in hand: catalog and source first, then the target?

use std::time::Duration;

use shardid_cluster::{GoneNode, MoveEvent, MoveState, effects_without, next_state};

use super::context::MoveContext;
use super::fence;
use super::journal::{Move, MoveJournal};
use super::member::check_member;
use super::move_session::{MoveSession, WAIT_MAX};
use super::options::Options;
use super::progress::MoveProgress;
use super::watch;
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;

/// How long a target may take to answer before writers at the source go on without it.
const ANSWER_MAX: Duration = Duration::from_secs(2);

impl<'a> MoveContext<'a> {
    /// Connects to everything a move needs, and locks the move.
    pub(crate) async fn enter(
        file: &'a ClusterFile,
        id: i64,
        options: Options,
    ) -> Result<Self, Failure> {
        ClaimedMove::enter(file, id).await?.context(file, options).await
    }
}

/// Names the way on where the node that a move waits for never comes back.
fn without(failure: Failure, file: &ClusterFile, record: &Move, gone: GoneNode) -> Failure {
    let node = if gone == GoneNode::Source { &record.source } else { &record.target };
    // One that is not in the file is not taken for gone.
    if failure.is_answer() || file.address(node).is_err() {
        return failure;
    }
    let Move { id, state, .. } = record;
    let ends = |state| effects_without(state, gone).is_some();
    let word = match next_state(record.kind, *state, MoveEvent::Abort) {
        _ if ends(*state) => "resume",
        Ok(next) if ends(next) => "abort",
        // One that is switched goes back to its source.
        _ if next_state(record.kind, *state, MoveEvent::GoBack).is_ok_and(ends) => "abort",
        _ => return failure,
    };
    failure.detail(format!("where {node} never comes back: `shardid {word} {id} --gone {node}`"))
}

/// A move to which only the journal and the source are at hand.
pub(crate) struct ClaimedMove {
    pub(crate) journal: MoveJournal,
    pub(crate) record: Move,
    source: MoveSession,
}

impl ClaimedMove {
    /// Connects to catalog and source, and locks the move.
    pub(crate) async fn enter(file: &ClusterFile, id: i64) -> Result<Self, Failure> {
        let mut journal = MoveJournal::open(file).await?;
        let mut record = journal.begin(id).await?;
        let mut nodes = watch::nodes_of(file, &record);
        nodes.remove(&record.target);
        let work = async {
            let source = MoveSession::connect(file, &record.source).await;
            let mut source =
                source.map_err(|failure| without(failure, file, &record, GoneNode::Source))?;
            cuts::at(format_args!("enter/source"));
            check_member(&mut source, file).await?;
            journal.claim(&mut record, &mut [&mut source]).await?;
            Ok(source)
        };
        let source = watch::over(file, nodes, work).await?;
        Ok(Self { journal, record, source })
    }

    /// Connects to the target too. Where that is not to be had, writers do not
    /// wait for it.
    pub(crate) async fn context(
        mut self,
        file: &ClusterFile,
        options: Options,
    ) -> Result<MoveContext<'_>, Failure> {
        let mut target = match MoveSession::connect(file, &self.record.target).await {
            Ok(target) => target,
            Err(failure) => {
                self.relieve().await?;
                return Err(without(failure, file, &self.record, GoneNode::Target));
            }
        };
        // One that knows a newer map may have the shard open: then the fence has to stand.
        cuts::at(format_args!("enter/target"));
        let nodes = watch::nodes_of(file, &self.record);
        let asked = async { Ok(check_member(&mut target, file).await) };
        match watch::over(file, nodes.clone(), asked).await {
            Ok(answer) => answer?,
            Err(silent) => {
                self.relieve().await?;
                return Err(silent);
            }
        }
        let claimed = watch::over(file, nodes.clone(), self.claim_both(&mut target)).await;
        if let Err(failure) = claimed {
            self.relieve().await?;
            return Err(failure);
        }
        let Self { journal, record, mut source } = self;
        let waits = async {
            for server in [&mut source, &mut target] {
                server.wait_at_most(options.stall_max.min(WAIT_MAX)).await?;
            }
            Ok(())
        };
        watch::over(file, nodes, waits).await?;
        let progress = MoveProgress::of(record.shard);
        Ok(MoveContext {
            file,
            record,
            options,
            progress,
            compared: None,
            compares_slowly: false,
            dumped: None,
            finds_rows: false,
            source_checked: false,
            went_back: false,
            outwaited: 0,
            journal,
            source,
            target,
            holding: None,
            held: false,
            opening: None,
            locked: false,
            given: Vec::new(),
        })
    }

    /// Claims the shard on both nodes.
    async fn claim_both(&mut self, target: &mut MoveSession) -> Result<(), Failure> {
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
    /// catalog may have the shard open.
    pub(crate) async fn give_up(&mut self, file: &ClusterFile) -> Result<(), Failure> {
        let target = MoveSession::connect(file, &self.record.target);
        if let Ok(Ok(mut target)) = tokio::time::timeout(ANSWER_MAX, target).await {
            check_member(&mut target, file).await?;
        }
        self.journal.advance(&mut self.record, MoveEvent::Abort).await?;
        self.relieve().await
    }
}
