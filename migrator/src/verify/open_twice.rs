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
            since.get(&(node.clone(), shard.as_sql())).cloned().unwrap_or_default()
        };
        let ((here, hides_first), (there, hides_second)) = (of(&first), of(&second));
        let home = estate.catalog().and_then(|catalog| catalog.map.node_of(shard));
        let is_second = match here == there {
            true => home == Some(&second),
            false => there > here,
        };
        let (keeps, loses, hide) = match is_second {
            true => (&second, &first, hides_first),
            false => (&first, &second, hides_second),
        };
        // Without triggers of a guard nothing else keeps clients from its tables.
        let hide = hide.unwrap_or_default();
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
                "{which} (its rows stay; look what was written there since): on {loses} `UPDATE shardid.shard SET state = 'moved', node = '{keeps}' WHERE shard = {shard};{hide}`"
            ),
        ));
    }
    Ok(findings)
}

/// The version of the map by which a shard was opened, and what puts its schema out of the way.
type Opened = (i64, Option<String>);

/// The same of each open shard, by node.
async fn open_since(estate: &mut Estate<'_>) -> Result<BTreeMap<(NodeName, i32), Opened>, Failure> {
    let mut since = BTreeMap::new();
    for visit in estate.installed() {
        let rows: Vec<(i32, i64, Option<String>)> =
            visit.rows(sql!("verify/open_since.sql")).await?;
        let node = visit.node.clone();
        let opened = |(shard, version, hide)| ((node.clone(), shard), (version, hide));
        since.extend(rows.into_iter().map(opened));
    }
    Ok(since)
}
