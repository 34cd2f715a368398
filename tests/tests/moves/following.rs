//! Whom a node is when it follows another, what is known of its secret, and with whose rights
//! what comes is written.

use std::fs;
use std::time::{Duration, Instant};

use shardid_tests::estate::{DATABASE, Estate, schema};
use shardid_tests::program::Run;
use shardid_tests::{Builder, crowded, wait_until};

use crate::shared;

/// The operator's own password, which no server has to know.
pub(crate) const PASSWORD: &str = "swordfish";

/// Two nodes that ask everybody for a password but the superuser of the tests.
pub(crate) fn estate(more: impl Fn(Builder) -> Builder + Sync) -> Estate {
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

pub(crate) fn run(estate: &Estate, arguments: &[&str]) -> Run {
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
        refused.contains("owner of function public.f()") && refused.contains("RENAME TO"),
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
