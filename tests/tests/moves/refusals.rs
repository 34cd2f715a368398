//! What refuses a move refuses it before anything is made, and all at once.

use std::time::{Duration, Instant};

use shardid_tests::crowded;
use shardid_tests::estate::{DATABASE, Estate, schema};

use crate::shared;

/// What a move does not carry, and works without; a kind for each part of the query.
const NOT_CARRIED: &str = include_str!("../../../sql/postgres/move/check/not_carried.sql");
const LIMITS: &str = include_str!("../../../docs/limits.md");

/// Everything that moves leave on any node, and what the journal has.
fn made(estate: &Estate) -> String {
    let mut found = estate.psql("pg1", "SELECT count(*) FROM shardid.move");
    for node in estate.nodes() {
        found += &estate.psql(
            &node,
            "SELECT (SELECT count(*) FROM pg_publication), (SELECT count(*) FROM pg_subscription),
                    (SELECT count(*) FROM pg_replication_slots), (SELECT count(*) FROM pg_namespace),
                    (SELECT count(*) FROM pg_trigger), (SELECT string_agg(xmin::text, ',' ORDER BY shard) FROM shardid.shard)",
        );
    }
    found
}

#[test]
fn everything_in_the_way_is_named_at_once_with_what_helps() {
    let estate = Estate::start_with(2, 4, |number, builder| match number {
        1 => builder,
        _ => builder
            .conf("wal_level = replica")
            .conf("max_replication_slots = 0")
            .conf("max_logical_replication_workers = 1")
            .conf("max_wal_senders = 0"),
    });
    let schema = schema(0);
    estate.psql(
        "pg1",
        &format!(
            "CREATE ROLE only_here; CREATE EXTENSION citext;
             SELECT create_layout('own', '2026-01-01Z', '1 ms', 1024, 1024);
             CREATE TABLE public.outside (id int PRIMARY KEY);
             CREATE TYPE public.kind AS ENUM ('a');
             CREATE FUNCTION public.help(int) RETURNS int LANGUAGE sql IMMUTABLE RETURN $1;
             SET search_path = {schema}, public;
             CREATE TABLE no_key (a int);
             CREATE TABLE broken (id int PRIMARY KEY, \"x\ny\" int); CREATE FUNCTION broken_too(\"p\nq\" int) RETURNS int LANGUAGE sql AS 'SELECT 1';
             CREATE UNLOGGED TABLE quick (id int PRIMARY KEY); CREATE UNLOGGED SEQUENCE numbers_quickly;
             CREATE TABLE refers (id int PRIMARY KEY, o int REFERENCES public.outside, k public.kind, h int DEFAULT public.help(1));
             CREATE TABLE target (id int PRIMARY KEY, word citext);
             CREATE TABLE public.comes_in (id int PRIMARY KEY REFERENCES target);
             CREATE VIEW public.looks_in AS SELECT * FROM target;
             CREATE MATERIALIZED VIEW kept AS SELECT 1 AS one;
             CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
             CREATE FOREIGN TABLE afar (id int) SERVER nowhere;
             CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             CREATE TRIGGER always AFTER INSERT ON target EXECUTE FUNCTION fires();
             ALTER TABLE target ENABLE ALWAYS TRIGGER always;
             CREATE TABLE found_by_all (j json); ALTER TABLE found_by_all REPLICA IDENTITY FULL;
             CREATE TYPE own AS (a int); CREATE CAST (own AS text) WITH INOUT;
             SELECT create_id_sequence('public.stray', 0), create_id_sequence('{schema}.guest', 1),
                    create_id_sequence('{schema}.other_layout', 0, 'own');
             GRANT SELECT ON target TO only_here;
             CREATE TABLE later (id int PRIMARY KEY DEFERRABLE);
             CREATE TABLE computed (a int, id int GENERATED ALWAYS AS (a * 2) STORED PRIMARY KEY);
             CREATE DOMAIN wrapped AS json; CREATE TYPE within AS (a int, w wrapped[]);
             CREATE TABLE deep (w within, plain varchar(5)); ALTER TABLE deep REPLICA IDENTITY FULL;
             CREATE TABLE odd_types (a varchar(5), b int[], c int4range, d own, e numeric(9, 2), f numeric(9, 2)[]); ALTER TABLE odd_types REPLICA IDENTITY FULL;
             CREATE COLLATION alike (provider = icu, locale = 'und', deterministic = false); CREATE DOMAIN price AS numeric;
             CREATE TABLE alike_rows (a price, b float8[], c numrange, d jsonb, e text COLLATE alike, f interval); ALTER TABLE alike_rows REPLICA IDENTITY FULL;
             CREATE TEXT SEARCH DICTIONARY public.apart (TEMPLATE = pg_catalog.simple); CREATE TEXT SEARCH CONFIGURATION mapped (PARSER = pg_catalog.default);
             ALTER TEXT SEARCH CONFIGURATION mapped ADD MAPPING FOR asciiword WITH public.apart;
             CREATE TABLE sorted_text (id int PRIMARY KEY, a text COLLATE \"en-x-icu\");
             CREATE TABLE found (id int PRIMARY KEY, x text, v tsvector GENERATED ALWAYS AS (to_tsvector('english', x)) STORED);
             CREATE INDEX by_words ON found USING gin (to_tsvector('english', x));
             CREATE TEXT SEARCH CONFIGURATION cfg (COPY = pg_catalog.english);
             CREATE TEXT SEARCH DICTIONARY dict (TEMPLATE = snowball, Language = english);
             CREATE VIEW shows AS SELECT table_name FROM information_schema.tables;
             CREATE STATISTICS public.of_target (dependencies) ON id, word FROM target;
             CREATE EXTENSION pg_trgm SCHEMA {schema}; CREATE EXTENSION hstore SCHEMA public;
             CREATE TABLE hashed (id int PRIMARY KEY, h hstore, hs hstore[]);
             CREATE OPERATOR CLASS public.mine FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int, int);
             CREATE INDEX by_mine ON target (id public.mine);
             CREATE FUNCTION added() RETURNS int LANGUAGE sql AS 'SELECT 1'; ALTER EXTENSION hstore ADD FUNCTION added();
             CREATE TYPE mood AS ENUM ('good', 'bad'); CREATE DOMAIN moody AS mood;
             CREATE TABLE by_mood (id int, m moody[]) PARTITION BY HASH (m); CREATE TABLE by_class (c regclass) PARTITION BY HASH (c);
             CREATE TABLE by_shown (id int, m mood) PARTITION BY HASH ((greatest(m, 'good'))); CREATE TABLE by_text (id int, m text) PARTITION BY HASH (id, m);
             CREATE TABLE by_range (id int) PARTITION BY RANGE (id); CREATE TABLE leaves PARTITION OF by_range FOR VALUES FROM (0) TO (9);
             UPDATE pg_inherits SET inhdetachpending = true WHERE inhrelid = 'leaves'::regclass;
             REVOKE USAGE ON TYPE target FROM PUBLIC; GRANT USAGE ON TYPE no_key TO only_here;
             CREATE TYPE spans AS RANGE (subtype = int); GRANT USAGE ON TYPE by_range TO PUBLIC; REVOKE USAGE ON TYPE spans FROM PUBLIC;
             CREATE ROLE sorter; CREATE COLLATION sorted (LOCALE = 'C'); ALTER COLLATION sorted OWNER TO sorter;
             CREATE FUNCTION on_ddl() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
             CREATE EVENT TRIGGER ours ON ddl_command_end EXECUTE FUNCTION on_ddl();
             CREATE PUBLICATION theirs FOR TABLE target;
             CREATE SUBSCRIPTION feeds CONNECTION 'dbname=none' PUBLICATION p WITH (connect = false);"
        ),
    );
    // As far as one comes without a publisher.
    estate.psql(
        "pg1",
        &format!("INSERT INTO pg_subscription_rel SELECT oid, '{schema}.target'::regclass, 'r' FROM pg_subscription"),
    );
    estate.psql(
        "pg2",
        &format!(
            "CREATE SCHEMA {schema}; CREATE SCHEMA other; CREATE EXTENSION hstore SCHEMA other"
        ),
    );
    let before = made(&estate);
    let run = estate.run(&["move", "0", "--to", "pg2", "--yes"]);
    let said = run.refused();
    for problem in [
        "node pg2: wal_level is replica, and a move needs logical",
        "node pg2: max_replication_slots is 0, of which 0 are taken, and this needs 1",
        "node pg2: max_wal_senders is 0",
        "node pg2: max_logical_replication_workers is 1, of which 0 are taken, and this needs 2",
        "node pg2: role only_here is missing",
        "node pg2: extension citext is missing",
        "node pg2: layout own is missing",
        "node pg2: schema shard_0000 is there already",
        "table shard_0000.no_key has no primary key and no replica identity",
        r#"column "x\ny" of shard_0000.broken has a line break in its name"#,
        r#"parameter "p\nq" of function shard_0000.broken_too(integer) has a line break in its name"#,
        "shard_0000.quick is unlogged",
        "sequence shard_0000.numbers_quickly is unlogged, and gives numbers again after a crash",
        "shard_0000.kept is a materialized view",
        "shard_0000.afar is a foreign table",
        "trigger always of shard_0000.target fires on replicated rows too",
        "column j of shard_0000.found_by_all is of type json",
        "is not carried",
        "id sequence public.stray of shard 0 is not in schema shard_0000",
        "id sequence shard_0000.guest belongs to shard 1",
        "constraint refers_o_fkey on table shard_0000.refers needs table public.outside",
        "constraint comes_in_id_fkey on table public.comes_in needs table shard_0000.target",
        "needs type public.kind",
        "needs function public.help(integer)",
        "view public.looks_in needs",
        "column k of table shard_0000.refers needs type public.kind",
        "table shard_0000.later has replica identity later_pkey, which is deferrable",
        "table shard_0000.computed has replica identity computed_pkey, with a generated column",
        "column w of shard_0000.deep is of type shard_0000.within, by which no row can be found",
        "column a of shard_0000.alike_rows is of type shard_0000.price, of which two values may be equal and not the same",
        "column b of shard_0000.alike_rows is of type double precision[], of which",
        "column c of shard_0000.alike_rows is of type numrange, of which",
        "column d of shard_0000.alike_rows is of type jsonb, of which",
        "column e of shard_0000.alike_rows is of type text, of which",
        "column f of shard_0000.alike_rows is of type interval, of which",
        "text search configuration shard_0000.mapped needs text search dictionary public.apart",
        "statistics object public.of_target needs table shard_0000.target",
        "extension pg_trgm is in schema shard_0000, and is not carried",
        "function shard_0000.added() belongs to extension hstore, and is not carried",
        "by_mood is partitioned by HASH of a value of type shard_0000.mood",
        "by_class is partitioned by HASH of a value of type regclass",
        "by_shown is partitioned by HASH of a value of type anyenum",
        "partition shard_0000.leaves of shard_0000.by_range is being detached",
        "the privileges of type shard_0000.target are not carried",
        "the privileges of type shard_0000.no_key are not carried",
        "node pg2: extension hstore is in schema other, and in schema public where the shard is",
        "index shard_0000.by_mine needs operator class public.mine",
        "node pg2: role sorter is missing",
        "event trigger ours needs function shard_0000.on_ddl()",
        "table shard_0000.target is fed by subscription feeds",
        "publication of table shard_0000.target in publication theirs stays behind on pg1",
    ] {
        assert!(said.contains(problem), "{problem}\nis not in\n{said}");
    }
    for fine in [
        "odd_types",
        "column plain",
        "by_text",
        "privileges of type by_range",
        "privileges of type spans",
        "function shard_0000.spans",
        "function shard_0000.spans_multirange",
        "type hstore",
        "pg_trgm needs",
        "belongs to extension pg_trgm",
        "RI_Constraint",
        "en-x-icu",
        "shard_0000.cfg",
        "shard_0000.dict",
        "information_schema",
    ] {
        assert!(!said.contains(fine), "{fine}\nis in\n{said}");
    }
    for hint in [
        "ALTER SYSTEM SET wal_level",
        "ADD PRIMARY KEY",
        "ALTER TABLE shard_0000.quick SET LOGGED;",
        "ALTER SEQUENCE shard_0000.numbers_quickly SET LOGGED;",
        "CREATE ROLE only_here",
        "SELECT public.create_layout('own'::pg_catalog.text, ",
        "ALTER EXTENSION hstore DROP FUNCTION shard_0000.added();",
        "DETACH PARTITION shard_0000.leaves FINALIZE;",
        "GRANT ALL ON TYPE shard_0000.no_key TO PUBLIC, postgres; REVOKE ALL ON TYPE shard_0000.no_key FROM only_here CASCADE;",
    ] {
        assert!(said.contains(hint), "{hint}\nis not in\n{said}");
    }
    assert_eq!(said.matches("error:").count(), said.matches("hint:").count(), "{said}");
    assert_eq!(made(&estate), before, "and nothing was made");
    let dry = estate.run(&["move", "0", "--to", "pg2", "--dry-run"]);
    assert_eq!(dry.code, 1, "a dry run refuses as well");
    assert_eq!(made(&estate), before);
}

/// The page names the kinds that the program does, and the program whatever there is of each.
#[test]
fn all_that_stays_behind_is_named_by_the_page_and_before_a_move() {
    let kinds: Vec<&str> = NOT_CARRIED
        .lines()
        .filter_map(|line| line.strip_prefix("SELECT '")?.strip_suffix("' AS kind,"))
        .collect();
    assert_eq!(kinds.len(), NOT_CARRIED.matches("\nUNION\n").count() + 1, "{kinds:?}");
    let (_, page) = LIMITS.split_once("**Not carried:** ").expect("the page has it");
    let page = page.split('.').next().expect("a sentence").replace('\n', " ");
    let page: Vec<&str> = page.split(", ").map(|part| part.trim_start_matches("and ")).collect();
    for (kind, part) in kinds.iter().zip(&page) {
        assert!(part.starts_with(kind), "{kind}: {page:?}");
    }
    assert_eq!(kinds.len(), page.len(), "{kinds:?} {page:?}");

    let estate = Estate::start(2, 4);
    let ours: Vec<u32> = (0..4).filter(|shard| estate.home(*shard) == "pg1").collect();
    let (shard, schema) = (ours[0], schema(ours[0]));
    estate.make_tables(shard);
    let moving = [&*ours[0].to_string(), &*ours[1].to_string(), "--to", "pg2", "--dry-run"];
    let moving: Vec<&str> = ["move"].into_iter().chain(moving).collect();
    let notes = || {
        let said = estate.run(&moving);
        assert_eq!(said.code, 0, "{}", said.stderr);
        let notes = said.stderr.lines().filter(|line| line.starts_with("  note: "));
        notes.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(notes(), [""; 0]);
    estate.psql(
        "pg1",
        &format!(
            "CREATE PUBLICATION theirs FOR TABLE {schema}.item; CREATE ROLE app;
             INSERT INTO pg_seclabel VALUES ('{schema}.item'::regclass, 'pg_class'::regclass, 0, 'guard', 'secret');
             CREATE TABLE {schema}.parent (id int PRIMARY KEY, CONSTRAINT above CHECK (id > 0)); CREATE TABLE {schema}.child (PRIMARY KEY (id)) INHERITS ({schema}.parent);
             COMMENT ON CONSTRAINT above ON {schema}.child IS 'x'; COMMENT ON CONSTRAINT above ON {schema}.parent IS 'x';
             COMMENT ON TYPE {schema}.parent IS 'x'; COMMENT ON INDEX {schema}.child_pkey IS 'x'; COMMENT ON COLUMN {schema}.child.id IS 'x';
             COMMENT ON COLUMN {schema}.child.ctid IS 'x'; CREATE TYPE {schema}.lengths AS RANGE (subtype = float8); COMMENT ON FUNCTION {schema}.lengths(float8, float8) IS 'x';
             CREATE TABLE {schema}.part (id int PRIMARY KEY, of int) PARTITION BY RANGE (id);
             CREATE TABLE {schema}.part_1 (id int PRIMARY KEY, of int CONSTRAINT own_name REFERENCES {schema}.parent);
             ALTER TABLE {schema}.part ADD CONSTRAINT its_name FOREIGN KEY (of) REFERENCES {schema}.parent;
             ALTER TABLE {schema}.part ATTACH PARTITION {schema}.part_1 FOR VALUES FROM (0) TO (9);
             CREATE INDEX half_made ON {schema}.child (id); UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{schema}.half_made'::regclass;
             CREATE FUNCTION public.on_ddl() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
             CREATE EVENT TRIGGER theirs ON ddl_command_end EXECUTE FUNCTION public.on_ddl();
             SELECT lo_create(0); SELECT lo_create(0);
             ALTER ROLE app IN DATABASE {DATABASE} SET work_mem = '1MB'"
        ),
    );
    assert_eq!(
        notes(),
        [
            format!(
                "  note: shard {shard}: the comment on column ctid of table {schema}.child stays behind on pg1"
            ),
            format!(
                "  note: shard {shard}: the comment on constraint above on table {schema}.child stays behind on pg1"
            ),
            format!(
                "  note: shard {shard}: the comment on function {schema}.lengths(double precision,double precision) stays behind on pg1"
            ),
            format!(
                "  note: shard {shard}: the comment on type {schema}.parent stays behind on pg1"
            ),
            format!(
                "  note: shard {shard}: index {schema}.half_made is not valid, and stays behind on pg1"
            ),
            format!(
                "  note: shard {shard}: foreign key own_name of partition {schema}.part_1 has the name that it had before it was attached, which stays behind on pg1"
            ),
            format!(
                "  note: shard {shard}: publication of table {schema}.item in publication theirs stays behind on pg1"
            ),
            format!(
                "  note: shard {shard}: the security label of table {schema}.item by guard stays behind on pg1"
            ),
            "  note: event trigger theirs stays behind on pg1".to_owned(),
            "  note: large objects (2) stay behind on pg1".to_owned(),
            format!(
                "  note: settings of role app in database {DATABASE} (work_mem=1MB) stay behind on pg1"
            ),
        ]
    );
}

#[test]
fn what_makes_no_sense_is_refused_with_the_exit_code_for_it() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let number = shard.to_string();
    let words = |arguments: &[&str]| {
        let run = estate.run(arguments);
        (run.code, run.stderr)
    };

    let (code, said) = words(&["move", &number, "--to", "pg9", "--yes"]);
    assert!(matches!(code, 1 | 2) && said.contains("pg9"), "{code} {said}");
    let (code, said) = words(&["move", "4711", "--to", "pg2", "--yes"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("cluster photos has no shard 4711"), "{said}");
    let (code, said) = words(&["move", &number, "--to", "pg1", "--yes"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("is on pg1 already") && said.contains("nothing to move"), "{said}");
    assert_eq!(words(&["move", &number]).0, 2);
    assert_eq!(words(&["move", "--to", "pg2", "x"]).0, 2);
    let (code, said) = words(&["move", &number, "--to", "pg2"]);
    assert_eq!(code, 1, "there is nobody to ask: {said}");
    assert!(said.contains("look at the plan with `--dry-run`, then say `--yes`"), "{said}");
    for word in ["resume", "abort", "rollback", "retire"] {
        let run = estate.say(word, "999999");
        let (code, said) = (run.code, run.stderr);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("there is no move 999999"), "{said}");
    }
    let (code, said) = words(&["retire", "999990-999995,999997,999999", "--yes"]);
    assert_eq!((code, said.matches("error: ").count()), (1, 1), "{said}");
    assert!(said.contains("there are no moves 999990-999995,999997,999999"), "{said}");
    let (code, said) = words(&["retire", "--all", "--gone", "nope", "--yes"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no move has an old copy on node nope"), "{said}");

    // Fenced by hand.
    estate.psql("pg1", &format!("UPDATE shardid.shard SET state = 'fenced' WHERE shard = {shard}"));
    let said = estate.run(&["move", &number, "--to", "pg2", "--yes"]).refused();
    assert!(said.contains(&format!("shard {shard} is fenced, not open")), "{said}");
    estate.psql("pg1", &format!("UPDATE shardid.shard SET state = 'open' WHERE shard = {shard}"));

    // In a move.
    let held =
        estate.run_held("copying/before-AwaitCopy", &["move", &number, "--to", "pg2", "--yes"]);
    let id = estate.last_move(shard);
    let said = estate.run(&["move", &number, "--to", "pg3", "--yes"]).refused();
    assert!(said.contains("is already being moved"), "{said}");
    let (code, said) = words(&["resume", &id]);
    assert!(code == 3 && said.contains("is working on a move of shard"), "{code} {said}");
    assert_eq!(held.let_go().code, 0);

    // Moved, with an old copy.
    let said = estate.run(&["abort", &id, "--yes"]).refused();
    assert!(
        said.contains("is done and cannot be aborted") && said.contains("shardid rollback"),
        "{said}"
    );
    let said = estate.run(&["move", &number, "--to", "pg3", "--yes"]).refused();
    assert!(
        said.contains("still follows") && said.contains(&format!("shardid retire {id}")),
        "{said}"
    );
    assert_eq!(words(&["resume", &id]).0, 0, "it is done already");
    estate.run(&["retire", &id, "--yes"]).ok();
    estate.run(&["retire", &id, "--yes"]).ok();
    let said = estate.run(&["rollback", &id, "--yes"]).refused();
    assert!(said.contains("its old copy was dropped"), "{said}");
    estate.assert_no_trace(shard);
}

/// pg_restore begins with `SET lock_timeout = 0`, which is none of the definitions.
#[test]
fn indexes_do_not_wait_for_ever_for_somebody_who_locks_the_new_copy() {
    // Of its own: what waits here has every new slot wait.
    let (estate, shard) = (Estate::start(2, 2), 0);
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    let held =
        estate.run_held("copying/before-MakeIndexes", &["move", &number, "--to", "pg2", "--yes"]);
    let mut somebody = estate.node("pg2").connect(DATABASE);
    somebody.batch_execute(&format!("BEGIN; LOCK TABLE {schema}.item IN EXCLUSIVE MODE")).unwrap();
    let began = Instant::now();
    let run = held.let_go();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.contains("node pg2: what the new copy needs is locked by somebody"),
        "{}",
        run.stderr
    );
    assert!(began.elapsed() < crowded(Duration::from_secs(100)), "{:?}", began.elapsed());
    somebody.batch_execute("COMMIT").unwrap();
    let id = estate.last_move(shard);
    estate.run(&["resume", &id]).ok();
    estate.run(&["retire", &id, "--yes"]).ok();
}
