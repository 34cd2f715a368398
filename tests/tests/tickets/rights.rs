//! What docs/mysql.md says that a server and the program's user need is enough, and is what it says.

use shardid_tests::docs;

use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    the_program_works_with_the_rights_of_the_page,
    flickrs_tables_are_made_with_the_rights_of_the_page,
    rights_by_a_role_alone_are_refused_where_routines_run_without_it,
    rights_that_everybody_has_are_refused,
    where_the_account_is_gone_that_installed_it_is_told_what_mends_it,
    what_the_account_lacks_that_installed_it_is_told_to_others,
    what_the_account_lacks_that_installed_it_is_told_to_itself,
}

/// The section of the page.
fn section() -> String {
    let page = docs::read("docs/mysql.md");
    let (_, rest) = page.split_once("## What a server needs\n").expect("the page has it");
    rest.split("\n## ").next().unwrap_or_default().to_owned()
}

/// Its blocks of statements: those for the program, and those for more.
fn statements() -> [String; 2] {
    let section = section();
    let blocks: Vec<String> = section
        .split("```sql mysql\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("```")?.0.replace('\n', " ")))
        .collect();
    blocks.try_into().expect("there are two")
}

/// Makes the page's user on a server, with the page's rights and nothing else.
fn with_user(servers: &Servers, node: &str) {
    servers.sql(node, &statements()[0]);
    servers.sql(node, "SET GLOBAL log_bin_trust_function_creators = 1");
    // By the socket a user of any host may be an anonymous one.
    assert_eq!(servers.sql(node, "SELECT count(*) FROM mysql.user WHERE user = ''"), "0");
}

/// Has the program connect as that user.
fn connect_as_user(servers: &Servers) {
    let password = statements()[0].split('\'').nth(1).expect("it is quoted").to_owned();
    std::fs::write(servers.path(".my.cnf"), format!("[client]\npassword = \"{password}\"\n"))
        .expect("the folder is ours");
    let text = std::fs::read_to_string(servers.path("shardid.toml")).expect("the file is there");
    servers.write(&text.replace("mysql://root@localhost/app?", "mysql://shardid@localhost/?"));
}

fn the_program_works_with_the_rights_of_the_page(engine: Engine) {
    let servers = Servers::up(engine, 0, 2);
    for node in ["my1", "my2"] {
        with_user(&servers, node);
    }
    connect_as_user(&servers);
    let plan = servers.run(&["plan"]).ok();
    assert!(plan.contains("my1") && plan.contains("my2"), "{plan}");
    servers.run(&["apply", "--yes"]).ok();
    servers.is_clean();
    servers.grow_without_apply(3);
    with_user(&servers, "my3");
    connect_as_user(&servers);
    servers.run(&["apply", "--yes"]).ok();
    servers.run(&["tickets", "add-server", "orders", "my3", "--yes"]).ok();
    servers.run(&["tickets", "remove-server", "orders", "my2", "--yes"]).ok();
    servers.run(&["tickets", "status"]).ok();
    // It gives again what clients were granted, when it makes routines anew.
    servers.sql("my1", "CREATE USER web; GRANT EXECUTE ON FUNCTION shardid.next_ticket TO web; GRANT EXECUTE ON FUNCTION shardid.next_id TO web");
    let granted = "SELECT count(*) FROM mysql.procs_priv WHERE user = 'web'";
    servers.sql("my1", "DELETE FROM shardid.schema_history WHERE version >= 36");
    servers.run(&["apply", "--yes"]).ok();
    assert_eq!(servers.sql("my1", granted), "2");
    // What clients may call runs with its rights.
    servers.sql("my1", "CALL shardid.create_shard(5, 'instagram'); SELECT shardid.next_id(5), shardid.next_ticket('orders'); CALL shardid.adopt(); CALL shardid.create_segment('s', 10); CALL shardid.next_segment('s', NULL)");
    servers.sql("my1", &statements()[1]);
    servers.sql("my1", "CALL shardid.lower_counters()");
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
}

/// They were told to make the database that was there, and then that they may not drop the view which was not.
fn flickrs_tables_are_made_with_the_rights_of_the_page(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    with_user(&servers, "my1");
    connect_as_user(&servers);
    servers.run(&["apply", "--yes"]).ok();
    let create = "CALL shardid.create_flickr_tables('app', 1, 1)";
    let output = servers.try_sql("my1", create);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = "database app is not there for shardid@%: hint: CREATE DATABASE, GRANT CREATE VIEW ON app.* TO that user";
    assert!(!output.status.success() && error.contains(told), "{error}");
    let all = &statements()[1];
    let grant = all
        .split(';')
        .find(|one| one.contains(" CREATE VIEW "))
        .expect("the page has it")
        .replace("pictures", "app");
    servers.sql("my1", &grant);
    // Once more changes nothing, and needs nothing more.
    servers.sql("my1", &format!("{create}; {create}"));
    let ticket = "REPLACE INTO app.Tickets64 (stub) VALUES ('a'); SELECT last_insert_id()";
    assert_eq!(servers.sql("my1", ticket), "1");
    // Who sees all databases is told of one that is not there.
    servers.sql("my1", all);
    let output = servers.try_sql("my1", "CALL shardid.create_flickr_tables('absent', 1, 1)");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains("database absent does not exist: hint: CREATE DATABASE absent"),
        "{error}"
    );
}

/// It made all of it on MariaDB, and every call of every client failed.
fn rights_by_a_role_alone_are_refused_where_routines_run_without_it(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    let default = if engine == Engine::MySql { "TO" } else { "FOR" };
    let to_role = statements()[0]
        .split(';')
        .filter(|one| one.contains("GRANT "))
        .map(|one| one.replace(" TO shardid", " TO tool") + ";")
        .collect::<String>();
    servers.sql(
        "my1",
        &format!("SET GLOBAL log_bin_trust_function_creators = 1; CREATE ROLE tool; {to_role}; CREATE USER shardid; GRANT tool TO shardid; SET DEFAULT ROLE tool {default} shardid; CREATE USER web"),
    );
    servers.edit("mysql://root@localhost/app?", "mysql://shardid@localhost/?");
    let works = || {
        servers.run(&["apply", "--yes"]).ok();
        servers.is_clean();
        servers.sql("my1", "CALL shardid.create_shard(5, 'instagram'); SELECT shardid.next_id(5), shardid.next_ticket('orders'); CALL shardid.drop_shard(5)");
    };
    if engine == Engine::MySql {
        return works();
    }
    let hint = "GRANT ALL ON shardid.* TO 'shardid'@'%' WITH GRANT OPTION";
    for command in [&["plan"][..], &["apply", "--yes"]] {
        let error = servers.run(command).refused();
        assert!(error.contains("node my1") && error.contains(&format!("hint: {hint}")), "{error}");
        assert!(
            error.contains("'shardid'@'%' is denied on schema shardid: SELECT, INSERT, UPDATE"),
            "{error}"
        );
    }
    assert_eq!(servers.sql("my1", "SHOW DATABASES LIKE 'shardid'"), "", "nothing was made");
    // Each right that it goes without is one that no routine needs: what is not refused works.
    servers.sql("my1", hint);
    let all = servers.sql("my1", "SELECT privilege_type FROM information_schema.schema_privileges WHERE grantee = '\\'shardid\\'@\\'%\\'' AND table_schema = 'shardid'");
    let mut refused = Vec::new();
    for right in all.lines() {
        servers.sql("my1", &format!("{hint}; REVOKE {right} ON shardid.* FROM shardid"));
        let run = servers.run(&["plan"]);
        if run.code == 0 {
            works();
        } else {
            assert!(
                run.stderr.contains(&format!(" is denied on schema shardid: {right}")),
                "{}",
                run.stderr
            );
            refused.push(right);
        }
    }
    assert_eq!(refused.len(), 9, "{refused:?} of {all}");
    servers.sql("my1", hint);
    works();
}

/// Routines would run with them; only MariaDB has these.
fn rights_that_everybody_has_are_refused(engine: Engine) {
    if engine == Engine::MySql {
        return;
    }
    let servers = Servers::up(engine, 0, 1);
    let to_user = statements()[0].clone();
    let to_public =
        to_user.replace("ON shardid.* TO shardid WITH GRANT OPTION", "ON shardid.* TO PUBLIC");
    assert_ne!(to_public, to_user);
    servers.sql("my1", &format!("SET GLOBAL log_bin_trust_function_creators = 1; {to_public}"));
    connect_as_user(&servers);
    let hint = "GRANT ALL ON shardid.* TO 'shardid'@'%' WITH GRANT OPTION";
    let error = servers.run(&["apply", "--yes"]).refused();
    assert!(
        error.contains("is denied on schema shardid: SELECT") && error.contains(hint),
        "{error}"
    );
    assert_eq!(servers.sql("my1", "SHOW DATABASES LIKE 'shardid'"), "", "nothing was made");
    servers.sql("my1", &format!("{hint}; REVOKE ALL ON shardid.* FROM PUBLIC"));
    servers.run(&["apply", "--yes"]).ok();
    servers.is_clean();
}

/// The program looks at each setting that the page names, and the page names each that it refuses.
#[test]
fn the_settings_of_the_page_are_those_that_the_program_looks_at() {
    let section = section();
    let table = section.split("\n\n").find(|part| part.starts_with("| Setting")).expect("a table");
    let first = |row: &str| row.split('|').nth(1).unwrap_or_default().to_owned();
    let cells: String = table.lines().skip(2).map(first).collect();
    let told: Vec<&str> = cells.split('`').skip(1).step_by(2).collect();
    let read = docs::read("sql/mysql/look/variables.sql");
    // What says which server it is, and no setting.
    let not_settings = ["version", "version_comment", "log_bin"];
    let mut looked_at: Vec<&str> =
        read.split('\'').skip(1).step_by(2).filter(|name| !not_settings.contains(name)).collect();
    // A variable of neither engine: it is found by what it does.
    looked_at.push("sysdate_is_now");
    // A server cannot see what the others on its machine have.
    looked_at.push("tmpdir");
    looked_at.sort_unstable();
    let mut sorted = told.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, looked_at);
}

/// Routines run as their definer: whoever looked was told of that account, and to look.
fn where_the_account_is_gone_that_installed_it_is_told_what_mends_it(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    with_user(&servers, "my1");
    let before = std::fs::read_to_string(servers.path("shardid.toml")).expect("it is there");
    connect_as_user(&servers);
    servers.run(&["apply", "--yes"]).ok();
    std::fs::remove_file(servers.path(".my.cnf")).expect("it was written");
    servers.write(&before);
    let hint =
        "have the account again that installed schema shardid: `RENAME USER … TO 'shardid'@'%'`";
    let is_told = || {
        for arguments in
            [&["plan"][..], &["apply", "--yes"], &["tickets", "verify"], &["tickets", "status"]]
        {
            let run = servers.run(arguments);
            assert_eq!(run.code, 1, "{arguments:?}: {}{}", run.stdout, run.stderr);
            let text = format!("{}{}", run.stdout, run.stderr);
            assert!(text.contains(hint), "{arguments:?}: {text}");
        }
    };
    servers.sql("my1", "RENAME USER shardid TO shardid9");
    is_told();
    servers.sql("my1", "RENAME USER shardid9 TO shardid");
    servers.is_clean();
    servers.sql("my1", "DROP USER shardid");
    is_told();
    // Made anew without its rights, whoever looked was told to connect as somebody who has them.
    servers.sql("my1", "CREATE USER shardid");
    for arguments in [&["apply", "--yes"][..], &["tickets", "verify"]] {
        let run = servers.run(arguments);
        let text = format!("{}{}", run.stdout, run.stderr);
        let hint = ": GRANT ALL ON shardid.* TO 'shardid'@'%' WITH GRANT OPTION";
        assert!(run.code != 0 && text.contains(hint), "{arguments:?}: {text}");
    }
    servers.sql("my1", "DROP USER shardid");
    servers.sql("my1", &statements()[0]);
    servers.is_clean();
}

/// All clients failed, and root was told that there was nothing to do.
fn what_the_account_lacks_that_installed_it_is_told_to_others(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    with_user(&servers, "my1");
    let before = std::fs::read_to_string(servers.path("shardid.toml")).expect("it is there");
    connect_as_user(&servers);
    servers.run(&["apply", "--yes"]).ok();
    std::fs::remove_file(servers.path(".my.cnf")).expect("it was written");
    servers.write(&before);
    servers.is_clean();
    let hint = "GRANT ALL ON shardid.* TO 'shardid'@'%' WITH GRANT OPTION";
    for right in
        ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "EXECUTE", "TRIGGER"]
    {
        servers.sql("my1", &format!("REVOKE {right} ON shardid.* FROM shardid"));
        for arguments in [&["plan"][..], &["apply", "--yes"], &["tickets", "verify"]] {
            let run = servers.run(arguments);
            let text = format!("{}{}", run.stdout, run.stderr);
            let told = format!(
                "run with the rights of 'shardid'@'%', which made them, and it is denied there: {right}"
            );
            assert!(run.code == 1 && text.contains(&told), "{arguments:?} {right}: {text}");
            assert!(text.contains(hint), "{arguments:?} {right}: {text}");
        }
        servers.sql("my1", hint);
        servers.is_clean();
    }
    // By a role that is active when it logs in it may do so on MySQL, and not on MariaDB.
    let default = if engine == Engine::MySql { "TO" } else { "FOR" };
    servers.sql("my1", &format!("REVOKE UPDATE ON shardid.* FROM shardid; CREATE ROLE tool; GRANT UPDATE ON shardid.* TO tool; GRANT tool TO shardid; SET DEFAULT ROLE tool {default} shardid"));
    let run = servers.run(&["plan"]);
    assert_eq!(run.code == 0, engine == Engine::MySql, "{}{}", run.stdout, run.stderr);
    let taken = servers.try_sql("my1", "SELECT shardid.next_ticket('orders')");
    assert_eq!(taken.status.success(), engine == Engine::MySql, "{taken:?}");
}

/// It was told that there was nothing to do, or to grant it to an account that is not there, which made one without a password.
fn what_the_account_lacks_that_installed_it_is_told_to_itself(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    with_user(&servers, "my1");
    connect_as_user(&servers);
    servers.run(&["apply", "--yes"]).ok();
    servers.is_clean();
    let accounts = "SELECT count(*) FROM mysql.user WHERE user = 'shardid'";
    let before = servers.sql("my1", accounts);
    let hint = "GRANT ALL ON shardid.* TO 'shardid'@'%' WITH GRANT OPTION";
    let says = match engine {
        Engine::MySql => "'shardid'@'%', which made them, and it is denied there",
        Engine::MariaDb => "'shardid'@'%' is denied on schema shardid",
    };
    for right in
        ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "EXECUTE", "TRIGGER"]
    {
        servers.sql("my1", &format!("REVOKE {right} ON shardid.* FROM shardid"));
        for arguments in [&["plan"][..], &["apply", "--yes"], &["tickets", "verify"]] {
            let run = servers.run(arguments);
            let text = format!("{}{}", run.stdout, run.stderr);
            let told = format!("{says}: {right}");
            assert!(run.code == 1 && text.contains(&told), "{arguments:?} {right}: {text}");
            assert!(text.contains(hint), "{arguments:?} {right}: {text}");
            assert_eq!(text.matches("GRANT ALL").count(), 1, "{arguments:?} {right}: {text}");
        }
        servers.sql("my1", hint);
        servers.is_clean();
    }
    assert_eq!(servers.sql("my1", accounts), before, "no account was made");
}
