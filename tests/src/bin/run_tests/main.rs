//! Runs the test programs of the workspace, two at a time, and says when each test begins
//! and ends.
//!
//! The tests of a program share servers, so they are threads of one process, which `cargo
//! nextest` does not have; and `cargo test` runs one program after the other, says of a test
//! only that it has ended, and has no limit. This is what is missing: a test that is over its
//! limit is shown with its processes and fails, and the other tests of its program are run
//! again without it, as they are when a program crashes.
#![forbid(unsafe_code)]

mod draw;
mod event;
mod limits;
mod processes;
mod program;
mod report;
mod run;

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use clap::Parser;

use limits::Limits;
use program::Program;
use report::Report;

/// The programs whose tests are run on MariaDB or on MySQL, as the seed has it, and on both where
/// they are asked for by name or `SHARDID_WHOLE` is set: the servers take most of the time.
const ON_ONE_ENGINE: [&str; 2] = ["mysql", "tickets"];

/// The program of which every other test is run, drawn by the seed, but for those with this in their names, where none is asked for by
/// name and `SHARDID_WHOLE` is not set: it takes half of the time of all.
const HALVED: (&str, &str) = ("moves", "matrix::");

/// Run test programs, two at a time
///
/// The last line of stdout is `N passed, N failed`. Exit code 1 where a test failed.
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// Run only tests with this in their name
    #[arg(long, default_value = "")]
    only: String,
    /// Leave out tests with this in their name
    #[arg(long)]
    skip: Vec<String>,
    /// How many programs run at once
    #[arg(long, default_value_t = 2)]
    programs: usize,
    /// How many tests of a program run at once; one or two for each processor by default
    #[arg(long)]
    threads: Option<usize>,
    /// Seconds that a test may take of which tests/limits.txt says nothing
    #[arg(long, default_value_t = 300)]
    limit: u64,
    /// Arguments for `cargo test --no-run`
    #[arg(last = true)]
    cargo: Vec<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let report = Report::default();
    let limits = Limits::read(options.limit);
    match program::build(&options.cargo) {
        Ok(programs) => run_all(programs, &options, &limits, &report),
        Err(error) => report.fail("the test programs", &error),
    }
    report.close()
}

/// Runs all programs, the longest first, so that none is left alone at the end.
fn run_all(programs: Vec<Program>, options: &Options, limits: &Limits, report: &Report) {
    let mut programs: Vec<(Program, Vec<String>)> = programs
        .into_iter()
        .filter_map(|program| match program.list(options) {
            Ok(tests) => Some((program, tests)),
            Err(error) => {
                report.fail(&program.name, &error);
                None
            }
        })
        .collect();
    if options.only.is_empty() && options.skip.is_empty() {
        for name in limits.unknown(&programs) {
            report.fail(&name, "it is in tests/limits.txt, and there is no such test");
        }
    }
    if options.only.is_empty() && !shardid_tests::is_whole() {
        for (program, tests) in &mut programs {
            let (name, all) = (&program.name, tests.len());
            if ON_ONE_ENGINE.contains(&name.as_str()) {
                *tests = draw::engines(name, std::mem::take(tests));
                report
                    .say(&format!("{} of {all} tests of {name}: each on one engine", tests.len()));
            } else if name == HALVED.0 {
                *tests = draw::half(name, std::mem::take(tests), HALVED.1);
                report.say(&format!("{} of {all} tests of {name}, by the seed", tests.len()));
            }
        }
    }
    programs.sort_by_key(|(program, tests)| (program.rank(), std::cmp::Reverse(tests.len())));
    let queue = Mutex::new(VecDeque::from(programs));
    let next = || queue.lock().expect("nobody panics with it").pop_front();
    thread::scope(|scope| {
        for _ in 0..options.programs.max(1) {
            scope.spawn(|| {
                while let Some((program, tests)) = next() {
                    run::run(&program, tests, options, limits, report);
                }
            });
        }
    });
}
