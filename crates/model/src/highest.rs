//! How are the horizon and the largest drift raised, and what were they at most? It is
//! `page/highest.rs` of the extension.

use crate::mending::{Mending, Off};
use crate::number::{Kept, NumberPage, Which};
use crate::wal::Record;
use crate::world::World;

impl World {
    fn seen(&self, which: Which) -> (NumberPage, Option<Kept>) {
        let page = self.numbers[which as usize].buffer;
        (page, page.kept.filter(|kept| kept.of == (self.database, self.timeline)))
    }

    fn leave(&mut self, which: Which, asked: u64, answer: i64, number: i64) {
        let of = (self.database, self.timeline);
        let page = &mut self.numbers[which as usize];
        page.buffer.kept = Some(Kept { of, asked, answer, number });
        page.dirty = true;
    }

    /// Logs a number; returns where the record ends.
    pub(crate) fn log_number(&mut self, which: Which, value: i64) -> u64 {
        let lsn = self.wal.insert(Record::Number(which, value));
        let page = &mut self.numbers[which as usize];
        (page.buffer.value, page.buffer.lsn, page.dirty) = (value, lsn, true);
        lsn
    }

    /// Has the number be at least that, and returns it and where its record ends.
    pub(crate) fn raise(&mut self, which: Which, at_least: i64, off: Off) -> (i64, u64) {
        let (page, kept) = self.seen(which);
        let value = highest(page, kept, off).max(at_least);
        if page.value >= value {
            return (value, page.lsn);
        }
        let lsn = self.log_number(which, value);
        let answered = kept.map_or((self.timeline_begins, page.value), |k| (k.asked, k.answer));
        self.leave(which, answered.0, answered.1, value);
        (value, lsn)
    }

    /// Has it be at least that, if it was last written on an earlier timeline.
    pub(crate) fn take_over_number(&mut self, which: Which, at_least: i64) {
        let (page, _) = self.seen(which);
        if page.lsn <= self.timeline_begins {
            let value = page.value.max(at_least);
            self.log_number(which, value);
            self.leave(which, self.timeline_begins, value, value);
        }
    }

    /// What the number was at most when WAL ended there.
    pub(crate) fn at_most_at(&mut self, which: Which, lsn: u64, off: Off) -> i64 {
        let (page, kept) = self.seen(which);
        let holds = |kept: &Kept| off.is(Mending::KeptLsn) || (lsn != 0 && lsn <= kept.asked);
        if let Some(kept) = kept.filter(holds) {
            return kept.answer;
        }
        // What is not on disk may be written anew after a crash, and the trace may outlive it.
        if !off.is(Mending::AskedFlushed) {
            self.wal.flush(lsn);
        }
        let end = match off.is(Mending::AskedFlushed) {
            true => self.wal.end(),
            false => self.wal.flushed(),
        };
        let answer = highest(page, kept, off);
        self.leave(which, end, answer, answer);
        answer
    }

    /// Somebody puts the horizon back by hand.
    pub(crate) fn put_horizon_back(&mut self) {
        self.log_number(Which::Horizon, -1);
    }
}

fn highest(page: NumberPage, kept: Option<Kept>, off: Off) -> i64 {
    let number = kept.filter(|_| !off.is(Mending::KeptNumber)).map_or(-1, |kept| kept.number);
    page.value.max(number)
}
