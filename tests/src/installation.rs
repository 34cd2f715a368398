//! Which PostgreSQL the tests run, and as which user.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use shardid_servers::Account;

/// An installed PostgreSQL, with shardid in it.
#[derive(Debug)]
pub struct Installation {
    programs: PathBuf,
    major: u32,
}

impl Installation {
    /// Returns the installation that `SHARDID_PG_CONFIG` names.
    ///
    /// # Panics
    ///
    /// Where the variable is unset or its `pg_config` cannot be run.
    pub fn get() -> &'static Self {
        static INSTALLATION: OnceLock<Installation> = OnceLock::new();
        INSTALLATION.get_or_init(|| {
            let Some(config) = std::env::var_os("SHARDID_PG_CONFIG") else {
                panic!(
                    "SHARDID_PG_CONFIG is not set: run the tests with `make test ONLY=name`, \
                     or set it to the path that `scripts/overlay` prints"
                );
            };
            Self::of(Path::new(&config))
        })
    }

    /// Returns the one of a later version that `SHARDID_PG_CONFIG_LATER` names, if it is set.
    pub fn later() -> Option<&'static Self> {
        static LATER: OnceLock<Option<Installation>> = OnceLock::new();
        let config = || std::env::var_os("SHARDID_PG_CONFIG_LATER");
        LATER.get_or_init(|| config().map(|config| Self::of(Path::new(&config)))).as_ref()
    }

    fn of(config: &Path) -> Self {
        let version = ask(config, "--version");
        let major = version
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .and_then(|digits| digits.parse().ok())
            .unwrap_or_else(|| panic!("no version in {version:?} of {}", config.display()));
        Self { programs: ask(config, "--bindir").into(), major }
    }

    /// The major version: 15 for PostgreSQL 15.20.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// The path of a program of this installation, such as `pg_dump`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// A command for a program of this installation, run as ourselves: clients.
    pub fn client(&self, name: &str) -> Command {
        let mut command = Command::new(self.program(name));
        clean(&mut command);
        command
    }

    /// A command for a program that works on the files of a server, run as the servers' user.
    pub fn server(&self, name: &str) -> Command {
        self.as_server(name, &[])
    }

    /// A command for a program of this installation, run as the servers' user.
    pub(crate) fn as_server(&self, name: &str, variables: &[(&str, String)]) -> Command {
        as_server(&self.program(name), variables)
    }

    /// Gives a file or folder to the servers' user.
    pub(crate) fn give(&self, path: &Path) {
        give(path);
    }
}

/// The user that servers run as.
pub(crate) fn account() -> &'static Account {
    static ACCOUNT: OnceLock<Account> = OnceLock::new();
    ACCOUNT.get_or_init(|| {
        Account::for_servers()
            .expect("a user `postgres` or `nobody` to run servers as, since root may not")
    })
}

/// A command for a program, run as the servers' user.
pub(crate) fn as_server(program: &Path, variables: &[(&str, String)]) -> Command {
    let mut command = account().command(program, Path::new("/"));
    command.envs(variables.iter().map(|(key, value)| (key, value)));
    command
}

/// Gives a file or folder to the servers' user.
pub(crate) fn give(path: &Path) {
    account()
        .give(path)
        .unwrap_or_else(|error| panic!("cannot give away {}: {error}", path.display()));
}

/// Keeps what the caller's shell has set for itself away from clients.
fn clean(command: &mut Command) {
    for name in
        ["RUST_BACKTRACE", "PGDATABASE", "PGOPTIONS", "PGSERVICE", "PGPASSFILE", "PGSSLMODE"]
    {
        command.env_remove(name);
    }
}

fn ask(config: &Path, question: &str) -> String {
    let output = Command::new(config).arg(question).output().unwrap_or_else(|error| {
        panic!("SHARDID_PG_CONFIG is {}, which cannot be run: {error}", config.display())
    });
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
