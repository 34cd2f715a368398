//! What others have put on the extension's tables, or put in the place of its schema meanwhile, is not
//! taken over when it is installed or updated.

use std::thread;
use std::time::Duration;

use shardid_tests::{Database, expect_error, wait_until};

use crate::ask::{one, run};
use crate::planted::prepared;

/// Waits until the script that installs or updates the extension waits for a lock.
fn waits(database: &Database<'_>, is_over: impl Fn() -> bool) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%EXTENSION shardid%' AND pid <> pg_backend_pid()";
    wait_until(Duration::from_secs(30), "the script to wait", || {
        assert!(!is_over(), "the script did not wait");
        database.psql(waiting) == "1"
    });
}

/// All of the extension goes to a superuser when it is updated: what its owner has added to it
/// would run with that superuser's rights.
#[test]
fn an_update_takes_over_nothing_that_the_extensions_owner_has_added() {
    let (database, owner) = prepared();
    let superuser = database.role("superuser");
    database.psql(&format!("ALTER ROLE {superuser} SUPERUSER"));
    let mut installer = database.connect_as(&superuser);
    run(&mut installer, "CREATE EXTENSION shardid SCHEMA evil VERSION '0.1.0'");
    // As where the extension was installed by the owner, when that was allowed.
    database.psql(&format!(
        "UPDATE pg_extension SET extowner = '{owner}'::regrole WHERE extname = 'shardid'; \
         GRANT CREATE ON SCHEMA shardid TO {owner}"
    ));
    let mut client = database.connect_as(&owner);
    run(
        &mut client,
        "CREATE FUNCTION public.evil(command text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN EXECUTE command; END'; \
         ALTER EXTENSION shardid ADD FUNCTION public.evil(text); \
         CREATE TABLE shardid.mine (); \
         CREATE TRIGGER mine BEFORE UPDATE ON shardid.mine FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    );
    let update = "ALTER EXTENSION shardid UPDATE";
    let refusal = expect_error(&mut installer, update, "42501");
    assert_eq!(refusal.detail, format!("function public.evil(text) of role {owner}."));
    run(&mut client, "ALTER EXTENSION shardid DROP FUNCTION public.evil(text)");
    run(&mut installer, update);
    expect_error(
        &mut client,
        &format!("SELECT public.evil('ALTER ROLE {owner} SUPERUSER')"),
        "42501",
    );
    // A function of the server's that is the trigger of another table there stays everybody's.
    assert!(one::<bool>(
        &mut client,
        "SELECT has_function_privilege('suppress_redundant_updates_trigger()', 'EXECUTE')"
    ));
    // All of it given to somebody who is no superuser: its functions may be any by now.
    let database = Database::fresh_plain();
    let owner = database.role("heir");
    database.psql(&format!(
        "CREATE EXTENSION shardid VERSION '0.1.0'; ALTER FUNCTION shardid.shard_changed() OWNER TO {owner}"
    ));
    let refusal = expect_error(&mut database.connect(), update, "42501");
    assert_eq!(refusal.detail, format!("function shardid.shard_changed() of role {owner}."));
    database.psql("ALTER FUNCTION shardid.shard_changed() OWNER TO CURRENT_USER");
    database.psql(update);
}

/// While the script waited for somebody, the owner of the schema gave it another name, and made one of
/// his own with the old one: what the script named from then on was his.
#[test]
fn nobody_puts_another_schema_in_the_place_of_the_one_that_is_installed_into() {
    for (prepare, hold, run_it) in [
        (
            "CREATE SCHEMA s1",
            "BEGIN; CREATE FUNCTION s1.id_explain(bigint) RETURNS integer LANGUAGE sql RETURN 1",
            "CREATE EXTENSION shardid SCHEMA s1",
        ),
        (
            "CREATE SCHEMA s1; CREATE EXTENSION shardid SCHEMA s1 VERSION '0.1.0'",
            "BEGIN; SELECT FROM shardid.shards",
            "ALTER EXTENSION shardid UPDATE",
        ),
    ] {
        let database = Database::fresh_plain();
        database.psql(prepare);
        let mut holder = database.connect();
        run(&mut holder, hold);
        thread::scope(|scope| {
            let script = scope.spawn(|| database.psql(run_it));
            waits(&database, || script.is_finished());
            let mut owner = database.connect();
            run(&mut owner, "SET lock_timeout = '1s'");
            for schema in ["s1", "shardid"] {
                if schema == "s1" || run_it.contains("UPDATE") {
                    let rename = format!("ALTER SCHEMA {schema} RENAME TO before");
                    expect_error(&mut owner, &rename, "55P03");
                }
            }
            run(&mut holder, "ROLLBACK");
            script.join().unwrap();
        });
        let schema =
            "SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'shardid'";
        assert_eq!(database.psql(schema), "s1");
        database.psql("SELECT s1.create_shard(5), s1.next_id(5)");
    }
}

/// What somebody had put on the tables of version 0.1.0 went on running with the rights of others.
#[test]
fn an_update_refuses_triggers_and_foreign_keys_of_others_on_its_tables() {
    let database = Database::fresh_plain();
    let other = database.role("other");
    database.psql(&format!(
        "CREATE EXTENSION shardid VERSION '0.1.0'; GRANT TRIGGER, REFERENCES ON ALL TABLES IN SCHEMA shardid TO {other}; \
         GRANT CREATE ON DATABASE {} TO {other}; GRANT USAGE ON SCHEMA shardid TO {other}",
        database.name()
    ));
    let mut client = database.connect_as(&other);
    run(
        &mut client,
        "CREATE SCHEMA w; CREATE FUNCTION w.evil() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
         CREATE TRIGGER evil BEFORE UPDATE ON shardid.ticket FOR EACH ROW EXECUTE FUNCTION w.evil(); \
         CREATE TABLE w.fk (name text REFERENCES shardid.ticket (name))",
    );
    let mut superuser = database.connect();
    for (named, drop) in [
        ("trigger evil on table shardid.ticket", "DROP TRIGGER evil ON shardid.ticket"),
        ("constraint fk_name_fkey on table w.fk", "DROP TABLE w.fk"),
    ] {
        let refusal = expect_error(&mut superuser, "ALTER EXTENSION shardid UPDATE", "42501");
        assert!(refusal.detail.contains(named), "{refusal:?}");
        run(&mut superuser, drop);
    }
    // One that is not committed yet is waited for, and a view that the program would read is as bad.
    run(
        &mut client,
        "BEGIN; CREATE TRIGGER late BEFORE UPDATE ON shardid.ticket FOR EACH ROW EXECUTE FUNCTION w.evil()",
    );
    thread::scope(|scope| {
        let update = scope.spawn(|| {
            expect_error(&mut database.connect(), "ALTER EXTENSION shardid UPDATE", "42501")
        });
        waits(&database, || update.is_finished());
        run(&mut client, "COMMIT");
        let refusal = update.join().unwrap();
        assert!(refusal.detail.contains("trigger late"), "{refusal:?}");
    });
    run(&mut superuser, "DROP TRIGGER late ON shardid.ticket");
    run(
        &mut superuser,
        &format!(
            "CREATE VIEW shardid.move AS SELECT 1 AS move; ALTER VIEW shardid.move OWNER TO {other}"
        ),
    );
    let refusal = expect_error(&mut superuser, "ALTER EXTENSION shardid UPDATE", "42501");
    assert!(refusal.detail.contains("view shardid.move"), "{refusal:?}");
    run(&mut superuser, "DROP VIEW shardid.move");
    run(
        &mut superuser,
        &format!(
            "GRANT REFERENCES (name) ON shardid.ticket TO {other} WITH GRANT OPTION; GRANT REFERENCES (name) ON shardid.layout TO PUBLIC"
        ),
    );
    run(&mut superuser, "ALTER EXTENSION shardid UPDATE");
    let columns = "SELECT count(*) FROM pg_attribute a, aclexplode(a.attacl) x WHERE x.privilege_type = 'REFERENCES' AND a.attrelid IN ('shardid.ticket'::regclass, 'shardid.layout'::regclass)";
    assert_eq!(one::<i64>(&mut superuser, columns), 0);
    let left = "SELECT count(*) FROM pg_class c, aclexplode(c.relacl) x WHERE c.relnamespace = 'shardid'::regnamespace \
                AND x.privilege_type IN ('TRIGGER', 'REFERENCES') AND x.grantee <> c.relowner";
    assert_eq!(one::<i64>(&mut superuser, left), 0);
}

/// The function was ours and the condition was not: it ran with the rights of whoever wrote.
#[test]
fn an_update_takes_no_trigger_of_another_for_one_of_ours() {
    let database = Database::fresh_plain();
    let other = database.role("other");
    database.psql(&format!(
        "CREATE EXTENSION shardid VERSION '0.1.0'; GRANT TRIGGER ON ALL TABLES IN SCHEMA shardid TO {other}; \
         GRANT CREATE ON DATABASE {} TO {other}; GRANT USAGE ON SCHEMA shardid TO {other}",
        database.name()
    ));
    let mut client = database.connect_as(&other);
    run(
        &mut client,
        "CREATE SCHEMA w; CREATE FUNCTION w.evil(text) RETURNS boolean LANGUAGE sql AS 'SELECT false'",
    );
    let mut superuser = database.connect();
    let theirs =
        "FOR EACH ROW WHEN (w.evil(NEW.name)) EXECUTE FUNCTION shardid.generator_changed()";
    for (make, named, undo) in [
        (
            format!("CREATE TRIGGER evil BEFORE UPDATE ON shardid.ticket {theirs}"),
            "evil",
            "DROP TRIGGER evil ON shardid.ticket",
        ),
        (
            "CREATE TRIGGER evil BEFORE UPDATE ON shardid.ticket FOR EACH ROW EXECUTE FUNCTION shardid.generator_changed()".to_owned(),
            "evil",
            "DROP TRIGGER evil ON shardid.ticket",
        ),
        (
            format!("CREATE OR REPLACE TRIGGER generator_changed AFTER INSERT ON shardid.ticket {theirs}"),
            "generator_changed",
            "CREATE OR REPLACE TRIGGER generator_changed AFTER DELETE ON shardid.ticket FOR EACH STATEMENT EXECUTE FUNCTION shardid.generator_changed()",
        ),
    ] {
        run(&mut client, &make);
        let refusal = expect_error(&mut superuser, "ALTER EXTENSION shardid UPDATE", "42501");
        assert!(refusal.detail.contains(&format!("trigger {named} on table shardid.ticket")), "{refusal:?}");
        // The last leaves one that runs nothing of theirs, and is not what ours was.
        run(if undo.starts_with("DROP") { &mut superuser } else { &mut client }, undo);
    }
    run(
        &mut client,
        "CREATE OR REPLACE TRIGGER generator_changes AFTER UPDATE ON shardid.ticket FOR EACH ROW WHEN (w.evil(NEW.name)) EXECUTE FUNCTION shardid.generator_changed()",
    );
    run(&mut superuser, "ALTER EXTENSION shardid UPDATE");
    let triggers = "SELECT string_agg(pg_get_triggerdef(t.oid) || t.tgenabled::text, E'\\n' ORDER BY pg_get_triggerdef(t.oid)) FROM pg_trigger t \
                    WHERE NOT t.tgisinternal AND t.tgrelid::regclass::text LIKE 'shardid.%'";
    let fresh = Database::fresh_plain();
    fresh.psql("CREATE EXTENSION shardid");
    assert_eq!(database.psql(triggers), fresh.psql(triggers));
}

/// What came while it waited for a lock it did not see, and what a view reads was locked with the view: catalogs
/// that everybody needs to connect. A procedure next_id() of somebody's kept it from being done.
#[test]
fn an_update_sees_what_is_there_once_it_has_locked_it_and_locks_nothing_else() {
    let database = Database::fresh_plain();
    database.psql(
        "CREATE EXTENSION shardid VERSION '0.1.0'; SELECT create_shard(5); CREATE SCHEMA w; \
         CREATE PROCEDURE w.next_id() BEGIN ATOMIC SELECT next_id(5); END",
    );
    let mut client = database.connect();
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        run(&mut client, &format!("SET default_transaction_isolation = '{level}'"));
        let refusal = expect_error(&mut client, "ALTER EXTENSION shardid UPDATE", "55000");
        assert!(refusal.message.contains(&level.to_lowercase()), "{refusal:?}");
        // As the hint says.
        assert_eq!(
            refusal.hint,
            "BEGIN ISOLATION LEVEL READ COMMITTED; ALTER EXTENSION shardid UPDATE; COMMIT;"
        );
    }
    run(&mut client, "BEGIN ISOLATION LEVEL READ COMMITTED; ALTER EXTENSION shardid UPDATE");
    let locked = "SELECT coalesce(string_agg(DISTINCT relation::regclass || ' ' || mode, ', '), '') FROM pg_locks \
                  WHERE pid = pg_backend_pid() AND relation < 16384 AND mode ~ '^(Access)?Exclusive|^Share(RowExclusive)?Lock'";
    assert_eq!(one::<String>(&mut client, locked), "");
    assert!(
        one::<i64>(
            &mut client,
            "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'AccessExclusiveLock' AND relation IN ('shardid.shards'::regclass, 'shardid.ticket'::regclass)"
        ) == 2
    );
    run(&mut client, "COMMIT");
}

/// What a session allows itself says nothing of what others have done before the update.
#[test]
fn a_shard_that_has_given_nothing_before_the_update_begins_near_the_clock() {
    let database = Database::fresh_plain();
    database.psql("CREATE EXTENSION shardid VERSION '0.1.0'; SELECT create_shard(5); ALTER EXTENSION shardid UPDATE");
    let mut client = database.connect();
    run(&mut client, "SET shardid.max_drift = '2h'");
    let near = "SELECT id_time(next_id(5)) < clock_timestamp() + interval '1 min'";
    assert!(one::<bool>(&mut client, near));
    assert_eq!(one::<i64>(&mut client, "SELECT last_value FROM shardid.largest_drift"), 10_000);
}

/// It put the horizon to the end of a long tick: shards that had given no id yet were refused at once, all others
/// after the next crash.
#[test]
fn the_update_puts_the_horizon_no_further_than_the_share_of_a_long_tick() {
    let database = Database::fresh_plain();
    database.psql(
        "CREATE EXTENSION shardid VERSION '0.1.0';
         SELECT create_layout('half', date_trunc('second', now()) - interval '30 min', '1 h', 64, 1000000);
         SELECT create_shard(5), create_shard(6), create_shard(4, layout => 'half'); SELECT next_id(5); SELECT next_id(4)",
    );
    database.psql("ALTER EXTENSION shardid UPDATE");
    let ahead =
        "SELECT last_value / 1e6 - extract(epoch FROM clock_timestamp()) < 10 FROM shardid.horizon";
    let mut client = database.connect();
    assert!(one::<bool>(&mut client, ahead));
    run(&mut client, "SELECT next_id(6)");
    run(&mut client, "ALTER SEQUENCE shard_0005.shard_id_seq RESTART");
    run(&mut client, "SELECT next_id(5)");
}
