//! Which rules keep ids from repeating, and how is each left out?
//!
//! The real function stays as it is: what goes into it is changed, or what comes out.

/// A rule that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Mending {
    /// A trace holds in its own file only. Out: it is of any file of the database.
    File,
    /// A trace lies outside the tuple. Out: a new file inherits it.
    Outside,
    /// A trace holds in its own database only.
    Database,
    /// A lease ends where somebody else has logged. Out: the trace has the page's LSN.
    Lsn,
    /// A lease ends where a crash would not read its record. Out: the redo pointer is 0.
    Redo,
    /// A trace holds on its own timeline only.
    Timeline,
    /// A lease lies before the horizon of its own installation of the extension. Out: before any.
    Installation,
    /// Ids begin above the trace's last one. Out: there is no last one.
    Last,
    /// A session refuses a file that its transaction has given an existing sequence.
    NewFile,
    /// It also refuses one that its transaction has given, after a savepoint, a sequence
    /// that it has made before it.
    OwnNewFile,
    /// A generator that replaces another one gives nothing before it is committed.
    Replaces,
    /// So does one of a transaction's own that does not say on its page that it is new.
    Untold,
    /// A generator that replaces another one says so on its page. Out: it says it is new.
    Begins,
    /// Ids begin beyond the horizon where the past is unknown.
    Horizon,
    /// The horizon is raised before the lease is logged. Out: after it.
    HorizonFirst,
    /// What is known to be flushed holds in its own chain only.
    Chain,
    /// Ids leave when WAL is flushed. Out: at once.
    Flush,
    /// A transaction that has made a generator is not ahead of the clock.
    NoDrift,
    /// Nor ahead of where the clock is within its tick.
    Slot,
    /// What the making transaction has left on the page covers nothing after it.
    Uncommitted,
    /// Whoever uses the horizon first on a new timeline raises it beyond now and the
    /// largest drift.
    TakeOver,
    /// A generator that is made on a later timeline begins beyond the horizon of the earlier
    /// ones, which may have made it too and given ids. Out: where the clock is.
    Earlier,
    /// On a new timeline the largest drift counts. Out: the session's own.
    LargestDrift,
    /// An answer that the horizon's page keeps is for those who ask about WAL before it.
    /// Out: it is for all.
    KeptLsn,
    /// The horizon's page keeps the number, also where `setval` puts it back.
    KeptNumber,
    /// `log_cnt` tells the old library nothing. Out: it is the negative of the lease.
    Live,
    /// The page is dirty before the redo pointer is read. Out: after it.
    DirtyFirst,
    /// An answer that the horizon's page keeps is about WAL that is on disk.
    AskedFlushed,
}

/// The rules that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Off(u32);

impl Off {
    /// These are left out.
    pub fn these(mendings: &[Mending]) -> Self {
        Self(mendings.iter().fold(0, |bits, &mending| bits | 1 << mending as u32))
    }

    /// Whether it is left out.
    pub fn is(self, mending: Mending) -> bool {
        self.0 & (1 << mending as u32) != 0
    }
}
