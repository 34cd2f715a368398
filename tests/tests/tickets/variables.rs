//! Whatever the sessions of a server begin with, the program makes the same there, sees the same, and gives the
//! same back, or says why not.

use shardid_tests::my::{self, Setting, query, settings, try_query};
use shardid_tests::mysql::{Conn, OptsBuilder, Row};
use shardid_tests::sample;

use crate::on_both_engines;
use crate::servers::{Engine, Servers, may_ask};

on_both_engines! {
    the_program_does_the_same_whatever_its_sessions_begin_with,
}

/// How many of some hundred settings are tried; with each eighth all is made anew.
const SAMPLE: usize = 8;

/// What is not set, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("tcp_nodelay", "MariaDB refuses it on a socket, and ends the session"),
    ("log_slow_admin_statements", "MariaDB forgets at each reading which of its flags were set"),
    ("wsrep_", "of servers of Galera, which have tests of their own"),
    ("rbr_exec_mode", "how MySQL applies the rows of others, and no SQL of ours"),
    ("gtid_", "names the transactions of a session, and each may be there once"),
    ("server_id", "what MariaDB knows a server by, and no setting"),
    ("innodb_default_encryption_key_id", "how tables are stored, which is for who runs the server"),
    ("innodb_compression_default", "how tables are stored, which is for who runs the server"),
];

/// With which settings the program may fail, and by which words.
const REFUSED: &[(&str, &str)] = &[
    ("binlog_format", "binlog_format is STATEMENT"),
    ("max_statement_time", "max_statement_time exceeded"),
    ("max_session_mem_used", "max-session-mem-used"),
    ("require_row_format", "require_row_format restrictions"),
    // The server ends the session in the midst of it.
    ("connection_memory_limit", "onnection"),
];

const NODES: [&str; 2] = ["my1", "my2"];

fn the_program_does_the_same_whatever_its_sessions_begin_with(engine: Engine) {
    let all = settings(match engine {
        Engine::MariaDb => my::Engine::MariaDb,
        Engine::MySql => my::Engine::MySql,
    });
    let is_left_out = |it: &Setting| LEFT_OUT.iter().any(|(what, _)| it.name.starts_with(what));
    let all: Vec<Setting> = all.into_iter().filter(|it| !is_left_out(it)).collect();
    assert!(all.len() > 300, "{} settings", all.len());

    let world = World::new(engine);
    let right = world.all_that_is_there();
    let mut found = Vec::new();
    for (number, setting) in sample("settings of the program", all, SAMPLE).into_iter().enumerate()
    {
        let all = number % 8 == 7;
        world.undo(all);
        let said = world.run_with(&setting);
        let may = REFUSED.iter().any(|(name, words)| {
            *name == setting.name && said.as_ref().is_some_and(|said| said.contains(words))
        });
        if said.is_some() {
            world.servers.run(&["apply", "--yes"]).ok();
            world.servers.run(&["tickets", "verify"]).ok();
        }
        let wrong = world.wrong(&right, all);
        let wrong = wrong.map(|wrong| format!("after {}: {wrong}", setting.set()));
        for one in said.filter(|_| !may).into_iter().chain(wrong) {
            // All of them take long.
            eprintln!("{one}");
            found.push(one);
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// How sessions came to begin with a setting.
enum Begun {
    ByDefault,
    ByInitConnect,
}

/// Two servers, and a session on each that began before all settings.
struct World {
    servers: Servers,
    sessions: std::cell::RefCell<Vec<Conn>>,
}

impl World {
    fn new(engine: Engine) -> Self {
        let servers = Servers::up(engine, 0, 2);
        let connect = |node: &&str| {
            let socket = servers.socket(node);
            let options = OptsBuilder::new()
                .socket(Some(socket.to_string_lossy()))
                .user(Some("root"))
                .db_name(Some("mysql"));
            Conn::new(options).expect("the server is up")
        };
        let sessions = std::cell::RefCell::new(NODES.iter().map(connect).collect());
        let world = Self { servers, sessions };
        for node in 0..2 {
            world.ask::<u64>(node, &format!(
                "CREATE USER tool@localhost; CREATE USER web@localhost; GRANT ALL ON shardid.* TO tool@localhost WITH GRANT OPTION;
                 GRANT SELECT ON mysql.procs_priv TO tool@localhost; GRANT SELECT ON mysql.user TO tool@localhost; {};
                 SET GLOBAL log_bin_trust_function_creators = 1",
                may_ask("tool@localhost")
            ));
        }
        world.servers.edit("mysql://root@localhost/app?", "mysql://tool@localhost/?");
        world.servers.run(&["apply", "--yes"]).ok();
        world.servers.run(&["tickets", "verify"]).ok();
        world
    }

    fn ask<T: shardid_tests::mysql::prelude::FromRow>(&self, node: usize, sql: &str) -> Vec<T> {
        query(&mut self.sessions.borrow_mut()[node], sql)
    }

    /// Leaves something to do: all, or a routine of other words that somebody was granted, and numbers
    /// that nobody has seen.
    fn undo(&self, all: bool) {
        if all {
            (0..2).for_each(|node| drop(self.ask::<u64>(node, "DROP DATABASE shardid")));
            return;
        }
        self.ask::<u64>(1, "SELECT shardid.next_tickets('orders', 1000)");
        self.ask::<u64>(1, "DROP FUNCTION shardid.next_id");
        self.ask::<u64>(1, "CREATE DEFINER = tool@localhost FUNCTION shardid.next_id(shard BIGINT) RETURNS BIGINT READS SQL DATA RETURN 1");
        self.ask::<u64>(1, "GRANT EXECUTE ON FUNCTION shardid.next_id TO web@localhost");
    }

    /// Has the program do what is to be done, in sessions that begin with a setting; what it said where it failed.
    fn run_with(&self, setting: &Setting) -> Option<String> {
        let Some(begun) = self.begin_with(setting) else {
            self.servers.run(&["apply", "--yes"]).ok();
            self.servers.run(&["tickets", "verify"]).ok();
            return None;
        };
        let runs = [&["plan"][..], &["apply", "--yes"], &["tickets", "verify"]].map(|arguments| {
            let run = self.servers.run(arguments);
            let sees = arguments != ["plan"] || !run.stdout.contains("nothing to do");
            let is_right = run.code == 0 && sees;
            (!is_right).then(|| {
                format!("with {} {arguments:?} says: {}{}", setting.set(), run.stdout, run.stderr)
            })
        });
        self.end(setting, begun);
        runs.into_iter().flatten().next()
    }

    /// Has all sessions of the program begin with a setting.
    fn begin_with(&self, setting: &Setting) -> Option<Begun> {
        let Setting { name, value, is_global, is_everybodys } = setting;
        let set = format!("SET @before = @@GLOBAL.{name}; SET GLOBAL {name} = {value}");
        let mut sessions = self.sessions.borrow_mut();
        let mut on_each =
            |sql: &str| sessions.iter_mut().all(|it| try_query::<u64>(it, sql).is_ok());
        if *is_global && on_each(&set) {
            Some(Begun::ByDefault)
        } else if *is_everybodys {
            let set = format!("SET GLOBAL init_connect = \"{}\"", setting.set());
            on_each(&set).then_some(Begun::ByInitConnect)
        } else {
            None
        }
    }

    fn end(&self, setting: &Setting, begun: Begun) {
        let tries = match begun {
            Begun::ByDefault => [
                format!("SET GLOBAL {} = @before", setting.name),
                format!("SET GLOBAL {} = DEFAULT", setting.name),
            ],
            Begun::ByInitConnect => ["SET GLOBAL init_connect = ''".to_owned(), String::new()],
        };
        for session in self.sessions.borrow_mut().iter_mut() {
            assert!(
                tries.iter().any(|sql| try_query::<u64>(session, sql).is_ok()),
                "{tries:?} failed"
            );
        }
    }

    /// All that the program has made on both servers, as the servers tell it.
    fn all_that_is_there(&self) -> Vec<String> {
        const LOOKS: [&str; 6] = [
            "SELECT routine_type, routine_name, definer, sql_mode, character_set_client, collation_connection, database_collation, sha2(routine_definition, 256)
             FROM information_schema.routines WHERE routine_schema = 'shardid'",
            "SELECT trigger_name, definer, sql_mode, character_set_client, collation_connection, sha2(action_statement, 256)
             FROM information_schema.triggers WHERE trigger_schema = 'shardid'",
            "SELECT table_name, definer, security_type, character_set_client, collation_connection, sha2(view_definition, 256)
             FROM information_schema.views WHERE table_schema = 'shardid'",
            "SELECT table_name, engine, table_collation, row_format, create_options, table_comment
             FROM information_schema.tables WHERE table_schema = 'shardid'",
            "SELECT table_name, ordinal_position, column_name, column_type, collation_name, column_default, is_nullable, extra
             FROM information_schema.columns WHERE table_schema = 'shardid'",
            "SELECT table_name, index_name, seq_in_index, column_name, non_unique
             FROM information_schema.statistics WHERE table_schema = 'shardid'",
        ];
        let row = |row: Row| {
            row.unwrap().iter().map(|value| value.as_sql(true)).collect::<Vec<_>>().join(" ")
        };
        let on = |node| {
            LOOKS.into_iter().flat_map(move |sql| self.ask::<Row>(node, sql).into_iter().map(row))
        };
        (0..2).flat_map(on).collect()
    }

    /// What is not as it was, or not known.
    fn wrong(&self, right: &[String], all: bool) -> Option<String> {
        let there = self.all_that_is_there();
        let other: Vec<&String> = there.iter().filter(|it| !right.contains(it)).collect();
        let missing: Vec<&String> = right.iter().filter(|it| !there.contains(it)).collect();
        if !other.is_empty() || !missing.is_empty() {
            return Some(format!("there are {other:?} in the place of {missing:?}"));
        }
        let last =
            self.ask::<u64>(1, "SELECT last_ticket FROM shardid.ticket WHERE name = 'orders'");
        let seen = self.ask::<u64>(0, "SELECT last_number FROM shardid.ticket_server WHERE ticket = 'orders' AND node = 'my2'");
        let granted =
            "SELECT count(*) FROM mysql.procs_priv WHERE user = 'web' AND routine_name = 'next_id'";
        let is_granted = all || self.ask::<u64>(1, granted) == [1];
        let plan = self.servers.run(&["plan"]);
        let is_clean = plan.stdout.contains("nothing to do")
            && self.servers.run(&["tickets", "verify"]).code == 0;
        let is_right = last == seen && is_granted && is_clean;
        (!is_right).then(|| {
            format!(
                "numbers {last:?} and {seen:?}, granted: {is_granted}, {}{}",
                plan.stdout, plan.stderr
            )
        })
    }
}
