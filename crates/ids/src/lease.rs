//! The lease rule: up to where a shard's position must be safe in WAL.
//!
//! A lease is a tick: every id up to the end of that tick is covered by a WAL
//! record. It is extended at half-time, long before it is needed, so that the
//! record has been flushed when the first id beyond the old lease goes out.

/// What to log before an id of some tick may be handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// Nothing: the lease covers it and will for a while.
    Keep,
    /// The old lease still covers the id; log a new one now and don't wait for it.
    Extend(i64),
    /// Nothing covers the id yet: log this lease and wait until it is flushed.
    Must(i64),
}

/// Decides about the lease for an id of tick `tick`.
///
/// `leased` is the last tick that a record covers, if one does. `lease` is the
/// length of a lease in ticks (at least 1), and `ahead_max` how far ahead of
/// `tick` an extension may reach, so that a crash leaves no more drift than is
/// allowed. No lease reaches past `last_tick`, the layout's end.
pub fn renew(
    tick: i64,
    leased: Option<i64>,
    lease: i64,
    ahead_max: i64,
    last_tick: i64,
) -> Renewal {
    let lease = lease.max(1);
    match leased {
        Some(until) if tick <= until => {
            let half = (lease / 2).max(1);
            let new = (until + lease).min(tick + ahead_max.max(lease)).min(last_tick);
            if tick + half > until && new > until { Renewal::Extend(new) } else { Renewal::Keep }
        }
        _ => Renewal::Must(tick.saturating_add(lease).min(last_tick)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_id_is_ever_beyond_its_lease_and_leases_only_grow(
            steps in prop::collection::vec(0i64..700, 1..200),
            lease in 0i64..2_000, ahead_max in 0i64..20_000,
        ) {
            let (mut tick, mut leased) = (0, None);
            for step in steps {
                tick += step;
                let before = leased;
                match renew(tick, leased, lease, ahead_max, 1 << 40) {
                    Renewal::Keep => {}
                    Renewal::Extend(new) => {
                        // The id itself was covered by what had been logged before.
                        prop_assert!(before.is_some_and(|until| tick <= until && until < new));
                        leased = Some(new);
                    }
                    Renewal::Must(new) => leased = Some(new),
                }
                prop_assert!(leased >= before);
                prop_assert!(leased.is_some_and(|until| tick <= until));
                prop_assert!(leased.unwrap() - tick <= ahead_max.max(lease.max(1)));
            }
        }
    }

    #[test]
    fn a_busy_shard_logs_once_a_lease() {
        let (mut leased, mut records) = (None, 0);
        for tick in 0..100_000 {
            if let Renewal::Extend(new) | Renewal::Must(new) =
                renew(tick, leased, 1_000, 10_000, 1 << 40)
            {
                leased = Some(new);
                records += 1;
            }
        }
        assert_eq!(records, 101);
    }

    #[test]
    fn the_layouts_end_is_never_passed_and_ends_the_extensions() {
        assert_eq!(renew(95, None, 10, 100, 99), Renewal::Must(99));
        assert_eq!(renew(96, Some(99), 10, 100, 99), Renewal::Keep);
        assert_eq!(renew(99, Some(99), 10, 100, 99), Renewal::Keep);
    }

    #[test]
    fn the_shortest_lease_is_one_tick() {
        assert_eq!(renew(5, None, 0, 0, 99), Renewal::Must(6));
        assert_eq!(renew(5, Some(6), 0, 0, 99), Renewal::Keep);
        assert_eq!(renew(6, Some(6), 0, 0, 99), Renewal::Extend(7));
        assert_eq!(renew(7, Some(6), 0, 0, 99), Renewal::Must(8));
    }
}
