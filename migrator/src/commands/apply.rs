//! `shardid apply`: the plan, a question, the lock, the same plan again, the steps.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use shardid_cluster::{NodeName, Plan, ShardSet, Step};

use crate::cli::{Apply, Rebuild};
use crate::commands::plan::{Asked, FullPlan, adopted, make, ticket_options};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::moving;
use crate::postgres::effects::NodeSession;
use crate::postgres::{catalog, connect, lock, look};
use crate::stdout::print;
use crate::talk::{self, ProgressBars};
use crate::tickets;
use crate::view::plan as view;

/// `shardid apply`.
pub(super) async fn run(file: Option<&Path>, args: &Apply) -> Result<(), Failure> {
    let asked = Asked { new_secrets: args.new_secrets, ..Asked::default() };
    make_so(&ClusterFile::load_any(file)?, args, asked).await
}

/// `shardid catalog rebuild`: the same, with the map that the nodes have.
pub(super) async fn rebuild(file: Option<&Path>, args: Rebuild) -> Result<(), Failure> {
    let asked = Asked { new_secrets: false, rebuild: true, accept_loss: args.accept_loss };
    let args = Apply {
        yes: args.yes,
        dry_run: args.dry_run,
        wait_seconds_max: args.wait_seconds_max,
        new_secrets: false,
        adopt: args.adopt,
    };
    let file = ClusterFile::load(file)?;
    make_so(&file, &args, asked).await
}

async fn make_so(file: &ClusterFile, args: &Apply, asked: Asked) -> Result<(), Failure> {
    let wait = Duration::from_secs(args.wait_seconds_max.into());
    let options = ticket_options(&args.adopt, wait);
    let shown = FullPlan::make(file, &args.adopt, &options, "apply", asked).await?;
    let text = shown.text(file);
    if args.dry_run {
        print(&text)?;
        shown.after(asked);
        return Ok(());
    }
    talk::view(&text);
    if shown.is_empty() {
        return Ok(());
    }
    talk::line("");
    if !args.yes && !talk::ask(format_args!("Make {}?", shown.changes()))? {
        return Err(Failure::new("not confirmed: nothing was changed"));
    }
    let goes_on = "what was done stays done; `shardid apply` goes on from here";
    if shown.tickets.is_some() {
        tickets::apply::say_restored(file, &options).await?;
    }
    if let Some((_, plan)) = &shown.shards
        && !plan.is_empty()
    {
        shards(file, args, asked, plan, wait).await?;
    }
    if shown.tickets.is_some() {
        tickets::apply::run(file, &options).await.map_err(|failure| failure.hint(goes_on))?;
    }
    if shown.shards.is_none() {
        talk::line(format_args!("done: cluster {} hands out tickets", file.declared.name));
    }
    Ok(())
}

/// Makes the plan for shards that was shown, if it is still the plan under the locks.
async fn shards(
    file: &ClusterFile,
    args: &Apply,
    asked: Asked,
    shown: &Plan,
    wait: Duration,
) -> Result<(), Failure> {
    let mut sessions = sessions(file).await?;
    take_locks(file, &mut sessions, wait).await?;

    if asked.rebuild {
        claim_all(file, &mut sessions, shown.map.version.term_begins()).await?;
    }

    // Somebody may have been here between the look and the lock.
    let mut truth = look::truth(file, "apply").await?;
    asked.change(file, &mut truth)?;
    let plan = make(file, &truth, &adopted(file, &args.adopt)?)?;
    if plan != *shown && !args.yes && !plan.is_empty() {
        return Err(Failure::new("the servers have changed since the plan was shown")
            .hint("look again with `shardid plan`"));
    }
    if plan.is_empty() {
        talk::line("somebody else has just done it: nothing left to do");
        return Ok(());
    }
    if plan.steps.iter().any(|step| matches!(step, Step::RebuildMap { .. })) {
        // There is one catalog: a move that an earlier one begins or goes on with would
        // change what the map is being taken from.
        for (_, session) in sessions.iter_mut().filter(|(node, _)| **node != file.declared.catalog)
        {
            session.close_catalog(&file.declared).await?;
        }
        truth = look::truth(file, "apply").await?;
        asked.change(file, &mut truth)?;
        let anew = make(file, &truth, &adopted(file, &args.adopt)?)?;
        if anew != plan {
            return Err(Failure::new("a move has ended since the plan was made")
                .hint("look again with `shardid catalog rebuild --dry-run`"));
        }
    }
    take_steps(file, &plan, &mut sessions).await.map_err(|failure| {
        failure.hint("what was done stays done; `shardid apply` goes on from here")
    })?;
    talk::line(format_args!(
        "done: cluster {} has map version {}",
        file.declared.name, plan.map.version
    ));
    Ok(())
}

/// How often a term above all that nodes know is looked for.
const CLAIMS_MAX: u32 = 5;

/// Claims all shards on all nodes, before anything of a new map is written: a program that moves one goes by
/// another catalog, and whatever it does later is refused. What it had done before is seen from here on.
async fn claim_all(
    file: &ClusterFile,
    sessions: &mut Sessions,
    mut term: i64,
) -> Result<(), Failure> {
    let shards = ShardSet::all(file.declared.shards);
    let keeper = sessions.get_mut(&file.declared.catalog).expect("the file was checked");
    keeper.check_at_rest().await?;
    for _ in 0..CLAIMS_MAX {
        let mut known = term;
        for session in sessions.values_mut() {
            known = known.max(session.claim_shards(&shards, term).await?);
            cuts::at(format_args!("rebuild/claimed-{}", session.node));
        }
        if known == term {
            return Ok(());
        }
        // A move went on after an earlier rebuild had come so far and no further.
        term = known + 1;
    }
    Err(Failure::new("a program that moves shards begins again and again")
        .hint("`shardid catalog rebuild` once it has ended"))
}

type Sessions = BTreeMap<NodeName, NodeSession>;

/// A connection to every node.
async fn sessions(file: &ClusterFile) -> Result<Sessions, Failure> {
    let connecting = file.postgres().map(|(node, address)| async move {
        let connection = connect(node, address, "apply").await?;
        let mut session = NodeSession { node: node.clone(), connection };
        session.bound().await?;
        Ok::<_, Failure>((node.clone(), session))
    });
    try_join_all(connecting).await.map(|sessions| sessions.into_iter().collect())
}

/// Takes the lock of the catalog, which keeps other programs away, and then
/// those of all nodes: a program that was killed may have left a server process
/// behind that is still at work there.
async fn take_locks(
    file: &ClusterFile,
    sessions: &mut Sessions,
    wait: Duration,
) -> Result<(), Failure> {
    let catalog = &file.declared.catalog;
    let keeper = sessions.get_mut(catalog).expect("the file was checked");
    lock::take(&mut keeper.connection, catalog, wait).await?;
    for (node, session) in sessions.iter_mut().filter(|(node, _)| *node != catalog) {
        lock::take(&mut session.connection, node, wait).await?;
    }
    Ok(())
}

/// The phases of an apply. Within one, nodes are worked on side by side; the
/// next begins when all are done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Extension,
    Catalog,
    Shards,
    Open,
    Following,
    Forget,
    Unfence,
}

const PHASES: [Phase; 7] = [
    Phase::Extension,
    Phase::Catalog,
    Phase::Shards,
    Phase::Open,
    Phase::Following,
    Phase::Forget,
    Phase::Unfence,
];

fn phase(step: &Step) -> Phase {
    match step {
        Step::InstallExtension { .. } | Step::UpgradeExtension { .. } => Phase::Extension,
        Step::MigrateCatalog { .. }
        | Step::RenameNode { .. }
        | Step::WriteNode { .. }
        | Step::WriteMap { .. }
        | Step::RebuildMap { .. } => Phase::Catalog,
        Step::CreateShards { .. } | Step::TellNode { .. } => Phase::Shards,
        Step::OpenShards { .. } => Phase::Open,
        Step::LetFollow { .. } | Step::Connect { .. } | Step::ForgetFollowers { .. } => {
            Phase::Following
        }
        Step::RemoveNode { .. } => Phase::Forget,
        Step::TakeAwayFences { .. } => Phase::Unfence,
    }
}

async fn take_steps(
    file: &ClusterFile,
    plan: &Plan,
    sessions: &mut Sessions,
) -> Result<(), Failure> {
    for now in PHASES {
        let steps: Vec<&Step> = plan.steps.iter().filter(|step| phase(step) == now).collect();
        if steps.is_empty() {
            continue;
        }
        let keeper = sessions.get_mut(&file.declared.catalog).expect("the file was checked");
        lock::check(&mut keeper.connection, &file.declared.catalog).await?;
        match now {
            Phase::Extension | Phase::Shards | Phase::Open | Phase::Unfence => {
                side_by_side(file, plan, &steps, sessions).await?;
            }
            // One after the other: nodes on one server share its roles.
            Phase::Following => {
                let progress = ProgressBars::new();
                for step in steps {
                    let node = step.node().expect("each is about a node");
                    let session = sessions.get_mut(node).expect("it is in the cluster file");
                    take(file, plan, step, session, &progress).await?;
                }
            }
            Phase::Catalog | Phase::Forget => {
                let progress = ProgressBars::new();
                for step in steps {
                    take(file, plan, step, keeper, &progress).await?;
                }
            }
        }
    }
    Ok(())
}

/// Takes each node's steps in order, all nodes at once. A node that fails does
/// not keep the others from getting as far as they can.
async fn side_by_side(
    file: &ClusterFile,
    plan: &Plan,
    steps: &[&Step],
    sessions: &mut Sessions,
) -> Result<(), Failure> {
    let progress = ProgressBars::new();
    let work = sessions.values_mut().map(|session| {
        let progress = &progress;
        async move {
            let node = session.node.clone();
            for step in steps.iter().filter(|step| step.node() == Some(&node)) {
                take(file, plan, step, session, progress).await?;
            }
            Ok(())
        }
    });
    let failures = join_all(work).await.into_iter().filter_map(Result::err);
    Failure::all(failures).map_or(Ok(()), Err)
}

async fn take(
    file: &ClusterFile,
    plan: &Plan,
    step: &Step,
    session: &mut NodeSession,
    progress: &ProgressBars,
) -> Result<(), Failure> {
    cuts::at(format_args!("apply/before-{:?}-{}", phase(step), session.node));
    let done = try_take(file, plan, step, session, progress).await;
    done.map_err(|failure| failure.detail(view::failed(step)))
}

async fn try_take(
    file: &ClusterFile,
    plan: &Plan,
    step: &Step,
    session: &mut NodeSession,
    progress: &ProgressBars,
) -> Result<(), Failure> {
    let declared = &file.declared;
    match step {
        Step::InstallExtension { .. } => session.create_extension().await?,
        Step::UpgradeExtension { .. } => session.update_extension().await?,
        Step::MigrateCatalog { node, .. } => {
            catalog::migrate(&mut session.connection, node).await?
        }
        Step::WriteNode { node, weight, identity, .. } => {
            session.write_node(node, *weight, identity).await?;
        }
        Step::RenameNode { rename, identity, version } => {
            session.rename_node(rename, identity, *version).await?;
        }
        Step::WriteMap { map } => session.write_map(declared, map).await?,
        Step::RebuildMap { map } => session.rebuild_map(declared, map).await?,
        Step::CreateShards { node, shards } => {
            let mut work = progress.begin(format!("{node}: create shards"), shards.len());
            session.create_shards(declared, shards, |count| work.advance(count)).await?;
            work.end(format_args!("  {}", view::done(step)));
            return Ok(());
        }
        Step::TellNode { was, to, shards, .. } => {
            if let Some(was) = was {
                session.rename_copy(declared, was).await?;
            }
            session.place_shards(declared, &plan.map, *to, shards).await?;
        }
        Step::OpenShards { node, shards } => moving::open_shards(file, node, shards).await?,
        Step::TakeAwayFences { node, shards } => {
            moving::take_away_fences(file, node, shards).await?;
        }
        Step::RemoveNode { node } => session.remove_node(node).await?,
        Step::LetFollow { followers, .. } => {
            for (follower, role) in followers {
                session.let_follow(follower, role).await?;
            }
        }
        Step::Connect { node, streams } => moving::connect_anew(file, node, streams).await?,
        Step::ForgetFollowers { roles, .. } => {
            for role in roles {
                session.forget_follower(role).await?;
            }
        }
    }
    progress.line(format_args!("  {}", view::done(step)));
    Ok(())
}
