//! A MariaDB or MySQL server of our own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{panicking, sleep};
use std::time::{Duration, Instant};

use mysql::prelude::FromRow;
use mysql::{Conn, OptsBuilder};
use rustix::process::Signal;

use super::{Builder, Engine, engine};
use crate::{Clock, clock, crowded, processes};

/// How long a server may take to start, with recovery, or to stop.
const PATIENCE: Duration = Duration::from_secs(90);

/// A running or stopped server in a folder of its own, with a user `root` that
/// needs no password. Killed and removed when dropped.
#[derive(Debug)]
pub struct Server {
    engine: Engine,
    name: String,
    folder: PathBuf,
    data: PathBuf,
    port: u16,
    options: Vec<String>,
    clock: Clock,
    zone: Option<String>,
    pub(crate) programs: Option<PathBuf>,
    process: Mutex<Option<Child>>,
}

/// Returns the server of an engine that all tests of this program share.
///
/// It must not be stopped or crashed: a test that does so makes one of its own.
pub fn shared(engine: Engine) -> &'static Server {
    static MARIADB: OnceLock<Server> = OnceLock::new();
    static MYSQL: OnceLock<Server> = OnceLock::new();
    let server = if engine == Engine::MariaDb { &MARIADB } else { &MYSQL };
    server.get_or_init(|| Server::builder(engine).start())
}

impl Server {
    /// Begins to describe a new server.
    pub fn builder(engine: Engine) -> Builder {
        Builder::new(engine)
    }

    pub(crate) fn new(
        engine: Engine,
        name: &str,
        folder: &Path,
        port: u16,
        options: Vec<String>,
        clock: Clock,
        zone: Option<String>,
    ) -> Self {
        Self {
            engine,
            name: name.to_owned(),
            folder: folder.to_owned(),
            data: folder.join("data"),
            port,
            options,
            clock,
            zone,
            programs: None,
            process: Mutex::new(None),
        }
    }

    /// A running server over a data folder that is there.
    pub(crate) fn over(engine: Engine, name: &str, folder: &Path, data: &Path) -> Self {
        let mut server = Self::new(engine, name, folder, 0, Vec::new(), Clock::Real, None);
        data.clone_into(&mut server.data);
        server.start();
        server
    }

    /// Lets go of a server without touching its folder.
    pub(crate) fn forget(mut self) {
        self.folder = PathBuf::new();
    }

    /// Which kind of server it is.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path of its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a server that is down, and waits until it takes connections.
    ///
    /// # Panics
    ///
    /// With the end of its log where it does not start, or if it is running.
    #[track_caller]
    pub fn start(&self) {
        if let Err(log) = self.try_start() {
            panic!("{} does not start:\n{log}", self.name);
        }
    }

    pub(crate) fn try_start(&self) -> Result<(), String> {
        let mut process = self.process();
        assert!(process.is_none(), "{} is running already", self.name);
        let mut child = self.spawn();
        let began = Instant::now();
        while let Err(error) = self.try_connect() {
            let gone = child.try_wait().expect("it is our child").is_some();
            if gone || began.elapsed() > crowded(PATIENCE) {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{error}\n{}", self.log_tail(40)));
            }
            sleep(Duration::from_millis(20));
        }
        *process = Some(child);
        Ok(())
    }

    fn spawn(&self) -> Child {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("log"))
            .expect("the log can be written");
        let mut variables = self.clock.variables(&self.folder);
        variables.push(("TZ", self.zone.clone().unwrap_or_else(|| "UTC".into())));
        // A server that starts removes the temporary tables of all that share its folder.
        variables.push(("TMPDIR", self.folder.display().to_string()));
        if let Some(folder) = &self.programs {
            let path = std::env::var("PATH").unwrap_or_default();
            variables.push(("PATH", format!("{}:{path}", folder.display())));
        }
        let mut command = engine::command(self.engine, &variables);
        command.arg("--no-defaults").arg(format!("--datadir={}", self.data.display()));
        command.arg(format!("--socket={}", self.socket().display()));
        command.arg(format!("--pid-file={}", self.data.join("pid").display()));
        if self.port == 0 {
            command.arg("--skip-networking");
        } else {
            command.args([&format!("--port={}", self.port), "--bind-address=127.0.0.1"]);
        }
        command
            .args([
                "--server-id=1",
                "--log-bin=binlog",
                "--binlog-format=ROW",
                "--sync-binlog=1",
                "--skip-name-resolve",
            ])
            .args(["--innodb-buffer-pool-size=32M", "--max-connections=200"])
            .args(engine::options(self.engine))
            .args(&self.options)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file has two handles"))
            .stderr(log)
            .spawn()
            .expect("the server can be run")
    }

    /// Stops the server as an administrator would.
    pub fn stop(&self) {
        self.end(Signal::TERM);
    }

    /// Stops and starts the server.
    #[track_caller]
    pub fn restart(&self) {
        self.stop();
        self.start();
    }

    /// Crashes the server: it vanishes at once, at whatever it is doing.
    pub fn kill9(&self) {
        self.end(Signal::KILL);
    }

    fn end(&self, signal: Signal) {
        let mut process = self.process();
        if let Some(mut child) = process.take() {
            processes::signal(child.id().cast_signed(), signal);
            let began = Instant::now();
            while child.try_wait().expect("it is our child").is_none() {
                if began.elapsed() > crowded(PATIENCE) {
                    let _ = child.kill();
                }
                sleep(Duration::from_millis(2));
            }
        }
    }

    /// Sets how far the server's clock is from the machine's, in seconds; see
    /// [`Clock`].
    #[track_caller]
    pub fn set_clock(&self, offset_seconds: f64) {
        assert_ne!(self.clock, Clock::Real, "{} has the machine's clock", self.name);
        clock::set_offset(&self.folder, offset_seconds);
    }

    /// Connects as `root`.
    ///
    /// # Panics
    ///
    /// Where the server cannot be reached.
    #[track_caller]
    pub fn connect(&self) -> Conn {
        self.try_connect()
            .unwrap_or_else(|error| panic!("{} cannot be reached: {error}", self.name))
    }

    /// Connects to a server that may be down.
    pub fn try_connect(&self) -> Result<Conn, mysql::Error> {
        self.try_connect_as("root", "")
    }

    /// Connects as a user, by the socket.
    pub fn try_connect_as(&self, user: &str, password: &str) -> Result<Conn, mysql::Error> {
        let options = OptsBuilder::new()
            .socket(Some(self.socket().to_string_lossy()))
            .user(Some(user))
            .pass(Some(password));
        Conn::new(options)
    }

    /// Runs SQL in a session of its own.
    #[track_caller]
    pub fn query(&self, sql: &str) {
        super::query::<mysql::Row>(&mut self.connect(), sql);
    }

    /// The first value that SQL gives.
    #[track_caller]
    pub fn value<T: FromRow>(&self, sql: &str) -> T {
        super::query(&mut self.connect(), sql).pop().unwrap_or_else(|| panic!("{sql} has no row"))
    }

    /// Installs the schema, or once more.
    pub fn install(&self) {
        super::install::install(self);
    }

    /// A command for a client program, `dump` or `client`, that finds this server.
    pub fn command(&self, what: &str) -> Command {
        let mut command = Command::new(engine::program(self.engine).client(what));
        command.args(["--no-defaults", "--user=root"]);
        command.arg(format!("--socket={}", self.socket().display()));
        command
    }

    fn log_tail(&self, lines: usize) -> String {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let from = log.lines().count().saturating_sub(lines);
        log.lines().skip(from).collect::<Vec<_>>().join("\n")
    }

    fn process(&self) -> MutexGuard<'_, Option<Child>> {
        // A thread that panicked left nothing half-way here.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.folder.as_os_str().is_empty() {
            return;
        }
        if panicking() {
            eprintln!("the log of {} ends:\n{}", self.name, self.log_tail(40));
        }
        self.kill9();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
