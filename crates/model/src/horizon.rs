//! What does a session do where a visit is refused, and how are the horizon and the
//! largest drift raised? It is `horizon.rs` of the extension, and the loop around a visit.

use shardid_ids::Refusal;

use crate::layout::{layout, ticks_us};
use crate::mending::{Mending, Off};
use crate::number::Which;
use crate::scenario::{Scenario, Settings};
use crate::session::Asking;
use crate::wal::Record;
use crate::world::World;

/// What another generator of the database does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Other {
    /// It takes a lease as far ahead as it may.
    Leases,
    /// It was restarted, and asks where ids begin.
    Asks,
    /// It, or anybody, writes some WAL.
    Writes,
}

impl World {
    /// `note_drift` of the rim.
    pub(crate) fn note_drift(&mut self, who: usize, settings: Settings, off: Off) {
        let (drift, lsn) = self.raise(Which::Drift, ticks_us(settings.max_drift), off);
        self.wal.flush(lsn);
        self.sessions[who].drift = drift;
    }

    /// What the rim does where a visit was refused; says whether anything has changed.
    pub(crate) fn refused(
        &mut self,
        scenario: &Scenario,
        who: usize,
        asking: Asking,
        logged: bool,
        refusal: Refusal,
    ) -> bool {
        let settings = scenario.sessions[who];
        let before = self.sessions[who].asking;
        let asking = match refusal {
            Refusal::UnknownPast { lsn, .. } => Some(Asking { unknown: Some(lsn), ..asking }),
            Refusal::UnnotedDrift { .. } => {
                self.note_drift(who, settings, scenario.off);
                self.sessions[who].asking = Some(asking);
                return true;
            }
            Refusal::BeyondHorizon { until_us, target_us } => {
                let most_us = self.now_us() + ticks_us(settings.max_drift - 1);
                let target_us = target_us.min(until_us.max(most_us));
                self.take_over(settings, scenario.off);
                let (value, lsn) = self.raise(Which::Horizon, target_us, scenario.off);
                if !logged {
                    self.wal.flush(lsn);
                }
                self.sessions[who].horizon = value;
                self.sessions[who].asking = Some(asking);
                return true;
            }
            // It waits, and gives up at some time.
            Refusal::Clock(_) => before.filter(|asking| asking.beyond.is_some()),
            Refusal::Replaces => None,
        };
        self.sessions[who].asking = asking;
        before != asking
    }

    /// The session asks where ids begin, of whose generator nothing is known.
    pub(crate) fn look_up(&mut self, scenario: &Scenario, who: usize, asking: Asking, lsn: u64) {
        let off = scenario.off;
        self.take_over(scenario.sessions[who], off);
        let horizon_us = self.at_most_at(Which::Horizon, lsn, off);
        let beyond = match off.is(Mending::Horizon) {
            true => -1,
            false if self.timeline_begins == 0 => layout().index_at(horizon_us),
            // In whole ticks, as the drift.
            false => (layout().tick_at(horizon_us) + 1) * layout().slots() - 1,
        };
        self.sessions[who].asking = Some(Asking { beyond: Some(beyond), unknown: None, ..asking });
    }

    /// The horizon, as `read_us` says it.
    pub(crate) fn read_horizon(&mut self, settings: Settings, off: Off) -> i64 {
        self.take_over(settings, off);
        self.raise(Which::Horizon, -1, off).0
    }

    /// How far ids of earlier timelines can have gone, also those of generators that are lost.
    pub(crate) fn of_earlier_timelines(&mut self, settings: Settings, off: Off) -> Option<i64> {
        if self.timeline_begins == 0 || off.is(Mending::Earlier) {
            return None;
        }
        self.take_over(settings, off);
        Some(self.at_most_at(Which::Horizon, self.timeline_begins, off))
    }

    /// Raises a horizon that comes from an earlier timeline.
    fn take_over(&mut self, settings: Settings, off: Off) {
        if self.timeline_begins == 0 || off.is(Mending::TakeOver) {
            return;
        }
        let largest_us = match off.is(Mending::LargestDrift) {
            true => ticks_us(settings.max_drift),
            // All drifts here are below the usual one, which counts in any case.
            false => self
                .at_most_at(Which::Drift, self.timeline_begins, off)
                .max(ticks_us(settings.max_drift)),
        };
        self.take_over_number(Which::Horizon, self.now_us() + largest_us);
    }

    /// Raises the horizon too late, where that mending is left out.
    pub(crate) fn raise_late(&mut self, scenario: &Scenario, who: usize) -> bool {
        let late = self.sessions[who].late_horizon.take();
        if let Some(to_us) = late {
            self.raise(Which::Horizon, to_us, scenario.off);
        }
        late.is_some()
    }

    /// Another generator does something, in the first session's settings.
    pub(crate) fn other(&mut self, scenario: &Scenario, other: Other) {
        let (settings, off) = (scenario.sessions[0], scenario.off);
        let record = |world: &mut Self| world.wal.insert(Record::Other);
        match other {
            Other::Leases => {
                self.take_over(settings, off);
                let until = ticks_us(settings.max_drift + settings.lease);
                self.raise(Which::Horizon, self.now_us() + until, off);
                record(self);
            }
            Other::Asks => {
                let lsn = record(self);
                self.take_over(settings, off);
                self.at_most_at(Which::Horizon, lsn, off);
            }
            Other::Writes => (0..4).for_each(|_| {
                record(self);
            }),
        }
    }
}
