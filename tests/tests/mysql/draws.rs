//! What may happen to a session that takes ids: several shards, settings, kills, loads.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use shardid_tests::my::{Engine, Server, expect_refused, query, shared, try_query};
use shardid_tests::{assert_rising, assert_unique, on_both_engines};

use crate::harness::{EndOf, at_once, ids, new_shard};

on_both_engines!(
    two_shards_in_a_statement_have_an_id_for_each_row,
    two_shards_in_a_session_repeat_nothing,
    each_layout_repeats_nothing_in_a_new_session,
    layouts_of_odd_numbers_repeat_nothing,
    a_layout_with_too_few_slots_is_refused,
    triggers_on_two_shards_fill_their_columns,
    variables_of_a_client_reach_no_id,
    an_insert_id_reaches_no_id,
    a_time_set_back_or_forward_reaches_no_id,
    a_statement_longer_than_the_drift_goes_on,
    killed_statements_leave_nothing_behind,
    statements_that_take_too_long_leave_nothing_behind,
    a_bulk_load_without_checks_stops_nobody,
    a_table_that_is_locked_stops_nobody_but_on_mysql,
    an_old_install_goes_on_above_its_ids,
);

/// `SELECT` of a row for each number below `count`.
fn rows(columns: &str, count: usize) -> String {
    format!(
        "SELECT {columns} FROM JSON_TABLE(concat('[0', repeat(',0', {}), ']'), '$[*]' COLUMNS (n INT PATH '$')) AS t",
        count - 1
    )
}

fn distinct(all: &[i64]) -> usize {
    all.iter().collect::<HashSet<_>>().len()
}

fn two_shards_in_a_statement_have_an_id_for_each_row(engine: Engine) {
    let server = shared(engine);
    let (a, b) = (new_shard(server, "instagram"), new_shard(server, "instagram"));
    // A session of its own: what a variable is at first matters as well.
    let client = &mut server.connect();
    let sql =
        rows(&format!("shardid.next_id({a}), shardid.next_id({b}), shardid.next_id({a})"), 1000);
    let all: Vec<i64> = query::<(i64, i64, i64)>(client, &sql)
        .into_iter()
        .flat_map(|(one, two, three)| [one, two, three])
        .collect();
    assert_eq!((all.len(), distinct(&all)), (3000, 3000));
}

fn two_shards_in_a_session_repeat_nothing(engine: Engine) {
    let server = shared(engine);
    let shards = [new_shard(server, "instagram"), new_shard(server, "instagram")];
    let got = at_once(server, 4, |session, client| {
        (0..1000).flat_map(|turn| ids(client, shards[(session + turn) % 2], 1)).collect()
    });
    assert_eq!(assert_unique(&got), 4000);
}

fn each_layout_repeats_nothing_in_a_new_session(engine: Engine) {
    let server = shared(engine);
    for layout in ["decimal19", "log32", "js53", "uidgenerator", "snowflake", "instagram"] {
        let shard = new_shard(server, layout);
        let got = at_once(server, 3, |_, client| {
            query::<i64>(client, &rows(&format!("shardid.next_id({shard})"), 700))
        });
        assert_eq!(assert_unique(&got), 2100, "{layout}");
    }
}

fn layouts_of_odd_numbers_repeat_nothing(engine: Engine) {
    let server = &Server::builder(engine).start();
    // Name, tick, shards, slots: as few slots as may be, more than microseconds, and a
    // tick that is no whole number of anything.
    let layouts = [
        ("fewest", 1_001, 13, 8),
        ("odd", 999_983, 7, 7_919),
        ("even", 1_000, 3, 1_000),
        ("many", 10_007, 11, 50_021),
        ("one_each", 97, 101, 1),
    ];
    let mut shards = Vec::new();
    for (number, (name, tick, most, slots)) in layouts.iter().enumerate() {
        server.query(&format!(
            "INSERT INTO shardid.layout VALUES ('{name}', 1767225600000001, {tick}, 100000000000000 DIV {tick}, {most}, {slots});
             CALL shardid.create_shard({number}, '{name}')"
        ));
        shards.push(number);
    }
    for shard in shards {
        let (name, tick, most, slots) = layouts[shard];
        let now = || -> i64 {
            server.value("SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))")
        };
        let before = now();
        let got = at_once(server, 3, |_, client| {
            query::<i64>(client, &rows(&format!("shardid.next_id({shard})"), 1500))
        });
        assert_eq!(assert_unique(&got), 4500, "{name}");
        for (_, ids) in &got {
            assert_rising(ids);
        }
        let times = before - 1_000_000..now() + 1_000_000;
        for id in got.iter().flat_map(|(_, ids)| ids) {
            assert_eq!(id / slots % most, shard as i64, "{name}: shard of {id}");
            let at = id / slots / most * tick + 1_767_225_600_000_001;
            assert!(times.contains(&at), "{name}: {id} is of {at}");
        }
    }
}

fn a_layout_with_too_few_slots_is_refused(engine: Engine) {
    let server = &Server::builder(engine).start();
    let client = &mut server.connect();
    for (name, slots, fits) in [("enough", 7_813, true), ("too_few", 7_812, false)] {
        query::<u64>(
            client,
            &format!(
                "INSERT INTO shardid.layout VALUES ('{name}', 0, 1000000, 4294967296, 8, {slots})"
            ),
        );
        let create = format!("CALL shardid.create_shard({}, '{name}')", u32::from(fits));
        if fits {
            query::<u64>(client, &create);
            ids(client, 1, 10);
        } else {
            let words = expect_refused(client, &create, "22023");
            assert!(words.contains("7813"), "{words}");
            // One that somebody has made by hand.
            query::<u64>(
                client,
                "INSERT INTO shardid.shard (shard, layout, state, created_at, epoch_us, tick_us, ticks, shards, slots) SELECT 0, name, 'open', utc_timestamp(6), epoch_us, tick_us, ticks, shards, slots FROM shardid.layout WHERE name = 'too_few'",
            );
            expect_refused(client, "SELECT shardid.next_id(0)", "55000");
        }
    }
}

fn triggers_on_two_shards_fill_their_columns(engine: Engine) {
    let server = shared(engine);
    let (a, b) = (new_shard(server, "instagram"), new_shard(server, "decimal19"));
    let client = &mut server.connect();
    query::<u64>(
        client,
        "CREATE DATABASE two_triggers; USE two_triggers; CREATE TABLE a (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, n INT); CREATE TABLE b LIKE a",
    );
    for (table, shard) in [("a", a), ("b", b)] {
        let sql = format!("SELECT shardid.id_trigger('two_triggers', '{table}', 'id', {shard})");
        let trigger: Vec<String> = query(client, &sql);
        query::<u64>(client, &trigger[0]);
    }
    for turn in 0..300 {
        query::<u64>(
            client,
            &format!(
                "INSERT INTO a (n) VALUES ({turn}), ({turn}); INSERT INTO b (n) VALUES ({turn})"
            ),
        );
    }
    query::<u64>(client, "INSERT INTO a (n) SELECT n FROM b; INSERT INTO b (n) SELECT n FROM a");
    assert_eq!(
        query::<(u32, u32)>(client, "SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)"),
        [(900, 1200)]
    );
}

fn variables_of_a_client_reach_no_id(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    // Every name that any release of ours ever used for an id, with what would be a block of it.
    let mut set = String::from("SET @shardid_x = 0");
    for name in [
        "committed",
        "shard",
        "id",
        "run_id",
        "session_us",
        "statement_s",
        "statement",
        "block_row",
        "run_place",
        "step",
        "last_place",
        "layout",
        "size",
        "taken_us",
    ] {
        let value = match name {
            "committed" | "step" => "1".to_owned(),
            "shard" => shard.to_string(),
            "id" => "777".to_owned(),
            "session_us" => "timestampdiff(MICROSECOND, '1970-01-01', sysdate(6))".to_owned(),
            "statement_s" => "unix_timestamp()".to_owned(),
            _ => "9007199254740993".to_owned(),
        };
        set += &format!(", @shardid_{name} = {value}");
    }
    let got = at_once(server, 2, |_, client| {
        (0..100)
            .flat_map(|_| {
                query::<u64>(client, &set);
                ids(client, shard, 2)
            })
            .collect()
    });
    assert_eq!(assert_unique(&got), 400);
    // And none of ours is left with the client.
    let client = &mut server.connect();
    ids(client, shard, 3);
    assert_eq!(
        query::<Option<String>>(client, "SELECT concat(@shardid_id, @shardid_shard)"),
        [None]
    );
}

fn an_insert_id_reaches_no_id(engine: Engine) {
    let server = shared(engine);
    let (fine, coarse) = (new_shard(server, "instagram"), new_shard(server, "js53"));
    let mut all = Vec::new();
    let client = &mut server.connect();
    for shard in [fine, coarse] {
        let next = format!("SELECT shardid.next_id({shard})");
        all.extend(ids(client, shard, 2));
        let near = "timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))";
        for (value, refused) in [("7", true), (near, true), ("0", false)] {
            for _ in 0..3 {
                let sql = format!("SELECT {value} INTO @to; SET insert_id = @to");
                query::<u64>(client, &sql);
                if refused {
                    let words = expect_refused(client, &next, "55000");
                    assert!(words.contains("SET insert_id = 0"), "{words}");
                    query::<u64>(client, "SET insert_id = 0");
                }
                all.extend(ids(client, shard, 3));
            }
        }
        query::<u64>(client, "SET insert_id = 0, last_insert_id = 12345");
        all.extend(ids(client, shard, 3));
        assert_eq!(distinct(&all), all.len(), "{all:?}");
    }
}

fn a_time_set_back_or_forward_reaches_no_id(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    let client = &mut server.connect();
    let mut all = ids(client, shard, 1);
    query::<u64>(client, "SET time_zone = '-07:00'");
    for back in
        ["1", "1500000000", "unix_timestamp(sysdate()) - 15", "unix_timestamp(sysdate()) - 0.9"]
    {
        query::<u64>(client, &format!("SET timestamp = {back}"));
        all.extend(ids(client, shard, 3));
    }
    for forward in ["2000000000", "unix_timestamp(sysdate()) + 3"] {
        query::<u64>(client, &format!("SET timestamp = {forward}"));
        let words = expect_refused(client, &format!("SELECT shardid.next_id({shard})"), "55000");
        assert!(words.contains("SET timestamp = DEFAULT"), "{words}");
    }
    query::<u64>(client, "SET timestamp = DEFAULT");
    all.extend(ids(client, shard, 3));
    assert_rising(&all);
    let last = all[all.len() - 1];
    let off = format!(
        "SELECT abs(timestampdiff(MICROSECOND, shardid.id_time({last}), utc_timestamp(6)))"
    );
    assert!(server.value::<i64>(&off) < 2_000_000);
}

fn a_statement_longer_than_the_drift_goes_on(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    let done = AtomicBool::new(false);
    let all: Vec<i64> = scope(|scope| {
        let others = scope.spawn(|| {
            let (client, mut got) = (&mut server.connect(), Vec::new());
            while !done.load(Ordering::Relaxed) {
                got.extend(ids(client, shard, 1));
                sleep(Duration::from_millis(20));
            }
            got
        });
        let end = EndOf(&done);
        // Others have taken the counter further than 10 s after its time.
        let sql = rows(&format!("shardid.next_id({shard}) + 0 * sleep(0.6)"), 20);
        let mut got = query::<i64>(&mut server.connect(), &sql);
        drop(end);
        assert_eq!(got.len(), 20);
        got.extend(others.join().expect("no error"));
        got
    });
    assert_eq!(distinct(&all), all.len());
}

fn killed_statements_leave_nothing_behind(engine: Engine) {
    let server = &Server::builder(engine).start();
    let shards = [new_shard(server, "instagram"), new_shard(server, "js53")];
    let done = AtomicBool::new(false);
    let mut kills = 0;
    let got: Vec<(usize, Vec<i64>)> = scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|session| {
                let done = &done;
                scope.spawn(move || {
                    let (client, mut got) = (&mut server.connect(), Vec::new());
                    query::<u64>(client, "SET time_zone = '+05:00'");
                    let mut turn = session;
                    while !done.load(Ordering::Relaxed) {
                        turn += 1;
                        let shard = shards[turn % 2];
                        let sql = rows(&format!("shardid.next_id({shard})"), 1 + turn % 40);
                        match try_query::<i64>(client, &sql) {
                            Ok(ids) => got.extend(ids),
                            Err(refused) => assert_eq!(refused.sqlstate, "70100", "{refused:?}"),
                        }
                    }
                    let kept = "SELECT @@time_zone, is_used_lock('shardid.position')";
                    // The last kill may come as late as this.
                    let kept =
                        (0..9).find_map(|_| try_query::<(String, Option<u64>)>(client, kept).ok());
                    assert_eq!(kept.expect("it answers"), [("+05:00".to_owned(), None)]);
                    (session, got)
                })
            })
            .collect();
        let end = EndOf(&done);
        let admin = &mut server.connect();
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            let busy = "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT shardid%' OR info LIKE '%shardid.counter%' OR info LIKE '%shardid.position%'";
            for id in query::<u64>(admin, busy) {
                kills += usize::from(try_query::<u64>(admin, &format!("KILL QUERY {id}")).is_ok());
            }
        }
        drop(end);
        threads.into_iter().map(|thread| thread.join().expect("only kills are errors")).collect()
    });
    let all = assert_unique(&got);
    assert!(kills > 20 && all > 100, "{kills} kills, {all} ids");
    ids(&mut server.connect(), shards[0], 10);
}

/// `max_statement_time` ends a statement wherever it is. `max_execution_time` of MySQL does not end one
/// that writes, as what takes ids does, unless the time is over before it has begun to.
fn statements_that_take_too_long_leave_nothing_behind(engine: Engine) {
    let server = &Server::builder(engine).start();
    let shards = [new_shard(server, "instagram"), new_shard(server, "js53")];
    let limits: &[&str] = match engine {
        Engine::MariaDb => &[
            "max_statement_time = 0.0005",
            "max_statement_time = 0.003",
            "max_statement_time = 0.02",
            "max_statement_time = 0",
        ],
        Engine::MySql => {
            &["max_execution_time = 1", "max_execution_time = 3", "max_execution_time = 0"]
        }
    };
    let ended = AtomicUsize::new(0);
    let got: Vec<(usize, Vec<i64>)> = at_once(server, 4, |session, client| {
        let (mut got, mut turn) = (Vec::new(), session);
        query::<u64>(client, "SET time_zone = '+05:00'");
        let until = Instant::now() + Duration::from_secs(4);
        while Instant::now() < until {
            turn += 1;
            query::<u64>(client, &format!("SET {}", limits[turn % limits.len()]));
            let shard = shards[turn / 7 % 2];
            let sql = rows(&format!("shardid.next_id({shard})"), 1 + turn * 7 % 60);
            match try_query::<i64>(client, &sql) {
                Ok(ids) => got.extend(ids),
                Err(refused) => {
                    let (state, said) = match engine {
                        Engine::MariaDb => ("70100", "(max_statement_time exceeded)"),
                        Engine::MySql => ("HY000", "maximum statement execution time exceeded"),
                    };
                    assert_eq!(refused.sqlstate, state, "{refused:?}");
                    assert!(refused.message.contains(said), "{refused:?}");
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        query::<u64>(client, &format!("SET {}", limits[limits.len() - 1]));
        let kept = "SELECT @@time_zone, is_used_lock('shardid.position')";
        assert_eq!(query::<(String, Option<u64>)>(client, kept), [("+05:00".to_owned(), None)]);
        got
    });
    let (all, ended) = (assert_unique(&got), ended.into_inner());
    assert!(all > 100 && (ended > 20 || engine == Engine::MySql), "{ended} ended, {all} ids");
    for shard in shards {
        ids(&mut server.connect(), shard, 10);
    }
}

fn a_bulk_load_without_checks_stops_nobody(engine: Engine) {
    let server = &Server::builder(engine).start();
    let shards = [new_shard(server, "instagram"), new_shard(server, "js53")];
    let load = &mut server.connect();
    query::<u64>(load, "SET unique_checks = 0, foreign_key_checks = 0; START TRANSACTION");
    let client = &mut server.connect();
    query::<u64>(client, "SET innodb_lock_wait_timeout = 1");
    let mut all = Vec::new();
    for shard in shards {
        all.extend(query::<i64>(load, &rows(&format!("shardid.next_id({shard})"), 100)));
        all.extend(ids(client, shard, 20));
    }
    query::<u64>(load, "COMMIT");
    assert_eq!(distinct(&all), 240);
}

fn a_table_that_is_locked_stops_nobody_but_on_mysql(engine: Engine) {
    let server = &Server::builder(engine).start();
    let shard = new_shard(server, "instagram");
    let holder = &mut server.connect();
    query::<u64>(
        holder,
        "CREATE DATABASE locked; CREATE TABLE locked.t (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, n INT)",
    );
    let sql = format!("SELECT shardid.id_trigger('locked', 't', 'id', {shard})");
    let trigger: Vec<String> = query(holder, &sql);
    query::<u64>(holder, &trigger[0]);
    query::<u64>(holder, "LOCK TABLES locked.t WRITE; INSERT INTO locked.t (n) VALUES (1), (2)");
    let client = &mut server.connect();
    query::<u64>(client, "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1");
    let next = format!("SELECT shardid.next_id({shard})");
    let got = try_query::<i64>(client, &next);
    match engine {
        Engine::MariaDb => assert_eq!(got.expect("nobody waits").len(), 1),
        // The engine locks what a trigger may write to: a limit that docs/mysql.md states.
        Engine::MySql => assert!(got.expect_err("it waits").message.contains("Lock wait timeout")),
    }
    query::<u64>(holder, "UNLOCK TABLES");
    ids(client, shard, 1);
}

/// Runs a file of the schema once more, as an install of before had it.
fn run(server: &Server, file: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/mysql/schema");
    server.query(&fs::read_to_string(folder.join(file)).expect("the file is there"));
}

fn an_old_install_goes_on_above_its_ids(engine: Engine) {
    let server = &Server::builder(engine).start();
    let shards = [
        (new_shard(server, "instagram"), "instagram"),
        (new_shard(server, "js53"), "js53"),
        (new_shard(server, "snowflake"), "snowflake"),
        (new_shard(server, "decimal19"), "decimal19"),
    ];
    for file in ["V13__position.sql", "V18__note_block.sql", "V14__next_id.sql"] {
        run(server, file);
    }
    // Ahead of the clock, as after a clock that was set back: the new way must not
    // begin at the clock.
    server.query("INSERT INTO shardid.position VALUES (timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 8000000)");
    let client = &mut server.connect();
    let before: Vec<Vec<i64>> = shards
        .iter()
        .map(|(shard, _)| query(client, &format!("SELECT shardid.next_id({shard})")))
        .collect();
    server.install();
    for ((shard, layout), before) in shards.iter().zip(before) {
        assert_rising(
            &[before, ids(client, *shard, 20), ids(&mut server.connect(), *shard, 20)].concat(),
        );
        let id = ids(client, *shard, 1)[0];
        let sql = format!("SELECT shardid.id_shard_in({id}, '{layout}')");
        assert_eq!(server.value::<u32>(&sql), *shard, "{layout}");
    }
}
