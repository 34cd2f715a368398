//! Names are names in every encoding that a database may have.
//!
//! pgrx takes every text for UTF-8: a ticket called `ä` was `XX000` in LATIN1, and in EUC_JP the
//! script could not be read.

use std::fs;

use shardid_tests::postgres::Client;
use shardid_tests::{Database, Refusal};

use crate::ask::{one, run};

/// Encodings, and a name that each can write.
const ENCODINGS: [(&str, &str); 6] = [
    ("UTF8", "Zürich"),
    ("LATIN1", "Zürich"),
    ("WIN1252", "Zürich€"),
    ("EUC_JP", "東京"),
    ("KOI8R", "Москва"),
    ("SQL_ASCII", "Zürich"),
];

/// What works, line after line; `@` is the name.
const STORY: &str = "
    CREATE EXTENSION shardid
    SELECT create_layout('@', '2026-01-01Z', '10 ms', 1024, 1000)
    SELECT create_shard(5), create_shard(6, 'schema @', '@'), create_shard(7, layout => '@')
    SELECT create_id_sequence('\"ids @\"', 6, '@'), create_id_sequence('\"schema @\".ids', 6)
    CREATE TABLE \"table @\" (id bigint DEFAULT next_id(6), b bigint DEFAULT \"schema @\".next_id(), c bigint DEFAULT next_id_from('\"ids @\"'))
    INSERT INTO \"table @\" SELECT FROM generate_series(1, 10)
    SELECT next_id(5), next_ids(6, 3)
    SELECT create_ticket('@', 1, 2), create_ticket('bills @')
    SELECT next_ticket('@'), next_tickets('@', 3), next_ticket_gapless('bills @')
    SELECT create_segment('@', 10)
    SELECT next_segment('@'), alter_segment('@', 20)
    SELECT shardid.raise_ticket('@', 70), shardid.raise_segment('@', 70)
    SELECT id_time(next_id(6), '@'), id_shard(next_id(6), '@'), id_slot(next_id(6), '@'), id_at(now(), '@')
    SELECT id_parts(next_id(6), '@'), id_explain(next_id(6)), id_explain(5)
    SELECT * FROM shardid.shards
    SELECT * FROM shardid.tickets
    SELECT * FROM shardid.segments
    CREATE TABLE \"parts @\" (id bigint) PARTITION BY RANGE (id)
    SELECT create_id_partitions('\"parts @\"', '2026-02-01Z', '2026-03-01Z', '1 week', '@')
    UPDATE shardid.shard SET state = 'fenced' WHERE shard = 6
    UPDATE shardid.shard SET state = 'open' WHERE shard = 6
    SELECT create_layout('@', '2026-01-01Z', '10 ms', 1024, 1000, if_not_exists => true), create_shard(6, 'schema @', '@', true)
    SELECT drop_shard(7), create_shard(7, layout => '@'), shard_for('@', 1024)
    SELECT drop_ticket('@'), drop_ticket('bills @'), drop_segment('@')";

/// What is refused, and how; whether the name is said as it is.
const REFUSED: &[(&str, &str, bool)] = &[
    ("42704", "SELECT next_ticket('no @')", false),
    ("42704", "SELECT * FROM next_tickets('no @', 2)", true),
    ("42704", "SELECT next_ticket_gapless('no @')", false),
    ("42704", "SELECT drop_ticket('no @')", true),
    ("42704", "SELECT next_segment('no @')", true),
    ("42704", "SELECT id_time(1, 'no @')", false),
    ("42704", "SELECT create_shard(9, layout => 'no @')", true),
    ("22P02", "SELECT id_from_text('@')", false),
    ("42704", "SELECT next_id_from('\"plain @\"')", true),
    ("22003", "SELECT create_shard(9000, layout => '@')", true),
    ("2BP01", "SELECT drop_shard(6)", true),
    (
        "SI001",
        "UPDATE shardid.shard SET state = 'moved', node = 'node @' WHERE shard = 5; SELECT next_id(5)",
        true,
    ),
    ("55000", "BEGIN; ALTER SEQUENCE \"schema @\".shard_id_seq RESTART; SELECT next_id(6)", true),
    ("55000", "ALTER SEQUENCE \"schema @\".shard_id_seq INCREMENT 1; SELECT next_id(6)", true),
];

#[test]
fn every_name_is_taken_and_said_in_every_encoding() {
    let frame = Database::fresh_plain();
    let server = frame.server();
    for (encoding, name) in ENCODINGS {
        let database = format!("{}_{}", frame.name(), encoding.to_lowercase());
        server.psql(
            "postgres",
            &format!("CREATE DATABASE {database} TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"),
        );
        let mut client = server.connect(&database);
        for statement in STORY.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let statement = statement.replace('@', name);
            client
                .batch_execute(&statement)
                .unwrap_or_else(|error| panic!("{encoding}: {statement}: {error:?}"));
        }
        run(&mut client, &format!("CREATE SEQUENCE \"plain {name}\""));
        for (sqlstate, sql, is_said) in REFUSED {
            let sql = sql.replace('@', name);
            let refusal = refused(&mut client, encoding, &sql);
            assert_eq!(refusal.sqlstate, *sqlstate, "{encoding}: {sql}: {refusal:?}");
            let said = format!("{} {} {}", refusal.message, refusal.detail, refusal.hint);
            // Where pgrx raises it, other characters are shown by their numbers.
            let shown = *is_said || ["UTF8", "SQL_ASCII"].contains(&encoding);
            let words = if shown {
                name.to_owned()
            } else {
                format!("\\u{:04x}", name.chars().find(|c| !c.is_ascii()).unwrap() as u32)
            };
            assert!(said.contains(&words), "{encoding}: {sql}: no {words} in {refusal:?}");
        }
        assert_eq!(
            one::<i64>(&mut client, "SELECT count(*) FROM shardid.shards WHERE layout ~ '[^a-z]'"),
            2
        );
        drop(client);
        server.psql("postgres", &format!("DROP DATABASE {database} WITH (FORCE)"));
    }
}

fn refused(client: &mut Client, encoding: &str, sql: &str) -> Refusal {
    let error = client.batch_execute(sql).expect_err(&format!("{encoding}: {sql} succeeds"));
    let refusal = Refusal::of(&error).unwrap_or_else(|| panic!("{encoding}: {sql}: {error:?}"));
    run(client, "ROLLBACK");
    refusal
}

/// What is not ASCII, some encoding cannot write: EUC_JP could not even read it.
#[test]
fn the_scripts_are_ascii() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../pg_extension/sql");
    for entry in fs::read_dir(folder).expect("the scripts are there") {
        let file = entry.expect("an entry").path();
        // Released, and frozen.
        if file.ends_with("shardid--0.1.0.sql") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("a text");
        let other: Vec<&str> = text.lines().filter(|line| !line.is_ascii()).collect();
        assert!(other.is_empty(), "{}: {other:#?}", file.display());
    }
}
