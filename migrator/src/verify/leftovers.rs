//! Copies, and streams with all that belongs to them, that no move knows.

use std::collections::{BTreeMap, BTreeSet};

use shardid_cluster::{CopyAhead, NodeName, Shard, ShardSet};
use sqlx::FromRow;

use super::finding::quoted;
use super::{Estate, Finding, left_fences};
use crate::failure::Failure;
use crate::moving::ahead::{
    COMPARE, OldCopy, cut_off as unfollowed, forget_instead, is_there, mend, not_there, problem,
    retire_instead,
};
use crate::moving::journal::{WholeRow, lineage};
use crate::moving::{Move, MoveJournal, Reader, lost_moves, lost_sources, lost_streams, origin};
use crate::postgres::descent::{DescentRow, Owner, SlotFault};
use crate::postgres::sql;

/// Something that has a name which moves give.
#[derive(Debug, FromRow)]
struct Object {
    kind: String,
    name: String,
    /// What it was called before somebody gave it another name.
    ours: Option<String>,
    /// What gives it that name back.
    rename: Option<String>,
    /// The shard that a fence is about, or an old copy of which a publication is.
    shard: Option<i32>,
    mend: String,
    /// What is to be done before that.
    before: Option<String>,
}

impl Object {
    /// What takes it away.
    fn how(&self) -> String {
        format!("{}{}", self.before.as_deref().unwrap_or_default(), quoted(&self.mend))
    }
}

/// Node, kind and name of what the journal knows.
type Known = BTreeSet<(String, String, String)>;

pub(super) async fn check(estate: &mut Estate<'_>) -> Result<Vec<Finding>, Failure> {
    // Without the journal nobody can tell what is left over.
    let Some(version) = estate.catalog().map(|catalog| catalog.map.version) else {
        return Ok(Vec::new());
    };
    // The journal before and after: what was seen in between of a move that has ended meanwhile
    // is in the one, and of a move that has begun in the other, since it writes its line before
    // it makes anything.
    let mut known = of_journal(estate).await?;
    let mut moving = estate.moving_now().await?;
    let mut seen = Vec::new();
    for visit in estate.installed() {
        // Of a node that has another name in the file, or knows more than the catalog, the
        // journal does not know what is in use.
        let is_known =
            visit.seen.truth.member.as_ref().is_none_or(|member| {
                member.node == visit.node.as_str() && member.newest <= version
            });
        if !is_known {
            continue;
        }
        let objects: Vec<Object> = visit.rows(sql!("verify/objects.sql")).await?;
        seen.push((visit.node.clone(), visit.seen.truth.identity.system_identifier, objects));
    }
    known.extend(of_journal(estate).await?);
    moving.extend(estate.moving_now().await?);
    let mut ranked: Vec<(usize, Finding)> = Vec::new();
    ranked.extend(lost_by_nodes(estate).await?.into_iter().map(|finding| (ORDER.len(), finding)));
    ranked.extend(cut_off(estate, &seen).await?.into_iter().map(|finding| (ORDER.len(), finding)));
    let fences = left_fences::find(estate).await?;
    ranked.extend(fences.into_iter().map(|finding| (ORDER.len(), finding)));
    let places = Places::look(estate).await?;
    let nowhere = nowhere(estate);
    let ahead = estate.truth().map(|truth| truth.copies_ahead()).unwrap_or_default();
    let server_of: BTreeMap<String, i64> =
        seen.iter().map(|(node, server, _)| (node.to_string(), *server)).collect();
    // Roles and origins are of a server, whichever of its databases they serve.
    let mut of_servers: BTreeSet<(i64, String, String)> = known
        .iter()
        .filter_map(|(node, kind, name)| Some((*server_of.get(node)?, kind.clone(), name.clone())))
        .collect();
    // What reads comes before what is read, and a copy after what fills it: each line can be
    // followed by itself, from the first on.
    for (node, server, objects) in seen {
        for object in objects {
            let Object { kind, name, .. } = &object;
            if known.contains(&(node.to_string(), kind.clone(), name.clone())) {
                continue;
            }
            let is_of_server = matches!(kind.as_str(), "role" | "origin");
            if is_of_server && !of_servers.insert((server, kind.clone(), name.clone())) {
                continue;
            }
            let is_known =
                |ours: &str| known.contains(&(node.to_string(), kind.clone(), ours.to_owned()));
            // The map was read before: a move may have switched, and be about to open this copy.
            let is_moved = object.shard.is_some_and(|shard| moving.contains(&shard));
            // With it is noted what its node closed a shard for: by that it is opened, there or here.
            let is_needed = object.shard.is_some_and(|shard| nowhere.contains(&shard));
            // What fills a copy tells how far that has got: it goes, and the copy out of the way, once both
            // are compared.
            let is_of = |copy: &&CopyAhead| match kind.as_str() {
                "subscription" => copy.stream == *object.ours.as_ref().unwrap_or(name),
                "fence" => object.shard == Some(copy.shard.as_sql()),
                _ => false,
            };
            let more = ahead.iter().find(|copy| copy.node == node && is_of(copy));
            let finding = match (&object.ours, &object.rename, more) {
                _ if kind == "fence" && more.is_some() => None,
                _ if kind == "publication" && is_needed => None,
                _ if kind == "fence" && is_moved => None,
                _ if kind == "fence" => places.of_copy(&node, &object),
                (Some(ours), Some(rename), _) if is_known(ours) => Some(Finding::on(
                    &node,
                    format!("{kind} {name} is {ours} of a move, by another name"),
                    format!("`{rename}`"),
                )),
                (.., Some(copy)) => Some(Finding::between(
                    copy.to_string(),
                    format!("{COMPARE}; then on {node} {}", object.how()),
                )),
                _ => Some(Finding::on(
                    &node,
                    format!("{kind} {name} is left over, and no move knows it"),
                    object.how(),
                )),
            };
            let rank = ORDER.iter().position(|other| other == kind).unwrap_or(ORDER.len());
            ranked.extend(finding.map(|finding| (rank, finding)));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    Ok(ranked.into_iter().map(|(_, finding)| finding).collect())
}

/// The kinds of objects, as they are to be removed.
const ORDER: [&str; 7] =
    ["subscription", "slot", "publication", "role", "origin", "event trigger", "fence"];

async fn of_journal(estate: &mut Estate<'_>) -> Result<Known, Failure> {
    let catalog = estate.file.declared.catalog.clone();
    let keeper = estate.visits.iter_mut().find(|visit| visit.node == catalog);
    let Some(keeper) = keeper else { return Ok(Known::new()) };
    Ok(keeper.rows(sql!("verify/known_objects.sql")).await?.into_iter().collect())
}

/// New copies that may have rows which their source has lost: giving the move up drops them; and moves that are
/// switched, and go back for what one of their nodes has lost.
async fn lost_by_nodes(estate: &Estate<'_>) -> Result<Vec<Finding>, Failure> {
    let moves = MoveJournal::look(estate.file).await?.list(0).await?;
    let lost = lost_sources(estate.file, &moves).await?;
    let finding = |record: &Move| {
        let why = lost.get(&record.id)?;
        Some(Finding::between(origin::problem(record, *why), origin::mend(record.id)))
    };
    let mut findings: Vec<Finding> = moves.iter().filter_map(finding).collect();
    let streams = lost_streams(estate.file, &moves).await;
    let of_streams = streams.iter().filter_map(Reader::lost);
    findings.extend(of_streams.map(|(problem, mend)| Finding::between(problem, mend)));
    let back = lost_moves(estate.file).await?;
    findings.extend(moves.iter().filter_map(|record| {
        let back = back.get(&record.id)?;
        Some(Finding::between(back.lost.problem(record), back.instead(record)))
    }));
    Ok(findings)
}

/// A move with an old copy, and what was noted of the node that has the shard.
#[derive(Debug, FromRow)]
struct Following {
    #[sqlx(rename = "move")]
    id: i64,
    shard: i32,
    schema: String,
    source: String,
    target: String,
    way_back: bool,
    reopened: bool,
    unfinished: bool,
    seal_system_identifier: Option<i64>,
    seal_timeline: Option<i64>,
    #[sqlx(flatten)]
    whole: WholeRow,
}

/// The old copies by the journal.
async fn following(estate: &mut Estate<'_>) -> Result<Vec<Following>, Failure> {
    let catalog = estate.file.declared.catalog.clone();
    let keeper = estate.visits.iter_mut().find(|visit| visit.node == catalog);
    let Some(keeper) = keeper else { return Ok(Vec::new()) };
    keeper.rows(sql!("verify/following.sql")).await
}

/// Whether the old copy of a move is one still.
async fn still_following(estate: &mut Estate<'_>, id: i64) -> Result<bool, Failure> {
    Ok(following(estate).await?.iter().any(|row| row.id == id))
}

/// Old copies that follow by the journal, and have nothing to follow by, or may have followed
/// further than what the node with the shard goes back to.
async fn cut_off(
    estate: &mut Estate<'_>,
    seen: &[(NodeName, i64, Vec<Object>)],
) -> Result<Vec<Finding>, Failure> {
    let following = following(estate).await?;
    if following.is_empty() {
        return Ok(Vec::new());
    }
    let (mut reached, mut owners) = (BTreeMap::new(), BTreeMap::new());
    let mut schemas: BTreeMap<String, Vec<(String, Option<i32>)>> = BTreeMap::new();
    for visit in estate.installed() {
        let there = visit.rows(sql!("move/clean/there.sql")).await?;
        schemas.insert(visit.node.to_string(), there);
        let rows: Vec<(String, Option<i64>)> = visit.rows(sql!("move/clean/reached.sql")).await?;
        let rows = rows.into_iter().filter_map(|(name, it)| Some((name, it?)));
        reached.extend(rows.map(|(name, it)| ((visit.node.to_string(), name), it)));
    }
    // After the copies, which are never before what they follow.
    for visit in estate.installed() {
        let rows: Vec<DescentRow> =
            visit.rows(sql!("move/slots.sql", "move/clean/descent.sql")).await?;
        let owner = rows.into_iter().next().map(Owner::from);
        owners.extend(owner.map(|owner| (visit.node.to_string(), owner)));
    }
    let mut findings = Vec::new();
    for row in following {
        let followed = lineage(row.seal_system_identifier, row.seal_timeline);
        let Following { id, shard, schema, source, target, way_back, reopened, whole, .. } = row;
        let name = format!("shardid_back_{id}");
        let is_seen = |node: &str| seen.iter().find(|(seen, ..)| seen.as_str() == node);
        let has_got = reached.get(&(source.clone(), name.clone())).copied();
        // A copy that nobody has looked at may be at any place.
        let owner = owners.get(&target).filter(|_| is_seen(&source).is_some());
        let whole = whole.read();
        let is_there = schemas.get(&source).is_none_or(|it| is_there(it, &schema, shard));
        let copy = OldCopy { id, way_back, followed, whole, reached: has_got, reopened };
        if let Some((node, ..)) = is_seen(&source).filter(|_| !is_there) {
            // Somebody may be retiring it.
            if still_following(estate, id).await? {
                findings.push(Finding::on(node, not_there(shard), forget_instead(id)));
            }
            continue;
        }
        let ahead = owner.and_then(|owner| owner.is_behind(&copy));
        let mut gone = Vec::new();
        for (kind, node) in [("slot", &target), ("subscription", &source)] {
            let Some((node, _, objects)) = is_seen(node) else { continue };
            let is_it = |object: &Object| {
                object.kind == kind
                    && (object.name == name || object.ours.as_deref() == Some(name.as_str()))
            };
            let fault = match objects.iter().any(is_it) {
                false => Some(SlotFault::Gone),
                true if kind == "slot" => owners.get(&target).and_then(|it| it.fault(&name)),
                true => None,
            };
            // One that is unfinished may be at it.
            if let Some(fault) = fault.filter(|_| way_back && !row.unfinished) {
                let problem = unfollowed(kind, &name, fault, shard, &source);
                gone.push(Finding::on(node, problem, retire_instead(id)));
            }
        }
        match ahead {
            // A move back may have switched meanwhile, and have ended what it followed by.
            Some(_) if row.unfinished && !still_following(estate, id).await? => {}
            Some(why) => {
                findings.push(Finding::between(problem(shard, source, target, why), mend(id)))
            }
            None => findings.extend(gone),
        }
    }
    Ok(findings)
}

/// The shards of the map that no node has.
fn nowhere(estate: &Estate<'_>) -> BTreeSet<i32> {
    let Some(truth) = estate.truth() else { return BTreeSet::new() };
    let all = truth.nodes.keys().fold(ShardSet::new(), |all, node| all.or(&truth.nowhere(node)));
    all.iter().map(Shard::as_sql).collect()
}

/// Where shards live, by the map, and in which schema there.
struct Places {
    homes: BTreeMap<i32, NodeName>,
    schemas: BTreeSet<(NodeName, i32, String)>,
    looked_at: BTreeSet<NodeName>,
}

impl Places {
    async fn look(estate: &mut Estate<'_>) -> Result<Self, Failure> {
        let mut places =
            Self { homes: BTreeMap::new(), schemas: BTreeSet::new(), looked_at: BTreeSet::new() };
        if let Some(catalog) = estate.catalog() {
            for (node, shards) in catalog.map.nodes() {
                places.homes.extend(shards.iter().map(|shard| (shard.as_sql(), node.clone())));
            }
        }
        for visit in estate.installed() {
            let rows: Vec<(i32, String)> = visit.rows(sql!("verify/schemas.sql")).await?;
            places.looked_at.insert(visit.node.clone());
            let here = rows.into_iter().map(|(shard, schema)| (visit.node.clone(), shard, schema));
            places.schemas.extend(here);
        }
        Ok(places)
    }

    /// What is wrong with the guard of a schema that no move knows.
    ///
    /// At the shard's home that is a fence, and a finding of its own. Anywhere else it guards a
    /// copy, which must not take writes, and is in the way as long as it has the name that the
    /// next copy would get.
    fn of_copy(&self, node: &NodeName, guard: &Object) -> Option<Finding> {
        let (shard, schema) = (guard.shard?, &guard.name);
        let home = self.homes.get(&shard).filter(|home| *home != node)?;
        let is_in_the_way = !self.looked_at.contains(home)
            || self.schemas.contains(&(home.clone(), shard, schema.clone()));
        is_in_the_way.then(|| {
            Finding::on(
                node,
                format!("schema {schema} is a copy of shard {shard} that no move knows, and the shard lives on {home}"),
                format!("put it out of the way, with its rows: `{}`", guard.mend),
            )
        })
    }
}
