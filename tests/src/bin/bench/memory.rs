//! What a backend keeps for each shard it has used.

use std::fs;

use shardid_tests::postgres::Client;

use crate::setting::Setting;
use crate::table::{Table, Target};

/// A backend that uses thousands of shards.
///
/// PostgreSQL keeps some kilobytes for every relation that a backend has used,
/// whoever used it. So `nextval` goes first over all of them; what `next_id`
/// adds on top is ours. The first quarter fills the gaps that `nextval` has
/// left in the heap, the rest is counted.
pub(crate) fn run(setting: &Setting, table: &mut Table) {
    let shards = setting.pick(4000, 1000);
    let mut client = setting.connect();
    let first = setting.new_shard() + 1;
    for from in (first..first + shards).step_by(500) {
        let to = (from + 500).min(first + shards) - 1;
        client
            .batch_execute(&format!("SELECT create_shard(n) FROM generate_series({from}, {to}) n"))
            .expect("shards can be made");
    }

    let mut client = setting.connect();
    let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).expect("a number").get(0);
    let (quarter, last) = (first + shards / 4, first + shards);
    // Twice, since the second transaction may take another way than the first.
    let use_shards = |client: &mut Client, expression: &str, from: i32, to: i32| {
        for _ in 0..2 {
            client
                .batch_execute(&format!(
                    "SELECT {expression} FROM shardid.shard WHERE shard >= {from} AND shard < {to}"
                ))
                .expect("the shards are there");
        }
        private_bytes(pid)
    };
    let fresh = use_shards(&mut client, "nextval(sequence), next_id(shard)", first - 1, first);
    let touched = use_shards(&mut client, "nextval(sequence)", first, last);
    let filled = use_shards(&mut client, "next_id(shard)", first, quarter);
    let used = use_shards(&mut client, "next_id(shard)", first, last);
    let per = |bytes: i64, shards: i32| bytes as f64 / f64::from(shards);

    let shared: i64 = client
        .query_one("SELECT count(*) FROM pg_shmem_allocations WHERE name ~* 'shardid'", &[])
        .expect("we are superuser")
        .get(0);
    table.title(format!("Memory of a backend, per shard, with {shards} shards"));
    table.figure(
        "PostgreSQL's own, after nextval",
        format!("{:.0} bytes", per(touched - fresh, shards)),
    );
    table.value(
        "added by next_id, bytes",
        per(used - filled, last - quarter),
        0,
        "",
        Target::AtMost(200.0),
    );
    table.value("pieces of fixed shared memory", shared as f64, 0, "", Target::AtMost(0.0));
}

/// Memory that is a process's own: its heap and stack, not the server's buffers,
/// which count as its own too where it alone has touched them.
fn private_bytes(pid: i32) -> i64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("the backend runs");
    let kilobytes: i64 = text
        .lines()
        .find_map(|line| line.strip_prefix("Anonymous:")?.trim().strip_suffix(" kB")?.parse().ok())
        .expect("the kernel tells");
    kilobytes * 1024
}
