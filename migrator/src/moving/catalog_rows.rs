//! Do two servers say the same of a schema's objects in all of their catalogs? pg_dump does not write everything, and a list of
//! what it leaves out would be one more thing to forget: whatever a server knows of an object is compared, with names for numbers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use shardid_cluster::is_own_role;
use sqlx::AssertSqlSafe;

use super::move_session::MoveSession;
use super::same::major_of;
use crate::failure::Failure;
use crate::postgres::sql;

/// A row of a catalog, by columns.
type Row = Map<String, Value>;

/// What a server says of the objects of a schema.
#[derive(Default)]
struct Described {
    objects: BTreeMap<String, Object>,
}

/// An object: what it is for who reads it, and its rows by catalog.
#[derive(Default)]
struct Object {
    what: String,
    rows: BTreeMap<String, Vec<Row>>,
}

/// What of a schema two servers do not have alike, each with what is different, but for what a move is known not to carry, as
/// move/check/not_carried.sql says it.
pub(super) async fn differences(
    here: &mut MoveSession,
    there: &mut MoveSession,
    schema: &str,
    publication: &str,
) -> Result<Vec<String>, Failure> {
    let one = described(here, schema, publication).await?;
    let other = described(there, schema, publication).await?;
    let is_one_version = major_of(here) == major_of(there);
    let differ = compared(one, other, is_one_version);
    if differ.is_empty() {
        return Ok(differ);
    }
    let left = sqlx::query_as(sql!("move/closure.sql", "move/check/not_carried.sql"))
        .bind(schema.to_owned());
    let left: Vec<(String, String, bool)> = here.rows(left).await?;
    let is_left = |what: &String| left.iter().any(|(_, left, _)| is_said(left, what));
    Ok(differ.into_iter().filter(|what| !is_left(what)).collect())
}

/// Whether what differs is what is said to stay behind.
fn is_said(left: &str, differs: &str) -> bool {
    let what = differs.strip_suffix(" is missing");
    what.is_some_and(|what| {
        left == format!("{what} stays behind")
            || left == format!("the {what} stays behind")
            || left == format!("{what} is not valid, and stays behind")
    })
}

async fn described(
    server: &mut MoveSession,
    schema: &str,
    publication: &str,
) -> Result<Described, Failure> {
    let query = sqlx::query_scalar(sql!(
        "move/carry/physical.sql",
        "move/carry/of_schema.sql",
        "move/carry/rows.sql"
    ));
    let query = server.column::<String>(query).await?.concat();
    let roles: Vec<String> =
        server.column(sqlx::query_scalar(sql!("move/rights/roles.sql"))).await?;
    let own: Vec<String> =
        roles.into_iter().filter(|role| is_own_role(role.trim_matches('"'))).collect();
    let rows = sqlx::query_as(AssertSqlSafe(query)).bind(schema).bind(publication).bind(own);
    server.block(sql!("move/carry/by_index.sql")).await?;
    let rows: Vec<(String, Option<String>, String, String, String)> = server.rows(rows).await?;
    server.block(sql!("move/carry/as_before.sql")).await?;
    Ok(read(rows))
}

/// Puts rows together by their objects, each by the name that a copy's has as well.
fn read(rows: Vec<(String, Option<String>, String, String, String)>) -> Described {
    let named: BTreeMap<String, String> = rows
        .iter()
        .filter_map(|(object, named, ..)| Some((object.clone(), named.clone()?)))
        .collect();
    let mut all = Described::default();
    for (object, by_server, what, catalog, line) in rows {
        let Ok(mut row) = serde_json::from_str::<Row>(&line) else {
            unreachable!("the server has made it")
        };
        row.values_mut().for_each(|value| rename(value, &named));
        let of = all.objects.entry(by_server.unwrap_or(object)).or_default();
        of.what = what;
        of.rows.entry(catalog).or_default().push(row);
    }
    all
}

fn rename(value: &mut Value, named: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = named.get(text) {
                text.clone_from(name);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, named)),
        _ => {}
    }
}

fn compared(mut one: Described, mut other: Described, is_one_version: bool) -> Vec<String> {
    if !is_one_version {
        leave_common(&mut one, &mut other);
    }
    let mut differ = Vec::new();
    for (name, here) in &one.objects {
        match other.objects.get(name) {
            None => differ.push(format!("{} is missing", here.what)),
            Some(there) => differ.extend(differing(here, there)),
        }
    }
    let more = other.objects.iter().filter(|(name, _)| !one.objects.contains_key(*name));
    differ.extend(more.map(|(_, object)| format!("{} is new", object.what)));
    differ.sort();
    differ.dedup();
    differ
}

/// Leaves what both versions have: a newer one has catalogs and columns more, privileges of its own (MAINTAIN, from 17 on), and a
/// constraint for each NOT NULL, from 18 on.
fn leave_common(one: &mut Described, other: &mut Described) {
    let columns = |all: &Described| -> BTreeMap<String, BTreeSet<String>> {
        let mut columns: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (catalog, rows) in all.objects.values().flat_map(|object| &object.rows) {
            let keys = rows.iter().flat_map(|row| row.keys().cloned());
            columns.entry(catalog.clone()).or_default().extend(keys);
        }
        columns
    };
    let (of_one, of_other) = (columns(one), columns(other));
    for all in [one, other] {
        let is_not_null = |row: &Row| row.get("contype") == Some(&Value::from("n"));
        for object in all.objects.values_mut() {
            object.rows.values_mut().for_each(|rows| rows.retain(|row| !is_not_null(row)));
            object.rows.retain(|_, rows| !rows.is_empty());
        }
        all.objects.retain(|_, object| !object.rows.is_empty());
        for object in all.objects.values_mut() {
            object.rows.retain(|catalog, _| {
                of_one.contains_key(catalog) && of_other.contains_key(catalog)
            });
            for (catalog, rows) in &mut object.rows {
                for row in rows {
                    row.retain(|column, _| {
                        of_one[catalog].contains(column) && of_other[catalog].contains(column)
                    });
                    row.values_mut().for_each(without_maintain);
                }
            }
        }
    }
}

fn without_maintain(value: &mut Value) {
    if let Value::Array(values) = value {
        values.retain(|value| !value.as_str().is_some_and(|text| text.contains("=MAINTAIN")));
    }
}

/// What of an object is not the same, by catalog and column.
fn differing(here: &Object, there: &Object) -> Vec<String> {
    let empty = Vec::new();
    let catalogs: BTreeSet<&String> = here.rows.keys().chain(there.rows.keys()).collect();
    let mut differ = Vec::new();
    for catalog in catalogs {
        let mut missing = here.rows.get(catalog).unwrap_or(&empty).clone();
        let mut new = there.rows.get(catalog).unwrap_or(&empty).clone();
        missing.retain(|row| match new.iter().position(|other| other == row) {
            Some(at) => {
                new.swap_remove(at);
                false
            }
            None => true,
        });
        for row in &missing {
            differ.push(match described_row(row) {
                Some(comment) => format!("{comment} is missing"),
                None => format!("{}: {}", here.what, columns(catalog, row, &new)),
            });
        }
        if missing.is_empty() && !new.is_empty() {
            differ.push(format!("{}: {catalog}", here.what));
        }
    }
    differ
}

/// What a comment is on.
fn described_row(row: &Row) -> Option<String> {
    let on = row.get("objsubid")?.as_str()?;
    row.contains_key("description").then(|| format!("comment on {on}"))
}

/// Which columns of a row no other row has, by that with the most in common, and what they say here and there.
fn columns(catalog: &str, row: &Row, others: &[Row]) -> String {
    let differ = |other: &Row| -> Vec<String> {
        let of = |column: &&String| row.get(*column) != other.get(*column);
        row.keys()
            .filter(of)
            .map(|column| format!("{column} {}, not {}", shown(row, column), shown(other, column)))
            .collect()
    };
    let nearest = others.iter().map(differ).min_by_key(Vec::len).filter(|of| of.len() < row.len());
    let name = row.get("attname").and_then(Value::as_str);
    let of = name.map(|name| format!("column {name}, ")).unwrap_or_default();
    match nearest {
        Some(columns) => format!("{of}{catalog}.{}", columns.join("; ")),
        None => format!("{of}{catalog}"),
    }
}

fn shown(row: &Row, column: &str) -> String {
    row.get(column).map_or("null".to_owned(), Value::to_string)
}

#[cfg(test)]
mod tests {
    use super::{compared, is_said, read};

    fn row(
        object: &str,
        named: Option<&str>,
        catalog: &str,
        line: &str,
    ) -> (String, Option<String>, String, String, String) {
        (object.into(), named.map(Into::into), object.into(), catalog.into(), line.into())
    }

    #[test]
    fn what_differs_is_named_with_its_column() {
        let of = |cost: u32, key: &str| {
            read(vec![
                row(
                    "function f",
                    None,
                    "pg_proc",
                    &format!(r#"{{"proname": "f", "procost": {cost}}}"#),
                ),
                row(
                    &format!("constraint {key}"),
                    Some("a key of t"),
                    "pg_constraint",
                    r#"{"conname": null}"#,
                ),
                row(
                    "trigger",
                    None,
                    "pg_trigger",
                    &format!(r#"{{"tgconstraint": "constraint {key}"}}"#),
                ),
            ])
        };
        assert!(compared(of(1, "k1"), of(1, "k2"), true).is_empty());
        assert_eq!(
            compared(of(1, "k"), of(2, "k"), true),
            ["function f: pg_proc.procost 1, not 2"]
        );
        let less =
            read(vec![row("function f", None, "pg_proc", r#"{"proname": "f", "procost": 1}"#)]);
        assert_eq!(
            compared(of(1, "k"), less, true),
            ["constraint k is missing", "trigger is missing"]
        );
    }

    #[test]
    fn a_newer_version_may_have_more() {
        let older = || {
            read(vec![row(
                "table t",
                None,
                "pg_class",
                r#"{"relkind": "r", "relacl": ["=SELECT/o"]}"#,
            )])
        };
        let newer = |acl: &str| {
            read(vec![
                row(
                    "table t",
                    None,
                    "pg_class",
                    &format!(r#"{{"relkind": "r", "relacl": [{acl}], "relnew": 1}}"#),
                ),
                row("table t", None, "pg_newer", r#"{"a": 1}"#),
                row("constraint n", None, "pg_constraint", r#"{"contype": "n"}"#),
            ])
        };
        assert!(compared(older(), newer(r#""=SELECT/o", "o=MAINTAIN/o""#), false).is_empty());
        assert_eq!(
            compared(older(), newer(""), false),
            [r#"table t: pg_class.relacl ["=SELECT/o"], not []"#]
        );
        assert_ne!(compared(older(), newer(r#""=SELECT/o""#), true), [""; 0]);
    }

    #[test]
    fn what_is_said_to_stay_behind_may_be_missing() {
        assert!(is_said("the comment on x stays behind", "comment on x is missing"));
        assert!(is_said("index i is not valid, and stays behind", "index i is missing"));
        assert!(!is_said("the comment on x stays behind", "comment on y is missing"));
        assert!(!is_said("index i stays behind", "index i: pg_index.indisvalid"));
    }
}
