//! The folder of one test program, and the watchdog that clears it away.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

struct RunFolder {
    path: PathBuf,
    /// Its input is closed by the kernel when we end, which is what it waits for.
    _watchdog: Child,
}

/// Returns the folder that everything of this test program lives in.
///
/// It is removed when the program has ended, and what runs in it is killed
/// first, also when the program was killed itself. The path is short, since
/// sockets below it may have no more than about 100 characters.
pub(crate) fn path() -> &'static Path {
    static FOLDER: OnceLock<RunFolder> = OnceLock::new();
    &FOLDER.get_or_init(make).path
}

/// Makes a new folder with a number for a name, for one server.
pub(crate) fn numbered() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let folder = path().join(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
    fs::create_dir(&folder)
        .unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
    folder
}

fn make() -> RunFolder {
    let path = tempfile::Builder::new()
        .prefix("shardid-")
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in("/tmp")
        .expect("a folder under /tmp can be made")
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
