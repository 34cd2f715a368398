//! The zoo in real moves: every change of a definition stops a move that is under way, and is named by a
//! rollback, or refuses it.

use std::collections::BTreeSet;

use shardid_tests::estate::Estate;
use shardid_tests::{Installation, sample};

use crate::carried::{make_roles, rich};
use crate::zoo::{CHANGES, statements};

/// How many of the changes are tried in `make test`.
const TRIED: usize = 3;

/// What a rollback need not name: it carries the rules of sequences itself.
const CARRIED_BACK: [&str; 2] =
    ["ALTER SEQUENCE \"@\".invoice INCREMENT 7;", "ALTER SEQUENCE \"@\".invoice CACHE 3;"];

/// The zoo in a shard of a cluster of its own, as some changes have objects outside of the schema.
struct Zoo {
    estate: Estate,
    shard: u32,
    schema: String,
}

impl Zoo {
    fn open() -> Self {
        let estate = Estate::start(2, 4);
        make_roles(&estate);
        let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
        let zoo = Self { estate, shard, schema: format!("Zoo {shard}") };
        zoo.run(
            "pg1",
            &format!(
                "ALTER SCHEMA shard_{shard:04} RENAME TO \"@\"; {}",
                rich(Installation::get())
            ),
        );
        zoo
    }

    fn run(&self, node: &str, sql: &str) {
        let sql = sql.replace('@', &self.schema).replace('#', &self.shard.to_string());
        self.estate.psql(node, &sql);
    }

    fn moving(&self) -> [String; 5] {
        ["move", &self.shard.to_string(), "--to", "pg2", "--yes"].map(str::to_owned)
    }
}

/// The changes that can be made without a materialized view, which no move carries, and which of them
/// are to be tried.
fn changes(name: &str) -> (Vec<&'static str>, BTreeSet<usize>) {
    let all: Vec<&str> = statements(CHANGES).filter(|change| !change.contains("moods")).collect();
    let tried = sample(name, (0..all.len()).collect(), TRIED).into_iter().collect();
    (all, tried)
}

/// Whether a change takes away what another one has made outside of the schema.
fn is_undone(change: &str) -> bool {
    ["DROP STATISTICS public", "DROP VIEW public", "DROP CAST"]
        .iter()
        .any(|begin| change.starts_with(begin))
}

/// Whether a move is refused before it begins until a change is made.
fn is_refused_before(change: &str) -> bool {
    is_undone(change)
        || ["cached SET LOGGED", "orders ENABLE TRIGGER noted", "orders REPLICA IDENTITY DEFAULT"]
            .iter()
            .any(|what| change.replace("\"@\".", "").contains(what))
}

/// Whether a change makes something that crosses the border of the schema.
fn is_outside(change: &str) -> bool {
    ["CREATE STATISTICS public", "CREATE VIEW public", "CREATE CAST", "CREATE PUBLICATION"]
        .iter()
        .any(|begin| change.starts_with(begin))
}

#[test]
fn a_rollback_names_every_change_of_a_definition_or_is_refused() {
    let zoo = Zoo::open();
    let moving = zoo.moving();
    zoo.estate.run(&moving.each_ref().map(String::as_str)).ok();
    let id = zoo.estate.last_move(zoo.shard);
    let look = || zoo.estate.run(&["rollback", &id, "--dry-run"]);
    let (all, tried) = changes("changes before a rollback");
    let mut unseen = Vec::new();
    for (number, change) in all.into_iter().enumerate() {
        zoo.run("pg2", change);
        if tried.contains(&number) {
            let run = look();
            let is_named = run.stdout.contains("not carried back from pg2: ");
            let is_seen = run.code == 1 || is_named;
            assert!(run.code <= 1, "{change}: {}", run.stderr);
            if is_seen == (CARRIED_BACK.contains(&change) || is_undone(change)) {
                unseen.push((change, run.code, run.stdout + &run.stderr));
            }
        }
        // So that the next one is seen by itself.
        if !is_outside(change) && !is_undone(change) {
            zoo.run("pg1", change);
        }
    }
    assert!(unseen.is_empty(), "{unseen:#?}");
    zoo.run("pg2", "DROP PUBLICATION somebodys");
    let run = look();
    assert!(run.code == 0 && !run.stdout.contains("not carried back"), "{}", run.stdout);
}

#[test]
fn every_change_of_a_definition_stops_a_move_that_is_under_way() {
    let zoo = Zoo::open();
    let moving = zoo.moving();
    let moving = moving.each_ref().map(String::as_str);
    let (all, tried) = changes("changes during a move");
    for (number, change) in all.into_iter().enumerate() {
        if !tried.contains(&number) {
            zoo.run("pg1", change);
            continue;
        }
        if is_refused_before(change) {
            zoo.estate.run(&moving).refused();
            zoo.run("pg1", change);
            continue;
        }
        let held = zoo.estate.run_held("following/before-AwaitClose", &moving);
        zoo.run("pg1", change);
        let run = held.let_go();
        let id = zoo.estate.last_move(zoo.shard);
        assert_eq!(run.code, 3, "{change}: {}", run.stderr);
        let words = format!("schema {} was changed during the move: ", zoo.schema);
        assert!(run.stderr.contains(&words), "{change}: {}", run.stderr);
        zoo.estate.run(&["abort", &id, "--yes"]).ok();
        assert_eq!(zoo.estate.home(zoo.shard), "pg1", "{change}");
    }
}
