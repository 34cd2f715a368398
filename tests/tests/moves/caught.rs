//! A function of a table's owner that catches every cancel: it holds up what calls it, and nothing else for long.

use std::process::Stdio;
use std::time::{Duration, Instant};

use shardid_tests::estate::{Estate, schema};
use shardid_tests::wait_until;

/// A table with an index that calls a function, which does not end within queries like this one. It is the server
/// that calls it, when it plans them.
fn make_catching(estate: &Estate, schema: &str, within: &str) {
    for node in estate.nodes() {
        estate.psql(&node, &format!("CREATE ROLE catching_{schema}"));
    }
    estate.psql(
        "pg1",
        &format!(
            "GRANT CREATE, USAGE ON SCHEMA {schema} TO catching_{schema};
             SET ROLE catching_{schema};
             CREATE FUNCTION {schema}.catches() RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $f$
             BEGIN
                 IF current_query() !~ '{within}' THEN RETURN true; END IF;
                 LOOP
                     BEGIN
                         PERFORM pg_sleep(1000);
                     EXCEPTION WHEN query_canceled THEN
                         NULL;
                     END;
                 END LOOP;
             END $f$;
             CREATE TABLE {schema}.catching (id bigint PRIMARY KEY DEFAULT {schema}.next_id());
             CREATE INDEX ON {schema}.catching (id) WHERE {schema}.catches()"
        ),
    );
}

/// Whether a session on the shard's home is at what such a function does.
fn is_caught(estate: &Estate, schema: &str) -> bool {
    estate.psql(
        "pg1",
        &format!(
            "SELECT EXISTS (SELECT FROM pg_stat_activity
                             WHERE query ~ '{schema}.catching' AND state = 'active' AND pid <> pg_backend_pid())"
        ),
    ) == "t"
}

/// `statement_timeout` and the program's own cancel are caught, and the fence stood for as long as the owner liked.
#[test]
fn writers_wait_no_longer_for_a_comparison_whose_cancel_is_caught() {
    let estate = Estate::start(2, 4);
    let schema = schema(0);
    estate.make_tables(0);
    make_catching(&estate, &schema, "hashtext[e]");
    let began = Instant::now();
    let run = estate.run(&["move", "0", "--to", "pg2", "--fence-seconds-max", "1", "--yes"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(began.elapsed() < Duration::from_secs(60), "it took {:?}", began.elapsed());
    assert!(run.stderr.contains("a statement went on after its time was over"), "{}", run.stderr);
    assert!(run.stderr.contains("EXCEPTION WHEN query_canceled"), "{}", run.stderr);
    estate.psql("pg1", &format!("INSERT INTO {schema}.catching DEFAULT VALUES"));
    assert!(!is_caught(&estate, &schema), "its session goes on");
    estate.psql("pg1", &format!("DROP TABLE {schema}.catching; DROP FUNCTION {schema}.catches"));
    estate.run(&["abort", &estate.last_move(0), "--yes"]).ok();
    estate.assert_no_trace(0);
}

/// One table was waited for as long as its owner liked, and the others were not looked at.
#[test]
fn verify_goes_on_after_a_table_whose_cancel_is_caught() {
    let estate = Estate::start(2, 4);
    for shard in 0..2 {
        estate.make_tables(shard);
    }
    make_catching(&estate, &schema(0), "ma[x]");
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {0}.beyond (id bigint PRIMARY KEY DEFAULT {0}.next_id());
             INSERT INTO {0}.beyond VALUES (next_id(1) + 1024 * 8192::bigint * 3600000)",
            schema(1)
        ),
    );
    let run = estate.run(&["verify", "--data", "--table-seconds-max", "1"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let name = format!("table {}.catching: node pg1: a statement went on", schema(0));
    assert!(run.stdout.contains(&name), "{}", run.stdout);
    let found = format!("column id of {}.beyond has id", schema(1));
    assert!(run.stdout.contains(&found), "{}", run.stdout);
    assert!(!is_caught(&estate, &schema(0)), "its session goes on");
}

/// Of a program that was killed such a session stayed on the server for good.
#[test]
fn a_session_ends_with_its_program_also_where_its_cancel_is_caught() {
    let estate = Estate::start(1, 4);
    make_catching(&estate, &schema(0), "ma[x]");
    let mut command = estate.command(&["verify", "--data"]);
    let mut program = command.stdout(Stdio::null()).spawn().expect("it is there");
    wait_until(Duration::from_secs(30), "a cancel to be caught", || is_caught(&estate, &schema(0)));
    program.kill().and_then(|()| program.wait()).expect("it is ours");
    wait_until(Duration::from_secs(30), "its session to end", || !is_caught(&estate, &schema(0)));
}

/// A default that is made of a domain has the domain's CHECK be asked where the table is made: it held a move, and all
/// that waited for its transaction, for as long as the owner liked.
#[test]
fn a_move_waits_no_longer_for_definitions_whose_cancel_is_caught() {
    let estate = Estate::start(2, 4);
    let (schema, port) = (schema(0), estate.node("pg1").port());
    estate.make_tables(0);
    for node in estate.nodes() {
        estate.psql(&node, &format!("CREATE ROLE catching_{schema}"));
    }
    estate.psql(
        "pg1",
        &format!(
            "GRANT CREATE, USAGE ON SCHEMA {schema} TO catching_{schema};
             SET ROLE catching_{schema};
             CREATE FUNCTION {schema}.catches() RETURNS boolean LANGUAGE plpgsql AS $f$
             BEGIN
                 IF current_setting('port') = '{port}' THEN RETURN true; END IF;
                 LOOP
                     BEGIN
                         PERFORM pg_sleep(1000);
                     EXCEPTION WHEN query_canceled THEN
                         NULL;
                     END;
                 END LOOP;
             END $f$;
             CREATE DOMAIN {schema}.caught AS integer CHECK ({schema}.catches());
             CREATE TABLE {schema}.catching (id bigint PRIMARY KEY DEFAULT {schema}.next_id(), n integer DEFAULT cardinality('{{6}}'::{schema}.caught[]))"
        ),
    );
    let began = Instant::now();
    let run = estate.run(&["move", "0", "--to", "pg2", "--stall-seconds-max", "3", "--yes"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(began.elapsed() < Duration::from_secs(60), "it took {:?}", began.elapsed());
    assert!(run.stderr.contains("a statement went on after its time was over"), "{}", run.stderr);
    estate.run(&["abort", &estate.last_move(0), "--yes"]).ok();
    estate.psql("pg1", &format!("DROP TABLE {schema}.catching; DROP DOMAIN {schema}.caught; DROP FUNCTION {schema}.catches"));
    estate.assert_no_trace(0);
}
