//! Waiting for something to come true.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Waits until a condition holds, looking often at first and then less.
///
/// # Panics
///
/// When it does not hold within the timeout, or what that is on a machine that
/// others are using ([`crowded`]); `what` is the end of "gave up waiting for".
#[track_caller]
pub fn wait_until(timeout: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    while !condition() {
        let took = began.elapsed();
        assert!(
            took < timeout || took < crowded(timeout),
            "gave up waiting for {what} after {took:?}"
        );
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// A bound for what takes so long at most on a machine that does nothing else, where others
/// may be using this one.
pub fn crowded(bound: Duration) -> Duration {
    bound.mul_f64(crowding())
}

/// How many processes want each processor: 1 or more. Which of them are running now counts
/// where the average of the last minute does not know of them yet.
fn crowding() -> f64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut fields = load.split([' ', '/']);
    let average: f64 = fields.next().and_then(|load| load.parse().ok()).unwrap_or(1.0);
    let running: f64 = fields.nth(2).and_then(|running| running.parse().ok()).unwrap_or(1.0);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (average.max(running) / cores as f64).max(1.0)
}
