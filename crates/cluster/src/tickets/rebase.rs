//! How far above what it remembers a server must go on that has forgotten numbers.

use std::collections::BTreeMap;

use crate::names::TicketName;

/// The room left above everything known, in numbers.
pub const MARGIN: u64 = 100_000;

/// How many times faster than ever seen a server may have been while nobody looked.
const HASTE: u64 = 4;

/// The pace that any server may have had, in numbers a second, and how far that may have taken
/// it. A backup that is put back a second time knows nothing of the jump of the first.
const PACE_MIN: u128 = 100;
const BY_TIME_MAX: u128 = 50_000_000;

/// The shortest time in which a pace is told: of two looks at one moment, or with the clock set back in between, nobody
/// knows how quick the server was.
const SPENT_MIN_US: i64 = 1_000_000;

/// How long the highest pace counts that was seen of a server, whatever later looks find.
const KEPT_US: i64 = 86_400_000_000;

/// A guess takes at most this share of the numbers that are left above what is known, so that none uses a ticket up. Of
/// tickets that end at the largest bigint that is more than can be reached.
const SHARE: u64 = 16;

/// How far a server was at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeenAt {
    /// The last number it had handed out.
    pub number: u64,
    /// When, in microseconds since 1970.
    pub at_us: i64,
}

/// How far tickets were on all of their servers together.
pub type Notes = BTreeMap<TicketName, Seen>;

/// How far a server was when it was last looked at, and at the time before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// The last look; `None` where there was none yet. Where it found the server slower than it was known to be, as one
    /// that was restored may be, the instant is that of the look before.
    pub last: Option<SeenAt>,
    /// The look before.
    pub before: Option<SeenAt>,
}

impl Seen {
    /// The highest number that is known to have been handed out; 0 for none.
    pub fn high_water(&self) -> u64 {
        self.last.map_or(0, |seen| seen.number)
    }

    /// The same after another look.
    ///
    /// One that finds the server no further tells nothing: it may have handed out nothing, or be from a backup, and then the
    /// numbers since were handed out, at the pace and for the time that are known here.
    #[must_use]
    pub fn then(self, look: SeenAt) -> Self {
        let Some(last) = self.last else { return Self { last: Some(look), before: None } };
        if look.number <= last.number {
            return self;
        }
        let seen = Pace {
            grown: look.number - last.number,
            spent_us: look.at_us.saturating_sub(last.at_us),
        };
        // After a day at less than that the time since then tells more of its pace than what was known, which goes down
        // by halves. Not before: looks at a server that was restored, and of which nobody has said so yet, may be many.
        let known = self.pace().map(|pace| match seen.spent_us >= KEPT_US {
            true => Pace { grown: pace.grown / 2, ..pace },
            false => pace,
        });
        match known.filter(|known| known.is_above(&seen)) {
            // It counts from then on as before: a server that was restored to a moment after the last look is
            // further, too.
            Some(known) => Self::at_pace(SeenAt { at_us: last.at_us, ..look }, Some(known)),
            None => Self::at_pace(look, Some(seen)),
        }
    }

    /// The same where the server was raised: nobody has taken the numbers in between, so that
    /// they say nothing of its pace.
    #[must_use]
    pub fn raised(self, to: SeenAt) -> Self {
        let number = to.number.max(self.high_water());
        Self::at_pace(SeenAt { number, ..to }, self.pace())
    }

    fn at_pace(last: SeenAt, pace: Option<Pace>) -> Self {
        let before = pace.map(|pace| SeenAt {
            number: last.number.saturating_sub(pace.grown),
            at_us: last.at_us.saturating_sub(pace.spent_us),
        });
        Self { last: Some(last), before }
    }

    fn pace(&self) -> Option<Pace> {
        let (last, before) = (self.last?, self.before?);
        let grown = last.number.saturating_sub(before.number);
        let spent_us = last.at_us.saturating_sub(before.at_us);
        (grown > 0).then_some(Pace { grown, spent_us })
    }

    /// What is known of several servers as that of one: the highest number, the highest pace, and a time since which
    /// that leads at least as far as any of them may have got.
    ///
    /// One number is enough to go on above for each of them.
    pub fn of_all(servers: impl IntoIterator<Item = Self>) -> Self {
        let all: Vec<Self> = servers.into_iter().collect();
        let lasts = || all.iter().filter_map(|seen| seen.last);
        let Some(number) = lasts().map(|seen| seen.number).max() else { return Self::default() };
        let at_us = lasts().map(|seen| seen.at_us).max().unwrap_or(0);
        let paces = all.iter().filter_map(Self::pace);
        let pace = paces.reduce(|one, other| if other.is_above(&one) { other } else { one });
        let together = Self::at_pace(SeenAt { number, at_us }, pace);
        let farthest = all.iter().map(|seen| seen.reach(at_us)).max().unwrap_or(0);
        let lacks = farthest.saturating_sub(together.reach(at_us));
        if lacks == 0 {
            return together;
        }
        let of_any = time_of_any(farthest.saturating_sub(number));
        let earlier = pace.map_or(of_any, |pace| pace.time_of(lacks).min(of_any));
        Self::at_pace(SeenAt { number, at_us: at_us.saturating_sub(earlier) }, pace)
    }

    /// The highest number that the server may have reached by `now_us`: as far
    /// as it was last seen, and on from there at several times its pace.
    ///
    /// Its pace counts from the look before: the last one may have been after a restore, and before anybody said so.
    pub(crate) fn reach(&self, now_us: i64) -> u64 {
        let Some(last) = self.last else { return 0 };
        // Where the last look seems to be later than now, clocks differ by as much at least.
        let elapsed = now_us.abs_diff(last.at_us);
        let by_pace = self.pace().map_or(0, |pace| {
            let spent = u64::try_from(pace.spent_us).unwrap_or(0);
            pace.grown_in(elapsed.saturating_add(spent))
        });
        let by_time = (u128::from(elapsed) * PACE_MIN / 1_000_000).min(BY_TIME_MAX);
        let grown = by_pace.max(u64::try_from(by_time).unwrap_or(u64::MAX));
        last.number.saturating_add(grown)
    }
}

/// How many numbers were handed out, and in which time.
#[derive(Debug, Clone, Copy)]
struct Pace {
    grown: u64,
    spent_us: i64,
}

impl Pace {
    fn spent(&self) -> u128 {
        u128::try_from(self.spent_us.max(SPENT_MIN_US)).unwrap_or(1)
    }

    fn is_above(&self, other: &Self) -> bool {
        u128::from(self.grown) * other.spent() > u128::from(other.grown) * self.spent()
    }

    /// How many numbers it may have been in that time.
    fn grown_in(&self, elapsed_us: u64) -> u64 {
        let most = u128::from(self.grown) * u128::from(HASTE);
        // Rounded up: no other way of adding these up leads further.
        let grown = most.saturating_mul(u128::from(elapsed_us)).div_ceil(self.spent());
        u64::try_from(grown).unwrap_or(u64::MAX)
    }

    /// The time in which it may have been so many numbers.
    fn time_of(&self, numbers: u64) -> i64 {
        let most = u128::from(self.grown) * u128::from(HASTE);
        let time = u128::from(numbers).saturating_mul(self.spent()).div_ceil(most.max(1));
        i64::try_from(time).unwrap_or(i64::MAX)
    }
}

/// The time in which any server may have handed out so many numbers.
fn time_of_any(numbers: u64) -> i64 {
    let time = u128::from(numbers) * 1_000_000;
    i64::try_from(time.div_ceil(PACE_MIN)).unwrap_or(i64::MAX)
}

/// A floor above every number that a server can have handed out before it
/// forgot: above what it remembers, what was seen of it, and what its peers
/// have reached, who get the same share of the work.
///
/// This is a guess where nobody looked for long, which is why it is generous;
/// numbers are not scarce, repeated ones are fatal.
pub fn safe_floor(
    remembers: u64,
    seen: &Seen,
    peers: impl IntoIterator<Item = u64>,
    now_us: i64,
) -> u64 {
    let known = peers.into_iter().chain([remembers, seen.reach(now_us)]).max().unwrap_or(0);
    known.saturating_add(MARGIN)
}

/// A floor that is a guess, in a ticket whose largest number is `largest`, where numbers up to `known` were handed out.
///
/// Where less than the margin is left, it ends: that is better than a number twice.
pub(crate) fn floor_within(floor: u64, known: u64, largest: u64) -> u64 {
    let left = largest.saturating_sub(known);
    let most = (left / SHARE).max(MARGIN);
    floor.min(known.saturating_add(most)).min(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    fn seen(number: u64, at: i64) -> SeenAt {
        SeenAt { number, at_us: at * SECOND }
    }

    #[test]
    fn a_server_goes_on_above_all_that_is_known_of_it() {
        let known = Seen::default().then(seen(5_000, 10));
        assert_eq!(safe_floor(1_000, &known, [], 10 * SECOND), 5_000 + MARGIN);
        assert_eq!(safe_floor(6_000, &known, [], 10 * SECOND), 6_000 + MARGIN);
        assert_eq!(safe_floor(1_000, &known, [9_000], 10 * SECOND), 9_000 + MARGIN);
    }

    #[test]
    fn the_time_since_the_look_before_the_last_counts_at_several_times_its_pace() {
        // A thousand numbers a second, and nobody looked for a hundred seconds.
        let known = Seen::default().then(seen(0, 0)).then(seen(10_000, 10));
        let floor = safe_floor(0, &known, [], 110 * SECOND);
        assert_eq!(floor, 10_000 + 4 * 110_000 + MARGIN);
    }

    /// `verify` runs every few minutes, also between a restore and whoever says that it was one.
    #[test]
    fn a_look_at_a_restored_server_takes_no_room_away() {
        let looks = [seen(0, 0), seen(400_000, 20), seen(800_000, 40)];
        let known = looks.into_iter().fold(Seen::default(), Seen::then);
        // Twenty seconds later it had given 1,200,000, and came back from a backup that was taken then, or a bit later.
        for back in [0, 500_000, 800_000, 800_001, 850_000] {
            for at in [60, 61, 600] {
                let mut after = known.then(seen(back, at));
                assert!(after.reach((at + 1) * SECOND) > 1_200_000, "{back} {at}");
                if back <= 800_000 {
                    assert_eq!(after, known);
                }
                after = after.raised(seen(2_000_000, at));
                assert!(after.reach((at + 60) * SECOND) > 2_000_000 + 10_000 * 60, "{back} {at}");
            }
        }
        // A night without a number, and the first of the morning.
        let morning = known.then(seen(800_000, 30_000)).then(seen(810_000, 36_000));
        assert!(morning.reach(36_010 * SECOND) > 810_000 + 200_000);
    }

    #[test]
    fn servers_together_are_as_far_as_each_of_them_may_be() {
        let numbers = [0, 7, 90_000, 5_000_000];
        let times = [0, 1, 30, 86_400];
        let mut all = vec![];
        for number in numbers {
            for at in times {
                let first = Seen::default().then(seen(number, at));
                all.extend([first, first.then(seen(number + 3, at + 50))]);
                all.push(first.then(seen(number + 100_000, at + 5)));
            }
        }
        for one in &all {
            for other in &all {
                let both = Seen::of_all([*one, *other]);
                assert_eq!(both.high_water(), one.high_water().max(other.high_water()));
                for now in [86_460, 100_000, 400_000].map(|now| now * SECOND) {
                    let farthest = one.reach(now).max(other.reach(now));
                    assert!(both.reach(now) >= farthest, "{one:?} {other:?} {now}");
                }
            }
        }
    }

    #[test]
    fn a_guess_leaves_room_in_a_ticket_and_goes_never_beyond_its_end() {
        let end = u64::from(u32::MAX);
        // Seven hundred numbers between two looks at one moment, or a number that was raised by hand.
        for (before, after, spent) in [(700, 1_400, -10), (700, 1_400, 0), (11, 200_000_000, 1)] {
            let known = Seen::default().then(seen(before, 10)).then(seen(after, 10 + spent));
            let floor = safe_floor(0, &known, [], 1_000_000 * SECOND);
            let within = floor_within(floor, after, end);
            assert!(within > after + MARGIN && within <= after + end / SHARE, "{within}");
        }
        assert_eq!(floor_within(5_000 + MARGIN, 5_000, end), 5_000 + MARGIN);
        assert_eq!(floor_within(end - 7 + MARGIN, end - 7, end), end);
        assert_eq!(floor_within(u64::MAX, 5, u64::MAX), 5 + (u64::MAX - 5) / SHARE);
    }

    #[test]
    fn a_backup_that_is_put_back_twice_goes_on_above_what_came_after_the_first_time() {
        let known = Seen::default().then(seen(300, 10));
        let first = safe_floor(300, &known, [], 20 * SECOND);
        let second = safe_floor(300, &known, [], 40 * SECOND);
        assert_eq!(second - first, 2_000);
        let later = safe_floor(300, &known, [], 10_000_000 * SECOND);
        assert_eq!(later, 300 + 50_000_000 + MARGIN);
    }

    #[test]
    fn servers_together_have_the_highest_number_and_the_highest_pace() {
        assert_eq!(Seen::of_all([]), Seen::default());
        // Ten numbers a second at a high one, and a thousand a second at a low one.
        let high = Seen::default().then(seen(9_000, 0)).then(seen(9_100, 10));
        let quick = Seen::default().then(seen(0, 0)).then(seen(5_000, 5));
        let both = Seen::of_all([high, quick, Seen::default()]);
        assert_eq!(both.high_water(), 9_100);
        // The quick one may have gone on for twenty seconds.
        assert_eq!(both.reach(20 * SECOND), quick.reach(20 * SECOND));
        assert_eq!(both.reach(20 * SECOND), 5_000 + 4 * 20_000);
        assert_eq!(Seen::of_all([quick, high]), both);
    }

    #[test]
    fn a_server_that_was_restored_to_a_moment_after_the_last_look_has_room_for_all_the_time_since()
    {
        let pace = 50_000;
        let looks = Seen::default().then(seen(1_000_000, 0)).then(seen(1_000_000 + 2 * pace, 2));
        // It was backed up a second later, went on for twenty, and was put back; and then somebody looked.
        let restored = looks.then(seen(1_000_000 + 3 * pace, 23));
        assert!(restored.reach(24 * SECOND) > 1_000_000 + 23 * pace, "{restored:?}");
        // A young one, however long it went on, and however often somebody looked while its log was put back.
        for outage in [40, 150, 3_600, 80_000] {
            let mut restored = Seen::default().then(seen(0, 0)).then(seen(2 * pace, 2));
            for look in 0..5 {
                let (number, at) = ((3 + look) * pace, outage + 3 + look.cast_signed());
                restored = restored.then(seen(number, at));
                let handed_out = outage.cast_unsigned() * pace;
                assert!(
                    restored.reach((at + 1) * SECOND) > handed_out,
                    "{outage} {look}: {restored:?}"
                );
            }
        }
        // After a day it is known by what it does now, within as many looks as halve its pace to that.
        let slow = (1..40)
            .fold(Seen::default().then(seen(0, 0)).then(seen(pace, 1)), |known, look| {
                known.then(seen(pace + look, 86_400 + 300 * look.cast_signed()))
            });
        assert!(slow.reach(98_400 * SECOND) < 2 * pace, "{slow:?}");
    }

    #[test]
    fn a_clock_that_went_back_and_a_number_that_shrank_do_no_harm() {
        let known = Seen::default().then(seen(7_000, 50)).then(seen(6_000, 40));
        assert_eq!(known.high_water(), 7_000);
        assert_eq!(safe_floor(0, &known, [], 0), 7_000 + 100 * 50 + MARGIN);
        // Looked from a host that is 10 s ahead, and 7 s before: a thousand numbers a second were handed out meanwhile.
        let ahead = Seen::default().then(seen(0, 15)).then(seen(5_000, 20));
        assert!(ahead.reach(17 * SECOND) > 5_000 + 7_000);
        let end = Seen::default().then(seen(u64::MAX - 5, 1));
        assert_eq!(safe_floor(0, &end, [], SECOND), u64::MAX);
    }
}
