//! Sessions that still have the library of 0.1.0, which `tests/old_library` holds.

/// Declares `old_next_ids(shard int, count int)`: ids as a session of 0.1.0 takes them,
/// from a shard of the layout `instagram`. A session that calls nothing else of
/// shardid's is an old one; one that does has both libraries loaded.
///
/// `scripts/install --for-tests` puts the library beside the extension's.
pub const OLD_NEXT_IDS: &str = include_str!("../old_library/old_next_ids.sql");
