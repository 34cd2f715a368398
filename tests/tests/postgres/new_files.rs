//! ALTER SEQUENCE and TRUNCATE … RESTART IDENTITY give a sequence a new file, which may be
//! thrown away again: what the old file promised is no promise of the new one.

use shardid_tests::postgres::Client;
use shardid_tests::{Clock, Database, Server, expect_error};

use crate::account::{
    AHEAD, Account, COARSE, DRIFT, Generator, assert_ahead, assert_none_twice, builder, ids_of,
};
use crate::ask::{one, run, with_shard_5};

/// What gives a sequence (`@`) a new file, at times by way of the table (`#`) that owns it;
/// `!` is the lowest value it may have.
const CHANGES: [&str; 9] = [
    "ALTER SEQUENCE @ START WITH !",
    "ALTER SEQUENCE @ AS bigint",
    "ALTER SEQUENCE @ CACHE 1",
    // To what it is.
    "DO $$BEGIN EXECUTE (SELECT format('ALTER SEQUENCE @ MAXVALUE %s', seqmax) \
     FROM pg_sequence WHERE seqrelid = '@'::regclass); END$$",
    "ALTER SEQUENCE @ RESTART",
    "ALTER SEQUENCE @ RESTART WITH !",
    "ALTER SEQUENCE @ SET UNLOGGED; ALTER SEQUENCE @ SET LOGGED",
    "ALTER TABLE # SET UNLOGGED; ALTER TABLE # SET LOGGED",
    "TRUNCATE # RESTART IDENTITY",
];

/// How the transaction goes on after the change.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Commit,
    Rollback,
    RollbackToSavepoint,
    ReleaseAndCommit,
    ReleaseAndRollback,
    PrepareAndCommit,
    PrepareAndRollback,
}

const ENDS: [End; 7] = [
    End::Commit,
    End::Rollback,
    End::RollbackToSavepoint,
    End::ReleaseAndCommit,
    End::ReleaseAndRollback,
    End::PrepareAndCommit,
    End::PrepareAndRollback,
];

/// One way in which a generator gets a new file, or nearly.
struct Case {
    generator: Generator,
    change: String,
    end: End,
    /// Whether ids are asked for in the transaction, after the change.
    within: bool,
    /// Whether ids are taken between the transaction and the crash.
    before_crash: bool,
    account: Account,
}

fn cases(ends: &[End]) -> Vec<Case> {
    let mut cases = Vec::new();
    for (change, end) in
        CHANGES.iter().flat_map(|change| ends.iter().map(move |end| (change, *end)))
    {
        for (within, before_crash) in [(false, false), (false, true), (true, false), (true, true)] {
            let number = 1 + i32::try_from(cases.len()).expect("there are few");
            // Shards and id sequences take turns, so that each combination of two meets both.
            let sequence = (within == before_crash) == (number % 8 < 4);
            let generator =
                if sequence { Generator::Sequence(number) } else { Generator::Shard(number) };
            let account = Account::new(format!(
                "{change}, {end:?}, ids within: {within}, ids before the crash: {before_crash}, {generator:?}"
            ));
            let change = in_words_of(change, generator);
            cases.push(Case { generator, change, end, within, before_crash, account });
        }
    }
    cases
}

/// The table that owns a generator.
fn owner(generator: Generator) -> String {
    format!("{}.owner_{}", generator.schema(), generator.lowest())
}

/// A change, of this generator.
fn in_words_of(change: &str, generator: Generator) -> String {
    change
        .replace('@', &generator.name())
        .replace('#', &owner(generator))
        .replace('!', &generator.lowest().to_string())
}

/// Makes the generator and the table that owns it.
fn make(generator: Generator) -> String {
    let (make, table, sequence) = (generator.make(), owner(generator), generator.name());
    format!(
        "{make}; CREATE TABLE {table} (id bigint); ALTER SEQUENCE {sequence} OWNED BY {table}.id;"
    )
}

impl Case {
    /// Takes some ids. A generator whose past is not known may begin where the drift ends.
    fn take(&mut self, occasion: &str, client: &mut Client) {
        self.account.take_unless_ahead(occasion, client, &self.generator.take(8));
    }

    /// Does the change in one session and takes ids around it, also in another that knew it.
    fn change(&mut self, client: &mut Client, knew: &mut Client) {
        run(client, "BEGIN");
        self.take("in the transaction, before the change", client);
        run(client, &format!("SAVEPOINT a; {}", self.change));
        if matches!(self.end, End::ReleaseAndCommit | End::ReleaseAndRollback) {
            run(client, "RELEASE a");
        }
        if self.within {
            run(client, "SAVEPOINT taking");
            let occasion = "in the transaction, after the change";
            // Whether that is refused is another test's business. A restart has room for one.
            let count = if self.change.contains("RESTART") { 1 } else { 8 };
            if self.account.try_take(occasion, client, &self.generator.take(count)).is_err() {
                run(client, "ROLLBACK TO taking");
            }
        }
        match self.end {
            End::Commit | End::ReleaseAndCommit => run(client, "COMMIT"),
            End::Rollback | End::ReleaseAndRollback => run(client, "ROLLBACK"),
            End::PrepareAndCommit => {
                run(client, "PREPARE TRANSACTION 'p'");
                run(client, "COMMIT PREPARED 'p'");
            }
            End::PrepareAndRollback => {
                run(client, "PREPARE TRANSACTION 'p'");
                run(client, "ROLLBACK PREPARED 'p'");
            }
            End::RollbackToSavepoint => {
                run(client, "ROLLBACK TO a");
                self.take("in the transaction, after its savepoint", client);
                run(client, "COMMIT");
            }
        }
        if self.before_crash {
            self.take("in a session that knew it", knew);
            self.take("after the transaction", client);
        }
    }
}

/// Goes through all cases in one server with one crash, after which its clock is as given.
#[track_caller]
fn go_through(server: &Server, mut cases: Vec<Case>, ahead: i32, clock: Option<f64>) {
    let database = Database::on(server);
    let made: String = cases.iter().map(|case| make(case.generator)).collect();
    database.psql(&format!("{COARSE}; {made}"));
    let (mut client, mut knew) = (database.connect(), database.connect());
    for case in &mut cases {
        case.account.take("at first", &mut client, &case.generator.take(ids_of(ahead).max(8)));
        case.account.take("at first, elsewhere", &mut knew, &case.generator.take(8));
        case.change(&mut client, &mut knew);
    }
    server.kill9();
    if let Some(seconds) = clock {
        server.set_clock(seconds);
    }
    server.start();
    let (mut client, mut other) = (database.connect(), database.connect());
    // After a crash a shard goes on from its lease, which may reach to where the drift ends.
    run(&mut client, "SET shardid.max_drift = '1h'");
    run(&mut other, "SET shardid.max_drift = '1h'");
    for case in &mut cases {
        case.take("after the crash", &mut client);
        case.take("after the crash, elsewhere", &mut other);
        assert_ahead(&mut client, case.account.highest(), "coarse");
    }
    // Beyond what a file that was thrown away can have given: a restart begins where the
    // drift ends.
    run(&mut client, "SET shardid.max_drift = '1d'");
    for case in &mut cases {
        let restarted = case.within && case.change.contains("RESTART");
        let seconds = if restarted { DRIFT + 60 - ahead } else { 30 };
        case.account.take("in the end", &mut client, &case.generator.take(ids_of(seconds)));
    }
    assert_none_twice(cases.iter().map(|case| &case.account));
}

/// A shard some seconds ahead, all settings as they come; ALTER SEQUENCE … START WITH; 100,000
/// ids, kill -9, 100,000 ids: all came again.
#[test]
fn a_shard_that_is_ahead_when_its_sequence_is_altered_repeats_nothing_after_a_crash() {
    let server = Server::builder().conf("wal_writer_delay = '10s'").start();
    let database = Database::on(&server);
    // A machine that is slow at this moment may let the clock catch up: then again.
    let ahead = (5..15).any(|shard| {
        let mut account = Account::new("START WITH");
        let mut client = database.connect();
        // A shard does not run ahead in the transaction that makes it.
        run(&mut client, &format!("SELECT create_shard({shard})"));
        run(
            &mut client,
            &format!(
                "SELECT count(next_id({shard})) FROM generate_series(1, 8000000); \
                 ALTER SEQUENCE shard_{shard:04}.shard_id_seq START WITH {}",
                shard * 1024
            ),
        );
        let take = format!("SELECT next_ids({shard}, 100000)");
        account.take("before the crash", &mut client, &take);
        let highest = account.highest();
        server.kill9();
        server.start();
        let mut client = database.connect();
        account.take("after the crash", &mut client, &take);
        assert_none_twice([&account]);
        one(&mut client, &format!("SELECT id_time({highest}) > clock_timestamp()"))
    });
    assert!(ahead, "the clock caught up each time: the test would prove nothing");
}

/// Ids taken after ALTER SEQUENCE or TRUNCATE … RESTART IDENTITY came again after a crash, and
/// without one where the transaction was rolled back: 100,000 of 100,000.
#[test]
fn a_new_file_in_a_transaction_that_ends_in_any_way_repeats_nothing_also_after_a_crash() {
    go_through(&builder().start(), cases(&ENDS), AHEAD, None);
}

/// A shard on time, with a lease as long as the drift; after the crash the clock was back:
/// 0.5 to 0.9 million ids came again.
#[test]
fn a_new_file_repeats_nothing_after_a_crash_with_the_clock_back() {
    let server = builder().clock(Clock::AtStart).conf("shardid.lease = '1200s'").start();
    go_through(&server, cases(&[End::Commit, End::Rollback]), 0, Some(-300.0));
}

/// Ids of a new file that was thrown away with its transaction went to another session again.
#[test]
fn ids_from_a_new_file_are_refused_until_it_is_committed_and_then_go_on() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_id_sequence('ids', 5); CREATE TABLE t (a bigint, b bigint); \
         ALTER SEQUENCE ids OWNED BY t.a; ALTER SEQUENCE shard_0005.shard_id_seq OWNED BY NONE; \
         CREATE TABLE shard_0005.t (id bigint); \
         ALTER SEQUENCE shard_0005.shard_id_seq OWNED BY shard_0005.t.id",
    );
    let ways = [
        "SELECT next_id(5)",
        "SELECT next_id()",
        "SELECT shard_0005.next_id()",
        "SELECT next_ids(5, 3)",
        "SELECT next_id_from('ids')",
    ];
    for change in CHANGES {
        for way in ways {
            let (sequence, table, lowest) = if way.contains("from") {
                ("ids", "t", "5120")
            } else {
                ("shard_0005.shard_id_seq", "shard_0005.t", "5120")
            };
            let change = change.replace('@', sequence).replace('#', table).replace('!', lowest);
            for (before, end) in [
                ("", "ROLLBACK"),
                ("SAVEPOINT a", "ROLLBACK TO a; COMMIT"),
                ("SAVEPOINT a", "RELEASE a; COMMIT"),
                ("", "COMMIT"),
            ] {
                // A block is at hand when the file changes.
                run(&mut client, &format!("BEGIN; {way} FROM generate_series(1, 9); {before}"));
                run(&mut client, &format!("{change}; SAVEPOINT taking"));
                let refusal = expect_error(&mut client, way, "55000");
                assert!(
                    refusal.message.contains("has a new file in this transaction"),
                    "{change}; {way}: {refusal:?}"
                );
                assert!(refusal.hint.contains("COMMIT"), "{change}; {way}: {refusal:?}");
                run(&mut client, &format!("ROLLBACK TO taking; {end}"));
                run(&mut client, way);
                run(&mut database.connect(), way);
            }
        }
    }
}

/// A shard made in the transaction is no file that may be thrown away alone; but a savepoint
/// throws away the new one that it got since, and what was given from it came again.
#[test]
fn a_shard_made_in_the_transaction_repeats_nothing_when_a_savepoint_throws_its_new_file_away() {
    let server = builder().conf("shardid.max_drift = '1d'").start();
    let database = Database::on(&server);
    database.psql(COARSE);
    let (mut client, mut other) = (database.connect(), database.connect());
    let mut accounts = Vec::new();
    for (number, change) in (1..).zip(CHANGES.iter().chain(&CHANGES)) {
        let generator = Generator::Shard(number);
        // next_ids() knows nothing of what next_id() has given.
        let goes_on = number % 2 == 0;
        let mut account = Account::new(format!("{change}, goes on by next_ids: {goes_on}"));
        let few = generator.take(8);
        // It does not run ahead of the clock here, so one id of its four a second at a time.
        run(&mut client, &format!("BEGIN; {}", make(generator)));
        account.take("at first", &mut client, &generator.take(1));
        run(&mut client, &format!("SAVEPOINT a; {}", in_words_of(change, generator)));
        assert!(account.try_take("after the change", &mut client, &few).is_err(), "{change}");
        run(&mut client, "ROLLBACK TO a; RELEASE a");
        if goes_on {
            let many = format!("SELECT next_ids({number}, 1)");
            account.take("after the savepoint", &mut client, &many);
        }
        run(&mut client, &format!("SAVEPOINT b; {}; RELEASE b", in_words_of(change, generator)));
        // The file and the sequence now go together or not at all; but the new file does not
        // say that it is the first of its shard.
        run(&mut client, "SAVEPOINT c");
        assert!(account.try_take("released", &mut client, &few).is_err(), "{change}");
        run(&mut client, "ROLLBACK TO c; COMMIT");
        account.take("in another session", &mut other, &few);
        account.take("in the end", &mut other, &generator.take(ids_of(AHEAD)));
        accounts.push(account);
    }
    assert_none_twice(&accounts);
}

/// Two restarts within one tick both began where the clock and the drift allowed put them:
/// at the same place.
#[test]
fn a_shard_that_is_restarted_twice_in_one_moment_repeats_nothing() {
    let database = Database::fresh();
    // A tick in which both restarts take place, if not the first time then the second.
    database.psql("SELECT create_layout('slow', '2026-01-01Z', '5 s', 8192, 4096)");
    let mut accounts = Vec::new();
    for (shard, restart) in (1..).zip(["RESTART", "RESTART WITH !", "TRUNCATE"]) {
        for shard in [shard, shard + 10] {
            database.psql(&format!("SELECT create_shard({shard}, layout => 'slow')"));
            let mut account = Account::new(format!("{restart}, shard {shard}"));
            let name = format!("shard_{shard:04}.shard_id_seq");
            let sql = match restart {
                "TRUNCATE" => format!(
                    "CREATE TABLE IF NOT EXISTS shard_{shard:04}.t (id bigint); \
                     ALTER SEQUENCE {name} OWNED BY shard_{shard:04}.t.id; TRUNCATE shard_{shard:04}.t RESTART IDENTITY"
                ),
                restart => format!(
                    "ALTER SEQUENCE {name} {}",
                    restart.replace('!', &(shard * 4096).to_string())
                ),
            };
            for session in ["first", "second", "third"] {
                let mut client = database.connect();
                run(&mut client, &format!("SET shardid.max_drift = '1h'; {sql}"));
                account.take(session, &mut client, &format!("SELECT next_ids({shard}, 5)"));
            }
            accounts.push(account);
        }
    }
    assert_none_twice(&accounts);
}

/// One session may go further ahead than another: the one that restarted the shard began
/// where only its own drift put it.
#[test]
fn a_shard_is_restarted_above_what_a_session_with_a_larger_drift_has_taken() {
    let mut accounts = Vec::new();
    for (n, restart) in (1..).zip(["RESTART", "RESTART WITH !"]) {
        for generator in [Generator::Shard(n), Generator::Sequence(n)] {
            // Of its own: one that does not know its past begins beyond all of the others.
            let database = Database::fresh();
            database.psql(COARSE);
            let mut account = Account::new(format!("{restart}, {generator:?}"));
            let mut far = database.connect();
            run(&mut far, &format!("{}; SET shardid.max_drift = '1200s'", generator.make()));
            account.take("far ahead", &mut far, &generator.take(ids_of(AHEAD)));
            let mut near = database.connect();
            let restart = restart.replace('!', &generator.lowest().to_string());
            run(&mut near, &format!("ALTER SEQUENCE {} {restart}", generator.name()));
            // Its own drift may not let it go there; then it is refused.
            run(&mut near, "SET shardid.max_wait = 0");
            account.take_unless_ahead("restarted", &mut near, &generator.take(1));
            run(&mut near, "SET shardid.max_drift = '1d'");
            account.take("in the end", &mut near, &generator.take(ids_of(AHEAD)));
            accounts.push(account);
        }
    }
    assert_none_twice(&accounts);
}

/// With the clock back, a restarted shard began at the clock plus the drift allowed, which
/// was below what it had given before.
#[test]
fn a_shard_that_is_restarted_after_the_clock_went_back_repeats_nothing() {
    let server = Server::builder().clock(Clock::Steerable).fsync(false).start();
    let mut accounts = Vec::new();
    for (n, seconds) in [(1, -5.0), (2, -30.0), (3, -3600.0)] {
        server.set_clock(0.0);
        // Of its own: one that does not know its past begins beyond all of the others.
        let database = Database::on(&server);
        database.psql(COARSE);
        let generator = Generator::Shard(n);
        let mut account = Account::new(format!("{seconds} s"));
        let mut client = database.connect();
        run(&mut client, &generator.make());
        account.take("before", &mut client, &generator.take(ids_of(8)));
        server.set_clock(seconds);
        let mut client = database.connect();
        let (sequence, lowest) = (generator.name(), generator.lowest());
        run(&mut client, &format!("ALTER SEQUENCE {sequence} RESTART WITH {lowest}"));
        run(&mut client, "SET shardid.max_wait = 0");
        account.take_unless_ahead("restarted", &mut client, &generator.take(1));
        run(&mut client, "SET shardid.max_drift = '1d'");
        account.take("with a larger drift", &mut client, &generator.take(ids_of(30)));
        server.set_clock(0.0);
        let mut client = database.connect();
        run(&mut client, "SET shardid.max_drift = '1d'");
        account.take("with the clock right", &mut client, &generator.take(ids_of(30)));
        accounts.push(account);
    }
    assert_none_twice(&accounts);
}

/// With ticks of a second each restart put the shard three seconds further ahead, and from the
/// sixth on ids were refused.
#[test]
fn a_shard_that_is_restarted_again_and_again_stays_near_the_clock_in_every_layout() {
    let database = Database::fresh();
    database.psql("SELECT create_layout('slow', '2026-01-01Z', '1 h', 1024, 100000000)");
    let mut client = database.connect();
    for (shard, layout) in (1..).zip(["instagram", "snowflake", "js53", "uidgenerator", "slow"]) {
        run(&mut client, &format!("SELECT create_shard({shard}, layout => '{layout}')"));
        let mut account = Account::new(layout);
        for _ in 0..40 {
            account.take("between", &mut client, &format!("SELECT next_id({shard})"));
            let restart = format!("ALTER SEQUENCE shard_{shard:04}.shard_id_seq RESTART");
            run(&mut client, &restart);
        }
        let ahead = format!(
            "SELECT extract(epoch FROM id_time({}, '{layout}') - clock_timestamp())::int",
            account.highest()
        );
        assert!(one::<i32>(&mut client, &ahead) < 9, "{layout}");
        assert_none_twice([&account]);
    }
}

/// One that loads many rows runs ahead as far as it may; another one that was restarted had
/// to go beyond its lease, and was refused for more than a second.
#[test]
fn a_restarted_shard_gives_ids_at_once_beside_one_that_is_as_far_ahead_as_it_may_be() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(&mut client, "SELECT create_shard(6)");
    run(&mut client, "SELECT next_id(6)");
    run(&mut client, "SET shardid.max_drift = '2s'");
    run(&mut client, "SELECT count(next_id(5)) FROM generate_series(1, 3000000)");
    run(&mut client, "ALTER SEQUENCE shard_0006.shard_id_seq RESTART");
    run(&mut client, "SET shardid.max_wait = '300ms'");
    run(&mut client, "SELECT next_id(6)");
}

/// Four ids an hour: after three of them all other shards that were restarted began an hour ahead.
#[test]
fn a_layout_with_long_ticks_and_few_ids_puts_no_other_shard_ahead() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(&mut client, "SELECT create_layout('sparse', '2026-01-01Z', '1 h', 16, 4)");
    run(&mut client, "SELECT create_shard(6, layout => 'sparse')");
    // Its first ones may all be behind the clock.
    let _ = client.batch_execute("SELECT next_ids(6, 2)");
    run(&mut client, "SELECT next_id(5); ALTER SEQUENCE shard_0005.shard_id_seq RESTART");
    run(&mut client, "SELECT next_id(5)");
    let ahead = "SELECT id_time(last_id()) < clock_timestamp() + interval '5 s'";
    assert!(one::<bool>(&mut client, ahead));
}
