//! What guards a copy that is closed: no way leads past it but the stream that it follows by.

use std::time::Duration;

use shardid_tests::estate::{Estate, schema};
use shardid_tests::{Installation, expect_error, wait_until};

use crate::shared;

/// Triggers of statements do not fire for what replicates, and those of a replica's session fire
/// only where they always do: such rows came to a copy that is dropped with them.
#[test]
fn no_way_of_writing_passes_a_fence_or_an_old_copys_guard_but_its_own_stream() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.make_tables(shard);
    estate.psql(
        "pg1",
        &format!("INSERT INTO {schema}.item (n) SELECT n FROM generate_series(1, 9) n"),
    );
    let ways = [
        "INSERT INTO SCHEMA.item (n) VALUES (-1)",
        "UPDATE SCHEMA.item SET n = -1",
        "DELETE FROM SCHEMA.item",
        "TRUNCATE SCHEMA.item CASCADE",
        "SET session_replication_role = replica; INSERT INTO SCHEMA.item (n) VALUES (-1)",
        "SET session_replication_role = replica; UPDATE SCHEMA.item SET n = -1",
        "SET session_replication_role = replica; DELETE FROM SCHEMA.item",
        "SET session_replication_role = replica; TRUNCATE SCHEMA.item CASCADE",
        // The worker of a subscription is one that has an origin, whoever says so.
        "SET session_replication_role = replica; SELECT pg_replication_origin_session_setup('strange'); INSERT INTO SCHEMA.item (n) VALUES (-1)",
    ];
    let origin = "SELECT pg_replication_origin_create('strange')";
    estate.psql("pg1", origin);
    let refused = |code: &str| {
        for way in ways {
            let mut client = estate.node("pg1").connect("app");
            let words = expect_error(&mut client, &way.replace("SCHEMA", &schema), code);
            assert!(words.message.contains(&format!("shard {shard}")), "{way}: {words:?}");
        }
    };
    let moving = ["move", &number, "--to", "pg2", "--yes"];
    let held = estate.run_held("fenced/before-AwaitDrained", &moving);
    refused("SI002");
    assert_eq!(held.let_go().code, 0);
    refused("SI001");

    // Somebody's own replication into the old copy.
    let table = format!("{schema}.item");
    estate.psql(
        "pg3",
        &format!("CREATE SCHEMA {schema}; CREATE TABLE {table} (id bigint PRIMARY KEY, n bigint)"),
    );
    estate.psql(
        "pg3",
        &format!(
            "INSERT INTO {table} VALUES (1, -1); CREATE PUBLICATION strange FOR TABLE {table}"
        ),
    );
    let port = estate.node("pg3").port();
    estate.psql("pg1", &format!("CREATE SUBSCRIPTION strange CONNECTION 'host=127.0.0.1 port={port} user=postgres dbname=app' PUBLICATION strange WITH (copy_data = false)"));
    estate.psql("pg3", &format!("INSERT INTO {table} VALUES (2, -1)"));
    let errors = "SELECT coalesce(sum(apply_error_count), 0) > 0 FROM pg_stat_subscription_stats WHERE subname = 'strange'";
    wait_until(Duration::from_secs(30), "the strange worker to be refused", || {
        estate.psql("pg1", errors) == "t"
    });
    estate.psql("pg1", "DROP SUBSCRIPTION strange");
    if Installation::get().major() >= 16 {
        // Nor does it help that it has the name of a stream.
        estate.psql("pg1", &format!("CREATE ROLE mal LOGIN IN ROLE pg_create_subscription; GRANT CREATE ON DATABASE app TO mal; GRANT ALL ON {table} TO mal; GRANT USAGE ON SCHEMA {schema} TO mal"));
        estate.psql(
            "pg3",
            "CREATE ROLE sub LOGIN REPLICATION PASSWORD 'sub' IN ROLE pg_read_all_data",
        );
        let file = estate.node("pg3").data().join("pg_hba.conf");
        let rules = std::fs::read_to_string(&file).expect("it is there");
        let asks = "host all sub 127.0.0.1/32 scram-sha-256";
        std::fs::write(&file, format!("{asks}\n{rules}")).expect("it can be written");
        estate.psql("pg3", "SELECT pg_reload_conf()");
        let mut client = estate.node("pg1").connect_as("app", "mal");
        client
            .batch_execute(&format!("CREATE SUBSCRIPTION shardid_back_79 CONNECTION 'host=127.0.0.1 port={port} user=sub password=sub dbname=app' PUBLICATION strange WITH (copy_data = false, run_as_owner = true)"))
            .expect("it may make one");
        estate.psql("pg3", &format!("INSERT INTO {table} VALUES (3, -1)"));
        let errors = errors.replace("strange", "shardid_back_79");
        wait_until(
            Duration::from_secs(30),
            "the worker with a stream's name to be refused",
            || estate.psql("pg1", &errors) == "t",
        );
        estate.psql("pg1", "DROP SUBSCRIPTION shardid_back_79; DROP OWNED BY mal; DROP ROLE mal");
    }
    estate.psql("pg3", &format!("DROP PUBLICATION strange; DROP SCHEMA {schema} CASCADE"));
    let there = format!("SELECT count(*) FROM {table} WHERE n = -1");
    assert_eq!(estate.psql("pg1", &there), "0");

    // The way back goes on, whatever it brings.
    let same = |what: &str| {
        let rows = format!("SELECT count(*), coalesce(sum(n), 0) FROM {table}");
        let now = estate.psql("pg2", &rows);
        wait_until(Duration::from_secs(30), what, || estate.psql("pg1", &rows) == now);
    };
    estate.psql("pg2", &format!("INSERT INTO {table} (n) VALUES (100); UPDATE {table} SET n = n + 1000; DELETE FROM {table} WHERE n = 1003"));
    same("rows to follow");
    estate.psql("pg2", &format!("TRUNCATE {table} CASCADE; INSERT INTO {table} (n) VALUES (5)"));
    same("a TRUNCATE to follow");
    refused("SI001");
    estate.psql("pg1", "SELECT pg_replication_origin_drop('strange')");
    estate.run(&["rollback", &estate.last_move(shard), "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &format!("SELECT count(*), sum(n) FROM {table}")), "1|5");
    estate.assert_no_trace(shard);
}

/// The owner of a table may have code of his run where its rows arrive. By the stream of one shard
/// it wrote to the old copy of another one, which its own stream then broke on.
#[test]
fn the_stream_of_one_shard_brings_nothing_to_the_old_copy_of_another() {
    let (estate, other, own) = (shared::estate(), shared::shard(), shared::shard());
    for shard in [other, own] {
        estate.make_tables(shard);
        estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    }
    let (its, mine) = (schema(other), schema(own));
    estate.psql(
        "pg1",
        &format!(
            "GRANT USAGE ON SCHEMA {its}, {mine} TO PUBLIC; GRANT INSERT, SELECT ON {its}.item TO PUBLIC;
             CREATE FUNCTION {mine}.plant(n bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
                 BEGIN INSERT INTO {its}.item (id, n) VALUES (-n, -n); RAISE LOG 'planted in {its}';
                 EXCEPTION WHEN OTHERS THEN RAISE LOG 'refused in {its}: %', SQLSTATE; END;
                 RETURN true; END $$;
             ALTER TABLE {mine}.item ADD CONSTRAINT plant CHECK ({mine}.plant(n)) NOT VALID"
        ),
    );
    estate.psql("pg2", &format!("INSERT INTO {mine}.item (n) VALUES (7)"));
    let came = format!("SELECT count(*) FROM {mine}.item WHERE n = 7");
    wait_until(Duration::from_secs(30), "its own row", || estate.psql("pg1", &came) == "1");
    let log = estate.node("pg1").log();
    assert!(log.contains(&format!("LOG:  refused in {its}: 25006")), "{log}");
    let planted = format!("SELECT count(*) FROM {its}.item WHERE n = -7");
    assert_eq!(estate.psql("pg1", &planted), "0");
    estate.psql(
        "pg1",
        &format!("ALTER TABLE {mine}.item DROP CONSTRAINT plant; DROP FUNCTION {mine}.plant"),
    );
    for shard in [other, own] {
        estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
        estate.assert_no_trace(shard);
    }
}

/// `pg_restore --disable-triggers` switches all triggers of a table off, and then on again for clients
/// alone; what it loads is lost with the copy.
#[test]
fn a_guard_that_was_switched_off_is_found_and_put_back_before_its_copy_is_dropped() {
    // Of its own, for `verify` looks at all that is there.
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    let found = || {
        let found = estate.run(&["verify"]).stdout;
        found.lines().filter(|line| !line.contains(" is a serial")).map(str::to_owned).collect()
    };
    let whole: Vec<String> = found();
    for (off, off_again) in [("DISABLE", ""), ("DISABLE", "ENABLE")] {
        let all = |what: &str| format!("ALTER TABLE {schema}.item {what} TRIGGER ALL;");
        let again = if off_again.is_empty() { String::new() } else { all(off_again) };
        estate.psql(
            "pg1",
            &format!("{} INSERT INTO {schema}.item (id, n) VALUES (-1, -1); DELETE FROM {schema}.item; {again}", all(off)),
        );
        let mend = format!(
            "ALTER TABLE ONLY {schema}.item ENABLE ALWAYS TRIGGER shardid_fence, ENABLE ALWAYS TRIGGER shardid_fence_rows;"
        );
        let now: Vec<String> = found();
        let new: Vec<&String> = now.iter().filter(|line| !whole.contains(line)).collect();
        let says = format!(
            "pg1: the guard of {schema}.item, in the old copy of shard {shard}, was switched off, and what somebody has written there goes with the copy: take that to where the shard lives, then `{mend}`"
        );
        assert_eq!(new, [&says]);
        for how in ["--dry-run", "--yes"] {
            let refused = estate.run(&["retire", &id, how]).refused();
            let says = format!("the guard of table {schema}.item was switched off");
            assert!(refused.contains(&says) && refused.contains(&mend), "{refused}");
        }
        let way_back =
            format!("SELECT subenabled FROM pg_subscription WHERE subname = 'shardid_back_{id}'");
        assert_eq!(estate.psql("pg1", &way_back), "t");
        estate.psql("pg1", &mend);
        assert_eq!(found(), whole);
        let mut client = estate.node("pg1").connect("app");
        let replica = format!(
            "SET session_replication_role = replica; INSERT INTO {schema}.item (n) VALUES (-1)"
        );
        expect_error(&mut client, &replica, "SI001");
    }
    // One that was dropped is no better.
    let drop = |shard: u32, of: &[&str]| {
        for trigger in of {
            estate.psql("pg1", &format!("DROP TRIGGER {trigger} ON shard_{shard:04}.item"));
        }
    };
    let new = |whole: &[String]| {
        let mut now: Vec<String> = found();
        now.retain(|line| !whole.contains(line));
        now
    };
    let mend = |line: &str| {
        let mut quoted = line.split('`').filter(|part| part.contains("CREATE OR REPLACE TRIGGER"));
        estate.psql("pg1", quoted.next().expect("a statement"));
    };
    for of in [&["shardid_fence", "shardid_fence_rows"][..], &["shardid_fence"]] {
        drop(shard, of);
        let lines = new(&whole);
        let says = format!(
            "pg1: {schema}.item, in the old copy of shard {shard}, has no guard: that was dropped, or the table was made there since, and what somebody has written there goes with the copy: take that to where the shard lives, then `CREATE OR REPLACE TRIGGER shardid_fence"
        );
        assert!(matches!(&lines[..], [line] if line.starts_with(&says)), "{lines:?}");
        let refused = estate.run(&["retire", &id, "--yes"]).refused();
        let says = format!("the guard of table {schema}.item was dropped");
        assert!(refused.contains(&says) && !refused.contains("has made"), "{refused}");
        mend(&lines[0]);
        assert_eq!(found(), whole);
        let mut client = estate.node("pg1").connect("app");
        for how in ["origin", "replica"] {
            let write = format!(
                "SET session_replication_role = {how}; INSERT INTO {schema}.item (n) VALUES (-1)"
            );
            expect_error(&mut client, &write, "SI001");
        }
    }
    estate.psql("pg1", &format!("CREATE TABLE {schema}.mine (id bigint)"));
    let refused = estate.run(&["retire", &id, "--yes"]).refused();
    let says = format!("somebody has made table {schema}.mine there");
    assert!(refused.contains(&says), "{refused}");
    estate.psql("pg1", &format!("DROP TABLE {schema}.mine"));
    estate.run(&["retire", &id, "--yes"]).ok();
    estate.assert_no_trace(shard);

    // Nor is a fence.
    let other = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has another");
    estate.make_tables(other);
    estate.run_cut("fenced/before-next", &["move", &other.to_string(), "--to", "pg2", "--yes"]);
    let whole: Vec<String> = found();
    drop(other, &["shardid_fence", "shardid_fence_rows"]);
    let lines = new(&whole);
    let says =
        format!("pg1: shard_{other:04}.item, behind the fence of shard {other}, has no guard");
    assert!(matches!(&lines[..], [line] if line.starts_with(&says)), "{lines:?}");
    mend(&lines[0]);
    let insert = format!("INSERT INTO shard_{other:04}.item (n) VALUES (-1)");
    expect_error(&mut estate.node("pg1").connect("app"), &insert, "SI002");
    estate.run(&["abort", &estate.last_move(other), "--yes"]).ok();
    estate.assert_no_trace(other);
}

/// A transaction that began before the switch sees the shard's row as it was, and the refusal
/// says where the shard is by now.
#[test]
fn an_old_snapshot_is_told_where_the_shard_lives_by_now() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let (number, schema) = (shard.to_string(), schema(shard));
    estate.make_tables(shard);
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let home = estate.home(shard);
        let other = if home == "pg1" { "pg2" } else { "pg1" };
        let mut client = estate.node(&home).connect("app");
        client.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}; SELECT 1")).unwrap();
        estate.run(&["move", &number, "--to", other, "--yes"]).ok();
        let words = expect_error(
            &mut client,
            &format!("INSERT INTO {schema}.item (n) VALUES (1)"),
            "SI001",
        );
        assert!(
            words.message.contains(other) && words.detail.contains("since version"),
            "{words:?}"
        );
        client.batch_execute("ROLLBACK").unwrap();
        estate.run(&["retire", &estate.last_move(shard), "--yes"]).ok();
    }
}

/// Who followed the hint had a table of somebody else dropped, and the copy stayed.
#[test]
fn a_schema_that_has_taken_the_name_of_an_old_copy_is_not_taken_for_it() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    let swap = |aside: &str, instead: &str| {
        format!(
            "ALTER SCHEMA {schema} RENAME TO {aside}; ALTER SCHEMA {instead} RENAME TO {schema}"
        )
    };
    estate.psql("pg1", "CREATE SCHEMA other CREATE TABLE theirs (i int)");
    estate.psql("pg1", &swap("sold", "other"));
    let mend =
        format!("ALTER SCHEMA {schema} RENAME TO ...; ALTER SCHEMA sold RENAME TO {schema};");
    let found = estate.run(&["verify"]);
    let what =
        format!("schema {schema} is not the old copy of shard 0, which has another name now");
    assert!(found.stdout.contains(&what) && found.stdout.contains(&mend), "{}", found.stdout);
    // Nor would a move back take it for that, which drops it in the end.
    let is_elsewhere = |node: &str, what: &str, schema: &str, mend: &str| {
        for word in ["rollback", "retire"] {
            let said = estate.run(&[word, "1", "--yes"]);
            assert_eq!(said.code, 1, "{word}: {}", said.stderr);
            let words = format!("node {node}: {what} 0 is in schema {schema} now, and not in ");
            assert!(said.stderr.contains(&words) && said.stderr.contains(mend), "{}", said.stderr);
            if node == "pg2" {
                return;
            }
        }
    };
    is_elsewhere("pg1", "the old copy of shard", "sold", &mend);
    // It was said to be dropped, and stayed.
    estate.psql("pg1", &format!("ALTER SCHEMA {schema} RENAME TO other"));
    let mend = format!("`ALTER SCHEMA sold RENAME TO {schema};` there");
    is_elsewhere("pg1", "the old copy of shard", "sold", &mend);
    estate.psql("pg1", &format!("ALTER SCHEMA sold RENAME TO {schema}"));
    // The copy that is left goes at the end of a move back.
    estate.psql(
        "pg2",
        &format!(
            "CREATE SCHEMA other CREATE TABLE t (id bigint PRIMARY KEY); {}",
            swap("sold", "other")
        ),
    );
    is_elsewhere("pg2", "shard", "sold", "ALTER SCHEMA sold RENAME TO");
    estate.psql("pg2", &swap("other", "sold"));
    estate.psql("pg1", &swap("sold", "other"));
    estate.psql("pg1", &swap("other", "sold"));
    estate.run(&["retire", "1", "--yes"]).ok();
    let left =
        "SELECT string_agg(nspname, ' ') FROM pg_namespace WHERE nspname IN ('sold', 'other')";
    assert_eq!(estate.psql("pg1", left), "other");
}

/// One that got the name before the move began to keep it was moved instead, and the shard was nowhere.
#[test]
fn a_schema_that_takes_a_shards_name_while_a_move_begins_is_not_moved() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY); CREATE SCHEMA other CREATE TABLE t (id bigint PRIMARY KEY) CREATE SEQUENCE shard_id_seq"));
    let held = estate.run_held("copying/before-MakeSchema", &["move", "0", "--to", "pg2", "--yes"]);
    estate.psql(
        "pg1",
        &format!("ALTER SCHEMA {schema} RENAME TO ours; ALTER SCHEMA other RENAME TO {schema}"),
    );
    let run = held.let_go();
    assert_eq!(run.code, 3, "{}", run.stderr);
    let words = "shard 0 is in schema ours now, and not in ";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    estate.run(&["abort", "1", "--yes"]).ok();
    estate.psql("pg1", &format!("ALTER SCHEMA {schema} RENAME TO other; ALTER SCHEMA ours RENAME TO {schema}; SELECT next_id(0)"));
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    estate.psql("pg2", &format!("INSERT INTO {schema}.t SELECT next_id(0)"));
}

/// What was gone back from was dropped as of no use, and was the last one.
#[test]
fn a_move_back_does_not_drop_the_last_copy_of_anything() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    let rows = format!("SELECT count(*) FROM {schema}.t");
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY); INSERT INTO {schema}.t SELECT next_id(0) FROM generate_series(1, 10)"));
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    estate.run_cut("switched/before-OpenTarget", &["rollback", "1", "--yes"]);
    let id = estate.last_move(0);
    let is_kept = |words: &str| {
        let stopped = estate.run(&["resume", &id]);
        assert_eq!(stopped.code, 3, "{}", stopped.stderr);
        assert!(stopped.stderr.contains(words), "{}", stopped.stderr);
        assert_eq!(estate.psql("pg2", &rows), "10");
    };
    estate.psql(
        "pg1",
        &format!(
            "SET session_replication_role = replica; ALTER TABLE {schema}.t SET SCHEMA public"
        ),
    );
    is_kept(&format!("of schema {schema} on pg2 has tables that node pg1 has not: t"));
    estate.psql("pg1", &format!("ALTER TABLE public.t SET SCHEMA {schema}"));
    estate.run(&["resume", &id]).ok();
    assert_eq!(estate.psql("pg1", &rows), "10");
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    let second = estate.last_move(0);
    estate.run_cut("switched/before-EndStream", &["rollback", &second, "--yes"]);
    // All of it.
    estate.psql("pg1", &format!("DROP SCHEMA {schema} CASCADE"));
    let stopped = estate.run(&["resume", &estate.last_move(0)]);
    assert_eq!(stopped.code, 3, "{}", stopped.stderr);
    let words = format!("the copy in schema {schema} on pg2 is the last one");
    assert!(stopped.stderr.contains(&words), "{}", stopped.stderr);
    assert!(!stopped.stderr.contains("create_shard"), "{}", stopped.stderr);
    assert_eq!(estate.psql("pg2", &rows), "10");
}

/// Whether the guard is on was looked at before what reads the copy was waited for, and not after it.
#[test]
fn a_guard_that_is_off_for_a_while_keeps_the_copy_that_is_being_dropped() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    let late = |node: &str, id: i64| {
        estate.psql(node, &format!(
            "ALTER TABLE {schema}.t DISABLE TRIGGER ALL; INSERT INTO {schema}.t VALUES ({id}); ALTER TABLE {schema}.t ENABLE TRIGGER ALL"
        ));
    };
    let is_kept = |node: &str, id: i64, run: shardid_tests::program::Run, code| {
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(
            run.stderr.contains(&format!("the guard of table {schema}.t was switched off")),
            "{}",
            run.stderr
        );
        assert_eq!(
            estate.psql(node, &format!("SELECT count(*) FROM {schema}.t WHERE id = {id}")),
            "1"
        );
        // As it is told.
        estate.psql(node, &format!(
            "ALTER TABLE {schema}.t ENABLE ALWAYS TRIGGER shardid_fence, ENABLE ALWAYS TRIGGER shardid_fence_rows"
        ));
    };
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    let held = estate.run_held("gone/subscription", &["retire", "1", "--yes"]);
    late("pg1", 7);
    is_kept("pg1", 7, held.let_go(), 1);
    estate.run(&["retire", "1", "--yes"]).ok();
    estate.run(&["move", "0", "--to", "pg1", "--yes"]).ok();
    let id = estate.last_move(0);
    let held = estate.run_held("switched/before-CleanUp", &["rollback", &id, "--yes"]);
    late("pg1", 8);
    is_kept("pg1", 8, held.let_go(), 3);
    estate.run(&["resume", &estate.last_move(0)]).ok();
    estate.assert_no_trace(0);
}

/// It was told to take away what is another shard's.
#[test]
fn schemas_that_are_swapped_while_a_copy_is_dropped_are_named() {
    let (estate, zero, one) = (Estate::start(2, 4), schema(0), schema(1));
    for schema in [&zero, &one] {
        estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    }
    let swap = |node: &str| {
        estate.psql(node, &format!(
            "SET session_replication_role = replica; ALTER SCHEMA {zero} RENAME TO other; ALTER SCHEMA {one} RENAME TO {zero}; ALTER SCHEMA other RENAME TO {one}"
        ));
    };
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    let held = estate.run_held("gone/subscription", &["retire", "1", "--yes"]);
    swap("pg1");
    let run = held.let_go();
    assert_eq!(run.code, 1, "{}", run.stderr);
    let words = format!("the old copy of shard 0 is in schema {one} now, and not in {zero}");
    assert!(run.stderr.contains(&words), "{}", run.stderr);
    swap("pg1");
    estate.run(&["retire", "1", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &format!("SELECT count(*) FROM {one}.t")), "0");
}
