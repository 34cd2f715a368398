//! Ids in tables that are beyond the sequence they come from: it would give
//! them out again.

use std::time::Duration;

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use super::estate::IdColumn;
use super::finding::{could_not, literal, quoted, said_by_owner};
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
                    Ok(Some((id, ahead))) => {
                        let mend = match ahead {
                            Ahead::Little => mend(sequence, id),
                            Ahead::Far => look(&column, sequence, id, true),
                            Ahead::Days => look(&column, sequence, id, false),
                        };
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

/// How far an id is ahead of the clock.
enum Ahead {
    /// No further than a shard may be.
    Little,
    /// So far that a shard which stands there gives none until the clock has caught up.
    Far,
    /// By more than a day, as no shard gets.
    Days,
}

/// The highest id beyond the sequence, and how far ahead of the clock it is.
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
) -> Result<Option<(i64, Ahead)>, sqlx::Error> {
    let last = sqlx::query_scalar(sql!("verify/last_id.sql")).bind(sequence);
    let last: Option<i64> = last.fetch_one(&mut *connection).await?;
    let Some(last) = last else { return Ok(None) };
    // Made by the server, which quoted the names in it.
    let query = sqlx::query_scalar(AssertSqlSafe(query)).bind(last);
    let read = async |connection: &mut PgConnection| query.fetch_one(connection).await;
    let found: Option<i64> = on_behalf(connection, &column.table, read).await?;
    let Some(id) = found else { return Ok(None) };
    let is_ahead = sqlx::query_as(sql!("verify/is_ahead.sql")).bind(id).bind(&column.layout);
    let ahead = match is_ahead.fetch_one(connection).await? {
        (_, true) => Ahead::Days,
        (true, false) => Ahead::Far,
        (false, false) => Ahead::Little,
    };
    Ok(Some((id, ahead)))
}

fn problem(column: &IdColumn, id: i64) -> String {
    format!(
        "column {} of {} has id {id}, beyond what shard {} has given out",
        column.column, column.table, column.shard
    )
}

/// To set the generator to an id of a far future would have it give none until then.
fn look(column: &IdColumn, sequence: &str, id: i64, may_wait: bool) -> String {
    let (by, wait) = match may_wait {
        true => (
            "further ahead of the clock than shardid.max_drift",
            format!(
                "; or, where they are to stay and the shard may give no ids until the clock is there, {}",
                mend(sequence, id)
            ),
        ),
        false => ("more than a day ahead of the clock", String::new()),
    };
    format!(
        "its time is {by}: see where it is from: `shardid id decode {id}`, and give those rows new ones: {}{wait}",
        said_by_owner(&column.owner, &new_ids(column))
    )
}

/// A statement that gives rows new ids.
pub(super) fn new_ids(column: &IdColumn) -> String {
    format!("UPDATE {} SET {} = DEFAULT WHERE …", column.table, column.column)
}

fn mend(sequence: &str, id: i64) -> String {
    quoted(&format!("SELECT pg_catalog.setval({}::pg_catalog.regclass, {id});", literal(sequence)))
}
