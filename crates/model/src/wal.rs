//! What is logged, and how much of it is on disk?

use crate::number::Which;

/// What the catalogs say of the one generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    /// Whether `shardid.shard` has a row of it.
    pub known: bool,
    /// The number of the sequence's file, if there is a sequence.
    pub file: Option<u32>,
    /// The column `floor`; -1 for null.
    pub floor: i64,
    /// Whether the sequence is unlogged.
    pub unlogged: bool,
}

impl Row {
    /// No such shard.
    pub(crate) const NONE: Self = Self { known: false, file: None, floor: -1, unlogged: false };
}

/// A WAL record. Its LSN is its number, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Record {
    /// The tuple of a sequence; redo makes the page anew with it.
    Page {
        /// The database and file it is of.
        of: (u32, u32),
        /// As on the page.
        last_value: i64,
        /// As on the page.
        log_cnt: i64,
        /// As on the page.
        is_called: bool,
        /// The tuple's `t_cid`.
        chain: u32,
    },
    /// The horizon or the largest drift was raised to this.
    Number(Which, i64),
    /// Somebody else's.
    Other,
    /// A transaction has committed this.
    Row(Row),
    /// A checkpoint has ended.
    Checkpoint,
}

/// All of WAL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Wal {
    records: Vec<Record>,
    flushed: u64,
}

impl Wal {
    /// Inserts a record; returns where it ends.
    pub fn insert(&mut self, record: Record) -> u64 {
        self.records.push(record);
        self.end()
    }

    /// Where the last record ends.
    pub fn end(&self) -> u64 {
        self.records.len() as u64
    }

    /// Up to where it is on disk.
    pub fn flushed(&self) -> u64 {
        self.flushed
    }

    /// Brings it to disk up to there.
    pub fn flush(&mut self, lsn: u64) {
        self.flushed = self.flushed.max(lsn.min(self.end()));
    }

    /// Brings all to disk.
    pub fn flush_all(&mut self) {
        self.flushed = self.end();
    }

    /// Loses all after that.
    pub fn truncate(&mut self, lsn: u64) {
        self.records.truncate(lsn as usize);
        self.flushed = self.flushed.min(lsn);
    }

    /// The records after an LSN, with their own.
    pub fn after(&self, lsn: u64) -> impl Iterator<Item = (u64, Record)> + '_ {
        self.records.iter().enumerate().skip(lsn as usize).map(|(at, r)| (at as u64 + 1, *r))
    }

    /// The last one of a kind, with its LSN.
    pub fn last<T>(&self, kind: impl Fn(Record) -> Option<T>) -> Option<(u64, T)> {
        let found = self.records.iter().enumerate().rev();
        found.into_iter().find_map(|(at, r)| kind(*r).map(|value| (at as u64 + 1, value)))
    }
}
