//! Which shards to move so that nodes carry what their weights say.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::NodeName;
use crate::shard::Shard;

/// A node as the planner sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeLoad {
    /// Its share, against the weights of the others; 0 is to be emptied.
    pub weight: u32,
    /// How many bytes its shards may have at most, if that is known.
    pub capacity_bytes: Option<u64>,
    /// Neither takes nor gives shards.
    pub excluded: bool,
    /// Its shards with their sizes in bytes.
    pub shards: BTreeMap<Shard, u64>,
}

/// What is to be evened out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BalanceBy {
    /// The number of shards.
    Count,
    /// Their bytes.
    Size,
}

/// One move of a plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedMove {
    /// The shard.
    pub shard: Shard,
    /// The node it is on.
    pub source: NodeName,
    /// The node that is to hold it.
    pub target: NodeName,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RebalanceError {
    /// Every node that may take shards has weight 0.
    #[error("no node may take shards: every weight is 0 or excluded")]
    NoTarget,
    /// A node that is to be emptied cannot be.
    #[error("node {0} cannot be emptied: no other node has room for shard {1}")]
    NoRoom(NodeName, Shard),
}

/// Nodes within this part of their share are even: a move costs more than it brings.
const EVEN_WITHIN: f64 = 0.05;

/// The moves that even the nodes out, most useful first, at most `max_moves`.
///
/// By count the set is the smallest there is, and the shards are the smallest
/// that do. By size it is greedy: the fullest node gives the emptiest the
/// largest shard that brings both closer to their shares, until they are within
/// 5 % or no single shard helps. No move makes the balance worse, none goes to
/// an excluded node or beyond a node's capacity, and no shard moves twice.
pub fn rebalance(
    nodes: &BTreeMap<NodeName, NodeLoad>,
    by: BalanceBy,
    max_moves: usize,
) -> Result<Vec<PlannedMove>, RebalanceError> {
    let mut bench = Bench::new(nodes)?;
    let mut moves = bench.empty_weightless(by, max_moves)?;
    while moves.len() < max_moves
        && let Some(next) = bench.best_move(by)
    {
        moves.push(bench.carry_out(next));
    }
    Ok(moves)
}

/// A node while the plan is made.
struct Slot<'a> {
    name: &'a NodeName,
    weight: f64,
    room_bytes: u64,
    count: u32,
    bytes: u64,
    /// What it may still give, smallest first.
    own: BTreeSet<(u64, Shard)>,
    /// What it has to hold, by count.
    wanted: u32,
}

struct Bench<'a> {
    slots: Vec<Slot<'a>>,
    total_weight: f64,
    total_bytes: u64,
}

impl<'a> Bench<'a> {
    fn new(nodes: &'a BTreeMap<NodeName, NodeLoad>) -> Result<Self, RebalanceError> {
        let slots: Vec<Slot> = nodes
            .iter()
            .filter(|(_, node)| !node.excluded)
            .map(|(name, node)| {
                let bytes = node.shards.values().sum();
                Slot {
                    name,
                    weight: f64::from(node.weight),
                    room_bytes: node.capacity_bytes.unwrap_or(u64::MAX).saturating_sub(bytes),
                    count: u32::try_from(node.shards.len()).expect("shards have 31 bits"),
                    bytes,
                    own: node.shards.iter().map(|(shard, size)| (*size, *shard)).collect(),
                    wanted: 0,
                }
            })
            .collect();
        let total_weight: f64 = slots.iter().map(|slot| slot.weight).sum();
        let total_bytes = slots.iter().map(|slot| slot.bytes).sum();
        if total_weight == 0.0 && slots.iter().any(|slot| slot.count > 0) {
            return Err(RebalanceError::NoTarget);
        }
        let mut bench = Self { slots, total_weight, total_bytes };
        bench.share_out();
        Ok(bench)
    }

    /// Whole shares by count: what is left over stays with those that hold the most.
    fn share_out(&mut self) {
        let total: u32 = self.slots.iter().map(|slot| slot.count).sum();
        let mut left = total;
        for slot in &mut self.slots {
            // Rounded down; a hair above a whole number is that number.
            slot.wanted = (f64::from(total) * slot.weight / self.total_weight + 1e-9) as u32;
            left -= slot.wanted;
        }
        let mut order: Vec<usize> =
            (0..self.slots.len()).filter(|&i| self.slots[i].weight > 0.0).collect();
        order.sort_by_key(|&i| {
            let slot = &self.slots[i];
            std::cmp::Reverse(i64::from(slot.count) - i64::from(slot.wanted))
        });
        // What is left over is less than one a node.
        for &i in order.iter().take(left as usize) {
            self.slots[i].wanted += 1;
        }
    }

    /// Empties the nodes of weight 0 first: that is what a drain is.
    fn empty_weightless(
        &mut self,
        by: BalanceBy,
        max_moves: usize,
    ) -> Result<Vec<PlannedMove>, RebalanceError> {
        let mut moves = Vec::new();
        let leaving: Vec<usize> =
            (0..self.slots.len()).filter(|&i| self.slots[i].weight == 0.0).collect();
        for from in leaving {
            // The largest first, while there is room everywhere.
            while let Some(&(size, shard)) = self.slots[from].own.last() {
                if moves.len() == max_moves {
                    return Ok(moves);
                }
                let to = (0..self.slots.len())
                    .filter(|&i| self.slots[i].weight > 0.0 && self.slots[i].room_bytes >= size)
                    .min_by(|&a, &b| self.fill(a, by).total_cmp(&self.fill(b, by)));
                let Some(to) = to else {
                    return Err(RebalanceError::NoRoom(self.slots[from].name.clone(), shard));
                };
                moves.push(self.carry_out(Candidate { from, to, size, shard }));
            }
        }
        Ok(moves)
    }

    /// How full a node is against its share: 1 is just right.
    fn fill(&self, i: usize, by: BalanceBy) -> f64 {
        let slot = &self.slots[i];
        match by {
            BalanceBy::Count => f64::from(slot.count) / f64::from(slot.wanted.max(1)),
            BalanceBy::Size => slot.bytes as f64 / self.share_bytes(i).max(1.0),
        }
    }

    fn share_bytes(&self, i: usize) -> f64 {
        self.total_bytes as f64 * self.slots[i].weight / self.total_weight
    }

    fn best_move(&self, by: BalanceBy) -> Option<Candidate> {
        let weighty = (0..self.slots.len()).filter(|&i| self.slots[i].weight > 0.0);
        match by {
            BalanceBy::Count => {
                let from = weighty.clone().find(|&i| self.slots[i].count > self.slots[i].wanted)?;
                self.slots[from].own.iter().find_map(|&(size, shard)| {
                    let to = weighty.clone().find(|&i| {
                        let slot = &self.slots[i];
                        slot.count < slot.wanted && slot.room_bytes >= size
                    })?;
                    Some(Candidate { from, to, size, shard })
                })
            }
            BalanceBy::Size => {
                let mut order: Vec<usize> = weighty.collect();
                order.sort_by(|&a, &b| {
                    self.fill(b, BalanceBy::Size).total_cmp(&self.fill(a, BalanceBy::Size))
                });
                order
                    .iter()
                    .find_map(|&from| order.iter().rev().find_map(|&to| self.best_shard(from, to)))
            }
        }
    }

    /// The largest shard that brings both nodes closer to their shares.
    fn best_shard(&self, from: usize, to: usize) -> Option<Candidate> {
        let over = self.slots[from].bytes as f64 - self.share_bytes(from);
        let under = self.share_bytes(to) - self.slots[to].bytes as f64;
        if over <= self.share_bytes(from) * EVEN_WITHIN
            && under <= self.share_bytes(to) * EVEN_WITHIN
        {
            return None;
        }
        // Moving s bytes turns over and under into |over - s| and |under - s|; their sum
        // shrinks while s is below over + under, and the larger of the two must not grow.
        let before = over.abs().max(under.abs());
        let most = self.slots[to].room_bytes;
        let (size, shard) = *self.slots[from].own.iter().rev().find(|(size, _)| {
            let moved = *size as f64;
            *size > 0 && *size <= most && (over - moved).abs().max((under - moved).abs()) < before
        })?;
        Some(Candidate { from, to, size, shard })
    }

    fn carry_out(&mut self, candidate: Candidate) -> PlannedMove {
        let Candidate { from, to, size, shard } = candidate;
        let source = &mut self.slots[from];
        source.own.remove(&(size, shard));
        source.count -= 1;
        source.bytes -= size;
        source.room_bytes = source.room_bytes.saturating_add(size);
        // It is not among what the target may give: no shard moves twice.
        let target = &mut self.slots[to];
        target.count += 1;
        target.bytes += size;
        target.room_bytes -= size;
        PlannedMove {
            shard,
            source: self.slots[from].name.clone(),
            target: self.slots[to].name.clone(),
        }
    }
}

#[derive(Clone, Copy)]
struct Candidate {
    from: usize,
    to: usize,
    size: u64,
    shard: Shard,
}

#[cfg(test)]
mod tests;
