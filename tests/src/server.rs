//! A PostgreSQL server of our own, to start, crash and clean up.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{panicking, sleep};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::{Builder, Clock, Installation, clock, crowded, processes, start, wait_until};

/// How long a server may take to start, with recovery, or to stop.
const PATIENCE: Duration = Duration::from_secs(90);

/// A running or stopped server in a folder of its own, with a superuser
/// `postgres` that needs no password. Killed and removed when dropped.
///
/// All of it may be used from several threads at once: some may talk to the
/// server while another crashes it.
#[derive(Debug)]
pub struct Server {
    name: String,
    folder: PathBuf,
    port: u16,
    clock: Clock,
    installation: &'static Installation,
    postmaster: Mutex<Option<Child>>,
}

impl Server {
    /// Begins to describe a new server.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Makes and starts a server with the usual settings.
    pub fn start_new() -> Self {
        Self::builder().start()
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn new(
        name: &str,
        folder: &Path,
        port: u16,
        clock: Clock,
        installation: &'static Installation,
    ) -> Self {
        Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            port,
            clock,
            installation,
            postmaster: Mutex::new(None),
        }
    }

    /// Lets go of a server that never ran, without touching its folder.
    pub(crate) fn forget(mut self) {
        self.folder = PathBuf::new();
    }

    /// The folder of the server's socket; `data` and `log` are in it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The port, of the socket and on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
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

    /// Starts a server that crashed, also where PostgreSQL trips over a file of its own.
    ///
    /// A crash soon after an unlogged sequence was made permanent, or after that was rolled
    /// back, may leave the file of the unlogged one. Recovery makes it anew, and gives up
    /// ("could not create file …: File exists"), with this extension or without. Nobody
    /// needs what is in it.
    #[track_caller]
    pub(crate) fn start_over_left_files(&self) {
        for _ in 0..10 {
            let Err(log) = self.try_start() else { return };
            let Some(file) = left_file(&log) else {
                panic!("{} does not start:\n{log}", self.name);
            };
            fs::remove_file(self.data().join(file)).expect("the file can be removed");
        }
        panic!("{} does not start; its log says why", self.name);
    }

    /// Whether the server has ended by itself.
    pub(crate) fn has_ended(&self) -> bool {
        let mut postmaster = self.postmaster();
        postmaster.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|ended| ended.is_some()))
    }

    /// Starts the server; the error is the end of its log.
    pub(crate) fn try_start(&self) -> Result<(), String> {
        let mut postmaster = self.postmaster();
        let mut child = self.spawn(postmaster.is_some());
        let began = Instant::now();
        while let Err(error) = self.try_connect("postgres") {
            let gone = child.try_wait().expect("it is our child").is_some();
            if gone || began.elapsed() > crowded(PATIENCE) {
                processes::kill_all(&self.data());
                let _ = child.wait();
                return Err(format!("{error:?}\n{}", self.log_tail(40)));
            }
            sleep(Duration::from_millis(5));
        }
        *postmaster = Some(child);
        Ok(())
    }

    /// Starts a server that is down and crashes it after a while, wherever it
    /// is by then: most likely in its recovery.
    pub fn start_and_kill9(&self, after: Duration) {
        let mut postmaster = self.postmaster();
        *postmaster = Some(self.spawn(postmaster.is_some()));
        drop(postmaster);
        sleep(after);
        self.kill9();
    }

    fn spawn(&self, running: bool) -> Child {
        assert!(!running, "{} is running already", self.name);
        self.remove_empty_lock_files();
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_file())
            .expect("the log can be written");
        // What a server's administrator sets for other programs shows in no DETAIL of ours.
        let mut variables = self.clock.variables(&self.folder);
        variables.push(("RUST_BACKTRACE", "1".to_owned()));
        // It speaks German where `lc_messages` is a locale that is not C, as C.UTF-8, which every machine has.
        variables.push(("LANGUAGE", "de".to_owned()));
        self.installation
            .as_server("postgres", &variables)
            .arg("-D")
            .arg(self.data())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file has two handles"))
            .stderr(log)
            .spawn()
            .expect("the server can be run")
    }

    /// Removes lock files that a server killed while it wrote them left empty.
    ///
    /// PostgreSQL does not start over one ("Either another server is starting, or the lock
    /// file is the remnant of a previous server startup crash").
    fn remove_empty_lock_files(&self) {
        let socket = format!(".s.PGSQL.{}.lock", self.port);
        for lock in [self.data().join("postmaster.pid"), self.folder.join(socket)] {
            if fs::metadata(&lock).is_ok_and(|file| file.len() == 0) {
                fs::remove_file(&lock).expect("the lock file can be removed");
            }
        }
    }

    /// Stops the server as an administrator would (`fast`), with a checkpoint.
    pub fn stop(&self) {
        self.end(Signal::INT);
    }

    /// Stops and starts the server.
    #[track_caller]
    pub fn restart(&self) {
        self.stop();
        self.start();
    }

    /// Crashes the server: postmaster and all backends vanish at once, at
    /// whatever they are doing, and nothing is written any more.
    pub fn kill9(&self) {
        let mut postmaster = self.postmaster();
        if let Some(mut child) = postmaster.take() {
            // First, so that it does not start a recovery of its own.
            let _ = child.kill();
            processes::kill_all(&self.data());
            let _ = child.wait();
        }
    }

    /// Kills one backend, on which the postmaster ends all others, throws the
    /// shared memory away and recovers.
    pub fn kill9_backend(&self, pid: i32) {
        processes::signal(pid, Signal::KILL);
    }

    /// Whether the server was started and neither stopped nor crashed by us.
    pub fn is_running(&self) -> bool {
        self.postmaster().is_some()
    }

    /// Makes a checkpoint, so that recovery begins here.
    #[track_caller]
    pub fn checkpoint(&self) {
        self.psql("postgres", "CHECKPOINT");
    }

    /// Makes and starts a streaming standby; a builder has more to choose.
    #[track_caller]
    pub fn standby(&self) -> Self {
        Self::builder().name("standby").start_standby_of(self)
    }

    /// Waits until a standby has replayed all that is written here by now.
    #[track_caller]
    pub fn wait_for(&self, standby: &Self) {
        let written = self.psql("postgres", "SELECT pg_current_wal_flush_lsn()");
        let sql = format!("SELECT coalesce(pg_last_wal_replay_lsn() >= '{written}', false)");
        wait_until(PATIENCE, "the standby to catch up", || standby.psql("postgres", &sql) == "t");
    }

    /// Promotes a standby and waits until it takes writes.
    #[track_caller]
    pub fn promote(&self) {
        let done = self.psql("postgres", "SELECT pg_promote(true, 60)");
        assert_eq!(done, "t", "{} is not promoted", self.name);
    }

    /// Changes a setting in `postgresql.conf` by a line such as
    /// `shardid.lease = '5s'`. Sessions that begin after this returns have it,
    /// running ones from their next statement on, a stopped server from its start.
    #[track_caller]
    pub fn set_conf(&self, line: &str) {
        start::append(&self.data().join("postgresql.conf"), &format!("{line}\n"));
        if self.is_running() {
            let loaded = || self.psql("postgres", "SELECT pg_conf_load_time()");
            let before = loaded();
            self.psql("postgres", "SELECT pg_reload_conf()");
            wait_until(PATIENCE, "the settings to be read", || loaded() != before);
        }
    }

    /// Sets how far the server's clock is from the machine's: `-3600.0` is an
    /// hour back. With [`Clock::Steerable`] running backends see the step at
    /// their next look, with [`Clock::AtStart`] it counts from the next start.
    ///
    /// # Panics
    ///
    /// Where the server was made with the machine's clock.
    #[track_caller]
    pub fn set_clock(&self, offset_seconds: f64) {
        assert_ne!(self.clock, Clock::Real, "{} has the machine's clock", self.name);
        clock::set_offset(&self.folder, offset_seconds);
    }

    /// The file that the server logs to.
    pub fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// All that the server has logged so far.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.log_file()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn log_tail(&self, lines: usize) -> String {
        let log = self.log();
        let from = log.lines().count().saturating_sub(lines);
        log.lines().skip(from).collect::<Vec<_>>().join("\n")
    }

    fn postmaster(&self) -> MutexGuard<'_, Option<Child>> {
        // A thread that panicked left nothing half-way here.
        self.postmaster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the postmaster to end and waits; kills what is left after a while.
    fn end(&self, signal: Signal) {
        let mut postmaster = self.postmaster();
        if let Some(mut child) = postmaster.take() {
            processes::signal(child.id().cast_signed(), signal);
            let began = Instant::now();
            while child.try_wait().expect("it is our child").is_none() {
                if began.elapsed() > crowded(PATIENCE) {
                    let _ = child.kill();
                }
                sleep(Duration::from_millis(2));
            }
            processes::kill_all(&self.data());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.folder.as_os_str().is_empty() {
            return;
        }
        if panicking() {
            let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-logs");
            let file = kept.join(format!("{}-{}.log", self.name, self.port));
            let _ = fs::create_dir_all(&kept).and_then(|()| fs::copy(self.log_file(), &file));
            eprintln!(
                "the log of {}, kept in {}, ends:\n{}",
                self.name,
                file.display(),
                self.log_tail(40)
            );
        }
        // Without a checkpoint, but with its shared memory given back.
        self.end(Signal::QUIT);
        processes::remove_memory(&self.data());
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The file that a recovery has tripped over last, if that is why it gave up.
fn left_file(log: &str) -> Option<&str> {
    log.lines()
        .rev()
        .take_while(|line| !line.contains("starting PostgreSQL"))
        .find_map(|line| {
            let (_, rest) = line.split_once("could not create file \"")?;
            rest.split_once("\": File exists").map(|(file, _)| file)
        })
        .filter(|file| file.starts_with("base/"))
}
