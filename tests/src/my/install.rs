//! Installing the schema `shardid`: every file, in the order of its number.
//!
//! The program does this with a history; the tests of the SQL need the objects
//! alone, so a server has them without the program.

use std::fs;
use std::path::{Path, PathBuf};

use super::Server;

/// The modes that the program installs under; routines keep those they were made with.
const SESSION: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,NO_ZERO_DATE,\
NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', SESSION time_zone = '+00:00'";

/// Makes the schema; may be run again.
pub(crate) fn install(server: &Server) {
    let mut client = server.connect();
    super::query::<String>(&mut client, SESSION);
    super::query::<String>(
        &mut client,
        "CREATE DATABASE IF NOT EXISTS shardid DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    );
    for file in files() {
        let sql = fs::read_to_string(&file).expect("a file of ours can be read");
        if let Err(error) = super::try_query::<String>(&mut client, &sql) {
            panic!("{} cannot be installed: {error:?}", file.display());
        }
    }
}

/// The files, by their numbers: `V7__name.sql`.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/mysql/schema");
    let mut files: Vec<(u32, PathBuf)> = fs::read_dir(folder)
        .expect("the folder is there")
        .flatten()
        .map(|entry| entry.path())
        .filter_map(|path| {
            let number = path.file_name()?.to_str()?.strip_prefix('V')?.split_once("__")?.0;
            Some((number.parse().ok()?, path))
        })
        .collect();
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}
