//! May an old copy be dropped, and how does it go?

use std::collections::BTreeSet;

use shardid_cluster::{LeftoverKind, MoveKind, MoveState, NodeName};

use super::ahead::check_not_ahead;
use super::answers;
use super::copies::{check_guarded, check_made_since, outside_of, takes_along, unguarded};
use super::drop_copy::drop_schema;
use super::home::{Home, check_name};
use super::journal::{Move, MoveJournal, overtaken};
use super::member::{check_member, check_survivor};
use super::move_session::MoveSession;
use super::{stream, take_away, watch};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{ids, sql};
use crate::talk;

/// What is said about the old copies that are to go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retiring {
    /// That their node never comes back.
    pub(crate) is_gone: bool,
    /// That they may go although they may have rows that the shard has lost.
    pub(crate) accept_loss: bool,
}

/// Ends the way back of a move that is done, and drops the old copy, or forgets it with its node.
pub(crate) async fn retire(file: &ClusterFile, id: i64, how: Retiring) -> Result<(), Failure> {
    let mut journal = MoveJournal::open(file).await?;
    let record = journal.begin(id).await?;
    if record.state != MoveState::Done || record.kind != MoveKind::Copy {
        return Err(Failure::new(format!(
            "move {id} has no old copy to drop: it is {}",
            record.state
        ))
        .hint("`shardid moves` shows what can be done with each"));
    }
    if record.retired_us.is_some() {
        return Ok(());
    }
    let mut nodes = watch::nodes_of(file, &record);
    if how.is_gone {
        nodes.retain(|node, _| *node != record.source);
        return watch::over(file, nodes, forget_old_copy(file, journal, record)).await;
    }
    watch::over(file, nodes, drop_old_copy(file, journal, record, how.accept_loss)).await
}

/// Refuses, before anything is touched, to drop an old copy with which something else would go,
/// or which is the last one, or the last of some of its rows.
pub(crate) async fn check_old_copy(
    file: &ClusterFile,
    record: &Move,
    accept_loss: bool,
) -> Result<(), Failure> {
    let mut journal = MoveJournal::look(file).await?;
    if let Some(going) = going_back(&mut journal, record.id).await? {
        return Err(going);
    }
    let id = record.id;
    let mut server = MoveSession::look(file, &record.source).await.map_err(|failure| {
        if failure.is_answer() || file.address(&record.source).is_err() {
            return failure;
        }
        failure.detail(format!(
            "where that node never comes back: `shardid retire {id} --gone {}`",
            record.source
        ))
    })?;
    check_member(&mut server, file).await?;
    look_at_old_copy(file, &mut server, record).await?;
    check_owner(file, &mut server, record).await?;
    if accept_loss || record.retiring {
        return Ok(());
    }
    let mut target = MoveSession::look(file, &record.target).await?;
    check_not_ahead(&mut server, &mut target, record).await
}

/// Refuses to forget an old copy that can be had, or is the last one.
pub(crate) async fn check_gone_copy(file: &ClusterFile, record: &Move) -> Result<(), Failure> {
    let mut journal = MoveJournal::look(file).await?;
    if let Some(going) = going_back(&mut journal, record.id).await? {
        return Err(going);
    }
    let instead = format!(
        "`shardid retire {}` drops the old copy of shard {} there",
        record.id, record.shard
    );
    answers::check_gone(file, &record.source, &instead).await?;
    owner(file, record, Other::Gone).await.map(drop)
}

/// Refuses where the node that has the shard by the map has less of it than an old copy.
pub(super) async fn check_owner(
    file: &ClusterFile,
    old: &mut MoveSession,
    record: &Move,
) -> Result<(), Failure> {
    let (_, mut server, home) = owner(file, record, Other::Answers).await?;
    check_has_all(&mut server, &home, old, record).await
}

/// The same at the end of a move back, of the copy that was gone back from, and of the node that has the shard now.
pub(super) async fn check_back(
    server: &mut MoveSession,
    copy: &mut MoveSession,
    record: &Move,
) -> Result<(), Failure> {
    let home = home_of(server, &copy.node, record).await?;
    check_has_all(server, &home, copy, record).await
}

/// Refuses to go on with a move back where the copy that it goes back to is gone.
pub(super) async fn check_there(
    server: &mut MoveSession,
    copy: &NodeName,
    record: &Move,
) -> Result<(), Failure> {
    home_of(server, copy, record).await?;
    check_name(server, record).await
}

async fn home_of(
    server: &mut MoveSession,
    copy: &NodeName,
    record: &Move,
) -> Result<Home, Failure> {
    Home::of(server, record.shard).await?.ok_or_else(|| {
        Failure::new(format!(
            "shard {} is not there any more: the copy in schema {} on {copy} is the last one",
            record.shard, record.schema
        ))
        .at(format!("node {}", server.node))
        .hint("keep that copy, and do not make the shard anew: docs/cluster.md says how its rows come back (a node that has lost a shard)")
    })
}

async fn check_has_all(
    server: &mut MoveSession,
    home: &Home,
    copy: &mut MoveSession,
    record: &Move,
) -> Result<(), Failure> {
    let of = |schema: &str| {
        sqlx::query_as::<_, (String, bool)>(sql!("move/clean/tables.sql")).bind(schema.to_owned())
    };
    // A table may have become a partition there since.
    let there = server.rows(of(&home.schema)).await?.into_iter().map(|(name, _)| name);
    let there: BTreeSet<String> = there.collect();
    let had = copy.rows(of(&record.schema)).await?;
    let missing: Vec<String> = had
        .into_iter()
        .filter(|(name, may_miss)| !may_miss && !there.contains(name))
        .map(|(name, _)| name)
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "the old copy of schema {} on {} has tables that node {} has not: {}",
            record.schema,
            copy.node,
            server.node,
            missing.join(", ")
        ))
        .hint("where they were dropped or renamed on purpose, do the same in the old copy, then run the same command again")),
    }
}

/// The node of the old copy.
#[derive(Clone, Copy)]
enum Other {
    Answers,
    Gone,
}

/// The node that has the shard of an old copy, by the map and by its own word.
async fn owner(
    file: &ClusterFile,
    record: &Move,
    other: Other,
) -> Result<(NodeName, MoveSession, Home), Failure> {
    let map = ids::map(file).await?;
    let owner = map.node_of(record.shard).unwrap_or(&record.target).clone();
    if owner == record.source {
        return Err(Failure::new(format!(
            "shard {} lives on {owner} by the map: what is there is no old copy",
            record.shard
        ))
        .hint("`shardid moves` and `shardid verify` say what stands"));
    }
    let mut server = MoveSession::look(file, &owner).await?;
    match other {
        Other::Answers => check_member(&mut server, file).await?,
        Other::Gone => check_survivor(&mut server, file).await?,
    }
    let home = Home::of(&mut server, record.shard).await?;
    let open = home.filter(|home| home.state != "moved");
    let Some(home) = open else {
        return Err(Failure::new(format!(
            "node {owner} does not have shard {}, although the map says so: the old copy on {} is the last one",
            record.shard, record.source
        ))
        .hint("`shardid verify` says what is wrong there"));
    };
    Ok((owner, server, home))
}

async fn look_at_old_copy(
    file: &ClusterFile,
    server: &mut MoveSession,
    record: &Move,
) -> Result<(), Failure> {
    // The shard itself may be there by another move.
    let home = Home::of(server, record.shard).await?;
    if home.is_some_and(|home| home.state == "moved") {
        check_name(server, record).await?;
    }
    let schema = record.schema.as_str();
    let of_schema = |text: &'static str| sqlx::query_scalar::<_, String>(text).bind(schema);
    let mut off = unguarded(server, record).await?;
    if off.iter().any(|it| it.is_missing) {
        // A table that the node with the shard has not was made there since.
        let there = named_by_owner(file, record).await?;
        off.retain(|it| !it.is_missing || it.renames.is_some() || there.contains(&it.name));
    }
    check_guarded(server, record, &off)?;
    let made = server.column(of_schema(sql!("move/clean/made_since.sql"))).await?;
    check_made_since(server, record, &made)?;
    let outside = outside_of(server, schema).await?;
    if outside.is_empty() { Ok(()) } else { Err(takes_along(server, record, &outside)) }
}

/// The tables that the node with the shard has, by their names in the old copy.
async fn named_by_owner(file: &ClusterFile, record: &Move) -> Result<BTreeSet<String>, Failure> {
    let (_, mut server, home) = owner(file, record, Other::Answers).await?;
    let query = sqlx::query_scalar(sql!("move/clean/named.sql"));
    let query = query.bind(home.schema).bind(record.schema.as_str());
    Ok(server.column::<String>(query).await?.into_iter().collect())
}

/// A move that stands and is going back to an old copy.
async fn going_back(journal: &mut MoveJournal, id: i64) -> Result<Option<Failure>, Failure> {
    let moves = journal.list(0).await?;
    let going = moves.iter().find(|m| m.rollback_of == Some(id) && !m.state.is_over());
    Ok(going.map(|going| {
        let failure =
            Failure::new(format!("move {} is going back to the old copy of move {id}", going.id));
        match going.state.can_abort() {
            true => {
                failure.hint(format!("`shardid resume {0}` or `shardid abort {0}` first", going.id))
            }
            false => failure.hint(format!("`shardid resume {}` first", going.id)),
        }
    }))
}

async fn drop_old_copy(
    file: &ClusterFile,
    mut journal: MoveJournal,
    mut record: Move,
    accept_loss: bool,
) -> Result<(), Failure> {
    let id = record.id;
    let mut source = MoveSession::connect(file, &record.source).await?;
    let mut target = MoveSession::connect(file, &record.target).await?;
    for server in [&mut source, &mut target] {
        check_member(server, file).await?;
    }
    journal.claim(&mut record, &mut [&mut source, &mut target]).await?;
    // Once more, now that nobody else works on it; after this there is no way back.
    if !record.retiring {
        if let Some(going) = going_back(&mut journal, id).await? {
            return Err(going);
        }
        look_at_old_copy(file, &mut source, &record).await?;
        check_owner(file, &mut source, &record).await?;
        if !accept_loss {
            check_not_ahead(&mut source, &mut target, &record).await?;
        }
    }
    if !journal.begin_retire(id).await? {
        return Err(going_back(&mut journal, id).await?.unwrap_or_else(|| overtaken(id)));
    }
    // What somebody's reading has kept there since the shard was opened.
    take_away::or_say(&mut target, record.shard, &record.schema).await?;
    for left in journal.leftovers(id).await? {
        let on_source = left.node == record.source;
        let (here, there) =
            if on_source { (&mut source, &mut target) } else { (&mut target, &mut source) };
        match left.kind {
            LeftoverKind::Subscription => {
                stream::remove_subscription(here, Some(there), &left.name).await?;
            }
            LeftoverKind::Slot => stream::remove_slot(here, &left.name).await?,
            LeftoverKind::Publication => stream::remove_publication(here, &left.name).await?,
            LeftoverKind::Schema if on_source => drop_schema(here, &record).await?,
            // The shard itself, or what became the old copy's guard and goes with it.
            LeftoverKind::Schema | LeftoverKind::Fence => continue,
        }
        journal.removed(&left).await?;
    }
    journal.retired(id).await?;
    talk::line(format_args!(
        "  shard {}: the old copy on {} is dropped",
        record.shard, record.source
    ));
    Ok(())
}

/// Ends the way back on the node that has the shard now, where the other one never comes back.
pub(super) async fn forget_old_copy(
    file: &ClusterFile,
    mut journal: MoveJournal,
    mut record: Move,
) -> Result<(), Failure> {
    let id = record.id;
    let mut target = MoveSession::connect(file, &record.target).await?;
    check_survivor(&mut target, file).await?;
    journal.claim(&mut record, &mut [&mut target]).await?;
    check_gone_copy(file, &record).await?;
    if !journal.begin_retire(id).await? {
        return Err(going_back(&mut journal, id).await?.unwrap_or_else(|| overtaken(id)));
    }
    take_away::or_say(&mut target, record.shard, &record.schema).await?;
    for left in journal.leftovers(id).await? {
        let here = left.node == record.target;
        match left.kind {
            LeftoverKind::Subscription if here => {
                stream::remove_subscription(&mut target, None, &left.name).await?;
            }
            LeftoverKind::Slot if here => stream::remove_slot(&mut target, &left.name).await?,
            LeftoverKind::Publication if here => {
                stream::remove_publication(&mut target, &left.name).await?;
            }
            LeftoverKind::Schema | LeftoverKind::Fence if here => continue,
            // It is gone with its node.
            _ => {}
        }
        journal.removed(&left).await?;
    }
    journal.retired(id).await?;
    talk::line(format_args!(
        "  shard {}: the old copy on {} is forgotten",
        record.shard, record.source
    ));
    Ok(())
}
