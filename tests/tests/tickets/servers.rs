//! A folder with throw-away ticket servers, made by the program itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use shardid_tests::my;
use shardid_tests::program::{self, Run};
use shardid_tests::{Installation, wait_until};
use tempfile::TempDir;

pub(crate) use shardid_tests::my::Engine;

/// Whether there is a MySQL to test with.
pub(crate) fn has_mysql() -> bool {
    std::env::var_os("SHARDID_MYSQLD").is_some_and(|program| !program.is_empty())
}

/// Lets a user ask whether a server is a replica. Each engine leaves the other's part out.
pub(crate) fn may_ask(user: &str) -> String {
    format!("GRANT /*!80000 REPLICATION CLIENT */ /*M! REPLICA MONITOR */ ON *.* TO {user}")
}

/// Ticket servers my1, my2, … (and PostgreSQL nodes pg1, …), which end with it.
pub(crate) struct Servers {
    folder: TempDir,
    engine: Engine,
}

impl Servers {
    /// Starts ticket servers alone, sharing ticket `orders`, and applies.
    #[track_caller]
    pub(crate) fn start(engine: Engine, count: usize) -> Self {
        let servers = Self::up(engine, 0, count);
        servers.run(&["apply", "--yes"]).ok();
        servers
    }

    /// Starts servers and installs nothing.
    #[track_caller]
    pub(crate) fn up(engine: Engine, nodes: usize, count: usize) -> Self {
        let servers = Self { folder: shardid_tests::folder(), engine };
        servers.dev_up(nodes, count);
        servers.own_file();
        servers
    }

    /// Starts what is down, and adds what is missing.
    #[track_caller]
    pub(crate) fn dev_up(&self, nodes: usize, count: usize) {
        self.make_data(count);
        let (nodes, count) = (nodes.to_string(), count.to_string());
        let run = self.run(&["dev", "up", "--nodes", &nodes, "--ticket-servers", &count]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }

    /// Makes the data of servers that are missing, as `dev up` does, and faster.
    fn make_data(&self, count: usize) {
        std::fs::create_dir_all(self.path(".shardid")).expect("the folder is ours");
        for number in 1..=count {
            let data = self.path(&format!(".shardid/my{number}"));
            if !data.exists() {
                my::make_data(self.engine, &data);
            }
        }
    }

    /// Makes the cluster file one of ours, which `dev up` does not write anew.
    fn own_file(&self) {
        let text = std::fs::read_to_string(self.path(".shardid/shardid.toml"))
            .expect("`dev up` has written it");
        self.write(&text);
    }

    /// Writes the cluster file.
    pub(crate) fn write(&self, text: &str) {
        std::fs::write(self.path("shardid.toml"), text).expect("the folder is ours");
    }

    /// Changes the cluster file.
    #[track_caller]
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path("shardid.toml")).expect("the file is there");
        assert!(text.contains(from), "{from} is not in\n{text}");
        self.write(&text.replace(from, to));
    }

    /// Adds servers to those there are, with `apply`.
    #[track_caller]
    pub(crate) fn grow(&self, count: usize) {
        self.grow_without_apply(count);
        self.run(&["apply", "--yes"]).ok();
    }

    /// Adds servers to those there are, and to the cluster file.
    #[track_caller]
    pub(crate) fn grow_without_apply(&self, count: usize) {
        self.dev_up(0, count);
        let text =
            std::fs::read_to_string(self.path(".shardid/shardid.toml")).expect("it is there");
        let declared = "[tickets.orders]";
        let nodes = text.split(declared).next().unwrap_or_default();
        let ours = std::fs::read_to_string(self.path("shardid.toml")).expect("it is there");
        let tickets = ours.find("[tickets.").map_or("", |at| &ours[at..]);
        self.write(&format!("{nodes}{tickets}"));
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// The socket of a ticket server.
    pub(crate) fn socket(&self, node: &str) -> PathBuf {
        self.path(&format!(".shardid/run/{node}.sock"))
    }

    /// The program in the folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program::command(self.folder.path(), arguments);
        command.env("PG_CONFIG", Installation::get().program("pg_config"));
        // Whoever runs the tests has option files for other servers.
        command.env("HOME", self.folder.path());
        match self.engine {
            Engine::MariaDb => command.env_remove("SHARDID_MYSQLD"),
            Engine::MySql => command
                .env("SHARDID_MYSQLD", std::env::var_os("SHARDID_MYSQLD").expect("asked before")),
        };
        command
    }

    /// Runs the program in the folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        program::run(self.command(arguments))
    }

    /// Runs it until it ends itself at a place.
    #[track_caller]
    pub(crate) fn run_cut(&self, at: &str, arguments: &[&str]) {
        let mut command = self.command(arguments);
        command.env("SHARDID_CUT_AT", at);
        let run = program::run(command);
        assert_eq!(run.code, -1, "it did not come to {at}:\n{}", run.stderr);
    }

    /// The client of the engine's own, in batch mode. A client of MariaDB speaks to MySQL too.
    pub(crate) fn client(&self, node: &str) -> Command {
        let beside = std::env::var_os("SHARDID_MYSQLD")
            .filter(|_| self.engine == Engine::MySql)
            .map(|program| Path::new(&program).with_file_name("mysql"))
            .filter(|client| client.exists());
        let mut command = Command::new(beside.unwrap_or_else(|| "mariadb".into()));
        command.args(["--no-defaults", "-N", "-B", "-u", "root", "-S"]).arg(self.socket(node));
        command
    }

    /// Runs SQL on a ticket server.
    #[track_caller]
    pub(crate) fn sql(&self, node: &str, sql: &str) -> String {
        let output = self.try_sql(node, sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it is text").trim().to_owned()
    }

    pub(crate) fn try_sql(&self, node: &str, sql: &str) -> Output {
        self.client(node).args(["-e", sql]).output().expect("the client runs")
    }

    /// Runs SQL on a PostgreSQL node.
    #[track_caller]
    pub(crate) fn psql(&self, node: &str, sql: &str) -> String {
        let output = self.try_psql(node, sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it is text").trim().to_owned()
    }

    pub(crate) fn try_psql(&self, node: &str, sql: &str) -> Output {
        let text = self.run(&["dev", "status"]).ok();
        let line = text.lines().find(|line| line.starts_with(node)).expect("the node is known");
        let port = line.split_whitespace().nth(3).expect("a line has a port");
        Command::new(Installation::get().program("psql"))
            .args(["-X", "-A", "-t", "-q", "-U", "postgres", "-p", port, "-d", "app", "-h"])
            .arg(self.path(".shardid/run"))
            .args(["-c", sql])
            .output()
            .expect("psql runs")
    }

    /// The process of a server.
    #[track_caller]
    pub(crate) fn pid(&self, node: &str) -> String {
        let text = self.run(&["dev", "status"]).ok();
        let line = text.lines().find(|line| line.starts_with(node)).expect("the server is known");
        line.split_whitespace().nth(2).expect("a line has a pid").to_owned()
    }

    /// The processes of the ticket servers that are up.
    fn pids(&self) -> Vec<String> {
        let text = self.run(&["dev", "status"]).stdout;
        let servers = text.lines().filter(|line| line.starts_with("my"));
        let pids = servers.filter_map(|line| line.split_whitespace().nth(2));
        pids.filter(|pid| *pid != "-").map(str::to_owned).collect()
    }

    /// Crashes a server.
    #[track_caller]
    pub(crate) fn kill9(&self, node: &str) {
        let pid = self.pid(node);
        Command::new("kill").args(["-9", &pid]).status().expect("kill runs");
        wait_until(Duration::from_secs(20), "the server to be gone", || self.pid(node) == "-");
    }

    /// Stops a server in good order.
    #[track_caller]
    pub(crate) fn stop(&self, node: &str) {
        let pid = self.pid(node);
        Command::new("kill").arg(&pid).status().expect("kill runs");
        wait_until(Duration::from_secs(60), "the server to stop", || self.pid(node) == "-");
    }

    /// Asserts that nothing is found, and that there is nothing to do.
    #[track_caller]
    pub(crate) fn is_clean(&self) {
        let run = self.run(&["tickets", "verify"]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        let plan = self.run(&["plan"]).ok();
        assert!(plan.contains("nothing to do"), "{plan}");
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // Nobody reads what is deleted: a server of MySQL takes a second to write it.
        for pid in self.pids() {
            let _ = Command::new("kill").args(["-9", &pid]).status();
        }
        let _ = self.run(&["dev", "down", "--delete"]);
    }
}
