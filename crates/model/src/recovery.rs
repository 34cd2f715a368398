//! What is left after a crash, and after a restore to an earlier point?

use crate::number::{Number, NumberPage, Which};
use crate::pages::{Backup, Image, Stored};
use crate::wal::{Record, Row};
use crate::world::World;

impl World {
    /// The server dies and starts again: WAL that was not flushed is lost, and the rest is
    /// read from the redo pointer on. It ends with a checkpoint.
    pub(crate) fn crash(&mut self) {
        self.wal.truncate(self.wal.flushed());
        let disk: Vec<_> = self.files.iter().filter_map(|f| Some((f.number, f.disk?))).collect();
        let numbers = self.numbers.map(|number| number.disk);
        self.recover(self.control_redo, &disk, numbers);
        for page in self.files.iter().map(|file| file.buffer.page) {
            // What `nextval` makes of such a page is PostgreSQL's, and what it had taken
            // above it is lost: in a copied tuple it trusts a count that is not logged.
            if page.log_cnt >= 0 {
                self.given.put_back(page.last());
            } else if page.lsn <= self.timeline_begins {
                self.given.nobody_has_set_it_right();
            }
        }
        self.begin_checkpoint();
        self.end_checkpoint();
    }

    /// A backup is taken; it begins with a checkpoint.
    pub(crate) fn back_up(&mut self) {
        self.begin_checkpoint();
        self.end_checkpoint();
        let disk = self.files.iter().filter_map(|f| Some((f.number, f.disk?))).collect();
        let numbers = self.numbers.map(|number| number.disk);
        let (redo, end) = (self.redo, self.wal.end());
        self.backup = Some(Box::new(Backup { redo, end, disk, numbers }));
    }

    /// A server with the backup and WAL up to `lsn` takes over, on a timeline of its own.
    /// It has made no checkpoint yet.
    pub(crate) fn restore(&mut self, lsn: u64) {
        let backup = self.backup.take().expect("there is a backup");
        self.wal.truncate(lsn);
        self.wal.flush_all();
        self.recover(backup.redo, &backup.disk, backup.numbers);
        (self.redo, self.control_redo) = (backup.redo, backup.redo);
        self.timeline += 1;
        self.timeline_begins = lsn;
        self.wal.insert(Record::Checkpoint);
        self.wal.flush_all();
        self.given.put_back(-1);
    }

    fn recover(&mut self, redo: u64, disk: &[(u32, Image)], numbers: [NumberPage; 2]) {
        let row = |record| if let Record::Row(row) = record { Some(row) } else { None };
        self.row = self.wal.last(row).map_or(Row::NONE, |(_, row)| row);
        self.numbers = [Which::Horizon, Which::Drift].map(|which| {
            let of = |record| match record {
                Record::Number(of, value) if of == which => Some(value),
                _ => None,
            };
            let record = self.wal.last(of).filter(|(lsn, _)| *lsn > redo);
            Number::recovered(numbers[which as usize], record)
        });
        self.checkpoint = None;
        self.transaction = None;
        self.files.clear();
        if let Some(number) = self.row.file {
            let disk = disk.iter().find(|(of, _)| *of == number).map(|(_, image)| *image);
            let replayed = self.wal.after(redo).filter_map(|(lsn, r)| Image::of(lsn, r));
            let of = (self.database, number);
            let read = replayed.filter(|(file, _)| *file == of).last().map(|(_, image)| image);
            let buffer = read.or(disk).expect("a page is on disk or in WAL");
            self.files.push(Stored { number, buffer, dirty: read.is_some(), disk });
        }
        self.new_sessions();
    }
}
