//! A database for each test, in a server that the tests of a program share.

use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::panicking;

use postgres::Client;

use crate::Server;

/// Returns the server that all tests of this program share.
///
/// It does not wait for the disk, and must not be stopped or crashed: a test
/// that does so makes a server of its own. The watchdog ends it.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::builder().name("the shared server").fsync(false).start())
}

/// A database with the extension in it, dropped at the end of the test.
#[derive(Debug)]
pub struct Database<'a> {
    server: &'a Server,
    name: String,
}

impl Database<'static> {
    /// Makes a database with the extension in the shared server.
    #[track_caller]
    pub fn fresh() -> Self {
        Self::on(shared())
    }

    /// Makes an empty database in the shared server.
    #[track_caller]
    pub fn fresh_plain() -> Self {
        Self::plain_on(shared())
    }
}

impl<'a> Database<'a> {
    /// Makes a database with the extension in a server.
    #[track_caller]
    pub fn on(server: &'a Server) -> Self {
        let database = Self::plain_on(server);
        database.psql("CREATE EXTENSION shardid");
        database
    }

    /// Makes an empty database in a server.
    #[track_caller]
    pub fn plain_on(server: &'a Server) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        server.psql("postgres", &format!("CREATE DATABASE {name}"));
        Self { server, name }
    }

    /// The name, which needs no quotes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server it is in.
    pub fn server(&self) -> &'a Server {
        self.server
    }

    /// The address over TCP.
    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }

    /// Connects as the superuser.
    #[track_caller]
    pub fn connect(&self) -> Client {
        self.server.connect(&self.name)
    }

    /// Connects as a role.
    #[track_caller]
    pub fn connect_as(&self, user: &str) -> Client {
        self.server.connect_as(&self.name, user)
    }

    /// Makes a role that can log in and has no privileges, and returns its
    /// name: roles belong to the whole server, so it is a new one each time.
    #[track_caller]
    pub fn role(&self, name: &str) -> String {
        let role = format!("{}_{name}", self.name);
        self.psql(&format!("CREATE ROLE {role} LOGIN"));
        role
    }

    /// Runs SQL in psql; see [`Server::psql`].
    #[track_caller]
    pub fn psql(&self, sql: &str) -> String {
        self.server.psql(&self.name, sql)
    }

    /// A command for a client program that finds this database by its
    /// environment; see [`Server::command`].
    pub fn command(&self, program: &str) -> Command {
        let mut command = self.server.command(program);
        command.env("PGDATABASE", &self.name);
        command
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        if panicking() {
            let here = format!("@{} ", self.name);
            let log = self.server.log();
            let lines: Vec<&str> = log.lines().filter(|line| line.contains(&here)).collect();
            let from = lines.len().saturating_sub(40);
            eprintln!("what the server logged for {}:\n{}", self.name, lines[from..].join("\n"));
        }
        // The server may be down by intent, or keep a prepared transaction.
        if let Ok(mut client) = self.server.try_connect("postgres") {
            let _ = client.batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}
