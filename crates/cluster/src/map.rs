//! Which shard lives on which node.

use std::collections::BTreeMap;
use std::fmt;

use crate::names::NodeName;
use crate::set::ShardSet;
use crate::shard::Shard;

/// Which of a cluster's maps it is: the term of its catalog, a billion each, and how often
/// the map changed in that; 0 is before there was one.
///
/// A catalog that is made anew from the nodes begins a term, so that no version comes again,
/// and a later map has a higher version than all that anybody has read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MapVersion(pub i64);

impl MapVersion {
    /// The version after one more change.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The first version of the next term.
    pub fn next_term(self) -> Self {
        Self((self.0 / TERM + 1) * TERM + 1)
    }

    /// Below all that a catalog counts in this term: versions, moves and their terms.
    pub fn term_begins(self) -> i64 {
        self.0 / TERM * TERM
    }
}

/// How many versions a term has.
const TERM: i64 = 1_000_000_000;

impl fmt::Display for MapVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The map of a cluster: its version, and the shards of each node.
///
/// A shard is on one node at most: placing it takes it away from the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShardMap {
    /// Grows by one with each change.
    pub version: MapVersion,
    nodes: BTreeMap<NodeName, ShardSet>,
}

impl ShardMap {
    /// A map without shards.
    pub fn new(version: MapVersion) -> Self {
        Self { version, nodes: BTreeMap::new() }
    }

    /// Puts shards on a node, wherever they were before.
    pub fn place(&mut self, node: &NodeName, shards: &ShardSet) {
        for set in self.nodes.values_mut() {
            *set = set.without(shards);
        }
        let set = self.nodes.entry(node.clone()).or_default();
        *set = set.or(shards);
        self.nodes.retain(|_, set| !set.is_empty());
    }

    /// The shards that live on a node.
    pub fn on(&self, node: &NodeName) -> ShardSet {
        self.nodes.get(node).cloned().unwrap_or_default()
    }

    /// The node that a shard lives on.
    pub fn node_of(&self, shard: Shard) -> Option<&NodeName> {
        self.nodes.iter().find(|(_, set)| set.contains(shard)).map(|(node, _)| node)
    }

    /// The nodes that hold shards, with their shards.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeName, &ShardSet)> {
        self.nodes.iter()
    }

    /// All shards that have a place.
    pub fn shards(&self) -> ShardSet {
        self.nodes.values().fold(ShardSet::new(), |all, set| all.or(set))
    }

    /// Each shard with its node, by rising shard.
    pub fn by_shard(&self) -> Vec<(Shard, &NodeName)> {
        let mut pairs: Vec<_> =
            self.nodes.iter().flat_map(|(node, set)| set.iter().map(move |s| (s, node))).collect();
        pairs.sort_unstable_by_key(|(shard, _)| *shard);
        pairs
    }
}

/// Shards that a newer map has elsewhere than an older one.
#[derive(Debug, Clone, PartialEq)]
pub struct MapChange {
    /// The shards.
    pub shards: ShardSet,
    /// Where they were; `None` where they had no place.
    pub from: Option<NodeName>,
    /// Where they are; `None` where they have no place any more.
    pub to: Option<NodeName>,
}

/// What is different from one map to another, by the nodes that shards left.
pub fn changes(before: &ShardMap, after: &ShardMap) -> Vec<MapChange> {
    let nowhere = |map: &ShardMap, other: &ShardMap| other.shards().without(&map.shards());
    let places = |map: &ShardMap, other: &ShardMap| {
        let nodes = map.nodes().map(|(node, shards)| (Some(node.clone()), shards.clone()));
        nodes.chain([(None, nowhere(map, other))]).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for (from, left) in &places(before, after) {
        for (to, arrived) in &places(after, before) {
            let shards = left.and(arrived);
            if from != to && !shards.is_empty() {
                found.push(MapChange { shards, from: from.clone(), to: to.clone() });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_term_is_above_every_version_of_the_last() {
        assert_eq!(MapVersion(0).next_term(), MapVersion(1_000_000_001));
        assert_eq!(MapVersion(17).next_term(), MapVersion(1_000_000_001));
        assert_eq!(MapVersion(1_000_000_017).next_term(), MapVersion(2_000_000_001));
        assert_eq!(MapVersion(17).term_begins(), 0);
        assert_eq!(MapVersion(1_000_000_017).term_begins(), 1_000_000_000);
    }

    #[test]
    fn a_shard_is_on_one_node_at_most() {
        let (a, b) = (NodeName::new("a").unwrap(), NodeName::new("b").unwrap());
        let mut map = ShardMap::new(MapVersion(1));
        map.place(&a, &"0-9".parse().unwrap());
        map.place(&b, &"5-12".parse().unwrap());
        assert_eq!(map.on(&a).to_string(), "0-4");
        assert_eq!(map.on(&b).to_string(), "5-12");
        assert_eq!(map.node_of(Shard::new(5).unwrap()), Some(&b));
        assert_eq!(map.node_of(Shard::new(13).unwrap()), None);
        assert_eq!(map.by_shard().len(), 13);
        map.place(&b, &"0-4".parse().unwrap());
        assert_eq!(map.nodes().count(), 1);
    }

    #[test]
    fn changes_name_where_shards_came_from_and_went() {
        let (a, b) = (NodeName::new("a").unwrap(), NodeName::new("b").unwrap());
        let mut before = ShardMap::new(MapVersion(1));
        before.place(&a, &"0-9".parse().unwrap());
        assert_eq!(changes(&before, &before), []);
        let mut after = before.clone();
        after.place(&b, &"5-6,12".parse().unwrap());
        let change = |shards: &str, from: Option<&NodeName>, to: Option<&NodeName>| MapChange {
            shards: shards.parse().unwrap(),
            from: from.cloned(),
            to: to.cloned(),
        };
        let forth = [change("5-6", Some(&a), Some(&b)), change("12", None, Some(&b))];
        assert_eq!(changes(&before, &after), forth);
        let back = [change("5-6", Some(&b), Some(&a)), change("12", Some(&b), None)];
        assert_eq!(changes(&after, &before), back);
    }
}
