//! `shardid move`, `drain`, `rebalance`, `moves`, `resume`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use shardid_cluster::{
    BalanceBy, MoveState, NodeLoad, NodeName, PlannedMove, Shard, ShardMap, ShardSet,
};

use crate::cli::{self, By, Drain, ManyMoves, MoveOptions, Moves, Rebalance, Standing};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::moving::origin;
use crate::moving::{
    self, Checked, Move, MoveContext, MoveJournal, MoveSession, Options, Pace, Without, check_all,
    drive, shard_sizes,
};
use crate::postgres::ids;
use crate::stdout::{print, print_json};
use crate::talk;
use crate::view::moves::{self as view, About, Found, Problem};

impl From<MoveOptions> for Options {
    fn from(options: MoveOptions) -> Self {
        Self {
            fence_max: Duration::from_secs(options.fence_seconds_max.into()),
            verify: options.verify,
            jobs: 1,
            stall_max: Duration::from_secs(options.stall_seconds_max.into()),
            lag_max_bytes: options.lag_mb_max.map(|mb| i64::from(mb) * 1_000_000),
            accept_loss: false,
        }
    }
}

pub(super) async fn shards(file: Option<&Path>, args: &cli::Move) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    let map = ids::map(&file).await?;
    let wanted = args.shards.iter().fold(ShardSet::new(), |all, set| all.or(set));
    file.address(&args.to)?;
    let mut planned = Vec::new();
    let mut unknown = Vec::new();
    for shard in wanted.iter() {
        match map.node_of(shard) {
            Some(source) if *source == args.to => {
                talk::line(format_args!("shard {shard} is on {} already", args.to));
            }
            Some(source) => {
                planned.push(PlannedMove { shard, source: source.clone(), target: args.to.clone() })
            }
            None => unknown.push(
                Failure::new(format!("cluster {} has no shard {shard}", file.declared.name))
                    .hint(format!("its shards are 0 to {}", file.declared.shards.get() - 1)),
            ),
        }
    }
    Failure::all(unknown).map_or(Ok(()), Err)?;
    make(&file, planned, &args.how).await
}

pub(super) async fn drain(file: Option<&Path>, args: &Drain) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    file.address(&args.node)?;
    let mut loads = loads(&file, &[]).await?;
    if let Some(load) = loads.get_mut(&args.node) {
        load.weight = 0;
    }
    // Nobody else gives anything: this is about one node.
    let moves = shardid_cluster::rebalance(&loads, BalanceBy::Count, usize::MAX)
        .map_err(Failure::new)?
        .into_iter()
        .filter(|m| m.source == args.node)
        .collect();
    make(&file, moves, &args.how).await
}

pub(super) async fn rebalance(file: Option<&Path>, args: &Rebalance) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    for node in &args.exclude {
        file.address(node)?;
    }
    let loads = loads(&file, &args.exclude).await?;
    let by = match args.by {
        By::Count => BalanceBy::Count,
        By::Size => BalanceBy::Size,
    };
    let most = args.max_moves.map_or(usize::MAX, |most| most as usize);
    let moves = shardid_cluster::rebalance(&loads, by, most).map_err(Failure::new)?;
    make(&file, moves, &args.how).await
}

/// What every node carries, by the map and by what the nodes say.
async fn loads(
    file: &ClusterFile,
    excluded: &[NodeName],
) -> Result<BTreeMap<NodeName, NodeLoad>, Failure> {
    let map: ShardMap = ids::map(file).await?;
    let mut loads = BTreeMap::new();
    for declared in file.declared.postgres() {
        let mut server = MoveSession::look(file, &declared.name).await?;
        let sizes = shard_sizes(&mut server).await?;
        let size = |shard: Shard| {
            (shard, sizes.get(&shard.as_sql()).map_or(0, |bytes| bytes.unsigned_abs()))
        };
        loads.insert(
            declared.name.clone(),
            NodeLoad {
                weight: declared.weight,
                capacity_bytes: None,
                excluded: excluded.contains(&declared.name),
                shards: map.on(&declared.name).iter().map(size).collect(),
            },
        );
    }
    Ok(loads)
}

/// Shows, checks, asks, and makes the moves.
async fn make(
    file: &ClusterFile,
    planned: Vec<PlannedMove>,
    how: &ManyMoves,
) -> Result<(), Failure> {
    if planned.is_empty() {
        talk::line("nothing to move");
        return Ok(());
    }
    let text = view::plan(&planned);
    let pace = Pace {
        parallel: how.parallel.into(),
        jobs: how.copy.jobs.into(),
        way_back: !how.no_rollback,
    };
    if how.dry_run {
        print(&text)?;
        check_all(file, &planned, true, pace).await?;
        return Ok(());
    }
    talk::view(&text);
    let checked = check_all(file, &planned, false, pace).await?;
    if !how.yes
        && !talk::ask_or(
            format_args!("Make {}?", crate::view::counted(planned.len() as u64, "move")),
            "look at the plan with `--dry-run`, then say `--yes`",
        )?
    {
        return Err(Failure::new("not confirmed: nothing was changed"));
    }
    moving::watch_for_interrupts(planned.len() > 1);
    let total = planned.len();
    let mut left: BTreeMap<Shard, PlannedMove> =
        planned.iter().map(|planned| (planned.shard, planned.clone())).collect();
    let work = planned.into_iter().map(|planned| make_one(file, planned, &checked, how));
    let mut done = 0;
    let mut failures = Vec::new();
    let mut running = stream::iter(work).buffer_unordered(how.parallel.into());
    while let Some(outcome) = running.next().await {
        match outcome {
            Ok(Some(shard)) => {
                done += 1;
                left.remove(&shard);
            }
            Ok(None) => {}
            Err(failure) => {
                failures.push(failure);
                // What is under way goes on to its end; nothing new begins.
                moving::stop();
            }
        }
    }
    if let Some(failure) = Failure::all(failures) {
        let failure = failure.detail(format!("{done} of {total} moves are done"));
        return Err(if total > 1 { failure.standing() } else { failure });
    }
    if done < total {
        let left: Vec<PlannedMove> = left.into_values().collect();
        return Err(Failure::new(format!("stopped: {done} of {total} moves are done"))
            .detail(format!("left: {}", view::plan(&left)))
            .standing()
            .hint("run the same command again for the rest"));
    }
    talk::line(format_args!("done: {}", crate::view::counted(done as u64, "move")));
    if !how.no_rollback {
        talk::line("the old copies follow until `shardid retire`; `shardid moves` lists them");
    }
    Ok(())
}

/// Writes a move down and drives it to its end; none where it was not to begin any more.
async fn make_one(
    file: &ClusterFile,
    planned: PlannedMove,
    checked: &Checked,
    how: &ManyMoves,
) -> Result<Option<Shard>, Failure> {
    if moving::asked_to_stop() {
        return Ok(None);
    }
    let PlannedMove { shard, source, target } = planned;
    let Some(schema) = checked.schemas.get(&shard) else { return Ok(None) };
    let mut journal = MoveJournal::open(file).await?;
    journal.number_above(checked.highest_number).await?;
    let id = journal.plan(shard, &source, &target, None, schema, !how.no_rollback).await?;
    drop(journal);
    moving::line(format_args!("move {id}: shard {shard} from {source} to {target}"));
    let options = Options { jobs: how.copy.jobs, ..how.options.into() };
    let entered = MoveContext::enter(file, id, options).await;
    let mut context = entered.map_err(|failure| {
        failure.standing().hint(format!("`shardid resume {id}` or `shardid abort {id}`"))
    })?;
    drive(&mut context).await?;
    Ok(Some(shard))
}

pub(super) async fn moves(file: Option<&Path>, args: &Moves) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    let mut journal = MoveJournal::open(&file).await?;
    let moves = journal.list(args.over.into()).await?;
    let log = journal.log(&moves).await?;
    let found = look(&file, &moves).await?;
    if args.json {
        return print_json(&view::json(&moves, &log, &found));
    }
    print(&view::table(&moves, &log, &found.parted))?;
    view::what_to_do(&moves, &found.said());
    let mut told = BTreeSet::new();
    for it in &found.problems {
        // Of a node it is said once.
        if it.of != About::Nodes || told.insert(&it.problem) {
            it.say(&moves);
        }
    }
    Ok(())
}

/// Finds what the nodes of moves say beside the journal.
async fn look(file: &ClusterFile, moves: &[Move]) -> Result<Found, Failure> {
    let at_work = |it: &&Move| !it.state.is_over() || it.has_old_copy();
    let nodes = moves.iter().filter(at_work).flat_map(|it| [&it.source, &it.target]).collect();
    let swapped = moving::swapped(file, nodes).await?;
    let is_known =
        |it: &&Move| [&it.source, &it.target].iter().all(|node| !swapped.contains_key(*node));
    let known: Vec<Move> = moves.iter().filter(is_known).cloned().collect();
    let parted = moving::ahead::parted(file, &known).await?;
    let lost = moving::lost_moves(file).await?;
    let lost_by_source = moving::lost_sources(file, &known).await?;
    let mut problems = Vec::new();
    for record in moves.iter().filter(at_work) {
        let there = [&record.source, &record.target].map(|node| swapped.get(node));
        let said = there.into_iter().flatten().flat_map(Failure::messages);
        problems.extend(said.map(|(message, hint)| Problem {
            id: record.id,
            of: About::Nodes,
            problem: message.to_owned(),
            mend: hint.unwrap_or_default().to_owned(),
        }));
    }
    for reader in moving::readers(file, &known).await {
        problems.extend(view::unread(&reader));
    }
    for (id, it) in &parted {
        problems.extend(it.failure.messages().map(|(message, hint)| Problem {
            id: *id,
            of: About::OldCopy,
            problem: message.to_owned(),
            mend: hint.unwrap_or_default().to_owned(),
        }));
    }
    for record in &known {
        let Move { id, .. } = *record;
        problems.extend(lost_by_source.get(&id).map(|why| {
            let (problem, mend) = (origin::problem(record, *why), origin::mend(id));
            Problem { id, of: About::Standing, problem, mend }
        }));
        problems.extend(lost.get(&id).map(|lost| {
            let (problem, mend) = (lost.lost.problem(record), lost.instead(record));
            Problem { id, of: About::Standing, problem, mend }
        }));
    }
    let held_back = parted.iter().filter(|(_, it)| it.is_ahead).map(|(id, _)| *id).collect();
    Ok(Found { parted: parted.into_keys().collect(), held_back, problems })
}

pub(super) async fn resume(file: Option<&Path>, args: &Standing) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    let record = MoveJournal::open(&file).await?.read(args.id).await?;
    if record.state.is_over() {
        talk::line(format_args!("move {} is {} already", args.id, record.state));
        return Ok(());
    }
    moving::watch_for_interrupts(false);
    let options =
        Options { accept_loss: args.accept_loss, jobs: args.copy.jobs, ..args.options.into() };
    if let Some(gone) = &args.gone {
        let how = Without { gives_up: false, accept_loss: args.accept_loss };
        let state = moving::end_without(&file, args.id, gone, how)
            .await
            .map_err(|failure| stands(failure, args.id, record.state))?;
        talk::line(format_args!("move {} is {state}", args.id));
        return Ok(());
    }
    let mut context = MoveContext::enter(&file, args.id, options)
        .await
        .map_err(|failure| stands(failure, args.id, record.state))?;
    let state = drive(&mut context).await?;
    talk::line(format_args!("move {} is {state}", args.id));
    Ok(())
}

/// A failure that leaves a move standing.
pub(super) fn stands(failure: Failure, id: i64, state: MoveState) -> Failure {
    failure
        .detail(format!("move {id} is unfinished (state: {state}, or an earlier one)"))
        .standing()
}
