//! A move as the driver takes it: the effects of its states.

use std::time::{Duration, Instant};

use shardid_cluster::{Effect, MoveEvent, MoveState, effects, next_state};

use super::outcome::Fence;
use super::road::Road;
use super::server::Server;
use super::watch::Sessions;
use super::{
    carry, checks, clean, compare, fence, following, schema, sequences, stop, stream, throttle,
    unseen, watch,
};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::intent::{self, Intent};
use crate::postgres::sql;

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

/// Drives a move until it is over; what stands is said in the failure.
pub(crate) async fn drive(road: &mut Road<'_>) -> Result<MoveState, Failure> {
    let outcome = match road.sessions().await {
        Ok(sessions) => watch::over(road.file, sessions, run(road)).await,
        Err(failure) => Err(failure),
    };
    if outcome.is_err() && road.record.state == MoveState::Fenced {
        // Writers must not wait for somebody to come and look. Perhaps the way
        // there is lost as well.
        let _ = tokio::time::timeout(GIVE_UP_MAX, give_up_fence(road)).await;
    }
    outcome.map_err(|failure| {
        let (id, state) = (road.record.id, road.record.state);
        let failure = failure
            .detail(format!("move {id} of shard {} stands in state {state}", road.record.shard));
        let failure = failure.standing();
        match state.can_abort() && state != MoveState::Aborting {
            true => failure
                .hint(format!("`shardid resume {id}` goes on, `shardid abort {id}` gives it up")),
            false => failure.hint(format!("`shardid resume {id}` goes on")),
        }
    })
}

async fn run(road: &mut Road<'_>) -> Result<MoveState, Failure> {
    let workers = road.workers().await?;
    let mut run = Run { road, workers, fences: 0, began: Instant::now() };
    intent::drive(&mut run).await?;
    Ok(run.road.record.state)
}

/// One run of the program on a move.
struct Run<'r, 'f> {
    road: &'r mut Road<'f>,
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
        let state = self.road.record.state;
        (!state.is_over()).then_some(state)
    }

    async fn take_effects(&mut self) -> Result<MoveEvent, Failure> {
        self.began = Instant::now();
        let state = self.road.record.state;
        let event = match take_effects(self.road, state, &self.workers).await? {
            Fence::Held => MoveEvent::Finished,
            Fence::Lost(why) => {
                self.lost_fence(&why).await?;
                MoveEvent::FenceLost
            }
        };
        let next = next_state(self.road.record.kind, state, event).map_err(Failure::new)?;
        if next == MoveState::Fenced {
            stop::check_stop()?;
        }
        Ok(event)
    }

    async fn advance(&mut self, event: MoveEvent) -> Result<(), Failure> {
        let state = self.road.record.state;
        self.road.advance(event).await?;
        let next = self.road.record.state;
        tell(self.road, state, next, self.began.elapsed());
        if next == MoveState::Following && state == MoveState::Fenced {
            tokio::time::sleep(Duration::from_millis(200 * u64::from(self.fences.min(25)))).await;
        }
        Ok(())
    }
}

impl Run<'_, '_> {
    /// Says why a fence was lost. An error where that was one too many.
    async fn lost_fence(&mut self, why: &str) -> Result<(), Failure> {
        self.fences += 1;
        let fences = self.fences;
        self.road.say(format_args!("back to following: {why}"));
        if fences == FENCES_TOLD {
            self.road.say(format_args!(
                "{fences} fences were lost: a larger `--fence-seconds-max` lets writers wait longer, and where fewer write it goes sooner; Ctrl-C stops here"
            ));
        }
        if fences >= FENCES_MAX {
            give_up_fence(self.road).await?;
            return Err(Failure::new(format!("the fence could not be held {fences} times: {why}")));
        }
        Ok(())
    }
}

fn tell(road: &Road<'_>, state: MoveState, next: MoveState, took: Duration) {
    match (state, next) {
        (MoveState::Copying, MoveState::Following) => {
            road.say(format_args!(
                "copied in {:.1} s; {} follows",
                took.as_secs_f64(),
                road.target.node
            ));
        }
        (MoveState::Fenced, MoveState::Switched) => {
            road.say(format_args!("switched to {}", road.target.node));
        }
        (MoveState::Aborting, MoveState::Aborted) => {
            road.say(format_args!("aborted: it stays on {}", road.source.node));
        }
        (MoveState::Switched, MoveState::Done) => road.say("done"),
        _ => {}
    }
}

/// Lets writers go on after something went wrong behind the fence.
async fn give_up_fence(road: &mut Road<'_>) -> Result<(), Failure> {
    if road.record.state == MoveState::Fenced {
        road.advance(MoveEvent::FenceLost).await?;
    }
    if fence::lower(road).await.is_err() {
        // Perhaps only our connection is gone.
        let term = road.source.term();
        road.source = Server::connect_as(road.file, &road.record.source, term).await?;
        fence::lower(road).await?;
    }
    Ok(())
}

async fn take_effects(
    road: &mut Road<'_>,
    state: MoveState,
    workers: &Sessions,
) -> Result<Fence, Failure> {
    let deadline = Instant::now() + road.options.fence_max;
    for effect in effects(road.record.kind, state) {
        // Behind the fence it goes on, one way or the other: writers wait.
        let may_stand = !matches!(state, MoveState::Fenced | MoveState::Switched);
        if may_stand {
            stop::check_stop()?;
        }
        cuts::at(format_args!("{state}/before-{effect:?}"));
        let outcome = match may_stand {
            true => take_unless_stopped(road, *effect, deadline, workers).await?,
            false => take(road, *effect, deadline).await?,
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
    road: &mut Road<'_>,
    effect: Effect,
    deadline: Instant,
    workers: &Sessions,
) -> Result<Fence, Failure> {
    let file = road.file;
    let mut work = std::pin::pin!(take(road, effect, deadline));
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
        if let Ok(mut server) = Server::connect(file, node).await {
            let query = sqlx::query(sql!("move/cancel.sql")).bind(pids.clone());
            let _ = server.run(query).await;
        }
    }
    tokio::time::sleep(CANCEL_EVERY).await;
}

async fn take(road: &mut Road<'_>, effect: Effect, deadline: Instant) -> Result<Fence, Failure> {
    match effect {
        Effect::Check => {
            checks::check_again(road).await?;
            throttle::hold_back(road).await?;
        }
        Effect::MakeSchema => schema::make(road).await?,
        Effect::Publish => stream::publish(road).await?,
        Effect::Subscribe => stream::subscribe(road).await?,
        Effect::AwaitCopy => following::await_copy(road).await?,
        Effect::MakeIndexes => schema::make_indexes(road).await?,
        Effect::PrepareWayBack => stream::prepare_way_back(road).await?,
        Effect::Compare => compare::fully(road).await?,
        Effect::AwaitClose => following::await_close(road).await?,
        Effect::RaiseFence => return fence::raise(road, deadline).await,
        Effect::AwaitDrained => return following::await_drained(road, deadline).await,
        Effect::CarryOver => return carry::carry_over(road, deadline).await,
        Effect::SealWayBack => stream::seal_way_back(road).await?,
        Effect::GuardSource => fence::guard(road).await?,
        Effect::CloseOldCopy => sequences::close_old_copy(road).await?,
        Effect::OpenTarget => fence::open(road).await?,
        Effect::EndStream => {
            unseen::look_back(road).await?;
            stream::end(road).await?;
        }
        Effect::OpenWayBack => stream::open_way_back(road).await?,
        Effect::TellNodes => fence::tell_nodes(road).await?,
        Effect::CleanUp => clean::clean_up(road).await?,
        Effect::LowerFence => fence::lower(road).await?,
        Effect::RemoveAll => clean::remove_all(road).await?,
    }
    Ok(Fence::Held)
}
