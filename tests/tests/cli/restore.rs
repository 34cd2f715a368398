//! A node whose database was restored elsewhere.

use shardid_tests::Database;

use crate::cluster::Cluster;

#[test]
fn a_restored_node_is_refused_until_it_is_adopted_and_goes_on_above_its_ids() {
    let cluster = Cluster::applied(2, 4);
    let before = &cluster.nodes[1];
    let last: i64 = before.psql("SELECT next_id(2)").parse().unwrap();
    let dump = before.command("pg_dump").output().unwrap();
    assert!(dump.status.success());
    let restored = Database::fresh_plain();
    restored.psql(&String::from_utf8(dump.stdout).unwrap());

    cluster.edit(&before.url(), &restored.url());
    let error = cluster.run(&["apply", "--yes"]).refused();
    assert!(error.contains("node pg2 is another database than before"), "{error}");
    assert!(error.contains("`shardid apply --adopt pg2`"), "{error}");
    let error = cluster.run(&["id", "next", "2"]).refused();
    assert!(error.contains("pg2"), "{error}");

    let run = cluster.run(&["apply", "--yes", "--adopt", "pg2"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let next: i64 = cluster.run(&["id", "next", "2"]).ok().trim().parse().unwrap();
    assert!(next > last);
    let plan = cluster.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
    let error = cluster.run(&["plan", "--adopt", "pg9"]);
    assert_eq!(error.code, 2, "{}", error.stderr);
}

#[test]
fn a_catalogue_from_an_older_backup_changes_nothing() {
    let cluster = Cluster::applied(2, 4);
    cluster.nodes[1].psql("UPDATE shardid.cluster SET map_version = 5");
    let error = cluster.run(&["apply", "--yes"]).refused();
    assert!(
        error.contains("node pg2 has map version 5, newer than version 1 of the catalogue on pg1"),
        "{error}"
    );
}
