//! Removing what a move has made and does not need any more.

use std::collections::BTreeSet;

use shardid_cluster::{LeftoverKind, MoveKind, MoveState};

use super::journal::{Journal, Leftover, Move, overtaken};
use super::progress::line;
use super::road::Road;
use super::server::{Batch, Server};
use super::{checks, fence, nodes_of, stream, watched};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{connect, failure, ids, sql};
use crate::talk;

/// What is left to remove once a move is done.
pub(super) async fn clean_up(road: &mut Road<'_>) -> Result<(), Failure> {
    let Some(earlier) = road.record.rollback_of else { return Ok(()) };
    // Back where it was: the copy that was gone back from is of no use any more.
    drop_schema(&mut road.source, &road.record).await?;
    road.forget(&[LeftoverKind::Schema], &road.record.schema.clone()).await?;
    for left in road.journal.leftovers(earlier).await? {
        remove_by_name(road, &left).await?;
    }
    road.journal.retired(earlier).await
}

/// Removes everything that a move has made, as if it had never been.
pub(super) async fn remove_all(road: &mut Road<'_>) -> Result<(), Failure> {
    for left in road.journal.leftovers(road.record.id).await? {
        remove_by_name(road, &left).await?;
    }
    Ok(())
}

async fn remove_by_name(road: &mut Road<'_>, left: &Leftover) -> Result<(), Failure> {
    let on_target = left.node == road.target.node;
    let (here, there) = match on_target {
        true => (&mut road.target, &mut road.source),
        false => (&mut road.source, &mut road.target),
    };
    match left.kind {
        LeftoverKind::Subscription => {
            stream::remove_subscription(here, Some(there), &left.name).await?;
        }
        LeftoverKind::Slot => stream::remove_slot(here, &left.name).await?,
        LeftoverKind::Publication => stream::remove_publication(here, &left.name).await?,
        // A copy is dropped where it is none of the shard: the target's of a move that is
        // given up.
        LeftoverKind::Schema if on_target && road.record.state == MoveState::Aborting => {
            drop_schema(&mut road.target, &road.record).await?;
        }
        LeftoverKind::Schema => return Ok(()),
        LeftoverKind::Fence => fence::lower(road).await?,
    }
    road.journal.removed(left).await
}

/// How long dropping a copy waits for those who still read it; and how long without a word.
const LOCK_MS: u64 = 60_000;
const QUIET_MS: u64 = 2_000;

/// Drops a copy, if nothing outside its schema would go with it.
///
/// One transaction locks its tables, looks what would go, drops, and looks whether anything
/// else has gone. A type or a function of the schema is not locked by that: what comes to need
/// one in the moment between the look and the drop goes with it.
async fn drop_schema(server: &mut Server, record: &Move) -> Result<(), Failure> {
    let schema = record.schema.as_str();
    let of_schema = |text: &'static str| sqlx::query_scalar::<_, String>(text).bind(schema);
    let locks = server.column(of_schema(sql!("move/clean/lock.sql"))).await?;
    let begin = |ms: u64| {
        let mut begin = vec![format!("SET LOCAL lock_timeout = {ms}")];
        begin.extend(locks.iter().cloned());
        begin
    };
    if let Batch::LockTimeout = server.begin_with(begin(QUIET_MS)).await? {
        let waits = fence::held(server, schema, "the copy cannot be dropped yet").await;
        for (message, _) in waits.messages() {
            line(format_args!("  node {}: {message}", server.node));
        }
        if let Batch::LockTimeout = server.begin_with(begin(LOCK_MS)).await? {
            return Err(still_used(server, record).await);
        }
    }
    let dropped = drop_behind_locks(server, record).await;
    let end = if dropped.is_ok() { sql!("move/commit.sql") } else { sql!("move/rollback.sql") };
    let ended = server.run(sqlx::query(end)).await;
    dropped.and(ended)
}

async fn drop_behind_locks(server: &mut Server, record: &Move) -> Result<(), Failure> {
    let schema = record.schema.as_str();
    let of_schema = |text: &'static str| sqlx::query_scalar::<_, String>(text).bind(schema);
    let home = sqlx::query_scalar(sql!("move/clean/is_home.sql")).bind(record.shard.as_sql());
    let home: Vec<String> = server.column(home.bind(schema)).await?;
    if let Some(state) = home.first() {
        return Err(is_home(server, record, state));
    }
    let outside =
        server.column(of_schema(sql!("move/closure.sql", "move/clean/outside.sql"))).await?;
    if !outside.is_empty() {
        return Err(takes_along(server, record, &outside));
    }
    let mut statements = server.column(of_schema(sql!("move/clean/before.sql"))).await?;
    let query = sqlx::query_scalar(sql!("move/clean/drop_schema.sql"));
    let query = query.bind(schema).bind(record.shard.as_sql());
    statements.extend(server.column::<String>(query).await?);
    cuts::at(format_args!("drop/before"));
    if let Batch::LockTimeout = server.one_batch(statements).await? {
        return Err(still_used(server, record).await);
    }
    let gone = gone_with_it(server).await?;
    if !gone.is_empty() {
        return Err(takes_along(server, record, &gone));
    }
    // The schema is ours alone now: nobody can make anything in it any more, and another session
    // sees all that was there before it went.
    let mut other = connect(&server.node, &server.address, "move").await?;
    let made = sqlx::query_scalar(sql!("move/clean/made_since.sql")).bind(schema);
    let made: Vec<String> =
        made.fetch_all(&mut other).await.map_err(|error| failure(&server.node, &error))?;
    check_made_since(server, record, &made)
}

/// Refuses to drop a copy in which somebody has made tables that are none of the shard.
fn check_made_since(server: &Server, record: &Move, made: &[String]) -> Result<(), Failure> {
    if made.is_empty() {
        return Ok(());
    }
    let (schema, made) = (&record.schema, made.join(", "));
    let (home, since) = match record.state {
        MoveState::Aborting => (&record.source, "during the move"),
        _ => (&record.target, "since the shard left"),
    };
    Err(Failure::new(format!(
        "the copy in schema {schema} cannot be dropped: somebody has made {made} there {since}"
    ))
    .at(format!("node {}", server.node))
    .hint(format!(
        "take what it holds to node {home}, or out of the schema: ALTER TABLE ... SET SCHEMA ...; then run the same command again"
    )))
}

fn is_home(server: &Server, record: &Move, state: &str) -> Failure {
    Failure::new(format!(
        "schema {} is no copy: shard {} lives there, and is {state}",
        record.schema, record.shard
    ))
    .at(format!("node {}", server.node))
    .hint("nothing was dropped; `shardid verify` says what is wrong")
}

/// What was to stay, and this transaction has dropped. What others drop meanwhile is gone for
/// another session too.
async fn gone_with_it(server: &mut Server) -> Result<Vec<String>, Failure> {
    let gone: Vec<(i64, i64)> = server.rows(sqlx::query_as(sql!("move/clean/gone.sql"))).await?;
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let (catalogs, numbers): (Vec<i64>, Vec<i64>) = gone.into_iter().unzip();
    let mut other = connect(&server.node, &server.address, "move").await?;
    let query = sqlx::query_scalar(sql!("move/clean/still_there.sql"));
    let still_there = query.bind(catalogs).bind(numbers).fetch_all(&mut other).await;
    still_there.map_err(|error| failure(&server.node, &error))
}

fn takes_along(server: &Server, record: &Move, outside: &[String]) -> Failure {
    Failure::new(format!(
        "the copy in schema {} cannot be dropped: with it would go {}",
        record.schema,
        outside.join(", ")
    ))
    .at(format!("node {}", server.node))
    .hint("these are none of the shard: have them need it no more, then run the same command again")
}

async fn still_used(server: &mut Server, record: &Move) -> Failure {
    let what = format!("could not drop the copy in schema {}", record.schema);
    fence::held(server, &record.schema, &what).await.hint(fence::AGAIN)
}

/// Refuses, before anything is touched, to drop an old copy with which something else would go,
/// or which is the last one.
pub(crate) async fn check_old_copy(file: &ClusterFile, record: &Move) -> Result<(), Failure> {
    let mut journal = Journal::look(file).await?;
    if let Some(going) = going_back(&mut journal, record.id).await? {
        return Err(going);
    }
    let mut server = Server::look(file, &record.source).await?;
    look_at_old_copy(&mut server, record).await?;
    check_owner(file, &mut server, record).await
}

/// Refuses where the node that has the shard by the map has less of it than an old copy.
pub(super) async fn check_owner(
    file: &ClusterFile,
    old: &mut Server,
    record: &Move,
) -> Result<(), Failure> {
    let map = ids::map(file).await?;
    let owner = map.node_of(record.shard).unwrap_or(&record.target).clone();
    if owner == record.source {
        return Err(Failure::new(format!(
            "shard {} lives on {owner} by the map: what is there is no old copy",
            record.shard
        ))
        .hint("`shardid moves` and `shardid verify` say what stands"));
    }
    let mut server = Server::look(file, &owner).await?;
    let query = sqlx::query_as(sql!("move/journal/schema_of.sql")).bind(record.shard.as_sql());
    let home: Option<fence::Home> = server.row(query).await?;
    let open = home.filter(|home| home.state != "moved");
    let Some(home) = open else {
        return Err(Failure::new(format!(
            "node {owner} does not have shard {}, although the map says so: the old copy on {} is the last one",
            record.shard, record.source
        ))
        .hint("`shardid verify` says what is wrong there"));
    };
    let of = |schema: &str| {
        sqlx::query_scalar::<_, String>(sql!("move/clean/tables.sql")).bind(schema.to_owned())
    };
    let there: BTreeSet<String> = server.column(of(&home.schema)).await?.into_iter().collect();
    let mut missing = old.column(of(&record.schema)).await?;
    missing.retain(|table| !there.contains(table));
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "the old copy of schema {} on {} has tables that node {owner} has not: {}",
            record.schema,
            record.source,
            missing.join(", ")
        ))
        .hint("where they were dropped or renamed on purpose, do the same in the old copy, then run the same command again")),
    }
}

/// A move that stands and is going back to an old copy.
async fn going_back(journal: &mut Journal, id: i64) -> Result<Option<Failure>, Failure> {
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

/// Refuses to go back where the copy that is left, which goes at the end, would take something along.
pub(super) async fn check_new_copy(server: &mut Server, record: &Move) -> Result<(), Failure> {
    let outside = outside_of(server, &record.schema).await?;
    if outside.is_empty() { Ok(()) } else { Err(takes_along(server, record, &outside)) }
}

async fn look_at_old_copy(server: &mut Server, record: &Move) -> Result<(), Failure> {
    let schema = record.schema.as_str();
    let of_schema = |text: &'static str| sqlx::query_scalar::<_, String>(text).bind(schema);
    let made = server.column(of_schema(sql!("move/clean/made_since.sql"))).await?;
    check_made_since(server, record, &made)?;
    let outside = outside_of(server, schema).await?;
    if outside.is_empty() { Ok(()) } else { Err(takes_along(server, record, &outside)) }
}

/// What would go with a schema and is none of it, nor ours, which goes before.
async fn outside_of(server: &mut Server, schema: &str) -> Result<Vec<String>, Failure> {
    let query = sqlx::query_scalar(sql!("move/closure.sql", "move/clean/outside.sql")).bind(schema);
    let mut outside: Vec<String> = server.column(query).await?;
    outside.retain(|what| {
        !["shardid_move_", "shardid_back_"]
            .iter()
            .any(|ours| what.contains(&format!(" in publication {ours}")))
    });
    Ok(outside)
}

/// Ends the way back of a move that is done, and drops the old copy.
pub(crate) async fn retire(file: &ClusterFile, id: i64) -> Result<(), Failure> {
    let mut journal = Journal::open(file).await?;
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
    watched(file, nodes_of(file, &record), drop_old_copy(file, journal, record)).await
}

async fn drop_old_copy(
    file: &ClusterFile,
    mut journal: Journal,
    mut record: Move,
) -> Result<(), Failure> {
    let id = record.id;
    let mut source = Server::connect(file, &record.source).await?;
    let mut target = Server::connect(file, &record.target).await?;
    for server in [&mut source, &mut target] {
        checks::check_member(server, file).await?;
    }
    journal.claim(&mut record, &mut [&mut source, &mut target]).await?;
    // Once more, now that nobody else works on it; after this there is no way back.
    if !record.retiring {
        if let Some(going) = going_back(&mut journal, id).await? {
            return Err(going);
        }
        look_at_old_copy(&mut source, &record).await?;
        check_owner(file, &mut source, &record).await?;
    }
    if !journal.begin_retire(id).await? {
        return Err(going_back(&mut journal, id).await?.unwrap_or_else(|| overtaken(id)));
    }
    // What somebody's reading has kept there since the shard was opened.
    fence::switch_off(&mut target, record.shard.as_sql(), &record.schema).await?;
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
