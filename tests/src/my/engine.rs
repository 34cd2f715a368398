//! The two engines: where their programs are, and what differs between them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::installation::as_server;
use crate::start::run;

/// Which kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// MariaDB, the installed one.
    MariaDb,
    /// MySQL, the one that `scripts/servers-mysql` has fetched.
    MySql,
}

impl Engine {
    /// What messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        }
    }

    /// The program of the server, or `None` where there is none.
    ///
    /// `SHARDID_MARIADBD` and `SHARDID_MYSQLD` name others than the usual ones.
    pub fn find(self) -> Option<PathBuf> {
        let (variable, usual) = match self {
            Self::MariaDb => (
                "SHARDID_MARIADBD",
                vec!["/usr/sbin/mariadbd".into(), "/usr/local/sbin/mariadbd".into()],
            ),
            Self::MySql => (
                "SHARDID_MYSQLD",
                vec![
                    Path::new(env!("CARGO_MANIFEST_DIR"))
                        .join("../target/servers/mysql/bin/mysqld"),
                ],
            ),
        };
        match std::env::var_os(variable) {
            Some(path) => (!path.is_empty()).then(|| path.into()),
            None => usual.into_iter().find(|path: &PathBuf| path.exists()),
        }
    }

    /// The program of the server.
    ///
    /// # Panics
    ///
    /// Where there is none, with what helps.
    pub(crate) fn server(self) -> PathBuf {
        self.find().unwrap_or_else(|| {
            panic!("there is no {} here: run `make deps`, then scripts/servers-mysql", self.name())
        })
    }

    /// The path of a client program, such as `dump`.
    pub fn client(self, what: &str) -> PathBuf {
        let name = match (self, what) {
            (Self::MariaDb, "dump") => "mariadb-dump",
            (Self::MariaDb, _) => "mariadb",
            (Self::MySql, "dump") => "mysqldump",
            (Self::MySql, _) => "mysql",
        };
        let beside = self.server().with_file_name(name);
        if beside.exists() { beside } else { name.into() }
    }

    /// Makes a data folder with a user `root` that needs no password. Temporary
    /// tables go to the folder beside it, which no other server has.
    pub(crate) fn make_data(self, data: &Path) {
        let folder = data.parent().expect("it is in a folder").display().to_string();
        let variables = [("TMPDIR", folder)];
        let mut command = match self {
            Self::MariaDb => {
                let mut command = as_server(Path::new("mariadb-install-db"), &variables);
                command.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
                command.args(["--skip-test-db", "--skip-name-resolve"]);
                command
            }
            Self::MySql => {
                let mut command = as_server(&self.server(), &variables);
                command.args(["--no-defaults", "--initialize-insecure"]);
                command
            }
        };
        run(command.arg(format!("--datadir={}", data.display())));
    }

    /// The server's options that only this engine has.
    pub(crate) fn options(self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => &["--innodb-log-file-size=32M"],
            Self::MySql => {
                &["--mysqlx=OFF", "--innodb-redo-log-capacity=32M", "--performance-schema=OFF"]
            }
        }
    }

    /// A command for the server's program.
    pub(crate) fn command(self, variables: &[(&str, String)]) -> Command {
        as_server(&self.server(), variables)
    }
}
