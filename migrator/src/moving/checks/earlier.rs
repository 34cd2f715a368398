//! What the journal has against a move: others of the same shard, and what they left.

use std::collections::BTreeMap;

use shardid_cluster::PlannedMove;

use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::moving::ahead::{Parted, parted};
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

/// Earlier moves of the shards that are to be moved.
pub(super) struct Earlier {
    moves: Vec<Move>,
    /// Those whose old copy does not follow, whatever the journal says.
    parted: BTreeMap<i64, Parted>,
}

impl Earlier {
    /// Looks at what they have left.
    pub(super) async fn look(
        file: &ClusterFile,
        mut journal: Vec<Move>,
        planned: &[PlannedMove],
    ) -> Result<Self, Failure> {
        journal.retain(|m| planned.iter().any(|planned| planned.shard == m.shard));
        let parted = parted(file, &journal).await?;
        Ok(Self { moves: journal, parted })
    }

    /// Whether a move has left an old copy of the shard where it is to go.
    pub(super) fn is_old_copy_at(&self, planned: &PlannedMove) -> bool {
        self.of_shard(planned).any(|m| m.source == planned.target)
    }

    /// Those whose old copies still follow this shard, or lie where it is to go.
    pub(super) fn old_copies(&self, planned: &PlannedMove) -> Vec<Failure> {
        let in_the_way = |m: &&Move| m.way_back || m.source == planned.target;
        let found = self.of_shard(planned).filter(in_the_way);
        found.map(|m| in_way(m, self.parted.get(&m.id), planned)).collect()
    }

    fn of_shard(&self, planned: &PlannedMove) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(|m| m.shard == planned.shard && m.has_old_copy())
    }
}

/// That an old copy is in the way, and what is to be done with it.
fn in_way(m: &Move, parted: Option<&Parted>, planned: &PlannedMove) -> Failure {
    let follows = m.can_roll_back() && parted.is_none();
    let mut failure = Failure::new(format!(
        "the old copy of shard {} on node {} {}, from move {}",
        m.shard,
        m.source,
        if follows { "still follows" } else { "is still there" },
        m.id
    ));
    for (why, instead) in parted.iter().flat_map(|it| it.failure.messages()) {
        failure = failure.detail(why).hint(instead.unwrap_or_default());
    }
    match follows && m.source == planned.target {
        true => failure.hint(format!(
            "`shardid rollback {0}` goes back to it, `shardid retire {0}` drops it",
            m.id
        )),
        false => failure.hint(format!("drop it with `shardid retire {}`", m.id)),
    }
}
