//! `shardid map`: which shard lives on which node.

use std::path::Path;

use shardid_cluster::ShardMap;

use crate::cli::{Map, MapFormat};
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::ids;
use crate::stdout::{print, print_json};
use crate::view::map as view;

pub(super) async fn run(file: Option<&Path>, args: &Map) -> Result<(), Failure> {
    let file = ClusterFile::load(file)?;
    if args.watch {
        return watch(&file, args.format).await;
    }
    let map = ids::map(&file).await?;
    match args.format {
        MapFormat::Table => print(&view::table(&file, &map)),
        MapFormat::Json => print_json(&view::json(&file.declared, &map)),
        MapFormat::Csv => print(&view::csv(&map)),
        MapFormat::Pgdog => print(&view::pgdog(&file, &map, &ids::schemas(&file).await?)?),
    }
}

/// Prints the map and then each change of it, until somebody ends it.
async fn watch(file: &ClusterFile, format: MapFormat) -> Result<(), Failure> {
    let line: fn(&ShardMap, &ShardMap) -> String = match format {
        MapFormat::Table => view::change_line,
        MapFormat::Json => view::change_json,
        MapFormat::Csv | MapFormat::Pgdog => {
            return Err(Failure::usage("changes are printed as table or json only")
                .hint("leave `--watch` out, or say `--format json`"));
        }
    };
    // Listening first: a change between the two is seen twice rather than never.
    let mut changes = ids::Changes::listen(file).await?;
    let mut before = ids::map(file).await?;
    print(&line(&ShardMap::default(), &before))?;
    loop {
        changes.next().await?;
        let after = ids::map(file).await?;
        if after.version != before.version {
            print(&line(&before, &after))?;
        }
        before = after;
    }
}
