//! `shardid status`: nodes, versions, shards, sizes and clocks.

use std::path::Path;
use std::process::ExitCode;

use futures_util::future::join_all;

use crate::cli::Status;
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::statistics;
use crate::view::status as view;

pub(super) async fn run(file: Option<&Path>, args: &Status) -> Result<ExitCode, Failure> {
    let file = ClusterFile::load(file)?;
    let asked =
        file.postgres().map(|(node, address)| statistics::ask(&file.declared, node, address));
    let nodes: Vec<_> =
        file.postgres().map(|(node, _)| node.clone()).zip(join_all(asked).await).collect();
    let down = nodes.iter().any(|(_, answer)| answer.is_err());
    if args.json {
        print_json(&view::json(&file, &nodes))?;
    } else {
        print(&view::text(&file, &nodes))?;
        view::remarks(&file, &nodes);
    }
    Ok(if down { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
