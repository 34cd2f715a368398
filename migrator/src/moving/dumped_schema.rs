//! What of a schema's definitions is made before its rows are copied, and what after it?

use std::collections::BTreeSet;

use super::dumped::Dump;

/// A dump of a schema's definitions, with its list of contents in parts.
pub(super) struct DumpedSchema {
    pub(super) dump: Dump,
    /// What rows need to be copied.
    pub(super) early: Vec<String>,
    /// By what they are found when a stream changes them.
    pub(super) identity: Vec<String>,
    /// What waits for the copy.
    pub(super) late: Vec<String>,
    /// What of it is between tables of several owners.
    pub(super) of_others: BTreeSet<String>,
}

impl DumpedSchema {
    /// What is made before rows are copied, and what after it: there are those who find them before.
    pub(super) fn split(&self, is_identity_late: bool) -> (Vec<String>, Vec<String>) {
        let (identity_early, identity_late): (&[String], &[String]) = match is_identity_late {
            true => (&[], &self.identity),
            false => (&self.identity, &[]),
        };
        let both = |one: &[String], other: &[String]| [one, other].concat();
        (both(&self.early, identity_early), both(identity_late, &self.late))
    }
}
