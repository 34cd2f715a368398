//! Which MySQL or MariaDB the throw-away servers run.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shardid_servers::Program;

use crate::cli::MysqlEngine;
use crate::dev::names::{DATABASE, ROOT};
use crate::failure::Failure;

/// An installed MySQL or MariaDB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Mysql {
    /// The server's program.
    pub(super) program: PathBuf,
    /// What it is.
    pub(super) engine: MysqlEngine,
}

impl Mysql {
    /// Finds the server that is named, or one of the kind that is asked for.
    pub(super) fn find(
        program: Option<&Path>,
        engine: Option<MysqlEngine>,
    ) -> Result<Self, Failure> {
        if let Some(program) = program {
            let found = Self::by(program).ok_or_else(|| {
                Failure::new(format!("{} is not a MySQL or MariaDB server", program.display()))
                    .hint("name a mysqld or mariadbd, with `--mysqld` or SHARDID_MYSQLD")
            })?;
            return match engine {
                Some(engine) if engine != found.engine => Err(Failure::usage(format!(
                    "{} is {}, not {engine}",
                    program.display(),
                    found.engine
                ))),
                _ => Ok(found),
            };
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path)
            .chain(["/usr/sbin", "/usr/local/sbin", "/usr/libexec"].map(PathBuf::from));
        let found = folders
            .flat_map(|folder| ["mariadbd", "mysqld"].map(|name| folder.join(name)))
            .filter_map(|program| Self::by(&program))
            .find(|found| engine.is_none_or(|engine| engine == found.engine));
        found.ok_or_else(|| {
            let what = engine.map_or("MySQL or MariaDB".to_owned(), |engine| engine.to_string());
            Failure::new(format!("no {what} server is installed here")).hint(
                "install one (`make deps` installs MariaDB on Debian), or name it: `shardid dev up --mysqld FILE`",
            )
        })
    }

    fn by(program: &Path) -> Option<Self> {
        let Program { path, engine } = Program::of(program)?;
        Some(Self { program: path, engine: engine.into() })
    }

    /// The same, as that which knows how it makes its data.
    pub(super) fn as_program(&self) -> Program {
        Program { path: self.program.clone(), engine: self.engine.into() }
    }

    /// Where its programs are, for a person.
    pub(super) fn shown(&self) -> String {
        format!("{} at {}", self.engine, self.program.display())
    }

    /// The command to look around on a server.
    pub(super) fn client(&self, socket: &Path) -> String {
        let client = self.as_program().client("client");
        format!("{} --no-defaults -u {ROOT} -S {} {DATABASE}", client.display(), socket.display())
    }
}
