//! Some forms of SQL call an operator that no text of theirs names.

use std::sync::Once;

use shardid_tests::estate::{Estate, schema};

use crate::shared;

/// Makes the extension on all nodes, once for all tests.
fn citext(estate: &Estate) {
    static MADE: Once = Once::new();
    MADE.call_once(|| {
        for node in estate.nodes() {
            estate.psql(&node, "CREATE EXTENSION citext SCHEMA public");
        }
    });
}

/// A definition travels as a text, which a session reads that finds nothing by itself: `CASE x WHEN` would call `=` of text there
/// for that of citext, and a policy open a row to whom it did not. Nor is such a session to find more: what somebody else
/// has made where it looked would be called by what a superuser or an owner has.
#[test]
fn what_calls_an_operator_of_an_extension_or_of_its_own_that_no_text_names_is_named_before_the_move()
 {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (schema(shard), shard.to_string());
    citext(estate);
    estate.psql("pg1", &include_str!("unnamed.sql").replace("OURS", &schema));
    for how in ["--dry-run", "--yes"] {
        let run = estate.run(&["move", &number, "--to", "pg2", how]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        let said: Vec<&str> =
            run.stderr.lines().filter(|line| line.contains("does not say so")).collect();
        for what in [
            "rule \"_RETURN\" on OURS.by_case",
            "rule \"_RETURN\" on OURS.by_using",
            "rule \"_RETURN\" on OURS.by_name",
            "rule \"_RETURN\" on OURS.by_in",
            "rule \"_RETURN\" on OURS.by_null",
            "function OURS.by_return(public.citext)",
            "function OURS.by_body(public.citext)",
            "table constraint checked_r_check on OURS.checked",
            "index OURS.checked_case_idx",
            "policy p on OURS.m",
            "trigger noted on OURS.late",
        ] {
            let words = format!(
                "{what} calls operator public.=(public.citext,public.citext), and its text"
            )
            .replace("OURS", &schema);
            assert!(said.iter().any(|line| line.contains(&words)), "{words}: {}", run.stderr);
        }
        let own =
            format!("by_own calls operator {schema}.=({schema}.pair,{schema}.pair), and its text");
        assert!(said.iter().any(|line| line.contains(&own)), "{}", run.stderr);
        assert_eq!(said.len(), 12, "{said:#?}");
        assert!(run.stderr.contains("which is `a OPERATOR(public.=) b` as text"), "{}", run.stderr);
    }
}

/// Everything else that is said of such a type names what it calls, or goes by the type.
#[test]
fn what_names_the_operators_of_an_extension_calls_them_when_it_has_moved() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (schema(shard), shard.to_string());
    citext(estate);
    estate.psql("pg1", &include_str!("named.sql").replace("OURS", &schema));
    let answers = |node: &str| estate.psql(node, &format!("SELECT * FROM {schema}.answers"));
    let before = answers("pg1");
    assert_eq!(before, "t|t|t|t|t|1|2|1", "all is answered as citext has it");
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    assert_eq!(answers("pg2"), before);
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    assert_eq!(answers("pg1"), before);
}

/// What was made while the extension was not found goes on without it, also where others of the shard have it.
#[test]
fn what_calls_no_operator_of_an_extension_calls_none_when_it_has_moved() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (schema(shard), shard.to_string());
    citext(estate);
    estate.psql("pg1", &format!("SET search_path = pg_catalog;
        CREATE TABLE {schema}.t (id bigint PRIMARY KEY, c public.citext CHECK (CASE c WHEN 'no' THEN false ELSE true END), d public.citext CHECK (d OPERATOR(public.<>) 'no'))"));
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    estate.psql("pg2", &format!("INSERT INTO {schema}.t VALUES (1, 'NO', 'yes')"));
}

/// What was made after the copy showed then that it is not called so.
#[test]
fn an_index_on_a_function_with_settings_of_its_own_is_named_before_the_move() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (schema(shard), shard.to_string());
    estate.psql(
        "pg1",
        &format!(
            "CREATE ROLE settles_{shard}; GRANT USAGE, CREATE ON SCHEMA {schema} TO settles_{shard}"
        ),
    );
    estate.psql("pg2", &format!("CREATE ROLE settles_{shard}"));
    estate.psql("pg1", &format!("SET ROLE settles_{shard};
        CREATE FUNCTION {schema}.norm(text) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = '' AS 'SELECT pg_catalog.lower($1)';
        CREATE TABLE {schema}.t (id bigint PRIMARY KEY, t text);
        CREATE INDEX by_norm ON {schema}.t ({schema}.norm(t)) WHERE t <> ''"));
    let refused = estate.run(&["move", &number, "--to", "pg2", "--dry-run"]).refused();
    let says = format!(
        "index {schema}.by_norm calls function {schema}.norm(pg_catalog.text), which has settings of its own (SET)"
    );
    assert!(refused.contains(&says), "{refused}");
    let hint = format!("ALTER FUNCTION {schema}.norm(pg_catalog.text) RESET ALL");
    assert!(refused.contains(&hint), "{refused}");
    estate.psql("pg1", &hint);
    estate.psql("pg1", &format!("INSERT INTO {schema}.t VALUES (1, 'A')"));
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
}

/// The function is one that the index does not name itself; all rows had been copied when that was seen.
#[test]
fn an_index_whose_operator_domain_or_range_calls_such_a_function_is_named_before_the_move() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (schema(shard), shard.to_string());
    let role = format!("settles_{shard}");
    estate.psql(
        "pg1",
        &format!("CREATE ROLE {role}; GRANT USAGE, CREATE ON SCHEMA {schema} TO {role}"),
    );
    estate.psql("pg2", &format!("CREATE ROLE {role}"));
    estate.psql("pg1", &format!("SET ROLE {role}; SET search_path = {schema};
        CREATE FUNCTION less(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE SET search_path = '' AS 'SELECT $1 < $2';
        CREATE OPERATOR <<< (FUNCTION = less, LEFTARG = text, RIGHTARG = text);
        CREATE FUNCTION is_short(text) RETURNS boolean LANGUAGE sql IMMUTABLE SET search_path = '' AS 'SELECT pg_catalog.length($1) < 9';
        CREATE DOMAIN short AS text CHECK (is_short(VALUE));
        CREATE FUNCTION apart(time, time) RETURNS float8 LANGUAGE sql IMMUTABLE SET search_path = '' AS 'SELECT extract(epoch FROM $1 - $2)::float8';
        CREATE TYPE hours AS RANGE (subtype = time, subtype_diff = apart);
        CREATE TABLE t (id bigint PRIMARY KEY, t text, a time);
        CREATE INDEX by_operator ON t ((t <<< 'm'));
        CREATE INDEX by_domain ON t ((t::short));
        CREATE INDEX by_range ON t USING gist (hours(a, a, '[]'))"));
    let refused = estate.run(&["move", &number, "--to", "pg2", "--dry-run"]).refused();
    for (index, function) in [
        ("by_operator", "less(pg_catalog.text,pg_catalog.text)"),
        ("by_domain", "is_short(pg_catalog.text)"),
        ("by_range", "apart(time without time zone,time without time zone)"),
    ] {
        let says = format!(
            "index {schema}.{index} calls function {schema}.{function}, which has settings of its own (SET)"
        );
        assert!(refused.contains(&says), "{says}: {refused}");
        let hint = format!("ALTER FUNCTION {schema}.{function} RESET ALL");
        assert!(refused.contains(&hint), "{hint}: {refused}");
        estate.psql("pg1", &hint);
    }
    estate.psql("pg1", &format!("INSERT INTO {schema}.t VALUES (1, 'A', '12:00')"));
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
}

/// The key went before the indexes of the partitions, and what the server had named in the order of making was compared.
#[test]
fn partitioned_tables_with_keys_to_themselves_and_to_others_move_as_pg_dump_makes_them() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (schema(shard), shard.to_string());
    estate.psql("pg1", &format!("SET search_path = {schema};
        CREATE TABLE tree (id bigint PRIMARY KEY, parent bigint REFERENCES tree) PARTITION BY RANGE (id);
        CREATE TABLE tree_2 PARTITION OF tree FOR VALUES FROM (100) TO (200);
        CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (1) TO (100);
        INSERT INTO tree VALUES (1, 1), (150, 1);
        CREATE TABLE month (d date PRIMARY KEY) PARTITION BY RANGE (d);
        CREATE TABLE month_rest PARTITION OF month DEFAULT;
        CREATE TABLE month_1 PARTITION OF month FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
        CREATE TABLE r (id int PRIMARY KEY, d date REFERENCES month);
        CREATE TABLE month_2 PARTITION OF month FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
        ALTER TABLE month DETACH PARTITION month_rest; DROP TABLE month_rest;
        CREATE TABLE month_0 PARTITION OF month FOR VALUES FROM ('2025-12-01') TO ('2026-01-01');
        CREATE TABLE p (id int PRIMARY KEY, d date, CONSTRAINT k FOREIGN KEY (d) REFERENCES month) PARTITION BY LIST (id);
        CREATE TABLE p_1 PARTITION OF p FOR VALUES IN (1);
        ALTER TABLE p RENAME CONSTRAINT k TO k_of_p;
        INSERT INTO month VALUES ('2025-12-05'), ('2026-02-05');
        INSERT INTO r VALUES (1, '2026-02-05')"));
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    assert_eq!(estate.psql("pg2", &format!("SELECT count(*) FROM {schema}.tree")), "2");
    estate.psql("pg2", &format!("INSERT INTO {schema}.r VALUES (2, '2025-12-05')"));
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &format!("SELECT count(*) FROM {schema}.r")), "2");
}

/// PostgreSQL looks into functions in SQL to see whether they are immutable, and not while a move makes what calls them.
#[test]
fn a_function_that_is_not_declared_immutable_and_has_to_be_is_named_before_the_move() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (schema, number) = (schema(shard), shard.to_string());
    estate.psql("pg1", &format!("CREATE FUNCTION {schema}.norm(text) RETURNS text LANGUAGE sql AS 'SELECT lower(trim($1))';
        CREATE TABLE {schema}.t (id bigint PRIMARY KEY, t text, n text GENERATED ALWAYS AS ({schema}.norm(t)) STORED);
        CREATE INDEX by_norm ON {schema}.t ({schema}.norm(t));
        CREATE TABLE {schema}.p (t text) PARTITION BY LIST ({schema}.norm(t));
        CREATE VIEW {schema}.v AS SELECT {schema}.norm(t) FROM {schema}.t"));
    let dry = || estate.run(&["move", &number, "--to", "pg2", "--dry-run"]);
    let run = dry();
    let calls = format!("calls function {schema}.norm(pg_catalog.text), which is not IMMUTABLE");
    assert_eq!(run.stderr.matches(&calls).count(), 3, "{}", run.stderr);
    assert!(run.stderr.contains(&format!("index {schema}.by_norm {calls}")), "{}", run.stderr);
    estate.psql("pg1", &format!("ALTER FUNCTION {schema}.norm(pg_catalog.text) IMMUTABLE"));
    dry().ok();
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
}
