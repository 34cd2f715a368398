//! Blocks for MariaDB and MySQL: `sql mysql` for both, `sql mariadb` for MariaDB alone.

use std::io::Write;
use std::process::Stdio;

use regex::Regex;

use super::session::Reply;
use crate::my::{self, Engine, Server};

/// The database that a page's blocks are connected to.
const DATABASE: &str = "app";

/// The servers of a page, one of each engine that is here, made when the first
/// block needs them.
#[derive(Debug)]
pub(super) struct Servers {
    servers: Vec<Server>,
}

impl Servers {
    /// Starts them, with the schema `shardid` and an empty database.
    pub(super) fn start() -> Self {
        let servers = [Engine::MariaDb, Engine::MySql]
            .into_iter()
            // MariaDB has to be here; MySQL cannot be fetched everywhere.
            .filter(|engine| *engine == Engine::MariaDb || my::find(*engine).is_some())
            .map(|engine| {
                let server = Server::builder(engine).start();
                server.query(&format!("CREATE DATABASE {DATABASE}"));
                server
            })
            .collect();
        Self { servers }
    }

    /// Runs a block on each server it is for, in a session of its own, and returns
    /// what was said there, with the engine.
    pub(super) fn ask(&self, text: &str, mariadb_only: bool) -> Vec<(Engine, Reply)> {
        self.servers
            .iter()
            .filter(|server| !mariadb_only || server.engine() == Engine::MariaDb)
            .map(|server| (server.engine(), ask(server, text)))
            .collect()
    }
}

fn ask(server: &Server, text: &str) -> Reply {
    let (mut reader, writer) = std::io::pipe().expect("a pipe can be made");
    let mut command = server.command("client");
    command.args(["--table", "--force", "--unbuffered", DATABASE]);
    let mut client = command
        .stdin(Stdio::piped())
        .stdout(writer.try_clone().expect("a pipe has two handles"))
        .stderr(writer)
        .spawn()
        .expect("the client can be run");
    // It holds the writing side of the pipe, which must be the child's alone.
    drop(command);
    client.stdin.take().expect("its input is a pipe").write_all(text.as_bytes()).expect("it reads");
    let words = std::io::read_to_string(&mut reader).expect("it speaks UTF-8");
    let _ = client.wait();
    let failed = words.lines().any(|line| line.starts_with("ERROR "));
    Reply { words: at_a_prompt(&words), failed }
}

/// Without the failing statement between rules, as MariaDB's client has it, and
/// `ERROR 1644 (42704) at line 3: …` as `ERROR 1644 (42704): …`.
fn at_a_prompt(words: &str) -> String {
    let statement = Regex::new(r"(?ms)^-{14}\n.*?\n-{14}\n").expect("it is a pattern");
    let line = Regex::new(r"(?m)^(ERROR \d+ \(\w+\)) at line \d+:").expect("it is a pattern");
    line.replace_all(&statement.replace_all(words, ""), "$1:").into_owned()
}
