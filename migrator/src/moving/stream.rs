//! The streams: from the source to the target, and the way back.

use std::time::{Duration, Instant};

use super::drive::cut;
use super::fence::Fence;
use super::road::Road;
use super::schema;
use super::sequences;
use super::server::Server;
use super::stop;
use crate::failure::Failure;
use crate::postgres::sql;

/// How far behind the target may be when the fence is raised.
const CLOSE_BYTES: i64 = 256 * 1024;

/// How often a stream may fail (and be tried again by the server) before the move stops.
const ERRORS_MAX: i64 = 5;

#[derive(sqlx::FromRow)]
struct Copying {
    tables: i64,
    copied: i64,
    rows: i64,
    bytes: i64,
    errors: i64,
}

pub(super) async fn publish(road: &mut Road<'_>) -> Result<(), Failure> {
    let (name, schema) = (road.record.stream(), road.record.schema.clone());
    road.leave_on_source("publication", &name).await?;
    publish_on(&mut road.source, &name, &schema).await
}

async fn publish_on(server: &mut Server, name: &str, schema: &str) -> Result<(), Failure> {
    let query = sqlx::query_scalar(sql!("move/stream/publish.sql")).bind(name).bind(schema);
    let statements = server.column(query).await?;
    server.carry_out(statements).await
}

pub(super) async fn subscribe(road: &mut Road<'_>) -> Result<(), Failure> {
    let name = road.record.stream();
    road.leave_on_source("slot", &name).await?;
    make_slot(&mut road.source, &name).await?;
    road.leave_on_target("subscription", &name).await?;
    let from = road.source.address.for_servers();
    let query = sqlx::query_scalar(sql!("move/stream/subscribe.sql"))
        .bind(name.as_str())
        .bind(from)
        .bind(true);
    let statements = road.target.column(query).await?;
    quietly(&mut road.target, statements).await
}

async fn make_slot(server: &mut Server, name: &str) -> Result<(), Failure> {
    server.run(sqlx::query(sql!("move/stream/slot.sql")).bind(name)).await
}

/// Not through `carry_out`, which shows a statement that fails: these hold the
/// way in, perhaps with a password.
async fn quietly(server: &mut Server, statements: Vec<String>) -> Result<(), Failure> {
    for statement in statements {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
            .execute(&mut server.connection)
            .await
            .map_err(|error| crate::postgres::failure(&server.node, &error))?;
    }
    Ok(())
}

/// Waits until every table is copied, and says how far it is.
pub(super) async fn await_copy(road: &mut Road<'_>) -> Result<(), Failure> {
    let name = road.record.stream();
    let query = sqlx::query_scalar(sql!("move/stream/size.sql")).bind(road.record.schema.as_str());
    let size: i64 = road.source.column(query).await?.first().copied().unwrap_or(0);
    let (began, mut said) = (Instant::now(), Instant::now());
    let mut errors = Errors::default();
    loop {
        let query = sqlx::query_as(sql!("move/stream/copying.sql")).bind(name.as_str());
        let now: Copying = road.target.row(query).await?.ok_or_else(|| gone(road, &name))?;
        if now.copied == now.tables {
            return Ok(());
        }
        errors.check(road, now.errors)?;
        check_stop()?;
        if said.elapsed() >= Duration::from_secs(5) {
            said = Instant::now();
            road.say(format_args!(
                "copying: {} of {} tables done, {} rows and {} MB of the others, {} MB in all, {} s",
                now.copied,
                now.tables,
                now.rows,
                now.bytes / 1_000_000,
                size / 1_000_000,
                began.elapsed().as_secs()
            ));
            schema::check_definitions(road).await?;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn gone(road: &Road<'_>, name: &str) -> Failure {
    Failure::new(format!("subscription {name} is gone"))
        .at(format!("node {}", road.target.node))
        .hint(format!("`shardid abort {}`, then move the shard again", road.record.id))
}

/// How often a stream has failed since we look; the server counts from its start.
#[derive(Default)]
struct Errors {
    before: Option<i64>,
}

impl Errors {
    fn check(&mut self, road: &Road<'_>, errors: i64) -> Result<(), Failure> {
        // A server that was restarted begins to count anew.
        let before = self.before.map_or(errors, |before| before.min(errors));
        self.before = Some(before);
        if errors - before < ERRORS_MAX {
            return Ok(());
        }
        Err(Failure::new(format!("replication has failed {} times", errors - before))
            .at(format!("node {}", road.target.node))
            .hint(format!(
                "the server's log there says why; then `shardid resume {0}` or `shardid abort {0}`",
                road.record.id
            )))
    }
}

pub(super) fn check_stop() -> Result<(), Failure> {
    if stop::asked_to_stand() { Err(Failure::new("stopped as you asked")) } else { Ok(()) }
}

/// Makes publication and slot for the way back; nothing reads them yet.
pub(super) async fn prepare_way_back(road: &mut Road<'_>) -> Result<(), Failure> {
    if !road.record.way_back {
        return Ok(());
    }
    let (name, schema) = (road.record.way_back_stream(), road.record.schema.clone());
    road.leave_on_target("publication", &name).await?;
    publish_on(&mut road.target, &name, &schema).await?;
    road.leave_on_target("slot", &name).await?;
    make_slot(&mut road.target, &name).await
}

/// Waits until the target is close behind, and the copy is of what the tables are.
pub(super) async fn await_close(road: &mut Road<'_>) -> Result<(), Failure> {
    catch_up(road).await?;
    schema::check_unchanged(road).await?;
    sequences::prepare(road).await?;
    // So that its server need not keep what the source has sent.
    if road.record.way_back && road.record.rollback_of.is_none() {
        let name = road.record.way_back_stream();
        road.target.run(sqlx::query(sql!("move/stream/advance.sql")).bind(name)).await?;
    }
    Ok(())
}

/// Waits until the target is close behind.
pub(super) async fn catch_up(road: &mut Road<'_>) -> Result<(), Failure> {
    let name = road.record.stream();
    let (mut said, mut known) = (Instant::now(), Errors::default());
    loop {
        let (bytes, active) = lag(&mut road.source, &name, None).await?;
        // Behind by nothing but what idle servers write of themselves, and somebody reads.
        if active && bytes <= CLOSE_BYTES {
            return Ok(());
        }
        let query = sqlx::query_as(sql!("move/stream/copying.sql")).bind(name.as_str());
        let now: Copying = road.target.row(query).await?.ok_or_else(|| gone(road, &name))?;
        known.check(road, now.errors)?;
        check_stop()?;
        if said.elapsed() >= Duration::from_secs(5) {
            said = Instant::now();
            road.say(format_args!("following: {} kB behind", bytes / 1000));
            schema::check_unchanged(road).await?;
        }
        nudge(&mut road.source).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// How many bytes the reader of a slot is behind, and whether there is a reader.
async fn lag(
    server: &mut Server,
    slot: &str,
    position: Option<&str>,
) -> Result<(i64, bool), Failure> {
    let query = sqlx::query_as(sql!("move/stream/lag.sql")).bind(slot).bind(position);
    let row: Option<(Option<i64>, bool)> = server.row(query).await?;
    let Some((bytes, active)) = row else {
        return Err(Failure::new(format!("replication slot {slot} is gone"))
            .at(format!("node {}", server.node))
            .hint("the copy cannot follow without it: give the move up with `shardid abort`"));
    };
    Ok((bytes.unwrap_or(i64::MAX), active))
}

async fn nudge(server: &mut Server) -> Result<(), Failure> {
    server.run(sqlx::query(sql!("move/stream/nudge.sql"))).await
}

/// Waits until the target has everything that was written before the fence.
pub(super) async fn await_drained(
    road: &mut Road<'_>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    let position: Vec<String> =
        road.source.column(sqlx::query_scalar(sql!("move/stream/position.sql"))).await?;
    if drained(road, &position.concat(), deadline).await? {
        return Ok(Fence::Held);
    }
    let seconds = road.options.fence_max.as_secs_f64();
    Ok(Fence::Lost(format!("the target was still behind after {seconds:.1} s")))
}

/// Waits until the target has everything up to a position; false where the time
/// is up before.
pub(super) async fn drained(
    road: &mut Road<'_>,
    position: &str,
    deadline: Instant,
) -> Result<bool, Failure> {
    let name = road.record.stream();
    nudge(&mut road.source).await?;
    loop {
        let (bytes, _) = lag(&mut road.source, &name, Some(position)).await?;
        if bytes == 0 {
            return Ok(true);
        }
        if Instant::now() > deadline {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

/// Lets the way back begin here: everything so far came from the source.
///
/// Only behind the fence, and before the target takes its first write. It is
/// written into the journal, since a slot forgets in a crash that it was advanced.
pub(super) async fn seal_way_back(road: &mut Road<'_>) -> Result<(), Failure> {
    if !road.record.way_back {
        return Ok(());
    }
    let flushed: Vec<String> =
        road.target.column(sqlx::query_scalar(sql!("move/stream/flushed.sql"))).await?;
    let seal = flushed.concat();
    road.journal.note_seal(road.record.id, &seal).await?;
    road.record.seal = Some(seal);
    Ok(())
}

/// Ends the stream that filled the target.
pub(super) async fn end(road: &mut Road<'_>) -> Result<(), Failure> {
    let name = road.record.stream();
    remove_subscription(&mut road.target, Some(&mut road.source), &name).await?;
    road.forget(&["subscription"], &name).await?;
    remove_slot(&mut road.source, &name).await?;
    road.forget(&["slot"], &name).await?;
    remove_publication(&mut road.source, &name).await?;
    road.forget(&["publication"], &name).await
}

/// Has the old copy follow the new one, from its first write on.
pub(super) async fn open_way_back(road: &mut Road<'_>) -> Result<(), Failure> {
    if !road.record.way_back {
        return Ok(());
    }
    let name = road.record.way_back_stream();
    road.leave_on_source("subscription", &name).await?;
    let Some(seal) = road.record.seal.clone() else {
        return Err(Failure::new("the journal does not say where the way back begins"));
    };
    let from = road.target.address.for_servers();
    let query =
        sqlx::query_scalar(sql!("move/stream/subscribe_back.sql")).bind(name.as_str()).bind(from);
    let statements = road.source.column(query).await?;
    quietly(&mut road.source, statements).await?;
    cut("way-back/made");
    let begin = sqlx::query(sql!("move/stream/begin_at.sql")).bind(name.as_str()).bind(seal);
    road.source.run(begin).await?;
    cut("way-back/placed");
    let query = sqlx::query_scalar(sql!("move/stream/enable.sql")).bind(name);
    let statements = road.source.column(query).await?;
    road.source.carry_out(statements).await
}

/// Ends a subscription, and the slots by which its tables were copied.
pub(super) async fn remove_subscription(
    server: &mut Server,
    publisher: Option<&mut Server>,
    name: &str,
) -> Result<(), Failure> {
    let number: Vec<i64> =
        server.column(sqlx::query_scalar(sql!("move/stream/number.sql")).bind(name)).await?;
    let statements =
        server.column(sqlx::query_scalar(sql!("move/stream/unsubscribe.sql")).bind(name)).await?;
    server.carry_out(statements).await?;
    if let (Some(number), Some(publisher)) = (number.first(), publisher) {
        let query = sqlx::query_scalar(sql!("move/stream/sync_slots.sql")).bind(number);
        for slot in publisher.column::<String>(query).await? {
            remove_slot(publisher, &slot).await?;
        }
    }
    Ok(())
}

/// Drops a slot, once nobody reads it any more.
pub(super) async fn remove_slot(server: &mut Server, name: &str) -> Result<(), Failure> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        server.run(sqlx::query(sql!("move/stream/release_slot.sql")).bind(name)).await?;
        server.run(sqlx::query(sql!("move/stream/drop_slot.sql")).bind(name)).await?;
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

/// Drops a publication.
pub(super) async fn remove_publication(server: &mut Server, name: &str) -> Result<(), Failure> {
    let query = sqlx::query_scalar(sql!("move/stream/unpublish.sql")).bind(name);
    let statements = server.column(query).await?;
    server.carry_out(statements).await
}
