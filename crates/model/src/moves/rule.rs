//! Which rules keep a move safe, and how is each left out?

/// A rule that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Rule {
    /// Who begins reads the move once it has the lock of the shard. Out: before it.
    ReadUnderLock,
    /// It reads the move again by the transaction that draws its term.
    ReadWithTerm,
    /// The journal goes on from the state that was read alone. Out: from any.
    CompareAndSet,
    /// The journal goes on for the program with the highest term alone.
    JournalTerm,
    /// Nodes change for the program that has claimed the shard there alone.
    NodeTerm,
    /// A move is planned from where the map has the shard. Out: from where it was read to be.
    PlanFromMap,
    /// A fence is lowered where one stands. Out: a guard goes with it.
    LowerFenceOnly,
    /// A new copy refuses clients until it is opened.
    GuardNewCopy,
    /// An old copy that is being dropped is not gone back to.
    RetireIsWritten,
    /// An old copy that is gone back to is not dropped.
    RollbackIsSeen,
    /// A fence refuses writers. Out: it refuses ids alone.
    FenceRefuses,
    /// The target has everything before the switch.
    Drain,
    /// Sequences are held from where they are read to where they are closed.
    HoldSequences,
    /// The sequences of a new copy go on when it is the shard. Out: when they are carried over.
    OpenByShard,
    /// Those of one that is the shard are not set to where they were.
    OpenOnce,
    /// It is noted where they are before those of the source come to their end. Out: behind the fence alone.
    NoteBeforeClose,
    /// What is made is noted before.
    NoteFirst,
    /// A target that lacks what it had is not opened.
    CheckTarget,
    /// A copy that may have what its source has lost is not dropped.
    CheckSource,
    /// Nor is a target opened so where the catalog is lost.
    CheckRebuilt,
}

impl From<Rule> for u32 {
    fn from(rule: Rule) -> Self {
        rule as Self
    }
}
