//! What each of many generators gave, and on which occasion: so that a test of many cases
//! tells at its end of all that gave an id twice.

use std::collections::HashMap;
use std::fmt::Write as _;

use shardid_tests::postgres::Client;
use shardid_tests::{Builder, Refusal, Server};

/// Makes the layout that these tests use: with few ids in a tick, and a long one, a shard is
/// minutes ahead of the clock after some hundred ids, and stays so on a slow machine.
pub(crate) const COARSE: &str = "SELECT create_layout('coarse', '2026-01-01Z', '1 s', 8192, 4)";

const SLOTS: i32 = 4;

/// How far ahead of the clock the tests take a shard, in seconds: its lease has then been
/// extended once, at half-time, and will not be for a while.
pub(crate) const AHEAD: i32 = 400;

/// The drift that [`builder`] allows, in seconds.
pub(crate) const DRIFT: i32 = 1200;

/// How many ids of that layout take a shard so many seconds on.
pub(crate) fn ids_of(seconds: i32) -> i32 {
    seconds * SLOTS
}

/// A server whose WAL leaves its buffers only when somebody waits for it, and whose leases are
/// far beyond the few ids that a case takes, so that none chances to write a record.
pub(crate) fn builder() -> Builder {
    Server::builder()
        .fsync(false)
        .conf("wal_writer_delay = '10s'")
        .conf("checkpoint_timeout = '1h'")
        .conf("autovacuum = off")
        .conf(&format!("shardid.max_drift = '{DRIFT}s'"))
        .conf("shardid.lease = '600s'")
        .conf("shardid.max_wait = 0")
}

/// A generator of the coarse layout.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Generator {
    /// That shard.
    Shard(i32),
    /// An id sequence named after that number, with ids of that shard.
    Sequence(i32),
}

impl Generator {
    /// The SQL that makes it.
    pub(crate) fn make(self) -> String {
        match self {
            Self::Shard(n) => format!("SELECT create_shard({n}, layout => 'coarse')"),
            Self::Sequence(n) => format!("SELECT create_id_sequence('ids_{n}', {n}, 'coarse')"),
        }
    }

    /// The schema it is in.
    pub(crate) fn schema(self) -> String {
        match self {
            Self::Shard(n) => format!("shard_{n:04}"),
            Self::Sequence(_) => "public".to_owned(),
        }
    }

    /// The name of the sequence, with its schema.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Shard(n) => format!("shard_{n:04}.shard_id_seq"),
            Self::Sequence(n) => format!("public.ids_{n}"),
        }
    }

    /// The lowest value that the sequence may have.
    pub(crate) fn lowest(self) -> i32 {
        let (Self::Shard(n) | Self::Sequence(n)) = self;
        n * SLOTS
    }

    /// The SQL that takes so many ids, one after the other.
    pub(crate) fn take(self, count: i32) -> String {
        match self {
            Self::Shard(n) => format!("SELECT next_id({n}) FROM generate_series(1, {count})"),
            Self::Sequence(n) => {
                format!("SELECT next_id_from('ids_{n}') FROM generate_series(1, {count})")
            }
        }
    }
}

/// What a generator gave in one case.
#[derive(Clone)]
pub(crate) struct Account {
    case: String,
    taken: Vec<(String, Vec<i64>)>,
    faults: Vec<String>,
}

impl Account {
    pub(crate) fn new(case: impl Into<String>) -> Self {
        Self { case: case.into(), taken: Vec::new(), faults: Vec::new() }
    }

    /// Takes ids; an error is a fault of the case, told at the end.
    pub(crate) fn take(&mut self, occasion: &str, client: &mut Client, sql: &str) {
        if let Err(refusal) = self.try_take(occasion, client, sql) {
            self.faults.push(format!("{occasion}: {}: {}", refusal.sqlstate, refusal.message));
        }
    }

    /// Takes ids where the server may refuse.
    #[track_caller]
    pub(crate) fn try_take(
        &mut self,
        occasion: &str,
        client: &mut Client,
        sql: &str,
    ) -> Result<(), Refusal> {
        match client.query(sql, &[]) {
            Ok(rows) => {
                let ids = rows.iter().map(|row| row.get(0)).collect();
                self.taken.push((occasion.to_owned(), ids));
                Ok(())
            }
            Err(error) => Err(Refusal::of(&error)
                .unwrap_or_else(|| panic!("{}: the connection broke: {error:?}", self.case))),
        }
    }

    /// Takes ids where the server may find the shard too far ahead of the clock.
    #[track_caller]
    pub(crate) fn take_unless_ahead(&mut self, occasion: &str, client: &mut Client, sql: &str) {
        if let Err(refusal) = self.try_take(occasion, client, sql)
            && !(refusal.sqlstate == "55000" && refusal.message.contains("ahead of the clock"))
        {
            self.faults.push(format!("{occasion}: {}: {}", refusal.sqlstate, refusal.message));
        }
    }

    /// The highest id so far.
    #[track_caller]
    pub(crate) fn highest(&self) -> i64 {
        *self.taken.iter().flat_map(|(_, ids)| ids).max().expect("some were taken")
    }

    /// What is wrong with the case, if anything is.
    fn finding(&self) -> Option<String> {
        let mut found = self.faults.clone();
        let mut first: HashMap<i64, &str> = HashMap::new();
        let mut again: Vec<(&str, &str, i64)> = Vec::new();
        for (occasion, ids) in &self.taken {
            for id in ids {
                if let Some(before) = first.insert(*id, occasion) {
                    again.push((before, occasion, *id));
                }
            }
        }
        if let Some((before, occasion, id)) = again.first() {
            let count = again.len();
            found.push(format!("{count} ids came twice, such as {id}: {before}, and {occasion}"));
        }
        (!found.is_empty()).then(|| format!("{}: {}", self.case, found.join("; ")))
    }
}

/// Asserts that no case gave an id twice or failed where it should not.
///
/// # Panics
///
/// With all cases that did.
#[track_caller]
pub(crate) fn assert_none_twice<'a>(accounts: impl IntoIterator<Item = &'a Account>) {
    let (mut count, mut found, mut words) = (0, 0, String::new());
    for account in accounts {
        count += 1;
        if let Some(finding) = account.finding() {
            found += 1;
            writeln!(words, "  {finding}").expect("a string takes it all");
        }
    }
    assert!(count > 0, "there is nothing to look at: the test would prove nothing");
    assert!(found == 0, "{found} of {count} cases are at fault:\n{words}");
}

/// Asserts that an id lies in the server's future: only then could one like it come again.
#[track_caller]
pub(crate) fn assert_ahead(client: &mut Client, id: i64, layout: &str) {
    let ahead: bool = client
        .query_one("SELECT id_time($1, $2) > clock_timestamp()", &[&id, &layout])
        .unwrap()
        .get(0);
    assert!(ahead, "the clock has passed {id}: the test would prove nothing");
}
