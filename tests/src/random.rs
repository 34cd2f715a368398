//! Random choices that can be made again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Returns the seed of this test program: `SHARDID_SEED`, or a new one.
///
/// It is printed once, so that a failed run can be repeated with
/// `make test SEED=…`.
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let seed = match std::env::var("SHARDID_SEED") {
            Ok(text) => text
                .parse()
                .unwrap_or_else(|_| panic!("SHARDID_SEED is {text:?}, which is not a number")),
            Err(_) => u64::from(rand::random::<u32>()),
        };
        eprintln!("seed {seed} (repeat with SEED={seed})");
        seed
    })
}

/// Returns a generator for one test, which the seed and its name determine.
pub fn rng(name: &str) -> StdRng {
    let mut hasher = DefaultHasher::new();
    (seed(), name).hash(&mut hasher);
    StdRng::seed_from_u64(hasher.finish())
}

/// Whether tests go through all of their cases, as `make test-matrix` has it by `SHARDID_WHOLE`.
pub fn is_whole() -> bool {
    std::env::var_os("SHARDID_WHOLE").is_some()
}

/// Draws so many of a test's cases by the seed, or takes all of them, in any order, where
/// [`is_whole`].
pub fn sample<T>(name: &str, mut cases: Vec<T>, count: usize) -> Vec<T> {
    let all = cases.len();
    cases.shuffle(&mut rng(name));
    if !is_whole() {
        cases.truncate(count);
    }
    eprintln!("{} of {all} cases of {name}", cases.len());
    cases
}
