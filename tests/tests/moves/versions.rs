//! Servers of two versions: a shard moves to the later one, and back while its old
//! copy follows. Skipped where `SHARDID_PG_CONFIG_LATER` names no later PostgreSQL.

use shardid_tests::estate::{Estate, schema};
use shardid_tests::{Installation, program};

use crate::carried::{make_roles, rich};

const SHARDS: u32 = 4;

fn run(estate: &Estate, dump: &Installation, arguments: &[&str]) -> program::Run {
    let mut command = estate.command(arguments);
    command.env("PG_CONFIG", dump.program("pg_config"));
    program::run(command)
}

/// The zoo, with all that one version writes in other words than the other.
#[test]
fn a_shard_moves_to_a_later_version_and_back() {
    let Some(later) = Installation::later() else {
        eprintln!("skipped: SHARDID_PG_CONFIG_LATER names no later PostgreSQL");
        return;
    };
    let own = Installation::get();
    assert!(later.major() > own.major(), "{} is not after {}", later.major(), own.major());
    let estate = Estate::start_with(2, SHARDS, |number, builder| {
        if number == 2 { builder.installation(later) } else { builder }
    });
    make_roles(&estate);
    let shard = (0..SHARDS).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    let (number, name) = (shard.to_string(), schema(shard));
    estate.psql("pg1", &rich(own).replace('@', &name).replace('#', &number));
    let count = |node: &str| estate.psql(node, &format!("SELECT count(*) FROM {name}.customer"));
    let add = |node: &str, email: &str| {
        estate.psql(node, &format!("INSERT INTO {name}.customer (email) VALUES ('{email}')"))
    };
    let before: i64 = count("pg1").parse().expect("a number");
    let moving = ["move", &number, "--to", "pg2", "--yes"];

    // What the later one has made is read by its own pg_dump alone.
    let refused = run(&estate, own, &moving).refused();
    let words =
        format!("pg_dump {} cannot dump node pg2 (PostgreSQL {})", own.major(), later.major());
    assert!(refused.contains(&words) && !refused.contains("move 1"), "{refused}");

    // What is not the same is found for all that may be written in other words.
    let mut command = estate.command(&moving);
    command.env("PG_CONFIG", later.program("pg_config"));
    command.env("SHARDID_CUT_AT", "copying/before-MakeIndexes");
    let cut = program::run(command);
    assert_eq!(cut.code, -1, "{}", cut.stderr);
    let id = estate.last_move(shard);
    let view = format!(
        "CREATE OR REPLACE VIEW {name}.one AS SELECT a, b + 1 AS more, c FROM {name}.pair WHERE a > 5 ORDER BY"
    );
    estate.psql("pg2", &format!("{view} a; ALTER DOMAIN {name}.code SET DEFAULT 'other'"));
    let found = run(&estate, later, &["resume", &id]);
    assert_eq!(found.code, 3, "{}", found.stderr);
    assert!(found.stderr.contains("these differ: DOMAIN code, VIEW one\n"), "{}", found.stderr);
    estate.psql("pg2", &format!("{view} c; ALTER DOMAIN {name}.code SET DEFAULT 'none'"));
    run(&estate, later, &["resume", &id]).ok();
    add("pg2", "later");

    // Nor does a rollback go by the names alone.
    let look = |dump| run(&estate, dump, &["rollback", &id, "--dry-run"]).ok();
    assert!(!look(later).contains("not carried back"), "{}", look(later));
    estate.psql(
        "pg2",
        &format!("ALTER TYPE {name}.mood ADD VALUE 'more'; ALTER TABLE {name}.cached SET (fillfactor = 60); {view} a"),
    );
    let named = |what: &str| format!("not carried back from pg2: {what}\n");
    let now = look(later);
    for what in ["TABLE cached", "VIEW one", "TYPE mood"] {
        assert!(now.contains(&named(what)), "{what} is not in {now}");
    }
    // An older pg_dump keeps nobody from going back, and shows less.
    assert!(look(own).contains("not carried back from pg2: view "), "{}", look(own));
    run(&estate, later, &["rollback", &id, "--yes"]).ok();
    assert_eq!(count("pg1"), (before + 1).to_string());
    add("pg1", "back");
    run(&estate, later, &moving).ok();
    assert_eq!(count("pg2"), (before + 2).to_string());
    let id = estate.last_move(shard);
    run(&estate, later, &["retire", &id, "--yes"]).ok();
    estate.assert_no_trace(shard);
    let words = run(&estate, later, &["move", &number, "--to", "pg1", "--yes"]).refused();
    assert!(words.contains("move to a node of the same version or a later one"), "{words}");
    // The schema has an identity column, which is worth a word on any node.
    let found = estate.run(&["verify", "--data"]).stdout;
    let others = found.lines().filter(|line| {
        !line.is_empty() && !line.starts_with("OK") && !line.contains("is an identity")
    });
    assert_eq!(others.collect::<Vec<_>>(), [""; 0]);
    estate.assert_no_streams();
}
