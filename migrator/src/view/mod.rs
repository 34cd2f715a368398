//! How things look: tables, plans, JSON.

pub(crate) mod map;
pub(crate) mod moves;
pub(crate) mod plan;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod tickets;
pub(crate) mod verify;

use jiff::Timestamp;
use shardid_cluster::ShardSet;

/// An instant (Unix microseconds) in UTC, to the millisecond.
pub(crate) fn time(time_us: i64) -> String {
    match Timestamp::from_microsecond(time_us) {
        Ok(time) => format!("{time:.3}"),
        // Beyond the year 9999, where layouts of slow ticks end.
        Err(_) => format!("{} s after 1970", time_us / 1_000_000),
    }
}

/// The day of an instant (Unix microseconds).
pub(crate) fn day(time_us: i64) -> String {
    match Timestamp::from_microsecond(time_us) {
        Ok(time) => time.strftime("%Y-%m-%d").to_string(),
        Err(_) => "after the year 9999".to_owned(),
    }
}

/// Shards as ranges, cut where a line would get too long.
pub(crate) fn ranges(shards: &ShardSet) -> String {
    const LENGTH_MAX: usize = 40;
    let text = shards.to_string();
    if text.len() <= LENGTH_MAX {
        return text;
    }
    let cut = text[..LENGTH_MAX].rfind(',').unwrap_or(LENGTH_MAX);
    format!("{},…", &text[..cut])
}

/// `1 shard`, `32 shards`.
pub(crate) fn counted(count: impl Into<u64>, what: &str) -> String {
    match count.into() {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sets_are_cut_between_ranges() {
        let set: ShardSet = "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33".parse().unwrap();
        assert_eq!(ranges(&set), "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,…");
        assert_eq!(ranges(&"0-31".parse().unwrap()), "0-31");
    }

    #[test]
    fn times_are_utc_and_never_fail() {
        assert_eq!(time(1_795_248_000_123_456), "2026-11-21T08:00:00.123Z");
        assert_eq!(day(2_866_737_227_000_000), "2060-11-03");
        assert!(time(i64::MAX).ends_with("after 1970"));
    }
}
