//! No id comes twice: many sessions, one shard or many, every way to ask.

use std::thread;

use shardid_tests::rand::Rng;
use shardid_tests::rand::seq::IndexedRandom;
use shardid_tests::{Database, Server, assert_rising, assert_unique, find_duplicate, rng};

/// The first column of all rows of a query.
fn ids(client: &mut shardid_tests::postgres::Client, sql: &str) -> Vec<i64> {
    let rows = client.query(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows.iter().map(|row| row.get(0)).collect()
}

/// Runs `work` in that many sessions at once and gathers the ids of each.
fn in_sessions(
    database: &Database<'_>,
    sessions: usize,
    work: impl Fn(usize, &mut shardid_tests::postgres::Client) -> Vec<i64> + Sync,
) -> Vec<(usize, Vec<i64>)> {
    thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = (0..sessions)
            .map(|session| scope.spawn(move || (session, work(session, &mut database.connect()))))
            .collect();
        running.into_iter().map(|r| r.join().expect("a session ends")).collect()
    })
}

#[test]
fn six_sessions_on_one_shard_get_no_id_twice_and_each_sees_its_own_rise() {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5)");
    let taken = in_sessions(&database, 6, |session, client| {
        let mut random = rng(&format!("one shard {session}"));
        let mut taken = Vec::new();
        while taken.len() < 100_000 {
            let many = random.random_range(1..5_000);
            match random.random_range(0..5) {
                0 => taken.extend(ids(client, "SELECT next_id(5)")),
                1 => taken.extend(ids(client, &format!("SELECT next_ids(5, {many})"))),
                2 => {
                    client.batch_execute("BEGIN; SAVEPOINT a").unwrap();
                    taken.extend(ids(client, "SELECT next_id(5) FROM generate_series(1, 7)"));
                    client.batch_execute("ROLLBACK TO a").unwrap();
                    taken.extend(ids(client, "SELECT shard_0005.next_id()"));
                    client.batch_execute("ROLLBACK").unwrap();
                }
                3 => {
                    client.batch_execute("SET shardid.block = 1").unwrap();
                    taken.extend(ids(client, "SELECT next_id(5) FROM generate_series(1, 500)"));
                    client.batch_execute("RESET shardid.block").unwrap();
                }
                _ => taken.extend(ids(
                    client,
                    &format!("SELECT next_id(5) FROM generate_series(1, {many})"),
                )),
            }
        }
        taken
    });
    for (_, session) in &taken {
        assert_rising(session);
    }
    assert!(assert_unique(&taken) >= 600_000);
    let mut client = database.connect();
    let last = ids(&mut client, "SELECT last_id FROM shardid.shards")[0];
    let highest = taken.iter().filter_map(|(_, session)| session.last()).max().unwrap();
    assert!(last >= *highest, "the sequence shows {last}, below {highest}");
}

#[test]
fn many_sessions_on_many_shards_get_no_id_twice_and_the_shard_they_asked_for() {
    let database = Database::fresh();
    database.psql("SELECT count(create_shard(n)) FROM generate_series(0, 31) n");
    let taken = in_sessions(&database, 8, |session, client| {
        let mut random = rng(&format!("many shards {session}"));
        let mut taken = Vec::new();
        for _ in 0..200 {
            let shards: Vec<i32> = (0..4).map(|_| random.random_range(0..32)).collect();
            let sql = format!(
                "SELECT next_id(s), s FROM unnest(ARRAY{shards:?}) s, generate_series(1, 50)"
            );
            for row in client.query(&sql, &[]).unwrap() {
                let (id, shard): (i64, i32) = (row.get(0), row.get(1));
                assert_eq!(id >> 10 & 0x1FFF, i64::from(shard), "an id of another shard");
                taken.push(row.get(0));
            }
        }
        taken
    });
    assert_eq!(assert_unique(&taken), 8 * 200 * 200);
}

#[test]
fn ids_of_several_sessions_are_in_order_of_time() {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5)");
    let (mut a, mut b) = (database.connect(), database.connect());
    let mut last = 0;
    for _ in 0..300 {
        for client in [&mut a, &mut b] {
            let id = ids(client, "SELECT max(next_id(5)) FROM generate_series(1, 3)")[0];
            // Milliseconds pass between two statements of two sessions, or the tick is the same.
            assert!(id >> 23 >= last >> 23, "{id} is of an earlier tick than {last}");
            last = id;
        }
    }
}

#[test]
fn eight_pgbench_clients_insert_single_rows_without_a_collision() {
    let database = Database::fresh();
    database.psql(
        "SELECT create_shard(5); \
         CREATE TABLE photo (id bigint PRIMARY KEY DEFAULT next_id(5), client int, n serial)",
    );
    let script = database.server().folder().join(format!("{}.sql", database.name()));
    std::fs::write(&script, "INSERT INTO photo (client) VALUES (:client_id);\n").unwrap();
    let output = database
        .command("pgbench")
        .args(["-n", "-c", "8", "-j", "2", "-t", "1000", "-M", "prepared", "-f"])
        .arg(&script)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(database.psql("SELECT count(*), count(DISTINCT id) FROM photo"), "8000|8000");
    // Per client, ids rise in the order of insertion.
    assert_eq!(
        database.psql(
            "SELECT count(*) FROM (SELECT id < lag(id) OVER (PARTITION BY client ORDER BY n) AS falls \
             FROM photo) x WHERE falls"
        ),
        "0"
    );
}

#[test]
fn strangers_who_call_nextval_and_setval_get_ids_of_the_shard_and_none_twice() {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5)");
    let taken = in_sessions(&database, 4, |session, client| {
        let mut random = rng(&format!("strangers {session}"));
        let ways = [
            "SELECT next_id(5)",
            "SELECT next_id(5) FROM generate_series(1, 40)",
            "SELECT nextval('shard_0005.shard_id_seq')",
            "SELECT nextval('shard_0005.shard_id_seq') FROM generate_series(1, 3)",
        ];
        let mut taken = Vec::new();
        for round in 0..1_500 {
            taken.extend(ids(client, ways.choose(&mut random).unwrap()));
            if session == 0 && round % 500 == 250 {
                // A second forward, further than anybody can be meanwhile, and not called yet:
                // it leaves log_cnt as a restored dump does.
                ids(
                    client,
                    "SELECT setval('shard_0005.shard_id_seq', last_value + 8388608000, false) \
                     FROM shard_0005.shard_id_seq",
                );
            }
        }
        taken
    });
    assert_unique(&taken);
    for id in taken.iter().flat_map(|(_, session)| session) {
        assert_eq!(id >> 10 & 0x1FFF, 5, "{id} is not of shard 5");
    }
}

#[test]
fn a_busy_shard_writes_about_one_wal_record_a_lease() {
    // A server of its own: every checkpoint has the lease logged once more.
    let server = Server::builder().fsync(false).conf("checkpoint_timeout = '1h'").start();
    let database = Database::on(&server);
    database.psql("SELECT create_shard(5); SELECT next_id(5); CHECKPOINT");
    let mut client = database.connect();
    client.batch_execute("SET shardid.max_drift = '1h'").unwrap();
    let position = |client: &mut shardid_tests::postgres::Client| -> String {
        client.query_one("SELECT pg_current_wal_insert_lsn()::text", &[]).unwrap().get(0)
    };
    let node: String = client
        .query_one(
            "SELECT 'rel ' || regexp_replace(pg_relation_filepath('shard_0005.shard_id_seq'), \
             '^base', '1663')",
            &[],
        )
        .unwrap()
        .get(0);
    let from = position(&mut client);
    let taken = ids(&mut client, "SELECT next_ids(5, 5000000)");
    let until = position(&mut client);
    // 5,000,000 ids are 4.9 s of a shard that has 1,024 a millisecond, or more where it was slow.
    let leases = ((taken.last().unwrap() >> 23) - (taken[0] >> 23)) / 1_000;
    assert_unique(&[("only", taken)]);
    let output = database
        .command("pg_waldump")
        .args(["--rmgr=Sequence", "--path"])
        .arg(database.server().data().join("pg_wal"))
        .args(["--start", &from, "--end", &until])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let records = text.lines().filter(|line| line.contains(&node)).count() as i64;
    assert!((leases - 1..=leases + 2).contains(&records), "{records} records in {leases} leases");
}

#[test]
fn a_session_remembers_less_than_two_hundred_bytes_of_a_shard() {
    let database = Database::fresh();
    database.psql(
        "SELECT count(create_shard(n, 'all_shards_' || n / 1)) FROM generate_series(0, 1999) n",
    );
    let mut client = database.connect();
    let dirty = |client: &mut shardid_tests::postgres::Client| -> i64 {
        let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
        let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).expect("Linux");
        // Rust's allocations: the heap, and no memory context of PostgreSQL's knows of them.
        let heap = maps.lines().skip_while(|line| !line.ends_with("[heap]"));
        let dirty = heap.filter_map(|line| line.strip_prefix("Private_Dirty:")).next();
        let kib: i64 = dirty.map_or(0, |d| d.trim().trim_end_matches(" kB").parse().unwrap());
        let contexts: i64 = client
            .query_one("SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts", &[])
            .unwrap()
            .get(0);
        kib * 1024 - contexts
    };
    // PostgreSQL's own caches grow with each sequence; take that out by touching them first.
    ids(&mut client, "SELECT count(nextval(sequence)) FROM shardid.shard");
    dirty(&mut client);
    let before = dirty(&mut client);
    ids(&mut client, "SELECT count(next_id(shard)) FROM shardid.shard");
    let after = dirty(&mut client);
    let each = (after - before) / 2_000;
    assert!(each < 200, "{each} bytes a shard");
}

#[test]
fn the_check_for_uniqueness_catches_a_generator_that_is_known_to_repeat() {
    // Instagram's function in a common form, with now() in place of the clock_timestamp() of the
    // published one: its counter is not tied to the millisecond.
    let database = Database::fresh_plain();
    database.psql(
        "CREATE SEQUENCE table_id_seq;
         CREATE FUNCTION next_id(OUT result bigint) AS $$
         DECLARE
             our_epoch bigint := 1314220021721;
             seq_id bigint;
             now_millis bigint;
             shard_id int := 5;
         BEGIN
             SELECT nextval('table_id_seq') % 1024 INTO seq_id;
             SELECT FLOOR(EXTRACT(EPOCH FROM now()) * 1000) INTO now_millis;
             result := (now_millis - our_epoch) << 23;
             result := result | (shard_id << 10);
             result := result | (seq_id);
         END;
         $$ LANGUAGE PLPGSQL",
    );
    let taken = in_sessions(&database, 2, |_, client| {
        ids(client, "SELECT next_id() FROM generate_series(1, 5000)")
    });
    assert!(find_duplicate(&taken).is_some());
}
