//! Waiting for a stream: until all is copied, until the target is close, until it
//! has everything. Says meanwhile how far it is.

use std::time::{Duration, Instant};

use super::context::MoveContext;
use super::copy_pace::{Copy, Table};
use super::login;
use super::move_session::MoveSession;
use super::outcome::Fence;
use super::pace::Pace;
use super::stop::check_stop;
use super::throttle;
use super::{checks, origin, schema, sequences, stream, unseen};
use crate::failure::Failure;
use crate::postgres::descent::SlotFault;
use crate::postgres::sql;

/// How far behind the target may be when the fence is raised.
const CLOSE_BYTES: i64 = 256 * 1024;

/// How often a stream may fail (and be tried again by the server) before the move stops.
const ERRORS_MAX: i64 = 5;

/// How often the definitions are looked at, to stop before all is copied in vain.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How long a stream may be without a reader, which its server starts anew every 5 s, before
/// it is asked why.
const UNREAD_MAX: Duration = Duration::from_secs(8);

/// How often it is asked how far the copy is.
pub(super) const ASK_EVERY: Duration = Duration::from_millis(500);

#[derive(sqlx::FromRow)]
struct Copying {
    tables: i64,
    copied: i64,
    /// Copied, and at one moment with every other table that is ready.
    ready: i64,
    errors: i64,
    enabled: bool,
    /// A table of the schema that is none of the subscription's.
    left_out: Option<String>,
}

/// Waits until every table is copied and all are at one moment, and says how far it is. Until
/// then a row may be there without the one that it refers to, so no foreign key can be made.
pub(super) async fn await_copy(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let name = context.record.stream();
    let mut copy = Copy::of(context).await?;
    let (mut looked, mut asked) = (Instant::now(), Instant::now());
    let mut errors = Errors::default();
    let mut stall = StallTimeout::default();
    let mut reading = Reading::default();
    loop {
        let query = sqlx::query_as(sql!("move/stream/copying.sql"))
            .bind(name.as_str())
            .bind(context.record.schema.as_str());
        let now: Copying =
            context.target.row(query).await?.ok_or_else(|| stream::gone(context, &name))?;
        if now.ready == now.tables {
            check_none_left_out(context, now.left_out.as_deref())?;
            context.progress.clear();
            return stream::let_kinds(&mut context.source, &name).await;
        }
        errors.see(context, now.errors).await?;
        check_enabled(context, &name, now.enabled)?;
        let lag = lag(context, &name, None).await?;
        reading.see(context, lag.active).await?;
        // While tables are copied, that the stream goes on does not mean that they do.
        let is_copied = now.copied == now.tables;
        let applied = if is_copied { lag.position } else { 0 };
        stall.see(context, (now.ready, now.copied, copy.arrived.clone(), applied))?;
        if is_copied {
            nudge(&mut context.source).await?;
        }
        check_stop()?;
        if asked.elapsed() >= ASK_EVERY {
            asked = Instant::now();
            let query = sqlx::query_as(sql!("move/stream/copied.sql")).bind(name.as_str());
            copy.see(asked, &context.target.rows::<Table>(query).await?);
            let text = copy.to_string();
            context.progress.at(copy.share(), &text);
        }
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            schema::check_definitions(context).await?;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Refuses to take a copy for whole that has a table to which the stream brings nothing.
fn check_none_left_out(context: &MoveContext<'_>, left_out: Option<&str>) -> Result<(), Failure> {
    let Some(table) = left_out else { return Ok(()) };
    let (id, shard, to) = (context.record.id, context.record.shard, &context.target.node);
    let (schema, name) = (&context.record.schema, context.record.stream());
    Err(Failure::new(format!(
        "table {table} of the copy in schema {schema} is none of subscription {name}"
    ))
    .at(format!("node {to}"))
    .detail("It was made there during the move, and no row comes to it.")
    .hint(format!("`shardid abort {id}`, then `shardid move {shard} --to {to}` again")))
}

/// Refuses to wait for a subscription that somebody has disabled.
fn check_enabled(context: &MoveContext<'_>, name: &str, enabled: bool) -> Result<(), Failure> {
    let id = context.record.id;
    let disabled = || {
        Failure::new(format!("subscription {name} is disabled"))
            .at(format!("node {}", context.target.node))
            .hint(format!("`ALTER SUBSCRIPTION {name} ENABLE;` there, then `shardid resume {id}`"))
    };
    if enabled { Ok(()) } else { Err(disabled()) }
}

/// How often a stream has failed since we look; the server counts from its start.
#[derive(Default)]
struct Errors {
    before: Option<i64>,
}

impl Errors {
    /// Fails where the stream has failed too often, and says what was changed if that is why.
    async fn see(&mut self, context: &mut MoveContext<'_>, errors: i64) -> Result<(), Failure> {
        let Err(failure) = self.check(context, errors) else { return Ok(()) };
        schema::check_definitions(context).await?;
        Err(failure)
    }

    fn check(&mut self, context: &MoveContext<'_>, errors: i64) -> Result<(), Failure> {
        // A server that was restarted begins to count anew.
        let before = self.before.map_or(errors, |before| before.min(errors));
        self.before = Some(before);
        if errors - before < ERRORS_MAX {
            return Ok(());
        }
        Err(Failure::new(format!("replication has failed {} times", errors - before))
            .at(format!("node {}", context.target.node))
            .hint(format!(
                "the server's log there says why; then `shardid resume {0}` or `shardid abort {0}`",
                context.record.id
            )))
    }
}

/// Since when a stream has no reader.
#[derive(Default)]
struct Reading(Option<Instant>);

impl Reading {
    /// Notes whether there is a reader, and fails where there can be none.
    async fn see(&mut self, context: &mut MoveContext<'_>, active: bool) -> Result<(), Failure> {
        let since = *self.0.get_or_insert_with(Instant::now);
        if active || since.elapsed() < UNREAD_MAX {
            self.0 = self.0.filter(|_| !active);
            return Ok(());
        }
        // Asked again after a while, if it is not that.
        self.0 = None;
        let (name, limit) = (context.record.stream(), context.source.address.connect_timeout());
        let why = login::try_again(&mut context.target, &name, limit).await?;
        let refused =
            |why: String| login::refused(&context.target.node, &context.source.node, &why);
        why.map_or(Ok(()), |why| Err(refused(why)))
    }
}

/// Since when something has not changed.
pub(super) struct StallTimeout<T>(Option<(T, Instant)>);

impl<T> Default for StallTimeout<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: PartialEq> StallTimeout<T> {
    /// Notes how far something is, and fails where that has long been the same.
    pub(super) fn see(&mut self, context: &MoveContext<'_>, far: T) -> Result<(), Failure> {
        match &self.0 {
            Some((before, since)) if *before == far => {
                if since.elapsed() < context.options.stall_max {
                    return Ok(());
                }
                let (source, target) = (&context.source.node, &context.target.node);
                Err(Failure::new(format!(
                    "nothing has come from {source} to {target} for {} s",
                    context.options.stall_max.as_secs()
                ))
                .hint(format!(
                    "does {target} still reach {source}, and does nobody lock the new copy? see pg_stat_subscription and the server's log on {target}; then `shardid resume {0}` or `shardid abort {0}`",
                    context.record.id
                )))
            }
            _ => {
                self.0 = Some((far, Instant::now()));
                Ok(())
            }
        }
    }
}

/// Waits until the target is close behind, and the copy is of what the tables are.
pub(super) async fn await_close(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    throttle::hold_back(context).await?;
    unseen::before_fence(context).await?;
    catch_up(context).await?;
    schema::check_unchanged(context).await?;
    checks::check_rights(context).await?;
    sequences::prepare(context).await?;
    // So that its server need not keep what the source has sent.
    if context.record.way_back && context.record.rollback_of.is_none() {
        let name = context.record.way_back_stream();
        match origin::slot_fault(&mut context.target, &name).await? {
            None => {}
            // As on a standby that has taken over: what it lacks of the copy nobody sends again.
            Some(fault @ SlotFault::Gone) => {
                let node = &context.target.node;
                return Err(origin::slot_is_no_more(&context.record, node, &name, fault));
            }
            // Everything up to here came from the source: another one does as well.
            Some(SlotFault::Lost) => {
                stream::remove_slot(&mut context.target, &name).await?;
                stream::prepare_way_back(context).await?;
            }
        }
        context.target.change(sqlx::query(sql!("move/stream/advance.sql")).bind(name)).await?;
    }
    Ok(())
}

/// Waits until the target is close behind.
pub(super) async fn catch_up(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let name = context.record.stream();
    let (mut looked, mut known) = (Instant::now(), Errors::default());
    let (mut stall, mut reading) = (StallTimeout::default(), Reading::default());
    let (mut applied, mut caught_up) = (Pace::default(), Pace::default());
    loop {
        let lag = lag(context, &name, None).await?;
        // Behind by nothing but what idle servers write of themselves, and somebody reads.
        if lag.active && lag.bytes <= CLOSE_BYTES {
            context.progress.clear();
            return Ok(());
        }
        let query = sqlx::query_as(sql!("move/stream/copying.sql"))
            .bind(name.as_str())
            .bind(context.record.schema.as_str());
        let now: Copying =
            context.target.row(query).await?.ok_or_else(|| stream::gone(context, &name))?;
        known.see(context, now.errors).await?;
        check_enabled(context, &name, now.enabled)?;
        reading.see(context, lag.active).await?;
        stall.see(context, lag.position)?;
        check_stop()?;
        applied.see(Instant::now(), lag.position);
        caught_up.see(Instant::now(), -lag.bytes);
        let text = behind(&lag, &applied, &caught_up);
        context.progress.at(0.0, &text);
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            schema::check_unchanged(context).await?;
        }
        nudge(&mut context.source).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn behind(lag: &Lag, applied: &Pace, caught_up: &Pace) -> String {
    let mut text = format!("following: {} kB behind", lag.bytes / 1000);
    if !lag.active {
        text.push_str(", subscriber disconnected");
    }
    if let Some(bytes) = applied.per_second() {
        text.push_str(&format!(", {:.1} MB/s", bytes / 1e6));
    }
    match caught_up.left(lag.bytes) {
        Some(left) => text.push_str(&format!(", about {} s left", left.as_secs())),
        None if caught_up.per_second().is_some() => text.push_str(", not catching up"),
        None => {}
    }
    text
}

/// How far the reader of a slot is.
struct Lag {
    bytes: i64,
    /// Whether there is a reader.
    active: bool,
    /// Up to where it has read, in bytes of WAL.
    position: i64,
}

/// How far the reader of a slot is behind a position, or behind all that is written.
async fn lag(
    context: &mut MoveContext<'_>,
    slot: &str,
    position: Option<&str>,
) -> Result<Lag, Failure> {
    let query =
        sqlx::query_as(sql!("move/slots.sql", "move/stream/lag.sql")).bind(slot).bind(position);
    let row: Option<(Option<i64>, bool, Option<i64>, bool)> = context.source.row(query).await?;
    let (bytes, active, position) = match row {
        Some((bytes, active, position, false)) => (bytes, active, position),
        none => {
            let fault = none.map_or(SlotFault::Gone, |_| SlotFault::Lost);
            let node = context.source.node.clone();
            return Err(origin::cannot_follow(context, &node, slot, fault).await);
        }
    };
    Ok(Lag { bytes: bytes.unwrap_or(i64::MAX), active, position: position.unwrap_or(0) })
}

async fn nudge(server: &mut MoveSession) -> Result<(), Failure> {
    server.run(sqlx::query(sql!("move/stream/nudge.sql"))).await
}

/// Waits until the target has everything that was written before the fence.
pub(super) async fn await_drained(
    context: &mut MoveContext<'_>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    // The fence may be one of an earlier program, and its source another server.
    if !context.source_checked {
        origin::check_source(context).await?;
    }
    let position: Vec<String> =
        context.source.column(sqlx::query_scalar(sql!("move/stream/position.sql"))).await?;
    if drained(context, &position.concat(), deadline).await? {
        return Ok(Fence::Held);
    }
    let seconds = context.options.fence_max.as_secs_f64();
    Ok(Fence::Lost(format!("the target was still behind after {seconds:.1} s")))
}

/// Waits until the target has everything up to a position; false where the time
/// is up before.
pub(super) async fn drained(
    context: &mut MoveContext<'_>,
    position: &str,
    deadline: Instant,
) -> Result<bool, Failure> {
    let name = context.record.stream();
    nudge(&mut context.source).await?;
    loop {
        if lag(context, &name, Some(position)).await?.bytes == 0 {
            return Ok(true);
        }
        if Instant::now() > deadline {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}
