//! Where the benchmark runs: the server, and how much of everything.

use std::fs;
use std::thread::available_parallelism;
use std::time::Duration;

use shardid_tests::postgres::Client;
use shardid_tests::{Database, Server};

/// The database that all parts use.
pub(crate) struct Setting {
    database: Database<'static>,
    /// Fewer and shorter rounds.
    pub(crate) quick: bool,
    load: f64,
}

/// What differs from PostgreSQL's defaults, so that no checkpoint, vacuum, spill
/// to disk or second process falls into a round by chance.
const SETTINGS: [&str; 10] = [
    "wal_level = replica",
    "shared_buffers = '512MB'",
    "work_mem = '256MB'",
    "max_wal_size = '8GB'",
    "checkpoint_timeout = '1h'",
    "autovacuum = off",
    "jit = off",
    "max_parallel_workers_per_gather = 0",
    "max_locks_per_transaction = 256",
    "log_checkpoints = off",
];

impl Setting {
    /// Starts the server and makes the database.
    pub(crate) fn new(quick: bool) -> Self {
        let load = load_average();
        let mut builder = Server::builder().name("the bench server").checksums(false);
        for line in SETTINGS {
            builder = builder.conf(line);
        }
        // The server lives as long as the program, and goes with it.
        let server: &'static Server = Box::leak(Box::new(builder.start()));
        let database = Database::on(server);
        database.psql(include_str!("contenders.sql"));
        Self { database, quick, load }
    }

    /// One of two numbers: for a full run, or for a quick one.
    pub(crate) fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    pub(crate) fn server(&self) -> &Server {
        self.database.server()
    }

    pub(crate) fn database(&self) -> &Database<'static> {
        &self.database
    }

    /// A session that has the library loaded already.
    pub(crate) fn connect(&self) -> Client {
        let mut client = self.database.connect();
        client.batch_execute("LOAD 'shardid'").expect("the library is installed");
        client
    }

    /// A new shard for every call: a generator that is faster than its layout
    /// allows (1,024 ids a millisecond) would run further and further ahead of
    /// the clock on the same one.
    pub(crate) fn new_shard(&self) -> i32 {
        let sql = "SELECT shard FROM (SELECT coalesce(max(shard) + 1, 0) AS shard FROM shardid.shard) \
                   AS new, create_shard(shard)";
        self.database.psql(sql).parse().expect("a shard's number")
    }

    /// How far the last id of any shard is ahead of the clock.
    pub(crate) fn drift(&self, client: &mut Client) -> Duration {
        let sql = "SELECT extract(epoch FROM max(drift))::float8 FROM shardid.shards";
        let seconds: f64 = client.query_one(sql, &[]).expect("the view is there").get(0);
        Duration::from_secs_f64(seconds)
    }

    /// What the figures were measured on.
    pub(crate) fn describe(&self) -> String {
        let cores = available_parallelism().map_or(1, usize::from);
        let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let system = system
            .lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="))
            .unwrap_or("an unknown system")
            .trim_matches('"');
        let version = self.database.psql("SELECT split_part(version(), ' ', 2)");
        let date = self.database.psql("SELECT current_date");
        let busy = if self.load > 0.3 {
            "\nOthers are at work on this machine: the figures will be off."
        } else {
            ""
        };
        let quick = if self.quick { ", quick" } else { "" };
        format!(
            "{date}, PostgreSQL {version}, {system}, {cores} cores, load {:.2}{quick}{busy}",
            self.load
        )
    }

    /// How long it took, and what else ran meanwhile.
    pub(crate) fn describe_end(&self, elapsed: Duration) -> String {
        format!("{} s, load at the end {:.2}", elapsed.as_secs(), load_average())
    }
}

/// How many processes wanted to run in the last minute, on average.
fn load_average() -> f64 {
    fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .unwrap_or(0.0)
}
