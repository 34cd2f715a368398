//! Everything that can refuse a move, looked at before anything is made.

use std::collections::{BTreeMap, BTreeSet};

use shardid_cluster::{MoveKind, NodeName, PlannedMove, Shard};

use super::capacity::{self, Pace};
use super::context::MoveContext;
use super::copies::check_new_copy;
use super::exported::without_psql;
use super::journal::MoveJournal;
use super::member::{has_extension, not_of_cluster};
use super::move_session::MoveSession;
use super::problem::{Problem, failures_of};
use super::rights::other_rights;
use super::stream::oldest_transaction;
use super::{preflight, schema};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::sql;
use crate::talk;

mod earlier;
mod needs;
mod nodes;
mod shard;

use earlier::{Earlier, standing};
pub(super) use needs::check_owners;
use needs::{needs, target_problems};

/// What was found of moves that may be made.
pub(crate) struct Checked {
    /// The shards' schemas.
    pub(crate) schemas: BTreeMap<Shard, String>,
    /// The highest number of a move that something on the nodes is named after: a catalog
    /// from an older backup has drawn it before, and may not know it.
    pub(crate) highest_number: i64,
}

/// Checks all planned moves at once and says everything that is in the way.
/// Returns the schema of each shard.
///
/// Whether the servers reach each other is only found by trying, in a transaction
/// that is rolled back: not in a dry run, which begins none.
pub(crate) async fn check_all(
    file: &ClusterFile,
    moves: &[PlannedMove],
    dry_run: bool,
    pace: Pace,
) -> Result<Checked, Failure> {
    let journal = MoveJournal::look(file).await?.list(i64::MAX).await?;
    let mut failures: Vec<Failure> = moves.iter().filter_map(|m| standing(&journal, m)).collect();
    // What is found on the nodes of those is the work of the move that stands.
    let free: Vec<_> = moves.iter().filter(|m| standing(&journal, m).is_none()).cloned().collect();
    let mut servers = connect(file, &free, &mut failures).await?;
    // On nodes without the extension there is nothing more to look at.
    let known =
        |m: &&PlannedMove| servers.contains_key(&m.source) && servers.contains_key(&m.target);
    let free: Vec<_> = free.iter().filter(known).cloned().collect();
    let moves = free.as_slice();
    let earlier = Earlier::look(file, journal, moves).await?;
    if pace.jobs > 1 {
        failures.extend(without_psql().await);
    }
    let mut compared = Vec::new();
    let mut schemas = BTreeMap::new();
    let mut told = BTreeSet::new();
    for planned in moves {
        let pair = (&planned.source, &planned.target);
        if !compared.contains(&pair) {
            failures.extend(nodes::compare(&mut servers, pair.0, pair.1).await?);
            failures.extend(nodes::follow(&mut servers, pair.1, pair.0, dry_run).await?);
            if pace.way_back {
                failures.extend(nodes::follow(&mut servers, pair.0, pair.1, dry_run).await?);
            }
            compared.push(pair);
        }
        let found = check_one(&mut servers, &earlier, planned, &mut told, &mut failures).await?;
        if let Some(schema) = found {
            schemas.insert(planned.shard, schema);
        }
    }
    failures.extend(capacity::missing(file, &mut servers, moves, pace).await?);
    failures.extend(preflight::room(&mut servers, moves).await?);
    if dry_run {
        talk::line(
            "not tried: whether the servers reach each other, since that takes a transaction",
        );
    }
    let mut highest_number = 0;
    for server in servers.values_mut() {
        let query = sqlx::query_scalar(sql!("move/check/numbers.sql"));
        highest_number = server.column(query).await?.into_iter().fold(highest_number, i64::max);
    }
    Failure::all(failures).map_or(Ok(Checked { schemas, highest_number }), Err)
}

/// Connects to the nodes of these moves, says what each is not, and leaves out those without
/// the extension.
async fn connect(
    file: &ClusterFile,
    moves: &[PlannedMove],
    failures: &mut Vec<Failure>,
) -> Result<BTreeMap<NodeName, MoveSession>, Failure> {
    let mut servers: BTreeMap<NodeName, MoveSession> = BTreeMap::new();
    let mut bare: BTreeSet<NodeName> = BTreeSet::new();
    for node in moves.iter().flat_map(|planned| [&planned.source, &planned.target]) {
        if servers.contains_key(node) || bare.contains(node) {
            continue;
        }
        let mut server = MoveSession::look(file, node).await?;
        nodes::check_commits(&mut server).await?;
        let problems = nodes::server_problems(&mut server).await?;
        failures.extend(failures_of(node, problems));
        failures.extend(failures_of(node, not_of_cluster(&mut server, file).await?));
        if has_extension(&mut server).await? {
            servers.insert(node.clone(), server);
        } else {
            bare.insert(node.clone());
        }
    }
    Ok(servers)
}

/// Says what is in the way of one move, on its two nodes. Returns the schema of the shard, if it
/// has one.
async fn check_one(
    servers: &mut BTreeMap<NodeName, MoveSession>,
    earlier: &Earlier,
    planned: &PlannedMove,
    told: &mut BTreeSet<NodeName>,
    failures: &mut Vec<Failure>,
) -> Result<Option<String>, Failure> {
    for node in [&planned.source, &planned.target] {
        // That is said already, and what follows takes what only one may see.
        if !nodes::superuser(servers.get_mut(node).expect("connected above")).await? {
            return Ok(None);
        }
    }
    let source = servers.get_mut(&planned.source).expect("connected above");
    let (home, problems) = shard::shard_problems(source, planned.shard).await?;
    failures.extend(failures_of(&planned.source, problems));
    let Some(home) = home else { return Ok(None) };
    shard::stays_behind(source, planned.shard, &home.schema, told).await?;
    let needs = needs(source, planned.shard, &home.schema).await?;
    let mut problems = shard::not_called(source, &home.schema).await?;
    problems.extend(shard::not_made(source, &home.schema).await?);
    failures.extend(failures_of(&planned.source, problems));
    let target = servers.get_mut(&planned.target).expect("connected above");
    failures.extend(earlier.old_copies(planned));
    let mut problems = target_problems(target, needs).await?;
    let mut source = servers.remove(&planned.source).expect("connected above");
    let target = servers.get_mut(&planned.target).expect("connected above");
    let rights = other_rights(&mut source, target, &home.schema).await;
    servers.insert(planned.source.clone(), source);
    problems.extend(rights?);
    let target = servers.get_mut(&planned.target).expect("connected above");
    // The schema of an old copy is known by its move.
    if !earlier.is_old_copy_at(planned) {
        problems.extend(shard::room(target, &home.schema).await?);
    }
    failures.extend(failures_of(&planned.target, problems));
    Ok(Some(home.schema))
}

/// The same for one move that is written down already.
pub(super) async fn check_again(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    let mut failures = Vec::new();
    for server in [&mut context.source, &mut context.target] {
        nodes::check_commits(server).await?;
        let problems = not_of_cluster(server, context.file).await?;
        failures.extend(failures_of(&server.node, problems));
    }
    if !failures.is_empty() {
        return Failure::all(failures).map_or(Ok(()), Err);
    }
    if context.record.kind == MoveKind::Copy {
        failures.extend(failures_of(
            &context.source.node.clone(),
            nodes::server_problems(&mut context.source).await?,
        ));
        failures.extend(failures_of(
            &context.target.node.clone(),
            nodes::server_problems(&mut context.target).await?,
        ));
        let (jobs, way_back) = (context.options.jobs.into(), context.record.way_back);
        let pace = Pace { parallel: 1, jobs, way_back };
        let missing =
            capacity::missing_for_one(&mut context.source, &mut context.target, pace).await?;
        failures.extend(missing);
        let (source, schema) = (&mut context.source, &context.record.schema);
        let mut problems = shard::not_called(source, schema).await?;
        problems.extend(shard::not_made(&mut context.source, &context.record.schema).await?);
        failures.extend(failures_of(&context.source.node, problems));
        let needs =
            needs(&mut context.source, context.record.shard, &context.record.schema).await?;
        let mut problems = target_problems(&mut context.target, needs).await?;
        problems.extend(rights(context).await?);
        problems.extend(shard::room(&mut context.target, &context.record.schema).await?);
        failures.extend(failures_of(&context.target.node, problems));
    }
    if context.record.kind == MoveKind::Rollback {
        check_new_copy(&mut context.source, &context.record).await?;
        for what in schema::not_carried_back(context).await? {
            context.say(format_args!(
                "not carried back from {}: {what} differs on {}",
                context.source.node, context.target.node
            ));
        }
        for (problem, hint) in rights(context).await? {
            context.say(format_args!("{}: {problem} ({hint})", context.target.node));
        }
    }
    let (_, problems) = shard::shard_problems(&mut context.source, context.record.shard).await?;
    failures.extend(failures_of(&context.source.node, problems));
    if let Some(seconds) = oldest_transaction(&mut context.source).await? {
        context.say(format_args!(
            "a transaction on {} has been open for {seconds} s: the copy begins when it ends",
            context.source.node
        ));
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

/// Refuses to open a copy by which somebody would lose a right, or gain one.
pub(super) async fn check_rights(context: &mut MoveContext<'_>) -> Result<(), Failure> {
    if context.record.kind == MoveKind::Rollback {
        return Ok(());
    }
    let problems = rights(context).await?;
    Failure::all(failures_of(&context.target.node, problems)).map_or(Ok(()), Err)
}

async fn rights(context: &mut MoveContext<'_>) -> Result<Vec<Problem>, Failure> {
    let MoveContext { source, target, record, .. } = context;
    other_rights(source, target, &record.schema).await
}
