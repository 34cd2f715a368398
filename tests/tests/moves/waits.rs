//! What waits for a transaction that somebody has left open: it stops in time, and names who that is.

use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::program::Run;

const MOVE: [&str; 7] = ["move", "0", "--to", "pg2", "--yes", "--stall-seconds-max", "4"];

/// Two nodes of its own: every other move would wait for what is left open here.
fn estate() -> Estate {
    let estate = Estate::start(2, 2);
    for node in ["pg1", "pg2"] {
        estate.psql(node, "CREATE ROLE bystander");
        estate.psql(node, "GRANT CREATE ON DATABASE app TO bystander");
    }
    estate
}

/// Has a role leave something prepared.
fn prepare(estate: &Estate, node: &str, sql: &str) {
    let mut client = estate.node(node).connect(DATABASE);
    let all = format!("SET ROLE bystander; BEGIN; {sql}; PREPARE TRANSACTION 'open'");
    client.batch_execute(&all).unwrap();
}

fn end(estate: &Estate, node: &str) {
    estate.psql(node, "ROLLBACK PREPARED 'open'");
}

/// That a command has stopped in time for what is prepared, says which that is, and how to end it.
fn stops_for_it(run: &Run, node: &str) {
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    for says in [
        &format!("node {node}: "),
        "it has waited for a lock: prepared transaction 'open' (bystander, for ",
        "COMMIT PREPARED 'open' or ROLLBACK PREPARED 'open' in database app there",
    ] {
        assert!(run.stderr.contains(says), "{says}: {}", run.stderr);
    }
}

/// It waited without a limit, a line or a name.
#[test]
fn who_has_the_name_of_a_publication_in_hand_is_named() {
    let estate = estate();
    prepare(&estate, "pg1", "CREATE PUBLICATION shardid_move_1");
    stops_for_it(&estate.run(&MOVE), "pg1");
    end(&estate, "pg1");
    estate.run(&["resume", "1"]).ok();
}

/// The session was ended instead, and functions were suspected that nobody had.
#[test]
fn who_has_the_name_of_the_copys_schema_in_hand_is_named() {
    let estate = estate();
    prepare(&estate, "pg2", &format!("CREATE SCHEMA {}", schema(0)));
    stops_for_it(&estate.run(&MOVE), "pg2");
    end(&estate, "pg2");
    estate.run(&["resume", "1"]).ok();
}

/// The server was called busy.
#[test]
fn who_grants_rights_on_the_schema_while_the_way_back_is_made_is_named() {
    let (estate, schema) = (estate(), schema(0));
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY); ALTER SCHEMA {schema} OWNER TO bystander"));
    let held = estate.run_held("switched/before-OpenWayBack", &MOVE);
    prepare(&estate, "pg1", &format!("GRANT USAGE ON SCHEMA {schema} TO public"));
    stops_for_it(&held.let_go(), "pg1");
    end(&estate, "pg1");
    estate.run(&["resume", "1"]).ok();
}

/// Nothing else on the node was looked at either.
#[test]
fn who_locks_a_table_hides_nothing_else_from_a_look() {
    let (estate, schema) = (estate(), schema(0));
    estate.psql(
        "pg1",
        &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY DEFAULT {schema}.next_id())"),
    );
    estate.run(&MOVE).ok();
    estate.psql("pg1", &format!("DROP TRIGGER shardid_fence ON {schema}.t"));
    let table = "CREATE TEMP TABLE own (id bigint DEFAULT next_id(1)); LOCK TABLE own IN ACCESS EXCLUSIVE MODE";
    let mut client = estate.node("pg1").connect(DATABASE);
    client.batch_execute(&format!("SET ROLE bystander; BEGIN; {table}")).unwrap();
    let found = estate.run(&["verify"]);
    assert!(
        !found.stdout.contains("lock timeout"),
        "what is temporary is not looked at: {}",
        found.stdout
    );
    client
        .batch_execute("ROLLBACK; SET ROLE bystander; CREATE SCHEMA bystanders; CREATE TABLE bystanders.own (id bigint DEFAULT next_id(1))")
        .unwrap();
    prepare(&estate, "pg1", "LOCK TABLE bystanders.own IN ACCESS EXCLUSIVE MODE");
    let found = estate.run(&["verify"]);
    for says in ["ROLLBACK PREPARED 'open' in database app there", "shardid_fence"] {
        assert!(found.stdout.contains(says), "{says}: {}{}", found.stdout, found.stderr);
    }
    end(&estate, "pg1");
}
