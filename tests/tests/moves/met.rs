//! What code of those who own tables does where rows of a stream meet it: nothing that stays, nothing for others.

use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::wait_until;

use crate::following::{estate, run};

/// The role of a stream may write to all tables of the shard, whoever owns them: only rows that come are.
#[test]
fn what_rows_of_a_stream_meet_writes_to_no_table_of_the_shard() {
    let estate = Estate::start(2, 4);
    let schema = schema(0);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE one; CREATE ROLE two");
    }
    let tries = [
        "INSERT INTO @.of_two VALUES (100)",
        "UPDATE @.of_two SET id = id + 1000",
        "DELETE FROM @.of_two",
        "TRUNCATE @.of_two",
        "INSERT INTO @.parted VALUES (100)",
        "TRUNCATE @.parted",
        "WITH gone AS (DELETE FROM @.of_two RETURNING id) INSERT INTO @.parted SELECT id FROM gone",
    ];
    let tries: Vec<String> = tries.iter().map(|it| it.replace('@', &schema)).collect();
    let each = tries
        .iter()
        .map(|statement| format!("BEGIN {statement}; EXCEPTION WHEN others THEN NULL; END;"));
    estate.psql(
        "pg1",
        &format!(
            "GRANT ALL ON SCHEMA {schema} TO one, two; SET ROLE two;
             CREATE TABLE {schema}.of_two (id int PRIMARY KEY); INSERT INTO {schema}.of_two VALUES (1), (2);
             CREATE TABLE {schema}.parted (id int PRIMARY KEY) PARTITION BY RANGE (id);
             CREATE TABLE {schema}.part PARTITION OF {schema}.parted DEFAULT; INSERT INTO {schema}.parted VALUES (1), (2);
             SET ROLE one;
             CREATE FUNCTION {schema}.writes() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN {} RETURN true; END $$;
             CREATE TABLE {schema}.of_one (id int PRIMARY KEY, CHECK ({schema}.writes())); RESET ROLE;
             -- It may be called by whoever writes, who may not write there.
             GRANT USAGE ON SCHEMA {schema} TO PUBLIC; SET ROLE one; INSERT INTO {schema}.of_one VALUES (1)",
            each.collect::<String>()
        ),
    );
    let rows = format!(
        "SELECT (SELECT string_agg(id::text, ' ') FROM {schema}.of_two), (SELECT string_agg(id::text, ' ') FROM {schema}.parted)"
    );
    let assert_unwritten = |node: &str| {
        wait_until(Duration::from_secs(60), "the row to come", || {
            let both = "SELECT (SELECT count(*) FROM @.of_one) = (SELECT max(id) FROM @.of_one)";
            estate.psql(node, &both.replace('@', &schema)) == "t"
        });
        assert_eq!(estate.psql(node, &rows), "1 2|1 2", "{node}");
    };
    // By a worker that copies, and by one that follows.
    let mut held =
        estate.run_held("following/before-Compare", &["move", "0", "--to", "pg2", "--yes"]);
    assert_unwritten("pg2");
    estate.psql("pg1", &format!("SET ROLE one; INSERT INTO {schema}.of_one VALUES (2)"));
    wait_until(Duration::from_secs(60), "a row to come", || {
        estate.psql("pg2", &format!("SELECT count(*) FROM {schema}.of_one")) == "2"
    });
    assert_unwritten("pg2");
    held.go_on();
    let moved = held.end();
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    // And on the way back. What comes as a TRUNCATE is none of that.
    estate.psql("pg2", &format!("SET ROLE one; INSERT INTO {schema}.of_one VALUES (3)"));
    wait_until(Duration::from_secs(60), "a row to come back", || {
        estate.psql("pg1", &format!("SELECT count(*) FROM {schema}.of_one")) == "3"
    });
    assert_unwritten("pg1");
    estate.psql(
        "pg2",
        &format!(
            "TRUNCATE {schema}.parted, {schema}.of_two; INSERT INTO {schema}.of_two VALUES (7)"
        ),
    );
    wait_until(Duration::from_secs(60), "TRUNCATE to come back", || {
        estate.psql("pg1", &format!("SELECT (SELECT max(id) FROM {schema}.of_two), (SELECT count(*) FROM {schema}.parted)")) == "7|0"
    });
    estate.run(&["rollback", "1", "--yes"]).ok();
    // Where it is not caught, it is said what is not done.
    estate.psql("pg1", &format!("CREATE OR REPLACE FUNCTION {schema}.writes() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN IF current_user ~ '^shardid_' THEN DELETE FROM {schema}.of_two; END IF; RETURN true; END $$"));
    let stands = estate.run(&["move", "0", "--to", "pg2", "--yes"]);
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    assert!(stands.stderr.contains("replication has failed"), "{}", stands.stderr);
    let log = estate.node("pg2").log();
    assert!(log.contains("cannot execute DELETE in a read-only transaction"), "{log}");
}

/// By such a thing it would be at work where rows of others are written, or when they have long been.
#[test]
fn what_rows_of_a_stream_meet_leaves_nothing_behind() {
    // Large transactions are sent before they end, and from 18 on applied by another worker.
    let estate = Estate::start_with(2, 4, |_, builder| {
        builder
            .conf("logical_decoding_work_mem = '64kB'")
            .conf("wal_retrieve_retry_interval = '500ms'")
    });
    let schema = schema(0);
    for node in estate.nodes() {
        estate.psql(
            &node,
            "CREATE ROLE one; CREATE SCHEMA open; GRANT ALL ON SCHEMA open TO PUBLIC; CREATE TABLE open.written (); GRANT ALL ON open.written TO PUBLIC",
        );
    }
    // What it says where it comes, before the move and after it, and what is said of that.
    let changed = |name: &str| format!("a function has changed setting \"{name}\" while rows come");
    let refused =
        |statement: &str| format!("cannot execute {statement} in a read-only transaction");
    let all = [
        ("SELECT set_config('array_nulls', 'off', false)", changed("array_nulls")),
        ("SELECT set_config('search_path', 'open', true)", changed("search_path")),
        ("SELECT set_config('made.up', 'on', false)", changed("made.up")),
        // Rows of others may come in between.
        ("DO 'BEGIN SET array_nulls = off; RESET array_nulls; END'", changed("array_nulls")),
        (
            "SELECT set_config('plpgsql.check_asserts', 'off', false)",
            changed("plpgsql.check_asserts"),
        ),
        ("SET default_transaction_read_only = off", changed("default_transaction_read_only")),
        (
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
            changed("default_transaction_read_only"),
        ),
        (
            "SET TRANSACTION READ WRITE",
            "transaction read-write mode must be set before any query".to_owned(),
        ),
        ("ALTER ROLE @ SET array_nulls = off", refused("ALTER ROLE")),
        ("ALTER ROLE @ PASSWORD 'mine'", refused("ALTER ROLE")),
        (
            "CREATE FUNCTION open.whose() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT current_user::text'",
            refused("CREATE FUNCTION"),
        ),
        ("INSERT INTO open.written DEFAULT VALUES", refused("INSERT")),
        ("CREATE TEMPORARY TABLE made (id int)", refused("CREATE TABLE")),
    ];
    let make = format!(
        "CREATE OR REPLACE FUNCTION {schema}.does(what text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN IF current_user ~ '^shardid_' THEN EXECUTE replace(what, '@', current_user); END IF; RETURN true; END $$"
    );
    let unmake = format!(
        "CREATE OR REPLACE FUNCTION {schema}.does(what text) RETURNS boolean LANGUAGE sql AS 'SELECT true'"
    );
    estate.psql(
        "pg1",
        &format!(
            "GRANT ALL ON SCHEMA {schema} TO one; SET ROLE one; {make};
             CREATE TABLE {schema}.t (id int PRIMARY KEY, what text CHECK ({schema}.does(what)));
             INSERT INTO {schema}.t VALUES (0, 'SELECT')"
        ),
    );
    // It comes with what follows, on both ways.
    let mut id = 1;
    let mut assert_refused = |to: &str, from: Option<&str>, (what, words): &(&str, String)| {
        let seen = estate.node(to).log().len();
        if let Some(from) = from {
            id += 1;
            let insert = format!("INSERT INTO {schema}.t VALUES ({id}, {})", literal(what));
            estate.psql(from, &insert);
        }
        wait_until(Duration::from_secs(60), &format!("{words} ({what})"), || {
            estate.node(to).log()[seen..].contains(words.as_str())
        });
        assert_eq!(
            estate.psql(to, &format!("SELECT count(*) FROM {schema}.t WHERE id = {id}")),
            "0",
            "{what}"
        );
        estate.psql(to, &unmake);
        wait_until(Duration::from_secs(60), "the row to come", || {
            estate.psql(to, &format!("SELECT count(*) FROM {schema}.t WHERE id = {id}")) == "1"
        });
        estate.psql(to, &make);
    };
    let mut held =
        estate.run_held("following/before-Compare", &["move", "0", "--to", "pg2", "--yes"]);
    for it in &all {
        assert_refused("pg2", Some("pg1"), it);
    }
    held.go_on();
    let moved = held.end();
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    for it in &all {
        assert_refused("pg1", Some("pg2"), it);
    }
    for node in estate.nodes() {
        assert_eq!(estate.psql(&node, "SELECT count(*) FROM open.written"), "0", "{node}");
    }
    estate.run(&["rollback", "1", "--yes"]).ok();
    // Settings that an administrator has made, by names that nobody has reserved as well, are not what is refused.
    for node in estate.nodes() {
        estate.psql(&node, &format!("ALTER DATABASE {DATABASE} SET made.up = 'on'; ALTER DATABASE {DATABASE} SET array_nulls = off"));
    }
    estate.psql(
        "pg1",
        &format!("DELETE FROM {schema}.t; INSERT INTO {schema}.t VALUES (0, 'SELECT')"),
    );
    let many = "INSERT INTO @.t SELECT 1000 + g, 'SELECT' FROM generate_series(1, 5000) g";
    estate.psql(
        "pg1",
        &format!(
            "CREATE FUNCTION {schema}.more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {}; RETURN NULL; END $$;
             CREATE TRIGGER more AFTER INSERT ON {schema}.t FOR EACH ROW WHEN (NEW.what ~ 'made') EXECUTE FUNCTION {schema}.more()",
            many.replace('@', &schema)
        ),
    );
    let mut held =
        estate.run_held("following/before-Compare", &["move", "0", "--to", "pg2", "--yes"]);
    // Of the same length, and with many rows.
    assert_refused(
        "pg2",
        Some("pg1"),
        &("SELECT set_config('made.up', 'up', false)", changed("made.up")),
    );
    held.go_on();
    let moved = held.end();
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    // It comes with the copy.
    estate.run(&["rollback", "3", "--yes"]).ok();
    let seen = estate.node("pg2").log().len();
    let stands = estate.run(&["move", "0", "--to", "pg2", "--yes"]);
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    assert!(stands.stderr.contains("replication has failed"), "{}", stands.stderr);
    assert!(estate.node("pg2").log()[seen..].contains(&changed("made.up")));
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Whose table it is, and how its rows come to what others have written: nothing that they meet has more rights than the stream.
#[test]
fn whatever_rows_of_a_stream_meet_has_the_rights_of_its_role() {
    let estate = estate(|builder| builder);
    let schema = schema(0);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE tenant; CREATE ROLE maint IN ROLE tenant");
    }
    let is_17 = estate.psql("pg1", "SELECT current_setting('server_version_num')::int >= 170000");
    // PostgreSQL notes no dependency of that.
    let returning = match is_17.as_str() {
        "t" => format!(
            "CREATE TABLE {schema}.queried (id int PRIMARY KEY CHECK (JSON_VALUE('1', '$' RETURNING {schema}.word) IS NOT NULL));"
        ),
        _ => String::new(),
    };
    estate.psql(
        "pg1",
        &format!(
            "GRANT ALL ON SCHEMA {schema} TO tenant; SET ROLE tenant;
             CREATE FUNCTION {schema}.ok(text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
                 IF EXISTS (SELECT FROM pg_stat_activity WHERE pid = pg_backend_pid() AND backend_type LIKE 'logical replication%worker')
                    AND current_user !~ '^shardid_(move|back)_[0-9]+$' THEN
                     RAISE 'run as %', current_user;
                 END IF;
                 RETURN true;
             END $$;
             CREATE DOMAIN {schema}.word AS text CHECK ({schema}.ok(VALUE));
             CREATE TYPE {schema}.pair AS (a {schema}.word, b int);
             CREATE OPERATOR {schema}.=# (FUNCTION = {schema}.ok, RIGHTARG = text);
             CREATE TABLE {schema}.whole (id int CHECK ({schema}.ok(id::text)), n int, PRIMARY KEY (id, n)) PARTITION BY LIST (n);
             CREATE TABLE {schema}.mine (id int PRIMARY KEY CHECK ({schema}.ok(id::text)));
             RESET ROLE;
             CREATE TABLE {schema}.part PARTITION OF {schema}.whole FOR VALUES IN (1);
             CREATE TABLE {schema}.part_too PARTITION OF {schema}.whole FOR VALUES IN (2);
             ALTER TABLE {schema}.part_too OWNER TO maint;
             CREATE TABLE {schema}.checked (id int PRIMARY KEY CHECK ({schema}.ok(id::text)));
             CREATE TABLE {schema}.worded (id int PRIMARY KEY, w {schema}.word[] DEFAULT '{{a}}');
             CREATE TABLE {schema}.paired (id int PRIMARY KEY, p {schema}.pair DEFAULT '(a,1)');
             CREATE TABLE {schema}.indexed (id int PRIMARY KEY, n text DEFAULT 'a');
             CREATE INDEX ON {schema}.indexed (n) WHERE {schema}.ok(n);
             CREATE TABLE {schema}.made (id int PRIMARY KEY, b boolean GENERATED ALWAYS AS ({schema}.ok(id::text)) STORED);
             CREATE TABLE {schema}.sorted (id int PRIMARY KEY, CHECK (OPERATOR({schema}.=#) id::text)); {returning}
             ALTER TABLE {schema}.sorted OWNER TO maint"
        ),
    );
    let tables = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = '{}'::regnamespace AND NOT relispartition";
    let tables = estate.psql("pg1", &tables.replace("{}", &schema));
    let write = |node: &str, id: i32| {
        for table in tables.split(' ') {
            let (columns, values) = match table {
                "whole" => ("(id, n)", format!("({id}, 1), ({id}, 2)")),
                _ => ("(id)", format!("({id})")),
            };
            estate.psql(node, &format!("INSERT INTO {schema}.{table} {columns} VALUES {values}"));
        }
    };
    write("pg1", 1);
    run(&estate, &["move", "0", "--to", "pg2", "--yes"]).ok();
    write("pg2", 2);
    run(&estate, &["rollback", "1", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &format!("SELECT count(*) FROM {schema}.whole")), "4");
}
