//! Rows that several sessions copy: large tables in parts, as of one moment.

use std::thread;
use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate, Writer, schema};
use shardid_tests::{crowded, wait_until};

use crate::shared;

/// A table of some thousand blocks, which is more than one part.
fn make_large(estate: &Estate, schema: &str) {
    estate.psql(
        &estate.home(0),
        &format!(
            "CREATE TABLE {schema}.large (id bigint PRIMARY KEY DEFAULT {schema}.next_id(), n int NOT NULL, what text);
             INSERT INTO {schema}.large (n, what) SELECT n, repeat('x', 900) FROM generate_series(1, 60000) AS n;
             DELETE FROM {schema}.large WHERE n % 7 = 0"
        ),
    );
}

const SUM: &str = "SELECT count(*), sum(n), sum(length(what)) FROM";

/// Rows change in all parts of a table while it is copied, and move from one to another.
#[test]
fn a_large_table_is_copied_in_parts_under_writers() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    estate.make_tables(0);
    make_large(&estate, &schema);
    let mut client = estate.node("pg1").connect(DATABASE);
    let writer = Writer::begin(&estate, 0, 0, Duration::from_millis(1));
    let held = estate.run_held(
        "copy/part",
        &["move", "0", "--to", "pg2", "--yes", "--jobs", "3", "--verify", "full"],
    );
    // The first part is copied, and the rest is not: what is written now comes by the stream.
    for change in [
        "UPDATE SCHEMA.large SET n = n + 1000000, what = what || 'y' WHERE n % 5 = 0",
        "DELETE FROM SCHEMA.large WHERE n % 11 = 0",
        "INSERT INTO SCHEMA.large (n, what) SELECT n, 'new' FROM generate_series(1, 2000) AS n",
    ] {
        client.batch_execute(&change.replace("SCHEMA", &schema)).expect("nothing is in its way");
    }
    let run = held.let_go();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("copied in "), "{}", run.stderr);
    assert!(run.stderr.contains("rows compared"), "{}", run.stderr);
    writer.wait_for(20);
    let tally = writer.end();
    estate.assert_whole(0, &tally);
    let sum = format!("{SUM} {schema}.large");
    wait_until(crowded(Duration::from_secs(20)), "the old copy to have all", || {
        estate.psql("pg1", &sum) == estate.psql("pg2", &sum)
    });
    estate.run(&["verify", "--data"]).ok();
    estate.run(&["retire", "1", "--yes"]).ok();
    estate.assert_no_trace(0);
    estate.assert_no_streams();
}

/// What was copied by then is copied anew, by whoever goes on, in either way.
#[test]
fn a_copy_that_is_cut_between_two_parts_begins_anew() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    make_large(&estate, &schema);
    let sum = format!("{SUM} {schema}.large");
    let by = |jobs: &'static str| ["--jobs", jobs];
    for (place, before, after) in [
        ("copy/part", "3", "2"),
        ("copy/part", "2", "1"),
        ("copy/copied", "2", "1"),
        ("copy/copied", "2", "3"),
        ("left/subscription", "2", "1"),
        ("copying/before-Subscribe", "1", "2"),
        ("copying/before-AwaitCopy", "1", "2"),
    ] {
        let to = if estate.home(0) == "pg1" { "pg2" } else { "pg1" };
        let moving = [&["move", "0", "--to", to, "--yes"][..], &by(before)].concat();
        estate.run_cut(place, &moving);
        let id = estate.last_move(0);
        estate.psql(&estate.home(0), &format!("UPDATE {schema}.large SET n = n + 1 WHERE n < 90"));
        let rows = estate.psql(&estate.home(0), &sum);
        estate.run(&[&["resume", &id][..], &by(after)].concat()).ok();
        assert_eq!(estate.home(0), to, "{place} {before} {after}");
        assert_eq!(estate.psql(to, &sum), rows, "{place} {before} {after}");
        estate.run(&["retire", &id, "--yes"]).ok();
        estate.assert_no_trace(0);
    }
    // Given up, it leaves nothing.
    let to = if estate.home(0) == "pg1" { "pg2" } else { "pg1" };
    estate.run_cut("copy/part", &["move", "0", "--to", to, "--yes", "--jobs", "2"]);
    estate.run(&["abort", &estate.last_move(0), "--yes"]).ok();
    estate.assert_no_trace(0);
    estate.assert_no_streams();
}

/// A value of each type that is sent as it lies, and of those that are not: numbers of objects differ between servers.
#[test]
fn values_of_each_type_arrive_as_they_are() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (number, schema) = (shard.to_string(), schema(shard));
    // So that no number of an object is the same there.
    estate.psql(
        "pg2",
        "CREATE TABLE IF NOT EXISTS public.takes_a_number (); DROP TABLE public.takes_a_number",
    );
    // PostgreSQL has a table of each of its types for its own tests; these are values that each of them takes.
    let types = estate.psql(
        "pg1",
        "SELECT format_type(oid, NULL) FROM pg_type t
          WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm') AND typcategory <> 'A' AND typname !~ '^_'
            AND typsend <> 0 AND typreceive <> 0 AND typname !~ '^(pg_node_tree|pg_ndistinct|pg_dependencies|pg_mcv_list|pg_brin_.*|aclitem|gtsvector|unknown)$'
          ORDER BY 1",
    );
    let of = |kind: &str| -> String {
        let value = match kind {
            "boolean" => "true",
            "\"char\"" | "character" => "x",
            "bytea" => "\\x00ff",
            "bit" => "1",
            "bit varying" => "101",
            "box" => "(1,2),(3,4)",
            "circle" => "<(1,2),3>",
            "cidr" => "10.1.0.0/16",
            "inet" => "10.1.2.3/16",
            "macaddr" => "08:00:2b:01:02:03",
            "macaddr8" => "08:00:2b:01:02:03:04:05",
            "line" => "{1,2,3}",
            "lseg" => "[(1,2),(3,4)]",
            "path" => "((1,2),(3,4))",
            "point" => "(0.1,2)",
            "polygon" => "((1,2),(3,4),(5,6))",
            "date" => "2026-11-27",
            "time without time zone" => "10:11:12.123456",
            "time with time zone" => "10:11:12.123456+03",
            "timestamp without time zone" => "2026-11-27 10:11:12.123456",
            "timestamp with time zone" => "2026-11-27 10:11:12.123456+03",
            "interval" => "1 year -2 days 03:04:05.6",
            "json" => "{\"a\": [1,  2]}",
            "jsonb" => "{\"a\": [1,  2]}",
            "jsonpath" => "$.a[*]",
            "money" => "12.34",
            "numeric" => "12345678901234567890.000000001",
            "real" | "double precision" => "0.1",
            "uuid" => "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "xml" => "<?xml version=\"1.0\" encoding=\"latin1\"?><a>b</a>",
            "tsvector" => "'a':1 'b':2A",
            "tsquery" => "'a' & !'b'",
            "tid" => "(1,2)",
            "pg_lsn" => "1/AB",
            "pg_snapshot" | "txid_snapshot" => "10:20:10,14",
            "int4range" | "int8range" | "numrange" => "[1,5)",
            "int4multirange" | "int8multirange" | "nummultirange" => "{[1,3),[5,7)}",
            "daterange" => "[2026-01-01,2026-02-01)",
            "datemultirange" => "{[2026-01-01,2026-02-01)}",
            "tsrange" | "tstzrange" => "[\"2026-01-01 00:00:00\",)",
            "tsmultirange" | "tstzmultirange" => "{[\"2026-01-01 00:00:00\",)}",
            "int2vector" | "oidvector" => "1 2 3",
            "regclass" => "REGCLASS",
            "regproc" => "now",
            "regprocedure" => "lower(text)",
            "regoper" => "pg_catalog.!!",
            "regoperator" => "+(integer,integer)",
            "regtype" => "SCHEMA.mood",
            "regrole" => "postgres",
            "regnamespace" => "SCHEMA",
            "regcollation" => "\"C\"",
            "regconfig" => "english",
            "regdictionary" => "simple",
            "regdatabase" => "app",
            "name" | "text" | "character varying" | "refcursor" => "ä\\b",
            "smallint" | "integer" | "bigint" | "oid" | "xid" | "xid8" | "cid" => "42",
            other => panic!("a value of {other}, which this server has, is not known to this test"),
        };
        value
            .replace("REGCLASS", &format!("{schema}.of_types"))
            .replace("SCHEMA", &schema)
            .replace('\'', "''")
    };
    let types: Vec<&str> = types.lines().collect();
    assert!(types.len() > 60, "{types:?}");
    // A table of each, as one column that is sent as a text has all of its table be.
    let tables: Vec<String> = types
        .iter()
        .enumerate()
        .map(|(n, kind)| {
            format!(
                "CREATE TABLE {schema}.k{n} (id int PRIMARY KEY, c {kind}); INSERT INTO {schema}.k{n} VALUES (1, '{}'), (2, NULL);",
                of(kind)
            )
        })
        .collect();
    estate.psql(
        "pg1",
        &format!(
            "SET datestyle = 'SQL, DMY';
             CREATE TYPE {schema}.mood AS ENUM ('low', 'high');
             CREATE TYPE {schema}.pair AS (a int, b {schema}.mood);
             CREATE DOMAIN {schema}.code AS text CHECK (VALUE <> '');
             CREATE TABLE {schema}.of_types (id int PRIMARY KEY);
             {}
             CREATE TABLE {schema}.moods (id int PRIMARY KEY, mood {schema}.mood);
             CREATE TABLE {schema}.of_others (id int PRIMARY KEY, gone text, moods {schema}.mood[], pair {schema}.pair, code {schema}.code,
                 tables regclass[], texts text[], twice int GENERATED ALWAYS AS (id * 2) STORED, xmls xml[]);
             ALTER TABLE {schema}.of_others DROP COLUMN gone;
             CREATE TABLE {schema}.arrays (id int PRIMARY KEY, texts text[], numbers int[], tables regclass[]);
             CREATE TABLE {schema}.of_nothing ();
             CREATE TABLE {schema}.of_made (always int GENERATED ALWAYS AS (1) STORED);
             ALTER TABLE {schema}.of_nothing REPLICA IDENTITY FULL;
             ALTER TABLE {schema}.of_made REPLICA IDENTITY FULL;
             CREATE TABLE {schema}.\"Of \"\"Names\" (\"from\" text PRIMARY KEY, \"A b\" \"char\");
             INSERT INTO {schema}.moods VALUES (1, 'high'), (2, NULL);
             INSERT INTO {schema}.arrays VALUES (1, '{{NULL,\"NULL\",\"\"}}', '[0:1]={{1,2}}', '{{{schema}.of_types,NULL}}');
             INSERT INTO {schema}.of_others VALUES (1, '{{low,NULL,high}}', '(7,low)', 'x', '{{{schema}.of_types,NULL}}', '{{NULL,\"NULL\",\"\"}}', DEFAULT, '{{<a/>}}');
             INSERT INTO {schema}.of_nothing SELECT FROM generate_series(1, 5);
             INSERT INTO {schema}.of_made SELECT FROM generate_series(1, 3);
             INSERT INTO {schema}.\"Of \"\"Names\" VALUES (E'tab\\tand\\nline', E'\\\\001'), ('\\N', NULL)",
            tables.join("\n             ")
        ),
    );
    let all = estate.psql(
        "pg1",
        &format!("SELECT string_agg(format('SELECT %L AS t, r.*::text FROM {schema}.%I AS r', relname, relname), ' UNION ALL ') || ' ORDER BY 1, 2' FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r'"),
    );
    let rows = |node: &str| estate.psql(node, &format!("SET search_path = pg_catalog; {all}"));
    let before = rows("pg1");
    assert!(before.lines().count() > 2 * types.len(), "{before}");
    estate.run(&["move", &number, "--to", "pg2", "--yes", "--jobs", "2"]).ok();
    assert_eq!(rows("pg2"), before);
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
}

/// What lies elsewhere by then would be in two parts or in none.
#[test]
fn no_table_is_written_anew_while_its_parts_are_copied() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    make_large(&estate, &schema);
    let sum = format!("{SUM} {schema}.large");
    let rows = estate.psql("pg1", &sum);
    let held = estate.run_held("copy/part", &["move", "0", "--to", "pg2", "--yes", "--jobs", "2"]);
    let mut client = estate.node("pg1").connect(DATABASE);
    let vacuum = format!("VACUUM FULL {schema}.large");
    let waiting = thread::spawn(move || client.batch_execute(&vacuum));
    wait_until(crowded(Duration::from_secs(20)), "VACUUM FULL to wait", || {
        estate.psql("pg1", "SELECT count(*) FROM pg_locks WHERE NOT granted") == "1"
    });
    let run = held.let_go();
    assert_eq!(run.code, 0, "{}", run.stderr);
    // It may be refused by then as the shard has left, or have come in between.
    waiting.join().expect("it ends").ok();
    assert_eq!(estate.psql("pg2", &sum), rows);
    estate.run(&["verify", "--data"]).ok();
}

/// The rights of a superuser's session are not lent to a CHECK of somebody else's, nor is what it comes past.
#[test]
fn what_is_checked_while_rows_arrive_runs_as_its_owner_and_writes_nothing() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    for node in estate.nodes() {
        estate.psql(
            &node,
            "CREATE ROLE alice; CREATE TABLE public.seen (who name); GRANT ALL ON public.seen TO alice",
        );
    }
    estate.psql(
        "pg1",
        &format!(
            "GRANT ALL ON SCHEMA {schema} TO alice; SET ROLE alice;
             CREATE FUNCTION {schema}.look(n int) RETURNS boolean LANGUAGE plpgsql AS $f$
             BEGIN
                 RAISE LOG 'looks as %, superuser: %', current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
                 BEGIN INSERT INTO public.seen VALUES (current_user); EXCEPTION WHEN others THEN RAISE LOG 'so it writes: %', SQLERRM; END;
                 RETURN true;
             END $f$;
             CREATE DOMAIN {schema}.looked AS int CHECK ({schema}.look(VALUE));
             CREATE TABLE {schema}.t (id int PRIMARY KEY CHECK ({schema}.look(id)), d {schema}.looked);
             INSERT INTO {schema}.t SELECT n, n FROM generate_series(1, 50) AS n; RESET ROLE;
             TRUNCATE public.seen"
        ),
    );
    estate.run(&["move", "0", "--to", "pg2", "--yes", "--jobs", "2", "--no-rollback"]).ok();
    assert_eq!(estate.psql("pg2", &format!("SELECT count(*) FROM {schema}.t")), "50");
    assert_eq!(estate.psql("pg2", "SELECT count(*) FROM public.seen"), "0");
    let log = estate.node("pg2").log();
    let all = log.matches("LOG:  looks as ").count();
    assert_ne!(all, 0, "it is run at all");
    assert_eq!(log.matches("LOG:  looks as alice, superuser: f").count(), all);
    let refused = "so it writes: cannot execute INSERT in a read-only transaction";
    assert_eq!(log.matches(refused).count(), all);
}

/// It was said of the other node that its transaction is aborted.
#[test]
fn what_the_new_node_refuses_of_a_row_is_said_with_node_and_table() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.t (id int PRIMARY KEY, name text);
             INSERT INTO {schema}.t SELECT n, current_database() FROM generate_series(1, 5000) AS n;
             CREATE FUNCTION {schema}.is_here() RETURNS boolean LANGUAGE plpgsql AS $f$
             BEGIN
                 IF current_setting('port') <> '{}' THEN RAISE EXCEPTION 'not on this server'; END IF;
                 RETURN true;
             END $f$;
             ALTER TABLE {schema}.t ADD CHECK ({schema}.is_here())",
            estate.psql("pg1", "SHOW port")
        ),
    );
    let run = estate.run(&["move", "0", "--to", "pg2", "--yes", "--jobs", "2"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("error: node pg2: not on this server"), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("while table {schema}.t was copied")), "{}", run.stderr);
    estate.run(&["abort", "1", "--yes"]).ok();
    // What it may not read, the role of a stream may.
    estate.psql(
        "pg1",
        &format!(
            "CREATE ROLE alice; GRANT ALL ON SCHEMA {schema} TO alice; CREATE TABLE {schema}.known (id int PRIMARY KEY);
             CREATE OR REPLACE FUNCTION {schema}.is_here() RETURNS boolean LANGUAGE plpgsql AS $f$ BEGIN PERFORM FROM {schema}.known; RETURN true; END $f$;
             ALTER FUNCTION {schema}.is_here() OWNER TO alice; ALTER TABLE {schema}.t OWNER TO alice"
        ),
    );
    estate.psql("pg2", "CREATE ROLE alice");
    let run = estate.run(&["move", "0", "--to", "pg2", "--yes", "--jobs", "2"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("permission denied for table known"), "{}", run.stderr);
    assert!(run.stderr.contains("without it the stream's role may read"), "{}", run.stderr);
    estate.run(&["abort", "2", "--yes"]).ok();
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
}

/// It says what is waited for, as without parts.
#[test]
fn a_transaction_that_does_not_end_is_named_where_the_copy_cannot_begin() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    make_large(&estate, &schema);
    let mut client = estate.node("pg1").connect(DATABASE);
    client
        .batch_execute("SET application_name = 'nightly'; BEGIN; CREATE TABLE public.of_nightly ()")
        .expect("nobody is in its way");
    let run = estate.run(&[
        "move",
        "0",
        "--to",
        "pg2",
        "--yes",
        "--jobs",
        "2",
        "--stall-seconds-max",
        "3",
    ]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("before transactions end that write there"), "{}", run.stderr);
    assert!(run.stderr.contains("nightly"), "{}", run.stderr);
    client.batch_execute("ROLLBACK").expect("it is open still");
    estate.run(&["resume", "1", "--jobs", "2"]).ok();
    assert_eq!(estate.home(0), "pg2");
}

/// Sessions of both are counted before anything is made.
#[test]
fn sessions_that_copy_are_counted() {
    let estate = Estate::start_with(2, 4, |number, builder| match number {
        2 => builder.conf("max_connections = 12"),
        _ => builder,
    });
    let said = estate.run(&["move", "0", "--to", "pg2", "--yes", "--jobs", "16"]).refused();
    assert!(said.contains("node pg2: max_connections is 12"), "{said}");
    assert!(said.contains("or `--jobs` less"), "{said}");
    assert_eq!(estate.psql("pg1", "SELECT count(*) FROM shardid.move"), "0");
    // And of a move that goes on, before it copies.
    estate.run_cut("planned/before-Check", &["move", "0", "--to", "pg2", "--yes"]);
    let stands = estate.run(&["resume", "1", "--jobs", "16"]);
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    assert!(stands.stderr.contains("node pg2: max_connections is 12"), "{}", stands.stderr);
    estate.run_cut("following/before-next", &["resume", "1", "--jobs", "3"]);
    estate.run(&["resume", "1", "--jobs", "16"]).ok();
}

/// A database may have its sessions begin as a role that may do nothing.
#[test]
fn a_snapshot_is_had_where_a_database_has_its_sessions_be_another_role() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    make_large(&estate, &schema);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE nobody_much; ALTER DATABASE app SET role = nobody_much");
    }
    estate.run(&["move", "0", "--to", "pg2", "--yes", "--jobs", "2"]).ok();
    assert_eq!(estate.home(0), "pg2");
}
