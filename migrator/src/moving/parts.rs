//! The rows of a shard, copied by several sessions at once: tables in parts of so many blocks, all of them as they were at the
//! moment at which the stream begins.
//!
//! Tables are held while they are copied, so that rows stay in the blocks in which they are. Each part is a transaction
//! of its own on the target, which checks the term: nothing of an earlier program arrives after a later one has begun. What
//! an interrupted program has copied is emptied and copied anew, as nobody sees its moment any more.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use futures_util::future::try_join_all;
use shardid_cluster::NodeName;
use sqlx::postgres::PgConnection;

use super::context::MoveContext;
use super::exported::Exported;
use super::following::{ASK_EVERY, LOOK_EVERY, StallTimeout};
use super::move_session::{Batch, MoveSession, Term, WAIT_MAX};
use super::pace::{Pace, share};
use super::same::major_of;
use super::stop::check_stop;
use super::{row_guard, schema};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{failure, has_hint, hold_table, is_sqlstate, on_behalf, sql};

/// How many blocks a part has: what is left for one session at the end is no more than that.
const PART_BLOCKS: i64 = 2048;

/// How long the first session waits for the locks by which tables stay as they lie, and how long the others.
const HOLD_MAX: Duration = Duration::from_secs(60);
const HOLD_TOO_MAX: Duration = Duration::from_secs(1);

/// How many bytes are sent in one go: a row comes by itself.
const SEND_BYTES: usize = 128 * 1024;

/// What a function may not read, or write.
const REFUSED: [&str; 2] = ["42501", "25006"];
const LESS_THAN_A_STREAM: &str = "functions that rows meet write nothing, and with --jobs run with the rights of the table's owner, or of PUBLIC where others own them; without it the stream's role may read all tables of the shard: abort, and move it again";

/// A part of a table.
#[derive(sqlx::FromRow)]
struct Part {
    name: String,
    read: String,
    write: String,
    bytes: i64,
}

/// What the sessions of a copy share.
struct Work<'c> {
    file: &'c ClusterFile,
    target: NodeName,
    term: Option<Term>,
    left: Mutex<VecDeque<Part>>,
    /// Bytes that have come, as they are sent.
    sent: AtomicU64,
    /// Bytes of parts that are copied, as they lie in blocks.
    copied: AtomicU64,
}

/// Empties the tables of a copy to which no stream leads yet.
pub(super) async fn empty(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let most = context.options.stall_max.min(WAIT_MAX);
    let query = sqlx::query_as(sql!("move/copy/filled.sql")).bind(context.record.schema.as_str());
    let filled: Vec<(String, String)> = context.target.rows(query).await?;
    for (table, empty) in filled {
        let behalf = sqlx::query_scalar(sql!("session/on_behalf.sql")).bind(table.as_str());
        let mut statements = vec![sql!("move/copy/as_replica.sql").to_owned()];
        statements.extend(context.target.column::<String>(behalf).await?);
        statements.extend([empty, sql!("session/on_own_behalf.sql").to_owned()]);
        let lock_ms = most.as_millis().try_into().unwrap_or(u64::MAX);
        if let Batch::LockTimeout = context.target.all_or_none(statements, lock_ms).await? {
            return Err(row_guard::is_locked(
                context,
                format!("table {table} of the copy cannot be emptied"),
            ));
        }
    }
    Ok(())
}

/// Copies all rows as they were when the slot of the stream began.
pub(super) async fn copy(context: &mut MoveContext<'_>, exported: Exported) -> Result<(), Failure> {
    row_guard::take_away(context).await?;
    let schema = context.record.schema.clone();
    let hold = sqlx::query_scalar(sql!("move/copy/hold.sql")).bind(schema.as_str());
    let hold: Vec<String> = context.source.column(hold).await?;
    let mut first = MoveSession::connect(context.file, &context.record.source).await?;
    see(&mut first, exported.snapshot()).await?;
    if !try_hold(&mut first, &hold, HOLD_MAX).await? {
        let failure = Failure::new(format!("the tables of schema {schema} are locked by somebody"))
            .at(format!("node {}", first.node))
            .hint(format!(
                "look at pg_stat_activity there, then `shardid resume {}`",
                context.record.id
            ));
        return Err(first.name_holder(failure));
    }
    let is_same_major = major_of(&context.source) == major_of(&context.target);
    let query = sqlx::query_as(sql!("move/copy/parts.sql"));
    let query = query.bind(schema.as_str()).bind(PART_BLOCKS).bind(is_same_major);
    let parts: VecDeque<Part> = first.rows(query).await?.into();
    let jobs = usize::from(context.options.jobs).min(parts.len());
    let mut readers = vec![first];
    while readers.len() < jobs {
        let mut reader = MoveSession::connect(context.file, &context.record.source).await?;
        see(&mut reader, exported.snapshot()).await?;
        // Whoever waits for the locks of the first to end is before this one: those that have them do it alone.
        if !try_hold(&mut reader, &hold, HOLD_TOO_MAX).await? {
            break;
        }
        readers.push(reader);
    }
    exported.end().await;
    let bytes = parts.iter().map(|part| part.bytes).sum();
    let work = Work {
        file: context.file,
        target: context.record.target.clone(),
        term: context.target.term(),
        left: Mutex::new(parts),
        sent: AtomicU64::new(0),
        copied: AtomicU64::new(0),
    };
    watch(context, &work, readers, bytes).await?;
    cuts::at(format_args!("copy/copied"));
    Ok(())
}

/// Has a session keep the tables as they lie; false where it would have to wait for longer.
async fn try_hold(
    server: &mut MoveSession,
    hold: &[String],
    most: Duration,
) -> Result<bool, Failure> {
    let bound = format!("SET LOCAL lock_timeout = {}", most.as_millis());
    let statements = [bound].into_iter().chain(hold.iter().cloned()).collect();
    Ok(matches!(server.go_on_with(statements).await?, Batch::Done))
}

/// Has sessions copy, and looks at them: that they go on, that the move may, and that the tables are what they were.
async fn watch(
    context: &mut MoveContext<'_>,
    work: &Work<'_>,
    readers: Vec<MoveSession>,
    bytes: i64,
) -> Result<(), Failure> {
    // All of them until the last part is copied: what one has held alone would be free then.
    let jobs = readers.into_iter().map(|reader| job(work, reader));
    let mut running = std::pin::pin!(try_join_all(jobs));
    let (mut stall, mut pace) = (StallTimeout::default(), Pace::default());
    let mut looked = Instant::now();
    loop {
        tokio::select! {
            biased;
            done = &mut running => {
                context.progress.clear();
                for mut reader in done? {
                    reader.run(sqlx::query(sql!("move/rollback.sql"))).await?;
                }
                return Ok(());
            }
            () = tokio::time::sleep(ASK_EVERY) => {}
        }
        check_stop()?;
        let sent = work.sent.load(Ordering::Relaxed);
        let copied = i64::try_from(work.copied.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        stall.see(context, sent)?;
        pace.see(Instant::now(), copied);
        context.progress.at(share(copied, bytes), &progress(copied, bytes, &pace));
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            schema::check_definitions(context).await?;
        }
    }
}

fn progress(copied: i64, bytes: i64, pace: &Pace) -> String {
    let mb = |bytes: i64| bytes as f64 / 1e6;
    let mut text = format!("copying: {:.0} of {:.0} MB", mb(copied), mb(bytes));
    if let Some(rate) = pace.per_second() {
        text.push_str(&format!(", {:.1} MB/s", rate / 1e6));
    }
    if let Some(left) = pace.left(bytes - copied) {
        text.push_str(&format!(", about {} s left", left.as_secs()));
    }
    text
}

/// Copies parts for as long as there are any; what it has read by keeps its locks.
async fn job(work: &Work<'_>, mut here: MoveSession) -> Result<MoveSession, Failure> {
    let mut there = MoveSession::connect_as(work.file, &work.target, work.term).await?;
    loop {
        let next = work.left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(part) = next else { return Ok(here) };
        copy_part(work, &mut here, &mut there, &part).await?;
        let bytes = part.bytes.try_into().unwrap_or(0);
        work.copied.fetch_add(bytes, Ordering::Relaxed);
        cuts::at(format_args!("copy/part"));
    }
}

/// Begins a transaction that sees what a snapshot has.
async fn see(server: &mut MoveSession, snapshot: &str) -> Result<(), Failure> {
    let statement = sqlx::query_scalar(sql!("move/copy/see.sql")).bind(snapshot.to_owned());
    let statement = server.column::<String>(statement).await?.concat();
    server.run(sqlx::query(sql!("move/copy/begin.sql"))).await?;
    server.step(&statement).await.map(drop)
}

async fn copy_part(
    work: &Work<'_>,
    here: &mut MoveSession,
    there: &mut MoveSession,
    part: &Part,
) -> Result<(), Failure> {
    let begin = vec![sql!("move/copy/as_replica.sql").to_owned()];
    if let Batch::LockTimeout = there.begin_with(begin).await? {
        return Err(there.name_holder(locked(there, part)));
    }
    for server in [&mut *here, &mut *there] {
        let held = hold_table(&mut server.connection, &part.name).await;
        if !held.map_err(|error| failure(&server.node, &error))? {
            return Err(Failure::new(format!("table {} was replaced during the move", part.name))
                .at(format!("node {}", server.node)));
        }
    }
    // Which of the two an error is of.
    let is_reading = Cell::new(true);
    let copied = on_behalf(&mut here.connection, &part.name, async |here| {
        let copied = on_behalf(&mut there.connection, &part.name, async |there| {
            pipe(work, here, there, part, &is_reading).await
        });
        copied.await
    });
    copied.await.map_err(|error| {
        let node = if is_reading.get() { &here.node } else { &there.node };
        let failed = failure(node, &error).detail(format!("while table {} was copied", part.name));
        let is_refused = REFUSED.iter().any(|code| is_sqlstate(&error, code));
        if is_refused && !has_hint(&error) {
            failed.hint_instead(LESS_THAN_A_STREAM)
        } else {
            failed
        }
    })?;
    there.run(sqlx::query(sql!("move/commit.sql"))).await
}

fn locked(there: &MoveSession, part: &Part) -> Failure {
    Failure::new(format!("table {} of the copy is locked by somebody", part.name))
        .at(format!("node {}", there.node))
}

/// Has one session read what the other writes, and says which of them is at work.
async fn pipe(
    work: &Work<'_>,
    here: &mut PgConnection,
    there: &mut PgConnection,
    part: &Part,
    is_reading: &Cell<bool>,
) -> Result<(), sqlx::Error> {
    let mut rows = here.copy_out_raw(&part.read).await?;
    is_reading.set(false);
    let mut copy = there.copy_in_raw(&part.write).await?;
    is_reading.set(true);
    let mut buffer: Vec<u8> = Vec::with_capacity(SEND_BYTES * 2);
    while let Some(row) = rows.try_next().await? {
        buffer.extend_from_slice(&row);
        if buffer.len() >= SEND_BYTES {
            is_reading.set(false);
            copy.send(buffer.as_slice()).await?;
            is_reading.set(true);
            work.sent.fetch_add(buffer.len() as u64, Ordering::Relaxed);
            buffer.clear();
        }
    }
    is_reading.set(false);
    copy.send(buffer.as_slice()).await?;
    copy.finish().await?;
    work.sent.fetch_add(buffer.len() as u64 + 1, Ordering::Relaxed);
    Ok(())
}
