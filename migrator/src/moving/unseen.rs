//! Transactions that have written and have not ended: a table, a grant or a comment that one of
//! them has made in the schema is seen by nobody before it commits, and most leave no lock.

use std::time::{Duration, Instant};

use shardid_cluster::LeftoverKind;

use super::context::MoveContext;
use super::move_session::MoveSession;
use super::outcome::Fence;
use super::stop::check_stop;
use super::{fence, fingerprint, schema};
use crate::failure::Failure;
use crate::postgres::sql;

/// How long they are waited for before the fence is raised: nobody waits with us.
const BEFORE_MAX: Duration = Duration::from_secs(10);

/// How long behind the fence, where writers wait.
const BEHIND_MAX: Duration = Duration::from_millis(400);

/// How many fences are given up for them. Where some such transaction is always open, the move
/// goes on without having seen what they change, and looks back after the switch.
const FENCES_MAX: u32 = 5;

/// How long they are waited for after the switch, when the shard is open again.
const AFTER_MAX: Duration = Duration::from_secs(10);

/// A transaction that has written, for a person.
#[derive(sqlx::FromRow)]
struct Writer {
    xid: String,
    who: String,
}

async fn writers(server: &mut MoveSession, of: Option<&[Writer]>) -> Result<Vec<Writer>, Failure> {
    let of: Option<Vec<String>> =
        of.map(|writers| writers.iter().map(|writer| writer.xid.clone()).collect());
    server.rows(sqlx::query_as(sql!("move/prepared.sql", "move/fence/writers.sql")).bind(of)).await
}

/// Waits for those that are open now, not for any that begins meanwhile. Returns those that
/// have not ended in time, the oldest first.
async fn await_ended(
    server: &mut MoveSession,
    most: Duration,
    mut meanwhile: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<Vec<Writer>, Failure> {
    let until = Instant::now() + most;
    let mut pause = Duration::from_millis(2);
    let mut open = writers(server, None).await?;
    while let Some(oldest) = open.first() {
        if Instant::now() >= until {
            break;
        }
        meanwhile(&oldest.who)?;
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
        open = writers(server, Some(&open)).await?;
    }
    Ok(open)
}

/// Before the fence, so that it is not raised for nothing.
pub(super) async fn before_fence(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let MoveContext { source, progress, .. } = context;
    await_ended(source, BEFORE_MAX, |who| {
        progress.at(0.0, &format!("waiting for {who}, which may have changed the schema"));
        check_stop()
    })
    .await?;
    context.progress.clear();
    Ok(())
}

/// Behind the fence, right before the last look at the schema.
pub(super) async fn behind_fence(
    context: &mut MoveContext<'_>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    let left = deadline.saturating_duration_since(Instant::now()).min(BEHIND_MAX);
    let open = await_ended(&mut context.source, left, |_| Ok(())).await?;
    let Some(oldest) = open.first() else { return Ok(Fence::Held) };
    context.outwaited += 1;
    if context.outwaited > FENCES_MAX {
        context.say(format_args!("goes on beside {}: what it changes in the schema is not carried, and is looked for after the switch", oldest.who));
        return Ok(Fence::Held);
    }
    Ok(Fence::Lost(format!("{} has written, and may have changed the schema", oldest.who)))
}

/// Whether an object is a trigger of a fence, or of somebody in its place.
fn is_of_fence(object: &str) -> bool {
    ["trigger shardid_fence on ", "trigger shardid_fence_rows on "]
        .iter()
        .any(|trigger| object.starts_with(trigger))
}

/// After the switch: says what transactions that were open at the last look have changed on the
/// node that the shard has left, where it stays.
pub(super) async fn look_back(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let Some(before) = context.record.shape.clone().filter(|text| fingerprint::is_one(text)) else {
        return Ok(());
    };
    // Where it follows already, its tables belong to that, and this was looked at before.
    let left = context.journal.leftovers(context.record.id).await?;
    if left.iter().any(|l| l.kind == LeftoverKind::Subscription && l.node == context.source.node) {
        return Ok(());
    }
    let (name, stream) = (context.record.schema.clone(), context.record.stream());
    let open = await_ended(&mut context.source, AFTER_MAX, |_| Ok(())).await?;
    let mut differ = fingerprint::changed(&mut context.source, &name, &stream, &before).await?;
    // Those have come to their end by the switch itself.
    let query = sqlx::query_scalar(sql!("move/sequence/described.sql")).bind(&name);
    let sequences: Vec<String> = context.source.column(query).await?;
    differ.retain(|object| !sequences.contains(object) && !is_of_fence(object));
    let broken = fence::broken(&mut context.source, &name).await?;
    let (old, new) = (&context.source.node, &context.target.node);
    for it in broken.iter().filter(|it| !it.is_missing) {
        let table = format!("table {}", it.table_name);
        differ.retain(|object| *object != table);
        context.say(format_args!(
            "WARNING: on {old} {it}: rows may have been written there since the switch, which are in the old copy alone; compare {table} with that of {new} before it is retired"
        ));
    }
    if !differ.is_empty() {
        context.say(format_args!(
            "WARNING: a transaction that was open at the switch has changed on {old}, and not on {new}: {}; make that on {new}, too, before the old copy is retired",
            schema::named(&differ)
        ));
    } else if context.outwaited > FENCES_MAX
        && let Some(oldest) = open.first()
    {
        context.say(format_args!(
            "WARNING: {} on {old} was open at the switch, and is: if it changes schema {name}, make that on {new}, too, before the old copy is retired",
            oldest.who
        ));
    }
    Ok(())
}
