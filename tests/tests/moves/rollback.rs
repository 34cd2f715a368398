//! Going back, and giving the way back up.

use std::time::Duration;

use shardid_tests::estate::{Estate, Writer, schema};
use shardid_tests::wait_until;

use crate::catalog::shard_on_pg1;
use crate::shared;

#[test]
fn a_rollback_loses_nothing_of_what_was_written_since() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let number = shard.to_string();
    let writer = Writer::begin(estate, shard, 0, Duration::from_millis(2));
    for _ in 0..3 {
        estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
        writer.wait_for(100);
        estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
        assert_eq!(estate.home(shard), "pg1");
        writer.wait_for(20);
        estate.assert_no_trace(shard);
    }
    let tally = writer.end();
    estate.assert_whole(shard, &tally);
}

#[test]
fn a_rollback_names_what_it_does_not_carry_back() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    for node in estate.nodes() {
        estate.psql(&node, "DO $$ BEGIN CREATE ROLE app_back; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$");
    }
    estate.psql("pg1", &format!("CREATE FUNCTION {schema}.same() RETURNS int LANGUAGE sql RETURN 1; CREATE VIEW {schema}.kept AS SELECT 1 AS one"));
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let quiet = |run: &shardid_tests::program::Run| !run.stderr.contains("not carried back");
    let run = estate.run(&["rollback", &estate.last_move(shard), "--yes"]);
    assert!(run.code == 0 && quiet(&run), "{}", run.stderr);
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    estate.psql(
        "pg2",
        &format!(
            "CREATE FUNCTION {schema}.new(int) RETURNS int LANGUAGE sql RETURN 2;
             CREATE OR REPLACE VIEW {schema}.kept AS SELECT 2 AS one;
             CREATE TYPE {schema}.pair AS (a int); CREATE DOMAIN {schema}.word AS text;
             COMMENT ON SCHEMA {schema} IS 'new'; COMMENT ON VIEW {schema}.kept IS 'new';
             ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO app_back;
             GRANT SELECT ON {schema}.item TO app_back"
        ),
    );
    let dry = estate.run(&["rollback", &estate.last_move(shard), "--dry-run"]).ok();
    let run = estate.run(&["rollback", &estate.last_move(shard), "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for what in [
        "FUNCTION new(integer)".to_owned(),
        "VIEW kept".to_owned(),
        "ACL TABLE item".to_owned(),
        "TYPE pair".to_owned(),
        "DOMAIN word".to_owned(),
        format!("COMMENT SCHEMA {schema}"),
        "COMMENT VIEW kept".to_owned(),
        "DEFAULT ACL DEFAULT PRIVILEGES FOR TABLES".to_owned(),
    ] {
        let line = format!("not carried back from pg2: {what} differs on pg1");
        assert!(run.stderr.contains(&line), "{line:?} is not in {}", run.stderr);
        // Before one is asked, too.
        let line = format!("not carried back from pg2: {what}\n");
        assert!(dry.contains(&line) && run.stderr.contains(&line), "{line:?} is not in {dry}");
    }
    assert_eq!(dry.matches("not carried back").count(), 8, "{dry}");
    assert_eq!(run.stderr.matches("not carried back").count(), 16, "{}", run.stderr);
    estate.assert_no_trace(shard);
}

/// It began, copied nothing, and stood until it was given up.
#[test]
fn a_rollback_to_a_copy_with_other_tables_is_refused_before_it_begins() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.make_tables(shard);
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    estate.psql("pg2", &format!("ALTER TABLE {schema}.item ADD COLUMN later int"));
    for how in ["--yes", "--dry-run"] {
        let refused = estate.run(&["rollback", &id, how]).refused();
        assert!(
            refused.contains(&format!("the tables of schema {schema} are not those")),
            "{refused}"
        );
        assert!(refused.contains(&format!("`shardid retire {id}`")), "{refused}");
    }
    assert_eq!(estate.last_move(shard), id, "nothing was begun");
    estate.psql("pg2", &format!("ALTER TABLE {schema}.item DROP COLUMN later"));
    estate.run(&["rollback", &id, "--yes"]).ok();
    estate.assert_no_trace(shard);
}

#[test]
fn several_old_copies_are_dropped_at_once_and_one_that_cannot_be_is_named() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let number = shard.to_string();
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let first = estate.last_move(shard);
    // While it stands, going back is refused as what it is.
    let held = estate.run_held("following/before-LowerFence", &["rollback", &first, "--yes"]);
    let second = estate.last_move(shard);
    let refused = estate.run(&["rollback", &second, "--yes"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("`shardid abort {second}`")), "{}", refused.stderr);
    let twice = estate.run(&["rollback", &first, "--yes"]);
    assert_eq!(twice.code, 3, "{}", twice.stderr);
    assert!(twice.stderr.contains("is already being moved"), "{}", twice.stderr);
    held.kill();
    estate.run(&["abort", &second, "--yes"]).ok();
    // All are looked at before the first is touched.
    for wrong in ["999999", &second] {
        let run = estate.run(&["retire", &first, wrong, "--yes"]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains(&format!("move {wrong}")), "{}", run.stderr);
        assert!(!run.stderr.contains("is retired"), "{}", run.stderr);
    }
    let asked = estate.run(&["retire", &first]).refused();
    assert!(asked.contains("say `--yes`"), "{asked}");
    let dry = estate.run(&["retire", &format!("{first}-{first}"), "--dry-run"]).ok();
    assert!(
        dry.contains(&format!("move {first}: drop the old copy of shard {shard} on pg1")),
        "{dry}"
    );
    let list = estate.run(&["retire", &first, "--yes"]);
    assert!(list.stderr.contains(&format!("move {first} is retired")), "{}", list.stderr);
    let again = estate.run(&["retire", &first, "--yes"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(again.stderr.contains("is retired already"), "{}", again.stderr);
    estate.assert_no_trace(shard);
}

#[test]
fn the_old_copy_can_be_read_while_it_follows_and_is_gone_after_retire() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    estate.psql("pg2", &format!("INSERT INTO {schema}.item (n) SELECT generate_series(1, 10)"));
    shardid_tests::wait_until(Duration::from_secs(20), "the old copy to follow", || {
        estate.psql("pg1", &format!("SELECT count(*) FROM {schema}.item")) == "10"
    });
    // It is locked here alone, as docs/moving-a-shard.md says.
    let locked = format!("SELECT count(*) FROM (SELECT FROM {schema}.item FOR UPDATE) AS locked");
    assert_eq!(estate.psql("pg1", &locked), "10");
    let id = estate.last_move(shard);
    estate.run(&["retire", &id, "--yes"]).ok();
    estate.assert_no_trace(shard);
    let said = estate.run(&["rollback", &id, "--yes"]).refused();
    assert!(said.contains(&format!("`shardid move {shard} --to pg1` takes it back")), "{said}");
}

#[test]
fn without_a_way_back_the_old_copy_is_kept_but_does_not_follow() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.run(&["move", &number, "--to", "pg2", "--yes", "--no-rollback"]).ok();
    let id = estate.last_move(shard);
    let streams =
        format!("SELECT count(*) FROM pg_replication_slots WHERE slot_name LIKE 'shardid%\\_{id}'");
    for node in estate.nodes() {
        assert_eq!(estate.psql(&node, &streams), "0", "{node}");
    }
    estate.psql("pg2", &format!("INSERT INTO {schema}.item (n) VALUES (1)"));
    let said = estate.run(&["rollback", &id, "--yes"]).refused();
    assert!(said.contains("its old copy does not follow"), "{said}");
    // Nor can it move back over its old copy.
    let said = estate.run(&["move", &number, "--to", "pg1", "--yes"]).refused();
    assert!(said.contains(&format!("shardid retire {id}")), "{said}");
    estate.run(&["retire", &id, "--yes"]).ok();
    estate.run(&["move", &number, "--to", "pg1", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &format!("SELECT count(*) FROM {schema}.item")), "1");
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}

/// A restored copy of the node's database was dropped with its subscription, and the slot went with it.
#[test]
fn an_old_copy_whose_slot_is_gone_is_found() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.make_tables(shard);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    estate.run(&["verify"]).ok();
    estate.psql("pg1", "ALTER SUBSCRIPTION shardid_back_1 DISABLE");
    wait_until(Duration::from_secs(30), "the slot to be free", || {
        estate.psql("pg2", "SELECT count(*) FROM pg_replication_slots WHERE active") == "0"
    });
    estate.psql("pg2", "SELECT pg_drop_replication_slot('shardid_back_1')");
    let found = estate.run(&["verify"]);
    let says = format!(
        "pg2: slot shardid_back_1 is gone, and the old copy of shard {shard} on pg1 follows no more: it cannot be gone back to: `shardid retire 1`\n"
    );
    assert_eq!((found.code, found.stdout), (1, says));
    estate.run(&["retire", "1", "--yes"]).ok();
    estate.run(&["verify"]).ok();
}

/// `verify` reads the map first, and the journal later: a rollback had switched in between, and its copy was
/// to be renamed.
#[test]
fn the_copy_that_a_rollback_is_about_to_open_is_never_named_as_left_over() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    let name = shard.to_string();
    estate.run(&["move", &name, "--to", "pg2", "--yes"]).ok();
    estate.psql("pg2", &write);
    let id = estate.last_move(shard);
    estate.run_cut("switched/before-GuardSource", &["rollback", &id, "--yes"]);
    let reads = |node: &str| {
        estate
            .psql("pg1", &format!("UPDATE shardid.map SET node = '{node}' WHERE shard = {shard}"));
        estate.run(&["verify"]).stdout
    };
    let found = reads("pg2");
    assert!(!found.contains("is a copy of shard"), "{found}");
    let found = reads("pg1");
    assert!(!found.contains("is a copy of shard"), "{found}");
    estate.run(&["resume", &estate.last_move(shard)]).ok();
    assert_eq!(estate.home(shard), "pg1");
    estate.psql("pg1", &write);
}
