//! Ids in tables that are beyond the sequence they come from: it would give
//! them out again.

use sqlx::{AssertSqlSafe, Connection};

use super::estate::IdColumn;
use super::finding::could_not;
use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::{failure, hold_table, sql};

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    estate.check_guarded().await?;
    let mut findings = Vec::new();
    for visit in estate.installed() {
        for column in visit.columns.iter().filter(|column| !column.is_foreign()) {
            let (Some(sequence), Some(query)) = (&column.sequence, &column.beyond) else {
                continue;
            };
            match highest(&mut visit.connection, &column.table, sequence, query).await {
                Ok(found) => {
                    findings.extend(found.map(|id| {
                        Finding::on(&visit.node, problem(column, id), mend(sequence, id))
                    }))
                }
                // The others are looked at all the same.
                Err(error) => findings.extend(could_not(&failure(&visit.node, &error))),
            }
        }
    }
    Ok(findings)
}

/// The highest id beyond the sequence.
///
/// The rows are those of before the sequence is looked at (the snapshot is
/// taken by the first statement), so ids that are given out meanwhile are not
/// taken for ones that are beyond it. An index on the column finds that there
/// are none at once.
async fn highest(
    connection: &mut sqlx::postgres::PgConnection,
    table: &str,
    sequence: &str,
    query: &str,
) -> Result<Option<i64>, sqlx::Error> {
    let mut transaction = connection.begin_with(sql!("look/begin.sql")).await?;
    sqlx::query(sql!("verify/limits.sql")).execute(&mut *transaction).await?;
    if !hold_table(&mut transaction, table).await? {
        transaction.rollback().await?;
        return Ok(None);
    }
    let last: Option<i64> = sqlx::query_scalar(sql!("verify/last_id.sql"))
        .bind(sequence)
        .fetch_one(&mut *transaction)
        .await?;
    let Some(last) = last else {
        transaction.rollback().await?;
        return Ok(None);
    };
    // Made by the server, which quoted the names in it.
    let found =
        sqlx::query_scalar(AssertSqlSafe(query)).bind(last).fetch_one(&mut *transaction).await?;
    transaction.rollback().await?;
    Ok(found)
}

fn problem(column: &IdColumn, id: i64) -> String {
    format!(
        "column {} of {} has id {id}, beyond what shard {} has given out",
        column.column, column.table, column.shard
    )
}

fn mend(sequence: &str, id: i64) -> String {
    format!("`SELECT setval('{}', {id});`", sequence.replace('\'', "''"))
}
