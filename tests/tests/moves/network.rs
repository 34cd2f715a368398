//! Ways that swallow everything and say nothing: no refusal, no broken connection.

use std::time::{Duration, Instant};

use shardid_tests::estate::{DATABASE, Estate, Proxy, Writer, schema};
use shardid_tests::{crowded, wait_until};

const PAUSE: Duration = Duration::from_millis(4);

/// pg1 keeps the catalog, shard 4 lives on pg2 and is moved to pg3.
const SHARD: u32 = 4;

fn estate() -> (Estate, Vec<Proxy>) {
    let estate = Estate::start_with(3, 12, |_, builder| {
        builder.conf("wal_receiver_timeout = '3s'").conf("wal_sender_timeout = '3s'")
    });
    estate.make_tables(SHARD);
    let proxies = estate.servers.iter().map(|server| Proxy::to(server.port())).collect();
    (estate, proxies)
}

fn through(estate: &Estate, proxies: &[Proxy]) {
    estate.declare(12, |number, _| {
        format!("postgres://postgres@127.0.0.1:{}/{DATABASE}", proxies[number - 1].port())
    });
}

/// As a move is taken in hand nobody watched over the ways, and the program waited for ever.
#[test]
fn a_node_that_falls_silent_as_a_move_is_taken_in_hand_ends_the_program() {
    let (estate, proxies) = estate();
    through(&estate, &proxies);
    for (place, victim) in [("enter/source", 1), ("enter/target", 2)] {
        let held = estate.run_held(place, &["move", "4", "--to", "pg3", "--yes"]);
        let began = Instant::now();
        proxies[victim].stall();
        let run = held.let_go();
        let took = began.elapsed();
        proxies[victim].mend();
        assert!(took < crowded(Duration::from_secs(90)), "{place}: {took:?}");
        assert_eq!(run.code, 3, "{place}: {}", run.stderr);
        let words = format!("node pg{} has not answered", victim + 1);
        assert!(run.stderr.contains(&words), "{place}: {}", run.stderr);
        let id = estate.last_move(SHARD);
        wait_until(Duration::from_secs(60), "the move to be free", || {
            estate.run(&["abort", &id, "--yes"]).code == 0
        });
        estate.assert_no_trace(SHARD);
    }
}

#[test]
fn the_program_does_not_wait_for_ever_for_a_node_that_says_nothing() {
    let (estate, proxies) = estate();
    through(&estate, &proxies);
    let mut tally = shardid_tests::estate::Tally::default();
    let cases = [
        ("copying/before-AwaitCopy", 2, "abort"),
        ("following/before-AwaitClose", 1, "resume"),
        ("fenced/before-CarryOver", 2, "abort"),
        ("fenced/before-SealWayBack", 0, "resume"),
        ("switched/before-OpenTarget", 2, "resume"),
    ];
    for (i, (place, victim, word)) in cases.into_iter().enumerate() {
        let writer = Writer::begin(&estate, SHARD, (i as i64) << 32, PAUSE);
        writer.wait_for(1);
        let held = estate.run_held(place, &["move", "4", "--to", "pg3", "--yes"]);
        let began = Instant::now();
        proxies[victim].stall();
        let run = held.let_go();
        assert!(
            began.elapsed() < crowded(Duration::from_secs(90)),
            "{place}: {:?}",
            began.elapsed()
        );
        assert_eq!(run.code, 3, "{place}: {}", run.stderr);
        let words = format!("node pg{} has not answered", victim + 1);
        assert!(run.stderr.contains(&words), "{place}: {}", run.stderr);
        let id = estate.last_move(SHARD);
        if place.starts_with("fenced") && victim == 2 {
            // Nobody waits for it.
            writer.wait_for(5);
        }
        // Said too early it ends as well, and says why.
        let early = estate.say(word, &id);
        assert_eq!(early.code, if victim == 0 { 1 } else { 3 }, "{place}: {}", early.stderr);
        proxies[victim].mend();
        // The sessions that stood still end before their locks are free.
        wait_until(Duration::from_secs(60), "the move to be free", || {
            let run = estate.say(if word == "abort" { "resume" } else { word }, &id);
            let end = if word == "abort" { "aborted" } else { "done" };
            run.code == 0 && estate.state(&id) == end
        });
        writer.wait_for(5);
        if word == "resume" {
            estate.run(&["rollback", &id, "--yes"]).ok();
        }
        writer.wait_for(2);
        tally.add(writer.end());
        estate.assert_whole(SHARD, &tally);
        estate.assert_no_trace(SHARD);
    }
    estate.assert_no_streams();
}

/// The program has its own way to the nodes; the servers keep the one they were told.
fn directly(estate: &Estate) {
    estate.declare(12, |_, url| url);
}

fn resume_stops(estate: &Estate, id: &str) {
    let began = Instant::now();
    let run = estate.run(&["resume", id, "--stall-seconds-max", "4"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(began.elapsed() < crowded(Duration::from_secs(60)), "{:?}", began.elapsed());
    assert!(run.stderr.contains("nothing has come from pg2 to pg3 for 4 s"), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("`shardid abort {id}`")), "{}", run.stderr);
}

#[test]
fn a_copy_that_nothing_comes_to_stops_and_is_given_up() {
    let (estate, proxies) = estate();
    let schema = schema(SHARD);
    let rows = format!("INSERT INTO {schema}.item (n) SELECT generate_series(1, 10000)");
    estate.psql("pg2", &rows);
    through(&estate, &proxies);
    estate.run_cut("copying/before-Subscribe", &["move", "4", "--to", "pg3", "--yes"]);
    let id = estate.last_move(SHARD);
    // No row is copied before the way is lost.
    let mut client = estate.node("pg3").connect(DATABASE);
    let mut locked = client.transaction().expect("the server is up");
    for table in ["item", "line"] {
        let lock = format!("LOCK TABLE {schema}.{table} IN SHARE MODE");
        locked.batch_execute(&lock).expect("the table is there");
    }
    estate.run_cut("copying/before-AwaitCopy", &["resume", &id]);
    proxies[1].stall();
    locked.rollback().expect("the server is up");
    directly(&estate);
    resume_stops(&estate, &id);
    estate.run(&["abort", &id, "--yes"]).ok();
    assert_eq!(estate.state(&id), "aborted");
    proxies[1].cut();
    estate.psql("pg2", &rows.replace("(1, 10000)", "(10001, 10002)"));
    estate.assert_no_trace(SHARD);
    estate.assert_no_streams();
}

#[test]
fn a_stream_that_nothing_comes_by_stops_the_move_and_shows_in_the_journal() {
    let (estate, proxies) = estate();
    through(&estate, &proxies);
    estate.run_cut("following/before-LowerFence", &["move", "4", "--to", "pg3", "--yes"]);
    let id = estate.last_move(SHARD);
    proxies[1].stall();
    let rows = format!("INSERT INTO {}.item (n) SELECT generate_series(1, 20000)", schema(SHARD));
    estate.psql("pg2", &rows);
    directly(&estate);
    resume_stops(&estate, &id);
    let words = format!(
        "move {id}: the new copy on pg3 does not follow: nobody reads slot shardid_move_{id} of pg2"
    );
    wait_until(Duration::from_secs(40), "the slot to be without a reader", || {
        estate.run(&["moves"]).stderr.contains(&words)
    });
    proxies[1].mend();
    estate.run(&["resume", &id]).ok();
    assert_eq!(
        estate.psql("pg3", &format!("SELECT count(*) FROM {}.item", schema(SHARD))),
        "20000"
    );

    // The old copy follows again once it can, and says nothing then.
    estate.node("pg2").set_conf("max_logical_replication_workers = 0");
    estate.node("pg2").restart();
    let words = format!(
        "move {id}: the old copy on pg2 does not follow: nobody reads slot shardid_back_{id} of pg3"
    );
    // pg3 may need a while to see that the reader has gone.
    let mut said = String::new();
    wait_until(Duration::from_secs(40), "the slot of the old copy to be without a reader", || {
        said = estate.run(&["moves"]).stderr;
        said.contains(&words)
    });
    assert!(said.contains(&format!("`shardid retire {id}`")), "{said}");
    estate.node("pg2").set_conf("max_logical_replication_workers = 10");
    estate.node("pg2").restart();
    wait_until(Duration::from_secs(40), "the old copy to follow", || {
        !estate.run(&["moves"]).stderr.contains("nobody reads")
    });
    estate.run(&["rollback", &id, "--yes"]).ok();
    estate.assert_no_trace(SHARD);
    estate.assert_no_streams();
}
