//! What does a session remember?

use shardid_ids::Flushed;

/// Ids that wait for the flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pending {
    /// The first one.
    pub first: i64,
    /// How many.
    pub count: i64,
    /// WAL is to be on disk up to there.
    pub lsn: u64,
    /// What the session knows after that.
    pub flushed: Flushed,
}

impl Pending {
    pub(crate) fn has(&self, id: i64) -> bool {
        (self.first..self.first + self.count).contains(&id)
    }
}

/// A visit that was refused and comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asking {
    /// How many ids are wanted.
    pub want: i64,
    /// As in [`shardid_ids::Request::beyond`].
    pub beyond: Option<i64>,
    /// Where it is yet to ask what that is: the LSN that it asks about.
    pub unknown: Option<u64>,
}

/// What a session with the library remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Session {
    /// The highest id it was given; -1 for none.
    pub floor: i64,
    /// What it knows to be flushed.
    pub flushed: Flushed,
    /// The horizon, as it has last read it.
    pub horizon: i64,
    /// The largest drift, as it has last read it.
    pub drift: i64,
    /// The visit that it repeats.
    pub asking: Option<Asking>,
    /// The ids that it waits to give out.
    pub pending: Option<Pending>,
    /// Where it is yet to raise the horizon to, with [`crate::Mending::HorizonFirst`] left out.
    pub late_horizon: Option<i64>,
}

impl Session {
    pub(crate) const NEW: Self = Self {
        floor: -1,
        flushed: Flushed::NOTHING,
        horizon: i64::MIN,
        drift: i64::MIN,
        asking: None,
        pending: None,
        late_horizon: None,
    };

    pub(crate) fn is_idle(&self) -> bool {
        self.asking.is_none() && self.pending.is_none()
    }
}

/// What a session with the library 0.1.0 remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Old {
    /// The highest id it was given; -1 for none.
    pub floor: i64,
    /// The chain, and up to which tick of it is known to be flushed.
    pub flushed: (u32, i64),
    /// Ids that wait for the flush, and what is known after it.
    pub pending: Option<(Pending, (u32, i64))>,
}

impl Default for Old {
    fn default() -> Self {
        Self { floor: -1, flushed: (0, -1), pending: None }
    }
}
