//! Ids in tables that are beyond the sequence they come from: it would give
//! them out again.

use std::time::Duration;

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use super::estate::IdColumn;
use super::finding::could_not;
use super::{Estate, Finding, rows};
use crate::failure::Failure;
use crate::postgres::{on_behalf, sql};

pub(super) async fn check(
    estate: &mut Estate<'_>,
    most: Duration,
) -> Result<Vec<Finding>, Failure> {
    estate.check_guarded().await?;
    let mut findings = Vec::new();
    for visit in estate.installed() {
        for column in visit.columns.clone() {
            if let (false, Some(sequence), Some(query)) =
                (column.is_foreign(), &column.sequence, &column.beyond)
            {
                let highest = async |connection: &mut PgConnection| {
                    highest(connection, &column, sequence, query).await
                };
                match rows::read(visit, &column.table, most, highest).await {
                    Ok(None) => {}
                    Ok(Some((id, is_ahead))) => {
                        let mend = if is_ahead { look(&column, id) } else { mend(sequence, id) };
                        findings.push(Finding::on(&visit.node, problem(&column, id), mend));
                    }
                    // The others are looked at all the same.
                    Err(failure) => findings.extend(could_not(&failure)),
                }
            }
        }
    }
    Ok(findings)
}

/// The highest id beyond the sequence, and whether it is far ahead of the clock.
///
/// The rows are those of before the sequence is looked at (the snapshot is
/// taken by the first statement), so ids that are given out meanwhile are not
/// taken for ones that are beyond it. An index on the column finds that there
/// are none at once.
async fn highest(
    connection: &mut PgConnection,
    column: &IdColumn,
    sequence: &str,
    query: &str,
) -> Result<Option<(i64, bool)>, sqlx::Error> {
    let last = sqlx::query_scalar(sql!("verify/last_id.sql")).bind(sequence);
    let last: Option<i64> = last.fetch_one(&mut *connection).await?;
    let Some(last) = last else { return Ok(None) };
    // Made by the server, which quoted the names in it.
    let query = sqlx::query_scalar(AssertSqlSafe(query)).bind(last);
    let read = async |connection: &mut PgConnection| query.fetch_one(connection).await;
    let found: Option<i64> = on_behalf(connection, &column.table, read).await?;
    let Some(id) = found else { return Ok(None) };
    let is_ahead = sqlx::query_scalar(sql!("verify/is_ahead.sql")).bind(id).bind(&column.layout);
    Ok(Some((id, is_ahead.fetch_one(connection).await?)))
}

fn problem(column: &IdColumn, id: i64) -> String {
    format!(
        "column {} of {} has id {id}, beyond what shard {} has given out",
        column.column, column.table, column.shard
    )
}

/// To set the generator to an id of a far future would have it give none until then.
fn look(column: &IdColumn, id: i64) -> String {
    format!(
        "its time is more than a day ahead of the clock: see where it is from: `SELECT * FROM id_explain({id});`, and give those rows new ones: `UPDATE {} SET {} = DEFAULT WHERE …`",
        column.table, column.column
    )
}

fn mend(sequence: &str, id: i64) -> String {
    format!("`SELECT setval('{}', {id});`", sequence.replace('\'', "''"))
}
