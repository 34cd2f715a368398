//! The state of the estate, also while half of it is down.

use shardid_tests::Server;

use crate::cluster::Cluster;

#[test]
fn nodes_versions_shards_and_sizes_are_shown() {
    let cluster = Cluster::applied(2, 10);
    cluster.nodes[1].psql(
        "CREATE TABLE shard_0007.t AS SELECT next_id(7) AS id FROM generate_series(1, 20000)",
    );
    let run = cluster.run(&["status"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let head = "cluster photos: 10 shards, map version 1, catalog on pg1\nlayout instagram, to 2060-11-03\n";
    assert!(run.stdout.starts_with(head), "{}", run.stdout);
    let line = run.stdout.lines().find(|line| line.starts_with("pg2")).unwrap();
    assert!(line.contains(" up ") && line.contains(" 5 ") && line.contains("KiB"), "{line}");
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80), "{}", run.stdout);

    let json = cluster.run(&["status", "--json"]).ok();
    assert!(json.contains("\"shards_open\": \"5-9\""), "{json}");
    assert!(json.contains("\"state\": \"up\""), "{json}");
    assert!(!json.contains("\"bytes\": null"), "{json}");
}

#[test]
fn a_shard_that_is_ahead_of_the_clock_is_named() {
    let cluster = Cluster::applied(1, 4);
    cluster.nodes[0]
        .psql("SELECT setval('shard_0002.shard_id_seq', id_at(now() + '1 hour') + 2 * 1024)");
    let run = cluster.run(&["status"]);
    let line = run
        .stderr
        .lines()
        .find(|line| line.starts_with("shard 2 on pg1 is "))
        .expect("a line about it");
    assert!(line.ends_with(" ms ahead of the clock"), "{line}");
}

#[test]
fn a_node_that_is_down_is_shown_as_down_beside_the_others() {
    let server = Server::builder().fsync(false).start();
    server.psql("postgres", "CREATE DATABASE app");
    let cluster = Cluster::of(2, 4);
    cluster.edit(&cluster.nodes[1].url(), &server.url("app"));
    cluster.run(&["apply", "--yes"]).ok();
    let next = cluster.run(&["id", "next", "3"]).ok();
    assert_eq!(server.psql("app", &format!("SELECT id_shard({})", next.trim())), "3");

    server.kill9();
    let run = cluster.run(&["status"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.lines().any(|line| line.starts_with("pg2   down ")), "{}", run.stdout);
    assert!(run.stdout.lines().any(|line| line.starts_with("pg1   up ")), "{}", run.stdout);
    assert!(run.stderr.contains("\ncould not reach node pg2"), "{}", run.stderr);
    let json = cluster.run(&["status", "--json"]);
    assert!(json.stdout.contains("\"state\": \"down\""), "{}", json.stdout);
    cluster.run(&["map"]).ok();
    cluster.run(&["id", "next", "0"]).ok();
    let error = cluster.run(&["id", "next", "3"]).refused();
    assert!(error.contains("could not reach node pg2"), "{error}");
}

#[test]
fn while_the_catalog_is_down_ids_still_come_and_the_rest_is_shown() {
    let server = Server::builder().fsync(false).start();
    server.psql("postgres", "CREATE DATABASE app");
    let cluster = Cluster::of(3, 6);
    cluster.edit(&cluster.nodes[0].url(), &server.url("app"));
    cluster.run(&["apply", "--yes"]).ok();
    server.kill9();
    for shard in ["2", "5"] {
        cluster.run(&["id", "next", shard]).ok();
    }
    let run = cluster.run(&["status"]);
    assert!(
        run.stdout.contains("map version 1") && run.stdout.contains("pg3   up "),
        "{}",
        run.stdout
    );
    let error = cluster.run(&["map"]).refused();
    assert!(error.contains("could not reach node pg1"), "{error}");
}
