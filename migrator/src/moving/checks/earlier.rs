//! What the journal has against a move: others of the same shard, and what they left.

use shardid_cluster::PlannedMove;

use crate::failure::Failure;
use crate::moving::journal::Move;

/// A move of the shard that stands already.
pub(super) fn standing(journal: &[Move], planned: &PlannedMove) -> Option<Failure> {
    let Move { id, state, target, .. } =
        journal.iter().find(|m| m.shard == planned.shard && !m.state.is_over())?;
    let failure = Failure::new(format!(
        "shard {} is already being moved: move {id} to {target} is {state}",
        planned.shard
    ));
    Some(match state.can_abort() {
        true => {
            failure.hint(format!("`shardid resume {id}` goes on, `shardid abort {id}` gives it up"))
        }
        false => failure.hint(format!("`shardid resume {id}` goes on")),
    })
}

/// Whether a move has left an old copy of the shard where it is to go.
pub(super) fn is_old_copy_at(m: &Move, planned: &PlannedMove) -> bool {
    m.shard == planned.shard && m.has_old_copy() && m.source == planned.target
}

/// Earlier moves whose old copies still follow this shard, or lie where it is to go.
pub(super) fn old_copies(journal: &[Move], planned: &PlannedMove) -> Vec<Failure> {
    let said = |m: &Move| {
        let what = if m.can_roll_back() { "still follows" } else { "is still there" };
        let failure = Failure::new(format!(
            "the old copy of shard {} on node {} {what}, from move {}",
            m.shard, m.source, m.id
        ));
        match m.can_roll_back() && m.source == planned.target {
            true => failure.hint(format!(
                "`shardid rollback {0}` goes back to it, `shardid retire {0}` drops it",
                m.id
            )),
            false => failure.hint(format!("drop it with `shardid retire {}`", m.id)),
        }
    };
    let of_shard = journal.iter().filter(|m| m.shard == planned.shard && m.has_old_copy());
    of_shard.filter(|m| m.way_back || m.source == planned.target).map(said).collect()
}
