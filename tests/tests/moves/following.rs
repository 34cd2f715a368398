//! Whom a node is when it follows another, what is known of its secret, and with whose rights
//! what comes is written.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use shardid_tests::estate::{DATABASE, Estate, Writer, schema};
use shardid_tests::program::Run;
use shardid_tests::{Builder, crowded, wait_until};

use crate::shared;

/// The operator's own password, which no server has to know.
const PASSWORD: &str = "swordfish";

/// Two nodes that ask everybody for a password but the superuser of the tests.
fn estate(more: impl Fn(Builder) -> Builder + Sync) -> Estate {
    let estate = Estate::start_with(2, 4, |_, builder| {
        more(builder.conf("wal_retrieve_retry_interval = '500ms'"))
    });
    for node in estate.nodes() {
        let file = estate.node(&node).data().join("pg_hba.conf");
        let rules = fs::read_to_string(&file).expect("the data folder is ours");
        let first = "host all postgres all trust\nhost all all all scram-sha-256\n";
        fs::write(&file, format!("{first}{rules}")).expect("it is ours");
        estate.psql(
            &node,
            &format!("SET debug_print_parse = off; CREATE ROLE operator LOGIN SUPERUSER PASSWORD '{PASSWORD}'; SELECT pg_reload_conf()"),
        );
    }
    estate.declare(4, |_, url| url.replace("postgres@", "operator:${SECRET}@"));
    estate
}

fn run(estate: &Estate, arguments: &[&str]) -> Run {
    let mut command = estate.command(arguments);
    command.env("SECRET", PASSWORD);
    shardid_tests::program::run(command)
}

/// The password in a subscription on a node.
fn secret(estate: &Estate, node: &str) -> String {
    let way_in = estate.psql(node, "SELECT DISTINCT subconninfo FROM pg_subscription");
    let (_, secret) = way_in.split_once("password=").expect("there is a password");
    secret.split('&').next().expect("and nothing else").replace("%2D", "-").replace("%5F", "_")
}

/// The role by which pg1 follows pg2.
const FOLLOWER: &str = "SELECT rolname FROM pg_roles WHERE rolname LIKE 'shardid/pg1/%'";

#[test]
fn no_secret_lands_where_others_read_it() {
    let estate = estate(|builder| {
        builder
            .conf("shared_preload_libraries = 'auto_explain, pg_stat_statements'")
            .conf("pg_stat_statements.track = 'all'")
            .conf("auto_explain.log_min_duration = 0")
            .conf("auto_explain.log_nested_statements = on")
            .conf("log_min_duration_statement = 0")
            .conf("log_statement = 'all'")
            .conf("log_error_verbosity = 'verbose'")
            .conf("debug_print_parse = on")
            .conf("logging_collector = on")
            .conf("log_destination = 'stderr,csvlog,jsonlog'")
            .conf("track_activity_query_size = '64kB'")
    });
    for node in estate.nodes() {
        estate.psql(&node, "CREATE EXTENSION pg_stat_statements");
    }
    estate.make_tables(0);
    let mut said = Vec::new();
    let mut secrets = vec![PASSWORD.to_owned()];
    let mut do_it = |arguments: &[&str]| {
        let run = run(&estate, arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
        said.push(run.stdout + &run.stderr);
    };
    let held = {
        let mut command = estate.command(&["move", "0", "--to", "pg2", "--yes"]);
        command.env("SECRET", PASSWORD).env("SHARDID_CUT_AT", "following/before-AwaitClose");
        shardid_tests::program::run(command)
    };
    assert_eq!(held.code, -1, "{}", held.stderr);
    secrets.push(secret(&estate, "pg2"));
    do_it(&["resume", "1"]);
    secrets.push(secret(&estate, "pg1"));
    do_it(&["apply", "--new-secrets", "--yes"]);
    secrets.push(secret(&estate, "pg1"));
    assert_ne!(secrets[2], secrets[3], "a new one is another");
    assert!(secrets.iter().skip(1).all(|secret| secret.len() == 43), "{secrets:?}");
    do_it(&["rollback", "1", "--yes"]);
    for text in said {
        assert!(secrets.iter().all(|secret| !text.contains(secret)), "{text}");
    }
    for node in estate.nodes() {
        let mut found = estate.psql(&node, "SELECT query FROM pg_stat_statements");
        assert!(found.contains("set_config"), "it looks at the statements of {node}");
        found.push_str(&estate.psql(&node, "SELECT query FROM pg_stat_activity"));
        let server = estate.node(&node);
        found.push_str(&server.log());
        let mut files = 0;
        for file in fs::read_dir(server.data().join("log")).expect("the collector writes there") {
            let text = fs::read(file.expect("it can be read").path()).expect("it is ours");
            found.push_str(&String::from_utf8_lossy(&text));
            files += 1;
        }
        assert!(
            files >= 3 && found.contains("pg_stat_statements.track_utility"),
            "it looks at the logs of {node}"
        );
        for secret in &secrets {
            let line = found
                .lines()
                .find(|line| line.contains(secret) && !line.contains("CREATE ROLE operator"));
            assert_eq!(line, None, "known on {node}");
        }
    }
}

#[test]
fn what_the_operator_is_and_has_is_nothing_to_those_who_follow() {
    let estate = estate(|builder| builder);
    estate.make_tables(0);
    // Several at once find one secret, and all go on with it.
    for shard in ["0-1", "2-3"] {
        let node = if shard == "0-1" { "pg2" } else { "pg1" };
        run(&estate, &["move", shard, "--to", node, "--parallel", "2", "--yes"]).ok();
    }
    for node in estate.nodes() {
        let found = estate.psql(
            &node,
            "SELECT DISTINCT subconninfo ~ '(swordfish|operator|postgres@)', subconninfo ~ 'user=shardid%2F' FROM pg_subscription",
        );
        assert_eq!(found, "f|t", "the way in of {node}");
        estate.psql(&node, "ALTER ROLE operator PASSWORD 'herring'");
        estate.node(&node).restart();
    }
    estate.declare(4, |_, url| url);
    let all = ["rollback", "--all", "--yes"];
    run(&estate, &all).ok();
    assert_eq!(estate.home(0), "pg1");
    estate.assert_no_streams();
}

#[test]
fn a_follower_that_is_not_let_in_is_told_at_once_and_mended_by_apply() {
    let estate = estate(|builder| builder);
    estate.make_tables(0);
    run(&estate, &["move", "0", "--to", "pg2", "--yes"]).ok();
    let follower = estate.psql("pg2", FOLLOWER);
    let quiet = run(&estate, &["plan"]).ok();
    assert!(quiet.contains("nothing to do"), "{quiet}");
    for fault in ["PASSWORD 'another'", "PASSWORD NULL", "NOLOGIN", "NOREPLICATION"] {
        estate.psql("pg2", &format!("ALTER ROLE \"{follower}\" {fault}"));
        // It is noticed before anything has broken.
        let plan = run(&estate, &["plan"]).ok();
        assert!(
            plan.contains("~ pg1: connect shardid_back_1 anew")
                || plan.contains("+ pg2: let pg1 follow"),
            "{fault}: {plan}"
        );
        estate.node("pg1").restart();
        wait_until(Duration::from_secs(30), "the stream to have no reader", || {
            let sql = "SELECT active FROM pg_replication_slots WHERE slot_name = 'shardid_back_1'";
            estate.psql("pg2", sql) == "f"
        });
        let began = Instant::now();
        let moves = run(&estate, &["moves"]).stderr;
        assert!(moves.contains("move 1: pg1 cannot connect to pg2: "), "{fault}: {moves}");
        assert!(moves.contains("`shardid apply`"), "{fault}: {moves}");
        let refused = run(&estate, &["rollback", "1", "--yes"]).refused();
        assert!(
            refused.contains("node pg1 cannot connect to node pg2 to follow it: "),
            "{refused}"
        );
        assert!(refused.contains("hint: `shardid apply`"), "{refused}");
        assert!(
            began.elapsed() < crowded(Duration::from_secs(40)),
            "{fault}: {:?}",
            began.elapsed()
        );
        assert_eq!(estate.last_move(0), "1", "nothing was begun");
        run(&estate, &["apply", "--yes"]).ok();
        let nothing = run(&estate, &["plan"]).ok();
        assert!(nothing.contains("nothing to do"), "{fault}: {nothing}");
        wait_until(Duration::from_secs(30), "the old copy to follow", || {
            !run(&estate, &["moves"]).stderr.contains("does not follow")
        });
    }
    // While it goes back, too.
    let mut command = estate.command(&["rollback", "1", "--yes"]);
    command.env("SECRET", PASSWORD).env("SHARDID_CUT_AT", "following/before-AwaitClose");
    assert_eq!(shardid_tests::program::run(command).code, -1);
    estate.psql("pg2", &format!("ALTER ROLE \"{follower}\" PASSWORD NULL"));
    estate.node("pg1").restart();
    let began = Instant::now();
    let stands = run(&estate, &["resume", "2"]);
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    assert!(stands.stderr.contains("cannot connect to node pg2"), "{}", stands.stderr);
    assert!(began.elapsed() < crowded(Duration::from_secs(60)), "{:?}", began.elapsed());
    run(&estate, &["apply", "--yes"]).ok();
    run(&estate, &["resume", "2"]).ok();
    estate.assert_no_trace(0);
    estate.assert_no_streams();
}

#[test]
fn a_role_that_others_have_a_part_in_is_made_anew() {
    let estate = estate(|builder| builder);
    estate.psql("pg1", "CREATE ROLE intruder");
    let follower =
        estate.psql("pg1", "SELECT rolname FROM pg_roles WHERE rolname LIKE 'shardid/pg2/%'");
    for part in [
        format!("GRANT \"{follower}\" TO intruder"),
        format!("GRANT pg_write_all_data TO \"{follower}\""),
        format!("ALTER ROLE \"{follower}\" SUPERUSER"),
        format!("ALTER ROLE \"{follower}\" CREATEROLE"),
        format!("ALTER ROLE \"{follower}\" VALID UNTIL '2020-01-01'"),
        format!("REVOKE pg_read_all_data FROM \"{follower}\""),
        format!("ALTER ROLE \"{follower}\" RESET ALL"),
        format!(
            "ALTER ROLE \"{follower}\" IN DATABASE app SET restrict_nonsystem_relation_kind = ''"
        ),
    ] {
        estate.psql("pg1", &part);
        let plan = run(&estate, &["plan"]).ok();
        assert!(plan.contains("+ pg1: let pg2 follow, by a role for each"), "{part}: {plan}");
        run(&estate, &["apply", "--yes"]).ok();
        let plan = run(&estate, &["plan"]).ok();
        assert!(plan.contains("nothing to do"), "{part}: {plan}");
    }
    // What it owns would run with its rights; nothing of it is dropped.
    estate.psql("pg1", &format!("CREATE FUNCTION public.f() RETURNS int LANGUAGE sql SECURITY DEFINER RETURN 1; ALTER FUNCTION public.f() OWNER TO \"{follower}\""));
    let refused = run(&estate, &["apply", "--yes"]).refused();
    assert!(
        refused.contains("owner of function public.f()") && refused.contains("REASSIGN OWNED BY"),
        "{refused}"
    );
    estate.psql("pg1", "ALTER FUNCTION public.f() OWNER TO intruder");
    run(&estate, &["apply", "--yes"]).ok();
    // None at all: a move says so first.
    estate.psql("pg1", &format!("DROP OWNED BY \"{follower}\"; DROP ROLE \"{follower}\""));
    for arguments in
        [&["move", "0", "--to", "pg2", "--yes"][..], &["move", "0", "--to", "pg2", "--dry-run"]]
    {
        let refused = run(&estate, arguments).refused();
        assert!(
            refused.contains("node pg1: there is no role by which node pg2 may follow it"),
            "{refused}"
        );
        assert!(refused.contains("hint: `shardid apply` makes it"), "{refused}");
    }
    assert_eq!(estate.last_move(0), "");
}

/// As whom a node reads another runs no function of a view.
#[test]
fn a_role_that_follows_reads_no_view() {
    let estate = estate(|builder| builder);
    estate.make_tables(0);
    run(&estate, &["move", "0", "--to", "pg2", "--yes"]).ok();
    let follower = estate.psql("pg2", FOLLOWER);
    estate.psql("pg2", "CREATE VIEW public.seen AS SELECT 1 AS n; GRANT SELECT ON public.seen TO PUBLIC; ALTER DATABASE app SET restrict_nonsystem_relation_kind = ''");
    let mut client = estate.node("pg2").connect_as(DATABASE, &follower);
    let refused = client.batch_execute("SELECT n FROM public.seen").expect_err("it is a view");
    let said = format!("{refused:?}");
    assert!(said.contains("access to non-system view"), "{said}");
    // One of an earlier program does not go on with a copy.
    let other = "SELECT rolname FROM pg_roles WHERE rolname LIKE 'shardid/pg2/%'";
    let follower = estate.psql("pg1", other);
    estate.psql("pg1", &format!("ALTER ROLE \"{follower}\" RESET ALL"));
    for more in ["--yes", "--dry-run"] {
        let refused = run(&estate, &["move", "1", "--to", "pg2", more]).refused();
        assert!(
            refused.contains(&format!(
                "role {follower}, by which node pg2 would follow it, has not the settings that it needs: "
            )),
            "{refused}"
        );
        assert!(refused.contains("hint: `shardid apply` makes it anew"), "{refused}");
    }
    run(&estate, &["apply", "--yes"]).ok();
    run(&estate, &["move", "1", "--to", "pg2", "--yes"]).ok();
}

/// A server's limit of a statement ended each copy of a table that takes longer.
#[test]
fn no_limit_of_time_that_a_database_sets_ends_a_copy() {
    let (estate, schema) = (Estate::start(2, 2), schema(0));
    // Both sides are at it for seconds: what is sent does not lie between them.
    estate.psql(
        "pg1",
        &format!(
            "CREATE TABLE {schema}.large (id int PRIMARY KEY, what text);
         INSERT INTO {schema}.large SELECT n, repeat('x', 900) FROM generate_series(1, 60000) AS n;
         CREATE FUNCTION {schema}.slow() RETURNS boolean LANGUAGE plpgsql
            AS 'BEGIN PERFORM pg_sleep(0.1); RETURN true; END';
         ALTER TABLE {schema}.large
            ADD CHECK (CASE id % 2000 WHEN 0 THEN {schema}.slow() ELSE true END)"
        ),
    );
    let limits = estate.psql(
        "pg1",
        "SELECT name FROM pg_settings WHERE context = 'user' AND unit = 'ms' AND category = 'Client Connection Defaults / Statement Behavior'",
    );
    assert!(limits.contains("statement_timeout"), "{limits}");
    for node in ["pg1", "pg2"] {
        for limit in limits.lines() {
            estate.psql(node, &format!("ALTER DATABASE app SET {limit} = '1s'"));
        }
    }
    for jobs in ["1", "2"] {
        estate.run(&["move", "0", "--to", "pg2", "--yes", "--jobs", jobs]).ok();
        let rows = format!("SET statement_timeout = 0; SELECT count(*) FROM {schema}.large");
        assert_eq!(estate.psql("pg2", &rows), "60000");
        estate.run(&["rollback", &estate.last_move(0), "--yes"]).ok();
    }
}

#[test]
fn a_program_that_is_no_superuser_is_told_that_it_can_move_nothing() {
    let estate = estate(|builder| builder);
    estate.psql(
        "pg2",
        "ALTER ROLE operator NOSUPERUSER; GRANT pg_read_all_data, pg_write_all_data TO operator",
    );
    let plan = run(&estate, &["plan"]).ok();
    assert!(plan.contains("note: node pg2 cannot be followed"), "{plan}");
    let refused = run(&estate, &["move", "0", "--to", "pg2", "--yes"]).refused();
    assert!(refused.contains("role operator is not a superuser"), "{refused}");
    // Nor is anything looked at that only one may see.
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg2").expect("it has some");
    let refused = run(&estate, &["move", &shard.to_string(), "--to", "pg1", "--yes"]).refused();
    assert!(refused.contains("node pg2: role operator is not a superuser"), "{refused}");
    assert!(!refused.contains("permission denied"), "{refused}");
}

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

#[test]
fn a_publication_of_somebody_else_is_not_taken_for_the_moves() {
    let estate = estate(|builder| builder);
    estate.make_tables(0);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE mal NOLOGIN; GRANT CREATE ON DATABASE app TO mal; SET ROLE mal; CREATE PUBLICATION shardid_move_999999999999; CREATE PUBLICATION shardid_move_12");
    }
    // Of what others have made, those numbers count that there can be.
    estate.psql("pg1", "SET ROLE mal; CREATE PUBLICATION shardid_move_13");
    let stands = run(&estate, &["move", "0", "--to", "pg2", "--yes", "--verify", "none"]);
    assert_eq!(stands.code, 0, "{}", stands.stderr);
    assert_eq!(estate.last_move(0), "14");
    run(&estate, &["rollback", "14", "--yes"]).ok();
    // One that comes between is named.
    let mut cut = estate.command(&["move", "0", "--to", "pg2", "--yes", "--verify", "none"]);
    cut.env("SECRET", PASSWORD).env("SHARDID_CUT_AT", "copying/before-Publish");
    shardid_tests::program::run(cut);
    let id = estate.last_move(0);
    estate.psql("pg1", &format!("SET ROLE mal; CREATE PUBLICATION shardid_move_{id}"));
    let stands = run(&estate, &["resume", &id]);
    assert!(
        stands.stderr.contains(&format!("role mal has made a publication shardid_move_{id}")),
        "{}",
        stands.stderr
    );
    estate.psql("pg1", &format!("ALTER PUBLICATION shardid_move_{id} RENAME TO mine"));
    run(&estate, &["resume", &id]).ok();
}

/// A dump's list of contents has a line for each object.
#[test]
fn a_name_with_a_line_break_is_refused() {
    let (estate, shard) = (shared::estate(), shared::shard());
    let schema = schema(shard);
    estate.psql("pg1", &format!("CREATE TABLE {schema}.\"two\nlines\" (id bigint PRIMARY KEY)"));
    let refused = estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).refused();
    assert!(refused.contains("has a line break in its name"), "{refused}");
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

/// The role of a stream may write to all tables of the shard, whoever owns them: only rows that come are.
#[test]
fn what_rows_of_a_stream_meet_writes_to_no_table_of_the_shard() {
    let estate = Estate::start(2, 4);
    let schema = schema(0);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE one; CREATE ROLE two");
    }
    let tries = [
        "INSERT INTO @.of_two VALUES (100)",
        "UPDATE @.of_two SET id = id + 1000",
        "DELETE FROM @.of_two",
        "TRUNCATE @.of_two",
        "INSERT INTO @.parted VALUES (100)",
        "TRUNCATE @.parted",
        "WITH gone AS (DELETE FROM @.of_two RETURNING id) INSERT INTO @.parted SELECT id FROM gone",
    ];
    let tries: Vec<String> = tries.iter().map(|it| it.replace('@', &schema)).collect();
    let each = tries
        .iter()
        .map(|statement| format!("BEGIN {statement}; EXCEPTION WHEN others THEN NULL; END;"));
    estate.psql(
        "pg1",
        &format!(
            "GRANT ALL ON SCHEMA {schema} TO one, two; SET ROLE two;
             CREATE TABLE {schema}.of_two (id int PRIMARY KEY); INSERT INTO {schema}.of_two VALUES (1), (2);
             CREATE TABLE {schema}.parted (id int PRIMARY KEY) PARTITION BY RANGE (id);
             CREATE TABLE {schema}.part PARTITION OF {schema}.parted DEFAULT; INSERT INTO {schema}.parted VALUES (1), (2);
             SET ROLE one;
             CREATE FUNCTION {schema}.writes() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN {} RETURN true; END $$;
             CREATE TABLE {schema}.of_one (id int PRIMARY KEY, CHECK ({schema}.writes())); RESET ROLE;
             -- It may be called by whoever writes, who may not write there.
             GRANT USAGE ON SCHEMA {schema} TO PUBLIC; SET ROLE one; INSERT INTO {schema}.of_one VALUES (1)",
            each.collect::<String>()
        ),
    );
    let rows = format!(
        "SELECT (SELECT string_agg(id::text, ' ') FROM {schema}.of_two), (SELECT string_agg(id::text, ' ') FROM {schema}.parted)"
    );
    let assert_unwritten = |node: &str| {
        wait_until(Duration::from_secs(60), "the row to come", || {
            let both = "SELECT (SELECT count(*) FROM @.of_one) = (SELECT max(id) FROM @.of_one)";
            estate.psql(node, &both.replace('@', &schema)) == "t"
        });
        assert_eq!(estate.psql(node, &rows), "1 2|1 2", "{node}");
    };
    // By a worker that copies, and by one that follows.
    let mut held =
        estate.run_held("following/before-Compare", &["move", "0", "--to", "pg2", "--yes"]);
    assert_unwritten("pg2");
    estate.psql("pg1", &format!("SET ROLE one; INSERT INTO {schema}.of_one VALUES (2)"));
    wait_until(Duration::from_secs(60), "a row to come", || {
        estate.psql("pg2", &format!("SELECT count(*) FROM {schema}.of_one")) == "2"
    });
    assert_unwritten("pg2");
    held.go_on();
    let moved = held.end();
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    // And on the way back. What comes as a TRUNCATE is none of that.
    estate.psql("pg2", &format!("SET ROLE one; INSERT INTO {schema}.of_one VALUES (3)"));
    wait_until(Duration::from_secs(60), "a row to come back", || {
        estate.psql("pg1", &format!("SELECT count(*) FROM {schema}.of_one")) == "3"
    });
    assert_unwritten("pg1");
    estate.psql(
        "pg2",
        &format!(
            "TRUNCATE {schema}.parted, {schema}.of_two; INSERT INTO {schema}.of_two VALUES (7)"
        ),
    );
    wait_until(Duration::from_secs(60), "TRUNCATE to come back", || {
        estate.psql("pg1", &format!("SELECT (SELECT max(id) FROM {schema}.of_two), (SELECT count(*) FROM {schema}.parted)")) == "7|0"
    });
    estate.run(&["rollback", "1", "--yes"]).ok();
    // Where it is not caught, it is said what is not done.
    estate.psql("pg1", &format!("CREATE OR REPLACE FUNCTION {schema}.writes() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN IF current_user ~ '^shardid_' THEN DELETE FROM {schema}.of_two; END IF; RETURN true; END $$"));
    let stands = estate.run(&["move", "0", "--to", "pg2", "--yes"]);
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    assert!(stands.stderr.contains("replication has failed"), "{}", stands.stderr);
    let log = estate.node("pg2").log();
    assert!(log.contains("cannot execute DELETE in a read-only transaction"), "{log}");
}

/// By such a thing it would be at work where rows of others are written, or when they have long been.
#[test]
fn what_rows_of_a_stream_meet_leaves_nothing_behind() {
    // Large transactions are sent before they end, and from 18 on applied by another worker.
    let estate = Estate::start_with(2, 4, |_, builder| {
        builder
            .conf("logical_decoding_work_mem = '64kB'")
            .conf("wal_retrieve_retry_interval = '500ms'")
    });
    let schema = schema(0);
    for node in estate.nodes() {
        estate.psql(
            &node,
            "CREATE ROLE one; CREATE SCHEMA open; GRANT ALL ON SCHEMA open TO PUBLIC; CREATE TABLE open.written (); GRANT ALL ON open.written TO PUBLIC",
        );
    }
    // What it says where it comes, before the move and after it, and what is said of that.
    let changed = |name: &str| format!("a function has changed setting \"{name}\" while rows come");
    let refused =
        |statement: &str| format!("cannot execute {statement} in a read-only transaction");
    let all = [
        ("SELECT set_config('array_nulls', 'off', false)", changed("array_nulls")),
        ("SELECT set_config('search_path', 'open', true)", changed("search_path")),
        ("SELECT set_config('made.up', 'on', false)", changed("made.up")),
        // Rows of others may come in between.
        ("DO 'BEGIN SET array_nulls = off; RESET array_nulls; END'", changed("array_nulls")),
        (
            "SELECT set_config('plpgsql.check_asserts', 'off', false)",
            changed("plpgsql.check_asserts"),
        ),
        ("SET default_transaction_read_only = off", changed("default_transaction_read_only")),
        (
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
            changed("default_transaction_read_only"),
        ),
        (
            "SET TRANSACTION READ WRITE",
            "transaction read-write mode must be set before any query".to_owned(),
        ),
        ("ALTER ROLE @ SET array_nulls = off", refused("ALTER ROLE")),
        ("ALTER ROLE @ PASSWORD 'mine'", refused("ALTER ROLE")),
        (
            "CREATE FUNCTION open.whose() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT current_user::text'",
            refused("CREATE FUNCTION"),
        ),
        ("INSERT INTO open.written DEFAULT VALUES", refused("INSERT")),
        ("CREATE TEMPORARY TABLE made (id int)", refused("CREATE TABLE")),
    ];
    let make = format!(
        "CREATE OR REPLACE FUNCTION {schema}.does(what text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN IF current_user ~ '^shardid_' THEN EXECUTE replace(what, '@', current_user); END IF; RETURN true; END $$"
    );
    let unmake = format!(
        "CREATE OR REPLACE FUNCTION {schema}.does(what text) RETURNS boolean LANGUAGE sql AS 'SELECT true'"
    );
    estate.psql(
        "pg1",
        &format!(
            "GRANT ALL ON SCHEMA {schema} TO one; SET ROLE one; {make};
             CREATE TABLE {schema}.t (id int PRIMARY KEY, what text CHECK ({schema}.does(what)));
             INSERT INTO {schema}.t VALUES (0, 'SELECT')"
        ),
    );
    // It comes with what follows, on both ways.
    let mut id = 1;
    let mut assert_refused = |to: &str, from: Option<&str>, (what, words): &(&str, String)| {
        let seen = estate.node(to).log().len();
        if let Some(from) = from {
            id += 1;
            let insert = format!("INSERT INTO {schema}.t VALUES ({id}, {})", literal(what));
            estate.psql(from, &insert);
        }
        wait_until(Duration::from_secs(60), &format!("{words} ({what})"), || {
            estate.node(to).log()[seen..].contains(words.as_str())
        });
        assert_eq!(
            estate.psql(to, &format!("SELECT count(*) FROM {schema}.t WHERE id = {id}")),
            "0",
            "{what}"
        );
        estate.psql(to, &unmake);
        wait_until(Duration::from_secs(60), "the row to come", || {
            estate.psql(to, &format!("SELECT count(*) FROM {schema}.t WHERE id = {id}")) == "1"
        });
        estate.psql(to, &make);
    };
    let mut held =
        estate.run_held("following/before-Compare", &["move", "0", "--to", "pg2", "--yes"]);
    for it in &all {
        assert_refused("pg2", Some("pg1"), it);
    }
    held.go_on();
    let moved = held.end();
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    for it in &all {
        assert_refused("pg1", Some("pg2"), it);
    }
    for node in estate.nodes() {
        assert_eq!(estate.psql(&node, "SELECT count(*) FROM open.written"), "0", "{node}");
    }
    estate.run(&["rollback", "1", "--yes"]).ok();
    // Settings that an administrator has made, by names that nobody has reserved as well, are not what is refused.
    for node in estate.nodes() {
        estate.psql(&node, &format!("ALTER DATABASE {DATABASE} SET made.up = 'on'; ALTER DATABASE {DATABASE} SET array_nulls = off"));
    }
    estate.psql(
        "pg1",
        &format!("DELETE FROM {schema}.t; INSERT INTO {schema}.t VALUES (0, 'SELECT')"),
    );
    let many = "INSERT INTO @.t SELECT 1000 + g, 'SELECT' FROM generate_series(1, 5000) g";
    estate.psql(
        "pg1",
        &format!(
            "CREATE FUNCTION {schema}.more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {}; RETURN NULL; END $$;
             CREATE TRIGGER more AFTER INSERT ON {schema}.t FOR EACH ROW WHEN (NEW.what ~ 'made') EXECUTE FUNCTION {schema}.more()",
            many.replace('@', &schema)
        ),
    );
    let mut held =
        estate.run_held("following/before-Compare", &["move", "0", "--to", "pg2", "--yes"]);
    // Of the same length, and with many rows.
    assert_refused(
        "pg2",
        Some("pg1"),
        &("SELECT set_config('made.up', 'up', false)", changed("made.up")),
    );
    held.go_on();
    let moved = held.end();
    assert_eq!(moved.code, 0, "{}", moved.stderr);
    // It comes with the copy.
    estate.run(&["rollback", "3", "--yes"]).ok();
    let seen = estate.node("pg2").log().len();
    let stands = estate.run(&["move", "0", "--to", "pg2", "--yes"]);
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    assert!(stands.stderr.contains("replication has failed"), "{}", stands.stderr);
    assert!(estate.node("pg2").log()[seen..].contains(&changed("made.up")));
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Whose table it is, and how its rows come to what others have written: nothing that they meet has more rights than the stream.
#[test]
fn whatever_rows_of_a_stream_meet_has_the_rights_of_its_role() {
    let estate = estate(|builder| builder);
    let schema = schema(0);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE tenant; CREATE ROLE maint IN ROLE tenant");
    }
    let is_17 = estate.psql("pg1", "SELECT current_setting('server_version_num')::int >= 170000");
    // PostgreSQL notes no dependency of that.
    let returning = match is_17.as_str() {
        "t" => format!(
            "CREATE TABLE {schema}.queried (id int PRIMARY KEY CHECK (JSON_VALUE('1', '$' RETURNING {schema}.word) IS NOT NULL));"
        ),
        _ => String::new(),
    };
    estate.psql(
        "pg1",
        &format!(
            "GRANT ALL ON SCHEMA {schema} TO tenant; SET ROLE tenant;
             CREATE FUNCTION {schema}.ok(text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
                 IF EXISTS (SELECT FROM pg_stat_activity WHERE pid = pg_backend_pid() AND backend_type LIKE 'logical replication%worker')
                    AND current_user !~ '^shardid_(move|back)_[0-9]+$' THEN
                     RAISE 'run as %', current_user;
                 END IF;
                 RETURN true;
             END $$;
             CREATE DOMAIN {schema}.word AS text CHECK ({schema}.ok(VALUE));
             CREATE TYPE {schema}.pair AS (a {schema}.word, b int);
             CREATE OPERATOR {schema}.=# (FUNCTION = {schema}.ok, RIGHTARG = text);
             CREATE TABLE {schema}.whole (id int CHECK ({schema}.ok(id::text)), n int, PRIMARY KEY (id, n)) PARTITION BY LIST (n);
             CREATE TABLE {schema}.mine (id int PRIMARY KEY CHECK ({schema}.ok(id::text)));
             RESET ROLE;
             CREATE TABLE {schema}.part PARTITION OF {schema}.whole FOR VALUES IN (1);
             CREATE TABLE {schema}.part_too PARTITION OF {schema}.whole FOR VALUES IN (2);
             ALTER TABLE {schema}.part_too OWNER TO maint;
             CREATE TABLE {schema}.checked (id int PRIMARY KEY CHECK ({schema}.ok(id::text)));
             CREATE TABLE {schema}.worded (id int PRIMARY KEY, w {schema}.word[] DEFAULT '{{a}}');
             CREATE TABLE {schema}.paired (id int PRIMARY KEY, p {schema}.pair DEFAULT '(a,1)');
             CREATE TABLE {schema}.indexed (id int PRIMARY KEY, n text DEFAULT 'a');
             CREATE INDEX ON {schema}.indexed (n) WHERE {schema}.ok(n);
             CREATE TABLE {schema}.made (id int PRIMARY KEY, b boolean GENERATED ALWAYS AS ({schema}.ok(id::text)) STORED);
             CREATE TABLE {schema}.sorted (id int PRIMARY KEY, CHECK (OPERATOR({schema}.=#) id::text)); {returning}
             ALTER TABLE {schema}.sorted OWNER TO maint"
        ),
    );
    let tables = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = '{}'::regnamespace AND NOT relispartition";
    let tables = estate.psql("pg1", &tables.replace("{}", &schema));
    let write = |node: &str, id: i32| {
        for table in tables.split(' ') {
            let (columns, values) = match table {
                "whole" => ("(id, n)", format!("({id}, 1), ({id}, 2)")),
                _ => ("(id)", format!("({id})")),
            };
            estate.psql(node, &format!("INSERT INTO {schema}.{table} {columns} VALUES {values}"));
        }
    };
    write("pg1", 1);
    run(&estate, &["move", "0", "--to", "pg2", "--yes"]).ok();
    write("pg2", 2);
    run(&estate, &["rollback", "1", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &format!("SELECT count(*) FROM {schema}.whole")), "4");
}

#[test]
fn what_somebody_did_to_a_copy_is_said_with_its_node_and_the_very_command() {
    let estate = shared::estate();
    let shard = shared::shard();
    estate.make_tables(shard);
    estate
        .run_cut("following/before-Compare", &["move", &shard.to_string(), "--to", "pg2", "--yes"]);
    let id = estate.last_move(shard);
    let resume = || estate.run(&["resume", &id]).stderr;
    let schema = schema(shard);
    estate.psql("pg2", &format!("ALTER TABLE {schema}.item ADD extra int"));
    let said = resume();
    assert!(said.contains(&format!("node pg2: schema {schema} was changed")), "{said}");
    let stream = format!("shardid_move_{id}");
    estate.psql("pg2", &format!("ALTER SUBSCRIPTION {stream} DISABLE"));
    let free = format!("SELECT NOT active FROM pg_replication_slots WHERE slot_name = '{stream}'");
    wait_until(Duration::from_secs(20), "the slot to be free", || estate.psql("pg1", &free) == "t");
    let said = resume();
    assert!(said.contains(&format!("node pg2: subscription {stream} is disabled")), "{said}");
    assert!(said.contains(&format!("`ALTER SUBSCRIPTION {stream} ENABLE;` there")), "{said}");
    estate.psql("pg1", &format!("SELECT pg_drop_replication_slot('{stream}')"));
    // As where the source was restored.
    let said = resume();
    assert!(said.contains("where somebody has dropped the slot, nothing is lost"), "{said}");
    assert!(said.contains(&format!("`shardid abort {id} --accept-loss`")), "{said}");
    let refused = estate.run(&["abort", &id, "--yes"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    estate.run(&["abort", &id, "--yes", "--accept-loss"]).ok();
    estate.assert_no_trace(shard);
}

/// A new one began behind what was written meanwhile, and the shard opened without that where its rows
/// were not compared.
#[test]
fn a_copy_whose_slot_is_lost_while_it_is_copied_is_given_up() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let number = shard.to_string();
    estate.run_cut("copying/before-AwaitCopy", &["move", &number, "--to", "pg2", "--yes"]);
    let id = estate.last_move(shard);
    let stream = format!("shardid_move_{id}");
    let end = format!(
        "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{stream}' AND active"
    );
    let lost = format!(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{stream}' AND NOT active"
    );
    estate.psql("pg2", &format!("ALTER SUBSCRIPTION {stream} DISABLE"));
    wait_until(Duration::from_secs(20), "the slot to be lost", || {
        estate.psql("pg1", &end);
        estate.psql("pg1", &lost);
        estate.psql(
            "pg1",
            &format!("SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{stream}'"),
        ) == "0"
    });
    estate.psql("pg2", &format!("ALTER SUBSCRIPTION {stream} ENABLE"));
    let said = estate.run(&["resume", &id, "--verify", "none"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    let says = format!(
        "the copy of shard {shard} on pg2 may have rows that node pg1 has lost: the replication slot is gone"
    );
    assert!(said.stderr.contains(&says), "{}", said.stderr);
    let instead = format!("`shardid abort {id} --accept-loss`");
    assert!(said.stderr.contains(&instead), "{}", said.stderr);
    estate.run(&["abort", &id, "--yes", "--accept-loss"]).ok();
    estate.assert_no_trace(shard);
}

/// A table whose copy began late is ahead of what the stream has applied to the others, so a row
/// was there without the one that it refers to, and the move failed at its foreign key.
#[test]
fn a_copy_that_is_ahead_of_the_stream_is_given_its_foreign_keys_when_the_stream_is_there_too() {
    const NEW_ONES: i64 = 1 << 40;
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let (number, schema) = (shard.to_string(), schema(shard));
    let first = Writer::begin(estate, shard, 0, Duration::from_millis(2));
    first.wait_for(10);
    let mut tally = first.end();
    let mut held = estate.run_held(
        "copying/before-Subscribe",
        &["move", &number, "--to", "pg2", "--verify", "none", "--yes"],
    );
    // The first copy of lines fails when the stream is behind with items, whose new ones take their time; the checks
    // are gone before the definitions are compared.
    estate.psql(
        "pg2",
        &format!(
            "CREATE SEQUENCE copies_of_{schema}; CREATE SEQUENCE goes_of_{schema};
             GRANT SELECT ON SEQUENCE copies_of_{schema}, goes_of_{schema} TO public;
             CREATE FUNCTION fails_of_{schema}() RETURNS boolean LANGUAGE plpgsql AS $$
               BEGIN
                 IF NOT (SELECT is_called FROM public.copies_of_{schema}) THEN
                   LOOP
                     PERFORM pg_sleep(0.1);
                     EXIT WHEN (SELECT is_called FROM public.copies_of_{schema});
                   END LOOP;
                   RAISE 'not yet';
                 END IF;
                 RETURN true;
               END $$;
             CREATE FUNCTION slow_of_{schema}(n bigint) RETURNS boolean LANGUAGE plpgsql AS $$
               BEGIN
                 IF n >= {NEW_ONES} AND NOT (SELECT is_called FROM public.goes_of_{schema}) THEN
                   PERFORM pg_sleep(0.1);
                 END IF;
                 RETURN true;
               END $$;
             ALTER TABLE {schema}.line ADD CONSTRAINT fails CHECK (fails_of_{schema}()) NOT VALID;
             ALTER TABLE {schema}.item ADD CONSTRAINT slow CHECK (slow_of_{schema}(n)) NOT VALID"
        ),
    );
    held.go_on();
    let states = format!(
        "SELECT string_agg(srsubstate::text, '' ORDER BY srrelid::regclass::text) FROM pg_subscription_rel
          WHERE srrelid IN ('{schema}.item'::regclass, '{schema}.line'::regclass)"
    );
    let wait_for = |wanted| {
        wait_until(Duration::from_secs(60), "items and lines to be copied as far", || {
            estate.psql("pg2", &states) == wanted
        });
    };
    wait_for("rd");
    let writer = Writer::begin(estate, shard, NEW_ONES, Duration::from_millis(2));
    writer.wait_for(400);
    estate.psql("pg2", &format!("SELECT nextval('copies_of_{schema}')"));
    wait_for("rs");
    estate.psql(
        "pg2",
        &format!("DROP FUNCTION fails_of_{schema}() CASCADE; DROP SEQUENCE copies_of_{schema}"),
    );
    // Here the foreign key was made.
    sleep(Duration::from_secs(2));
    tally.add(writer.end());
    estate.psql(
        "pg2",
        &format!("SELECT nextval('goes_of_{schema}'); DROP FUNCTION slow_of_{schema}(bigint) CASCADE; DROP SEQUENCE goes_of_{schema}"),
    );
    let run = held.end();
    assert_eq!(run.code, 0, "{}", run.stderr);
    estate.assert_whole(shard, &tally);
}
