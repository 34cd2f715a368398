//! The largest cluster that the default layout allows.

use std::process::Command;
use std::time::{Duration, Instant};

use shardid_tests::crowded;

use crate::cluster::Cluster;
use crate::program;

#[test]
fn a_plan_for_8192_shards_on_64_nodes_takes_under_2_seconds_and_100_megabytes() {
    let cluster = Cluster::of(64, 8192);
    let run = cluster.run(&["apply", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // The best of a few counts, as other tests run beside this one.
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let started = Instant::now();
        let plan = cluster.run(&["plan"]).ok();
        best = best.min(started.elapsed());
        assert!(plan.contains("nothing to do"), "{plan}");
    }
    let bound = crowded(Duration::from_secs(2));
    assert!(best < bound, "{best:?}, and {bound:?} would do");

    let limited = |kilobytes: u32| {
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("ulimit -d {kilobytes}; exec \"$0\" plan")]);
        shell.arg(program::program()).current_dir(cluster.folder());
        program::run(shell)
    };
    limited(100_000).ok();
    assert_ne!(limited(1_000).code, 0, "the limit is felt");

    let last = cluster.run(&["id", "next", "8191"]).ok();
    let decoded = cluster.run(&["id", "decode", last.trim()]).ok();
    assert!(decoded.contains("   8191     0"), "{decoded}");
    let csv = cluster.run(&["map", "--format", "csv"]).ok();
    assert_eq!(csv.lines().count(), 8193);
}
