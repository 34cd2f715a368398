//! What somebody does by hand to a copy between the switch and the end of its move.

use shardid_tests::estate::{Estate, schema};

use crate::shared;

/// A shard on pg1 with a row and a sequence of its own, and what says how far both are.
fn made(estate: &Estate, shard: u32) -> String {
    let schema = schema(shard);
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.item (id bigint PRIMARY KEY DEFAULT next_id({shard}), n int GENERATED ALWAYS AS IDENTITY);
             INSERT INTO {schema}.item SELECT FROM generate_series(1, 10)"
        ),
    );
    format!("INSERT INTO {schema}.item DEFAULT VALUES RETURNING n > 10 AND id_shard(id) = {shard}")
}

/// Cuts a move of a shard to pg2 at a place, and returns its number.
fn cut(estate: &Estate, shard: u32, place: &str) -> String {
    estate.run_cut(place, &["move", &shard.to_string(), "--to", "pg2", "--yes"]);
    estate.last_move(shard)
}

/// It was said to be done, and the shard was open nowhere.
#[test]
fn a_copy_that_is_dropped_before_it_is_opened_is_gone_back_from() {
    let estate = Estate::start(2, 8);
    let stream = |id: &str| {
        format!(
            "ALTER SUBSCRIPTION shardid_move_{id} DISABLE; ALTER SUBSCRIPTION shardid_move_{id} SET (slot_name = NONE); DROP SUBSCRIPTION shardid_move_{id}"
        )
    };
    for (shard, place) in [
        (0, "switched/before-GuardSource"),
        (1, "switched/before-OpenTarget"),
        (2, "switched/before-GuardSource"),
        (3, "switched/before-OpenTarget"),
    ] {
        let write = made(&estate, shard);
        let id = cut(&estate, shard, place);
        let is_dropped = shard < 2;
        let words = if is_dropped {
            estate.psql("pg2", &format!("DROP SCHEMA {} CASCADE", schema(shard)));
            format!(
                "node pg2: the copy of shard {shard} is not there any more: schema {}",
                schema(shard)
            )
        } else {
            estate.psql("pg2", &stream(&id).replace("; ", ";\n"));
            format!(
                "node pg2: subscription shardid_move_{id} is gone, which says how the sequences of shard {shard} go on"
            )
        };
        let stands = estate.run(&["resume", &id]);
        assert_eq!(stands.code, 3, "{}", stands.stderr);
        assert!(stands.stderr.contains(&words), "{words:?} is not in {}", stands.stderr);
        let hint = format!("`shardid abort {id}` goes back to pg1");
        assert!(stands.stderr.contains(&hint), "{}", stands.stderr);
        let found = estate.run(&["verify"]);
        assert!(found.stdout.contains(&words), "{}", found.stdout);
        estate.run(&["abort", &id, "--yes"]).ok();
        assert_eq!(estate.home(shard), "pg1");
        assert_eq!(estate.psql("pg1", &write), "t");
        estate.assert_no_trace(shard);
    }
}

/// The wrong node was named; and with its name back it was done, with sequences that gave nothing.
#[test]
fn a_copy_that_is_renamed_before_it_is_opened_is_named() {
    let estate = Estate::start(2, 4);
    for (shard, place) in [(0, "switched/before-GuardSource"), (1, "switched/before-OpenTarget")] {
        let (write, schema) = (made(&estate, shard), schema(shard));
        let id = cut(&estate, shard, place);
        estate.psql("pg2", &format!("ALTER SCHEMA {schema} RENAME TO other"));
        let stands = estate.run(&["resume", &id]);
        assert_eq!(stands.code, 3, "{}", stands.stderr);
        let words =
            format!("the new copy of shard {shard} is in schema other now, and not in {schema}");
        assert!(stands.stderr.contains(&words), "{}", stands.stderr);
        let hint = format!("ALTER SCHEMA other RENAME TO {schema};");
        assert!(stands.stderr.contains(&hint), "{}", stands.stderr);
        estate.psql("pg2", &format!("ALTER SCHEMA other RENAME TO {schema}"));
        estate.run(&["resume", &id]).ok();
        assert_eq!(estate.psql("pg2", &write), "t");
        estate.run(&["rollback", &id, "--yes"]).ok();
        assert_eq!(estate.psql("pg1", &write), "t");
    }
}

/// The hint was to make the shard, which made an empty one.
#[test]
fn a_copy_that_is_dropped_after_it_was_opened_is_not_made_anew() {
    let estate = Estate::start(2, 4);
    made(&estate, 0);
    let id = cut(&estate, 0, "switched/before-EndStream");
    estate.psql("pg2", &format!("DROP SCHEMA {} CASCADE", schema(0)));
    let stands = estate.run(&["resume", &id]);
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    let words = format!(
        "node pg2: shard 0 is not there any more: the copy in schema {} on pg1 is the last one",
        schema(0)
    );
    assert!(stands.stderr.contains(&words), "{}", stands.stderr);
    assert!(!stands.stderr.contains("create_shard"), "{}", stands.stderr);
    let rows = format!("SELECT count(*) FROM {}.item", schema(0));
    assert_eq!(estate.psql("pg1", &rows), "10");
}

/// Each hint led to the next one, and none said what to do.
#[test]
fn a_table_that_is_made_before_the_old_copy_follows_is_named() {
    let estate = Estate::start(2, 4);
    for (shard, is_made_there_too) in [(0, false), (1, true)] {
        let (write, schema) = (made(&estate, shard), schema(shard));
        let id = cut(&estate, shard, "switched/before-OpenWayBack");
        let make = format!("CREATE TABLE {schema}.newer (id int PRIMARY KEY)");
        estate.psql("pg2", &make);
        assert_eq!(estate.psql("pg2", &write), "t");
        let stands = estate.run(&["resume", &id]);
        assert_eq!(stands.code, 3, "{}", stands.stderr);
        let words = "tables were made on pg2 since the switch, and pg1 has not got them: newer";
        assert!(stands.stderr.contains(words), "{}", stands.stderr);
        match is_made_there_too {
            true => estate.psql("pg1", &make),
            false => estate.psql("pg2", &format!("ALTER TABLE {schema}.newer SET SCHEMA public")),
        };
        estate.run(&["resume", &id]).ok();
        assert_eq!(estate.psql("pg2", &write), "t");
        estate.run(&["rollback", &id, "--yes"]).ok();
        assert_eq!(estate.psql("pg1", &write), "t");
    }
}

/// Its subscription took a copy for whole from which it had copied all rows, and was at home in none of the tables that were
/// made anew.
#[test]
fn a_copy_that_goes_while_it_is_made_is_made_anew_with_its_rows() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.make_tables(shard);
    estate.psql("pg1", &format!("INSERT INTO {schema}.item (n) SELECT generate_series(1, 500)"));
    let gone = [
        (format!("DROP SCHEMA {schema} CASCADE"), &["--verify", "none"][..]),
        (
            format!("ALTER SCHEMA {schema} RENAME TO {schema}_by_hand"),
            &["--verify", "cheap", "--jobs", "2"],
        ),
    ];
    for (by_hand, options) in gone {
        estate.run_cut("copying/before-MakeIndexes", &["move", &number, "--to", "pg2", "--yes"]);
        let id = estate.last_move(shard);
        estate.psql("pg2", &by_hand);
        estate.run(&[&["resume", &id][..], options].concat()).ok();
        assert_eq!(estate.psql("pg2", &format!("SELECT count(*) FROM {schema}.item")), "500");
        estate.run(&["rollback", &id, "--yes"]).ok();
        estate.psql("pg2", &format!("DROP SCHEMA IF EXISTS {schema}_by_hand CASCADE"));
        estate.assert_no_trace(shard);
    }
}

#[test]
fn a_table_that_the_stream_leaves_out_is_named() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.make_tables(shard);
    let held =
        estate.run_held("copying/before-AwaitCopy", &["move", &number, "--to", "pg2", "--yes"]);
    estate.psql("pg2", &format!("SET allow_system_table_mods = on; DELETE FROM pg_subscription_rel WHERE srrelid = '{schema}.item'::regclass"));
    let stands = held.let_go();
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    let words = format!("table item of the copy in schema {schema} is none of subscription");
    assert!(stands.stderr.contains(&words), "{}", stands.stderr);
    estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}
