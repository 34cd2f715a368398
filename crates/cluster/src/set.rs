//! Many shards at once, written as people write them: `0-31,40`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use roaring::RoaringBitmap;

use crate::shard::{Shard, ShardCount, ShardError};

/// A set of shards; small however many there are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShardSet(RoaringBitmap);

/// Why a text is not a set of shards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShardSetError {
    /// A part that is neither a number nor two with a dash between.
    #[error("expected shards like 5, 5-12 or 0-31,40, not {0:?}")]
    Form(String),
    /// A range that ends before it begins.
    #[error("the range {0}-{1} ends before it begins")]
    Backwards(Shard, Shard),
    /// A number that cannot be a shard.
    #[error(transparent)]
    Shard(#[from] ShardError),
}

impl ShardSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// All shards of a cluster.
    pub fn all(count: ShardCount) -> Self {
        Self((0..count.get()).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        u32::try_from(self.0.len()).expect("shard numbers have 31 bits")
    }

    /// Whether a shard is among them.
    pub fn contains(&self, shard: Shard) -> bool {
        self.0.contains(shard.into())
    }

    /// Adds a shard.
    pub fn insert(&mut self, shard: Shard) {
        self.0.insert(shard.into());
    }

    /// The lowest shard.
    pub fn first(&self) -> Option<Shard> {
        self.0.min().map(known)
    }

    /// Takes the `count` lowest shards out, or as many as there are.
    pub fn take_lowest(&mut self, count: u32) -> Self {
        let taken: RoaringBitmap = self.0.iter().take(count as usize).collect();
        self.0 -= &taken;
        Self(taken)
    }

    /// The shards in rising order.
    pub fn iter(&self) -> impl Iterator<Item = Shard> + '_ {
        self.0.iter().map(known)
    }

    /// The shards as SQL has them, in rising order.
    pub fn to_sql(&self) -> Vec<i32> {
        self.iter().map(Shard::as_sql).collect()
    }

    /// The longest runs of neighbours, in rising order.
    pub fn ranges(&self) -> Vec<RangeInclusive<u32>> {
        let mut ranges: Vec<RangeInclusive<u32>> = Vec::new();
        for shard in &self.0 {
            match ranges.last_mut() {
                Some(last) if *last.end() + 1 == shard => *last = *last.start()..=shard,
                _ => ranges.push(shard..=shard),
            }
        }
        ranges
    }

    /// The shards that are in both.
    pub fn and(&self, other: &Self) -> Self {
        Self(&self.0 & &other.0)
    }

    /// The shards that are in either.
    pub fn or(&self, other: &Self) -> Self {
        Self(&self.0 | &other.0)
    }

    /// The shards that are not in the other.
    pub fn without(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }
}

/// A number that came out of a set went in as a shard.
fn known(number: u32) -> Shard {
    Shard::new(number.into()).expect("only shards go in")
}

impl FromIterator<Shard> for ShardSet {
    fn from_iter<I: IntoIterator<Item = Shard>>(shards: I) -> Self {
        Self(shards.into_iter().map(u32::from).collect())
    }
}

impl Extend<Shard> for ShardSet {
    fn extend<I: IntoIterator<Item = Shard>>(&mut self, shards: I) {
        self.0.extend(shards.into_iter().map(u32::from));
    }
}

impl fmt::Display for ShardSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.ranges().into_iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            match range.end() - range.start() {
                0 => write!(f, "{}", range.start())?,
                _ => write!(f, "{}-{}", range.start(), range.end())?,
            }
        }
        Ok(())
    }
}

impl FromStr for ShardSet {
    type Err = ShardSetError;

    fn from_str(text: &str) -> Result<Self, ShardSetError> {
        let mut set = Self::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |digits: &str| {
                let digits = digits.trim();
                if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(ShardSetError::Form(part.to_owned()));
                }
                // More digits than an i64 has: out of range whatever they say.
                Ok(Shard::new(digits.parse().unwrap_or(i64::MAX))?)
            };
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(ShardSetError::Backwards(first, last));
            }
            set.0.insert_range(u32::from(first)..=u32::from(last));
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sets_read_as_people_write_them() {
        for text in ["5", "5-12", "0-31,40", "0,2,4-5", "2147483647"] {
            assert_eq!(text.parse::<ShardSet>().unwrap().to_string(), text);
        }
        assert_eq!("3, 1 ,2".parse::<ShardSet>().unwrap().to_string(), "1-3");
        for text in ["", "a", "1,", "-5", "1-2-3", "1..3", "+1"] {
            let error = text.parse::<ShardSet>().unwrap_err();
            assert!(matches!(error, ShardSetError::Form(_)), "{text}: {error}");
        }
        assert!(matches!("9-5".parse::<ShardSet>(), Err(ShardSetError::Backwards(..))));
        assert!(matches!("2147483648".parse::<ShardSet>(), Err(ShardSetError::Shard(_))));
        assert!(matches!("99999999999999999999".parse::<ShardSet>(), Err(ShardSetError::Shard(_))));
    }

    #[test]
    fn the_lowest_are_taken_out() {
        let mut set: ShardSet = "1,3,5,7".parse().unwrap();
        assert_eq!(set.take_lowest(2).to_string(), "1,3");
        assert_eq!(set.to_string(), "5,7");
        assert_eq!(set.take_lowest(9).len(), 2);
        assert!(set.is_empty());
    }

    proptest! {
        #[test]
        fn text_comes_back(numbers in proptest::collection::btree_set(0i64..300, 1..80)) {
            let set: ShardSet = numbers.iter().map(|&n| Shard::new(n).unwrap()).collect();
            prop_assert_eq!(set.to_string().parse::<ShardSet>().unwrap(), set.clone());
            let back: Vec<i64> = set.iter().map(|s| s.number().into()).collect();
            prop_assert_eq!(back, numbers.into_iter().collect::<Vec<_>>());
        }
    }
}
