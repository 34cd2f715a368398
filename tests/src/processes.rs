//! The processes of a server: found by where they are, ended for good.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Lists the processes whose current folder is this one.
///
/// Every process of a PostgreSQL server stays in its data folder, so this finds
/// also those whose postmaster is gone, and never a stranger that has got the
/// number of a dead one.
pub(crate) fn in_folder(folder: &Path) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder)
        })
        .collect()
}

/// Sends a signal; a process that is gone already is no error.
pub(crate) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Kills every process in a folder and waits until none is left.
pub(crate) fn kill_all(folder: &Path) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let left = in_folder(folder);
        if left.is_empty() {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "processes {left:?} in {} cannot be killed",
            folder.display()
        );
        for pid in left {
            signal(pid, Signal::KILL);
        }
        sleep(Duration::from_millis(2));
    }
}

/// Gives back the few bytes of System V memory that a killed server leaves.
///
/// The system has room for 4096 of them; a server that stopped has removed its
/// own, together with the file that names it.
pub(crate) fn remove_memory(data: &Path) {
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else {
        return;
    };
    if let Some(id) = text.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)) {
        let _ = Command::new("ipcrm").args(["-m", id]).output();
    }
}
