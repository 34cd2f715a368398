//! Making a server: its folder, its settings, its port.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use crate::{Clock, Installation, Server, run_folder, template, wait_until};

/// How a server is to be made; `Server::builder()` gives one.
#[derive(Debug, Clone)]
pub struct Builder {
    name: String,
    settings: Vec<String>,
    clock: Clock,
    checksums: bool,
    fsync: bool,
    installation: Option<&'static Installation>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            name: "server".into(),
            settings: Vec::new(),
            clock: Clock::Real,
            checksums: true,
            fsync: true,
            installation: None,
        }
    }
}

/// Settings of all test servers; those of a test come later in the file, and
/// the last one counts. `wal_level` allows logical subscribers, and the kind of
/// shared memory leaves nothing in `/dev/shm` when a server is killed. What a catalog query of a
/// millisecond is compiled for takes a hundred: that alone was a tenth of all moves.
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
max_connections = 200
shared_buffers = '64MB'
wal_level = logical
wal_keep_size = '256MB'
max_prepared_transactions = 20
wal_retrieve_retry_interval = '200ms'
dynamic_shared_memory_type = mmap
jit = off
log_line_prefix = '%m [%p] %q%u@%d '
log_timezone = 'UTC'
timezone = 'UTC'
";

impl Builder {
    /// Names the server in messages; "server" by default.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Adds a line of `postgresql.conf`, such as `shardid.lease = '5s'`.
    #[must_use]
    pub fn conf(mut self, line: &str) -> Self {
        self.settings.push(line.to_owned());
        self
    }

    /// Chooses the clock; the machine's by default.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Whether data pages carry checksums; they do by default.
    #[must_use]
    pub fn checksums(mut self, checksums: bool) -> Self {
        self.checksums = checksums;
        self
    }

    /// Whether the server waits for the disk; it does by default. A `kill -9`
    /// loses nothing either way, a power loss would.
    #[must_use]
    pub fn fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
        self
    }

    /// Runs another PostgreSQL than the one that all tests are for.
    #[must_use]
    pub fn installation(mut self, installation: &'static Installation) -> Self {
        self.installation = Some(installation);
        self
    }

    fn programs(&self) -> &'static Installation {
        self.installation.unwrap_or_else(Installation::get)
    }

    /// Makes a server with an identity of its own and starts it.
    ///
    /// # Panics
    ///
    /// With the server's log where it does not start.
    pub fn start(self) -> Server {
        self.start_with(|data| template::make_data(self.programs(), self.checksums, data))
    }

    /// Makes a streaming standby of a server and starts it.
    ///
    /// The standby has the primary's settings, then those given here.
    ///
    /// # Panics
    ///
    /// With the server's log where it does not start.
    pub fn start_standby_of(self, primary: &Server) -> Server {
        self.start_with(|data| {
            run(self.base_backup(primary).arg("--write-recovery-conf").arg("--pgdata").arg(data));
        })
    }

    /// Makes a server from a backup of another, restored to its restore point `here`, and
    /// starts it once it takes writes.
    ///
    /// `meanwhile` is called between the backup and the restoring, and makes the restore
    /// point. The other server's WAL is read from its folder.
    ///
    /// # Panics
    ///
    /// With the server's log where it does not start.
    pub fn start_restored_from(self, other: &Server, meanwhile: impl FnOnce()) -> Server {
        let restored = self.start_with(|data| {
            run(self.base_backup(other).arg("--pgdata").arg(data));
            meanwhile();
            let wal = other.data().join("pg_wal");
            append(
                &data.join("postgresql.conf"),
                &format!(
                    "restore_command = 'cp \"{}/%f\" \"%p\"'
                     recovery_target_name = 'here'
                     recovery_target_action = 'promote'\n",
                    wal.display()
                ),
            );
            let signal = data.join("recovery.signal");
            std::fs::write(&signal, "").expect("the data folder can be written");
            self.programs().give(&signal);
        });
        let in_recovery = "SELECT pg_is_in_recovery()";
        wait_until(Duration::from_secs(90), "the end of the recovery", || {
            restored.psql("postgres", in_recovery) == "f"
        });
        // A standby of it inherits its settings, and would stop at that point too.
        restored.set_conf("recovery_target_name = ''");
        restored.set_conf("restore_command = ''");
        restored
    }

    fn base_backup(&self, primary: &Server) -> Command {
        let mut command = self.programs().as_server("pg_basebackup", &[]);
        command
            .arg("--host")
            .arg(primary.folder())
            .arg(format!("--port={}", primary.port()))
            .args(["--username=postgres", "--no-sync"])
            .args(["--checkpoint=fast", "--wal-method=stream"]);
        command
    }

    fn start_with(&self, make_data: impl FnOnce(&Path)) -> Server {
        let folder = run_folder::numbered();
        self.programs().give(&folder);
        let data = folder.join("data");
        make_data(&data);
        // Somebody may take the port between our look and the server's start.
        let mut attempts = 5;
        loop {
            let port = free_port();
            self.configure(&folder, port);
            let server = Server::new(&self.name, &folder, port, self.clock, self.programs());
            match server.try_start() {
                Ok(()) => return server,
                Err(log) if attempts > 1 && log.contains("Address already in use") => {
                    attempts -= 1;
                    server.forget();
                }
                Err(log) => panic!("{} does not start:\n{log}", self.name),
            }
        }
    }

    fn configure(&self, folder: &Path, port: u16) {
        let mut text = String::from(SETTINGS);
        let fsync = if self.fsync { "on" } else { "off" };
        writeln!(text, "fsync = {fsync}\nport = {port}").expect("a string takes it all");
        writeln!(text, "unix_socket_directories = '{}'", folder.display())
            .expect("a string takes it all");
        for line in &self.settings {
            text.push_str(line);
            text.push('\n');
        }
        append(&folder.join("data/postgresql.conf"), &text);
    }
}

/// Adds text to a file that exists and belongs to the servers' user.
pub(crate) fn append(file: &Path, text: &str) {
    OpenOptions::new()
        .append(true)
        .open(file)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
}

/// Runs a command to its end and returns what it printed.
///
/// # Panics
///
/// With its words where it fails.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Finds a free port, below those that the kernel gives to connections.
pub(crate) fn free_port() -> u16 {
    shardid_servers::free_port_at_random().expect("some port is free")
}
