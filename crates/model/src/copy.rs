//! What does `CREATE DATABASE … TEMPLATE` make of the page? The copy is followed from
//! then on, and compared with its own ids only.

use crate::given::Given;
use crate::number::Which;
use crate::wal::Record;
use crate::world::World;

/// Its strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Copying {
    /// Through shared buffers: the whole page is copied and logged, with a new LSN. What
    /// is logged of it has a hole where the trace is.
    WalLog,
    /// File by file, between two checkpoints: the page has its trace and its old LSN.
    FileCopy,
}

impl World {
    /// Copies the database and goes on in the copy.
    pub(crate) fn copy_database(&mut self, how: Copying) {
        if how == Copying::FileCopy {
            self.begin_checkpoint();
            self.end_checkpoint();
        }
        self.database += 1;
        self.given = Given::default();
        // It is older than the copy.
        self.backup = None;
        if how == Copying::WalLog {
            for which in [Which::Horizon, Which::Drift] {
                self.log_number(which, self.numbers[which as usize].buffer.value);
            }
        }
        let numbers: Vec<_> = self.files.iter().map(|file| file.number).collect();
        for number in numbers {
            match how {
                Copying::WalLog => {
                    let file = self.stored(number);
                    (file.dirty, file.disk) = (true, None);
                    self.log_page(number);
                }
                Copying::FileCopy => {
                    let file = self.stored(number);
                    (file.dirty, file.disk) = (false, Some(file.buffer));
                }
            }
        }
        self.wal.insert(Record::Row(self.row));
        if how == Copying::FileCopy {
            self.begin_checkpoint();
            self.end_checkpoint();
        }
        self.wal.flush_all();
        self.new_sessions();
    }
}
