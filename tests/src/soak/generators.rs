//! The generators of a run: shards of several layouts, and an id sequence.

use postgres::Client;
use rand::Rng;
use rand::rngs::StdRng;

use super::Maker;

/// A place that ids come from; no id may come from it twice.
#[derive(Debug, Clone)]
pub(super) struct Generator {
    pub(super) name: String,
    pub(super) shard: i32,
    /// An id, as SQL.
    pub(super) next: String,
    pub(super) sequence: String,
    pub(super) layout: Layout,
    /// How often it is chosen, compared to others.
    weight: u32,
    /// Whether it is a shard, which can be fenced and has all the functions.
    pub(super) is_shard: bool,
}

/// How its ids are put together, as its table says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) epoch_us: i64,
    pub(super) tick_us: i64,
    pub(super) shards: i64,
    pub(super) slots: i64,
}

#[cfg(test)]
impl Generator {
    pub(super) fn for_tests(shard: i32, layout: Layout) -> Self {
        let (name, next, sequence) = (format!("shard {shard}"), String::new(), String::new());
        Self { name, shard, next, sequence, layout, weight: 1, is_shard: true }
    }
}

impl Layout {
    pub(super) fn shard(&self, id: i64) -> i64 {
        id / self.slots % self.shards
    }

    /// The ids of one shard, numbered without gaps between its ticks.
    pub(super) fn serial(&self, id: i64) -> u64 {
        let tick = id / self.slots / self.shards;
        (tick * self.slots + id % self.slots).cast_unsigned()
    }

    /// The instant of an id, in Unix microseconds.
    pub(super) fn time_us(&self, id: i64) -> i64 {
        self.epoch_us + id / self.slots / self.shards * self.tick_us
    }

    /// How many ids fit in a second.
    pub(super) fn per_second(&self) -> i64 {
        self.slots * 1_000_000 / self.tick_us
    }

    /// The step of a sequence: one whole tick.
    pub(super) fn per_tick(&self) -> i64 {
        self.shards * self.slots
    }
}

/// Shards: number, layout, weight.
const SHARDS: [(i32, &str, u32); 6] = [
    (5, "instagram", 10),
    (6, "instagram", 4),
    (7, "snowflake", 3),
    (8, "decimal19", 2),
    (9, "js53", 1),
    // So few ids that it is mostly at the end of its drift.
    (10, "small", 1),
];

/// Makes the generators in a database that has the extension.
pub(super) fn create(client: &mut Client, maker: Maker, only_shard_5: bool) -> Vec<Generator> {
    let sql = include_str!("create.sql");
    client.batch_execute(sql).expect("the generators can be made");
    if maker == Maker::Classic {
        let next = "classic.next_id()".into();
        let layout = layout(client, "instagram");
        return vec![Generator {
            name: "the classic function".into(),
            shard: 5,
            next,
            sequence: "classic.table_id_seq".into(),
            layout: Layout { epoch_us: 1_314_220_021_721_000, ..layout },
            weight: 1,
            is_shard: false,
        }];
    }
    let mut generators: Vec<Generator> = SHARDS
        .iter()
        .map(|&(shard, layout_name, weight)| Generator {
            name: format!("shard {shard}"),
            shard,
            next: format!("next_id({shard})"),
            sequence: format!("shard_{shard:04}.shard_id_seq"),
            layout: layout(client, layout_name),
            weight,
            is_shard: true,
        })
        .collect();
    if only_shard_5 {
        generators.truncate(1);
    } else {
        generators.push(Generator {
            name: "the id sequence own_ids".into(),
            shard: 5,
            next: "next_id_from('own_ids')".into(),
            sequence: "own_ids".into(),
            layout: layout(client, "instagram"),
            weight: 3,
            is_shard: false,
        });
    }
    generators
}

/// Chooses one by weight.
pub(super) fn choose(generators: &[Generator], rng: &mut StdRng) -> usize {
    let mut left = rng.random_range(0..generators.iter().map(|g| g.weight).sum());
    generators
        .iter()
        .position(|generator| {
            let chosen = left < generator.weight;
            left = left.saturating_sub(generator.weight);
            chosen
        })
        .expect("what is left is below the sum")
}

fn layout(client: &mut Client, name: &str) -> Layout {
    let row = client
        .query_one(
            "SELECT (extract(epoch FROM epoch) * 1000000)::bigint,
                 (extract(epoch FROM tick) * 1000000)::bigint, shards, slots
             FROM shardid.layout WHERE name = $1",
            &[&name],
        )
        .expect("the layout is there");
    Layout { epoch_us: row.get(0), tick_us: row.get(1), shards: row.get(2), slots: row.get(3) }
}
