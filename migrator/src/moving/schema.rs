//! The definitions of a shard's schema, carried over by PostgreSQL's own pg_dump.
//!
//! First everything that rows need to be copied and found (tables, types,
//! functions, the indexes of replica identities), then, when the copy is
//! there, indexes, constraints, triggers and policies. Each part is one
//! transaction, so that it may be cut and done again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shardid_cluster::{LeftoverKind, MoveKind, NodeName};

use super::checks::check_owners;
use super::context::MoveContext;
use super::copies::check_new_copy;
use super::dumped::{Dump, description, entry};
use super::dumped_schema::DumpedSchema;
use super::fingerprint;
use super::held::holders;
use super::journal::Move;
use super::move_session::{Batch, MoveSession, WAIT_MAX};
use super::old_copy::check_owner;
use super::outcome::Fence;
use super::rights::other_rights;
use super::same::{Comparison, Definitions, is_read};
use super::{bound, catalog_rows, key_states, row_guard, sequences, stream};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{in_time, sql};

/// How long it is waited for who has locked a table of a copy that is compared by itself.
const DUMP_MAX: Duration = Duration::from_secs(60);

/// Makes the schema on the target, without what is better made after the copy.
pub(super) async fn make(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let schema = context.record.schema.clone();
    if context.record.shape.is_none() {
        let stream = context.record.stream();
        let shape = fingerprint::take(&mut context.source, &schema, &stream).await?;
        context.journal.note_shape(context.record.id, &shape).await?;
        context.record.shape = Some(shape);
    }
    context.leave_on_target(LeftoverKind::Schema, &schema).await?;
    let parts = parts(context).await?;
    let is_there = exists(context).await?;
    // Where a stream begins when all is copied, the rows need not be found before that. Where an earlier program has made
    // the copy, it may have done either.
    let (early, late) = parts.split(is_there || context.options.is_by_parts());
    if !is_there {
        cuts::at(format_args!("made/dumped"));
        let stream = context.record.stream();
        // One that is there has filled a copy that somebody has dropped since, or given another name: it would copy nothing.
        stream::remove_subscription(&mut context.target, Some(&mut context.source), &stream)
            .await?;
        stream::let_others(&mut context.target, &stream, &schema).await?;
        let guard = sqlx::query_scalar(sql!("move/carry/guard_copy.sql"))
            .bind(context.record.shard.as_sql())
            .bind(schema.as_str());
        let mut guard: Vec<String> = context.source.column(guard).await?;
        if !context.options.is_by_parts() {
            let rows = row_guard::made(&context.record, true);
            guard.extend(context.source.column::<String>(rows).await?);
        }
        guard.extend(sequences::closing_new(context).await?);
        let owners = sqlx::query_scalar(sql!("move/carry/multiranges.sql")).bind(schema.as_str());
        guard.extend(context.source.column::<String>(owners).await?);
        let texts = parts.dump.sql_of(&early, &parts.of_others).await?;
        let query = sqlx::query_as(sql!("move/carry/default_privileges.sql"));
        let rights: Vec<(String, bool)> = context.target.rows(query).await?;
        let of = |before: bool| {
            rights.iter().filter(move |(_, is_before)| *is_before == before).map(|(s, _)| s.clone())
        };
        let statements = of(true).chain(texts).chain(guard).chain(of(false)).collect();
        let late = parts.dump.sql_of(&late, &parts.of_others).await?;
        // No rows are read for them; they call what owners have written, as the CHECK of a domain.
        if let Err(failure) = run(context, statements, Part::Early { late }).await {
            // What does not fit may be what was changed meanwhile, for which going on is of no use.
            check_definitions(context).await?;
            return Err(failure);
        }
        context.finds_rows = !context.options.is_by_parts();
    } else {
        stream::keep_name(&mut context.target, &context.record).await?;
    }
    // Before the rows are copied, not when all of them have been.
    let early = parts.dump.definitions_of(&early).await?;
    let late = to_come(&parts.dump.definitions_of(&late).await?);
    compare(context, without(early, &late), &late).await
}

/// Makes the indexes by which the rows are found that a stream changes, unless that is done.
pub(super) async fn make_identity(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    if context.finds_rows {
        return Ok(());
    }
    check_definitions(context).await?;
    let parts = parts(context).await?;
    let there = post_data(context).await?;
    if !has_all(&there, &parts.identity) {
        context.say("making indexes of keys");
        let texts = parts.dump.sql_of(&parts.identity, &parts.of_others).await?;
        run(context, texts, Part::Identity).await?;
    }
    context.finds_rows = true;
    Ok(())
}

/// What the copy has of what comes after the tables, a line of contents each.
async fn post_data(context: &MoveContext<'_>) -> Result<Vec<String>, Failure> {
    Dump::of(&context.target, &context.record.schema, context.options.stall_max)
        .await?
        .contents("post-data")
        .await
}

/// Whether all of some lines are among those of a copy. They are made in one transaction: if one is missing, all are.
fn has_all(there: &[String], lines: &[String]) -> bool {
    let there: BTreeSet<&str> = there.iter().filter_map(|line| description(line)).collect();
    lines.iter().all(|line| description(line).is_some_and(|what| there.contains(what)))
}

/// Makes what was left out, unless that is done, and compares the copies.
pub(super) async fn make_indexes(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    check_definitions(context).await?;
    // Read once more: it is the last look at all that pg_dump says before the copy is called whole.
    context.dumped = None;
    let parts = parts(context).await?;
    let there = post_data(context).await?;
    if !has_all(&there, &parts.late) {
        context.say("making indexes");
        let texts = parts.dump.sql_of(&parts.late, &parts.of_others).await?;
        run(context, texts, Part::Late).await?;
    }
    compare(context, parts.dump.definitions().await?, &BTreeSet::new()).await
}

/// Whether a line of contents says who sees which rows: it has to be there before the rows are, as clients that have a
/// right may read them.
fn keeps_out(line: &str) -> bool {
    let is = |kind| description(line).is_some_and(|what| what.starts_with(kind));
    is("ROW SECURITY ") || is("POLICY ")
}

/// The names of definitions that come later, with those of views that are made without their query
/// until then, as one that is grouped by a primary key.
fn to_come(late: &Definitions) -> BTreeSet<String> {
    let view = |what: &String| {
        let view = what.strip_prefix("RULE ")?.strip_suffix(" _RETURN")?;
        Some(format!("VIEW {view}"))
    };
    late.keys().cloned().chain(late.keys().filter_map(view)).collect()
}

fn without(mut definitions: Definitions, names: &BTreeSet<String>) -> Definitions {
    definitions.retain(|what, _| !names.contains(what));
    definitions
}

/// Refuses to go on where the target does not have what it should, by one pg_dump on both: what is
/// forgotten above is found here, whatever it is. What is still to come is not looked at.
async fn compare(
    context: &mut MoveContext<'_>,
    here: Definitions,
    to_come: &BTreeSet<String>,
) -> Result<(), Failure> {
    let there = Dump::of(&context.target, &context.record.schema, context.options.stall_max)
        .await?
        .definitions()
        .await?;
    let there = without(there, to_come);
    let differ = Comparison::of(&context.source, &context.target).differences(&here, &there);
    if differ.is_empty() { Ok(()) } else { Err(not_whole(context, &differ)) }
}

fn not_whole(context: &MoveContext<'_>, differ: &[String]) -> Failure {
    Failure::new(format!(
        "schema {} was changed during the move, or is not carried whole; these differ: {}",
        context.record.schema,
        named(differ)
    ))
    .at(format!("node {}", context.target.node))
    .hint(format!(
        "`shardid abort {}`, then `shardid move {} --to {}` again; `pg_dump --schema-only` of both nodes shows how they differ: where nothing was changed, it does not carry that, and {} has to have it as pg_dump makes it",
        context.record.id, context.record.shard, context.target.node, context.source.node
    ))
}

/// What the tables look like, to compare with another node's.
async fn shape(server: &mut MoveSession, schema: &str) -> Result<Definitions, Failure> {
    let query = sqlx::query_as(sql!("move/carry/shape.sql")).bind(schema);
    Ok(server.rows(query).await?.into_iter().collect())
}

/// Refuses to go on with a copy of what is not what it was.
pub(super) async fn check_definitions(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    // An old copy is as it was when it was left; a move back has no fingerprint of its own.
    let Some(before) = context.record.shape.clone() else { return Ok(()) };
    if !fingerprint::is_one(&before) {
        return Err(begun_earlier(context));
    }
    let (schema, stream) = (context.record.schema.clone(), context.record.stream());
    let differ = fingerprint::changed(&mut context.source, &schema, &stream, &before).await?;
    if differ.is_empty() { Ok(()) } else { Err(changed(context, &context.source.node, &differ)) }
}

fn begun_earlier(context: &MoveContext<'_>) -> Failure {
    let (id, shard, to) = (context.record.id, context.record.shard, &context.target.node);
    Failure::new(format!("move {id} was begun by an earlier version of this program"))
        .detail("It has noted the definitions of the schema in another form, by which a change is not seen.")
        .hint(format!("`shardid abort {id}`, then `shardid move {shard} --to {to}` again"))
}

/// The same, and refuses where both copies' tables do not look the same.
pub(super) async fn check_unchanged(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    check_definitions(context).await?;
    let schema = context.record.schema.clone();
    let (here, there) =
        tokio::try_join!(shape(&mut context.source, &schema), shape(&mut context.target, &schema))?;
    same_shape(context, &here, &there)
}

/// The same behind the fence, where nobody holds the source's tables; a lock on the other copy's is waited for for
/// half of the time until `deadline`, since writers wait as well.
pub(super) async fn check_unchanged_by(
    context: &mut MoveContext<'_>,
    deadline: Instant,
) -> Result<Fence, Failure> {
    check_definitions(context).await?;
    let schema = context.record.schema.clone();
    let here = shape(&mut context.source, &schema).await?;
    let Some(there) = shape_by(&mut context.target, &schema, deadline).await? else {
        let node = context.target.node.clone();
        let who = holders(&mut context.target, &schema).await;
        let who = who.unwrap_or_else(|| "somebody".to_owned());
        return Ok(Fence::Lost(format!("a lock on the copy on {node} was held by {who}")));
    };
    same_shape(context, &here, &there).map(|()| Fence::Held)
}

/// The shape, or nothing where a lock on one of the tables is held for too long.
async fn shape_by(
    server: &mut MoveSession,
    schema: &str,
    deadline: Instant,
) -> Result<Option<Definitions>, Failure> {
    // What comes afterwards, and taking the fence down, needs its time.
    let most = (deadline.saturating_duration_since(Instant::now()) / 2).as_millis().max(1);
    let begin = vec![format!("SET LOCAL lock_timeout = {most}")];
    if let Batch::LockTimeout = server.begin_with(begin).await? {
        return Ok(None);
    }
    let query = sqlx::query_as(sql!("move/carry/shape.sql")).bind(schema);
    let found: Option<Vec<(String, String)>> = server.rows_at_once(query).await?;
    if found.is_some() {
        server.run(sqlx::query(sql!("move/rollback.sql"))).await?;
    }
    Ok(found.map(|rows| rows.into_iter().collect()))
}

/// As the source was when it was copied, so was the target.
fn same_shape(
    context: &MoveContext<'_>,
    here: &Definitions,
    there: &Definitions,
) -> Result<(), Failure> {
    let differ = Comparison::of(&context.source, &context.target).differences(here, there);
    if differ.is_empty() { Ok(()) } else { Err(changed(context, &context.target.node, &differ)) }
}

/// How many objects that were changed are named.
const NAMED_MAX: usize = 10;

fn changed(context: &MoveContext<'_>, node: &NodeName, objects: &[String]) -> Failure {
    let (id, shard) = (context.record.id, context.record.shard);
    match context.record.kind {
        MoveKind::Copy => Failure::new(format!(
            "schema {} was changed during the move: {}",
            context.record.schema,
            match objects {
                [] => "something was made, dropped, altered or granted".to_owned(),
                [.., _] => named(objects),
            }
        ))
        .at(format!("node {node}"))
        .hint(format!(
            "`shardid abort {id}`, then `shardid move {shard} --to {}` again",
            context.target.node
        )),
        MoveKind::Rollback => Failure::new(format!(
            "the tables of schema {} are not those of the old copy any more",
            context.record.schema
        ))
        .at(format!("node {}", context.source.node))
        .hint(format!(
            "`shardid abort {id}`; then `shardid retire` the old copy, and `shardid move {shard} --to {}`",
            context.target.node
        )),
    }
}

pub(super) fn named(objects: &[String]) -> String {
    let mut text = objects[..objects.len().min(NAMED_MAX)].join(", ");
    if let more @ 1.. = objects.len().saturating_sub(NAMED_MAX) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// What was changed on the node that is left again, and is not carried back, each
/// with what it is: all that pg_dump writes, but for where sequences stand.
pub(super) async fn not_carried_back(
    context: &mut MoveContext<'_>,
) -> Result<Vec<String>, Failure> {
    let (schema, stream) = (context.record.schema.clone(), context.record.stream());
    changed_since(&mut context.source, &mut context.target, &schema, &stream).await
}

/// The same before a move back has begun, a line for each, and who loses or gains a right by going back; refused where the
/// tables are no longer those that the old copy has.
pub(crate) async fn look_at_way_back(
    file: &ClusterFile,
    record: &Move,
) -> Result<Vec<String>, Failure> {
    let mut new = MoveSession::look(file, &record.target).await?;
    let mut old = MoveSession::look(file, &record.source).await?;
    let schema = &record.schema;
    check_owner(file, &mut old, record).await?;
    check_new_copy(&mut new, record).await?;
    let (now, before) = tokio::try_join!(shape(&mut new, schema), shape(&mut old, schema))?;
    if !Comparison::of(&new, &old).differences(&now, &before).is_empty() {
        return Err(Failure::new(format!(
            "the tables of schema {schema} are not those of the old copy any more"
        ))
        .at(format!("node {}", record.target))
        .hint(format!(
            "`shardid retire {}` drops the old copy; then `shardid move {} --to {}`",
            record.id, record.shard, record.source
        )));
    }
    let changed = changed_since(&mut new, &mut old, schema, &record.stream()).await?;
    let mut lines: Vec<String> = changed
        .iter()
        .map(|what| format!("not carried back from {}: {what}", record.target))
        .collect();
    for (problem, hint) in other_rights(&mut new, &mut old, schema).await? {
        lines.push(format!("{}: {problem} ({hint})", record.source));
    }
    Ok(lines)
}

/// How the definitions of a copy differ from those of an older one.
async fn changed_since(
    new: &mut MoveSession,
    old: &mut MoveSession,
    schema: &str,
    stream: &str,
) -> Result<Vec<String>, Failure> {
    let (one, other) = if is_read(&[new, old]).await? {
        let (one, other) =
            tokio::try_join!(Dump::of(new, schema, DUMP_MAX), Dump::of(old, schema, DUMP_MAX))?;
        (one.definitions().await?, other.definitions().await?)
    } else {
        // The way back is open with an older pg_dump, too.
        tokio::try_join!(portable(new, schema, stream), portable(old, schema, stream))?
    };
    Ok(Comparison::of(new, old).differences(&one, &other))
}

async fn portable(
    server: &mut MoveSession,
    schema: &str,
    stream: &str,
) -> Result<Definitions, Failure> {
    let query = sqlx::query_as(sql!("move/carry/portable.sql")).bind(schema).bind(stream);
    Ok(server.rows(query).await?.into_iter().collect())
}

async fn exists(context: &mut MoveContext<'_>) -> Result<bool, Failure> {
    let query = sqlx::query_as::<_, (String, String)>(sql!("move/check/room.sql"))
        .bind(context.record.schema.as_str());
    Ok(!context.target.rows(query).await?.is_empty())
}

/// Which part of the definitions is made.
enum Part {
    /// The schema, and what rows need: each statement is to be over soon. What waits for the copy is tried on it.
    Early { late: Vec<String> },
    /// The indexes by which rows are found, where they wait for the copy.
    Identity,
    /// What waits for the copy.
    Late,
}

/// Runs the statements of a part.
async fn run(
    context: &mut MoveContext<'_>,
    statements: Vec<String>,
    part: Part,
) -> Result<(), Failure> {
    let most = context.options.stall_max.min(WAIT_MAX).as_millis();
    let bound = format!("SET LOCAL lock_timeout = {most}");
    context.target.begin_with(vec![bound]).await?;
    let made = run_in_open(context, statements, part).await;
    let end = match made {
        Ok(()) => sql!("follow/commit.sql"),
        Err(_) => sql!("move/rollback.sql"),
    };
    let ended = context.target.run(sqlx::query(end)).await;
    made.and(ended)
}

async fn run_in_open(
    context: &mut MoveContext<'_>,
    statements: Vec<String>,
    part: Part,
) -> Result<(), Failure> {
    match part {
        Part::Early { late } => {
            quickly(context, statements).await?;
            try_late(context, late).await?;
            check_made(context, false).await?;
            // With the schema, before anybody sees it: what follows goes by its name.
            stream::keep_new_name(&mut context.target, &context.record).await
        }
        Part::Identity => {
            as_long_as_it_takes(context, statements).await?;
            check_made(context, false).await
        }
        Part::Late => {
            as_long_as_it_takes(context, statements).await?;
            let states = states_of_keys(context).await?;
            quickly(context, states).await?;
            check_made(context, true).await
        }
    }
}

/// Runs statements that read all rows.
async fn as_long_as_it_takes(
    context: &mut MoveContext<'_>,
    statements: Vec<String>,
) -> Result<(), Failure> {
    for statement in statements {
        if let Batch::LockTimeout = context.target.step(&statement).await? {
            return Err(locked(context));
        }
    }
    Ok(())
}

/// What pg_dump does not write of triggers by which keys are kept.
async fn states_of_keys(context: &mut MoveContext<'_>) -> Result<Vec<String>, Failure> {
    let MoveContext { source, target, record, .. } = context;
    key_states::statements(source, target, &record.schema).await
}

/// Makes what waits for the copy while there are no rows, and takes it back: what cannot be made is said before they
/// are copied, not after it.
async fn try_late(context: &mut MoveContext<'_>, late: Vec<String>) -> Result<(), Failure> {
    quickly(context, vec!["SAVEPOINT trial".to_owned()]).await?;
    let tried = async {
        quickly(context, late).await?;
        let states = states_of_keys(context).await?;
        quickly(context, states).await?;
        check_tried(context).await
    };
    let tried = tried.await;
    if let Err(failure) = tried {
        let Move { id, shard, source, target, .. } = &context.record;
        return Err(failure.hint(format!(
            "no row is copied yet: `shardid abort {id}`, change that definition on {source}, then `shardid move {shard} --to {target}` again"
        )));
    }
    quickly(context, vec!["ROLLBACK TO SAVEPOINT trial".to_owned()]).await
}

/// Looks at what was made on trial: pg_dump does not write all that a server knows.
async fn check_tried(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    check_made(context, true).await?;
    let MoveContext { source, target, record, .. } = context;
    let (schema, stream) = (record.schema.clone(), record.stream());
    let differ = catalog_rows::differences(source, target, &schema, &stream).await?;
    if differ.is_empty() {
        return Ok(());
    }
    // It may have been changed since it was dumped.
    check_definitions(context).await?;
    Err(Failure::new(format!(
        "pg_dump does not carry these of schema {schema}: {}",
        named(&differ)
    ))
    .at(format!("node {}", context.target.node))
    .detail(format!("As it makes them, they are not what they are on {}.", context.source.node)))
}

/// Runs statements each of which is to be over soon.
async fn quickly(context: &mut MoveContext<'_>, statements: Vec<String>) -> Result<(), Failure> {
    let pids = vec![context.target.pid()];
    let most = context.options.stall_max;
    for statement in statements {
        let step = step_within(&mut context.target, &pids, &statement, most).await?;
        if let Batch::LockTimeout = step {
            return Err(locked(context));
        }
    }
    Ok(())
}

fn locked(context: &mut MoveContext<'_>) -> Failure {
    let failure = Failure::new("what the new copy needs is locked by somebody")
        .at(format!("node {}", context.target.node))
        .hint(format!(
            "look at pg_stat_activity there, then `shardid resume {}`",
            context.record.id
        ));
    context.target.name_holder(failure)
}

/// Looks at what was made, before anybody sees it.
async fn check_made(context: &mut MoveContext<'_>, is_whole: bool) -> Result<(), Failure> {
    let MoveContext { source, target, record, .. } = context;
    check_owners(source, target, &record.schema).await?;
    if is_whole {
        key_states::check(source, target, &record.schema).await?;
    }
    bound::check(context, is_whole).await
}

/// Runs a statement; where it is not over by then, whatever it catches, its session is ended.
async fn step_within(
    server: &mut MoveSession,
    pids: &[i32],
    statement: &str,
    most: Duration,
) -> Result<Batch, Failure> {
    let (node, address) = (server.node.clone(), server.address.clone());
    let mut step = std::pin::pin!(server.step(statement));
    if let Some(outcome) = in_time::within(most, &mut step).await {
        return outcome;
    }
    let ended = in_time::end(&node, &address, pids.to_vec()).await;
    let outcome = step.await;
    ended.map_or(outcome, Err)
}

/// The definitions of the source, as they were when this run first looked: whoever calls this has looked that they are
/// what they were, or does before anything comes of it.
async fn parts(context: &mut MoveContext<'_>) -> Result<Arc<DumpedSchema>, Failure> {
    if let Some(known) = &context.dumped {
        return Ok(Arc::clone(known));
    }
    let query = sqlx::query_scalar(sql!("move/carry/identity_indexes.sql"))
        .bind(context.record.schema.as_str());
    let identity: Vec<String> = context.source.column(query).await?;
    let identity: BTreeSet<String> = identity.into_iter().collect();
    let dump = Dump::of(&context.source, &context.record.schema, context.options.stall_max).await?;
    let mut early = dump.contents("pre-data").await?;
    let (first, others): (Vec<_>, Vec<_>) =
        dump.contents("post-data").await?.into_iter().partition(|line| keeps_out(line));
    early.extend(first);
    let (identity, late): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|line| entry(line).is_some_and(|entry| identity.contains(&entry)));
    let query = sqlx::query_scalar(sql!("move/carry/keys_to_others.sql"));
    let of_others: Vec<String> =
        context.source.column(query.bind(context.record.schema.as_str())).await?;
    let of_others = of_others.into_iter().collect();
    let dumped = Arc::new(DumpedSchema { dump, early, identity, late, of_others });
    context.dumped = Some(Arc::clone(&dumped));
    Ok(dumped)
}
