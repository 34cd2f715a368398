//! Ids of another shard, or of no such layout, in a column that takes ids.

use sqlx::{AssertSqlSafe, Connection};

use super::finding::could_not;
use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::{failure, hold_table, sql};

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    estate.check_guarded().await?;
    let mut findings = Vec::new();
    for visit in estate.installed() {
        for column in visit.columns.iter().filter(|column| !column.is_foreign()) {
            let Some(query) = &column.foreign else { continue };
            let (ids, example) = match count(&mut visit.connection, &column.table, query).await {
                Ok((ids, Some(example))) => (ids, example),
                Ok((_, None)) => continue,
                // The others are looked at all the same.
                Err(error) => {
                    findings.extend(could_not(&failure(&visit.node, &error)));
                    continue;
                }
            };
            findings.push(Finding::on(
                &visit.node,
                format!(
                    "column {} of {} has ids that are not of shard {}: {ids} of those looked at, such as {example}",
                    column.column, column.table, column.shard
                ),
                format!(
                    "see where they are from: `SELECT * FROM id_explain({example});`, and give those rows new ones: `UPDATE {} SET {} = DEFAULT WHERE …`",
                    column.table, column.column
                ),
            ));
        }
    }
    Ok(findings)
}

async fn count(
    connection: &mut sqlx::postgres::PgConnection,
    table: &str,
    query: &str,
) -> Result<(i64, Option<i64>), sqlx::Error> {
    let mut transaction = connection.begin_with(sql!("look/begin.sql")).await?;
    sqlx::query(sql!("verify/limits.sql")).execute(&mut *transaction).await?;
    if !hold_table(&mut transaction, table).await? {
        transaction.rollback().await?;
        return Ok((0, None));
    }
    // Made by the server, which quoted the names in it.
    let found = sqlx::query_as(AssertSqlSafe(query)).fetch_one(&mut *transaction).await?;
    transaction.rollback().await?;
    Ok(found)
}
