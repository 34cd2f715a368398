//! The fence: raise it, take it down, make it the old copy's guard.

use std::fmt;
use std::time::{Duration, Instant};

use shardid_cluster::{LeftoverKind, MapVersion, MoveKind, NodeName, Shard, ShardSet};
use sqlx::FromRow;

use super::ahead::{close_and_open, open_behind_fence, open_on_both};
use super::context::MoveContext;
use super::elsewhere::{Elsewhere, Generators, check_sequence};
use super::held::{held, holders, writer};
use super::home::{Home, is_open};
use super::journal::Move;
use super::move_session::{AGAIN, Batch, MoveSession};
use super::outcome::Fence;
use super::progress::line;
use super::{clocks, sequences, take_away};
use crate::cuts;
use crate::failure::Failure;
use crate::file::{Address, ClusterFile};
use crate::postgres::effects::NodeSession;
use crate::postgres::{failure, ids, sql};

/// The longest a fence waits for the locks on the tables, and again for those who
/// took ids: writers queue behind it meanwhile. Both together are less than
/// `deadlock_timeout` (1 s), so that where a writer waits for the fence and the
/// fence for the writer it is the fence that gives way.
const LOCK_MS_MAX: u64 = 400;

/// Locks that are only taken for a moment wait no longer than this.
const LOCK_MS: u64 = 10_000;

/// What the opening of a shard waits for, which is open nowhere meanwhile: giving up sooner helps nobody.
const OPEN_MS: u64 = 60_000;

pub(super) async fn raise(
    context: &mut MoveContext<'_>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    let (shard, schema) = (context.record.shard.as_sql(), context.record.schema.clone());
    if let Some(other) = broken(&mut context.source, &schema).await?.iter().find(|it| it.is_other())
    {
        return Err(replaced(context, other));
    }
    // What was looked at before the move began may have been days ago.
    if let Some(behind) = clocks::behind(&mut context.source, &mut context.target).await? {
        return Err(behind);
    }
    context.leave_on_source(LeftoverKind::Fence, &schema).await?;
    let query = sqlx::query_scalar(sql!("move/fence/raise.sql")).bind(shard).bind(&schema);
    let statements = context.source.column(query).await?;
    let left = deadline.saturating_duration_since(Instant::now()).as_millis();
    let lock_ms = u64::try_from(left).unwrap_or(LOCK_MS_MAX).clamp(1, LOCK_MS_MAX);
    Ok(match context.source.quickly(statements, lock_ms).await? {
        Batch::Done => Fence::Held,
        Batch::LockTimeout => Fence::Lost(match holders(&mut context.source, &schema).await {
            Some(holders) => format!("a lock on its tables was held for {lock_ms} ms by {holders}"),
            None => match writer(&mut context.source).await {
                Some(writer) => {
                    format!("it waited for {lock_ms} ms, perhaps for what is written by {writer}")
                }
                None => format!("somebody held a lock on its tables for {lock_ms} ms"),
            },
        }),
    })
}

/// A trigger of a fence that is not as it was made.
#[derive(Debug, FromRow)]
pub(super) struct Broken {
    pub(super) table_name: String,
    trigger_name: String,
    /// It is not there, or the table is a new one.
    pub(super) is_missing: bool,
    /// What it calls instead, and who owns that, where somebody else's has taken its place.
    calls: Option<String>,
    owner: Option<String>,
}

impl Broken {
    fn is_other(&self) -> bool {
        self.calls.is_some()
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trigger {} of {} ", self.trigger_name, self.table_name)?;
        match (&self.calls, &self.owner) {
            (Some(calls), Some(owner)) => {
                write!(f, "is not the fence's: it calls {calls}, of role {owner}")
            }
            _ if self.is_missing => f.write_str("is not there"),
            _ => f.write_str("was switched off"),
        }
    }
}

/// The triggers of a fence that do not hold.
pub(super) async fn broken(server: &mut MoveSession, schema: &str) -> Result<Vec<Broken>, Failure> {
    server.rows(sqlx::query_as(sql!("move/fence/broken.sql")).bind(schema)).await
}

/// Looks whether the fence is what was raised, in all its triggers.
pub(super) async fn look(context: &mut MoveContext<'_>) -> Result<Fence, Failure> {
    let broken = broken(&mut context.source, &context.record.schema).await?;
    if let Some(other) = broken.iter().find(|it| it.is_other()) {
        return Err(replaced(context, other));
    }
    Ok(broken.first().map_or(Fence::Held, |first| Fence::Lost(first.to_string())))
}

fn replaced(context: &MoveContext<'_>, other: &Broken) -> Failure {
    let Move { id, shard, source, target, .. } = &context.record;
    let Broken { table_name, trigger_name, .. } = other;
    let mut again =
        format!("`shardid abort {id}`, then `shardid move {shard} --to {target}` again");
    if context.record.kind == MoveKind::Rollback {
        again = format!("`shardid resume {id}`");
    }
    Failure::new(other.to_string())
        .at(format!("node {source}"))
        .hint(format!("ALTER TRIGGER {trigger_name} ON {table_name} RENAME TO ...; there; {again}"))
}

/// Takes the fence down, if anything of it stands.
pub(super) async fn lower(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    sequences::let_all_go(context);
    lower_on(&mut context.source, &context.record).await?;
    context.forget(&[LeftoverKind::Fence], &context.record.schema.clone()).await
}

/// The same with a session on the source alone: the target may be down.
pub(super) async fn lower_on(source: &mut MoveSession, record: &Move) -> Result<(), Failure> {
    let lowered = lower_shard(source, record.shard, &record.schema).await;
    lowered.map_err(|failure| failure.hint(resume(record)))
}

/// The same for a shard of which nothing is known but where it is.
pub(super) async fn lower_shard(
    source: &mut MoveSession,
    shard: Shard,
    schema: &str,
) -> Result<(), Failure> {
    let number = shard.as_sql();
    let query = sqlx::query_scalar(sql!("move/fence/stands.sql")).bind(number).bind(schema);
    if source.column::<bool>(query).await? == [true] {
        let query = sqlx::query_scalar(sql!("move/fence/lower.sql")).bind(number);
        let statements = source.column(query).await?;
        if let Batch::LockTimeout = source.all_or_none(statements, LOCK_MS).await? {
            let what = "could not take the fence down";
            return Err(held(source, schema, what).await);
        }
        take_away::in_passing(source, shard, schema).await?;
    }
    Ok(())
}

fn resume(record: &Move) -> String {
    if record.id == 0 {
        return AGAIN.to_owned();
    }
    format!(
        "SELECT pg_catalog.pg_terminate_backend(…) there ends a process, ROLLBACK PREPARED '…' a prepared transaction; then `shardid resume {}` goes on",
        record.id
    )
}

/// Makes of the source an old copy that refuses clients by the new node's name.
pub(super) async fn guard(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    fence_anew(context).await?;
    let version = context.journal.version_of(context.record.shard).await?;
    let whole = context.record.whole;
    let query = sqlx::query_scalar(sql!("move/fence/guard.sql"))
        .bind(context.record.shard.as_sql())
        .bind(context.target.node.as_str())
        .bind(version)
        .bind(context.record.stream())
        .bind(whole.map(|whole| whole.of.system_identifier))
        .bind(whole.map(|whole| i64::from(whole.of.timeline)))
        .bind(whole.map(|whole| i64::from(whole.database)))
        .bind(whole.map(|whole| whole.position.cast_signed()));
    let statements = context.source.column(query).await?;
    match sequences::close_with(context, statements).await? {
        Batch::Done => Ok(()),
        Batch::LockTimeout => {
            let what = "could not close the old copy";
            Err(held(&mut context.source, &context.record.schema, what)
                .await
                .hint(resume(&context.record)))
        }
    }
}

/// Raises the fence once more on a source that has lost it since the switch, as one that was promoted or restored: it
/// is open there, and what was written since is there alone. Refuses to, unless that is accepted, and where a move back
/// would drop it before it can be brought over.
async fn fence_anew(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let (id, shard) = (context.record.id, context.record.shard);
    let home = Home::of(&mut context.source, shard).await?;
    if home.is_none_or(|home| home.state != "open") {
        return Ok(());
    }
    let is_open = is_open(&mut context.target, shard).await?;
    let drops_it_first = context.record.kind == MoveKind::Rollback && !is_open;
    if !context.options.accept_loss || drops_it_first {
        let (source, target) = (&context.source.node, &context.target.node);
        let hint = match context.record.kind {
            MoveKind::Copy => close_and_open(&context.record),
            MoveKind::Rollback if is_open => open_on_both(&context.record),
            MoveKind::Rollback => format!(
                "`shardid abort {id}` leaves it on {source}, and keeps the old copy on {target}, which has all that was written before the fence"
            ),
        };
        return Err(Failure::new(format!("shard {shard} is {}", open_behind_fence(source)))
            .detail(format!("{source} was promoted or restored since, and what was written there after that is not on {target}"))
            .hint(hint));
    }
    // Before it is closed: afterwards nothing shows it.
    context.journal.note_reopened(&mut context.record).await?;
    cuts::at(format_args!("reopened/noted"));
    let schema = &context.record.schema;
    let query = sqlx::query_scalar(sql!("move/fence/raise.sql")).bind(shard.as_sql()).bind(schema);
    let statements = context.source.column(query).await?;
    match context.source.all_or_none(statements, LOCK_MS).await? {
        Batch::Done => Ok(()),
        Batch::LockTimeout => {
            let (schema, what) = (schema.clone(), "could not close the old copy");
            Err(held(&mut context.source, &schema, what).await.hint(resume(&context.record)))
        }
    }
}

/// Lets the target give ids and take writes.
pub(super) async fn open(
    context: &mut MoveContext<'_>,
    elsewhere: Elsewhere,
) -> Result<(), Failure> {
    let version = context.journal.version_of(context.record.shard).await?;
    let mut known = Generators::of(&mut context.source, context.record.shard).await?;
    known.rules = sequences::noted(&mut context.target, &context.record).await?;
    let gone = sequences::go_by_number(&mut context.target, &context.record, &mut known).await?;
    let mut opening = match context.locked {
        true => context.opening.take(),
        false => None,
    };
    let opener = opening.as_mut();
    open_by(&mut context.target, opener, context.file, &context.record, version, known, elsewhere)
        .await?;
    sequences::say_gone(&context.target, &context.record, &gone);
    sequences::say_at_end(&mut context.target, &context.record, None).await
}

/// The same with a session on the target alone: the source may be gone.
pub(super) async fn open_on(
    target: &mut MoveSession,
    file: &ClusterFile,
    record: &Move,
    version: i64,
    known: Generators,
    elsewhere: Elsewhere,
) -> Result<(), Failure> {
    open_by(target, None, file, record, version, known, elsewhere).await
}

/// The same in the transaction of a session that has the sequences locked already, if one has.
async fn open_by(
    target: &mut MoveSession,
    opener: Option<&mut MoveSession>,
    file: &ClusterFile,
    record: &Move,
    version: i64,
    known: Generators,
    elsewhere: Elsewhere,
) -> Result<(), Failure> {
    let mut statements = match is_open(target, record.shard).await? {
        true => Vec::new(),
        false => elsewhere.go_on(target, file, record, &known).await?,
    };
    let (mut schemas, mut names, mut layouts) = (Vec::new(), Vec::new(), Vec::new());
    for (schema, name, layout) in known.id_sequences {
        schemas.push(schema);
        names.push(name);
        layouts.push(layout);
    }
    let (dropped_layouts, floors): (Vec<_>, Vec<_>) = known.dropped.into_iter().unzip();
    let sequence = known.sequence.clone();
    let query = sqlx::query_scalar(sql!("move/fence/open.sql"))
        .bind(record.shard.as_sql())
        .bind(record.schema.as_str())
        .bind(target.node.to_string())
        .bind(version)
        .bind(known.sequence)
        .bind(schemas)
        .bind(names)
        .bind(layouts)
        .bind(file.declared.layout.as_str())
        .bind(file.declared.name.as_str())
        .bind(dropped_layouts)
        .bind(floors);
    statements.extend(target.column::<String>(query).await?);
    let opened = match opener {
        Some(opener) => {
            statements.insert(0, format!("SET LOCAL lock_timeout = {OPEN_MS}"));
            statements.push("COMMIT".to_owned());
            opener.one_batch(statements).await
        }
        None => target.all_or_none(statements, OPEN_MS).await,
    };
    let opened = match opened {
        Err(failure) => {
            // It may be that somebody has dropped it on the copy, or given it another name.
            check_sequence(target, record, &sequence).await?;
            return Err(failure);
        }
        Ok(opened) => opened,
    };
    match opened {
        Batch::Done => take_away::in_passing(target, record.shard, &record.schema).await,
        Batch::LockTimeout => {
            let what = "could not open the shard";
            Err(held(target, &record.schema, what).await.hint(resume(record)))
        }
    }
}

/// How often a node is told again when another move was quicker.
const TELLS_MAX: u32 = 10;

/// Gives every node the new map. One that is down hears of it by `shardid apply`.
pub(super) async fn tell_nodes(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let needed = [&context.source.node, &context.target.node];
    tell_of(context.file, context.record.shard, &needed).await
}

/// Gives every node the map that has a shard in a new place; these have to hear of it.
pub(super) async fn tell_of(
    file: &ClusterFile,
    shard: Shard,
    needed: &[&NodeName],
) -> Result<(), Failure> {
    for (node, address) in file.postgres() {
        let mut told = tell(file, shard, node, address).await;
        for _ in 1..TELLS_MAX {
            if told.is_ok() {
                break;
            }
            // Another move may have brought a newer map there than we had read.
            tokio::time::sleep(Duration::from_millis(20)).await;
            told = tell(file, shard, node, address).await;
        }
        if let Err(failure) = told {
            if needed.contains(&node) {
                return Err(failure);
            }
            line(format_args!(
                "  node {node} was not told of the new map; `shardid apply` does when it is back"
            ));
        }
    }
    Ok(())
}

async fn tell(
    file: &ClusterFile,
    shard: Shard,
    node: &NodeName,
    address: &Address,
) -> Result<(), Failure> {
    let connection = crate::postgres::connect(node, address, "move").await?;
    let mut session = NodeSession { node: node.clone(), connection };
    session.bound().await?;
    let map = ids::map(file).await?;
    let query = sqlx::query_as(sql!("move/journal/copy_version.sql"));
    let (known, held): (Option<i64>, Vec<i32>) =
        query.fetch_one(&mut session.connection).await.map_err(|error| failure(node, &error))?;
    let mut shards: ShardSet = std::iter::once(shard).collect();
    if known.is_none_or(|known| known < map.version.0 - 1) {
        // It was down, has missed other shards, too, and is not to seem to know of them. What it
        // holds, or should, is for `shardid plan` where that is not so.
        let here = map.on(node);
        let elsewhere = map.shards().without(&here);
        shards = shards.or(&elsewhere.iter().filter(|s| !held.contains(&s.as_sql())).collect());
    }
    session.place_shards(&file.declared, &map, MapVersion(map.version.0), &shards).await
}
