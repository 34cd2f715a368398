//! What is looked at of two servers together before anything is made.

use std::fs;
use std::time::{Duration, Instant};

use shardid_tests::estate::Estate;
use shardid_tests::{Installation, crowded, wait_until};

/// Puts rules before those of a node for clients over TCP; the tests go by the socket.
fn let_in(estate: &Estate, node: &str, first: &str) {
    let file = estate.node(node).data().join("pg_hba.conf");
    let rules = fs::read_to_string(&file).expect("the data folder is ours");
    fs::write(&file, format!("{first}\n{rules}")).expect("it is ours");
    estate.psql(node, "SELECT pg_reload_conf()");
}

/// The program, with passwords where only the program looks.
fn run(estate: &Estate, arguments: &[&str]) -> shardid_tests::program::Run {
    let mut command = estate.command(arguments);
    command.env("PGPASSFILE", estate.folder().join("pgpass"));
    shardid_tests::program::run(command)
}

#[test]
fn nodes_that_do_not_reach_each_other_are_found_before_anything_is_made() {
    let estate = Estate::start(2, 4);
    estate.make_tables(0);
    for node in estate.nodes() {
        estate.psql(&node, "ALTER ROLE postgres PASSWORD 'a secret'");
        let_in(&estate, &node, "host all postgres all scram-sha-256\nhost all all all reject");
    }
    let file = estate.folder().join("pgpass");
    fs::write(&file, "*:*:*:*:a secret\n").expect("the folder is ours");
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("the file is ours");

    let moving = ["move", "0", "--to", "pg2", "--yes"];
    let refused = run(&estate, &moving).refused();
    for (from, to) in [("pg2", "pg1"), ("pg1", "pg2")] {
        let words = format!(
            "node {from} cannot reach node {to} at 127.0.0.1:{}/app: ",
            estate.node(to).port()
        );
        assert!(refused.contains(&words), "{words:?} is not in {refused}");
    }
    assert!(refused.contains("pg_hba.conf rejects connection"), "{refused}");
    assert!(refused.contains("let roles that begin with shardid/ in"), "{refused}");
    // Without the way back, one way is enough.
    let one = run(&estate, &[&moving[..], &["--no-rollback"]].concat()).refused();
    assert!(one.contains("node pg2 cannot reach node pg1"), "{one}");
    assert!(!one.contains("node pg1 cannot reach"), "{one}");
    // A dry run begins no transaction of its own on any server, and says so.
    let dry = run(&estate, &["move", "0", "--to", "pg2", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert!(
        dry.stderr.contains("not tried: whether the servers reach each other"),
        "{}",
        dry.stderr
    );
    estate.assert_no_streams();
    assert_eq!(estate.last_move(0), "");

    // Once each is let in, it moves, and back again: the program's own password is nothing to
    // the servers.
    for node in estate.nodes() {
        let_in(&estate, &node, "host all all all scram-sha-256");
    }
    run(&estate, &moving).ok();
    run(&estate, &["rollback", &estate.last_move(0), "--yes"]).ok();
    estate.assert_no_streams();
}

#[test]
fn a_password_is_in_no_log_of_a_server_that_cannot_use_it() {
    let estate = Estate::start_with(2, 4, |number, builder| match number {
        1 => builder.conf("max_wal_senders = 0"),
        _ => builder,
    });
    estate.declare(4, |_, url| url.replace("postgres@", "postgres:${SECRET}@"));
    let mut command = estate.command(&["move", "0", "--to", "pg2", "--yes"]);
    command.env("SECRET", "swordfish");
    let refused = shardid_tests::program::run(command).refused();
    assert!(refused.contains("node pg2 cannot reach node pg1"), "{refused}");
    assert!(!refused.contains("swordfish"), "{refused}");
    for node in estate.nodes() {
        assert!(!estate.node(&node).log().contains("swordfish"), "in the log of {node}");
    }
}

#[test]
fn a_target_without_room_refuses_where_it_can_tell() {
    let estate = Estate::start(2, 4);
    estate.make_tables(0);
    estate.make_tables(1);
    let size = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
                 WHERE relnamespace IN ('shard_0000'::regnamespace, 'shard_0001'::regnamespace) AND relkind = 'r'";
    let size: i64 = estate.psql("pg1", size).parse().expect("a size");
    let free = |bytes: i64| {
        estate.psql(
            "pg2",
            &format!("CREATE OR REPLACE FUNCTION public.shardid_free_bytes() RETURNS bigint LANGUAGE sql RETURN {bytes}::bigint"),
        );
    };
    free(size - 1);
    let refused = estate.run(&["move", "0-1", "--to", "pg2", "--yes"]).refused();
    assert!(
        refused.contains("node pg2 has 0 MB free, and the shards to be moved there take 1 MB"),
        "{refused}"
    );
    assert_eq!(estate.run(&["move", "0-1", "--to", "pg2", "--dry-run"]).code, 1);
    // The program is a superuser, and runs no function of anybody else's.
    estate.psql(
        "pg2",
        "CREATE ROLE intruder; ALTER FUNCTION public.shardid_free_bytes() OWNER TO intruder",
    );
    estate.run(&["move", "0-1", "--to", "pg2", "--dry-run"]).ok();
    estate.psql("pg2", "ALTER FUNCTION public.shardid_free_bytes() OWNER TO postgres");
    // And says that nothing of others is to be named in the place of what it looked at.
    estate.psql(
        "pg2",
        &format!("CREATE OR REPLACE FUNCTION public.shardid_free_bytes() RETURNS bigint LANGUAGE sql RETURN CASE current_setting('shardid.on_behalf_of', true) WHEN 'none' THEN {size} ELSE 0 END::bigint"),
    );
    estate.run(&["move", "0-1", "--to", "pg2", "--yes"]).ok();
}

#[test]
fn many_moves_are_refused_before_the_first_where_workers_would_run_out() {
    // PostgreSQL's own defaults.
    let estate = Estate::start_with(2, 12, |_, builder| {
        builder
            .conf("max_logical_replication_workers = 4")
            .conf("max_worker_processes = 8")
            .conf("max_replication_slots = 10")
            .conf("max_wal_senders = 10")
    });
    let drain = ["drain", "pg1", "--parallel", "6", "--yes"];
    let said = estate.run(&drain).refused();
    for problem in [
        "node pg1: max_logical_replication_workers is 4, of which 0 are taken, and this needs 6",
        "node pg1: max_replication_slots is 10, of which 0 are taken, and this needs 12",
        "node pg2: max_logical_replication_workers is 4, of which 0 are taken, and this needs 7",
        "ALTER SYSTEM SET max_logical_replication_workers = 7;",
    ] {
        assert!(said.contains(problem), "{problem}\n{said}");
    }
    assert_eq!(estate.psql("pg1", "SELECT count(*) FROM shardid.move"), "0");
    // As many as fit, and the others after those are retired.
    estate.run(&["move", "0-2", "--to", "pg2", "--parallel", "3", "--yes"]).ok();
    let said = estate.run(&["move", "3-4", "--to", "pg2", "--yes"]).refused();
    assert!(said.contains("workers is 4, of which 3 are taken, and this needs 2"), "{said}");
    estate.run(&["retire", "--all", "--yes"]).ok();
    estate.run(&["move", "3-4", "--to", "pg2", "--yes"]).ok();
}

/// Sets what only a start of the server changes.
fn set(estate: &Estate, node: &str, setting: &str, value: u32) {
    estate.psql(node, &format!("ALTER SYSTEM SET {setting} = {value}"));
    estate.node(node).restart();
}

/// Some of them were not to be had in the middle of moves.
#[test]
fn many_moves_are_refused_before_the_first_where_connections_would_run_out() {
    let estate = Estate::start_with(3, 36, |number, builder| match number {
        1 => builder.conf("max_connections = 20"),
        2 => builder.conf("max_connections = 21"),
        _ => builder,
    });
    // pg1 keeps the journal as well.
    let many = ["move", "0-5", "--to", "pg2", "--parallel", "6", "--yes"];
    let said = estate.run(&many).refused();
    for problem in [
        "node pg1: max_connections is 20, of which 3 are reserved and 0 taken, and this needs 30",
        "ALTER SYSTEM SET max_connections = 33; then restart the server; or `--parallel` less",
    ] {
        assert!(said.contains(problem), "{problem}\n{said}");
    }
    // Just enough, until somebody else has one.
    assert!(!said.contains("node pg2: max_connections"), "{said}");
    let other = estate.node("pg2").connect("app");
    let said = estate.run(&many).refused();
    let problem =
        "node pg2: max_connections is 21, of which 3 are reserved and 1 taken, and this needs 18";
    assert!(said.contains(problem), "{said}");
    assert!(said.contains("max_connections = 22;"), "{said}");
    drop(other);
    // The node of the journal takes part in moves between others.
    let others = ["move", "12-17", "--to", "pg3", "--parallel", "6", "--dry-run"];
    let said = estate.run(&others).refused();
    let problem =
        "node pg1: max_connections is 20, of which 3 are reserved and 0 taken, and this needs 24";
    assert!(said.contains(problem), "{said}");
    assert_eq!(estate.psql("pg1", "SELECT count(*) FROM shardid.move"), "0");
    // Fewer at once do, and so does what was named.
    estate.run(&["move", "0-5", "--to", "pg2", "--parallel", "3", "--dry-run"]).ok();
    set(&estate, "pg1", "max_connections", 33);
    estate.run(&many).ok();
    // Those that send WAL to the old copies are counted elsewhere.
    let sending = "SELECT count(*) FROM pg_stat_replication";
    assert_eq!(estate.psql("pg2", sending), "6");
    estate.run(&["move", "6-11", "--to", "pg2", "--parallel", "6", "--dry-run"]).ok();
}

/// All moves were made, and some of the old copies did not follow.
#[test]
fn many_moves_are_refused_before_the_first_where_replication_origins_would_run_out() {
    // From 18 on they have a setting of their own.
    let setting = match Installation::get().major() {
        ..18 => "max_replication_slots",
        _ => "max_active_replication_origins",
    };
    let estate = Estate::start_with(2, 24, |number, builder| match number {
        1 => builder.conf(&format!("{setting} = 5")),
        _ => builder,
    });
    let many = ["move", "0-5", "--to", "pg2", "--yes"];
    let said = estate.run(&many).refused();
    let problem = format!(
        "node pg1: {setting} allows 5 replication origins, of which 0 are taken, and this needs 6"
    );
    assert!(said.contains(&problem), "{said}");
    assert!(said.contains(&format!("ALTER SYSTEM SET {setting} = 6;")), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
    assert_eq!(estate.psql("pg1", "SELECT count(*) FROM shardid.move"), "0");
    // Where nothing follows, none is needed.
    estate.run(&[&many[..4], &["--no-rollback", "--dry-run"]].concat()).ok();
    set(&estate, "pg1", setting, 6);
    estate.run(&many).ok();
    let all = "SELECT count(*) FROM pg_stat_subscription WHERE pid IS NOT NULL AND latest_end_lsn IS NOT NULL";
    wait_until(Duration::from_secs(60), "all old copies to follow", || {
        estate.psql("pg1", all) == "6"
    });
    // Those are taken now, each until its old copy is retired.
    let said = estate.run(&["move", "6", "--to", "pg2", "--yes"]).refused();
    assert!(said.contains("of which 6 are taken, and this needs 1"), "{said}");
    estate.run(&["retire", "1", "--yes"]).ok();
    estate.run(&["move", "6", "--to", "pg2", "--yes"]).ok();
}

/// Gives a role, of every setting that a session may change, another value than the usual one.
const SET_OTHERWISE: &str = "DO $$
    DECLARE
        s record;
    BEGIN
        FOR s IN SELECT name, CASE vartype
                WHEN 'bool' THEN CASE boot_val WHEN 'on' THEN 'off' ELSE 'on' END
                WHEN 'enum' THEN (SELECT v FROM unnest(enumvals) v WHERE v <> boot_val ORDER BY v DESC LIMIT 1)
                WHEN 'integer' THEN CASE WHEN unit = 'ms' AND name LIKE '%timeout' THEN '700' END
                ELSE CASE name WHEN 'TimeZone' THEN 'Asia/Kathmandu' WHEN 'DateStyle' THEN 'SQL, DMY'
                    WHEN 'default_text_search_config' THEN 'pg_catalog.german' WHEN 'search_path' THEN 'nowhere' END
            END AS value
            FROM pg_settings
            WHERE context IN ('user', 'superuser') AND category NOT IN ('Developer Options', 'Customized Options')
                -- Its own are known by the commands.
                AND name NOT IN ('transaction_deferrable', 'transaction_isolation', 'transaction_read_only', 'is_superuser')
        LOOP
            IF s.value IS NOT NULL THEN
                EXECUTE format('ALTER ROLE frozen SET %I = %L', s.name, s.value);
            END IF;
        END LOOP;
    END
    $$";

/// A move that stood switched could not be gone on with, nor ended; another stopped after the copy,
/// since definitions read otherwise on one of its nodes.
#[test]
fn what_a_role_is_set_to_keeps_no_move_from_its_end() {
    let estate = Estate::start(2, 4);
    let shard = (0..4).find(|shard| estate.home(*shard) == "pg1").expect("it has some");
    estate.make_tables(shard);
    for node in estate.nodes() {
        estate.psql(&node, "CREATE ROLE frozen SUPERUSER LOGIN");
    }
    estate.psql("pg2", SET_OTHERWISE);
    estate.declare(4, |_, url| url.replace("postgres@", "frozen@"));
    estate.run(&["apply", "--yes"]).ok();
    let number = shard.to_string();
    estate.run_cut("switched/before-GuardSource", &["move", &number, "--to", "pg2", "--yes"]);
    estate.run(&["resume", "1"]).ok();
    assert_eq!(estate.home(shard), "pg2");
    estate.run(&["rollback", "1", "--yes"]).ok();
    estate.psql("pg1", SET_OTHERWISE);
    estate.run(&["move", &number, "--to", "pg2", "--yes"]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    estate.run(&["verify", "--data"]).ok();
    estate.run(&["plan"]).ok();
}

/// Every commit waits where no synchronous standby answers: a move hung without a word.
#[test]
fn a_node_whose_commits_wait_for_nobody_is_named_before_anything_is_made() {
    let estate = Estate::start(2, 4);
    estate.make_tables(0);
    let wait_for = |node: &str, names: &str| {
        estate.psql(node, &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        estate.psql(node, "SELECT pg_reload_conf()");
    };
    for (node, shard) in [("pg2", "0"), ("pg1", "0")] {
        wait_for(node, "nobody");
        let refused = run(&estate, &["move", shard, "--to", "pg2", "--yes"]).refused();
        let words = format!("node {node}: no synchronous standby is connected");
        assert!(refused.contains("no synchronous standby is connected"), "{refused}");
        assert!(refused.contains(&words) && refused.contains("'nobody'"), "{refused}");
        let noted = estate.run(&["verify"]);
        assert!(noted.stderr.contains(&format!("note: {words}")), "{}", noted.stderr);
        wait_for(node, "");
    }
    estate.assert_no_streams();
    assert_eq!(estate.last_move(0), "");
    estate.run(&["move", "0", "--to", "pg2", "--yes"]).ok();
    assert!(!estate.run(&["status"]).stderr.contains("standby"));
    // An old copy is not over, however few of those one wants to see.
    let moves = estate.run(&["moves", "--over", "0"]).ok();
    assert!(moves.contains("follows"), "{moves}");
    estate.run(&["retire", "1", "--yes"]).ok();
    assert_eq!(estate.run(&["moves", "--over", "0"]).ok(), "no moves\n");
}

/// What there is to move is summed up first, of all shards of the node: somebody who held a table of any
/// had every plan of moves wait for him, without a word. (The copy waits for his transaction's end, and says so.)
#[test]
fn a_table_that_somebody_holds_holds_no_plan_of_moves_up() {
    let estate = Estate::start(2, 4);
    let mut here = (0..4).filter(|shard| estate.home(*shard) == "pg1");
    let (moved, held) = (here.next().unwrap(), here.next().unwrap());
    for shard in [moved, held] {
        estate.make_tables(shard);
        let table = format!("shard_{shard:04}.item");
        estate.psql(
            "pg1",
            &format!(
                "INSERT INTO {table} (n) SELECT * FROM generate_series(1, 100); ANALYZE {table}"
            ),
        );
    }
    let mut holder = estate.node("pg1").connect("app");
    holder.batch_execute(&format!("BEGIN; LOCK TABLE shard_{held:04}.item")).unwrap();
    let name = moved.to_string();
    for words in [
        &["rebalance", "--dry-run"][..],
        &["drain", "pg1", "--dry-run"],
        &["move", &name, "--to", "pg2", "--dry-run"],
    ] {
        let began = Instant::now();
        let run = estate.run(words);
        assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
        let took = began.elapsed();
        assert!(took < crowded(Duration::from_secs(20)), "{words:?} took {took:?}");
    }
    holder.batch_execute("ROLLBACK").unwrap();
}
