//! Servers of two versions: a shard moves to the later one, and back while its old
//! copy follows. Skipped where `SHARDID_PG_CONFIG_LATER` names no later PostgreSQL.

use shardid_tests::estate::{Estate, schema};
use shardid_tests::{Installation, program};

use crate::carried::{RICH, make_roles};

const SHARDS: u32 = 4;

fn run(estate: &Estate, dump: &Installation, arguments: &[&str]) -> program::Run {
    let mut command = estate.command(arguments);
    command.env("PG_CONFIG", dump.program("pg_config"));
    program::run(command)
}

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
    // With the client programs of either version: they do not print the same.
    for (shard, dump) in [(0, own), (1, later)] {
        let number = shard.to_string();
        let name = schema(shard);
        estate.psql("pg1", &RICH.replace('@', &name).replace('#', &number));
        let count =
            |node: &str| estate.psql(node, &format!("SELECT count(*) FROM {name}.customer"));
        let add = |node: &str, email: &str| {
            estate.psql(node, &format!("INSERT INTO {name}.customer (email) VALUES ('{email}')"))
        };
        let before: i64 = count("pg1").parse().expect("a number");
        run(&estate, dump, &["move", &number, "--to", "pg2", "--yes"]).ok();
        add("pg2", "later");
        let id = estate.last_move(shard);
        run(&estate, dump, &["rollback", &id, "--yes"]).ok();
        assert_eq!(count("pg1"), (before + 1).to_string());
        add("pg1", "back");
        run(&estate, dump, &["move", &number, "--to", "pg2", "--yes"]).ok();
        assert_eq!(count("pg2"), (before + 2).to_string());
        let id = estate.last_move(shard);
        run(&estate, dump, &["retire", &id, "--yes"]).ok();
        estate.assert_no_trace(shard);
        let words = run(&estate, later, &["move", &number, "--to", "pg1", "--yes"]).refused();
        assert!(words.contains("move to a node of the same version or a later one"), "{words}");
    }
    // The schema has an identity column, which is worth a word on any node.
    let found = estate.run(&["verify", "--data"]).stdout;
    let others = found.lines().filter(|line| !line.is_empty() && !line.contains("is an identity"));
    assert_eq!(others.collect::<Vec<_>>(), [""; 0]);
    estate.assert_no_streams();
}
