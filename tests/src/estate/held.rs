//! The program, held at a place in a move until it is let go.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::process::Signal;

use crate::processes;
use crate::program::Run;

/// A program that stands still.
#[derive(Debug)]
pub struct Held {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Held {
    #[track_caller]
    pub(super) fn start(mut command: Command, at: &str) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is a pipe"));
        let mut said = String::new();
        while !said.contains("held at") {
            let read = stderr.read_line(&mut said).expect("the program speaks UTF-8");
            assert!(read > 0, "the program did not come to {at}:\n{said}");
        }
        Self { child, stderr, said }
    }

    /// Lets it go on, and waits for its end.
    pub fn let_go(mut self) -> Run {
        drop(self.child.stdin.take());
        self.end()
    }

    /// Sends it what Ctrl-C does; it hears once it is let go.
    pub fn interrupt(&self) {
        processes::signal(self.child.id().cast_signed(), Signal::INT);
    }

    /// Kills it where it stands.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        self.end();
    }

    fn end(mut self) -> Run {
        let _ = self.stderr.read_to_string(&mut self.said);
        let code = self.child.wait().expect("it is our child").code().unwrap_or(-1);
        Run { stdout: String::new(), stderr: self.said, code }
    }
}
