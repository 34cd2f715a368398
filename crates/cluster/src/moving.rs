//! The states of a move, what may follow what, and what is done in each.
//!
//! A move is a journal: a state is written down *before* the effects of that
//! state begin, and each effect may run twice. So whoever finds a move standing
//! knows from its state alone what may already exist: [`effects`] of the state,
//! from the first one on. [`next_state`] is total; what it refuses cannot happen.
//!
//! The map is changed by the very transaction that writes `switched`: before it
//! the shard lives on the source, after it on the target, and only the fence
//! knows both. What must not be done once the target has taken a write (sealing
//! the way back) belongs before it.
//!
//! What all rows have come to is noted behind the fence, and looked at again before the
//! target is opened: it may have been promoted or restored since, without the last of them.
//! Then it is not opened, and the move goes back to its source, which has them all.
//! What the source is, is noted when the copy begins: one that was promoted or restored may lack
//! what the copy has, which is not dropped then.

use std::fmt;

use crate::words::words;

words! { "a state of a move":
    /// What a move is in.
    pub enum MoveState {
        /// Written down; nothing is made yet.
        Planned = "planned",
        /// The target is being filled.
        Copying = "copying",
        /// The target follows the source, which takes reads and writes.
        Following = "following",
        /// The source takes no writes; the target catches up.
        Fenced = "fenced",
        /// The map names the target.
        Switched = "switched",
        /// The target gives ids and takes writes; the old copy is kept until it is retired.
        Done = "done",
        /// Everything that was made is being removed; the source goes on.
        Aborting = "aborting",
        /// As if the move had never been.
        Aborted = "aborted",
    }
}

words! { "a kind of move":
    /// Whether a move copies, or goes back to a copy that has followed since.
    pub enum MoveKind {
        /// The target gets a new copy.
        Copy = "copy",
        /// The target is the old copy of an earlier move, and has followed since.
        Rollback = "rollback",
    }
}

words! { "a kind of object that a move leaves":
    /// An object that a move makes, and that somebody has to remove.
    pub enum LeftoverKind {
        /// A publication of the shard's schema.
        Publication = "publication",
        /// A replication slot.
        Slot = "slot",
        /// A subscription to the other node.
        Subscription = "subscription",
        /// A copy of the shard.
        Schema = "schema",
        /// The fence around the shard.
        Fence = "fence",
    }
}

/// What happens to a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MoveEvent {
    /// The effects of the state are all done.
    Finished,
    /// The fence could not be held, or was given up: writers go on.
    FenceLost,
    /// Somebody gives the move up.
    Abort,
    /// The target has lost rows of it since the switch, and the map goes back to the source.
    GoBack,
}

/// One thing that is done for a move; each may be done twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Look once more for everything that would make the move fail.
    Check,
    /// Make the schema on the target: tables, types and functions, without indexes.
    MakeSchema,
    /// Publish the source's schema.
    Publish,
    /// Subscribe the target, which begins the copy.
    Subscribe,
    /// Wait until every table is copied.
    AwaitCopy,
    /// Make indexes, constraints and triggers on the target.
    MakeIndexes,
    /// Make the way back: publication and slot on the target.
    PrepareWayBack,
    /// Refuse to go on where the source has lost what the copy on the target may have.
    CheckSource,
    /// Compare both copies as of one moment, where that was asked for.
    Compare,
    /// Wait until the target is close behind.
    AwaitClose,
    /// Stop writes and ids on the source, with triggers that refuse whoever queued.
    RaiseFence,
    /// Wait until the target has everything that was written.
    AwaitDrained,
    /// Compare small copies once more, and carry every sequence over.
    CarryOver,
    /// Note what the target is, now that it has everything.
    NoteTarget,
    /// Have the way back begin here: what the target has so far came from the source.
    SealWayBack,
    /// Refuse to go on where the target has lost what it had.
    CheckTarget,
    /// Tell the source that the shard has moved: its copy refuses with the new node's name,
    /// and its sequences are closed.
    GuardSource,
    /// Let the target give ids and take writes.
    OpenTarget,
    /// End the stream that filled the target.
    EndStream,
    /// Have the old copy follow the new one, from its first write on.
    OpenWayBack,
    /// Tell all other nodes.
    TellNodes,
    /// Remove what is not needed any more.
    CleanUp,
    /// Open the source again that a switched move goes back to.
    OpenSource,
    /// Take the fence down: the source goes on as if nothing had been.
    LowerFence,
    /// Remove everything that was made.
    RemoveAll,
    /// Close what was opened of an old copy that is not gone back to after all.
    CloseOldCopy,
}

/// An event that cannot happen in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a move that is {state} cannot be {event}")]
pub struct NoSuchStep {
    /// The state.
    pub state: MoveState,
    /// The event.
    pub event: MoveEvent,
}

/// The state after an event.
pub fn next_state(
    kind: MoveKind,
    state: MoveState,
    event: MoveEvent,
) -> Result<MoveState, NoSuchStep> {
    use MoveEvent::{Abort, FenceLost, Finished, GoBack};
    use MoveState::{Aborted, Aborting, Copying, Done, Fenced, Following, Planned, Switched};
    match (state, event) {
        (Planned, Finished) => Ok(match kind {
            MoveKind::Copy => Copying,
            MoveKind::Rollback => Following,
        }),
        (Copying, Finished) => Ok(Following),
        (Following, Finished) => Ok(Fenced),
        (Fenced, Finished) => Ok(Switched),
        (Switched, Finished) => Ok(Done),
        (Aborting, Finished) => Ok(Aborted),
        (Fenced, FenceLost) => Ok(Following),
        (Planned | Copying | Following | Fenced | Aborting, Abort) => Ok(Aborting),
        (Switched, GoBack) => Ok(Aborting),
        _ => Err(NoSuchStep { state, event }),
    }
}

/// What is done in a state, in this order.
pub fn effects(kind: MoveKind, state: MoveState) -> &'static [Effect] {
    use Effect::{
        AwaitClose, AwaitCopy, AwaitDrained, CarryOver, Check, CheckSource, CheckTarget, CleanUp,
        CloseOldCopy, Compare, EndStream, GuardSource, LowerFence, MakeIndexes, MakeSchema,
        NoteTarget, OpenSource, OpenTarget, OpenWayBack, PrepareWayBack, Publish, RaiseFence,
        RemoveAll, SealWayBack, Subscribe, TellNodes,
    };
    match (kind, state) {
        (_, MoveState::Planned) => &[Check],
        (MoveKind::Copy, MoveState::Copying) => {
            &[MakeSchema, Publish, Subscribe, AwaitCopy, MakeIndexes, PrepareWayBack]
        }
        (MoveKind::Rollback, MoveState::Copying) => &[],
        // A move that came back from a fence must let writers go on first.
        (MoveKind::Copy, MoveState::Following) => &[LowerFence, CheckSource, Compare, AwaitClose],
        (MoveKind::Rollback, MoveState::Following) => &[LowerFence, Compare, AwaitClose],
        (MoveKind::Copy, MoveState::Fenced) => {
            &[RaiseFence, AwaitDrained, CarryOver, NoteTarget, SealWayBack]
        }
        (MoveKind::Rollback, MoveState::Fenced) => {
            &[RaiseFence, AwaitDrained, CarryOver, NoteTarget]
        }
        // By one session with the target, which ends where another server takes its place.
        (MoveKind::Copy, MoveState::Switched) => {
            &[CheckTarget, GuardSource, OpenTarget, EndStream, OpenWayBack, TellNodes, CleanUp]
        }
        (MoveKind::Rollback, MoveState::Switched) => {
            &[CheckTarget, GuardSource, OpenTarget, EndStream, TellNodes, CleanUp]
        }
        // Writers go on, whatever becomes of the copy.
        (MoveKind::Copy, MoveState::Aborting) => &[OpenSource, LowerFence, CheckSource, RemoveAll],
        // The old copy goes on following: it is there to be gone back to another time.
        (MoveKind::Rollback, MoveState::Aborting) => &[OpenSource, LowerFence, CloseOldCopy],
        (_, MoveState::Done | MoveState::Aborted) => &[],
    }
}

/// Which of the two nodes of a move never comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GoneNode {
    /// The one that the shard comes from.
    Source,
    /// The one that it goes to.
    Target,
}

/// What is done in a state where one of the nodes never comes back; `None` where the move cannot be
/// ended without it: the shard is there, or the state is to be another one first.
///
/// Before the switch the shard lives on the source, which goes on alone once the move is given up.
/// After it the map has the shard on the target, which has all of it from behind the fence, and opens. What was
/// made on the other node is gone with it.
pub fn effects_without(state: MoveState, gone: GoneNode) -> Option<&'static [Effect]> {
    match (state, gone) {
        (MoveState::Aborting, GoneNode::Target) => {
            Some(&[Effect::OpenSource, Effect::LowerFence, Effect::RemoveAll])
        }
        (MoveState::Switched, GoneNode::Source) => Some(&[
            Effect::CheckTarget,
            Effect::OpenTarget,
            Effect::EndStream,
            Effect::TellNodes,
            Effect::CleanUp,
        ]),
        _ => None,
    }
}

impl MoveState {
    /// Whether nothing is left to do.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Aborted)
    }

    /// Whether the move can still be given up.
    pub fn can_abort(self) -> bool {
        next_state(MoveKind::Copy, self, MoveEvent::Abort).is_ok()
    }
}

impl fmt::Display for MoveEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finished => "taken further",
            Self::FenceLost => "taken back to following",
            Self::Abort => "aborted",
            Self::GoBack => "taken back to its source",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What happens to a move whose target loses nothing.
    const EVENTS: [MoveEvent; 3] = [MoveEvent::Finished, MoveEvent::FenceLost, MoveEvent::Abort];

    fn any_kind() -> impl Strategy<Value = MoveKind> {
        prop_oneof![Just(MoveKind::Copy), Just(MoveKind::Rollback)]
    }

    proptest! {
        #[test]
        fn a_switched_move_is_never_undone(
            kind in any_kind(), events in prop::collection::vec(0usize..3, 0..60),
        ) {
            let (mut state, mut switched) = (MoveState::Planned, false);
            for event in events {
                if let Ok(next) = next_state(kind, state, EVENTS[event]) {
                    state = next;
                }
                switched |= state == MoveState::Switched;
                let forward = matches!(state, MoveState::Switched | MoveState::Done);
                prop_assert!(!switched || forward, "switched, then {state}");
            }
        }

        #[test]
        fn every_move_can_end_from_wherever_it_stands(
            kind in any_kind(), events in prop::collection::vec(0usize..3, 0..60),
        ) {
            let mut state = MoveState::Planned;
            for event in events {
                state = next_state(kind, state, EVENTS[event]).unwrap_or(state);
            }
            for _ in 0..6 {
                if !state.is_over() {
                    state = next_state(kind, state, MoveEvent::Finished).unwrap();
                }
            }
            prop_assert!(state.is_over());
        }
    }

    proptest! {
        #[test]
        fn a_word_of_the_journal_is_read_as_itself_or_refused(word in "\\PC{0,12}", n in 0usize..8) {
            // One letter away from a word is none.
            let known = MoveState::ALL[n].to_string();
            for text in [word, known.clone(), format!("{known} "), known.to_uppercase()] {
                match text.parse::<MoveState>() {
                    Ok(state) => prop_assert_eq!(state.as_str(), &text),
                    Err(error) => prop_assert!(error.to_string().contains("a state of a move"), "{}", error),
                }
                let _ = (text.parse::<MoveKind>(), text.parse::<LeftoverKind>());
            }
        }
    }

    #[test]
    fn only_a_switched_move_goes_back_to_its_source_and_the_source_is_opened_then() {
        for kind in [MoveKind::Copy, MoveKind::Rollback] {
            for state in MoveState::ALL.iter().copied() {
                let next = next_state(kind, state, MoveEvent::GoBack);
                assert_eq!(next.is_ok(), state == MoveState::Switched, "{state}");
            }
            let aborting = MoveState::Aborting;
            assert_eq!(next_state(kind, MoveState::Switched, MoveEvent::GoBack), Ok(aborting));
            assert_eq!(at(kind, aborting, Effect::OpenSource), Some(0));
        }
    }

    fn at(kind: MoveKind, state: MoveState, effect: Effect) -> Option<usize> {
        effects(kind, state).iter().position(|e| *e == effect)
    }

    #[test]
    fn no_copy_is_dropped_before_it_is_looked_what_its_source_has_lost_and_writers_go_on_first() {
        let (kind, state) = (MoveKind::Copy, MoveState::Aborting);
        let order = [Effect::LowerFence, Effect::CheckSource, Effect::RemoveAll];
        let places = order.map(|effect| at(kind, state, effect).expect("it is done"));
        assert!(places.is_sorted(), "{places:?}");
        // A move back drops nothing then.
        assert_eq!(at(MoveKind::Rollback, state, Effect::RemoveAll), None);
    }

    #[test]
    fn whatever_must_not_happen_after_the_first_write_happens_behind_the_fence_alone() {
        for kind in [MoveKind::Copy, MoveKind::Rollback] {
            assert_eq!(at(kind, MoveState::Fenced, Effect::RaiseFence), Some(0));
            assert!(
                at(kind, MoveState::Fenced, Effect::CarryOver)
                    > at(kind, MoveState::Fenced, Effect::AwaitDrained)
            );
            for state in MoveState::ALL.iter().copied().filter(|s| *s != MoveState::Fenced) {
                for effect in [Effect::CarryOver, Effect::SealWayBack, Effect::RaiseFence] {
                    assert_eq!(at(kind, state, effect), None, "{effect:?} while {state}");
                }
            }
        }
    }

    #[test]
    fn the_source_is_guarded_before_the_target_opens_and_never_opened_after_the_switch() {
        for kind in [MoveKind::Copy, MoveKind::Rollback] {
            let state = MoveState::Switched;
            assert!(at(kind, state, Effect::GuardSource) < at(kind, state, Effect::OpenTarget));
            // What has lost rows is not opened, and the source is not closed for it.
            assert_eq!(at(kind, state, Effect::CheckTarget), Some(0));
            let fenced = MoveState::Fenced;
            let noted = at(kind, fenced, Effect::NoteTarget);
            assert!(noted > at(kind, fenced, Effect::CarryOver));
            assert_eq!(at(kind, state, Effect::LowerFence), None);
            // The way back must not carry to the old copy what came from it.
            assert!(
                at(kind, state, Effect::OpenWayBack).is_none()
                    || at(kind, state, Effect::EndStream) < at(kind, state, Effect::OpenWayBack)
            );
        }
    }

    #[test]
    fn without_a_node_the_one_that_has_the_shard_by_the_map_opens_and_no_other() {
        for state in MoveState::ALL.iter().copied() {
            for (gone, opens) in
                [(GoneNode::Source, Effect::OpenTarget), (GoneNode::Target, Effect::LowerFence)]
            {
                let Some(left) = effects_without(state, gone) else { continue };
                assert_eq!(left[1], opens, "{state} without {gone:?}");
                // Only what is done in that state anyway, in the same order, and nothing twice.
                for kind in [MoveKind::Copy, MoveKind::Rollback] {
                    let all = effects(kind, state);
                    let places: Vec<_> =
                        left.iter().filter_map(|e| all.iter().position(|o| o == e)).collect();
                    assert!(places.is_sorted(), "{state}: {places:?}");
                }
                // The shard is where the state says that it is.
                let is_switched = state == MoveState::Switched;
                assert_eq!(is_switched, gone == GoneNode::Source, "{state} without {gone:?}");
            }
        }
    }

    #[test]
    fn words_come_back() {
        for state in MoveState::ALL.iter().copied() {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        let error = "moved".parse::<MoveState>().unwrap_err();
        assert_eq!(error.to_string(), "\"moved\" is not a state of a move");
        assert!("Copy".parse::<MoveKind>().is_err());
        assert!("table".parse::<LeftoverKind>().is_err());
        let error = next_state(MoveKind::Copy, MoveState::Switched, MoveEvent::Abort).unwrap_err();
        assert_eq!(error.to_string(), "a move that is switched cannot be aborted");
    }
}
