//! Has the node that a shard moves to lost what was there, and what its old copy still has?

use std::collections::BTreeMap;

use shardid_cluster::{Ahead, Descent, Lineage, MoveKind, NodeName, Whole, ahead, lost};

use super::clocks;
use super::context::MoveContext;
use super::home::{Home, check_name};
use super::journal::{Move, MoveJournal};
use super::member::check_member;
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::descent::{DescentRow, Owner, SlotFault};
use crate::postgres::sql;

/// An old copy, and what is noted of the node that it was moved to.
pub(crate) struct OldCopy {
    pub(crate) id: i64,
    /// Whether it follows.
    pub(crate) way_back: bool,
    /// What it followed then.
    pub(crate) followed: Option<Lineage>,
    /// What the node was when all rows had come to it.
    pub(crate) whole: Option<Whole>,
    /// Up to which position of the node it has got since.
    pub(crate) reached: Option<i64>,
    /// Whether its own node was found open after the switch.
    pub(crate) reopened: bool,
}

/// Whether a node has a copy of a shard: what is there by that name, or was when it was closed.
pub(crate) fn is_there(schemas: &[(String, Option<i32>)], schema: &str, shard: i32) -> bool {
    schemas.iter().any(|(name, of)| name == schema || *of == Some(shard))
}

impl Owner {
    /// Whether an old copy may have what this node has not: rows that came from it, or that it has
    /// followed since, or that were written there.
    pub(crate) fn is_behind(&self, copy: &OldCopy) -> Option<Ahead> {
        if copy.reopened {
            return Some(Ahead::Reopened);
        }
        if let Some(why) = self.has_lost(copy.whole) {
            return Some(why);
        }
        if !copy.way_back {
            return None;
        }
        let has_slot = self.slots.contains(&format!("shardid_back_{}", copy.id));
        ahead(copy.followed, &self.descent, copy.reached.map(i64::cast_unsigned), has_slot)
    }

    /// Whether this node may have lost rows since all of a shard had come to it, as far as that is noted.
    fn has_lost(&self, whole: Option<Whole>) -> Option<Ahead> {
        whole.and_then(|whole| lost(&whole, &self.descent))
    }
}

/// Of which server and timeline a node's writes are.
pub(super) async fn descent(server: &mut MoveSession) -> Result<Owner, Failure> {
    let row: Option<DescentRow> =
        server.row(sqlx::query_as(sql!("move/slots.sql", "move/clean/descent.sql"))).await?;
    let standby = || Failure::new("it is a standby").at(format!("node {}", server.node));
    row.map(Owner::from).ok_or_else(standby)
}

/// Notes what the target is, now that it has everything, and what its source's sequences are bound by:
/// they are closed when it is the old copy.
pub(super) async fn note_target(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let rules = sqlx::query_scalar(sql!("move/sequence/rules.sql"));
    let rules: Vec<String> =
        context.source.column(rules.bind(context.record.schema.as_str())).await?;
    let Descent { now, database, position, .. } = descent(&mut context.target).await?.descent;
    let whole = Whole { of: now, database, position };
    context.journal.note_whole(context.record.id, whole, &rules.concat()).await?;
    context.record.whole = Some(whole);
    context.record.rules = Some(rules.concat());
    context.record.opening = false;
    Ok(())
}

/// What there is to be done where a target has lost rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instead {
    /// The source has all rows.
    GoBack,
    /// There is no source any more.
    OpenWithout,
}

/// Refuses to open a target that has lost rows since all of them had come to it.
pub(super) async fn check_target(
    target: &mut MoveSession,
    record: &Move,
    instead: Instead,
    accept_loss: bool,
) -> Result<(), Failure> {
    let Some(why) = has_lost(target, record).await? else { return Ok(()) };
    let Move { id, shard, source, target, kind, .. } = record;
    // A move back drops the copy that it goes back from, which may be the last one that is whole.
    let may_open = *kind == MoveKind::Copy || instead == Instead::OpenWithout;
    if accept_loss && may_open {
        return Ok(());
    }
    let back = format!("`shardid abort {id}{}", goes_back(record));
    let hint = match instead {
        Instead::OpenWithout => format!(
            "bring back a server that has them; or `shardid resume {id} --gone {source} --accept-loss` goes on without"
        ),
        Instead::GoBack if may_open => format!(
            "{back}; or `shardid resume {id} --accept-loss` opens the shard on {target} without them, and keeps the old copy"
        ),
        Instead::GoBack => back,
    };
    Err(Failure::new(format!("node {target} {}: {why}", may_lack(shard))).hint(hint))
}

/// What the end of a command does that has a move go back, and the word that it wants where the target had been
/// opened: the source has not what was written there since.
pub(super) fn goes_back(record: &Move) -> String {
    let Move { source, target, opening, .. } = record;
    match opening {
        false => format!("` goes back to {source}, which has them all"),
        true => format!(
            " --accept-loss` goes back to {source}, without what was written on {target} since it was opened"
        ),
    }
}

/// What is the matter with a node that has lost rows of a shard.
pub(crate) fn may_lack(shard: impl std::fmt::Display) -> String {
    format!("may have lost rows of shard {shard} that had come to it")
}

/// What is the matter with a source that has lost its fence.
pub(super) fn open_behind_fence(source: &NodeName) -> String {
    format!("open on {source}, behind whose fence it was switched")
}

/// What there is to be done where the source of a move is open, behind whose fence it was switched.
pub(super) fn close_and_open(record: &Move) -> String {
    let Move { id, source, target, .. } = record;
    format!(
        "bring that to {target} when it is open; `shardid resume {id} --accept-loss` closes {source} and opens {target}, which has all that was written before the fence"
    )
}

/// What there is to be done where both nodes of a move back have the shard open.
pub(super) fn open_on_both(record: &Move) -> String {
    let Move { id, source, target, .. } = record;
    format!(
        "keep writers from {source}, and bring over to {target}, where it is open as well, what was written there since; then `shardid resume {id} --accept-loss` drops the copy on {source}"
    )
}

/// Why the target of a move may have lost rows since all of them had come to it.
pub(crate) async fn has_lost(
    target: &mut MoveSession,
    record: &Move,
) -> Result<Option<Ahead>, Failure> {
    Ok(descent(target).await?.has_lost(record.whole))
}

/// An old copy and its new node, beside each other.
struct Looked {
    /// Why the copy may have rows that the node has lost.
    why: Option<Ahead>,
    owner: Owner,
    /// Whether the copy has what it is to follow by. Its database may be another one than before, beside which the one that
    /// follows is still there.
    is_subscribed: bool,
    /// Whether the copy is there.
    is_there: bool,
    /// Whether it is the shard itself, of which a catalog from a backup does not know.
    is_home: bool,
}

impl Looked {
    /// What the copy has to follow by, and does not, or that there is none.
    fn cut(&self, file: &ClusterFile, record: &Move) -> Option<Cut> {
        if !self.is_there {
            let Move { id, shard, source, .. } = record;
            return Some(Cut {
                problem: format!("node {source}: {}", not_there(shard)),
                instead: forget_instead(*id),
            });
        }
        match self.owner.fault(&record.way_back_stream()) {
            Some(fault) => Some(no_slot(file, record, fault)),
            None if self.is_subscribed => None,
            None => Some(no_subscription(record)),
        }
    }
}

/// Looks at an old copy and its new node.
async fn look(
    source: &mut MoveSession,
    target: &mut MoveSession,
    record: &Move,
) -> Result<Looked, Failure> {
    // Before the node is asked, which goes on meanwhile.
    let query = sqlx::query_as(sql!("move/clean/reached.sql"));
    let reached: Vec<(String, Option<i64>)> = source.rows(query).await?;
    let name = record.way_back_stream();
    let stream = reached.into_iter().find(|(other, _)| *other == name);
    let is_subscribed = stream.is_some();
    let reached = stream.and_then(|(_, reached)| reached);
    let schemas: Vec<(String, Option<i32>)> =
        source.rows(sqlx::query_as(sql!("move/clean/there.sql"))).await?;
    let is_there = is_there(&schemas, &record.schema, record.shard.as_sql());
    let home = Home::of(source, record.shard).await?;
    let is_home = home.is_some_and(|home| home.state == "open" && home.schema == record.schema);
    let Move { id, way_back, followed, whole, reopened, .. } = *record;
    let copy = OldCopy { id, way_back, followed, whole, reached, reopened };
    let owner = descent(target).await?;
    let why = owner.is_behind(&copy).filter(|_| is_there && !is_home);
    Ok(Looked { why, owner, is_subscribed, is_there, is_home })
}

/// Refuses to drop an old copy that may have rows which the shard has lost.
pub(super) async fn check_not_ahead(
    source: &mut MoveSession,
    target: &mut MoveSession,
    record: &Move,
) -> Result<(), Failure> {
    let why = look(source, target, record).await?.why;
    why.map_or(Ok(()), |why| Err(refused(record, why)))
}

/// Refuses to go back to an old copy that may have rows which the shard has lost, or that has nothing to follow by.
pub(crate) async fn check_way_back(file: &ClusterFile, record: &Move) -> Result<(), Failure> {
    let Move { source, target, .. } = record;
    let mut old = MoveSession::look(file, source).await?;
    let mut new = MoveSession::look(file, target).await?;
    for node in [&mut old, &mut new] {
        check_member(node, file).await?;
    }
    if let Some(failure) = clocks::behind(&mut new, &mut old).await? {
        return Err(failure);
    }
    let looked = look(&mut old, &mut new, record).await?;
    if looked.is_home {
        return Err(the_shard_itself(record));
    }
    if let Some(why) = looked.why {
        return Err(refused(record, why).detail("it cannot be gone back to"));
    }
    for node in [&mut new, &mut old] {
        check_name(node, record).await?;
    }
    match looked.cut(file, record) {
        None => Ok(()),
        Some(Cut { problem, instead }) => Err(Failure::new(problem).hint(instead)),
    }
}

/// What is the matter with an old copy that has nothing to follow by.
pub(crate) fn cut_off(
    kind: &str,
    name: &str,
    fault: SlotFault,
    shard: impl std::fmt::Display,
    source: impl std::fmt::Display,
) -> String {
    format!("{kind} {name} {fault}, and the old copy of shard {shard} on {source} follows no more")
}

/// What is the matter with an old copy of which nothing is there: its move was retired after the catalog was
/// backed up, or somebody has dropped it.
pub(crate) fn not_there(shard: impl std::fmt::Display) -> String {
    format!("the old copy of shard {shard} is not there")
}

/// What is to be done about it.
pub(crate) fn forget_instead(id: i64) -> String {
    format!("nothing is lost with it: `shardid retire {id}` ends the way back to it")
}

/// What is to be done about it.
pub(crate) fn retire_instead(id: i64) -> String {
    format!("it cannot be gone back to: `shardid retire {id}`")
}

/// Why an old copy does not follow, whatever the journal says.
pub(crate) struct Parted {
    /// Whether it may have rows that the shard has lost, and is held back for that.
    pub(crate) is_ahead: bool,
    /// What is the matter with it, and what is to be done.
    pub(crate) failure: Failure,
}

/// The moves of these whose old copy may have rows that the shard has lost, or has nothing to follow by any more,
/// by number, as far as their nodes answer.
pub(crate) async fn parted(
    file: &ClusterFile,
    moves: &[Move],
) -> Result<BTreeMap<i64, Parted>, Failure> {
    let mut found = BTreeMap::new();
    let mut sessions: BTreeMap<&NodeName, Option<MoveSession>> = BTreeMap::new();
    for record in moves.iter().filter(|record| record.keeps_old_copy(moves)) {
        for node in [&record.source, &record.target] {
            if !sessions.contains_key(node) {
                sessions.insert(node, MoveSession::look(file, node).await.ok());
            }
        }
        // Each by itself, for the other one is looked at beside it.
        let mut source = sessions.remove(&record.source).flatten();
        let mut target = sessions.remove(&record.target).flatten();
        if let Some(target) = &mut target {
            let looked = part(file, source.as_mut(), target, (record, moves)).await;
            found.extend(looked.ok().flatten().map(|it| (record.id, it)));
        }
        sessions.insert(&record.source, source);
        sessions.insert(&record.target, target);
    }
    if !found.is_empty() {
        // Somebody may have dropped them meanwhile, or gone back to them.
        let now = MoveJournal::look(file).await?.list(0).await?;
        found.retain(|id, _| now.iter().any(|it| it.id == *id && it.keeps_old_copy(&now)));
    }
    Ok(found)
}

/// Whether an old copy has parted from the shard. Without a session on its node nobody can tell how far it has got.
async fn part(
    file: &ClusterFile,
    source: Option<&mut MoveSession>,
    target: &mut MoveSession,
    (record, moves): (&Move, &[Move]),
) -> Result<Option<Parted>, Failure> {
    let looked = match source {
        Some(source) => {
            let looked = look(source, target, record).await?;
            if looked.is_home {
                return Ok(Some(Parted { is_ahead: true, failure: the_shard_itself(record) }));
            }
            if let Some(why) = looked.why {
                let Move { id, shard, source, target, .. } = record;
                let failure = Failure::new(problem(shard, source, target, why))
                    .hint(after_standing(record, moves, mend(*id)));
                return Ok(Some(Parted { is_ahead: true, failure }));
            }
            looked
        }
        None => {
            let owner = descent(target).await?;
            Looked { why: None, owner, is_subscribed: true, is_there: true, is_home: false }
        }
    };
    let cut = looked.cut(file, record).filter(|_| record.way_back || !looked.is_there);
    Ok(cut.map(|Cut { problem, instead }| {
        let failure = Failure::new(problem).hint(after_standing(record, moves, instead));
        Parted { is_ahead: false, failure }
    }))
}

/// That there is no old copy where the journal has one.
fn the_shard_itself(record: &Move) -> Failure {
    let Move { shard, source, .. } = record;
    Failure::new(format!("shard {shard} is open on {source}: what is there is no old copy")).hint(
        "`shardid verify` says what the catalog does not know; then `shardid catalog rebuild`",
    )
}

/// What is to be done with an old copy, after what another move of its shard wants, if one of these stands.
fn after_standing(record: &Move, moves: &[Move], mend: String) -> String {
    let standing = |it: &&Move| it.shard == record.shard && !it.state.is_over();
    let Some(Move { id, state, rollback_of, .. }) = moves.iter().find(standing) else {
        return mend;
    };
    let first = match (state.can_abort(), *rollback_of == Some(record.id)) {
        // What it goes back by is not there.
        (true, true) => format!("`shardid abort {id}`"),
        (true, false) => format!("`shardid resume {id}` or `shardid abort {id}`"),
        (false, _) => format!("`shardid resume {id}`"),
    };
    format!("move {id} of the shard is {state}: first {first}; then {mend}")
}

/// That an old copy has nothing to follow by.
struct Cut {
    problem: String,
    instead: String,
}

fn no_slot(file: &ClusterFile, record: &Move, fault: SlotFault) -> Cut {
    let Move { id, shard, source, target, .. } = record;
    let problem = cut_off("slot", &record.way_back_stream(), fault, shard, source);
    let instead = match file.address(source) {
        Ok(_) => retire_instead(*id),
        Err(_) => format!(
            "it cannot be gone back to: `shardid retire {id}`, once [nodes.{source}] is in the cluster file again"
        ),
    };
    Cut { problem: format!("node {target}: {problem}"), instead }
}

fn no_subscription(record: &Move) -> Cut {
    let Move { id, shard, source, .. } = record;
    let name = record.way_back_stream();
    let problem = cut_off("subscription", &name, SlotFault::Gone, shard, source);
    Cut { problem: format!("node {source}: {problem}"), instead: retire_instead(*id) }
}

fn refused(record: &Move, why: Ahead) -> Failure {
    let Move { id, shard, source, target, .. } = record;
    Failure::new(problem(shard, source, target, why)).hint(mend(*id))
}

/// What is the matter with an old copy that may be ahead, and what is to be done about it.
pub(crate) fn problem(
    shard: impl std::fmt::Display,
    source: impl std::fmt::Display,
    target: impl std::fmt::Display,
    why: Ahead,
) -> String {
    let rows = match why {
        Ahead::Reopened => format!("never came to node {target}"),
        _ => format!("node {target} has lost"),
    };
    format!("the old copy of shard {shard} on {source} may have rows that {rows}: {why}")
}

/// What comes before a copy is dropped, or put out of the way, that may have more.
pub(crate) const COMPARE: &str =
    "compare both copies, and bring over what is missing, as docs/when-a-move-stops.md has it";

/// What is to be done about it.
pub(crate) fn mend(id: i64) -> String {
    format!("{COMPARE}; then `shardid retire {id} --accept-loss`")
}
