//! What somebody puts in the way of a move: something in the place of a table while it is copied, a name that the move
//! needs, a lock. He is named, or it does not matter.

use shardid_tests::estate::schema;

use crate::behalf::{MOVE, estate};
use crate::shared;

/// By a trigger of the fence's function on a table of his own anybody had `verify` find nothing.
#[test]
fn nobody_makes_a_trigger_that_looks_like_a_fence() {
    let estate = shared::estate();
    let trigger = |argument: &str| {
        format!(
            "CREATE TEMP TABLE tt (i int); CREATE TRIGGER z BEFORE INSERT ON tt FOR EACH ROW EXECUTE FUNCTION shardid.refuse_write({argument})"
        )
    };
    let mut client = estate.node("pg1").connect(shardid_tests::estate::DATABASE);
    let refused =
        client.batch_execute(&format!("CREATE ROLE fencer; SET ROLE fencer; {}", trigger("3")));
    assert_eq!(refused.expect_err("no right").code().map(|it| it.code()), Some("42501"));
    client.batch_execute(&trigger("'99999999999999'")).unwrap();
    let found = estate.run(&["verify"]);
    assert!(!found.stdout.contains("could not look"), "{}", found.stdout);
}

/// What `CREATE INDEX CONCURRENTLY` leaves when it fails pg_dump leaves out.
#[test]
fn an_index_that_is_not_valid_stays_behind() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    estate.psql("pg1", &format!("CREATE TABLE {schema}.i (id bigint PRIMARY KEY, n int); INSERT INTO {schema}.i VALUES (1, 1), (2, 1)"));
    let index = format!("CREATE UNIQUE INDEX CONCURRENTLY bad ON {schema}.i (n)");
    let mut client = estate.node("pg1").connect(shardid_tests::estate::DATABASE);
    assert!(client.batch_execute(&index).is_err());
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
}

/// Whoever could connect to a node held an advisory lock, and was not named.
#[test]
fn nobody_stops_a_move_by_an_advisory_lock_on_its_nodes() {
    let (estate, schema) = estate();
    let mut client = estate.node("pg2").connect(shardid_tests::estate::DATABASE);
    client.batch_execute("SET ROLE tenant; SELECT pg_advisory_lock(hashtextextended('shardid: how this node follows others', 0))").unwrap();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    estate.run(&MOVE).ok();
}

/// The programs that had a shard before are ended by what their sessions say of themselves.
#[test]
fn a_session_whose_name_has_a_number_that_is_none_stops_nothing() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    let mut clients = Vec::new();
    for node in ["pg1", "pg2"] {
        let mut client = estate.node(node).connect(shardid_tests::estate::DATABASE);
        let name = "SET application_name = 'shardid move: shard 0, term 99999999999999999999'";
        client.batch_execute(name).unwrap();
        clients.push(client);
    }
    estate.run(&MOVE).ok();
    for client in &mut clients {
        client.batch_execute("SELECT 1").unwrap();
    }
}

/// The copy of a table reads by its name, as a role that may read everything, and whoever may make things in the schema
/// could put something else in its place.
#[test]
fn nothing_takes_the_place_of_a_table_that_is_being_copied() {
    let (estate, schema) = estate();
    let is_15 =
        estate.psql("pg1", "SELECT current_setting('server_version_num')::int < 160000") == "t";
    estate.psql(
        "pg1",
        &format!(
            "GRANT CREATE ON DATABASE app TO alice; ALTER SCHEMA {schema} OWNER TO alice;
             SET ROLE alice;
             CREATE SCHEMA hers;
             CREATE FUNCTION hers.steals(i int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $f$
             BEGIN
                 IF current_user LIKE 'shardid/%' THEN
                     RAISE LOG 'this runs as %', current_user;
                 END IF;
                 RETURN true;
             END $f$;
             CREATE TABLE {schema}.t1 (id bigint PRIMARY KEY, n int); INSERT INTO {schema}.t1 VALUES (1, 1);
             CREATE TABLE {schema}.t2 (LIKE {schema}.t1 INCLUDING ALL); CREATE TABLE {schema}.t3 (LIKE {schema}.t1 INCLUDING ALL);
             CREATE TABLE {schema}.t4 (LIKE {schema}.t1 INCLUDING ALL); CREATE TABLE {schema}.t5 (LIKE {schema}.t1 INCLUDING ALL);
             CREATE TABLE {schema}.t6 (LIKE {schema}.t1 INCLUDING ALL);
             CREATE VIEW {schema}.seen AS SELECT id, n FROM {schema}.t1"
        ),
    );
    estate.run_cut("copying/before-Subscribe", &MOVE);
    estate.psql("pg2", "ALTER SYSTEM SET max_sync_workers_per_subscription = 0");
    estate.psql("pg2", "SELECT pg_reload_conf()");
    estate.run_cut("copying/after-Subscribe", &["resume", "1"]);
    let aside = |table: &str| format!("ALTER TABLE {schema}.{table} RENAME TO {table}_x");
    let parts = |table: &str| {
        format!(
            "CREATE TABLE {table} (id bigint, n int) PARTITION BY RANGE (id); CREATE TABLE {table}_1 PARTITION OF {table} DEFAULT; CREATE INDEX ON {table}_1 (n) WHERE hers.steals(1)"
        )
    };
    let swaps = [
        format!(
            "{}; CREATE VIEW {schema}.t1 AS SELECT id, n FROM {schema}.t1_x WHERE hers.steals(1)",
            aside("t1")
        ),
        format!(
            "{}; CREATE MATERIALIZED VIEW {schema}.t2 AS SELECT id, n FROM {schema}.t2_x; CREATE INDEX ON {schema}.t2 (n) WHERE hers.steals(1)",
            aside("t2")
        ),
        format!("{}; {}", aside("t3"), parts(&format!("{schema}.t3"))),
        format!("{}; {}; ALTER TABLE hers.t4 SET SCHEMA {schema}", parts("hers.t4"), aside("t4")),
        // Of PostgreSQL 15 and earlier.
        if is_15 {
            format!(
                "{}; CREATE TABLE {schema}.t5 (id bigint, n int);
                 CREATE RULE \"_RETURN\" AS ON SELECT TO {schema}.t5 DO INSTEAD SELECT id, n FROM {schema}.t5_x WHERE hers.steals(1)",
                aside("t5")
            )
        } else {
            format!("{}; CREATE VIEW {schema}.t5 AS SELECT id, n FROM {schema}.t5_x", aside("t5"))
        },
        format!("{}; ALTER VIEW {schema}.seen RENAME TO t6", aside("t6")),
    ];
    let mut client = estate.node("pg1").connect(shardid_tests::estate::DATABASE);
    client.batch_execute("SET ROLE alice").unwrap();
    let mut refusals: Vec<String> = Vec::new();
    let mut swap = |sql: &str, end: &str| {
        let done = client.batch_execute(&format!("BEGIN; {sql}; {end}"));
        refusals.push(match done {
            Ok(()) => format!("done: {sql}"),
            Err(error) => error.as_db_error().unwrap().message().to_owned(),
        });
        client.batch_execute("ROLLBACK").unwrap();
    };
    for sql in &swaps {
        swap(sql, "COMMIT");
    }
    let other = format!(
        "ALTER SCHEMA {schema} RENAME TO aside; CREATE SCHEMA {schema}; {}",
        parts(&format!("{schema}.t6"))
    );
    swap(&other, "ROLLBACK");
    swap(&format!("DROP VIEW {schema}.seen"), "ROLLBACK");
    estate.psql("pg2", "ALTER SYSTEM RESET max_sync_workers_per_subscription");
    estate.psql("pg2", "SELECT pg_reload_conf()");
    let ended = estate.run(&["resume", "1"]);
    let log = estate.node("pg1").log();
    let stolen: Vec<&str> = log.lines().filter(|line| line.contains("this runs as")).collect();
    assert!(stolen.is_empty(), "{stolen:?}");
    assert!(refusals.iter().all(|it| it.contains("is copied to another node")), "{refusals:?}");
    ended.ok();
    for node in estate.nodes() {
        let left = "SELECT count(*) FROM (SELECT evtname FROM pg_event_trigger UNION ALL SELECT nspname FROM pg_namespace) n (name) WHERE name ~ '^shardid_(move|back)_'";
        assert_eq!(estate.psql(&node, left), "0", "{node}");
    }
    estate.psql(
        "pg1",
        &format!(
            "SET ROLE alice; CREATE VIEW {schema}.later AS SELECT 1 AS n; DROP VIEW {schema}.later"
        ),
    );
}

/// It outlives a move that is given up no longer than what else was made for it, and nobody can be in its way.
#[test]
fn what_keeps_a_tables_place_goes_when_a_move_is_given_up() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    estate.psql("pg1", "CREATE ROLE mal; GRANT CREATE ON DATABASE app TO mal");
    estate.psql("pg1", "SET ROLE mal; CREATE SCHEMA shardid_move_1; CREATE FUNCTION shardid_move_1.keep_kinds() RETURNS int LANGUAGE sql RETURN 1");
    estate.run_cut("copying/after-Subscribe", &MOVE);
    let kept = "SELECT count(*) FROM pg_event_trigger WHERE evtname = 'shardid_move_1'";
    assert_eq!(estate.psql("pg1", kept), "1");
    estate.run(&["abort", "1", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", kept), "0");
    let schemas =
        "SELECT string_agg(nspname, ' ') FROM pg_namespace WHERE nspname ~ '^shardid_(move|back)_'";
    assert_eq!(estate.psql("pg1", schemas), "shardid_move_1");
    estate.psql("pg1", "DROP SCHEMA shardid_move_1 CASCADE; DROP OWNED BY mal; DROP ROLE mal");
    estate.assert_no_trace(0);
}

/// What was made after its snapshot, a transaction does not see in the schema that it gives the name.
#[test]
fn a_schema_is_not_replaced_by_another_one_while_it_is_copied() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    estate.psql("pg1", "CREATE SCHEMA later");
    estate.run_cut("copying/after-Subscribe", &MOVE);
    let mut client = estate.node("pg1").connect(shardid_tests::estate::DATABASE);
    client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").unwrap();
    estate.psql("pg1", "CREATE VIEW later.t AS SELECT 1::bigint AS id");
    let swap =
        format!("ALTER SCHEMA {schema} RENAME TO aside; ALTER SCHEMA later RENAME TO {schema}");
    let refusal = shardid_tests::expect_error(&mut client, &swap, "55006");
    assert!(refusal.message.contains("is copied to another node"), "{refusal:?}");
    client.batch_execute("ROLLBACK").unwrap();
    estate.run(&["resume", "1"]).ok();
}

/// Whoever has TRIGGER on a table may put one of his in the place of the fence's, and let writers through.
#[test]
fn a_fence_that_somebody_replaces_is_named_and_nobody_does_while_it_is_switched() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.t (id bigint PRIMARY KEY); GRANT USAGE ON SCHEMA {schema} TO tenant; GRANT TRIGGER ON {schema}.t TO tenant;
             CREATE SCHEMA ten AUTHORIZATION tenant; SET ROLE tenant;
             CREATE FUNCTION ten.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
        ),
    );
    let replace = format!(
        "SET lock_timeout = '500ms'; CREATE OR REPLACE TRIGGER shardid_fence BEFORE INSERT ON {schema}.t FOR EACH ROW EXECUTE FUNCTION ten.f()"
    );
    let other = format!(
        "trigger shardid_fence of {schema}.t is not the fence's: it calls ten.f(), of role tenant"
    );
    estate.run_cut("fenced/before-CarryOver", &MOVE);
    let mut client = estate.node("pg1").connect(shardid_tests::estate::DATABASE);
    shardid_tests::expect_error(&mut client, &format!("SET ROLE tenant; {replace}"), "42501");
    estate.psql("pg1", &replace);
    let stands = estate.run(&["resume", "1"]);
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    assert!(stands.stderr.contains(&other), "{}", stands.stderr);
    let rename = format!("ALTER TRIGGER shardid_fence ON {schema}.t RENAME TO ");
    assert!(stands.stderr.contains(&rename), "{}", stands.stderr);
    estate.psql("pg1", &format!("{rename} mine"));
    estate.run(&["abort", "1", "--yes"]).ok();
    estate.psql("pg1", &format!("DROP TRIGGER mine ON {schema}.t"));
    let held = estate.run_held("switched/before-GuardSource", &MOVE);
    let mut client = estate.node("pg1").connect(shardid_tests::estate::DATABASE);
    shardid_tests::expect_error(&mut client, &replace, "55P03");
    held.let_go().ok();
    estate.run(&["rollback", "2", "--yes"]).ok();
    // Who does it afterwards is no longer in the way.
    let held = estate.run_held("switched/after-GuardSource", &MOVE);
    estate.psql("pg1", &replace);
    let done = held.let_go();
    assert_eq!(done.code, 0, "{}", done.stderr);
    let warning = format!("WARNING: on pg1 {other}: rows may have been written there");
    assert!(done.stderr.contains(&warning), "{}", done.stderr);
    let back = format!("WARNING: on pg1 the guard of {schema}.t was put back");
    assert!(done.stderr.contains(&back), "{}", done.stderr);
    assert!(!done.stderr.contains("make that on pg2"), "{}", done.stderr);
    let found = estate.run(&["verify"]).stdout;
    assert!(!found.contains("guard"), "{found}");
}

/// Whoever may write to one table may lock it, and prepare that: it stops the move, and outlives a restart.
#[test]
fn who_locks_a_table_that_is_to_be_dumped_is_named() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY); GRANT USAGE ON SCHEMA {schema} TO tenant; GRANT UPDATE ON {schema}.t TO tenant"));
    let lock = format!(
        "BEGIN; SET ROLE tenant; LOCK TABLE {schema}.t IN ACCESS EXCLUSIVE MODE; SELECT txid_current()"
    );
    let mut client = estate.node("pg1").connect(shardid_tests::estate::DATABASE);
    let stands = |who: &str, how: &str, arguments: &[&str]| {
        let stands = estate.run(arguments);
        assert_eq!(stands.code, 3, "{}", stands.stderr);
        let says = format!("on node pg1 it has waited for a lock: {who}");
        assert!(stands.stderr.contains(&says), "{}", stands.stderr);
        assert!(stands.stderr.contains(how), "{}", stands.stderr);
    };
    estate.run_cut("copying/before-MakeSchema", &MOVE);
    client.batch_execute(&lock).unwrap();
    let resume = ["resume", "1", "--stall-seconds-max", "2"];
    stands("process ", "SELECT pg_catalog.pg_terminate_backend(", &resume);
    client.batch_execute("PREPARE TRANSACTION E'bob''s\n\\\\y'").unwrap();
    let named = r"E'bob''s\u000a\\y'";
    let how = format!("COMMIT PREPARED {named} or ROLLBACK PREPARED {named} in database app there");
    stands(&format!("prepared transaction {named} ("), &how, &resume);
    client.batch_execute(&format!("ROLLBACK PREPARED {named}")).unwrap();
    estate.run(&["resume", "1"]).ok();
}

/// What a move says of its tables it says by name, as a superuser.
#[test]
fn a_schemas_name_stays_its_own_on_both_nodes_while_a_move_stands() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.t (id bigint PRIMARY KEY, n int); CREATE INDEX ON {schema}.t (n)"
        ),
    );
    for node in estate.nodes() {
        estate.psql(&node, "GRANT CREATE ON DATABASE app TO alice");
    }
    estate.psql("pg1", &format!("ALTER SCHEMA {schema} OWNER TO alice"));
    let kept = |node: &str, place: &str| {
        let mut client = estate.node(node).connect(shardid_tests::estate::DATABASE);
        let rename = format!("ALTER SCHEMA {schema} RENAME TO aside");
        // A superuser may, who mends what a restore has left.
        client.batch_execute(&format!("BEGIN; {rename}; ROLLBACK; SET ROLE alice")).unwrap();
        let done = client.batch_execute(&format!("BEGIN; {rename}; ROLLBACK"));
        let code = done.err().and_then(|it| it.code().map(|it| it.code().to_owned()));
        assert_eq!(code.as_deref(), Some("55006"), "{node}, {place}");
        client.batch_execute("ROLLBACK; BEGIN; CREATE SCHEMA other; CREATE TABLE other.t (n int); ALTER SCHEMA other RENAME TO others; ROLLBACK").unwrap();
    };
    let none_is_left = || {
        for node in estate.nodes() {
            let left = "SELECT string_agg(name, ' ') FROM (SELECT evtname FROM pg_event_trigger UNION ALL SELECT nspname FROM pg_namespace) n (name) WHERE name ~ '^shardid_(move|back)_'";
            assert_eq!(estate.psql(&node, left), "", "{node}");
        }
    };
    // A transaction that does not see the schema has nothing to do with it.
    let mut early = estate.node("pg2").connect(shardid_tests::estate::DATABASE);
    early.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1").unwrap();
    estate.run_cut("copying/after-MakeSchema", &MOVE);
    early.batch_execute("CREATE TABLE public.early (n int); ROLLBACK").unwrap();
    kept("pg2", "made");
    estate.run(&["abort", "1", "--yes"]).ok();
    none_is_left();
    estate.assert_no_trace(0);
    estate.run_cut("copying/before-MakeIndexes", &MOVE);
    kept("pg1", "copied");
    kept("pg2", "copied");
    for place in
        ["fenced/before-RaiseFence", "switched/before-GuardSource", "switched/before-OpenWayBack"]
    {
        estate.run_cut(place, &["resume", "2"]);
        kept("pg1", place);
        kept("pg2", place);
    }
    estate.run(&["resume", "2"]).ok();
    none_is_left();
    estate.run_cut("following/before-LowerFence", &["rollback", "2", "--yes"]);
    kept("pg1", "a move back");
    kept("pg2", "a move back");
    estate.run(&["abort", "3", "--yes"]).ok();
    none_is_left();
    estate.run_cut("switched/before-OpenTarget", &["rollback", "2", "--yes"]);
    kept("pg1", "a move back that is switched");
    kept("pg2", "a move back that is switched");
    estate.run(&["resume", "4"]).ok();
    none_is_left();
    estate.assert_no_trace(0);
}

/// The list of what is to be guarded is not as old as the dump.
#[test]
fn a_table_that_is_renamed_while_the_copy_is_made_has_the_move_be_given_up() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    let held = estate.run_held("made/dumped", &MOVE);
    estate.psql("pg1", &format!("ALTER TABLE {schema}.t RENAME TO t_x"));
    let stands = held.let_go();
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    assert!(stands.stderr.contains("was changed during the move"), "{}", stands.stderr);
    assert!(stands.stderr.contains("hint: `shardid abort 1`, then"), "{}", stands.stderr);
    estate.run(&["abort", "1", "--yes"]).ok();
    estate.run(&MOVE).ok();
}

/// What was renamed and not committed when a move back began.
#[test]
fn a_schema_that_is_replaced_while_a_move_back_begins_stops_it() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    estate.run(&MOVE).ok();
    estate.psql("pg1", "CREATE SCHEMA later");
    let mut held = estate.run_held("planned/before-Check", &["rollback", "1", "--yes"]);
    let mut client = estate.node("pg1").connect(shardid_tests::estate::DATABASE);
    let swap =
        format!("ALTER SCHEMA {schema} RENAME TO aside; ALTER SCHEMA later RENAME TO {schema}");
    client.batch_execute(&format!("BEGIN; {swap}")).unwrap();
    held.go_on();
    let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'FOR SHARE' AND pid <> pg_backend_pid())";
    let most = std::time::Duration::from_secs(30);
    shardid_tests::wait_until(most, "it waits", || estate.psql("pg1", waits) == "t");
    client.batch_execute("COMMIT").unwrap();
    let stands = held.end();
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    let says = format!("pg1: another schema has the name {schema} now");
    assert!(stands.stderr.contains(&says), "{}", stands.stderr);
    estate.psql(
        "pg1",
        &format!("ALTER SCHEMA {schema} RENAME TO later; ALTER SCHEMA aside RENAME TO {schema}"),
    );
    estate.run(&["resume", "2"]).ok();
    estate.assert_no_trace(0);
}

/// It had found the event trigger of the move, and called its function when that was dropped.
#[test]
fn a_command_that_runs_while_a_move_ends_is_not_in_its_way() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    let slow = "CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS
                    'BEGIN IF tg_tag = ''CREATE VIEW'' THEN PERFORM pg_advisory_lock_shared(7); PERFORM FROM pg_depend LIMIT 1; END IF; END';
                CREATE EVENT TRIGGER a_slow ON ddl_command_end EXECUTE FUNCTION slow()";
    let mut held = estate.run_held("switched/before-CleanUp", &MOVE);
    let mut holders = Vec::new();
    for node in ["pg1", "pg2"] {
        estate.psql(node, slow);
        let mut holder = estate.node(node).connect(shardid_tests::estate::DATABASE);
        holder.batch_execute("SELECT pg_advisory_lock(7)").unwrap();
        let mut client = estate.node(node).connect(shardid_tests::estate::DATABASE);
        let command =
            std::thread::spawn(move || client.batch_execute("CREATE VIEW v AS SELECT 1 AS n"));
        let most = std::time::Duration::from_secs(30);
        let waits =
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)";
        shardid_tests::wait_until(most, "it waits", || estate.psql(node, waits) == "t");
        holders.push((node, holder, command));
    }
    held.go_on();
    for (node, mut holder, command) in holders {
        let most = std::time::Duration::from_secs(30);
        let gone =
            "SELECT NOT EXISTS (SELECT FROM pg_event_trigger WHERE evtname ~ '^shardid_move')";
        shardid_tests::wait_until(most, "it is gone", || estate.psql(node, gone) == "t");
        holder.batch_execute("SELECT pg_advisory_unlock(7)").unwrap();
        command.join().unwrap().unwrap();
    }
    held.end().ok();
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^shardid_move'";
    assert_eq!(["pg1", "pg2"].map(|node| estate.psql(node, left)), ["0", "0"]);
}

/// What was changed and not committed when the move began to look.
#[test]
fn a_view_that_is_made_while_the_copy_begins_stops_the_move() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    estate.run_cut("copying/before-Subscribe", &MOVE);
    let mut client = estate.node("pg1").connect(shardid_tests::estate::DATABASE);
    client.batch_execute(&format!("BEGIN; CREATE VIEW {schema}.v AS SELECT 1 AS n")).unwrap();
    let held = estate.run_held("subscribe/kept", &["resume", "1"]);
    client.batch_execute("COMMIT").unwrap();
    let stands = held.let_go();
    assert_ne!(stands.code, 0, "{}", stands.stdout);
    assert!(stands.stderr.contains("was changed during the move"), "{}", stands.stderr);
    let subscribed = "SELECT count(*) FROM pg_subscription WHERE subname = 'shardid_move_1'";
    assert_eq!(estate.psql("pg2", subscribed), "0");
    estate.run(&["abort", "1", "--yes"]).ok();
    estate.run(&MOVE).ok();
}

/// The fence took its place, and was dropped with it.
#[test]
fn a_trigger_by_the_name_of_a_fence_stays_where_it_is() {
    let (estate, schema) = estate();
    let has = format!(
        "SELECT count(*) FROM pg_trigger WHERE tgrelid = '{schema}.t'::regclass AND tgname ~ '^shardid_fence' AND tgfoid = '{schema}.f'::regproc"
    );
    estate.psql(
        "pg1",
        &format!(
            "SET ROLE alice;
             CREATE FUNCTION {schema}.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
             CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"
        ),
    );
    let make = |name: &str| {
        format!(
            "SET ROLE alice; CREATE TRIGGER {name} AFTER INSERT ON {schema}.t FOR EACH ROW EXECUTE FUNCTION {schema}.f()"
        )
    };
    estate.psql("pg1", &make("shardid_fence_rows"));
    let refused = estate.run(&["move", "0", "--to", "pg2", "--dry-run"]).refused();
    assert!(
        refused.contains(&format!(
            "trigger shardid_fence_rows of {schema}.t has the name that a move gives to its own"
        )),
        "{refused}"
    );
    estate.psql("pg1", &format!("DROP TRIGGER shardid_fence_rows ON {schema}.t"));
    estate.run_cut("fenced/before-CarryOver", &MOVE);
    estate.run(&["abort", "1", "--yes"]).ok();
    // One that is made when it has been looked.
    let held = estate.run_held("following/after-AwaitClose", &MOVE);
    estate.psql("pg1", &make("shardid_fence"));
    let stands = held.let_go();
    assert_ne!(stands.code, 0, "{}", stands.stdout);
    assert_eq!(estate.psql("pg1", &has), "1", "{}", stands.stderr);
    estate.run(&["abort", "2", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &has), "1");
}

/// Whoever may connect could keep `verify` from looking at anything that moves have left.
#[test]
fn a_trigger_of_a_fence_with_any_argument_hides_nothing() {
    let (estate, _) = estate();
    estate.psql("pg1", "CREATE PUBLICATION shardid_move_999");
    estate.psql("pg1", "CREATE TABLE public.tt (i int); CREATE TRIGGER z BEFORE INSERT ON public.tt FOR EACH ROW EXECUTE FUNCTION shardid.refuse_write('99999999999999')");
    let found = estate.run(&["verify"]);
    assert!(found.stdout.contains("publication shardid_move_999 is left over"), "{}", found.stdout);
}

/// Each hint led to the next one, and none named the role.
#[test]
fn a_role_by_the_name_of_a_stream_is_named() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    estate.run_cut("following/after-AwaitClose", &MOVE);
    estate.psql("pg1", "CREATE ROLE shardid_back_1 ROLE alice");
    let stands = estate.run(&["resume", "1"]);
    assert!(
        stands.stderr.contains("node pg1: somebody has made a role shardid_back_1"),
        "{}",
        stands.stderr
    );
    estate.psql("pg1", "ALTER ROLE shardid_back_1 RENAME TO hers");
    estate.run(&["resume", "1"]).ok();
}

/// `move` waited for as long as anybody who may write to a table kept it locked, and said nothing.
#[test]
fn a_lock_that_keeps_definitions_from_being_read_ends_a_move() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    let held = estate.run_held(
        "copying/before-MakeSchema",
        &[&MOVE[..], &["--stall-seconds-max", "3"]].concat(),
    );
    let mut client = estate.node("pg1").connect(shardid_tests::estate::DATABASE);
    client.batch_execute(&format!("BEGIN; LOCK TABLE {schema}.t")).unwrap();
    let stands = held.let_go();
    assert_ne!(stands.code, 0, "{}", stands.stdout);
    assert!(stands.stderr.contains(&format!("LOCK TABLE {schema}.t")), "{}", stands.stderr);
    client.batch_execute("ROLLBACK").unwrap();
    estate.run(&["resume", "1"]).ok();
}

/// What keeps a name looked there for every command of anybody.
#[test]
fn a_role_that_may_not_look_at_roles_makes_what_it_likes_beside_a_move() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    for node in ["pg1", "pg2"] {
        estate.psql(node, "REVOKE SELECT ON pg_roles, pg_database FROM PUBLIC; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
    }
    for place in ["copying/before-AwaitCopy", "following/before-next"] {
        let held = estate.run_held(place, &MOVE);
        for node in ["pg1", "pg2"] {
            estate.psql(node, "SET ROLE alice; CREATE TEMP TABLE t (i int)");
        }
        assert_eq!(held.let_go().code, 0, "{place}");
        estate.run(&["rollback", &estate.last_move(0), "--yes"]).ok();
    }
}
