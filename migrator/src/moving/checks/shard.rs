//! What of a shard, as it is, can be moved?

use std::collections::BTreeSet;

use shardid_cluster::{NodeName, Shard};

use crate::failure::Failure;
use crate::moving::bound;
use crate::moving::home::Home;
use crate::moving::move_session::MoveSession;
use crate::moving::problem::Problem;
use crate::postgres::sql;
use crate::talk;

/// Where a shard is on the source, and what of it cannot be moved.
pub(super) async fn shard_problems(
    source: &mut MoveSession,
    shard: Shard,
) -> Result<(Option<Home>, Vec<Problem>), Failure> {
    let Some(home) = Home::of(source, shard).await? else {
        let problem = format!("shard {shard} has no sequence here, although the map has it here");
        return Ok((None, vec![(problem, "see what is wrong with `shardid plan`".into())]));
    };
    let mut problems: Vec<Problem> = Vec::new();
    if home.state != "open" {
        problems.push((
            format!("shard {shard} is {}, not open", home.state),
            "`shardid moves` shows whether a move of it is unfinished".into(),
        ));
    }
    let query = sqlx::query_as(sql!("move/check/generators.sql"));
    problems.extend(source.rows(query.bind(shard.as_sql()).bind(home.schema.as_str())).await?);
    for query in [
        sql!("move/check/identity.sql"),
        sql!("move/check/kinds.sql"),
        sql!("move/closure.sql", "move/check/border.sql"),
    ] {
        problems.extend(source.rows(sqlx::query_as(query).bind(home.schema.as_str())).await?);
    }
    Ok((Some(home), problems))
}

/// Says what of a schema is not carried, and what works without it; of the database as well, where
/// `told` does not have its node.
pub(super) async fn stays_behind(
    source: &mut MoveSession,
    shard: Shard,
    schema: &str,
    told: &mut BTreeSet<NodeName>,
) -> Result<(), Failure> {
    let query = sqlx::query_as(sql!("move/closure.sql", "move/check/not_carried.sql"));
    let is_told = !told.insert(source.node.clone());
    let rows: Vec<(String, String, bool)> = source.rows(query.bind(schema)).await?;
    for (_, what, is_of_database) in rows {
        match is_of_database {
            false => {
                talk::line(format_args!("  note: shard {shard}: {what} on {}", source.node));
            }
            true if is_told => {}
            true => talk::line(format_args!("  note: {what} on {}", source.node)),
        }
    }
    Ok(())
}

/// What the role of a stream, which writes what comes, may not call.
pub(super) async fn not_called(
    source: &mut MoveSession,
    schema: &str,
) -> Result<Vec<Problem>, Failure> {
    source.rows(sqlx::query_as(sql!("move/check/called.sql")).bind(schema)).await
}

/// What could not be made on the target as it is made there.
pub(super) async fn not_made(
    source: &mut MoveSession,
    schema: &str,
) -> Result<Vec<Problem>, Failure> {
    let mut problems: Vec<Problem> = Vec::new();
    for query in [
        sql!("move/closure.sql", "move/check/mutable.sql"),
        sql!("move/closure.sql", "move/check/with_settings.sql"),
    ] {
        problems.extend(source.rows::<Problem>(sqlx::query_as(query).bind(schema)).await?);
    }
    problems.extend(bound::unnamed(source, schema).await?);
    Ok(problems)
}

/// Whether the target has room for the schema.
pub(super) async fn room(target: &mut MoveSession, schema: &str) -> Result<Vec<Problem>, Failure> {
    target.rows(sqlx::query_as(sql!("move/check/room.sql")).bind(schema)).await
}
