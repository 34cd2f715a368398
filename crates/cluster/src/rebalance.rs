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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node(weight: u32, shards: &[(i64, u64)]) -> NodeLoad {
        let shards = shards.iter().map(|(s, size)| (Shard::new(*s).unwrap(), *size)).collect();
        NodeLoad { weight, capacity_bytes: None, excluded: false, shards }
    }

    fn cluster(nodes: Vec<NodeLoad>) -> BTreeMap<NodeName, NodeLoad> {
        let name = |i| NodeName::new(&format!("n{i:04}")).unwrap();
        nodes.into_iter().enumerate().map(|(i, node)| (name(i), node)).collect()
    }

    fn apply(
        nodes: &BTreeMap<NodeName, NodeLoad>,
        moves: &[PlannedMove],
    ) -> BTreeMap<NodeName, NodeLoad> {
        let mut nodes = nodes.clone();
        for planned in moves {
            let size = nodes.get_mut(&planned.source).unwrap().shards.remove(&planned.shard);
            let size = size.expect("the shard is where the plan says");
            nodes.get_mut(&planned.target).unwrap().shards.insert(planned.shard, size);
        }
        nodes
    }

    /// The worst overload, as a factor of the node's share.
    fn worst(nodes: &BTreeMap<NodeName, NodeLoad>, by: BalanceBy) -> f64 {
        let load = |n: &NodeLoad| match by {
            BalanceBy::Count => n.shards.len() as f64,
            BalanceBy::Size => n.shards.values().sum::<u64>() as f64,
        };
        let used = || nodes.values().filter(|n| !n.excluded);
        let total: f64 = used().map(load).sum();
        let weights: f64 = used().map(|n| f64::from(n.weight)).sum();
        used()
            .filter(|n| n.weight > 0)
            .map(|n| load(n) - total * f64::from(n.weight) / weights)
            .fold(0.0, |worst: f64, over| worst.max(over.abs()))
    }

    #[test]
    fn an_empty_node_gets_its_share_in_the_fewest_moves() {
        let full: Vec<(i64, u64)> = (0..64).map(|s| (s, 10)).collect();
        let nodes = cluster(vec![node(1, &full[..32]), node(1, &full[32..]), node(1, &[])]);
        let moves = rebalance(&nodes, BalanceBy::Count, usize::MAX).unwrap();
        assert_eq!(moves.len(), 21);
        assert!(moves.iter().all(|m| m.target.as_str() == "n0002"));
        assert_eq!(rebalance(&nodes, BalanceBy::Count, 5).unwrap(), moves[..5]);
        let after = apply(&nodes, &moves);
        assert_eq!(rebalance(&after, BalanceBy::Count, usize::MAX), Ok(Vec::new()));
    }

    #[test]
    fn by_size_one_large_shard_moves_instead_of_many_small_ones() {
        let nodes = cluster(vec![
            node(1, &[(0, 100), (1, 10), (2, 10), (3, 10), (4, 80)]),
            node(1, &[(5, 10)]),
        ]);
        let moves = rebalance(&nodes, BalanceBy::Size, usize::MAX).unwrap();
        assert_eq!(moves.len(), 1);
        assert_eq!(moves[0].shard.number(), 0);
    }

    #[test]
    fn a_weight_of_zero_empties_a_node_and_an_excluded_one_is_left_alone() {
        let mut nodes = cluster(vec![
            node(0, &[(0, 1), (1, 1), (2, 1)]),
            node(1, &[(3, 1)]),
            node(1, &[(4, 1), (5, 1)]),
            node(5, &[]),
        ]);
        nodes.last_entry().unwrap().get_mut().excluded = true;
        let moves = rebalance(&nodes, BalanceBy::Count, usize::MAX).unwrap();
        let after = apply(&nodes, &moves);
        let counts: Vec<usize> = after.values().map(|n| n.shards.len()).collect();
        assert_eq!((counts, moves.len()), (vec![0, 3, 3, 0], 3));
    }

    #[test]
    fn capacity_is_not_exceeded_and_no_room_is_an_error_that_names_the_shard() {
        let mut nodes = cluster(vec![node(0, &[(0, 50), (1, 70)]), node(1, &[(2, 10)])]);
        nodes.last_entry().unwrap().get_mut().capacity_bytes = Some(90);
        let error = rebalance(&nodes, BalanceBy::Size, usize::MAX).unwrap_err();
        assert_eq!(
            error.to_string(),
            "node n0000 cannot be emptied: no other node has room for shard 0"
        );
        let lonely = cluster(vec![node(0, &[(0, 1)])]);
        assert_eq!(rebalance(&lonely, BalanceBy::Count, 9), Err(RebalanceError::NoTarget));
    }

    #[test]
    fn a_cluster_of_a_thousand_nodes_is_planned_in_under_a_second() {
        let mut nodes = vec![node(1, &[]); 1000];
        for shard in 0..8192 {
            // Everything on a tenth of the nodes, in uneven sizes.
            let home = (shard * 37) % 100;
            let size = 1 + (shard as u64 * 7919) % 1000;
            nodes[home as usize].shards.insert(Shard::new(shard).unwrap(), size);
        }
        let nodes = cluster(nodes);
        for by in [BalanceBy::Count, BalanceBy::Size] {
            let began = std::time::Instant::now();
            let moves = rebalance(&nodes, by, usize::MAX).unwrap();
            assert!(!moves.is_empty());
            let limit = if cfg!(debug_assertions) { 10 } else { 1 };
            assert!(began.elapsed().as_secs() < limit, "{by:?}: {:?}", began.elapsed());
        }
    }

    proptest! {
        #[test]
        fn balance_never_gets_worse_and_the_set_is_the_smallest(
            weights in prop::collection::vec(0u32..4, 2..7),
            homes in prop::collection::vec((0usize..7, 0u64..500), 0..60),
            max_moves in 0usize..80,
            by_size in any::<bool>(),
        ) {
            let by = if by_size { BalanceBy::Size } else { BalanceBy::Count };
            let mut nodes: Vec<NodeLoad> = weights.iter().map(|w| node(*w, &[])).collect();
            let here = nodes.len();
            for (shard, (home, size)) in homes.iter().enumerate() {
                nodes[home % here].shards.insert(Shard::new(shard as i64).unwrap(), *size);
            }
            let nodes = cluster(nodes);
            let Ok(moves) = rebalance(&nodes, by, max_moves) else { return Ok(()) };
            prop_assert!(moves.len() <= max_moves);
            let after = apply(&nodes, &moves);
            let moved: BTreeSet<Shard> = moves.iter().map(|m| m.shard).collect();
            prop_assert_eq!(moved.len(), moves.len(), "a shard moves twice");
            let drains = nodes.values().any(|n| n.weight == 0 && !n.shards.is_empty());
            if !drains {
                prop_assert!(worst(&after, by) <= worst(&nodes, by) + 1e-6);
            }
            if by == BalanceBy::Count && max_moves == 79 {
                // Everybody has the share by weight, rounded up or down, ...
                let total: usize = nodes.values().map(|n| n.shards.len()).sum();
                let sum: f64 = nodes.values().map(|n| f64::from(n.weight)).sum();
                let mut least = 0;
                for (name, n) in &after {
                    let share = total as f64 * f64::from(n.weight) / sum;
                    prop_assert!((n.shards.len() as f64 - share).abs() < 1.0 + 1e-6);
                    least += n.shards.len().saturating_sub(nodes[name].shards.len());
                }
                // ... and nobody gave and took.
                prop_assert_eq!(moves.len(), least);
            }
        }
    }
}
