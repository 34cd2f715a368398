//! What takes a shard back to a node, as the journal and the map are now.

use std::collections::BTreeMap;

use shardid_cluster::{MoveState, NodeName, Shard};

use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::moving::{Move, MoveJournal};

/// What there is beside a move.
pub(super) struct Beside<'a> {
    file: &'a ClusterFile,
    moves: Vec<Move>,
    homes: BTreeMap<Shard, NodeName>,
}

impl<'a> Beside<'a> {
    /// Reads all moves, and where the shards of some are.
    pub(super) async fn read(
        file: &'a ClusterFile,
        journal: &mut MoveJournal,
        records: &[Move],
    ) -> Result<Self, Failure> {
        let mut homes = BTreeMap::new();
        for shard in records.iter().map(|record| record.shard) {
            if let Some(home) = journal.home_of(shard).await? {
                homes.insert(shard, home);
            }
        }
        Ok(Self { file, moves: journal.list(i64::MAX).await?, homes })
    }

    /// Whether the map has a shard on a node.
    pub(super) fn is_on(&self, shard: Shard, node: &NodeName) -> bool {
        self.homes.get(&shard) == Some(node)
    }

    /// The move of a shard that is not over yet.
    pub(super) fn standing(&self, shard: Shard) -> Option<&Move> {
        self.moves.iter().find(|m| m.shard == shard && !m.state.is_over())
    }

    /// The rollback that has taken a move back.
    pub(super) fn taken_back_by(&self, id: i64) -> Option<&Move> {
        self.moves.iter().find(|m| m.rollback_of == Some(id) && m.state == MoveState::Done)
    }

    /// What is to be done for a shard to go back to a node: a hint, of which each command is
    /// one that is not refused for what the journal has.
    pub(super) fn way_back(&self, shard: Shard, node: &NodeName) -> String {
        let of_shard = || self.moves.iter().filter(|m| m.shard == shard);
        if let Some(Move { id, state, .. }) = self.standing(shard) {
            let abort = match state.can_abort() {
                true => format!(", `shardid abort {id}` gives it up"),
                false => String::new(),
            };
            return format!(
                "move {id} of the shard is {state}: `shardid resume {id}` goes on{abort}"
            );
        }
        if self.is_on(shard, node) {
            return format!("shard {shard} is on {node}: `shardid map` shows where each is");
        }
        if self.file.address(node).is_err() {
            return format!(
                "there is no node {node} any more: `shardid map` shows where each shard is"
            );
        }
        if let Some(earlier) = of_shard().find(|m| m.can_roll_back() && m.source == *node) {
            return format!("`shardid rollback {}` goes back", earlier.id);
        }
        // Old copies that lie there, or follow a shard that is to leave.
        let is_in_the_way = |m: &&Move| m.has_old_copy() && (m.way_back || m.source == *node);
        let in_the_way: Vec<&Move> = of_shard().filter(is_in_the_way).collect();
        let take = format!("`shardid move {shard} --to {node}` takes it back");
        if in_the_way.is_empty() {
            return take;
        }
        let of_each = |what: fn(&Move) -> String| in_the_way.iter().map(|m| what(m)).collect();
        let ids: Vec<String> = of_each(|m| m.id.to_string());
        let nodes: Vec<String> = of_each(|m| m.source.to_string());
        let drops = match in_the_way.iter().all(|m| m.retiring) {
            true => "ends that".to_owned(),
            false => format!("drops the old copy on {}", nodes.join(" and ")),
        };
        format!("`shardid retire {}` {drops}; then {take}", ids.join(" "))
    }
}
