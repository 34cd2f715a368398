//! Ids are read as they were put together, in every layout, and a range of time
//! is a range of ids.
//!
//! `tests/vectors.csv` holds ids that were computed by other means than the
//! extension's; every engine is tested against it. Its concealed ids are for the
//! key of 32 bytes 00 01 02 … 1f. Ids of the originals are among them.

use std::io::Write;

use shardid_tests::postgres::Client;
use shardid_tests::rand::Rng;
use shardid_tests::{Database, expect_error, rng};

use crate::ask::{column, ids, one, run, with_shard_5};

const VECTORS: &str = include_str!("../../vectors.csv");
const KEY: &str = "'\\x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'::bytea";

/// The name and the ids of every built-in layout's first and last tick.
fn layouts(client: &mut Client) -> Vec<(String, i64, i64)> {
    let sql = "SELECT name, 0::bigint, ((ticks - 1)::numeric * shards * slots + (shards - 1) * slots + slots - 1)::bigint \
         FROM shardid.layout ORDER BY name";
    client.query(sql, &[]).unwrap().iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

#[test]
fn the_vectors_are_read_as_they_were_made() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "CREATE TEMP TABLE v (layout text, t timestamptz, shard int, slot bigint, id bigint, body text, concealed bigint)",
    );
    let mut copy = client.copy_in("COPY v FROM STDIN (FORMAT csv, HEADER)").unwrap();
    copy.write_all(VECTORS.as_bytes()).unwrap();
    assert_eq!(copy.finish().unwrap(), VECTORS.lines().count() as u64 - 1);
    let wrong = |client: &mut Client, what: &str| {
        let sql = format!(
            "SELECT concat_ws(' ', layout, id) FROM v, shardid.layout l WHERE l.name = layout AND NOT ({what})"
        );
        let found: Vec<String> = column(client, &sql);
        assert_eq!(found, Vec::<String>::new(), "{what}");
    };
    for what in [
        "id_time(id, layout) = t",
        "id_shard(id, layout) = v.shard",
        "id_slot(id, layout) = v.slot",
        "id_parts(id, layout) = (t, v.shard, v.slot)",
        "id_at(t, layout) = id - v.shard * l.slots - v.slot",
        "layout <> 'instagram' OR (id_time(id) = t AND id_shard(id) = v.shard AND id_slot(id) = v.slot \
             AND id_parts(id) = (t, v.shard, v.slot) AND id_at(t) = id - v.shard * 1024 - v.slot)",
        "id_text(id) = body AND id_from_text(body) = id AND id_from_text(lower(body)) = id",
        &format!("conceal_id(id, {KEY}) = concealed AND reveal_id(concealed, {KEY}) = id"),
    ] {
        wrong(&mut client, what);
    }
    let covered = "SELECT count(*) FROM shardid.layout l WHERE (SELECT count(*) FROM v WHERE v.layout = l.name) >= 16";
    assert_eq!(one::<i64>(&mut client, covered), 7);
}

#[test]
fn the_first_and_the_last_id_of_each_layout_are_its_borders() {
    let database = Database::fresh();
    let mut client = database.connect();
    run(
        &mut client,
        "SELECT create_layout('fine', '2026-01-01Z', '1 us', 1, 1024); SELECT create_layout('coarse', '2026-01-01Z', '24 h', 7, 11); \
         SELECT create_layout('wide', '2026-01-01Z', '1 s', 2147483648, 2); SELECT create_layout('four', now(), '1 h', 3, 5, ticks => 4)",
    );
    for (layout, first, last) in layouts(&mut client) {
        let parts = |client: &mut Client, id: i64| {
            let row = client
                .query_one("SELECT shard, slot FROM id_parts($1, $2)", &[&id, &layout])
                .unwrap();
            (i64::from(row.get::<_, i32>(0)), row.get::<_, i64>(1))
        };
        let size = client
            .query_one("SELECT shards, slots FROM shardid.layout WHERE name = $1", &[&layout])
            .unwrap();
        let (shards, slots): (i64, i64) = (size.get(0), size.get(1));
        assert_eq!(parts(&mut client, first), (0, 0), "{layout}");
        assert_eq!(parts(&mut client, last), (shards - 1, slots - 1), "{layout}");
        if last < i64::MAX {
            expect_error(
                &mut client,
                &format!("SELECT id_time({}, '{layout}')", last + 1),
                "22003",
            );
        }
        // The layout ends where the view says, to the microsecond.
        let border = format!("FROM shardid.layouts l WHERE name = '{layout}'");
        let inside = format!(
            "SELECT id_time({last}, name) = ends_at - tick AND id_time(0, name) = epoch {border}"
        );
        assert!(one::<bool>(&mut client, &inside), "{layout}");
        let last_at = format!("SELECT id_at(ends_at - interval '1 us', name) {border}");
        assert_eq!(one::<i64>(&mut client, &last_at), last - shards * slots + 1, "{layout}");
        expect_error(&mut client, &format!("SELECT id_at(ends_at, name) {border}"), "22003");
        assert_eq!(
            one::<i64>(&mut client, &format!("SELECT id_at(epoch - tick, name) {border}")),
            0
        );
    }
    let sum = "SELECT count(*) FROM shardid.layouts WHERE days_left = floor(extract(epoch FROM ends_at - now()) / 86400)";
    assert_eq!(one::<i64>(&mut client, sum), 11);
}

#[test]
fn an_instant_is_in_the_tick_that_its_lowest_id_begins() {
    let database = Database::fresh();
    let mut client = database.connect();
    let mut random = rng("instants");
    for (layout, ..) in layouts(&mut client) {
        let offsets: Vec<i64> =
            (0..500).map(|_| random.random_range(0..350_000_000_000_000)).collect();
        let sql = format!(
            "SELECT count(*) FROM shardid.layout l, unnest(ARRAY{offsets:?}::bigint[]) o, \
                 LATERAL (SELECT l.epoch + o * interval '1 us' AS t) x, \
                 LATERAL (SELECT id_at(t, l.name) AS low, id_at(t + l.tick, l.name) AS next) y \
             WHERE l.name = '{layout}' AND id_time(low, l.name) <= t AND t < id_time(low, l.name) + l.tick \
                 AND next = low + l.shards * l.slots AND id_time(next, l.name) = id_time(low, l.name) + l.tick \
                 AND id_at(id_time(low, l.name) - interval '1 us', l.name) < low"
        );
        assert_eq!(one::<i64>(&mut client, &sql), 500, "{layout}");
    }
}

#[test]
fn ids_of_every_layout_say_when_and_where_they_were_made() {
    let database = Database::fresh();
    let mut client = database.connect();
    let sql = "SELECT name, (shards - 1)::int FROM shardid.layout ORDER BY name";
    let rows = client.query(sql, &[]).unwrap();
    for (low, row) in rows.iter().enumerate() {
        let (layout, high): (String, i32) = (row.get(0), row.get(1));
        // As a shard, and on the last shard of the layout, for one table.
        run(
            &mut client,
            &format!(
                "SELECT create_shard({low}, layout => '{layout}'); SELECT create_id_sequence('at_{layout}', {high}, '{layout}')"
            ),
        );
        for (shard, source) in [
            (low as i32, format!("next_ids({low}, 3000) AS id")),
            (
                high,
                format!(
                    "(SELECT next_id_from('at_{layout}') AS id FROM generate_series(1, 3000)) x"
                ),
            ),
        ] {
            let before: String = one(&mut client, "SELECT clock_timestamp()::text");
            let sql = format!(
                "WITH taken AS MATERIALIZED (SELECT id FROM {source}) \
                 SELECT count(*) FROM taken, shardid.layout l, (SELECT '{before}'::timestamptz AS t) AS before \
                 WHERE l.name = '{layout}' AND id_shard(id, l.name) = {shard} \
                     AND id_slot(id, l.name) BETWEEN 0 AND l.slots - 1 \
                     AND id_time(id, l.name) BETWEEN t - l.tick AND t + interval '30 s'"
            );
            assert_eq!(one::<i64>(&mut client, &sql), 3000, "shard {shard} of {layout}");
        }
    }
    let seen =
        "SELECT count(*) FROM shardid.shards WHERE abs(extract(epoch FROM last_time - now())) < 12";
    assert_eq!(one::<i64>(&mut client, seen), 7);
}

#[test]
fn a_query_by_time_uses_the_primary_key() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(
        &mut client,
        "CREATE TABLE t (id bigint PRIMARY KEY, n int); \
         INSERT INTO t SELECT id_at(now() - n * interval '10 minutes') + 5120, n FROM generate_series(1, 30000) n; ANALYZE t",
    );
    for condition in [
        "id >= id_at(now() - interval '1 day')",
        "id >= id_at(now() - interval '1 day', 'instagram')",
        "id >= id_at(now() - interval '2 days') AND id < id_at(now() - interval '1 day')",
        "id >= id_at(current_date - 1)",
    ] {
        let plan: Vec<String> =
            column(&mut client, &format!("EXPLAIN SELECT * FROM t WHERE {condition}"));
        let plan = plan.join("\n");
        assert!(plan.contains("t_pkey") && plan.contains("Index Cond"), "{condition}\n{plan}");
    }
    let found: i64 =
        one(&mut client, "SELECT count(*) FROM t WHERE id >= id_at(now() - interval '1 day')");
    assert!((143..=144).contains(&found), "{found} rows of a day");
    // A constant is folded, and the planner knows how many rows there are.
    let plan: Vec<String> =
        column(&mut client, "EXPLAIN SELECT * FROM t WHERE id >= id_at('2026-01-02Z')");
    assert!(plan.join("\n").contains("id >= '724775731200000'::bigint"), "{plan:?}");
}

#[test]
fn id_explain_puts_the_likeliest_first_and_leaves_out_what_makes_no_sense() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(&mut client, "SELECT create_shard(6, layout => 'decimal19'); SELECT create_shard(7)");
    let explain = |client: &mut Client, id: i64| -> Vec<String> {
        column(
            client,
            &format!("SELECT trim(concat_ws(' ', layout, shard, note)) FROM id_explain({id})"),
        )
    };
    for (shard, layout) in [(5, "instagram"), (6, "decimal19")] {
        let id = ids(&mut client, &format!("SELECT next_id({shard})"))[0];
        let said = explain(&mut client, id);
        // One time in a hundred it is, read as decimal19, of the other shard as well.
        let expected = format!("{layout} {shard} shard {shard} of this database");
        assert!(said[0].ends_with("of this database") && said.contains(&expected), "{said:?}");
        let age: f64 = one(
            &mut client,
            &format!(
                "SELECT extract(epoch FROM age)::float8 FROM id_explain({id}) WHERE layout = '{layout}'"
            ),
        );
        assert!((-1.1..30.0).contains(&age), "{age} s old");
    }
    // A tweet of 2022-06-28, which in instagram's time would be centuries away.
    let tweet = 1_541_815_603_606_036_480;
    let said = explain(&mut client, tweet);
    assert!(said.contains(&"snowflake 378".to_owned()), "{said:?}");
    assert!(
        !said.iter().any(|line| line.starts_with("instagram") || line.starts_with("js53")),
        "{said:?}"
    );
    // What became of the shard.
    let id = ids(&mut client, "SELECT next_id(7)")[0];
    run(&mut client, "SELECT drop_shard(7)");
    assert!(explain(&mut client, id).contains(&"instagram 7 shard 7 was dropped".to_owned()));
    run(&mut client, "UPDATE shardid.shard SET state = 'moved', node = 'pg2' WHERE shard = 7");
    assert!(
        explain(&mut client, id).contains(&"instagram 7 shard 7 lives on node \"pg2\"".to_owned())
    );
    let ahead = one::<i64>(&mut client, "SELECT id_at(now() + interval '1 hour') + 5 * 1024");
    let said = explain(&mut client, ahead);
    let expected = "instagram 5 shard 5 of this database; ahead of the clock".to_owned();
    assert!(said.contains(&expected), "{said:?}");
    // Numbers that are ids of nothing, and one that is not even a number.
    for id in [-1, 0, 17, i64::MIN] {
        assert_eq!(explain(&mut client, id), Vec::<String>::new(), "{id}");
    }
    explain(&mut client, i64::MAX);
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM id_explain(NULL)"), 0);
}

#[test]
fn texts_sort_like_their_ids_and_concealed_ids_come_back() {
    let database = Database::fresh();
    let mut random = rng("texts");
    let mut numbers: Vec<i64> = (0..2000)
        .map(|_| random.random::<i64>() >> random.random_range(1..60) & i64::MAX)
        .collect();
    numbers.extend([0, 1, 31, 32, i64::MAX - 1, i64::MAX]);
    let mut client = database.connect();
    run(&mut client, "CREATE TEMP TABLE n (id bigint)");
    client.execute("INSERT INTO n SELECT unnest($1::bigint[])", &[&numbers]).unwrap();
    numbers.sort_unstable();
    assert_eq!(ids(&mut client, "SELECT id FROM n ORDER BY id_text(id)"), numbers);
    assert_eq!(ids(&mut client, "SELECT id FROM n ORDER BY id_text(id) COLLATE \"C\""), numbers);
    let good = format!(
        "SELECT count(*) FROM n WHERE length(id_text(id)) = 13 AND id_from_text(id_text(id)) = id \
             AND reveal_id(conceal_id(id, {KEY}), {KEY}) = id AND conceal_id(reveal_id(id, {KEY}), {KEY}) = id \
             AND conceal_id(id, {KEY}) >= 0 AND conceal_id(id, {KEY}) <> conceal_id(id, {KEY} || '\\x00')"
    );
    assert_eq!(one::<i64>(&mut client, &good), 2006);
}
