//! Behind the fence: compare both copies, and carry every sequence over.

use std::time::Instant;

use shardid_cluster::MoveKind;
use sqlx::AssertSqlSafe;

use super::fence::Fence;
use super::road::{Road, Verify};
use super::schema;
use super::server::{Batch, Server};
use crate::failure::Failure;
use crate::postgres::{failure, sql};

/// As many rows are compared in a few hundredths of a second.
const CHEAP_ROWS: i64 = 100_000;

pub(super) async fn carry_over(road: &mut Road<'_>, deadline: Instant) -> Result<Fence, Failure> {
    schema::check_unchanged(road).await?;
    if let lost @ Fence::Lost(_) = compare(road, deadline).await? {
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

async fn compare(road: &mut Road<'_>, deadline: Instant) -> Result<Fence, Failure> {
    let query = sqlx::query_as(sql!("move/carry/tables.sql")).bind(road.record.schema.as_str());
    let tables: Vec<(String, i64)> = road.source.rows(query).await?;
    let rows: i64 = tables.iter().map(|(_, rows)| rows).sum();
    let verify = road.options.verify;
    if verify == Verify::None || (verify == Verify::Cheap && rows > CHEAP_ROWS) {
        return Ok(Fence::Held);
    }
    for (table, _) in tables {
        let (here, there) =
            tokio::join!(sum(&mut road.source, &table), sum(&mut road.target, &table));
        let (here, there) = (here?, there?);
        if here != there {
            let which = match road.record.kind {
                MoveKind::Copy => "the new copy",
                MoveKind::Rollback => "the old copy",
            };
            return Err(Failure::new(format!(
                "{which} of table {table} differs: {} rows on {}, {} on {}",
                here.0, road.source.node, there.0, road.target.node
            ))
            .hint(format!("`shardid abort {}`: the shard stays where it is", road.record.id)));
        }
        if verify == Verify::Cheap && Instant::now() > deadline {
            return Ok(Fence::Lost("comparing both copies took too long".to_owned()));
        }
    }
    Ok(Fence::Held)
}

/// How many rows a table has, and their sum in any order.
async fn sum(server: &mut Server, table: &str) -> Result<(i64, String), Failure> {
    let statement: Vec<String> =
        server.column(sqlx::query_scalar(sql!("move/carry/sum.sql")).bind(table)).await?;
    sqlx::query_as(AssertSqlSafe(statement.concat()))
        .fetch_one(&mut server.connection)
        .await
        .map_err(|error| failure(&server.node, &error))
}
