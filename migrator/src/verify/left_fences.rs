//! What fences have left around shards that are open: it refuses nothing, and each write pays for it.

use std::collections::BTreeSet;

use shardid_cluster::{NodeName, ShardSet};

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn find(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let Some(catalog) = estate.catalog() else { return Ok(Vec::new()) };
    let (map, moving) = (catalog.map.clone(), catalog.moving.clone());
    let left: Vec<(NodeName, ShardSet)> = estate
        .visits
        .iter()
        .map(|visit| (visit.node.clone(), visit.seen.truth.left_fences().and(&map.on(&visit.node))))
        .map(|(node, left)| (node, left.without(&moving)))
        .filter(|(_, left)| !left.is_empty())
        .collect();
    if left.is_empty() {
        return Ok(Vec::new());
    }
    // A move may have ended or begun while we looked.
    let mut moving = estate.moving_now().await?;
    let mut still: Vec<(NodeName, i32)> = Vec::new();
    for (node, left) in left {
        let visit = estate.visits.iter_mut().find(|visit| visit.node == node);
        let Some(visit) = visit else { continue };
        let rows: Vec<(Vec<i32>,)> = visit.rows(sql!("look/fences.sql")).await?;
        let there: BTreeSet<i32> = rows.into_iter().flat_map(|(shards,)| shards).collect();
        let here = left.iter().map(|shard| shard.as_sql()).filter(|shard| there.contains(shard));
        still.extend(here.map(|shard| (node.clone(), shard)));
    }
    moving.extend(estate.moving_now().await?);
    let findings = still.into_iter().filter(|(_, shard)| !moving.contains(shard));
    let findings = findings.map(|(node, shard)| {
        Finding::on(
            &node,
            format!("shard {shard} is open, and its tables have triggers of a fence that are of no use any more"),
            "`shardid apply` takes them away".to_owned(),
        )
    });
    Ok(findings.collect())
}
