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
             REVOKE ALL ON FUNCTION closed() FROM PUBLIC;
             CREATE FUNCTION definer() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN current_user; END';
             CREATE FUNCTION tells() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'version ' || version(); END $$;
             CREATE PROCEDURE goes_on() LANGUAGE plpgsql AS 'BEGIN ROLLBACK; CREATE ROLE made_by_a_procedure; END';
             RESET ROLE;
             CREATE FUNCTION ours() RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN pg_backend_pid()::text; END $$;
             CREATE FUNCTION ours_stable() RETURNS text LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 1; END';
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
    run(&mut client, &format!("SET shardid.on_behalf_of = {alice}"));
    assert_eq!(one::<String>(&mut client, "SELECT who()"), alice);
    assert_eq!(one::<String>(&mut client, "SELECT definer()"), bob);
    expect_error(&mut client, "SELECT closed()", "42501");
    // What bob's function calls, it calls as alice.
    assert!(one::<String>(&mut client, "SELECT tells()").starts_with("version "));
    run(&mut client, &format!("SET shardid.on_behalf_of = {bob}"));
    assert_eq!(one::<String>(&mut client, "SELECT closed()"), bob);
    // A superuser has written the expression, and named bob's function himself.
    run(&mut client, "SET shardid.on_behalf_of = postgres");
    assert_eq!(one::<String>(&mut client, "SELECT closed()"), bob);
    run(&mut client, "SET shardid.on_behalf_of = nobody_of_that_name");
    expect_error(&mut client, "SELECT who()", "42704");
    run(&mut client, "SET shardid.on_behalf_of = ''");
    assert_eq!(one::<String>(&mut client, "SELECT who()"), bob);
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
        "SELECT ours_stable()",
        "SELECT 'PG_VERSION'::reads",
        "SELECT '{PG_VERSION}'::reads[]",
        "SELECT 'PG_VERSION'::calls",
        "CREATE TABLE t (a text[] DEFAULT ('{PG_VERSION}'::reads[])::text[])",
        "SELECT set_config('shardid.on_behalf_of', '', false)",
        "SELECT set_config('role', 'postgres', false)",
    ] {
        let refusal = expect_error(&mut client, sql, "42501");
        assert!(refusal.message.contains("on behalf of role"), "{sql}: {refusal:?}");
    }
    for sql in ["SELECT 'x'::fine", "SELECT count(*) FROM pg_class", "SELECT upper('x') || 1"] {
        client.simple_query(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    // In the body of a superuser's function that superuser says what is called; so of what comes with each
    // DDL, as the extension's own triggers.
    one::<String>(&mut client, "SELECT ours()");
    run(&mut client, "CREATE TABLE made (); DROP TABLE made");
    run(&mut client, "SET shardid.on_behalf_of = ''; SELECT ours_stable()");
}

/// The planner computes stable functions for its estimates, which an index may call in what was changed afterwards.
#[test]
fn what_the_planner_computes_for_its_estimates_is_refused_as_well() {
    let database = Database::fresh();
    let Case { mut client, alice, .. } = case(&database);
    run(
        &mut client,
        &format!(
            "SET ROLE {alice};
             CREATE VIEW v AS SELECT pg_read_file('PG_VERSION') AS x;
             CREATE FUNCTION g(a xml DEFAULT '<a/>'::xml) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
             CREATE TABLE z (id bigint PRIMARY KEY, n int);
             CREATE INDEX ON z (n) WHERE id IS NOT NULL OR n < g();
             CREATE OR REPLACE FUNCTION g(a xml DEFAULT table_to_xml('v'::regclass, true, false, '')) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
             RESET ROLE;
             SET shardid.on_behalf_of = {alice}"
        ),
    );
    let refusal = expect_error(&mut client, "SELECT max(id) FROM z WHERE id > 5", "42501");
    assert!(refusal.message.contains("table_to_xml"), "{refusal:?}");
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
