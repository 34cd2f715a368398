//! A short run of what `make soak ARGS='--scenario moves'` does for long.

use std::time::Duration;

use shardid_tests::soak::{Until, moves};

/// How long: `SHARDID_SOAK_SECONDS`, or a short while as part of all tests.
fn seconds() -> u64 {
    let text = std::env::var("SHARDID_SOAK_SECONDS").unwrap_or_else(|_| "25".into());
    text.parse().expect("SHARDID_SOAK_SECONDS is a number of seconds")
}

#[test]
fn soak_of_moves_that_are_killed_at_random() {
    let mut rng = shardid_tests::rng("moves");
    let seen = moves(&mut rng, Until::Elapsed(Duration::from_secs(seconds())), false);
    println!("{seen}");
}
