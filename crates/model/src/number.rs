//! What do the pages of `shardid.horizon` and `shardid.largest_drift` keep?

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Which {
    /// An instant, in microseconds.
    Horizon,
    /// The largest drift, in microseconds.
    Drift,
}

/// The trace on such a page: an answer that was given, and the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kept {
    /// The database and the timeline it was left in.
    pub(crate) of: (u32, u32),
    /// It is for those who ask about WAL up to there.
    pub(crate) asked: u64,
    /// What the number was at most.
    pub(crate) answer: i64,
    /// What it is, also where somebody has put the sequence back.
    pub(crate) number: i64,
}

/// The page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NumberPage {
    /// The number; -1 where it was never raised.
    pub value: i64,
    /// Where its last record ends.
    pub lsn: u64,
    /// The trace, of whichever timeline.
    pub kept: Option<Kept>,
}

/// The page in shared buffers and on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    /// As sessions see it.
    pub buffer: NumberPage,
    /// Whether it is newer than the one on disk.
    pub dirty: bool,
    /// As it was written last.
    pub disk: NumberPage,
}

impl Number {
    pub(crate) fn begin() -> Self {
        let page = NumberPage { value: -1, lsn: 0, kept: None };
        Self { buffer: page, dirty: false, disk: page }
    }

    /// After redo: with a record there is no trace.
    pub(crate) fn recovered(disk: NumberPage, record: Option<(u64, i64)>) -> Self {
        let read = record.map(|(lsn, value)| NumberPage { value, lsn, kept: None });
        Self { buffer: read.unwrap_or(disk), dirty: read.is_some(), disk }
    }
}
