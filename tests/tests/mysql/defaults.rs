//! Ids in columns: triggers on both engines, and what only MariaDB has.

use shardid_tests::my::{Engine, expect_refused, query, shared};
use shardid_tests::on_both_engines;

use crate::harness::new_shard;

on_both_engines!(
    a_trigger_fills_the_column,
    a_stored_function_is_no_default,
    mariadb_has_sequences_as_defaults_and_returning,
);

fn a_trigger_fills_the_column(engine: Engine) {
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    let client = &mut server.connect();
    query::<u64>(
        client,
        "CREATE DATABASE `odd ``name`; USE `odd ``name`; CREATE TABLE photos (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, title TEXT)",
    );
    let trigger: Vec<String> =
        query(client, &format!("SELECT shardid.id_trigger('odd `name', 'photos', 'id', {shard})"));
    query::<u64>(client, &trigger[0]);
    query::<u64>(client, "INSERT INTO photos (title) VALUES ('a'), ('b')");
    // The id is no AUTO_INCREMENT, so this says nothing of it.
    assert_eq!(query::<u64>(client, "SELECT last_insert_id()"), [0]);
    query::<u64>(
        client,
        "INSERT INTO photos (title) SELECT title FROM photos; INSERT INTO photos VALUES (7, 'own')",
    );
    let sql = "SELECT count(*), count(DISTINCT id), min(id), count(DISTINCT if(id = 7, NULL, shardid.id_shard(id))) FROM photos";
    assert_eq!(query::<(u32, u32, i64, u32)>(client, sql), [(5, 5, 7, 1)]);
    // How a client learns of the id before it has the row.
    let id: i64 = query(
        client,
        &format!(
            "SET @id = shardid.next_id({shard}); INSERT INTO photos VALUES (@id, 'c'); SELECT @id"
        ),
    )[0];
    assert_eq!(
        query::<String>(client, &format!("SELECT title FROM photos WHERE id = {id}")),
        ["c"]
    );
}

fn a_stored_function_is_no_default(engine: Engine) {
    let server = shared(engine);
    let client = &mut server.connect();
    query::<u64>(client, "CREATE DATABASE no_default");
    expect_refused(
        client,
        "CREATE TABLE no_default.t (id BIGINT DEFAULT (shardid.next_id(5)))",
        "HY000",
    );
}

fn mariadb_has_sequences_as_defaults_and_returning(engine: Engine) {
    if engine != Engine::MariaDb {
        let client = &mut shared(engine).connect();
        expect_refused(client, "CREATE SEQUENCE none_here", "42000");
        return;
    }
    let server = shared(engine);
    let shard = new_shard(server, "instagram");
    let client = &mut server.connect();
    query::<u64>(client, "CREATE DATABASE own_sequence; USE own_sequence");
    query::<u64>(client, "CREATE SEQUENCE orders_seq START WITH 2 INCREMENT BY 2");
    query::<u64>(
        client,
        "CREATE TABLE orders (id BIGINT PRIMARY KEY DEFAULT (NEXT VALUE FOR orders_seq), what TEXT)",
    );
    assert_eq!(
        query::<i64>(client, "INSERT INTO orders (what) VALUES ('a'), ('b') RETURNING id"),
        [2, 4]
    );
    query::<u64>(
        client,
        "CREATE TABLE photos (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, title TEXT)",
    );
    let trigger: Vec<String> = query(
        client,
        &format!("SELECT shardid.id_trigger('own_sequence', 'photos', 'id', {shard})"),
    );
    query::<u64>(client, &trigger[0]);
    let returned: Vec<u32> = query(
        client,
        "INSERT INTO photos (title) VALUES ('a'), ('b') RETURNING shardid.id_shard(id)",
    );
    assert_eq!(returned, [shard, shard]);
}
