//! next_id: unique, rising, of the right shard, whatever the session is set to.

use std::time::Duration;

use shardid_tests::my::{Engine, Server, expect_refused, query, shared, try_query};
use shardid_tests::{assert_rising, assert_unique, on_both_engines, wait_until};

use crate::harness::{at_once, ids, new_shard};

on_both_engines!(
    what_keeps_an_id_for_several_rows_has_a_way_around,
    ids_carry_their_shard_and_the_time,
    eight_clients_on_one_shard_get_no_id_twice,
    shards_of_one_layout_share_no_id,
    a_bulk_insert_has_an_id_for_each_row,
    ids_of_a_session_rise,
    the_session_may_have_a_step_of_its_own,
    the_time_zone_of_the_session_does_not_matter,
    a_rollback_repeats_nothing,
    every_layout_makes_ids,
    refusals_of_ids_have_their_sqlstate,
    a_layout_that_has_ended_is_refused,
);

fn ids_carry_their_shard_and_the_time(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    let sql = format!(
        "SELECT shardid.id_shard(id), abs(timestampdiff(MICROSECOND, shardid.id_time(id), utc_timestamp(6))) < 1000000
         FROM (SELECT shardid.next_id({shard}) AS id) AS one"
    );
    let client = &mut server.connect();
    assert_eq!(query::<(u32, bool)>(client, &sql), [(shard, true)]);
}

fn eight_clients_on_one_shard_get_no_id_twice(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    let got = at_once(server, 8, |_, client| ids(client, shard, 300));
    assert_eq!(assert_unique(&got), 2400);
    for (_, ids) in &got {
        assert_rising(ids);
    }
}

fn shards_of_one_layout_share_no_id(engine: Engine) {
    let server = shared(engine);
    let shards =
        [new_shard(server, "snowflake"), new_shard(server, "snowflake"), new_shard(server, "js53")];
    let got = at_once(server, 6, |session, client| {
        (0..300)
            .flat_map(|turn| {
                let shard = shards[(session + turn) % 3];
                ids(client, shard, 1).into_iter().map(move |id| (shard, id))
            })
            .collect()
    });
    for (number, layout) in [(0, "snowflake"), (1, "snowflake"), (2, "js53")] {
        let of_shard: Vec<(usize, Vec<i64>)> = got
            .iter()
            .map(|(session, all)| {
                (
                    *session,
                    all.iter()
                        .filter(|(shard, _)| *shard == shards[number])
                        .map(|(_, id)| *id)
                        .collect(),
                )
            })
            .collect();
        assert_eq!(assert_unique(&of_shard), 600);
        let list: Vec<String> =
            of_shard.iter().flat_map(|(_, all)| all).map(i64::to_string).collect();
        let sql = format!(
            "SELECT count(*) FROM JSON_TABLE('[{}]', '$[*]' COLUMNS (id BIGINT PATH '$')) AS t WHERE shardid.id_shard_in(t.id, '{layout}') <> {}",
            list.join(","),
            shards[number]
        );
        assert_eq!(server.value::<u64>(&sql), 0);
    }
}

fn a_bulk_insert_has_an_id_for_each_row(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    let client = &mut server.connect();
    query::<u64>(
        client,
        "CREATE DATABASE bulk; USE bulk; CREATE TABLE a (id BIGINT PRIMARY KEY, n INT); CREATE TABLE b LIKE a",
    );
    query::<u64>(
        client,
        &format!(
            "INSERT INTO a WITH RECURSIVE g AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM g WHERE n < 999)
             SELECT shardid.next_id({shard}), g.n FROM g, (SELECT 0 UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) AS five"
        ),
    );
    let rows: Vec<String> = (0..5000).map(|n| format!("(shardid.next_id({shard}), {n})")).collect();
    query::<u64>(client, &format!("INSERT INTO b VALUES {}", rows.join(",")));
    query::<u64>(client, &format!("INSERT INTO b SELECT shardid.next_id({shard}), n FROM a"));
    let sql = "SELECT count(DISTINCT id), max(shardid.id_shard(id)), min(shardid.id_shard(id)) FROM (SELECT id FROM a UNION ALL SELECT id FROM b) AS t";
    assert_eq!(query::<(u64, u32, u32)>(client, sql), [(15_000, shard, shard)]);
}

fn ids_of_a_session_rise(engine: Engine) {
    let server = shared(engine);
    for layout in ["instagram", "js53"] {
        let shard = new_shard(server, layout);
        assert_rising(&ids(&mut server.connect(), shard, 400));
    }
}

fn the_session_may_have_a_step_of_its_own(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "js53");
    let got = at_once(server, 4, |session, client| {
        query::<u64>(
            client,
            &format!(
                "SET auto_increment_increment = {}, auto_increment_offset = {}",
                2 + session,
                1 + session
            ),
        );
        ids(client, shard, 500)
    });
    assert_eq!(assert_unique(&got), 2000);
    let list: Vec<String> = got[0].1.iter().map(i64::to_string).collect();
    let sql = format!(
        "SELECT count(*) FROM JSON_TABLE('[{}]', '$[*]' COLUMNS (id BIGINT PATH '$')) AS t WHERE shardid.id_shard_in(t.id, 'js53') = {shard}",
        list.join(",")
    );
    assert_eq!(server.value::<u64>(&sql), 500);
}

fn the_time_zone_of_the_session_does_not_matter(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    let client = &mut server.connect();
    let mut all = Vec::new();
    for zone in ["+13:00", "-11:30", "SYSTEM", "+00:00"] {
        query::<u64>(client, &format!("SET time_zone = '{zone}'"));
        let sql = format!("SELECT shardid.next_id({shard})");
        let id = query::<i64>(client, &sql)[0];
        let off: i64 = query(
            client,
            &format!(
                "SELECT abs(timestampdiff(MICROSECOND, shardid.id_time({id}), utc_timestamp(6)))"
            ),
        )[0];
        assert!(off < 1_000_000, "in {zone} the id is off by {off} µs");
        assert_eq!(query::<String>(client, "SELECT @@time_zone"), [zone]);
        all.push(id);
    }
    assert_rising(&all);
    // A row that has a time of its own, in the hour that comes twice.
    query::<u64>(
        client,
        "SET time_zone = '+05:00'; CREATE DATABASE zones; CREATE TABLE zones.t (id BIGINT, at TIMESTAMP)",
    );
    query::<u64>(
        client,
        &format!("INSERT INTO zones.t VALUES (shardid.next_id({shard}), '2026-01-01 05:00:00')"),
    );
    query::<u64>(client, "SET time_zone = '+00:00'");
    assert_eq!(
        query::<String>(client, "SELECT CAST(at AS CHAR) FROM zones.t"),
        ["2026-01-01 00:00:00"]
    );
}

fn a_rollback_repeats_nothing(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "js53");
    let got = at_once(server, 4, |_, client| {
        (0..50)
            .flat_map(|turn| {
                query::<u64>(client, "START TRANSACTION");
                let got = ids(client, shard, 5);
                query::<u64>(client, if turn % 2 == 0 { "ROLLBACK" } else { "COMMIT" });
                got
            })
            .collect()
    });
    assert_eq!(assert_unique(&got), 1000);
}

fn every_layout_makes_ids(engine: Engine) {
    let server = shared(engine);
    let client = &mut server.connect();
    let layouts: Vec<String> = query(client, "SELECT name FROM shardid.layouts");
    assert_eq!(layouts.len(), 7);
    for layout in layouts {
        let shard = new_shard(server, &layout);
        let id = ids(client, shard, 3)[2];
        let sql = format!(
            "SELECT shardid.id_shard_in({id}, '{layout}'),
                    abs(timestampdiff(MICROSECOND, shardid.id_time_in({id}, '{layout}'), utc_timestamp(6))) < 2000000"
        );
        assert_eq!(query::<(u32, bool)>(client, &sql), [(shard, true)], "{layout}");
    }
}

fn refusals_of_ids_have_their_sqlstate(engine: Engine) {
    let server = shared(engine);
    let client = &mut server.connect();
    let words = expect_refused(client, "SELECT shardid.next_id(8000)", "42704");
    assert!(words.contains("CALL shardid.create_shard(8000, 'instagram')"), "{words}");
    expect_refused(client, "SELECT shardid.next_id(NULL)", "42704");
    query::<u64>(client, "CALL shardid.create_shard(8191, 'instagram')");
    expect_refused(client, "CALL shardid.create_shard(8191, 'instagram')", "42710");
    expect_refused(client, "CALL shardid.create_shard(8192, 'instagram')", "22003");
    expect_refused(client, "CALL shardid.create_shard(-1, 'instagram')", "22003");
    expect_refused(client, "CALL shardid.create_shard(1, 'absent')", "42704");
    query::<u64>(client, "START TRANSACTION READ ONLY");
    expect_refused(client, "SELECT shardid.next_id(8191)", "25006");
    query::<u64>(client, "ROLLBACK; UPDATE shardid.shard SET state = 'fenced' WHERE shard = 8191");
    expect_refused(client, "SELECT shardid.next_id(8191)", "SI002");
    query::<u64>(client, "UPDATE shardid.shard SET state = 'moved' WHERE shard = 8191");
    expect_refused(client, "SELECT shardid.next_id(8191)", "SI001");
    query::<u64>(client, "CALL shardid.drop_shard(8191)");
    expect_refused(client, "CALL shardid.drop_shard(8191)", "42704");
}

fn a_layout_that_has_ended_is_refused(engine: Engine) {
    let server = &Server::builder(engine).start();
    let client = &mut server.connect();
    let shard = new_shard(server, "log32_2020");
    query::<u64>(
        client,
        "UPDATE shardid.shard SET ticks = unix_timestamp() - 1577836800 + 2 WHERE layout = 'log32_2020'",
    );
    ids(client, shard, 1);
    let next = format!("SELECT shardid.next_id({shard})");
    wait_until(Duration::from_secs(60), "the layout to end", || {
        try_query::<i64>(client, &next).is_err()
    });
    let words = expect_refused(client, &next, "22003");
    assert!(words.contains("has no ids left"), "{words}");
}

/// MariaDB keeps what a subquery gave for the same values, and has the row of ROLLUP repeat the one before.
fn what_keeps_an_id_for_several_rows_has_a_way_around(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    let client = &mut server.connect();
    query::<u64>(
        client,
        &format!(
            "CREATE DATABASE kept; USE kept; CREATE TABLE owner (u INT, shard INT); INSERT INTO owner VALUES (1, {shard});
             CREATE TABLE event (u INT); INSERT INTO event VALUES (1), (1), (1), (1)"
        ),
    );
    let mut distinct = |sql: &str| {
        let mut ids: Vec<i64> = query(client, &sql.replace("5", &shard.to_string()));
        ids.sort_unstable();
        ids.dedup();
        ids.len()
    };
    let kept = usize::from(engine == Engine::MariaDb);
    let subquery =
        "SELECT (SELECT shardid.next_id(o.shard) FROM owner o WHERE o.u = e.u) FROM event e";
    let rollup = "SELECT shardid.next_id(5) FROM event GROUP BY u WITH ROLLUP";
    assert_eq!(distinct(subquery), 4 - 3 * kept);
    assert_eq!(distinct(rollup), 2 - kept);
    assert_eq!(
        distinct("SELECT shardid.next_id(o.shard) FROM event e JOIN owner o ON o.u = e.u"),
        4
    );
    assert_eq!(
        distinct(
            "SELECT shardid.next_id(5) FROM (SELECT u, count(*) FROM event GROUP BY u WITH ROLLUP) r"
        ),
        2
    );
    if engine == Engine::MariaDb {
        assert_eq!(
            distinct(&format!("SET optimizer_switch = '{}'; {subquery}", "subquery_cache=off")),
            4
        );
    }
}
