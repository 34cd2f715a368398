//! Test programs: built once, by cargo, and the names of their tests.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Options;

/// A test program that is built.
#[derive(Debug)]
pub(crate) struct Program {
    /// What it is called: the name of its target, as `moves` or `shardid_ids`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The folder of its package, in which it is run.
    pub(crate) folder: PathBuf,
}

/// The programs that take longest, by what was measured, and how many of their tests run at
/// once for each processor: those of PostgreSQL wait for most of their time, for replication
/// and for locks, and a server of MySQL takes ten times as much memory. Others follow.
const LONGEST: [(&str, usize); 5] =
    [("moves", 2), ("tickets", 1), ("postgres", 2), ("mysql", 1), ("cli", 2)];

/// Builds the test programs that cargo is asked for.
pub(crate) fn build(arguments: &[String]) -> Result<Vec<Program>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["test", "--quiet", "--no-run", "--message-format=json-render-diagnostics"])
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !output.status.success() {
        return Err("they cannot be built".into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| read(&serde_json::from_str(line).ok()?)).collect())
}

/// The program of a message of cargo, where it is of one.
fn read(message: &Value) -> Option<Program> {
    if message["profile"]["test"] != true {
        return None;
    }
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    Some(Program {
        name: message["target"]["name"].as_str()?.replace('-', "_"),
        path: message["executable"].as_str()?.into(),
        folder: manifest.parent()?.to_owned(),
    })
}

impl Program {
    /// Where it comes in the order of programs.
    pub(crate) fn rank(&self) -> usize {
        LONGEST.iter().position(|(name, _)| *name == self.name).unwrap_or(LONGEST.len())
    }

    /// How many of its tests run at once.
    pub(crate) fn threads(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        processors * LONGEST.get(self.rank()).map_or(1, |(_, threads)| *threads)
    }

    /// A command that runs it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// The names of its tests that are asked for.
    pub(crate) fn list(&self, options: &Options) -> Result<Vec<String>, String> {
        let mut command = self.command();
        command.args(["--list", "--format=terse"]);
        if !options.only.is_empty() {
            command.arg(&options.only);
        }
        for name in &options.skip {
            command.args(["--skip", name]);
        }
        let output = command.output().map_err(|error| format!("it cannot be run: {error}"))?;
        if !output.status.success() {
            return Err("it does not list its tests".into());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| Some(line.strip_suffix(": test")?.to_owned())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_read_from_the_message_that_it_was_built() {
        let message = |test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact", "manifest_path": "/src/tests/Cargo.toml",
                "target": {"name": "shardid-tests"}, "profile": {"test": test},
                "executable": "/target/shardid_tests-1"
            })
        };
        let program = read(&message(true)).expect("it is one");
        assert_eq!(program.name, "shardid_tests");
        assert_eq!(program.folder, PathBuf::from("/src/tests"));
        assert!(read(&message(false)).is_none(), "a program that is no test");
    }
}
