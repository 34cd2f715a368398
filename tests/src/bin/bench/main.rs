//! `make bench`: how fast ids are, as ratios to what stands beside them.
//!
//! Every ratio comes from one run on one server, in rounds in which the
//! contenders take turns; medians over the rounds are compared. Figures in
//! nanoseconds are printed for the reader, never judged. Exits 0 also where a
//! target is missed: the table says so.
#![forbid(unsafe_code)]

mod calls;
mod inserts;
mod memory;
mod moves;
mod my;
mod pgbench;
mod sessions;
mod setting;
mod statistics;
mod table;
mod tickets;
mod wal;

use std::io::{IsTerminal, stderr};
use std::time::Instant;

use clap::Parser;

use setting::Setting;
use table::Table;

/// Measures ids against nextval, bigserial, uuid and the classic function, and moves
///
/// Starts a server of its own, runs every contender in turn and prints the
/// ratios with their targets. docs/benchmarks.md explains each line. About ten
/// minutes; other work on the machine shows in the figures.
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    /// Fewer and shorter rounds, for a look: some two minutes, and noisier
    #[arg(long)]
    quick: bool,
    /// Only the parts with this in their name
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

/// A part of the benchmark: it fills in lines of the table.
type Part = fn(&Setting, &mut Table);

const PARTS: [(&str, Part); 12] = [
    ("calls", calls::run),
    ("sessions", sessions::run),
    ("pgbench", pgbench::run),
    ("bulk inserts", inserts::bulk),
    ("single inserts", inserts::single),
    ("wal", wal::run),
    ("memory", memory::run),
    ("tickets", tickets::run),
    ("write pause of moves", moves::pause),
    ("copy rate of moves", moves::copy_rate),
    ("mariadb", my::mariadb),
    ("mysql", my::mysql),
];

fn main() {
    let arguments = Arguments::parse();
    let started = Instant::now();
    shardid_tests::keep_on_disk();
    let setting = Setting::new(arguments.quick);
    let mut table = Table::default();
    println!("{}", setting.describe());
    for (name, part) in PARTS {
        if arguments.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        if stderr().is_terminal() {
            eprintln!("bench: {name}");
        }
        part(&setting, &mut table);
        table.print_new();
    }
    println!("\n{}", table.verdict());
    println!("{}", setting.describe_end(started.elapsed()));
}
