//! Nodes that go by another name than before.

use std::collections::BTreeMap;

use crate::names::NodeName;

/// A node with a new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// The name it had.
    pub from: NodeName,
    /// The name it has in the cluster file.
    pub to: NodeName,
}

/// Finds the nodes that have a new name: what answers under it is what is known under one
/// that the cluster file does not have any more.
///
/// `known` and `seen` are what identifies each node; `is_declared` tells whether the cluster
/// file has a name. Where one could be meant as well as another, nothing is renamed.
pub fn renames<'a, I: PartialEq + 'a>(
    known: &BTreeMap<NodeName, I>,
    seen: impl IntoIterator<Item = (&'a NodeName, &'a I)>,
    is_declared: impl Fn(&NodeName) -> bool,
) -> Vec<Rename> {
    let gone: Vec<_> = known.iter().filter(|(name, _)| !is_declared(name)).collect();
    let new: Vec<_> = seen.into_iter().filter(|(name, _)| !known.contains_key(name)).collect();
    let mut found = Vec::new();
    for (from, identity) in &gone {
        let twins = gone.iter().filter(|(_, other)| other == identity).count();
        let mut by_new_name = new.iter().filter(|(_, other)| other == identity);
        if let (1, Some((to, _)), None) = (twins, by_new_name.next(), by_new_name.next()) {
            found.push(Rename { from: (*from).clone(), to: (*to).clone() });
        }
    }
    found
}

/// The name that a node has after these renames.
pub fn renamed<'a>(name: &'a NodeName, renames: &'a [Rename]) -> &'a NodeName {
    renames.iter().find(|rename| rename.from == *name).map_or(name, |rename| &rename.to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(text: &str) -> BTreeMap<NodeName, u32> {
        let pairs = text.split_whitespace().map(|pair| pair.split_once(':').unwrap());
        pairs.map(|(name, id)| (NodeName::new(name).unwrap(), id.parse().unwrap())).collect()
    }

    fn found(known: &str, seen: &str) -> Vec<String> {
        let (known, seen) = (nodes(known), nodes(seen));
        let renames = renames(&known, &seen, |name| seen.contains_key(name));
        renames.iter().map(|rename| format!("{}->{}", rename.from, rename.to)).collect()
    }

    #[test]
    fn a_new_name_is_one_of_what_is_known_by_a_name_that_is_gone() {
        assert_eq!(found("a:1 b:2", "x:1 b:2"), ["a->x"]);
        assert_eq!(found("a:1 b:2", "x:2 y:1"), ["a->y", "b->x"]);
        // Another database, a node more, a node less.
        assert!(found("a:1 b:2", "x:3 b:2").is_empty());
        assert!(found("a:1", "a:1 x:2").is_empty());
        assert!(found("a:1 b:2", "b:2").is_empty());
    }

    #[test]
    fn names_that_change_places_and_copies_are_no_renames() {
        assert!(found("a:1 b:2", "a:2 b:1").is_empty());
        assert!(found("a:1 b:2", "a:1 x:1 b:2").is_empty());
        assert!(found("a:1", "x:1 y:1").is_empty());
        assert!(found("a:1 b:1", "x:1").is_empty());
        // The name of one that is known goes to another.
        assert!(found("a:1 b:2", "b:1").is_empty());
    }
}
