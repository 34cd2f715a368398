//! Free ports of 127.0.0.1, away from those that servers have by default, and below those that the
//! system hands out by itself.

use std::net::TcpListener;
use std::ops::Range;

use rand::Rng;

const PORTS: Range<u16> = 15_432..32_000;

/// The lowest port that nobody has and that is not among `taken`, if there is one.
pub fn free_port(taken: &[u16]) -> Option<u16> {
    PORTS.into_iter().find(|port| !taken.contains(port) && is_free(*port))
}

/// A free port that others, who look at the same time, do not find as well, if luck has it; `None`
/// where hardly any is free.
pub fn free_port_at_random() -> Option<u16> {
    let mut rng = rand::rng();
    (0..10_000).map(|_| rng.random_range(PORTS)).find(|port| is_free(*port))
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_somebody_has_or_is_to_have_is_not_free() {
        let first = free_port(&[]).expect("some are free");
        assert_ne!(free_port(&[first]), Some(first));
        let _held = TcpListener::bind(("127.0.0.1", first)).expect("it was free");
        assert_ne!(free_port(&[]), Some(first));
    }
}
