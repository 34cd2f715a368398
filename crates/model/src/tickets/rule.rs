//! Which rules can be left out?

/// A rule that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Rule {
    /// A change begins from the servers that the catalog has. Out: from those that were read.
    KnownServers,
    /// Who works on a change goes by what it is when it is taken in hand. Out: by what was read.
    ReadWhenTaken,
    /// The journal goes on from the state that is read, for the last program alone.
    CompareAndSet,
    /// Servers are locked by the sessions that change them.
    ServerLock,
    /// New classes begin when all old servers have their ceiling. Out: one after the other.
    CeilingsFirst,
    /// A floor that was passed is raised. Out: it stays.
    RaiseFloor,
}

impl From<Rule> for u32 {
    fn from(rule: Rule) -> Self {
        rule as Self
    }
}
