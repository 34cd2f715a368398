//! MySQL and MariaDB: what a program is, where its clients are, and how it makes its data.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Account;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        })
    }
}

/// The program of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub engine: Engine,
}

impl Program {
    /// What a program is, by its own word; `None` where it is none of both.
    pub fn of(path: &Path) -> Option<Self> {
        let output = Command::new(path).arg("--version").output().ok()?;
        let engine = engine_of(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { path: path.to_owned(), engine })
    }

    /// A client program that comes with it: `dump`, or any other word for the one that runs
    /// statements. By its bare name where it is not beside the server.
    pub fn client(&self, what: &str) -> PathBuf {
        let name = match (self.engine, what) {
            (Engine::MariaDb, "dump") => "mariadb-dump",
            (Engine::MariaDb, _) => "mariadb",
            (Engine::MySql, "dump") => "mysqldump",
            (Engine::MySql, _) => "mysql",
        };
        let beside = self.path.with_file_name(name);
        if beside.exists() { beside } else { name.into() }
    }

    /// A command that makes a new data folder, with a user `root` that needs no password. `temporary`
    /// is a folder that no other server has for its temporary tables: one that starts removes those of
    /// all that share it.
    pub fn make_data(&self, account: &Account, data: &Path, temporary: &Path) -> Command {
        let (program, arguments): (PathBuf, &[&str]) = match self.engine {
            Engine::MariaDb => (
                self.installer(),
                &[
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                    "--skip-name-resolve",
                ],
            ),
            Engine::MySql => (self.path.clone(), &["--initialize-insecure"]),
        };
        let mut command = account.command(&program, temporary);
        command.args([
            "--no-defaults".to_owned(),
            format!("--datadir={}", data.display()),
            format!("--tmpdir={}", temporary.display()),
        ]);
        command.args(arguments);
        command
    }

    /// The program that makes the data of a new MariaDB.
    fn installer(&self) -> PathBuf {
        let name = "mariadb-install-db";
        let beside = |folder: &str| Some(self.path.parent()?.parent()?.join(folder).join(name));
        ["bin", "scripts"]
            .into_iter()
            .filter_map(beside)
            .find(|path| path.exists())
            .unwrap_or_else(|| PathBuf::from(name))
    }
}

/// Which engine says so of its version.
fn engine_of(version: &str) -> Option<Engine> {
    match version {
        _ if version.contains("MariaDB") => Some(Engine::MariaDb),
        _ if version.contains("Ver ") => Some(Engine::MySql),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_what_it_says() {
        let mariadb = "mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64";
        assert_eq!(engine_of(mariadb), Some(Engine::MariaDb));
        let mysql = "/usr/sbin/mysqld  Ver 9.7.0 for Linux on x86_64 (MySQL Community Server)";
        assert_eq!(engine_of(mysql), Some(Engine::MySql));
        assert_eq!(engine_of("postgres (PostgreSQL) 15.20"), None);
        assert_eq!(Program::of(Path::new("/nowhere/mysqld")), None);
    }
}
