//! Where is a page: in shared buffers, on disk, or both, and which is newer?

use crate::pages::Stored;
use crate::wal::Record;
use crate::world::World;

/// The files of the horizon and of the largest drift.
pub(crate) const NUMBERS: [u32; 2] = [1001, 1002];

impl World {
    /// The page of a file that there is.
    pub(crate) fn stored(&mut self, number: u32) -> &mut Stored {
        let found = self.files.iter_mut().find(|file| file.number == number);
        found.expect("a row names no file that is gone")
    }

    /// Logs the page as it is, and puts the record's end on it.
    pub(crate) fn log_page(&mut self, number: u32) -> u64 {
        let of = (self.database, number);
        let record = self.stored(number).buffer.record(of);
        let lsn = self.wal.insert(record);
        self.stored(number).buffer.page.lsn = lsn;
        lsn
    }

    /// Writes the page to disk: WAL first.
    pub(crate) fn write(&mut self, number: u32) {
        if let Some(at) = NUMBERS.iter().position(|of| *of == number) {
            self.wal.flush(self.numbers[at].buffer.lsn);
            let page = &mut self.numbers[at];
            (page.disk, page.dirty) = (page.buffer, false);
            return;
        }
        let lsn = self.stored(number).buffer.page.lsn;
        self.wal.flush(lsn);
        let file = self.stored(number);
        file.disk = Some(file.buffer);
        file.dirty = false;
    }

    /// The files whose page is newer than the one on disk.
    pub(crate) fn dirty(&self) -> impl Iterator<Item = u32> + '_ {
        let numbers = NUMBERS.into_iter().zip(&self.numbers).filter(|(_, page)| page.dirty);
        let files = self.files.iter().filter(|file| file.dirty).map(|file| file.number);
        files.chain(numbers.map(|(of, _)| of))
    }

    /// A checkpoint begins: it notes from where a crash is to read, and what is dirty.
    pub(crate) fn begin_checkpoint(&mut self) {
        self.redo = self.wal.end();
        self.checkpoint = Some(self.dirty().collect());
    }

    /// It ends: all that was dirty then is on disk, and a crash reads from its beginning.
    pub(crate) fn end_checkpoint(&mut self) {
        for number in self.checkpoint.take().unwrap_or_default() {
            if self.dirty().any(|dirty| dirty == number) {
                self.write(number);
            }
        }
        self.wal.insert(Record::Checkpoint);
        self.wal.flush_all();
        self.control_redo = self.redo;
    }

    /// Drops the files that no row names any more.
    pub(crate) fn drop_files(&mut self) {
        let mut named = vec![self.row.file];
        if let Some(transaction) = &self.transaction {
            named.extend(transaction.levels.iter().map(|level| level.row.file));
        }
        self.files.retain(|file| named.contains(&Some(file.number)));
    }
}
