//! What clock and which drift were in force when? So how late may an id be?

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// For how long after a change something may still go by what was before it.
pub(super) const GRACE: Duration = Duration::from_secs(3);

/// How far beyond the largest drift ids may begin where the past is not known.
const BEYOND: Duration = Duration::from_secs(10);

/// What was in force, from when on.
pub(super) struct Hours {
    moments: Vec<Moment>,
    /// The largest drift that was ever allowed to a session.
    largest_drift: Duration,
    /// Whether something was done after which a generator cannot know its past, and
    /// begins beyond the largest drift.
    past_is_unknown: bool,
}

#[derive(Clone, Copy)]
struct Moment {
    from: Instant,
    /// The server's clock against the machine's, in seconds.
    offset: f64,
    max_drift: Duration,
}

/// The time by the machine's clock, in Unix microseconds.
pub(super) fn machine_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("we are past 1970");
    i64::try_from(since.as_micros()).expect("and before the year 294247")
}

impl Hours {
    /// Begins with the machine's clock.
    pub(super) fn new(max_drift: Duration) -> Self {
        let now = Moment { from: Instant::now(), offset: 0.0, max_drift };
        Self { moments: vec![now], largest_drift: max_drift, past_is_unknown: false }
    }

    fn last(&self) -> Moment {
        *self.moments.last().expect("it begins with one")
    }

    /// The clock of the server against the machine's, in seconds.
    pub(super) fn offset(&self) -> f64 {
        self.last().offset
    }

    /// Enters another clock or drift, before it comes into force.
    pub(super) fn announce(&mut self, offset: Option<f64>, max_drift: Option<Duration>) {
        let last = self.last();
        self.moments.push(Moment {
            from: Instant::now(),
            offset: offset.unwrap_or(last.offset),
            max_drift: max_drift.unwrap_or(last.max_drift),
        });
        self.largest_drift = self.largest_drift.max(self.last().max_drift);
        if self.moments.len() > 200 {
            self.moments.drain(..100);
        }
    }

    /// Enters that a single session has another drift than the server.
    pub(super) fn allow(&mut self, drift: Duration) {
        self.largest_drift = self.largest_drift.max(drift);
    }

    /// Enters that a generator cannot know its past.
    pub(super) fn forget(&mut self) {
        self.past_is_unknown = true;
    }

    /// The latest instant that an id may have that was taken since `since`, in Unix
    /// microseconds, by a session whose own drift is as given.
    pub(super) fn latest_us(&self, since: Instant, own_drift: Duration) -> i64 {
        let from = self.moments.iter().rposition(|moment| moment.from + GRACE <= since);
        let unknown =
            if self.past_is_unknown { self.largest_drift + BEYOND } else { Duration::ZERO };
        let allowed = self.moments[from.unwrap_or_default()..]
            .iter()
            .map(|moment| {
                moment.offset + moment.max_drift.max(own_drift).max(unknown).as_secs_f64()
            })
            .fold(f64::MIN, f64::max);
        machine_us() + (allowed * 1e6) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn latest_s(hours: &Hours, own_drift: Duration) -> i64 {
        let us = hours.latest_us(Instant::now() + 2 * GRACE, own_drift) - machine_us();
        (us as f64 / 1e6).round() as i64
    }

    #[test]
    fn an_id_may_be_as_late_as_the_clock_and_the_largest_drift_that_counts() {
        let mut hours = Hours::new(10 * SECOND);
        assert_eq!(latest_s(&hours, Duration::ZERO), 10);
        assert_eq!(latest_s(&hours, 30 * SECOND), 30);
        hours.announce(Some(-100.0), Some(60 * SECOND));
        assert_eq!(latest_s(&hours, Duration::ZERO), -40);
        hours.announce(None, Some(10 * SECOND));
        assert_eq!(latest_s(&hours, Duration::ZERO), -90);
        hours.allow(80 * SECOND);
        assert_eq!(latest_s(&hours, Duration::ZERO), -90);
        hours.forget();
        assert_eq!(latest_s(&hours, Duration::ZERO), -10);
    }
}
