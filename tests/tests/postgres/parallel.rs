//! Ids and parallel queries: the leader takes them. A worker cannot tell that its transaction
//! is read-only, nor see what else the leader must know, and is refused.

use shardid_tests::postgres::Client;
use shardid_tests::{Database, assert_unique, expect_error};

use crate::ask::{column, ids, one, run};

/// Every way to take an id of shard 5.
const WAYS: [&str; 5] =
    ["next_id(5)", "next_id()", "shard_0005.next_id()", "next_ids(5, 3)", "next_id_from('ids')"];

/// A session that runs all it can in workers, and what it has a table to scan for.
fn eager(database: &Database<'_>) -> Client {
    database.psql(
        "SELECT create_shard(5); SELECT create_id_sequence('ids', 5); \
         CREATE TABLE source AS SELECT n FROM generate_series(1, 20000) n; ANALYZE source",
    );
    let mut client = database.connect();
    let version: i32 = one(&mut client, "SELECT current_setting('server_version_num')::int");
    let force = if version < 160_000 { "force_parallel_mode" } else { "debug_parallel_query" };
    run(
        &mut client,
        &format!(
            "SET {force} = on; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; \
             SET parallel_tuple_cost = 0; SET max_parallel_workers_per_gather = 2; \
             SET parallel_leader_participation = off"
        ),
    );
    client
}

/// BEGIN READ ONLY; SET LOCAL force_parallel_mode = on; SELECT next_id(5) gave an id, and
/// with the leader out of it 300,000.
#[test]
fn a_read_only_transaction_gives_no_ids_in_parallel_workers_either() {
    let database = Database::fresh();
    let mut client = eager(&database);
    for way in WAYS {
        for sql in [
            format!("SELECT {way}"),
            format!("SELECT count(*) FROM (SELECT {way} FROM source) x"),
            format!("SELECT {way} FROM source"),
        ] {
            run(&mut client, "BEGIN READ ONLY");
            expect_error(&mut client, &sql, "25006");
            run(&mut client, "ROLLBACK");
        }
    }
}

/// A user's function that says of itself what is not so took ids in workers.
#[test]
fn a_function_wrongly_marked_parallel_safe_is_refused_ids_in_a_worker() {
    let database = Database::fresh();
    let mut client = eager(&database);
    for (number, way) in WAYS.iter().enumerate() {
        run(
            &mut client,
            &format!(
                "CREATE FUNCTION wrong_{number}() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE AS \
                 $$ BEGIN RETURN (SELECT max(id) FROM {way} id); END $$"
            ),
        );
        for sql in [
            format!("SELECT wrong_{number}()"),
            format!("SELECT count(wrong_{number}()) FROM source"),
            format!("CREATE TABLE made AS SELECT wrong_{number}() FROM source"),
        ] {
            expect_error(&mut client, &sql, "25000");
        }
        // In the leader it works, as it is.
        run(
            &mut client,
            &format!("SET max_parallel_workers_per_gather = 0; SELECT wrong_{number}()"),
        );
        run(&mut client, "SET max_parallel_workers_per_gather = 2");
    }
}

/// What takes ids says so to the planner, also the functions of shards that an earlier version made.
#[test]
fn functions_that_take_ids_are_parallel_restricted_also_after_an_update() {
    for version in ["", "VERSION '0.1.0'"] {
        let database = Database::fresh_plain();
        let mut client = database.connect();
        run(
            &mut client,
            &format!(
                "CREATE EXTENSION shardid {version}; SELECT create_shard(5), create_shard(6, 'Ödd \"one'); \
                 ALTER EXTENSION shardid UPDATE; SELECT create_shard(7)"
            ),
        );
        let marks: Vec<String> = column(
            &mut client,
            "SELECT oid::regprocedure::text || ' ' || proparallel::text FROM pg_proc \
             WHERE proname IN ('next_id', 'next_ids', 'next_id_from') ORDER BY 1",
        );
        assert!(marks.len() >= 7, "{marks:?}");
        assert!(marks.iter().all(|mark| mark.ends_with(" r")), "{version}: {marks:?}");
    }
}

/// SELECT next_id(5) AS a, shard_0005.next_id() AS b FROM a large table: workers computed one
/// of two equal expressions, and the planner had both columns read it. All rows had a = b.
#[test]
fn two_columns_of_a_parallel_query_get_two_ids() {
    let database = Database::fresh();
    let mut client = eager(&database);
    for columns in [
        "next_id(5) AS a, next_id(5) AS b",
        "next_id(5) AS a, shard_0005.next_id() AS b",
        "next_id() AS a, next_id() AS b",
        "next_id_from('ids') AS a, next_id_from('ids') AS b",
    ] {
        run(
            &mut client,
            &format!(
                "CREATE TABLE made AS SELECT {columns} FROM source; \
                 INSERT INTO made SELECT {columns} FROM source"
            ),
        );
        let taken = ids(&mut client, "SELECT unnest(ARRAY[a, b]) FROM made");
        assert_eq!(assert_unique(&[(columns, taken)]), 80_000);
        run(&mut client, "DROP TABLE made");
    }
}

/// A scan may be parallel all the same: the leader takes the ids for what it brings.
#[test]
fn a_parallel_query_has_its_leader_take_the_ids() {
    let database = Database::fresh();
    let mut client = eager(&database);
    let make = "CREATE TABLE made AS SELECT n, next_id(5) AS id FROM source";
    let plan: Vec<String> =
        column(&mut client, &format!("EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) {make}"));
    let plan = plan.join("\n");
    assert!(plan.contains("Workers Launched: 2"), "{plan}");
    let scan = plan.split("Parallel Seq Scan").nth(1);
    assert!(scan.is_some_and(|scan| !scan.contains("next_id")), "workers take ids:\n{plan}");
    let taken = ids(&mut client, "SELECT id FROM made");
    assert_eq!(assert_unique(&[("the leader", taken)]), 20_000);
}
