//! Whose clock tells how much time lies between two looks.

use std::sync::atomic::{AtomicI64, Ordering};

/// How far the clock of the catalog's server is ahead of this machine's, in microseconds.
static AHEAD_US: AtomicI64 = AtomicI64::new(0);

/// Takes the clock of the catalog's server, which reads so many microseconds since 1970, for ours: looks are
/// made on many machines, and how much time lies between two of them is counted.
pub(super) fn follow(server_us: i64) {
    AHEAD_US.store(server_us.saturating_sub(machine_us()), Ordering::Relaxed);
}

/// Microseconds since 1970, by the clock of the catalog's server.
pub(crate) fn now_us() -> i64 {
    machine_us().saturating_add(AHEAD_US.load(Ordering::Relaxed))
}

fn machine_us() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.ok().and_then(|now| i64::try_from(now.as_micros()).ok()).unwrap_or(0)
}
