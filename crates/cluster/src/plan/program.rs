//! What is this program, as far as a plan depends on it?

use semver::Version;

use crate::truth::Migration;

/// What this program is, as far as a plan depends on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Its version.
    pub version: Version,
    /// The oldest extension it can work with.
    pub extension_min: Version,
    /// The migrations of the catalog's tables, in order.
    pub migrations: Vec<Migration>,
}
