//! Shards that hand out ids on two nodes.

use super::{Estate, Finding};

pub(super) fn check(estate: &Estate<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (i, first) in estate.visits.iter().enumerate() {
        for second in &estate.visits[i + 1..] {
            // One database by two names is a finding of its own.
            if first.seen.truth.identity == second.seen.truth.identity {
                continue;
            }
            for shard in first.seen.truth.open.and(&second.seen.truth.open).iter() {
                let home = estate.catalog().and_then(|catalog| catalog.map.node_of(shard));
                let (keeps, loses) = match home == Some(&second.node) {
                    true => (second, first),
                    false => (first, second),
                };
                findings.push(Finding::between(
                    format!("shard {shard} is open on {} and on {}", first.node, second.node),
                    format!(
                        "close the one on {} (its rows stay): `UPDATE shardid.shard SET state = 'moved', node = '{}' WHERE shard = {shard};`",
                        loses.node, keeps.node
                    ),
                ));
            }
        }
    }
    findings
}
