//! Moves: how long writers wait, and how fast rows travel.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use shardid_tests::estate::{DATABASE, Estate, Tally, Writer, schema};

use crate::setting::Setting;
use crate::statistics::{median, percentile};
use crate::table::{Table, Target};

/// Rows of the shard that is moved, beside what the writers add.
const ROWS: u32 = 1_000_000;

/// Rows whose copying is timed: so many that what is said and read beside them is little.
const COPIED_ROWS: u32 = 4_000_000;

/// Moves there and back, under writers that never rest.
pub(crate) fn pause(setting: &Setting, table: &mut Table) {
    const WRITERS: i64 = 4;
    let moves = setting.pick(40, 6);
    let estate = two_nodes();
    estate.make_tables(0);
    fill(&estate, 0, ROWS);
    let mut times = Vec::new();
    let writers: Vec<Writer> =
        (0..WRITERS).map(|lane| Writer::begin(&estate, 0, lane << 40, Duration::ZERO)).collect();
    for to in ["pg2", "pg1"].into_iter().cycle().take(moves) {
        let began = Instant::now();
        estate.run(&["move", "0", "--to", to, "--yes"]).ok();
        times.push((began, Instant::now()));
        writers[0].wait_for(20);
        estate.run(&["retire", &estate.last_move(0), "--yes"]).ok();
    }
    let mut tally = Tally::default();
    for writer in writers {
        tally.add(writer.end());
    }
    estate.assert_whole(0, &tally);
    let seconds: f64 = times.iter().map(|(from, to)| (*to - *from).as_secs_f64()).sum();
    let during = |(from, to): &(Instant, Instant)| {
        tally.took.iter().filter(|(at, _)| at >= from && at < to).count()
    };
    let writes: usize = times.iter().map(during).sum();
    let pauses: Vec<f64> = times
        .iter()
        .map(|(from, to)| tally.longest_between(*from, *to).as_secs_f64() * 1000.0)
        .collect();
    let fenced: Vec<f64> = estate
        .psql(
            "pg1",
            "SELECT sum(ms) FROM (SELECT move, state, extract(epoch FROM lead(since) OVER (PARTITION BY move ORDER BY since) - since) * 1000 AS ms FROM shardid.move_log) AS t WHERE state = 'fenced' GROUP BY move",
        )
        .lines()
        .map(|ms| ms.parse().expect("milliseconds"))
        .collect();
    table
        .title(format!("{moves} moves of a shard of {ROWS} rows, {WRITERS} writers at full speed"));
    table.figure("writes a second meanwhile", format!("{:.0}", writes as f64 / seconds));
    table.figure("in state fenced, median", format!("{:.0} ms", median(&fenced)));
    let longest = "longest write of each move";
    table.value(format!("{longest}: median"), median(&pauses), 0, " ms", Target::AtMost(300.0));
    let tail = percentile(&pauses, 0.99);
    table.value(format!("{longest}: 99th percentile"), tail, 0, " ms", Target::AtMost(1000.0));
}

/// The state `copying` of a move, against the same rows through a pipe of COPY
/// into a table with the same keys, by servers that write as safely.
pub(crate) fn copy_rate(setting: &Setting, table: &mut Table) {
    let rounds = setting.pick(7, 2);
    let estate = two_nodes();
    fill(&estate, 0, COPIED_ROWS);
    let (mut pipes, mut moves, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (from, to) = if estate.home(0) == "pg1" { ("pg1", "pg2") } else { ("pg2", "pg1") };
        settle(&estate);
        pipes.push(pipe(&estate, from, to));
        settle(&estate);
        estate.run(&["move", "0", "--to", to, "--yes", "--no-rollback"]).ok();
        moves.push(copying(&estate));
        estate.run(&["retire", &estate.last_move(0), "--yes"]).ok();
        settle(&estate);
        estate.run(&["move", "0", "--to", from, "--yes", "--no-rollback", "--jobs", "2"]).ok();
        parts.push(copying(&estate));
        estate.run(&["retire", &estate.last_move(0), "--yes"]).ok();
    }
    let (pipe, copying, parts) = (median(&pipes), median(&moves), median(&parts));
    let megabytes: f64 = estate
        .psql(&estate.home(0), "SELECT pg_table_size('shard_0000.photo') / 1e6")
        .parse()
        .expect("a size");
    let shown = |seconds: f64| format!("{:.0} rows/s", f64::from(COPIED_ROWS) / seconds);
    table.title(format!("Copying {COPIED_ROWS} rows ({megabytes:.0} MB and two indexes)"));
    table.figure("COPY … TO STDOUT | COPY … FROM STDIN", shown(pipe));
    table.figure("a move's state copying", shown(copying));
    table.ratio("against the pipe", pipe / copying, Target::AtLeast(0.8));
    table.figure("the same with --jobs 2", shown(parts));
    table.ratio("against the pipe", pipe / parts, Target::AtLeast(1.5));
}

/// Two servers as they are used: what is committed is on disk.
fn two_nodes() -> Estate {
    Estate::start_with(2, 2, |_, builder| {
        builder
            .fsync(true)
            .conf("shared_buffers = '512MB'")
            .conf("max_wal_size = '8GB'")
            .conf("checkpoint_timeout = '1h'")
    })
}

/// Fills a table of a shard with rows of an everyday size.
fn fill(estate: &Estate, shard: u32, rows: u32) {
    let schema = schema(shard);
    estate.psql(
        &estate.home(shard),
        &format!(
            "CREATE TABLE {schema}.photo (id bigint PRIMARY KEY, owner bigint NOT NULL,
                 caption text NOT NULL, made timestamptz NOT NULL DEFAULT now());
             INSERT INTO {schema}.photo (id, owner, caption)
                 SELECT n, n % 1000, 'a photo of the sea, number ' || n FROM generate_series(1, {rows}) AS n;
             CREATE INDEX ON {schema}.photo (owner);
             VACUUM ANALYZE {schema}.photo"
        ),
    );
}

/// What earlier rounds have left to write is written.
fn settle(estate: &Estate) {
    for server in &estate.servers {
        server.checkpoint();
    }
}

/// Seconds for the same table by the plainest way there is.
fn pipe(estate: &Estate, from: &str, to: &str) -> f64 {
    estate.psql(to, "DROP TABLE IF EXISTS public.piped");
    let psql = |node: &str, sql: &str| -> Command {
        let mut command = estate.node(node).command("psql");
        command.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", DATABASE, "-c", sql]);
        command
    };
    let began = Instant::now();
    estate.psql(
        to,
        "CREATE TABLE public.piped (id bigint PRIMARY KEY, owner bigint NOT NULL,
             caption text NOT NULL, made timestamptz NOT NULL DEFAULT now())",
    );
    let mut reading = psql(from, "COPY shard_0000.photo TO STDOUT")
        .stdout(Stdio::piped())
        .spawn()
        .expect("psql runs");
    let rows = reading.stdout.take().expect("it is a pipe");
    let written = psql(to, "COPY public.piped FROM STDIN").stdin(rows).status();
    assert!(written.expect("psql runs").success() && reading.wait().expect("ours").success());
    estate.psql(to, "CREATE INDEX ON public.piped (owner)");
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(estate.psql(to, "SELECT count(*) FROM public.piped"), COPIED_ROWS.to_string());
    estate.psql(to, "DROP TABLE public.piped");
    seconds
}

/// Seconds that the last move was in state copying.
fn copying(estate: &Estate) -> f64 {
    estate
        .psql(
            "pg1",
            "SELECT extract(epoch FROM (SELECT since FROM shardid.move_log f WHERE f.move = c.move AND f.state = 'following') - c.since)
               FROM shardid.move_log c WHERE c.state = 'copying' ORDER BY c.move DESC LIMIT 1",
        )
        .parse()
        .expect("seconds")
}
