//! The same integers as on PostgreSQL, and the limits of the decoders.

use std::path::Path;

use shardid_tests::my::{Engine, expect_refused, query, shared};
use shardid_tests::on_both_engines;

on_both_engines!(
    the_vectors_are_those_of_postgresql,
    a_key_belongs_to_the_same_shard_as_on_postgresql,
    a_session_without_strict_mode_has_the_same_shards_or_no_bytes_in_a_text,
    searches_by_time_use_the_primary_key,
    what_is_not_an_id_is_refused,
    what_both_engines_must_mean_alike,
);

fn the_vectors_are_those_of_postgresql(engine: Engine) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors.csv");
    let client = &mut shared(engine).connect();
    let mut seen = 0;
    for line in csv_lines(&file) {
        let [layout, time, shard, slot, id, text, ..] = &line[..] else { panic!("{line:?}") };
        let instant = time.trim_end_matches('Z').replace('T', " ");
        let sql = format!(
            "SELECT CAST(shardid.id_time_in({id}, '{layout}') AS CHAR), shardid.id_shard_in({id}, '{layout}'),
                    shardid.id_slot_in({id}, '{layout}'), shardid.id_text({id}), shardid.id_from_text(lower('{text}')),
                    shardid.id_at_in('{instant}', '{layout}') = {id} - {id} % (SELECT shards * slots FROM shardid.layouts WHERE name = '{layout}')"
        );
        let got: (String, String, String, String, String, bool) =
            query(client, &sql).pop().expect("a row");
        let want = (instant, shard.clone(), slot.clone(), text.clone(), id.clone(), true);
        assert_eq!(got, want, "{line:?}");
        if layout == "instagram" {
            let sql = format!(
                "SELECT CAST(shardid.id_time({id}) AS CHAR), shardid.id_shard({id}), shardid.id_slot({id}), shardid.id_parts({id}) = shardid.id_parts_in({id}, 'instagram')"
            );
            let got: (String, String, String, bool) = query(client, &sql).pop().expect("a row");
            assert_eq!(got, (want.0, want.1, want.2, true));
        }
        seen += 1;
    }
    assert!(seen > 80, "{seen} vectors");
}

fn a_key_belongs_to_the_same_shard_as_on_postgresql(engine: Engine) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("keys.csv");
    let client = &mut shared(engine).connect();
    let mut seen = 0;
    for line in csv_lines(&file) {
        let [key, shards, shard] = &line[..] else { panic!("{line:?}") };
        let sql = format!(
            "SELECT shardid.shard_for('{key}', {shards}), shardid.shard_for_binary(CONVERT('{key}' USING utf8mb4), {shards})"
        );
        let want: (i64, i64) = (shard.parse().unwrap(), shard.parse().unwrap());
        assert_eq!(query::<(i64, i64)>(client, &sql), [want], "{line:?}");
        // As UTF-8, from a connection or column of another character set too.
        let sql = format!("SELECT shardid.shard_for(CONVERT('{key}' USING latin1), {shards})");
        assert_eq!(query::<i64>(client, &sql), [want.0], "{line:?}");
        if key.parse::<i64>().is_ok() {
            let sql = format!("SELECT shardid.shard_for({key}, {shards})");
            assert_eq!(query::<i64>(client, &sql), [want.0], "{line:?}");
        }
        seen += 1;
    }
    assert!(seen > 8, "{seen} keys");
    let bytes = "SELECT shardid.shard_for_binary(x'3432', 8192), shardid.shard_for_binary(x'ff00', 8192) BETWEEN 0 AND 8191";
    assert_eq!(query::<(i64, bool)>(client, bytes), [(2280, true)]);
    let nothing = "SELECT shardid.shard_for(NULL, 8192), shardid.shard_for('a', NULL), shardid.shard_for_binary(NULL, 1)";
    assert_eq!(
        query::<(Option<i64>, Option<i64>, Option<i64>)>(client, nothing),
        [(None, None, None)]
    );
    for shards in ["0", "-1"] {
        expect_refused(client, &format!("SELECT shardid.shard_for('a', {shards})"), "22023");
    }
}

/// The engine makes an argument of a type before a function has it: without strict mode it cuts, and warns.
fn a_session_without_strict_mode_has_the_same_shards_or_no_bytes_in_a_text(engine: Engine) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("keys.csv");
    let strict = &mut shared(engine).connect();
    let loose = &mut shared(engine).connect();
    query::<u64>(strict, "SET sql_mode = 'STRICT_ALL_TABLES'");
    query::<u64>(loose, "SET sql_mode = ''");
    for line in csv_lines(&file) {
        let [key, shards, shard] = &line[..] else { panic!("{line:?}") };
        let sql = format!(
            "SELECT shardid.shard_for('{key}', {shards}), shardid.shard_for(CONVERT('{key}' USING latin1), {shards}),
                    shardid.shard_for_binary('{key}', {shards})"
        );
        let want: i64 = shard.parse().expect("a number");
        assert_eq!(query::<(i64, i64, i64)>(loose, &sql), [(want, want, want)], "{line:?}");
    }
    for client in [&mut *strict, &mut *loose] {
        let bytes = "SELECT shardid.shard_for_binary(x'61ff62', 8192), shardid.shard_for_binary(repeat(x'ff', 1000000), 8192)";
        assert_eq!(query::<(i64, i64)>(client, bytes), [(3697, 5260)]);
        // As on PostgreSQL, whose integer ends there.
        for function in ["shard_for", "shard_for_binary"] {
            expect_refused(client, &format!("SELECT shardid.{function}('a', 2147483648)"), "22023");
            expect_refused(client, &format!("SELECT shardid.{function}('a', 5000000000)"), "22023");
            let most = format!("SELECT shardid.{function}('a', 2147483647)");
            assert_eq!(query::<i64>(client, &most), [1_173_662_718]);
        }
    }
    // What is told on the page: bytes that are no text go to the other function.
    let not_text = "SELECT shardid.shard_for(x'61ff62', 8192)";
    let (state, cut) = match engine {
        Engine::MySql => ("HY000", "a"),
        Engine::MariaDb => ("22007", "a?b"),
    };
    expect_refused(strict, not_text, state);
    let cut = query::<i64>(loose, &format!("SELECT shardid.shard_for('{cut}', 8192)"));
    assert_eq!(query::<i64>(loose, not_text), cut);
    let warned = query::<(String, u32, String)>(loose, &format!("{not_text}; SHOW WARNINGS"));
    assert_eq!(warned[0].1, 1366, "{warned:?}");
}

fn csv_lines(file: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(file).expect("the vectors are there");
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn searches_by_time_use_the_primary_key(engine: Engine) {
    let client = &mut shared(engine).connect();
    query::<u64>(
        client,
        "CREATE DATABASE by_time; USE by_time; CREATE TABLE t (id BIGINT PRIMARY KEY, n INT)",
    );
    query::<u64>(
        client,
        "INSERT INTO t WITH RECURSIVE g AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM g WHERE n < 999)
         SELECT shardid.id_at('2026-06-01' + INTERVAL n DAY), n FROM g",
    );
    // By way of a variable: MySQL searches no index for what a stored function gives.
    query::<u64>(client, "SET @since = shardid.id_at('2028-12-01')");
    let sql = "SELECT count(*) FROM t WHERE id >= @since";
    assert_eq!(query::<u64>(client, sql), [86]);
    query::<shardid_tests::mysql::Row>(client, "ANALYZE TABLE t");
    let format = if engine == Engine::MySql { "FORMAT=TRADITIONAL " } else { "" };
    let plan = query::<shardid_tests::mysql::Row>(client, &format!("EXPLAIN {format}{sql}"));
    let kind: String = plan[0].get("type").unwrap_or_else(|| format!("{plan:?}"));
    assert_eq!(kind, "range");
}

fn what_is_not_an_id_is_refused(engine: Engine) {
    let client = &mut shared(engine).connect();
    expect_refused(client, "SELECT shardid.id_time(-1)", "22003");
    expect_refused(client, "SELECT shardid.id_shard_in(9007199254740992, 'js53')", "22003");
    expect_refused(client, "SELECT shardid.id_slot_in(1, 'absent')", "42704");
    // What the engine would read in part, or by the session's time zone.
    query::<u64>(client, "SET time_zone = '+05:00'");
    for odd in [
        "2026-06-01 14+02:00",
        "2026-06-01+02:00",
        "2026-06-01 14:00:00+02:00 ",
        " 2026-06-01",
        "2026-06-01 14.00.00+02:00",
        "2026-06-01 14:00:00+2",
        "2026-06-01 14:00 +02:00",
        "now",
        "2026-06-01T14:00:00+0200",
        "",
    ] {
        expect_refused(client, &format!("SELECT shardid.id_at('{odd}')"), "22007");
    }
    for (text, same) in [
        ("2026-06-01 14:00+02:00", "2026-06-01 12:00:00"),
        ("2026-06-01T12:00Z", "2026-06-01 12:00:00"),
        ("2026-06-01", "2026-06-01 00:00:00"),
        ("20260601120000", "2026-06-01 12:00:00"),
    ] {
        let sql = format!("SELECT shardid.id_at('{text}') = shardid.id_at('{same}')");
        assert_eq!(query::<i64>(client, &sql), [1], "{text}");
    }
    query::<u64>(client, "SET time_zone = DEFAULT");
    expect_refused(client, "SELECT shardid.id_at('2060-11-03 19:53:47.776')", "22003");
    assert_eq!(
        query::<i64>(client, "SELECT shardid.id_at('2060-11-03 19:53:47.775999')"),
        [9_223_372_036_846_387_200]
    );
    assert_eq!(query::<i64>(client, "SELECT shardid.id_at('2025-12-31 23:59:59')"), [0]);
    expect_refused(client, "SELECT shardid.id_text(-1)", "22003");
    for text in ["8000000000000", "000000000000", "000000000000U", ""] {
        expect_refused(client, &format!("SELECT shardid.id_from_text('{text}')"), "22P02");
    }
    let nothing = "SELECT shardid.id_time(NULL), shardid.id_at(NULL), shardid.id_text(NULL), shardid.id_from_text(NULL)";
    type Nothing = Option<String>;
    assert_eq!(
        query::<(Nothing, Nothing, Nothing, Nothing)>(client, nothing),
        [(None, None, None, None)]
    );
}

fn what_both_engines_must_mean_alike(engine: Engine) {
    let client = &mut shared(engine).connect();
    // As text, so that a number in quotes is told from a number.
    let parts = "SELECT CAST(shardid.id_parts(235086380428956672) AS CHAR)";
    assert_eq!(
        query::<String>(client, parts),
        [r#"{"slot": 0, "time": "2026-11-21T08:34:40.394000Z", "shard": 5}"#.to_owned()].map(
            |mysql| match engine {
                Engine::MySql => mysql,
                // The same members, in the order they were given.
                Engine::MariaDb =>
                    r#"{"time": "2026-11-21T08:34:40.394000Z", "shard": 5, "slot": 0}"#.to_owned(),
            }
        )
    );
    // A zone in the text is that zone, whatever the session's is.
    query::<u64>(client, "SET time_zone = '-05:00'");
    let at = |client: &mut _, time: &str| {
        query::<i64>(client, &format!("SELECT shardid.id_at({time})"))[0]
    };
    let noon = at(client, "'2026-06-01 12:00:00'");
    for same in [
        "'2026-06-01 14:00:00+02:00'",
        "'2026-06-01T06:30:00.000-05:30'",
        "'2026-06-01T12:00:00Z'",
        "'2026-06-01 12:00'",
        "TIMESTAMP'2026-06-01 12:00:00'",
        "CAST('2026-06-01' AS DATE) + INTERVAL 12 HOUR",
    ] {
        assert_eq!(at(client, same), noon, "{same}");
    }
    assert!(at(client, "CAST('2026-06-01' AS DATE)") < noon);
    assert!(at(client, "'2026-06-01 12:00:00+14:00'") < noon);
    for text in [
        "'2026-06-01 12:00:00 CET'",
        "'2026-06-01 12:00:00+14:01'",
        "'2026-06-01 12:00:00-14:00'",
        "'2026-06-01 12:00:00+99:99'",
        "'2026-06-01 12:00:00+01:60'",
        "'2026-06-01 12:00:00+0200'",
        "'at noon'",
        "'2026-13-01'",
    ] {
        expect_refused(client, &format!("SELECT shardid.id_at({text})"), "22007");
    }
    // A letter that only upper case makes an I.
    query::<u64>(client, "SET NAMES utf8mb4");
    expect_refused(client, "SELECT shardid.id_from_text('000000000000\u{131}')", "22P02");
    assert_eq!(query::<i64>(client, "SELECT shardid.id_from_text('000000000000i')"), [1]);
}
