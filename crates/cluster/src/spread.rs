//! How a new cluster's shards are given to its nodes.

use std::collections::BTreeMap;

use crate::names::NodeName;
use crate::set::ShardSet;
use crate::shard::ShardCount;

/// Why shards cannot be spread.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpreadError {
    /// No node has a weight above 0.
    #[error("no node may hold shards: every weight is 0")]
    NoWeight,
}

/// Gives every shard to a node, in proportion to the nodes' weights.
///
/// Shards that are in `here` already stay where they are; the others go out in
/// runs, in the order of `nodes`. No node is more than one shard away from its
/// share, except where shards that stay make it so.
pub fn spread(
    count: ShardCount,
    nodes: &[(NodeName, u32)],
    here: &BTreeMap<NodeName, ShardSet>,
) -> Result<BTreeMap<NodeName, ShardSet>, SpreadError> {
    let all = ShardSet::all(count);
    let staying: Vec<ShardSet> =
        nodes.iter().map(|(n, _)| here.get(n).map(|s| s.and(&all)).unwrap_or_default()).collect();
    let mut free = staying.iter().fold(all, |free, set| free.without(set));
    let wanted = counts(count.get(), nodes, &staying)?;

    let mut placed = BTreeMap::new();
    for (((node, _), staying), wanted) in nodes.iter().zip(staying).zip(wanted) {
        let more = free.take_lowest(wanted - staying.len());
        placed.insert(node.clone(), staying.or(&more));
    }
    debug_assert!(free.is_empty());
    Ok(placed)
}

/// How many shards each node is to hold, never fewer than stay there.
fn counts(
    total: u32,
    nodes: &[(NodeName, u32)],
    staying: &[ShardSet],
) -> Result<Vec<u32>, SpreadError> {
    let mut weights: Vec<u64> = nodes.iter().map(|(_, weight)| u64::from(*weight)).collect();
    let mut fixed: Vec<Option<u32>> = vec![None; nodes.len()];
    let free: u32 = total - staying.iter().map(ShardSet::len).sum::<u32>();
    if weights.iter().sum::<u64>() == 0 {
        return match free {
            0 => Ok(staying.iter().map(ShardSet::len).collect()),
            _ => Err(SpreadError::NoWeight),
        };
    }
    // A node that holds more than its share keeps what it has, and the others
    // share the rest; that may push the next one over, so until nothing moves.
    loop {
        let left = total - fixed.iter().flatten().sum::<u32>();
        let shares = by_largest_remainder(left, &weights);
        let over = (0..nodes.len()).filter(|&i| fixed[i].is_none() && staying[i].len() > shares[i]);
        let over: Vec<usize> = over.collect();
        if over.is_empty() {
            return Ok(fixed.iter().zip(shares).map(|(f, share)| f.unwrap_or(share)).collect());
        }
        for i in over {
            fixed[i] = Some(staying[i].len());
            weights[i] = 0;
        }
    }
}

/// Splits `total` by weights; each part is its exact share rounded up or down.
fn by_largest_remainder(total: u32, weights: &[u64]) -> Vec<u32> {
    let sum = u128::from(weights.iter().sum::<u64>());
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let exact = |i: usize| u128::from(total) * u128::from(weights[i]);
    let mut shares: Vec<u32> = (0..weights.len()).map(|i| (exact(i) / sum) as u32).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(exact(i) % sum));
    let missing = total - shares.iter().sum::<u32>();
    for &i in order.iter().take(missing as usize) {
        shares[i] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nodes(weights: &[u32]) -> Vec<(NodeName, u32)> {
        let name = |i| NodeName::new(&format!("n{i}")).unwrap();
        weights.iter().enumerate().map(|(i, w)| (name(i), *w)).collect()
    }

    fn shown(count: i64, weights: &[u32], here: &[(&str, &str)]) -> String {
        let here = here.iter().map(|(n, s)| (NodeName::new(n).unwrap(), s.parse().unwrap()));
        let count = ShardCount::new(count).unwrap();
        let placed = spread(count, &nodes(weights), &here.collect()).unwrap();
        placed.iter().map(|(n, s)| format!("{n}:{s}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn shards_go_out_in_runs_by_weight() {
        assert_eq!(shown(64, &[1, 1], &[]), "n0:0-31 n1:32-63");
        assert_eq!(shown(64, &[3, 1], &[]), "n0:0-47 n1:48-63");
        assert_eq!(shown(10, &[1, 1, 1], &[]), "n0:0-3 n1:4-6 n2:7-9");
        assert_eq!(shown(4, &[1, 0, 1], &[]), "n0:0-1 n1: n2:2-3");
        assert_eq!(shown(1, &[1, 1, 1], &[]), "n0:0 n1: n2:");
    }

    #[test]
    fn shards_that_are_there_stay_and_the_rest_evens_out() {
        assert_eq!(shown(8, &[1, 1], &[("n1", "0-1")]), "n0:2-5 n1:0-1,6-7");
        assert_eq!(shown(8, &[1, 1], &[("n1", "0-5")]), "n0:6-7 n1:0-5");
        assert_eq!(shown(9, &[1, 1, 1], &[("n2", "0-6")]), "n0:7 n1:8 n2:0-6");
        assert_eq!(shown(4, &[0, 0], &[("n0", "0-3")]), "n0:0-3 n1:");
        // What lies beyond the cluster's shards is none of its business.
        assert_eq!(shown(4, &[1, 1], &[("n0", "0,99")]), "n0:0-1 n1:2-3");
    }

    #[test]
    fn without_any_weight_there_is_nowhere_to_go() {
        let count = ShardCount::new(4).unwrap();
        let error = spread(count, &nodes(&[0, 0]), &BTreeMap::new()).unwrap_err();
        assert_eq!(error, SpreadError::NoWeight);
        assert!(spread(count, &[], &BTreeMap::new()).is_err());
    }

    proptest! {
        #[test]
        fn every_shard_has_one_node_and_every_node_its_share(
            count in 1i64..5000,
            weights in proptest::collection::vec(0u32..1000, 1..70),
        ) {
            prop_assume!(weights.iter().any(|w| *w > 0));
            let count = ShardCount::new(count).unwrap();
            let nodes = nodes(&weights);
            let placed = spread(count, &nodes, &BTreeMap::new()).unwrap();
            let sum: u64 = weights.iter().map(|w| u64::from(*w)).sum();
            let mut seen = ShardSet::new();
            for (node, weight) in &nodes {
                let set = &placed[node];
                prop_assert!(seen.and(set).is_empty());
                seen = seen.or(set);
                let exact = f64::from(count.get()) * f64::from(*weight) / sum as f64;
                prop_assert!((f64::from(set.len()) - exact).abs() < 1.0);
                prop_assert!(set.ranges().len() <= 1);
            }
            prop_assert_eq!(seen, ShardSet::all(count));
        }

        #[test]
        fn no_shard_is_ever_moved(
            count in 1i64..300,
            weights in proptest::collection::vec(0u32..5, 1..6),
            owners in proptest::collection::vec(proptest::option::of(0usize..6), 300),
        ) {
            prop_assume!(weights.iter().any(|w| *w > 0));
            let count = ShardCount::new(count).unwrap();
            let nodes = nodes(&weights);
            let mut here: BTreeMap<NodeName, ShardSet> = BTreeMap::new();
            for (shard, owner) in ShardSet::all(count).iter().zip(&owners) {
                if let Some((node, _)) = owner.and_then(|o| nodes.get(o)) {
                    here.entry(node.clone()).or_default().insert(shard);
                }
            }
            let placed = spread(count, &nodes, &here).unwrap();
            let mut total = 0;
            for (node, set) in &placed {
                let before = here.get(node).cloned().unwrap_or_default();
                prop_assert!(before.without(set).is_empty());
                total += set.len();
            }
            prop_assert_eq!(total, count.get());
            prop_assert_eq!(placed.values().fold(ShardSet::new(), |a, s| a.or(s)), ShardSet::all(count));
        }
    }
}
