//! Servers that could repeat numbers are refused before anything is made.

use crate::on_both_engines;
use crate::servers::{Engine, Servers, may_ask};
use shardid_tests::my;

on_both_engines! {
    settings_that_could_repeat_numbers_are_refused_all_at_once,
    options_that_ids_cannot_be_right_with_are_refused,
    a_table_that_forgets_in_a_crash_is_refused,
    a_replica_is_refused_while_it_follows,
    who_may_not_ask_whether_a_server_is_a_replica_is_told_the_privilege,
    a_user_who_may_not_make_functions_is_told_before_anything_is_made,
    a_user_may_have_super_by_a_role,
    a_user_without_the_privileges_is_told_what_is_missing,
    the_password_is_taken_from_the_option_file_or_a_variable,
}

fn settings_that_could_repeat_numbers_are_refused_all_at_once(engine: Engine) {
    let servers = Servers::up(engine, 0, 2);
    servers.sql("my1", "SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    servers.sql("my2", "SET GLOBAL binlog_format = 'STATEMENT'");
    let error = servers.run(&["apply", "--yes"]).refused();
    assert!(error.contains("innodb_flush_log_at_trx_commit is 2: after a power loss"), "{error}");
    assert!(error.contains("binlog_format is STATEMENT"), "{error}");
    for node in ["my1", "my2"] {
        assert_eq!(servers.sql(node, "SHOW DATABASES LIKE 'shardid'"), "", "nothing was made");
    }
    servers.sql("my2", "SET GLOBAL binlog_format = 'ROW'");
    servers.run(&["apply", "--yes"]).refused();
    servers.run(&["apply", "--yes", "--accept-power-loss"]).ok();
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("power loss"), "{}", run.stdout);
    assert_eq!(servers.run(&["tickets", "verify", "--accept-power-loss"]).code, 0);
    servers.sql("my1", "SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let error = servers.run(&["plan", "--accept-power-loss"]).refused();
    assert!(error.contains("is 0: after a crash"), "{error}");
    // It was told that after a crash numbers come again, and MariaDB flushes at each commit then, too.
    if engine == Engine::MariaDb {
        servers.sql("my1", "SET GLOBAL innodb_flush_log_at_trx_commit = 3");
        servers.run(&["plan"]).ok();
        servers.is_clean();
    }
}

fn options_that_ids_cannot_be_right_with_are_refused(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    let of = match engine {
        Engine::MariaDb => my::Engine::MariaDb,
        Engine::MySql => my::Engine::MySql,
    };
    for (option, said) in [
        ("--sysdate-is-now", "the server runs with --sysdate-is-now"),
        ("--innodb-autoinc-lock-mode=0", "innodb_autoinc_lock_mode is 0"),
    ] {
        // Only the server's start can set these.
        let server = my::Server::builder(of).bare().option(option).start();
        let text = std::fs::read_to_string(servers.path("shardid.toml")).unwrap();
        let begin = text.find("mysql://").expect("my1 has a URL");
        let end = begin + text[begin..].find('"').expect("it is quoted");
        // By its socket: over TCP, who root@localhost is hangs on what the machine calls 127.0.0.1.
        let url = format!("mysql://root@localhost/mysql?socket={}", server.socket().display());
        servers.edit(&text[begin..end], &url);
        let error = servers.run(&["apply", "--yes"]).refused();
        assert!(error.contains(said), "{error}");
        let none: i64 = server.value(
            "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'shardid'",
        );
        assert_eq!(none, 0, "nothing was made");
    }
}

fn a_table_that_forgets_in_a_crash_is_refused(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    servers.sql(
        "my1",
        "CREATE TABLE app.Tickets64 (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, stub CHAR(1) UNIQUE) ENGINE = MyISAM",
    );
    let error = servers.run(&["apply", "--yes"]).refused();
    assert!(error.contains("table app.Tickets64 is of engine MyISAM"), "{error}");
    assert!(error.contains("ALTER TABLE app.Tickets64 ENGINE = InnoDB"), "{error}");
    servers.sql("my1", "ALTER TABLE app.Tickets64 ENGINE = InnoDB");
    servers.run(&["apply", "--yes"]).ok();
}

fn a_replica_is_refused_while_it_follows(engine: Engine) {
    let servers = Servers::up(engine, 0, 2);
    let (begin, end) = match engine {
        Engine::MariaDb => (
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'; START SLAVE",
            "STOP SLAVE",
        ),
        Engine::MySql => (
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'nobody'; START REPLICA",
            "STOP REPLICA",
        ),
    };
    servers.sql("my2", begin);
    let error = servers.run(&["apply", "--yes"]).refused();
    assert!(error.contains("the server is a replica: it follows 127.0.0.1:1"), "{error}");
    assert_eq!(servers.sql("my2", "SHOW DATABASES LIKE 'shardid'"), "", "nothing was made");
    servers.sql("my2", end);
    servers.run(&["apply", "--yes"]).ok();
}

/// It counted as no replica, and `apply` ended its replication.
fn who_may_not_ask_whether_a_server_is_a_replica_is_told_the_privilege(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    servers.sql(
        "my1",
        "SET GLOBAL log_bin_trust_function_creators = 1; CREATE USER 'ma@ker'@'localhost'; GRANT ALL ON shardid.* TO 'ma@ker'@'localhost'",
    );
    servers.edit("mysql://root@localhost/app?", "mysql://ma%40ker@localhost/?");
    let (follow, stop, privilege) = match engine {
        Engine::MariaDb => (
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = 1, MASTER_USER = 'nobody'; START SLAVE",
            "STOP SLAVE",
            "REPLICA MONITOR",
        ),
        Engine::MySql => (
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'nobody'; START REPLICA",
            "STOP REPLICA",
            "REPLICATION CLIENT",
        ),
    };
    servers.sql("my1", follow);
    let hint = format!("GRANT {privilege} ON *.* TO 'ma@ker'@'localhost'");
    for command in [&["apply", "--yes"][..], &["plan"]] {
        let error = servers.run(command).refused();
        assert!(error.contains("may not ask whether the server is a replica"), "{error}");
        assert!(error.contains(&format!("hint: {hint}")), "{error}");
    }
    assert_eq!(servers.sql("my1", "SHOW DATABASES LIKE 'shardid'"), "", "nothing was made");
    servers.sql("my1", &hint);
    let error = servers.run(&["apply", "--yes"]).refused();
    assert!(error.contains("the server is a replica: it follows 127.0.0.1:1"), "{error}");
    servers.sql("my1", stop);
    servers.run(&["apply", "--yes"]).ok();
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    servers.sql("my1", &hint.replace("GRANT", "REVOKE").replace(" TO ", " FROM "));
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains(&hint), "{}", run.stdout);
}

fn a_user_who_may_not_make_functions_is_told_before_anything_is_made(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    servers.sql(
        "my1",
        "CREATE USER 'maker'@'localhost'; GRANT ALL ON shardid.* TO 'maker'@'localhost'; GRANT ALL ON app.* TO 'maker'@'localhost'",
    );
    assert_eq!(servers.sql("my1", "SELECT @@log_bin"), "1", "there is a binary log");
    servers.edit("mysql://root@", "mysql://maker@");
    let error = servers.run(&["apply", "--yes"]).refused();
    assert!(error.contains("SET GLOBAL log_bin_trust_function_creators = 1"), "{error}");
    assert_eq!(servers.sql("my1", "SHOW DATABASES LIKE 'shardid'"), "", "nothing was made");
    servers.sql("my1", &may_ask("'maker'@'localhost'"));
    servers.sql("my1", "SET GLOBAL log_bin_trust_function_creators = 1");
    servers.run(&["apply", "--yes"]).ok();
}

/// `SUPER` by a role, which the tables of privileges do not show.
fn a_user_may_have_super_by_a_role(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    let default = if engine == Engine::MySql { "TO" } else { "FOR" };
    servers.sql(
        "my1",
        &format!(
            "CREATE ROLE boss; GRANT SUPER ON *.* TO boss; CREATE USER 'maker'@'localhost'; GRANT ALL ON shardid.* TO 'maker'@'localhost'; GRANT ALL ON app.* TO 'maker'@'localhost'; GRANT boss TO 'maker'@'localhost'; SET DEFAULT ROLE boss {default} 'maker'@'localhost'"
        ),
    );
    servers.sql("my1", &may_ask("'maker'@'localhost'"));
    servers.edit("mysql://root@", "mysql://maker@");
    servers.run(&["apply", "--yes"]).ok();
}

fn a_user_without_the_privileges_is_told_what_is_missing(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    servers.sql("my1", "CREATE USER 'weak'@'localhost'; GRANT ALL ON app.* TO 'weak'@'localhost'");
    // Else that is what is missing first.
    servers.sql("my1", "SET GLOBAL log_bin_trust_function_creators = 1");
    servers.sql("my1", &may_ask("'weak'@'localhost'"));
    servers.edit("mysql://root@", "mysql://weak@");
    let error = servers.run(&["apply", "--yes"]).refused();
    assert!(error.contains("denied") && error.contains("hint: "), "{error}");
    servers.edit("mysql://weak@", "mysql://nobody@");
    let error = servers.run(&["plan"]).refused();
    assert!(error.contains("node my1") && error.contains("enied"), "{error}");
    servers.edit("mysql://nobody@", "mysql://root:geheim@");
    let run = servers.run(&["plan"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("a password stands in this file"), "{}", run.stderr);
    assert!(!run.stderr.contains("geheim"), "{}", run.stderr);
}

fn the_password_is_taken_from_the_option_file_or_a_variable(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    servers.sql(
        "my1",
        "CREATE USER 'app'@'localhost' IDENTIFIED BY 'p#ss w/rd'; GRANT ALL ON *.* TO 'app'@'localhost' WITH GRANT OPTION",
    );
    servers.edit("mysql://root@", "mysql://app@");
    servers.run(&["plan"]).refused();
    std::fs::write(servers.path(".my.cnf"), "[client]\npassword = \"p#ss w/rd\"\n").unwrap();
    servers.run(&["apply", "--yes"]).ok();
    std::fs::remove_file(servers.path(".my.cnf")).unwrap();
    servers.edit("mysql://app@", "mysql://app:${MY1_PASSWORD}@");
    let mut command = servers.command(&["plan"]);
    command.env("MY1_PASSWORD", "p#ss w/rd");
    let plan = shardid_tests::program::run(command).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
}
