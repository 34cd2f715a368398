//! `shardid verify`: what could repeat or lose an id, and what mends it.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::stdout::{print, print_json};
use crate::verify::{Estate, verify};
use crate::view::verify as view;

pub(super) async fn run(file: Option<&Path>, args: &cli::VerifyAll) -> Result<ExitCode, Failure> {
    let file = ClusterFile::load(file)?;
    let mut estate = Estate::visit(&file).await;
    let most = Duration::from_secs(args.table_seconds_max.into());
    let report = verify(&mut estate, args.data.then_some(most)).await;
    let nodes = file.postgres().count();
    if args.json {
        print_json(&view::json(&file, nodes, &report))?;
    } else {
        print(&view::text(nodes, &report))?;
    }
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
