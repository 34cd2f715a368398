//! Who may take ids, and who may make shards: as for any sequence, and nobody else.

use shardid_tests::postgres::Client;
use shardid_tests::{Database, assert_rising, expect_error};

use crate::ask::{column, ids, one, run, with_shard_5};

/// Every way to take an id of shard 5.
const WAYS: [&str; 7] = [
    "SELECT next_id(5)",
    "SELECT next_id()",
    "SELECT next_ids(5, 3)",
    "SELECT * FROM next_ids(5, 3)",
    "SELECT shard_0005.next_id()",
    "SELECT next_id_from('t_id')",
    "INSERT INTO t DEFAULT VALUES",
];

/// A role that may do with table `t` what it likes, and use the schema of shard 5.
fn role(database: &Database<'_>) -> String {
    database.psql(
        "SELECT create_id_sequence('t_id', 5); CREATE TABLE t (n serial, id bigint DEFAULT next_id(5))",
    );
    let role = database.role("app");
    database.psql(&format!(
        "GRANT ALL ON t TO {role}; GRANT USAGE ON SEQUENCE t_n_seq TO {role}; GRANT USAGE ON SCHEMA shard_0005 TO {role}"
    ));
    role
}

/// Asserts that no way to take an id is open.
#[track_caller]
fn all_denied(client: &mut Client) {
    for sql in WAYS {
        let refusal = expect_error(client, sql, "42501");
        let sequence =
            if sql.contains("'t_id'") { "public.t_id" } else { "shard_0005.shard_id_seq" };
        assert!(refusal.message.contains(&format!("sequence {sequence}")), "{sql}: {refusal:?}");
        assert!(
            refusal.hint.contains(&format!("GRANT USAGE ON SEQUENCE {sequence}")),
            "{refusal:?}"
        );
    }
}

#[test]
fn taking_ids_takes_usage_on_the_sequence_and_no_more() {
    let database = with_shard_5();
    let role = role(&database);
    let mut client = database.connect_as(&role);
    let sequences = "ON SEQUENCE shard_0005.shard_id_seq, t_id";
    all_denied(&mut client);
    // To look at a sequence is not to take from it.
    database.psql(&format!("GRANT SELECT {sequences} TO {role}"));
    all_denied(&mut client);
    for privilege in ["USAGE", "UPDATE"] {
        database.psql(&format!("GRANT {privilege} {sequences} TO {role}"));
        for sql in WAYS {
            run(&mut client, sql);
        }
        database.psql(&format!("REVOKE {privilege} {sequences} FROM {role}"));
        all_denied(&mut client);
    }
    // Through a role it is a member of, until it is no longer one.
    let group = database.role("group");
    database.psql(&format!("GRANT USAGE {sequences} TO {group}; GRANT {group} TO {role}"));
    for sql in WAYS {
        run(&mut client, sql);
    }
    database.psql(&format!("REVOKE {group} FROM {role}"));
    all_denied(&mut client);
    // Nothing of all this took the table's owner anything.
    assert_eq!(one::<i64>(&mut database.connect(), "SELECT count(*) FROM t"), 3);
}

#[test]
fn a_grant_that_is_taken_back_ends_the_block_of_a_running_transaction() {
    let database = with_shard_5();
    let role = role(&database);
    database.psql(&format!("GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq TO {role}"));
    let mut client = database.connect_as(&role);
    run(&mut client, "BEGIN; SELECT count(next_id(5)) FROM generate_series(1, 100)");
    database.psql(&format!("REVOKE USAGE ON SEQUENCE shard_0005.shard_id_seq FROM {role}"));
    // Whatever is left of its block, it notices with the next statement.
    run(&mut client, "SELECT 1 FROM t");
    expect_error(&mut client, "SELECT next_id(5)", "42501");
}

#[test]
fn a_block_never_passes_from_one_role_to_another() {
    let database = with_shard_5();
    let role = role(&database);
    database.psql(
        "CREATE FUNCTION give() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN next_id(5); END'; \
         CREATE FUNCTION give_many() RETURNS bigint LANGUAGE sql SECURITY DEFINER \
             AS 'SELECT max(next_id(5)) FROM generate_series(1, 200)'",
    );
    let mut client = database.connect_as(&role);
    let mut taken = Vec::new();
    // The definer takes blocks, in one transaction, and the caller gets none of their ids.
    run(&mut client, "BEGIN");
    for _ in 0..10 {
        taken.extend(ids(&mut client, "SELECT give_many()"));
        taken.extend(ids(&mut client, "SELECT give()"));
        run(&mut client, "SAVEPOINT a");
        for sql in WAYS {
            expect_error(&mut client, sql, "42501");
            run(&mut client, "ROLLBACK TO a");
        }
        // In one expression, where nothing is looked up in between.
        expect_error(&mut client, "SELECT give(), next_id(5)", "42501");
        run(&mut client, "ROLLBACK TO a");
    }
    run(&mut client, "COMMIT");
    // The same by SET ROLE.
    let mut client = database.connect();
    run(&mut client, "BEGIN");
    for _ in 0..10 {
        taken.extend(ids(&mut client, "SELECT next_id(5) FROM generate_series(1, 50)"));
        run(&mut client, &format!("SAVEPOINT a; SET LOCAL ROLE {role}"));
        expect_error(&mut client, "SELECT next_id(5)", "42501");
        run(&mut client, "ROLLBACK TO a");
        run(&mut client, &format!("SET LOCAL SESSION AUTHORIZATION {role}"));
        expect_error(&mut client, "SELECT next_ids(5, 2)", "42501");
        run(&mut client, "ROLLBACK TO a; RESET SESSION AUTHORIZATION");
    }
    run(&mut client, "COMMIT");
    // Ids go on rising where both may take them.
    database.psql(&format!("GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq TO {role}"));
    let mut client = database.connect_as(&role);
    run(&mut client, "BEGIN");
    for _ in 0..20 {
        taken.extend(ids(
            &mut client,
            "SELECT unnest(ARRAY[next_id(5), give(), next_id(5), next_id(5), give_many(), next_id(5)])",
        ));
    }
    run(&mut client, "COMMIT");
    assert_rising(&taken);
}

#[test]
fn what_changes_the_estate_is_not_for_everybody() {
    let database = with_shard_5();
    let role = role(&database);
    database.psql(&format!("GRANT CREATE ON DATABASE {} TO {role}", database.name()));
    let mut client = database.connect_as(&role);
    // What is set before the library is loaded counts for nothing when it is.
    run(&mut client, "SET shardid.max_drift = '1d'");
    assert_eq!(one::<String>(&mut client, "SELECT id_text(1)"), "0000000000001");
    assert_eq!(one::<String>(&mut client, "SHOW shardid.max_drift"), "10s");
    for sql in [
        "SELECT create_shard(6)",
        "SELECT drop_shard(5)",
        "SELECT create_id_sequence('mine', 5)",
        "SELECT create_layout('mine', '2026-01-01Z', '1 s', 10, 10)",
        "SELECT adopt_shard(5)",
        "SELECT shardid.place_shards('c', 'n', 'instagram', 8, 1, ARRAY[5], ARRAY['n'])",
        "SELECT shardid.create_generator('public', 'mine', 6, 'instagram', NULL, false)",
        "UPDATE shardid.shard SET state = 'fenced'",
        "DELETE FROM shardid.shard",
        "INSERT INTO shardid.shard (shard, layout) VALUES (6, 'instagram')",
        "UPDATE shardid.layout SET slots = 1",
        "DELETE FROM shardid.id_sequence",
        "INSERT INTO shardid.cluster VALUES ('c', 'n', 'instagram', 8, 1)",
        "CREATE TABLE shardid.mine ()",
        "SET shardid.max_drift = '1d'",
        "SET shardid.max_jump = -1",
        "SET shardid.lease = '1d'",
    ] {
        expect_error(&mut client, sql, "42501");
    }
    // Its own waits and blocks are its own affair.
    run(&mut client, "SET shardid.max_wait = '2s'; SET shardid.block = 1; SET shardid.shard = 5");
}

/// `UPDATE shardid.shard SET sequence = 'pg_authid'::regclass` kept everybody on the server from
/// making roles, until the transaction ended.
#[test]
fn a_row_of_the_extensions_tables_locks_nothing_that_is_not_of_its_kind() {
    let database = with_shard_5();
    database.psql(
        "SELECT create_id_sequence('ids', 5), create_ticket('photos'); \
         CREATE TABLE accounts (id bigserial PRIMARY KEY)",
    );
    let role = role(&database);
    database.psql(&format!(
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA shardid TO {role}"
    ));
    let mut client = database.connect_as(&role);
    let locked = "SELECT coalesce(string_agg(l.relation::regclass::text, ', ' ORDER BY 1), '') FROM pg_locks l \
         WHERE l.pid = pg_backend_pid() AND l.mode = 'ShareRowExclusiveLock' AND l.locktype = 'relation'";
    for (change, expected) in [
        (
            "UPDATE shardid.shard SET sequence = 'pg_authid'::regclass WHERE shard = 5",
            "shard_0005.shard_id_seq",
        ),
        (
            "UPDATE shardid.shard SET sequence = 'accounts'::regclass WHERE shard = 5",
            "shard_0005.shard_id_seq",
        ),
        (
            "UPDATE shardid.shard SET sequence = 'accounts_id_seq'::regclass WHERE shard = 5",
            "shard_0005.shard_id_seq",
        ),
        (
            "INSERT INTO shardid.id_sequence VALUES ('accounts_id_seq'::regclass, 5, 'instagram')",
            "",
        ),
        ("DELETE FROM shardid.id_sequence WHERE sequence = 'ids'::regclass", "ids"),
        ("DELETE FROM shardid.ticket", "shardid_tickets.photos"),
    ] {
        run(&mut client, "BEGIN");
        run(&mut client, change);
        assert_eq!(one::<String>(&mut client, locked), expected, "{change}");
        run(&mut client, "ROLLBACK");
    }
}

/// With the number of another shard, or none, it said of a sequence that was restarted that it
/// had given nothing out: 500 of 500 ids came again.
#[test]
fn what_a_move_says_of_a_generator_is_refused_for_one_that_gives_ids_here() {
    let database = with_shard_5();
    database.psql("SELECT create_id_sequence('ids', 5)");
    let mut client = database.connect();
    for sequence in ["shard_0005.shard_id_seq", "ids"] {
        for shard in ["5", "7"] {
            let sql =
                format!("SELECT shardid.carry_generator('{sequence}', {shard}, 5120, 'instagram')");
            expect_error(&mut client, &sql, "55006");
        }
    }
    let before: i64 = one(&mut client, "SELECT next_id_from('ids')");
    run(&mut client, "SELECT shardid.carry_generator('ids', NULL, 5120, 'instagram')");
    assert!(one::<i64>(&mut client, "SELECT next_id_from('ids')") > before);
    // Moves take a superuser: not even the extension's owner is granted it.
    let granted = "SELECT count(*) FROM pg_proc p, aclexplode(p.proacl) x WHERE p.proname IN ('carry_generator', 'go_on_above') AND x.grantee <> p.proowner";
    assert_eq!(database.psql(granted), "0");
}

#[test]
fn everybody_may_look_and_decode_but_sees_no_last_id_of_others() {
    let database = with_shard_5();
    database.psql("SELECT create_shard(6); SELECT next_id(5), next_id(6)");
    let role = role(&database);
    database.psql(&format!("GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq TO {role}"));
    let mut client = database.connect_as(&role);
    let seen: Vec<i32> = column(
        &mut client,
        "SELECT shard FROM shardid.shards WHERE last_id > 0 OR last_time > '2026-01-01'",
    );
    assert_eq!(seen, [5]);
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM shardid.shards"), 2);
    run(
        &mut client,
        "SELECT * FROM shardid.layouts; SELECT * FROM shardid.cluster; SELECT * FROM id_explain(next_id(5)); \
         SELECT id_parts(1, 'js53'), id_at(now()), id_text(1), conceal_id(1, '0123456789abcdef'), id_time(1)",
    );
}

#[test]
fn a_database_owner_who_is_no_superuser_installs_and_uses_all_of_it() {
    let database = Database::fresh_plain();
    let owner = database.role("owner");
    let app = database.role("app");
    database.psql(&format!(
        "ALTER DATABASE {} OWNER TO {owner}; ALTER SCHEMA public OWNER TO {owner}",
        database.name()
    ));
    let mut client = database.connect_as(&owner);
    run(
        &mut client,
        &format!(
            "CREATE EXTENSION shardid; SELECT create_shard(5); \
             CREATE TABLE t (id bigint DEFAULT next_id(5)); INSERT INTO t SELECT FROM generate_series(1, 1000); \
             SELECT create_layout('mine', '2026-01-01Z', '1 s', 10, 1000); SELECT create_shard(6, layout => 'mine'); \
             SELECT next_id(6), shard_0006.next_id(); SELECT create_id_sequence('t_id', 5); SELECT next_id_from('t_id'); \
             SELECT drop_shard(6); SELECT create_shard(6, layout => 'mine'); SELECT * FROM shardid.shards; \
             SELECT shardid.place_shards('c', 'n', 'instagram', 16, 1, ARRAY[5, 7], ARRAY['n', 'm']); SELECT adopt_shard(5); \
             UPDATE shardid.shard SET state = 'fenced' WHERE shard = 5; UPDATE shardid.shard SET state = 'open' WHERE shard = 5; \
             SELECT next_id(5); \
             CREATE TABLE p (id bigint DEFAULT next_id(5)) PARTITION BY RANGE (id); \
             SELECT create_id_partitions('p', now(), now() + interval '2 days', '1 day'); INSERT INTO p DEFAULT VALUES; \
             GRANT INSERT ON t TO {app}; GRANT USAGE ON SEQUENCE shard_0005.shard_id_seq TO {app}"
        ),
    );
    assert!(one::<bool>(
        &mut client,
        "SELECT NOT usesuper FROM pg_user WHERE usename = current_user"
    ));
    run(&mut database.connect_as(&app), "INSERT INTO t DEFAULT VALUES");
    // And lets others, who let nobody.
    run(
        &mut client,
        &format!(
            "GRANT CREATE ON DATABASE {} TO {app}; GRANT INSERT, UPDATE ON shardid.shard, shardid.id_sequence, shardid.dropped_id_sequence TO {app}; \
             GRANT EXECUTE ON FUNCTION create_shard(integer, name, text, boolean, bigint), drop_shard(integer), \
                 shardid.create_generator(name, name, integer, text, bigint, boolean) TO {app}",
            database.name()
        ),
    );
    let mut other = database.connect_as(&app);
    run(
        &mut other,
        "SELECT create_shard(8); SELECT next_id(8); SELECT drop_shard(8); SELECT create_shard(8)",
    );
    // What it did not make it cannot drop.
    expect_error(&mut other, "SELECT drop_shard(6)", "42501");
    run(&mut client, "DROP TABLE t, p; DROP EXTENSION shardid CASCADE; CREATE EXTENSION shardid");
    run(&mut client, "SELECT create_shard(5); SELECT next_id(5)");
}

/// A user's own next_id() whose body named the shard was dropped with it; and one of another
/// role's kept everybody from dropping the shard.
/// Of a name whose library the session has not loaded, PostgreSQL knows no rule but a superuser's.
#[test]
fn a_database_owner_sets_what_everybody_may_set_after_any_call() {
    let database = Database::fresh();
    let owner = database.role("owner");
    database.psql(&format!("ALTER DATABASE {} OWNER TO {owner}", database.name()));
    let settings = [
        format!("ALTER DATABASE {} SET shardid.shard = 5", database.name()),
        format!("ALTER ROLE {owner} SET shardid.max_wait = '5 s'"),
    ];
    expect_error(&mut database.connect_as(&owner), &settings[0], "42501");
    let mut client = database.connect_as(&owner);
    run(&mut client, "SELECT id_text(1)");
    settings.iter().for_each(|sql| run(&mut client, sql));
    expect_error(
        &mut client,
        &format!("ALTER ROLE {owner} SET shardid.max_drift = '1 min'"),
        "42501",
    );
    let found: String = one(
        &mut database.connect_as(&owner),
        "SELECT format('%s %s', current_setting('shardid.shard'), current_setting('shardid.max_wait'))",
    );
    assert_eq!(found, "5 5 s");
}

#[test]
fn dropping_a_shard_drops_no_function_that_create_shard_has_not_made() {
    let database = Database::fresh();
    let stranger = database.role("stranger");
    database.psql(&format!(
        "SELECT create_shard(30), create_shard(31); CREATE SCHEMA app2; CREATE SCHEMA app3 AUTHORIZATION {stranger}; \
         CREATE FUNCTION app2.next_id() RETURNS bigint VOLATILE RETURN public.next_id(30); \
         CREATE FUNCTION app2.next_id(n int) RETURNS bigint VOLATILE RETURN public.next_id(30) + n"
    ));
    let mut stranger = database.connect_as(&stranger);
    run(
        &mut stranger,
        "CREATE FUNCTION app3.next_id() RETURNS bigint VOLATILE RETURN public.next_id(31); \
         COMMENT ON FUNCTION app3.next_id() IS 'a new id on shard 31'",
    );
    database.psql("SELECT drop_shard(30), drop_shard(31)");
    let left: Vec<String> = column(
        &mut database.connect(),
        "SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'next_id' AND prolang = 14 ORDER BY 1",
    );
    assert_eq!(left, ["app2.next_id()", "app2.next_id(integer)", "app3.next_id()"]);
}

/// What create_shard has made is known in a restored database too, and as 0.1.0 has made it.
#[test]
fn the_function_of_a_shard_is_dropped_with_it_after_an_update_and_after_a_dump() {
    let made_by = |version: &str| {
        let database = Database::fresh_plain();
        database.psql(&format!("CREATE EXTENSION shardid VERSION '{version}'; SELECT create_shard(5), create_shard(6, 'six')"));
        database
    };
    let restored = |database: &Database<'_>| {
        let dump = database.command("pg_dump").output().expect("pg_dump runs");
        let copy = Database::fresh_plain();
        copy.psql(&String::from_utf8(dump.stdout).expect("a dump is text"));
        copy
    };
    for version in ["0.1.0", "0.2.0"] {
        let original = made_by(version);
        let copy = restored(&original);
        original.psql("ALTER EXTENSION shardid UPDATE");
        let copy_of_updated = restored(&original);
        for database in [&copy_of_updated, &original, &copy] {
            database.psql("ALTER SEQUENCE six.shard_id_seq SET SCHEMA public; SELECT shard_0005.next_id(), six.next_id()");
            database.psql("SELECT drop_shard(5), drop_shard(6)");
            let left = database.psql("SELECT count(*) FROM pg_proc WHERE pronamespace IN ('shard_0005'::regnamespace, 'six'::regnamespace)");
            assert_eq!(left, "0", "made by {version}");
        }
    }
}

/// In a snapshot from before, the schema had no owner, and none was found wanting: who makes it
/// can drop what is in it.
#[test]
fn a_schema_that_somebody_else_has_made_since_a_transaction_began_is_not_used() {
    let database = Database::fresh();
    let intruder = database.role("intruder");
    database.psql(&format!("GRANT CREATE ON DATABASE {} TO {intruder}", database.name()));
    let mut client = database.connect_as(&intruder);
    for (sql, schema) in [
        ("SELECT create_ticket('photos')", "shardid_tickets"),
        ("SELECT create_segment('orders', 10)", "shardid_segments"),
    ] {
        let mut superuser = database.connect();
        run(&mut superuser, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class");
        run(
            &mut client,
            &format!("CREATE SCHEMA {schema}; GRANT ALL ON SCHEMA {schema} TO PUBLIC"),
        );
        let refusal = expect_error(&mut superuser, sql, "40001");
        assert!(refusal.message.contains(schema), "{refusal:?}");
        assert!(refusal.hint.starts_with("Try again"), "{refusal:?}");
        run(&mut superuser, "ROLLBACK");
        assert!(expect_error(&mut superuser, sql, "42501").message.contains(schema));
    }
}

/// A role with CREATE on the database made the schema of a shard to come, and in it a sequence that
/// stood in 2060: create_shard took it up, and every other shard could be made to follow.
#[test]
fn a_sequence_that_somebody_else_has_put_in_its_place_is_not_taken_up() {
    let database = Database::fresh();
    let intruder = database.role("intruder");
    database.psql(&format!("GRANT CREATE ON DATABASE {} TO {intruder}", database.name()));
    let mut client = database.connect_as(&intruder);
    run(
        &mut client,
        "CREATE SCHEMA shard_0040; CREATE SEQUENCE shard_0040.shard_id_seq INCREMENT 8388608 MINVALUE 40960; \
         CREATE SCHEMA shardid_tickets; CREATE SEQUENCE shardid_tickets.photos MINVALUE -1000 START 1; \
         CREATE SCHEMA shardid_segments; CREATE SEQUENCE shardid_segments.orders; \
         CREATE SEQUENCE shard_0040.mine INCREMENT 8388608 MINVALUE 40960",
    );
    // Where the schemas are trusted, the sequences in them still are not.
    database.psql("ALTER SCHEMA shardid_tickets OWNER TO CURRENT_USER; ALTER SCHEMA shardid_segments OWNER TO CURRENT_USER");
    let mut superuser = database.connect();
    for (sql, sequence) in [
        ("SELECT create_shard(40)", "shard_0040.shard_id_seq"),
        ("SELECT create_id_sequence('shard_0040.mine', 40)", "shard_0040.mine"),
        ("SELECT create_ticket('photos')", "shardid_tickets.photos"),
        ("SELECT create_segment('orders', 10)", "shardid_segments.orders"),
    ] {
        let refusal = expect_error(&mut superuser, sql, "42501");
        assert!(
            refusal.message.contains(sequence) && refusal.message.contains(&intruder),
            "{refusal:?}"
        );
        assert!(refusal.hint.contains("OWNER TO"), "{refusal:?}");
    }
    // The other side: what belongs to the caller, or to one who may make shards.
    run(
        &mut superuser,
        "ALTER SEQUENCE shard_0040.mine OWNER TO CURRENT_USER; SELECT create_id_sequence('shard_0040.mine', 40)",
    );
    run(
        &mut superuser,
        &format!(
            "GRANT INSERT ON shardid.shard TO {intruder}; SELECT create_shard(40); SELECT next_id(40)"
        ),
    );
}

#[test]
fn a_sequence_that_stands_beyond_any_clock_is_not_taken_up() {
    let database = Database::fresh();
    let mut client = database.connect();
    let sequence = |schema: &str, ahead: &str| {
        format!(
            "CREATE SCHEMA {schema}; CREATE SEQUENCE {schema}.shard_id_seq INCREMENT 8388608 MINVALUE 40960; \
             SELECT setval('{schema}.shard_id_seq', id_at(now() + interval '{ahead}') + 40960)"
        )
    };
    run(&mut client, &sequence("late", "61 minutes"));
    let refusal = expect_error(&mut client, "SELECT create_shard(40, 'late')", "55000");
    assert!(
        refusal.message.contains("late.shard_id_seq") && refusal.hint.contains("max_jump"),
        "{refusal:?}"
    );
    run(
        &mut client,
        "SET shardid.max_jump = '2h'; SELECT create_shard(40, 'late'); SELECT drop_shard(40) FROM (SELECT 1) x WHERE false",
    );
    run(&mut client, &sequence("soon", "59 minutes").replace("40960", "41984"));
    run(&mut client, "RESET shardid.max_jump; SELECT create_shard(41, 'soon')");
}

/// One call by whoever may make shards had every generator of the database refuse after the next crash.
#[test]
fn the_horizon_is_raised_no_further_than_the_clock_may_jump() {
    let database = Database::fresh();
    let maker = database.role("maker");
    database.psql(&format!(
        "SELECT create_shard(5); GRANT EXECUTE ON FUNCTION shardid.raise_horizon(bigint, text) TO {maker}"
    ));
    let mut client = database.connect_as(&maker);
    let horizon = "SELECT last_value FROM shardid.horizon";
    let before = database.psql(horizon);
    for id in ["9000000000000000000", "id_at(now() + interval '61 minutes')"] {
        let raise = format!("SELECT shardid.raise_horizon({id}, 'instagram')");
        let refusal = expect_error(&mut client, &raise, "55000");
        assert!(refusal.message.contains("horizon") && !refusal.hint.is_empty(), "{refusal:?}");
    }
    assert_eq!(database.psql(horizon), before);
    run(
        &mut client,
        "SELECT shardid.raise_horizon(id_at(now() + interval '59 minutes'), 'instagram')",
    );
}

/// Whoever puts a function into a superuser's way gains nothing by it, whatever the function asks for.
#[test]
fn functions_run_as_their_owner_where_a_superuser_has_that() {
    let database = with_shard_5();
    let alice = database.role("alice");
    let mut client = database.connect();
    run(&mut client, &format!("GRANT ALL ON SCHEMA public TO {alice}; SET ROLE {alice}"));
    run(
        &mut client,
        &format!(
            "CREATE FUNCTION who() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN current_user; END';
             CREATE FUNCTION who_sql() RETURNS text LANGUAGE sql AS 'SELECT current_user::text';
             CREATE FUNCTION who_set() RETURNS SETOF text LANGUAGE sql AS 'SELECT current_user::text FROM generate_series(1, 3)';
             CREATE FUNCTION breaks() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1 / 0; END';
             CREATE FUNCTION back() RETURNS text LANGUAGE plpgsql AS 'BEGIN RESET ROLE; RETURN current_user; END';
             CREATE FUNCTION back_as() RETURNS text LANGUAGE plpgsql SET role = '{alice}' AS 'BEGIN RESET ROLE; RETURN current_user; END';
             CREATE FUNCTION session() RETURNS text LANGUAGE plpgsql SET session_authorization = '{alice}' AS 'BEGIN RESET SESSION AUTHORIZATION; RETURN current_user; END';
             CREATE FUNCTION definer() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RESET ALL; PERFORM set_config(''search_path'', ''nowhere'', false); RETURN current_user; END';
             CREATE FUNCTION cursor() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN EXECUTE ''DECLARE c CURSOR WITH HOLD FOR SELECT 1''; RETURN 1; END';
             CREATE FUNCTION temporary() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN CREATE TEMP TABLE pg_class (); RETURN 1; END';
             CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.who := current_user; RETURN NEW; END';
             CREATE TABLE t (who text); CREATE TRIGGER fires BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fires();
             RESET ROLE; CREATE FUNCTION ours() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN current_user; END'"
        ),
    );
    let us: String = one(&mut client, "SELECT current_user::text");
    let ways = [
        "SELECT who()",
        "SELECT who_sql()",
        "SELECT min(w) FROM who_set() w",
        "INSERT INTO t DEFAULT VALUES RETURNING who",
    ];
    for way in ways {
        assert_eq!(one::<String>(&mut client, way), us, "{way}");
    }
    run(&mut client, "LOAD '$libdir/shardid'; SET shardid.functions_run_as_owner = on");
    for way in ways {
        assert_eq!(one::<String>(&mut client, way), alice, "{way}");
    }
    assert_eq!(one::<String>(&mut client, "SELECT ours()"), us);
    for (way, code) in [
        ("SELECT back()", "42501"),
        ("SELECT back_as()", "42501"),
        ("SELECT session()", "42501"),
        ("SELECT cursor()", "42501"),
        ("SELECT temporary()", "42501"),
        ("SELECT breaks()", "22012"),
    ] {
        expect_error(&mut client, way, code);
        assert_eq!(one::<String>(&mut client, "SELECT current_user::text"), us, "{way}");
        assert_eq!(one::<String>(&mut client, "SELECT session_user::text"), us, "{way}");
    }
    // An error that is caught, and settings of the function's own.
    run(
        &mut client,
        "DO $$ BEGIN PERFORM breaks(); EXCEPTION WHEN division_by_zero THEN PERFORM pg_read_file('PG_VERSION'); END $$",
    );
    assert_eq!(one::<String>(&mut client, "SELECT definer()"), alice);
    assert_eq!(one::<String>(&mut client, "SHOW shardid.functions_run_as_owner"), "on");
    assert_ne!(one::<String>(&mut client, "SHOW search_path"), "nowhere");
    assert_eq!(one::<String>(&mut client, "SELECT current_user::text"), us);
    // For who is no superuser nothing changes, even where it may be set.
    let bob = database.role("bob");
    run(
        &mut client,
        &format!("GRANT SET ON PARAMETER \"shardid.functions_run_as_owner\" TO {bob}"),
    );
    let mut other = database.connect_as(&bob);
    run(&mut other, "SELECT next_id(5) WHERE false; SET shardid.functions_run_as_owner = on");
    assert_eq!(one::<String>(&mut other, "SELECT who()"), bob);
    expect_error(&mut database.connect_as(&alice), "LOAD '$libdir/shardid'", "42501");
    run(
        &mut client,
        &format!("REVOKE SET ON PARAMETER \"shardid.functions_run_as_owner\" FROM {bob}"),
    );
}
