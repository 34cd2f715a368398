//! What is dropped is forgotten; what it gave does not come again all the same.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use shardid_tests::{Database, assert_unique, crowded, expect_error};

use crate::account::{AHEAD, Account, COARSE, DRIFT, Generator, assert_none_twice, ids_of};
use crate::ask::{ids, one, run};

/// A database with shard 5, which is some seconds ahead of the clock, and what it gave.
fn ahead_by(seconds: i32) -> (Database<'static>, Account) {
    let database = Database::fresh();
    database.psql(&format!("{COARSE}; {}", SHARD.make()));
    let mut account = Account::new(format!("{seconds} s ahead"));
    account.take("before", &mut database.connect(), &SHARD.take(ids_of(seconds)));
    (database, account)
}

const SHARD: Generator = Generator::Shard(5);

/// A shard ahead of the clock; drop_shard, DROP and CREATE EXTENSION, create_shard: all its
/// ids came again.
#[test]
fn a_shard_that_is_dropped_is_gone_only_when_the_clock_has_passed_its_last_id() {
    let (database, account) = ahead_by(4);
    let mut client = database.connect();
    let passed = format!("SELECT id_time({}, 'coarse') <= clock_timestamp()", account.highest());
    assert!(!one::<bool>(&mut client, &passed), "the test would prove nothing");
    run(&mut client, "SELECT drop_shard(5)");
    assert!(one::<bool>(&mut client, &passed), "it did not wait");
    // One that is not ahead is dropped at once.
    run(&mut client, "SELECT create_shard(6); SELECT next_id(6)");
    let began = Instant::now();
    run(&mut client, "SELECT drop_shard(6)");
    assert!(began.elapsed() < crowded(Duration::from_secs(3)), "{:?}", began.elapsed());
}

/// A wait for the clock may be long, where that was set back.
#[test]
fn a_drop_that_waits_for_the_clock_can_be_cancelled_and_leaves_the_shard_open() {
    let (database, account) = ahead_by(9);
    let mut client = database.connect();
    run(&mut client, "SET statement_timeout = '200ms'");
    let began = Instant::now();
    expect_error(&mut client, "SELECT drop_shard(5)", "57014");
    assert!(began.elapsed() < crowded(Duration::from_secs(5)), "{:?}", began.elapsed());
    run(&mut client, "SET statement_timeout = 0");
    let last = account.highest();
    assert!(ids(&mut client, "SELECT next_id(5)")[0] > last);
    assert!(ids(&mut database.connect(), "SELECT shard_0005.next_id()")[0] > last);
}

/// It waited by another measure than the one by which the new generator begins: in the same second of
/// `js53` all ids came again.
#[test]
fn a_shard_of_long_ticks_made_again_after_the_extension_begins_above_its_last_id() {
    for count in [10, 4_000, 9_000] {
        let database = Database::fresh();
        database.psql("SELECT create_shard(5, layout => 'js53')");
        let mut client = database.connect();
        // Early in a second, so that there is room in it.
        run(
            &mut client,
            "SELECT pg_sleep(1.01 - extract(epoch FROM clock_timestamp())::numeric % 1)",
        );
        let last = ids(&mut client, &format!("SELECT max(n) FROM next_ids(5, {count}) n"))[0];
        run(&mut client, "SELECT drop_shard(5)");
        run(&mut client, "DROP EXTENSION shardid CASCADE; CREATE EXTENSION shardid");
        run(&mut client, "SELECT create_shard(5, layout => 'js53')");
        let first = ids(&mut database.connect(), "SELECT next_id(5)")[0];
        assert!(first > last, "{count} ids: {first} after {last}");
    }
}

/// It returned at once, without a word, where the last id was further ahead than its caller allows.
#[test]
fn a_drop_warns_of_ids_that_it_does_not_wait_for() {
    let database = Database::fresh();
    database.psql("SELECT create_layout('hours', now() - interval '1 min', '1 h', 8, 1000); SELECT create_shard(5, layout => 'hours')");
    let output = database
        .command("psql")
        .args(["-X", "-c", "SELECT count(*) FROM next_ids(5, 500)", "-c", "SELECT drop_shard(5)"])
        .output()
        .expect("psql runs");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("WARNING:  ids of shard 5 go on until 20"), "{words}");
    assert!(words.contains("do not make the shard again"), "{words}");
}

/// How far ahead of the clock the shards are that are dropped with all that knows of them.
const DROPPED_AHEAD: i32 = 6;

/// Drops and makes again, and takes ids beyond the old ones.
#[track_caller]
fn made_again(drop: &str) -> Account {
    let (database, mut account) = ahead_by(DROPPED_AHEAD);
    let mut client = database.connect();
    for statement in drop.split(';') {
        run(&mut client, statement);
    }
    run(&mut client, &format!("CREATE EXTENSION shardid; {COARSE}; {}", SHARD.make()));
    run(&mut client, "SET shardid.max_drift = '1d'");
    account.take("made again, in the session", &mut client, &SHARD.take(ids_of(10)));
    account.take_unless_ahead("made again, in another", &mut database.connect(), &SHARD.take(4));
    account
}

/// 200,000 of 200,000 ids came again.
#[test]
fn a_shard_that_was_dropped_with_its_extension_repeats_nothing_when_both_are_made_again() {
    assert_none_twice([&made_again("SELECT drop_shard(5); DROP EXTENSION shardid")]);
}

/// 200,000 of 200,000 ids came again. Nobody waits for the clock when a schema is dropped, and
/// nothing is left that knows: the limit that is stated are the seconds that it was ahead.
#[test]
fn a_shard_whose_schema_and_extension_were_dropped_repeats_nothing_once_the_clock_has_passed() {
    let wait = format!("SELECT pg_sleep({DROPPED_AHEAD})");
    assert_none_twice(&[
        made_again(&format!("DROP SCHEMA shard_0005 CASCADE; {wait}; DROP EXTENSION shardid")),
        made_again(&format!(
            "DROP EXTENSION shardid CASCADE; DROP SCHEMA shard_0005 CASCADE; {wait}"
        )),
    ]);
}

/// A shard that was lost with its schema began anew where the drift of whoever made it again
/// ends; somebody else's may have been larger.
#[test]
fn a_lost_shard_is_made_again_above_what_a_session_with_a_larger_drift_has_taken() {
    let mut accounts = Vec::new();
    for (number, loss) in (5..).zip([
        "DROP SCHEMA @ CASCADE",
        "DROP SEQUENCE @.shard_id_seq CASCADE",
        "ALTER SEQUENCE @.shard_id_seq RESTART; DROP SCHEMA @ CASCADE",
    ]) {
        // Of its own: one that does not know its past begins beyond all of the others.
        let database = Database::fresh();
        database.psql(COARSE);
        let shard = Generator::Shard(number);
        let mut account = Account::new(loss);
        let mut far = database.connect();
        run(&mut far, &format!("{}; SET shardid.max_drift = '{DRIFT}s'", shard.make()));
        account.take("far ahead", &mut far, &shard.take(ids_of(AHEAD)));
        let loss = loss.replace('@', &shard.schema());
        let mut near = database.connect();
        run(&mut near, "SET shardid.max_wait = 0");
        run(&mut near, &format!("{loss}; {}", shard.make()));
        account.take_unless_ahead("made again", &mut near, &shard.take(1));
        run(&mut near, "SET shardid.max_drift = '1d'");
        account.take("with a larger drift", &mut near, &shard.take(ids_of(AHEAD)));
        accounts.push(account);
    }
    assert_none_twice(&accounts);
}

/// Its ids from before were given again once the clock had covered what lies between the two epochs.
#[test]
fn a_lost_shard_is_not_made_again_with_another_layout() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_layout('mine', '2025-12-31 23:59:15Z', '1 ms', 8192, 1024); SELECT create_shard(10, 'photos', 'mine'); \
         SELECT next_ids(10, 5); DROP SCHEMA photos CASCADE",
    );
    for make in [
        "SELECT create_shard(10)",
        "SELECT create_shard(10, if_not_exists => true)",
        "CALL shardid.create_shards(10, 10)",
    ] {
        let refusal = expect_error(&mut client, make, "55000");
        assert!(
            refusal.hint.starts_with("SELECT create_shard(10, layout => 'mine');"),
            "{refusal:?}"
        );
    }
    run(&mut client, "SELECT create_shard(10, layout => 'mine')");
    run(&mut client, "SELECT next_id(10)");
}

/// An id sequence goes with its table: a new one of that name
/// began at the clock, below the old one's ids.
#[test]
fn an_id_sequence_that_went_with_its_table_repeats_nothing_when_it_is_made_again() {
    let mut accounts = Vec::new();
    let losses = ["DROP TABLE t", "DROP SEQUENCE @", "DROP TABLE t; CREATE TABLE t (id bigint)"];
    for (number, loss) in (5..).zip(losses) {
        let database = Database::fresh();
        database.psql(COARSE);
        let generator = Generator::Sequence(number);
        let mut account = Account::new(loss);
        let mut client = database.connect();
        run(&mut client, "CREATE TABLE IF NOT EXISTS t (id bigint)");
        run(
            &mut client,
            &format!("{}; ALTER SEQUENCE ids_{number} OWNED BY t.id", generator.make()),
        );
        account.take("before", &mut client, &generator.take(ids_of(8)));
        let loss = loss.replace('@', &generator.name());
        run(&mut client, &format!("{loss}; {}", generator.make()));
        account.take_unless_ahead("made again", &mut client, &generator.take(1));
        run(&mut client, "SET shardid.max_drift = '1d'");
        account.take_unless_ahead("in another", &mut database.connect(), &generator.take(1));
        account.take("in the end", &mut client, &generator.take(ids_of(20)));
        accounts.push(account);
    }
    assert_none_twice(&accounts);
}

/// How an id sequence is lost, what is left out of the dump, and what a session that loads it says
/// first. 1,000 of 1,000 ids came again in each.
const LOSSES: [(&str, Option<&str>, &str); 5] = [
    ("DROP SEQUENCE @", None, ""),
    ("SELECT", Some("public.ids_5"), ""),
    ("SELECT", Some("public.ids_5"), "SET session_replication_role = replica;"),
    ("SET session_replication_role = replica; DROP SEQUENCE @", None, ""),
    (
        "ALTER EVENT TRIGGER shardid_sequence_dropped DISABLE; DROP SEQUENCE @; ALTER EVENT TRIGGER shardid_sequence_dropped ENABLE ALWAYS",
        None,
        "",
    ),
];

/// With `js53` a thousand of a thousand ids came again after the ROLLBACK.
#[test]
fn an_id_sequence_in_the_place_of_one_that_a_rollback_brings_back_gives_ids_after_the_commit() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_id_sequence('q', 6, 'js53'), create_id_sequence('other', 7, 'js53'); SELECT next_id_from('q')",
    );
    let anew = "DROP SEQUENCE q; SELECT create_id_sequence('q', 6, 'js53')";
    for (begin, end) in [
        ("BEGIN", "ROLLBACK"),
        ("BEGIN; SAVEPOINT s", "ROLLBACK TO s; COMMIT"),
        ("BEGIN; SAVEPOINT s", "RELEASE s; ROLLBACK"),
    ] {
        run(&mut client, &format!("{begin}; {anew}; SAVEPOINT t"));
        let refusal = expect_error(&mut client, "SELECT next_id_from('q')", "55000");
        assert!(refusal.hint.contains("COMMIT"), "{refusal:?}");
        // A part of the transaction that was rolled back has dropped nothing, and what was not
        // dropped is in nobody's place.
        run(&mut client, "ROLLBACK TO t; SELECT next_id_from('other')");
        run(&mut client, "SELECT create_id_sequence('new', 8, 'js53'); SELECT next_id_from('new')");
        run(&mut client, end);
        run(&mut client, "SELECT next_id_from('q')");
    }
    run(&mut client, &format!("BEGIN; SAVEPOINT s; {anew}; ROLLBACK TO s"));
    run(
        &mut client,
        "SELECT create_id_sequence('beside', 6, 'js53'); SELECT next_id_from('beside')",
    );
    run(&mut client, &format!("COMMIT; {anew}"));
    run(&mut client, "SELECT next_id_from('q')");
    // Long dropped is not in the way of a transaction of today.
    run(
        &mut client,
        "BEGIN; SELECT create_id_sequence('later', 6, 'js53'); SELECT next_id_from('later'); COMMIT",
    );
}

#[test]
fn an_id_sequence_that_is_not_in_a_dump_repeats_nothing_when_it_is_made_again_there() {
    let dump = |database: &Database<'_>, options: &[&str]| {
        let mut command = database.command("pg_dump");
        let output = command.args(options).arg(database.name()).output().expect("pg_dump runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a dump is text")
    };
    let mut accounts = Vec::new();
    for (loss, left_out, before) in LOSSES {
        let database = Database::fresh();
        let generator = Generator::Sequence(5);
        database.psql(&format!("{COARSE}; {}", generator.make()));
        let mut account = Account::new(format!("{loss}, without {left_out:?}, {before}"));
        account.take("before", &mut database.connect(), &generator.take(ids_of(8)));
        database.psql(&loss.replace('@', &generator.name()));
        let text = match left_out {
            Some(name) => dump(&database, &["-T", name]),
            None => dump(&database, &[]),
        };
        let copy = Database::fresh_plain();
        copy.psql(&format!("{before}{text}"));
        // What is remembered here already does not hinder a restore, and a copy of a copy knows it.
        copy.psql(&dump(&copy, &["-a", "-t", "shardid.dropped_id_sequence"]));
        let copy_of_copy = Database::fresh_plain();
        copy_of_copy.psql(&dump(&copy, &[]));
        for copy in [copy, copy_of_copy] {
            let mut account = account.clone();
            let mut client = copy.connect();
            run(&mut client, &generator.make());
            account.take_unless_ahead("made again", &mut client, &generator.take(1));
            run(&mut client, "SET shardid.max_drift = '1d'");
            account.take("in the end", &mut client, &generator.take(ids_of(20)));
            accounts.push(account);
        }
    }
    assert_none_twice(&accounts);
}

/// It saw neither the drop nor what is remembered of it.
#[test]
fn a_transaction_from_before_the_drop_makes_an_id_sequence_that_goes_on_above() {
    let mut accounts = Vec::new();
    // Nor that it was made; and where a table is locked, nothing is remembered but its row.
    for (made_before, locked) in [(true, false), (true, true), (false, false), (false, true)] {
        let database = Database::fresh();
        let generator = Generator::Sequence(5);
        database.psql(&format!("{COARSE}; SELECT create_id_sequence('other', 5, 'coarse')"));
        let mut account = Account::new(format!("made before {made_before}, locked {locked}"));
        let (mut early, mut locks) = (database.connect(), database.connect());
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class";
        if !made_before {
            run(&mut early, begin);
        }
        database.psql(&generator.make());
        if made_before {
            run(&mut early, begin);
        }
        account.take("before", &mut database.connect(), &generator.take(ids_of(8)));
        if locked {
            run(&mut locks, "BEGIN; LOCK TABLE shardid.id_sequence IN SHARE MODE");
        }
        database.psql(&format!("DROP SEQUENCE {}", generator.name()));
        run(&mut locks, "ROLLBACK");
        run(&mut early, &generator.make());
        run(&mut early, "COMMIT; SET shardid.max_drift = '1d'");
        account.take("made again", &mut early, &generator.take(ids_of(20)));
        accounts.push(account);
    }
    assert_none_twice(&accounts);
}

/// It waited to the end of the tick, whatever its length.
#[test]
fn a_shard_with_long_ticks_is_dropped_at_once() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_layout('hours', '2026-01-01Z', '1 hour', 64, 3600000); SELECT create_shard(5, layout => 'hours')",
    );
    let last = ids(&mut client, "SELECT next_id(5) FROM generate_series(1, 5)")[4];
    run(&mut client, "SET statement_timeout = '10s'; SELECT drop_shard(5)");
    run(&mut client, "SELECT create_shard(5, layout => 'hours')");
    assert!(one::<i64>(&mut client, "SELECT next_id(5)") > last);
}

/// What is remembered of a dropped one keeps its layout from being changed, as what is there does.
#[test]
fn a_layout_of_which_an_id_sequence_was_dropped_is_in_use() {
    let database = Database::fresh();
    let generator = Generator::Sequence(5);
    database.psql(&format!("{COARSE}; {}; DROP SEQUENCE {}", generator.make(), generator.name()));
    assert_eq!(database.psql("SELECT count(*) FROM shardid.id_sequence"), "0");
    let remembered =
        "SELECT shard, layout, floor IS NOT NULL, lost FROM shardid.dropped_id_sequence";
    assert_eq!(database.psql(remembered), "5|coarse|t|f");
    expect_error(
        &mut database.connect(),
        "DELETE FROM shardid.layout WHERE name = 'coarse'",
        "55006",
    );
    // A drop that is taken back is none.
    database.psql(&generator.make());
    database.psql(&format!("BEGIN; DROP SEQUENCE {}; ROLLBACK", generator.name()));
    run(&mut database.connect(), &generator.take(4));
}

/// RESTART while ahead, drop_shard, DROP and CREATE EXTENSION: 20,000 of 20,000 ids came again,
/// since the sequence said that it stood at its beginning.
#[test]
fn a_shard_that_was_restarted_is_dropped_once_the_clock_has_passed_what_it_gave_before() {
    assert_none_twice([&made_again(
        "ALTER SEQUENCE shard_0005.shard_id_seq RESTART; SELECT drop_shard(5); DROP EXTENSION shardid",
    )]);
}

/// The extension that comes after knew nothing of the sequence that one before it left; when
/// that was restarted, 9,999 of 10,000 ids came again.
#[test]
fn a_sequence_that_an_extension_left_may_be_restarted_when_it_is_taken_up() {
    let (database, mut account) = ahead_by(DROPPED_AHEAD);
    let mut client = database.connect();
    for statement in [
        "DROP EXTENSION shardid CASCADE",
        &format!("CREATE EXTENSION shardid; {COARSE}; {}", SHARD.make()),
        "ALTER SEQUENCE shard_0005.shard_id_seq RESTART",
    ] {
        run(&mut client, statement);
    }
    run(&mut client, "SET shardid.max_drift = '1d'");
    account.take("taken up", &mut client, &SHARD.take(ids_of(10)));
    assert_none_twice([&account]);
}

/// The new one begins with the next tick, since nobody knows how far the one before it went within
/// this one. By the horizon all other generators began there, after a crash or a restart.
#[test]
fn an_id_sequence_of_long_ticks_that_is_made_again_puts_no_other_generator_ahead() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_layout('half', date_trunc('second', now()) - interval '30 min', '1 h', 16, 1000000);
         SELECT create_shard(5); SELECT create_id_sequence('q', 4, 'half'); SELECT next_id(5)",
    );
    let before = one::<i64>(&mut client, "SELECT next_id_from('q')");
    run(&mut client, "DROP SEQUENCE q; SELECT create_id_sequence('q', 4, 'half')");
    let ahead = "SELECT to_timestamp(last_value / 1e6) > clock_timestamp() + interval '10 s' FROM shardid.horizon";
    assert!(!one::<bool>(&mut client, ahead));
    run(&mut client, "ALTER SEQUENCE shard_0005.shard_id_seq RESTART");
    run(&mut client, "SELECT next_id(5)");
    // Restarted before it has given anything, it goes on above the one before it all the same.
    run(&mut client, "ALTER SEQUENCE q RESTART");
    run(&mut client, "SET shardid.max_drift = '1 h'");
    assert!(one::<i64>(&mut client, "SELECT next_id_from('q')") > before);
}

/// A slip of the pen, 2062 for 2026: where such a shard was dropped and made again, every other one was
/// refused after the next crash, until then. Nothing had given an id.
#[test]
fn a_layout_whose_time_has_not_begun_puts_no_other_generator_ahead() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SET client_min_messages = error; SET shardid.max_wait = 0; SET shardid.max_drift = '1 d'; SELECT create_shard(5), next_id(5);
         SELECT create_layout('late', '2062-01-01Z', '1 ms', 8192, 1024);
         SELECT create_layout('soon', date_trunc('hour', now()) + interval '2 h', '1 ms', 8192, 1024)",
    );
    let before = one::<i64>(&mut client, "SELECT next_id(5)");
    for layout in ["late", "soon"] {
        for make in [
            format!("create_shard(4, layout => '{layout}')"),
            format!("create_id_sequence('q', 3, '{layout}')"),
        ] {
            let drop =
                if make.contains("shard(") { "SELECT drop_shard(4)" } else { "DROP SEQUENCE q" };
            for _ in 0..3 {
                run(&mut client, &format!("SELECT {make}"));
                run(&mut client, drop);
            }
        }
    }
    let ahead =
        "SELECT last_value / 1e6 - extract(epoch FROM clock_timestamp()) < 10 FROM shardid.horizon";
    assert!(one::<bool>(&mut client, ahead));
    run(&mut client, "ALTER SEQUENCE shard_0005.shard_id_seq RESTART; RESET shardid.max_drift");
    assert!(one::<i64>(&mut client, "SELECT next_id(5)") > before);

    let made = notices(&database, "SELECT create_shard(4, layout => 'late')");
    assert!(made.contains("WARNING") && made.contains("2062-01-01"), "{made}");
    let refusal = expect_error(&mut client, "SELECT next_id(4)", "55000");
    assert!(refusal.message.contains("layout \"late\" has not begun"), "{refusal:?}");
    // As a move has it, of which nothing is known: it stands at one of its own numbers.
    let last = "SELECT shardid.last_id_at_most('shard_0004.shard_id_seq', 4, 'late')";
    let last = one::<i64>(&mut client, last);
    run(&mut client, "ALTER SEQUENCE shard_0004.shard_id_seq RESTART");
    let go_on = format!("SELECT shardid.go_on_above('shard_0004.shard_id_seq', {last})");
    run(&mut client, &go_on);
    assert!(one::<bool>(&mut client, "SELECT last_value >= 4 * 1024 FROM shard_0004.shard_id_seq"));
    // Above the clock by a setting, it gives ids, and what it gave is remembered.
    run(&mut client, "SET shardid.max_drift = '1 d'; SELECT create_shard(6, layout => 'soon')");
    let last = one::<i64>(&mut client, "SELECT max(next_id(6)) FROM generate_series(1, 2000)");
    run(&mut client, "DROP SCHEMA shard_0006 CASCADE; SELECT create_shard(6, layout => 'soon')");
    assert!(one::<i64>(&mut client, "SELECT next_id(6)") > last);
}

/// What psql says of a statement.
fn notices(database: &Database<'_>, sql: &str) -> String {
    let output = database.command("psql").args(["-X", "-c", sql]).output().expect("psql runs");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A sequence that was set years ahead by mistake, dropped and made again to put that right: all others
/// were refused for these years, after the next crash.
#[test]
fn a_shard_that_was_set_ahead_by_mistake_takes_no_other_along_when_it_is_dropped() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_shard(5), create_shard(4); SELECT next_id(5), next_id(4);
         SELECT setval('shard_0004.shard_id_seq', id_at('2031-10-29') + 4096)",
    );
    run(&mut client, "SELECT drop_shard(4)");
    let made = notices(&database, "SELECT create_shard(4)");
    assert!(
        made.contains("WARNING:  ids of sequence shard_0004.shard_id_seq begin at 2031-10-2"),
        "{made}"
    );
    run(&mut client, "ALTER SEQUENCE shard_0005.shard_id_seq RESTART");
    run(&mut client, "SELECT next_id(5)");
    // Its own hint helps, and no id comes again by it.
    let (_, restart) = made.split_once("by mistake: ").expect("a hint");
    run(&mut client, restart.lines().next().expect("a line"));
    run(&mut client, "SELECT next_id(4)");
}

/// One plain `nextval` of a shard with ticks of a day is of the next one. The shard dropped and made again, all
/// others were refused until then, after a crash.
#[test]
fn a_nextval_of_a_long_tick_takes_no_other_generator_along_when_its_shard_is_dropped() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SET client_min_messages = error; SELECT create_shard(5); SELECT next_id(5)");
    for (tick, slots) in
        [("24 h", 1_000_000_i64), ("24 h", 1_000_000_000), ("1 h", 1_000_000), ("5 min", 1_000_000)]
    {
        let make = format!(
            "SELECT create_layout('long', '2026-01-01Z', '{tick}', 64, {slots}); SELECT create_shard(4, layout => 'long')"
        );
        run(&mut client, &make);
        // Where the next tick is nearer than max_drift ids of it are given, and count as any do.
        run(
            &mut client,
            &format!(
                "SELECT pg_sleep(left_of) FROM (SELECT extract(epoch FROM '{tick}'::interval) - extract(epoch FROM clock_timestamp())::numeric
                     % extract(epoch FROM '{tick}'::interval) AS left_of) AS tick WHERE left_of < 20"
            ),
        );
        run(&mut client, "SELECT next_id(4); SELECT nextval('shard_0004.shard_id_seq')");
        run(&mut client, "SELECT drop_shard(4); SELECT create_shard(4, layout => 'long')");
        let ahead = "SELECT (last_value / 1e6 - extract(epoch FROM clock_timestamp()))::float8 FROM shardid.horizon";
        let ahead = one::<f64>(&mut client, ahead);
        assert!(ahead < 11.0, "{tick}, {slots}: {ahead} s ahead");
        run(
            &mut client,
            "DROP EXTENSION shardid CASCADE; DROP SCHEMA shard_0004, shard_0005 CASCADE; CREATE EXTENSION shardid; SELECT create_shard(5)",
        );
    }
}

/// It was refused for the rest of its tick, and nothing had said so; or what was said had a hint that does not help.
#[test]
fn a_generator_that_is_made_again_and_waits_for_its_next_tick_says_so() {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5); SELECT next_id(5)");
    database.psql("SELECT create_layout('day', date_trunc('second', now()) - interval '12 h', '24 h', 64, 1000000)");
    for (make, drop) in [
        ("create_shard(7, layout => 'day')", "SELECT drop_shard(7)"),
        ("create_id_sequence('q', 8, 'day')", "DROP SEQUENCE q"),
    ] {
        let first = notices(&database, &format!("SELECT {make}"));
        assert!(!first.contains("WARNING"), "{first}");
        database.psql(drop);
        let again = notices(&database, &format!("SELECT {make}"));
        assert!(again.contains("WARNING:  ids of sequence"), "{again}");
        assert!(
            again.contains("in the present tick is not known: it begins with the next one"),
            "{again}"
        );
        assert!(!again.contains("RESTART"), "{again}");
    }
    let refusal = expect_error(&mut database.connect(), "SELECT next_id(7)", "55000");
    assert!(
        refusal.detail.contains("in the present tick of its layout is not known"),
        "{refusal:?}"
    );
    assert!(refusal.hint.contains("Wait until the next tick begins"), "{refusal:?}");
}

/// Each round began where the lease of the one before ended, and had a whole one of its own: a test suite was
/// 10 s ahead of the clock after six.
#[test]
fn an_id_sequence_that_is_made_again_and_again_does_not_run_away_from_the_clock() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_shard(5); SELECT next_id(5)");
    let mut last = 0;
    for round in 0..40 {
        run(
            &mut client,
            "CREATE TABLE t (id bigint); SELECT create_id_sequence('q', 6); ALTER SEQUENCE q OWNED BY t.id",
        );
        for _ in 0..5 {
            let id = one::<i64>(&mut client, "SELECT next_id_from('q')");
            assert!(id > last);
            last = id;
            // As a checkpoint does that comes between two.
            if round % 10 == 0 {
                run(&mut client, "CHECKPOINT");
            }
        }
        run(&mut client, "DROP TABLE t");
    }
    let ahead = format!("SELECT extract(epoch FROM id_time({last}) - clock_timestamp())::float8");
    let ahead = one::<f64>(&mut client, &ahead);
    assert!(ahead < 5.0, "{ahead} s ahead");
}

/// A lease that is shorter than a slot was the rest of its tick: with `max_drift = 0` and ticks of
/// a day one plain id had all other shards refused for hours, after a crash.
#[test]
fn without_drift_an_id_of_a_long_tick_puts_no_other_generator_ahead() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_shard(5); SET shardid.max_drift = 0");
    let few = [("1 min", 1_000_000_i64), ("1 h", 1 << 31), ("24 h", 1_000_000_000), ("24 h", 16)];
    for (n, (tick, slots)) in few.into_iter().enumerate() {
        run(
            &mut client,
            // Early in the tick, at whatever hour the test runs: of the last, three hours are two ids.
            &format!(
                "SELECT create_layout('l{n}', date_trunc('second', now()) - interval '10 s', '{tick}', 16, {slots})"
            ),
        );
        run(&mut client, &format!("SELECT create_shard({}, layout => 'l{n}')", n + 6));
        let given =
            ids(&mut client, &format!("SELECT next_id({}) FROM generate_series(1, 5)", n + 6));
        assert!(given.is_sorted_by(|a, b| a < b));
    }
    run(&mut client, "SELECT next_id(5)");
    let ahead = "SELECT (last_value / 1e6 - extract(epoch FROM clock_timestamp()))::float8 FROM shardid.horizon";
    let ahead = one::<f64>(&mut client, ahead);
    assert!(ahead < 1.0, "{ahead} s ahead");
}

/// By whole ticks an hour's shard that had used the whole of it at once said that it was not ahead.
#[test]
fn how_far_a_shard_is_ahead_counts_by_the_share_of_its_tick() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_layout('half', date_trunc('second', now()) - interval '30 min', '1 h', 16, 1000000); SELECT create_shard(4, layout => 'half')",
    );
    let drift = "SELECT extract(epoch FROM drift)::float8 FROM shardid.shards WHERE shard = 4";
    assert_eq!(one::<f64>(&mut client, drift), 0.0);
    run(&mut client, "SELECT count(next_id(4)) FROM generate_series(1, 250000)");
    let drift = one::<f64>(&mut client, drift);
    assert!((890.0..=902.0).contains(&drift), "{drift}");
}

/// One tick with one slot is a layout, of which no sequence can be made: PostgreSQL said what it does not take.
#[test]
fn a_layout_with_a_single_id_for_each_shard_is_refused_by_name() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_layout('single', now(), '1 h', 1, 1, ticks => 1)");
    for make in ["create_shard(0, layout => 'single')", "create_id_sequence('q', 0, 'single')"] {
        let refusal = expect_error(&mut client, &format!("SELECT {make}"), "22023");
        assert!(refusal.message.contains("\"single\"") && !refusal.hint.is_empty(), "{refusal:?}");
    }
}

/// What another session has changed was locked as it is, and not found to be written to: the row was taken away, and how
/// far its ids went was remembered nowhere.
#[test]
fn an_id_sequence_that_several_make_again_at_once_gives_no_id_twice() {
    let database = Database::fresh();
    run(
        &mut database.connect(),
        "SELECT create_id_sequence('q', 5); SELECT next_id_from('q'); DROP SEQUENCE q; SELECT create_id_sequence('q', 5)",
    );
    let began = Instant::now();
    let (database, count) = (&database, &AtomicUsize::new(0));
    // As long as it takes on a machine that is at other work.
    let goes_on = move || {
        let passed = began.elapsed();
        passed < Duration::from_secs(6)
            || passed < Duration::from_secs(60) && count.load(Ordering::Relaxed) <= 1_000
    };
    let again = move |what: &'static str| {
        let mut client = database.connect();
        let mut done = 0;
        while goes_on() {
            match client.batch_execute(what) {
                Ok(()) => done += 1,
                Err(_) => client.batch_execute("ROLLBACK").unwrap(),
            }
        }
        done
    };
    let make = "BEGIN; DROP SEQUENCE q; SELECT create_id_sequence('q', 5); COMMIT; SELECT pg_sleep(random() / 30)";
    let keep = "UPDATE shardid.dropped_id_sequence SET lost = lost";
    let taken = move |session: usize| {
        let mut client = database.connect();
        let mut ids: Vec<i64> = Vec::new();
        while goes_on() {
            let take = "SELECT next_id_from('q') FROM generate_series(1, 3)";
            if let Ok(rows) = client.query(take, &[]) {
                ids.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
                count.fetch_add(rows.len(), Ordering::Relaxed);
            }
        }
        (session, ids)
    };
    let taken: Vec<(usize, Vec<i64>)> = thread::scope(|scope| {
        let makers = [make, make, keep].map(|what| scope.spawn(move || again(what)));
        let takers = [1, 2].map(|session| scope.spawn(move || taken(session)));
        for maker in makers {
            assert!(maker.join().expect("it does not panic") > 10);
        }
        takers.map(|taker| taker.join().expect("it does not panic")).into()
    });
    assert!(assert_unique(&taken) > 1_000);
}
