//! Moves that were cut behind their fence: a shard that takes no writes until one goes on.

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

/// A move that nobody works on.
#[derive(PartialEq, sqlx::FromRow)]
struct Standing {
    id: i64,
    shard: i32,
    state: String,
}

pub(super) async fn find(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let first = look(estate).await?;
    if first.is_empty() {
        return Ok(Vec::new());
    }
    // One may have ended between what the journal said and who held which lock.
    let again = look(estate).await?;
    let standing = again.into_iter().filter(|standing| first.contains(standing));
    let findings = standing.map(|Standing { id, shard, state }| {
        let problem = format!(
            "move {id} of shard {shard} stands {state}, and writers of the shard may be refused"
        );
        Finding::between(problem, format!("`shardid resume {id}`; `shardid moves` says what else"))
    });
    Ok(findings.collect())
}

async fn look(estate: &mut Estate<'_>) -> Result<Vec<Standing>, Failure> {
    match estate.keeper() {
        Some(keeper) => keeper.rows(sql!("verify/standing.sql")).await,
        None => Ok(Vec::new()),
    }
}
