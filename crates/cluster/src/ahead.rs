//! Has a node lost rows that it had: those that an old copy has followed, those that had come to it
//! when a move was switched, or those that have gone from it to a new copy?

use std::fmt;

/// A server and the timeline of its writes: a promotion or a restore begins another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lineage {
    /// The server's system identifier.
    pub system_identifier: i64,
    /// The timeline.
    pub timeline: u32,
}

/// What a node says of where its writes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descent {
    /// What it is now.
    pub now: Lineage,
    /// The database's number on that server.
    pub database: u32,
    /// Up to where its writes are on disk.
    pub position: u64,
    /// Earlier timelines, with the position at which each was left; empty where that is not for
    /// us to know.
    pub left: Vec<(u32, u64)>,
}

/// What a node was when all rows of a shard had come to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// The server, and the timeline.
    pub of: Lineage,
    /// The database's number on that server.
    pub database: u32,
    /// Up to where all of it was on disk.
    pub position: u64,
}

/// What a node was when a copy of a shard of it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The server, and the timeline.
    pub of: Lineage,
    /// The database's number on that server.
    pub database: u32,
}

/// Why a node may have lost rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// It was another server.
    OtherServer,
    /// It was another database of the same server.
    OtherDatabase,
    /// It followed an earlier timeline beyond where that was left, or nobody knows how far.
    OtherTimeline {
        /// That one; `None` where the journal is too old to say.
        followed: Option<u32>,
        /// The one that the node is on.
        now: u32,
    },
    /// It has what the node has not written yet.
    Beyond,
    /// It has lost nothing: the node of the copy was open again after the shard had gone.
    Reopened,
    /// What it followed by is gone: a database that was restored has none, and one that was dropped by
    /// hand looks the same.
    NoSlot,
}

/// Whether an old copy may have rows that the node which it follows has lost, in a promotion or
/// a restore.
///
/// `followed` is what the node was when the copy began to follow it, as the journal notes it;
/// `reached` is up to which position of it the copy has got, if its server still knows;
/// `has_slot` tells whether what it follows by is there, which comes through neither: where not even a
/// promotion tells why it is gone, the database may be another one of the same server.
pub fn ahead(
    followed: Option<Lineage>,
    owner: &Descent,
    reached: Option<u64>,
    has_slot: bool,
) -> Option<Ahead> {
    let now = owner.now.timeline;
    let Some(followed) = followed else {
        return match reached {
            Some(reached) if reached > owner.position => Some(Ahead::Beyond),
            _ if has_slot => None,
            _ if now == 1 => Some(Ahead::NoSlot),
            _ => Some(Ahead::OtherTimeline { followed: None, now }),
        };
    };
    if followed.system_identifier != owner.now.system_identifier {
        return Some(Ahead::OtherServer);
    }
    if followed.timeline == now {
        let is_beyond = reached.is_some_and(|reached| reached > owner.position);
        return match is_beyond {
            true => Some(Ahead::Beyond),
            false => (!has_slot).then_some(Ahead::NoSlot),
        };
    }
    let left = owner.left.iter().find(|(timeline, _)| *timeline == followed.timeline);
    match (left, reached) {
        // All that the copy has had was written before the node went its own way.
        (Some((_, left)), Some(reached)) if reached <= *left => None,
        _ => Some(Ahead::OtherTimeline { followed: Some(followed.timeline), now }),
    }
}

/// Whether a node may have lost rows since all of a shard had come to it: whatever happened to it, what it
/// has now does not go back to that moment.
pub fn lost(whole: &Whole, now: &Descent) -> Option<Ahead> {
    let is_server = whole.of.system_identifier == now.now.system_identifier;
    if is_server && whole.database != now.database {
        return Some(Ahead::OtherDatabase);
    }
    ahead(Some(whole.of), now, Some(whole.position), true)
}

/// Whether a new copy may have rows that the node which it is made from has lost, in a promotion or a
/// restore.
///
/// `origin` is what the node was when the copy began, as the journal notes it; `reached` is up to which
/// position of it the copy has got; `has_slot` tells whether what it follows by is there.
pub fn copy_ahead(
    origin: Option<Origin>,
    now: &Descent,
    reached: Option<u64>,
    has_slot: bool,
) -> Option<Ahead> {
    let other = |origin: &Origin| {
        origin.of.system_identifier == now.now.system_identifier && origin.database != now.database
    };
    if origin.as_ref().is_some_and(other) {
        return Some(Ahead::OtherDatabase);
    }
    ahead(origin.map(|origin| origin.of), now, reached, has_slot)
}

/// The same where no journal notes what the node was, but that it is the server which the copy is made from.
pub fn unnoted_copy_ahead(now: &Descent, reached: Option<u64>, has_slot: bool) -> Option<Ahead> {
    let first_left = now.left.iter().map(|(_, left)| *left).min();
    match (reached, first_left) {
        // Written before the node went its own way, whichever of its timelines that was on.
        (Some(reached), Some(left)) if reached <= left => None,
        // Whether it has come to that position since, tells nothing.
        (Some(_), Some(_)) if !has_slot => {
            Some(Ahead::OtherTimeline { followed: None, now: now.now.timeline })
        }
        // That only the slot is gone tells nothing here: a move that was given up without the copy's node has dropped it.
        _ => copy_ahead(None, now, reached, has_slot).filter(|why| *why != Ahead::NoSlot),
    }
}

impl fmt::Display for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherServer => f.write_str("it was restored to another server"),
            Self::OtherDatabase => f.write_str("it was restored to another database"),
            Self::OtherTimeline { followed: Some(followed), now } => write!(
                f,
                "it was promoted or restored, and is on timeline {now}, which does not have all of timeline {followed}"
            ),
            Self::OtherTimeline { followed: None, now } => {
                write!(f, "it was promoted or restored, and is on timeline {now}")
            }
            Self::Beyond => f.write_str("it was restored, and is behind what it had"),
            Self::Reopened => f.write_str(
                "it was promoted or restored without the fence, and was open",
            ),
            Self::NoSlot => f.write_str(
                "the replication slot is gone, as where the database was restored; where somebody has dropped the slot, nothing is lost",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn on(timeline: u32) -> Lineage {
        Lineage { system_identifier: 7, timeline }
    }

    fn owner(timeline: u32, position: u64, left: &[(u32, u64)]) -> Descent {
        Descent { now: on(timeline), database: 5, position, left: left.to_vec() }
    }

    #[test]
    fn a_copy_is_ahead_beyond_where_its_timeline_was_left_and_not_up_to_there() {
        let promoted = owner(2, 900, &[(1, 500)]);
        assert_eq!(ahead(Some(on(1)), &promoted, Some(500), false), None);
        let further = Some(Ahead::OtherTimeline { followed: Some(1), now: 2 });
        assert_eq!(ahead(Some(on(1)), &promoted, Some(501), false), further);
        // Nobody knows how far it got, or where the timeline was left.
        assert_eq!(ahead(Some(on(1)), &promoted, None, false), further);
        assert_eq!(ahead(Some(on(1)), &owner(2, 900, &[]), Some(400), false), further);
        // It has followed what the node is.
        assert_eq!(ahead(Some(on(2)), &promoted, Some(900), true), None);
        assert_eq!(ahead(Some(on(2)), &promoted, None, true), None);
        assert_eq!(ahead(Some(on(2)), &promoted, Some(900), false), Some(Ahead::NoSlot));
        assert_eq!(ahead(Some(on(2)), &promoted, Some(901), true), Some(Ahead::Beyond));
        let other = Lineage { system_identifier: 8, timeline: 1 };
        assert_eq!(
            ahead(Some(other), &owner(1, 900, &[]), Some(1), true),
            Some(Ahead::OtherServer)
        );
    }

    #[test]
    fn without_a_note_the_first_timeline_or_a_slot_tells() {
        assert_eq!(ahead(None, &owner(1, 900, &[]), Some(900), true), None);
        assert_eq!(ahead(None, &owner(1, 900, &[]), Some(900), false), Some(Ahead::NoSlot));
        assert_eq!(ahead(None, &owner(1, 900, &[]), Some(901), false), Some(Ahead::Beyond));
        assert_eq!(ahead(None, &owner(3, 900, &[]), Some(900), true), None);
        let unknown = Some(Ahead::OtherTimeline { followed: None, now: 3 });
        assert_eq!(ahead(None, &owner(3, 900, &[(2, 800)]), Some(1), false), unknown);
    }

    #[test]
    fn what_is_written_before_the_first_timeline_was_left_is_lost_on_none() {
        let promoted = owner(3, 900, &[(1, 500), (2, 700)]);
        assert_eq!(unnoted_copy_ahead(&promoted, Some(500), false), None);
        let further = Some(Ahead::OtherTimeline { followed: None, now: 3 });
        assert_eq!(unnoted_copy_ahead(&promoted, Some(501), false), further);
        assert_eq!(unnoted_copy_ahead(&promoted, Some(901), false), further);
        assert_eq!(unnoted_copy_ahead(&promoted, None, false), further);
        assert_eq!(unnoted_copy_ahead(&promoted, Some(501), true), None);
        let first = owner(1, 900, &[]);
        assert_eq!(unnoted_copy_ahead(&first, Some(1), true), None);
        assert_eq!(unnoted_copy_ahead(&first, Some(1), false), None);
        assert_eq!(unnoted_copy_ahead(&first, Some(901), true), Some(Ahead::Beyond));
    }

    #[test]
    fn a_node_has_lost_rows_unless_it_goes_back_to_the_moment_at_which_it_had_them_all() {
        let whole = |timeline, position| Whole { of: on(timeline), database: 5, position };
        assert_eq!(lost(&whole(1, 500), &owner(1, 500, &[])), None);
        assert_eq!(lost(&whole(1, 501), &owner(1, 500, &[])), Some(Ahead::Beyond));
        let promoted = owner(3, 900, &[(1, 500), (2, 700)]);
        assert_eq!(lost(&whole(1, 500), &promoted), None);
        assert_eq!(lost(&whole(2, 700), &promoted), None);
        let behind = |followed| Some(Ahead::OtherTimeline { followed: Some(followed), now: 3 });
        assert_eq!(lost(&whole(1, 501), &promoted), behind(1));
        assert_eq!(lost(&whole(2, 701), &promoted), behind(2));
        // Nobody can read where the timeline was left.
        assert_eq!(lost(&whole(1, 1), &owner(3, 900, &[])), behind(1));
        let other = Whole { database: 6, ..whole(1, 500) };
        assert_eq!(lost(&other, &owner(1, 900, &[])), Some(Ahead::OtherDatabase));
        let of = Lineage { system_identifier: 8, timeline: 1 };
        assert_eq!(lost(&Whole { of, ..other }, &owner(1, 900, &[])), Some(Ahead::OtherServer));
    }

    #[test]
    fn a_new_copy_may_have_what_a_promoted_or_restored_source_has_lost() {
        let origin = Some(Origin { of: on(1), database: 5 });
        assert_eq!(copy_ahead(origin, &owner(1, 500, &[]), Some(500), true), None);
        assert_eq!(copy_ahead(origin, &owner(1, 500, &[]), None, true), None);
        let beyond = Some(Ahead::Beyond);
        assert_eq!(copy_ahead(origin, &owner(1, 500, &[]), Some(501), true), beyond);
        assert_eq!(copy_ahead(origin, &owner(1, 500, &[]), Some(500), false), Some(Ahead::NoSlot));
        let promoted = owner(2, 900, &[(1, 500)]);
        assert_eq!(copy_ahead(origin, &promoted, Some(500), false), None);
        let further = Some(Ahead::OtherTimeline { followed: Some(1), now: 2 });
        assert_eq!(copy_ahead(origin, &promoted, Some(501), false), further);
        // What it followed by on the copy's side is gone, too.
        assert_eq!(copy_ahead(origin, &promoted, None, true), further);
        let of = Lineage { system_identifier: 8, timeline: 1 };
        let other = Some(Origin { of, database: 6 });
        assert_eq!(copy_ahead(other, &promoted, Some(1), true), Some(Ahead::OtherServer));
        let other = Some(Origin { of: on(1), database: 6 });
        assert_eq!(
            copy_ahead(other, &owner(1, 500, &[]), Some(1), true),
            Some(Ahead::OtherDatabase)
        );
    }

    proptest! {
        /// Writes of a server, by timeline: each later one begins somewhere in those before.
        #[test]
        fn a_copy_that_has_what_the_owner_has_not_is_always_ahead(
            ends in prop::collection::vec((1u64..1000, 0u64..1000), 1..5),
            followed in 0usize..5, reached in 1u64..1000,
        ) {
            let mut left: Vec<(u32, u64)> = Vec::new();
            let mut written = Vec::new();
            let mut from = 0;
            for (n, (length, cut)) in (1u32..).zip(&ends) {
                let end = from + length;
                written.push((n, end));
                from += cut % (length + 1);
                left.push((n, from));
            }
            let (now, position) = written.pop().expect("there is one");
            left.pop();
            let followed = followed % ends.len();
            let timeline = u32::try_from(followed + 1).expect("few");
            // What the copy got on that timeline, which is no more than was written there.
            let most = written.get(followed).map_or(position, |(_, end)| *end);
            let reached = reached.min(most);
            let kept = left.get(followed).map_or(position, |(_, left)| *left);
            let owner = owner(now, position, &left);
            let has_slot = timeline == owner.now.timeline;
            let found = ahead(Some(on(timeline)), &owner, Some(reached), has_slot);
            prop_assert_eq!(found.is_some(), reached > kept);
        }
    }
}
