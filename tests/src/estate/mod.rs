//! A cluster of several servers, with tables in its shards and a program at hand.

mod held;
mod proxy;
mod writer;

use std::path::Path;
use std::process::Command;
use std::thread;

use tempfile::TempDir;

pub use held::Held;
pub use proxy::Proxy;
pub use writer::{Tally, Writer};

use crate::program::{self, Run};
use crate::{Builder, Installation, Server};

/// The database on every node.
pub const DATABASE: &str = "app";

/// Room for several moves at once, and workers that try again soon.
const SETTINGS: [&str; 7] = [
    "max_replication_slots = 60",
    "max_wal_senders = 60",
    "max_worker_processes = 60",
    "max_logical_replication_workers = 50",
    "wal_keep_size = 0",
    "autovacuum = off",
    "shared_buffers = '32MB'",
];

/// Nodes pg1, pg2, … on servers of their own; pg1 keeps the catalog.
#[derive(Debug)]
pub struct Estate {
    /// The servers, pg1 first.
    pub servers: Vec<Server>,
    folder: TempDir,
}

impl Estate {
    /// Starts servers and applies a cluster file with so many shards on them.
    #[track_caller]
    pub fn start(nodes: usize, shards: u32) -> Self {
        Self::start_with(nodes, shards, |_, builder| builder)
    }

    /// The same, with something different for node number 1, 2, ….
    #[track_caller]
    pub fn start_with(
        nodes: usize,
        shards: u32,
        more: impl Fn(usize, Builder) -> Builder + Sync,
    ) -> Self {
        let start = |number: usize| start_server(number, &more);
        let servers = thread::scope(|scope| {
            let starting: Vec<_> = (1..=nodes).map(|n| scope.spawn(move || start(n))).collect();
            starting.into_iter().map(|one| one.join().expect("a server starts")).collect()
        });
        let estate = Self { servers, folder: tempfile::tempdir().expect("a folder in /tmp") };
        estate.declare(shards, |_, url| url);
        estate.run(&["apply", "--yes"]).ok();
        estate
    }

    /// Starts one more server, which is in no cluster file yet.
    #[track_caller]
    pub fn add_server(&mut self) {
        let server = start_server(self.servers.len() + 1, &|_, builder| builder);
        self.servers.push(server);
    }

    /// Writes the cluster file; `address` may lead to a node by another way.
    pub fn declare(&self, shards: u32, address: impl Fn(usize, String) -> String) {
        let mut text =
            format!("[cluster]\nname = \"photos\"\nshards = {shards}\ncatalog = \"pg1\"\n");
        for (i, server) in self.servers.iter().enumerate() {
            let url = address(i + 1, server.url(DATABASE));
            text.push_str(&format!("\n[nodes.pg{}]\nurl = \"{url}\"\n", i + 1));
        }
        std::fs::write(self.folder().join("shardid.toml"), text).expect("the folder is ours");
    }

    /// The folder of the cluster file.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The server of a node: `pg1` is the first.
    #[track_caller]
    pub fn node(&self, name: &str) -> &Server {
        let number: usize = name.trim_start_matches("pg").parse().expect("nodes are pg1, pg2, …");
        &self.servers[number - 1]
    }

    /// Runs SQL on a node.
    #[track_caller]
    pub fn psql(&self, node: &str, sql: &str) -> String {
        self.node(node).psql(DATABASE, sql)
    }

    /// The names of the nodes.
    pub fn nodes(&self) -> Vec<String> {
        (1..=self.servers.len()).map(|n| format!("pg{n}")).collect()
    }

    /// The program in the folder of the cluster file.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program::command(self.folder(), arguments);
        // Its pg_dump must be as new as the servers.
        command.env("PG_CONFIG", Installation::get().program("pg_config"));
        command
    }

    /// Runs the program.
    pub fn run(&self, arguments: &[&str]) -> Run {
        program::run(self.command(arguments))
    }

    /// Says one of `resume`, `abort`, `rollback` and `retire` of a move, without being asked.
    pub fn say(&self, word: &str, id: &str) -> Run {
        match word {
            // It drops nothing, and goes where the move was going.
            "resume" => self.run(&[word, id]),
            _ => self.run(&[word, id, "--yes"]),
        }
    }

    /// Runs the program until it ends itself at a place, as `fenced/before-CarryOver`.
    #[track_caller]
    pub fn run_cut(&self, at: &str, arguments: &[&str]) {
        let mut command = self.command(arguments);
        command.env("SHARDID_CUT_AT", at);
        let run = program::run(command);
        assert_eq!(run.code, -1, "{arguments:?} did not come to {at}:\n{}", run.stderr);
    }

    /// Runs the program until it comes to a place, and leaves it standing there.
    #[track_caller]
    pub fn run_held(&self, at: &str, arguments: &[&str]) -> Held {
        let mut command = self.command(arguments);
        command.env("SHARDID_HOLD_AT", at);
        Held::start(command, at)
    }

    /// The same; it ends itself at another place after it was let go.
    #[track_caller]
    pub fn run_held_then_cut(&self, at: &str, cut: &str, arguments: &[&str]) -> Held {
        let mut command = self.command(arguments);
        command.env("SHARDID_HOLD_AT", at).env("SHARDID_CUT_AT", cut);
        Held::start(command, at)
    }

    /// The node that the map gives a shard.
    #[track_caller]
    pub fn home(&self, shard: u32) -> String {
        self.psql("pg1", &format!("SELECT node FROM shardid.map WHERE shard = {shard}"))
    }

    /// The number of the latest move of a shard.
    #[track_caller]
    pub fn last_move(&self, shard: u32) -> String {
        self.psql("pg1", &format!("SELECT max(move) FROM shardid.move WHERE shard = {shard}"))
    }

    /// The state of a move.
    #[track_caller]
    pub fn state(&self, id: &str) -> String {
        self.psql("pg1", &format!("SELECT state FROM shardid.move WHERE move = {id}"))
    }

    /// Makes the tables of a shard that a [`Writer`] writes to.
    #[track_caller]
    pub fn make_tables(&self, shard: u32) {
        let schema = schema(shard);
        self.psql(
            &self.home(shard),
            &format!(
                "CREATE TABLE {schema}.item (id bigint PRIMARY KEY DEFAULT {schema}.next_id(),
                     n bigint NOT NULL UNIQUE, seen int NOT NULL DEFAULT 0);
                 CREATE TABLE {schema}.line (id bigint PRIMARY KEY DEFAULT {schema}.next_id(), serial bigserial,
                     item bigint NOT NULL REFERENCES {schema}.item, text text);
                 CREATE INDEX ON {schema}.line (item);"
            ),
        );
    }

    /// Asserts that a shard is whole on one node and open there alone, that map
    /// and nodes agree, and that every row of a writer is there once.
    #[track_caller]
    pub fn assert_whole(&self, shard: u32, tally: &Tally) {
        let home = self.home(shard);
        for node in self.nodes() {
            let said = self.psql(
                &node,
                &format!("SELECT state, node FROM shardid.shard WHERE shard = {shard}"),
            );
            let right = if node == home { "open" } else { "moved" };
            assert_eq!(said, format!("{right}|{home}"), "what {node} says of shard {shard}");
        }
        let schema = schema(shard);
        let rows = self.psql(
            &home,
            &format!(
                "SELECT i.id, i.n, i.seen, count(l.serial) FROM {schema}.item i LEFT JOIN {schema}.line l ON l.item = i.id
                  GROUP BY i.id ORDER BY i.id"
            ),
        );
        tally.check(&rows);
    }

    /// Asserts that nothing of a shard's moves is left on any node but the shard
    /// itself where it lives: no copy, no fence, no stream.
    #[track_caller]
    pub fn assert_no_trace(&self, shard: u32) {
        let home = self.home(shard);
        let moves = self.psql(
            "pg1",
            &format!("SELECT coalesce(string_agg(format('''shardid_move_%s'', ''shardid_back_%1$s''', move), ', '), '''''') FROM shardid.move WHERE shard = {shard}"),
        );
        let schema = schema(shard);
        for node in self.nodes() {
            let found = self.psql(
                &node,
                &format!(
                    "SELECT 'publication ' || pubname FROM pg_publication WHERE pubname IN ({moves})
                     UNION ALL SELECT 'slot ' || slot_name FROM pg_replication_slots WHERE slot_name IN ({moves})
                     UNION ALL SELECT 'event trigger ' || evtname FROM pg_event_trigger WHERE replace(evtname, '_name', '') IN ({moves})
                     UNION ALL SELECT 'schema ' || nspname FROM pg_namespace WHERE regexp_replace(nspname, '_[0-9a-f]{{32}}$', '') IN ({moves})
                     UNION ALL SELECT 'subscription ' || subname FROM pg_subscription WHERE subname IN ({moves})
                     UNION ALL SELECT 'role ' || rolname FROM pg_roles WHERE rolname IN ({moves})
                     UNION ALL SELECT 'trigger on ' || tgrelid::regclass FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
                         WHERE tgfoid = 'shardid.refuse_write()'::regprocedure AND relnamespace = to_regnamespace('{schema}')
                     UNION ALL SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname = '{schema}' AND '{node}' <> '{home}'
                     UNION ALL SELECT 'sequence of shard ' || shard FROM shardid.shard WHERE shard = {shard} AND '{node}' <> '{home}' AND sequence IS NOT NULL
                     UNION ALL SELECT 'id sequence ' || sequence::oid FROM shardid.id_sequence s WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = sequence)"
                ),
            );
            assert_eq!(found, "", "left on {node} of shard {shard}");
        }
        let left = self.psql(
            "pg1",
            &format!(
                "SELECT l.* FROM shardid.leftover l JOIN shardid.move m USING (move) WHERE m.shard = {shard} AND removed_at IS NULL"
            ),
        );
        assert_eq!(left, "", "left in the journal");
    }

    /// Asserts that no node has anything of any move.
    #[track_caller]
    pub fn assert_no_streams(&self) {
        for node in self.nodes() {
            let found = self.psql(
                &node,
                "SELECT 'publication ' || pubname FROM pg_publication
                 UNION ALL SELECT 'slot ' || slot_name FROM pg_replication_slots
                 UNION ALL SELECT 'subscription ' || subname FROM pg_subscription
                 UNION ALL SELECT 'origin ' || roname FROM pg_replication_origin",
            );
            assert_eq!(found, "", "left on {node}");
        }
    }
}

/// A server for node number 1, 2, …, with an empty database.
fn start_server(number: usize, more: &dyn Fn(usize, Builder) -> Builder) -> Server {
    let mut builder = Server::builder().name(&format!("pg{number}")).fsync(false);
    for line in SETTINGS {
        builder = builder.conf(line);
    }
    let server = more(number, builder).start();
    server.psql("postgres", &format!("CREATE DATABASE {DATABASE}"));
    server
}

/// The schema of a shard.
pub fn schema(shard: u32) -> String {
    format!("shard_{shard:04}")
}
