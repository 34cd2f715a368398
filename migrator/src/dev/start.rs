//! What does it take to start a server of any engine: a free port, and what its log says?

use std::net::TcpListener;
use std::path::Path;

use crate::failure::Failure;

/// Where free ports are looked for: away from 5432, and below those that the
/// system hands out by itself.
const PORTS: std::ops::Range<u16> = 15_432..32_000;

/// How often a server is started that somebody else's leftovers keep down.
pub(super) const START_TRIES: u32 = 20;

/// A port of 127.0.0.1 that nobody has, and that is not among `taken`.
pub(super) fn free_port(taken: &[u16]) -> Result<u16, Failure> {
    let free =
        |port: &u16| !taken.contains(port) && TcpListener::bind(("127.0.0.1", *port)).is_ok();
    PORTS.into_iter().find(free).ok_or_else(|| Failure::new("no port of 127.0.0.1 is free"))
}

/// What a log has got since it had so many bytes.
pub(super) fn said_since(log: &Path, from: u64) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let from = usize::try_from(from).unwrap_or(0).min(bytes.len());
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}
