//! Shards that hand out ids on two nodes, or would as soon as a fence is taken down, or on one that the map does not name.

use std::collections::BTreeMap;

use shardid_cluster::{MoveState, NodeName, Shard, ShardSet, Truth};

use super::{Estate, Finding};
use crate::failure::Failure;
use crate::moving::ahead::COMPARE;
use crate::moving::{Move, MoveJournal, lost_moves};
use crate::postgres::sql;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let mut findings = astray(estate).await?;
    let twice = candidates(estate);
    if twice.is_empty() {
        return Ok(findings);
    }
    let switched = switched(estate).await?;
    let lost = match switched.is_empty() {
        true => BTreeMap::new(),
        false => lost_moves(estate.file).await?,
    };
    let since = held_since(estate).await?;
    for (shard, first, second) in twice {
        let of = |node: &NodeName| since.get(&(node.clone(), shard.as_sql()));
        // A move may have closed one meanwhile.
        let (Some(one), Some(other)) = (of(&first), of(&second)) else { continue };
        if !one.is_open && !other.is_open {
            continue;
        }
        let (here, there) = (one.version, other.version);
        // Without a catalog only versions tell which of them is behind its fence for good.
        let is_certain = (one.is_open && other.is_open) || one.version != other.version;
        if estate.catalog().is_none() && !is_certain {
            continue;
        }
        let home = estate.catalog().and_then(|catalog| catalog.map.node_of(shard));
        let is_second = match here == there {
            true => home == Some(&second),
            false => there > here,
        };
        let (keeps, loses, it) = match is_second {
            true => (&second, &first, one),
            false => (&first, &second, other),
        };
        // Without triggers of a guard nothing else keeps clients from its tables.
        let hide = it.hide.as_deref().unwrap_or_default();
        // What was opened by the newer map is what the shard has come to. Where the other one was
        // restored or promoted since, it has forgotten that, whatever the catalog says.
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
        let where_open = match (one.is_open, other.is_open) {
            (true, true) => format!("is open on {first} and on {second}"),
            (true, false) => format!("is open on {first}, and on {second} behind a fence"),
            (false, _) => format!("is open on {second}, and on {first} behind a fence"),
        };
        let twice = format!("shard {shard} {where_open}");
        // A move goes on with both schemas, and closes the one by its journal: it does not without.
        let has_it = |record: &&Move| {
            record.shard == shard && [&record.source, &record.target].contains(&loses)
        };
        if let Some(record) = switched.iter().find(has_it) {
            // Which is a finding of its own.
            if !lost.contains_key(&record.id) {
                let goes_on = format!("`shardid resume {}` goes on with the move", record.id);
                findings.push(Finding::between(twice, goes_on));
            }
            continue;
        }
        findings.push(Finding::between(
            twice,
            format!(
                "{which} (its rows stay; look what was written there since): on {loses} `UPDATE shardid.shard SET state = 'moved', node = '{keeps}' WHERE shard = {shard};{hide}`"
            ),
        ));
    }
    Ok(findings)
}

/// The moves that stand, and are switched.
async fn switched(estate: &Estate<'_>) -> Result<Vec<Move>, Failure> {
    if estate.catalog().is_none() {
        return Ok(Vec::new());
    }
    let mut moves = MoveJournal::look(estate.file).await?.list(0).await?;
    moves.retain(|record| record.state == MoveState::Switched);
    Ok(moves)
}

/// Shards that only a node gives that the map does not name, as one that was promoted or restored since it was closed.
async fn astray(estate: &Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let Some(truth) = estate.truth() else { return Ok(Vec::new()) };
    // Of one that did not answer nobody knows what it gives.
    if !estate.unreachable.is_empty() {
        return Ok(Vec::new());
    }
    let mut astray = truth.astray();
    if astray.is_empty() {
        return Ok(Vec::new());
    }
    // A move may have begun and ended while the nodes were looked at, one after another.
    let again = Estate::visit(estate.file).await.truth();
    let again = again.as_ref().map(Truth::astray).unwrap_or_default();
    astray.retain(|it| again.contains(it));
    // Where the catalog is the older one, nothing is lost by what the nodes say.
    let mut rebuilt = truth.clone();
    let is_older = rebuilt.rebuild_map(&estate.file.declared, false).is_ok();
    let finding = |(shard, node, home): (Shard, &NodeName, &NodeName)| {
        let names_it = is_older && rebuilt.catalog.map.node_of(shard) == Some(node);
        let mend = match names_it {
            true => format!("`shardid catalog rebuild` has the map name {node}"),
            false => format!(
                "if a copy is on {home}, {COMPARE}; then `shardid catalog rebuild --accept-loss` has the map name {node}"
            ),
        };
        let problem =
            format!("shard {shard} is open on {node} alone, and the map has it on {home}");
        Finding::between(problem, mend)
    };
    Ok(astray.into_iter().map(finding).collect())
}

/// The shards that are open on two nodes, or on one of them behind a fence that no move
/// turns into a guard, when the nodes were looked at.
///
/// A move that stands does so once the map names its target. By a map that names the other one,
/// it has closed that before it opens the target: so that map is of an older time.
fn candidates(estate: &Estate<'_>) -> Vec<(Shard, NodeName, NodeName)> {
    let mut twice = Vec::new();
    for (i, first) in estate.visits.iter().enumerate() {
        for second in &estate.visits[i + 1..] {
            let (one, other) = (&first.seen.truth, &second.seen.truth);
            // One database by two names is a finding of its own.
            if one.identity == other.identity {
                continue;
            }
            let mut both = one.open.and(&other.open);
            // Without a catalog, too: a move opens the new node once the old one is closed, and so is
            // behind no fence.
            let under_way = |open: &NodeName| match estate.catalog() {
                Some(catalog) => catalog.moving.and(&catalog.map.on(open)),
                None => ShardSet::new(),
            };
            let open_first = one.open.and(&other.fenced).without(&under_way(&first.node));
            let open_second = one.fenced.and(&other.open).without(&under_way(&second.node));
            both = both.or(&open_first).or(&open_second);
            twice.extend(both.iter().map(|shard| (shard, first.node.clone(), second.node.clone())));
        }
    }
    twice
}

/// What a node says of a shard that it has.
struct Held {
    /// Whether it hands out ids, and is not behind a fence.
    is_open: bool,
    /// The version of the map by which it was opened.
    version: i64,
    /// What puts its schema out of the way.
    hide: Option<String>,
}

/// The same of each shard that is open or fenced, by node, as it is now.
async fn held_since(estate: &mut Estate<'_>) -> Result<BTreeMap<(NodeName, i32), Held>, Failure> {
    let mut since = BTreeMap::new();
    for visit in estate.installed() {
        let rows: Vec<(i32, bool, i64, Option<String>)> =
            visit.rows(sql!("verify/held_since.sql")).await?;
        let node = visit.node.clone();
        since.extend(rows.into_iter().map(|(shard, is_open, version, hide)| {
            ((node.clone(), shard), Held { is_open, version, hide })
        }));
    }
    Ok(since)
}
