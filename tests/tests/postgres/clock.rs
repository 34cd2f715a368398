//! The clock rule on a real server: steps back, jumps forward, full ticks, the end.

use std::thread;
use std::time::{Duration, Instant};

use shardid_tests::postgres::Client;
use shardid_tests::{Clock, Database, Server, crowded, docs, expect_error, wait_until};

fn ids(client: &mut Client, sql: &str) -> Vec<i64> {
    client.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

fn next(client: &mut Client) -> i64 {
    ids(client, "SELECT next_id(5)")[0]
}

/// A server with a clock to step, and a database in it with shard 5.
fn steerable() -> Server {
    Server::builder().clock(Clock::Steerable).fsync(false).start()
}

fn with_shard(server: &Server) -> Database<'_> {
    let database = Database::on(server);
    database.psql("SELECT create_shard(5)");
    database
}

/// How far the last id is ahead of the server's clock, in seconds.
fn drift(client: &mut Client) -> f64 {
    client
        .query_one(
            "SELECT extract(epoch FROM last_time - clock_timestamp())::float8 FROM shardid.shards",
            &[],
        )
        .unwrap()
        .get(0)
}

#[test]
fn a_clock_two_seconds_back_is_made_up_by_drift() {
    let server = steerable();
    let database = with_shard(&server);
    let mut client = database.connect();
    let before = next(&mut client);
    server.set_clock(-2.0);
    let after = next(&mut client);
    assert!(after > before);
    let drift = drift(&mut client);
    assert!((1.0..2.1).contains(&drift), "{drift} s");
}

#[test]
fn a_clock_an_hour_back_is_refused_by_name_and_allowed_by_setting() {
    let server = steerable();
    let database = with_shard(&server);
    let mut client = database.connect();
    let before = next(&mut client);
    server.set_clock(-3600.0);
    let began = Instant::now();
    let refusal = expect_error(&mut client, "SELECT next_id(5)", "55000");
    assert!(began.elapsed() >= Duration::from_secs(1), "it waits for shardid.max_wait");
    assert!(
        refusal.message.contains("shard 5 is 3599.")
            || refusal.message.contains("shard 5 is 3598."),
        "{refusal:?}"
    );
    assert!(refusal.detail.contains("shard_0005.shard_id_seq"), "{refusal:?}");
    assert!(refusal.hint.contains("shardid.max_drift (10.000 s)"), "{refusal:?}");
    assert!(refusal.hint.contains("shardid.max_wait (1.000 s)"), "{refusal:?}");
    // A session that begins now is no wiser.
    expect_error(&mut database.connect(), "SELECT next_ids(5, 3)", "55000");
    client.batch_execute("SET shardid.max_drift = '2h'").unwrap();
    let after = next(&mut client);
    assert!(after > before);
    server.set_clock(0.0);
    client.batch_execute("RESET shardid.max_drift").unwrap();
    assert!(next(&mut client) > after);
}

/// Another shard's id from a wrong future had the message say that the layout had ended, and its hint lost the shard.
#[test]
fn a_layout_that_lasts_is_not_said_to_have_ended_where_a_clock_was_wrong() {
    let server = steerable();
    let database = with_shard(&server);
    database.psql("SELECT create_shard(6, layout => 'js53')");
    let years = 36.0 * 365.25 * 86_400.0;
    server.set_clock(years);
    let mut client = database.connect();
    ids(&mut client, "SELECT next_id(6)");
    server.set_clock(0.0);
    let mut client = database.connect();
    next(&mut client);
    client.batch_execute("ALTER SEQUENCE shard_0005.shard_id_seq RESTART").unwrap();
    let refusal = expect_error(&mut database.connect(), "SELECT next_id(5)", "55000");
    assert_eq!(refusal.message, "shard 5 may have given ids up to the end of its layout");
    assert!(refusal.hint.contains("ALTER SEQUENCE shardid.horizon RESTART"), "{refusal:?}");
    client
        .batch_execute("ALTER SEQUENCE shardid.horizon RESTART; ALTER SEQUENCE shard_0005.shard_id_seq RESTART")
        .unwrap();
    next(&mut database.connect());
}

/// RESTART went to the time at which the shard was made, and was refused again and again.
#[test]
fn a_shard_that_was_made_by_a_clock_two_days_ahead_is_put_back_as_the_page_says() {
    let server = steerable();
    server.set_clock(2.0 * 86_400.0);
    let database = with_shard(&server);
    next(&mut database.connect());
    server.set_clock(0.0);
    let refused = expect_error(&mut database.connect(), "SELECT next_id(5)", "55000");
    assert!(refused.message.contains("ahead of the clock"), "{refused:?}");
    let page = docs::read("docs/clocks.md");
    let recipe = page.split("```sql").find(|part| part.contains("RESTART WITH %s")).unwrap();
    let recipe = recipe.split("```").next().unwrap();
    database.psql(&format!("ALTER SEQUENCE shardid.horizon RESTART;{recipe}"));
    next(&mut database.connect());
    let drift = database.psql("SELECT drift < '3 s' FROM shardid.shards");
    assert_eq!(drift.trim(), "t");
}

/// libfaketime takes some 20 µs to say what time it is: each visit to the page then asks for a later horizon.
#[test]
fn an_id_comes_where_a_look_at_the_clock_takes_longer_than_a_tick() {
    let server = steerable();
    let database = Database::on(&server);
    database.psql("SELECT create_layout('fine', '2026-01-01Z', '1 us', 16, 1); SELECT create_shard(5, layout => 'fine')");
    let mut client = database.connect();
    client.batch_execute("SET shardid.max_drift = 0; SET statement_timeout = '20s'").unwrap();
    let mut before = next(&mut client);
    for _ in 0..3 {
        client.batch_execute("ALTER SEQUENCE shard_0005.shard_id_seq RESTART").unwrap();
        let after = next(&mut client);
        assert!(after > before);
        before = after;
    }
}

#[test]
fn a_wait_ends_when_the_clock_is_set_right() {
    let server = steerable();
    let database = with_shard(&server);
    let mut client = database.connect();
    let before = next(&mut client);
    server.set_clock(-3600.0);
    client.batch_execute("SET shardid.max_wait = '60s'").unwrap();
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(700));
            server.set_clock(0.0);
        });
        assert!(next(&mut client) > before);
    });
    let waited = began.elapsed();
    let most = crowded(Duration::from_secs(10));
    assert!(waited > Duration::from_millis(600) && waited < most, "{waited:?}");
}

#[test]
fn statement_timeout_and_cancel_end_a_wait_and_the_wait_holds_nothing() {
    let server = steerable();
    let database = with_shard(&server);
    let mut client = database.connect();
    next(&mut client);
    server.set_clock(-3600.0);
    client.batch_execute("SET shardid.max_wait = '1h'; SET statement_timeout = '500ms'").unwrap();
    let began = Instant::now();
    expect_error(&mut client, "SELECT next_id(5)", "57014");
    assert!(began.elapsed() < crowded(Duration::from_secs(5)));

    client.batch_execute("SET statement_timeout = 0").unwrap();
    let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    thread::scope(|scope| {
        let waiting = scope.spawn(move || expect_error(&mut client, "SELECT next_id(5)", "57014"));
        let mut other = database.connect();
        let waits =
            format!("SELECT wait_event = 'Extension' FROM pg_stat_activity WHERE pid = {pid}");
        wait_until(Duration::from_secs(10), "the session to wait", || {
            other.query_one(&waits, &[]).unwrap().get::<_, Option<bool>>(0) == Some(true)
        });
        // Somebody who may drift further is not held up by the one who waits.
        let began = Instant::now();
        other.batch_execute("SET shardid.max_drift = '2h'").unwrap();
        next(&mut other);
        other.query("SELECT last_value FROM shard_0005.shard_id_seq", &[]).unwrap();
        assert!(began.elapsed() < crowded(Duration::from_secs(5)));
        other.execute("SELECT pg_cancel_backend($1)", &[&pid]).unwrap();
        waiting.join().unwrap();
    });
}

#[test]
fn a_clock_an_hour_or_a_day_ahead_is_refused_to_sessions_that_knew_better() {
    let server = steerable();
    let database = with_shard(&server);
    let mut client = database.connect();
    let before = next(&mut client);
    server.set_clock(3500.0);
    let within = next(&mut client);
    assert!(within > before);
    for seconds in [3700.0, 86_400.0] {
        server.set_clock(seconds);
        let refusal = expect_error(&mut client, "SELECT next_id(5)", "55000");
        assert!(refusal.message.contains("jumped forward"), "{refusal:?}");
        assert!(refusal.hint.contains("shardid.max_jump (3600.000 s)"), "{refusal:?}");
    }
    server.set_clock(3500.0);
    assert!(next(&mut client) > within);
    server.set_clock(86_400.0);
    client.batch_execute("SET shardid.max_jump = -1").unwrap();
    let after = next(&mut client);
    let ahead = (after >> 23) - (before >> 23);
    assert!((86_390_000..86_500_000).contains(&ahead), "{ahead} ms");
    // Back from there, the shard is a day ahead: this is what the rule is for.
    server.set_clock(0.0);
    expect_error(&mut client, "SET shardid.max_wait = 0; SELECT next_id(5)", "55000");
}

/// The postmaster had read the clock before it was set right, and every new session refused for that.
#[test]
fn a_new_session_takes_the_clock_as_it_is_also_where_the_library_is_preloaded() {
    let server = Server::builder()
        .clock(Clock::Steerable)
        .fsync(false)
        .conf("shared_preload_libraries = 'shardid'")
        .start();
    let database = with_shard(&server);
    let mut client = database.connect();
    next(&mut client);
    server.set_clock(7200.0);
    expect_error(&mut client, "SELECT next_id(5)", "55000");
    let mut new = database.connect();
    next(&mut new);
    // It is measured from there on.
    server.set_clock(14_400.0);
    let refusal = expect_error(&mut new, "SELECT next_id(5)", "55000");
    assert!(refusal.message.contains("jumped forward"), "{refusal:?}");
}

#[test]
fn a_jump_is_refused_in_the_middle_of_a_transaction_with_a_block_at_hand() {
    let server = steerable();
    let database = with_shard(&server);
    let mut client = database.connect();
    client.batch_execute("BEGIN").unwrap();
    ids(&mut client, "SELECT next_id(5) FROM generate_series(1, 1000)");
    server.set_clock(7200.0);
    expect_error(&mut client, "SELECT next_id(5)", "55000");
}

#[test]
fn without_drift_no_id_is_ahead_of_the_clock() {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5)");
    let mut client = database.connect();
    client.batch_execute("SET shardid.max_drift = 0").unwrap();
    let row = client
        .query_one(
            "SELECT count(*), bool_and(id_time(id) <= clock) FROM (
                SELECT next_id(5) AS id, clock_timestamp() AS clock FROM generate_series(1, 5000)
                OFFSET 0) x",
            &[],
        )
        .unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, bool>(1)), (5_000, true));
}

#[test]
fn drift_stays_below_its_limit_and_faster_than_that_is_paced() {
    let database = Database::fresh();
    // 16 ids a millisecond: no machine is slower than that.
    database.psql("SELECT create_layout('few', '2026-01-01Z', '1 ms', 8192, 16); SELECT create_shard(5, layout => 'few')");
    let mut client = database.connect();
    client.batch_execute("SET shardid.max_drift = '200ms'; SET shardid.lease = '100ms'").unwrap();
    let began = Instant::now();
    let taken = ids(&mut client, "SELECT next_ids(5, 24000)");
    assert_eq!(taken.len(), 24_000);
    // At least 1,500 ms, of which 200 were borrowed.
    assert!(began.elapsed() > Duration::from_millis(1_200), "{:?}", began.elapsed());
    assert!(drift(&mut client) <= 0.2);
    client.batch_execute("SET shardid.max_wait = 0").unwrap();
    expect_error(&mut client, "SELECT count(next_id(5)) FROM generate_series(1, 24000)", "55000");
}

#[test]
fn a_layout_ends_with_an_error_and_never_with_a_wrapped_id() {
    let server = Server::builder()
        .clock(Clock::Steerable)
        .fsync(false)
        .conf("shardid.max_jump = -1")
        .start();
    let database = with_shard(&server);
    let mut client = database.connect();
    let left: f64 = client
        .query_one(
            "SELECT extract(epoch FROM ends_at - clock_timestamp())::float8 FROM shardid.layouts WHERE name = 'instagram'",
            &[],
        )
        .unwrap()
        .get(0);
    server.set_clock(left - 2.0);
    let last = next(&mut client);
    assert!((1i64 << 40) - (last >> 23) <= 2_000, "{last} is not of the last two seconds");
    // The ids that are left can be borrowed to the very last one.
    client.batch_execute("SET shardid.max_drift = '1h'").unwrap();
    let refusal = expect_error(&mut client, "SELECT count(*) FROM next_ids(5, 3000000)", "22003");
    assert!(refusal.message.contains("layout \"instagram\" has no ids left"), "{refusal:?}");
    assert_eq!(
        database.psql(
            "SELECT id_slot(last_value), id_time(last_value) + '1 ms' = ends_at \
             FROM shard_0005.shard_id_seq, shardid.layouts WHERE name = 'instagram'"
        ),
        "1023|t"
    );
    // Past the end, for sessions old and new, and for nextval.
    server.set_clock(left + 10.0);
    expect_error(&mut client, "SELECT next_id(5)", "22003");
    expect_error(&mut database.connect(), "SELECT next_id(5)", "22003");
    expect_error(&mut database.connect(), "SELECT nextval('shard_0005.shard_id_seq')", "2200H");
    expect_error(&mut database.connect(), "SELECT create_shard(6)", "22003");
}

#[test]
fn a_layout_with_less_than_a_year_left_warns_when_a_shard_is_made() {
    let server = Server::builder().clock(Clock::AtStart).fsync(false).start();
    let database = Database::on(&server);
    let left: f64 = database
        .psql("SELECT extract(epoch FROM ends_at - clock_timestamp()) FROM shardid.layouts WHERE name = 'log32'")
        .parse()
        .unwrap();
    server.set_clock(left - 300.0 * 86_400.0);
    server.restart();
    let output = database
        .command("psql")
        .args(["-Xqc", "SELECT create_shard(7, layout => 'log32')"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("ends in less than a year"), "{said}");
}
