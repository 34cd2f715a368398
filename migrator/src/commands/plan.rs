//! `shardid plan`: what is different, and nothing is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use semver::Version;
use shardid_cluster::{NodeName, Plan, Program, Refusal, TicketPlan, Truth};

use crate::cli;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{catalog, look};
use crate::stdout::{print, print_json};
use crate::view::{counted, plan as view, tickets as tickets_view};
use crate::{talk, tickets};

/// The oldest extension that this program can work with.
const EXTENSION_MIN: Version = Version::new(0, 1, 0);

pub(super) async fn run(file: Option<&Path>, args: &cli::Plan) -> Result<(), Failure> {
    let file = ClusterFile::load_any(file)?;
    let options = ticket_options(&args.adopt, Duration::ZERO);
    let made = FullPlan::make(&file, &args.adopt, &options, "plan", Asked::default()).await;
    if args.json {
        print_json(&match &made {
            Ok(whole) => whole.json(&file),
            Err(refused) => view::refused_json(&file.declared, refused),
        })?;
        return made.map(|_| ());
    }
    let whole = made?;
    print(&whole.text(&file))?;
    whole.after(Asked::default());
    Ok(())
}

/// What was asked for besides the difference.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    /// All that follow connect with new secrets.
    pub(super) new_secrets: bool,
    /// The map is taken from the nodes.
    pub(super) rebuild: bool,
    /// Shards go back whose new node may have lost rows.
    pub(super) accept_loss: bool,
}

impl Asked {
    /// Has the truth be one from which a plan does what was asked for.
    pub(super) fn change(self, file: &ClusterFile, truth: &mut Truth) -> Result<(), Failure> {
        if self.new_secrets {
            truth.renew_secrets();
        }
        if self.rebuild {
            truth.rebuild_map(&file.declared, self.accept_loss)?;
        }
        Ok(())
    }
}

/// The plan for shards and that for tickets, with what they were made of.
pub(super) struct FullPlan {
    /// `None` in a cluster of ticket servers alone.
    pub(super) shards: Option<(Truth, Plan)>,
    /// `None` where tickets are nobody's business.
    pub(super) tickets: Option<TicketPlan>,
}

impl FullPlan {
    /// Looks at all servers and makes both plans.
    pub(super) async fn make(
        file: &ClusterFile,
        adopt: &cli::Adopt,
        options: &tickets::plan::Options,
        task: &str,
        asked: Asked,
    ) -> Result<Self, Failure> {
        let adopt = adopted(file, adopt)?;
        let mut whole = Self { shards: None, tickets: None };
        if file.declared.has_shards() {
            let mut truth = look::truth(file, task).await?;
            asked.change(file, &mut truth)?;
            let plan = make(file, &truth, &adopt)?;
            whole.shards = Some((truth, plan));
        }
        if tickets::apply::concerns(file) {
            let seen =
                tickets::look_taking(file, task, options.accept_power_loss, &options.restored)
                    .await?
                    .whole()?;
            whole.tickets = Some(tickets::plan::plan(file, &seen, options)?);
        }
        Ok(whole)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    fn count(&self) -> usize {
        let shards = self.shards.as_ref().map_or(0, |(_, plan)| plan.steps.len());
        shards + self.tickets.as_ref().map_or(0, |plan| plan.steps.len())
    }

    /// `1 change`, `10 changes`.
    pub(super) fn changes(&self) -> String {
        counted(self.count() as u64, "change")
    }

    pub(super) fn text(&self, file: &ClusterFile) -> String {
        let declared = &file.declared;
        let mut text = match &self.shards {
            Some((truth, plan)) => view::text(declared, truth, plan),
            None => format!("cluster {}: ticket servers alone\n", declared.name),
        };
        if let Some(plan) = &self.tickets {
            text.push_str(&tickets_view::text(plan));
        }
        if self.is_empty() {
            text.push_str("nothing to do: the servers are as the cluster file says\n");
        }
        text
    }

    /// What to do with a plan that was shown.
    pub(super) fn after(&self, asked: Asked) {
        let command = if asked.rebuild { "catalog rebuild" } else { "apply" };
        if !self.is_empty() {
            talk::line(format_args!("\nMake {} with `shardid {command}`.", self.changes()));
        }
    }

    fn json(&self, file: &ClusterFile) -> serde_json::Value {
        let mut value = match &self.shards {
            Some((truth, plan)) => view::json(&file.declared, truth, plan),
            None => serde_json::json!({"cluster": file.declared.name.as_str(), "steps": []}),
        };
        if let Some(plan) = &self.tickets {
            value["tickets"] = tickets_view::json(plan);
        }
        value
    }
}

/// What a person chose about tickets.
pub(super) fn ticket_options(adopt: &cli::Adopt, wait: Duration) -> tickets::plan::Options {
    let mut above_of = BTreeMap::new();
    for said in &adopt.above {
        if let Some(ticket) = &said.ticket {
            // Of several restored servers each may have a number of its own.
            let highest = above_of.entry(ticket.clone()).or_insert(0);
            *highest = said.number.max(*highest);
        }
    }
    tickets::plan::Options {
        restored: adopt.restored.clone(),
        above: adopt
            .above
            .iter()
            .filter(|said| said.ticket.is_none())
            .map(|said| said.number)
            .max(),
        above_of: above_of.into_iter().collect(),
        accept_power_loss: adopt.accept_power_loss,
        accept_unseen: adopt.accept_unseen,
        wait,
    }
}

/// The plan, or all reasons against it.
pub(super) fn make(
    file: &ClusterFile,
    truth: &Truth,
    adopt: &BTreeSet<NodeName>,
) -> Result<Plan, Failure> {
    let program = Program {
        version: env!("CARGO_PKG_VERSION").parse().expect("cargo checks the version"),
        extension_min: EXTENSION_MIN,
        migrations: catalog::marks(),
    };
    shardid_cluster::plan(&file.declared, truth, &program, adopt).map_err(|refusals| {
        let failures = refusals.into_iter().map(|refusal: Refusal| Failure::from(refusal));
        Failure::all(failures).expect("a refusal has a reason")
    })
}

/// The nodes that may be another database than before.
pub(super) fn adopted(
    file: &ClusterFile,
    adopt: &cli::Adopt,
) -> Result<BTreeSet<NodeName>, Failure> {
    for node in adopt.nodes.iter().chain(&adopt.restored) {
        file.address(node).map_err(|_| {
            let shown = file.path.display();
            Failure::usage(format!("there is no node {node} in {shown} to adopt"))
        })?;
    }
    Ok(adopt.nodes.iter().cloned().collect())
}
