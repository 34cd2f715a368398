//! Settings of a session change how texts are read and shown, and nothing of what we do.
//!
//! `drop_shard` failed with raw errors under `quote_all_identifiers = on` and
//! `standard_conforming_strings = off`.

use shardid_tests::postgres::{Client, Row};
use shardid_tests::{Database, Refusal};

use crate::ask::{column, run};

/// What anybody may set for himself, and what reads or writes texts by it.
const SETTINGS: [&str; 8] = [
    "quote_all_identifiers = on",
    "standard_conforming_strings = off",
    "escape_string_warning = on",
    "IntervalStyle = 'sql_standard'",
    "DateStyle = 'SQL, DMY'",
    "bytea_output = 'escape'",
    "transform_null_equals = on",
    "TimeZone = 'Asia/Kathmandu'",
];

/// A value for each argument, by its name, or by its type.
const ARGUMENTS: &[(&str, &str)] = &[
    ("shard", "5"),
    ("shards", "1024"),
    ("name", "E'it''s ~ odd'"),
    ("tag", "E'it''s ~ odd'"),
    ("layout", "E'my ~ layout'"),
    ("sequence", "'shard_0005.shard_id_seq'"),
    ("relation", "'shard_0005.shard_id_seq'"),
    ("parent", "'public.\"a part\"'"),
    ("listed", "'shardid.shard'"),
    ("id", "360000000000000000"),
    ("text", "'0000000000001'"),
    ("key", "'0123456789abcdef'"),
    ("\"from\"", "'2026-02-01Z'"),
    ("until", "'2026-03-01Z'"),
    ("every", "'1 week'"),
    ("ticks", "1000000000000"),
    ("server", "1"),
    ("servers", "2"),
    ("above", "70"),
    ("schema", "E'my ~ schema'"),
    ("path", "'shard_0005.shard_id_seq'"),
    ("home", "'public'"),
    ("what", "'shard 5'"),
    ("change", "'CACHE 1'"),
    ("integer", "3"),
    ("bigint", "10"),
    ("numeric", "10"),
    ("boolean", "true"),
    ("oid[]", "'{}'"),
    ("regclass[]", "'{}'"),
    ("text[]", "'{}'"),
    ("integer[]", "'{}'"),
    ("bytea", "E'~x00112233445566778899'"),
    ("uuid", "'7f1d3c9e-0b52-4e6a-9a55-6f3a1f0c2d4e'"),
    ("oid", "'shard_0005.shard_id_seq'::regclass::oid"),
    ("timestamp with time zone", "'2026-02-01Z'"),
    ("interval", "'10 ms'"),
    ("text", "E'x ~ y'"),
    ("name", "E'x ~ y'"),
    ("pg_node_tree", "(SELECT d.adbin FROM pg_attrdef d LIMIT 1)"),
    ("cstring", "'shard_0005.shard_id_seq'"),
    ("shardid.regsequence", "'shard_0005.shard_id_seq'"),
    ("regclass", "'shard_0005.shard_id_seq'"),
    ("regnamespace", "'shard_0005'"),
    ("shardid.ticket", "(SELECT t FROM shardid.ticket t LIMIT 1)"),
    ("shardid.segment", "(SELECT s FROM shardid.segment s LIMIT 1)"),
];

/// Every function of the extension that can be called by a statement: its name, and the names and
/// types of what goes in.
const FUNCTIONS: &str = "
    SELECT format('%I.%I', n.nspname, p.proname), p.prokind = 'p',
        ARRAY(SELECT concat_ws('|', quote_ident(nullif(p.proargnames[i], '')), format_type(p.proargtypes[i - 1], NULL)) FROM generate_series(1, p.pronargs) i)
    FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'shardid')
        AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
        AND 'internal'::regtype <> ALL (p.proargtypes)
    ORDER BY p.oid::regprocedure::text";

/// What there is to call them with; names are such that every way to quote is needed.
const PREPARED: &str = "
    SELECT create_layout(E'my ~ layout', '2026-01-01Z', '10 ms', 1024, 1000);
    CREATE SCHEMA \"my \\ schema\";
    SELECT create_shard(5), create_shard(6, E'six ~ ''s', E'my ~ layout'), create_shard(7), create_id_sequence(E'\"ids ~ ''s\"', 7);
    SELECT create_ticket(E'it''s ~ odd', 1, 2), create_segment(E'it''s ~ odd', 10);
    CREATE TABLE \"a part\" (id bigint DEFAULT next_id(7)) PARTITION BY RANGE (id)";

/// Calls that change much, one after the other.
const STORY: &str = "
    SELECT create_shard(8), create_shard(9, E'nine ~ ''s', E'my ~ layout'), create_shard(10, if_not_exists => true)
    SELECT next_id(8), next_id(9), next_id(6), next_id_from(E'\"ids ~ ''s\"'), \"nine \\ 's\".next_id()
    SELECT create_shard(8, if_not_exists => true), create_shard(9, E'nine ~ ''s', E'my ~ layout', true)
    SELECT create_id_sequence(E'\"of ~ 9\"', 9, E'my ~ layout')
    SELECT create_id_partitions('\"a part\"', '2026-02-01Z', '2026-03-01Z', '1 week')
    SELECT create_id_partitions('\"a part\"', '2026-02-01Z', '2026-03-01Z', '1 week')
    SELECT create_ticket(E'one ~ ''s'), create_ticket(E'two ~ ''s'), create_segment(E'seg ~ ''s', 10)
    SELECT next_ticket(E'one ~ ''s'), next_ticket_gapless(E'two ~ ''s'), next_segment(E'seg ~ ''s'), alter_segment(E'seg ~ ''s', 20)
    SELECT shardid.raise_ticket(E'one ~ ''s', 70), shardid.raise_segment(E'seg ~ ''s', 70), shardid.limit_ticket(E'one ~ ''s', 700)
    SELECT shardid.restep_ticket(E'one ~ ''s', 2, 3, 1000)
    SELECT * FROM shardid.shards, shardid.layouts, shardid.tickets, shardid.segments
    SELECT id_explain(next_id(9)), id_parts(next_id(8)), id_parts(next_id(9), E'my ~ layout')
    UPDATE shardid.shard SET state = 'fenced' WHERE shard = 8
    UPDATE shardid.shard SET state = 'open' WHERE shard = 8
    DROP SEQUENCE \"of \\ 9\"
    SELECT drop_shard(8), drop_shard(9), drop_shard(10), drop_shard(6)
    SELECT create_shard(9, E'nine ~ ''s', E'my ~ layout')
    DROP SCHEMA \"nine \\ 's\" CASCADE
    SELECT create_shard(9, layout => E'my ~ layout')
    DROP EXTENSION shardid CASCADE
    CREATE EXTENSION shardid
    SELECT create_layout(E'my ~ layout', '2026-01-01Z', '10 ms', 1024, 1000), create_shard(9, layout => E'my ~ layout'), create_shard(5), create_shard(7)
    SELECT create_ticket(E'it''s ~ odd', 1, 2), create_segment(E'it''s ~ odd', 10)
    SELECT next_ticket(E'it''s ~ odd'), next_segment(E'it''s ~ odd')
    SELECT drop_ticket(E'it''s ~ odd'), drop_segment(E'it''s ~ odd'), drop_shard(5), drop_shard(7), drop_shard(9)";

/// `~` stands for a backslash in a literal, written so that every setting reads it alike.
fn literals(sql: &str) -> String {
    sql.replace('~', "\\\\")
}

fn prepared() -> (Database<'static>, Client) {
    let database = Database::fresh();
    let mut client = database.connect();
    for statement in PREPARED.split(';').filter(|s| !s.trim().is_empty()) {
        run(&mut client, &literals(statement));
    }
    (database, client)
}

/// What comes of a statement that is undone: nothing, or SQLSTATE and words.
fn outcome(client: &mut Client, sql: &str) -> String {
    let result = client.batch_execute(&format!("BEGIN; SET LOCAL statement_timeout = '5s'; {sql}"));
    let said = match &result {
        Ok(()) => "done".to_owned(),
        Err(error) => {
            let refusal = Refusal::of(error).unwrap_or_else(|| panic!("{sql}: {error}"));
            format!("{} {}", refusal.sqlstate, refusal.message.replace('"', ""))
        }
    };
    run(client, "ROLLBACK");
    said
}

/// What a statement calls: its name, whether it is a procedure, and the names and types of what
/// goes in.
struct Function {
    name: String,
    is_procedure: bool,
    arguments: Vec<String>,
}

impl Function {
    fn all() -> Vec<Self> {
        let rows = Database::fresh().connect().query(FUNCTIONS, &[]).unwrap();
        assert!(rows.len() > 100, "{}", rows.len());
        let function =
            |row: &Row| Self { name: row.get(0), is_procedure: row.get(1), arguments: row.get(2) };
        rows.iter().map(function).collect()
    }

    /// A call with values that fit, but for the argument of that number.
    fn call(&self, odd: Option<(usize, &str)>) -> String {
        let values = self.arguments.iter().enumerate().map(|(number, argument)| match odd {
            Some((at, value)) if at == number => {
                format!("{value}::{}", argument.rsplit('|').next().unwrap_or_default())
            }
            _ => fitting(argument),
        });
        let verb = if self.is_procedure { "CALL" } else { "SELECT" };
        format!("{verb} {}({})", self.name, values.collect::<Vec<_>>().join(", "))
    }
}

/// A value for an argument.
fn fitting(argument: &str) -> String {
    let (name, kind) = argument.split_once('|').unwrap_or(("", argument));
    let found = ARGUMENTS
        .iter()
        .find(|(known, _)| *known == name && kind != "oid")
        .or_else(|| ARGUMENTS.iter().find(|(known, _)| *known == kind));
    let (_, value) = found.unwrap_or_else(|| panic!("no value for {argument}"));
    if value.starts_with('(') { literals(value) } else { format!("{}::{kind}", literals(value)) }
}

/// Values of a type that nobody would give, and somebody does.
fn odd_values(kind: &str) -> &'static [&'static str] {
    match kind {
        "integer" => &["NULL", "(-2147483648)", "(-1)", "0", "2147483647"],
        "bigint" => &["NULL", "(-9223372036854775808)", "(-1)", "0", "9223372036854775807"],
        "numeric" => &["NULL", "(-1)", "0", "1e40", "'NaN'"],
        "text" | "name" => &["NULL", "''", "'.'", "'a.b.c'", "'\"'", "repeat('ä', 70)", "E'a~nb'"],
        "cstring" | "shardid.regsequence" | "regclass" => {
            &["NULL", "'-'", "'0'", "'4294967295'", "'pg_class'"]
        }
        "oid" => &["NULL", "0", "4294967295", "'pg_class'::regclass"],
        "interval" => &["NULL", "'-1 s'", "'0'", "'178000000 years'", "'1 month'"],
        "timestamp with time zone" => {
            &["NULL", "'infinity'", "'-infinity'", "'4713-01-02 BC'", "'294276-12-30'"]
        }
        "oid[]" | "integer[]" | "regclass[]" => {
            &["NULL", "'{}'", "'{NULL}'", "'{{1,2},{3,4}}'", "'[7:8]={-1,0}'"]
        }
        "text[]" => &["NULL", "'{}'", "'{NULL}'", "'{{a,b},{c,d}}'", "'{\"\"}'"],
        "bytea" => &["NULL", "''", "repeat('x', 100000)::bytea"],
        "pg_node_tree" => {
            &["NULL", "(SELECT p.prosqlbody FROM pg_proc p WHERE p.prosqlbody IS NOT NULL LIMIT 1)"]
        }
        _ => &["NULL"],
    }
}

/// A NULL in an array was `XX000: array contains NULL`, with a backtrace.
#[test]
fn no_value_of_an_argument_is_an_internal_error() {
    let (_database, mut client) = prepared();
    let mut tried = 0;
    let mut internal = Vec::new();
    for function in Function::all() {
        for (number, argument) in function.arguments.iter().enumerate() {
            let kind = argument.rsplit('|').next().unwrap_or_default();
            for value in odd_values(kind) {
                let call = function.call(Some((number, &literals(value))));
                let said = outcome(&mut client, &call);
                tried += 1;
                if said.starts_with("XX") {
                    internal.push(format!("{call}: {said}"));
                }
            }
        }
    }
    assert!(tried > 500, "{tried} are few");
    assert!(internal.is_empty(), "{internal:#?}");
}

#[test]
fn every_function_does_the_same_under_every_setting() {
    let calls: Vec<String> = Function::all().iter().map(|function| function.call(None)).collect();
    // Numbers that were taken stay so: each in a database of its own.
    let outcomes = |setting: Option<&str>| -> Vec<String> {
        let (_database, mut client) = prepared();
        run(&mut client, &setting.map_or(String::new(), |setting| format!("SET {setting}")));
        calls.iter().map(|call| outcome(&mut client, call)).collect()
    };
    let usual = outcomes(None);
    for (call, said) in calls.iter().zip(&usual) {
        assert!(!said.starts_with("XX") && !said.starts_with("42883"), "{call}: {said}");
    }
    let done = usual.iter().filter(|said| *said == "done").count();
    assert!(done * 3 > calls.len() * 2, "many fail, which proves little: {calls:#?} {usual:#?}");
    for setting in SETTINGS {
        let said = outcomes(Some(setting));
        let others: Vec<_> = calls
            .iter()
            .zip(usual.iter().zip(said))
            .filter(|(_, (usual, said))| **usual != *said)
            .collect();
        assert!(others.is_empty(), "with {setting}: {others:#?}");
    }
}

#[test]
fn all_that_is_made_and_dropped_is_so_under_every_setting() {
    for setting in SETTINGS {
        let (database, mut client) = prepared();
        run(&mut client, &format!("SET {setting}"));
        for statement in STORY.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let statement = literals(statement);
            client
                .batch_execute(&statement)
                .unwrap_or_else(|error| panic!("with {setting}: {statement}: {error:?}"));
        }
        let left: Vec<String> = column(
            &mut database.connect(),
            "SELECT relnamespace::regnamespace::text FROM pg_class WHERE relname = 'shard_id_seq'",
        );
        assert_eq!(left, Vec::<String>::new(), "with {setting}");
    }
}

/// By construction: no text is read otherwise where a backslash is one.
#[test]
fn no_body_has_a_backslash() {
    let database = Database::fresh();
    let with: Vec<String> = column(
        &mut database.connect(),
        "SELECT p.oid::regprocedure::text FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid JOIN pg_language l ON l.oid = p.prolang \
         WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND l.lanname IN ('sql', 'plpgsql') \
             AND position(chr(92) IN p.prosrc) > 0",
    );
    assert_eq!(with, Vec::<String>::new());
}
