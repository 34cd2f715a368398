//! How fast something goes, and how long it still takes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Older than this says nothing about what comes next.
const WINDOW: Duration = Duration::from_secs(20);

/// Below this a rate would be a guess.
const SPAN_MIN: Duration = Duration::from_secs(1);

/// The pace of a number that is looked at from time to time.
#[derive(Debug, Default)]
pub(super) struct Pace(VecDeque<(Instant, i64)>);

impl Pace {
    /// Notes what the number was at an instant, which must not go back.
    pub(super) fn see(&mut self, at: Instant, value: i64) {
        self.0.push_back((at, value));
        while self.0.front().is_some_and(|(first, _)| at.duration_since(*first) > WINDOW) {
            self.0.pop_front();
        }
    }

    /// By how much it has grown a second; none until it has been seen for a while.
    pub(super) fn per_second(&self) -> Option<f64> {
        let ((began, first), (ended, last)) = (self.0.front()?, self.0.back()?);
        let span = ended.duration_since(*began);
        (span >= SPAN_MIN).then(|| (last - first) as f64 / span.as_secs_f64())
    }

    /// How long it takes to grow by so much more; none where it does not grow.
    pub(super) fn left(&self, more: i64) -> Option<Duration> {
        let pace = self.per_second().filter(|pace| *pace > 0.0)?;
        Duration::try_from_secs_f64((more.max(0) as f64 / pace).round()).ok()
    }
}

/// A part of a whole that is only believed: from 0 to 1.
pub(super) fn share(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { (part as f64 / whole as f64).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(values: &[(u64, i64)]) -> Pace {
        let (mut pace, began) = (Pace::default(), Instant::now());
        for (ms, value) in values {
            pace.see(began + Duration::from_millis(*ms), *value);
        }
        pace
    }

    #[test]
    fn a_pace_is_known_after_a_second_and_says_what_is_left() {
        assert_eq!(seen(&[]).per_second(), None);
        assert_eq!(seen(&[(0, 0), (999, 50)]).per_second(), None);
        let pace = seen(&[(0, 100), (500, 150), (2_000, 500)]);
        assert_eq!(pace.per_second(), Some(200.0));
        assert_eq!(pace.left(1_000), Some(Duration::from_secs(5)));
        assert_eq!(pace.left(-3), Some(Duration::ZERO));
    }

    #[test]
    fn what_stands_still_or_goes_back_never_ends() {
        assert_eq!(seen(&[(0, 7), (5_000, 7)]).left(1), None);
        assert_eq!(seen(&[(0, -7), (5_000, -90)]).left(1), None);
    }

    #[test]
    fn only_the_last_while_counts() {
        let pace = seen(&[(0, 0), (10_000, 1_000_000), (30_001, 1_000_000), (31_000, 1_000_000)]);
        assert_eq!(pace.per_second(), None);
        assert_eq!(seen(&[(0, 0), (15_000, 0), (30_001, 15_001)]).per_second(), Some(1000.0));
    }

    #[test]
    fn a_share_is_never_more_than_all() {
        assert_eq!((share(1, 4), share(5, 4), share(-1, 4), share(1, 0)), (0.25, 1.0, 0.0, 0.0));
    }
}
