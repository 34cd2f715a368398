//! What people do to schemas and sequences behind the extension's back: nothing
//! of it brings an id twice.

use shardid_tests::postgres::Client;
use shardid_tests::{Clock, Database, Server, assert_rising, expect_error};

use crate::ask::{column, ids, one, run, run_ahead, with_shard_5};

/// Does something to shard 5 while it is ahead of the clock, from another session,
/// and asserts that ids go on above, in a session that knew the shard and in a new one.
#[track_caller]
fn goes_on_above(database: &Database<'_>, change: &str) {
    let mut knew = database.connect();
    let highest = run_ahead(&mut knew, 5);
    database.psql(change);
    let anew = ids(&mut database.connect(), "SELECT next_id(5)")[0];
    assert!(anew > highest, "{anew} comes after {highest}: {change}");
    let next = ids(&mut knew, "SELECT next_id(5)")[0];
    assert!(next > anew, "{next} comes after {anew}: {change}");
}

#[test]
fn a_restarted_sequence_goes_on_above_what_was_given_out() {
    let database = with_shard_5();
    goes_on_above(&database, "ALTER SEQUENCE shard_0005.shard_id_seq RESTART");
    goes_on_above(&database, "ALTER SEQUENCE shard_0005.shard_id_seq RESTART WITH 5120");
    // As an application's tests do between two runs.
    database.psql(
        "CREATE TABLE shard_0005.t (id bigint DEFAULT next_id(5)); \
         ALTER SEQUENCE shard_0005.shard_id_seq OWNED BY shard_0005.t.id",
    );
    goes_on_above(&database, "TRUNCATE shard_0005.t RESTART IDENTITY");
    goes_on_above(&database, "BEGIN; TRUNCATE shard_0005.t RESTART IDENTITY; ROLLBACK");
    let drift: f64 = one(
        &mut database.connect(),
        "SELECT extract(epoch FROM drift)::float8 FROM shardid.shards",
    );
    assert!(drift < 10.1, "{drift} s ahead of the clock, more than what max_drift allows");
}

#[test]
fn a_shard_without_drift_to_spare_can_be_restarted_as_well() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(&mut client, "SET shardid.max_drift = 0");
    let mut taken = Vec::new();
    for _ in 0..20 {
        taken.extend(ids(&mut client, "SELECT next_id(5)"));
        run(&mut client, "ALTER SEQUENCE shard_0005.shard_id_seq RESTART");
        taken.extend(ids(&mut client, "SELECT next_id(5) FROM generate_series(1, 3)"));
    }
    assert_rising(&taken);
}

#[test]
fn a_shard_goes_on_under_any_name_and_in_any_place() {
    let database = with_shard_5();
    let mut client = database.connect();
    let somebody = database.role("somebody");
    run(
        &mut client,
        &format!(
            "CREATE TABLE t (n serial, a bigint DEFAULT next_id(5), b bigint DEFAULT shard_0005.next_id()); \
             CREATE SCHEMA other; GRANT USAGE, CREATE ON SCHEMA other TO {somebody}"
        ),
    );
    let owner = format!("ALTER SEQUENCE other.\"Ids\" OWNER TO {somebody}");
    let changes = [
        "ALTER SCHEMA shard_0005 RENAME TO \"five of them\"",
        "ALTER SEQUENCE \"five of them\".shard_id_seq RENAME TO \"Ids\"",
        "ALTER SEQUENCE \"five of them\".\"Ids\" SET SCHEMA other",
        "ALTER SEQUENCE other.\"Ids\" CACHE 10",
        &owner,
        "ALTER SEQUENCE other.\"Ids\" SET UNLOGGED; ALTER SEQUENCE other.\"Ids\" SET LOGGED",
        "VACUUM FULL shardid.shard",
        "REINDEX TABLE shardid.shard",
    ];
    for change in changes {
        run(&mut client, "INSERT INTO t DEFAULT VALUES");
        for statement in change.split("; ") {
            database.psql(statement);
        }
        run(&mut client, "INSERT INTO t DEFAULT VALUES");
        database.psql("INSERT INTO t DEFAULT VALUES");
    }
    let all = ids(&mut client, "SELECT unnest(ARRAY[a, b]) FROM t ORDER BY n");
    assert_rising(&all);
    assert_eq!(all.len(), 48);
    let row = "SELECT schema, sequence FROM shardid.shards WHERE last_id >= ";
    assert_eq!(database.psql(&format!("{row} {}", all[47])), "other|other.\"Ids\"");
    run(&mut client, "DROP TABLE t; SELECT drop_shard(5)");
}

#[test]
fn dropping_a_shard_takes_its_own_function_and_no_other() {
    let database = with_shard_5();
    database.psql("SELECT create_shard(50), create_shard(6); ALTER SEQUENCE shard_0005.shard_id_seq RENAME TO moved");
    // Into another shard's schema, and into the one that the extension lives in.
    for schema in ["shard_0006", "public"] {
        database.psql(&format!("ALTER SEQUENCE shard_0005.moved SET SCHEMA {schema}"));
        let mut client = database.connect();
        run(&mut client, "SELECT next_id(5), shard_0005.next_id(); SELECT drop_shard(5)");
        let left: Vec<String> = column(
            &mut client,
            "SELECT oid::regprocedure::text FROM pg_proc \
             WHERE proname = 'next_id' AND pronamespace <> 'shardid'::regnamespace ORDER BY 1",
        );
        assert_eq!(
            left,
            ["next_id()", "next_id(bigint)", "shard_0006.next_id()", "shard_0050.next_id()"]
        );
        run(&mut client, "SELECT next_id(6), next_id(50), shard_0006.next_id()");
        run(
            &mut client,
            "SELECT create_shard(5); ALTER SEQUENCE shard_0005.shard_id_seq RENAME TO moved",
        );
    }
}

#[test]
fn a_shard_whose_schema_was_dropped_is_made_again_above_its_old_ids() {
    let database = with_shard_5();
    let mut client = database.connect();
    let mut highest = 0;
    for change in [
        "DROP SCHEMA shard_0005 CASCADE",
        "DROP SEQUENCE shard_0005.shard_id_seq CASCADE",
        "ALTER SEQUENCE shard_0005.shard_id_seq RESTART; DROP SCHEMA shard_0005 CASCADE",
    ] {
        highest = run_ahead(&mut client, 5).max(highest);
        database.psql(change);
        for sql in ["SELECT next_id(5)", "SELECT next_ids(5, 2)"] {
            let refusal = expect_error(&mut client, sql, "42704");
            assert!(refusal.hint.contains("create_shard(5)"), "{refusal:?}");
        }
        let row = database.psql("SELECT shard, schema, last_id, state FROM shardid.shards");
        assert_eq!(row, "5|||open");
        database.psql("SELECT create_shard(5)");
        let anew = ids(&mut database.connect(), "SELECT shard_0005.next_id()")[0];
        assert!(anew > highest, "{anew} comes after {highest}: {change}");
        highest = ids(&mut client, "SELECT next_id()")[0];
        assert!(highest > anew, "{highest} comes after {anew}: {change}");
    }
    // Dropped twice: first its schema, then the shard.
    highest = run_ahead(&mut client, 5);
    database.psql("DROP SCHEMA shard_0005 CASCADE; SELECT drop_shard(5)");
    expect_error(&mut client, "SELECT next_id(5)", "42704");
    database.psql("SELECT create_shard(5, 'elsewhere')");
    assert!(ids(&mut client, "SELECT next_id(5)")[0] > highest);
}

#[test]
fn a_shard_that_was_dropped_is_made_again_above_its_old_ids() {
    let database = with_shard_5();
    goes_on_above(&database, "SELECT drop_shard(5); SELECT create_shard(5)");
    goes_on_above(
        &database,
        "BEGIN; SELECT drop_shard(5); SELECT create_shard(5, 'elsewhere'); COMMIT",
    );
    // Dropped again before it gave out anything.
    goes_on_above(
        &database,
        "SELECT drop_shard(5); SELECT create_shard(5); SELECT drop_shard(5); SELECT create_shard(5)",
    );
    // Onto a sequence that stands where it would be made, as a restore may leave one.
    goes_on_above(
        &database,
        "CREATE SEQUENCE public.shard_id_seq INCREMENT 8388608 MINVALUE 5120; \
         ALTER SEQUENCE public.shard_id_seq SET SCHEMA elsewhere; SELECT setval('elsewhere.shard_id_seq', 5120); \
         SELECT drop_shard(5); SELECT create_shard(5, 'elsewhere')",
    );
}

#[test]
fn a_shard_that_was_dropped_takes_another_layout_only_above_its_old_ids() {
    let database = with_shard_5();
    let mut client = database.connect();
    let old = ids(&mut client, "SELECT next_id(5)")[0];
    run(&mut client, "SELECT drop_shard(5)");
    // Ids of js53 are below 2^53: none would ever be above the old one.
    let refusal = expect_error(&mut client, "SELECT create_shard(5, layout => 'js53')", "55000");
    assert!(refusal.message.contains("shard 5") && refusal.message.contains("js53"), "{refusal:?}");
    assert!(refusal.hint.contains("create_shard(5, layout => 'instagram')"), "{refusal:?}");
    run(&mut client, "SELECT create_shard(5, layout => 'snowflake')");
    assert!(ids(&mut client, "SELECT next_id(5)")[0] > old);
    run(&mut client, "SELECT drop_shard(5)");
    expect_error(&mut client, "SELECT create_shard(5)", "55000");
    run(&mut client, "SELECT create_shard(5, layout => 'snowflake')");
    run(&mut client, "SELECT next_id(5)");
}

#[test]
fn an_id_sequence_goes_with_its_table() {
    let database = with_shard_5();
    let mut client: Client = database.connect();
    run(
        &mut client,
        "CREATE TABLE t (id bigint); SELECT create_id_sequence('t_id', 5); SELECT next_id_from('t_id'); \
         ALTER SEQUENCE t_id OWNED BY t.id",
    );
    let sequence: u32 = one(&mut client, "SELECT 't_id'::regclass::oid");
    let refusal = expect_error(&mut client, "SELECT drop_shard(5)", "2BP01");
    assert!(refusal.detail.contains("t_id"), "{refusal:?}");
    database.psql("DROP TABLE t");
    expect_error(&mut client, &format!("SELECT next_id_from({sequence}::regclass)"), "42704");
    run(&mut client, "SELECT create_id_sequence('t_id', 5)");
    run(&mut client, "SELECT next_id_from('t_id'); DROP SEQUENCE t_id");
    run(&mut client, "SELECT drop_shard(5)");
}

#[test]
fn a_shard_made_and_used_in_one_transaction_survives_a_crash_where_that_writes_no_wal() {
    let server = Server::builder()
        .clock(Clock::AtStart)
        .conf("wal_level = minimal")
        .conf("max_wal_senders = 0")
        .conf("shardid.max_drift = '2h'")
        .start();
    let database = Database::on(&server);
    let mut client = database.connect();
    let mut taken = Vec::new();
    let count = "SELECT next_id(5) FROM generate_series(1, 3000)";
    // With its clock an hour back, the server knows only what is on disk; a
    // restarted sequence is two hours ahead of it anyway.
    for (change, clock) in [
        ("SELECT create_shard(5)", -3600.0),
        ("SELECT drop_shard(5); SELECT create_shard(5)", -3600.0),
        ("ALTER SEQUENCE shard_0005.shard_id_seq RESTART", 0.0),
    ] {
        run(&mut client, &format!("BEGIN; {change}"));
        if taken.is_empty() {
            taken.extend(ids(&mut client, count));
        } else {
            // Here a rollback would bring back a generator that knows nothing of them.
            expect_error(&mut client, "SELECT next_id(5)", "55000");
            run(&mut client, &format!("ROLLBACK; BEGIN; {change}"));
        }
        run(&mut client, "COMMIT");
        taken.extend(ids(&mut client, "SELECT next_id(5)"));
        server.kill9();
        server.set_clock(clock);
        server.start();
        client = database.connect();
        taken.extend(ids(&mut client, count));
        server.set_clock(0.0);
        server.restart();
        client = database.connect();
    }
    assert_rising(&taken);
}

/// The session's last id of the old shard is none of the new one's, whose layout is another.
#[test]
fn a_session_goes_on_with_a_number_that_is_made_again_with_another_layout() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(&mut client, "SELECT create_shard(9), next_id(9)");
    run(&mut client, "DROP SCHEMA shard_0009 CASCADE; DROP EXTENSION shardid CASCADE");
    run(&mut client, "CREATE EXTENSION shardid; SELECT create_shard(9, layout => 'js53')");
    let id = ids(&mut client, "SELECT next_id(9)")[0];
    let other = ids(&mut database.connect(), "SELECT next_id(9)")[0];
    assert!(id < other && other < 1 << 53, "{id}, then {other}");
}
