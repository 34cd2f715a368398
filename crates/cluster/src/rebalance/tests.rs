//! The planner's promises, and the examples of the docs.

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

/// The examples of docs/moving-a-shard.md.
#[test]
fn the_planner_does_what_the_docs_say() {
    let shards = |from: i64, count: i64| -> Vec<(i64, u64)> {
        (from..from + count).map(|shard| (shard, 1)).collect()
    };
    let moves = |nodes: Vec<NodeLoad>| -> Vec<(String, usize)> {
        let moves = rebalance(&cluster(nodes), BalanceBy::Count, usize::MAX).unwrap();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for planned in moves {
            *counts.entry(format!("{} -> {}", planned.source, planned.target)).or_default() += 1;
        }
        counts.into_iter().collect()
    };
    let said = |text: &str, count| (text.to_owned(), count);
    let three = vec![node(1, &shards(0, 32)), node(1, &shards(32, 32)), node(1, &[])];
    let counts = moves(three);
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<usize>(), 21);
    assert!(counts.iter().all(|(pair, _)| pair.ends_with("n0002")), "{counts:?}");
    let uneven = vec![node(1, &shards(0, 10)), node(3, &shards(10, 10))];
    assert_eq!(moves(uneven), [said("n0000 -> n0001", 5)]);
    let emptied = vec![node(0, &shards(0, 3)), node(1, &shards(3, 1)), node(1, &shards(4, 2))];
    assert_eq!(moves(emptied), [said("n0000 -> n0001", 2), said("n0000 -> n0002", 1)]);
    assert_eq!(moves(vec![node(1, &shards(0, 11)), node(1, &shards(11, 10))]), []);
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
fn a_cluster_of_a_thousand_nodes_is_planned_while_one_waits() {
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
        // A second where it is optimized, and the machine does nothing else.
        let limit = if cfg!(debug_assertions) { 60 } else { 10 };
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
