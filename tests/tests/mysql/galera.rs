//! What docs/mysql.md says of Galera: one node writes, and another one only once it has adopted.
//!
//! `SHARDID_GALERA` names the library, libgalera_smm.so; where it does not, these are skipped with a line.

use std::collections::HashSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;
use std::time::Duration;

use shardid_tests::my::{Builder, Engine, Server, expect_refused, find, query, try_query};
use shardid_tests::mysql::Conn;
use shardid_tests::wait_until;

/// Two nodes of a cluster, which have the files of one. Only the first is up.
struct Nodes {
    first: Server,
    library: String,
    programs: PathBuf,
    /// Where the first is found by others.
    port: u16,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is a port");
    listener.local_addr().expect("it has an address").port()
}

fn node(library: &str, programs: &Path, number: u16, port: u16, of: &str) -> Builder {
    // With the larger weight the second goes on where the first is gone.
    let provider = format!(
        "gmcast.listen_addr=tcp://127.0.0.1:{port};ist.recv_addr=127.0.0.1:{};pc.weight={number}",
        free_port()
    );
    let options = [
        format!("--server-id={number}"),
        "--wsrep-on=ON".to_owned(),
        format!("--wsrep-provider={library}"),
        format!("--wsrep-cluster-address=gcomm://{of}"),
        "--wsrep-cluster-name=shardid".to_owned(),
        "--wsrep-node-address=127.0.0.1".to_owned(),
        "--wsrep-sst-method=none_needed".to_owned(),
        format!("--wsrep-sst-receive-address=127.0.0.1:{}", free_port()),
        format!("--wsrep-provider-options={provider}"),
        "--innodb-autoinc-lock-mode=2".to_owned(),
    ];
    let builder = Server::builder(Engine::MariaDb).name(&format!("Galera's node {number}"));
    let builder = builder.programs(programs.to_owned());
    options.iter().fold(builder, |builder, option| builder.option(option))
}

/// The state transfer of a node whose files are a copy: nothing is sent, and what came later follows. MariaDB's
/// own are in the package that makes a server of the system.
const TRANSFER: &str = r#"#!/bin/sh
role= gtid=
while [ $# -gt 0 ]; do
    case $1 in --role) role=$2 ;; --gtid) gtid=$2 ;; esac
    shift
done
at=${0%/*}/state
if [ "$role" = donor ]; then
    echo "$gtid" >"$at.new" && mv "$at.new" "$at"
    echo "done $gtid"
else
    rm -f "$at"
    echo "ready 127.0.0.1:1"
    while [ ! -f "$at" ]; do sleep 0.1; done
    cat "$at"
fi
"#;

fn waits_until_ready(server: &Server) {
    wait_until(Duration::from_secs(90), "the node to be one of the cluster", || {
        server.try_connect().is_ok_and(|mut client| {
            let ready = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_ready'";
            try_query::<String>(&mut client, ready).is_ok_and(|rows| rows == ["ON"])
        })
    });
}

impl Nodes {
    /// `None` with a line where there is no library.
    fn up() -> Option<Self> {
        let library = std::env::var("SHARDID_GALERA").unwrap_or_default();
        if library.is_empty() || find(Engine::MariaDb).is_none() {
            eprintln!(
                "skipped: SHARDID_GALERA names no libgalera_smm.so (apt install galera-4), or there is no MariaDB"
            );
            return None;
        }
        let port = free_port();
        // Beside the first's data, where its user may write.
        let programs = tempfile::tempdir().expect("a folder in /tmp").keep();
        fs::set_permissions(&programs, PermissionsExt::from_mode(0o777)).expect("it is ours");
        let script = programs.join("wsrep_sst_none_needed");
        fs::write(&script, TRANSFER).expect("it is ours");
        fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("it is ours");
        let first = node(&library, &programs, 1, port, "").bare().start();
        waits_until_ready(&first);
        first.install();
        Some(Self { first, library, programs, port })
    }

    /// Starts the second, with the files of the first.
    fn second(&self) -> Server {
        self.first.stop();
        let state = self.first.folder().join("data/grastate.dat");
        let text = fs::read_to_string(&state).expect("it was a node");
        // Before the first is up again: it is copied where it is down.
        let copy = self.programs.join("data");
        let mut command = Command::new("cp");
        command.arg("-a").arg(self.first.folder().join("data")).arg(&copy);
        assert!(command.status().expect("cp runs").success());
        let other = node(
            &self.library,
            &self.programs,
            2,
            free_port(),
            &format!("127.0.0.1:{}", self.port),
        )
        .copy_of_data(&copy);
        let begins = text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1");
        fs::write(&state, begins).expect("it is ours");
        self.first.start();
        waits_until_ready(&self.first);
        let second = other.start();
        waits_until_ready(&second);
        second
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.programs);
    }
}

/// Takes ids and tickets until the node is gone.
fn takes(client: &mut Conn, taken: &AtomicUsize) -> [Vec<i64>; 2] {
    let (mut ids, mut tickets) = (Vec::new(), Vec::new());
    for turn in 0.. {
        let (sql, got) = match turn % 3 {
            0 => ("SELECT shardid.next_ticket('orders')", &mut tickets),
            1 => ("SELECT shardid.next_id(5)", &mut ids),
            _ => ("SELECT shardid.next_id(6)", &mut ids),
        };
        match try_query::<i64>(client, sql) {
            Ok(one) => {
                taken.fetch_add(1, Ordering::Relaxed);
                got.extend(one);
            }
            // The other node's rows are applied first, or the node is gone.
            Err(refused) if refused.sqlstate == "40001" => {}
            Err(refused) => {
                assert_eq!(refused.sqlstate, "", "{refused:?}");
                break;
            }
        }
    }
    [ids, tickets]
}

#[test]
fn another_node_hands_out_nothing_until_it_adopts_and_then_nothing_twice() {
    let Some(nodes) = Nodes::up() else { return };
    nodes.first.query(
        "CALL shardid.create_ticket('orders', 1, 1); CALL shardid.create_shard(5, 'instagram'); CALL shardid.create_shard(6, 'js53')",
    );
    let second = nodes.second();
    let taken = AtomicUsize::new(0);
    let told: Vec<(usize, [Vec<i64>; 2])> = scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|session| {
                let (first, taken) = (&nodes.first, &taken);
                scope.spawn(move || (session, takes(&mut first.connect(), taken)))
            })
            .collect();
        // The same rows are there, and are not its own.
        let client = &mut second.connect();
        for sql in [
            "SELECT shardid.next_ticket('orders')",
            "SELECT shardid.next_id(5)",
            "SELECT shardid.next_id(6)",
        ] {
            let words = expect_refused(client, sql, "55000");
            assert!(words.contains("shardid.adopt()"), "{words}");
        }
        let more = taken.load(Ordering::Relaxed) + 300;
        wait_until(Duration::from_secs(180), "clients to take numbers", || {
            taken.load(Ordering::Relaxed) > more
        });
        nodes.first.kill9();
        clients.into_iter().map(|client| client.join().expect("no other error")).collect()
    });
    // The first waits until what has arrived is done.
    let client = &mut second.connect();
    query::<u64>(client, "SET SESSION wsrep_sync_wait = 15");
    expect_refused(client, "SELECT shardid.next_id(5)", "55000");
    query::<shardid_tests::mysql::Row>(client, "CALL shardid.adopt_leaving_out(0)");
    let mut tickets: Vec<(usize, Vec<i64>)> = Vec::new();
    let mut ids: Vec<(usize, Vec<i64>)> = Vec::new();
    for (session, [its_ids, its_tickets]) in told {
        ids.push((session, its_ids));
        tickets.push((session, its_tickets));
    }
    let before = tickets.iter().flat_map(|(_, all)| all).max().copied().expect("some were taken");
    for _ in 0..100 {
        tickets.push((9, query::<i64>(client, "SELECT shardid.next_ticket('orders')")));
        ids.push((9, query::<i64>(client, "SELECT shardid.next_id(5)")));
        ids.push((9, query::<i64>(client, "SELECT shardid.next_id(6)")));
    }
    let of = |all: &[(usize, Vec<i64>)]| {
        all.iter().flat_map(|(_, one)| one.clone()).collect::<Vec<i64>>()
    };
    for all in [of(&tickets), of(&ids)] {
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len(), "none came twice");
    }
    assert!(tickets[tickets.len() - 1].1[0] > before);
}
