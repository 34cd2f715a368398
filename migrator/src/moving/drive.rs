//! A move as the driver takes it: the effects of its states.

use std::time::{Duration, Instant};

use shardid_cluster::{Effect, MoveEvent, MoveKind, MoveState, effects, next_state};

use super::context::MoveContext;
use super::elsewhere::Elsewhere;
use super::home::{check_name, is_open};
use super::move_session::MoveSession;
use super::old_copy::check_there;
use super::outcome::Fence;
use super::watch::Sessions;
use super::{
    ahead, back, carry, checks, clean, compare, fence, following, origin, schema, sequences, stop,
    stream, subscribe, throttle, unseen, watch,
};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::intent::{self, Intent};
use crate::postgres::{in_time, sql};

/// How often a fence is tried before the move is left standing.
const FENCES_MAX: u32 = 20;

/// After how many that are lost it is said what helps.
const FENCES_TOLD: u32 = 3;

/// How long it is tried to lower a fence when something went wrong behind it.
const GIVE_UP_MAX: Duration = Duration::from_secs(30);

/// How long an effect may go on when the move is asked to stop, before what its
/// sessions are at is cancelled; and how often, and how long that is tried.
const STOP_AFTER: Duration = Duration::from_secs(2);
const CANCEL_EVERY: Duration = Duration::from_secs(1);
const CANCELS_MAX: u32 = 10;

/// Drives a move until it is over; the failure says what is unfinished.
pub(crate) async fn drive(context: &mut MoveContext<'_>) -> Result<MoveState, Failure> {
    let outcome = watch::over(context.file, context.sessions(), run(context)).await;
    if outcome.is_err() && context.record.state == MoveState::Fenced {
        // Writers must not wait for somebody to come and look. Perhaps the way
        // there is lost as well.
        let _ = tokio::time::timeout(GIVE_UP_MAX, give_up_fence(context)).await;
    }
    outcome.map_err(|failure| {
        let (id, state) = (context.record.id, context.record.state);
        let failure = failure.detail(format!(
            "move {id} of shard {} is unfinished (state: {state})",
            context.record.shard
        ));
        let failure = failure.standing();
        match state.can_abort() && state != MoveState::Aborting {
            true => failure
                .hint(format!("`shardid resume {id}` goes on, `shardid abort {id}` gives it up")),
            false => failure.hint(format!("`shardid resume {id}` goes on")),
        }
    })
}

async fn run(context: &mut MoveContext<'_>) -> Result<MoveState, Failure> {
    let workers = context.workers();
    let mut run = Run { context, workers, fences: 0, began: Instant::now() };
    intent::drive(&mut run).await?;
    Ok(run.context.record.state)
}

/// One run of the program on a move.
struct Run<'r, 'f> {
    context: &'r mut MoveContext<'f>,
    workers: Sessions,
    /// How many fences were lost.
    fences: u32,
    /// When the effects of the present state began.
    began: Instant,
}

impl Intent for Run<'_, '_> {
    type State = MoveState;
    type Event = MoveEvent;

    fn unfinished(&self) -> Option<MoveState> {
        let state = self.context.record.state;
        (!state.is_over()).then_some(state)
    }

    async fn take_effects(&mut self) -> Result<MoveEvent, Failure> {
        self.began = Instant::now();
        let state = self.context.record.state;
        let event = match self.in_time(state).await? {
            Fence::Held => MoveEvent::Finished,
            Fence::Lost(why) => {
                self.lost_fence(&why).await?;
                MoveEvent::FenceLost
            }
        };
        let next = next_state(self.context.record.kind, state, event).map_err(Failure::new)?;
        if next == MoveState::Fenced {
            stop::check_stop()?;
        }
        Ok(event)
    }

    async fn advance(&mut self, event: MoveEvent) -> Result<(), Failure> {
        let state = self.context.record.state;
        self.context.advance(event).await?;
        let next = self.context.record.state;
        tell(self.context, state, next, self.began.elapsed());
        if next == MoveState::Following && state == MoveState::Fenced {
            tokio::time::sleep(Duration::from_millis(200 * u64::from(self.fences.min(25)))).await;
        }
        Ok(())
    }
}

impl Run<'_, '_> {
    /// Takes the effects of a state. Behind the fence writers wait, and no function of a table's owner that catches
    /// a cancel is to have them wait for longer.
    async fn in_time(&mut self, state: MoveState) -> Result<Fence, Failure> {
        let most = self.context.options.fence_max;
        let nodes = [&self.context.source, &self.context.target]
            .map(|server| (server.node.clone(), server.address.clone()));
        let mut work = std::pin::pin!(take_effects(self.context, state, &self.workers));
        if state != MoveState::Fenced {
            return work.await;
        }
        if let Some(outcome) = in_time::within(most, &mut work).await {
            return outcome;
        }
        let mut ended = Vec::new();
        for (node, address) in &nodes {
            let pids = self.workers.get(node).cloned().unwrap_or_default();
            ended.extend(in_time::end(node, address, pids).await);
        }
        // What waits for a session that was ended fails; what waits for anything else is watched over.
        let outcome = work.await;
        Failure::all(ended).map_or(outcome, Err)
    }

    /// Says why a fence was lost. An error where that was one too many.
    async fn lost_fence(&mut self, why: &str) -> Result<(), Failure> {
        self.fences += 1;
        let fences = self.fences;
        self.context.say(format_args!("back to following: {why}"));
        if fences == FENCES_TOLD {
            self.context.say(format_args!(
                "{fences} fences were lost: a larger `--fence-seconds-max` lets writers wait longer, and where fewer write it goes sooner; Ctrl-C stops here"
            ));
        }
        if fences >= FENCES_MAX {
            give_up_fence(self.context).await?;
            return Err(Failure::new(format!("the fence could not be held {fences} times: {why}")));
        }
        Ok(())
    }
}

fn tell(context: &MoveContext<'_>, state: MoveState, next: MoveState, took: Duration) {
    match (state, next) {
        (MoveState::Copying, MoveState::Following) => {
            context.say(format_args!(
                "copied in {:.1} s; {} follows",
                took.as_secs_f64(),
                context.target.node
            ));
        }
        (MoveState::Fenced, MoveState::Switched) => {
            context.say(format_args!("switched to {}", context.target.node));
        }
        (MoveState::Aborting, MoveState::Aborted) => {
            context.say(format_args!("aborted: it stays on {}", context.source.node));
        }
        (MoveState::Switched, MoveState::Done) => context.say("done"),
        _ => {}
    }
}

/// Lets writers go on after something went wrong behind the fence.
async fn give_up_fence(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    if context.record.state == MoveState::Fenced {
        context.advance(MoveEvent::FenceLost).await?;
    }
    if fence::lower(context).await.is_err() {
        // Perhaps only our connection is gone.
        let term = context.source.term();
        context.source =
            MoveSession::connect_as(context.file, &context.record.source, term).await?;
        fence::lower(context).await?;
    }
    Ok(())
}

async fn take_effects(
    context: &mut MoveContext<'_>,
    state: MoveState,
    workers: &Sessions,
) -> Result<Fence, Failure> {
    let deadline = Instant::now() + context.options.fence_max;
    for effect in effects(context.record.kind, state) {
        // Behind the fence it goes on, one way or the other: writers wait.
        let may_stand = !matches!(state, MoveState::Fenced | MoveState::Switched);
        if may_stand {
            stop::check_stop()?;
        }
        cuts::at(format_args!("{state}/before-{effect:?}"));
        let outcome = match may_stand {
            true => take_unless_stopped(context, *effect, deadline, workers).await?,
            false => take(context, *effect, deadline).await?,
        };
        if let lost @ Fence::Lost(_) = outcome {
            return Ok(lost);
        }
        cuts::at(format_args!("{state}/after-{effect:?}"));
    }
    Ok(Fence::Held)
}

/// Takes an effect. Where the move is asked to stop meanwhile, statements that go on
/// for long (an index that is built, a lock or somebody's transaction that is waited
/// for) are cancelled: that is one of the failures after which it can be taken again.
async fn take_unless_stopped(
    context: &mut MoveContext<'_>,
    effect: Effect,
    deadline: Instant,
    workers: &Sessions,
) -> Result<Fence, Failure> {
    let file = context.file;
    let mut work = std::pin::pin!(take(context, effect, deadline));
    let stopped = async {
        stop::standing().await;
        tokio::time::sleep(STOP_AFTER).await;
    };
    tokio::select! {
        biased;
        outcome = &mut work => return outcome,
        () = stopped => {}
    }
    for _ in 0..CANCELS_MAX {
        tokio::select! {
            biased;
            _ = &mut work => break,
            () = cancel(file, workers) => {}
        }
    }
    stop::check_stop().map(|()| Fence::Held)
}

/// Cancels what sessions are at, as far as their servers can be reached.
async fn cancel(file: &ClusterFile, sessions: &Sessions) {
    for (node, pids) in sessions {
        if let Ok(mut server) = MoveSession::connect(file, node).await {
            let query = sqlx::query(sql!("move/cancel.sql")).bind(pids.clone());
            let _ = server.run(query).await;
        }
    }
    tokio::time::sleep(CANCEL_EVERY).await;
}

async fn take(
    context: &mut MoveContext<'_>,
    effect: Effect,
    deadline: Instant,
) -> Result<Fence, Failure> {
    match effect {
        Effect::Check => {
            checks::check_again(context).await?;
            // Of a move that copies, where a copy is made.
            if context.record.kind == MoveKind::Rollback {
                stream::keep_names(context).await?;
                // From here on each keeps its name.
                for server in [&mut context.source, &mut context.target] {
                    check_name(server, &context.record).await?;
                }
            }
            throttle::hold_back(context).await?;
        }
        Effect::MakeSchema => schema::make(context).await?,
        Effect::Publish => stream::publish(context).await?,
        Effect::Subscribe => subscribe::subscribe(context).await?,
        Effect::AwaitCopy => following::await_copy(context).await?,
        Effect::MakeIndexes => schema::make_indexes(context).await?,
        Effect::PrepareWayBack => stream::prepare_way_back(context).await?,
        Effect::CheckSource => origin::check_source(context).await?,
        Effect::Compare => compare::fully(context).await?,
        Effect::AwaitClose => following::await_close(context).await?,
        Effect::RaiseFence => return fence::raise(context, deadline).await,
        Effect::AwaitDrained => return following::await_drained(context, deadline).await,
        Effect::CarryOver => return carry::carry_over(context, deadline).await,
        Effect::NoteTarget => ahead::note_target(context).await?,
        Effect::SealWayBack => stream::seal_way_back(context).await?,
        Effect::CheckTarget => {
            let accept_loss = context.options.accept_loss;
            let instead = ahead::Instead::GoBack;
            ahead::check_target(&mut context.target, &context.record, instead, accept_loss).await?;
            back::check_copy(&mut context.target, &context.record, accept_loss).await?;
            let is_open = is_open(&mut context.target, context.record.shard).await?;
            if is_open || context.record.kind == MoveKind::Rollback {
                let copy = &context.source.node;
                check_there(&mut context.target, copy, &context.record).await?;
            }
        }
        Effect::GuardSource => fence::guard(context).await?,
        Effect::CloseOldCopy => {
            sequences::close_old_copy(context).await?;
            stream::let_names(context).await?;
        }
        Effect::OpenTarget => {
            let elsewhere = Elsewhere::of_target(&mut context.target, &context.record).await?;
            context.journal.note_opening(&mut context.record).await?;
            fence::open(context, elsewhere).await?;
        }
        Effect::EndStream => {
            unseen::look_back(context).await?;
            stream::end(context).await?;
        }
        Effect::OpenWayBack => stream::open_way_back(context).await?,
        Effect::TellNodes => fence::tell_nodes(context).await?,
        Effect::CleanUp => clean::clean_up(context).await?,
        Effect::OpenSource => back::open_source(context).await?,
        Effect::LowerFence => fence::lower(context).await?,
        Effect::RemoveAll => clean::remove_all(context).await?,
    }
    Ok(Fence::Held)
}
