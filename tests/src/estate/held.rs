//! The program, held at a place in a move until it is let go.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::Signal;

use crate::processes;
use crate::program::Run;
use crate::said::assert_harmless;

/// A program that stands still.
#[derive(Debug)]
pub struct Held {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Held {
    /// Starts a program, and waits until it is held at a place.
    #[track_caller]
    pub fn start(mut command: Command, at: &str) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let stderr = BufReader::new(child.stderr.take().expect("it is a pipe"));
        let mut held = Self { child, stderr, said: String::new() };
        held.wait_for(&format!("held at {at}"));
        held
    }

    /// Waits until it has said something.
    #[track_caller]
    pub fn wait_for(&mut self, words: &str) {
        while !self.said.contains(words) {
            let read = self.stderr.read_line(&mut self.said).expect("the program speaks UTF-8");
            assert!(read > 0, "the program did not come to {words:?}:\n{}", self.said);
        }
    }

    /// Lets it go on, and waits for its end.
    pub fn let_go(mut self) -> Run {
        self.go_on();
        self.end()
    }

    /// Lets it go on, and does not wait.
    pub fn go_on(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Sends it what Ctrl-C does; one that is held hears it once it is let go.
    pub fn interrupt(&self) {
        processes::signal(self.child.id().cast_signed(), Signal::INT);
    }

    /// Kills it where it stands.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        self.end();
    }

    /// Waits for its end.
    #[track_caller]
    pub fn end(mut self) -> Run {
        let _ = self.stderr.read_to_string(&mut self.said);
        let code = self.child.wait().expect("it is our child").code().unwrap_or(-1);
        assert_harmless(&self.said);
        Run { stdout: String::new(), stderr: self.said, code }
    }
}
