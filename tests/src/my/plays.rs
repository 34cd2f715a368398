//! Short plays of several sessions, made up from a seed: whatever a session may do that
//! takes ids, with kills and crashes, and one ledger of every id that any client saw.
//!
//! Plays are numbered: a seed and a number determine what its clients do, though not
//! which of them the server serves first.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{Engine, Refused, Server, query, try_query};

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

/// What a session may set, beside what it was before.
const SETTINGS: &[&str] = &[
    "time_zone = '+13:00'",
    "time_zone = '-03:30'",
    "time_zone = 'SYSTEM'",
    "timestamp = 1",
    "timestamp = unix_timestamp(sysdate()) - 5",
    "timestamp = unix_timestamp(sysdate()) + 100000",
    "timestamp = DEFAULT",
    "timestamp = DEFAULT",
    "insert_id = 7",
    "insert_id = 0",
    "last_insert_id = 99",
    "auto_increment_increment = 7, auto_increment_offset = 3",
    "auto_increment_increment = 2, auto_increment_offset = 9",
    "auto_increment_increment = 1000",
    "auto_increment_increment = 1, auto_increment_offset = 1",
    "sql_mode = ''",
    "sql_mode = 'ANSI,NO_AUTO_VALUE_ON_ZERO'",
    "sql_mode = 'STRICT_ALL_TABLES,PIPES_AS_CONCAT,NO_UNSIGNED_SUBTRACTION'",
    "unique_checks = 0, foreign_key_checks = 0",
    "unique_checks = 1, foreign_key_checks = 1",
    "SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "sql_select_limit = 3",
    "sql_select_limit = DEFAULT",
    "sql_safe_updates = 1",
    "sql_auto_is_null = 1",
    "div_precision_increment = 0",
    "rand_seed1 = 5, rand_seed2 = 5",
    "collation_connection = 'latin1_swedish_ci'",
    "innodb_lock_wait_timeout = 1",
    "@shardid_committed = 1, @shardid_id = 5, @shardid_run_id = 500, @shardid_step = 1, \
     @shardid_session_us = timestampdiff(MICROSECOND, '1970-01-01', sysdate(6)), \
     @shardid_statement_s = unix_timestamp()",
    "@shardid_shard = 0, @shardid_layout = 'instagram', @shardid_last_place = 9007199254740993",
];

/// What only some plays have, since it changes which ids are promised over a crash.
const TRANSACTION_SETTINGS: &[&str] = &[
    "autocommit = 0",
    "autocommit = 1",
    "completion_type = 'CHAIN'",
    "completion_type = 'NO_CHAIN'",
];

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
    /// Crashes of the server.
    pub crashes: u64,
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
}

impl Plays {
    /// Makes a server of its own, with shards, tables, triggers and a procedure.
    ///
    /// `replace` is SQL that puts another `next_id` in the place of ours.
    pub fn new(engine: Engine, seed: u64, replace: Option<&str>) -> Self {
        // The tables of a play may be waited for; not for long.
        let server = Server::builder(engine)
            .name("the server of plays")
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
        query::<u64>(
            client,
            "CREATE EVENT plays.e ON SCHEDULE EVERY 1 SECOND DO INSERT INTO plays.t1 (tag) VALUES (-1), (-1)",
        );
        if let Some(sql) = replace {
            query::<u64>(client, sql);
        }
        Self { server, seed, ledger: Ledger::default() }
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
        Ok(played)
    }

    /// One play: two to five clients, somebody who kills, and perhaps a crash.
    fn play(&self, play: u64, with_crash: bool, played: &mut Played) -> Result<(), String> {
        let mut rng = self.rng(play, 1000);
        let clients = rng.random_range(2..=5);
        let with_kills = with_crash || rng.random_range(0..3) > 0;
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

/// A client of a play.
struct Actor<'a> {
    plays: &'a Plays,
    name: String,
    rng: StdRng,
    connection: &'a AtomicU32,
    client: Option<Conn>,
    /// Whether statements are killed.
    kills: bool,
    /// Whether an id counts only when its transaction has committed: before a crash.
    strict: bool,
    /// In a transaction that this client began.
    open: bool,
    /// Seen and not yet committed.
    pending: Vec<(usize, i64)>,
    /// The last id that a statement returned, by shard.
    last: [i64; SHARDS],
    /// The zone that the session has.
    zone: String,
    tags: i64,
}

impl<'a> Actor<'a> {
    fn new(
        plays: &'a Plays,
        play: u64,
        number: u64,
        connection: &'a AtomicU32,
        kills: bool,
        strict: bool,
    ) -> Self {
        Self {
            plays,
            name: format!("client {number} of play {play}"),
            rng: plays.rng(play, number),
            connection,
            client: None,
            kills,
            strict,
            open: false,
            pending: Vec::new(),
            last: [-1; SHARDS],
            zone: String::new(),
            tags: ((play as i64) << 20) | ((number as i64) << 16),
        }
    }

    fn act(&mut self) -> Result<(), String> {
        for _ in 0..self.rng.random_range(5..30) {
            self.step()?;
        }
        if self.client.is_some() {
            // The last kill may come now.
            for _ in 0..5 {
                match self.run::<(String, u64)>(
                    "SELECT @@time_zone, coalesce(is_used_lock('shardid.position'), 0)",
                ) {
                    Ok(rows) => {
                        if let Some((zone, lock)) = rows.first()
                            && (*zone != self.zone || *lock != 0)
                        {
                            return Err(format!(
                                "{}: time_zone is {zone} and was {}, the lock is {lock}'s",
                                self.name, self.zone
                            ));
                        }
                        break;
                    }
                    Err(refused) if refused.sqlstate.is_empty() => break,
                    Err(_) => {}
                }
            }
            let end = if self.rng.random_range(0..2) == 0 { "COMMIT" } else { "ROLLBACK" };
            self.end(end)?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        if self.client.is_none() && !self.connect() {
            return Ok(());
        }
        match self.rng.random_range(0..100) {
            0..20 => self.set(),
            20..27 => self.control("START TRANSACTION", true),
            27..32 => self.end("COMMIT"),
            32..36 => self.end("ROLLBACK"),
            36..39 => self.control("SAVEPOINT a", self.open),
            39..41 => self.control("ROLLBACK TO SAVEPOINT a", self.open),
            41..44 if !self.strict => self.xa(),
            44..45 => {
                self.client = None;
                self.dropped();
                Ok(())
            }
            45..65 => self.select(),
            65..80 => self.insert(),
            80..85 => self.lock_tables(),
            85..90 => self.prepared(),
            90..95 => self.variable(),
            _ => self.call(),
        }
    }

    fn connect(&mut self) -> bool {
        for _ in 0..200 {
            if let Ok(mut client) = self.plays.server.try_connect() {
                self.connection.store(client.connection_id(), Ordering::Relaxed);
                let zone = try_query::<String>(&mut client, "SELECT @@time_zone");
                let Ok(zone) = zone else { continue };
                self.zone = zone.into_iter().next().unwrap_or_default();
                self.client = Some(client);
                return true;
            }
            sleep(Duration::from_millis(20));
        }
        false
    }

    /// Runs SQL; where the connection breaks, the client has none.
    fn run<T: mysql::prelude::FromRow>(&mut self, sql: &str) -> Result<Vec<T>, Refused> {
        let Some(client) = &mut self.client else {
            return Err(Refused { sqlstate: String::new(), message: "no connection".into() });
        };
        let result = try_query::<T>(client, sql);
        if let Err(refused) = &result
            && (refused.sqlstate.is_empty() || refused.sqlstate.starts_with("08"))
        {
            self.client = None;
            self.dropped();
        }
        result
    }

    /// What was not committed is nobody's word over a crash; else it was seen, and counts.
    fn dropped(&mut self) {
        self.open = false;
        if self.strict {
            self.pending.clear();
        }
    }

    fn set(&mut self) -> Result<(), String> {
        let all = SETTINGS.len() + if self.strict { 0 } else { TRANSACTION_SETTINGS.len() };
        let which = self.rng.random_range(0..all);
        let what = SETTINGS
            .get(which)
            .copied()
            .unwrap_or_else(|| TRANSACTION_SETTINGS[which - SETTINGS.len()]);
        // Steps of the counter would take ids ahead of the clock before a crash.
        if self.strict && what.starts_with("auto_increment") {
            return Ok(());
        }
        if self.run::<u64>(&format!("SET {what}")).is_ok()
            && let Some(zone) = what.strip_prefix("time_zone = ")
        {
            self.zone = zone.trim_matches('\'').to_owned();
        }
        Ok(())
    }

    fn control(&mut self, sql: &str, opens: bool) -> Result<(), String> {
        if self.run::<u64>(sql).is_ok() {
            if sql == "START TRANSACTION" {
                // It commits what was open.
                self.committed()?;
            }
            self.open = opens;
        }
        Ok(())
    }

    fn end(&mut self, sql: &str) -> Result<(), String> {
        match self.run::<u64>(sql) {
            Ok(_) if sql == "COMMIT" => self.committed()?,
            Ok(_) => self.undone()?,
            Err(_) => return Ok(()),
        }
        self.open = false;
        Ok(())
    }

    fn undone(&mut self) -> Result<(), String> {
        if self.strict {
            self.pending.clear();
            return Ok(());
        }
        self.committed()
    }

    fn committed(&mut self) -> Result<(), String> {
        for (layout, id) in std::mem::take(&mut self.pending) {
            self.plays.ledger.add(layout, id, &self.name)?;
        }
        Ok(())
    }

    fn xa(&mut self) -> Result<(), String> {
        let _ = self.end("COMMIT");
        self.tags += 1;
        let name = format!("'x{}'", self.tags);
        if self.run::<u64>(&format!("XA START {name}")).is_err() {
            return Ok(());
        }
        self.open = true;
        let result = self.select();
        self.open = false;
        let how = match self.rng.random_range(0..4) {
            0 => format!("XA COMMIT {name} ONE PHASE"),
            1 => format!("XA ROLLBACK {name}"),
            2 => format!("XA PREPARE {name}; XA COMMIT {name}"),
            _ => format!("XA PREPARE {name}; XA ROLLBACK {name}"),
        };
        if self.run::<u64>(&format!("XA END {name}; {how}")).is_err() {
            // Killed half-way: it must not stay, and the connection is done with.
            let _ = self.run::<u64>(&format!("XA END {name}"));
            let _ = self.run::<u64>(&format!("XA ROLLBACK {name}"));
            self.client = None;
        }
        result.and(self.committed())
    }

    /// Takes ids down that a statement returned, in this order.
    fn saw(&mut self, shard: usize, id: i64, in_order: bool) -> Result<(), String> {
        let layout = shard / 2;
        let (name, _, shards, slots) = LAYOUTS[layout];
        if id / slots % shards != shard as i64 {
            return Err(format!("{}: id {id} of {name} is not of shard {shard}", self.name));
        }
        if in_order {
            if id <= self.last[shard] {
                return Err(format!(
                    "{}: id {id} of {name} came after {}",
                    self.name, self.last[shard]
                ));
            }
            self.last[shard] = id;
        }
        self.pending.push((layout, id));
        Ok(())
    }

    /// What a statement that takes ids may be refused for.
    fn may_fail(&self, refused: &Refused) -> Result<(), String> {
        // What a kill looks like while MySQL plans a statement, and MariaDB reads a trigger: it
        // keeps that table with the half-read trigger, also for others and for later plays.
        let of_kills = ["You are using safe update mode"];
        let known = match refused.sqlstate.as_str() {
            "42000" if refused.message.contains("'Query was empty'") => true,
            _ if self.kills && of_kills.iter().any(|said| refused.message.contains(said)) => true,
            // The connection, a kill, a deadlock of tables of the play's own.
            "" | "70100" | "40001" => true,
            "55000" => ["insert_id", "auto_increment_increment", "timestamp is set"]
                .iter()
                .any(|setting| refused.message.contains(setting)),
            "HY000" => refused.message.contains("Lock wait timeout"),
            state => state.starts_with("08"),
        };
        match known {
            true => Ok(()),
            false => Err(format!("{} was refused: {refused:?}", self.name)),
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.open { Ok(()) } else { self.committed() }
    }

    fn shard(&mut self) -> usize {
        self.rng.random_range(0..SHARDS)
    }

    /// One row or many, of up to three shards.
    fn select(&mut self) -> Result<(), String> {
        let shards = [self.shard(), self.shard(), self.shard()];
        let rows = match self.rng.random_range(0..3) {
            0 => 1,
            1 => self.rng.random_range(2..20),
            _ => self.rng.random_range(20..200),
        };
        let call =
            if self.rng.random_range(0..3) == 0 { "plays.nested" } else { "shardid.next_id" };
        let [a, b, c] = shards;
        let sql = format!(
            "SELECT {call}({a}), shardid.next_id({b}), {call}({c}) FROM JSON_TABLE(concat('[0', repeat(',0', {}), ']'), '$[*]' COLUMNS (n INT PATH '$')) AS t",
            rows - 1
        );
        match self.run::<(i64, i64, i64)>(&sql) {
            Ok(rows) => {
                for (one, two, three) in rows {
                    for (shard, id) in shards.into_iter().zip([one, two, three]) {
                        self.saw(shard, id, true)?;
                    }
                }
                self.finish()
            }
            Err(refused) => self.may_fail(&refused),
        }
    }

    /// Rows by the trigger or the function, in one of several forms; then their ids.
    fn insert(&mut self) -> Result<(), String> {
        self.tags += 1;
        let (shard, tag) = (self.shard(), self.tags);
        let sql = match self.rng.random_range(0..4) {
            0 => format!("INSERT INTO plays.t{shard} (tag) VALUES ({tag})"),
            1 => format!(
                "INSERT INTO plays.t{shard} (tag) VALUES {}",
                vec![format!("({tag})"); 9].join(",")
            ),
            2 => format!(
                "INSERT INTO plays.t{shard} (tag) WITH RECURSIVE g AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM g WHERE n < 40) SELECT {tag} FROM g"
            ),
            _ => format!(
                "INSERT INTO plays.t{shard} VALUES (shardid.next_id({shard}), {tag}), (plays.nested({shard}), {tag})"
            ),
        };
        match self.run::<u64>(&sql) {
            Ok(_) => self.read_back(shard, tag),
            Err(refused) => self.may_fail(&refused),
        }
    }

    fn read_back(&mut self, shard: usize, tag: i64) -> Result<(), String> {
        match self.run::<i64>(&format!("SELECT id FROM plays.t{shard} WHERE tag = {tag}")) {
            Ok(ids) => {
                for id in ids {
                    self.saw(shard, id, false)?;
                }
                self.finish()
            }
            Err(refused) => self.may_fail(&refused),
        }
    }

    fn lock_tables(&mut self) -> Result<(), String> {
        self.end("COMMIT")?;
        self.tags += 1;
        let (shard, tag) = (self.shard(), self.tags);
        let sql = format!(
            "LOCK TABLES plays.t{shard} WRITE; INSERT INTO plays.t{shard} (tag) VALUES ({tag}), ({tag}); UNLOCK TABLES"
        );
        match self.run::<u64>(&sql) {
            Ok(_) => self.read_back(shard, tag),
            Err(refused) => {
                let mut unlocked = false;
                for _ in 0..20 {
                    unlocked = unlocked || self.run::<u64>("UNLOCK TABLES").is_ok();
                }
                if !unlocked {
                    self.client = None;
                    self.dropped();
                }
                self.may_fail(&refused)
            }
        }
    }

    /// By the protocol of prepared statements, more than once.
    fn prepared(&mut self) -> Result<(), String> {
        let shard = self.shard();
        for _ in 0..4 {
            let Some(client) = &mut self.client else { return Ok(()) };
            let ids: Result<Vec<i64>, _> = client.exec("SELECT shardid.next_id(?)", (shard,));
            match ids.map_err(Refused::from) {
                Ok(ids) => {
                    for id in ids {
                        self.saw(shard, id, true)?;
                    }
                    self.finish()?;
                }
                Err(refused) => {
                    if refused.sqlstate.is_empty() {
                        self.client = None;
                        self.dropped();
                    }
                    return self.may_fail(&refused);
                }
            }
        }
        Ok(())
    }

    fn variable(&mut self) -> Result<(), String> {
        let shard = self.shard();
        match self.run::<i64>(&format!("SET @id = shardid.next_id({shard}); SELECT @id")) {
            Ok(ids) => {
                for id in ids {
                    self.saw(shard, id, true)?;
                }
                self.finish()
            }
            Err(refused) => self.may_fail(&refused),
        }
    }

    fn call(&mut self) -> Result<(), String> {
        self.tags += 1;
        let (which, tag) = (self.rng.random_range(0..2), self.tags);
        match self.run::<u64>(&format!("CALL plays.some({which}, 5, {tag})")) {
            Ok(_) => self.read_back(if which == 0 { 0 } else { 6 }, tag),
            Err(refused) => self.may_fail(&refused),
        }
    }
}
