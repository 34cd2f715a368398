//! `shardid.on_behalf_of`: an expression of somebody's, evaluated by a superuser, does what its owner may, and nothing
//! that a superuser may.

use shardid_tests::postgres::Client;
use shardid_tests::{Database, expect_error};

use crate::ask::{one, run};

/// A database with two roles, and a superuser's session that runs functions as their owners.
struct Case {
    client: Client,
    alice: String,
    bob: String,
}

fn case(database: &Database<'_>) -> Case {
    database.psql("SELECT create_shard(5)");
    let (alice, bob) = (database.role("alice"), database.role("bob"));
    let mut client = database.connect();
    run(
        &mut client,
        &format!(
            "GRANT ALL ON SCHEMA public TO {alice}, {bob}; SET ROLE {bob};
             CREATE FUNCTION who() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN current_user; END';
             CREATE FUNCTION closed() RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN current_user; END';
             CREATE FUNCTION sees(what regclass) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('SELECT FROM %s', what); RETURN true; END $$;
             CREATE FUNCTION makes() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN CREATE TABLE public.made_by_nobody (); RETURN true; END';
             CREATE FUNCTION adds(a int, b int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN a + b; END';
             CREATE TABLE of_bob (n int);
             REVOKE ALL ON FUNCTION closed() FROM PUBLIC;
             CREATE FUNCTION definer() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN current_user; END';
             CREATE FUNCTION tells() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'version ' || version(); END $$;
             CREATE PROCEDURE goes_on() LANGUAGE plpgsql AS 'BEGIN ROLLBACK; CREATE ROLE made_by_a_procedure; END';
             RESET ROLE;
             CREATE FUNCTION ours() RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN pg_backend_pid()::text; END $$;
             CREATE FUNCTION ours_stable() RETURNS text LANGUAGE plpgsql STABLE AS 'BEGIN RETURN current_user; END';
             CREATE TABLE of_ours (n int);
             CREATE FUNCTION counts(what text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE n bigint; BEGIN EXECUTE 'SELECT count(*) FROM ' || what INTO n; RETURN n; END $$;
             CREATE FUNCTION closed_of_ours() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
             REVOKE ALL ON FUNCTION closed_of_ours() FROM PUBLIC;
             LOAD '$libdir/shardid'; SET shardid.functions_run_as_owner = on"
        ),
    );
    Case { client, alice, bob }
}

#[test]
fn a_function_runs_with_the_rights_of_whose_expression_calls_it() {
    let database = Database::fresh();
    let Case { mut client, alice, bob } = case(&database);
    assert_eq!(one::<String>(&mut client, "SELECT who()"), bob);
    run(
        &mut client,
        &format!(
            "CREATE TABLE of_alice (n int); ALTER TABLE of_alice OWNER TO {alice}; GRANT CREATE ON SCHEMA public TO PUBLIC"
        ),
    );
    run(&mut client, &format!("SET shardid.on_behalf_of = {alice}"));
    assert_eq!(one::<String>(&mut client, "SELECT definer()"), bob);
    expect_error(&mut client, "SELECT closed()", "42501");
    // Whose expression it is that names bob's function is not known: it does what everybody may.
    assert!(one::<String>(&mut client, "SELECT tells()").starts_with("version "));
    assert_eq!(one::<i32>(&mut client, "SELECT adds(2, 3)"), 5);
    for table in ["of_bob", "of_alice"] {
        expect_error(&mut client, &format!("SELECT sees('{table}'::regclass)"), "42501");
    }
    assert!(client.batch_execute("SELECT makes()").is_err());
    run(&mut client, "GRANT SELECT ON of_bob TO PUBLIC");
    assert!(one::<bool>(&mut client, "SELECT sees('of_bob'::regclass)"));
    run(&mut client, &format!("SET shardid.on_behalf_of = {bob}"));
    assert_eq!(one::<String>(&mut client, "SELECT closed()"), bob);
    assert!(one::<bool>(&mut client, "SELECT sees('of_bob'::regclass)"));
    // Of a superuser's own.
    run(&mut client, "SET shardid.on_behalf_of = postgres");
    assert_eq!(one::<i32>(&mut client, "SELECT adds(2, 3)"), 5);
    expect_error(&mut client, "SELECT sees('of_alice'::regclass)", "42501");
    run(&mut client, "SET shardid.on_behalf_of = nobody_of_that_name");
    expect_error(&mut client, "SELECT who()", "42704");
    run(&mut client, "SET shardid.on_behalf_of = ''");
    assert_eq!(one::<String>(&mut client, "SELECT who()"), bob);
}

/// Where an error is caught, and behind the function, it is as before.
#[test]
fn a_function_that_is_called_on_somebodys_behalf_writes_nothing() {
    let database = Database::fresh();
    let Case { mut client, alice, bob } = case(&database);
    run(
        &mut client,
        &format!(
            "CREATE TABLE written (n int); GRANT ALL ON written TO PUBLIC; SET ROLE {alice};
             CREATE FUNCTION writes() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
                 BEGIN PERFORM set_config('transaction_read_only', 'off', false); EXCEPTION WHEN others THEN NULL; END;
                 INSERT INTO written VALUES (1); RETURN 'written';
             EXCEPTION WHEN others THEN RETURN SQLSTATE; END $$;
             CREATE FUNCTION fails() RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''no''; END'; RESET ROLE;
             CREATE FUNCTION calls(what text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE found text; BEGIN
                 EXECUTE format('SELECT %I()', what) INTO found; RETURN found; EXCEPTION WHEN others THEN RETURN 'caught'; END $$"
        ),
    );
    for behalf in [alice.as_str(), bob.as_str(), "postgres", "public"] {
        run(&mut client, &format!("SET shardid.on_behalf_of = {behalf}"));
        for sql in ["SELECT writes()", "SELECT calls('writes')"] {
            assert_eq!(one::<String>(&mut client, sql), "25006", "{behalf}: {sql}");
        }
        run(
            &mut client,
            "BEGIN; SAVEPOINT s; SELECT calls('fails'); ROLLBACK TO s; SELECT calls('fails'), writes(); INSERT INTO written VALUES (2); COMMIT",
        );
        run(&mut client, "BEGIN; SAVEPOINT s");
        expect_error(&mut client, "SELECT fails()", "P0001");
        run(&mut client, "ROLLBACK TO s; INSERT INTO written VALUES (2); COMMIT");
    }
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM written WHERE n = 1"), 0);
    assert_eq!(one::<i64>(&mut client, "SELECT count(*) FROM written"), 8);
    run(&mut client, "SET shardid.on_behalf_of = ''");
    assert_eq!(one::<String>(&mut client, "SELECT writes()"), "written");
}

#[test]
fn what_superusers_own_is_called_for_others_only_if_it_is_immutable() {
    let database = Database::fresh();
    let Case { mut client, alice, .. } = case(&database);
    run(
        &mut client,
        &format!(
            "SET ROLE {alice};
             CREATE DOMAIN reads AS text CHECK (pg_read_file(VALUE) IS NOT NULL);
             CREATE DOMAIN fine AS text CHECK (length(VALUE) > 0);
             CREATE FUNCTION late(text DEFAULT pg_read_file('PG_VERSION')) RETURNS boolean LANGUAGE sql AS 'SELECT true';
             CREATE DOMAIN calls AS text CHECK (late());
             RESET ROLE;
             SET shardid.on_behalf_of = {alice}"
        ),
    );
    for sql in [
        "SELECT pg_read_file('PG_VERSION')",
        "SELECT 'PG_VERSION'::reads",
        "SELECT '{PG_VERSION}'::reads[]",
        "SELECT 'PG_VERSION'::calls",
        "CREATE TABLE t (a text[] DEFAULT ('{PG_VERSION}'::reads[])::text[])",
        "SELECT set_config('shardid.on_behalf_of', '', false)",
        "SELECT set_config('role', 'postgres', false)",
    ] {
        let refusal = expect_error(&mut client, sql, "42501");
        let is_asked_first =
            refusal.message.contains("permission denied for function pg_read_file");
        assert!(
            is_asked_first || refusal.message.contains("on behalf of role"),
            "{sql}: {refusal:?}"
        );
    }
    for sql in ["SELECT 'x'::fine", "SELECT count(*) FROM pg_class", "SELECT upper('x') || 1"] {
        client.simple_query(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    // What a superuser has written runs with the rights of whose expression calls it, as where that role says it.
    one::<String>(&mut client, "SELECT ours()");
    assert_eq!(one::<String>(&mut client, "SELECT ours_stable()"), alice);
    for sql in [
        "SELECT counts('of_ours')",
        "SELECT closed_of_ours()",
        "SELECT counts('(SELECT lo_export(1, ''x'')) x')",
    ] {
        let refusal = expect_error(&mut client, sql, "42501");
        assert!(refusal.message.contains("permission denied"), "{sql}: {refusal:?}");
    }
    // What comes with each DDL is called by nobody's expression, as the extension's own triggers.
    run(&mut client, "CREATE TABLE made (); DROP TABLE made");
    // Of a superuser's own things, which may have a domain of anybody in them, with the rights of everybody.
    run(&mut client, "SET shardid.on_behalf_of = postgres");
    expect_error(&mut client, "SELECT counts('of_ours')", "42501");
    run(
        &mut client,
        "SET shardid.on_behalf_of = ''; SELECT ours_stable(), counts('of_ours'), closed_of_ours()",
    );
}

/// For its estimates the planner computes stable functions, and calls those of operators that no expression names.
#[test]
fn the_planner_sees_no_expression_of_others() {
    let database = Database::fresh();
    let Case { mut client, alice, .. } = case(&database);
    let mut victim = database.connect();
    let pid: i32 = one(&mut victim, "SELECT pg_backend_pid()");
    run(
        &mut client,
        &format!(
            "SET ROLE {alice};
             CREATE VIEW v AS SELECT pg_read_file('PG_VERSION')::int / 0 AS x;
             CREATE FUNCTION g(a xml DEFAULT '<a/>'::xml) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
             CREATE FUNCTION imm(int, bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
             CREATE OPERATOR =## (FUNCTION = pg_terminate_backend, LEFTARG = int, RIGHTARG = bigint, NEGATOR = OPERATOR(<>##));
             CREATE OPERATOR <>## (FUNCTION = imm, LEFTARG = int, RIGHTARG = bigint, NEGATOR = OPERATOR(=##), RESTRICT = neqsel);
             CREATE TABLE z (id bigint PRIMARY KEY, n int);
             INSERT INTO z SELECT g, {pid} FROM generate_series(1, 100) AS g;
             CREATE INDEX ON z (n) WHERE id IS NOT NULL OR n < g();
             CREATE INDEX ON z (n) WHERE id IS NOT NULL OR n <>## 0::bigint;
             CREATE STATISTICS s ON (n + g()), id FROM z;
             ANALYZE z;
             CREATE OR REPLACE FUNCTION g(a xml DEFAULT table_to_xml('v'::regclass, true, false, '')) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
             RESET ROLE; LOAD '$libdir/shardid'; SET shardid.functions_run_as_owner = on"
        ),
    );
    for behalf in ["''", &alice] {
        run(&mut client, &format!("SET shardid.on_behalf_of = {behalf}"));
        assert_eq!(one::<i64>(&mut client, "SELECT max(id) FROM z WHERE id > 5"), 100);
    }
    assert_eq!(one::<i32>(&mut victim, "SELECT 1"), 1);
    // The same without: it is no test otherwise.
    run(&mut client, "SET shardid.functions_run_as_owner = off");
    assert!(client.batch_execute("SELECT max(id) FROM z WHERE id > 5").is_err());
}

/// A ROLLBACK puts the user of the transaction's beginning back.
#[test]
fn a_procedure_of_somebody_else_is_not_called() {
    let database = Database::fresh();
    let Case { mut client, alice, .. } = case(&database);
    for behalf in ["''", &alice] {
        run(&mut client, &format!("SET shardid.on_behalf_of = {behalf}"));
        let refusal = expect_error(&mut client, "CALL goes_on()", "42501");
        assert!(refusal.message.contains("procedure goes_on()"), "{refusal:?}");
    }
    let made = "SELECT count(*) FROM pg_roles WHERE rolname = 'made_by_a_procedure'";
    run(&mut client, "SET shardid.on_behalf_of = ''");
    assert_eq!(one::<i64>(&mut client, made), 0);
}

/// Between two looks of a program whoever owns the database could put something of his in the place of what was there.
#[test]
fn a_statement_on_nobodys_behalf_names_nothing_of_others() {
    let database = Database::fresh();
    let Case { mut client, alice, .. } = case(&database);
    run(
        &mut client,
        &format!(
            "SET ROLE {alice};
             CREATE TABLE t (n int);
             CREATE VIEW v AS SELECT 1 AS n;
             CREATE SEQUENCE s;
             CREATE FUNCTION late(n int, x text DEFAULT pg_read_file('PG_VERSION')) RETURNS int LANGUAGE sql AS 'SELECT n';
             CREATE OPERATOR @@@ (FUNCTION = adds, LEFTARG = int, RIGHTARG = int);
             CREATE TABLE parent (n int) PARTITION BY LIST (n);
             RESET ROLE;
             CREATE TABLE ours_alone (n int); CREATE VIEW ours_too AS SELECT n FROM ours_alone;
             SET shardid.on_behalf_of = none"
        ),
    );
    for sql in [
        "SELECT FROM t",
        "SELECT FROM v",
        "SELECT FROM parent",
        "SELECT FROM pg_class c WHERE EXISTS (SELECT FROM t WHERE n = c.oid::int)",
        "WITH x AS (SELECT n FROM t) SELECT FROM x",
        "WITH x AS (DELETE FROM t RETURNING n) SELECT FROM x",
        "INSERT INTO ours_alone SELECT n FROM t",
        "UPDATE ours_alone SET n = t.n FROM t",
        "INSERT INTO t VALUES (1)",
        "SELECT late(1)",
        "SELECT FROM pg_class WHERE relpages < late(1)",
        "SELECT FROM late(1)",
        "SELECT 1 @@@ 2",
        "SELECT count(*) FROM pg_class HAVING count(*) > (SELECT who() = '')::int",
        "VALUES (late(2))",
        "EXPLAIN SELECT FROM t",
        "CREATE TABLE x AS SELECT late(1)",
        "DECLARE c CURSOR WITH HOLD FOR SELECT who()",
        "COPY (SELECT FROM t) TO STDOUT",
        "DO 'BEGIN PERFORM FROM public.t; END'",
        "DO 'BEGIN PERFORM public.late(1); END'",
        "CREATE TABLE x (n int CHECK (late(1) > 0)); INSERT INTO x VALUES (1)",
    ] {
        let refusal = expect_error(&mut client, sql, "42501");
        assert!(refusal.detail.contains("shardid.on_behalf_of is none"), "{sql}: {refusal:?}");
    }
    for sql in [
        "SELECT count(*) FROM pg_class",
        "SELECT last_value FROM s",
        "SELECT nextval('s')",
        "INSERT INTO ours_alone VALUES (1)",
        "SELECT n FROM ours_too",
        "SELECT ours(), ours_stable(), counts('of_ours')",
        "SELECT pg_read_file('PG_VERSION')",
        "LOCK TABLE t IN ACCESS SHARE MODE",
        "CREATE INDEX ON t (n)",
        "CREATE TABLE made (); DROP TABLE made",
        "SELECT next_id(5)",
    ] {
        let sql = format!("BEGIN; {sql}; COMMIT");
        client.simple_query(&sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    // No role can have the words for a name.
    for name in ["none", "public"] {
        expect_error(&mut client, &format!("CREATE ROLE \"{name}\""), "42939");
    }
}

/// A table that is renamed before it is read was read with the rights of who owned the one before.
#[test]
fn a_statement_on_a_roles_behalf_reads_what_that_role_owns() {
    let database = Database::fresh();
    let Case { mut client, alice, bob } = case(&database);
    run(
        &mut client,
        &format!(
            "CREATE TABLE t (n int); ALTER TABLE t OWNER TO {alice}; SET shardid.on_behalf_of = {bob}"
        ),
    );
    for sql in ["SELECT FROM t", "SELECT FROM of_bob WHERE n IN (SELECT n FROM t)"] {
        let refusal = expect_error(&mut client, sql, "42501");
        assert!(refusal.message.contains("relation public.t belongs neither to"), "{refusal:?}");
    }
    run(&mut client, "SELECT FROM of_bob, of_ours, pg_class");
    run(&mut client, &format!("SET shardid.on_behalf_of = {alice}"));
    run(&mut client, "SELECT FROM t, of_ours");
}

/// Who may make a trigger or a key on somebody's table has not to be who owns it.
#[test]
fn what_a_third_one_may_have_written_does_what_everybody_may() {
    let database = Database::fresh();
    let Case { mut client, .. } = case(&database);
    run(&mut client, "SET shardid.on_behalf_of = public");
    assert_eq!(one::<i32>(&mut client, "SELECT adds(2, 3)"), 5);
    assert!(one::<String>(&mut client, "SELECT tells()").starts_with("version "));
    for sql in [
        "SELECT sees('of_bob'::regclass)",
        "SELECT closed()",
        "SELECT closed_of_ours()",
        "SELECT counts('of_ours')",
        "SELECT pg_read_file('PG_VERSION')",
    ] {
        expect_error(&mut client, sql, "42501");
    }
    run(&mut client, "SELECT FROM of_bob, of_ours");
}

/// PostgreSQL builds an index with the rights of the table's owner: what another one has written, or what a superuser's function
/// comes upon, was a superuser there.
#[test]
fn an_index_is_built_with_no_more_than_the_rights_of_those_who_have_written_it() {
    let database = Database::fresh();
    let Case { mut client, alice, bob } = case(&database);
    run(
        &mut client,
        &format!(
            "SET ROLE {bob};
             CREATE FUNCTION public.note() RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM current_user; END';
             CREATE FUNCTION public.notes(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM public.note(); RETURN v; END';
             CREATE FUNCTION public.make() RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM rolpassword FROM pg_authid; END';
             CREATE FUNCTION public.makes_one(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM public.make(); RETURN v; END';
             RESET ROLE;
             CREATE FUNCTION public.comes_upon(v text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN public.makes_one(v); END';
             CREATE TABLE of_super AS SELECT 'x'::text AS v; CREATE TABLE of_alice AS SELECT 'x'::text AS v; ALTER TABLE of_alice OWNER TO {alice}"
        ),
    );
    for behalf in ["postgres", "public", &alice] {
        let table = if behalf == alice { "of_alice" } else { "of_super" };
        run(&mut client, &format!("SET shardid.on_behalf_of = {behalf}"));
        for function in ["makes_one", "comes_upon"] {
            expect_error(&mut client, &format!("CREATE INDEX ON {table} ({function}(v))"), "42501");
        }
    }
    // Nor as the owner of the table, who did not write it.
    run(&mut client, &format!("SET shardid.on_behalf_of = {alice}"));
    let made = client.batch_execute("CREATE INDEX ON of_alice (notes(v))");
    assert!(made.is_err(), "it has asked who it is, which nobody's role can say");
}

/// Where a transaction has failed, nothing can be looked up, and the session did not come out of it.
#[test]
fn a_transaction_that_has_failed_is_rolled_back() {
    let database = Database::fresh();
    let Case { mut client, alice, .. } = case(&database);
    for whose in [alice.as_str(), "none", "public"] {
        run(&mut client, &format!("SET shardid.on_behalf_of = {whose}; BEGIN"));
        expect_error(&mut client, "SELECT 1 / 0", "22012");
        expect_error(&mut client, "SELECT 1", "25P02");
        run(&mut client, "ROLLBACK");
        assert_eq!(one::<i32>(&mut client, "SELECT 1"), 1, "{whose}");
    }
}
