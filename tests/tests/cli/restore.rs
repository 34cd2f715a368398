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
fn a_catalog_from_an_older_backup_changes_nothing() {
    let cluster = Cluster::applied(2, 4);
    cluster.nodes[1].psql("UPDATE shardid.cluster SET map_version = 5");
    let error = cluster.run(&["apply", "--yes"]).refused();
    assert!(
        error.contains("node pg2 has map version 5, newer than version 1 of the catalog on pg1"),
        "{error}"
    );
}

/// The catalog was lost as well, and the rebuild took the copy: both gave ids.
#[test]
fn a_node_that_is_a_copy_of_the_one_before_is_refused_where_the_catalog_is_lost() {
    let cluster = Cluster::applied(2, 4);
    let before = &cluster.nodes[1];
    let dump = before.command("pg_dump").output().unwrap();
    assert!(dump.status.success());
    let restored = Database::fresh_plain();
    restored.psql(&String::from_utf8(dump.stdout).unwrap());
    cluster.edit(&before.url(), &restored.url());
    let verify = cluster.run(&["verify"]);
    let finding =
        verify.stdout.lines().find(|line| line.contains("is another database than before"));
    let finding = finding.unwrap_or_else(|| panic!("{}{}", verify.stdout, verify.stderr));
    assert!(
        finding.starts_with("node pg2") && finding.contains("`shardid apply --adopt pg2`"),
        "{finding}"
    );

    cluster.nodes[0].psql(
        "DROP TABLE shardid.catalog, shardid.catalog_history, shardid.node, shardid.map, shardid.map_history, \
         shardid.move, shardid.leftover, shardid.move_log, shardid.ticket_node, shardid.ticket_server, shardid.ticket_change CASCADE",
    );
    for words in [&["catalog", "rebuild", "--dry-run"][..], &["catalog", "rebuild", "--yes"]] {
        let error = cluster.run(words).refused();
        assert!(error.contains("node pg2 is another database than before"), "{error}");
        assert!(error.contains("`shardid catalog rebuild --adopt pg2`"), "{error}");
    }
    let refused = restored.server().try_psql(restored.name(), "SELECT next_id(2)").unwrap_err();
    assert!(refused.contains("shard 2"), "{refused}");
    before.psql("SELECT next_id(2)");

    cluster.run(&["catalog", "rebuild", "--yes", "--adopt", "pg2"]).ok();
    restored.psql("SELECT next_id(2)");
    let plan = cluster.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
    // Its own database is none that was copied.
    assert!(!cluster.run(&["verify"]).stdout.contains("another database"));
}
