//! One test program, from its first test to its last, whatever they do.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use shardid_tests::{crowded, seed};

use crate::event::{self, Event};
use crate::limits::Limits;
use crate::program::Program;
use crate::report::Report;
use crate::{Options, processes};

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
/// taken away. The error is why the program has no result.
fn attempt(
    program: &Program,
    left: &mut Vec<String>,
    options: &Options,
    limits: &Limits,
    report: &Report,
) -> Result<(), String> {
    let mut command = program.command();
    command.env("RUSTC_BOOTSTRAP", "1").env("SHARDID_SEED", seed().to_string());
    command.args(["-Zunstable-options", "--format=json", "--report-time"]);
    let threads = options.threads.unwrap_or_else(|| program.threads());
    command.arg(format!("--test-threads={threads}"));
    command.arg("--exact").args(left.iter()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("it cannot be run: {error}"))?;
    let lines = lines_of(&mut child);
    let mut running = Running::new(&program.name);
    let mut looked = Instant::now();
    let why = loop {
        match lines.recv_timeout(LOOK_EVERY) {
            Ok(line) => running.hear(&line, left, report),
            Err(RecvTimeoutError::Disconnected) => break "the program ended without a result",
            Err(RecvTimeoutError::Timeout) => {}
        }
        // Also where other tests have much to say.
        if looked.elapsed() < LOOK_EVERY {
            continue;
        }
        looked = Instant::now();
        if running.is_over {
            // Something that it has started keeps its output open.
            let _ = child.kill();
            break "";
        }
        if running.blame(limits) {
            let below = processes::below(child.id().cast_signed());
            report.say(&format!("{} is ended; what was running:", program.name));
            below.iter().for_each(|process| report.say(&process.line()));
            processes::end(child.id().cast_signed(), &below);
            break "over its limit";
        }
    };
    let _ = child.wait();
    if running.is_over {
        left.clear();
        return Ok(());
    }
    for test in running.tests.into_keys() {
        report.fail(&format!("{}::{test}", program.name), why);
        left.retain(|name| *name != test);
    }
    Err(why.to_owned())
}

/// The tests of a program that have begun and not ended.
struct Running<'a> {
    program: &'a str,
    tests: HashMap<String, Instant>,
    /// When it last said something.
    heard: Instant,
    /// Whether it has come to its end by itself.
    is_over: bool,
}

impl<'a> Running<'a> {
    fn new(program: &'a str) -> Self {
        Self { program, tests: HashMap::new(), heard: Instant::now(), is_over: false }
    }

    /// Takes in a line of the program.
    fn hear(&mut self, line: &str, left: &mut Vec<String>, report: &Report) {
        self.heard = Instant::now();
        let full = |test: &str| format!("{}::{test}", self.program);
        match event::read(line) {
            Some(Event::Began(test)) => {
                report.begin(&full(&test));
                self.tests.insert(test, Instant::now());
            }
            Some(Event::Ended(ended)) => {
                report.end(&full(&ended.name), &ended);
                self.tests.remove(&ended.name);
                left.retain(|test| *test != ended.name);
            }
            Some(Event::Over) => self.is_over = true,
            Some(Event::Other) => {}
            None => report.say(line),
        }
    }

    /// Leaves those that are over their limits, where there is one. A program that runs no test
    /// and says nothing is, too.
    fn blame(&mut self, limits: &Limits) -> bool {
        let program = self.program;
        if self.tests.is_empty() {
            return self.heard.elapsed() >= crowded(limits.of(program));
        }
        let is_over = |test: &String, began: &Instant| {
            began.elapsed() >= crowded(limits.of(&format!("{program}::{test}")))
        };
        if !self.tests.iter().any(|(test, began)| is_over(test, began)) {
            return false;
        }
        self.tests.retain(|test, began| is_over(test, began));
        true
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(event: &str, name: &str) -> String {
        format!(r#"{{ "type": "test", "event": "{event}", "name": "{name}" }}"#)
    }

    #[test]
    fn a_test_that_is_over_its_limit_is_to_blame_and_what_has_ended_or_goes_on_is_not() {
        let (report, limits) = (Report::default(), Limits::of_one(3600, "p::short", 0));
        let mut left = ["ended", "short", "long"].map(str::to_owned).to_vec();
        let mut running = Running::new("p");
        assert!(!running.blame(&limits), "it has just begun");
        for test in ["ended", "long"] {
            running.hear(&line("started", test), &mut left, &report);
        }
        running.hear(&line("ok", "ended"), &mut left, &report);
        assert!(!running.blame(&limits));
        running.hear(&line("started", "short"), &mut left, &report);
        assert!(running.blame(&limits));
        assert_eq!(running.tests.keys().collect::<Vec<_>>(), ["short"]);
        assert_eq!(left, ["short", "long"], "what is run again, but for the one to blame");
    }
}
