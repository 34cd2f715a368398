//! Shards of the map that are on no node, or take no writes where they are.

use std::collections::BTreeMap;

use shardid_cluster::{NodeName, ShardSet};

use super::{Estate, Finding, standing};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    let old_copies = old_copies(estate).await?;
    let mend = |shard: i32, otherwise: String| match old_copies.get(&shard) {
        Some((node, schema)) => format!(
            "an old copy is on {node}, in schema {schema}: keep it until the rows are back, from a backup or from there, as docs/cluster.md has it (a node that has lost a shard)"
        ),
        None => otherwise,
    };
    for visit in estate.installed() {
        let lost: Vec<(i32,)> = visit.rows(sql!("verify/lost.sql")).await?;
        for (shard,) in lost {
            findings.push(Finding::on(
                &visit.node,
                format!("shard {shard} should be here, and its sequence is gone"),
                mend(shard, "restore its schema from a backup, or begin anew: make the shard again there by `create_shard()`, then `shardid apply`".into()),
            ));
        }
    }
    findings.extend(no_generators(estate).await?);
    findings.extend(shut(estate).await?);
    findings.extend(standing::find(estate).await?);
    let Some(truth) = estate.truth() else { return Ok(findings) };
    for node in truth.nodes.keys() {
        let mut missing = truth.nowhere(node);
        for (shards, doubt) in truth.doubts(node) {
            missing = missing.without(&shards);
            findings.push(Finding::between(doubt.to_string(), doubt.hint()));
        }
        let (awaited, recalled) = (truth.awaited(node), truth.recalled(node));
        for shard in missing.and(&awaited).iter() {
            findings.push(Finding::on(
                node,
                format!(
                    "shard {shard} should be open here, where a lost move was about to open it"
                ),
                "`shardid apply`",
            ));
        }
        let missing = missing.without(&awaited);
        for shard in missing.and(&recalled).iter() {
            findings.push(Finding::on(
                node,
                format!("shard {shard} should be open here, and a lost move has closed it"),
                "`shardid apply`",
            ));
        }
        for shard in missing.without(&recalled).iter() {
            findings.push(Finding::on(
                node,
                format!("shard {shard} should be here by the map, and is on no node"),
                mend(
                    shard.as_sql(),
                    "restore the node from a backup if there were rows in it, then `shardid apply`"
                        .to_owned(),
                ),
            ));
        }
    }
    Ok(findings)
}

/// A sequence that is listed as a generator, and what a generator there has.
#[derive(sqlx::FromRow)]
struct NoGenerator {
    shard: i32,
    sequence: String,
    is_id_sequence: bool,
    layout: String,
    increment: Option<i64>,
    min: Option<i64>,
}

/// Shards and id sequences that name a sequence which is not their generator: it was altered, or a
/// restored row has a number that is another one's here.
async fn no_generators(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for visit in estate.installed() {
        let found: Vec<NoGenerator> = visit.rows(sql!("verify/no_generators.sql")).await?;
        for NoGenerator { shard, sequence, is_id_sequence, layout, increment, min } in found {
            let (what, anew) = if is_id_sequence {
                ("an id sequence", format!("create_id_sequence('another name', {shard})"))
            } else {
                ("the generator", format!("create_shard({shard})"))
            };
            let mend = match increment.zip(min) {
                Some((increment, min)) => format!(
                    "`SELECT {anew};` if it is another one's; if it was altered, `ALTER SEQUENCE {sequence} INCREMENT {increment} MINVALUE {min};`"
                ),
                None => format!(
                    "layout {layout:?} is not there, or has no such shard: see `SELECT * FROM shardid.layouts`, and who wrote that row"
                ),
            };
            findings.push(Finding::on(
                &visit.node,
                format!("sequence {sequence} is not {what} of shard {shard}, and gives no ids"),
                mend,
            ));
        }
    }
    Ok(findings)
}

/// Where old copies of shards are, and in which schema.
async fn old_copies(estate: &mut Estate<'_>) -> Result<BTreeMap<i32, (NodeName, String)>, Failure> {
    let mut copies = BTreeMap::new();
    for visit in estate.installed() {
        let found: Vec<(i32, String)> = visit.rows(sql!("verify/old_copies.sql")).await?;
        let node = visit.node.clone();
        copies.extend(found.into_iter().map(|(shard, schema)| (shard, (node.clone(), schema))));
    }
    Ok(copies)
}

/// Shards behind a fence at home that no move is going to take down.
async fn shut(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let Some(catalog) = estate.catalog() else { return Ok(Vec::new()) };
    let (map, moving) = (catalog.map.clone(), catalog.moving.clone());
    let open_elsewhere = |node: &NodeName| {
        let others = estate.visits.iter().filter(|other| other.node != *node);
        others.fold(ShardSet::new(), |all, other| all.or(&other.seen.truth.open))
    };
    let mut behind = Vec::new();
    for visit in &estate.visits {
        let truth = &visit.seen.truth;
        let fenced = truth.fenced.and(&map.on(&visit.node));
        let shut = fenced.without(&moving).without(&open_elsewhere(&visit.node));
        if !shut.is_empty() {
            behind.push((visit.node.clone(), shut));
        }
    }
    if behind.is_empty() {
        return Ok(Vec::new());
    }
    // A move may have begun or ended while we looked: first the journal again, then the nodes.
    let moving = estate.moving_now().await?;
    let mut findings = Vec::new();
    for (node, shut) in behind {
        let visit = estate.visits.iter_mut().find(|visit| visit.node == node);
        let Some(visit) = visit else { continue };
        let still: Vec<(i32,)> = visit.rows(sql!("verify/fenced.sql")).await?;
        for shard in shut.iter() {
            let number = shard.as_sql();
            if still.contains(&(number,)) && !moving.contains(&number) {
                findings.push(Finding::on(
                    &node,
                    format!("shard {shard} lives here behind a fence, and no move takes that down"),
                    "`shardid apply`",
                ));
            }
        }
    }
    Ok(findings)
}
