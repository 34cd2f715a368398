//! The folder of one test program, and the watchdog that clears it away.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tempfile::TempDir;

struct RunFolder {
    path: PathBuf,
    /// Its input is closed by the kernel when we end, which is what it waits for.
    _watchdog: Child,
}

/// Returns the folder that everything of this test program lives in.
///
/// It is removed when the program has ended, and what runs in it is killed
/// first, also when the program was killed itself. The path is short, since
/// sockets below it may have no more than about 100 characters. It lies in
/// memory where there is enough: a test then lasts as long on a slow disk.
pub(crate) fn path() -> &'static Path {
    static FOLDER: OnceLock<RunFolder> = OnceLock::new();
    &FOLDER.get_or_init(make).path
}

/// Has the servers of this program lie on the disk: what waits for one is to be measured.
///
/// Said before the first server is started.
pub fn keep_on_disk() {
    ON_DISK.store(true, Ordering::Relaxed);
}

static ON_DISK: AtomicBool = AtomicBool::new(false);

/// A folder for one cluster that the program starts the servers of, which goes with its owner.
///
/// # Panics
///
/// Where it cannot be made.
pub fn folder() -> TempDir {
    tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(path())
        .expect("our folder is ours")
}

/// Makes a new folder with a number for a name, for one server.
pub(crate) fn numbered() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let folder = path().join(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
    fs::create_dir(&folder)
        .unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
    folder
}

/// A folder in memory on every Linux; in a container it is small unless it was asked for.
const MEMORY: &str = "/dev/shm";

/// Whether a folder, and the memory behind it, has room for the servers of two test programs
/// that run at once, which take some 3 GiB, and for all that runs beside them.
fn has_room(folder: &str) -> bool {
    const WANTED: u64 = 12 << 30;
    let available = || {
        let lines = fs::read_to_string("/proc/meminfo").ok()?;
        let line = lines.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    rustix::fs::statvfs(folder).is_ok_and(|found| found.f_bavail * found.f_frsize > WANTED)
        && available().is_some_and(|kilobytes| kilobytes << 10 > WANTED)
}

fn make() -> RunFolder {
    let parent = if ON_DISK.load(Ordering::Relaxed) {
        // Unlike `/tmp`, it is never in memory.
        "/var/tmp"
    } else if has_room(MEMORY) {
        MEMORY
    } else {
        "/tmp"
    };
    let path = tempfile::Builder::new()
        .prefix("shardid-")
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(parent)
        .unwrap_or_else(|error| panic!("cannot make a folder in {parent}: {error}"))
        .keep();
    // The signals of a terminal or of whoever kills our process group must not
    // reach the watchdog, so it gets a group of its own.
    let watchdog = Command::new("sh")
        .args(["-c", include_str!("watchdog.sh"), "watchdog"])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        .process_group(0)
        .spawn()
        .expect("sh can be run");
    RunFolder { path, _watchdog: watchdog }
}
