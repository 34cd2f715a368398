//! The clock a server sees: the machine's, or one that a test steps at will.

use std::fs;
use std::path::{Path, PathBuf};

/// The clock that a server is started with.
///
/// A clock other than the machine's is made by libfaketime, preloaded into the
/// server; its offset from the machine's clock stands in a file.
///
/// What libfaketime 0.9.10 (Debian 12) does with the settings used here:
///
/// - `gettimeofday`, `time`, `CLOCK_REALTIME` and its COARSE sibling show the
///   offset, in C and in Rust. `CLOCK_MONOTONIC`, its RAW and COARSE siblings
///   and `CLOCK_BOOTTIME` are left alone; so are sleeps and latches.
/// - A look at the clock costs 4.4 µs with [`Clock::Steerable`] and 0.4 µs with
///   [`Clock::AtStart`], where it costs about 0.02 µs on the machine's clock:
///   one session cannot take more than 1,024 ids a millisecond with the first.
/// - A signal handler that interrupts `epoll_wait` sees the machine's clock.
///   So in a session that waits while the offset is *above zero*, timers such
///   as `statement_timeout`, `lock_timeout` and `deadlock_timeout` do not fire.
///   Where a test needs one, let the clock go from zero back, not from above
///   zero to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    Real,
    /// The machine's clock plus the offset last given to `Server::set_clock`;
    /// running backends see a step at once.
    Steerable,
    /// The machine's clock plus the offset that was last set when the server
    /// started; ten times as fast.
    AtStart,
    /// The machine's clock plus the offset last given to `Server::set_clock`, which a
    /// running server sees within two seconds; as fast as [`Clock::AtStart`].
    EachSecond,
}

impl Clock {
    /// Where a server in this folder keeps its offset.
    fn file(folder: &Path) -> PathBuf {
        folder.join("clock")
    }

    /// Prepares a folder for a server and returns the variables it needs.
    pub(crate) fn variables(self, folder: &Path) -> Vec<(&'static str, String)> {
        if self == Self::Real {
            return Vec::new();
        }
        let file = Self::file(folder);
        if !file.exists() {
            set_offset(folder, 0.0);
        }
        vec![
            ("LD_PRELOAD", library().display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
            // Look at the file each time, each second or once, not every ten seconds.
            match self {
                Self::AtStart => ("FAKETIME_CACHE_DURATION", "1000000000".into()),
                Self::EachSecond => ("FAKETIME_CACHE_DURATION", "1".into()),
                _ => ("FAKETIME_NO_CACHE", "1".into()),
            },
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
            // Its shared memory would belong to whoever came first.
            ("FAKETIME_DISABLE_SHM", "1".into()),
        ]
    }
}

/// Sets the offset of the server in a folder, in seconds and parts of seconds.
pub(crate) fn set_offset(folder: &Path, offset_seconds: f64) {
    let file = Clock::file(folder);
    let new = file.with_extension("new");
    // A rename, so that no backend ever reads half a number.
    fs::write(&new, format!("{offset_seconds:+.6}\n"))
        .and_then(|()| fs::rename(&new, &file))
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
}

/// Has a program, which is no server, see a clock that is so many seconds ahead.
pub fn ahead_for(command: &mut std::process::Command, seconds: u32) {
    command
        .env("LD_PRELOAD", library())
        .env("FAKETIME", format!("+{seconds}s"))
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("FAKETIME_DISABLE_SHM", "1");
}

/// Finds libfaketime for programs with threads, which a server may have.
fn library() -> PathBuf {
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    [
        format!("/usr/lib/{machine}/faketime/libfaketimeMT.so.1"),
        "/usr/lib64/faketime/libfaketimeMT.so.1".into(),
        "/usr/lib/faketime/libfaketimeMT.so.1".into(),
        "/usr/local/lib/faketime/libfaketimeMT.so.1".into(),
    ]
    .into_iter()
    .map(PathBuf::from)
    .find(|path| path.exists())
    .expect("libfaketime is installed (run `make deps`)")
}
