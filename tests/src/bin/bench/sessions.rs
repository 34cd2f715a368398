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
    let (mut machine, mut sequence) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let [a, b, c, d, e, f] = std::array::from_fn(|_| setting.new_shard());
        let alone = rate(&mut clients[..1], &[Work::Ids(a)], 256, calls);
        // Work that shares nothing: what the machine itself has for a second session.
        let idle_alone = rate(&mut clients[..1], &[Work::ClockAlone], 256, calls);
        let idle_two = rate(&mut clients, &[Work::ClockAlone; 2], 256, calls);
        let on_two = rate(&mut clients, &[Work::Ids(b), Work::Ids(c)], 256, calls);
        let on_one = rate(&mut clients, &[Work::Ids(d); 2], 256, calls);
        let alone_page = rate(&mut clients[..1], &[Work::Ids(e)], 1, calls / 2);
        let on_one_page = rate(&mut clients, &[Work::Ids(f); 2], 1, calls / 4);
        let on_one_sequence = rate(&mut clients, &[Work::Nextval; 2], 1, calls / 4);
        // The first round warms up.
        if round > 0 {
            machine.push(idle_two / idle_alone);
            two_shards.push(on_two / alone);
            one_shard.push(on_one / alone);
            one_shard_page.push(on_one_page / alone_page);
            sequence.push(on_one_page / on_one_sequence);
        }
    }
    table.title("Two sessions together, against one session");
    table.ratio("on two shards", median(&two_shards), Target::AtLeast(1.8));
    table.ratio("on one shard", median(&one_shard), Target::AtLeast(1.0));
    table.figure("(clock_timestamp(), which shares nothing)", format!("{:.3} ×", median(&machine)));
    table.figure(
        "(on one shard, the page on every call)",
        format!("{:.3} ×", median(&one_shard_page)),
    );
    table.title("Two sessions on one shard, the page on every call, against nextval");
    table.ratio("against two on one sequence, CACHE 1", median(&sequence), Target::AtLeast(1.0));
}

/// What a session does over and over.
#[derive(Clone, Copy)]
enum Work {
    /// Ids of this shard.
    Ids(i32),
    /// Numbers of a sequence.
    Nextval,
    /// The time.
    ClockAlone,
}

impl Work {
    fn sql(self) -> String {
        match self {
            Self::Ids(shard) => {
                format!("SELECT count(next_id({shard})) FROM generate_series(1, $1::int)")
            }
            Self::Nextval => {
                "SELECT count(nextval('seq_1')) FROM generate_series(1, $1::int)".to_owned()
            }
            Self::ClockAlone => {
                "SELECT count(clock_timestamp()) FROM generate_series(1, $1::int)".to_owned()
            }
        }
    }
}

/// Calls a second of all sessions together, each at its work.
fn rate(clients: &mut [Client], work: &[Work], block: u32, calls: usize) -> f64 {
    let ready = Barrier::new(clients.len() + 1);
    let start = scope(|scope| {
        for (client, work) in clients.iter_mut().zip(work) {
            let ready = &ready;
            scope.spawn(move || {
                client.batch_execute(&format!("SET shardid.block = {block}")).expect("a setting");
                let statement = client.prepare(&work.sql()).expect("it is SQL");
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
