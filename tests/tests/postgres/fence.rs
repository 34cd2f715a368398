//! The fence: it waits for those who have ids in hand, and nobody passes it afterwards.

use std::thread;
use std::time::Duration;

use shardid_tests::postgres::Client;
use shardid_tests::{Database, expect_error, wait_until};

const FENCE: &str = "UPDATE shardid.shard SET state = 'fenced' WHERE shard = 5";
const OPEN: &str = "UPDATE shardid.shard SET state = 'open' WHERE shard = 5";

fn with_shard() -> Database<'static> {
    let database = Database::fresh();
    database.psql("SELECT create_shard(5); SELECT create_id_sequence('photo_seq', 5)");
    database
}

fn take(client: &mut Client) -> i64 {
    client.query_one("SELECT max(next_id(5)) FROM generate_series(1, 9)", &[]).unwrap().get(0)
}

fn waits_for_a_lock(database: &Database<'_>, pid: i32) -> bool {
    let sql = format!("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = {pid}");
    database.psql(&sql) == "t"
}

#[test]
fn a_fence_waits_for_transactions_that_took_ids_and_stops_all_later_ones() {
    let database = with_shard();
    let (mut writer, mut mover) = (database.connect(), database.connect());
    take(&mut writer);
    writer.batch_execute("BEGIN").unwrap();
    let first = take(&mut writer);
    let pid: i32 = mover.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    thread::scope(|scope| {
        let fencing = scope.spawn(move || mover.batch_execute(FENCE).map(|()| mover).unwrap());
        wait_until(Duration::from_secs(10), "the fence to wait", || {
            waits_for_a_lock(&database, pid)
        });
        // The writer goes on: what it takes commits before the fence stands.
        assert!(take(&mut writer) > first);
        writer.batch_execute("COMMIT").unwrap();
        let mut mover = fencing.join().unwrap();
        let refusal = expect_error(&mut writer, "SELECT next_id(5)", "SI002");
        assert!(refusal.message.contains("shard 5 is fenced"), "{refusal:?}");
        expect_error(&mut database.connect(), "SELECT next_ids(5, 3)", "SI002");
        expect_error(&mut database.connect(), "SELECT next_id_from('photo_seq')", "SI002");
        mover.batch_execute(OPEN).unwrap();
    });
    assert!(take(&mut writer) > first);
}

#[test]
fn who_queues_behind_a_fence_is_refused_even_with_an_older_snapshot() {
    let database = with_shard();
    let (mut mover, mut writer) = (database.connect(), database.connect());
    take(&mut writer);
    // Its snapshot will always show the shard as open.
    writer
        .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM shardid.shard")
        .unwrap();
    mover.batch_execute(&format!("BEGIN; {FENCE}")).unwrap();
    let pid: i32 = writer.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    thread::scope(|scope| {
        let queued = scope.spawn(move || expect_error(&mut writer, "SELECT next_id(5)", "SI002"));
        wait_until(Duration::from_secs(10), "the writer to queue", || {
            waits_for_a_lock(&database, pid)
        });
        mover.batch_execute("COMMIT").unwrap();
        queued.join().unwrap();
    });
}

#[test]
fn a_fence_that_is_rolled_back_never_stood() {
    let database = with_shard();
    let (mut mover, mut writer) = (database.connect(), database.connect());
    let first = take(&mut writer);
    mover.batch_execute(&format!("BEGIN; {FENCE}")).unwrap();
    expect_error(&mut mover, "SELECT next_id(5)", "SI002");
    mover.batch_execute("ROLLBACK").unwrap();
    assert!(take(&mut writer) > first);
    assert!(take(&mut mover) > first);
}

#[test]
fn a_moved_shard_names_its_node_and_is_not_counted_as_the_only_one() {
    let database = with_shard();
    let mut client = database.connect();
    client.query_one("SELECT next_id()", &[]).unwrap();
    database.psql(
        "INSERT INTO shardid.shard (shard, layout, state, node, map_version)
         VALUES (6, 'instagram', 'moved', 'pg2', 7)",
    );
    client.query_one("SELECT next_id()", &[]).unwrap();
    let refusal = expect_error(&mut client, "SELECT next_id(6)", "SI001");
    assert!(refusal.message.contains("shard 6 lives on node \"pg2\""), "{refusal:?}");
    assert!(refusal.detail.contains("version 7"), "{refusal:?}");
    database.psql("SELECT create_shard(8)");
    expect_error(&mut client, "SELECT next_id()", "55000");
}

/// A program that had read the map before a move switched told the node afterwards, and made the
/// shard that was just opened one that lives elsewhere: open nowhere.
#[test]
fn an_old_map_that_waits_for_a_move_does_not_undo_what_the_move_did() {
    let place = |version: i64, node: &str| {
        format!(
            "SELECT shardid.place_shards('photos', 'pg1', 'instagram', 8, {version}, ARRAY[5], '{{{node}}}')"
        )
    };
    let cases = [
        ("state = 'open', node = 'pg1', map_version = 4", "open|pg1|4"),
        ("state = 'fenced', node = 'pg1', map_version = 4", "fenced|pg1|4"),
        ("state = 'moved', node = 'pg2', map_version = 4", "moved|pg2|4"),
        // A row that knows less is told.
        ("state = 'moved', node = 'pg2', map_version = 2", "moved|pg3|3"),
    ];
    for (change, left) in cases {
        let database = with_shard();
        database.psql(&place(1, "pg1"));
        database.psql("UPDATE shardid.shard SET state = 'moved', node = 'pg4', map_version = 2");
        let (mut mover, mut teller) = (database.connect(), database.connect());
        mover.batch_execute(&format!("BEGIN; UPDATE shardid.shard SET {change}")).unwrap();
        let pid: i32 = teller.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
        thread::scope(|scope| {
            let telling = scope.spawn(move || teller.batch_execute(&place(3, "pg3")).unwrap());
            wait_until(Duration::from_secs(10), "the teller to wait", || {
                waits_for_a_lock(&database, pid)
            });
            mover.batch_execute("COMMIT").unwrap();
            telling.join().unwrap();
        });
        let row = database.psql("SELECT state, node, map_version FROM shardid.shard");
        assert_eq!(row, left, "{change}");
    }
}

/// A program that was stopped went on with its move after the catalog had been rebuilt, by the old
/// one, against the new map.
#[test]
fn a_map_that_was_made_anew_overtakes_whoever_works_on_a_move() {
    let database = with_shard();
    let mut client = database.connect();
    let place = |version: i64| {
        format!(
            "SELECT shardid.place_shards('photos', 'pg1', 'instagram', 8, {version}, ARRAY[5], '{{pg1}}')"
        )
    };
    database.psql(&place(7));
    assert_eq!(database.psql("SELECT shardid.claim_shard(5, 3)"), "3");
    database.psql(&place(8));
    database.psql("SELECT shardid.check_term(5, 3)");
    database.psql(&place(1_000_000_001));
    let refusal = expect_error(&mut client, "SELECT shardid.check_term(5, 3)", "55000");
    assert!(refusal.message.contains("another program has taken over"), "{refusal:?}");
    // The new catalog counts above that.
    assert_eq!(database.psql("SELECT shardid.claim_shard(5, 1000000001)"), "1000000001");
    let refusal = expect_error(&mut client, "SELECT shardid.check_term(6, 3)", "55000");
    assert!(refusal.message.contains("claimed by no program"), "{refusal:?}");
}
