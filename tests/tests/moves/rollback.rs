//! Going back, and giving the way back up.

use std::time::Duration;

use shardid_tests::estate::{Writer, schema};

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
        estate.run(&["rollback", &estate.last_move(shard)]).ok();
        assert_eq!(estate.home(shard), "pg1");
        writer.wait_for(20);
        estate.assert_no_trace(shard);
    }
    let tally = writer.end();
    estate.assert_whole(shard, &tally);
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
    let id = estate.last_move(shard);
    estate.run(&["retire", &id]).ok();
    estate.assert_no_trace(shard);
    let said = estate.run(&["rollback", &id]).refused();
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
    let said = estate.run(&["rollback", &id]).refused();
    assert!(said.contains("its old copy does not follow"), "{said}");
    // Nor can it move back over its old copy.
    let said = estate.run(&["move", &number, "--to", "pg1", "--yes"]).refused();
    assert!(said.contains(&format!("shardid retire {id}")), "{said}");
    estate.run(&["retire", &id]).ok();
    estate.run(&["move", &number, "--to", "pg1", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &format!("SELECT count(*) FROM {schema}.item")), "1");
    estate.run(&["retire", &estate.last_move(shard)]).ok();
    estate.assert_no_trace(shard);
}
