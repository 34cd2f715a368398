//! Which PostgreSQL the tests run, and as which user.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::geteuid;

/// An installed PostgreSQL, with shardid in it.
#[derive(Debug)]
pub struct Installation {
    programs: PathBuf,
    major: u32,
}

/// The user that servers run as when we are root, which PostgreSQL refuses.
#[derive(Debug)]
struct User {
    uid: u32,
    gid: u32,
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

/// The user that servers run as, where we are root.
fn user() -> Option<&'static User> {
    static USER: OnceLock<Option<User>> = OnceLock::new();
    USER.get_or_init(|| geteuid().is_root().then(unprivileged_user)).as_ref()
}

/// A command for a program, run as the servers' user.
///
/// The variables are set after the user has changed: a library that is
/// preloaded before makes files that the new user may not open.
pub(crate) fn as_server(program: &Path, variables: &[(&str, String)]) -> Command {
    let mut command;
    if let Some(user) = user() {
        command = Command::new("setpriv");
        command
            .arg(format!("--reuid={}", user.uid))
            .arg(format!("--regid={}", user.gid))
            .args(["--clear-groups", "env"])
            .args(variables.iter().map(|(key, value)| format!("{key}={value}")))
            .arg(program);
    } else {
        command = Command::new(program);
    }
    command.current_dir("/");
    clean(&mut command);
    if user().is_none() {
        command.envs(variables.iter().map(|(key, value)| (key, value)));
    }
    command
}

/// Gives a file or folder to the servers' user.
pub(crate) fn give(path: &Path) {
    if let Some(user) = user() {
        chown(path, Some(user.uid), Some(user.gid))
            .unwrap_or_else(|error| panic!("cannot give away {}: {error}", path.display()));
    }
}

/// Keeps what the caller's shell has set for itself away from servers and clients.
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

fn unprivileged_user() -> User {
    let known = fs::read_to_string("/etc/passwd").expect("every system has /etc/passwd");
    ["postgres", "nobody"]
        .iter()
        .find_map(|name| {
            let fields: Vec<&str> = known
                .lines()
                .map(|line| line.split(':').collect::<Vec<_>>())
                .find(|fields| fields[0] == *name)?;
            Some(User { uid: fields.get(2)?.parse().ok()?, gid: fields.get(3)?.parse().ok()? })
        })
        .expect("a user `postgres` or `nobody` to run servers as, since root may not")
}
