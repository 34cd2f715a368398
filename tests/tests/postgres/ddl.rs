//! Ids come by default, however rows are written: by hand, in bulk, by an ORM,
//! by workers, from another server.

use std::collections::HashSet;
use std::io::Write;
use std::time::Duration;

use shardid_tests::{Database, Server, assert_rising, assert_unique, wait_until};

use crate::ask::{column, ids, one, run, with_shard_5};

#[test]
fn every_kind_of_default_gives_each_row_an_id() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_id_sequence('t_id', 5); \
         CREATE TABLE t (n int, a bigint DEFAULT next_id(5), b bigint DEFAULT shard_0005.next_id(), \
             c bigint DEFAULT next_id(), d bigint DEFAULT next_id_from('t_id')); \
         INSERT INTO t (n) VALUES (1); \
         INSERT INTO t (n) SELECT generate_series(2, 1000); \
         INSERT INTO t (n) SELECT n + 1000 FROM t; \
         INSERT INTO t (n, a) VALUES (2001, DEFAULT), (2002, next_id(5)); \
         WITH x AS (INSERT INTO t (n) VALUES (2003) RETURNING *) UPDATE t SET a = next_id(5) FROM x WHERE t.n < 10; \
         ALTER TABLE t ADD COLUMN e bigint DEFAULT next_id(5)",
    );
    let mut copy = client.copy_in("COPY t (n) FROM STDIN").unwrap();
    for n in 2004..4004 {
        writeln!(copy, "{n}").unwrap();
    }
    assert_eq!(copy.finish().unwrap(), 2000);
    // One generator for a, b, c and e; another for d.
    let shared = ids(&mut client, "SELECT unnest(ARRAY[a, b, c, e]) FROM t");
    assert_eq!(assert_unique(&[("the shard", shared)]), 4 * 4003);
    let own = ids(&mut client, "SELECT d FROM t ORDER BY n");
    assert_rising(&own);
    assert_eq!(own.len(), 4003);
    let shards: Vec<i32> =
        column(&mut client, "SELECT DISTINCT id_shard(unnest(ARRAY[a, b, c, d, e])) FROM t");
    assert_eq!(shards, [5]);
}

#[test]
fn next_id_without_a_shard_follows_the_session_then_the_role_then_the_database() {
    let database = Database::fresh();
    let role = database.role("app");
    database.psql(&format!(
        "SELECT create_shard(n) FROM generate_series(1, 4) n; \
         GRANT USAGE ON SEQUENCE shard_0001.shard_id_seq, shard_0002.shard_id_seq, shard_0003.shard_id_seq TO {role}; \
         ALTER DATABASE {} SET shardid.shard = 1",
        database.name()
    ));
    let shard = |client: &mut _| one::<i32>(client, "SELECT id_shard(next_id())");
    assert_eq!(shard(&mut database.connect_as(&role)), 1);
    database.psql(&format!("ALTER ROLE {role} SET shardid.shard = 2"));
    let mut client = database.connect_as(&role);
    assert_eq!(shard(&mut client), 2);
    assert_eq!(shard(&mut database.connect()), 1);
    run(&mut client, "SET shardid.shard = 3");
    assert_eq!(shard(&mut client), 3);
    run(&mut client, "BEGIN; SET LOCAL shardid.shard = 1");
    assert_eq!(shard(&mut client), 1);
    run(&mut client, "COMMIT");
    assert_eq!(shard(&mut client), 3);
    run(&mut client, "RESET shardid.shard");
    assert_eq!(shard(&mut client), 2);
    // A function may have its own.
    run(
        &mut client,
        "CREATE FUNCTION pg_temp.third() RETURNS bigint LANGUAGE sql SET shardid.shard = 3 AS 'SELECT next_id()'",
    );
    assert_eq!(one::<i32>(&mut client, "SELECT id_shard(pg_temp.third())"), 3);
    assert_eq!(shard(&mut client), 2);
}

#[test]
fn triggers_procedures_and_prepared_statements_take_ids() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "CREATE TABLE t (id bigint PRIMARY KEY, n serial); CREATE TABLE log (id bigint PRIMARY KEY DEFAULT next_id(5), of bigint); \
         CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             NEW.id := next_id(5); INSERT INTO log (of) VALUES (NEW.id); RETURN NEW; END $$; \
         CREATE TRIGGER fill BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fill(); \
         INSERT INTO t SELECT FROM generate_series(1, 500); \
         CREATE PROCEDURE many() LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. 100 LOOP \
             INSERT INTO t DEFAULT VALUES; \
             IF i % 10 = 0 THEN COMMIT; ELSIF i % 10 = 5 THEN ROLLBACK; END IF; END LOOP; END $$; \
         PREPARE one AS INSERT INTO t DEFAULT VALUES; SET plan_cache_mode = force_generic_plan",
    );
    run(&mut client, "CALL many()");
    for _ in 0..100 {
        run(&mut client, "EXECUTE one");
    }
    let statement = client.prepare("INSERT INTO t DEFAULT VALUES RETURNING id").unwrap();
    for _ in 0..100 {
        client.query_one(&statement, &[]).unwrap();
    }
    assert_rising(&ids(&mut client, "SELECT id FROM t ORDER BY n"));
    let all = ids(&mut client, "SELECT id FROM t UNION ALL SELECT id FROM log");
    // Of a hundred in the procedure, ten times the last five of ten were kept.
    assert_eq!(assert_unique(&[("t and its log", all)]), 2 * (500 + 50 + 100 + 100));
}

#[test]
fn an_orm_that_calls_nextval_gets_unique_ids_of_the_shard() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "CREATE TABLE a (id bigint PRIMARY KEY DEFAULT nextval('shard_0005.shard_id_seq')); \
         CREATE TABLE b (id bigint PRIMARY KEY DEFAULT next_id(5)); \
         INSERT INTO b SELECT FROM generate_series(1, 100); \
         INSERT INTO a SELECT FROM generate_series(1, 100); \
         INSERT INTO b SELECT FROM generate_series(1, 100); \
         INSERT INTO a SELECT FROM generate_series(1, 100)",
    );
    let all = ids(&mut client, "SELECT id FROM a UNION ALL SELECT id FROM b");
    assert!(all.iter().all(|id| id >> 10 & 0x1FFF == 5), "an id of another shard");
    assert_unique(&[("the ORM and the default", all)]);
    // An identity column whose sequence steps by a tick becomes a generator.
    run(
        &mut client,
        "CREATE TABLE c (id bigint GENERATED BY DEFAULT AS IDENTITY \
             (SEQUENCE NAME c_ids INCREMENT 8388608 MINVALUE 5120 START 5120) PRIMARY KEY, n serial); \
         SELECT create_id_sequence('c_ids', 5)",
    );
    let before = one::<i64>(&mut client, "SELECT id_at(clock_timestamp())");
    run(
        &mut client,
        "INSERT INTO c (id) VALUES (next_id_from('c_ids')); INSERT INTO c DEFAULT VALUES; \
         INSERT INTO c (id) SELECT next_id_from('c_ids') FROM generate_series(1, 100); INSERT INTO c DEFAULT VALUES",
    );
    let own = ids(&mut client, "SELECT id FROM c ORDER BY n");
    assert_rising(&own);
    assert!(own[0] > before && own.iter().all(|id| id >> 10 & 0x1FFF == 5), "{own:?}");
}

#[test]
fn the_leader_of_a_parallel_query_takes_its_ids_and_none_comes_twice() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "CREATE TABLE source AS SELECT n FROM generate_series(1, 300000) n; ANALYZE source; \
         SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; \
         SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off",
    );
    let plan: Vec<String> = column(
        &mut client,
        "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) \
         CREATE TABLE t AS SELECT n, next_id(5) AS id, next_id() AS other FROM source",
    );
    let plan = plan.join("\n");
    assert!(plan.contains("Workers Launched: 2"), "{plan}");
    let workers =
        plan.split("Gather").nth(1).and_then(|below| below.split("Parallel Seq Scan").nth(1));
    assert!(
        workers.is_some_and(|scan| !scan.contains("next_id(5)")),
        "workers do not know whether the transaction is read-only:\n{plan}"
    );
    let taken = ids(&mut client, "SELECT unnest(ARRAY[id, other]) FROM t");
    assert_eq!(assert_unique(&[("the leader", taken)]), 600_000);
    // Views and decoders are for parallel queries as well, also where all of a query is one.
    let force =
        if one::<i32>(&mut client, "SELECT current_setting('server_version_num')::int") < 160_000 {
            "SET force_parallel_mode = on"
        } else {
            "SET debug_parallel_query = on"
        };
    run(&mut client, force);
    run(
        &mut client,
        "SELECT * FROM shardid.layouts; SELECT * FROM shardid.shards; \
         SELECT x.* FROM source, id_explain(next_id(5)) x LIMIT 5; SELECT id_parts(id), id_text(id) FROM t LIMIT 5; \
         SELECT id_time(id, 'js53') FROM t LIMIT 0",
    );
}

#[test]
fn a_subscriber_gives_ids_to_rows_that_come_without() {
    let publisher = Database::fresh_plain();
    let server = Server::builder().name("subscriber").start();
    let subscriber = Database::on(&server);
    publisher.psql(
        "CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 1000); \
         CREATE PUBLICATION p FOR TABLE t",
    );
    subscriber.psql(&format!(
        "SELECT create_shard(5); \
         CREATE TABLE t (n int PRIMARY KEY, id bigint NOT NULL UNIQUE DEFAULT next_id(5), \
             other bigint NOT NULL UNIQUE DEFAULT shard_0005.next_id()); \
         CREATE SUBSCRIPTION s_{name} CONNECTION '{url}' PUBLICATION p",
        name = subscriber.name(),
        url = publisher.url()
    ));
    let count = || subscriber.psql("SELECT count(*) FROM t").parse::<i32>().unwrap();
    wait_until(Duration::from_secs(60), "the first copy", || count() == 1000);
    for from in [1001, 1501] {
        publisher.psql(&format!("INSERT INTO t SELECT generate_series({from}, {from} + 499)"));
    }
    wait_until(Duration::from_secs(60), "what came later", || count() == 2000);
    let mut client = subscriber.connect();
    let mine = ids(&mut client, "SELECT next_ids(5, 100)");
    let theirs = ids(&mut client, "SELECT unnest(ARRAY[id, other]) FROM t");
    assert_eq!(assert_unique(&[("the subscription", theirs.clone()), ("a session", mine)]), 4100);
    let ticks: HashSet<i64> = theirs.iter().map(|id| id >> 10 & 0x1FFF).collect();
    assert_eq!(ticks, HashSet::from([5]));
    subscriber.psql(&format!("DROP SUBSCRIPTION s_{}", subscriber.name()));
}
