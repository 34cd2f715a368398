//! Runs the documentation: every block of a page, in order, on a server of its own.
//!
//! What a writer of pages needs to know stands in CONTRIBUTING.md. In short:
//!
//! - `sql` blocks go to one psql, `console` blocks (`$ command`) to one bash, and
//!   `<!-- sql … -->` and `<!-- console … -->` are blocks that readers do not see;
//! - a `text` block is the output of the `sql` block before it, and is compared;
//! - `…` stands for anything, and in a `text example` block an id or a time for
//!   any other id or time;
//! - `text picture` is not run, any other language is refused.

mod expected;
mod links;
mod my;
mod page;
mod session;

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use links::broken_links;

use self::page::{Block, Kind, Page};
use self::session::{Reply, Session};
use crate::{Server, run_folder};

/// The database that a page's blocks are connected to.
const DATABASE: &str = "app";

/// The folder that README.md lies in.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a package lies in the workspace")
}

/// All pages, as paths below [`root`]: those at the top and those under `docs`.
pub fn pages() -> Vec<String> {
    let mut found = Vec::new();
    collect(root(), false, &mut found);
    collect(&root().join("docs"), true, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, deep: bool, found: &mut Vec<String>) {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if deep && path.is_dir() {
            collect(&path, true, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            let below = path.strip_prefix(root()).expect("it is below the root");
            found.push(below.to_string_lossy().into_owned());
        }
    }
}

/// Reads a page of the repository.
///
/// # Panics
///
/// Where it cannot be read.
pub fn read(page: &str) -> String {
    fs::read_to_string(root().join(page))
        .unwrap_or_else(|error| panic!("cannot read {page}: {error}"))
}

/// Runs all blocks of a page of the repository, on a server of its own.
///
/// # Panics
///
/// With page, line and what was said, where a block does not do what the page says.
#[track_caller]
pub fn check(page: &str) {
    if let Err(words) = Runner::default().run(page, &read(page)) {
        panic!("{words}");
    }
}

/// Runs pages on one server, made when the first block needs it.
#[derive(Debug, Default)]
pub struct Runner {
    server: OnceCell<Server>,
}

impl Runner {
    /// Runs all blocks of a text, which messages call `name`, in a new database,
    /// and returns how many they are. The error begins with `name:line: `.
    pub fn run(&self, name: &str, text: &str) -> Result<usize, String> {
        let page = Page::parse(text).map_err(|(line, words)| format!("{name}:{line}: {words}"))?;
        let mut stage = Stage { runner: self, psql: None, bash: None, my: None };
        for block in &page.blocks {
            stage.run(block).map_err(|(line, words)| format!("{name}:{line}: {words}"))?;
        }
        Ok(page.blocks.len())
    }

    fn server(&self) -> &Server {
        self.server.get_or_init(|| Server::builder().name("the docs").fsync(false).start())
    }
}

/// What is wrong, and in which line of the page.
type Wrong = (usize, String);

/// What a page's blocks run in, each begun when the first block needs it.
struct Stage<'a> {
    runner: &'a Runner,
    psql: Option<Session>,
    bash: Option<Session>,
    my: Option<my::Servers>,
}

impl<'a> Stage<'a> {
    fn run(&mut self, block: &Block) -> Result<(), Wrong> {
        match &block.kind {
            Kind::Sql { text, output } => {
                let fails = output.as_ref().is_some_and(|output| output.shows_error());
                let reply = self.psql().ask_psql(text, fails).map_err(|w| (block.line, w))?;
                let Reply { words, failed } = reply;
                if failed {
                    return Err((block.line, format!("this block fails:\n{words}")));
                }
                match output {
                    Some(output) => output.compare(&words).map_err(|w| (output.line, w)),
                    None => Ok(()),
                }
            }
            Kind::My { text, output, mariadb_only } => {
                let servers = self.my.get_or_insert_with(my::Servers::start);
                for (engine, Reply { words, failed }) in servers.ask(text, *mariadb_only) {
                    if failed != output.as_ref().is_some_and(|output| output.shows_my_error()) {
                        let how = if failed { "fails" } else { "does not fail" };
                        return Err((
                            block.line,
                            format!("this block {how} on {engine}:\n{words}"),
                        ));
                    }
                    if let Some(output) = output {
                        output
                            .compare(&words)
                            .map_err(|w| (output.line, format!("on {engine}, {w}")))?;
                    }
                }
                Ok(())
            }
            Kind::Console(commands) => {
                for command in commands {
                    self.command(command)?;
                }
                Ok(())
            }
        }
    }

    fn command(&mut self, command: &page::Command) -> Result<(), Wrong> {
        let wrong = |words: String| (command.line, words);
        if let Some(targets) = command.make_targets() {
            let missing = targets.iter().find(|target| !is_make_target(target));
            return match missing {
                Some(target) => Err(wrong(format!("the Makefile has no target {target}"))),
                None if command.output.is_some() => {
                    Err(wrong("make is not run here, so its output cannot be shown".into()))
                }
                None => Ok(()),
            };
        }
        let Reply { words, failed } = self.bash().ask_bash(&command.text).map_err(wrong)?;
        let fails = command.output.as_ref().is_some_and(|output| output.shows_error());
        if failed != fails {
            let how = if failed { "fails" } else { "does not fail" };
            return Err(wrong(format!("this command {how}: {}\n{words}", command.text)));
        }
        match &command.output {
            Some(output) => output.compare(&words).map_err(|w| (output.line, w)),
            None => Ok(()),
        }
    }

    /// The server, with a new database for the page.
    fn server(&self) -> &'a Server {
        let server = self.runner.server();
        if self.psql.is_none() && self.bash.is_none() {
            server.psql(
                "postgres",
                &format!(
                    "DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE); CREATE DATABASE {DATABASE}"
                ),
            );
        }
        server
    }

    fn psql(&mut self) -> &mut Session {
        let server = self.server();
        self.psql.get_or_insert_with(|| {
            let mut command = server.command("psql");
            // The CONTEXT of an error is the line number of a function's own text.
            command.args(["-X", "-q", "-v", "SHOW_CONTEXT=never", "-d", DATABASE]);
            // A block that waits for ever would hold up the tests.
            command.env("PGOPTIONS", "-c statement_timeout=60s");
            Session::start(command)
        })
    }

    fn bash(&mut self) -> &mut Session {
        let server = self.server();
        self.bash.get_or_insert_with(|| {
            let folder = run_folder::numbered();
            let mut command = Command::new("bash");
            for (name, value) in server.command("psql").get_envs() {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
            command.env("PGDATABASE", DATABASE).env("HOME", &folder).current_dir(&folder);
            command
                .env("PATH", search_path())
                .env("PG_CONFIG", crate::Installation::get().program("pg_config"));
            command.args(["--norc", "--noprofile"]);
            for name in ["SHARDID_FILE", "PGPASSWORD", "CDPATH", "BASH_ENV"] {
                command.env_remove(name);
            }
            Session::start(command)
        })
    }
}

/// The program `shardid`, as `make test` builds it.
pub fn program() -> Command {
    Command::new(debug_folder().join("shardid"))
}

/// This test program is in target/PROFILE/deps, the program in target/debug.
fn debug_folder() -> PathBuf {
    let own = std::env::current_exe().expect("we are running");
    own.ancestors().nth(3).expect("cargo put it there").join("debug")
}

/// Where commands are looked for: the program `shardid`, PostgreSQL's, the system's.
fn search_path() -> std::ffi::OsString {
    let mut folders = vec![debug_folder()];
    folders.extend(crate::Installation::get().program("psql").parent().map(Path::to_owned));
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    std::env::join_paths(folders).expect("no folder here has a colon")
}

fn is_make_target(name: &str) -> bool {
    read("Makefile").lines().any(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(":="))
    })
}
