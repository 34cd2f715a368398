//! `shardid plan`: what is different, and nothing is touched.

use std::collections::BTreeSet;
use std::path::Path;

use semver::Version;
use shardid_cluster::{NodeName, Plan, Program, Refusal, Truth};

use crate::cli;
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{catalog, look};
use crate::view::plan as view;

/// The oldest extension that this program can work with.
const EXTENSION_MIN: Version = Version::new(0, 1, 0);

pub(super) async fn run(file: Option<&Path>, args: &cli::Plan) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    let adopt = adopted(&file, &args.adopt)?;
    let truth = look::truth(&file, "plan").await?;
    let made = make(&file, &truth, &adopt);
    if args.json {
        let plan = match &made {
            Ok(plan) => view::json(&file.declared, &truth, plan),
            Err(refused) => view::refused_json(&file.declared, refused),
        };
        print_json(&plan)?;
        return made.map(|_| ());
    }
    let plan = made?;
    print(&view::text(&file.declared, &truth, &plan))?;
    view::after(&plan);
    Ok(())
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
    for node in &adopt.nodes {
        file.address(node).map_err(|_| {
            let shown = file.path.display();
            Failure::usage(format!("there is no node {node} in {shown} to adopt"))
        })?;
    }
    Ok(adopt.nodes.iter().cloned().collect())
}
