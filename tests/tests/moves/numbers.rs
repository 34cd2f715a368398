//! A plain `nextval` gives no number twice wherever a move is cut, whichever node it is asked of.

use std::collections::BTreeSet;
use std::time::Duration;

use shardid_cluster::{MoveKind, MoveState};
use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::{sample, wait_until};

use crate::matrix::places;
use crate::shared;

/// How many places are tried in `make test`, for each node and state.
const SAMPLE: usize = 4;

/// What `nextval` says of a sequence that has come to its end.
const CLOSED: &str = "2200H";

/// Sequences of every kind, none of which comes round within a test.
const NAMES: [&str; 12] = [
    "plain",
    "cached",
    "down",
    "small",
    "lowest",
    "highest",
    "wheel",
    "wheel_down",
    "late",
    "counted_id_seq",
    "counted_serial_seq",
    "shard_id_seq",
];

/// A shard with sequences, and every number that they have given.
struct Drawn {
    estate: &'static Estate,
    shard: u32,
    schema: String,
    rules: String,
    given: BTreeSet<(&'static str, i64)>,
}

impl Drawn {
    fn new() -> Self {
        let (estate, shard) = (shared::estate(), shared::shard());
        let schema = schema(shard);
        estate.psql(
            "pg1",
            &format!(
                "CREATE SEQUENCE {schema}.plain;
                 CREATE SEQUENCE {schema}.cached CACHE 20;
                 CREATE SEQUENCE {schema}.down INCREMENT -2 MAXVALUE 100000 MINVALUE -100000 START 100000;
                 CREATE SEQUENCE {schema}.small AS smallint MINVALUE -32768 START -32768;
                 CREATE SEQUENCE {schema}.lowest MINVALUE -9223372036854775808 START -9223372036854775808;
                 CREATE SEQUENCE {schema}.highest INCREMENT -1 MAXVALUE 9223372036854775807 START 9223372036854775807;
                 CREATE SEQUENCE {schema}.wheel MINVALUE -5 MAXVALUE 100000 START 7 CYCLE;
                 CREATE SEQUENCE {schema}.wheel_down AS int INCREMENT -3 MINVALUE -100000 MAXVALUE 5 START -1 CYCLE CACHE 3;
                 CREATE SEQUENCE {schema}.late INCREMENT 10 START 1000;
                 CREATE TABLE {schema}.counted (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, serial bigserial);"
            ),
        );
        let mut drawn =
            Self { estate, shard, schema, rules: String::new(), given: BTreeSet::new() };
        drawn.rules = drawn.rules_on("pg1");
        drawn
    }

    fn rules_on(&self, node: &str) -> String {
        self.estate.psql(
            node,
            &format!(
                "SELECT relname, relpersistence, seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle
                   FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid
                  WHERE relnamespace = '{}'::regnamespace ORDER BY 1",
                self.schema
            ),
        )
    }

    /// Asks one node, then the other, for numbers of all sequences, where they have any to give; returns which do.
    fn draw(&mut self, at: &str) -> BTreeSet<&'static str> {
        let mut giving = BTreeSet::new();
        for _ in 0..2 {
            for node in ["pg1", "pg2"] {
                // A session of its own: none has numbers in its cache.
                let mut client = self.estate.node(node).connect(DATABASE);
                for name in NAMES {
                    let sql = format!("SELECT nextval('{}.{name}')", self.schema);
                    match client.query_one(&sql, &[]) {
                        Ok(row) => {
                            let number = row.get(0);
                            let is_new = self.given.insert((name, number));
                            assert!(is_new, "{name} gives {number} once more, on {node}, {at}");
                            giving.insert(node);
                        }
                        Err(error) => {
                            let code = error.code().expect("the servers are up").code();
                            // Closed, or dropped with its copy.
                            let closed = [CLOSED, "42P01", "3F000"].contains(&code);
                            assert!(closed, "{name} on {node}, {at}: {error:?}");
                        }
                    }
                }
            }
        }
        giving
    }

    /// The shard is on one node, and all of its sequences go on there, by the rules that they had.
    fn check_home(&mut self, home: &'static str, at: &str) {
        assert_eq!(self.estate.home(self.shard), home, "{at}");
        assert_eq!(self.rules_on(home), self.rules, "{at}");
        let before = self.given.len();
        assert_eq!(self.draw(at), BTreeSet::from([home]), "{at}");
        assert_eq!(self.given.len(), before + 2 * NAMES.len(), "{at}");
    }

    /// What takes the shard to the other node.
    fn way(&self, home: &str) -> Vec<String> {
        let words: Vec<String> = match kind(home) {
            MoveKind::Copy => {
                ["move", &self.shard.to_string(), "--to", "pg2"].map(Into::into).into()
            }
            MoveKind::Rollback => {
                let of = format!(
                    "SELECT max(move) FROM shardid.move WHERE shard = {} AND kind = 'copy' AND state = 'done'",
                    self.shard
                );
                vec!["rollback".to_owned(), self.estate.psql("pg1", &of)]
            }
        };
        words.into_iter().chain(["--yes".to_owned()]).collect()
    }

    /// Goes to the other node.
    fn go(&mut self, home: &'static str) {
        let way = self.way(home);
        self.estate.run(&way.iter().map(String::as_str).collect::<Vec<_>>()).ok();
        self.check_home(other(home), &format!("from {home}"));
    }

    /// Begins to go to the other node, and is cut; returns the number of the move.
    fn cut(&mut self, home: &str, place: &str) -> String {
        let way = self.way(home);
        self.estate.run_cut(place, &way.iter().map(String::as_str).collect::<Vec<_>>());
        let at = format!("cut at {place} from {home}");
        let giving = self.draw(&at);
        assert!(giving.len() <= 1, "{giving:?} give numbers, {at}");
        self.estate.last_move(self.shard)
    }
}

fn kind(home: &str) -> MoveKind {
    if home == "pg1" { MoveKind::Copy } else { MoveKind::Rollback }
}

fn other(home: &str) -> &'static str {
    if home == "pg1" { "pg2" } else { "pg1" }
}

/// The new copy's sequences were opened behind the fence, at the numbers that the old one went on from.
#[test]
fn no_number_is_given_twice_where_a_move_is_cut_behind_the_fence() {
    let mut drawn = Drawn::new();
    for home in ["pg1", "pg2"] {
        let mut places = places(kind(home), &[MoveState::Fenced]);
        // From there on it is switched.
        places.retain(|place| !place.ends_with("after-next"));
        for place in sample(&format!("places behind the fence from {home}"), places, SAMPLE) {
            let id = drawn.cut(home, &place);
            drawn.estate.run(&["abort", &id, "--yes"]).ok();
            drawn.check_home(home, &format!("abort after {place} from {home}"));
            let id = drawn.cut(home, &place);
            drawn.estate.run(&["resume", &id]).ok();
            drawn.check_home(other(home), &format!("resume after {place} from {home}"));
            drawn.go(other(home));
        }
        drawn.go(home);
    }
}

/// Until the target is open, and again after it, they were set to where the old ones had been.
#[test]
fn no_number_is_given_twice_where_a_move_is_cut_after_the_switch() {
    let mut drawn = Drawn::new();
    for home in ["pg1", "pg2"] {
        let mut places = places(kind(home), &[MoveState::Switched]);
        places.insert(0, "fenced/after-next".to_owned());
        // Then it is done.
        places.pop();
        for place in sample(&format!("places after the switch from {home}"), places, SAMPLE) {
            let id = drawn.cut(home, &place);
            // Once more, so that what is done before is done twice.
            if place.contains("Target") || place.contains("Source") {
                drawn.estate.run_cut(&place, &["resume", &id]);
                drawn.draw(&format!("cut again at {place} from {home}"));
            }
            drawn.estate.run(&["resume", &id]).ok();
            drawn.check_home(other(home), &format!("resume after {place} from {home}"));
            drawn.go(other(home));
        }
        drawn.go(home);
    }
}

/// The program took the fence down, and left the new copy's sequences open for as long as the move stood.
#[test]
fn no_number_is_given_twice_where_a_fence_is_given_up() {
    let mut drawn = Drawn::new();
    let number = drawn.shard.to_string();
    for ends in ["abort", "resume"] {
        let arguments = ["move", &number, "--to", "pg2", "--yes"];
        let held = drawn.estate.run_held("fenced/before-NoteTarget", &arguments);
        drawn.estate.psql(
            "pg2",
            &format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ '^shardid move: shard {number}, '"
            ),
        );
        let run = held.let_go();
        assert_eq!(run.code, 3, "{}", run.stderr);
        let id = drawn.estate.last_move(drawn.shard);
        wait_until(Duration::from_secs(30), "the shard to be open", || {
            let sql = format!("SELECT state FROM shardid.shard WHERE shard = {number}");
            drawn.estate.psql("pg1", &sql) == "open"
        });
        let at = format!("{ends} after {}", run.stderr);
        drawn.draw(&at);
        drawn.draw(&at);
        drawn.estate.run(&[ends, &id, "--yes"][..if ends == "abort" { 3 } else { 2 }]).ok();
        drawn.check_home(if ends == "abort" { "pg1" } else { "pg2" }, &at);
    }
}

/// What was renamed on the node that is left is open on the other one, by the name that it has there.
#[test]
fn a_sequence_that_is_renamed_after_the_switch_goes_on() {
    let mut drawn = Drawn::new();
    let id = drawn.cut("pg1", "fenced/after-next");
    let schema = &drawn.schema;
    drawn.estate.psql(
        "pg1",
        &format!(
            "ALTER SEQUENCE {schema}.plain RENAME TO other;
             ALTER SEQUENCE {schema}.cached RENAME TO plain;
             CREATE SEQUENCE {schema}.cached MINVALUE 100 MAXVALUE 130"
        ),
    );
    let run = drawn.estate.run(&["resume", &id]);
    let said = run.stderr.clone();
    run.ok();
    assert!(said.contains("WARNING"), "{said}");
    drawn.check_home("pg2", "resume after two were renamed");
}
