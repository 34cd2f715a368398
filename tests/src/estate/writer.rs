//! Clients that write to a shard wherever it is, and remember what they were told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls};

use super::{DATABASE, Estate, schema};
use crate::Refusal;

/// What a writer knows at its end.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    /// Rows that were acknowledged, with their ids.
    pub acknowledged: BTreeMap<i64, i64>,
    /// Rows of which a change was acknowledged afterwards.
    pub changed: BTreeSet<i64>,
    /// Rows of which the connection broke before the answer came.
    pub unknown: BTreeSet<i64>,
    /// How often each SQLSTATE was said.
    pub refused: BTreeMap<String, u64>,
    /// When the first attempt to write each acknowledged row began, and how long
    /// it took until the answer.
    pub took: Vec<(Instant, Duration)>,
    /// Refusals that named no node, though they should.
    pub nameless: u64,
}

impl Tally {
    /// Adds what another writer knows.
    pub fn add(&mut self, other: Self) {
        self.acknowledged.extend(other.acknowledged);
        self.changed.extend(other.changed);
        self.unknown.extend(other.unknown);
        for (code, times) in other.refused {
            *self.refused.entry(code).or_default() += times;
        }
        self.took.extend(other.took);
        self.nameless += other.nameless;
    }

    /// The longest wait for an answer among the rows whose first attempt began
    /// in a stretch of time.
    pub fn longest_between(&self, from: Instant, to: Instant) -> Duration {
        let during = self.took.iter().filter(|(at, _)| *at >= from && *at < to);
        during.map(|(_, took)| *took).max().unwrap_or_default()
    }

    /// Asserts that the rows found, as `id|n|seen|lines`, are those acknowledged,
    /// each once, whole and as it was changed, and none that nobody wrote.
    #[track_caller]
    pub(super) fn check(&self, rows: &str) {
        let mut found: BTreeMap<i64, i64> = BTreeMap::new();
        for row in rows.lines() {
            let fields: Vec<i64> =
                row.split('|').map(|field| field.parse().expect("a number")).collect();
            let [id, n, seen, lines] = fields[..] else { panic!("a row of four: {row}") };
            assert!(seen == 1 || !self.changed.contains(&n), "the change of row {n} is lost");
            assert_eq!(lines, 1, "row {n} has lost or doubled its line");
            assert_eq!(found.insert(n, id), None, "row {n} is there twice");
            assert!(
                self.acknowledged.contains_key(&n) || self.unknown.contains(&n),
                "row {n} is there and nobody wrote it"
            );
        }
        let lost: Vec<&i64> = self
            .acknowledged
            .iter()
            .filter(|(n, id)| found.get(n) != Some(id))
            .map(|(n, _)| n)
            .collect();
        assert!(
            lost.is_empty(),
            "{} of {} acknowledged rows are lost: {lost:?}",
            lost.len(),
            self.acknowledged.len()
        );
    }
}

/// A thread that writes to a shard until it is told to end.
#[derive(Debug)]
pub struct Writer {
    stopped: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
    thread: JoinHandle<Tally>,
}

impl Writer {
    /// Begins to write rows numbered from `from` on, with a pause after each.
    pub fn begin(estate: &Estate, shard: u32, from: i64, pause: Duration) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let written = Arc::new(AtomicU64::new(0));
        let places: Vec<Config> = estate.servers.iter().map(|s| s.config(DATABASE)).collect();
        let mut session = Session {
            places,
            shard,
            at: 0,
            client: None,
            tally: Tally::default(),
            stopped: Arc::clone(&stopped),
            written: Arc::clone(&written),
        };
        let thread = std::thread::spawn(move || {
            for n in from.. {
                if session.stopped.load(Ordering::Relaxed) {
                    break;
                }
                session.write(n);
                sleep(pause);
            }
            session.tally
        });
        Self { stopped, written, thread }
    }

    /// How many rows were acknowledged so far.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Waits until it has written so many rows more: it is not stuck.
    #[track_caller]
    pub fn wait_for(&self, more: u64) {
        let wanted = self.written() + more;
        crate::wait_until(Duration::from_secs(30), "a writer to get on", || {
            self.written() >= wanted || self.thread.is_finished()
        });
        assert!(!self.thread.is_finished(), "the writer has ended");
    }

    /// Ends it and returns what it knows.
    #[track_caller]
    pub fn end(self) -> Tally {
        self.stopped.store(true, Ordering::Relaxed);
        let tally = self.thread.join().expect("a writer does not panic");
        let ids: Vec<i64> = tally.acknowledged.values().copied().collect();
        crate::assert_rising(&ids);
        tally
    }
}

struct Session {
    places: Vec<Config>,
    shard: u32,
    at: usize,
    client: Option<Client>,
    tally: Tally,
    stopped: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
}

impl Session {
    /// Writes one row and then changes it, at whichever node takes that.
    fn write(&mut self, n: i64) {
        let schema = schema(self.shard);
        // Item and line, or neither.
        let insert = format!(
            "WITH i AS (INSERT INTO {schema}.item (n) VALUES ($1) RETURNING id), \
                  l AS (INSERT INTO {schema}.line (item) SELECT id FROM i) \
             SELECT id FROM i"
        );
        let began = Instant::now();
        let Some(id) = self.insist(&insert, n) else { return };
        self.tally.acknowledged.insert(n, id);
        self.tally.took.push((began, began.elapsed()));
        self.written.fetch_add(1, Ordering::Relaxed);
        // This one asks for no id: only the fence on the table keeps it from an old copy.
        let update = format!("UPDATE {schema}.item SET seen = seen + 1 WHERE n = $1 RETURNING id");
        if self.insist(&update, n).is_some() {
            self.tally.changed.insert(n);
        }
    }

    /// Has a node take a statement about row `n`, and returns the row's id; none
    /// where the answer was lost, or we are to end.
    fn insist(&mut self, sql: &str, n: i64) -> Option<i64> {
        loop {
            let error = match self.client()?.query_opt(sql, &[&n]) {
                Ok(row) => return Some(row.expect("a row that was acknowledged is there").get(0)),
                Err(error) => error,
            };
            let Some(refusal) = Refusal::of(&error) else {
                // The answer is lost, and perhaps it was done.
                self.tally.unknown.insert(n);
                self.client = None;
                return None;
            };
            *self.tally.refused.entry(refusal.sqlstate.clone()).or_default() += 1;
            match refusal.sqlstate.as_str() {
                "SI001" => match self.named(&refusal) {
                    Some(at) => self.go_to(at),
                    None => self.tally.nameless += 1,
                },
                // Crashed, or shutting down: what was under way is undone, but a
                // commit may have been on its way out.
                "57P01" | "57P02" | "57P03" => {
                    self.tally.unknown.insert(n);
                    self.client = None;
                    return None;
                }
                "SI002" => {}
                // The copy is dropped: the next node, until one has it.
                _ => self.go_to((self.at + 1) % self.places.len()),
            }
            sleep(Duration::from_millis(3));
        }
    }

    /// The node that a refusal names.
    fn named(&self, refusal: &Refusal) -> Option<usize> {
        let name = refusal.message.split('"').nth(1)?;
        let number: usize = name.strip_prefix("pg")?.parse().ok()?;
        (number >= 1 && number <= self.places.len()).then(|| number - 1)
    }

    fn go_to(&mut self, at: usize) {
        if at != self.at {
            self.client = None;
        }
        self.at = at;
    }

    /// A connection to the node we believe in; none once we are to end.
    fn client(&mut self) -> Option<&mut Client> {
        while self.client.as_ref().is_none_or(Client::is_closed) {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            self.client = self.places[self.at].connect(NoTls).ok();
            if self.client.is_none() {
                sleep(Duration::from_millis(20));
                self.at = (self.at + 1) % self.places.len();
            }
        }
        if self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        self.client.as_mut()
    }
}
