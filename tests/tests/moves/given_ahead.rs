//! A node that has given ids ahead of the clock is lost, and another one opens the shard: it begins beyond them.

use shardid_tests::estate::{DATABASE, Estate};

use crate::catalog::lose;
use crate::gone::shard_on;
use crate::switched::{fail_over, standby_behind};

/// Nodes that may give ids a minute ahead: a loss that is slow to be mended is mended before the clock has come so far.
fn far_ahead() -> Estate {
    let estate = Estate::start(3, 4);
    for node in ["pg1", "pg2", "pg3"] {
        estate.psql(node, "ALTER DATABASE app SET shardid.max_drift = '60s'");
    }
    estate
}

/// A shard on pg2 that has an id sequence.
fn shard_with_id_sequence(estate: &Estate) -> u32 {
    let (shard, write) = shard_on(estate, "pg2");
    estate.psql("pg2", &format!("SELECT create_id_sequence('shard_{shard:04}.of_table', {shard})"));
    estate.psql("pg2", &write);
    shard
}

/// Has a node give ids of a shard, half a minute ahead of its clock. Returns the highest of the shard and of its id sequence.
fn give_ahead(estate: &Estate, node: &str, shard: u32) -> (i64, i64) {
    // Row by row: what stands in FROM is first written to disk.
    let most = format!("SELECT max(id) FROM (SELECT next_ids({shard}, 30000000) AS id) AS given");
    let most = estate.psql(node, &most);
    // In steps of a whole tick each, and as far.
    let far = format!(
        "SELECT max(next_id_from('shard_{shard:04}.of_table'))
           FROM (SELECT generate_series(1, 1024 * 24000)) AS n"
    );
    let far = estate.psql(node, &far);
    (most.parse().unwrap(), far.parse().unwrap())
}

/// Nothing that the lost node has given comes again.
fn begins_beyond(estate: &Estate, node: &str, shard: u32, given: (i64, i64), case: &str) {
    // The clock alone must not have passed it: then the test would show nothing.
    let clock: i64 = estate.psql(node, "SELECT id_at(clock_timestamp())").parse().unwrap();
    let next: i64 = estate.psql(node, &format!("SELECT next_id({shard})")).parse().unwrap();
    let of_table = format!("SELECT next_id_from('shard_{shard:04}.of_table')");
    let of_table: i64 = estate.psql(node, &of_table).parse().unwrap();
    assert!(clock < given.0.min(given.1), "{case}: too slow, the test shows nothing");
    assert!(next > given.0, "{case}: {next} is not above {}", given.0);
    assert!(of_table > given.1, "{case}: {of_table} is not above {}", given.1);
    // Nor one of a table that was made there.
    let made = format!("shard_{shard:04}.of_another");
    estate.psql(node, &format!("SELECT create_id_sequence('{made}', {shard})"));
    let made: i64 = estate.psql(node, &format!("SELECT next_id_from('{made}')")).parse().unwrap();
    assert!(made > given.1, "{case}: {made} is not above {}", given.1);
}

/// All were given once more by the node that the shard went back to.
#[test]
fn a_shard_that_goes_back_from_a_node_that_is_gone_begins_beyond_all_that_it_can_have_given() {
    for is_rollback in [false, true] {
        let estate = far_ahead();
        let shard = shard_with_id_sequence(&estate);
        let number = shard.to_string();
        let (home, lost) = if is_rollback { ("pg3", "pg2") } else { ("pg2", "pg3") };
        let place = "switched/after-OpenTarget";
        if is_rollback {
            estate.run(&["move", &number, "--to", "pg3", "--yes"]).ok();
            estate.run_cut(place, &["rollback", &estate.last_move(shard), "--yes"]);
        } else {
            estate.run_cut(place, &["move", &number, "--to", "pg3", "--yes"]);
        }
        let id = estate.last_move(shard);
        let given = give_ahead(&estate, lost, shard);
        estate.node(lost).kill9();
        estate.run(&["abort", &id, "--gone", lost, "--accept-loss", "--yes"]).ok();
        begins_beyond(&estate, home, shard, given, lost);
    }
}

#[test]
fn a_shard_that_goes_back_from_a_node_that_was_promoted_begins_beyond_all_that_it_can_have_given() {
    for has_catalog in [true, false] {
        let mut estate = far_ahead();
        let shard = shard_with_id_sequence(&estate);
        let (number, place) = (shard.to_string(), "switched/after-OpenTarget");
        let command = ["move", &number, "--to", "pg3", "--yes"];
        let mut held = estate.run_held_then_cut("following/before-LowerFence", place, &command);
        let standby = standby_behind(&estate, "pg3");
        estate.psql("pg2", &format!("INSERT INTO shard_{shard:04}.item (n) VALUES (1000000)"));
        held.go_on();
        assert_eq!(held.end().code, -1);
        let id = estate.last_move(shard);
        let given = give_ahead(&estate, "pg3", shard);
        fail_over(&mut estate, "pg3", standby);
        if has_catalog {
            estate.run(&["abort", &id, "--accept-loss", "--yes"]).ok();
        } else {
            lose(&estate);
            estate.run(&["catalog", "rebuild", "--accept-loss", "--yes"]).ok();
        }
        begins_beyond(&estate, "pg2", shard, given, &format!("catalog: {has_catalog}"));
    }
}

/// It had all rows from behind the fence, and did not know that it had been opened.
#[test]
fn a_promoted_node_that_was_opened_before_begins_beyond_all_that_it_can_have_given() {
    for has_catalog in [true, false] {
        let mut estate = far_ahead();
        let shard = shard_with_id_sequence(&estate);
        let (number, place) = (shard.to_string(), "switched/after-OpenTarget");
        let command = ["move", &number, "--to", "pg3", "--yes"];
        let mut held = estate.run_held_then_cut("switched/before-OpenTarget", place, &command);
        let standby = standby_behind(&estate, "pg3");
        held.go_on();
        assert_eq!(held.end().code, -1);
        let id = estate.last_move(shard);
        let given = give_ahead(&estate, "pg3", shard);
        fail_over(&mut estate, "pg3", standby);
        if has_catalog {
            estate.run(&["resume", &id]).ok();
        } else {
            lose(&estate);
            estate.run(&["catalog", "rebuild", "--yes"]).ok();
        }
        begins_beyond(&estate, "pg3", shard, given, &format!("catalog: {has_catalog}"));
    }
}

/// The one that was there had been promoted without its fence, and so was open again until it was lost.
#[test]
fn a_shard_that_is_opened_without_its_source_begins_beyond_all_that_it_can_have_given() {
    let mut estate = far_ahead();
    let shard = shard_with_id_sequence(&estate);
    let (number, place) = (shard.to_string(), "switched/before-GuardSource");
    let command = ["move", &number, "--to", "pg3", "--yes"];
    let mut held = estate.run_held_then_cut("following/before-LowerFence", place, &command);
    let standby = standby_behind(&estate, "pg2");
    held.go_on();
    assert_eq!(held.end().code, -1);
    let id = estate.last_move(shard);
    fail_over(&mut estate, "pg2", standby);
    estate.node("pg2").psql(DATABASE, &format!("SELECT next_id({shard})"));
    let given: i64 = estate.psql("pg2", &format!("SELECT next_id({shard})")).parse().unwrap();
    let of_table = format!("SELECT next_id_from('shard_{shard:04}.of_table')");
    let of_table: i64 = estate.psql("pg2", &of_table).parse().unwrap();
    estate.node("pg2").kill9();
    estate.run(&["resume", &id, "--gone", "pg2"]).ok();
    estate.psql("pg3", &format!("SELECT create_id_sequence('shard_{shard:04}.of_table', {shard})"));
    begins_beyond(&estate, "pg3", shard, (given, of_table), "without its source");
}
