//! What does a person choose for a move?

use std::time::Duration;

use clap::ValueEnum;

/// How carefully both copies are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verify {
    /// Count and sum every table: while writers wait if all have at most 100,000 rows and 32 MB, else before
    Full,
    /// The same, if all have no more than that
    Cheap,
    /// Trust the replication
    None,
}

/// What a person chose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) fence_max: Duration,
    pub(crate) verify: Verify,
    /// By how many sessions at once the rows of a shard are copied; by PostgreSQL's own workers where it is one.
    pub(crate) jobs: u16,
    /// How long a copy or a stream may stand still.
    pub(crate) stall_max: Duration,
    /// How far standbys of the target may be behind.
    pub(crate) lag_max_bytes: Option<i64>,
    /// Whether the target of a switched move is opened although it may have lost rows, and a copy dropped that
    /// may have rows which its source has lost.
    pub(crate) accept_loss: bool,
}

impl Options {
    /// Whether rows are copied by the program, and not by PostgreSQL's own workers.
    pub(super) fn is_by_parts(&self) -> bool {
        self.jobs > 1
    }
}
