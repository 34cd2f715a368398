//! Plans of clusters at random, cut after any step.

use proptest::prelude::*;

use super::*;

proptest! {
    /// Cut anywhere, any number of times: the next plan goes on, the map that
    /// was written stays, and `take` asserts that no shard is made twice.
    #[test]
    fn a_plan_cut_anywhere_is_finished_by_the_next(
        shards in 1i64..40,
        weights in proptest::collection::vec(0u32..4, 1..5),
        existing in proptest::collection::vec(proptest::option::of(0usize..5), 40),
        cuts in proptest::collection::vec(0usize..12, 0..5),
    ) {
        prop_assume!(weights.iter().any(|w| *w > 0));
        let names: Vec<String> = (0..weights.len()).map(|i| format!("n{i}")).collect();
        let nodes: Vec<_> = names.iter().map(String::as_str).zip(weights.iter().copied()).collect();
        let declared = declared(shards, &nodes);
        let mut truth = empty_servers(&declared);
        for (shard, owner) in ShardSet::all(declared.shards).iter().zip(existing) {
            let Some(name) = owner.and_then(|o| names.get(o)) else { continue };
            let seen = truth.nodes.get_mut(&node(name)).unwrap();
            seen.extension.installed = Some(version("0.1.0"));
            seen.layout = declared.builtin_layout();
            seen.open.insert(shard);
            seen.unstamped.insert(shard);
        }
        for cut in cuts {
            let steps = plan_of(&declared, &truth).unwrap().steps;
            for step in steps.iter().take(cut) {
                take(&declared, &mut truth, step);
            }
        }
        let written = truth.catalog.map.clone();
        let plan = take_all(&declared, &mut truth);
        if written.version != MapVersion(0) {
            prop_assert_eq!(&written, &plan.map);
        }
        prop_assert!(plan_of(&declared, &truth).unwrap().is_empty());
        prop_assert_eq!(truth.catalog.map.version, MapVersion(1));
        for (name, seen) in &truth.nodes {
            prop_assert_eq!(&seen.open, &truth.catalog.map.on(name));
        }
    }
}
