//! docs/sql-reference.md names everything that is there, and nothing else.

use std::collections::BTreeSet;
use std::fs;

use shardid_tests::{Database, docs};

const PAGE: &str = "docs/sql-reference.md";

/// What stands between backticks in the first cell of the page's tables.
fn documented(is_one: impl Fn(&str) -> bool) -> BTreeSet<String> {
    docs::read(PAGE)
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .filter(|name| is_one(name))
        .collect()
}

#[track_caller]
fn assert_same(what: &str, documented: &BTreeSet<String>, there: &BTreeSet<String>) {
    let missing: Vec<&String> = there.difference(documented).collect();
    let extra: Vec<&String> = documented.difference(there).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{PAGE} and the server differ in {what}\nonly on the server: {missing:#?}\nonly on the page: {extra:#?}"
    );
}

/// The rows of a query of one column, in a database with the extension.
fn ask(sql: &str) -> BTreeSet<String> {
    Database::fresh().psql(sql).lines().map(str::to_owned).collect()
}

#[test]
fn every_function_is_in_the_reference_with_its_arguments_and_result() {
    let there = ask("SET search_path = public;
        SELECT CASE n.nspname WHEN 'shardid' THEN 'shardid.' ELSE '' END || p.proname
            || '(' || regexp_replace(pg_get_function_arguments(p.oid), '::[a-z]+', '', 'g') || ') → '
            || coalesce(pg_get_function_result(p.oid), 'nothing')
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
        JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'shardid'");
    let there: BTreeSet<String> =
        there.iter().map(|f| f.replace("timestamp with time zone", "timestamptz")).collect();
    assert!(there.contains("next_id(shard bigint) → bigint"), "{there:?}");
    assert_same("functions", &documented(|name| name.contains(") → ")), &there);
}

#[test]
fn every_table_and_view_is_in_the_reference_with_its_columns() {
    let there =
        ask("SELECT c.oid::regclass || '(' || string_agg(a.attname, ', ' ORDER BY a.attnum) || ')'
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
        JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'shardid'
        WHERE c.relkind IN ('r', 'v') GROUP BY c.oid");
    assert!(there.iter().any(|table| table.starts_with("shardid.shard(")), "{there:?}");
    let is_table =
        |name: &str| name.starts_with("shardid.") && name.ends_with(')') && !name.contains(") → ");
    assert_same("tables and views", &documented(is_table), &there);
}

#[test]
fn every_setting_is_in_the_reference_with_its_default_range_and_unit() {
    let there = ask("LOAD 'shardid';
        SELECT concat_ws(' | ', name, boot_val, coalesce(unit, ''), coalesce(min_val || ' to ' || max_val, ''),
            CASE context WHEN 'user' THEN 'everybody' ELSE context END)
        FROM pg_settings WHERE name LIKE 'shardid.%'");
    let lines: BTreeSet<String> = docs::read(PAGE)
        .lines()
        .filter(|line| {
            let name = line.strip_prefix("| `shardid.").and_then(|rest| rest.split('`').next());
            name.is_some_and(|name| !name.contains('('))
        })
        .map(|line| {
            let cells: Vec<&str> =
                line.trim_matches('|').split('|').map(str::trim).take(5).collect();
            cells.join(" | ").replace('`', "")
        })
        .collect();
    assert_same("settings", &lines, &there);
}

#[test]
fn every_sqlstate_is_in_the_reference() {
    let rust = docs::read("pg_extension/src/report.rs");
    let folder = docs::root().join("pg_extension/sql");
    let sql: String = fs::read_dir(folder)
        .expect("the SQL of the extension is there")
        .map(|file| fs::read_to_string(file.expect("it is there").path()).expect("it is text"))
        .collect();
    let state = |text: &str| Some(text.get(..5)?.to_owned());
    let mut there: BTreeSet<String> = rust.split("b\"").skip(1).filter_map(state).collect();
    there.extend(sql.split("ERRCODE = '").skip(1).filter_map(state));
    // Raised by functions of PostgreSQL that are called for it.
    there.insert("25006".into());
    assert!(there.contains("SI001") && there.contains("55000"), "{there:?}");
    let is_state = |name: &str| {
        name.len() == 5 && name.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
    };
    assert_same("SQLSTATEs", &documented(is_state), &there);
}
