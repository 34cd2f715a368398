//! What does it take to start a server of any engine: a free port, and what its log says?

use std::path::Path;

use crate::failure::Failure;

/// How often a server is started that somebody else's leftovers keep down.
pub(super) const START_TRIES: u32 = 20;

/// A port of 127.0.0.1 that nobody has, and that is not among `taken`.
pub(super) fn free_port(taken: &[u16]) -> Result<u16, Failure> {
    shardid_servers::free_port(taken).ok_or_else(|| Failure::new("no port of 127.0.0.1 is free"))
}

/// What a log has got since it had so many bytes.
pub(super) fn said_since(log: &Path, from: u64) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let from = usize::try_from(from).unwrap_or(0).min(bytes.len());
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}
