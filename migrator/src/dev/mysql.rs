//! One throw-away MySQL or MariaDB server: made, started, stopped.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use shardid_servers::Account;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};

use crate::cli::MysqlEngine;
use crate::dev::account::give;
use crate::dev::find_mysql::Mysql;
use crate::dev::names::ROOT;
use crate::dev::start::{START_TRIES, free_port, said_since};
use crate::dev::state::{ServerState, State};
use crate::failure::Failure;
use crate::talk;

/// How long a server may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// Accounts and database of a new server.
const ACCOUNTS: &str = include_str!("mysql.sql");

/// A server with all that it takes to steer it.
pub(super) struct MysqlServer<'a> {
    state: &'a State,
    server: ServerState,
    account: &'a Account,
    mysql: &'a Mysql,
}

impl<'a> MysqlServer<'a> {
    pub(super) fn new(
        state: &'a State,
        server: ServerState,
        account: &'a Account,
        mysql: &'a Mysql,
    ) -> Self {
        Self { state, server, account, mysql }
    }

    /// Makes the server if need be, and starts it if it is not running. Returns
    /// it with the port it really has.
    pub(super) async fn up(mut self) -> Result<ServerState, Failure> {
        let name = self.server.name.clone();
        if let Some(pid) = self.pid() {
            talk::line(format_args!("{name}: is up (process {pid}, port {})", self.server.port));
            return Ok(self.server);
        }
        let data = self.state.data(&self.server);
        if !data.exists() {
            self.init(&data).await?;
        }
        let mut connection = self.start(&data).await?;
        let password = self.state.password()?;
        // The password is letters and digits of our own making.
        let accounts = ACCOUNTS.replace("PASSWORD", &password);
        connection
            .execute(AssertSqlSafe(accounts.as_str()))
            .await
            .map_err(|error| Failure::new(error).at(format!("node {name}")))?;
        let _ = connection.close().await;
        let pid = self.pid().unwrap_or_default();
        talk::line(format_args!("{name}: started (process {pid}, port {})", self.server.port));
        Ok(self.server)
    }

    /// Stops the server if it is running.
    pub(super) async fn down(&self) -> Result<(), Failure> {
        let name = &self.server.name;
        let Some(pid) = self.pid() else {
            talk::line(format_args!("{name}: is down"));
            return Ok(());
        };
        let process = Pid::from_raw(pid.cast_signed());
        kill(process, Signal::SIGTERM).map_err(|error| {
            Failure::new(format!("could not stop {name} (process {pid}): {error}"))
        })?;
        let deadline = Instant::now() + PATIENCE;
        while self.pid().is_some() {
            if Instant::now() > deadline {
                return Err(Failure::new(format!("{name} (process {pid}) does not stop"))
                    .hint(format!("its log is {}", self.state.log(&self.server).display())));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        talk::line(format_args!("{name}: stopped"));
        Ok(())
    }

    /// The process that serves the data, if there is one. A number that some
    /// other process has by now does not count.
    pub(super) fn pid(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.pid_file()).ok()?;
        let pid: u32 = text.trim().parse().ok()?;
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let data = self.state.data(&self.server);
        let ours = format!("--datadir={}", data.display());
        command.split(|byte| *byte == 0).any(|part| part == ours.as_bytes()).then_some(pid)
    }

    fn pid_file(&self) -> PathBuf {
        self.state.sockets().join(format!("{}.pid", self.server.name))
    }

    /// A folder for temporary tables of its own: a server that starts removes
    /// those of all others from the one they share.
    fn tmpdir(&self) -> Result<PathBuf, Failure> {
        let folder = self.state.sockets().join(format!("{}.tmp", self.server.name));
        std::fs::create_dir_all(&folder).map_err(|error| {
            Failure::new(format!("could not make {}: {error}", folder.display()))
        })?;
        give(self.account, &folder)?;
        Ok(folder)
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
        let command = self.mysql.as_program().make_data(self.account, &beside, &self.tmpdir()?);
        let program = command.get_program().to_owned();
        let output = tokio::process::Command::from(command).output().await.map_err(|error| {
            Failure::new(format!("could not run {}: {error}", program.display()))
        })?;
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            return Err(Failure::new(format!("could not make {}", self.server.name))
                .detail(String::from_utf8_lossy(&said).trim()));
        }
        std::fs::rename(&beside, data).map_err(failed)
    }

    /// Starts the server, apart from this terminal, and connects to it. A port
    /// that somebody else has by now is changed for a free one.
    async fn start(&mut self, data: &Path) -> Result<MySqlConnection, Failure> {
        let log = self.state.log(&self.server);
        for last in (0..START_TRIES).map(|turn| turn + 1 == START_TRIES) {
            let from = std::fs::metadata(&log).map_or(0, |data| data.len());
            if let Some(connection) = self.try_start(data, &log).await? {
                return Ok(connection);
            }
            let said = said_since(&log, from);
            if last || !said.contains("Bind on TCP/IP port") {
                let from = said.lines().count().saturating_sub(8);
                let end: Vec<&str> = said.lines().skip(from).collect();
                return Err(Failure::new(format!("could not start {}", self.server.name))
                    .detail(end.join("\n"))
                    .hint(format!("its log is {}", log.display())));
            }
            self.server.port = free_port(&[self.server.port])?;
        }
        unreachable!("the last turn returns")
    }

    /// Starts the server; `None` where it ended or took too long.
    async fn try_start(&self, data: &Path, log: &Path) -> Result<Option<MySqlConnection>, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(format!("could not start {}: {error}", self.server.name))
        };
        let written =
            std::fs::OpenOptions::new().create(true).append(true).open(log).map_err(failed)?;
        let number = self.server.name.trim_start_matches(|c: char| !c.is_ascii_digit());
        let mut command = self.account.command(&self.mysql.program, self.state.home());
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--tmpdir={}", self.tmpdir()?.display()))
            .arg(format!("--socket={}", self.state.socket(&self.server).display()))
            .arg(format!("--pid-file={}", self.pid_file().display()))
            .arg(format!("--port={}", self.server.port))
            .arg(format!("--server-id={number}"))
            .args(["--bind-address=127.0.0.1", "--skip-name-resolve"])
            .args([
                "--log-bin=binlog",
                "--binlog-format=ROW",
                "--sync-binlog=1",
                "--innodb-flush-log-at-trx-commit=1",
            ])
            .stdin(Stdio::null())
            .stdout(written.try_clone().map_err(failed)?)
            .stderr(written)
            .process_group(0);
        if self.mysql.engine == MysqlEngine::Mysql {
            command.arg("--mysqlx=OFF");
        }
        // A server that was killed leaves them, and MySQL would take any process
        // that has its number by now for that server. The data has a lock of its own.
        let socket = self.state.socket(&self.server);
        for left in [socket.with_extension("sock.lock"), socket] {
            let _ = std::fs::remove_file(left);
        }
        let mut child = command.spawn().map_err(failed)?;
        let options = MySqlConnectOptions::new()
            .username(ROOT)
            .socket(self.state.socket(&self.server))
            .pipes_as_concat(false);
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Ok(connection) = options.connect().await {
                return Ok(Some(connection));
            }
            if child.try_wait().map_err(failed)?.is_some() || Instant::now() > deadline {
                return Ok(None);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
