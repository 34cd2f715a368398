//! Tickets and ids on MariaDB and MySQL, beside what people use there now.

use std::sync::Barrier;
use std::thread::scope;
use std::time::{Duration, Instant};

use shardid_tests::my::{Engine, Server, find, query, try_query};

use crate::setting::Setting;
use crate::statistics::median;
use crate::table::{Table, Target};

/// What is taken, and how many numbers one call gives.
type Contender = (&'static str, &'static str, f64);

const REPLACE: Contender = (
    "Flickr's REPLACE",
    "REPLACE INTO bench.Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()",
    1.0,
);
const OUR_REPLACE: Contender = (
    "the same on our table",
    "REPLACE INTO bench_views.Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()",
    1.0,
);
const TICKET: Contender = ("next_ticket", "SELECT shardid.next_ticket('bench')", 1.0);
const TICKETS: Contender =
    ("next_tickets(…, 1000)", "SELECT shardid.next_tickets('bench', 1000)", 1000.0);
const ID: Contender = ("next_id", "SELECT shardid.next_id(1)", 1.0);
const IDS: Contender = (
    "next_id, 1,000 rows of a statement",
    "SELECT max(shardid.next_id(1)) FROM bench.thousand",
    1000.0,
);
const AUTO_INCREMENT: Contender =
    ("INSERT, AUTO_INCREMENT", "INSERT INTO bench.counted (what) VALUES ('a')", 1.0);
const ID_TRIGGER: Contender =
    ("INSERT, id by the trigger", "INSERT INTO bench.with_id (what) VALUES ('a')", 1.0);
const UUID_SHORT: Contender = ("UUID_SHORT()", "SELECT UUID_SHORT()", 1.0);
const NEXT_VALUE: Contender = ("NEXT VALUE", "SELECT NEXT VALUE FOR bench.numbers", 1.0);

/// MariaDB, where it is installed.
pub(crate) fn mariadb(setting: &Setting, table: &mut Table) {
    engine(Engine::MariaDb, setting, table);
}

/// MySQL, where it was fetched.
pub(crate) fn mysql(setting: &Setting, table: &mut Table) {
    engine(Engine::MySql, setting, table);
}

fn engine(engine: Engine, setting: &Setting, table: &mut Table) {
    if find(engine).is_none() {
        table.note(format!("skipped: there is no {engine} here; see scripts/servers-mysql"));
        return;
    }
    let server = Server::builder(engine).start();
    let version: String = server.value("SELECT version()");
    server.query(
        "CREATE DATABASE bench; CREATE DATABASE bench_views;
         CREATE TABLE bench.Tickets64 (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
                                       stub CHAR(1) NOT NULL DEFAULT '', UNIQUE KEY (stub)) ENGINE = InnoDB;
         CALL shardid.create_flickr_tables('bench_views', 1, 2);
         CALL shardid.create_ticket('bench', 1, 2); CALL shardid.create_shard(1, 'instagram');
         CREATE TABLE bench.counted (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, what VARCHAR(10));
         CREATE TABLE bench.with_id (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, what VARCHAR(10));
         CREATE TABLE bench.thousand AS
             WITH RECURSIVE g AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM g WHERE n < 1000) SELECT n FROM g",
    );
    let trigger: String = server.value("SELECT shardid.id_trigger('bench', 'with_id', 'id', 1)");
    server.query(&trigger);
    let mut contenders = vec![
        REPLACE,
        OUR_REPLACE,
        TICKET,
        TICKETS,
        AUTO_INCREMENT,
        ID_TRIGGER,
        ID,
        IDS,
        UUID_SHORT,
    ];
    if engine == Engine::MariaDb {
        server.query("CREATE SEQUENCE bench.numbers");
        contenders.push(NEXT_VALUE);
    }
    let (rounds, length) =
        setting.pick((5, Duration::from_secs(2)), (3, Duration::from_millis(400)));
    // By contender: the numbers a second of each round, with 1 client and with 8.
    let mut rates = vec![[Vec::new(), Vec::new()]; contenders.len()];
    for _ in 0..rounds {
        for (contender, rates) in contenders.iter().zip(&mut rates) {
            for (clients, rates) in [1, 8].into_iter().zip(rates) {
                rates.push(rate(&server, contender, clients, length));
            }
        }
    }
    let rates: Vec<[f64; 2]> =
        rates.iter().map(|[one, eight]| [median(one), median(eight)]).collect();
    let of = |wanted: Contender| {
        let at = contenders.iter().position(|contender| contender.0 == wanted.0);
        rates[at.expect("it is one of them")]
    };
    table.title(format!("{engine} {version}, numbers a second with 1 and with 8 clients"));
    for ((name, ..), [one, eight]) in contenders.iter().zip(&rates) {
        table.figure(*name, format!("{one:.0} / {eight:.0}"));
    }
    table.ratio(
        "next_ticket / REPLACE, 8 clients",
        of(TICKET)[1] / of(REPLACE)[1],
        Target::AtLeast(2.0),
    );
    table.ratio(
        "next_tickets(…, 1000) / next_ticket",
        of(TICKETS)[0] / of(TICKET)[0],
        Target::AtLeast(200.0),
    );
    for (at, clients) in ["1 client", "8 clients"].into_iter().enumerate() {
        table.ratio(
            format!("INSERT with an id / with AUTO_INCREMENT, {clients}"),
            of(ID_TRIGGER)[at] / of(AUTO_INCREMENT)[at],
            Target::AtLeast(0.5),
        );
    }
}

/// Numbers a second of all clients together. A call that deadlocks, as Flickr's
/// does, gives none.
fn rate(server: &Server, (_, sql, each): &Contender, clients: usize, length: Duration) -> f64 {
    let ready = Barrier::new(clients);
    let calls: usize = scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|_| {
                let ready = &ready;
                scope.spawn(move || {
                    let mut client = server.connect();
                    let _ = try_query::<u64>(&mut client, sql);
                    query::<u64>(&mut client, "SELECT 1");
                    ready.wait();
                    let end = Instant::now() + length;
                    let mut calls = 0;
                    while Instant::now() < end {
                        calls += usize::from(try_query::<u64>(&mut client, sql).is_ok());
                    }
                    calls
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a client ends well")).sum()
    });
    calls as f64 * each / length.as_secs_f64()
}
