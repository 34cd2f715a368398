//! Behind the fence: a last look at both copies, and every sequence carried over.

use std::time::Instant;

use sqlx::AssertSqlSafe;

use super::fence::Fence;
use super::road::Road;
use super::server::Batch;
use super::{compare, schema};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn carry_over(road: &mut Road<'_>, deadline: Instant) -> Result<Fence, Failure> {
    schema::check_unchanged(road).await?;
    if let lost @ Fence::Lost(_) = compare::within(road, deadline).await? {
        return Ok(lost);
    }
    let query =
        sqlx::query_scalar(sql!("move/carry/sequences.sql")).bind(road.record.schema.as_str());
    let Some(where_they_stand) = road.source.column::<String>(query).await?.pop() else {
        return Ok(Fence::Held);
    };
    let statements = sqlx::query_scalar(AssertSqlSafe(where_they_stand));
    let statements: Vec<String> = road.source.column(statements).await?;
    match road.target.all_or_none(statements, 1_000).await? {
        Batch::Done => Ok(Fence::Held),
        Batch::LockTimeout => {
            Ok(Fence::Lost("somebody locks the sequences of the new copy".to_owned()))
        }
    }
}
