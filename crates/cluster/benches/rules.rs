//! What plans cost for the largest cluster of the default layout, 8192 shards on 64 nodes:
//! `cargo bench --package shardid-cluster`.

use std::collections::BTreeMap;

use divan::{Bencher, black_box};
use shardid_cluster::{MapVersion, NodeName, ShardCount, ShardMap, ShardSet, changes, spread};

fn main() {
    divan::main();
}

const SHARDS: i64 = 8192;
const NODES: u32 = 64;

fn count() -> ShardCount {
    ShardCount::new(SHARDS).expect("the layout has as many")
}

fn nodes() -> Vec<(NodeName, u32)> {
    let name = |n| NodeName::new(&format!("pg{n}")).expect("a name");
    (0..NODES).map(|n| (name(n), 1 + n % 3)).collect()
}

fn placed() -> BTreeMap<NodeName, ShardSet> {
    spread(count(), &nodes(), &BTreeMap::new()).expect("they have weights")
}

#[divan::bench]
fn spread_shards(bencher: Bencher<'_, '_>) {
    let (count, nodes) = (count(), nodes());
    bencher.bench(|| spread(black_box(count), &nodes, &BTreeMap::new()));
}

#[divan::bench]
fn shards_from_text(bencher: Bencher<'_, '_>) {
    // Every other one, so that nothing is a run.
    let text: Vec<String> = (0..SHARDS).step_by(2).map(|shard| shard.to_string()).collect();
    let text = text.join(",");
    bencher.bench(|| black_box(&text).parse::<ShardSet>());
}

#[divan::bench]
fn compare_maps(bencher: Bencher<'_, '_>) {
    let map = |placed: &BTreeMap<NodeName, ShardSet>| {
        let mut map = ShardMap::new(MapVersion(1));
        placed.iter().for_each(|(node, shards)| map.place(node, shards));
        map
    };
    let mut after = placed();
    let last = after.pop_last().expect("there are 64");
    let before = map(&placed());
    let first = after.keys().next().expect("there are 63").clone();
    let all = after[&first].or(&last.1);
    after.insert(first, all);
    let after = map(&after);
    bencher.bench(|| changes(black_box(&before), black_box(&after)));
}
