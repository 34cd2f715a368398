//! Shards that hand out ids on two nodes.

use std::collections::BTreeMap;

use shardid_cluster::{NodeName, Shard};

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::postgres::sql;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let mut twice: Vec<(Shard, NodeName, NodeName)> = Vec::new();
    for (i, first) in estate.visits.iter().enumerate() {
        for second in &estate.visits[i + 1..] {
            // One database by two names is a finding of its own.
            if first.seen.truth.identity == second.seen.truth.identity {
                continue;
            }
            for shard in first.seen.truth.open.and(&second.seen.truth.open).iter() {
                twice.push((shard, first.node.clone(), second.node.clone()));
            }
        }
    }
    let since = match twice.is_empty() {
        true => BTreeMap::new(),
        false => open_since(estate).await?,
    };
    let mut findings = Vec::new();
    for (shard, first, second) in twice {
        let of = |node: &NodeName| {
            since.get(&(node.clone(), shard.as_sql())).copied().unwrap_or_default()
        };
        let (here, there) = (of(&first), of(&second));
        let home = estate.catalog().and_then(|catalog| catalog.map.node_of(shard));
        let is_second = match here == there {
            true => home == Some(&second),
            false => there > here,
        };
        let (keeps, loses) = if is_second { (&second, &first) } else { (&first, &second) };
        // What was opened by the newer map is what the shard has come to. Where the other one was
        // restored or promoted since, it has forgotten that, whatever the catalogue says.
        let which = match here == there {
            true => format!("close the one on {loses}"),
            false if here.min(there) == 0 => {
                format!("the one on {loses} was made there by itself: close it")
            }
            false => format!(
                "the one on {loses} is of an older map (version {}, and {} on {keeps}): close it",
                here.min(there),
                here.max(there)
            ),
        };
        findings.push(Finding::between(
            format!("shard {shard} is open on {first} and on {second}"),
            format!(
                "{which} (its rows stay; look what was written there since): `UPDATE shardid.shard SET state = 'moved', node = '{keeps}' WHERE shard = {shard};`"
            ),
        ));
    }
    Ok(findings)
}

/// The version of the map by which each shard was opened, by node.
async fn open_since(estate: &mut Estate<'_>) -> Result<BTreeMap<(NodeName, i32), i64>, Failure> {
    let mut since = BTreeMap::new();
    for visit in estate.installed() {
        let rows: Vec<(i32, i64)> = visit.rows(sql!("verify/open_since.sql")).await?;
        let node = visit.node.clone();
        since.extend(rows.into_iter().map(|(shard, version)| ((node.clone(), shard), version)));
    }
    Ok(since)
}
