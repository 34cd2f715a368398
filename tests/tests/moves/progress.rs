//! What a move says while it goes on, and what it waits for.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::program::program;
use shardid_tests::said::assert_harmless;

use crate::shared;

#[test]
fn a_long_copy_says_from_time_to_time_how_far_it_is_and_how_fast() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.photo (id bigint PRIMARY KEY, caption text);
             INSERT INTO {schema}.photo SELECT n, 'a photo' FROM generate_series(1, 200000) AS n;
             INSERT INTO {schema}.item (n) SELECT generate_series(1, 1000);
             ANALYZE {schema}.photo, {schema}.item, {schema}.line"
        ),
    );
    let mut held =
        estate.run_held("copying/before-Subscribe", &["move", &number, "--to", "pg2", "--yes"]);
    let mut client = estate.node("pg2").connect(DATABASE);
    let mut locked = client.transaction().expect("the server is up");
    // One of the tables cannot be filled for a while.
    locked
        .batch_execute(&format!("LOCK TABLE {schema}.item IN SHARE MODE"))
        .expect("the table is there");
    held.go_on();
    let far = format!("  shard {shard}: copying: 2 of 3 tables, 200000 of about 201000 rows, ");
    held.wait_for(&far);
    locked.rollback().expect("the server is up");
    let run = held.end();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let line = run.stderr.lines().find(|line| line.contains(&far)).expect(&run.stderr);
    for part in [" rows/s, ", " MB/s"] {
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
    assert!(!run.stderr.contains('\r') && !run.stderr.contains('\u{1b}'), "plain lines alone");
    estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
    estate.assert_no_trace(shard);
}

#[test]
fn moves_are_held_back_while_a_standby_of_the_target_is_far_behind() {
    let estate = Estate::start(2, 8);
    let standby = estate.node("pg2").standby();
    for shard in 0..2 {
        estate.make_tables(shard);
    }
    let behind = |paused: bool| {
        let word = if paused { "pause" } else { "resume" };
        standby.psql("postgres", &format!("SELECT pg_wal_replay_{word}()"));
        estate.psql(
            "pg2",
            "CREATE TABLE IF NOT EXISTS public.much (text text);
             INSERT INTO public.much SELECT repeat(md5(n::text), 30) FROM generate_series(1, 4000) AS n",
        );
    };
    behind(true);
    // Who does not ask for it waits for nobody.
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    estate.run(&["rollback", &estate.last_move(0), "--yes"]).ok();

    // On a terminal each of two moves has a bar.
    let moving =
        format!("{} move 0-1 --to pg2 --parallel 2 --lag-mb-max 1 --yes", program().display());
    let mut command = estate.command(&[]);
    let mut on_terminal = std::process::Command::new("script");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => on_terminal.env(name, value),
            None => on_terminal.env_remove(name),
        };
    }
    on_terminal
        .args(["--quiet", "--return", "--command", &moving, "/dev/null"])
        .current_dir(estate.folder())
        .env("TERM", "xterm")
        .stdin(Stdio::null());
    let bars = [0, 1].map(|shard| {
        let bar = format!(
            r"shard {shard} +held back: walreceiver, which reads from pg2, is [0-9]+ MB behind \(limit: 1 MB\)"
        );
        regex::Regex::new(&bar).expect("a pattern")
    });
    let mut moving = on_terminal.stdout(Stdio::piped()).spawn().expect("`script` is there");
    let mut terminal = moving.stdout.take().expect("it is a pipe");
    let mut shown = Vec::new();
    while !bars.iter().all(|bar| bar.is_match(&String::from_utf8_lossy(&shown))) {
        let mut bytes = [0; 4096];
        let read = terminal.read(&mut bytes).expect("it is a pipe");
        shown.extend(&bytes[..read]);
        assert!(read > 0, "they were not held back: {:?}", String::from_utf8_lossy(&shown));
    }
    let copied = "SELECT count(*) FROM pg_namespace WHERE nspname IN ('shard_0000', 'shard_0001')";
    assert_eq!(estate.psql("pg2", copied), "0", "nothing is made yet");
    behind(false);
    terminal.read_to_end(&mut shown).expect("it is a pipe");
    let shown = String::from_utf8_lossy(&shown);
    assert!(moving.wait().expect("it is our child").success(), "{shown}");
    assert_harmless(&shown);

    // And elsewhere a line.
    behind(true);
    command = estate.command(&["move", "2", "--to", "pg2", "--lag-mb-max", "1", "--yes"]);
    command.stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let mut lines = BufReader::new(child.stderr.take().expect("it is a pipe")).lines();
    let mut said = String::new();
    while !said.contains("held back: ") {
        let line = lines.next().unwrap_or_else(|| panic!("it was not held back:\n{said}"));
        said += &format!("{}\n", line.expect("it speaks UTF-8"));
    }
    behind(false);
    said.extend(lines.map_while(Result::ok));
    assert!(child.wait().expect("it is our child").success(), "{said}");
    assert!(said.contains("held back: walreceiver"), "{said}");
}
