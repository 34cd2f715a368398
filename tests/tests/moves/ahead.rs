//! A shard whose ids are ahead of the clock is moved: the other node goes on above all that it
//! has given out, also where its sequences do not say how far that is.

use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::postgres::Client;
use shardid_tests::{Builder, Clock, Server, assert_unique};

/// 4 ids in a second: it stays ahead for minutes of what it gives in one.
const COARSE: &str =
    "SELECT create_layout('coarse', '2026-01-01Z', '1 s', 8192, 4, if_not_exists => true)";

/// How far ahead of the clock generators are taken, by a clock that goes back so far; the moves
/// of a test do not take as long.
const AHEAD_S: f64 = 280.0;

/// Two nodes, of which the clock of the first can be steered.
fn estate() -> Estate {
    Estate::start_with(2, 8, |number, builder| {
        allowed(if number == 1 { builder.clock(Clock::Steerable) } else { builder })
    })
}

/// What is ahead is within what the settings allow.
fn allowed(builder: Builder) -> Builder {
    builder.conf("shardid.max_drift = '300s'")
}

/// A shard's sequence, with the cluster's layout, and one of its id sequences.
struct Generators {
    shard: u32,
    /// What each has given out, in the order of [`Self::all`].
    given: [(&'static str, Vec<i64>); 2],
}

impl Generators {
    fn make(estate: &Estate, shard: u32) -> Self {
        let schema = schema(shard);
        for node in estate.nodes() {
            estate.psql(&node, COARSE);
        }
        estate.psql(
            &estate.home(shard),
            &format!(
                "SELECT create_id_sequence('{schema}.of_table', {shard}, 'coarse');
                 CREATE TABLE {schema}.owner (id bigint PRIMARY KEY)"
            ),
        );
        Self { shard, given: [("shard", Vec::new()), ("id sequence", Vec::new())] }
    }

    /// The functions that give ids, and their layouts.
    fn all(&self) -> [(String, &'static str); 2] {
        let schema = schema(self.shard);
        [
            (format!("next_id({})", self.shard), "instagram"),
            (format!("next_id_from('{schema}.of_table')"), "coarse"),
        ]
    }

    /// Their sequences.
    fn sequences(&self) -> [String; 2] {
        let schema = schema(self.shard);
        [format!("{schema}.shard_id_seq"), format!("{schema}.of_table")]
    }

    /// Takes ids of each while the clock of the server is ahead.
    fn take_ahead(&mut self, server: &Server) {
        server.set_clock(AHEAD_S);
        let mut client = connect(server);
        let all = self.all();
        for ((_, given), (next, _)) in self.given.iter_mut().zip(all) {
            // As many as are in a few ticks of either layout.
            let sql = format!("SELECT {next} FROM generate_series(1, 40)");
            given.extend(
                client.query(&sql, &[]).expect("ids").iter().map(|row| row.get::<_, i64>(0)),
            );
        }
        server.set_clock(0.0);
    }

    /// Takes ids of each: all are above what it has given so far, which is ahead of the clock
    /// still.
    #[track_caller]
    fn go_on(&mut self, case: &str, server: &Server) {
        let mut client = connect(server);
        let all = self.all();
        for ((what, given), (next, layout)) in self.given.iter_mut().zip(all) {
            let highest = *given.iter().max().expect("some were taken");
            let ahead = format!("SELECT id_time({highest}, '{layout}') > clock_timestamp()");
            let is_ahead: bool = client.query_one(&ahead, &[]).expect("a time").get(0);
            assert!(
                is_ahead,
                "{case}, {what}: the clock has caught up, and the test shows nothing"
            );
            let sql = format!("SELECT {next} FROM generate_series(1, 1000)");
            let rows = client.query(&sql, &[]).unwrap_or_else(|e| panic!("{case}, {what}: {e:?}"));
            let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
            let low = ids.iter().filter(|id| **id <= highest).count();
            assert_eq!(low, 0, "{case}, {what}: not above {highest}, the highest id before");
            given.extend(ids);
        }
    }
}

fn connect(server: &Server) -> Client {
    let mut client = server.connect(DATABASE);
    client.batch_execute("SET shardid.max_drift = '1d'").expect("it is a superuser");
    client
}

#[test]
fn a_shard_that_was_put_back_goes_on_above_its_ids_on_the_other_node_and_back_again() {
    let estate = estate();
    let ways = [
        ("restarted", "ALTER SEQUENCE @ RESTART"),
        (
            "set back",
            "SELECT setval('@', seqmin, false) FROM pg_sequence WHERE seqrelid = '@'::regclass",
        ),
        (
            "restarted by its table",
            "ALTER SEQUENCE @ OWNED BY %.owner.id; TRUNCATE %.owner RESTART IDENTITY; ALTER SEQUENCE @ OWNED BY NONE",
        ),
    ];
    for (shard, (name, way)) in (0..).zip(ways) {
        let mut generators = Generators::make(&estate, shard);
        let put_back = |generators: &Generators, node: &str| {
            for sequence in generators.sequences() {
                let sql = way.replace('@', &sequence).replace('%', &schema(shard));
                estate.psql(node, &sql);
            }
        };
        generators.take_ahead(estate.node("pg1"));
        put_back(&generators, "pg1");
        estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
        // There, too, before anybody has taken one.
        if name == "set back" {
            put_back(&generators, "pg2");
        }
        generators.go_on(&format!("{name}, then moved"), estate.node("pg2"));
        put_back(&generators, "pg2");
        estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
        generators.go_on(&format!("{name}, then taken back"), estate.node("pg1"));
        assert_unique(&generators.given);
    }
}

/// An id sequence that was dropped on one node is made again on the other: 1,000 of 1,000 ids
/// came again.
#[test]
fn an_id_sequence_that_was_dropped_goes_on_above_its_ids_on_the_other_node_and_back_again() {
    let (estate, shard) = (estate(), 0);
    // It does not see the row of what it drops, which stays.
    let mut early = connect(estate.node("pg1"));
    early.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT").expect("it begins");
    let mut generators = Generators::make(&estate, shard);
    let schema = schema(shard);
    let drop = format!("DROP SEQUENCE {schema}.of_table");
    let make = format!("SELECT create_id_sequence('{schema}.of_table', {shard}, 'coarse')");
    generators.take_ahead(estate.node("pg1"));
    early.batch_execute(&format!("{drop}; COMMIT")).expect("it is dropped");
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    estate.psql("pg2", &make);
    generators.go_on("dropped, then moved", estate.node("pg2"));
    estate.psql("pg2", &drop);
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    let stale = "SELECT count(*) FROM shardid.id_sequence s WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = s.sequence)";
    assert_eq!(estate.psql("pg1", stale), "1", "the row was to stay");
    estate.psql("pg1", &format!("DROP SEQUENCE IF EXISTS {schema}.of_table; {make}"));
    generators.go_on("dropped, then taken back", estate.node("pg1"));
    assert_eq!(estate.psql("pg1", stale), "0", "it is for as long as nobody makes another");
    assert_unique(&generators.given);
}

/// The standby had not got the last of it when the primary was lost.
#[test]
fn a_shard_moved_off_a_promoted_server_goes_on_above_what_the_lost_one_gave() {
    // The standby knows how far that may be by what its settings allow.
    let estate = estate();
    let mut generators = Generators::make(&estate, 2);
    let primary = estate.node("pg1");
    {
        let mut client = connect(primary);
        for (next, _) in generators.all() {
            client.query(&format!("SELECT {next}"), &[]).expect("an id");
        }
    }
    let standby = allowed(Server::builder().fsync(false)).name("standby").start_standby_of(primary);
    primary.wait_for(&standby);
    standby.stop();
    generators.take_ahead(primary);
    primary.kill9();
    standby.start();
    standby.promote();
    estate.declare(8, |number, url| if number == 1 { standby.url(DATABASE) } else { url });
    estate.run(&["move", "2", "--to", "pg2", "--yes"]).ok();
    generators.go_on("promoted, then moved", estate.node("pg2"));
    assert_unique(&generators.given);
}

/// It was open there, and refused every id until the clock had caught up.
#[test]
fn a_shard_does_not_go_to_a_node_whose_clock_is_far_behind() {
    let estate = estate();
    let shard = (0..8).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.make_tables(shard);
    let to_pg2 = ["move", &shard.to_string(), "--to", "pg2", "--yes"];
    estate.node("pg1").set_clock(400.0);
    let refused = estate.run(&to_pg2).refused();
    let says = "s behind that of node pg1: a shard that comes from there would give no ids";
    assert!(refused.contains("the clock of node pg2 is ") && refused.contains(says), "{refused}");
    // Nor far ahead: once that is set right, it would give none.
    estate.node("pg1").set_clock(-7200.0);
    let refused = estate.run(&to_pg2).refused();
    let says =
        "s ahead of that of node pg1: a shard that comes from there would give ids of that time";
    assert!(refused.contains("the clock of node pg2 is ") && refused.contains(says), "{refused}");
    estate.node("pg1").set_clock(200.0);
    estate.run(&to_pg2).ok();
    estate.psql("pg2", &format!("SELECT next_id({shard})"));
    estate.node("pg1").set_clock(-400.0);
    let refused = estate.run(&["rollback", "1", "--yes"]).refused();
    assert!(refused.contains("the clock of node pg1 is "), "{refused}");
    estate.node("pg1").set_clock(0.0);
    estate.run(&["rollback", "1", "--yes"]).ok();
    estate.psql("pg1", &format!("SELECT next_id({shard})"));
    // One that was cut, and goes on when the clock is another.
    estate.run_cut("following/before-Compare", &to_pg2);
    estate.node("pg1").set_clock(400.0);
    let resume = ["resume", &estate.last_move(shard)];
    let stopped = estate.run(&resume);
    assert_eq!(stopped.code, 3, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("the clock of node pg2 is "), "{}", stopped.stderr);
    estate.psql("pg1", &format!("SELECT next_id({shard})"));
    estate.node("pg1").set_clock(0.0);
    estate.run(&resume).ok();
    assert_eq!(estate.home(shard), "pg2");
}
