//! A shard that is moved, fenced, or restored from elsewhere gives no ids, by
//! whatever way they are asked for, and says why.

use shardid_tests::postgres::Client;
use shardid_tests::{Database, expect_error};

use crate::ask::{ids, one, run, run_ahead};
use crate::errors::refuses;

/// Every way to take an id of shard 5, which is also the session's.
const WAYS: [&str; 6] = [
    "SELECT next_id(5)",
    "SELECT next_id()",
    "SELECT next_ids(5, 3)",
    "SELECT shard_0005.next_id()",
    "SELECT next_id_from('t_id')",
    "INSERT INTO t DEFAULT VALUES",
];

/// A database with shard 5, an id sequence of it, and a table that uses it.
fn database() -> Database<'static> {
    let database = Database::fresh();
    database.psql(&format!(
        "SELECT create_shard(5), create_shard(6); SELECT create_id_sequence('t_id', 5); \
         CREATE TABLE t (id bigint DEFAULT next_id(5)); ALTER DATABASE {} SET shardid.shard = 5",
        database.name()
    ));
    database
}

/// Asserts that every way to take an id of shard 5 is refused in a session that
/// has taken some before, and in a new one.
#[track_caller]
fn all_refused(database: &Database<'_>, knew: &mut Client, sqlstate: &str, words: &[&str]) {
    for client in [knew, &mut database.connect()] {
        for sql in WAYS {
            let refusal = expect_error(client, sql, sqlstate);
            let said = format!("{refusal:?}");
            assert!(words.iter().all(|word| said.contains(word)), "{sql}: {words:?} in {said}");
        }
        assert_eq!(one::<i64>(client, "SELECT count(*) FROM t"), 0);
        run(client, "SELECT next_id(6)");
    }
}

#[test]
fn a_shard_that_lives_on_another_node_names_it() {
    let database = database();
    let mut client = database.connect();
    for sql in WAYS {
        run(&mut client, &format!("BEGIN; {sql}; ROLLBACK"));
    }
    database.psql(
        "UPDATE shardid.shard SET state = 'moved', node = 'pg2', map_version = 17, sequence = NULL WHERE shard = 5",
    );
    all_refused(
        &database,
        &mut client,
        "SI001",
        &["shard 5 lives on node \\\"pg2\\\"", "version 17", "shardid map"],
    );
    let refusal = expect_error(&mut client, "SELECT create_shard(5)", "42710");
    assert!(refusal.detail.contains("pg2"), "{refusal:?}");
    assert_eq!(
        database.psql("SELECT state, node, last_id FROM shardid.shards WHERE shard = 5"),
        "moved|pg2|"
    );
}

#[test]
fn a_fenced_shard_says_so_until_it_is_open_again() {
    let database = database();
    let mut client = database.connect();
    for sql in WAYS {
        run(&mut client, &format!("BEGIN; {sql}; ROLLBACK"));
    }
    let before = ids(&mut client, "SELECT next_ids(5, 100)");
    database.psql("UPDATE shardid.shard SET state = 'fenced' WHERE shard = 5");
    all_refused(&database, &mut client, "SI002", &["shard 5 is fenced", "shardid moves"]);
    database.psql("UPDATE shardid.shard SET state = 'open' WHERE shard = 5");
    for sql in WAYS {
        run(&mut client, sql);
    }
    assert!(ids(&mut client, "SELECT next_id(5)")[0] > before[99]);
}

#[test]
fn a_clusters_shard_restored_into_another_database_gives_no_ids_until_it_is_adopted() {
    let database = database();
    let mut client = database.connect();
    database.psql(
        "SELECT shardid.place_shards('photos', 'pg1', 'instagram', 7, 1, ARRAY[5], ARRAY['pg1'])",
    );
    let highest = run_ahead(&mut client, 5);
    let own = ids(&mut client, "SELECT next_id_from('t_id')")[0];
    let copy = Database::fresh_plain();
    let dump = database.command("pg_dump").output().expect("pg_dump runs");
    copy.psql(&String::from_utf8_lossy(&dump.stdout));
    copy.psql(&format!("ALTER DATABASE {} SET shardid.shard = 5", copy.name()));
    let mut restored = copy.connect();
    run(&mut restored, "SELECT next_id(6)");
    let words =
        ["shard 5 belongs to another server", database.name(), "adopt_shard(5)", "shardid apply"];
    all_refused(&copy, &mut restored, "SI003", &words);
    run(&mut restored, "SELECT adopt_shard(5)");
    assert!(ids(&mut restored, "SELECT next_id(5)")[0] > highest);
    assert!(ids(&mut restored, "SELECT next_id_from('t_id')")[0] > own);
    // The original never stopped.
    assert!(ids(&mut client, "SELECT next_id(5)")[0] > highest);
    // The program's way to adopt all that a node has.
    run(
        &mut client,
        "UPDATE shardid.shard SET system_identifier = 42, database = 'gone' WHERE shard = 5",
    );
    all_refused(&database, &mut client, "SI003", &["gone"]);
    run(
        &mut client,
        "SELECT shardid.place_shards('photos', 'pg1', 'instagram', 7, 1, ARRAY[5], ARRAY['pg1']); SELECT next_id(5)",
    );
}

#[test]
fn a_node_is_placed_once_and_refuses_a_map_that_cannot_be_true() {
    let database = database();
    let mut client = database.connect();
    let place = |version: i64, placed: &str, nodes: &str| {
        format!(
            "SELECT shardid.place_shards('photos', 'pg1', 'instagram', 8, {version}, ARRAY{placed}, '{nodes}')"
        )
    };
    let first = place(3, "[5, 6, 7]", "{pg1, pg1, pg2}");
    // The node itself, two shards stamped, one that lives elsewhere.
    assert_eq!(one::<i32>(&mut client, &first), 4);
    assert_eq!(one::<i32>(&mut client, &first), 0);
    assert_eq!(
        database
            .psql("SELECT shard, state, node, map_version, cluster FROM shardid.shard ORDER BY 1"),
        "5|open|pg1|3|photos\n6|open|pg1|3|photos\n7|moved|pg2|3|photos"
    );
    assert_eq!(database.psql("SELECT * FROM shardid.cluster"), "photos|pg1|instagram|8|3");
    for sql in WAYS {
        run(&mut client, sql);
    }
    refuses(
        &mut client,
        r#"
        SI001 | SELECT next_id(7)   | shard 7 + "pg2"          | shardid map
        55006 | SELECT drop_shard(5) | shard 5 + "photos"      | shardid move
        55000 | SELECT shardid.place_shards('photos', 'pg1', 'instagram', 8, 2, ARRAY[5], '{pg1}') | version 3 + 2 | shardid map
        55000 | SELECT shardid.place_shards('photos', 'pg1', 'instagram', 8, 4, ARRAY[5, 6], '{pg1, pg2}') | elsewhere + open here | shardid move
        55000 | SELECT shardid.place_shards('photos', 'pg1', 'instagram', 8, 4, ARRAY[7], '{pg1}') | do not exist here | create_shard()
        55000 | SELECT shardid.place_shards('photos', 'pg2', 'instagram', 8, 4, ARRAY[7], '{pg2}') | node "pg1" of cluster "photos" | shardid.toml
        55000 | SELECT shardid.place_shards('films', 'pg1', 'instagram', 8, 4, ARRAY[5], '{pg1}') | node "pg1" of cluster "photos" | shardid.toml
        55000 | SELECT shardid.place_shards('photos', 'pg1', 'js53', 8, 4, ARRAY[5], '{pg1}') | layout "instagram" | shardid.toml
        42704 | SELECT shardid.place_shards('photos', 'pg1', 'nope', 8, 4, ARRAY[5], '{pg1}') | layout "nope" | create_layout()
        22003 | SELECT shardid.place_shards('photos', 'pg1', 'instagram', 8193, 4, ARRAY[5], '{pg1}') | shard 8192 + "instagram" | FROM shardid.layouts
        22023 | SELECT shardid.place_shards('photos', 'pg1', 'instagram', 8, 4, ARRAY[5, 6], '{pg1}') | 2 shards but 1 nodes |
        55000 | SELECT shardid.rename_node('photos', 'pg2', 'pg3') | node "pg2" of cluster "photos" | shardid.toml
        55000 | SELECT shardid.rename_node('films', 'pg1', 'pg3') | node "pg1" of cluster "films" | shardid.toml
        22023 | SELECT shardid.rename_node('photos', 'pg1', '') | empty name | shardid.toml
        "#,
    );
    // By another name it has the shards that it had.
    let rename =
        |was: &str, name: &str| format!("SELECT shardid.rename_node('photos', '{was}', '{name}')");
    assert!(one::<bool>(&mut client, &rename("pg1", "db1")));
    assert!(!one::<bool>(&mut client, &rename("pg1", "db1")));
    let homes = "SELECT string_agg(shard || ' ' || node, ', ' ORDER BY shard) FROM shardid.shard WHERE cluster = 'photos'";
    let now = one::<String>(&mut client, homes);
    assert!(now.contains("5 db1") && now.contains("7 pg2") && !now.contains("pg1"), "{now}");
    for sql in WAYS {
        run(&mut client, sql);
    }
    assert!(one::<bool>(&mut client, &rename("db1", "pg1")));
    // A newer map moves what lives elsewhere, and nothing else.
    let newer = place(4, "[5, 6, 7]", "{pg1, pg1, pg3}");
    assert_eq!(one::<i32>(&mut client, &newer), 2);
    assert_eq!(one::<i32>(&mut client, &newer), 0);
    let refusal = expect_error(&mut client, "SELECT next_id(7)", "SI001");
    assert!(refusal.message.contains("pg3") && refusal.detail.contains("version 4"), "{refusal:?}");
}

#[test]
fn a_node_of_a_cluster_makes_no_shard_that_the_map_cannot_have() {
    let database = Database::fresh();
    database.psql(
        "SELECT create_shard(0);
         SELECT shardid.place_shards('photos', 'pg1', 'instagram', 8, 1, ARRAY[0], ARRAY['pg1'])",
    );
    let mut client = database.connect();
    let refusal = expect_error(&mut client, "SELECT create_shard(8)", "55000");
    assert!(refusal.message.contains("shard 8 is not one of the cluster"), "{refusal:?}");
    assert!(refusal.detail.contains("\"photos\" has shards 0 to 7"), "{refusal:?}");
    assert_eq!(database.psql("SELECT to_regnamespace('shard_0008') IS NULL"), "t");
    database.psql("SELECT create_shard(7)");
}

/// `ALTER SEQUENCE … MINVALUE -100` and a `setval` below 0, by the owner of one shard, and nobody
/// could read the view any more (22003).
#[test]
fn a_sequence_that_stands_at_no_id_keeps_no_other_shard_out_of_the_view() {
    let database = Database::fresh();
    database.psql(
        "SELECT create_layout('mine', '2026-01-01Z', '10 ms', 1000, 1000); \
         SELECT create_shard(n) FROM generate_series(4, 9) n; SELECT create_shard(10, layout => 'js53'); SELECT next_id(4)",
    );
    let mut client = database.connect();
    for broken in [
        "ALTER SEQUENCE shard_0005.shard_id_seq MINVALUE -100; SELECT setval('shard_0005.shard_id_seq', -5)",
        "ALTER SEQUENCE shard_0006.shard_id_seq MINVALUE -9223372036854775808 START -9223372036854775808 RESTART; SELECT nextval('shard_0006.shard_id_seq')",
        "ALTER SEQUENCE shard_0007.shard_id_seq MINVALUE 0; SELECT setval('shard_0007.shard_id_seq', 0)",
        "UPDATE shardid.shard SET layout = 'nowhere' WHERE shard = 8; SELECT nextval('shard_0008.shard_id_seq')",
        "ALTER SEQUENCE shard_0009.shard_id_seq INCREMENT -1 MINVALUE -1 MAXVALUE 9223372036854775807; SELECT setval('shard_0009.shard_id_seq', 9223372036854775807)",
        "ALTER SEQUENCE shard_0010.shard_id_seq MAXVALUE 9223372036854775807; SELECT setval('shard_0010.shard_id_seq', 9007199254740992)",
    ] {
        run(&mut client, broken);
        assert_eq!(
            one::<i64>(&mut client, "SELECT count(last_time) FROM shardid.shards WHERE shard = 4"),
            1,
            "{broken}"
        );
    }
    // What is no id has no time, and no drift that would say that all is well.
    let marked = "SELECT string_agg(shard::text, ' ' ORDER BY shard) FROM shardid.shards \
         WHERE last_id IS NOT NULL AND last_time IS NULL AND drift IS NULL";
    assert_eq!(one::<String>(&mut client, marked), "5 8 10");
    run(&mut client, "SELECT * FROM id_explain(5)");
}
