//! The processes below a test program: shown, then ended.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal, getpgrp, kill_process};

/// A process, as /proc has it.
#[derive(Debug)]
pub(crate) struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    command: String,
}

/// The processes below one, parents first.
pub(crate) fn below(top: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        read(pid)
    }) {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found: Vec<Process> = children.remove(&top).unwrap_or_default();
    let mut seen = 0;
    while seen < found.len() {
        found.extend(children.remove(&found[seen].pid).unwrap_or_default());
        seen += 1;
    }
    found
}

fn read(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may have spaces: pid (name) state parent group …
    let mut rest = stat.rsplit_once(") ")?.1.split(' ').skip(1);
    let parent = rest.next()?.parse().ok()?;
    let group = rest.next()?.parse().ok()?;
    let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    Some(Process { pid, parent, group, command: command.replace('\0', " ") })
}

impl Process {
    /// A line: number, parent and command, where the servers and their sessions say what they
    /// are at.
    pub(crate) fn line(&self) -> String {
        let command: String = self.command.chars().take(180).collect();
        format!("{} {} {}", self.pid, self.parent, command)
    }
}

/// Kills a test program and what it has started, but for what has a process group of its own:
/// the watchdog, which clears up after it, and sessions, which go with their server.
pub(crate) fn end(top: i32, below: &[Process]) {
    let ours = getpgrp().as_raw_nonzero().get();
    let pids = below.iter().filter(|process| process.group == ours).map(|process| process.pid);
    for pid in std::iter::once(top).chain(pids) {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_a_process_has_started_is_found_and_ended() {
        let mut shell =
            Command::new("sh").args(["-c", "sleep 77 & wait"]).spawn().expect("a shell");
        let top = shell.id().cast_signed();
        let mut found = Vec::new();
        while found.is_empty() {
            found = below(top);
        }
        assert!(found[0].line().contains(&format!(" {top} ")), "{found:?}");
        end(top, &found);
        shell.wait().expect("it is our child");
        let gone = || read(found[0].pid).is_none_or(|process| process.command.is_empty());
        while !gone() {
            std::thread::yield_now();
        }
    }
}
