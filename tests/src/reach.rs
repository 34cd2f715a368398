//! Talking to a server: connections, psql and the other client programs.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use postgres::{Client, Config, NoTls};

use crate::installation::as_server;
use crate::{Installation, Server};

impl Server {
    /// Has a process of this server get so many more bytes of memory, and none beyond.
    ///
    /// # Panics
    ///
    /// Where that cannot be said.
    pub fn limit_memory(&self, pid: i32, more: u64) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/statm")).expect("it runs");
        let pages: u64 =
            status.split(' ').next().and_then(|it| it.parse().ok()).expect("its first number");
        let most = pages * rustix::param::page_size() as u64 + more;
        let mut command = as_server("prlimit".as_ref(), &[]);
        command.arg(format!("--pid={pid}")).arg(format!("--as={most}:{most}"));
        assert!(command.status().is_ok_and(|it| it.success()), "{command:?} failed");
    }

    /// The address of a database over TCP.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port())
    }

    /// Connects as the superuser.
    ///
    /// # Panics
    ///
    /// Where the server cannot be reached.
    #[track_caller]
    pub fn connect(&self, database: &str) -> Client {
        self.connect_as(database, "postgres")
    }

    /// Connects as a role; see [`Server::connect`].
    #[track_caller]
    pub fn connect_as(&self, database: &str, user: &str) -> Client {
        self.config(database).user(user).connect(NoTls).unwrap_or_else(|error| {
            panic!("{} cannot be reached as {user}: {error:?}", self.name())
        })
    }

    /// Connects as the superuser to a server that may be down.
    pub fn try_connect(&self, database: &str) -> Result<Client, postgres::Error> {
        self.config(database).connect(NoTls)
    }

    pub(crate) fn config(&self, database: &str) -> Config {
        let mut config = Config::new();
        config
            .host_path(self.folder())
            .port(self.port())
            .user("postgres")
            .dbname(database)
            .connect_timeout(Duration::from_secs(10));
        config
    }

    /// A command for a program of this installation, such as `pgbench` or
    /// `pg_dump`, that finds this server by its environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Installation::get().client(program);
        command
            .env("PGHOST", self.folder())
            .env("PGPORT", self.port().to_string())
            .env("PGUSER", "postgres");
        command
    }

    /// Runs SQL in psql and returns the rows, columns parted by `|`.
    ///
    /// # Panics
    ///
    /// With psql's words where a statement fails.
    #[track_caller]
    pub fn psql(&self, database: &str, sql: &str) -> String {
        self.try_psql(database, sql).unwrap_or_else(|words| panic!("psql failed on {sql}\n{words}"))
    }

    /// Runs SQL in psql; the error is what psql printed, from the first
    /// statement that failed.
    pub fn try_psql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = self
            .command("psql")
            .args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database, "-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("psql can be run");
        // psql stops reading at an error, and says so at its end.
        let _ = psql.stdin.take().expect("its input is a pipe").write_all(sql.as_bytes());
        let output = psql.wait_with_output().expect("psql ends");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }
}
