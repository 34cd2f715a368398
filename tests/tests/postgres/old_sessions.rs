//! Sessions of a pool that still have the library of 0.1.0 loaded, beside sessions
//! that have the installed one: no id comes twice while both are at work.
//!
//! `tests/old_library` is that library, frozen; `old_next_ids` is all there is of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use shardid_tests::postgres::Client;
use shardid_tests::rand::Rng;
use shardid_tests::rand::rngs::StdRng;
use shardid_tests::rand::seq::IndexedRandom;
use shardid_tests::{
    Clock, Database, OLD_NEXT_IDS, Server, assert_rising, assert_unique, expect_error,
    find_duplicate, rng,
};

use crate::ask::{ids, lazy_server, take_until_crash};

/// Which library a session has loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Library {
    Old,
    Installed,
    /// Both in one backend, called in turn.
    Both,
    /// Neither: a stranger who calls `nextval`.
    None,
}
use Library::{Both, Installed, None as Stranger, Old};

impl Library {
    /// Whether what a session takes by it rises. Where both libraries are in one backend, the
    /// one knows nothing of the block that the other holds.
    fn rises(self) -> bool {
        self != Both
    }

    /// A statement that takes about `many` ids of shard 5.
    fn statement(self, random: &mut StdRng, many: u32) -> String {
        match (self, random.random_range(0..3)) {
            (Both, _) => {
                [Old, Installed].choose(random).expect("there are two").statement(random, many)
            }
            (Old, _) => format!("SELECT old_next_ids(5, {many})"),
            (Installed, 0) => "SELECT next_id(5)".to_owned(),
            (Installed, 1) => format!("SELECT next_id(5) FROM generate_series(1, {many})"),
            (Installed, _) => format!("SELECT next_ids(5, {many})"),
            (Stranger, _) => "SELECT nextval('shard_0005.shard_id_seq')".to_owned(),
        }
    }
}

/// A session, and what it was given.
struct Session {
    name: String,
    library: Library,
    client: Client,
    in_transaction: bool,
    taken: Vec<i64>,
}

impl Session {
    fn new(database: &Database<'_>, name: String, library: Library) -> Self {
        Self { name, library, client: database.connect(), in_transaction: false, taken: Vec::new() }
    }

    /// Takes ids and returns them.
    fn take(&mut self, sql: &str) -> Vec<i64> {
        let new = ids(&mut self.client, sql);
        assert_rising(&new);
        let rises = !self.library.rises() || self.taken.last() < new.first();
        assert!(rises, "{:?}, then {:?}", self.taken.last(), new.first());
        self.taken.extend(&new);
        new
    }

    /// Begins a transaction or ends the one that runs, kept or not.
    fn begin_or_end(&mut self, random: &mut StdRng) -> &'static str {
        let sql = match self.in_transaction {
            true => ["COMMIT", "ROLLBACK"].choose(random).expect("there are two"),
            false => "BEGIN",
        };
        self.client.batch_execute(sql).unwrap();
        self.in_transaction = !self.in_transaction;
        sql
    }
}

/// A database with shard 5 and both ways to take its ids.
fn database(server: &Server) -> Database<'_> {
    let database = Database::on(server);
    database.psql(OLD_NEXT_IDS);
    database.psql("SELECT create_shard(5)");
    database
}

/// How many ids are taken at a time: from one to more than a lease of 50 ms has.
fn any_count(random: &mut StdRng) -> u32 {
    match random.random_range(0..10) {
        0..4 => 1,
        4..8 => random.random_range(1..3_000),
        8 => random.random_range(3_000..20_000),
        _ => 60_000,
    }
}

/// Long leases, so that what a session knows to be flushed is good for a while, and short
/// ones, which are renewed all the time.
fn any_lease(random: &mut StdRng) -> &'static str {
    ["50ms", "1s", "10min"].choose(random).expect("there are three")
}

/// Crashes the server, sets its clock an hour further back, and checks that the next id is
/// above all of them, whichever library takes it: nothing but what was in WAL keeps
/// it from coming again. Returns that id.
fn next_after_crash(
    database: &Database<'_>,
    random: &mut StdRng,
    hours_back: &mut u32,
    highest: i64,
    order: &[String],
) -> i64 {
    let server = database.server();
    server.kill9();
    *hours_back += 1;
    server.set_clock(-3600.0 * f64::from(*hours_back));
    server.start();
    let library = *[Old, Installed].choose(random).expect("there are two");
    let sql = library.statement(random, 1);
    let next = ids(&mut database.connect(), &sql)[0];
    assert!(next > highest, "{next} after {highest} by {sql}, in the order\n{}", order.join("\n"));
    next
}

/// Asserts that no id came twice, and shows the order of all that was done where one did.
#[track_caller]
fn assert_none_twice(taken: &[(String, Vec<i64>)], order: &[String]) {
    if let Some(duplicate) = find_duplicate(taken) {
        panic!("{duplicate:?} in the order\n{}", order.join("\n"));
    }
}

#[test]
fn an_old_session_writes_the_page_as_0_1_0_did_whoever_wrote_it_before() {
    let database = Database::fresh();
    database.psql(OLD_NEXT_IDS);
    database.psql("SELECT create_shard(5)");
    let mut client = database.connect();
    for before in ["SELECT 1", "SELECT next_id(5)", "SELECT nextval('shard_0005.shard_id_seq')"] {
        database.psql(before);
        let last = *ids(&mut client, "SELECT old_next_ids(5, 3)").last().unwrap();
        assert_eq!(last >> 10 & 0x1FFF, 5, "{last} is an id of another shard");
        let row = client
            // A tuple's command is where 0.1.0 keeps the number of the chain.
            .query_one(
                "SELECT last_value, log_cnt, cmin::text::bigint FROM shard_0005.shard_id_seq",
                &[],
            )
            .unwrap();
        let (last_value, log_cnt, chain): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        assert_eq!(last_value, last, "after {before}");
        // The lease: the last slot of a tick that is half a lease ahead or more.
        let (tick, slot) = (-log_cnt >> 23, -log_cnt & 0x3FF);
        assert!(
            (500..=1_500).contains(&(tick - (last >> 23))),
            "{log_cnt} at {last} after {before}"
        );
        assert_eq!(slot, 1023, "after {before}");
        // On the page of a new generator, which says that it is known where it stands, 0.1.0
        // sees a lease that has run out, and goes on with its chain.
        assert!(chain > 0 || before == "SELECT 1", "after {before}");
    }
}

#[test]
fn an_old_session_knows_the_settings_with_the_installed_library_loaded_and_without() {
    let database = Database::fresh();
    database.psql(OLD_NEXT_IDS);
    database.psql("SELECT create_shard(5)");
    for load in ["SELECT 1", "SELECT next_id(5)"] {
        let mut client = database.connect();
        client.batch_execute(load).unwrap();
        client.batch_execute("SET shardid.max_drift = '0'; SET shardid.max_wait = '0s'").unwrap();
        // Without drift a full tick has to be waited for.
        let refusal = expect_error(&mut client, "SELECT old_next_ids(5, 500000)", "55000");
        assert_eq!(refusal.message, "shard 5 is too far ahead of the clock");
        client.batch_execute("SET shardid.max_drift = '1min'").unwrap();
        assert_eq!(ids(&mut client, "SELECT old_next_ids(5, 5000)").len(), 5000);
        client.batch_execute("RESET ALL; SELECT next_id(5)").unwrap();
    }
}

#[test]
fn an_old_session_finds_the_shard_that_was_made_anew_and_none_that_was_dropped() {
    let database = Database::fresh();
    database.psql(OLD_NEXT_IDS);
    database.psql("SELECT create_shard(5)");
    let mut client = database.connect();
    let mut taken = ids(&mut client, "SELECT old_next_ids(5, 10)");
    database.psql("SELECT drop_shard(5)");
    expect_error(&mut client, "SELECT old_next_ids(5, 1)", "42704");
    // By the clock the next ids are later ones: ten are not ahead of it.
    thread::sleep(Duration::from_millis(20));
    database.psql("SELECT create_shard(5)");
    taken.extend(ids(&mut client, "SELECT old_next_ids(5, 10)"));
    assert_rising(&taken);
}

#[test]
fn old_and_new_sessions_alternate_over_crashes_with_the_clock_an_hour_back() {
    let server = lazy_server().start();
    let database = database(&server);
    let mut random = rng("old and new alternate");
    let (mut all, mut order): (Vec<(String, Vec<i64>)>, Vec<String>) = (Vec::new(), Vec::new());
    let mut hours_back = 0;
    for round in 0..6 {
        let mut sessions: Vec<Session> = [Old, Old, Installed, Installed, Both, Stranger]
            .into_iter()
            .enumerate()
            .map(|(n, library)| {
                Session::new(&database, format!("{n} ({library:?}) of round {round}"), library)
            })
            .collect();
        for session in &mut sessions {
            let sql = format!("SET shardid.lease = '{}'", any_lease(&mut random));
            session.client.batch_execute(&sql).unwrap();
            order.push(format!("{}: {sql}", session.name));
        }
        for _ in 0..random.random_range(5..40) {
            if random.random_bool(0.1) {
                order.push("CHECKPOINT".into());
                server.checkpoint();
            }
            let session = {
                let n = random.random_range(0..sessions.len());
                &mut sessions[n]
            };
            // A stranger's number is only safe once its transaction is.
            if session.library != Stranger && random.random_bool(0.2) {
                let sql = session.begin_or_end(&mut random);
                order.push(format!("{}: {sql}", session.name));
            }
            let many = any_count(&mut random);
            let sql = session.library.statement(&mut random, many);
            order.push(format!("{}: {sql}", session.name));
            session.take(&sql);
        }
        all.extend(sessions.into_iter().map(|session| (session.name, session.taken)));
        let highest = all.iter().flat_map(|(_, taken)| taken).max();
        let highest = *highest.expect("every round takes some");
        let next = next_after_crash(&database, &mut random, &mut hours_back, highest, &order);
        order.push(format!("crash, and then {next}"));
        all.push((format!("after round {round}"), vec![next]));
        assert_none_twice(&all, &order);
    }
}

/// What happens next in an order.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The session with that library takes ids.
    Take(Library),
    Checkpoint,
}
use Step::{Checkpoint, Take};

/// Orders at whose end a session may wrongly think that what it takes is flushed.
const ORDERS: [&[Step]; 6] = [
    &[Take(Old), Take(Installed), Take(Old)],
    &[Take(Old), Checkpoint, Take(Old)],
    &[Take(Installed), Checkpoint, Take(Installed)],
    &[Take(Old), Take(Installed), Checkpoint, Take(Old)],
    &[Take(Installed), Take(Old), Checkpoint, Take(Installed)],
    &[Take(Old), Take(Installed), Take(Stranger), Take(Old)],
];

/// Any order, which often ends with a session that goes on after a break.
fn any_order(random: &mut StdRng) -> Vec<Step> {
    let all = [Take(Old), Take(Installed), Checkpoint, Take(Stranger)];
    let weighted = |random: &mut StdRng| all[[0, 0, 1, 1, 2, 3][random.random_range(0..6)]];
    let before = random.random_range(1..7);
    let mut order: Vec<Step> = (0..before).map(|_| weighted(random)).collect();
    if random.random_bool(0.5) {
        order.push(*all[2..].choose(random).expect("there are two"));
    }
    order.push(*all[..2].choose(random).expect("there are two"));
    order
}

#[test]
fn a_lease_that_an_old_session_knows_to_be_flushed_is_good_after_a_new_session_too() {
    let server = lazy_server().start();
    let database = database(&server);
    let mut random = rng("flushed and known");
    let mut hours_back = 0;
    for round in 0..14 {
        let known = ORDERS.get(round).map(|order| order.to_vec());
        let (steps, lease) = match known {
            Some(order) => (order, "10min"),
            None => (any_order(&mut random), any_lease(&mut random)),
        };
        let mut sessions: Vec<Session> = [Old, Installed, Stranger]
            .into_iter()
            .map(|library| Session::new(&database, format!("{library:?}"), library))
            .collect();
        for session in &mut sessions {
            session.client.batch_execute(&format!("SET shardid.lease = '{lease}'")).unwrap();
        }
        let mut order = vec![format!("shardid.lease = {lease}")];
        let mut highest = 0;
        for (n, step) in steps.iter().enumerate() {
            let Take(library) = *step else {
                order.push("CHECKPOINT".into());
                server.checkpoint();
                continue;
            };
            let session = sessions.iter_mut().find(|s| s.library == library).expect("one of each");
            // At the end more than `nextval` has logged for itself, which are 33 ticks.
            let many = if n + 1 == steps.len() { 60_000 } else { any_count(&mut random) };
            let sql = library.statement(&mut random, many);
            order.push(format!("{library:?}: {sql}"));
            let last = *session.take(&sql).last().expect("it takes some");
            assert!(last > highest, "{last} after {highest} in the order\n{}", order.join("\n"));
            highest = last;
        }
        next_after_crash(&database, &mut random, &mut hours_back, highest, &order);
    }
}

#[test]
fn old_and_new_sessions_take_ids_at_once_with_checkpoints_between() {
    let server = Server::builder().fsync(false).start();
    let database = database(&server);
    let running = AtomicBool::new(true);
    let taken = thread::scope(|scope| {
        let sessions: Vec<_> = [Old, Old, Old, Installed, Installed, Installed, Both]
            .into_iter()
            .enumerate()
            .map(|(n, library)| {
                let database = &database;
                scope.spawn(move || {
                    let mut random = rng(&format!("at once {n}"));
                    let name = format!("{n} ({library:?})");
                    let mut session = Session::new(database, name, library);
                    // Checked once, at the end: looking at all of them each time takes long.
                    let mut taken = Vec::new();
                    while taken.len() < 60_000 {
                        let many = *[1, 1, 40, 3_000].choose(&mut random).expect("there are four");
                        let sql = library.statement(&mut random, many);
                        taken.extend(ids(&mut session.client, &sql));
                    }
                    if library.rises() {
                        assert_rising(&taken);
                    }
                    (session.name, taken)
                })
            })
            .collect();
        scope.spawn(|| {
            while running.load(Ordering::Relaxed) {
                server.checkpoint();
                thread::sleep(Duration::from_millis(20));
            }
        });
        let taken: Vec<_> = sessions.into_iter().map(|s| s.join()).collect();
        running.store(false, Ordering::Relaxed);
        taken.into_iter().map(|t| t.expect("a session ends")).collect::<Vec<_>>()
    });
    assert!(assert_unique(&taken) >= 7 * 60_000);
}

#[test]
fn old_and_new_sessions_are_killed_under_load_with_the_clock_two_seconds_behind() {
    let server = Server::builder().clock(Clock::Steerable).start();
    let database = database(&server);
    let mut random = rng("old and new under load");
    let mut all: Vec<(String, Vec<i64>)> = Vec::new();
    for round in 0..5 {
        let crashed = AtomicBool::new(false);
        thread::scope(|scope| {
            let running: Vec<_> = [Old, Old, Installed, Installed, Both]
                .into_iter()
                .enumerate()
                .map(|(n, library)| {
                    let (database, crashed) = (&database, &crashed);
                    let mut random = rng(&format!("under load {n} {round}"));
                    let statement = move || {
                        let many = random.random_range(1..300);
                        library.statement(&mut random, many)
                    };
                    let name = format!("{n} ({library:?}) of round {round}");
                    scope.spawn(move || (name, take_until_crash(database, crashed, statement)))
                })
                .collect();
            if random.random_bool(0.5) {
                thread::sleep(Duration::from_millis(random.random_range(50..300)));
                server.checkpoint();
            }
            thread::sleep(Duration::from_millis(random.random_range(50..600)));
            crashed.store(true, Ordering::Relaxed);
            server.kill9();
            all.extend(running.into_iter().map(|r| r.join().unwrap()));
        });
        // The first start is two seconds behind, and each later one half a second more.
        server.set_clock(-2.0 - 0.5 * f64::from(round));
        server.start();
    }
    for (name, taken) in &all {
        if !name.contains("(Both)") {
            assert_rising(taken);
        }
    }
    assert!(assert_unique(&all) > 1_000);
    for library in [Old, Installed] {
        let name = format!("({library:?})");
        assert!(all.iter().any(|(n, taken)| n.contains(&name) && taken.len() > 100), "{name}");
    }
}

/// What a user saw: the shard was ahead of the clock, somebody altered its sequence,
/// and after a crash 100,000 of 100,000 ids came again. 0.1.0 takes the lease that a
/// rewrite copies for one that is logged in the new file. It is never mended in the
/// frozen library: this is how we know that it is the old one, and that a repeat is found.
#[test]
fn the_old_library_has_the_fault_of_0_1_0_and_it_is_found() {
    let server = lazy_server().start();
    let database = database(&server);
    let mut before = Session::new(&database, "before the crash".into(), Old);
    before.take("SELECT old_next_ids(5, 1000)");
    // The shard is an hour ahead from here on.
    server.set_clock(-3600.0);
    database.psql("ALTER SEQUENCE shard_0005.shard_id_seq START WITH 5120");
    before.take("SELECT old_next_ids(5, 100000)");
    server.kill9();
    server.start();
    let mut after = Session::new(&database, "after the crash".into(), Old);
    after.take("SELECT old_next_ids(5, 100000)");
    assert_eq!(after.taken, before.taken[1000..]);
    let duplicate = find_duplicate(&[(before.name, before.taken), (after.name, after.taken)]);
    assert_eq!(
        duplicate.expect("all came twice").sessions,
        ["before the crash", "after the crash"]
    );
}
