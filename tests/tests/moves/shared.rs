//! A cluster that the tests of this program share, each with shards of its own.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use shardid_tests::estate::Estate;

/// Three nodes; the first [`ON_EACH`] shards are born on pg1, as many on pg2, the rest on pg3.
/// Nobody may stop its servers, nor move a shard that is not its own.
pub(crate) fn estate() -> &'static Estate {
    static ESTATE: OnceLock<Estate> = OnceLock::new();
    ESTATE.get_or_init(|| Estate::start(3, 3 * ON_EACH))
}

/// Shards born on each node.
const ON_EACH: u32 = 120;

/// A shard on pg1 that no other test has.
pub(crate) fn shard() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let shard = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!(shard < ON_EACH, "pg1 has no more shards");
    shard
}

/// A change of the new copy as the program copies rows: everybody else is refused there.
pub(crate) fn past_the_guard(sql: &str) -> String {
    format!(
        "LOAD 'shardid'; SET shardid.on_behalf_of = 'public'; SET session_replication_role = replica; {sql}"
    )
}
