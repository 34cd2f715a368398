//! A move and `verify` are a superuser's, and what they come upon is somebody else's: no expression there does more
//! than its owner may, nothing is read through a view, and no role of a name gains what another has.

use std::time::Duration;

use shardid_tests::estate::{Estate, schema};
use shardid_tests::wait_until;

use crate::shared;

/// Two nodes with roles that own parts of shard 0.
pub(crate) fn estate() -> (Estate, String) {
    let estate = Estate::start(2, 4);
    let schema = schema(0);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE alice; CREATE ROLE bob; CREATE ROLE tenant");
    }
    estate.psql("pg1", &format!("GRANT ALL ON SCHEMA {schema} TO alice, bob"));
    (estate, schema)
}

pub(crate) const MOVE: [&str; 5] = ["move", "0", "--to", "pg2", "--yes"];

#[test]
fn a_function_does_no_more_than_who_owns_the_expression_may() {
    let (estate, schema) = estate();
    for node in estate.nodes() {
        estate.psql(
            &node,
            "CREATE TABLE public.of_bob (n int); ALTER TABLE public.of_bob OWNER TO bob",
        );
    }
    estate.psql(
        "pg1",
        &format!(
            "SET ROLE bob;
             CREATE FUNCTION {schema}.of_bob() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $f$
             BEGIN
                 EXECUTE 'SELECT FROM public.of_bob';
                 RAISE EXCEPTION 'somebody else has made this run as bob';
             EXCEPTION WHEN insufficient_privilege THEN
                 RETURN true;
             END $f$;
             SET ROLE alice;
             CREATE DOMAIN {schema}.dom AS bigint CHECK ({schema}.of_bob());
             CREATE TABLE {schema}.t (id bigint PRIMARY KEY DEFAULT {schema}.next_id(), a bigint[] DEFAULT ('{{6}}'::{schema}.dom[])::bigint[]);
             CREATE INDEX ON {schema}.t (id) WHERE {schema}.of_bob();
             INSERT INTO {schema}.t VALUES (7)"
        ),
    );
    let found = estate.run(&["verify", "--data"]);
    assert!(!found.stdout.contains("could not look"), "{}", found.stdout);
    estate.run(&MOVE).ok();
}

/// The check of domains is of another moment than the dump; nothing hangs on it.
#[test]
fn what_a_definition_has_the_server_compute_is_no_way_to_what_a_superuser_may() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "SET ROLE alice;
             CREATE FUNCTION {schema}.g(a text DEFAULT pg_read_file('PG_VERSION')) RETURNS boolean LANGUAGE sql AS 'SELECT true';
             CREATE DOMAIN {schema}.dom AS bigint CHECK ({schema}.g());
             CREATE TABLE {schema}.t (id bigint PRIMARY KEY, a int DEFAULT cardinality('{{6}}'::{schema}.dom[]))"
        ),
    );
    let refused = estate.run(&MOVE);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    assert!(
        refused.stderr.contains("permission denied for function pg_read_file"),
        "{}",
        refused.stderr
    );
    estate.run(&["abort", &estate.last_move(0), "--yes"]).ok();
    estate.assert_no_trace(0);
}

/// They came with the indexes, and who had a right read all rows until then.
#[test]
fn policies_are_there_before_the_rows_are() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.docs (id bigint PRIMARY KEY, owner name);
             ALTER TABLE {schema}.docs OWNER TO alice;
             ALTER TABLE {schema}.docs ENABLE ROW LEVEL SECURITY;
             CREATE POLICY own ON {schema}.docs USING (owner = current_user);
             GRANT USAGE ON SCHEMA {schema} TO tenant; GRANT SELECT ON {schema}.docs TO tenant;
             INSERT INTO {schema}.docs VALUES (1, 'tenant'), (2, 'alice')"
        ),
    );
    estate.run_cut("copying/before-Subscribe", &MOVE);
    let guarded = format!(
        "SELECT c.relrowsecurity AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)
           FROM pg_class c WHERE c.oid = '{schema}.docs'::regclass"
    );
    assert_eq!(estate.psql("pg2", &guarded), "t");
    estate.run(&["resume", &estate.last_move(0)]).ok();
    let seen = estate.psql("pg2", &format!("SET ROLE tenant; SELECT count(*) FROM {schema}.docs"));
    assert!(seen.ends_with('1'), "{seen}");
}

#[test]
fn a_role_that_may_do_more_where_the_shard_goes_is_refused() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.t (id bigint PRIMARY KEY); ALTER TABLE {schema}.t OWNER TO alice"
        ),
    );
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE common; GRANT common TO alice");
    }
    estate.psql(
        "pg2",
        "CREATE FOREIGN DATA WRAPPER away; CREATE SERVER away FOREIGN DATA WRAPPER away",
    );
    for (more, less, power) in [
        ("ALTER ROLE alice SUPERUSER", "ALTER ROLE alice NOSUPERUSER", "is a superuser"),
        (
            "ALTER ROLE alice BYPASSRLS",
            "ALTER ROLE alice NOBYPASSRLS",
            "sees past row level security",
        ),
        (
            "ALTER DATABASE app OWNER TO alice",
            "ALTER DATABASE app OWNER TO postgres",
            "owns the database",
        ),
        ("GRANT tenant TO alice", "REVOKE tenant FROM alice", "is a member of role tenant"),
        (
            "GRANT pg_execute_server_program TO bob; GRANT bob TO alice",
            "REVOKE bob FROM alice",
            "is a member of role pg_execute_server_program",
        ),
        (
            "GRANT EXECUTE ON FUNCTION lo_export(oid, text) TO alice",
            "REVOKE EXECUTE ON FUNCTION lo_export(oid, text) FROM alice",
            "has rights on function lo_export(oid,text)",
        ),
        (
            "GRANT SELECT ON pg_authid TO alice",
            "REVOKE SELECT ON pg_authid FROM alice",
            "has rights on table pg_authid",
        ),
        (
            "GRANT ALTER SYSTEM ON PARAMETER wal_level TO alice",
            "REVOKE ALTER SYSTEM ON PARAMETER wal_level FROM alice",
            "has rights on parameter wal_level",
        ),
        (
            "GRANT UPDATE ON shardid.shard TO alice",
            "REVOKE UPDATE ON shardid.shard FROM alice",
            "has rights on table shardid.shard",
        ),
        (
            "GRANT CREATE ON SCHEMA shardid TO alice",
            "REVOKE CREATE ON SCHEMA shardid FROM alice",
            "may make things in schema shardid",
        ),
        (
            "GRANT CREATE ON SCHEMA pg_catalog TO alice",
            "REVOKE CREATE ON SCHEMA pg_catalog FROM alice",
            "may make things in schema pg_catalog",
        ),
        (
            "GRANT CREATE ON DATABASE app TO alice",
            "REVOKE CREATE ON DATABASE app FROM alice",
            "may make schemas in the database",
        ),
        (
            "GRANT CREATE ON DATABASE postgres TO alice",
            "REVOKE CREATE ON DATABASE postgres FROM alice",
            "may make schemas in database postgres",
        ),
        (
            "ALTER DATABASE template1 OWNER TO alice",
            "ALTER DATABASE template1 OWNER TO postgres",
            "owns database template1",
        ),
        (
            "GRANT USAGE ON FOREIGN SERVER away TO alice",
            "REVOKE USAGE ON FOREIGN SERVER away FROM alice",
            "has rights on server away",
        ),
    ] {
        // What a role may do of which the owner is a member on both, its functions may do as well.
        for (role, owns) in [
            ("alice", "which owns part of the shard"),
            ("common", "of which who owns part of the shard is a member"),
        ] {
            let of = |sql: &str| sql.replace("alice", role);
            estate.psql("pg2", &of(more));
            let refused = estate.run(&["move", "0", "--to", "pg2", "--dry-run"]).refused();
            let words = format!("role {role}, {owns}, {power} here");
            assert!(refused.contains(&words), "{words:?} is not in {refused}");
            estate.psql("pg2", &of(less));
        }
    }
    for (more, less, words) in [
        (
            "GRANT common TO alice WITH ADMIN OPTION",
            "REVOKE ADMIN OPTION FOR common FROM alice",
            "role alice, which owns part of the shard, may grant role common here",
        ),
        (
            "GRANT CREATE ON DATABASE app TO PUBLIC",
            "REVOKE CREATE ON DATABASE app FROM PUBLIC",
            "may make schemas in database app here",
        ),
    ] {
        estate.psql("pg2", more);
        let refused = estate.run(&["move", "0", "--to", "pg2", "--dry-run"]).refused();
        assert!(refused.contains(words), "{words:?} is not in {refused}");
        estate.psql("pg2", less);
    }
    // Its functions have what it inherits.
    let (does_not, does) = match shardid_tests::Installation::get().major() >= 16 {
        true => {
            ("GRANT common TO alice WITH INHERIT FALSE", "GRANT common TO alice WITH INHERIT TRUE")
        }
        false => ("ALTER ROLE alice NOINHERIT", "ALTER ROLE alice INHERIT"),
    };
    estate.psql("pg1", does_not);
    let refused = estate.run(&["move", "0", "--to", "pg2", "--dry-run"]).refused();
    let words = "role alice, which owns part of the shard, inherits from role common here";
    assert!(refused.contains(words), "{refused}");
    estate.psql("pg1", does);
    // What everybody needs who works there.
    estate.psql(
        "pg2",
        "GRANT CONNECT, TEMPORARY ON DATABASE app TO alice; GRANT USAGE ON SCHEMA shardid TO alice",
    );
    estate.run(&MOVE).ok();
}

/// Where the program's role is not the first superuser, it owns the schemas that it has made and the catalog's tables.
#[test]
fn a_superuser_on_both_nodes_owns_what_it_owns() {
    let (estate, schema) = estate();
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE program SUPERUSER");
    }
    estate.psql("pg2", "CREATE TABLE shardid.mine (n serial); ALTER TABLE shardid.mine OWNER TO program; GRANT tenant TO program");
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY); ALTER SCHEMA {schema} OWNER TO program; ALTER TABLE {schema}.t OWNER TO program"));
    estate.psql("pg1", "ALTER ROLE program NOSUPERUSER");
    let refused = estate.run(&["move", "0", "--to", "pg2", "--dry-run"]).refused();
    assert!(refused.contains("is a superuser here, and not where the shard is"), "{refused}");
    estate.psql("pg1", "ALTER ROLE program SUPERUSER");
    estate.run(&MOVE).ok();
}

/// Whoever may write to `shardid.shard` had whole schemas of others moved, and dropped by `retire`.
#[test]
fn a_shard_whose_sequence_is_none_of_ours_is_not_moved() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.psql(
        "pg1",
        &format!(
            "CREATE SCHEMA payroll; CREATE TABLE payroll.pay (id bigserial PRIMARY KEY);
             CREATE TABLE payroll.kept AS SELECT sequence FROM shardid.shard WHERE shard = {shard};
             UPDATE shardid.shard SET sequence = 'payroll.pay_id_seq'::regclass WHERE shard = {shard}"
        ),
    );
    let refused = estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).refused();
    let words = format!("relation payroll.pay_id_seq is no generator of shard {shard}");
    assert!(refused.contains(&words), "{refused}");
    estate.psql(
        "pg1",
        &format!("UPDATE shardid.shard SET sequence = (SELECT sequence FROM payroll.kept) WHERE shard = {shard}; DROP SCHEMA payroll CASCADE"),
    );
}

/// pg_dump makes it as the parent's is, and the copy was taken for changed.
#[test]
fn a_check_that_a_child_has_valid_and_its_parent_not_is_moved() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.a (id bigint PRIMARY KEY, b int);
             ALTER TABLE {schema}.a ADD CONSTRAINT pos CHECK (b < 1000) NOT VALID;
             CREATE TABLE {schema}.ch (x int) INHERITS ({schema}.a); ALTER TABLE {schema}.ch ADD PRIMARY KEY (id)"
        ),
    );
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
}

/// By a foreign table a superuser comes to another server without a password.
#[test]
fn verify_reads_no_view_and_no_foreign_table() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "CREATE EXTENSION postgres_fdw;
             GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO alice; GRANT CREATE ON DATABASE app TO alice;
             SET ROLE alice;
             CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw; CREATE USER MAPPING FOR PUBLIC SERVER loop OPTIONS (user 'postgres');
             CREATE TABLE {schema}.z (id bigint DEFAULT {schema}.next_id(), n int) PARTITION BY RANGE (n);
             CREATE FOREIGN TABLE {schema}.zf PARTITION OF {schema}.z FOR VALUES FROM (1) TO (10) SERVER loop OPTIONS (schema_name 'x', table_name 'v')"
        ),
    );
    let found = estate.run(&["verify", "--data"]);
    assert!(
        found.stdout.contains("access to non-system foreign table is restricted"),
        "{}",
        found.stdout
    );
}

/// The secret of an earlier subscription stands in dumps, and went on opening the other node.
#[test]
fn a_secret_opens_nothing_after_new_ones_also_where_nothing_follows() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY)"));
    estate.run(&MOVE).ok();
    let secrets = "SELECT string_agg(md5(rolpassword), ' ' ORDER BY rolname) FROM pg_authid WHERE rolname LIKE 'shardid/%'";
    assert_ne!(estate.psql("pg2", secrets), "");
    estate.run(&["retire", "--all", "--yes"]).ok();
    estate.run(&["apply", "--new-secrets", "--yes"]).ok();
    assert_eq!(estate.psql("pg2", secrets), "");
    estate.run(&["move", "0", "--to", "pg1", "--yes"]).ok();
}

/// By the list of contents of a dump such a role is another one, on whose behalf its definitions were made.
#[test]
fn an_owner_whose_name_says_more_than_one_thing_in_a_list_is_refused() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    for name in ["x; Tablespace: y", "x; Owner: y", "x\ny"] {
        estate.psql(
            "pg1",
            &format!("CREATE ROLE \"{name}\"; CREATE TABLE {schema}.t (id bigint PRIMARY KEY); ALTER TABLE {schema}.t OWNER TO \"{name}\""),
        );
        let refused =
            estate.run(&["move", &shard.to_string(), "--to", "pg2", "--dry-run"]).refused();
        assert!(refused.contains("has a line break or \"; \" in its name"), "{refused}");
        estate.psql("pg1", &format!("DROP TABLE {schema}.t; DROP ROLE \"{name}\""));
    }
}

/// PostgreSQL checks a foreign key by a query over both tables, and its planner calls what the indexes of both call.
#[test]
fn what_a_foreign_key_comes_upon_is_nobody_elses() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "SET ROLE bob;
             CREATE FUNCTION {schema}.flag(i int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
             CREATE TABLE {schema}.b (id bigint PRIMARY KEY, n int); CREATE INDEX ON {schema}.b (n) WHERE {schema}.flag(1);
             GRANT REFERENCES, SELECT ON {schema}.b TO alice; INSERT INTO {schema}.b VALUES (1, 1);
             SET ROLE alice;
             CREATE TABLE {schema}.a (id bigint PRIMARY KEY, b bigint REFERENCES {schema}.b); INSERT INTO {schema}.a VALUES (1, 1);
             CREATE TABLE {schema}.kept (n int); INSERT INTO {schema}.kept VALUES (7); ALTER TABLE {schema}.kept ADD PRIMARY KEY (n);
             SET ROLE bob;
             CREATE OR REPLACE FUNCTION {schema}.flag(i int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $f$
             BEGIN
                 EXECUTE 'SELECT FROM {schema}.kept';
                 RAISE EXCEPTION 'this runs with the rights of alice';
             EXCEPTION WHEN insufficient_privilege THEN
                 RETURN true;
             END $f$"
        ),
    );
    estate.run(&MOVE).ok();
    let found = estate.run(&["verify", "--data"]);
    assert!(!found.stdout.contains("rights of alice"), "{}", found.stdout);
}

/// The sessions of a database may begin as another role, whatever its owner says.
#[test]
fn a_session_that_begins_as_another_role_is_a_superusers_all_the_same() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "ALTER DATABASE app OWNER TO alice; ALTER DATABASE app SET role = 'alice';
             SET ROLE alice;
             CREATE FUNCTION {schema}.sets() RETURNS boolean LANGUAGE plpgsql AS $f$
             BEGIN
                 EXECUTE 'SET ROLE postgres';
                 RAISE EXCEPTION 'this goes on as %', current_user;
             END $f$;
             CREATE FUNCTION {schema}.goes_back() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $f$
             BEGIN
                 IF current_setting('application_name') ~ '^shardid' THEN
                     RETURN {schema}.sets();
                 END IF;
                 RETURN true;
             EXCEPTION WHEN insufficient_privilege THEN
                 RETURN true;
             END $f$;
             CREATE TABLE {schema}.t (id bigint PRIMARY KEY DEFAULT {schema}.next_id(), n int);
             CREATE INDEX ON {schema}.t (n) WHERE {schema}.goes_back()"
        ),
    );
    let found = estate.run(&["verify", "--data"]);
    assert!(!found.stdout.contains("goes on as"), "{}", found.stdout);
    assert!(!found.stdout.contains("superuser in its"), "{}", found.stdout);
    // Nor is pg_dump's, as one that may see nothing of the shard.
    for node in ["pg1", "pg2"] {
        estate.psql(
            node,
            "SET ROLE postgres; CREATE ROLE nobody; ALTER DATABASE app SET role = 'nobody'",
        );
    }
    estate.run(&MOVE).ok();
}

/// What comes is applied for all tables by one role, which could call what the shard's owners may not.
#[test]
fn a_stream_calls_no_function_that_not_all_owners_may_call() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "CREATE FUNCTION {schema}.admin(c text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN EXECUTE c; END';
             CREATE FUNCTION {schema}.helps(n int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT n > 0';
             REVOKE ALL ON FUNCTION {schema}.admin(text), {schema}.helps(int) FROM PUBLIC;
             GRANT EXECUTE ON FUNCTION {schema}.helps(int) TO alice;
             SET ROLE alice;
             CREATE FUNCTION {schema}.chk() RETURNS boolean LANGUAGE plpgsql AS $f$
             BEGIN
                 IF has_function_privilege('{schema}.admin(text)', 'EXECUTE') THEN
                     PERFORM {schema}.admin('CREATE ROLE made_by_alice');
                 END IF;
                 RETURN true;
             END $f$;
             CREATE TABLE {schema}.t (id bigint PRIMARY KEY, n int, CHECK ({schema}.chk()), CHECK ({schema}.helps(n)));
             INSERT INTO {schema}.t VALUES (1, 1)"
        ),
    );
    estate.run(&MOVE).ok();
    // What comes back goes by the other stream.
    estate.psql("pg2", &format!("SET ROLE alice; INSERT INTO {schema}.t VALUES (2, 2)"));
    wait_until(Duration::from_secs(60), "the old copy has the new row", || {
        estate.psql("pg1", &format!("SELECT count(*) FROM {schema}.t")) == "2"
    });
    for node in estate.nodes() {
        let made = "SELECT count(*) FROM pg_roles WHERE rolname = 'made_by_alice'";
        assert_eq!(estate.psql(&node, made), "0", "{node}");
    }
    estate.run(&["rollback", "1", "--yes"]).ok();
}

/// It is said before anything is made.
#[test]
fn an_expression_that_calls_what_not_all_owners_may_call_is_refused() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "CREATE FUNCTION {schema}.knows(n int) RETURNS boolean LANGUAGE sql IMMUTABLE SECURITY DEFINER AS 'SELECT n > 0';
             CREATE TABLE {schema}.t (id bigint PRIMARY KEY, n int, CONSTRAINT known CHECK ({schema}.knows(n)));
             CREATE TABLE {schema}.of_alice (id bigint PRIMARY KEY); ALTER TABLE {schema}.of_alice OWNER TO alice;
             REVOKE ALL ON FUNCTION {schema}.knows(int) FROM PUBLIC"
        ),
    );
    let refused = estate.run(&["move", "0", "--to", "pg2", "--dry-run"]).refused();
    let words = format!(
        "function {schema}.knows(integer) does more than who calls it may, and role alice, which owns part of the shard, may not call it"
    );
    assert!(refused.contains(&words), "{refused}");
    estate.psql("pg1", &format!("GRANT EXECUTE ON FUNCTION {schema}.knows(integer) TO alice"));
    estate.psql("pg1", &format!("INSERT INTO {schema}.t VALUES (1, 1)"));
    estate.run(&MOVE).ok();
}

/// By a key to it or a trigger on it somebody else has an expression computed where a table's owner is at work.
#[test]
fn a_trigger_or_a_key_of_a_third_one_does_not_run_what_the_owner_may() {
    let (estate, schema) = estate();
    for node in estate.nodes() {
        estate.psql(&node, "CREATE TABLE public.bal (n int); ALTER TABLE public.bal OWNER TO bob; INSERT INTO public.bal VALUES (0)");
    }
    estate.psql(
        "pg1",
        &format!(
            "SET ROLE bob;
             CREATE FUNCTION {schema}.raise(i int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN UPDATE public.bal SET n = i; RETURN true; END';
             CREATE TABLE {schema}.b (id bigint PRIMARY KEY, n int);
             GRANT TRIGGER, REFERENCES, SELECT ON {schema}.b TO alice;
             SET ROLE alice;
             CREATE DOMAIN {schema}.adom AS bigint;
             CREATE FUNCTION {schema}.does() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
             CREATE TRIGGER tg BEFORE INSERT ON {schema}.b FOR EACH ROW WHEN (NEW.id > (('{{6}}'::{schema}.adom[])::bigint[])[1]) EXECUTE FUNCTION {schema}.does();
             ALTER DOMAIN {schema}.adom ADD CONSTRAINT c CHECK ({schema}.raise(1000) OR VALUE > 0) NOT VALID"
        ),
    );
    // The trigger cannot be made: what it calls may not do what bob may.
    let stands = estate.run(&MOVE);
    assert_ne!(stands.code, 0, "{}", stands.stdout);
    assert_eq!(estate.psql("pg2", "SELECT n FROM public.bal"), "0");
    estate.run(&["abort", "--all", "--yes"]).ok();
    estate.psql(
        "pg1",
        &format!("DROP TRIGGER tg ON {schema}.b; ALTER DOMAIN {schema}.adom DROP CONSTRAINT c"),
    );
    // A harmless key to the table of another owner.
    estate.psql(
        "pg1",
        &format!("SET ROLE alice; CREATE TABLE {schema}.a (id bigint PRIMARY KEY, b bigint REFERENCES {schema}.b); CREATE TRIGGER tg BEFORE INSERT ON {schema}.b FOR EACH ROW WHEN (NEW.id > 0) EXECUTE FUNCTION {schema}.does()"),
    );
    estate.run(&MOVE).ok();
}

/// The planner calls a function before it joins where it thinks that this costs less. By the genetic
/// optimizer, with so small a pool, it joins in whatever order.
#[test]
fn a_move_ends_however_its_statements_are_planned() {
    let (estate, schema) = estate();
    estate.psql("pg1", &format!("CREATE TABLE {schema}.t (id bigint PRIMARY KEY, n serial)"));
    for seed in ["0.11", "0.27"] {
        for node in estate.nodes() {
            estate.psql(&node, &format!("ALTER ROLE postgres SET geqo_threshold = 2; ALTER ROLE postgres SET geqo_pool_size = 2; ALTER ROLE postgres SET geqo_generations = 1; ALTER ROLE postgres SET geqo_seed = {seed}"));
        }
        estate.run(&MOVE).ok();
        estate.run(&["rollback", &estate.last_move(0), "--yes"]).ok();
    }
}

/// Definitions travel as texts, which were read anew where another owner's function fits better.
#[test]
fn what_is_bound_to_a_function_does_not_call_another_one_when_it_has_moved() {
    let (estate, schema) = estate();
    estate.psql(
        "pg1",
        &format!(
            "SET ROLE bob;
             CREATE FUNCTION {schema}.may(who anyelement) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT who::text = current_user';
             CREATE FUNCTION {schema}.norm(n anyelement) RETURNS anyelement LANGUAGE sql IMMUTABLE AS 'SELECT $1';
             CREATE FUNCTION {schema}.plus(a anyelement, b anyelement) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
             CREATE OPERATOR {schema}.## (FUNCTION = {schema}.plus, LEFTARG = anyelement, RIGHTARG = anyelement);
             CREATE TABLE {schema}.docs (id bigint PRIMARY KEY, owner text, n int CHECK ({schema}.norm(n) > 0), m int);
             ALTER TABLE {schema}.docs ENABLE ROW LEVEL SECURITY;
             CREATE POLICY own ON {schema}.docs USING ({schema}.may(owner));
             CREATE INDEX late ON {schema}.docs ((n OPERATOR({schema}.##) m));
             CREATE VIEW {schema}.seen AS SELECT id FROM {schema}.docs WHERE {schema}.may(owner);
             INSERT INTO {schema}.docs VALUES (1, 'bob', 1, 1)"
        ),
    );
    let mut number = 0;
    for (made, what, calls, less) in [
        (
            "FUNCTION SCHEMA.may(who text) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true'",
            "policy own on SCHEMA.docs",
            "function SCHEMA.may(text)",
            "FUNCTION SCHEMA.may(text)",
        ),
        (
            "FUNCTION SCHEMA.norm(i int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1'",
            "table constraint docs_n_check on SCHEMA.docs",
            "function SCHEMA.norm(integer)",
            "FUNCTION SCHEMA.norm(int)",
        ),
        (
            "OPERATOR SCHEMA.## (FUNCTION = int4lt, LEFTARG = int, RIGHTARG = int)",
            "index SCHEMA.late",
            "operator SCHEMA.##(integer,integer)",
            "OPERATOR SCHEMA.## (int, int)",
        ),
    ] {
        estate.psql("pg1", &format!("SET ROLE alice; CREATE {}", made.replace("SCHEMA", &schema)));
        let refused = estate.run(&MOVE);
        number += 1;
        let stands = format!("{} would call {} here", what, calls).replace("SCHEMA", &schema);
        assert!(refused.stderr.contains(&stands), "{stands:?} is not in {}", refused.stderr);
        estate.run(&["abort", &number.to_string(), "--yes"]).ok();
        estate.psql("pg1", &format!("DROP {}", less.replace("SCHEMA", &schema)));
    }
    // Where both are called, which of them where.
    estate.psql(
        "pg1",
        &format!(
            "SET ROLE alice; CREATE FUNCTION {schema}.yes(text) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true';
             SET ROLE bob; CREATE FUNCTION {schema}.mine(who anyelement) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT who::text = current_user';
             CREATE POLICY twice ON {schema}.docs FOR UPDATE USING (({schema}.mine(owner) OR {schema}.mine(n)) AND {schema}.yes(owner));
             SET ROLE alice; ALTER FUNCTION {schema}.yes(text) RENAME TO mine"
        ),
    );
    let refused = estate.run(&MOVE);
    number += 1;
    let stands = format!(
        "policy twice on {schema}.docs would call function {schema}.mine(text) here in a place where it calls function {schema}.mine(anyelement) where the shard is"
    );
    assert!(refused.stderr.contains(&stands), "{}", refused.stderr);
    estate.run(&["abort", &number.to_string(), "--yes"]).ok();
    estate.psql(
        "pg1",
        &format!("DROP POLICY twice ON {schema}.docs; DROP FUNCTION {schema}.mine(text)"),
    );
    // One that fits as well as the other.
    for (role, arguments) in
        [("bob", "who text, strict boolean DEFAULT true"), ("alice", "who text")]
    {
        let may = format!(
            "FUNCTION {schema}.sure({arguments}) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true'"
        );
        estate.psql("pg1", &format!("SET ROLE {role}; CREATE {may}"));
        if role == "bob" {
            estate.psql(
                "pg1",
                &format!(
                    "SET ROLE bob; CREATE POLICY sure ON {schema}.docs USING ({schema}.sure(owner))"
                ),
            );
        }
    }
    let refused = estate.run(&MOVE);
    number += 1;
    let hint = "which two of that name fit: give one of them another name where the shard is";
    assert!(refused.stderr.contains(hint), "{}", refused.stderr);
    estate.run(&["abort", &number.to_string(), "--yes"]).ok();
    estate.psql("pg1", &format!("DROP FUNCTION {schema}.sure(text)"));
    estate.run(&MOVE).ok();
}
