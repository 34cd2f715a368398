//! A client of a play: what it does, step by step, and which refusals it may get.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use rand::Rng;
use rand::rngs::StdRng;

use super::settings::{SETTINGS, TRANSACTION_SETTINGS};
use super::{LAYOUTS, Plays, SHARDS};
use crate::my::{Refused, try_query};

/// A client of a play.
pub(super) struct Actor<'a> {
    plays: &'a Plays,
    name: String,
    rng: StdRng,
    connection: &'a AtomicU32,
    client: Option<Conn>,
    /// Whether statements are killed, by somebody or by a limit on their time that the session has had.
    kills: bool,
    /// Whether an id counts only when its transaction has committed: before a crash.
    strict: bool,
    /// In a transaction that this client began.
    open: bool,
    /// Seen and not yet committed.
    pending: Vec<(usize, i64)>,
    /// The last id that a statement returned, by shard.
    last: [i64; SHARDS],
    /// The same of those that were committed: what ids go on above after a crash.
    last_committed: [i64; SHARDS],
    /// The zone that the session has.
    zone: String,
    tags: i64,
}

impl<'a> Actor<'a> {
    pub(super) fn new(
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
            last_committed: [-1; SHARDS],
            zone: String::new(),
            tags: ((play as i64) << 20) | ((number as i64) << 16),
        }
    }

    pub(super) fn act(&mut self) -> Result<(), String> {
        for _ in 0..self.rng.random_range(5..30) {
            self.step()?;
        }
        if self.client.is_some() {
            // What it left is asked for without a limit on the time.
            for limit in ["max_statement_time", "max_execution_time"] {
                let _ = self.run::<u64>(&format!("SET {limit} = 0"));
            }
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
            self.last = self.last_committed;
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
        if self.run::<u64>(&format!("SET {what}")).is_ok() {
            if let Some(zone) = what.strip_prefix("time_zone = ") {
                self.zone = zone.trim_matches('\'').to_owned();
            }
            self.kills = self.kills || what.starts_with("max_");
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
            // The session goes on, and its ids rise whatever was undone; see dropped().
            self.pending.clear();
            return Ok(());
        }
        self.committed()
    }

    fn committed(&mut self) -> Result<(), String> {
        for (layout, id) in std::mem::take(&mut self.pending) {
            self.plays.ledger.add(layout, id, &self.name)?;
        }
        self.last_committed = self.last;
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
        // What a kill looks like while MySQL plans a statement, while MariaDB opens a table, and
        // while it reads a trigger: it keeps the table with the half-read trigger, also for others
        // and for later plays, refuses every INSERT, and is mended by FLUSH TABLES.
        let of_kills = ["You are using safe update mode"];
        let timed_out =
            ["(max_statement_time exceeded)", "maximum statement execution time exceeded"]
                .iter()
                .any(|said| refused.message.contains(said));
        self.plays.timeouts.fetch_add(u64::from(timed_out), Ordering::Relaxed);
        let known = match refused.sqlstate.as_str() {
            "42000" if refused.message.contains(" has an error in its body: ") => {
                if let Ok(mut client) = self.plays.server.try_connect() {
                    // Somebody may hold a table for longer than one waits: then it is for the next.
                    let _ = try_query::<u64>(&mut client, "FLUSH LOCAL TABLES");
                }
                true
            }
            "42S02" if self.kills => self.is_there(&refused.message),
            _ if self.kills && of_kills.iter().any(|said| refused.message.contains(said)) => true,
            // The connection, a kill, a deadlock of tables of the play's own.
            "" | "70100" | "40001" => true,
            "55000" => ["insert_id", "auto_increment_increment", "timestamp is set"]
                .iter()
                .any(|setting| refused.message.contains(setting)),
            "HY000" => timed_out || refused.message.contains("Lock wait timeout"),
            state => state.starts_with("08"),
        };
        match known {
            true => Ok(()),
            false => Err(format!("{} was refused: {refused:?}", self.name)),
        }
    }

    /// Whether a table is there for somebody else, though it could not be opened.
    fn is_there(&self, message: &str) -> bool {
        let Some(table) = message.split('\'').nth(1) else { return false };
        (0..200).any(|_| {
            sleep(Duration::from_millis(20));
            self.plays.server.try_connect().is_ok_and(|mut client| {
                try_query::<u64>(&mut client, &format!("SELECT count(*) FROM {table}")).is_ok()
            })
        })
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
