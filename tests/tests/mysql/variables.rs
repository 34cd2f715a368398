//! Whatever a session has set, by itself or as what it begins with: each number that it is given is right, or
//! there is none, and an error says why.

use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use shardid_tests::my::{Engine, Server, Setting, query, settings, try_query};
use shardid_tests::mysql::{Conn, Row, Value};
use shardid_tests::{on_both_engines, sample};

on_both_engines!(numbers_are_right_whatever_a_session_has_set);

/// How many of some hundred settings are tried, each in two ways.
const SAMPLE: usize = 45;

/// What is not set, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "sql_log_bin",
        "what a session keeps out of the binary log no replica gets, whatever it writes",
    ),
    ("tcp_nodelay", "MariaDB refuses it on a socket, and ends the session"),
    ("log_slow_admin_statements", "MariaDB forgets at each reading which of its flags were set"),
    ("wsrep_", "of servers of Galera, which have tests of their own"),
    ("rbr_exec_mode", "how MySQL applies the rows of others, and no SQL of ours"),
    ("gtid_", "names the transactions of a session, and each may be there once"),
    (
        "character_set_results = 'u",
        "with two or four bytes for each letter a client has to read numbers so, too",
    ),
];

/// Which settings may refuse numbers, and by which words.
const REFUSED: &[(&str, &str)] = &[
    ("auto_increment_increment", "no ids where auto_increment_increment is above 100"),
    ("insert_id", "where insert_id is set"),
    ("timestamp", "no ids where timestamp is set ahead of the clock"),
    ("max_statement_time", "max_statement_time exceeded"),
    ("max_session_mem_used", "max-session-mem-used"),
    ("max_join_size", "MAX_JOIN_SIZE"),
    ("tx_read_only", "READ ONLY transaction"),
    ("transaction_read_only", "READ ONLY transaction"),
    ("require_row_format", "require_row_format restrictions"),
    ("use_secondary_engine", "secondary engine"),
];

/// Milliseconds of 1970 at which the layout `instagram` begins.
const EPOCH_MS: u64 = 1_767_225_600_000;

fn numbers_are_right_whatever_a_session_has_set(engine: Engine) {
    let server = Server::builder(engine).name("the server of many sessions").start();
    server.query(
        "CALL shardid.create_shard(5, 'instagram'); CALL shardid.create_shard(6, 'js53');
         CALL shardid.create_ticket('orders', 2, 3); CALL shardid.create_ticket('invoices', 1, 1);
         CALL shardid.create_segment('payments', 1000);
         CREATE DATABASE app; CALL shardid.create_flickr_tables('app', 1, 2);
         CREATE TABLE app.photos (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, n INT)",
    );
    let trigger: String = server.value("SELECT shardid.id_trigger('app', 'photos', 'id', 5)");
    server.query(&trigger);
    let is_left_out = |setting: &Setting| {
        LEFT_OUT.iter().any(|(what, _)| setting.set()["SET SESSION ".len()..].starts_with(what))
    };
    let all: Vec<Setting> = settings(engine).into_iter().filter(|it| !is_left_out(it)).collect();
    assert!(all.len() > 300, "{} settings", all.len());

    let mut ledger = Ledger::default();
    let plain = &mut server.connect();
    let mut found = take(plain, &mut ledger, "a session with no settings");
    for setting in sample("settings of sessions", all, SAMPLE) {
        let may = REFUSED.iter().filter(|(name, _)| *name == setting.name);
        let may: Vec<&str> = may.map(|(_, words)| *words).collect();
        for (way, client) in
            [("set", set(&server, &setting)), ("begun with", begun_with(&server, &setting))]
        {
            let Some(mut client) = client else { continue };
            let who = format!("{} ({way})", setting.set());
            let said = take(&mut client, &mut ledger, &who);
            found.extend(
                said.into_iter().filter(|said| !may.iter().any(|words| said.contains(words))),
            );
            found.extend(take(
                plain,
                &mut ledger,
                &format!("a session with no settings after {who}"),
            ));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A session that has set something itself.
fn set(server: &Server, setting: &Setting) -> Option<Conn> {
    let mut client = server.connect();
    query::<u64>(&mut client, &setting.set());
    Some(client)
}

/// A session that began with it, since it is what all begin with.
fn begun_with(server: &Server, setting: &Setting) -> Option<Conn> {
    let Setting { name, value, is_global, .. } = setting;
    let administrator = &mut server.connect();
    let set = format!("SET @before = @@GLOBAL.{name}; SET GLOBAL {name} = {value}");
    if !is_global || try_query::<u64>(administrator, &set).is_err() {
        return None;
    }
    let client = server.try_connect();
    if try_query::<u64>(administrator, &format!("SET GLOBAL {name} = @before")).is_err() {
        query::<u64>(administrator, &format!("SET GLOBAL {name} = DEFAULT"));
    }
    client.ok()
}

/// Every number that was handed out, by its kind, and to whom.
#[derive(Default)]
struct Ledger(HashMap<(&'static str, u64), String>);

impl Ledger {
    fn add(&mut self, kind: &'static str, number: u64, who: &str) -> Option<String> {
        let before = self.0.insert((kind, number), who.to_owned())?;
        Some(format!("{who}: {kind} {number} came before, to {before}"))
    }
}

/// What one session is told.
struct Told<'a> {
    client: &'a mut Conn,
    who: &'a str,
    wrong: Vec<String>,
    taken: BTreeMap<&'static str, Vec<u64>>,
}

impl Told<'_> {
    /// The first row of what SQL gives, as text; none where it is refused, which is noted.
    fn row(&mut self, sql: &str) -> Vec<String> {
        match try_query::<Row>(self.client, sql) {
            Ok(rows) => rows.into_iter().next().map(texts).unwrap_or_default(),
            Err(refused) => {
                self.wrong.push(format!("{}: {sql}: {refused:?}", self.who));
                Vec::new()
            }
        }
    }

    fn numbers(&mut self, sql: &str) -> Vec<u64> {
        let row = self.row(sql);
        let numbers: Vec<u64> = row.iter().filter_map(|text| text.parse().ok()).collect();
        self.must(numbers.len() == row.len(), sql, &row);
        numbers
    }

    fn must(&mut self, holds: bool, what: &str, seen: impl std::fmt::Debug) {
        if !holds {
            self.wrong.push(format!("{}: {what} gave {seen:?}", self.who));
        }
    }

    fn take(&mut self, kind: &'static str, numbers: impl IntoIterator<Item = u64>) {
        self.taken.entry(kind).or_default().extend(numbers);
    }
}

fn texts(row: Row) -> Vec<String> {
    let text = |value| match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Value::NULL => "NULL".to_owned(),
        other => other.as_sql(true),
    };
    row.unwrap().into_iter().map(text).collect()
}

/// Takes of everything, and returns what is wrong or was refused.
fn take(client: &mut Conn, ledger: &mut Ledger, who: &str) -> Vec<String> {
    let mut told = Told { client, who, wrong: Vec::new(), taken: BTreeMap::new() };
    take_ids(&mut told);
    take_tickets(&mut told);
    take_segments(&mut told);
    read(&mut told);
    let before = told.wrong.len();
    told.row("COMMIT");
    let is_committed = told.wrong.len() == before;
    let Told { mut wrong, taken, .. } = told;
    for (kind, numbers) in taken {
        // A rollback gives tickets and segments again, and no id.
        if is_committed || kind.starts_with("id") {
            wrong.extend(numbers.into_iter().filter_map(|number| ledger.add(kind, number, who)));
        }
    }
    wrong
}

fn take_ids(told: &mut Told) {
    let now_ms = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
        u64::try_from(since.as_millis()).expect("it is before the end of time")
    };
    let mut ids = told.numbers("SELECT shardid.next_id(5)");
    ids.extend(told.numbers("SELECT shardid.next_id(5), shardid.next_id(5)"));
    told.must(ids.is_sorted(), "next_id", &ids);
    for id in &ids {
        let (time, shard) = ((id >> 23) + EPOCH_MS, id >> 10 & 8191);
        let is_now = time < now_ms() + 11_000 && now_ms() < time + 20_000;
        told.must(is_now && shard == 5, "next_id(5)", id);
    }
    told.take("id of shard 5", ids);
    let coarse = told.numbers("SELECT shardid.next_id(6)");
    told.take("id of shard 6", coarse);
    // The primary key refuses what repeats.
    told.row("INSERT INTO app.photos (n) VALUES (1), (2), (3)");
    told.row(
        "INSERT INTO app.photos (n) SELECT n + 1 FROM (SELECT 1 AS n UNION ALL SELECT 2) AS two",
    );
}

fn take_tickets(told: &mut Told) {
    for (sql, each) in [
        ("SELECT shardid.next_ticket('orders')", 1),
        ("SELECT shardid.next_ticket('orders'), shardid.next_ticket('orders')", 1),
        ("SELECT shardid.next_tickets('orders', 5)", 5),
    ] {
        for first in told.numbers(sql) {
            told.must(first % 3 == 2, sql, first);
            told.take("orders", (0..each).map(|i| first + 3 * i));
        }
    }
    let row = told.numbers("CALL shardid.next_tickets('orders', 5)");
    if let [first, last, delta] = row[..] {
        told.must(first % 3 == 2 && last == first + 12 && delta == 3, "CALL next_tickets", &row);
        told.take("orders", (0..5).map(|i| first + 3 * i));
    }
    let gapless: Vec<u64> = (0..2)
        .flat_map(|_| told.numbers("SELECT shardid.next_ticket_gapless('invoices')"))
        .collect();
    told.must(gapless.windows(2).all(|two| two[0] + 1 == two[1]), "next_ticket_gapless", &gapless);
    told.take("invoices", gapless);
    for (table, kind) in [("Tickets64", "Tickets64"), ("Tickets32", "Tickets32")] {
        let before = told.wrong.len();
        told.row(&format!("REPLACE INTO app.{table} (stub) VALUES ('a')"));
        if told.wrong.len() == before {
            let number = told.numbers("SELECT LAST_INSERT_ID()");
            told.must(number.iter().all(|number| number % 2 == 1), table, &number);
            told.take(kind, number);
        }
    }
}

fn take_segments(told: &mut Told) {
    for (wanted, span) in [("NULL", 1000), ("50", 50)] {
        let row = told.numbers(&format!("CALL shardid.next_segment('payments', {wanted})"));
        if let [first, last, delta] = row[..] {
            told.must(first + span - 1 == last && delta == 1, "next_segment", &row);
            told.take("payments", first..=last);
        }
    }
}

/// What reads ids and keys says the same in every session, or nothing.
fn read(told: &mut Told) {
    for (sql, right) in [
        ("SELECT shardid.id_shard(235086380428956672), shardid.id_slot(235086380428956672)", "5 0"),
        (
            "SELECT shardid.id_text(235086380428956672), shardid.id_from_text('06GSHT52G0500')",
            "06GSHT52G0500 235086380428956672",
        ),
        ("SELECT CAST(shardid.id_time(235086380428956672) AS CHAR)", "2026-11-21 08:34:40.394000"),
        ("SELECT shardid.id_at('2026-06-01 12:00:00.123')", "109803524308598784"),
        ("SELECT shardid.id_at('2026-06-01 14:00:00.123+02:00')", "109803524308598784"),
        (
            "SELECT shardid.shard_for('alice', 8192), shardid.shard_for(42, 8192), shardid.shard_for_binary(x'3432', 8192)",
            "10 2280 2280",
        ),
    ] {
        let row = told.row(sql);
        told.must(row.is_empty() || row.join(" ") == right, sql, &row);
    }
    let parts = told.row("SELECT shardid.id_parts(235086380428956672)").concat();
    let has = |part: &str| parts.contains(part);
    let all = has("\"time\": \"2026-11-21T08:34:40.394000Z\"")
        && has("\"shard\": 5")
        && has("\"slot\": 0");
    told.must(all || parts.is_empty(), "id_parts", parts);
}
