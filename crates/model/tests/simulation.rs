//! Does an id come twice in long random orders of everything?

use shardid_model::{Mending, Scenario, simulate};

#[test]
fn no_id_comes_twice_in_long_random_walks() {
    // MODEL_SEEDS=from-to looks at others.
    let seeds = std::env::var("MODEL_SEEDS").unwrap_or_else(|_| "0-48".into());
    let (from, to) = seeds.split_once('-').expect("MODEL_SEEDS is from-to");
    let (from, to): (u64, u64) = (from.parse().unwrap(), to.parse().unwrap());
    let mut steps = 0;
    for seed in from..to {
        let (made, twice) = simulate(&Scenario::everything(seed), seed, 400);
        assert!(
            twice.is_none(),
            "seed {seed}: {}",
            twice.map_or(String::new(), |w| format!("{w:?}"))
        );
        steps += made;
    }
    println!("{steps} steps");
    assert!(steps > 100_000);
}

#[test]
fn a_random_walk_finds_what_is_left_out() {
    for mending in [Mending::Flush, Mending::Last, Mending::Horizon] {
        let found = (0..16).any(|seed| {
            let scenario = Scenario::everything(seed).without(&[mending]);
            simulate(&scenario, seed, 400).1.is_some()
        });
        assert!(found, "{mending:?}");
    }
}
