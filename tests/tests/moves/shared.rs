//! A cluster that the tests of this program share, each with shards of its own.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use shardid_tests::estate::Estate;

/// Three nodes; shards 0 to 79 are born on pg1, 80 to 159 on pg2, the rest on pg3.
/// Nobody may stop its servers, nor move a shard that is not its own.
pub(crate) fn estate() -> &'static Estate {
    static ESTATE: OnceLock<Estate> = OnceLock::new();
    ESTATE.get_or_init(|| Estate::start(3, 240))
}

/// A shard on pg1 that no other test has.
pub(crate) fn shard() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let shard = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!(shard < 80, "pg1 has no more shards");
    shard
}
