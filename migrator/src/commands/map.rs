//! `shardid map`: which shard lives on which node.

use std::path::Path;

use crate::cli::{Map, MapFormat};
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::ids;
use crate::view::map as view;

pub(super) async fn run(file: Option<&Path>, args: &Map) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    let map = ids::map(&file).await?;
    match args.format {
        MapFormat::Table => print(&view::table(&file, &map)),
        MapFormat::Json => print_json(&view::json(&file.declared, &map)),
        MapFormat::Csv => print(&view::csv(&map)),
        MapFormat::Pgdog => print(&view::pgdog(&file, &map, &ids::schemas(&file).await?)?),
    }
}
