//! How far ids of this database may reach, where their generator does not know it.
//!
//! Three sequences of the extension, which only rise, see [`highest`]:
//!
//! - `shardid.horizon`: no lease of any generator reaches past this instant. It is raised
//!   before the record of a lease is written, and so on disk when that is;
//! - `shardid.largest_drift`: the largest `shardid.max_drift` that a session has used.
//!   Up to what the settings of server, database and role say, and to the default, it is
//!   written before it is used, in case what came last is lost;
//! - `shardid.restored`: the horizon as it was raised when rows of a dump came last. What the
//!   dump's generators gave is not bound by it within a tick: they could take all of it at once.
//!
//! On a new timeline, after a restore to a point in time or a promotion, the horizon may
//! lack what raised it last. So whoever uses it first there raises it by the largest drift.
//!
//! The instant is in Unix microseconds, the drift in milliseconds. What a session has read
//! is good until the sequence is made anew.

use core::cell::Cell;

use pgrx::pg_sys::Oid;
use shardid_ids::Layout;

use crate::page::held::{self, Unusable};
use crate::page::{BackendLocal, backend, catalog, clocks, highest, relations};
use crate::report::{self, Report};
use crate::settings;

/// One of the numbers, and what this session knows of it.
struct Highest {
    name: &'static core::ffi::CStr,
    sequence: Cell<Oid>,
    known: Cell<i64>,
}

/// All of them.
pub(crate) struct Horizon {
    instant: Highest,
    largest_drift: Highest,
    restored: Highest,
    /// Which sequence is known to be of the present timeline.
    taken_over: Cell<Oid>,
}

static HORIZON: BackendLocal<Horizon> = BackendLocal::new(Horizon {
    instant: Highest::new(c"horizon"),
    largest_drift: Highest::new(c"largest_drift"),
    restored: Highest::new(c"restored"),
    taken_over: Cell::new(Oid::INVALID),
});

/// What is known of them in this session.
#[inline(always)]
pub(crate) fn get() -> &'static Horizon {
    HORIZON.get()
}

impl Horizon {
    /// What the horizon is at least.
    #[inline(always)]
    pub(crate) fn known_us(&self) -> i64 {
        self.instant.known.get()
    }

    /// The horizon as it is now; `None` where the extension's SQL is too old to have it.
    pub(crate) fn read_us(&self) -> Result<Option<i64>, Report> {
        self.raise(i64::MIN, false)
    }

    /// Has the horizon be at least that, and returns it; `flush` waits for the disk.
    pub(crate) fn raise(&self, at_least_us: i64, flush: bool) -> Result<Option<i64>, Report> {
        self.take_over()?;
        self.instant.raise(at_least_us, flush)
    }

    /// Where the horizon was at most when WAL ended at `lsn`; where it is, for 0.
    pub(crate) fn at_most_at(&self, lsn: u64) -> Result<Option<i64>, Report> {
        self.take_over()?;
        self.instant.at_most_at(lsn)
    }

    /// Has the horizon be as far ahead of the clock as anybody's ids may be, where rows of a dump come.
    pub(crate) fn raise_for_restored(&self) -> Result<(), Report> {
        let drift_us = settings::max_drift_us().max(settings::max_drift_of_any_us());
        let ahead_us = clocks::now_us().saturating_add(drift_us);
        self.raise(ahead_us, true)?;
        self.restored.raise(ahead_us, true).map(|_| ())
    }

    /// The last tick that generators of a dump can have given ids of; `None` where none came, or the extension's
    /// SQL is too old to say. It is none that the horizon, which may be put back by hand, does not reach.
    pub(crate) fn restored_tick(&self, layout: &Layout) -> Result<Option<i64>, Report> {
        let (until_us, restored_us) = (self.read_us()?, self.restored.raise(i64::MIN, false)?);
        let restored_us = restored_us.zip(until_us).map(|(restored, until)| restored.min(until));
        Ok(restored_us.filter(|&us| us > 0).map(|us| layout.tick_at(us)))
    }

    /// On a timeline that is not the first: how far ids of the one before can have gone,
    /// also those of generators that it has made and this one has lost.
    pub(crate) fn of_earlier_timelines(&self) -> Result<Option<i64>, Report> {
        match backend::timeline().begins {
            0 => Ok(None),
            begins => self.at_most_at(begins),
        }
    }

    /// The largest drift that is known to be remembered, in ticks; negative for none.
    #[inline(always)]
    pub(crate) fn noted_drift_ticks(&self, layout: &Layout) -> i64 {
        let known_ms = self.largest_drift.known.get();
        if known_ms < usual_ms() { -1 } else { layout.whole_ticks(known_ms.saturating_mul(1_000)) }
    }

    /// Remembers the drift that is allowed to this session, before it takes an id that is
    /// further ahead of the clock than was remembered; the usual one before any.
    pub(crate) fn note_drift(&self) -> Result<(), Report> {
        let drift_ms =
            if self.is_usual_noted() { settings::max_drift_us() / 1_000 } else { usual_ms() };
        self.largest_drift.raise(drift_ms, true)?;
        Ok(())
    }

    /// Whether the usual drift is remembered.
    pub(crate) fn is_usual_noted(&self) -> bool {
        self.largest_drift.known.get() >= usual_ms()
    }

    /// Raises a horizon that comes from an earlier timeline.
    fn take_over(&self) -> Result<(), Report> {
        let timeline = backend::timeline();
        let known = self.taken_over.get();
        if known != Oid::INVALID && known == catalog::table(self.instant.name) {
            return Ok(());
        }
        let Some(sequence) = self.instant.lock() else { return Ok(()) };
        if highest::is_present(sequence, timeline).map_err(|e| wrong(sequence, e))? {
            self.taken_over.set(sequence);
            return Ok(());
        }
        let noted_us = match self.largest_drift.at_most_at(timeline.begins)? {
            Some(drift_ms @ 0..) => drift_ms.max(usual_ms()).saturating_mul(1_000),
            _ => settings::USUAL_DRIFT_US,
        };
        // Of who took a first id after what was kept, only the settings tell.
        let drift_us = noted_us.max(settings::max_drift_of_any_us());
        let until_us = clocks::now_us().saturating_add(drift_us);
        highest::take_over(sequence, until_us, timeline).map_err(|e| wrong(sequence, e))?;
        self.taken_over.set(sequence);
        Ok(())
    }

    /// Forgets what may no longer be true of a relation, or of all of them.
    pub(crate) fn forget(&self, relation: Oid) {
        for number in [&self.instant, &self.largest_drift, &self.restored] {
            // What was not there may be it: SQL that has one was installed.
            if [Oid::INVALID, number.sequence.get()].contains(&relation)
                || number.sequence.get() == Oid::INVALID
            {
                number.known.set(i64::MIN);
            }
        }
    }
}

/// The drift that is allowed to this session, as far as it is remembered before it is used:
/// what every session has, and the default at least.
#[inline(always)]
fn usual_ms() -> i64 {
    /// For which setting it was found, and what it is.
    static FOUND: BackendLocal<Cell<(i64, i64)>> = BackendLocal::new(Cell::new((-1, 0)));
    let max_drift_us = settings::max_drift_us();
    let (found_for_us, usual_ms) = FOUND.get().get();
    if found_for_us == max_drift_us {
        return usual_ms;
    }
    // After a promotion all shards go so far ahead of the clock, and are refused while that is more
    // than is allowed then.
    let usual_us = settings::USUAL_DRIFT_US.max(settings::max_drift_of_all_us());
    let usual_ms = max_drift_us.min(usual_us) / 1_000;
    FOUND.get().set((max_drift_us, usual_ms));
    usual_ms
}

impl Highest {
    const fn new(name: &'static core::ffi::CStr) -> Self {
        Self { name, sequence: Cell::new(Oid::INVALID), known: Cell::new(i64::MIN) }
    }

    /// Has the number be at least that, and returns it; `flush` waits for the disk.
    ///
    /// Where there is none, since the extension's SQL is too old, all is allowed.
    fn raise(&self, at_least: i64, flush: bool) -> Result<Option<i64>, Report> {
        let Some(sequence) = self.lock() else {
            self.known.set(i64::MAX);
            return Ok(None);
        };
        let timeline = backend::timeline();
        let value =
            highest::raise(sequence, at_least, flush, timeline).map_err(|e| wrong(sequence, e))?;
        self.known.set(value);
        Ok(Some(value))
    }

    /// What the number was at most when WAL ended at `lsn`; what it is, for 0.
    fn at_most_at(&self, lsn: u64) -> Result<Option<i64>, Report> {
        let timeline = backend::timeline();
        self.lock()
            .map(|sequence| {
                highest::at_most_at(sequence, lsn, timeline).map_err(|e| wrong(sequence, e))
            })
            .transpose()
    }

    /// Finds and locks the sequence, if there is one.
    fn lock(&self) -> Option<Oid> {
        let sequence = catalog::table(self.name);
        self.sequence.set(sequence);
        if sequence == Oid::INVALID {
            return None;
        }
        held::lock(sequence);
        Some(sequence)
    }
}

fn wrong(sequence: Oid, unusable: Unusable) -> Report {
    match unusable {
        Unusable::Gone => report::horizon_lost(),
        other => report::unusable(&relations::relation_name(sequence), other),
    }
}
