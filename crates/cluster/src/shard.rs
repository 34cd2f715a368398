//! The number of a logical shard, and how many of them a cluster has.

use std::fmt;

/// The largest number of shards: a shard number is a 32-bit integer in SQL.
const COUNT_MAX: i64 = 1 << 31;

/// Why a number is not a shard, or not a number of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    /// A shard number outside 0 … 2^31-1.
    #[error("a shard is a number from 0 to {max}, not {0}", max = COUNT_MAX - 1)]
    Shard(i64),
    /// A number of shards outside 1 … 2^31.
    #[error("a cluster has 1 to {COUNT_MAX} shards, not {0}")]
    Count(i64),
}

/// The number of a logical shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(u32);

impl Shard {
    /// Checks and makes a shard number.
    pub fn new(number: i64) -> Result<Self, ShardError> {
        if (0..COUNT_MAX).contains(&number) {
            Ok(Self(number as u32))
        } else {
            Err(ShardError::Shard(number))
        }
    }

    /// The number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The number as SQL has it.
    pub fn as_sql(self) -> i32 {
        i32::try_from(self.0).expect("checked when the shard was made")
    }
}

impl TryFrom<i32> for Shard {
    type Error = ShardError;

    fn try_from(number: i32) -> Result<Self, ShardError> {
        Self::new(number.into())
    }
}

impl From<Shard> for u32 {
    fn from(shard: Shard) -> u32 {
        shard.0
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many logical shards a cluster has: its shards are 0 … count-1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardCount(u32);

impl ShardCount {
    /// That of a cluster of ticket servers alone, which keeps no map.
    pub const NONE: Self = Self(0);

    /// Checks and makes a number of shards.
    pub fn new(count: i64) -> Result<Self, ShardError> {
        if (1..=COUNT_MAX).contains(&count) {
            Ok(Self(count as u32))
        } else {
            Err(ShardError::Count(count))
        }
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// Whether a shard is one of these.
    pub fn contains(self, shard: Shard) -> bool {
        shard.0 < self.0
    }
}

impl fmt::Display for ShardCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_shard_and_of_a_count() {
        assert_eq!(Shard::new(-1), Err(ShardError::Shard(-1)));
        assert_eq!(Shard::new(0).unwrap().as_sql(), 0);
        assert_eq!(Shard::new((1 << 31) - 1).unwrap().as_sql(), i32::MAX);
        assert_eq!(Shard::new(1 << 31), Err(ShardError::Shard(1 << 31)));
        assert_eq!(ShardCount::new(0), Err(ShardError::Count(0)));
        assert!(ShardCount::new(1).unwrap().contains(Shard(0)));
        assert!(!ShardCount::new(1).unwrap().contains(Shard(1)));
        assert!(ShardCount::new(1 << 31).is_ok());
        assert_eq!(ShardCount::new((1 << 31) + 1), Err(ShardError::Count((1 << 31) + 1)));
    }
}
