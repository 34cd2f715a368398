//! Where does a program stand?

use super::statement::Record;

/// Where a program stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum At {
    /// Nobody runs it.
    Out,
    /// It waits for the lock of the cluster; it is to bring about these servers, or resumes.
    Lock(Option<Vec<u8>>),
    /// It waits for the servers of what it has read or planned, to begin it or to take it.
    Servers(bool),
    /// It writes the change down, from servers that were these.
    Begin(Vec<u8>),
    /// It takes it in hand.
    Take,
    /// The n-th effect; whether a server was quicker.
    Effect(usize, bool),
    /// It writes down what follows.
    Next,
    /// It writes a higher floor down.
    Raise(u64),
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Program {
    /// Where it stands.
    pub at: At,
    /// The change as it knows it.
    pub change: Option<Record>,
}

impl Program {
    pub(crate) const OUT: Self = Self { at: At::Out, change: None };
}
