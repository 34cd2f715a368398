//! One test program, from its first test to its last, whatever they do.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use shardid_tests::crowded;

use crate::event::{self, Event};
use crate::limits::Limits;
use crate::program::Program;
use crate::report::Report;
use crate::{Options, processes};

/// How long a program may take to end after its last test.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often limits are looked at, in between: they are longer while the machine is crowded.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Runs tests of a program, and those that were not to blame again when it was ended.
pub(crate) fn run(
    program: &Program,
    tests: Vec<String>,
    options: &Options,
    limits: &Limits,
    report: &Report,
) {
    if tests.is_empty() {
        return;
    }
    let began = Instant::now();
    let mut left = tests;
    while !left.is_empty() {
        let before = left.len();
        if let Err(why) = attempt(program, &mut left, options, limits, report) {
            // Each attempt takes at least the test that is to blame away.
            if before == left.len() {
                report.fail(&program.name, &why);
                break;
            }
        }
    }
    report.over(&program.name, began);
}

/// Runs what is left of a program's tests once; those that have ended, or are to blame, are
/// taken away.
fn attempt(
    program: &Program,
    left: &mut Vec<String>,
    options: &Options,
    limits: &Limits,
    report: &Report,
) -> Result<(), String> {
    let mut command = program.command();
    command.env("RUSTC_BOOTSTRAP", "1");
    command.args(["-Zunstable-options", "--format=json", "--report-time"]);
    let threads = options.threads.unwrap_or_else(|| program.threads());
    command.arg(format!("--test-threads={threads}"));
    command.arg("--exact").args(left.iter()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("it cannot be run: {error}"))?;
    let lines = lines_of(&mut child);
    let mut running: HashMap<String, Instant> = HashMap::new();
    let full = |test: &str| format!("{}::{test}", program.name);
    let mut is_over = false;
    let why = loop {
        let is_over_limit =
            |(test, began): (&String, &Instant)| began.elapsed() >= crowded(limits.of(&full(test)));
        let wait = if running.is_empty() { PATIENCE } else { LOOK_EVERY };
        match lines.recv_timeout(wait) {
            Ok(line) => match event::read(&line) {
                Some(Event::Began(test)) => {
                    report.begin(&full(&test));
                    running.insert(test, Instant::now());
                }
                Some(Event::Ended(ended)) => {
                    report.end(&full(&ended.name), &ended);
                    running.remove(&ended.name);
                    left.retain(|test| *test != ended.name);
                }
                Some(Event::Over) => is_over = true,
                Some(Event::Other) => {}
                None => report.say(&line),
            },
            Err(RecvTimeoutError::Disconnected) => break "the program ended without a result",
            Err(RecvTimeoutError::Timeout)
                if !running.is_empty() && !running.iter().any(is_over_limit) => {}
            Err(RecvTimeoutError::Timeout) => {
                running.retain(|test, began| is_over_limit((test, began)));
                let below = processes::below(child.id().cast_signed());
                report.say(&format!("{} is ended; what was running:", program.name));
                below.iter().for_each(|process| report.say(&process.line()));
                processes::end(child.id().cast_signed(), &below);
                break "over its limit";
            }
        }
    };
    let _ = child.wait();
    if is_over {
        left.clear();
        return Ok(());
    }
    for test in running.into_keys() {
        report.fail(&full(&test), why);
        left.retain(|name| *name != test);
    }
    Err(why.to_owned())
}

/// The lines that a program prints, until it ends.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let stdout = child.stdout.take().expect("it is a pipe");
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    lines
}
