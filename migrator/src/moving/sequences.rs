//! The sequences of a shard: held while the fence is switched, carried over, closed.
//!
//! The fence stops `next_id` and every write, but not a plain `nextval` in a
//! statement of its own. So a session of its own locks all sequences before it
//! is read where they stand, and lets go of them only by the transaction that
//! makes the source the old copy. In it they come to their end: what was carried
//! over is not handed out here again. Nor does anybody switch off or replace the
//! triggers of the fence meanwhile, which wait for it. Those of the new copy are at their end until the
//! transaction that opens the shard: what is carried over is a note on its node, of how they go on. It is made before the
//! source is closed, so nobody gives a number that the other has given, wherever a move is cut.

use std::collections::BTreeMap;
use std::time::Instant;

use shardid_cluster::Descent;
use sqlx::postgres::types::Oid;

use super::ahead::descent;
use super::context::{Given, MoveContext};
use super::elsewhere::{Generators, IdSequence, no_sequence};
use super::held::holders;
use super::home::{Home, is_open};
use super::journal::Move;
use super::move_session::{Batch, MoveSession};
use super::outcome::Fence;
use super::stream;
use crate::failure::Failure;
use crate::postgres::sql;
use crate::talk;

/// The longest that the fence waits for transactions that have called `nextval`.
const HOLD_MS_MAX: u128 = 400;

/// The longest that it waits for those who use sequences of the new copy.
const NOTE_MS: u64 = 1_000;

/// Where nobody waits, or the way is only forward.
const LOCK_MS: u128 = 10_000;

/// Locks the sequences of the source, and notes on the target how its own go on.
pub(super) async fn carry_over(
    context: &mut MoveContext<'_>,
    deadline: Instant,
    names: &[(Oid, String)],
) -> Result<Fence, Failure> {
    let left = deadline.saturating_duration_since(Instant::now()).as_millis();
    if !hold(context, left.clamp(1, HOLD_MS_MAX)).await? {
        let schema = context.record.schema.clone();
        return Ok(Fence::Lost(match holders(&mut context.source, &schema).await {
            Some(holders) => {
                format!(
                    "a transaction that has called nextval, or locks a table, does not end: {holders}"
                )
            }
            None => {
                "a transaction that has called nextval, or locks a table, does not end".to_owned()
            }
        }));
    }
    // The definitions were looked at since, and a rename waits for no fence.
    if held_names(context).await? != names {
        let_go(context);
        return Ok(Fence::Lost(
            "somebody has made, altered or dropped a sequence meanwhile".to_owned(),
        ));
    }
    let noted = match lock_target(context).await? {
        Batch::Done => note(context, Noted::Anew, NOTE_MS).await?,
        Batch::LockTimeout => Batch::LockTimeout,
    };
    match noted {
        Batch::Done => Ok(Fence::Held),
        Batch::LockTimeout => {
            let schema = context.record.schema.clone();
            Ok(Fence::Lost(match holders(&mut context.target, &schema).await {
                Some(holders) => format!("the sequences of the new copy are locked by {holders}"),
                None => "somebody locks the sequences of the new copy".to_owned(),
            }))
        }
    }
}

/// The sequences of the source, by number, with name, owner and rights.
pub(super) async fn names(context: &mut MoveContext<'_>) -> Result<Vec<(Oid, String)>, Failure> {
    let query = sqlx::query_as(sql!("move/sequence/names.sql"));
    context.source.rows(query.bind(context.record.schema.clone())).await
}

/// The same once they are held.
async fn held_names(context: &mut MoveContext<'_>) -> Result<Vec<(Oid, String)>, Failure> {
    let query = sqlx::query_as(sql!("move/sequence/names.sql"));
    let query = query.bind(context.record.schema.clone());
    Ok(holding(context).rows_at_once(query).await?.unwrap_or_default())
}

/// What a note is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Noted {
    /// Where the sequences of the source stand.
    Anew,
    /// The same after the switch: none goes back behind where it stood before.
    Again,
    /// The same, if none was made before they came to their end.
    IfMissing,
}

/// Locks the sequences of the target until they are opened: after the switch nobody is to keep the shard closed on both
/// nodes, and who merely reads where one stands has a lock on it.
async fn lock_target(context: &mut MoveContext<'_>) -> Result<Batch, Failure> {
    if context.locked {
        // What was left of a fence that was lost.
        context.opening = None;
        context.locked = false;
        prepare(context).await?;
    }
    let locks = locks(&mut context.target, &context.record.schema, NOTE_MS).await?;
    let server = context.opening.as_mut().expect("it was prepared");
    let done = server.begin_with(locks).await?;
    context.locked = matches!(done, Batch::Done);
    Ok(done)
}

/// Notes on the target how its sequences go on when it is opened.
async fn note(context: &mut MoveContext<'_>, noted: Noted, lock_ms: u64) -> Result<Batch, Failure> {
    let (generators, last_ids, layouts) = given(context);
    let query = sqlx::query_scalar(sql!("move/sequence/note.sql"))
        .bind(context.record.schema.clone())
        .bind(generators)
        .bind(last_ids)
        .bind(layouts)
        .bind(context.record.id);
    let note: Vec<String> = holding(context).column(query).await?;
    let is_another = noted != Noted::Anew && is_another_database(context).await?;
    let query = sqlx::query_scalar(sql!("move/sequence/keep_note.sql"))
        .bind(context.record.stream())
        .bind(note.concat())
        .bind(context.record.id)
        .bind(noted == Noted::IfMissing)
        .bind(noted == Noted::Again)
        .bind(context.record.reopened)
        .bind(is_another)
        .bind(context.record.schema.clone());
    let keep: Vec<String> = context.target.column(query).await?;
    if keep.is_empty() && noted != Noted::IfMissing {
        return Err(stream::gone(context, &context.record.stream()));
    }
    context.target.all_or_none(vec![keep.join(";\n")], lock_ms).await
}

/// Whether the source is another database than that which was copied: what was restored has other numbers for its objects.
async fn is_another_database(context: &mut MoveContext<'_>) -> Result<bool, Failure> {
    let Some(origin) = context.record.origin else { return Ok(false) };
    let Descent { now, database, .. } = descent(&mut context.source).await?.descent;
    Ok(now.system_identifier != origin.of.system_identifier || database != origin.database)
}

/// Statements by which the sequences of a shard's copy go on, in the transaction that opens it.
pub(super) async fn noted(target: &mut MoveSession, record: &Move) -> Result<Vec<String>, Failure> {
    let query = sqlx::query_scalar(sql!("move/sequence/noted.sql"))
        .bind(record.stream())
        .bind(record.schema.as_str())
        .bind(record.shard.as_sql())
        .bind(record.id);
    target.column(query).await
}

/// Has what is known of a shard's generators be about the sequences of the copy, which may have other names by now, and their names be
/// those of others. Returns the id sequences that are gone. Refused where the shard's own is, and another one has its name.
pub(super) async fn go_by_number(
    target: &mut MoveSession,
    record: &Move,
    known: &mut Generators,
) -> Result<Vec<IdSequence>, Failure> {
    let names = sqlx::query_as(sql!("move/sequence/noted_names.sql"))
        .bind(record.stream())
        .bind(record.schema.as_str())
        .bind(record.id);
    let names: Vec<(String, Option<String>)> = target.rows(names).await?;
    let names: BTreeMap<String, Option<String>> = names.into_iter().collect();
    if let Some(None) = names.get(&known.sequence) {
        return Err(no_sequence(target, record, &known.sequence));
    }
    let mut gone = Vec::new();
    for mut sequence in std::mem::take(&mut known.id_sequences) {
        match names.get(&sequence.1).filter(|_| sequence.0 == record.schema) {
            Some(None) => gone.push(sequence),
            Some(Some(name)) => {
                sequence.1.clone_from(name);
                known.id_sequences.push(sequence);
            }
            None => known.id_sequences.push(sequence),
        }
    }
    Ok(gone)
}

/// Names the id sequences of a shard that are gone from the copy which was opened.
pub(super) fn say_gone(server: &MoveSession, record: &Move, gone: &[IdSequence]) {
    for (schema, name, layout) in gone {
        talk::line(format_args!(
            "  shard {}: id sequence {schema}.{name} (layout {layout}) is not on {}, where somebody has dropped it; create_id_sequence() makes one",
            record.shard, server.node
        ));
    }
}

/// Names the sequences of a shard that was opened on a node which stay at their end: nothing is known of how they go on, by a
/// list of how they were bound, or by what is noted there.
pub(super) async fn say_at_end(
    server: &mut MoveSession,
    record: &Move,
    rules: Option<&str>,
) -> Result<(), Failure> {
    let at_end = sqlx::query_scalar(sql!("move/sequence/at_end.sql"))
        .bind(record.schema.as_str())
        .bind(rules.unwrap_or("[]").to_owned())
        .bind(record.stream())
        .bind(record.id);
    let at_end: Vec<String> = server.column(at_end).await?;
    if !at_end.is_empty() {
        talk::line(format_args!(
            "  shard {}: {} does not know how these sequences went on, and they give nothing: {}; give each its bounds by `ALTER SEQUENCE … MINVALUE … MAXVALUE …`, and by `SELECT pg_catalog.setval(…)` a number beyond all that any copy of the shard has given",
            record.shard,
            server.node,
            at_end.join(", ")
        ));
    }
    Ok(())
}

/// Has sessions ready, so that the fence need not wait for them.
pub(super) async fn prepare(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    if context.holding.is_none() {
        let (node, term) = (context.source.node.clone(), context.source.term());
        context.holding = Some(MoveSession::connect_as(context.file, &node, term).await?);
    }
    if context.opening.is_none() {
        let (node, term) = (context.target.node.clone(), context.target.term());
        context.opening = Some(MoveSession::connect_as(context.file, &node, term).await?);
    }
    Ok(())
}

/// Lets everybody use the sequences of the source again.
pub(super) fn let_go(context: &mut MoveContext<'_>) {
    // Its transaction goes with the session.
    context.holding = None;
    context.held = false;
}

/// The same, and those of the target.
pub(super) fn let_all_go(context: &mut MoveContext<'_>) {
    let_go(context);
    context.opening = None;
    context.locked = false;
}

/// Runs statements on the source, together with those that close its sequences.
///
/// Where the program was cut between the switch and here, nobody held them, and they have gone on: it is
/// noted once more where they are, before they come to their end. A target that gives numbers already is only told of ids
/// that the source has given since, where that was found open: it goes on above them.
pub(super) async fn close_with(
    context: &mut MoveContext<'_>,
    statements: Vec<String>,
) -> Result<Batch, Failure> {
    let mut fresh = Vec::new();
    // Not where they were held: writers wait.
    if !context.held {
        if !hold(context, LOCK_MS).await? {
            return Ok(Batch::LockTimeout);
        }
        match is_open(&mut context.target, context.record.shard).await? {
            true if context.record.reopened => fresh = positions(context).await?,
            true => {}
            false => note_again(context).await?,
        }
    }
    let schema = context.record.schema.clone();
    let holding = holding(context);
    let mut all = vec![format!("SET LOCAL lock_timeout = {LOCK_MS}")];
    all.extend(statements);
    all.extend(closing(holding, &schema).await?);
    all.push("COMMIT".to_owned());
    let done = holding.one_batch(all).await?;
    let_go(context);
    if let Batch::LockTimeout = done {
        return Ok(Batch::LockTimeout);
    }
    if fresh.is_empty() {
        return Ok(Batch::Done);
    }
    let shut = sqlx::query_as(sql!("move/sequence/shut.sql"));
    let shut: Vec<(String, String)> =
        context.target.rows(shut.bind(context.record.shard.as_sql())).await?;
    let (shut, open): (Vec<_>, Vec<_>) = shut.into_iter().unzip();
    let statements = shut.into_iter().chain([fresh.join(";\n")]).chain(open).collect();
    context.target.all_or_none(statements, LOCK_MS as u64).await
}

/// Notes how the sequences of the target go on that was switched to, now that those of the source are held again.
async fn note_again(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let home = Home::of(&mut context.source, context.record.shard).await?;
    let is_closed = home.is_some_and(|home| home.state == "moved");
    let noted = if is_closed { Noted::IfMissing } else { Noted::Again };
    let made = note(context, noted, LOCK_MS as u64).await;
    if !matches!(made, Ok(Batch::Done)) {
        let_go(context);
    }
    match made? {
        Batch::Done => Ok(()),
        Batch::LockTimeout => Err(in_use(&context.target)),
    }
}

/// Statements by which the sequences of a new copy are closed, in the transaction that makes them.
pub(super) async fn closing_new(context: &mut MoveContext<'_>) -> Result<Vec<String>, Failure> {
    let query = sqlx::query_scalar(sql!("move/sequence/close_new.sql"));
    context.source.column(query.bind(context.record.schema.as_str())).await
}

/// Closes the sequences of an old copy that was nearly gone back to.
pub(super) async fn close_old_copy(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let schema = context.record.schema.clone();
    let statements = closing(&mut context.target, &schema).await?;
    match context.target.all_or_none(statements, LOCK_MS as u64).await? {
        Batch::Done => Ok(()),
        Batch::LockTimeout => Err(in_use(&context.target)),
    }
}

/// Somebody is in the way for longer than we may wait.
fn in_use(server: &MoveSession) -> Failure {
    Failure::new("somebody holds the shard's sequences for long")
        .at(format!("node {}", server.node))
        .hint("look at pg_stat_activity there")
}

/// Statements that lock the sequences of a schema, having waited for them for so long all together.
async fn locks(server: &mut MoveSession, schema: &str, ms: u64) -> Result<Vec<String>, Failure> {
    let query = sqlx::query_scalar(sql!("move/sequence/hold.sql"));
    server.column(query.bind(schema).bind(i64::try_from(ms).unwrap_or(i64::MAX))).await
}

async fn hold(context: &mut MoveContext<'_>, ms: u128) -> Result<bool, Failure> {
    prepare(context).await?;
    let schema = context.record.schema.clone();
    let ms = u64::try_from(ms).unwrap_or(u64::MAX);
    let mut statements = locks(&mut context.source, &schema, ms).await?;
    let locks = statements.split_off(statements.len().min(1));
    context.held = false;
    let server = holding(context);
    let Batch::Done = server.begin_with(statements).await? else { return Ok(false) };
    // Nobody takes ids any more, and what each has given out is still known.
    let query = sqlx::query_as(sql!("move/sequence/given.sql")).bind(schema.as_str());
    let Some(given) = server.rows_at_once(query).await? else { return Ok(false) };
    let Batch::Done = server.go_on_with(locks).await? else { return Ok(false) };
    let keep = sqlx::query_as(sql!("move/fence/keep.sql")).bind(schema.as_str());
    let Some(keep) = server.rows_at_once::<(String,)>(keep).await? else { return Ok(false) };
    let keep = keep.into_iter().map(|(statement,)| statement).collect();
    let Batch::Done = server.go_on_with(keep).await? else { return Ok(false) };
    context.given = given;
    context.held = true;
    Ok(true)
}

fn holding<'r>(context: &'r mut MoveContext<'_>) -> &'r mut MoveSession {
    context.holding.as_mut().expect("it was prepared")
}

/// What the generators of the source can have given out: their sequences, the highest ids, the layouts.
fn given(context: &MoveContext<'_>) -> (Vec<Oid>, Vec<i64>, Vec<String>) {
    let (mut generators, mut last_ids, mut layouts) = (Vec::new(), Vec::new(), Vec::new());
    for Given { oid, last, layout } in &context.given {
        generators.push(*oid);
        last_ids.push(*last);
        layouts.push(layout.clone());
    }
    (generators, last_ids, layouts)
}

/// Where the generators stand, as statements for the other copy.
async fn positions(context: &mut MoveContext<'_>) -> Result<Vec<String>, Failure> {
    let (generators, last_ids, layouts) = given(context);
    let query = sqlx::query_scalar(sql!("move/sequence/positions.sql"))
        .bind(context.record.schema.clone())
        .bind(generators)
        .bind(last_ids)
        .bind(layouts)
        .bind(context.record.shard.as_sql());
    holding(context).column(query).await
}

async fn closing(server: &mut MoveSession, schema: &str) -> Result<Vec<String>, Failure> {
    server.column(sqlx::query_scalar(sql!("move/sequence/close.sql")).bind(schema)).await
}
