//! A copy that somebody has touched, whose slot is lost, or that is ahead of its stream.

use std::thread::{self, sleep};
use std::time::Duration;

use shardid_tests::estate::{Writer, schema};
use shardid_tests::wait_until;

use crate::shared;

#[test]
fn what_somebody_did_to_a_copy_is_said_with_its_node_and_the_very_command() {
    let estate = shared::estate();
    let shard = shared::shard();
    estate.make_tables(shard);
    estate
        .run_cut("following/before-Compare", &["move", &shard.to_string(), "--to", "pg2", "--yes"]);
    let id = estate.last_move(shard);
    let resume = || estate.run(&["resume", &id]).stderr;
    let schema = schema(shard);
    estate.psql("pg2", &format!("ALTER TABLE {schema}.item ADD extra int"));
    let said = resume();
    assert!(said.contains(&format!("node pg2: schema {schema} was changed")), "{said}");
    let stream = format!("shardid_move_{id}");
    estate.psql("pg2", &format!("ALTER SUBSCRIPTION {stream} DISABLE"));
    let free = format!("SELECT NOT active FROM pg_replication_slots WHERE slot_name = '{stream}'");
    wait_until(Duration::from_secs(20), "the slot to be free", || estate.psql("pg1", &free) == "t");
    let said = resume();
    assert!(said.contains(&format!("node pg2: subscription {stream} is disabled")), "{said}");
    assert!(said.contains(&format!("`ALTER SUBSCRIPTION {stream} ENABLE;` there")), "{said}");
    estate.psql("pg1", &format!("SELECT pg_drop_replication_slot('{stream}')"));
    // As where the source was restored.
    let said = resume();
    assert!(said.contains("where somebody has dropped the slot, nothing is lost"), "{said}");
    assert!(said.contains(&format!("`shardid abort {id} --accept-loss`")), "{said}");
    let refused = estate.run(&["abort", &id, "--yes"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    estate.run(&["abort", &id, "--yes", "--accept-loss"]).ok();
    estate.assert_no_trace(shard);
}

/// A new one began behind what was written meanwhile, and the shard opened without that where its rows
/// were not compared.
#[test]
fn a_copy_whose_slot_is_lost_while_it_is_copied_is_given_up() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let number = shard.to_string();
    estate.run_cut("copying/before-AwaitCopy", &["move", &number, "--to", "pg2", "--yes"]);
    let id = estate.last_move(shard);
    let stream = format!("shardid_move_{id}");
    let end = format!(
        "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{stream}' AND active"
    );
    let lost = format!(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{stream}' AND NOT active"
    );
    estate.psql("pg2", &format!("ALTER SUBSCRIPTION {stream} DISABLE"));
    wait_until(Duration::from_secs(20), "the slot to be lost", || {
        estate.psql("pg1", &end);
        estate.psql("pg1", &lost);
        estate.psql(
            "pg1",
            &format!("SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{stream}'"),
        ) == "0"
    });
    estate.psql("pg2", &format!("ALTER SUBSCRIPTION {stream} ENABLE"));
    let said = estate.run(&["resume", &id, "--verify", "none"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    let says = format!(
        "the copy of shard {shard} on pg2 may have rows that node pg1 has lost: the replication slot is gone"
    );
    assert!(said.stderr.contains(&says), "{}", said.stderr);
    let instead = format!("`shardid abort {id} --accept-loss`");
    assert!(said.stderr.contains(&instead), "{}", said.stderr);
    estate.run(&["abort", &id, "--yes", "--accept-loss"]).ok();
    estate.assert_no_trace(shard);
}

/// A table whose copy began late is ahead of what the stream has applied to the others, so a row
/// was there without the one that it refers to, and the move failed at its foreign key.
#[test]
fn a_copy_that_is_ahead_of_the_stream_is_given_its_foreign_keys_when_the_stream_is_there_too() {
    const NEW_ONES: i64 = 1 << 40;
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    let first = Writer::begin(estate, shard, 0, Duration::from_millis(2));
    first.wait_for(10);
    let mut tally = first.end();
    let mut held = estate.run_held(
        "copying/before-Subscribe",
        &["move", &number, "--to", "pg2", "--verify", "none", "--yes"],
    );
    // The first copy of lines fails when the stream is behind with items, whose new ones take their time; the checks
    // are gone before the definitions are compared.
    estate.psql(
        "pg2",
        &format!(
            "CREATE SEQUENCE copies_of_{schema}; CREATE SEQUENCE goes_of_{schema};
             GRANT SELECT ON SEQUENCE copies_of_{schema}, goes_of_{schema} TO public;
             CREATE FUNCTION fails_of_{schema}() RETURNS boolean LANGUAGE plpgsql AS $$
               BEGIN
                 IF NOT (SELECT is_called FROM public.copies_of_{schema}) THEN
                   LOOP
                     PERFORM pg_sleep(0.1);
                     EXIT WHEN (SELECT is_called FROM public.copies_of_{schema});
                   END LOOP;
                   RAISE 'not yet';
                 END IF;
                 RETURN true;
               END $$;
             CREATE FUNCTION slow_of_{schema}(n bigint) RETURNS boolean LANGUAGE plpgsql AS $$
               BEGIN
                 IF n >= {NEW_ONES} AND NOT (SELECT is_called FROM public.goes_of_{schema}) THEN
                   PERFORM pg_sleep(0.1);
                 END IF;
                 RETURN true;
               END $$;
             ALTER TABLE {schema}.line ADD CONSTRAINT fails CHECK (fails_of_{schema}()) NOT VALID;
             ALTER TABLE {schema}.item ADD CONSTRAINT slow CHECK (slow_of_{schema}(n)) NOT VALID"
        ),
    );
    held.go_on();
    let states = format!(
        "SELECT string_agg(srsubstate::text, '' ORDER BY srrelid::regclass::text) FROM pg_subscription_rel
          WHERE srrelid IN ('{schema}.item'::regclass, '{schema}.line'::regclass)"
    );
    let wait_for = |wanted| {
        wait_until(Duration::from_secs(60), "items and lines to be copied as far", || {
            estate.psql("pg2", &states) == wanted
        });
    };
    wait_for("rd");
    let writer = Writer::begin(estate, shard, NEW_ONES, Duration::from_millis(2));
    writer.wait_for(400);
    estate.psql("pg2", &format!("SELECT nextval('copies_of_{schema}')"));
    wait_for("rs");
    estate.psql(
        "pg2",
        &format!("DROP FUNCTION fails_of_{schema}() CASCADE; DROP SEQUENCE copies_of_{schema}"),
    );
    // Here the foreign key was made.
    sleep(Duration::from_secs(2));
    tally.add(writer.end());
    estate.psql(
        "pg2",
        &format!("SELECT nextval('goes_of_{schema}'); DROP FUNCTION slow_of_{schema}(bigint) CASCADE; DROP SEQUENCE goes_of_{schema}"),
    );
    let run = held.end();
    assert_eq!(run.code, 0, "{}", run.stderr);
    estate.assert_whole(shard, &tally);
}

/// Whoever truncates a table changes the row that holds its rights, as does who takes them away from the role of a stream.
#[test]
fn a_table_that_is_truncated_when_the_shard_is_open_stops_no_move() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    let held =
        estate.run_held("switched/before-EndStream", &["move", &number, "--to", "pg2", "--yes"]);
    let id = estate.last_move(shard);
    let mut client = estate.node("pg2").connect("app");
    client.batch_execute(&format!("BEGIN; TRUNCATE {schema}.item CASCADE")).unwrap();
    let moved = thread::scope(|scope| {
        let moved = scope.spawn(|| held.let_go());
        wait_until(Duration::from_secs(60), "the role to be dropped", || {
            let waits = format!(
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%''shardid_move_{id}''::regrole%' AND wait_event_type = 'Lock'"
            );
            estate.psql("pg2", &waits) == "1"
        });
        client.batch_execute("COMMIT").unwrap();
        moved.join().unwrap()
    });
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    let role = format!("SELECT count(*) FROM pg_roles WHERE rolname = 'shardid_move_{id}'");
    assert_eq!(estate.psql("pg2", &role), "0");
}
