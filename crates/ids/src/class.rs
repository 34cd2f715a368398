//! Classes of numbers: those that several servers share out by offset and step.

/// The numbers that one of several servers hands out: every `servers`-th, from `server` on.
///
/// Two servers have the odd and the even numbers. No number is in the classes
/// of two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    server: i64,
    servers: i64,
}

impl Class {
    /// All numbers.
    pub const ALL: Self = Self { server: 1, servers: 1 };

    /// The class of the numbers that differ from `server` by multiples of `servers`.
    ///
    /// `None` where `servers` is not positive.
    pub fn new(server: i64, servers: i64) -> Option<Self> {
        (servers > 0).then_some(Self { server, servers })
    }

    /// What its numbers differ by.
    pub fn step(self) -> i64 {
        self.servers
    }

    /// The lowest number of the class above `number`, if there is one.
    pub fn above(self, number: i64) -> Option<i64> {
        let ahead = number.rem_euclid(self.servers) - self.server.rem_euclid(self.servers);
        number.checked_add(self.servers - ahead.rem_euclid(self.servers))
    }

    /// The next `count` numbers of the class above `last`, as the first and the
    /// last of them; `None` where one would be above `top`, or `count` is below 1.
    pub fn run(self, last: i64, count: i64, top: i64) -> Option<(i64, i64)> {
        let first = self.above(last)?;
        let length = count.checked_sub(1).filter(|&more| more >= 0)?.checked_mul(self.servers)?;
        let end = first.checked_add(length)?;
        (end <= top).then_some((first, end))
    }

    /// How many numbers after `end`, which is at most `top`, can be made safe ahead:
    /// `ahead` of them, or all up to `top`.
    pub fn room(self, end: i64, ahead: i64, top: i64) -> i64 {
        ahead.min(top.saturating_sub(end) / self.servers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_follow_one_another_and_stay_in_the_class(
            server in 1i64..1000, more in 0i64..1000, last in -2_000i64..i64::MAX, count in 1i64..5_000,
        ) {
            let servers = server + more;
            let class = Class::new(server, servers).unwrap();
            if let Some((first, end)) = class.run(last, count, i64::MAX) {
                prop_assert!(first > last && first - last <= servers);
                prop_assert_eq!((first - server).rem_euclid(servers), 0);
                prop_assert_eq!(end, first + (count - 1) * servers);
                if let Some((next, _)) = class.run(end, 1, i64::MAX) {
                    prop_assert_eq!(next, end + servers);
                }
            } else {
                let wanted = i128::from(last) + i128::from(count) * i128::from(servers);
                prop_assert!(wanted + i128::from(servers) > i128::from(i64::MAX));
            }
        }

        #[test]
        fn no_two_servers_share_a_number(servers in 2i64..1000, last in 0i64..1_000_000) {
            let mut numbers: Vec<i64> = (1..=servers)
                .map(|server| Class::new(server, servers).unwrap().above(last).unwrap())
                .collect();
            numbers.sort_unstable();
            let expected: Vec<i64> = (last + 1..=last + servers).collect();
            prop_assert_eq!(numbers, expected);
        }
    }

    #[test]
    fn the_end_is_given_out_and_never_passed() {
        let odd = Class::new(1, 2).unwrap();
        assert_eq!(odd.run(i64::MAX - 2, 1, i64::MAX), Some((i64::MAX, i64::MAX)));
        assert_eq!(odd.run(i64::MAX - 2, 2, i64::MAX), None);
        assert_eq!(odd.run(i64::MAX, 1, i64::MAX), None);
        assert_eq!(odd.run(9, 1, 10), None);
        assert_eq!(odd.run(8, 1, 9), Some((9, 9)));
        assert_eq!(odd.run(8, 0, 9), None);
        assert_eq!(odd.run(0, i64::MAX, i64::MAX), None);
        assert_eq!(Class::ALL.run(0, i64::MAX, i64::MAX), Some((1, i64::MAX)));
        assert_eq!(odd.above(i64::MIN), Some(i64::MIN + 1));
        assert_eq!(Class::new(1, 0), None);
    }

    #[test]
    fn what_is_safe_ahead_stays_below_the_end() {
        let odd = Class::new(1, 2).unwrap();
        assert_eq!(odd.room(1, 32, 1_000), 32);
        assert_eq!(odd.room(991, 32, 1_000), 4);
        assert_eq!(odd.room(999, 32, 999), 0);
        assert_eq!(odd.room(i64::MAX, 32, i64::MAX), 0);
    }
}
