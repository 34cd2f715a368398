//! A server whose schema was being brought up to date when the program was cut, after any statement of any migration:
//! the next `apply` goes on.

use std::path::Path;

use shardid_tests::my::{query, try_query};
use shardid_tests::mysql::{Conn, OptsBuilder, Row};
use shardid_tests::sample;

use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    apply_goes_on_wherever_a_migration_was_cut,
}

/// How many of some hundred places are tried.
const SAMPLE: usize = 5;

/// What the program's sessions have; routines keep it.
const SESSION: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', SESSION time_zone = '+00:00'";

/// The files of the schema, by number, each in its statements.
fn migrations() -> Vec<(u32, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/mysql/schema");
    let mut all: Vec<(u32, Vec<String>)> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number = name.strip_prefix('V')?.split_once("__")?.0.parse().ok()?;
            let text = std::fs::read_to_string(entry.path()).expect("a file of ours can be read");
            Some((number, statements(&text)))
        })
        .collect();
    all.sort();
    all
}

/// The statements of a file. The end of a body is not indented.
fn statements(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let (mut lines, mut is_block) = (Vec::new(), false);
    for line in text.lines() {
        if lines.is_empty() && (line.is_empty() || line.starts_with("--")) {
            continue;
        }
        let begins = |word: &str| line == word || line.ends_with(&format!(": {word}"));
        is_block |= begins("BEGIN") || begins("LOOP");
        lines.push(line);
        if line.ends_with(';') && (!is_block || line.starts_with("END")) {
            all.push(lines.join("\n"));
            (lines, is_block) = (Vec::new(), false);
        }
    }
    assert!(lines.is_empty(), "{lines:?}");
    all
}

/// What clients were given before it was cut, of what there was then.
#[derive(Debug, Default)]
struct Given {
    ticket: Option<u64>,
    id: Option<u64>,
}

/// Has a server be as one was in use at the version before, and cut after so many statements of a migration.
fn cut_there(client: &mut Conn, all: &[(u32, Vec<String>)], version: u32, count: usize) -> Given {
    query::<Row>(
        client,
        "DROP DATABASE IF EXISTS shardid; CREATE DATABASE shardid DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
         CREATE TABLE shardid.schema_history LIKE app.history",
    );
    query::<Row>(
        client,
        &format!(
            "INSERT INTO shardid.schema_history SELECT * FROM app.history WHERE version < {version}"
        ),
    );
    for (_, statements) in all.iter().filter(|(number, _)| *number < version) {
        query::<Row>(client, &statements.join("\n"));
    }
    let mut given = Given::default();
    if version > 8 {
        query::<Row>(client, "CALL shardid.create_ticket('orders', 1, 1)");
        query::<u64>(client, "SELECT shardid.next_tickets('orders', 1000)");
        given.ticket = (0..20)
            .map(|_| query::<u64>(client, "SELECT shardid.next_ticket('orders')")[0])
            .next_back();
    }
    if version > 14 {
        query::<Row>(client, "CALL shardid.create_shard(5, 'instagram')");
        given.id =
            (0..20).map(|_| query::<u64>(client, "SELECT shardid.next_id(5)")[0]).next_back();
    }
    let (_, statements) = all.iter().find(|(number, _)| *number == version).expect("it is there");
    for statement in &statements[..count] {
        query::<Row>(client, statement);
    }
    given
}

/// Migration 23 drops a table at its end, and the history said that it had to be there: no `apply` went on.
fn apply_goes_on_wherever_a_migration_was_cut(engine: Engine) {
    let all = migrations();
    let places: Vec<(u32, usize)> = all
        .iter()
        .flat_map(|(version, statements)| (1..=statements.len()).map(|count| (*version, count)))
        .collect();
    assert!(places.len() > 300, "{} places", places.len());
    // What drops something that is in use is always tried.
    let drops = |(version, count): &(u32, usize)| {
        let (_, statements) = all.iter().find(|(number, _)| number == version).expect("it is");
        ["DROP TABLE", "ALTER TABLE"].iter().any(|word| statements[count - 1].starts_with(word))
    };
    let (always, others): (Vec<_>, Vec<_>) = places.into_iter().partition(drops);
    assert!(!always.is_empty());
    let servers = Servers::start(engine, 1);
    servers.sql("my1", "CREATE TABLE app.history LIKE shardid.schema_history; INSERT INTO app.history SELECT * FROM shardid.schema_history");
    let socket = servers.socket("my1");
    let mut client =
        Conn::new(OptsBuilder::new().socket(Some(socket.to_string_lossy())).user(Some("root")))
            .expect("it can be reached");
    query::<Row>(&mut client, SESSION);
    let mut wrong = Vec::new();
    for (version, count) in always.into_iter().chain(sample("places of migrations", others, SAMPLE))
    {
        let place = format!("V{version} after {count}");
        let given = cut_there(&mut client, &all, version, count);
        let run = servers.run(&["apply", "--yes"]);
        if run.code != 0 {
            wrong.push(format!("{place}: {}", run.stderr));
            continue;
        }
        let verified = servers.run(&["tickets", "verify"]);
        if verified.code != 0 {
            wrong.push(format!("{place}: {}{}", verified.stdout, verified.stderr));
        }
        for (before, next) in [
            (given.ticket, "SELECT shardid.next_ticket('orders')"),
            (given.id, "SELECT shardid.next_id(5)"),
        ] {
            let Some(before) = before else { continue };
            match try_query::<u64>(&mut client, next) {
                Ok(next) if next[0] > before => {}
                other => wrong.push(format!("{place}: {next} after {before}: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
