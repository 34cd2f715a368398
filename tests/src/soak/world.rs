//! Where does a run take place: on which server, in which database, at what clock, and
//! who must be refused there at the moment?

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use postgres::{Client, Error};

use super::generators::{self, Generator};
use super::hours::{GRACE, Hours, machine_us};
use super::ledger::Ledger;
use super::proof::Proof;
use super::{Scenario, Soak};
use crate::{Clock, Server};

/// Settings of the servers: little is written or flushed unless somebody waits
/// for it, so that what is not safe is lost in a crash.
const SETTINGS: [&str; 8] = [
    "wal_writer_delay = '10s'",
    "autovacuum = off",
    "checkpoint_timeout = '1d'",
    "shardid.max_wait = '50ms'",
    "log_min_messages = log",
    "max_connections = 60",
    "synchronous_commit = on",
    "lock_timeout = '10s'",
];

/// `shardid.max_drift` as the extension has it by itself.
const MAX_DRIFT: Duration = Duration::from_secs(10);

/// Names a library with the page code of version 0.1.0: some sessions then take ids by
/// its function `old_next_ids(shard int, count int) RETURNS SETOF bigint`.
const OLD_LIBRARY: &str = "SHARDID_OLD_LIBRARY";

/// Everything that the threads of a run share.
pub(super) struct World {
    pub(super) soak: Soak,
    pub(super) generators: Vec<Generator>,
    pub(super) ledgers: Vec<Mutex<Ledger>>,
    /// Generators of a server that has lost what came last, until `next_id` was there once:
    /// `nextval` and the library 0.1.0 go on where the sequence stands.
    lost: Vec<AtomicBool>,
    place: RwLock<Place>,
    /// Closed while nobody may take ids.
    gate: RwLock<()>,
    hours: Mutex<Hours>,
    pub(super) proof: Mutex<Proof>,
    fence: Mutex<Fence>,
    /// The generators that operations come over.
    operated: Mutex<Vec<Operated>>,
    /// Whether some sessions have the old library.
    pub(super) has_old_library: bool,
    /// Whether sessions take ids now and then only.
    pub(super) calm: AtomicBool,
    pub(super) stopped: AtomicBool,
    pub(super) finding: Mutex<Option<String>>,
    pub(super) told: Mutex<Vec<String>>,
    pub(super) events: Mutex<BTreeMap<&'static str, u64>>,
    /// The numbered faults that there were.
    pub(super) faults: Mutex<BTreeMap<&'static str, u64>>,
    /// The number of the next.
    pub(super) next_fault: AtomicU64,
    pub(super) ways: Mutex<BTreeMap<&'static str, u64>>,
    pub(super) ids: AtomicU64,
    pub(super) sessions: AtomicU64,
    pub(super) refused: AtomicU64,
    /// Sessions that have all the ids they wanted.
    pub(super) content: AtomicU64,
    pub(super) start: Instant,
}

/// Where the generators are at the moment.
#[derive(Clone)]
struct Place {
    server: Arc<Server>,
    database: String,
}

/// A generator that an operation comes over, or came over a moment ago.
struct Operated {
    which: usize,
    over: Option<Instant>,
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
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn only_crashes(soak: &Soak) -> bool {
    matches!(soak.scenario, Scenario::Crashes { .. })
}

impl World {
    pub(super) fn new(soak: &Soak) -> Self {
        // A kill loses nothing that was written, flushed to the disk or not.
        let mut builder =
            Server::builder().name("soak-primary").clock(Clock::Steerable).fsync(false);
        for line in SETTINGS {
            builder = builder.conf(line);
        }
        let only_shard_5 = only_crashes(soak);
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
        let old_library = std::env::var(OLD_LIBRARY).ok().filter(|_| !only_shard_5);
        if let Some(library) = &old_library {
            let sql = include_str!("old.sql").replace("LIBRARY", &library.replace('\'', "''"));
            client.batch_execute(&sql).expect("the old library can be loaded");
        }
        Self {
            soak: soak.clone(),
            ledgers: generators.iter().map(|_| Mutex::default()).collect(),
            lost: generators.iter().map(|_| AtomicBool::new(false)).collect(),
            generators,
            place: RwLock::new(Place { server: Arc::new(server), database: "soak_1".into() }),
            gate: RwLock::new(()),
            hours: Mutex::new(Hours::new(max_drift)),
            proof: Mutex::default(),
            fence: Mutex::new(Fence::Never),
            operated: Mutex::default(),
            has_old_library: old_library.is_some(),
            calm: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            finding: Mutex::default(),
            told: Mutex::default(),
            events: Mutex::default(),
            faults: Mutex::default(),
            next_fault: AtomicU64::new(1),
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
        lock(&self.hours).offset()
    }

    /// Says that from now on the server has another clock or drift. Called
    /// before it comes into force.
    pub(super) fn announce(&self, offset: Option<f64>, max_drift: Option<Duration>) {
        lock(&self.hours).announce(offset, max_drift);
    }

    /// Says that a session will have another drift than the server.
    pub(super) fn allow(&self, drift: Duration) {
        lock(&self.hours).allow(drift);
    }

    /// Says that a generator will not know its past.
    pub(super) fn forget(&self) {
        lock(&self.hours).forget();
    }

    /// Says that what the server did last is lost.
    pub(super) fn lose(&self) {
        self.forget();
        for generator in &self.lost {
            generator.store(true, Ordering::Relaxed);
        }
    }

    /// Whether only `next_id` knows where a generator is to go on.
    pub(super) fn is_lost(&self, which: usize) -> bool {
        self.lost[which].load(Ordering::Relaxed)
    }

    /// Says that `next_id` has given an id of a generator.
    pub(super) fn found(&self, which: usize) {
        self.lost[which].store(false, Ordering::Relaxed);
    }

    /// Sets the clock of the server.
    pub(super) fn set_clock(&self, offset: f64) {
        self.announce(Some(offset), None);
        self.server().set_clock(offset);
    }

    /// The latest instant that an id may have that was taken since `since`, by a session
    /// whose own drift is as given.
    pub(super) fn latest_us(&self, since: Instant, own_drift: Duration) -> i64 {
        lock(&self.hours).latest_us(since, own_drift)
    }

    /// The highest id received from each generator.
    pub(super) fn highest(&self) -> Vec<i64> {
        self.ledgers.iter().map(|ledger| lock(ledger).highest).collect()
    }

    /// How far the latest id of a generator is ahead of the clock, in seconds.
    pub(super) fn lead_of(&self, which: usize) -> f64 {
        let latest_us = self.generators[which].layout.time_us(lock(&self.ledgers[which]).highest);
        (latest_us - machine_us()) as f64 / 1e6 - self.offset()
    }

    /// How far the latest id of all is ahead of the clock, in seconds.
    pub(super) fn lead(&self) -> f64 {
        (0..self.generators.len()).map(|which| self.lead_of(which)).fold(f64::MIN, f64::max)
    }

    /// Says that an operation comes over a generator, until [`World::end_operation`].
    pub(super) fn begin_operation(&self, which: usize) {
        self.forget();
        let mut operated = lock(&self.operated);
        operated.retain(|other| other.over.is_none_or(|over| over.elapsed() < GRACE));
        operated.push(Operated { which, over: None });
    }

    pub(super) fn end_operation(&self, which: usize) {
        for operated in lock(&self.operated).iter_mut().filter(|other| other.which == which) {
            operated.over.get_or_insert_with(Instant::now);
        }
    }

    /// Whether a session may be refused because of an operation on a generator.
    pub(super) fn is_operated(&self, which: usize) -> bool {
        lock(&self.operated).iter().any(|operated| {
            operated.which == which && operated.over.is_none_or(|over| over.elapsed() < GRACE)
        })
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
}
