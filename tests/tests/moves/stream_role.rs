//! What the role of a stream may do, who changes that, and what becomes of what is made with its rights.

use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::wait_until;

use crate::following::{PASSWORD, estate, run};
use crate::shared;

/// A check that makes its owner a superuser, where one evaluates it.
fn make_trap(estate: &Estate) -> String {
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE owner NOLOGIN; CREATE ROLE second NOLOGIN");
    }
    let schema = schema(0);
    estate.psql(
        "pg1",
        &format!(
            "ALTER SCHEMA {schema} OWNER TO owner; GRANT USAGE ON SCHEMA {schema} TO second;
             CREATE FUNCTION {schema}.trap(text) RETURNS boolean LANGUAGE plpgsql AS $$
             BEGIN
                 IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
                     RAISE EXCEPTION 'this runs as a superuser: %', $1;
                 END IF;
                 BEGIN
                     ALTER ROLE owner SUPERUSER;
                 EXCEPTION WHEN insufficient_privilege OR read_only_sql_transaction THEN
                 END;
                 RETURN true;
             END $$;
             ALTER FUNCTION {schema}.trap OWNER TO owner; REVOKE ALL ON FUNCTION {schema}.trap FROM PUBLIC;
             GRANT EXECUTE ON FUNCTION {schema}.trap TO second;
             CREATE TABLE {schema}.one (id bigint PRIMARY KEY, text text CHECK ({schema}.trap(text)));
             CREATE TABLE {schema}.two (id bigint PRIMARY KEY, text text CHECK ({schema}.trap(text)));
             ALTER TABLE {schema}.one OWNER TO owner; ALTER TABLE {schema}.two OWNER TO second;
             ALTER TABLE {schema}.one ENABLE ROW LEVEL SECURITY;
             SET ROLE owner; INSERT INTO {schema}.one SELECT n, n FROM generate_series(1, 10) AS n; RESET ROLE;
             SET ROLE second; INSERT INTO {schema}.two SELECT n, n FROM generate_series(1, 10) AS n; RESET ROLE"
        ),
    );
    // Wherever PostgreSQL runs code of an owner while a definition is made, or a query is planned.
    estate.psql(
        "pg1",
        &format!(
            "SET ROLE owner; SET search_path = {schema}, public;
             CREATE FUNCTION fold() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN {schema}.trap(''fold''); END';
             CREATE DOMAIN dom AS bigint CHECK (trap(VALUE::text));
             CREATE VIEW v AS SELECT '{{1}}'::dom[] AS d;
             CREATE FUNCTION plus(dom, bigint) RETURNS dom LANGUAGE sql RETURN $1;
             CREATE AGGREGATE agg(bigint) (SFUNC = plus, STYPE = dom, INITCOND = '1');
             CREATE DOMAIN late AS int;
             CREATE FUNCTION check_late(late) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN {schema}.trap(''late''); END';
             ALTER DOMAIN late ADD CHECK (check_late(VALUE));
             CREATE TABLE three (id bigint PRIMARY KEY DEFAULT next_id(0), n int, a bigint[] DEFAULT ('{{6}}'::dom[])::bigint[]);
             CREATE INDEX ON three (n) WHERE fold();
             CREATE INDEX ON three ((n + fold()::int));
             CREATE STATISTICS stat ON (n + fold()::int), id FROM three;
             CREATE TABLE rowed (id bigint PRIMARY KEY);
             CREATE FUNCTION check_row(rowed) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN {schema}.trap(''row''); END';
             ALTER TABLE rowed ADD CHECK (check_row(rowed.*)); INSERT INTO rowed VALUES (1);
             CREATE TABLE child (CHECK (fold()), PRIMARY KEY (id)) INHERITS (three);
             CREATE TABLE four (id bigint PRIMARY KEY, three bigint REFERENCES three);
             CREATE TABLE parted (n bigint) PARTITION BY RANGE ((n + fold()::int));
             CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (1000);
             ALTER TABLE part REPLICA IDENTITY FULL;
             ALTER TABLE three ENABLE ROW LEVEL SECURITY;
             CREATE POLICY p ON three USING (fold());
             CREATE FUNCTION all_off() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
             CREATE INDEX ON three (n) WHERE all_off();
             INSERT INTO three (id, n) SELECT n, n FROM generate_series(1, 10) AS n;
             INSERT INTO child (id, n) VALUES (11, 11); INSERT INTO four VALUES (1, 1); INSERT INTO parted VALUES (1);
             CREATE FUNCTION resets() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$
             BEGIN
                 EXECUTE 'RESET ALL';
                 PERFORM set_config('search_path', '{schema}', false);
                 RETURN {schema}.trap('resets');
             END $$;
             CREATE OR REPLACE FUNCTION all_off() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN {schema}.resets(); END';
             RESET ROLE; GRANT USAGE ON SEQUENCE {schema}.shard_id_seq TO owner"
        ),
    );
    schema
}

#[test]
fn what_a_shards_owner_has_put_into_it_runs_with_no_more_rights_than_that_role_has() {
    let estate = estate(|builder| builder);
    let schema = make_trap(&estate);
    run(&estate, &["move", "0", "--to", "pg2", "--yes"]).ok();
    let write = |node: &str, text: &str| {
        estate.psql(node, &format!("SET ROLE owner; UPDATE {schema}.one SET text = '{text}'; INSERT INTO {schema}.one VALUES ((SELECT max(id) + 1 FROM {schema}.one), '{text}'); DELETE FROM {schema}.one WHERE id = 3; RESET ROLE; SET ROLE second; TRUNCATE {schema}.two; INSERT INTO {schema}.two VALUES (1, '{text}')"));
    };
    let rows = format!(
        "SELECT count(*), min(text), max(text) FROM (TABLE {schema}.one UNION ALL TABLE {schema}.two) AS all_of_them"
    );
    write("pg2", "there");
    wait_until(Duration::from_secs(30), "the old copy to follow", || {
        estate.psql("pg1", &rows) == "11|there|there"
    });
    let rollback = run(&estate, &["rollback", "1", "--yes"]);
    assert_eq!(rollback.code, 0, "{}", rollback.stderr);
    assert!(!rollback.stderr.contains("not carried back"), "{}", rollback.stderr);
    run(&estate, &["move", "0", "--to", "pg2", "--yes"]).ok();
    run(&estate, &["verify", "--data"]);
    for node in estate.nodes() {
        let supers = estate.psql(
            &node,
            "SELECT string_agg(rolname, ' ' ORDER BY rolname) FROM pg_roles WHERE rolsuper",
        );
        assert_eq!(supers, "operator postgres", "on {node}");
        // No role that applies anything can be become by anybody, or do anything else.
        let roles = estate.psql(&node, "SELECT count(*) FROM pg_roles r WHERE rolname ~ '^shardid_(move|back)_' AND (rolcreaterole OR rolcreatedb OR rolreplication OR EXISTS (SELECT FROM pg_auth_members m WHERE r.oid IN (m.roleid, m.member)))");
        assert_eq!(roles, "0");
    }
    assert_eq!(estate.psql("pg2", &rows), "11|there|there");
    run(&estate, &["retire", "3", "--yes"]).ok();
    estate.assert_no_trace(0);
    let left =
        "SELECT string_agg(rolname, ' ') FROM pg_roles WHERE rolname ~ '^shardid_(move|back)_'";
    for node in estate.nodes() {
        assert_eq!(estate.psql(&node, left), "");
    }
}

#[test]
fn what_a_domain_does_with_the_rights_of_whoever_makes_it_is_refused() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    estate.psql(
        "pg1",
        &format!(
            "CREATE DOMAIN {schema}.d AS text CONSTRAINT looks CHECK (pg_read_file(VALUE) IS NOT NULL);
             CREATE DOMAIN {schema}.fine AS text CHECK (length(VALUE) < 9 AND VALUE < CURRENT_DATE::text);
             CREATE DOMAIN {schema}.e AS text CONSTRAINT reads CHECK (table_to_xml(VALUE::regclass, true, false, '') IS NOT NULL);
             CREATE TABLE {schema}.t (id bigint PRIMARY KEY CHECK (clock_timestamp() IS NOT NULL))"
        ),
    );
    let refused = estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).refused();
    assert!(
        refused.contains(&format!("constraint looks of {schema}.d calls pg_read_file(text)")),
        "{refused}"
    );
    assert!(
        refused.contains(&format!("constraint reads of {schema}.e calls table_to_xml")),
        "{refused}"
    );
    assert!(!refused.contains("clock_timestamp") && !refused.contains(".fine"), "{refused}");
    estate.psql("pg1", &format!("DROP DOMAIN {schema}.d; DROP DOMAIN {schema}.e"));
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
}

fn try_psql(estate: &Estate, sql: &str) -> String {
    estate.node("pg1").try_psql(DATABASE, sql).expect_err("it is refused")
}

#[test]
fn the_role_of_a_stream_may_not_change_its_subscription() {
    let estate = estate(|builder| builder);
    estate.make_tables(0);
    run(&estate, &["move", "0", "--to", "pg2", "--yes"]).ok();
    for what in ["DISABLE", "SET (slot_name = 'cdc')", "RENAME TO mine"] {
        let refused = try_psql(
            &estate,
            &format!("SET ROLE shardid_back_1; ALTER SUBSCRIPTION shardid_back_1 {what}"),
        );
        assert!(refused.contains("role shardid_back_1 may not change a subscription"), "{refused}");
    }
    // What is noted there says how the sequences of the shard go on.
    for what in [
        "DROP SUBSCRIPTION shardid_back_1",
        "COMMENT ON SUBSCRIPTION shardid_back_1 IS 'mine'",
        "SECURITY LABEL ON SUBSCRIPTION shardid_back_1 IS 'mine'",
    ] {
        let refused = try_psql(&estate, &format!("SET ROLE shardid_back_1; {what}"));
        assert!(refused.contains("role shardid_back_1 may not change a subscription"), "{refused}");
    }
}

/// What rows meet makes nothing; whoever was a superuser could, as that role.
#[test]
fn what_is_made_with_the_rights_of_a_stream_never_becomes_the_programs() {
    let estate = Estate::start(2, 4);
    for node in estate.nodes() {
        estate.psql(
            &node,
            "CREATE ROLE owner NOLOGIN; CREATE SCHEMA open; GRANT ALL ON SCHEMA open TO PUBLIC",
        );
    }
    estate.make_tables(0);
    let plant = |node: &str, role: &str| {
        estate.psql(
            node,
            &format!(
                "SET ROLE {role}; SET default_transaction_read_only = off;
                 CREATE FUNCTION open.whose() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT current_user::text';
                 CREATE VIEW open.depends AS SELECT open.whose(); GRANT ALL ON open.depends TO PUBLIC; RESET ROLE;
                 ALTER VIEW open.depends OWNER TO owner"
            ),
        );
    };
    let mut held =
        estate.run_held("following/before-Compare", &["move", "0", "--to", "pg2", "--yes"]);
    plant("pg2", "shardid_move_1");
    held.go_on();
    let moved = held.end();
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    let superuser = "SELECT count(*) FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner WHERE p.pronamespace = 'open'::regnamespace AND r.rolsuper";
    // Somebody's view keeps the function, and the function its role: the move ends all the same.
    plant("pg1", "shardid_back_1");
    estate.psql("pg1", "ALTER SUBSCRIPTION shardid_back_1 DISABLE; ALTER SUBSCRIPTION shardid_back_1 SET (slot_name = NONE)");
    estate.psql("pg1", "DROP SUBSCRIPTION shardid_back_1");
    estate.run(&["retire", "1", "--yes"]).ok();
    for node in estate.nodes() {
        assert_eq!(estate.psql(&node, superuser), "0", "on {node}");
        let rights = "SELECT count(*), count(*) FILTER (WHERE rolcanlogin OR rolbypassrls OR EXISTS (SELECT FROM pg_class c, aclexplode(c.relacl) a WHERE a.grantee = r.oid AND c.relnamespace <> 'open'::regnamespace)) FROM pg_roles r WHERE rolname ~ '^shardid_(move|back)_'";
        assert_eq!(estate.psql(&node, rights), "1|0", "on {node}");
    }
}

#[test]
fn streams_of_an_earlier_program_get_a_role_of_their_own_and_lose_its_rights() {
    let estate = estate(|builder| builder);
    estate.make_tables(0);
    run(&estate, &["move", "0", "--to", "pg2", "--yes"]).ok();
    // As it was: the operator's own password, and his rights.
    let port = estate.node("pg2").port();
    let way_in = format!("postgres://operator:{PASSWORD}@127.0.0.1:{port}/{DATABASE}");
    estate.psql("pg1", &format!("ALTER SUBSCRIPTION shardid_back_1 CONNECTION '{way_in}'; ALTER SUBSCRIPTION shardid_back_1 OWNER TO postgres; DROP OWNED BY shardid_back_1; DROP ROLE shardid_back_1; DO $$ BEGIN IF current_setting('server_version_num')::int >= 160000 THEN EXECUTE 'ALTER SUBSCRIPTION shardid_back_1 SET (run_as_owner = false)'; END IF; END $$"));
    let plan = run(&estate, &["plan"]).ok();
    assert!(
        plan.contains("~ pg1: connect shardid_back_1 anew: pg2 does not let it in as it should"),
        "{plan}"
    );
    run(&estate, &["apply", "--yes"]).ok();
    assert_eq!(
        estate.psql("pg1", "SELECT subconninfo ~ 'user=shardid%2F' FROM pg_subscription"),
        "t"
    );
    let bounded = "SELECT NOT rolsuper AND to_jsonb(s) ->> 'subrunasowner' IS DISTINCT FROM 'false' FROM pg_subscription s JOIN pg_roles r ON r.oid = subowner";
    assert_eq!(estate.psql("pg1", bounded), "t");
    run(&estate, &["rollback", "1", "--yes"]).ok();
    estate.assert_no_trace(0);
}

/// It is not they who write what comes.
#[test]
fn owners_who_could_not_write_what_comes_keep_no_move() {
    let estate = estate(|builder| builder);
    let schema = make_trap(&estate);
    estate.psql(
        "pg1",
        &format!(
            "ALTER TABLE {schema}.one FORCE ROW LEVEL SECURITY; REVOKE USAGE ON SCHEMA {schema} FROM second;
             REVOKE TRUNCATE ON {schema}.two FROM second"
        ),
    );
    run(&estate, &["move", "0", "--to", "pg2", "--yes"]).ok();
    run(&estate, &["rollback", "1", "--yes"]).ok();
}
