//! How does a move end of which one node never comes back?

use shardid_cluster::{
    Effect, GoneNode, LeftoverKind, MoveEvent, MoveKind, MoveState, NodeName, effects_without,
    next_state,
};

use super::ahead::{Instead, check_target, open_behind_fence};
use super::answers;
use super::back::open_on_source;
use super::elsewhere::{Elsewhere, Generators};
use super::fence;
use super::home::{Home, is_open};
use super::journal::{Leftover, Move, MoveJournal};
use super::member::{check_survivor, identity};
use super::move_session::MoveSession;
use super::old_copy::forget_old_copy;
use super::{origin, sequences, stream, take_away, watch};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{ids, sql};
use crate::talk;

/// What is said about a move that is to end without one of its nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Without {
    /// That it is given up.
    pub(crate) gives_up: bool,
    /// That the target is opened although it may have lost rows, or gone back from although somebody may have
    /// written there.
    pub(crate) accept_loss: bool,
}

/// Gives a move up whose target never comes back, or ends one that is switched without its source.
/// Returns the state that it has come to.
pub(crate) async fn end_without(
    file: &ClusterFile,
    id: i64,
    gone: &NodeName,
    how: Without,
) -> Result<MoveState, Failure> {
    let mut journal = MoveJournal::open(file).await?;
    let record = journal.begin(id).await?;
    check_gone(file, &record, gone, how).await?;
    let mut nodes = watch::nodes_of(file, &record);
    nodes.retain(|node, _| node != gone);
    let work = async {
        match *gone == record.target {
            true => give_up(file, journal, record, how.accept_loss).await,
            false => open_target(file, journal, record, how.accept_loss).await,
        }
    };
    watch::over(file, nodes, work).await
}

/// Refuses to end a move without a node, before anything is changed.
pub(crate) async fn check_gone(
    file: &ClusterFile,
    record: &Move,
    gone: &NodeName,
    how: Without,
) -> Result<(), Failure> {
    let Move { id, shard, source, target, state, .. } = record;
    let gives_up = how.gives_up;
    let side = match gone {
        node if node == source => GoneNode::Source,
        node if node == target => GoneNode::Target,
        _ => {
            return Err(Failure::new(format!("node {gone} takes no part in move {id}"))
                .hint(format!("it is from {source} to {target}")));
        }
    };
    let event = given_up_by(record);
    let state = match next_state(record.kind, *state, event) {
        Ok(next) if gives_up => next,
        _ => *state,
    };
    if gives_up && event == MoveEvent::GoBack && side == GoneNode::Target {
        check_unwritten(record, how.accept_loss)?;
    }
    if effects_without(state, side).is_none() {
        let home = if state == MoveState::Switched { target } else { source };
        let failure = Failure::new(format!("move {id} is {state}: it does not end without {gone}"));
        let failure = match home == gone {
            true => failure.detail(format!("by the map shard {shard} lives on {gone}")),
            false => failure,
        };
        return Err(match home == gone {
            true if state == MoveState::Switched => failure.hint(format!(
                "bring that node back; if it never comes back, `shardid abort {id} --gone {gone}` goes back to {source}"
            )),
            true => failure.hint(
                "bring that node back, from a backup if need be; a copy on the other node is kept until then",
            ),
            false => failure.hint(format!("`shardid abort {id} --gone {gone}` gives it up first")),
        }
        .standing());
    }
    let word = if gives_up { "abort" } else { "resume" };
    let instead = format!("`shardid {word} {id}` without --gone");
    answers::check_gone(file, gone, &instead).await.map_err(Failure::standing)
}

/// How a move is given up: one that is switched goes back to its source, which has all rows from behind the fence.
fn given_up_by(record: &Move) -> MoveEvent {
    match record.state {
        MoveState::Switched => MoveEvent::GoBack,
        _ => MoveEvent::Abort,
    }
}

/// Refuses to go back from a target on which somebody may have written, unless that is accepted.
fn check_unwritten(record: &Move, accept_loss: bool) -> Result<(), Failure> {
    let Move { id, source, target, .. } = record;
    // What an earlier program has switched does not say whether the target was opened.
    if accept_loss || record.whole.is_some() && !record.opening {
        return Ok(());
    }
    Err(Failure::new(format!("the shard may have been opened on {target} already"))
        .detail(format!("what was written there since is not on {source}"))
        .standing()
        .hint(format!(
            "bring {target} back, from a standby or a backup; or `shardid abort {id} --gone {target} --accept-loss` goes back to {source} without it"
        )))
}

/// Gives a move up on the node that has the shard.
async fn give_up(
    file: &ClusterFile,
    mut journal: MoveJournal,
    mut record: Move,
    accept_loss: bool,
) -> Result<MoveState, Failure> {
    let mut source = MoveSession::connect(file, &record.source).await?;
    check_survivor(&mut source, file).await?;
    journal.claim(&mut record, &mut [&mut source]).await?;
    let home = Home::of(&mut source, record.shard).await?;
    let event = given_up_by(&record);
    if event == MoveEvent::GoBack {
        check_unwritten(&record, accept_loss)?;
        if home.as_ref().is_some_and(|home| home.state == "open") && !accept_loss {
            return Err(without_fence(&record));
        }
    }
    // Of a move that goes back, the source is opened below.
    let goes_back = record.was_switched || event == MoveEvent::GoBack;
    if home.is_none_or(|home| home.state == "moved" && !goes_back) {
        return Err(Failure::new(format!(
            "node {} does not have shard {}, although the map says so",
            record.source, record.shard
        ))
        .hint("`shardid verify` says what is wrong there")
        .standing());
    }
    if record.state != MoveState::Aborting {
        journal.advance(&mut record, event).await?;
    }
    cuts::at(format_args!("without/aborting"));
    for effect in effects_without(record.state, GoneNode::Target).unwrap_or_default() {
        match effect {
            Effect::OpenSource => {
                open_on_source(file, &mut journal, &mut source, &record).await?;
                if record.was_switched {
                    fence::tell_of(file, record.shard, &[&record.source]).await?;
                }
            }
            Effect::LowerFence => fence::lower_on(&mut source, &record).await?,
            Effect::RemoveAll => {
                origin::check_without_copy(&mut journal, &mut source, &record, accept_loss).await?;
                for left in journal.leftovers(record.id).await? {
                    remove(&mut journal, &mut source, &left).await?;
                }
                remove_sync_slots(file, &mut source, &record.target).await?;
                take_away::or_say(&mut source, record.shard, &record.schema).await?;
                stream::let_name(&mut source, &record.stream()).await?;
            }
            other => unreachable!("{other:?} is no part of giving up"),
        }
        cuts::at(format_args!("without/after-{effect:?}"));
    }
    journal.advance(&mut record, MoveEvent::Finished).await?;
    say_restored(file, &mut source).await?;
    Ok(record.state)
}

/// The source has forgotten that it was fenced, and with that perhaps rows from before.
fn without_fence(record: &Move) -> Failure {
    let Move { id, shard, source, target, .. } = record;
    Failure::new(format!("shard {shard} is {}", open_behind_fence(source)))
        .detail(format!("{source} was promoted or restored since: what it has lost was on {target}"))
        .hint(format!(
            "look for a standby, a backup or the disk of {target}, which had all rows; `shardid abort {id} --gone {target} --accept-loss` goes back without them"
        ))
        .standing()
}

/// Says that a node is restored and not adopted yet, if it is.
async fn say_restored(file: &ClusterFile, server: &mut MoveSession) -> Result<(), Failure> {
    let (catalog, _) = ids::catalog(file).await?;
    let identity = identity(server).await?;
    if catalog.another_database(&server.node, &identity).is_some() {
        let node = &server.node;
        talk::line(format_args!(
            "  node {node} is another database than before: `shardid apply --adopt {node}` takes it for the same node"
        ));
    }
    Ok(())
}

/// Opens the shard on the node that the map has it on, which has all rows from behind the fence.
async fn open_target(
    file: &ClusterFile,
    mut journal: MoveJournal,
    mut record: Move,
    accept_loss: bool,
) -> Result<MoveState, Failure> {
    let mut target = MoveSession::connect(file, &record.target).await?;
    check_survivor(&mut target, file).await?;
    journal.claim(&mut record, &mut [&mut target]).await?;
    let id = record.id;
    for effect in effects_without(record.state, GoneNode::Source).unwrap_or_default() {
        match effect {
            Effect::CheckTarget => {
                let instead = Instead::OpenWithout;
                let checked = check_target(&mut target, &record, instead, accept_loss).await;
                checked.map_err(Failure::standing)?;
            }
            Effect::OpenTarget => open(file, &mut journal, &mut target, &mut record).await?,
            Effect::EndStream => {
                stream::remove_subscription(&mut target, None, &record.stream()).await?;
            }
            Effect::TellNodes => fence::tell_of(file, record.shard, &[&record.target]).await?,
            // Of a copy, what is left is the old copy's, which is forgotten with its node below.
            Effect::CleanUp => {
                take_away::or_say(&mut target, record.shard, &record.schema).await?;
                stream::let_name(&mut target, &record.stream()).await?;
                let Some(earlier) = record.rollback_of else { continue };
                for id in [id, earlier] {
                    for left in journal.leftovers(id).await? {
                        remove(&mut journal, &mut target, &left).await?;
                    }
                }
                journal.retired(earlier).await?;
            }
            other => unreachable!("{other:?} is no part of opening the target"),
        }
        cuts::at(format_args!("without/after-{effect:?}"));
    }
    journal.advance(&mut record, MoveEvent::Finished).await?;
    let state = record.state;
    talk::line(format_args!("  shard {}: open on {}", record.shard, record.target));
    say_restored(file, &mut target).await?;
    if record.kind == MoveKind::Copy {
        forget_old_copy(file, journal, record).await?;
    }
    Ok(state)
}

async fn open(
    file: &ClusterFile,
    journal: &mut MoveJournal,
    target: &mut MoveSession,
    record: &mut Move,
) -> Result<(), Failure> {
    if is_open(target, record.shard).await? {
        return Ok(());
    }
    // An old copy that is gone back to knows; a new one has the name that shards are made with.
    let mut known = Generators::of(target, record.shard).await?;
    known.rules = sequences::noted(target, record).await?;
    let gone = sequences::go_by_number(target, record, &mut known).await?;
    let version = journal.version_of(record.shard).await?;
    journal.note_opening(record).await?;
    // Nobody has held the sequences of the source since the program there was cut, and it may have been open again.
    fence::open_on(target, file, record, version, known, Elsewhere::Lost).await?;
    sequences::say_gone(target, record, &gone);
    sequences::say_at_end(target, record, None).await?;
    if record.kind == MoveKind::Copy {
        talk::line(format_args!(
            "  shard {}: which of its sequences are id sequences, {} alone knew: say `SELECT create_id_sequence(…)` on {} for each that is refused",
            record.shard, record.source, record.target
        ));
    }
    Ok(())
}

/// Removes what is left on the node that is there; what is on the other one is gone with it.
async fn remove(
    journal: &mut MoveJournal,
    here: &mut MoveSession,
    left: &Leftover,
) -> Result<(), Failure> {
    let is_here = left.node == here.node;
    match left.kind {
        LeftoverKind::Subscription if is_here => {
            stream::remove_subscription(here, None, &left.name).await?;
        }
        LeftoverKind::Slot if is_here => stream::remove_slot(here, &left.name).await?,
        LeftoverKind::Publication if is_here => {
            stream::remove_publication(here, &left.name).await?;
        }
        // The shard itself; and the fence, which is down.
        LeftoverKind::Schema | LeftoverKind::Fence | LeftoverKind::Subscription => {}
        LeftoverKind::Slot | LeftoverKind::Publication => {}
    }
    journal.removed(left).await
}

/// Removes the slots by which a node that is gone has copied tables.
async fn remove_sync_slots(
    file: &ClusterFile,
    source: &mut MoveSession,
    gone: &NodeName,
) -> Result<(), Failure> {
    let (catalog, _) = ids::catalog(file).await?;
    let Some(known) = catalog.nodes.get(gone) else { return Ok(()) };
    // Databases of one server share it, and what others of them copy is theirs.
    let identifier = known.identity.system_identifier;
    let shares = |(name, node): (&NodeName, &shardid_cluster::CatalogNode)| {
        name != gone && node.identity.system_identifier == identifier
    };
    if catalog.nodes.iter().any(shares) {
        return Ok(());
    }
    let query = sqlx::query_scalar(sql!("move/stream/sync_slots_of.sql"));
    let query = query.bind(identifier.cast_unsigned().to_string());
    for slot in source.column::<String>(query).await? {
        stream::remove_slot(source, &slot).await?;
    }
    Ok(())
}
