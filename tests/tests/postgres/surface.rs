//! The promised objects are there, as promised, and nothing else.

use std::thread;
use std::time::Duration;

use shardid_tests::{Database, Server, expect_error, wait_until};

use crate::ask::{column, ids, one, run, run_ahead, with_shard_5};

/// Everything users may rely on; a change here is a change for them.
const PROMISED: &str = include_str!("promised.txt");

/// One line per member of the extension and per setting, as in `promised.txt`.
pub(crate) const PRESENT: &str = "
SELECT format('%s%s(%s) -> %s: %s', CASE WHEN n.nspname = 'shardid' THEN 'shardid.' END, p.proname,
    pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
    concat_ws(', ',
        CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
        CASE WHEN p.proisstrict THEN 'strict' END,
        CASE p.proparallel WHEN 's' THEN 'parallel safe' WHEN 'r' THEN 'parallel restricted'
            ELSE 'parallel unsafe' END,
        CASE WHEN p.prosecdef THEN 'security definer' END,
        CASE WHEN NOT has_function_privilege('somebody', p.oid, 'EXECUTE') THEN 'not for everybody' END))
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'shardid')
UNION ALL
SELECT format('%s %s(%s)', CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' ELSE c.relkind::text END,
    c.oid::regclass, string_agg(format('%s %s', a.attname, format_type(a.atttypid, NULL)), ', ' ORDER BY a.attnum))
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
GROUP BY c.oid, c.relkind
UNION ALL
SELECT format('schema %s', n.nspname) FROM pg_namespace n
JOIN pg_depend d ON d.classid = 'pg_namespace'::regclass AND d.objid = n.oid AND d.deptype = 'e'
UNION ALL
SELECT format('setting %s: %s, %s, %s', s.name, concat_ws(' ', s.boot_val, s.unit), coalesce(s.min_val || ' to ' || s.max_val, CASE s.vartype WHEN 'bool' THEN 'on or off' ELSE 'a name' END), s.context)
FROM pg_settings s WHERE s.name LIKE 'shardid.%'
ORDER BY 1";

#[test]
fn the_catalogs_hold_what_is_promised_and_nothing_else() {
    let database = Database::fresh();
    let somebody = database.role("somebody");
    let mut client = database.connect();
    // A setting is known from the moment on that the library is loaded.
    run(&mut client, "SELECT id_text(1)");
    let present: Vec<String> = column(&mut client, &PRESENT.replace("somebody", &somebody));
    let promised: Vec<&str> =
        PROMISED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let missing: Vec<_> = promised.iter().filter(|p| !present.iter().any(|q| q == *p)).collect();
    let extra: Vec<_> = present.iter().filter(|p| !promised.contains(&p.as_str())).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "promised and not there: {missing:#?}\nthere and not promised: {extra:#?}"
    );
}

#[test]
fn the_users_schema_gets_the_functions_and_nothing_else() {
    let members = "SELECT count(*) FROM pg_depend \
        WHERE refclassid = 'pg_namespace'::regclass AND refobjid = 'public'::regnamespace \
             AND classid <> 'pg_extension'::regclass";
    let functions = PROMISED
        .lines()
        .filter(|line| line.contains(") -> ") && !line.starts_with("shardid."))
        .count();
    assert_eq!(Database::fresh_plain().psql(members), "0");
    assert_eq!(Database::fresh().psql(members), functions.to_string());
}

#[test]
fn everything_public_has_a_comment() {
    let database = Database::fresh();
    let silent = database.psql(
        "SELECT pg_describe_object(d.classid, d.objid, 0) FROM pg_depend d \
         WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'shardid') \
             AND d.classid IN ('pg_proc'::regclass, 'pg_class'::regclass, 'pg_namespace'::regclass) \
             AND obj_description(d.objid, d.classid::regclass::name) IS NULL",
    );
    assert_eq!(silent, "", "these have no comment");
    let settings = database.psql(
        "SELECT id_text(1); SELECT count(*), count(nullif(short_desc, '')), count(nullif(extra_desc, '')) \
         FROM pg_settings WHERE name LIKE 'shardid.%'",
    );
    assert_eq!(settings, "0000000000001\n8|8|8");
    // What a user makes with it says what it is as well.
    database.psql("SELECT create_shard(5)");
    let made = database.psql(
        "SELECT obj_description('shard_0005.shard_id_seq'::regclass, 'pg_class'), \
             obj_description('shard_0005.next_id()'::regprocedure, 'pg_proc')",
    );
    assert!(made.contains("next_id(5)") && made.contains("a new id on shard 5"), "{made}");
}

#[test]
fn functions_in_sql_look_nothing_up_by_the_callers_search_path() {
    let free = Database::fresh().psql(
        "SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang \
         JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e' \
         WHERE l.lanname IN ('sql', 'plpgsql') AND p.prosqlbody IS NULL AND d.refobjid = \
                 (SELECT oid FROM pg_extension WHERE extname = 'shardid') \
             AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)",
    );
    // What commits can have no search_path: every name in it is written out.
    assert_eq!(free, "shardid.create_shards(integer,integer,text)");
    // Nor does the user's schema, which may be renamed, hold anything that is a text.
    let texts = Database::fresh().psql(
        "SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang \
         WHERE p.pronamespace = 'public'::regnamespace AND l.lanname <> 'c' AND p.prosqlbody IS NULL",
    );
    assert_eq!(texts, "");
}

#[test]
fn a_misspelt_setting_is_refused() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(&mut client, "SELECT next_id(5)");
    let refusal = expect_error(&mut client, "SET shardid.misspelt = 1", "42602");
    assert!(refusal.message.contains("shardid.misspelt"), "{refusal:?}");
    expect_error(&mut client, "SET shardid.shard = 'five'", "22023");
    expect_error(&mut client, "SET shardid.lease = '2d'", "22023");
    // Before the library is loaded the server cannot know; it is told when it is.
    let output = database
        .command("psql")
        .args(["-XqAtc", "SET shardid.misspelt = 1", "-c", "SELECT next_id(5) > 0"])
        .args(["-c", "SELECT count(*) FROM pg_settings WHERE name = 'shardid.misspelt'"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "t\n0\n");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("shardid.misspelt"), "{words}");
}

#[test]
fn it_lives_in_any_schema() {
    // Characters that SQL text and format() would trip over; PostgreSQL itself refuses quotes and dollars.
    for schema in ["\"100 % odd\"", "ids"] {
        let database = Database::fresh_plain();
        let mut client = database.connect();
        run(
            &mut client,
            &format!(
                "CREATE SCHEMA {schema}; CREATE EXTENSION shardid SCHEMA {schema}; \
                 SELECT {schema}.create_shard(5); SELECT {schema}.create_shard(6, 'six'); \
                 CREATE TABLE t (id bigint DEFAULT {schema}.next_id(5), b bigint DEFAULT shard_0005.next_id()); \
                 INSERT INTO t SELECT FROM generate_series(1, 100)"
            ),
        );
        let rising = "SELECT count(*) FROM t WHERE id < b";
        assert_eq!(one::<i64>(&mut client, rising), 100);
        assert_eq!(one::<i64>(&mut client, "SELECT count(last_id) FROM shardid.shards"), 1);
        assert!(one::<i64>(&mut client, "SELECT count(*) FROM shardid.layouts") >= 7);
        let explained = format!(
            "SELECT count(*) FROM t, {schema}.id_explain(t.id) WHERE shard = 5 AND layout = 'instagram'"
        );
        assert_eq!(one::<i64>(&mut client, &explained), 100);
        let parts = format!("SELECT ({schema}.id_parts(id)).shard FROM t LIMIT 1");
        assert_eq!(one::<i32>(&mut client, &parts), 5);
        run(
            &mut client,
            &format!(
                "CREATE TABLE p (id bigint DEFAULT {schema}.next_id(5)) PARTITION BY RANGE (id); \
                 SELECT {schema}.create_id_partitions('p', now() - interval '1 h', now() + interval '1 h', '1 h'); \
                 INSERT INTO p DEFAULT VALUES; DROP TABLE p, t; \
                 SELECT {schema}.create_id_sequence('t_id', 6); SELECT {schema}.next_id_from('t_id'); \
                 DROP SEQUENCE t_id; SELECT {schema}.drop_shard(5), {schema}.drop_shard(6)"
            ),
        );
    }
}

#[test]
fn it_stays_in_its_schema() {
    let database = Database::fresh();
    database.psql("CREATE SCHEMA other");
    expect_error(&mut database.connect(), "ALTER EXTENSION shardid SET SCHEMA other", "0A000");
}

#[test]
fn a_preloaded_library_does_the_same() {
    let server = Server::builder().conf("shared_preload_libraries = 'shardid'").start();
    let database = Database::on(&server);
    let mut client = database.connect();
    // Known before its first use, then.
    expect_error(&mut client, "SET shardid.misspelt = 1", "42602");
    run(&mut client, "SELECT create_shard(5)");
    let highest = run_ahead(&mut client, 5);
    server.kill9();
    server.start();
    assert!(ids(&mut database.connect(), "SELECT next_id(5)")[0] > highest);
}

#[test]
fn dropped_and_created_anew_it_goes_on_above_the_old_ids() {
    let database = with_shard_5();
    database.psql("CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_id(5))");
    let mut client = database.connect();
    let refusal = expect_error(&mut client, "DROP EXTENSION shardid", "2BP01");
    assert!(refusal.detail.contains("t"), "{refusal:?}");
    let highest = run_ahead(&mut client, 5);
    run(&mut client, "DROP EXTENSION shardid CASCADE");
    // Tables and sequences are the user's and stay.
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM t"), 0);
    assert_eq!(one::<i64>(&mut client, "SELECT last_value FROM shard_0005.shard_id_seq"), highest);
    run(&mut client, "CREATE EXTENSION shardid; SELECT create_shard(5)");
    assert_eq!(ids(&mut client, "SELECT last_id FROM shardid.shards")[0], highest);
    assert!(ids(&mut client, "SELECT shard_0005.next_id()")[0] > highest);
    assert!(ids(&mut database.connect(), "SELECT next_id(5)")[0] > highest);
}

#[test]
fn a_session_does_not_go_on_with_shards_of_an_extension_that_was_dropped() {
    let database = with_shard_5();
    let mut client = database.connect();
    run(&mut client, "SELECT next_id(5), next_id()");
    database.psql("DROP EXTENSION shardid CASCADE; CREATE EXTENSION shardid");
    expect_error(&mut client, "SELECT next_id(5)", "42704");
    expect_error(&mut client, "SELECT next_id()", "55000");
    // Else it would take ids from the old sequence, and others the same from the new one.
    database.psql("SELECT create_shard(5, 'elsewhere')");
    let id = ids(&mut client, "SELECT next_id(5)")[0];
    assert_eq!(ids(&mut client, "SELECT last_value FROM elsewhere.shard_id_seq")[0], id);
}

/// A first call that waited behind the change looked for a table that was no more (`XX000`).
#[test]
fn a_first_call_that_waits_while_the_extension_is_made_anew_finds_the_new_one() {
    let database = with_shard_5();
    for (again, wanted) in
        [("CREATE EXTENSION shardid; SELECT create_shard(5)", Ok(())), ("", Err("3F000"))]
    {
        let mut first = database.connect();
        let mut second = database.connect();
        let pid: i32 = one(&mut second, "SELECT pg_backend_pid()");
        run(&mut first, &format!("BEGIN; DROP EXTENSION shardid CASCADE; {again}"));
        thread::scope(|scope| {
            let call = scope.spawn(|| second.query("SELECT next_id(5)", &[]).map(|_| ()));
            let waits =
                format!("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = {pid}");
            wait_until(Duration::from_secs(30), "the call waits", || database.psql(&waits) == "t");
            run(&mut first, "COMMIT");
            let said = call.join().unwrap();
            let said = said.map_err(|error| error.code().map(|code| code.code().to_owned()));
            match wanted {
                Ok(()) => assert_eq!(said, Ok(())),
                Err(code) => assert_eq!(said, Err(Some(code.to_owned()))),
            }
        });
    }
}
