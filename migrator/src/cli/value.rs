//! How is a value of several commands read?

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use shardid_cluster::{Shard, ShardSet, ShardSetError};

/// The number of one shard.
pub(super) fn shard(text: &str) -> Result<Shard, ShardSetError> {
    // As in a set of shards, and just one.
    let set: ShardSet = text.parse()?;
    match (set.first(), set.len()) {
        (Some(shard), 1) => Ok(shard),
        _ => Err(ShardSetError::Form(text.to_owned())),
    }
}

/// A path; an empty variable in the environment is none.
pub(super) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}
