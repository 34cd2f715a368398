//! Where a run takes place: the servers, what their clock was, what was found.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use postgres::{Client, Error};

use super::generators::{self, Generator};
use super::ledger::{Ledger, Receipt};
use super::{Finding, Maker, Report, Scenario, Soak, grouped};
use crate::{Clock, Server};

/// Settings of the servers: little is written or flushed unless somebody waits
/// for it, so that what is not safe is lost in a crash.
const SETTINGS: [&str; 7] = [
    "wal_writer_delay = '10s'",
    "autovacuum = off",
    "checkpoint_timeout = '1d'",
    "shardid.max_wait = '50ms'",
    "log_min_messages = log",
    "max_connections = 60",
    "synchronous_commit = on",
];

/// `shardid.max_drift` as the extension has it by itself.
const MAX_DRIFT: Duration = Duration::from_secs(10);

/// For how long after a change something may still go by what was before it.
const GRACE: Duration = Duration::from_secs(3);

/// Everything that the threads of a run share.
pub(super) struct World {
    pub(super) soak: Soak,
    pub(super) generators: Vec<Generator>,
    ledgers: Vec<Mutex<Ledger>>,
    place: RwLock<Place>,
    /// Closed while nobody may take ids.
    gate: RwLock<()>,
    /// What clock and drift were in force, from when on.
    moments: Mutex<Vec<Moment>>,
    fence: Mutex<Fence>,
    /// Whether sessions take ids now and then only.
    pub(super) calm: AtomicBool,
    stopped: AtomicBool,
    finding: Mutex<Option<String>>,
    told: Mutex<Vec<String>>,
    events: Mutex<BTreeMap<&'static str, u64>>,
    ways: Mutex<BTreeMap<&'static str, u64>>,
    ids: AtomicU64,
    pub(super) sessions: AtomicU64,
    pub(super) refused: AtomicU64,
    /// Sessions that have all the ids they wanted.
    pub(super) content: AtomicU64,
    start: Instant,
}

/// Where the generators are at the moment.
#[derive(Clone)]
struct Place {
    server: Arc<Server>,
    database: String,
}

#[derive(Clone, Copy)]
struct Moment {
    from: Instant,
    /// The server's clock against the machine's, in seconds.
    offset: f64,
    max_drift: Duration,
}

/// The fence of the shard that was fenced last.
pub(super) enum Fence {
    Never,
    Closing,
    Closed { shard: i32, from: Instant },
    Opening,
    Open { from: Instant },
}

/// A lock, also where a thread that held it has panicked: the run ends anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn machine_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("we are past 1970");
    i64::try_from(since.as_micros()).expect("and before the year 294247")
}

impl World {
    pub(super) fn new(soak: &Soak) -> Self {
        // A kill loses nothing that was written, flushed to the disk or not.
        let mut builder =
            Server::builder().name("soak-primary").clock(Clock::Steerable).fsync(false);
        for line in SETTINGS {
            builder = builder.conf(line);
        }
        let only_shard_5 = matches!(soak.scenario, Scenario::Crashes { .. });
        let mut max_drift = MAX_DRIFT;
        if only_shard_5 {
            // With more drift than the clock is ever behind, ids always go on.
            max_drift = Duration::from_secs(86_400);
            builder = builder.conf("shardid.max_drift = '1d'");
        }
        let server = builder.start();
        server.psql("postgres", "CREATE DATABASE soak_1");
        server.psql("soak_1", "CREATE EXTENSION shardid");
        let mut client = server.connect("soak_1");
        let generators = generators::create(&mut client, soak.maker, only_shard_5);
        let now = Moment { from: Instant::now(), offset: 0.0, max_drift };
        Self {
            soak: soak.clone(),
            ledgers: generators.iter().map(|_| Mutex::default()).collect(),
            generators,
            place: RwLock::new(Place { server: Arc::new(server), database: "soak_1".into() }),
            gate: RwLock::new(()),
            moments: Mutex::new(vec![now]),
            fence: Mutex::new(Fence::Never),
            calm: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            finding: Mutex::default(),
            told: Mutex::default(),
            events: Mutex::default(),
            ways: Mutex::default(),
            ids: AtomicU64::new(0),
            sessions: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            content: AtomicU64::new(0),
            start: Instant::now(),
        }
    }

    fn place(&self) -> Place {
        self.place.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn server(&self) -> Arc<Server> {
        self.place().server
    }

    pub(super) fn database(&self) -> String {
        self.place().database
    }

    pub(super) fn try_connect(&self) -> Result<Client, Error> {
        let place = self.place();
        place.server.try_connect(&place.database)
    }

    /// Has sessions go elsewhere from now on.
    pub(super) fn move_to(&self, server: Arc<Server>, database: String) {
        *self.place.write().unwrap_or_else(PoisonError::into_inner) = Place { server, database };
    }

    /// Keeps the gate open while ids are taken.
    pub(super) fn enter_gate(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody is taking ids, and keeps it so.
    pub(super) fn close_gate(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock of the server against the machine's, in seconds.
    pub(super) fn offset(&self) -> f64 {
        lock(&self.moments).last().expect("it begins with one").offset
    }

    /// Says that from now on the server has another clock or drift. Called
    /// before it comes into force.
    pub(super) fn announce(&self, offset: Option<f64>, max_drift: Option<Duration>) {
        let mut moments = lock(&self.moments);
        let last = *moments.last().expect("it begins with one");
        moments.push(Moment {
            from: Instant::now(),
            offset: offset.unwrap_or(last.offset),
            max_drift: max_drift.unwrap_or(last.max_drift),
        });
        if moments.len() > 200 {
            moments.drain(..100);
        }
    }

    /// Sets the clock of the server.
    pub(super) fn set_clock(&self, offset: f64) {
        self.announce(Some(offset), None);
        self.server().set_clock(offset);
    }

    /// The latest instant that an id may have that was taken since `since`.
    pub(super) fn latest_us(&self, since: Instant) -> i64 {
        let moments = lock(&self.moments);
        let from =
            moments.iter().rposition(|moment| moment.from + GRACE <= since).unwrap_or_default();
        let allowed = moments[from..]
            .iter()
            .map(|moment| moment.offset + moment.max_drift.as_secs_f64())
            .fold(f64::MIN, f64::max);
        machine_us() + (allowed * 1e6) as i64
    }

    /// How far the latest id of all is ahead of the clock, in seconds.
    pub(super) fn lead(&self) -> f64 {
        let times = self
            .generators
            .iter()
            .zip(&self.ledgers)
            .map(|(generator, ledger)| generator.layout.time_us(lock(ledger).highest));
        (times.max().unwrap_or(0) - machine_us()) as f64 / 1e6 - self.offset()
    }

    /// Notes what the fence is now.
    pub(super) fn fence(&self, fence: Fence) {
        *lock(&self.fence) = fence;
    }

    /// Whether a session may be told that its shard is fenced.
    pub(super) fn may_be_fenced(&self) -> bool {
        match *lock(&self.fence) {
            Fence::Never => false,
            Fence::Closing | Fence::Closed { .. } | Fence::Opening => true,
            Fence::Open { from } => from.elapsed() < GRACE,
        }
    }

    /// Whether a shard gives no ids to whoever began since then.
    pub(super) fn is_fenced_since(&self, shard: i32, since: Instant) -> bool {
        matches!(*lock(&self.fence), Fence::Closed { shard: closed, from } if closed == shard && from < since)
    }

    /// Enters what a session has received; ends the run where that breaks a rule.
    pub(super) fn enter(&self, which: usize, receipt: &Receipt) {
        if receipt.ids.is_empty() {
            return;
        }
        let entered = lock(&self.ledgers[which]).enter(&self.generators[which], receipt);
        let count = receipt.ids.len() as u64;
        self.ids.fetch_add(count, Ordering::Relaxed);
        *lock(&self.ways).entry(receipt.way).or_default() += count;
        if let Err(what) = entered {
            self.fail(&what);
        }
    }

    /// How many ids have been received.
    pub(super) fn ids(&self) -> u64 {
        self.ids.load(Ordering::Relaxed)
    }

    /// Ends the run with what was found, unless something was found before.
    pub(super) fn fail(&self, what: &str) {
        lock(&self.finding).get_or_insert_with(|| what.to_owned());
        self.stop();
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Tells what has happened.
    pub(super) fn tell(&self, name: &'static str, what: &str) {
        *lock(&self.events).entry(name).or_default() += 1;
        let line = format!(
            "{:7.1} s {:>13} ids  {name}{}{what}",
            self.start.elapsed().as_secs_f64(),
            grouped(self.ids()),
            if what.is_empty() { "" } else { ": " }
        );
        if self.soak.talk {
            eprintln!("{line}");
        }
        let mut told = lock(&self.told);
        told.push(line);
        if told.len() > 400 {
            told.drain(..200);
        }
    }

    /// Checks what must hold when all is quiet: no sequence is behind its ids.
    pub(super) fn check_the_end(&self) {
        if lock(&self.finding).is_some() || self.soak.maker != Maker::Shardid {
            return;
        }
        let mut client = match self.try_connect() {
            Ok(client) => client,
            Err(error) => return self.fail(&format!("the server is gone at the end: {error:?}")),
        };
        for (generator, ledger) in self.generators.iter().zip(&self.ledgers) {
            let sql = format!("SELECT last_value FROM {}", generator.sequence);
            let last: i64 = client.query_one(&sql, &[]).expect("the sequence is there").get(0);
            let highest = lock(ledger).highest;
            if last < highest {
                self.fail(&format!(
                    "{} stands at {last}, below {highest}, which it gave",
                    generator.name
                ));
            }
        }
        if self.ids() == 0 {
            self.fail("nobody has received an id, so nothing was tested");
        }
    }

    /// What was seen or found.
    pub(super) fn report(&self, elapsed: Duration) -> Result<Report, Finding> {
        if let Some(what) = lock(&self.finding).take() {
            self.keep_log();
            let told = lock(&self.told);
            let events = told[told.len().saturating_sub(20)..].to_vec();
            return Err(Finding { what, events, ids: self.ids() });
        }
        Ok(Report {
            ids: self.ledgers.iter().map(|ledger| lock(ledger).count()).sum(),
            sessions: self.sessions.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            events: lock(&self.events).clone(),
            ways: lock(&self.ways).clone(),
            elapsed,
        })
    }

    fn keep_log(&self) {
        let server = self.server();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-logs");
        let file = folder.join(format!("soak-{}.log", server.port()));
        let _ =
            std::fs::create_dir_all(&folder).and_then(|()| std::fs::copy(server.log_file(), &file));
    }
}
