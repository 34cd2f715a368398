//! Which database on which server is a node?

/// Which database on which server a node is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The server's system identifier; a physical copy has the same one.
    pub system_identifier: i64,
    /// The database.
    pub database: String,
}
