//! Data of a dump is loaded over a schema that migrations have made, with its shards: ids go on above
//! all that the original can have given.

use std::thread;

use shardid_tests::postgres::Client;
use shardid_tests::{Database, Server, expect_error};

use crate::ask::{ids, one, run, run_ahead, run_sequence_ahead};
use crate::dump::{output, tempfile};

/// What a database knows of shards, tickets and segments.
const ESTATE_OF_TICKETS: &str = "SELECT 's', * FROM shardid.shard ORDER BY shard; SELECT 'l', * FROM shardid.layout ORDER BY name; \
     SELECT 't', * FROM shardid.ticket; SELECT 'g', * FROM shardid.segment";

/// Rows of shards that migrations had made were duplicates, and what the original had given since the dump
/// came again.
#[test]
fn data_alone_goes_on_above_what_was_given_since_in_a_schema_that_migrations_have_made() {
    let migrate = |database: &Database<'_>| {
        database.psql(
            "CREATE EXTENSION IF NOT EXISTS shardid; SELECT create_layout('mine', '2026-01-01Z', '10 ms', 1000, 1000); \
             SELECT create_shard(5), create_shard(6, layout => 'mine'), create_id_sequence('photo_id', 5); \
             SELECT create_ticket('photos'), create_ticket('gapless'), create_segment('orders', 10); \
             CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5), n bigint DEFAULT next_id_from('photo_id'))",
        )
    };
    let original = Database::fresh_plain();
    migrate(&original);
    original.psql(
        "INSERT INTO photos SELECT FROM generate_series(1, 1000); SELECT next_id(6), next_ticket('photos'); \
         SELECT next_ticket_gapless('gapless'), next_ticket_gapless('gapless'); SELECT next_segment('orders'), shardid.alter_segment('orders', 20)",
    );
    let mut client = original.connect();
    for shard in [5, 6] {
        run_ahead(&mut client, shard);
    }
    run_sequence_ahead(&mut client, "photo_id");
    let file = tempfile();
    output(original.command("pg_dump").args(["-Fc", "-f", &file]));
    let plain = output(original.command("pg_dump").arg("-a"));
    let taken = |client: &mut Client, count: i64| {
        ["next_id(5)", "next_id(6)", "next_id_from('photo_id')"].map(|take| -> i64 {
            one(client, &format!("SELECT max({take}) FROM generate_series(1, {count})"))
        })
    };
    let last = taken(&mut client, 60_000);
    for way in ["-a", "--disable-triggers", "used", "psql"] {
        let copy = Database::fresh_plain();
        migrate(&copy);
        if way == "used" {
            copy.psql("SELECT next_id(6); INSERT INTO photos DEFAULT VALUES; TRUNCATE photos");
        }
        let mut command;
        if way == "psql" {
            let text = tempfile();
            std::fs::write(&text, &plain).unwrap();
            command = copy.command("psql");
            output(command.args(["-Xq1", "-v", "ON_ERROR_STOP=1", "-f", &text, copy.name()]));
            std::fs::remove_file(text).unwrap();
        } else {
            command = copy.command("pg_restore");
            command.args(["--exit-on-error", "-a", "-d", copy.name(), &file]);
            output(if way == "--disable-triggers" { command.arg(way) } else { &mut command });
        }
        let mut client = copy.connect();
        let next = taken(&mut client, 1);
        for (next, last) in next.iter().zip(last) {
            assert!(*next > last, "{way}: {next} after {last}");
        }
        assert_eq!(copy.psql("SELECT count(*) FROM photos"), "1000", "{way}");
        assert_eq!(
            copy.psql("SELECT next_ticket('photos'), next_ticket_gapless('gapless'), first, last FROM next_segment('orders')"),
            "2|3|11|30",
            "{way}"
        );
        let history = "SELECT string_agg(DISTINCT history, ',') FROM (SELECT history FROM shardid.ticket UNION ALL SELECT history FROM shardid.segment) h";
        assert_eq!(copy.psql(history), "restored", "{way}");
    }
    std::fs::remove_file(file).unwrap();
}

/// The dump names id sequences that are others here, or none any more: their ids are rows of its tables.
#[test]
fn data_alone_of_an_owner_goes_on_above_id_sequences_of_other_names() {
    let owned = || {
        let database = Database::fresh_plain();
        let owner = database.role("owner");
        let name = database.name();
        database.psql(&format!(
            "ALTER DATABASE {name} OWNER TO {owner}; ALTER SCHEMA public OWNER TO {owner}"
        ));
        (database, owner)
    };
    let (original, owner) = owned();
    let mut client = original.connect_as(&owner);
    run(
        &mut client,
        "CREATE EXTENSION shardid; SELECT create_shard(5), create_id_sequence('photo_id', 5), create_id_sequence('gone', 6)",
    );
    let last = [
        run_ahead(&mut client, 5),
        run_sequence_ahead(&mut client, "photo_id"),
        run_sequence_ahead(&mut client, "gone"),
    ];
    run(&mut client, "ALTER SEQUENCE photo_id RENAME TO picture_id; DROP SEQUENCE gone");
    let file = tempfile();
    output(original.command("pg_dump").env("PGUSER", &owner).args(["-Fc", "-f", &file]));
    for is_used in [false, true] {
        let (copy, owner) = owned();
        let mut client = copy.connect_as(&owner);
        run(
            &mut client,
            "CREATE EXTENSION shardid; SELECT create_shard(5), create_id_sequence('photo_id', 5), create_id_sequence('new', 6)",
        );
        let take =
            "SELECT unnest(ARRAY[next_id(5), next_id_from('photo_id'), next_id_from('new')])";
        if is_used {
            run(&mut client, take);
        }
        let mut restore = copy.command("pg_restore");
        restore.env("PGUSER", &owner).args(["--exit-on-error", "--no-owner", "-a"]);
        let restore = restore.args(["-d", copy.name(), &file]).output().unwrap();
        // Of the sequence that has another name here: all that comes after the rows.
        let said = String::from_utf8_lossy(&restore.stderr);
        assert!(said.contains("picture_id\" does not exist"), "{said}");
        for (next, last) in ids(&mut client, take).into_iter().zip(last) {
            assert!(next > last, "used {is_used}: {next} after {last}");
        }
    }
    std::fs::remove_file(file).unwrap();
}

/// A row that is refused ends the whole table's load, and the sequences are set all the same.
#[test]
fn data_alone_of_which_a_shard_is_refused_goes_on_above_all_the_same() {
    let original = Database::fresh();
    let mut client = original.connect();
    run(
        &mut client,
        "SELECT create_shard(4), create_shard(5), create_id_sequence('a', 4), create_id_sequence('b', 5)",
    );
    let takes = ["next_id(5)", "next_id_from('b')"];
    run_ahead(&mut client, 5);
    run_sequence_ahead(&mut client, "b");
    let file = tempfile();
    output(original.command("pg_dump").args(["-Fc", "-f", &file]));
    let last = takes.map(|take| -> i64 {
        one(&mut client, &format!("SELECT max({take}) FROM generate_series(1, 60000)"))
    });
    for other in [
        "SELECT create_shard(4, layout => 'snowflake'), create_id_sequence('a', 6)",
        "SELECT create_shard(4); SELECT drop_shard(4); SELECT create_id_sequence('a', 4)",
        "SELECT create_shard(4), create_id_sequence('a', 4); UPDATE shardid.shard SET cluster = 'c' WHERE shard = 4",
    ] {
        let copy = Database::fresh();
        copy.psql(other);
        copy.psql("SELECT create_shard(5), create_id_sequence('b', 5); SELECT next_id(5), next_id_from('b')");
        let mut restore = copy.command("pg_restore");
        let restore = restore.args(["-a", "-d", copy.name(), &file]).output().unwrap();
        let said = String::from_utf8_lossy(&restore.stderr);
        assert!(said.contains("duplicate key"), "{other}: {said}");
        let mut client = copy.connect();
        for (take, last) in takes.iter().zip(last) {
            let next: i64 = one(&mut client, &format!("SELECT {take}"));
            assert!(next > last, "{other}: {take} gives {next} after {last}");
        }
    }
    std::fs::remove_file(file).unwrap();
}

/// What fits into a long tick is ahead by no drift, and a shard that is made beside the load is no row yet.
#[test]
fn data_alone_goes_on_above_long_ticks_and_shards_that_are_made_beside_it() {
    let make = |database: &Database<'_>, shards: &str| {
        database.psql(&format!(
            "SELECT create_layout('long', date_trunc('second', now()) - interval '10 min', '1 h', 64, 100000000); {shards}"
        ));
    };
    let original = Database::fresh();
    make(&original, "SELECT create_shard(5, layout => 'long'), create_shard(6), create_shard(7)");
    let mut client = original.connect();
    for shard in [6, 7] {
        run_ahead(&mut client, shard);
    }
    run(&mut client, "SELECT next_id(5)");
    let file = tempfile();
    output(original.command("pg_dump").args(["-Fc", "-f", &file]));
    let taken = |client: &mut Client, take: &str| -> i64 {
        one(client, &format!("SELECT max({take}) FROM generate_series(1, 1000000)"))
    };
    let last = ["next_id(5)", "next_id(6)", "next_id(7)"].map(|take| taken(&mut client, take));
    for shards in
        ["SELECT create_shard(5, layout => 'long'), create_id_sequence('other', 7)", "SELECT"]
    {
        let copy = Database::fresh();
        make(&copy, shards);
        // It is committed when the load waits for it.
        let mut beside = copy.connect();
        run(&mut beside, "BEGIN; SELECT create_shard(6)");
        thread::scope(|scope| {
            let load = scope.spawn(|| {
                let mut restore = copy.command("pg_restore");
                restore.args(["-a", "-d", copy.name(), &file]).output().unwrap()
            });
            let waits = "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted";
            while !one::<bool>(&mut client, waits) {
                thread::sleep(std::time::Duration::from_millis(10));
            }
            run(&mut beside, "COMMIT");
            load.join().expect("it does not panic");
        });
        let mut client = copy.connect();
        let next: i64 = one(&mut client, "SELECT next_id(6)");
        assert!(next > last[1], "{next} after {}", last[1]);
        if shards == "SELECT" {
            continue;
        }
        let next: i64 = one(&mut client, "SELECT next_id_from('other')");
        assert!(next > last[2], "{next} after {}", last[2]);
        // Fifty minutes of it are left.
        let refusal =
            expect_error(&mut client, "SET shardid.max_wait = 0; SELECT next_id(5)", "55000");
        assert!(refusal.hint.contains("Wait until the next tick begins"), "{refusal:?}");
    }
    std::fs::remove_file(file).unwrap();
}

/// It began where the clock is in its tick, of which the original may have given all.
#[test]
fn a_long_tick_is_over_for_what_came_from_a_dump_whatever_happens_to_it() {
    const MAKE: &str =
        "SELECT create_shard(5, layout => 'long'), create_id_sequence('q', 6, 'long')";
    let server = Server::start_new();
    let original = Database::on(&server);
    let begun = original.psql("SELECT date_trunc('second', now()) - interval '10 min'");
    let layout = format!("SELECT create_layout('long', '{begun}', '1 h', 64, 100000000)");
    original.psql(&format!("{layout}; {MAKE}; SELECT next_id(5), next_id_from('q')"));
    let file = tempfile();
    output(original.command("pg_dump").args(["-Fc", "-f", &file]));
    let restored = |data_alone: bool| {
        let copy = if data_alone { Database::on(&server) } else { Database::plain_on(&server) };
        if data_alone {
            copy.psql(&format!("{layout}; {MAKE}"));
        }
        let mut restore = copy.command("pg_restore");
        restore.args(data_alone.then_some("-a")).args(["-d", copy.name(), &file]);
        output(&mut restore);
        copy
    };
    let waits = |database: &Database<'_>, what: &str| {
        let mut client = database.connect();
        for take in ["next_id(5)", "next_id_from('q')"] {
            let take = format!("SET shardid.max_wait = 0; SELECT {take}");
            let refusal = expect_error(&mut client, &take, "55000");
            let hint = "Wait until the next tick begins";
            assert!(refusal.hint.contains(hint), "{what}, {take}: {refusal:?}");
        }
    };
    let restart = "ALTER SEQUENCE shard_0005.shard_id_seq RESTART; ALTER SEQUENCE q RESTART";
    let anew = format!("DROP SCHEMA shard_0005 CASCADE; DROP SEQUENCE q; {MAKE}");
    for (what, then) in [("loaded", ""), ("restarted", restart), ("made anew", &anew)] {
        for data_alone in [true, false] {
            let copy = restored(data_alone);
            copy.psql(then);
            waits(&copy, &format!("{what}, data alone: {data_alone}"));
        }
    }
    let copies = [true, false].map(restored);
    server.kill9();
    server.start();
    for copy in &copies {
        waits(copy, "after a crash");
    }
    let late = Database::on(&server);
    let mut restore = late.command("pg_restore");
    // Sequences that are not there yet are not set.
    restore.args(["-a", "-d", late.name(), &file]).output().unwrap();
    late.psql(MAKE);
    waits(&late, "made after the load");
    std::fs::remove_file(file).unwrap();
}

/// Of what a load has written, rows were on disk, and not what put the shard ahead.
#[test]
fn a_load_that_waits_for_no_disk_has_put_the_shards_ahead_before_its_rows_are_there() {
    let server = Server::start_new();
    server.set_conf("synchronous_commit = off");
    server.set_conf("wal_writer_delay = 10s");
    server.restart();
    let database = Database::on(&server);
    database.psql("SELECT create_shard(5); SELECT next_id(5); CREATE TABLE loaded (id bigint)");
    server.checkpoint();
    let mut client = database.connect();
    run(&mut client, "INSERT INTO loaded VALUES (1)");
    run(&mut client, "INSERT INTO shardid.shard SELECT * FROM shardid.shard");
    server.kill9();
    server.start();
    let mut client = database.connect();
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM loaded"), 1, "it is on disk");
    let ahead = "SELECT extract(epoch FROM id_time(next_id(5)) - clock_timestamp())::float8";
    let ahead: f64 = one(&mut client, ahead);
    assert!(ahead > 5.0, "{ahead} s");
}

/// Of a cluster's node that was made anew. One that is none of it does not get its shards.
#[test]
fn data_alone_of_a_node_is_loaded_into_that_node_made_anew_and_nowhere_else() {
    let place = |database: &Database<'_>| {
        database.psql(
            "SELECT create_shard(5); SELECT shardid.place_shards('c', 'n1', 'instagram', 8, 1, '{5,6}', '{n1,n2}')",
        );
    };
    let original = Database::fresh();
    place(&original);
    let mut client = original.connect();
    run_ahead(&mut client, 5);
    let file = tempfile();
    output(original.command("pg_dump").args(["-Fc", "-f", &file]));
    let last: i64 = one(&mut client, "SELECT max(next_id(5)) FROM generate_series(1, 60000)");
    let copy = Database::fresh();
    place(&copy);
    let mut restore = copy.command("pg_restore");
    output(restore.args(["--exit-on-error", "-a", "-d", copy.name(), &file]));
    let next: i64 = one(&mut copy.connect(), "SELECT next_id(5)");
    assert!(next > last, "{next} after {last}");
    // The map's copy is kept up to date as before.
    copy.psql("SELECT shardid.place_shards('c', 'n1', 'instagram', 8, 2, '{5,6,7}', '{n1,n3,n2}')");
    assert_eq!(
        copy.psql("SELECT shard, node, map_version, state FROM shardid.shard ORDER BY 1; SELECT map_version FROM shardid.cluster"),
        "5|n1|1|open\n6|n3|2|moved\n7|n2|2|moved\n2"
    );
    let plain = Database::fresh();
    plain.psql("SELECT create_shard(5)");
    let restore = plain.command("pg_restore").args(["-a", "-d", plain.name(), &file]).output();
    let said = String::from_utf8_lossy(&restore.unwrap().stderr).into_owned();
    assert!(said.contains("shard_pkey"), "{said}");
    std::fs::remove_file(file).unwrap();
}

/// What migrations have made otherwise is not taken for what the dump has.
#[test]
fn data_alone_is_refused_where_the_schema_has_other_shards_than_the_dump() {
    let make = |database: &Database<'_>, layout: &str, server: i32, start: i32| {
        database.psql(&format!(
            "CREATE EXTENSION shardid; SELECT create_layout('mine', '2026-01-01Z', '{layout}', 1000, 1000); SELECT create_shard(5, layout => 'mine'); \
             SELECT create_shard(6, layout => '{}'), create_ticket('photos', {server}, 2), create_segment('orders', 10, {start})",
            if server == 1 { "instagram" } else { "mine" }
        ))
    };
    let (original, copy) = (Database::fresh_plain(), Database::fresh_plain());
    make(&original, "10 ms", 1, 1);
    make(&copy, "20 ms", 2, 100);
    let file = tempfile();
    output(original.command("pg_dump").args(["-Fc", "-f", &file]));
    let before = copy.psql(ESTATE_OF_TICKETS);
    let restored =
        copy.command("pg_restore").args(["-a", "-d", copy.name(), &file]).output().unwrap();
    let said = String::from_utf8_lossy(&restored.stderr);
    for key in ["layout_pkey", "shard_pkey", "ticket_pkey", "segment_pkey"] {
        assert!(said.contains(key), "{key}: {said}");
    }
    assert_eq!(copy.psql(ESTATE_OF_TICKETS), before);
    std::fs::remove_file(file).unwrap();
}
