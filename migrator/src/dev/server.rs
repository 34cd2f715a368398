//! One throw-away PostgreSQL server: made, started, stopped.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use shardid_servers::Account;

use crate::dev::account::give;
use crate::dev::names::{DATABASE, SUPERUSER};
use crate::dev::start::{START_TRIES, free_port, said_since};
use crate::dev::state::{ServerState, State};
use crate::failure::Failure;
use crate::postgres::installation::Installation;
use crate::talk;

/// What is different from a server of default settings.
const SETTINGS: &str = include_str!("postgresql.conf");

/// Who may get in: the owner by the socket, everybody with the password by TCP.
const ACCESS: &str = include_str!("pg_hba.conf");

/// A server with all that it takes to steer it.
pub(super) struct PostgresServer<'a> {
    state: &'a State,
    server: ServerState,
    account: &'a Account,
    installation: &'a Installation,
}

impl<'a> PostgresServer<'a> {
    pub(super) fn new(
        state: &'a State,
        server: ServerState,
        account: &'a Account,
        installation: &'a Installation,
    ) -> Self {
        Self { state, server, account, installation }
    }

    /// Makes the server if need be, starts it if it is not running, and makes
    /// its database. Returns it with the port it really has.
    pub(super) async fn up(mut self) -> Result<ServerState, Failure> {
        let name = self.server.name.clone();
        if let Some(pid) = self.ready().await? {
            talk::line(format_args!("{name}: is up (process {pid}, port {})", self.server.port));
            self.create_database().await?;
            return Ok(self.server);
        }
        let data = self.state.data(&self.server);
        if data.join("PG_VERSION").exists() {
            self.check_version(&data).await?;
        } else {
            self.init(&data).await?;
        }
        self.start().await?;
        self.create_database().await?;
        let pid = self.pid().await?.unwrap_or_default();
        talk::line(format_args!("{name}: started (process {pid}, port {})", self.server.port));
        Ok(self.server)
    }

    /// Stops the server if it is running.
    pub(super) async fn down(&self) -> Result<(), Failure> {
        let name = &self.server.name;
        if self.pid().await?.is_none() {
            talk::line(format_args!("{name}: is down"));
            return Ok(());
        }
        let data = self.state.data(&self.server);
        let output = self
            .run("pg_ctl", |c| c.arg("stop").arg("-D").arg(&data).args(["-w", "-m", "fast"]))
            .await?;
        self.must(output, "stop")?;
        talk::line(format_args!("{name}: stopped"));
        Ok(())
    }

    /// The process that serves the data, if there is one.
    pub(super) async fn pid(&self) -> Result<Option<u32>, Failure> {
        let data = self.state.data(&self.server);
        if !data.join("postmaster.pid").exists() {
            return Ok(None);
        }
        let output = self.run("pg_ctl", |c| c.arg("status").arg("-D").arg(&data)).await?;
        if !output.status.success() {
            return Ok(None);
        }
        // pg_ctl: server is running (PID: 123)
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let digits = text.split("PID: ").nth(1).and_then(|rest| rest.split(')').next());
        Ok(digits.and_then(|digits| digits.parse().ok()))
    }

    /// The process that serves the data, once it takes connections. One that
    /// was killed a moment ago still looks alive, until it does not.
    async fn ready(&self) -> Result<Option<u32>, Failure> {
        for last in (0..START_TRIES).map(|turn| turn + 1 == START_TRIES) {
            let Some(pid) = self.pid().await? else { return Ok(None) };
            let port = self.server.port.to_string();
            let sockets = self.state.sockets();
            let output = self
                .run("pg_isready", |c| c.arg("-q").arg("-h").arg(&sockets).args(["-p", &port]))
                .await?;
            if output.status.success() || last {
                return Ok(Some(pid));
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        Ok(None)
    }

    /// Makes the data, beside its place first, so that a cut leaves no half.
    async fn init(&self, data: &Path) -> Result<(), Failure> {
        let beside = data.with_extension("new");
        let failed = |error: std::io::Error| {
            Failure::new(format!("could not make {}: {error}", beside.display()))
        };
        if beside.exists() {
            std::fs::remove_dir_all(&beside).map_err(failed)?;
        }
        std::fs::create_dir(&beside).map_err(failed)?;
        give(self.account, &beside)?;
        let password = self.state.password()?;
        let pwfile = tempfile::Builder::new()
            .prefix("pw")
            .tempfile_in(self.state.sockets())
            .map_err(failed)?;
        std::fs::write(pwfile.path(), password).map_err(failed)?;
        give(self.account, pwfile.path())?;
        let output = self
            .run("initdb", |c| {
                c.arg("-D")
                    .arg(&beside)
                    .args(["-U", SUPERUSER, "-E", "UTF8", "--locale=C", "--no-sync"])
                    .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
                    .arg("--pwfile")
                    .arg(pwfile.path())
            })
            .await?;
        self.must(output, "make")?;
        let conf = beside.join("postgresql.conf");
        let mut text = std::fs::read_to_string(&conf).map_err(failed)?;
        // Of its own from PostgreSQL 18 on, where initdb writes down what there is to be set.
        let counts_origins = text.contains("max_active_replication_origins");
        text.push_str(SETTINGS);
        if counts_origins {
            text.push_str("max_active_replication_origins = 160\n");
        }
        text.push_str(&format!("unix_socket_directories = {}\n", quoted(&self.state.sockets())));
        std::fs::write(&conf, text).map_err(failed)?;
        std::fs::write(beside.join("pg_hba.conf"), ACCESS).map_err(failed)?;
        std::fs::rename(&beside, data).map_err(failed)
    }

    async fn check_version(&self, data: &Path) -> Result<(), Failure> {
        let made = std::fs::read_to_string(data.join("PG_VERSION")).unwrap_or_default();
        let output = self.run("postgres", |c| c.arg("--version")).await?;
        // postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let major =
            text.split(' ').nth(2).and_then(|version| version.split('.').next()).unwrap_or("?");
        if made.trim() == major {
            return Ok(());
        }
        Err(Failure::new(format!(
            "{} was made by PostgreSQL {}, and {} is {major}",
            self.server.name,
            made.trim(),
            self.installation.bin.display()
        ))
        .hint("name the right one with `--pg-config`, or begin anew: `shardid dev down --delete`"))
    }

    async fn start(&mut self) -> Result<(), Failure> {
        let data = self.state.data(&self.server);
        let log = self.state.log(&self.server);
        for last in (0..START_TRIES).map(|turn| turn + 1 == START_TRIES) {
            let from = std::fs::metadata(&log).map_or(0, |data| data.len());
            let port = format!("-p {}", self.server.port);
            let output = self
                .run("pg_ctl", |c| {
                    c.arg("start")
                        .arg("-D")
                        .arg(&data)
                        .arg("-l")
                        .arg(&log)
                        .args(["-w", "-t", "120", "-o", &port])
                })
                .await?;
            if output.status.success() {
                return Ok(());
            }
            let said = said_since(&log, from);
            if said.contains("could not bind") && !last {
                self.server.port = free_port(&[self.server.port])?;
            } else if said.contains("shared memory block") && !last {
                // The processes of a server that was killed take a moment to go.
                tokio::time::sleep(Duration::from_millis(250)).await;
            } else {
                return Err(Failure::new(format!("could not start {}", self.server.name))
                    .detail(
                        said.lines()
                            .rev()
                            .take(8)
                            .collect::<Vec<_>>()
                            .into_iter()
                            .rev()
                            .collect::<Vec<_>>()
                            .join("\n"),
                    )
                    .hint(format!("its log is {}", log.display())));
            }
        }
        Ok(())
    }

    async fn create_database(&self) -> Result<(), Failure> {
        let port = self.server.port.to_string();
        let output = self
            .run("createdb", |c| {
                c.arg("-h")
                    .arg(self.state.sockets())
                    .args(["-p", &port, "-U", SUPERUSER, "-w", DATABASE])
            })
            .await?;
        if String::from_utf8_lossy(&output.stderr).contains("already exists") {
            return Ok(());
        }
        self.must(output, "make the database of")
    }

    /// Runs one of PostgreSQL's programs as the servers' user.
    async fn run(
        &self,
        program: &str,
        with: impl FnOnce(&mut std::process::Command) -> &mut std::process::Command,
    ) -> Result<Output, Failure> {
        let path = self.installation.program(program);
        let mut command = self.account.command(&path, self.state.home());
        // Their words are read above, so they must be the ones we know.
        with(command.env("LC_ALL", "C"));
        tokio::process::Command::from(command)
            .output()
            .await
            .map_err(|error| Failure::new(format!("could not run {}: {error}", path.display())))
    }

    fn must(&self, output: Output, what: &str) -> Result<(), Failure> {
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Failure::new(format!("could not {what} {}", self.server.name))
            .detail(said.trim())
            .hint(format!("its log is {}", self.state.log(&self.server).display())))
    }
}

/// A folder as postgresql.conf wants it in a list of folders.
fn quoted(path: &Path) -> String {
    let inner = path.to_string_lossy().replace('"', "\"\"");
    format!("'\"{}\"'", inner.replace('\'', "''"))
}
