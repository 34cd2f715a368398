//! Which PostgreSQL is installed here, and where are its programs?

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// An installed PostgreSQL.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    /// The folder of its programs.
    pub(crate) bin: PathBuf,
    /// The folder of its extensions' control files.
    extension: PathBuf,
}

/// Finds the PostgreSQL that is named, or one that has the extension.
pub(crate) fn installation(pg_config: Option<&Path>) -> Result<Installation, Failure> {
    if let Some(pg_config) = pg_config {
        return Installation::by(pg_config).ok_or_else(|| {
            Failure::new(format!("{} does not lead to a PostgreSQL server", pg_config.display()))
                .hint("name the pg_config of a server, with `--pg-config` or PG_CONFIG")
        });
    }
    let found: Vec<Installation> =
        candidates().iter().filter_map(|pg_config| Installation::by(pg_config)).collect();
    let with_extension = found.iter().find(|found| found.has_extension());
    with_extension.or(found.first()).cloned().ok_or_else(|| {
        Failure::new("no PostgreSQL server is installed here")
            .hint("install one (`make deps` does on Debian), or name its pg_config: `shardid dev up --pg-config FILE`")
    })
}

/// A client program of an installed PostgreSQL, such as `pg_dump`: that of
/// PG_CONFIG, or of the newest server here, or whatever the path has.
pub(crate) fn client_program(name: &str) -> Result<tokio::process::Command, Failure> {
    let pg_config = std::env::var_os("PG_CONFIG").filter(|path| !path.is_empty());
    let installed = installation(pg_config.as_deref().map(Path::new));
    let program = installed.map(|found| found.program(name)).ok().filter(|path| path.exists());
    let program = program.unwrap_or_else(|| PathBuf::from(name));
    let mut command = tokio::process::Command::new(program);
    command.kill_on_drop(true);
    Ok(command)
}

/// Where a pg_config may be, the likeliest first.
fn candidates() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("pg_config")];
    for (root, prefix) in [
        ("/usr/lib/postgresql", ""),
        ("/usr", "pgsql-"),
        ("/usr/local/opt", "postgresql@"),
        ("/opt/homebrew/opt", "postgresql@"),
    ] {
        let versions =
            std::fs::read_dir(root).into_iter().flatten().flatten().filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                Some((name.strip_prefix(prefix)?.parse::<u32>().ok()?, entry.path()))
            });
        let mut versions: Vec<(u32, PathBuf)> = versions.collect();
        versions.sort_by(|a, b| b.cmp(a));
        found.extend(versions.into_iter().map(|(_, path)| path.join("bin/pg_config")));
    }
    found
}

impl Installation {
    /// The installation that a pg_config speaks of, if it has a server.
    fn by(pg_config: &Path) -> Option<Self> {
        let ask = |what: &str| {
            let output = Command::new(pg_config).arg(what).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| PathBuf::from(text.trim()))
        };
        let bin = ask("--bindir")?;
        let extension = ask("--sharedir")?.join("extension");
        bin.join("initdb").exists().then_some(Self { bin, extension })
    }

    /// The installation in whose folder of programs we were before.
    pub(crate) fn at(bin: &Path) -> Result<Self, Failure> {
        Self::by(&bin.join("pg_config")).or_else(|| {
            // Some packages put pg_config elsewhere: find it by its answer.
            candidates().iter().filter_map(|c| Self::by(c)).find(|found| found.bin == bin)
        })
        .ok_or_else(|| {
            Failure::new(format!("the PostgreSQL of these servers is gone from {}", bin.display()))
                .hint("name another one of the same version with `--pg-config`, or remove the servers: `rm -r .shardid`")
        })
    }

    /// Whether servers of it know the extension.
    pub(crate) fn has_extension(&self) -> bool {
        self.extension.join("shardid.control").exists()
    }

    /// One of its programs.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }
}
