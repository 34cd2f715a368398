//! Tables that fill their key by themselves, against bigserial and uuid.

use std::time::Instant;

use shardid_tests::postgres::Client;

use crate::pgbench::take_turns;
use crate::setting::Setting;
use crate::statistics::{median, spread};
use crate::table::{Table, Target};

/// The column `id` of each table; `$shard` stands for the round's shard.
const KEYS: [&str; 3] = [
    "id bigint PRIMARY KEY DEFAULT next_id($shard)",
    "id bigserial PRIMARY KEY",
    "id uuid PRIMARY KEY DEFAULT gen_random_uuid()",
];

/// A million rows in one statement.
pub(crate) fn bulk(setting: &Setting, table: &mut Table) {
    let (rounds, rows) = (setting.pick(9, 3), setting.pick(1_000_000, 200_000));
    let mut client = setting.connect();
    let mut seconds = vec![Vec::new(); KEYS.len()];
    let mut megabytes = [0.0; KEYS.len()];
    for round in 0..=rounds {
        for turn in 0..KEYS.len() {
            let which = (round + turn) % KEYS.len();
            let (elapsed, size) = fill(&mut client, setting.new_shard(), which, rows);
            megabytes[which] = size;
            // The first round makes the WAL files that later ones use again.
            if round > 0 {
                seconds[which].push(elapsed);
            }
        }
    }
    let [id, serial, uuid] = [0, 1, 2].map(|which| median(&seconds[which]));
    table.title(format!("INSERT … SELECT of {rows} rows, the key by default"));
    for (name, seconds, megabytes) in [
        ("next_id(5)", id, megabytes[0]),
        ("bigserial", serial, megabytes[1]),
        ("uuid", uuid, megabytes[2]),
    ] {
        table.figure(format!("{name} (primary key {megabytes:.0} MB)"), format!("{seconds:.2} s"));
    }
    table.ratio("against bigserial", id / serial, Target::AtMost(1.0));
    table.ratio("against uuid", id / uuid, Target::AtMost(0.5));
}

/// Seconds to fill a new table, and the size of its primary key.
fn fill(client: &mut Client, shard: i32, which: usize, rows: usize) -> (f64, f64) {
    let key = KEYS[which].replace("$shard", &shard.to_string());
    client
        .batch_execute(&format!(
            "DROP TABLE IF EXISTS filled; CREATE TABLE filled ({key}, n int); CHECKPOINT"
        ))
        .expect("the table can be made");
    let sql = format!("INSERT INTO filled (n) SELECT n FROM generate_series(1, {rows}) AS n");
    let statement = client.prepare(&sql).expect("it is SQL");
    let start = Instant::now();
    assert_eq!(client.execute(&statement, &[]).expect("it is filled"), rows as u64);
    let elapsed = start.elapsed().as_secs_f64();
    let bytes: i64 = client
        .query_one("SELECT pg_relation_size('filled_pkey')", &[])
        .expect("it has a primary key")
        .get(0);
    (elapsed, bytes as f64 / f64::from(1 << 20))
}

/// One row a transaction, each waiting for the disk.
pub(crate) fn single(setting: &Setting, table: &mut Table) {
    let shard = setting.new_shard();
    let names = ["single_id", "single_serial", "single_uuid"];
    for (name, key) in names.iter().zip(KEYS) {
        let key = key.replace("$shard", &shard.to_string());
        setting.database().psql(&format!("CREATE TABLE {name} ({key}, n int)"));
    }
    let scripts = names.map(|name| format!("INSERT INTO {name} (n) VALUES (1);"));
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    let tps = take_turns(setting, &scripts, 8, setting.pick(9, 3));
    let [id, serial, uuid] = [0, 1, 2].map(|which| median(&tps[which]));
    let noise = tps.iter().map(|rounds| spread(rounds)).fold(0.0, f64::max);
    table.title("Single INSERTs, synchronous commit, pgbench with 8 clients");
    for (name, tps) in [("next_id(5)", id), ("bigserial", serial), ("uuid", uuid)] {
        table.figure(name, format!("{tps:.0} tps"));
    }
    // No difference is claimed, so none beyond the noise is allowed.
    let limit = ((1.0 - noise.max(0.03)) * 1000.0).round() / 1000.0;
    table.ratio("against bigserial", id / serial, Target::AtLeast(limit));
    table.ratio("against uuid", id / uuid, Target::AtLeast(limit));
    table.note(format!(
        "noise: the middle half of the rounds spreads over {:.1} % of the median",
        noise * 100.0
    ));
}
