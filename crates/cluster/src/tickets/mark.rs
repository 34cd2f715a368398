//! The mark that a look leaves on a server, and what stands in its place on one that was restored.

use std::collections::BTreeSet;

use crate::names::NodeName;

/// What stands in the place of a mark on a server of which somebody has said that it was restored, until it is raised.
///
/// It is in what is restored, and so it goes with a backup that is put back again.
const RESTORED: &str = "restored";

/// A mark that says of which look it is: those of one look have the same number.
pub fn mark_of_look(random: &str, look: u64) -> String {
    format!("{random}-{look}")
}

/// What is left on each server of which somebody says that it was restored. It names all of which that was said at once:
/// whoever finds the first one goes on with all of them, though the others are not noted yet.
pub fn mark_of_restored<'a>(nodes: impl IntoIterator<Item = &'a NodeName>) -> String {
    let names: BTreeSet<&str> = nodes.into_iter().map(NodeName::as_str).collect();
    match names.len() {
        0 | 1 => RESTORED.to_owned(),
        _ => format!("{RESTORED}:{}", names.into_iter().collect::<Vec<_>>().join(",")),
    }
}

/// The servers that such a mark names, if it is one; one that is on a single server names none.
pub(crate) fn restored_by(mark: &str) -> Option<Vec<NodeName>> {
    let names = mark.strip_prefix(RESTORED)?;
    if names.is_empty() {
        return Some(Vec::new());
    }
    let names = names.strip_prefix(':')?.split(',');
    Some(names.filter_map(|name| NodeName::new(name).ok()).collect())
}

/// The number of a mark's look; 0 for one of a program that did not count them, and for what is no mark of a look.
pub(crate) fn look_of(mark: &str) -> u64 {
    if restored_by(mark).is_some() {
        return 0;
    }
    mark.rsplit_once('-').and_then(|(_, look)| look.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_tells_its_look() {
        assert_eq!(mark_of_look("aBc", 17), "aBc-17");
        assert_eq!([look_of("aBc-17"), look_of("aBc"), look_of("restored")], [17, 0, 0]);
    }

    #[test]
    fn a_server_that_was_restored_names_those_that_were_so_with_it() {
        let nodes = ["db-2", "db-1"].map(|name| NodeName::new(name).unwrap());
        assert_eq!(mark_of_restored(&nodes[..1]), "restored");
        let mark = mark_of_restored(&nodes);
        assert_eq!(mark, "restored:db-1,db-2");
        assert_eq!(look_of(&mark), 0);
        let named = restored_by(&mark).unwrap();
        assert_eq!(named, [nodes[1].clone(), nodes[0].clone()]);
        assert_eq!(restored_by("restored"), Some(Vec::new()));
        assert_eq!([restored_by("aBc-17"), restored_by("restoredaBc-17")], [None, None]);
    }
}
