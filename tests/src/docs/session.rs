//! A psql or a bash that goes on from block to block, as a reader's would.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// What the end of an answer looks like; nothing prints that by itself.
const MARK: &str = "-- end of block 7d1c --";

/// How long a block may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// A program that reads from a pipe; what it says, to either side, comes back on one.
pub(super) struct Session {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

/// What was said, and whether that was a failure.
pub(super) struct Reply {
    pub(super) words: String,
    pub(super) failed: bool,
}

impl Session {
    /// Starts the program.
    pub(super) fn start(mut command: Command) -> Self {
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        let mut child = command
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "dumb")
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(writer.try_clone().expect("a pipe has two handles"))
            .stderr(writer)
            // So that all it has started can be ended with it.
            .process_group(0)
            .spawn()
            .expect("it can be run");
        // It holds the writing side of the pipe, which must be the child's alone.
        drop(command);
        let input = child.stdin.take().expect("its input is a pipe");
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                let text = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
                if sender.send(text).is_err() {
                    break;
                }
                line.clear();
            }
        });
        Self { child, input, lines }
    }

    /// Runs statements. Where one fails that should not, psql has ended.
    pub(super) fn ask_psql(&mut self, text: &str, fails: bool) -> Result<Reply, String> {
        let stop = if fails { "off" } else { "on" };
        self.say(&format!("\\set ON_ERROR_STOP {stop}\n{text}\n\\echo {MARK}\n"));
        let (words, end) = self.listen()?;
        Ok(Reply { words, failed: end.is_none() })
    }

    /// Runs a command of one or more lines.
    pub(super) fn ask_bash(&mut self, text: &str) -> Result<Reply, String> {
        self.say(&format!("{{ {text}\n}} </dev/null\nprintf '\\n%s %s\\n' '{MARK}' $?\n"));
        let (words, end) = self.listen()?;
        match end {
            Some(status) => Ok(Reply { words, failed: status.trim() != "0" }),
            None => Err(format!("the shell ended\n{words}")),
        }
    }

    fn say(&mut self, text: &str) {
        // A program that has ended has said why.
        let _ = self.input.write_all(text.as_bytes()).and_then(|()| self.input.flush());
    }

    /// Everything up to the mark, and what follows it there; `None` where it ended.
    fn listen(&mut self) -> Result<(String, Option<String>), String> {
        let mut words = String::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => match line.strip_prefix(MARK) {
                    Some(rest) => return Ok((words, Some(rest.to_owned()))),
                    None => {
                        words.push_str(&line);
                        words.push('\n');
                    }
                },
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Ok((words, None)),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    return Err(format!("no end after {PATIENCE:?}\n{words}"));
                }
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
