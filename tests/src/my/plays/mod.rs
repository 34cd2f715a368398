//! Short plays of several sessions, made up from a seed: whatever a session may do that
//! takes ids, with kills, with steps of the clock, with crashes, and one ledger of every id that
//! any client saw.
//!
//! Plays are numbered: a seed and a number determine what its clients do, though not
//! which of them the server serves first.

mod actor;
mod settings;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use self::actor::Actor;
use super::{Engine, Server, query};
use crate::Clock;

/// A layout and its numbers: ticks of so many microseconds, shards, slots.
type Layout = (&'static str, u64, i64, i64);

/// Layouts of bits and of decimals, fine and coarse, and two of odd numbers.
const LAYOUTS: [Layout; 6] = [
    ("instagram", 1_000, 8192, 1024),
    ("snowflake", 1_000, 1024, 4096),
    ("decimal19", 1_000_000, 100, 10_000_000),
    ("js53", 1_000_000, 256, 8192),
    ("odd_fine", 9_973, 13, 20_011),
    ("odd_coarse", 9_973, 17, 79),
];

/// Two shards of each.
const SHARDS: usize = 2 * LAYOUTS.len();

/// What was found: an id that came twice, or an error that nobody may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The number of the play.
    pub play: u64,
    /// What it was.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "play {}: {}", self.play, self.what)
    }
}

/// What was done.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Played {
    /// The number of the next play.
    pub next_play: u64,
    /// Different ids that clients saw.
    pub ids: usize,
    /// Statements that were killed.
    pub kills: u64,
    /// Statements that a limit on their time ended.
    pub timeouts: u64,
    /// Crashes of the server.
    pub crashes: u64,
    /// Steps of the clock of a server that ran.
    pub steps: u64,
}

/// Every id that a client saw, and who did.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<HashMap<(usize, i64), String>>);

impl Ledger {
    /// Writes an id down; an error where somebody has it already.
    pub fn add(&self, layout: usize, id: i64, who: &str) -> Result<(), String> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.insert((layout, id), who.to_owned()) {
            None => Ok(()),
            Some(before) => {
                Err(format!("id {id} of {} came to {before} and to {who}", LAYOUTS[layout].0))
            }
        }
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// A server with what the plays need.
#[derive(Debug)]
pub struct Plays {
    server: Server,
    seed: u64,
    ledger: Ledger,
    timeouts: AtomicU64,
}

impl Plays {
    /// Makes a server of its own, with shards, tables, triggers and a procedure.
    ///
    /// `replace` is SQL that puts another `next_id` in the place of ours.
    pub fn new(engine: Engine, seed: u64, replace: Option<&str>) -> Self {
        // The tables of a play may be waited for; not for long.
        let server = Server::builder(engine)
            .name("the server of plays")
            .clock(Clock::EachSecond)
            .option("--innodb-lock-wait-timeout=1")
            .option("--lock-wait-timeout=2")
            .start();
        server.query("SET GLOBAL event_scheduler = ON; CREATE DATABASE plays");
        let client = &mut server.connect();
        for (name, tick, shards, slots) in LAYOUTS {
            query::<u64>(
                client,
                &format!(
                    "INSERT IGNORE INTO shardid.layout VALUES ('{name}', 1767225600000000, {tick}, 100000000000000 DIV {tick}, {shards}, {slots})"
                ),
            );
        }
        for shard in 0..SHARDS {
            query::<u64>(
                client,
                &format!(
                    "CALL shardid.create_shard({shard}, '{}');
                     CREATE TABLE plays.t{shard} (id BIGINT NOT NULL DEFAULT 0, tag BIGINT, KEY (tag))",
                    LAYOUTS[shard / 2].0
                ),
            );
            let sql = format!("SELECT shardid.id_trigger('plays', 't{shard}', 'id', {shard})");
            let trigger: Vec<String> = query(client, &sql);
            query::<u64>(client, &trigger[0]);
        }
        query::<u64>(
            client,
            "CREATE FUNCTION plays.nested(shard INT) RETURNS BIGINT NOT DETERMINISTIC READS SQL DATA RETURN shardid.next_id(shard)",
        );
        query::<u64>(
            client,
            "CREATE PROCEDURE plays.some(shard INT, n INT, tag BIGINT)
             BEGIN
                 WHILE n > 0 DO
                     IF shard % 2 = 0 THEN INSERT INTO plays.t0 VALUES (shardid.next_id(0), tag);
                     ELSE INSERT INTO plays.t6 (tag) VALUES (tag); END IF;
                     SET n = n - 1;
                 END WHILE;
             END",
        );
        if let Some(sql) = replace {
            query::<u64>(client, sql);
        }
        query::<u64>(
            client,
            "CREATE EVENT plays.e ON SCHEDULE EVERY 1 SECOND DO INSERT INTO plays.t1 (tag) VALUES (-1), (-1)",
        );
        Self { server, seed, ledger: Ledger::default(), timeouts: AtomicU64::new(0) }
    }

    /// Plays from a number on until a time, or what is found.
    pub fn run(&self, from: u64, until: Instant, crash_each: u64) -> Result<Played, Finding> {
        let mut played = Played { next_play: from, ..Played::default() };
        while Instant::now() < until {
            let play = played.next_play;
            let with_crash = crash_each > 0 && play % crash_each == crash_each - 1;
            self.play(play, with_crash, &mut played).map_err(|what| Finding { play, what })?;
            played.next_play += 1;
        }
        played.ids = self.ledger.len();
        played.timeouts = self.timeouts.load(Ordering::Relaxed);
        Ok(played)
    }

    /// One play: two to five clients, somebody who kills, and perhaps a crash.
    fn play(&self, play: u64, with_crash: bool, played: &mut Played) -> Result<(), String> {
        let mut rng = self.rng(play, 1000);
        let clients = rng.random_range(2..=5);
        let with_kills = with_crash || rng.random_range(0..3) > 0;
        if rng.random_range(0..2) == 0 {
            // The server sees it within two seconds, at whatever it is doing. It is less than
            // the 10 s that ids may be ahead of the clock, so none is refused.
            self.server.set_clock(f64::from(rng.random_range(-50..30)) / 10.0);
            played.steps += 1;
        }
        let connections: Vec<AtomicU32> = (0..clients).map(|_| AtomicU32::new(0)).collect();
        let (done, kills) = (AtomicBool::new(false), AtomicU64::new(0));
        let result = scope(|scope| {
            let threads: Vec<_> = (0..clients)
                .map(|number| {
                    let mut actor = Actor::new(
                        self,
                        play,
                        number as u64,
                        &connections[number],
                        with_kills,
                        with_crash,
                    );
                    scope.spawn(move || actor.act())
                })
                .collect();
            let killer = with_kills.then(|| {
                let (rng, done, kills, connections) =
                    (self.rng(play, 2000), &done, &kills, &connections);
                scope.spawn(move || self.kill(rng, done, kills, connections))
            });
            if with_crash {
                sleep(Duration::from_millis(rng.random_range(20..400)));
                self.server.kill9();
                // Back by up to 5 s, or forward to the machine's clock again.
                self.server.set_clock(-f64::from(rng.random_range(0..50)) / 10.0);
                self.server.start();
                played.crashes += 1;
            }
            let mut result = Ok(());
            for thread in threads {
                result =
                    result.and(thread.join().unwrap_or_else(|_| Err("a client panicked".into())));
            }
            done.store(true, Ordering::Relaxed);
            if let Some(killer) = killer {
                let _ = killer.join();
            }
            result
        });
        played.kills += kills.into_inner();
        result?;
        self.look_at_tables(play)
    }

    /// No id may stand twice in the tables; what events wrote is taken down, too.
    fn look_at_tables(&self, play: u64) -> Result<(), String> {
        let client = &mut self.server.connect();
        // See may_fail: half-read triggers are read again.
        query::<u64>(client, "FLUSH LOCAL TABLES");
        query::<u64>(client, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
        for id in query::<i64>(client, "SELECT id FROM plays.t1 WHERE tag = -1") {
            self.ledger.add(0, id, &format!("an event in play {play}"))?;
        }
        query::<u64>(client, "DELETE FROM plays.t1 WHERE tag = -1");
        for (layout, (name, ..)) in LAYOUTS.iter().enumerate() {
            let (a, b) = (2 * layout, 2 * layout + 1);
            let twice = format!(
                "SELECT id FROM (SELECT id FROM plays.t{a} UNION ALL SELECT id FROM plays.t{b}) AS t GROUP BY id HAVING count(*) > 1"
            );
            if let Some(id) = query::<i64>(client, &twice).first() {
                return Err(format!("id {id} of {name} stands in two rows"));
            }
        }
        if play % 50 == 49 {
            for shard in 0..SHARDS {
                query::<u64>(client, &format!("DELETE FROM plays.t{shard} WHERE tag >= 0"));
            }
        }
        Ok(())
    }

    /// Kills statements of clients, and now and then a connection.
    fn kill(&self, mut rng: StdRng, done: &AtomicBool, kills: &AtomicU64, clients: &[AtomicU32]) {
        let mut admin = None;
        while !done.load(Ordering::Relaxed) {
            sleep(Duration::from_micros(rng.random_range(100..30_000)));
            let id = clients[rng.random_range(0..clients.len())].load(Ordering::Relaxed);
            let what = if rng.random_range(0..20) == 0 { "CONNECTION" } else { "QUERY" };
            if admin.is_none() {
                admin = self.server.try_connect().ok();
            }
            let Some(client) = &mut admin else { continue };
            match client.query_drop(format!("KILL {what} {id}")) {
                Ok(()) => _ = kills.fetch_add(1, Ordering::Relaxed),
                Err(mysql::Error::MySqlError(_)) => {}
                Err(_) => admin = None,
            }
        }
    }

    fn rng(&self, play: u64, who: u64) -> StdRng {
        StdRng::seed_from_u64(self.seed ^ play.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (who << 48))
    }
}
