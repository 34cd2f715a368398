//! Counters that stand too high are lowered, and no id comes again by that.

use std::thread::scope;
use std::time::Duration;

use shardid_tests::my::{Engine, Server, expect_refused, find, query, try_query};
use shardid_tests::mysql::Conn;
use shardid_tests::{Clock, assert_rising, on_both_engines, wait_until};

use crate::harness::ids;

on_both_engines!(
    counters_that_stand_too_high_are_lowered_unless_a_table_has_such_ids,
    rows_of_a_transaction_that_is_open_are_waited_for,
    nobody_is_given_an_id_while_lowering_waits,
    counters_that_are_not_ahead_are_left_alone,
    a_row_of_a_transaction_that_does_not_end_is_told,
    lowering_that_was_killed_is_done_by_the_next_call,
    a_set_insert_id_is_told_and_nothing_is_held,
    a_call_that_is_refused_leaves_out_what_was_drawn_before_its_fence,
    who_keeps_lowering_from_beginning_is_named,
    a_trigger_that_does_more_than_id_trigger_writes_is_not_looked_at,
    a_trigger_that_names_no_shard_is_told_and_the_counters_stay_where_they_stood,
    ids_of_the_tick_in_which_counters_go_on_are_seen,
    who_does_not_see_all_triggers_lowers_nothing,
    a_trigger_in_capitals_is_seen,
    a_dropped_shard_is_to_be_made_again_before_its_table_is_looked_at,
    nothing_of_anybodys_trigger_is_run_whatever_a_session_has_set,
    a_view_in_the_place_of_a_table_is_not_run,
);

#[test]
fn on_mysql_who_does_not_see_all_triggers_by_partial_revokes_lowers_nothing() {
    partial_revokes(Engine::MySql);
}

/// A server with a table of ids of shard 5, and one of ids of shard 6 with few slots.
fn with_tables(server: &Server) {
    server.query(
        "CALL shardid.create_shard(5, 'instagram'); CALL shardid.create_shard(6, 'js53'); CREATE DATABASE app;
         CREATE TABLE app.`a b` (`the id` BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, tag INT);
         CREATE TABLE app.plain (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, tag INT)",
    );
    for (table, column, shard) in [("a b", "the id", 5), ("plain", "id", 6)] {
        let sql = format!("SELECT shardid.id_trigger('app', '{table}', '{column}', {shard})");
        let trigger: String = server.value(&sql);
        server.query(&trigger);
    }
}

/// Raises both counters so many seconds ahead of the clock.
fn raise(server: &Server, seconds: i64) {
    raise_us(server, seconds * 1_000_000);
}

/// The same in microseconds.
fn raise_us(server: &Server, ahead: i64) {
    let now: i64 =
        server.value("SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))");
    for (counter, at) in [("counter", now + ahead), ("counter_128", (now + ahead) / 128)] {
        server.query(&format!(
            "INSERT INTO shardid.{counter} VALUES ({at}, 0); DELETE FROM shardid.{counter} WHERE id = {at} AND session = 0"
        ));
    }
}

/// A session that does not wait for ever, should nobody end the transaction.
fn impatient(server: &Server) -> Conn {
    let mut client = server.connect();
    query::<u64>(&mut client, "SET lock_wait_timeout = 110");
    client
}

fn waits_for_a_transaction(server: &Server) {
    let waits = "SELECT count(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata%'";
    wait_until(Duration::from_secs(60), "it waits for the transaction", || {
        server.value::<i64>(waits) > 0
    });
}

fn counters_that_stand_too_high_are_lowered_unless_a_table_has_such_ids(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    let client = &mut server.connect();
    query::<u64>(
        client,
        "INSERT INTO app.`a b` (tag) VALUES (1); INSERT INTO app.plain (tag) VALUES (1)",
    );
    let before = [ids(client, 5, 10), ids(client, 6, 10)];
    // A clock of the year after next.
    raise(server, 60_000_000);
    expect_refused(client, "SELECT shardid.next_id(5)", "55000");
    expect_refused(client, "SELECT shardid.next_id(6)", "55000");
    // An id of then was handed out.
    for (table, layout) in [("`a b`", "instagram"), ("plain", "js53")] {
        let late = format!("shardid.id_at_in(utc_timestamp() + INTERVAL 1 YEAR, '{layout}')");
        query::<u64>(client, &format!("INSERT INTO app.{table} VALUES ({late}, 2)"));
        let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
        assert!(
            words.contains(&table.replace('`', "")) && words.contains("later than now"),
            "{words}"
        );
        query::<u64>(client, &format!("DELETE FROM app.{table} WHERE tag = 2"));
    }
    // Refused, it has left the counters where they were.
    let words = expect_refused(client, "SELECT shardid.next_id(5)", "55000");
    let ahead =
        words.split_whitespace().find_map(|word| word.parse::<i64>().ok().filter(|n| *n > 5));
    assert!((59_990_000..=60_000_000).contains(&ahead.expect("how far")), "{words}");
    let words = expect_refused(
        client,
        "SET timestamp = 1800000000; CALL shardid.lower_counters()",
        "55000",
    );
    assert!(words.contains("SET timestamp = DEFAULT"), "{words}");
    query::<u64>(client, "SET timestamp = DEFAULT");
    let looked: Vec<String> = query(client, "CALL shardid.lower_counters()");
    assert_eq!(looked, ["`app`.`a b`, `app`.`plain`"]);
    for (shard, before) in [5, 6].into_iter().zip(before) {
        assert_rising(&[before, ids(client, shard, 10)].concat());
    }
}

/// The rows were made while the clock was an hour ahead, and committed after it was set right.
fn rows_of_a_transaction_that_is_open_are_waited_for(engine: Engine) {
    let server = &Server::builder(engine).clock(Clock::Steerable).start();
    with_tables(server);
    for (table, shard) in [("app.`a b` (tag)", 5), ("app.plain (tag)", 6)] {
        server.set_clock(3600.0);
        let open = &mut server.connect();
        query::<u64>(open, &format!("START TRANSACTION; INSERT INTO {table} VALUES (3), (3)"));
        server.set_clock(0.0);
        expect_refused(&mut server.connect(), &format!("SELECT shardid.next_id({shard})"), "55000");
        let refused = scope(|scope| {
            let lowering = scope.spawn(|| {
                try_query::<String>(&mut impatient(server), "CALL shardid.lower_counters()")
            });
            waits_for_a_transaction(server);
            query::<u64>(open, "COMMIT");
            lowering.join().expect("it ends").expect_err("there are ids of later than now")
        });
        assert!(refused.message.contains("later than now"), "{refused:?}");
        query::<u64>(open, "DELETE FROM app.`a b`; DELETE FROM app.plain");
        query::<String>(open, "CALL shardid.lower_counters()");
        ids(open, shard, 3);
    }
}

/// The clock comes to where the counters stood while `lower_counters` waits for a transaction, which
/// then takes an id.
fn nobody_is_given_an_id_while_lowering_waits(engine: Engine) {
    let server = &Server::builder(engine).clock(Clock::Steerable).start();
    with_tables(server);
    let open = &mut server.connect();
    query::<u64>(open, "START TRANSACTION");
    ids(open, 5, 1);
    raise(server, 60);
    scope(|scope| {
        let lowering = scope
            .spawn(|| query::<String>(&mut impatient(server), "CALL shardid.lower_counters()"));
        waits_for_a_transaction(server);
        server.set_clock(75.0);
        expect_refused(open, "SELECT shardid.next_id(5)", "55000");
        expect_refused(open, "SELECT shardid.next_id(6)", "55000");
        query::<u64>(open, "COMMIT");
        lowering.join().expect("it ends");
    });
    assert_rising(&ids(open, 5, 20));
}

fn counters_that_are_not_ahead_are_left_alone(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    let open = &mut server.connect();
    query::<u64>(open, "START TRANSACTION");
    let before = ids(open, 5, 5);
    // It waits for nobody, and lets nobody wait.
    let client = &mut server.connect();
    query::<u64>(client, "SET lock_wait_timeout = 1");
    assert_eq!(query::<String>(client, "CALL shardid.lower_counters()"), [""]);
    assert_rising(&[before, ids(client, 5, 5), ids(open, 5, 5)].concat());
}

fn a_row_of_a_transaction_that_does_not_end_is_told(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    raise(server, 600);
    // The id was taken in a transaction of its own before, and its row has no need of a counter.
    server.query("CREATE TABLE app.taken (id BIGINT NOT NULL); INSERT INTO app.taken SELECT shardid.id_at(utc_timestamp() + INTERVAL 5 MINUTE); INSERT INTO app.`a b` VALUES (1, 1)");
    let open = &mut server.connect();
    query::<u64>(
        open,
        "START TRANSACTION; UPDATE app.`a b` SET `the id` = (SELECT id FROM app.taken)",
    );
    let client = &mut server.connect();
    query::<u64>(client, "SET innodb_lock_wait_timeout = 1");
    let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
    assert!(words.contains("`app`.`a b` has rows of a transaction that does not end"), "{words}");
    query::<u64>(open, "COMMIT");
    let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
    assert!(words.contains("later than now"), "{words}");
}

fn lowering_that_was_killed_is_done_by_the_next_call(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    let open = &mut server.connect();
    query::<u64>(open, "START TRANSACTION");
    let before = ids(open, 5, 1);
    raise(server, 600);
    let client = &mut impatient(server);
    scope(|scope| {
        let number: u64 = query(client, "SELECT connection_id()")[0];
        let lowering = scope.spawn(|| {
            try_query::<String>(client, "CALL shardid.lower_counters()").expect_err("it is killed");
            // What it held, it may have again.
            query::<u64>(client, "SET lock_wait_timeout = 1");
            try_query::<String>(client, "CALL shardid.lower_counters()")
                .expect_err("it waits still")
        });
        waits_for_a_transaction(server);
        let words = expect_refused(&mut server.connect(), "CALL shardid.lower_counters()", "55000");
        assert!(words.contains("by another session"), "{words}");
        server.query(&format!("KILL QUERY {number}"));
        let waited = lowering.join().expect("it ends");
        assert!(
            waited.message.contains("a transaction that has taken ids does not end"),
            "{waited:?}"
        );
    });
    // What the one that was killed has raised is not where the counters stood.
    let late = "INSERT INTO app.`a b` VALUES (shardid.id_at(utc_timestamp() + INTERVAL 1 DAY), 2)";
    query::<u64>(open, &format!("COMMIT; {late}"));
    let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
    assert!(words.contains("later than now"), "{words}");
    let words = expect_refused(client, "SELECT shardid.next_id(5)", "55000");
    let ahead = words.split_whitespace().filter_map(|word| word.parse::<i64>().ok()).nth(1);
    assert!((400..=600).contains(&ahead.expect("how far")), "{words}");
    query::<u64>(open, "DELETE FROM app.`a b`");
    query::<String>(&mut server.connect(), "CALL shardid.lower_counters()");
    assert_rising(&[before, ids(open, 5, 20)].concat());
}

/// It took the place of what the counter gives, and left the lock and a transaction behind.
fn a_set_insert_id_is_told_and_nothing_is_held(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    raise(server, 600);
    let client = &mut server.connect();
    for number in ["5", "18446744073709551615"] {
        let sql = format!("SET insert_id = {number}; CALL shardid.lower_counters()");
        let words = expect_refused(client, &sql, "55000");
        assert!(words.contains("SET insert_id = 0"), "{words}");
    }
    query::<String>(&mut server.connect(), "CALL shardid.lower_counters()");
    ids(&mut server.connect(), 5, 3);
}

/// The text of anybody's trigger: the conversion failed past every handler, and ids stayed refused.
fn a_trigger_that_names_no_shard_is_told_and_the_counters_stay_where_they_stood(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    for number in ["5 or 1", "99999999999999999999", "app.f(", "-5"] {
        server.query(&format!(
            "CREATE TABLE app.odd (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY);
             CREATE TRIGGER app.odd BEFORE INSERT ON app.odd FOR EACH ROW SET NEW.`id` = if(1 < 2, 7, '.shardid.next_id({number})')"
        ));
        raise(server, 60);
        let client = &mut server.connect();
        let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
        assert!(words.contains("`app`.`odd` has a trigger that is not as"), "{number}: {words}");
        let ahead = "SELECT max(id) < 1000000 * (unix_timestamp() + 3600) FROM (SELECT auto_increment AS id FROM information_schema.tables WHERE table_schema = 'shardid' AND table_name = 'counter') AS c";
        assert_eq!(server.value::<Option<i64>>(ahead).unwrap_or(1), 1, "{number}");
        server.query("DROP TABLE app.odd");
        // In the same session: nothing is held from before.
        query::<String>(client, "CALL shardid.lower_counters()");
        ids(client, 5, 3);
    }
}

/// The column that was set last was looked at, and the ids of the first one came again.
fn a_trigger_that_does_more_than_id_trigger_writes_is_not_looked_at(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    server.query("CREATE TABLE app.odd (id BIGINT NOT NULL DEFAULT 0, rev BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id))");
    let made: String = server.value("SELECT shardid.id_trigger('app', 'odd', 'id', 5)");
    let (head, body) = made.split_once("SET NEW").expect("it sets the column");
    raise(server, 60);
    let client = &mut server.connect();
    for trigger in [
        format!("{head}BEGIN SET NEW{body}; SET NEW.`rev` = 1; END"),
        format!("{head}BEGIN SET NEW{body}; END"),
        made.replace("shardid.next_id", "`shardid`.`next_id`"),
        made.replace("SET NEW", "SET  NEW"),
        format!("{head}SET NEW.`rev` = 1, NEW{body}"),
        format!("{head}SET NEW{body}, NEW.`rev` = 1"),
        made.replace("NEW.`id` =", "NEW.`rev` ="),
    ] {
        server.query(&trigger);
        let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
        assert!(words.contains("`app`.`odd` has a trigger that is not as"), "{trigger}: {words}");
        server.query("DROP TRIGGER app.odd_id_is_an_id");
    }
    server.query(&made);
    query::<String>(client, "CALL shardid.lower_counters()");

    // Nor is a table of the session's looked at in its place, or what stood there earlier.
    raise(server, 60);
    // MySQL tells of it by its performance schema, which is off here.
    if engine == Engine::MariaDb {
        query::<u64>(client, "CREATE TEMPORARY TABLE app.odd AS SELECT 1 AS id");
        let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
        assert!(words.contains("connect anew"), "{words}");
        let client = &mut server.connect();
        query::<u64>(client, "SET system_versioning_asof = '2026-01-01'");
        let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
        assert!(words.contains("connect anew"), "{words}");
    }
    query::<String>(&mut server.connect(), "CALL shardid.lower_counters()");
}

/// They were put back to where the call had drawn, below the numbers of those who drew after it and
/// before its fence, and who were given them once the clock had come near.
fn a_call_that_is_refused_leaves_out_what_was_drawn_before_its_fence(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    let client = &mut server.connect();
    query::<u64>(
        client,
        "INSERT INTO app.plain (id, tag) VALUES (shardid.id_at_in(utc_timestamp() + INTERVAL 1 DAY, 'js53'), 2)",
    );
    let now = "SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6))";
    raise_us(server, 10_600_000);
    let began: i64 = server.value(now);
    expect_refused(client, "CALL shardid.lower_counters()", "55000");
    for (counter, unit) in [("counter", 1), ("counter_128", 128)] {
        query::<u64>(client, &format!("INSERT INTO shardid.{counter} (session) VALUES (0)"));
        let drawn: i64 = query(client, "SELECT CAST(last_insert_id() AS SIGNED)")[0];
        // Ids may be 10 s ahead of the clock.
        assert!(drawn * unit >= began + 10_900_000, "{counter}: {drawn} at {began}");
        assert!(drawn * unit <= began + 60_000_000, "{counter}: {drawn} at {began}");
    }
}

fn who_keeps_lowering_from_beginning_is_named(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    let other = &mut server.connect();
    let number: i64 = query(other, "SELECT CAST(connection_id() AS SIGNED)")[0];
    query::<i64>(other, "SELECT get_lock('shardid.lower_counters', 0)");
    let client = &mut server.connect();
    let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
    assert!(words.ends_with(&format!("KILL {number}")), "{words}");
    query::<u64>(client, &format!("KILL {number}"));
    wait_until(Duration::from_secs(30), "it has gone", || {
        try_query::<String>(&mut server.connect(), "CALL shardid.lower_counters()").is_ok()
    });
}

/// Of layouts with ticks of a second it looked for ids of the next second on, and went on in the middle
/// of this one.
fn ids_of_the_tick_in_which_counters_go_on_are_seen(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    let client = &mut server.connect();
    // Early in a second: what is 11.6 s ahead is of the tick that begins 11 s ahead.
    query::<u64>(client, "DO sleep(1.1 - microsecond(now(6)) / 1000000)");
    raise_us(server, 11_600_000);
    query::<u64>(
        client,
        "INSERT INTO app.plain (id, tag) VALUES (shardid.id_at_in(utc_timestamp(6) + INTERVAL 11600000 MICROSECOND, 'js53') + 6 * 8192 + 5000, 2)",
    );
    let highest: i64 = query(client, "SELECT max(id) FROM app.plain")[0];
    match try_query::<String>(client, "CALL shardid.lower_counters()") {
        Err(refused) => assert!(refused.message.contains("is later than now"), "{refused:?}"),
        // It took so long that they lie behind the clock.
        Ok(_) => assert!(ids(client, 6, 300)[0] > highest),
    }
}

/// What its definer does not see cannot be looked at: it said that it had looked, and ids came again.
fn who_does_not_see_all_triggers_lowers_nothing(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    defined_by_installer(server);
    let client = &mut server.connect();
    raise(server, 600);
    let words = expect_refused(client, "CALL shardid.lower_counters()", "42501");
    assert!(words.ends_with("GRANT SELECT, TRIGGER ON *.* TO in@staller@localhost"), "{words}");
    server.query("GRANT SELECT, TRIGGER ON *.* TO `in@staller`@localhost");
    query::<String>(&mut server.connect(), "CALL shardid.lower_counters()");
    ids(&mut server.connect(), 5, 3);
}

/// Has the procedure run with the rights of a user who has none but on the schema.
fn defined_by_installer(server: &Server) {
    server.query(
        "CREATE USER `in@staller`@localhost; GRANT ALL ON shardid.* TO `in@staller`@localhost",
    );
    type Shown = (String, String, String, String, String, String);
    let shown: Shown =
        query(&mut server.connect(), "SHOW CREATE PROCEDURE shardid.lower_counters").remove(0);
    let (before, body) = shown.2.split_once(" PROCEDURE ").expect("it begins so");
    assert!(before.starts_with("CREATE DEFINER="), "{before}");
    server.query(&format!(
        "USE shardid; DROP PROCEDURE shardid.lower_counters; CREATE DEFINER=`in@staller`@localhost PROCEDURE {body}"
    ));
}

/// A routine is called by its name in whatever case, and the text was compared as it stands: on MySQL the
/// table was left out, and its ids came again.
fn a_trigger_in_capitals_is_seen(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    let client = &mut server.connect();
    for call in ["shardid.NEXT_ID(5)", "shardid.Next_Id(5)", "shardid.n\u{e9}xt_\u{ed}d(5)"] {
        server.query(&format!(
            "CREATE TABLE app.PHOTOS (ID BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, TAG INT);
             CREATE TRIGGER app.PHOTOS_ID BEFORE INSERT ON app.PHOTOS FOR EACH ROW SET NEW.ID = {call}"
        ));
        query::<u64>(client, "INSERT INTO app.PHOTOS (TAG) VALUES (1)");
        raise(server, 60);
        let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
        assert!(words.contains("`app`.`PHOTOS` has a trigger that is not as"), "{call}: {words}");
        server.query("DROP TABLE app.PHOTOS");
        query::<String>(client, "CALL shardid.lower_counters()");
    }
}

/// Rights on all databases say nothing of one that they were taken back for: its triggers were not seen, and
/// its ids came again.
fn partial_revokes(engine: Engine) {
    if find(engine).is_none() {
        return;
    }
    let server = &Server::builder(engine).option("--partial-revokes=ON").start();
    with_tables(server);
    defined_by_installer(server);
    server.query("GRANT SELECT, TRIGGER, INSERT ON *.* TO `in@staller`@localhost");
    let client = &mut server.connect();
    let lowers = |client: &mut Conn| {
        raise(server, 600);
        assert_eq!(
            query::<String>(client, "CALL shardid.lower_counters()"),
            ["`app`.`a b`, `app`.`plain`"]
        );
    };
    lowers(client);
    let refused = |client: &mut Conn, hint: &str| {
        raise(server, 600);
        let words = expect_refused(client, "CALL shardid.lower_counters()", "42501");
        assert!(words.ends_with(hint), "{words}");
    };
    for rights in ["SELECT, TRIGGER", "TRIGGER", "SELECT"] {
        server.query(&format!("REVOKE {rights} ON app.* FROM `in@staller`@localhost"));
        refused(client, "hint: GRANT SELECT, TRIGGER ON `app`.* TO in@staller@localhost");
        // Of rights that were not taken back it would make others, which the next one took away.
        server.query(&format!("GRANT {rights} ON app.* TO `in@staller`@localhost"));
        lowers(client);
    }
    // What takes no look away, and the database in which nobody makes triggers, do not count.
    server.query("REVOKE INSERT ON app.* FROM `in@staller`@localhost");
    lowers(client);
    server.query("REVOKE SELECT, TRIGGER ON mysql.* FROM `in@staller`@localhost");
    refused(client, "hint: GRANT SELECT ON mysql.user TO in@staller@localhost");
    server.query("GRANT SELECT ON mysql.user TO `in@staller`@localhost");
    lowers(client);
}

/// It was told to drop the trigger: then nothing was looked at, and the shard went on below ids that stood there.
fn a_dropped_shard_is_to_be_made_again_before_its_table_is_looked_at(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    raise(server, 3600);
    server.query(
        "INSERT INTO app.plain (id, tag) VALUES (shardid.id_at_in(utc_timestamp() + INTERVAL 1 HOUR, 'js53'), 1); CALL shardid.drop_shard(6)",
    );
    let client = &mut server.connect();
    let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
    let (_, hint) = words.split_once("which is not here: hint: ").expect("it says so");
    assert_eq!(hint, "CALL shardid.create_shard(6, its layout), then again");
    query::<u64>(client, "CALL shardid.create_shard(6, 'js53')");
    let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
    assert!(words.contains("later than now"), "{words}");
}

/// A user who may call it and make triggers and views of his own, and not read `secret.t`.
fn with_eve(server: &Server) {
    server.query(
        "SET GLOBAL log_bin_trust_function_creators = 1; CREATE DATABASE secret; CREATE TABLE secret.t (v TEXT); INSERT INTO secret.t VALUES ('of another');
         CREATE USER eve IDENTIFIED BY 'eve'; GRANT ALL ON app.* TO eve;
         GRANT EXECUTE ON PROCEDURE shardid.lower_counters TO eve; GRANT EXECUTE ON FUNCTION shardid.next_id TO eve",
    );
}

fn eve(server: &Server) -> Conn {
    let mut client = server.try_connect_as("eve", "eve").expect("there is such a user");
    query::<u64>(&mut client, "SET lock_wait_timeout = 110");
    client
}

/// What a session may set that has a say in what a text means.
fn settings_of_texts(server: &Server, engine: Engine) -> Vec<String> {
    let mut all: Vec<String> = [
        "sql_mode = 'ANSI_QUOTES'",
        "sql_mode = 'NO_BACKSLASH_ESCAPES'",
        "sql_mode = 'PIPES_AS_CONCAT'",
        "sql_mode = 'IGNORE_SPACE'",
        "sql_mode = ''",
        "NAMES latin1",
        "character_set_client = gbk",
        "character_set_client = cp932",
        "character_set_client = big5",
        "character_set_connection = ucs2",
        "collation_connection = utf8mb4_bin",
        "div_precision_increment = 0",
        "div_precision_increment = 30",
        "group_concat_max_len = 4",
        "sql_select_limit = 0",
        "default_week_format = 7",
    ]
    .map(str::to_owned)
    .into();
    if engine == Engine::MariaDb {
        let flags: String = server.value(
            "SELECT enum_value_list FROM information_schema.system_variables WHERE variable_name = 'DEFAULT_REGEX_FLAGS'",
        );
        assert!(flags.contains("MULTILINE") && flags.contains("EXTENDED"), "{flags}");
        all.extend(flags.split(',').map(|flag| format!("default_regex_flags = '{flag}'")));
        all.push(format!("default_regex_flags = '{flags}'"));
        all.push("sql_mode = 'MSSQL'".to_owned());
    }
    all
}

/// With `default_regex_flags = 'MULTILINE'` on MariaDB, what stood behind the first line of a name was run as the
/// definer.
fn nothing_of_anybodys_trigger_is_run_whatever_a_session_has_set(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    with_eve(server);
    server.query("CREATE TABLE app.odd (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY); INSERT INTO app.odd VALUES (1)");
    let read = "(SELECT @stolen := (SELECT v FROM secret.t))";
    let columns = [
        format!("`id`\n={read}"),
        format!("`id`={read}\n"),
        format!("`id`\r\n={read}#`"),
        format!("`id`\n= -- `\n{read}"),
        format!("id\n={read}"),
    ];
    let trigger = |column: &str, number: &str| {
        format!(
            "CREATE TRIGGER app.odd BEFORE INSERT ON app.odd FOR EACH ROW SET NEW.{column} = if(coalesce(NEW.{column}, 0) = 0, shardid.next_id({number}), NEW.{column})"
        )
    };
    let mut triggers: Vec<String> = columns.iter().map(|column| trigger(column, "5")).collect();
    triggers.push(trigger("`id`", &format!("5\n+{read}")));
    triggers.push(trigger("`id`", "\n5"));
    raise(server, 3600);
    let mut made = 0;
    for trigger in &triggers {
        if try_query::<u64>(&mut eve(server), trigger).is_err() {
            continue;
        }
        made += 1;
        for set in settings_of_texts(server, engine) {
            let client = &mut eve(server);
            query::<u64>(client, &format!("SET {set}"));
            let refused = try_query::<String>(client, "CALL shardid.lower_counters()");
            let stolen: Option<String> = query(client, "SELECT @stolen").pop().flatten();
            assert_eq!(stolen, None, "{set}: {trigger}");
            let words = refused.expect_err(&format!("{set}: {trigger}")).message;
            assert!(words.contains("has a trigger that is not as"), "{set}: {trigger}: {words}");
        }
        server.query("DROP TRIGGER app.odd");
    }
    assert!(made >= 4, "{made} triggers were made");

    // And what is as it is written is looked at.
    let late = "shardid.id_at(utc_timestamp() + INTERVAL 1 DAY)";
    server.query(&format!("DROP TABLE app.odd; INSERT INTO app.`a b` VALUES ({late}, 1)"));
    for set in settings_of_texts(server, engine) {
        let client = &mut eve(server);
        query::<u64>(client, &format!("SET {set}"));
        let words = expect_refused(client, "CALL shardid.lower_counters()", "55000");
        assert!(words.contains("later than now"), "{set}: {words}");
    }
    server.query("DELETE FROM app.`a b`");
    for set in settings_of_texts(server, engine) {
        raise(server, 3600);
        let client = &mut eve(server);
        query::<u64>(client, &format!("SET {set}"));
        let lowered = try_query::<String>(client, "CALL shardid.lower_counters()");
        lowered.unwrap_or_else(|refused| panic!("{set}: {refused:?}"));
        ids(&mut server.connect(), 5, 1);
    }
}

/// It looks at one table after the other, and waits for rows of each. What somebody put into the place of a later
/// one meanwhile was run with the rights of the definer, who is `root` where `root` has installed it.
fn a_view_in_the_place_of_a_table_is_not_run(engine: Engine) {
    let server = &Server::builder(engine).start();
    with_tables(server);
    with_eve(server);
    let client = &mut eve(server);
    query::<u64>(
        client,
        "CREATE FUNCTION app.f() RETURNS BIGINT READS SQL DATA SQL SECURITY INVOKER
         BEGIN SET @stolen = (SELECT v FROM secret.t); RETURN 1; END;
         CREATE FUNCTION app.g() RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
         BEGIN
             DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
             SET @stolen = (SELECT v FROM secret.t); RETURN 1;
         END",
    );
    let words = try_query::<u64>(client, "SELECT app.f()").expect_err("it may not read it").message;
    assert!(words.contains("denied"), "{words}");
    raise(server, 3600);
    for (way, view) in [
        ("MERGE", "SELECT app.f() AS id"),
        ("MERGE", "SELECT id FROM app.kept WHERE app.f() = 1"),
        ("TEMPTABLE", "SELECT app.f() AS id"),
        // MariaDB works this out as it opens the view, also for information_schema.
        (
            "MERGE",
            "SELECT 5 AS id FROM dual WHERE extractvalue('<a/>', concat('/a[', app.g(), ']')) = ''",
        ),
        (
            "TEMPTABLE",
            "SELECT 5 AS id FROM dual WHERE extractvalue('<a/>', concat('/a[', app.g(), ']')) = ''",
        ),
    ] {
        server.query("INSERT INTO app.`a b` VALUES (1, 1)");
        let open = &mut server.connect();
        query::<u64>(
            open,
            "START TRANSACTION; UPDATE app.`a b` SET `the id` = (SELECT 9223372036854775807)",
        );
        scope(|scope| {
            let lowering = scope.spawn(|| {
                let client = &mut eve(server);
                let refused = try_query::<String>(client, "CALL shardid.lower_counters()");
                (refused, query::<Option<String>>(client, "SELECT @stolen").pop().flatten())
            });
            // What is asked for more often than ten times a second stays as it was.
            let waits = "DO sleep(0.2); SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
            wait_until(Duration::from_secs(60), "it waits for the row", || {
                server.value::<i64>(waits) > 0
            });
            query::<u64>(
                &mut eve(server),
                &format!(
                    "RENAME TABLE app.plain TO app.kept; CREATE ALGORITHM = {way} SQL SECURITY INVOKER VIEW app.plain AS {view}"
                ),
            );
            query::<u64>(open, "ROLLBACK");
            let (refused, stolen) = lowering.join().expect("it ends");
            assert_eq!(stolen, None, "{way} {view}");
            let words = refused.expect_err("it is refused").message;
            assert!(words.contains("`app`.`plain` has become a view"), "{words}");
        });
        server.query(
            "DROP VIEW app.plain; RENAME TABLE app.kept TO app.plain; DELETE FROM app.`a b`",
        );
    }
    query::<String>(client, "CALL shardid.lower_counters()");
    ids(&mut server.connect(), 5, 3);
}
