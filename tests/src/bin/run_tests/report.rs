//! What is said of tests while they run, and at the end.

use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::event::Ended;

/// How many lines of a failed test the end of the run says once more: the end may be all that
/// one sees.
const LAST_WORDS: usize = 4;

/// Says what happens as it happens, and counts.
#[derive(Debug)]
pub(crate) struct Report {
    began: Instant,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    passed: usize,
    failed: usize,
    failures: Vec<String>,
}

impl Default for Report {
    fn default() -> Self {
        Self { began: Instant::now(), counts: Mutex::default() }
    }
}

impl Report {
    /// Says that a test begins.
    pub(crate) fn begin(&self, name: &str) {
        println!("test {name} begins");
    }

    /// Says how a test ended, with what it printed where it failed.
    pub(crate) fn end(&self, name: &str, ended: &Ended) {
        let took = seconds(ended.took);
        let mut counts = self.counts.lock().expect("nobody panics with it");
        if ended.ok {
            counts.passed += 1;
            println!("test {name} ... ok ({took})");
            return;
        }
        counts.failed += 1;
        println!("---- {name} ----\n{}", ended.printed.trim_end());
        println!("test {name} ... FAILED ({took})");
        counts.failures.push(name.to_owned());
        counts.failures.extend(words(&ended.printed));
    }

    /// Says what failed without a result of its own.
    pub(crate) fn fail(&self, name: &str, why: &str) {
        println!("test {name} ... FAILED ({why})");
        let mut counts = self.counts.lock().expect("nobody panics with it");
        counts.failed += 1;
        counts.failures.push(format!("{name}: {why}"));
    }

    /// Says something in between.
    pub(crate) fn say(&self, line: &str) {
        println!("{line}");
    }

    /// Says how long a program took.
    pub(crate) fn over(&self, program: &str, began: Instant) {
        println!("{program} finished in {}", seconds(began.elapsed()));
    }

    /// Says once more what failed, and counts.
    pub(crate) fn close(self) -> ExitCode {
        let counts = self.counts.into_inner().expect("nobody panics with it");
        if !counts.failures.is_empty() {
            println!("\nwhat failed:\n{}", counts.failures.join("\n"));
        }
        println!("\ntests took {}", seconds(self.began.elapsed()));
        println!("{} passed, {} failed", counts.passed, counts.failed);
        ExitCode::from(u8::from(counts.failed > 0))
    }
}

/// The first lines of what a failed test has said, cut to what fits on a screen.
fn words(printed: &str) -> Vec<String> {
    let lines = printed.lines().filter(|line| !line.trim().is_empty()).take(LAST_WORDS);
    lines.map(|line| format!("  {}", line.chars().take(300).collect::<String>())).collect()
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
