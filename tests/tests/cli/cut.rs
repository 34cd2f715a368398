//! An apply that is killed at any moment is finished by the next one.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cluster::Cluster;

/// Starts an apply and kills it once it has said that so many steps are done,
/// and a little later. Returns whether it was still at work.
fn cut(mut apply: Command, steps: usize, later: Duration) -> bool {
    let mut child = apply.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut done = 0;
    for line in lines.by_ref().map_while(Result::ok) {
        // Steps that are done are told as "  pg1: created …", the plan's as "  + pg1: …".
        let step = line
            .strip_prefix("  ")
            .is_some_and(|rest| rest.starts_with("pg") || rest.starts_with("map"));
        done += usize::from(step);
        if done >= steps {
            break;
        }
    }
    std::thread::sleep(later);
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

#[track_caller]
fn finish(cluster: &Cluster, shards: u32) {
    let run = cluster.run(&["apply", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = cluster.run(&["plan"]);
    assert!(run.stdout.contains("nothing to do"), "{}", run.stdout);
    let mut open = 0;
    for node in &cluster.nodes {
        assert_eq!(node.psql("SELECT count(*) FROM shardid.shards"), shards.to_string());
        open += node
            .psql("SELECT count(*) FROM shardid.shards WHERE state = 'open'")
            .parse::<u32>()
            .unwrap();
    }
    assert_eq!(open, shards, "every shard is open on exactly one node");
    assert_eq!(cluster.nodes[0].psql("SELECT map_version FROM shardid.map_history"), "1");
}

#[test]
fn a_kill_after_each_step_leaves_nothing_that_the_next_apply_does_not_finish() {
    // Two extensions, the tables, two nodes, the map, two times shards and copies.
    let mut were_cut = 0;
    for steps in 0..10 {
        let cluster = Cluster::of(2, 32);
        were_cut += u32::from(cut(cluster.command(&["apply", "--yes"]), steps, Duration::ZERO));
        finish(&cluster, 32);
    }
    assert!(were_cut >= 7, "only {were_cut} of 10 were cut at work");
}

#[test]
fn a_kill_in_the_middle_of_creating_shards_is_finished_by_the_next_apply() {
    for milliseconds in [5, 60, 150] {
        let cluster = Cluster::of(2, 512);
        let later = Duration::from_millis(milliseconds);
        // After the map come only shards and copies.
        assert!(cut(cluster.command(&["apply", "--yes"]), 6, later), "it was too quick to be cut");
        finish(&cluster, 512);
    }
}

#[test]
fn several_kills_in_a_row_are_finished_too() {
    let cluster = Cluster::of(3, 600);
    for steps in [1, 3, 5, 1, 1] {
        cut(cluster.command(&["apply", "--yes"]), steps, Duration::from_millis(20));
    }
    finish(&cluster, 600);
}
