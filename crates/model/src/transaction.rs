//! What has a transaction made of the generator, and since when?

use crate::wal::Row;

/// What the transaction has made of the generator since a savepoint, or its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Level {
    /// What it sees.
    pub row: Row,
    /// At which level it has made the relation (`rd_createSubid`), if it has.
    pub made: Option<usize>,
    /// Whether it has given a relation that was there before a new file.
    pub new_file: bool,
    /// Whether it has given one that it has made itself a new file at a later level.
    pub own_new_file: bool,
    /// Whether others have to wait for it.
    pub locks: bool,
    /// Whether it begins anew: what strangers had of it is theirs to know.
    pub anew: bool,
}

/// The transaction, and its savepoint if it has one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Transaction {
    /// The outer level and, after a savepoint, the inner one.
    pub levels: Vec<Level>,
}

impl Transaction {
    pub(crate) fn top(&self) -> &Level {
        self.levels.last().expect("a transaction has a level")
    }

    /// Whether others have to wait for it.
    pub(crate) fn locks(&self) -> bool {
        self.top().locks
    }
}
