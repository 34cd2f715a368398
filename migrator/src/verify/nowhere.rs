//! Shards of the map that are on no node.

use shardid_cluster::ShardSet;

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for visit in estate.installed() {
        let lost: Vec<(i32,)> = visit.rows(sql!("verify/lost.sql")).await?;
        for (shard,) in lost {
            findings.push(Finding::on(
                &visit.node,
                format!("shard {shard} should be here, and its sequence is gone"),
                format!("restore its schema from a backup, or begin anew: `SELECT create_shard({shard});`, then `shardid apply`"),
            ));
        }
    }
    let Some(catalog) = estate.catalog() else { return Ok(findings) };
    let held =
        estate.visits.iter().fold(ShardSet::new(), |all, visit| all.or(&visit.seen.truth.held()));
    for visit in &estate.visits {
        let missing = catalog.map.on(&visit.node).without(&held).without(&catalog.moving);
        for shard in missing.iter() {
            findings.push(Finding::on(
                &visit.node,
                format!("shard {shard} should be here by the map, and is on no node"),
                "restore the node from a backup if there were rows in it, then `shardid apply`",
            ));
        }
    }
    Ok(findings)
}
