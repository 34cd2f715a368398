//! An old copy goes alone: whatever else would go with it is named, and stays.

use std::time::{Duration, Instant};

use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::wait_until;

use crate::gone::shard_on;
use crate::shared;

/// Objects outside the schema that need something in it: what makes one, how it is named, and
/// what takes it away again.
fn outside(schema: &str, other: &str) -> Vec<(String, &'static str, String)> {
    let s = schema;
    [
        ("VIEW {o}.v AS SELECT id FROM {s}.item", "view {o}.v", "VIEW {o}.v"),
        (
            "MATERIALIZED VIEW {o}.m AS SELECT id FROM {s}.item",
            "materialized view {o}.m",
            "MATERIALIZED VIEW {o}.m",
        ),
        (
            "TABLE {o}.fk (id bigint REFERENCES {s}.item)",
            "constraint fk_id_fkey on table {o}.fk",
            "TABLE {o}.fk",
        ),
        ("TABLE {o}.child () INHERITS ({s}.item)", "table {o}.child", "TABLE {o}.child"),
        (
            "TABLE {o}.part PARTITION OF {s}.parent FOR VALUES FROM (0) TO (9)",
            "table {o}.part",
            "TABLE {o}.part",
        ),
        (
            "TABLE {o}.typed (id int, mood {s}.mood)",
            "column mood of table {o}.typed",
            "TABLE {o}.typed",
        ),
        (
            "TABLE {o}.counted (id bigint DEFAULT {s}.next_id())",
            "default value for column id of table {o}.counted",
            "TABLE {o}.counted",
        ),
        (
            "FUNCTION {o}.f({s}.item) RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "function {o}.f({s}.item)",
            "FUNCTION {o}.f({s}.item)",
        ),
        (
            "TYPE {o}.pair AS (a {s}.mood, b int)",
            "column a of composite type {o}.pair",
            "TYPE {o}.pair",
        ),
        ("DOMAIN {o}.moody AS {s}.mood", "type {o}.moody", "DOMAIN {o}.moody"),
        (
            "STATISTICS {o}.st ON id, n FROM {s}.item",
            "statistics object {o}.st",
            "STATISTICS {o}.st",
        ),
        (
            "PUBLICATION theirs FOR TABLE {s}.item",
            "publication of table {s}.item in publication theirs",
            "PUBLICATION theirs",
        ),
        (
            "PUBLICATION all_theirs FOR TABLES IN SCHEMA {s}",
            "publication of schema {s} in publication all_theirs",
            "PUBLICATION all_theirs",
        ),
        (
            "CAST ({s}.mood AS int) WITH FUNCTION {s}.number({s}.mood)",
            "cast from {s}.mood to integer",
            "CAST ({s}.mood AS int)",
        ),
        (
            "EVENT TRIGGER ev ON sql_drop EXECUTE FUNCTION {s}.seen()",
            "event trigger ev",
            "EVENT TRIGGER ev",
        ),
        (
            "OPERATOR {o}.~~~ (RIGHTARG = {s}.mood, FUNCTION = {s}.number)",
            "operator {o}.~~~",
            "OPERATOR {o}.~~~ (NONE, {s}.mood)",
        ),
        // It is the whole database's, and so are columns of its types.
        ("EXTENSION pg_trgm SCHEMA {s}", "extension pg_trgm", "EXTENSION pg_trgm"),
        (
            "EXTENSION isn SCHEMA {s}; CREATE TABLE {o}.books (id {s}.isbn)",
            "column id of table {o}.books",
            "TABLE {o}.books; DROP EXTENSION isn",
        ),
    ]
    .into_iter()
    .map(|(make, name, end)| {
        let put = |text: &str| text.replace("{s}", s).replace("{o}", other);
        (put(make), name, put(end))
    })
    .collect()
}

#[test]
fn an_old_copy_is_not_dropped_while_something_outside_would_go_with_it() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema, other) = (shard.to_string(), schema(shard), "beside");
    // What the schema holds itself goes with it, whatever it is.
    estate.psql(
        "pg1",
        &format!(
            "CREATE TYPE {schema}.mood AS ENUM ('good', 'bad');
             CREATE FUNCTION {schema}.number({schema}.mood) RETURNS int LANGUAGE sql AS 'SELECT 1';
             CREATE FUNCTION {schema}.seen() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
             CREATE TABLE {schema}.parent (id bigint PRIMARY KEY, at int GENERATED ALWAYS AS IDENTITY,
                 mood {schema}.mood, CHECK (id > 0)) PARTITION BY RANGE (id);
             CREATE TABLE {schema}.rest PARTITION OF {schema}.parent DEFAULT;
             CREATE VIEW {schema}.items AS SELECT * FROM {schema}.item;
             CREATE STATISTICS {schema}.st ON id, n FROM {schema}.item;
             CREATE POLICY mine ON {schema}.item USING (true);
             ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO PUBLIC;
             CREATE SCHEMA {other}"
        ),
    );
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    let mut server = estate.node("pg1").connect(DATABASE);
    let objects = outside(&schema, other);
    let mut tried = 0;
    for (make, name, end) in &objects {
        // The old copy has no rows that would not let it, and takes DDL.
        server.batch_execute(&format!("CREATE {make}")).unwrap();
        let name = name.replace("{s}", &schema).replace("{o}", other);
        let run = estate.run(&["retire", &id, "--yes"]);
        assert_eq!(run.code, 1, "{make}: {}", run.stderr);
        let refused = run.refused();
        assert!(refused.contains(&name), "{name} is not in {refused}");
        assert_eq!(
            estate.psql("pg1", &format!("SELECT to_regclass('{schema}.item') IS NOT NULL")),
            "t"
        );
        // A dry run says so, too, and the way back is as it was.
        let dry = estate.run(&["retire", &id, "--dry-run"]);
        assert!(dry.code == 1 && dry.stderr.contains(&name), "{}", dry.stderr);
        let follows =
            format!("SELECT subenabled FROM pg_subscription WHERE subname = 'shardid_back_{id}'");
        assert_eq!(estate.psql("pg1", &follows), "t");
        let moves = estate.run(&["moves"]).ok();
        let ours = moves.lines().find(|line| line.split_whitespace().next() == Some(&id));
        assert!(ours.is_some_and(|line| line.ends_with("follows")), "{moves}");
        server.batch_execute(&format!("DROP {end}")).unwrap();
        tried += 1;
    }
    assert_eq!(tried, objects.len());

    // Nor with what somebody has made in it since, and written to: the shard never had that.
    server
        .batch_execute(&format!(
            "CREATE TABLE {schema}.mine (id int); INSERT INTO {schema}.mine VALUES (1)"
        ))
        .unwrap();
    let refused = estate.run(&["retire", &id, "--yes"]).refused();
    assert!(refused.contains(&format!("table {schema}.mine")), "{refused}");
    server.batch_execute(&format!("ALTER TABLE {schema}.mine SET SCHEMA {other}")).unwrap();

    // Cut in between, it has dropped nothing; what others make meanwhile is none of it.
    let held = estate.run_held("drop/before", &["retire", &id, "--yes"]);
    server.batch_execute(&format!("CREATE TABLE {other}.late (id int)")).unwrap();
    held.kill();
    estate.run(&["retire", &id, "--yes"]).ok();
    estate.assert_no_trace(shard);
    assert_eq!(estate.psql("pg1", &format!("SELECT to_regclass('{other}.late') IS NOT NULL")), "t");
}

/// What comes to need a function of the copy while the drop waits for somebody who reads is none of
/// what was looked at before; it went with the copy.
#[test]
fn what_comes_to_need_an_old_copy_while_its_drop_waits_stays() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema, other) = (shard.to_string(), schema(shard), "late");
    estate.psql(
        "pg1",
        &format!(
            "CREATE VIEW {schema}.one AS SELECT 1 AS id;
             CREATE FUNCTION {schema}.two() RETURNS int LANGUAGE sql AS 'SELECT 2';
             CREATE SCHEMA {other}; CREATE VIEW {other}.v AS SELECT 1 AS id"
        ),
    );
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    let retire = ["retire", &id, "--yes"];
    let reading = |what: &str| {
        let mut client = estate.node("pg1").connect(DATABASE);
        client.batch_execute(&format!("BEGIN; SELECT FROM {schema}.{what}")).unwrap();
        client
    };
    // Of who reads a view of no table the drop alone knows. One who reads a table has it wait for long.
    let (mut of_table, mut of_view) = (reading("item"), reading("one"));
    let mut held = estate.run_held("gone/subscription", &retire);
    held.go_on();
    held.wait_for("the copy cannot be dropped yet");
    of_table.batch_execute("COMMIT").unwrap();
    let waits = format!(
        "SELECT count(*) FROM pg_locks WHERE relation = '{schema}.one'::regclass AND NOT granted"
    );
    wait_until(Duration::from_secs(30), "the drop to wait", || estate.psql("pg1", &waits) == "1");
    let need = format!("CREATE OR REPLACE VIEW {other}.v AS SELECT {schema}.two() AS id");
    estate.psql("pg1", &need);
    of_view.batch_execute("COMMIT").unwrap();
    let run = held.end();
    assert_eq!(run.code, 1, "{}", run.stderr);
    let says = format!("cannot be dropped: with it would go view {other}.v");
    assert!(run.stderr.contains(&says), "{}", run.stderr);
    assert_eq!(estate.psql("pg1", &format!("SELECT id FROM {other}.v")), "2");
    estate.psql("pg1", &format!("DROP VIEW {other}.v"));

    // Nor does a table that is made there between the look and the drop.
    let held = estate.run_held("drop/before", &retire);
    let mut client = estate.node("pg1").connect(DATABASE);
    client.batch_execute(&format!("CREATE TABLE {schema}.mine AS SELECT 1 AS id")).unwrap();
    let run = held.let_go();
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains(&format!("table {schema}.mine")), "{}", run.stderr);
    estate.psql("pg1", &format!("ALTER TABLE {schema}.mine SET SCHEMA {other}"));
    estate.run(&retire).ok();
    estate.assert_no_trace(shard);
    assert_eq!(estate.psql("pg1", &format!("SELECT id FROM {other}.mine")), "1");
}

#[test]
fn the_role_of_a_stream_goes_where_somebody_has_dropped_the_subscription() {
    let estate = shared::estate();
    let end = |node: &str, name: &str| {
        // Servers from 16 on take none for it; there may be one of before an upgrade.
        estate.psql(
            node,
            &format!(
                "ALTER SUBSCRIPTION {name} DISABLE; ALTER SUBSCRIPTION {name} SET (slot_name = NONE); DROP SUBSCRIPTION {name};
                 DO $$ BEGIN CREATE ROLE {name}; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
                 GRANT CREATE ON DATABASE {DATABASE} TO {name}"
            ),
        );
    };
    let shard = shared::shard();
    estate.make_tables(shard);
    let moving = ["move", &shard.to_string(), "--to", "pg2", "--yes"];
    estate.run_cut("following/before-Compare", &moving);
    let id = estate.last_move(shard);
    end("pg2", &format!("shardid_move_{id}"));
    estate.run(&["abort", &id, "--yes"]).ok();
    estate.assert_no_trace(shard);

    estate.run(&moving).ok();
    let id = estate.last_move(shard);
    end("pg1", &format!("shardid_back_{id}"));
    let retired = estate.run(&["retire", &id, "--yes"]);
    assert_eq!(retired.code, 0, "{}", retired.stderr);
    estate.assert_no_trace(shard);
}

/// It waited as long as somebody held the table, and said nothing.
#[test]
fn who_keeps_a_node_from_being_looked_at_is_named() {
    let estate = Estate::start(3, 4);
    let (shard, _) = shard_on(&estate, "pg2");
    estate.run(&["move", &shard.to_string(), "--to", "pg3", "--yes"]).ok();
    let id = estate.last_move(shard);
    let mut holder = estate.node("pg3").connect(DATABASE);
    holder.batch_execute("SET application_name = 'somebody'; BEGIN; LOCK TABLE shardid.cluster IN ACCESS EXCLUSIVE MODE").unwrap();
    let begun = Instant::now();
    let refused = estate.run(&["retire", &id, "--dry-run"]).refused();
    assert!(refused.contains("somebody, idle in transaction"), "{refused}");
    assert!(refused.contains("holds shardid.cluster"), "{refused}");
    assert!(refused.contains("pg_terminate_backend"), "{refused}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    estate.node("pg2").kill9();
    let refused = estate.run(&["retire", &id, "--gone", "pg2", "--yes"]).refused();
    assert!(refused.contains("holds shardid.cluster"), "{refused}");
    holder.batch_execute("ROLLBACK").unwrap();
    estate.run(&["retire", &id, "--gone", "pg2", "--yes"]).ok();
}
