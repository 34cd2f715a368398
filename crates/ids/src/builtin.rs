//! The layouts that come with shardid.

use crate::layout::Layout;

/// A built-in layout and where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// Its name in SQL and in the cluster file.
    pub name: &'static str,
    /// Whose scheme it is.
    pub from: &'static str,
    epoch_us: i64,
    tick_us: i64,
    ticks: i64,
    shards: i64,
    slots: i64,
}

impl Builtin {
    /// The layout itself.
    pub fn layout(&self) -> Layout {
        Layout::new(self.epoch_us, self.tick_us, Some(self.ticks), self.shards, self.slots)
            .expect("built-in layouts are inside the limits, see the tests below")
    }
}

/// The layout that functions speak of when none is named.
pub const DEFAULT_LAYOUT: &str = "instagram";

const MS: i64 = 1_000;
const SECOND: i64 = 1_000_000;

/// All built-in layouts, the default first.
pub const BUILTIN: [Builtin; 7] = [
    Builtin {
        name: DEFAULT_LAYOUT,
        from: "Instagram: 41 bits of milliseconds (40 keep the sign), 13 of shard, 10 of sequence",
        epoch_us: 1_767_225_600 * SECOND, // 2026-01-01
        tick_us: MS,
        ticks: 1 << 40,
        shards: 1 << 13,
        slots: 1 << 10,
    },
    Builtin {
        name: "snowflake",
        from: "Twitter Snowflake, Leaf-snowflake: shard = datacenter × 32 + worker",
        epoch_us: 1_288_834_974_657 * MS, // 2010-11-04 01:42:54.657
        tick_us: MS,
        ticks: 1 << 41,
        shards: 1 << 10,
        slots: 1 << 12,
    },
    Builtin {
        name: "uidgenerator",
        from: "Baidu UidGenerator with 29 bits of seconds",
        epoch_us: 1_474_300_800 * SECOND, // 2016-09-20 00:00 at +08
        tick_us: SECOND,
        ticks: 1 << 29,
        shards: 1 << 21,
        slots: 1 << 13,
    },
    Builtin {
        name: "log32",
        from: "32-bit Unix time, service id, counter; ends in 2038",
        epoch_us: 0,
        tick_us: SECOND,
        ticks: 1 << 31,
        shards: 1 << 10,
        slots: 1 << 22,
    },
    Builtin {
        name: "log32_2020",
        from: "log32 counted from 2020-01-01",
        epoch_us: 1_577_836_800 * SECOND, // 2020-01-01
        tick_us: SECOND,
        ticks: 1 << 31,
        shards: 1 << 10,
        slots: 1 << 22,
    },
    Builtin {
        name: "decimal19",
        from: "ten digits of Unix time, two of database, seven of serial",
        epoch_us: 0,
        tick_us: SECOND,
        ticks: 9_223_372_036,
        shards: 100,
        slots: 10_000_000,
    },
    Builtin {
        name: "js53",
        from: "stays below 2^53 for JavaScript",
        epoch_us: 1_767_225_600 * SECOND, // 2026-01-01
        tick_us: SECOND,
        ticks: 1 << 32,
        shards: 1 << 8,
        slots: 1 << 13,
    },
];

/// The built-in layout of that name.
pub fn builtin(name: &str) -> Option<Layout> {
    BUILTIN.iter().find(|b| b.name == name).map(Builtin::layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_is_inside_the_limits_and_uses_them_up() {
        for b in BUILTIN {
            let layout = b.layout();
            let widest = Layout::new(b.epoch_us, b.tick_us, None, b.shards, b.slots).unwrap();
            if b.name != "js53" {
                assert_eq!(layout, widest, "{}", b.name);
            }
        }
        assert_eq!(builtin("js53").unwrap().last_id(), (1 << 53) - 1);
        assert!(builtin("no such layout").is_none());
    }

    #[test]
    fn known_ids_of_the_originals_decode() {
        // The worked example of Wikipedia's "Snowflake ID": a tweet of 2022-06-28 from machine 378.
        let parts = builtin("snowflake").unwrap().decode(1_541_815_603_606_036_480).unwrap();
        let time_us = builtin("snowflake").unwrap().time_us(parts.tick);
        assert_eq!(time_us / 1_000, 1_656_432_460_105);
        assert_eq!((parts.shard, parts.slot), (11 * 32 + 26, 0));
        // Instagram's own worked example: 1387263000 ms after its epoch, user 31341 on
        // 2000 shards (1341), 5001st number of the shard mod 1024.
        let instagram = Layout::new(1_314_220_021_721_000, MS, None, 1 << 13, 1 << 10).unwrap();
        let id = instagram.id(
            instagram.shard(1341).unwrap(),
            crate::Position { tick: 1_387_263_000, slot: 5001 % 1024 },
        );
        assert_eq!(id, (1_387_263_000 << 23) | (1341 << 10) | (5001 % 1024));
    }

    #[test]
    fn layouts_end_when_their_documentation_says() {
        let ends = |name| builtin(name).unwrap().ends_at_us() / SECOND;
        assert_eq!(ends("instagram"), 2_866_737_227); // 2060-11-03
        assert_eq!(ends("log32"), 1 << 31); // 2038-01-19
        // UidGenerator's default, 28 bits from 2016-05-20 +08, ended on 2024-11-20.
        let old = Layout::new(1_463_673_600 * SECOND, SECOND, None, 1 << 22, 1 << 13).unwrap();
        assert_eq!(old.ends_at_us() / SECOND, 1_732_109_056);
    }
}
