//! What one call costs, net of the loop around it.

use std::fs;
use std::time::Duration;

use shardid_tests::postgres::Client;

use crate::setting::Setting;
use crate::statistics::median;
use crate::table::{Table, Target};

/// A way to count `calls` values of `{expression}`, timed as one statement.
struct Contender {
    name: &'static str,
    /// `$shard` stands for the round's shard.
    expression: &'static str,
    /// The part of the calls that this one is timed over: slow ones need fewer.
    part: usize,
}

const LOOP: usize = 0;
const NEXT_ID: usize = 1;
const PAGE: usize = 2;
const NEXTVAL: usize = 4;
const CACHED: usize = 5;
const CLASSIC: usize = 6;
const UUID: usize = 7;
const CLOCK: usize = 8;

const CONTENDERS: [Contender; 10] = [
    Contender { name: "the empty loop", expression: "1", part: 1 },
    Contender { name: "next_id(5)", expression: "next_id($shard)", part: 1 },
    Contender {
        name: "next_id(5), the page on every call",
        expression: "next_id($shard)",
        part: 2,
    },
    Contender { name: "next_id(0), never ahead of the clock", expression: "next_id(0)", part: 1 },
    Contender { name: "nextval, CACHE 1", expression: "nextval('seq_1')", part: 2 },
    Contender { name: "nextval, CACHE 1000", expression: "nextval('seq_1000')", part: 1 },
    Contender { name: "the classic PL/pgSQL function", expression: "insta5.next_id()", part: 10 },
    Contender { name: "gen_random_uuid()", expression: "gen_random_uuid()", part: 4 },
    Contender {
        name: "clock_timestamp(): C function, clock read",
        expression: "clock_timestamp()",
        part: 1,
    },
    Contender {
        name: "pg_backend_pid(): empty C function",
        expression: "pg_backend_pid()",
        part: 1,
    },
];

/// `SELECT count(next_id(5)) FROM generate_series(…)`, and its neighbours.
pub(crate) fn run(setting: &Setting, table: &mut Table) {
    let (rounds, calls) = (setting.pick(15, 5), setting.pick(1_000_000, 300_000));
    let mut client = setting.connect();
    let pid = client.query_one("SELECT pg_backend_pid()", &[]).expect("a number").get(0);
    // The first round warms up and does not count.
    let mut net: Vec<Vec<f64>> = CONTENDERS.iter().map(|_| Vec::new()).collect();
    let mut drift = Duration::ZERO;
    for round in 0..=rounds {
        let shards = [setting.new_shard(), setting.new_shard()];
        let mut gross = [0.0; CONTENDERS.len()];
        // Each contender begins in turn, so that none always follows the same one.
        for turn in 0..CONTENDERS.len() {
            let which = (round + turn) % CONTENDERS.len();
            gross[which] = time(&mut client, pid, which, shards[usize::from(which == PAGE)], calls);
        }
        drift = drift.max(setting.drift(&mut client));
        if round > 0 {
            for (which, gross_ns) in gross.iter().enumerate() {
                net[which].push(if which == LOOP { *gross_ns } else { gross_ns - gross[LOOP] });
            }
        }
    }
    let ns: Vec<f64> = net.iter().map(|rounds| median(rounds)).collect();

    table.title(format!("One call, net of the loop: median of {rounds} rounds, ns"));
    for (contender, ns) in CONTENDERS.iter().zip(&ns) {
        table.figure(contender.name, format!("{ns:.1}"));
    }
    table.note(format!(
        "a shard for each round; ids ran at most {:.1} s ahead of the clock",
        drift.as_secs_f64()
    ));
    table.title("SELECT count(next_id(5)) FROM generate_series(…), net");
    let mut against = |name: &str, of: usize, by: usize, limit: f64| {
        table.ratio(name, ns[of] / ns[by], Target::AtMost(limit));
    };
    against("against nextval, CACHE 1", NEXT_ID, NEXTVAL, 0.08);
    against("against nextval, CACHE 1000", NEXT_ID, CACHED, 0.45);
    against("against the classic PL/pgSQL function", NEXT_ID, CLASSIC, 0.01);
    against("against an empty C function + clock read", NEXT_ID, CLOCK, 1.5);
    against("the page on every call, against nextval", PAGE, NEXTVAL, 1.0);
    table.figure("(against gen_random_uuid())", format!("{:.3} ×", ns[NEXT_ID] / ns[UUID]));
}

/// Nanoseconds a call, with the loop.
fn time(client: &mut Client, pid: i32, which: usize, shard: i32, calls: usize) -> f64 {
    let contender = &CONTENDERS[which];
    let calls = calls / contender.part;
    let block = if which == PAGE { 1 } else { 256 };
    client.batch_execute(&format!("SET shardid.block = {block}")).expect("it is a setting");
    let expression = contender.expression.replace("$shard", &shard.to_string());
    let sql = format!("SELECT count({expression}) FROM generate_series(1, {calls})");
    let statement = client.prepare(&sql).expect("the contender is there");
    let before = worked_ns(pid);
    let counted: i64 = client.query_one(&statement, &[]).expect("it counts").get(0);
    let elapsed = worked_ns(pid) - before;
    assert_eq!(counted, calls as i64, "{sql}");
    elapsed as f64 / calls as f64
}

/// How long a process has been on a processor.
///
/// In a loop that waits for nothing that is how long it takes, less what others
/// on the machine take from it. `nextval` waits for the disk now and then: that
/// is left out, and counts in its favour.
fn worked_ns(pid: i32) -> u64 {
    fs::read_to_string(format!("/proc/{pid}/schedstat"))
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .expect("the kernel keeps schedstat")
}
