//! Many clients at once, while the servers of the ticket change: no number comes twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use shardid_tests::postgres::Client;
use shardid_tests::rand::Rng;
use shardid_tests::{Database, assert_rising, assert_unique, rng};

use crate::ask::{column, ids, one, run};

/// The ways to take numbers of a ticket.
fn ways(name: &str) -> [String; 3] {
    [
        format!("SELECT next_ticket('{name}')"),
        format!("SELECT nextval('shardid_tickets.{name}')"),
        format!("SELECT * FROM next_tickets('{name}', 7)"),
    ]
}

#[test]
fn sixteen_clients_on_four_tickets_get_every_number_once_and_without_an_error() {
    const NAMES: [&str; 4] = ["photos", "orders", "users", "files"];
    let database = Database::fresh();
    for (step, name) in NAMES.iter().enumerate() {
        database.psql(&format!("SELECT create_ticket('{name}', 1, {})", step + 1));
    }
    let mut all: BTreeMap<&str, Vec<(usize, Vec<i64>)>> = BTreeMap::new();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..16)
            .map(|_| {
                let database = &database;
                scope.spawn(move || {
                    let mut client = database.connect();
                    let mut taken = [const { Vec::new() }; 4];
                    for round in 0..500 {
                        for (name, taken) in NAMES.iter().zip(&mut taken) {
                            taken.extend(ids(&mut client, &ways(name)[round % 3]));
                        }
                    }
                    taken
                })
            })
            .collect();
        for (session, client) in clients.into_iter().enumerate() {
            for (name, taken) in NAMES.iter().zip(client.join().unwrap()) {
                assert_rising(&taken);
                all.entry(name).or_default().push((session, taken));
            }
        }
    });
    for (step, name) in NAMES.iter().enumerate() {
        let count = assert_unique(&all[name]);
        assert_eq!(count, 16 * (167 + 167 + 166 * 7), "{name}");
        // Nothing was undone and nothing crashed, so there are no gaps either.
        let mut numbers: Vec<i64> =
            all[name].iter().flat_map(|(_, taken)| taken.iter().copied()).collect();
        numbers.sort_unstable();
        let expected: Vec<i64> = (0..count as i64).map(|n| n * (step as i64 + 1) + 1).collect();
        assert_eq!(numbers, expected, "{name}");
    }
}

/// Takes numbers until told to stop, by all ways, in transactions that end or not;
/// what is refused for the moment is tried again.
fn take_until(stop: &AtomicBool, database: &Database<'_>, session: usize) -> Vec<i64> {
    let mut client = database.connect();
    let mut random = rng(&format!("take {} {session}", database.name()));
    let ways = ways("photos");
    let mut taken = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let way = ways[random.random_range(0..ways.len())].as_str();
        let statement = match random.random_range(0..4) {
            0 => Some("COMMIT"),
            1 => Some("ROLLBACK"),
            _ => None,
        };
        if statement.is_some() {
            run(&mut client, "BEGIN");
        }
        for _ in 0..random.random_range(1..20) {
            match client.query(way, &[]) {
                Ok(rows) => taken.extend(rows.iter().map(|row| row.get::<_, i64>(0))),
                Err(error) => {
                    let state = error.code().map(|code| code.code().to_owned());
                    // Where the ticket is dropped, nextval() itself says no better than XX000.
                    let mut expected = vec!["55000", "42704"];
                    if way.contains("nextval") {
                        expected = vec!["2200H", "42P01", "3F000", "XX000"];
                    }
                    let state = state.unwrap_or_else(|| panic!("{error:?}"));
                    assert!(expected.contains(&state.as_str()), "{way}: {error:?}");
                    break;
                }
            }
        }
        if let Some(statement) = statement {
            run(&mut client, statement);
        }
    }
    taken
}

/// Asks one server for a change; `false` where it refuses it.
fn change(client: &mut Client, sql: &str) -> bool {
    match client.batch_execute(sql) {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.code().map(|code| code.code()), Some("55000"), "{sql}: {error:?}");
            false
        }
    }
}

fn last(client: &mut Client) -> i64 {
    one(client, "SELECT coalesce(last_ticket, floor) FROM shardid.tickets")
}

#[test]
fn servers_of_a_ticket_in_use_change_from_two_to_three_to_five_to_two_and_nothing_repeats() {
    let databases: Vec<Database<'_>> = (0..5).map(|_| Database::fresh()).collect();
    let stop = AtomicBool::new(false);
    let mut admins: Vec<Client> = databases.iter().map(Database::connect).collect();
    let mut random = rng("margins");
    let mut refusals = 0;
    let mut all: Vec<(usize, Vec<i64>)> = Vec::new();
    thread::scope(|scope| {
        let sessions: Vec<_> = (0..10)
            .map(|session| {
                let (stop, database) = (&stop, &databases[session % 5]);
                scope.spawn(move || take_until(stop, database, session))
            })
            .collect();
        for (server, admin) in admins[..2].iter_mut().enumerate() {
            run(admin, &format!("SELECT create_ticket('photos', {}, 2)", server + 1));
        }
        let mut servers = 2;
        for next in [3, 5, 2, 5, 3, 2] {
            thread::sleep(Duration::from_millis(200));
            // As the program does it: a floor above all, every old server kept below it …
            let mut floor = 0;
            for room in (0..).map(|attempt| 3_000 << attempt) {
                for admin in &mut admins[..servers] {
                    floor = floor.max(last(admin));
                }
                // … with too little room now and then, so that one is above it already. The more
                // often that was so, the more room there is: the sessions may outrun us for long.
                floor += random.random_range(0..room);
                let limit = format!("SELECT shardid.limit_ticket('photos', {})", floor + 1);
                if admins[..servers].iter_mut().all(|admin| change(admin, &limit)) {
                    break;
                }
                refusals += 1;
            }
            // … and only then the new steps, each of which may come twice.
            for (server, admin) in admins[..next].iter_mut().enumerate() {
                let class = format!("('photos', {}, {next}, {floor})", server + 1);
                let verb = if server < servers { "restep_ticket" } else { "create_ticket_above" };
                for _ in 0..2 {
                    assert!(change(admin, &format!("SELECT shardid.{verb}{class}")), "{class}");
                }
            }
            for admin in admins[next..].iter_mut().take(servers.saturating_sub(next)) {
                run(admin, "SELECT drop_ticket('photos')");
            }
            servers = next;
        }
        thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
        for (session, taken) in sessions.into_iter().enumerate() {
            let taken = taken.join().unwrap();
            assert!(!taken.is_empty(), "session {session} has taken nothing");
            all.push((session, taken));
        }
    });
    let count = assert_unique(&all);
    println!("{count} numbers, {refusals} limits refused");
    assert!(count > 2_000, "{count} numbers prove little");
}

#[test]
fn a_session_that_knows_the_old_steps_gives_none_of_its_numbers_above_the_floor() {
    let database = Database::fresh();
    let mut admin = database.connect();
    run(&mut admin, "SELECT create_ticket('photos')");
    let stop = AtomicBool::new(false);
    // The class that holds above each floor.
    let mut classes = vec![(0, 1, 1)];
    let mut all: Vec<(usize, Vec<i64>)> = Vec::new();
    thread::scope(|scope| {
        let sessions: Vec<_> = (0..6)
            .map(|session| {
                let (stop, database) = (&stop, &database);
                scope.spawn(move || take_until(stop, database, session))
            })
            .collect();
        let mut random = rng("steps");
        for attempt in 0.. {
            assert!(attempt < 2_000, "{} changes were taken", classes.len());
            if classes.len() > 30 {
                break;
            }
            thread::sleep(Duration::from_millis(10));
            let servers = random.random_range(1..9);
            let server = random.random_range(1..=servers);
            let floor = last(&mut admin) + random.random_range(0..2_000);
            if change(
                &mut admin,
                &format!("SELECT shardid.restep_ticket('photos', {server}, {servers}, {floor})"),
            ) {
                classes.push((floor, server, servers));
            }
        }
        stop.store(true, Ordering::Relaxed);
        for (session, taken) in sessions.into_iter().enumerate() {
            all.push((session, taken.join().unwrap()));
        }
    });
    assert_unique(&all);
    for (session, taken) in &all {
        assert_rising(taken);
        for number in taken {
            let (floor, server, servers) =
                classes.iter().rev().find(|(floor, ..)| floor < number).expect("all are above 0");
            assert_eq!(
                number % servers,
                server % servers,
                "session {session} got {number}, which is not of server {server} of {servers} above {floor}"
            );
        }
    }
}

#[test]
fn the_leader_of_a_parallel_query_takes_its_tickets_and_none_comes_twice() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_ticket('photos', 2, 2); CREATE TABLE base AS SELECT generate_series(1, 200000) AS n; \
         ANALYZE base; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; \
         SET parallel_tuple_cost = 0; SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off",
    );
    let take = "SELECT next_ticket('photos') AS id FROM base";
    let plan: Vec<String> = column(&mut client, &format!("EXPLAIN (VERBOSE, COSTS OFF) {take}"));
    let plan = plan.join("\n");
    let workers = plan.split("Parallel Seq Scan").nth(1);
    assert!(workers.is_some_and(|scan| !scan.contains("next_ticket(")), "the workers:\n{plan}");
    let mut taken = ids(&mut client, take);
    taken.sort_unstable();
    assert_rising(&taken);
    assert_eq!((taken.len(), taken[0]), (200_000, 2));
    assert!(taken.iter().all(|number| number % 2 == 0));
}

#[test]
fn the_first_of_two_sessions_that_make_one_ticket_makes_it() {
    for _ in 0..5 {
        let database = Database::fresh();
        let made: usize = thread::scope(|scope| {
            let sessions: Vec<_> = (0..4)
                .map(|_| {
                    let database = &database;
                    scope.spawn(move || {
                        let mut client = database.connect();
                        match client.batch_execute("SELECT create_ticket('photos', 1, 2)") {
                            Ok(()) => 1,
                            Err(error) => {
                                assert_eq!(error.code().unwrap().code(), "42710", "{error:?}");
                                0
                            }
                        }
                    })
                })
                .collect();
            sessions.into_iter().map(|session| session.join().unwrap()).sum()
        });
        assert_eq!(made, 1);
        assert_eq!(ids(&mut database.connect(), "SELECT next_ticket('photos')"), [1]);
    }
}
