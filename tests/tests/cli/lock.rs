//! Several programs at once.

use std::time::Duration;

use shardid_tests::wait_until;

use crate::cluster::Cluster;

#[test]
fn of_five_applies_at_once_one_works_and_four_wait() {
    let cluster = Cluster::of(2, 96);
    let runs: Vec<_> = std::thread::scope(|scope| {
        let apply = || cluster.run(&["apply", "--yes"]);
        let threads: Vec<_> = (0..5).map(|_| scope.spawn(apply)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let said = |what: &str| runs.iter().filter(|run| run.stderr.contains(what)).count();
    assert!(runs.iter().all(|run| run.code == 0), "{runs:?}");
    assert_eq!(said("done: cluster photos"), 1, "{runs:?}");
    assert_eq!(said("nothing to do") + said("nothing left to do"), 4, "{runs:?}");
    assert_eq!(cluster.nodes[0].psql("SELECT count(*), max(map_version) FROM shardid.map"), "96|1");
}

#[test]
fn who_holds_the_lock_is_told_when_waiting_takes_too_long() {
    let cluster = Cluster::of(1, 4);
    let mut holder = cluster.nodes[0].connect();
    holder
        .batch_execute(
            "SET application_name = 'somebody at work'; SELECT pg_advisory_lock(32484390062025060)",
        )
        .unwrap();
    let error = cluster.run(&["apply", "--yes", "--wait-seconds-max", "0"]).refused();
    assert!(error.contains("node pg1 is being changed by `somebody at work`"), "{error}");
    let error = cluster.run(&["apply", "--yes", "--wait-seconds-max", "1"]).refused();
    assert!(error.contains("waiting for `somebody at work`"), "{error}");
    assert!(error.contains("`--wait-seconds-max`"), "{error}");
    assert_eq!(
        cluster.nodes[0].psql("SELECT count(*) FROM pg_extension WHERE extname = 'shardid'"),
        "0"
    );
    cluster.run(&["plan"]).ok();

    std::thread::scope(|scope| {
        let apply = scope.spawn(|| cluster.run(&["apply", "--yes"]));
        wait_until(Duration::from_secs(10), "the apply to wait", || {
            cluster.nodes[0]
                .psql("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'")
                == "1"
        });
        holder.batch_execute("SELECT pg_advisory_unlock_all()").unwrap();
        let run = apply.join().unwrap();
        assert!(run.stderr.contains("done: cluster photos"), "{run:?}");
    });
}
