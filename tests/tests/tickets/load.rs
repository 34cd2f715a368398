//! Clients that take numbers as fast as they can, and remember every one.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::servers::Servers;

/// How many numbers a client asks for before it looks whether to go on.
const BATCH: usize = 40;

/// What one client got and what it was told.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) node: String,
    pub(crate) numbers: Vec<u64>,
    pub(crate) errors: BTreeSet<String>,
}

/// Clients that are at work.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Taken>>,
}

impl Load {
    /// Starts so many clients on each server.
    pub(crate) fn start(servers: &Servers, nodes: &[&str], each: usize) -> Self {
        let mut load = Self { stop: Arc::default(), clients: Vec::new() };
        for node in nodes {
            load.add(servers, node, each);
        }
        load
    }

    /// Adds clients on another server.
    pub(crate) fn add(&mut self, servers: &Servers, node: &str, each: usize) {
        for _ in 0..each {
            let mut command = servers.client(node);
            command.args(["--force", "--unbuffered"]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let (node, stop) = (node.to_owned(), Arc::clone(&self.stop));
            self.clients.push(thread::spawn(move || {
                let mut taken = Taken { node, ..Taken::default() };
                while !stop.load(Ordering::Relaxed) {
                    let mut child = command.spawn().expect("the client runs");
                    talk(&mut child, &stop, &mut taken);
                }
                taken
            }));
        }
    }

    /// Ends the clients, and checks that no number came twice.
    #[track_caller]
    pub(crate) fn end(self) -> Vec<Taken> {
        self.stop.store(true, Ordering::Relaxed);
        let clients = self.clients.into_iter();
        let all: Vec<Taken> = clients.map(|client| client.join().expect("a client ends")).collect();
        assert_unique(&all);
        all
    }
}

/// Asserts that no number came twice.
#[track_caller]
pub(crate) fn assert_unique(all: &[Taken]) {
    let mut seen = BTreeSet::new();
    for taken in all {
        for number in &taken.numbers {
            assert!(
                seen.insert(*number),
                "number {number} came twice, at last from {}",
                taken.node
            );
        }
    }
}

/// One connection: asks for a batch, waits for the answers, and so on, until
/// it is told to stop or the server is gone.
fn talk(child: &mut Child, stop: &AtomicBool, taken: &mut Taken) {
    let mut ask = child.stdin.take().expect("piped");
    let mut answers = BufReader::new(child.stdout.take().expect("piped")).lines();
    let errors = BufReader::new(child.stderr.take().expect("piped"));
    let errors = thread::spawn(move || errors.lines().map_while(Result::ok).collect::<Vec<_>>());
    'connection: while !stop.load(Ordering::Relaxed) {
        let batch = "SELECT shardid.next_ticket('orders');\n".repeat(BATCH) + "SELECT 'end';\n";
        if ask.write_all(batch.as_bytes()).is_err() {
            break;
        }
        loop {
            match answers.next() {
                Some(Ok(line)) if line == "end" => break,
                Some(Ok(line)) => taken.numbers.push(line.parse().expect("a number")),
                _ => break 'connection,
            }
        }
    }
    drop(ask);
    let _ = child.wait();
    let said = errors.join().expect("it only reads");
    // ERROR 1644 (42704) at line 12: ticket orders …
    taken.errors.extend(said.into_iter().map(|line| {
        line.split_once(": ").map_or(line.clone(), |(head, said)| {
            format!("{} {said}", head.split(" at line").next().unwrap_or_default())
        })
    }));
}
