//! `shardid status`: nodes, versions, shards, sizes and clocks.

use std::path::Path;
use std::process::ExitCode;

use futures_util::future::join_all;

use crate::cli::Status;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::statistics;
use crate::stdout::{print, print_json};
use crate::tickets;
use crate::view::status as view;

pub(super) async fn run(file: Option<&Path>, args: &Status) -> Result<ExitCode, Failure> {
    let file = ClusterFile::load_any(file)?;
    let asked =
        file.postgres().map(|(node, address)| statistics::ask(&file.declared, node, address));
    let nodes: Vec<_> =
        file.postgres().map(|(node, _)| node.clone()).zip(join_all(asked).await).collect();
    let tickets = match tickets::apply::concerns(&file) {
        true => Some(tickets::look(&file, "status", true).await),
        false => None,
    };
    let mysql = tickets.as_ref().map_or_else(Vec::new, |look| view::mysql_of(&file, look));
    let down = nodes.iter().any(|(_, answer)| answer.is_err())
        || mysql.iter().any(|(_, answer)| answer.is_err());
    if args.json {
        print_json(&view::json(&file, &nodes, &mysql))?;
    } else {
        print(&view::text(&file, &nodes, &mysql))?;
        view::remarks(&file, &nodes, &mysql);
    }
    Ok(if down { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
