//! Waiting for something to come true.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Waits until a condition holds, looking often at first and then less.
///
/// # Panics
///
/// When it does not hold within the timeout; `what` is the end of "gave up
/// waiting for".
#[track_caller]
pub fn wait_until(timeout: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_millis(1);
    while !condition() {
        assert!(Instant::now() < deadline, "gave up waiting for {what} after {timeout:?}");
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
