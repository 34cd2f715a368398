//! How does the clock of the server step?

use std::ops::Range;

use rand::Rng;

use super::trouble::Trouble;

impl Trouble {
    /// A step of the clock, back or forth, by seconds to an hour.
    pub(super) fn step_clock(&mut self) {
        if self.world.lead() > 9.0 && self.rng.random_bool(0.5) {
            self.catch_up();
            return;
        }
        let by = match self.rng.random_range(0..100) {
            0..45 => self.rng.random_range(-9.0..0.0),
            45..65 => self.rng.random_range(-3600.0..-9.0),
            65..90 => self.rng.random_range(0.0..30.0),
            _ => self.rng.random_range(30.0..3600.0),
        };
        self.world.set_clock(self.world.offset() + by);
        self.world.tell("clock step", &format!("{by:+.1} s"));
    }

    /// Sets the clock right, as seen from the ids: they are a little ahead. A
    /// crash may have left the shards at leases that nobody has seen ids of.
    pub(super) fn catch_up(&mut self) {
        self.catch_up_by(0.0);
    }

    /// As [`Trouble::catch_up`], and some seconds further.
    pub(super) fn catch_up_by(&mut self, further: f64) {
        let by = self.world.lead().max(0.0) + self.rng.random_range(-5.0..8.0) + further;
        self.world.set_clock(self.world.offset() + by);
        self.world.tell("clock step", &format!("{by:+.1} s, to where the ids are"));
    }

    /// How far behind a clock is that nobody has looked after, in seconds:
    /// mostly so little that ids go on at once.
    pub(super) fn behind(&mut self) -> f64 {
        if self.rng.random_bool(0.8) {
            self.rng.random_range(-3.0..9.0)
        } else {
            self.rng.random_range(9.0..3600.0)
        }
    }

    /// Sets the clock so that the ids of a generator are that many seconds ahead of it.
    pub(super) fn put_ahead(&mut self, which: usize, seconds: Range<f64>) {
        if self.world.highest()[which] == 0 {
            return;
        }
        let by = self.world.lead_of(which) - self.rng.random_range(seconds);
        self.world.set_clock(self.world.offset() + by);
        self.world.tell("clock step", &format!("{by:+.1} s, to before the ids"));
    }

    /// A clock that no id is further ahead of than any session was ever allowed: a server
    /// that has forgotten its ids can stay clear of them by nothing else.
    pub(super) fn offset_below_all_ids(&mut self) -> f64 {
        let ahead = self.rng.random_range(0.0..9.0);
        self.world.offset() + (self.world.lead() - ahead).max(0.0)
    }
}
