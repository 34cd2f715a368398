//! Which ids were given out, by whom, and was one given twice?

use crate::layout::{id, layout, shard};

/// The ids that somebody outside may have seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Given {
    /// By the library; a bit for each position.
    ours: u128,
    /// By `nextval`, as far as nobody has put the sequence back since.
    strangers: u128,
    /// By the library 0.1.0.
    old: u128,
    /// The sequence was put back, and no visit has set it right yet: what gives the next
    /// number of it, and is not the library, cannot know better.
    put_back: bool,
    /// The id that came twice.
    pub twice: Option<i64>,
}

/// Who gives ids out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Giver {
    Library,
    Old,
    Stranger,
}

impl Given {
    /// These ids have left the server.
    pub(crate) fn give(&mut self, giver: Giver, first: i64, count: i64) {
        for id in first..first + count {
            let bit = bit_of(id);
            if self.has(id) && (giver == Giver::Library || !self.put_back) {
                self.twice.get_or_insert(id);
            }
            match giver {
                Giver::Library => self.ours |= bit,
                Giver::Old => self.old |= bit,
                Giver::Stranger => self.strangers |= bit,
            }
        }
    }

    /// The library has set the position right.
    pub(crate) fn set_right(&mut self) {
        self.put_back = false;
    }

    /// Whether an id has left.
    pub(crate) fn has(&self, id: i64) -> bool {
        (self.ours | self.strangers | self.old) & bit_of(id) != 0
    }

    /// Whether nobody has set it right since it was put back.
    pub(crate) fn is_put_back(&self) -> bool {
        self.put_back
    }

    /// What set it right is lost.
    pub(crate) fn nobody_has_set_it_right(&mut self) {
        self.put_back = true;
    }

    /// Somebody has the sequence go on after `last` on purpose; -1 for from anywhere.
    pub(crate) fn put_back(&mut self, last: i64) {
        let last = layout().position_at_or_below(shard(), last);
        let kept = last.map_or(0, |p| (bit_of(id(p.tick, p.slot)) << 1).wrapping_sub(1));
        self.strangers &= kept;
        self.put_back = true;
    }
}

fn bit_of(id: i64) -> u128 {
    let layout = layout();
    let tick = id.div_euclid(layout.per_tick());
    1 << (tick * layout.slots() + id.rem_euclid(layout.slots())).clamp(0, 127)
}
