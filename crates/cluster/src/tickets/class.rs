//! Which numbers of a ticket does a server hand out, and how far is it?

use std::fmt;

use crate::names::NodeName;

/// The most servers that one ticket may have: each one more makes its numbers
/// sparser.
pub const SERVERS_MAX: usize = 1000;

/// Which numbers a server hands out: those that leave `server` modulo `servers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// 1 … servers.
    pub server: u32,
    /// How many servers there are; also the step from number to number.
    pub servers: u32,
}

impl Class {
    /// Whether a number is one of these.
    pub fn contains(self, number: u64) -> bool {
        number % u64::from(self.servers) == u64::from(self.server % self.servers)
    }

    /// The largest of these up to a number; 0 where there is none.
    pub fn at_or_below(self, number: u64) -> u64 {
        let servers = u64::from(self.servers);
        let beyond = (number % servers + servers - u64::from(self.server % self.servers)) % servers;
        number.saturating_sub(beyond)
    }
}

impl fmt::Display for Class {
    /// `2 of 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.server, self.servers)
    }
}

/// The class of each server of a ticket, in their order.
pub fn classes(servers: &[NodeName]) -> impl Iterator<Item = (&NodeName, Class)> {
    let count = u32::try_from(servers.len()).expect("checked when it was declared");
    servers.iter().zip(1..).map(move |(node, server)| (node, Class { server, servers: count }))
}

/// A ticket as one server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketState {
    /// The numbers it hands out.
    pub class: Class,
    /// The last number it handed out; the floor where there was none yet.
    pub last: u64,
    /// Every number of this class is above it.
    pub floor: u64,
    /// No number at or above it is handed out: the set of servers is being changed.
    pub ceiling: Option<u64>,
    /// The largest number there can be.
    pub max: u64,
}

impl TicketState {
    /// Whether it has forgotten a number of its own up to one that was seen, or was raised to.
    pub fn is_behind(&self, high_water: u64) -> bool {
        self.last < self.class.at_or_below(high_water)
    }

    /// Whether it hands out nothing more: the server was taken away from the ticket.
    pub fn has_ended(&self) -> bool {
        self.ceiling.is_some_and(|ceiling| self.last + 1 >= ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_servers_have_odd_and_even_numbers_and_three_have_thirds() {
        let of = |server, servers| {
            let class = Class { server, servers };
            (1..=9).filter(|n| class.contains(*n)).collect::<Vec<u64>>()
        };
        assert_eq!(of(1, 2), [1, 3, 5, 7, 9]);
        assert_eq!(of(2, 2), [2, 4, 6, 8]);
        assert_eq!(of(1, 3), [1, 4, 7]);
        assert_eq!(of(2, 3), [2, 5, 8]);
        assert_eq!(of(3, 3), [3, 6, 9]);
        assert_eq!(of(1, 1), (1..=9).collect::<Vec<u64>>());
        for servers in 1..=7 {
            for (server, number) in (1..=servers).flat_map(|s| (0..50).map(move |n| (s, n))) {
                let class = Class { server, servers };
                let below = (1..=number).rev().find(|n| class.contains(*n)).unwrap_or(0);
                assert_eq!(class.at_or_below(number), below, "{class} below {number}");
            }
        }
    }
}
