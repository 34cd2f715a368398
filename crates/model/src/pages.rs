//! What is on a sequence's page, in shared buffers, on disk and in a backup?

use shardid_ids::{LIVE, Page};

use crate::number::NumberPage;
use crate::wal::Record;

/// A page, with the `t_cid` that the old library keeps in its tuple.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Image {
    /// What the library reads.
    pub page: Page,
    /// The tuple's `t_cid`.
    pub chain: u32,
}

impl Image {
    /// What redo makes of a record; `None` for another kind.
    pub(crate) fn of(lsn: u64, record: Record) -> Option<((u32, u32), Self)> {
        let Record::Page { of, last_value, log_cnt, is_called, chain } = record else {
            return None;
        };
        let page = Page { last_value, log_cnt, is_called, lsn, trace: None };
        Some((of, Self { page, chain }))
    }

    /// The record of the page as it is.
    pub(crate) fn record(&self, of: (u32, u32)) -> Record {
        let Page { last_value, log_cnt, is_called, .. } = self.page;
        Record::Page { of, last_value, log_cnt, is_called, chain: self.chain }
    }
}

/// The one page of a sequence's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stored {
    /// The number of the file.
    pub number: u32,
    /// The page as sessions see it.
    pub buffer: Image,
    /// Whether it is newer than the one on disk.
    pub dirty: bool,
    /// The page on disk, once it was written.
    pub disk: Option<Image>,
}

/// A page that a session has just made.
pub(crate) fn new_page(first: i64) -> Image {
    let page = Page { last_value: first, log_cnt: LIVE, is_called: true, lsn: 0, trace: None };
    Image { page, chain: 0 }
}

/// A base backup, or a standby's: where its WAL begins, and the pages in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Backup {
    /// Redo begins there.
    pub redo: u64,
    /// The earliest point that it can be restored to.
    pub end: u64,
    /// The pages on disk.
    pub disk: Vec<(u32, Image)>,
    /// The pages of the horizon and the largest drift.
    pub numbers: [NumberPage; 2],
}
