//! What two sessions reach together.

use std::sync::Barrier;
use std::thread::scope;
use std::time::Instant;

use shardid_tests::postgres::Client;

use crate::setting::Setting;
use crate::statistics::median;
use crate::table::{Table, Target};

/// Two sessions on two shards, and on one, against one session.
pub(crate) fn run(setting: &Setting, table: &mut Table) {
    let (rounds, calls) = (setting.pick(11, 5), setting.pick(1_000_000, 300_000));
    let mut clients = [setting.connect(), setting.connect()];
    let (mut two_shards, mut one_shard, mut one_shard_page) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let [a, b, c, d, e, f] = std::array::from_fn(|_| setting.new_shard());
        let alone = rate(&mut clients[..1], &[a], 256, calls);
        let on_two = rate(&mut clients, &[b, c], 256, calls);
        let on_one = rate(&mut clients, &[d, d], 256, calls);
        let alone_page = rate(&mut clients[..1], &[e], 1, calls / 2);
        let on_one_page = rate(&mut clients, &[f, f], 1, calls / 4);
        // The first round warms up.
        if round > 0 {
            two_shards.push(on_two / alone);
            one_shard.push(on_one / alone);
            one_shard_page.push(on_one_page / alone_page);
        }
    }
    table.title("Two sessions together, against one session");
    table.ratio("on two shards", median(&two_shards), Target::AtLeast(1.8));
    table.ratio("on one shard", median(&one_shard), Target::AtLeast(1.0));
    table.figure(
        "(on one shard, the page on every call)",
        format!("{:.3} ×", median(&one_shard_page)),
    );
}

/// Ids a second of all sessions together, each on its shard.
fn rate(clients: &mut [Client], shards: &[i32], block: u32, calls: usize) -> f64 {
    let ready = Barrier::new(clients.len() + 1);
    let start = scope(|scope| {
        for (client, shard) in clients.iter_mut().zip(shards) {
            let ready = &ready;
            scope.spawn(move || {
                let sql =
                    format!("SELECT count(next_id({shard})) FROM generate_series(1, $1::int)");
                client.batch_execute(&format!("SET shardid.block = {block}")).expect("a setting");
                let statement = client.prepare(&sql).expect("it is SQL");
                // The shard is read and its first lease logged before the clock runs.
                client.query_one(&statement, &[&1]).expect("the shard is there");
                ready.wait();
                client.query_one(&statement, &[&(calls as i32)]).expect("the shard is there");
            });
        }
        ready.wait();
        Instant::now()
    });
    (calls * clients.len()) as f64 / start.elapsed().as_secs_f64()
}
