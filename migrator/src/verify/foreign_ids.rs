//! Ids of another shard, or of no such layout, in a column that takes ids.

use std::time::Duration;

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use super::beyond::new_ids;
use super::finding::{could_not, said_by_owner};
use super::{Estate, Finding, rows};
use crate::failure::Failure;
use crate::postgres::on_behalf;

pub(super) async fn check(
    estate: &mut Estate<'_>,
    most: Duration,
) -> Result<Vec<Finding>, Failure> {
    estate.check_guarded().await?;
    let mut findings = Vec::new();
    for visit in estate.installed() {
        for column in visit.columns.clone() {
            let Some(query) = column.foreign.as_ref().filter(|_| !column.is_foreign()) else {
                continue;
            };
            // Made by the server, which quoted the names in it.
            let count = async |connection: &mut PgConnection| {
                let query = sqlx::query_as(AssertSqlSafe(query.as_str()));
                let count =
                    async |connection: &mut PgConnection| query.fetch_optional(connection).await;
                on_behalf(connection, &column.table, count).await
            };
            let found = rows::read::<(i64, Option<i64>)>(visit, &column.table, most, count).await;
            let (ids, example) = match found {
                Ok(Some((ids, Some(example)))) => (ids, example),
                Ok(_) => continue,
                // The others are looked at all the same.
                Err(failure) => {
                    findings.extend(could_not(&failure));
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
                    "see where they are from: `shardid id decode {example}`, and give those rows new ones: {}",
                    said_by_owner(&column.owner, &new_ids(&column))
                ),
            ));
        }
    }
    Ok(findings)
}
