//! Clients for `make demo` that go on writing while shards move.
//!
//! Each signs visitors up on shards at random, at the node where it last found the
//! shard. A node that has it no more says which one has (`SI001`), and one whose
//! shard is fenced says to try again (`SI002`): that is all a client has to know.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use shardid_tests::postgres::{Client, NoTls};
use shardid_tests::rand::Rng;
use shardid_tests::{Refusal, rand};

type Failed = Box<dyn Error + Send + Sync>;

/// Signs visitors up until a file is there, and says what became of them
#[derive(Parser)]
#[command(name = "demo_traffic")]
struct Arguments {
    /// A node, as pg1=postgres://…
    #[arg(long = "node", value_name = "NAME=URL", required = true)]
    nodes: Vec<String>,
    /// The map of shards, as `shardid map --format csv` prints it
    #[arg(long, default_value = "rows/map.csv")]
    map: PathBuf,
    /// End when this file is there
    #[arg(long)]
    until: PathBuf,
    /// How many clients
    #[arg(long, default_value_t = 2)]
    clients: usize,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(words) => {
            println!("{words}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<String, Failed> {
    let urls: BTreeMap<String, String> = arguments
        .nodes
        .iter()
        .map(|node| node.split_once('=').ok_or("a node is NAME=URL"))
        .map(|pair| pair.map(|(name, url)| (name.to_owned(), url.to_owned())))
        .collect::<Result<_, _>>()?;
    let map = std::fs::read_to_string(&arguments.map)?;
    let homes: BTreeMap<u32, String> = map
        .lines()
        .filter_map(|line| line.split_once(','))
        .filter_map(|(shard, node)| Some((shard.parse().ok()?, node.to_owned())))
        .collect();
    let (until, urls, homes) = (arguments.until.as_path(), &urls, &homes);
    let written = thread::scope(|scope| {
        let clients: Vec<_> = (0..arguments.clients)
            .map(|number| scope.spawn(move || Writer::new(urls, homes, number).write(until)))
            .collect();
        clients.into_iter().map(|one| one.join().expect("it does not panic")).collect::<Vec<_>>()
    });
    let (mut visitors, mut sent_on, mut longest) = (0, 0, Duration::ZERO);
    for writer in written {
        let mut writer = writer?;
        writer.look()?;
        visitors += writer.ids.values().map(Vec::len).sum::<usize>();
        sent_on += writer.sent_on;
        longest = longest.max(writer.longest);
    }
    Ok(format!(
        "{visitors} visitors signed up meanwhile, and each is there once. {sent_on} times a client \
         was told the\nnew node; the longest that one waited for an answer was {} ms.",
        longest.as_millis()
    ))
}

struct Writer<'a> {
    urls: &'a BTreeMap<String, String>,
    /// Where each shard was found last.
    homes: BTreeMap<u32, String>,
    clients: BTreeMap<String, Client>,
    /// What was acknowledged, by shard.
    ids: BTreeMap<u32, Vec<i64>>,
    sent_on: u32,
    longest: Duration,
    /// Which client it is, and how many it has signed up.
    number: usize,
    count: u64,
}

impl<'a> Writer<'a> {
    fn new(
        urls: &'a BTreeMap<String, String>,
        homes: &BTreeMap<u32, String>,
        number: usize,
    ) -> Self {
        Self {
            urls,
            number,
            count: 0,
            homes: homes.clone(),
            clients: BTreeMap::new(),
            ids: BTreeMap::new(),
            sent_on: 0,
            longest: Duration::ZERO,
        }
    }

    fn write(mut self, until: &Path) -> Result<Self, Failed> {
        let shards: Vec<u32> = self.homes.keys().copied().collect();
        let mut rng = rand::rng();
        while !until.exists() {
            let shard = shards[rng.random_range(0..shards.len())];
            let began = Instant::now();
            let id = self.sign_up(shard)?;
            self.longest = self.longest.max(began.elapsed());
            self.ids.entry(shard).or_default().push(id);
            thread::sleep(Duration::from_millis(1));
        }
        Ok(self)
    }

    /// Writes a visitor, at whichever node takes it.
    fn sign_up(&mut self, shard: u32) -> Result<i64, Failed> {
        let sql = format!("INSERT INTO shard_{shard:04}.users (name) VALUES ($1) RETURNING id");
        self.count += 1;
        let name = format!("visitor {}-{}", self.number, self.count);
        loop {
            let error = match self.at_home(shard)?.query_one(&sql, &[&name]) {
                Ok(row) => return Ok(row.get(0)),
                Err(error) => error,
            };
            let refusal = Refusal::of(&error).ok_or_else(|| error.to_string())?;
            match refusal.sqlstate.as_str() {
                "SI001" => {
                    let node = refusal.message.split('"').nth(1).ok_or("no node was named")?;
                    self.homes.insert(shard, node.to_owned());
                    self.sent_on += 1;
                }
                "SI002" => thread::sleep(Duration::from_millis(3)),
                _ => return Err(format!("shard {shard}: {refusal:?}").into()),
            }
        }
    }

    fn at_home(&mut self, shard: u32) -> Result<&mut Client, Failed> {
        let node = &self.homes[&shard];
        if !self.clients.contains_key(node) {
            let url = self.urls.get(node).ok_or_else(|| format!("there is no node {node}"))?;
            self.clients.insert(node.clone(), Client::connect(url, NoTls)?);
        }
        Ok(self.clients.get_mut(node).expect("it was put there"))
    }

    /// Looks whether all that was acknowledged is there.
    fn look(&mut self) -> Result<(), Failed> {
        for (shard, ids) in self.ids.clone() {
            // A write finds the shard's home, wherever it is by now.
            let last = self.sign_up(shard)?;
            self.ids.entry(shard).or_default().push(last);
            let sql = format!("SELECT count(*) FROM shard_{shard:04}.users WHERE id = ANY ($1)");
            let found: i64 = self.at_home(shard)?.query_one(&sql, &[&ids])?.get(0);
            if found != ids.len() as i64 {
                return Err(format!("shard {shard} has {found} of {} visitors", ids.len()).into());
            }
        }
        Ok(())
    }
}
