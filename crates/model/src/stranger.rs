//! What do `nextval` and `setval` do to the page?

use shardid_ids::Flushed;

use crate::given::Giver;
use crate::layout::{BEGIN, id, layout};
use crate::scenario::Kind;
use crate::session::{Pending, Session};
use crate::world::World;

/// How many values `nextval` logs ahead; PostgreSQL has 32.
const LOGGED_AHEAD: i64 = 2;

/// Where somebody sets the sequence to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Setval {
    /// To before all ids, as one that was given.
    Back,
    /// The same, as one that was not: `setval(…, false)`.
    BackNotCalled,
    /// Two ticks beyond where it stands.
    Forward,
}

impl World {
    /// `nextval`: the number is seen when the caller's commit is on disk, and with it all
    /// WAL up to the page's record.
    pub(crate) fn nextval(&mut self) -> bool {
        let Some(number) = self.row_for_others().filter(|r| !r.unlogged).and_then(|r| r.file)
        else {
            return false;
        };
        if self.stranger.is_some() || !self.left.spend(Kind::Nextval) {
            return false;
        }
        let redo = self.redo;
        let step = layout().per_tick();
        let file = self.stored(number);
        file.dirty = true;
        let page = &mut file.buffer.page;
        let fetch = i64::from(page.is_called);
        let logs = page.log_cnt < fetch || !page.is_called || page.lsn <= redo;
        let value = page.last_value + step * fetch;
        let left = if logs { LOGGED_AHEAD } else { page.log_cnt - fetch };
        if logs {
            (page.last_value, page.log_cnt) = (value + step * LOGGED_AHEAD, 0);
            page.is_called = true;
            self.log_page(number);
        }
        let page = &mut self.stored(number).buffer.page;
        (page.last_value, page.log_cnt, page.is_called) = (value, left, true);
        let lsn = page.lsn;
        let flushed = Flushed::NOTHING;
        let pending = Pending { first: value, count: 1, lsn, flushed };
        self.stranger = Some((pending, self.given.is_put_back()));
        true
    }

    /// The caller of `nextval` commits.
    pub(crate) fn deliver_stranger(&mut self) -> bool {
        let Some((pending, put_back)) = self.stranger.take() else { return false };
        self.wal.flush(pending.lsn);
        // Of a sequence that was put back it may be a number that was given, or that a
        // session just waits to give out: that is no fault of the session.
        let waits = |session: &Session| session.pending.is_some_and(|p| p.has(pending.first));
        let known = self.given.has(pending.first) || self.sessions.iter().any(waits);
        if !(put_back && known) {
            self.given.give(Giver::Stranger, pending.first, 1);
        }
        true
    }

    /// `setval`, which is part of no transaction.
    pub(crate) fn setval(&mut self, to: Setval) -> bool {
        // The session that keeps the others away may do so itself.
        let own = || self.transaction.as_ref().map(|transaction| transaction.top().row);
        let row = self.row_for_others().or_else(own).filter(|row| !row.unlogged);
        let Some(number) = row.and_then(|row| row.file) else { return false };
        let kind = if to == Setval::Forward { Kind::SetvalForward } else { Kind::SetvalBack };
        if self.stranger.is_some() || !self.left.spend(kind) {
            return false;
        }
        let file = self.stored(number);
        file.dirty = true;
        let page = &mut file.buffer.page;
        let tick = page.last_value / layout().per_tick();
        page.last_value = if to == Setval::Forward { id(tick + 2, 1) } else { id(BEGIN - 2, 0) };
        page.is_called = to != Setval::BackNotCalled;
        page.log_cnt = 0;
        let last = page.last();
        self.log_page(number);
        if to != Setval::Forward {
            self.given.put_back(last);
        }
        true
    }
}
