//! Everything in a shard's schema comes along, and nothing changes unnoticed.

use shardid_tests::estate::Estate;
use shardid_tests::{Installation, Refusal, expect_error};

use crate::shared;

const RICH: &str = include_str!("rich.sql");
const RICH_17: &str = include_str!("rich_17.sql");
const RICH_18: &str = include_str!("rich_18.sql");
const CHANGES: &str = include_str!("rich_changes.sql");
const CHANGES_18: &str = include_str!("rich_changes_18.sql");

/// A schema with one of everything that servers of a version can have in one.
pub(crate) fn rich(installation: &Installation) -> String {
    let later = [(17, RICH_17), (18, RICH_18)].into_iter();
    let later = later.filter(|(since, _)| installation.major() >= *since).map(|(_, sql)| sql);
    [RICH].into_iter().chain(later).collect()
}

/// All of a schema as pg_dump prints it, in any order.
fn dump(estate: &Estate, node: &str, schema: &str) -> Vec<String> {
    let pattern = format!("\"{}\"", schema.replace('"', "\"\""));
    let output = estate
        .node(node)
        .command("pg_dump")
        .args(["--dbname=app", "--schema"])
        .arg(pattern)
        .output()
        .expect("pg_dump runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("it speaks UTF-8");
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.starts_with("--") && !line.starts_with('\\') && !line.is_empty())
        .filter(|line| !line.contains("shardid_fence"))
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

#[track_caller]
fn assert_same(before: &[String], after: &[String]) {
    let missing: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
    let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
    assert!(missing.is_empty() && new.is_empty(), "missing: {missing:#?}\nnew: {new:#?}");
    assert_eq!(before.len(), after.len());
}

pub(crate) fn make_roles(estate: &Estate) {
    for node in estate.nodes() {
        for role in ["app_reader", "app_writer"] {
            estate.psql(&node, &format!("DO $$ BEGIN CREATE ROLE {role}; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$"));
        }
    }
}

#[test]
fn all_that_a_schema_holds_is_the_same_on_the_new_node_and_back_again() {
    there_and_back("1");
}

#[test]
fn all_that_a_schema_holds_is_the_same_where_several_sessions_copy_it() {
    there_and_back("3");
}

fn there_and_back(jobs: &str) {
    let (estate, shard) = (shared::estate(), shared::shard());
    make_roles(estate);
    let name = &format!("Odd \"Näme\" {jobs}");
    let filled =
        |text: &str| text.replace('@', &name.replace('"', "\"\"")).replace('#', &shard.to_string());
    let quoted = format!("\"{}\"", name.replace('"', "\"\""));
    estate.psql("pg1", &format!("ALTER SCHEMA shard_{shard:04} RENAME TO {quoted}"));
    estate.psql("pg1", &filled(&rich(Installation::get())));
    let number = shard.to_string();

    // Some changes come by the copy, some while it follows.
    let moving = ["move", &number, "--to", "pg2", "--yes", "--jobs", jobs];
    let held = estate.run_held("following/before-AwaitClose", &moving);
    let later = if Installation::get().major() >= 18 { CHANGES_18 } else { "" };
    estate.psql("pg1", &filled(CHANGES));
    estate.psql("pg1", &filled(later));
    let before = dump(estate, "pg1", name);
    let run = held.let_go();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_same(&before, &dump(estate, "pg2", name));
    assert_eq!(
        estate.psql("pg2", &format!("SELECT indexrelid::regclass FROM pg_index WHERE indrelid = '{quoted}.pair'::regclass AND indisreplident")),
        format!("{quoted}.\"pair of both\"")
    );

    // Ids go on above, and only there; so do the sequences.
    let highest = estate.psql("pg1", &format!("SELECT last_value FROM {quoted}.ticket_ids"));
    let next = estate.psql("pg2", &format!("SELECT next_id_from('{quoted}.ticket_ids')"));
    assert!(next.parse::<i64>().unwrap() > highest.parse().unwrap(), "{next} after {highest}");
    assert_eq!(estate.psql("pg2", &format!("SELECT nextval('{quoted}.invoice')")), "500");
    let mut old = estate.node("pg1").connect("app");
    for sql in [
        format!("SELECT next_id_from('{quoted}.ticket_ids')"),
        format!("SELECT next_id({shard})"),
        format!("INSERT INTO {quoted}.log VALUES (now(), 'no', 1)"),
        format!("UPDATE {quoted}.special SET extra = 'no'"),
        format!("DELETE FROM {quoted}.event"),
        format!("TRUNCATE {quoted}.event_1"),
    ] {
        let Refusal { message, .. } = expect_error(&mut old, &sql, "SI001");
        assert!(message.contains("\"pg2\""), "{message}");
    }
    assert_eq!(estate.psql("pg1", &format!("SELECT count(*) FROM {quoted}.orders")), "50");

    // The old copy follows everything, and going back loses nothing.
    let more = filled(CHANGES)
        .replace("'new'", "'newer'")
        .replace("= 100 W", "= 101 W")
        .replace("(99", "(98")
        .replace("a + 100 WHERE a > 15", "a + 200 WHERE a BETWEEN 10 AND 15")
        .replace("< 'c3'", "> 'c3'")
        .replace("= 20", "= 19");
    estate.psql("pg2", &more);
    estate.psql("pg2", &filled(later));
    let before = dump(estate, "pg2", name);
    let id = estate.last_move(shard);
    estate.run(&["rollback", &id, "--yes"]).ok();
    assert_same(&before, &dump(estate, "pg1", name));
    estate.assert_no_trace(shard);
    let none = format!("SELECT to_regnamespace('{quoted}') IS NULL");
    assert_eq!(estate.psql("pg2", &none), "t");
    estate.psql("pg1", &format!("INSERT INTO {quoted}.ticket (of) VALUES ('again')"));
}

#[test]
fn a_change_of_the_schema_during_the_move_stops_it_with_what_to_do() {
    let (estate, shard) = (shared::estate(), shared::shard());
    make_roles(estate);
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), shardid_tests::estate::schema(shard));
    for (place, change) in [
        ("copying/before-AwaitCopy", "CREATE TABLE SCHEMA.made (id int PRIMARY KEY)"),
        ("copying/before-MakeIndexes", "ALTER TABLE SCHEMA.item ADD COLUMN more int"),
        (
            "following/before-AwaitClose",
            "CREATE FUNCTION SCHEMA.f() RETURNS int LANGUAGE sql RETURN 1",
        ),
        (
            "following/before-AwaitClose",
            "CREATE OR REPLACE FUNCTION SCHEMA.f() RETURNS int LANGUAGE sql RETURN 2",
        ),
        ("following/before-AwaitClose", "CREATE INDEX ON SCHEMA.item (seen)"),
        ("fenced/before-RaiseFence", "GRANT SELECT ON SCHEMA.item TO app_reader"),
        ("fenced/before-RaiseFence", "COMMENT ON TABLE SCHEMA.item IS 'new'"),
        ("fenced/before-RaiseFence", "DROP TABLE SCHEMA.made"),
    ] {
        let held = estate.run_held(place, &["move", &number, "--to", "pg2", "--yes"]);
        estate.psql("pg1", &change.replace("SCHEMA", &schema));
        let run = held.let_go();
        assert_eq!(run.code, 3, "{change}: {}", run.stderr);
        let id = estate.last_move(shard);
        assert!(
            run.stderr.contains(&format!("schema {schema} was changed during the move")),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains(&format!("`shardid abort {id}`")), "{}", run.stderr);
        // No fence is left standing, and resume does not go on in silence.
        estate.psql("pg1", &format!("INSERT INTO {schema}.item (n) VALUES ({id})"));
        assert_eq!(estate.run(&["resume", &id]).code, 3);
        estate.psql("pg1", &format!("INSERT INTO {schema}.item (n) VALUES (-{id})"));
        estate.run(&["abort", &id, "--yes"]).ok();
        estate.assert_no_trace(shard);
    }
    // Nothing of this is in the way of a move that is left alone.
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    assert_eq!(
        estate.psql("pg2", &format!("SELECT count(*), count(seen) FROM {schema}.item")),
        "16|16"
    );
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}

/// Where a schema has no index but those of primary keys, all that comes after the rows was left
/// out without a word: a policy, so that everybody saw all rows, a trigger that refuses, a rule.
#[test]
fn what_comes_after_the_rows_is_carried_also_where_there_is_no_index() {
    let (estate, shard) = (shared::estate(), shared::shard());
    make_roles(estate);
    let schema = shardid_tests::estate::schema(shard);
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.secret (id bigint PRIMARY KEY, owner text, a int, b int);
             CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no''; END';
             CREATE TRIGGER refuse BEFORE DELETE ON {schema}.secret FOR EACH ROW EXECUTE FUNCTION {schema}.refuse();
             COMMENT ON TRIGGER refuse ON {schema}.secret IS 'nothing is deleted';
             ALTER TABLE {schema}.secret ENABLE ROW LEVEL SECURITY;
             CREATE POLICY own ON {schema}.secret TO app_reader USING (owner = current_user);
             CREATE RULE quiet AS ON UPDATE TO {schema}.secret WHERE new.a < 0 DO INSTEAD NOTHING;
             CREATE STATISTICS {schema}.ab ON a, b FROM {schema}.secret;
             GRANT USAGE ON SCHEMA {schema} TO app_reader; GRANT SELECT ON {schema}.secret TO app_reader;
             INSERT INTO {schema}.secret VALUES (1, 'app_writer', 1, 1)"
        ),
    );
    let before = dump(estate, "pg1", &schema);
    // Cut behind the transaction that makes them, which is not made twice.
    let moving = ["move", &shard.to_string(), "--to", "pg2", "--yes"];
    estate.run_cut("following/before-next", &moving);
    estate.run(&["resume", &estate.last_move(shard)]).ok();
    assert_same(&before, &dump(estate, "pg2", &schema));
    let seen = format!("SET ROLE app_reader; SELECT count(*) FROM {schema}.secret");
    assert_eq!(estate.psql("pg2", &seen), "0");
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    assert_same(&before, &dump(estate, "pg1", &schema));
}

/// What is different on the new copy by the time that everything is made stops the move.
#[test]
fn a_copy_that_is_not_what_the_source_has_is_named() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let schema = shardid_tests::estate::schema(shard);
    let moving = ["move", &shard.to_string(), "--to", "pg2", "--yes"];
    estate.run_cut("copying/before-MakeIndexes", &moving);
    estate.psql("pg2", &format!("COMMENT ON TABLE {schema}.item IS 'other'"));
    let id = estate.last_move(shard);
    let refused = estate.run(&["resume", &id]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let words = format!(
        "schema {schema} was changed during the move, or is not carried whole; these differ: COMMENT TABLE item"
    );
    assert!(refused.stderr.contains(&words), "{}", refused.stderr);
    estate.psql("pg2", &format!("COMMENT ON TABLE {schema}.item IS NULL"));
    estate.run(&["resume", &id]).ok();
    assert_eq!(estate.home(shard), "pg2");
}

/// What was lost when the schema was made showed when all rows had been copied.
#[test]
fn a_copy_that_is_not_made_whole_is_named_before_its_rows_are_copied() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let schema = shardid_tests::estate::schema(shard);
    let moving = ["move", &shard.to_string(), "--to", "pg2", "--yes"];
    estate.run_cut("copying/before-Publish", &moving);
    let id = estate.last_move(shard);
    for (lost, name, made) in [
        ("ALTER TABLE SCHEMA.item ALTER seen DROP DEFAULT", "TABLE item", None),
        ("COMMENT ON TABLE SCHEMA.line IS 'x'", "COMMENT TABLE line", None),
        ("CREATE DOMAIN SCHEMA.word AS text", "DOMAIN word", Some("DROP DOMAIN SCHEMA.word")),
    ] {
        estate.psql("pg2", &lost.replace("SCHEMA", &schema));
        let refused = estate.run(&["resume", &id]);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        let words = format!("is not carried whole; these differ: {name}\n");
        assert!(refused.stderr.contains(&words), "{words} is not in {}", refused.stderr);
        let begun =
            format!("SELECT count(*) FROM pg_subscription WHERE subname = 'shardid_move_{id}'");
        assert_eq!(estate.psql("pg2", &begun), "0");
        let back = match name {
            "TABLE item" => "ALTER TABLE SCHEMA.item ALTER seen SET DEFAULT 0",
            "COMMENT TABLE line" => "COMMENT ON TABLE SCHEMA.line IS NULL",
            _ => made.expect("it was made"),
        };
        estate.psql("pg2", &back.replace("SCHEMA", &schema));
    }
    estate.run(&["resume", &id]).ok();
    assert_eq!(estate.home(shard), "pg2");
}

/// What cannot be made again, as the servers themselves let it come to be, showed when all rows had been copied.
#[test]
fn what_cannot_be_made_after_the_copy_is_named_before_it() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let schema = shardid_tests::estate::schema(shard);
    let number = shard.to_string();
    for (made, says, back) in [
        (
            "CREATE FUNCTION SCHEMA.noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
             CREATE TRIGGER noted BEFORE UPDATE ON SCHEMA.item FOR EACH ROW
                 WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION SCHEMA.noted();
             ALTER TABLE SCHEMA.item ADD COLUMN twice bigint GENERATED ALWAYS AS (n * 2) STORED",
            "cannot reference NEW generated columns",
            "DROP TRIGGER noted ON SCHEMA.item",
        ),
        (
            "CREATE TABLE SCHEMA.parent (id int PRIMARY KEY, e text NOT NULL);
             CREATE TABLE SCHEMA.child (PRIMARY KEY (id)) INHERITS (SCHEMA.parent);
             ALTER TABLE SCHEMA.child ALTER e DROP NOT NULL",
            "pg_dump does not carry these of schema SCHEMA: table SCHEMA.child: column e, pg_attribute.attnotnull false, not true\n",
            "ALTER TABLE SCHEMA.child ALTER e SET NOT NULL",
        ),
        (
            "CREATE TYPE SCHEMA.lengths AS RANGE (subtype = float8);
             REVOKE EXECUTE ON FUNCTION SCHEMA.lengths(float8, float8) FROM PUBLIC",
            "function SCHEMA.lengths(double precision,double precision): pg_proc.proacl",
            "DROP TYPE SCHEMA.lengths",
        ),
        (
            "CREATE TYPE SCHEMA.lengths AS RANGE (subtype = float8);
             ALTER FUNCTION SCHEMA.lengths(float8, float8) OWNER TO pg_monitor",
            "function SCHEMA.lengths(double precision,double precision): pg_proc.proowner \"pg_monitor\", not null",
            "ALTER FUNCTION SCHEMA.lengths(float8, float8) OWNER TO postgres; ALTER TYPE SCHEMA.lengths OWNER TO postgres",
        ),
    ] {
        let of = |text: &str| text.replace("SCHEMA", &schema);
        if Installation::get().major() >= 18 && made.contains("INHERITS") {
            // What a parent demands of its children is a constraint there.
            continue;
        }
        estate.psql("pg1", &of(made));
        let run = estate.run(&["move", &number, "--to", "pg2", "--yes"]);
        let id = estate.last_move(shard);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains(&of(says)), "{}", run.stderr);
        let hint = format!(
            "no row is copied yet: `shardid abort {id}`, change that definition on pg1, then `shardid move {number} --to pg2` again"
        );
        assert!(run.stderr.contains(&hint), "{}", run.stderr);
        // Nothing of it was made.
        let there = format!("SELECT to_regnamespace('{schema}') IS NULL");
        assert_eq!(estate.psql("pg2", &there), "t");
        estate.run(&["abort", &id, "--yes"]).ok();
        estate.psql("pg1", &of(back));
    }
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    assert_eq!(estate.home(shard), "pg2");
}

/// An error on the target printed the whole dump, of which it named no part.
#[test]
fn an_error_on_the_target_is_said_with_the_statement_that_it_is_of() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let schema = shardid_tests::estate::schema(shard);
    let many: String = (0..100)
        .map(|n| {
            format!(
                "CREATE TABLE {schema}.t{n} (id int PRIMARY KEY, note text DEFAULT 'one of many');"
            )
        })
        .collect();
    estate.psql("pg1", &format!("{many} CREATE VIEW {schema}.bad AS SELECT 7 AS seven"));
    estate.psql(
        "pg2",
        "CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no views here''; END';
         CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION public.refuse()",
    );
    let run = estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let words = format!("statement: CREATE VIEW {schema}.bad AS\n   SELECT 7 AS seven;");
    assert!(run.stderr.contains("node pg2: no views here"), "{}", run.stderr);
    assert!(run.stderr.contains(&words), "{}", run.stderr);
    assert!(!run.stderr.contains("one of many"), "{}", run.stderr);
    assert!(run.stderr.len() < 1_500, "{} bytes: {}", run.stderr.len(), run.stderr);
    // Nothing of it was made.
    let there = format!("SELECT to_regnamespace('{schema}') IS NULL");
    assert_eq!(estate.psql("pg2", &there), "t");
    estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
}

/// They were on after the move, and refused what had been written before.
#[test]
fn keys_that_somebody_has_switched_off_are_so_after_a_move() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = format!("shard_{shard:04}");
    estate.psql(
        "pg1",
        &format!(
            "SET search_path = {schema}; CREATE TABLE one (id int PRIMARY KEY); \
             CREATE TABLE \"many Ones\" (id int PRIMARY KEY, one int CONSTRAINT \"to one\" REFERENCES one, also int REFERENCES one); \
             CREATE TABLE part (id int PRIMARY KEY DEFERRABLE REFERENCES one) PARTITION BY LIST (id); \
             CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1); ALTER TABLE part_1 REPLICA IDENTITY FULL"
        ),
    );
    let names = "SELECT tgname FROM pg_trigger WHERE tgconstraint = (SELECT oid FROM pg_constraint WHERE conname = 'to one' AND conrelid = '@.\"many Ones\"'::regclass) AND tgrelid = '@.one'::regclass ORDER BY 1".replace('@', &schema);
    let trigger = estate.psql("pg1", &format!("{names} LIMIT 1"));
    estate.psql(
        "pg1",
        &format!(
            "ALTER TABLE {schema}.\"many Ones\" DISABLE TRIGGER ALL; ALTER TABLE {schema}.part DISABLE TRIGGER ALL; \
             ALTER TABLE {schema}.one ENABLE ALWAYS TRIGGER \"{trigger}\"; INSERT INTO {schema}.\"many Ones\" VALUES (1)"
        ),
    );
    let states = "SELECT string_agg(format('%s %s %s', tgrelid::regclass, tgfoid::regproc, tgenabled), ', ' ORDER BY tgrelid::regclass::text, tgfoid, tgenabled) FROM pg_trigger WHERE tgisinternal AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = '@'::regnamespace)".replace('@', &schema);
    let before = estate.psql("pg1", &states);
    assert!(before.contains(" D") && before.contains(" A"), "{before}");
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    assert_eq!(estate.psql("pg2", &states), before);
    let refers_to_none = format!("INSERT INTO {schema}.\"many Ones\" VALUES (2, 7, 9)");
    estate.psql("pg2", &refers_to_none);
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &states), before);
}
