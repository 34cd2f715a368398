//! Both copies are compared, and nobody waits for that.

use std::time::Duration;

use shardid_tests::estate::{Estate, Writer, schema};
use shardid_tests::{crowded, wait_until};

use crate::shared;

/// Rows that take longer to read than writers may wait.
const ROWS: u32 = 600_000;

fn fill(estate: &Estate, shard: u32, rows: u32) {
    estate.make_tables(shard);
    let schema = schema(shard);
    estate.psql(
        &estate.home(shard),
        &format!(
            "CREATE TABLE {schema}.photo (id bigint PRIMARY KEY, caption text);
             INSERT INTO {schema}.photo SELECT n, repeat('a photo ', 4) || n FROM generate_series(1, {rows}) AS n;
             ANALYZE {schema}.photo"
        ),
    );
}

/// Milliseconds that a move was in a state, all in all.
fn spent(estate: &Estate, id: &str, state: &str) -> f64 {
    let sql = format!(
        "SELECT coalesce(sum(ms), 0) FROM (SELECT state, 1000 * extract(epoch FROM lead(since) OVER (ORDER BY since) - since) AS ms
           FROM shardid.move_log WHERE move = {id}) AS t WHERE state = '{state}'"
    );
    estate.psql("pg1", &sql).parse().expect("milliseconds")
}

#[test]
fn all_rows_are_compared_before_the_fence_and_no_writer_waits_for_that() {
    let (estate, shard) = (shared::estate(), shared::shard());
    fill(estate, shard, ROWS);
    let number = shard.to_string();
    let writers: Vec<Writer> = (0..2)
        .map(|lane| Writer::begin(estate, shard, lane << 40, Duration::from_millis(2)))
        .collect();
    let run = estate.run(&["move", &number, "--to", "pg2", "--verify", "full", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let id = estate.last_move(shard);
    let rollback = estate.run(&["rollback", &id, "--verify", "full", "--yes"]);
    assert_eq!(rollback.code, 0, "{}", rollback.stderr);
    let mut tally = shardid_tests::estate::Tally::default();
    for writer in writers {
        tally.add(writer.end());
    }
    for run in [&run, &rollback] {
        let said = run.stderr.lines().find(|line| line.contains("rows compared in"));
        let said = said.unwrap_or_else(|| panic!("nothing was compared:\n{}", run.stderr));
        let words: Vec<&str> = said.split_whitespace().collect();
        let rows: u32 = words[2].parse().expect("a number of rows");
        assert!(rows > ROWS, "{said}: those of the writers too");
    }
    let said = run.stderr.lines().find_map(|l| l.split_once("rows compared in ")).expect("above").1;
    let compared: f64 = said.trim_end_matches(" s").parse().expect("seconds");
    let fenced = spent(estate, &id, "fenced");
    assert!(fenced < compared * 1000.0, "{fenced} ms behind the fence, {compared} s comparing");
    let longest = tally.took.iter().map(|(_, took)| *took).max().expect("rows were written");
    println!("compared in {compared} s, {fenced} ms behind the fence, longest write {longest:?}");
    assert!(longest < crowded(Duration::from_millis(1500)), "a writer waited {longest:?}");
    estate.assert_whole(shard, &tally);
    estate.assert_no_trace(shard);
}

#[test]
fn a_copy_that_differs_is_found_before_the_fence_and_the_shard_stays() {
    let (estate, shard) = (shared::estate(), shared::shard());
    fill(estate, shard, 150_000);
    let (number, schema) = (shard.to_string(), schema(shard));
    let writer = Writer::begin(estate, shard, 0, Duration::from_millis(2));
    let held = estate.run_held(
        "following/before-Compare",
        &["move", &number, "--to", "pg2", "--verify", "full", "--yes"],
    );
    // As many rows as before, and one is another.
    estate.psql(
        "pg2",
        &shared::past_the_guard(&format!(
            "UPDATE {schema}.photo SET caption = 'other' WHERE id = 77"
        )),
    );
    let run = held.let_go();
    assert_eq!(run.code, 3, "{}", run.stderr);
    let words =
        format!("the new copy of table {schema}.photo differs: 150000 rows on pg1, 150000 on pg2");
    assert!(run.stderr.contains(&words), "{}", run.stderr);
    let id = estate.last_move(shard);
    assert!(run.stderr.contains(&format!("`shardid abort {id}`")), "{}", run.stderr);
    assert_eq!(spent(estate, &id, "fenced"), 0.0);
    writer.wait_for(5);
    estate.run(&["abort", &id, "--yes"]).ok();
    let tally = writer.end();
    assert!(!tally.refused.contains_key("SI002"), "{:?}", tally.refused);
    estate.assert_whole(shard, &tally);
    estate.assert_no_trace(shard);
}

#[test]
fn a_small_copy_that_differs_is_found_behind_the_fence_too() {
    let (estate, shard) = (shared::estate(), shared::shard());
    fill(estate, shard, 100);
    let (number, schema) = (shard.to_string(), schema(shard));
    let held =
        estate.run_held("following/before-AwaitClose", &["move", &number, "--to", "pg2", "--yes"]);
    estate
        .psql("pg2", &shared::past_the_guard(&format!("DELETE FROM {schema}.photo WHERE id = 77")));
    let run = held.let_go();
    assert_eq!(run.code, 3, "{}", run.stderr);
    let words = format!("the new copy of table {schema}.photo differs: 100 rows on pg1, 99 on pg2");
    assert!(run.stderr.contains(&words), "{}", run.stderr);
    // The fence is down, and the sessions' time is not bounded any more.
    estate.psql("pg1", &format!("INSERT INTO {schema}.item (n) VALUES (1)"));
    estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}

/// Where a table is truncated again and again, all was compared again and again.
#[test]
fn a_small_table_that_was_truncated_since_is_compared_behind_the_fence() {
    let (estate, shard) = (shared::estate(), shared::shard());
    fill(estate, shard, 120_000);
    let (number, schema) = (shard.to_string(), schema(shard));
    let moving = ["move", &number, "--to", "pg2", "--yes"];
    let two = "CREATE TYPE @.kind AS ENUM ('a', 'b'); CREATE TABLE @.one (id int PRIMARY KEY, a int, b int, c @.kind);
               CREATE TABLE @.two (id int PRIMARY KEY, a int, b int, c @.kind)";
    estate.psql("pg1", &two.replace('@', &schema));
    let truncate =
        format!("TRUNCATE {schema}.item CASCADE; INSERT INTO {schema}.item (n) VALUES (7)");
    let held = estate.run_held("fenced/before-RaiseFence", &moving);
    estate.psql("pg1", &truncate);
    let there = format!("SELECT count(*) FROM {schema}.item WHERE n = 7");
    wait_until(Duration::from_secs(30), "the row to come", || estate.psql("pg2", &there) == "1");
    estate.psql("pg2", &shared::past_the_guard(&format!("UPDATE {schema}.item SET n = 8")));
    let run = held.let_go();
    assert_eq!(run.code, 3, "{}", run.stderr);
    let words = format!("the new copy of table {schema}.item differs: 1 rows on pg1, 1 on pg2");
    assert!(run.stderr.contains(&words), "{}", run.stderr);
    estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
    let held = estate.run_held("fenced/before-RaiseFence", &moving);
    estate.psql("pg1", &truncate);
    let run = held.let_go();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stderr.contains("rewritten"), "{}", run.stderr);
    assert_eq!(estate.psql("pg2", &there), "1");
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    // Rows go by the names that tables, columns and values of enums have when they are written.
    let swaps = [
        "ALTER TYPE @.kind RENAME VALUE 'a' TO 'c'; ALTER TYPE @.kind RENAME VALUE 'b' TO 'a'; ALTER TYPE @.kind RENAME VALUE 'c' TO 'b'",
        "ALTER TABLE @.one RENAME TO three; ALTER TABLE @.two RENAME TO one; ALTER TABLE @.three RENAME TO two",
        "ALTER TABLE @.one RENAME a TO d; ALTER TABLE @.one RENAME b TO a; ALTER TABLE @.one RENAME d TO b",
    ];
    for swap in swaps {
        let held = estate.run_held("fenced/before-RaiseFence", &moving);
        let swap =
            format!("BEGIN; {swap}; INSERT INTO @.one VALUES (9, 1, 2, 'a'); {swap}; COMMIT");
        estate.psql("pg1", &swap.replace('@', &schema));
        let run = held.let_go();
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains(&format!("of table {schema}.one differs")), "{}", run.stderr);
        estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
        estate.psql("pg1", &format!("DELETE FROM {schema}.one; DELETE FROM {schema}.two"));
    }
}

/// What changes rows and is not replicated; the definitions end up as they were.
const PAST_REPLICATION: [&str; 3] = [
    "ALTER TABLE THE.photo ALTER caption TYPE text USING caption || '!'",
    "ALTER TABLE THE.photo SET UNLOGGED; INSERT INTO THE.photo VALUES (-1); ALTER TABLE THE.photo SET LOGGED",
    "ALTER TABLE THE.photo SET SCHEMA public; INSERT INTO public.photo VALUES (-2); ALTER TABLE public.photo SET SCHEMA THE",
];

/// It was done after the tables had been compared, or a rollback compared nothing, and the rows
/// were lost with the copy that had them.
#[test]
fn what_is_changed_past_replication_is_found_on_the_way_there_and_back() {
    let (estate, shard) = (shared::estate(), shared::shard());
    fill(estate, shard, 120_000);
    let (number, schema) = (shard.to_string(), schema(shard));
    let differs = |run: &shardid_tests::program::Run| {
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains(&format!("of table {schema}.photo differs")), "{}", run.stderr);
    };
    for change in PAST_REPLICATION {
        let held =
            estate.run_held("fenced/before-RaiseFence", &["move", &number, "--to", "pg2", "--yes"]);
        estate.psql("pg1", &change.replace("THE", &schema));
        let run = held.let_go();
        assert_eq!(run.code, 3, "{change}: {}", run.stderr);
        // Some leave something else behind in the catalogs.
        if !run.stderr.contains(&format!("changed during the move: table {schema}.photo")) {
            // At once, or after it was compared once more: a table that was rewritten may be taken for a small one.
            differs(&run);
        }
        estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
    }
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    estate.psql("pg2", &PAST_REPLICATION[0].replace("THE", &schema));
    differs(&estate.run(&["rollback", &id, "--yes"]));
    estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
    assert_eq!(estate.home(shard), "pg2");
    let changed = format!("SELECT count(*) FROM {schema}.photo WHERE caption LIKE '%!'");
    assert_eq!(estate.psql("pg2", &changed), "120000");
    // A table that is rewritten as it was is compared once more, and goes.
    estate.run(&["retire", &id, "--yes"]).ok();
    let held =
        estate.run_held("fenced/before-RaiseFence", &["move", &number, "--to", "pg1", "--yes"]);
    estate.psql("pg2", &format!("VACUUM FULL {schema}.photo"));
    let run = held.let_go();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("was rewritten since it was compared"), "{}", run.stderr);
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
}

/// A limit by rows alone let writers wait for 90,000 of 6 kB each, and lost one fence after another.
#[test]
fn few_rows_that_are_large_are_compared_before_the_fence() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.photo (id bigint PRIMARY KEY, raw text);
             ALTER TABLE {schema}.photo ALTER raw SET STORAGE EXTERNAL;
             INSERT INTO {schema}.photo SELECT n, repeat(md5(n::text), 200) FROM generate_series(1, 9000) n"
        ),
    );
    let run = estate.run(&["move", &number, "--to", "pg2", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("rows compared in"), "{}", run.stderr);
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
}
