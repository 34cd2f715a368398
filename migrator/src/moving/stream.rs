//! The streams from the source to the target, and the way back: made and removed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use shardid_cluster::LeftoverKind;

use super::ahead;
use super::context::MoveContext;
use super::journal::Move;
use super::login::{self, NewStream};
use super::move_session::{Batch, MoveSession, WAIT_MAX};
use super::{event_triggers, row_guard};
use crate::cuts;
use crate::failure::Failure;
use crate::postgres::sql;
use crate::talk::line;

pub(super) async fn publish(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let (name, schema) = (context.record.stream(), context.record.schema.clone());
    context.leave_on_source(LeftoverKind::Publication, &name).await?;
    publish_on(&mut context.source, &name, &schema).await
}

async fn publish_on(server: &mut MoveSession, name: &str, schema: &str) -> Result<(), Failure> {
    let query = sqlx::query_scalar(sql!("move/stream/publish.sql")).bind(name).bind(schema);
    let statements = server.column(query).await?;
    let owner = sqlx::query_scalar(sql!("move/stream/publisher.sql")).bind(name);
    if !statements.is_empty()
        && let Some(owner) = server.column::<String>(owner).await?.pop()
    {
        return Err(Failure::new(format!("role {owner} has made a publication {name}"))
            .at(format!("node {}", server.node))
            .hint(format!("ALTER PUBLICATION {name} RENAME TO …; there, then go on")));
    }
    server.carry_out(statements).await
}

/// Keeps views and all else that is no table in the shard's schema as they are, unless that is so; whether it had to be done.
pub(super) async fn keep_kinds(context: &mut MoveContext<'_>, name: &str) -> Result<bool, Failure> {
    let schema = context.record.schema.clone();
    let query = sqlx::query_as(sql!("move/stream/own_schema.sql", "move/stream/keep_kinds.sql"))
        .bind(name)
        .bind(schema);
    event_triggers::change(&mut context.source, query).await
}

/// Lets everything be changed again, when all is copied.
pub(super) async fn let_kinds(server: &mut MoveSession, name: &str) -> Result<(), Failure> {
    let query = sqlx::query_as(sql!("move/stream/let_kinds.sql")).bind(name);
    event_triggers::change(server, query).await.map(drop)
}

/// Has a schema's name stay its own for as long as a move stands.
pub(super) async fn keep_name(server: &mut MoveSession, record: &Move) -> Result<(), Failure> {
    let (name, schema) = (record.stream(), &record.schema);
    let query = sqlx::query_as(sql!("move/stream/own_schema.sql", "move/stream/keep_name.sql"))
        .bind(&name)
        .bind(schema);
    if !event_triggers::change(server, query).await? {
        return Ok(());
    }
    // Who was renaming one of the two.
    let kept = sqlx::query_scalar(sql!("move/stream/name_kept.sql")).bind(&name).bind(schema);
    if server.column::<bool>(kept).await? == [true] {
        return Ok(());
    }
    let_name(server, &name).await?;
    Err(Failure::new(format!("another schema has the name {schema} now"))
        .at(format!("node {}", server.node))
        .hint(format!("`shardid resume {}`, when the shard's own has it again", record.id)))
}

/// The same in the transaction that makes the schema, which nobody else knows of.
pub(super) async fn keep_new_name(server: &mut MoveSession, record: &Move) -> Result<(), Failure> {
    let query = sqlx::query_as(sql!("move/stream/own_schema.sql", "move/stream/keep_name.sql"));
    event_triggers::make(server, query.bind(record.stream()).bind(&record.schema)).await
}

/// The same on both nodes of a move back, whose copies are there.
pub(super) async fn keep_names(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let (name, schema) = (context.record.stream(), context.record.schema.clone());
    for server in [&mut context.source, &mut context.target] {
        let_others(server, &name, &schema).await?;
        keep_name(server, &context.record).await?;
    }
    Ok(())
}

/// Has a node keep a schema's name for no move that is over: it may have been given up for gone.
pub(super) async fn let_others(
    server: &mut MoveSession,
    name: &str,
    schema: &str,
) -> Result<(), Failure> {
    let query = sqlx::query_as(sql!("move/stream/let_others.sql")).bind(name).bind(schema);
    event_triggers::change(server, query).await.map(drop)
}

/// Has both nodes keep no name for a move any more.
pub(super) async fn let_names(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let name = context.record.stream();
    let_name(&mut context.source, &name).await?;
    let_name(&mut context.target, &name).await
}

/// The same on one of them.
pub(super) async fn let_name(server: &mut MoveSession, name: &str) -> Result<(), Failure> {
    let query = sqlx::query_as(sql!("move/stream/let_name.sql")).bind(name);
    event_triggers::change(server, query).await.map(drop)
}

/// Why a move does not go on whose subscription is gone.
pub(super) fn gone(context: &MoveContext<'_>, name: &str) -> Failure {
    Failure::new(format!("subscription {name} is gone"))
        .at(format!("node {}", context.target.node))
        .hint(format!("`shardid abort {}`, then move the shard again", context.record.id))
}

/// Makes a slot, for which every transaction that has written anywhere on the server has to end.
pub(super) async fn make_slot(
    server: &mut MoveSession,
    name: &str,
    most: Duration,
) -> Result<(), Failure> {
    let began = Instant::now();
    server.bound(most).await?;
    // It waits for one transaction after the other.
    server.wait_at_most(Duration::ZERO).await?;
    let made = server.change(sqlx::query(sql!("move/stream/slot.sql")).bind(name)).await;
    server.wait_at_most(most.min(WAIT_MAX)).await?;
    server.bound(Duration::ZERO).await?;
    match made {
        Ok(()) => Ok(()),
        Err(failure) if began.elapsed() < most => Err(failure),
        Err(failure) => Err(held_up(server, Some(failure)).await?),
    }
}

/// Why a slot was not made in time.
pub(super) async fn held_up(
    server: &mut MoveSession,
    failure: Option<Failure>,
) -> Result<Failure, Failure> {
    let holders: Vec<(String, String)> =
        server.rows(sqlx::query_as(sql!("move/prepared.sql", "move/check/writing.sql"))).await?;
    Ok(match (holders.into_iter().next(), failure) {
        (Some((who, how)), _) => Failure::new(format!(
            "nothing can follow node {} before transactions end that write there: {who}",
            server.node
        ))
        .hint(format!("wait for it, or end it: {how}")),
        (None, Some(failure)) => failure,
        (None, None) => Failure::new("no replication slot could be made in time")
            .at(format!("node {}", server.node))
            .hint("look at pg_stat_activity there, then run the same command again"),
    })
}

/// For how many seconds the oldest transaction has been open that a new slot has
/// to wait for; none where there is none of more than ten.
pub(super) async fn oldest_transaction(server: &mut MoveSession) -> Result<Option<i64>, Failure> {
    let old: Option<(i64, i64)> = server.row(sqlx::query_as(sql!("move/check/old.sql"))).await?;
    Ok(old.and_then(|(count, seconds)| (count > 0).then_some(seconds)))
}

/// Makes publication and slot for the way back; nothing reads them yet.
pub(super) async fn prepare_way_back(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    if !context.record.way_back {
        return Ok(());
    }
    let (name, schema) = (context.record.way_back_stream(), context.record.schema.clone());
    context.leave_on_target(LeftoverKind::Publication, &name).await?;
    publish_on(&mut context.target, &name, &schema).await?;
    context.leave_on_target(LeftoverKind::Slot, &name).await?;
    if let Some(seconds) = oldest_transaction(&mut context.target).await? {
        context.say(format_args!(
            "a transaction on {} has been open for {seconds} s: the way back is ready when it ends",
            context.target.node
        ));
    }
    let most = context.options.stall_max;
    make_slot(&mut context.target, &name, most).await
}

/// Lets the way back begin here: everything so far came from the source.
///
/// Only behind the fence, and before the target takes its first write. It is
/// written into the journal, since a slot forgets in a crash that it was advanced.
pub(super) async fn seal_way_back(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    if !context.record.way_back {
        return Ok(());
    }
    let flushed: Vec<String> =
        context.target.column(sqlx::query_scalar(sql!("move/stream/flushed.sql"))).await?;
    let seal = flushed.concat();
    let now = ahead::descent(&mut context.target).await?.descent.now;
    context.journal.note_seal(context.record.id, &seal, now).await?;
    context.record.seal = Some(seal);
    Ok(())
}

/// Ends the stream that filled the target.
pub(super) async fn end(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let name = context.record.stream();
    remove_subscription(&mut context.target, Some(&mut context.source), &name).await?;
    context.forget(&[LeftoverKind::Subscription], &name).await?;
    remove_slot(&mut context.source, &name).await?;
    context.forget(&[LeftoverKind::Slot], &name).await?;
    remove_publication(&mut context.source, &name).await?;
    context.forget(&[LeftoverKind::Publication], &name).await
}

/// Has the old copy follow the new one, from its first write on.
pub(super) async fn open_way_back(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    if !context.record.way_back {
        return Ok(());
    }
    let name = context.record.way_back_stream();
    context.leave_on_source(LeftoverKind::Subscription, &name).await?;
    let Some(seal) = context.record.seal.clone() else {
        return Err(Failure::new("the journal does not say where the way back begins"));
    };
    let back = row_guard::give_back(&mut context.source, &context.record).await?;
    back.into_iter().for_each(|warning| context.say(warning));
    let stream = NewStream {
        name: &name,
        schema: &context.record.schema,
        copy: false,
        enabled: false,
        unguarded: format!("`shardid resume {}`", context.record.id),
    };
    let subscribed = login::subscribe(&mut context.source, &mut context.target, &stream).await;
    if subscribed.is_err()
        && let Some(failure) = made_since(context).await?
    {
        return Err(failure);
    }
    subscribed?;
    cuts::at(format_args!("way-back/made"));
    let begin = sqlx::query(sql!("move/stream/begin_at.sql")).bind(name.as_str()).bind(seal);
    context.source.change(begin).await?;
    cuts::at(format_args!("way-back/placed"));
    let query = sqlx::query_scalar(sql!("move/stream/enable.sql")).bind(name);
    let statements = context.source.column(query).await?;
    context.source.carry_out(statements).await
}

/// That the new copy has tables which the old one has not, if it has: PostgreSQL subscribes to all of a schema or to nothing.
async fn made_since(context: &mut MoveContext<'_>) -> Result<Option<Failure>, Failure> {
    let Move { id, shard, schema, .. } = context.record.clone();
    let tables = || {
        sqlx::query_as::<_, (String, bool)>(sql!("move/clean/tables.sql"))
            .bind(schema.as_str().to_owned())
    };
    let old: BTreeSet<String> =
        context.source.rows(tables()).await?.into_iter().map(|(name, _)| name).collect();
    let new = context.target.rows(tables()).await?.into_iter().map(|(name, _)| name);
    let made: Vec<String> = new.filter(|name| !old.contains(name)).collect();
    let (from, to) = (&context.source.node, &context.target.node);
    Ok((!made.is_empty()).then(|| {
        Failure::new(format!(
            "shard {shard} is open on {to}, and the old copy on {from} cannot follow it yet: tables were made on {to} since the switch, and {from} has not got them: {}",
            made.join(", ")
        ))
        .hint(format!(
            "make the same on {from}, or have them wait in another schema on {to} (ALTER TABLE … SET SCHEMA …); then `shardid resume {id}`"
        ))
    }))
}

/// How long the end of a subscription may take, and how often it is tried:
/// PostgreSQL waits for the processes that work for it, without a bound of its own.
const UNSUBSCRIBE_MAX: Duration = Duration::from_secs(30);
const UNSUBSCRIBE_TRIES: u32 = 3;

/// Ends a subscription, with the role that was made for it and the slots by which its tables
/// were copied.
pub(super) async fn remove_subscription(
    server: &mut MoveSession,
    publisher: Option<&mut MoveSession>,
    name: &str,
) -> Result<(), Failure> {
    let number: Vec<i64> =
        server.column(sqlx::query_scalar(sql!("move/stream/number.sql")).bind(name)).await?;
    let mut tries = 1;
    while !unsubscribe(server, name).await? {
        if tries == UNSUBSCRIBE_TRIES {
            return Err(Failure::new(format!("subscription {name} does not end"))
                .at(format!("node {}", server.node))
                .hint("look at pg_stat_activity there, then run the same command again"));
        }
        tries += 1;
    }
    let role = sqlx::query_scalar(sql!("move/stream/drop_role.sql")).bind(name);
    let statements = server.column(role).await?;
    server.carry_out(statements).await?;
    let stays = sqlx::query_scalar(sql!("move/stream/role_stays.sql")).bind(name);
    if server.column::<bool>(stays).await? == [true] {
        line(format_args!(
            "  note: role {name} stays on node {}, without a right there, since something else of that server names it; `shardid verify` has what drops it",
            server.node
        ));
    }
    if let (Some(number), Some(publisher)) = (number.first(), publisher) {
        let query = sqlx::query_scalar(sql!("move/stream/sync_slots.sql")).bind(number);
        for slot in publisher.column::<String>(query).await? {
            remove_slot(publisher, &slot).await?;
        }
    }
    Ok(())
}

/// Ends a subscription; false where that takes too long.
async fn unsubscribe(server: &mut MoveSession, name: &str) -> Result<bool, Failure> {
    let statements: Vec<String> =
        server.column(sqlx::query_scalar(sql!("move/stream/unsubscribe.sql")).bind(name)).await?;
    server.bound(UNSUBSCRIBE_MAX).await?;
    let mut ended = true;
    for statement in statements {
        if let Batch::LockTimeout = server.one_batch(vec![statement]).await? {
            ended = false;
            break;
        }
    }
    server.bound(Duration::ZERO).await?;
    Ok(ended)
}

/// Drops a slot, once nobody reads it any more.
pub(super) async fn remove_slot(server: &mut MoveSession, name: &str) -> Result<(), Failure> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        server.change(sqlx::query(sql!("move/stream/release_slot.sql")).bind(name)).await?;
        server.change(sqlx::query(sql!("move/stream/drop_slot.sql")).bind(name)).await?;
        let gone = sqlx::query_scalar(sql!("move/stream/slot_gone.sql")).bind(name);
        if server.column::<bool>(gone).await? == [true] {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(Failure::new(format!("replication slot {name} is still being read"))
                .at(format!("node {}", server.node))
                .hint("look at pg_replication_slots there, then try again"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Drops a publication, with what was kept while it was copied.
pub(super) async fn remove_publication(
    server: &mut MoveSession,
    name: &str,
) -> Result<(), Failure> {
    let_kinds(server, name).await?;
    let query = sqlx::query_scalar(sql!("move/stream/unpublish.sql")).bind(name);
    let statements = server.column(query).await?;
    server.carry_out(statements).await
}
