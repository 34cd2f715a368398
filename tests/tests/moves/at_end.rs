//! Sequences of which nobody knows how they go on give nothing, and are named.

use shardid_tests::estate::{DATABASE, Estate};

use crate::gone::shard_on;
use crate::shared;
use crate::switched::{fail_over, standby_behind};

/// Whether a sequence of a shard gives a number.
fn gives(estate: &Estate, node: &str, shard: u32, name: &str) -> bool {
    let next = format!("SELECT nextval('shard_{shard:04}.{name}')");
    estate.node(node).try_psql(DATABASE, &next).is_ok()
}

/// It stayed closed without a word: what was noted of it is noted by its name.
#[test]
fn a_sequence_that_was_renamed_on_a_closed_copy_is_named_when_it_is_opened() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let number = shard.to_string();
    estate.psql(
        "pg1",
        &format!(
            "CREATE SEQUENCE shard_{shard:04}.bill; SELECT nextval('shard_{shard:04}.bill') FROM generate_series(1, 7);
             CREATE SEQUENCE shard_{shard:04}.kept; SELECT nextval('shard_{shard:04}.kept');
             CREATE SEQUENCE shard_{shard:04}.used MAXVALUE 2; SELECT nextval('shard_{shard:04}.used') FROM generate_series(1, 2)"
        ),
    );
    estate.run_cut("switched/before-OpenTarget", &["move", &number, "--to", "pg2", "--yes"]);
    estate.psql("pg2", &format!("ALTER SEQUENCE shard_{shard:04}.bill RENAME TO invoice"));
    let id = estate.last_move(shard);
    let resumed = estate.run(&["resume", &id]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let words = format!(
        "shard {shard}: pg2 does not know how these sequences went on, and they give nothing: shard_{shard:04}.invoice;"
    );
    assert!(resumed.stderr.contains(&words), "{}", resumed.stderr);
    assert!(gives(estate, "pg2", shard, "kept") && !gives(estate, "pg2", shard, "invoice"));
    // What was said to help does.
    let stood = estate.psql("pg1", &format!("SELECT last_value FROM shard_{shard:04}.bill"));
    estate.psql("pg2", &format!("ALTER SEQUENCE shard_{shard:04}.invoice MINVALUE 1 MAXVALUE 99; SELECT setval('shard_{shard:04}.invoice', {stood})"));
    let next = estate.psql("pg2", &format!("SELECT nextval('shard_{shard:04}.invoice')"));
    assert_eq!((stood, next), ("7".into(), "8".into()));
}

/// What a source shows that was promoted without its fence is behind what was given, and numbers came again.
#[test]
fn sequences_give_nothing_where_the_note_is_lost_and_the_source_was_promoted() {
    let mut estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    let number = shard.to_string();
    estate.psql("pg2", &format!("{write}; CREATE SEQUENCE shard_{shard:04}.bill"));
    let mut held = estate.run_held_then_cut(
        "following/before-LowerFence",
        "switched/before-GuardSource",
        &["move", &number, "--to", "pg3", "--yes"],
    );
    let standby = standby_behind(&estate, "pg2");
    estate.psql(
        "pg2",
        &format!("SELECT nextval('shard_{shard:04}.bill') FROM generate_series(1, 9)"),
    );
    let last = estate.psql("pg2", &format!("SELECT next_id({shard})"));
    held.go_on();
    assert_eq!(held.end().code, -1);
    let id = estate.last_move(shard);
    fail_over(&mut estate, "pg2", standby);
    // As where the target was promoted as well.
    estate.psql(
        "pg3",
        "SELECT format('COMMENT ON SUBSCRIPTION %I IS NULL', subname) FROM pg_subscription WHERE subname ~ '^shardid_move_' \\gexec",
    );
    let resumed = estate.run(&["resume", &id, "--accept-loss"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let words =
        format!("they give nothing: shard_{shard:04}.bill, shard_{shard:04}.line_serial_seq;");
    assert!(resumed.stderr.contains(&words), "{}", resumed.stderr);
    assert!(!gives(&estate, "pg3", shard, "bill"));
    let next = estate.psql("pg3", &format!("SELECT next_id({shard})"));
    assert!(next.parse::<i64>().unwrap() > last.parse::<i64>().unwrap(), "{next} after {last}");
}
