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
    /// The name of its layout.
    layout_name: &'static str,
    /// Whether operations on its sequence come over it. If so, no stranger takes ids
    /// from it, and no old library: what those gave out, nobody else can know of.
    pub(super) altered: bool,
    /// Whether it is dropped and made again.
    pub(super) dropped: bool,
    /// The table that owns its sequence, where it is altered.
    pub(super) owner: String,
}

impl Generator {
    /// Makes a generator anew that was dropped: statements, each of which may fail.
    pub(super) fn make_again(&self) -> Vec<String> {
        let Self { shard, layout_name, sequence, owner, .. } = self;
        vec![
            format!("SELECT create_shard({shard}, layout => '{layout_name}')"),
            format!("GRANT USAGE ON SEQUENCE {sequence} TO ann, bob"),
            format!("CREATE TABLE IF NOT EXISTS {owner} (id bigint)"),
            format!("ALTER SEQUENCE {sequence} OWNED BY {owner}.id"),
        ]
    }

    /// Whether sessions with the old library take ids from it, which knows one layout.
    pub(super) fn serves_the_old_library(&self) -> bool {
        self.is_shard && !self.altered && self.layout_name == "instagram"
    }
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
        Self::plain(&format!("shard {shard}"), shard, "", "", layout)
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

/// Shards: number, layout, weight, what happens to them.
const SHARDS: [(i32, &str, u32, Fate); 8] = [
    // A default uses it, so it cannot be dropped.
    (5, "instagram", 8, Fate::Altered),
    (6, "instagram", 4, Fate::Strangers),
    (7, "snowflake", 3, Fate::Dropped),
    (8, "decimal19", 2, Fate::Dropped),
    (9, "js53", 1, Fate::Strangers),
    // So few ids that it is mostly at the end of its drift.
    (10, "small", 1, Fate::Dropped),
    (11, "instagram", 4, Fate::Dropped),
    (12, "instagram", 3, Fate::Strangers),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Strangers take ids with `nextval`.
    Strangers,
    /// Its sequence is altered.
    Altered,
    /// And dropped.
    Dropped,
}

impl Generator {
    /// One that no operation comes over.
    fn plain(name: &str, shard: i32, next: &str, sequence: &str, layout: Layout) -> Self {
        Self {
            name: name.into(),
            shard,
            next: next.into(),
            sequence: sequence.into(),
            layout,
            weight: 1,
            is_shard: false,
            layout_name: "",
            altered: false,
            dropped: false,
            owner: String::new(),
        }
    }
}

/// Makes the generators in a database that has the extension.
pub(super) fn create(client: &mut Client, maker: Maker, only_shard_5: bool) -> Vec<Generator> {
    let sql = include_str!("create.sql");
    client.batch_execute(sql).expect("the generators can be made");
    let instagram = layout(client, "instagram");
    match maker {
        Maker::Classic => {
            let layout = Layout { epoch_us: 1_314_220_021_721_000, ..instagram };
            let (next, sequence) = ("classic.next_id()", "classic.table_id_seq");
            return vec![Generator::plain("the classic function", 5, next, sequence, layout)];
        }
        Maker::Planted => {
            let (next, sequence) = ("planted.next_id()", "shard_0005.shard_id_seq");
            return vec![Generator::plain("the planted function", 5, next, sequence, instagram)];
        }
        Maker::Shardid | Maker::Forged => {}
    }
    let mut generators = Vec::new();
    for (shard, layout_name, weight, fate) in SHARDS {
        let name = format!("shard {shard}");
        let sequence = format!("shard_{shard:04}.shard_id_seq");
        let next = format!("next_id({shard})");
        generators.push(Generator {
            weight,
            is_shard: true,
            layout_name,
            altered: fate != Fate::Strangers,
            dropped: fate == Fate::Dropped,
            owner: format!("shard_{shard:04}.owner"),
            ..Generator::plain(&name, shard, &next, &sequence, layout(client, layout_name))
        });
    }
    if only_shard_5 {
        generators.truncate(1);
    } else {
        let next = "next_id_from('own_ids')";
        generators.push(Generator {
            weight: 3,
            layout_name: "instagram",
            altered: true,
            owner: "owner_of_own_ids".into(),
            ..Generator::plain("the id sequence own_ids", 5, next, "own_ids", instagram)
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
