//! The lease rule: up to where a shard's position must be safe in WAL.
//!
//! A lease is an index, a position in a shard's stream of ids: all up to that one are
//! covered by a WAL record. It is extended at half-time, long before it is needed, so that the
//! record has been flushed when the first id beyond the old lease goes out.

/// What to log before an id of some index may be handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// Nothing: the lease covers it and will for a while.
    Keep,
    /// The old lease still covers the id; log a new one now and don't wait for it.
    Extend(i64),
    /// Nothing covers the id yet: log this lease and wait until it is flushed.
    Must(i64),
}

/// Decides about the lease for ids up to index `index`.
///
/// `leased` is the last index that a record covers, if one does. `lease` is the length of a lease;
/// one is extended when no more than `left` of the last one are left, half of it. `ahead_max` is how
/// far ahead of `index` an extension may reach, so that a crash leaves no more drift than is
/// allowed. No lease reaches past `last`, the layout's end.
pub fn renew(
    index: i64,
    leased: Option<i64>,
    lease: i64,
    left: i64,
    ahead_max: i64,
    last: i64,
) -> Renewal {
    match leased {
        Some(until) if index <= until => {
            let left = left.max(1);
            let new = (until + lease).min(index + ahead_max.max(lease)).min(last);
            if index + left > until && new > until { Renewal::Extend(new) } else { Renewal::Keep }
        }
        _ => Renewal::Must(index.saturating_add(lease).min(last)),
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
            lease in 0i64..2_000, left in 0i64..2_000, ahead_max in 0i64..20_000,
        ) {
            let (mut tick, mut leased) = (0, None);
            for step in steps {
                tick += step;
                let before = leased;
                match renew(tick, leased, lease, left, ahead_max, 1 << 40) {
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
                renew(tick, leased, 1_000, 500, 10_000, 1 << 40)
            {
                leased = Some(new);
                records += 1;
            }
        }
        assert_eq!(records, 101);
    }

    #[test]
    fn the_layouts_end_is_never_passed_and_ends_the_extensions() {
        assert_eq!(renew(95, None, 10, 5, 100, 99), Renewal::Must(99));
        assert_eq!(renew(96, Some(99), 10, 5, 100, 99), Renewal::Keep);
        assert_eq!(renew(99, Some(99), 10, 5, 100, 99), Renewal::Keep);
    }

    #[test]
    fn the_shortest_lease_is_the_id_alone() {
        assert_eq!(renew(5, None, 0, 0, 0, 99), Renewal::Must(5));
        assert_eq!(renew(5, Some(5), 0, 0, 0, 99), Renewal::Keep);
        assert_eq!(renew(6, Some(5), 0, 0, 0, 99), Renewal::Must(6));
        assert_eq!(renew(6, Some(6), 1, 0, 0, 99), Renewal::Extend(7));
    }
}
