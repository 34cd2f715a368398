//! Running the program `shardid` and looking at what it says.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::said::assert_harmless;

/// The program, built from the sources as they are now, or the one that
/// `SHARDID_PROGRAM` names.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = PROGRAM.get_or_init(|| match std::env::var_os("SHARDID_PROGRAM") {
        Some(path) => Some(path.into()),
        None => build(),
    });
    built.as_deref().expect("the program can be built, see above")
}

fn build() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", "shardid-migrator", "--features", "cuts"]);
    build.current_dir(root).env_remove("RUSTC_BOOTSTRAP");
    // A test is target/PROFILE/deps/cli-…, a tool of ours target/PROFILE/bench, and
    // the program is target/debug/shardid.
    let me = std::env::current_exe().ok()?;
    let folder = me.parent()?;
    let profile = if folder.ends_with("deps") { folder.parent()? } else { folder };
    let target = profile.parent()?;
    build.status().ok()?.success().then(|| target.join("debug/shardid"))
}

/// What a run has said, and how it ended.
#[derive(Debug)]
pub struct Run {
    /// Its data.
    pub stdout: String,
    /// Its talk.
    pub stderr: String,
    /// Its exit code; -1 where a signal ended it.
    pub code: i32,
}

/// The program in a folder, with nothing of our environment that it looks at.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("PG") || name.starts_with("SHARDID") || name.starts_with("RUST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end. Whatever it says, and however it ends, it is no word that would
/// destroy something.
#[track_caller]
pub fn run(mut command: Command) -> Run {
    let output = command.output().expect("the program runs");
    let run = Run {
        stdout: String::from_utf8(output.stdout).expect("the program speaks UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("the program speaks UTF-8"),
        code: output.status.code().unwrap_or(-1),
    };
    assert_harmless(&run.stdout);
    assert_harmless(&run.stderr);
    run
}

impl Run {
    /// Stdout of a run that must have succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}\n{}", self.stdout, self.stderr);
        self.stdout
    }

    /// Stderr of a run that must have been refused, with an error and a hint.
    #[track_caller]
    pub fn refused(self) -> String {
        assert_eq!(self.code, 1, "{}\n{}", self.stdout, self.stderr);
        assert!(self.stderr.contains("error: "), "{}", self.stderr);
        assert!(self.stderr.contains("\n\nhint: "), "{}", self.stderr);
        self.stderr
    }
}
