//! A server that took over from another hands out nothing before somebody says so, and then
//! nothing that the other has handed out.

use std::io::Write;
use std::process::Stdio;
use std::thread::{scope, sleep};
use std::time::Duration;

use shardid_tests::my::{Engine, Server, expect_refused, find, query, try_query};
use shardid_tests::mysql::{Conn, Row};
use shardid_tests::{on_both_engines, wait_until};

use crate::harness::ids;

on_both_engines!(
    a_promoted_replica_hands_out_nothing_before_it_is_adopted,
    a_shard_is_not_made_on_a_promoted_replica_before_it_is_adopted,
    what_is_left_out_is_chosen_and_a_gapless_ticket_is_adopted_by_hand,
    adopting_where_nothing_is_strange_changes_nothing,
    a_semi_synchronous_replica_has_every_number_that_a_client_was_told,
    a_copy_of_the_files_hands_out_nothing_where_it_is_known_by_another_number,
    a_restored_dump_hands_out_nothing_where_the_server_has_another_number,
    rows_that_are_sent_by_a_replica_with_triggers_stay_those_of_their_server,
    a_read_only_server_hands_out_and_takes_over_nothing,
);

/// What triggers call, which a replica may run for rows that it is sent; parts of procedures; and what runs as
/// whoever calls it.
const INTERNAL: [&str; 7] = [
    "before_flickr",
    "after_flickr",
    "raise_table",
    "set_counters",
    "hold_ticket",
    "leave_block",
    "create_flickr_view",
];

/// Procedures run with the rights of their definer, who may write on a read-only server: numbers that were
/// drawn on one that was being switched over came again on its successor.
fn a_read_only_server_hands_out_and_takes_over_nothing(engine: Engine) {
    let server = source_with_everything(engine);
    server
        .query("CREATE USER web IDENTIFIED BY 'secret of web'; GRANT EXECUTE ON shardid.* TO web");
    let web = &mut server.try_connect_as("web", "secret of web").expect("it may connect");
    let taken: u64 = query::<(u64, u64, u64)>(web, "CALL shardid.next_tickets('orders', 5)")[0].0;
    let calls: Vec<String> = query(
        web,
        "SELECT concat('CALL shardid.', r.routine_name, '(', coalesce((
                    SELECT group_concat(CASE WHEN p.data_type LIKE '%char%' THEN '''orders''' ELSE '1' END
                                        ORDER BY p.ordinal_position SEPARATOR ', ')
                    FROM information_schema.parameters p
                    WHERE p.specific_schema = 'shardid' AND p.specific_name = r.specific_name
                      AND p.routine_type = r.routine_type AND p.ordinal_position > 0), ''), ')')
         FROM information_schema.routines r
         WHERE r.routine_schema = 'shardid' AND r.routine_type = 'PROCEDURE' AND r.sql_data_access = 'MODIFIES SQL DATA'
         UNION ALL SELECT concat('SELECT shardid.', f.f) FROM (SELECT 'next_ticket(''orders'')' AS f UNION ALL SELECT 'next_id(5)') AS f",
    );
    assert!(calls.len() > 15, "{calls:?}");
    // Somebody's own procedure has its definer's rights, too.
    let functions = [
        "next_ticket('orders')",
        "next_ticket_gapless('invoices')",
        "next_tickets('orders', 2)",
        "next_id(5)",
    ];
    for (i, function) in functions.iter().enumerate() {
        server.query(&format!(
            "CREATE PROCEDURE flickr.mine_{i}() SELECT shardid.{function}; GRANT EXECUTE ON PROCEDURE flickr.mine_{i} TO web"
        ));
    }
    server.query("SET GLOBAL read_only = 1");
    for (i, function) in functions.iter().enumerate() {
        let words =
            try_query::<Row>(web, &format!("CALL flickr.mine_{i}()")).expect_err("read-only");
        assert!(words.message.contains("read-only"), "{function}: {words:?}");
    }
    for call in &calls {
        if INTERNAL.iter().any(|one| call.contains(&format!("shardid.{one}("))) {
            continue;
        }
        let words = try_query::<Row>(web, call).expect_err(call);
        assert!(words.message.contains("read-only"), "{call}: {words:?}");
    }
    server.query("SET GLOBAL read_only = 0");
    let next: u64 = query::<(u64, u64, u64)>(web, "CALL shardid.next_tickets('orders', 5)")[0].0;
    assert_eq!(next, taken + 5 * 3, "nothing was taken meanwhile");
}

/// Where MySQL finds the plugins it came with; MariaDB needs none here.
fn plugins(engine: Engine) -> String {
    let beside = find(engine).expect("it is here");
    let folder = beside.with_file_name("../usr/lib/mysql/plugin");
    match engine == Engine::MySql && folder.exists() {
        true => format!("--plugin-dir={}", folder.display()),
        false => "--skip-name-resolve".into(),
    }
}

fn source_with_everything(engine: Engine) -> Server {
    let source = Server::builder(engine).name("the source").option(&plugins(engine)).start();
    source.query(
        "CALL shardid.create_shard(5, 'instagram'); CALL shardid.create_shard(6, 'js53');
         CALL shardid.create_ticket('orders', 2, 3); CALL shardid.create_ticket('invoices', 1, 1);
         CALL shardid.create_segment('payments', 1000);
         CREATE DATABASE flickr; CALL shardid.create_flickr_tables('flickr', 1, 2);
         SELECT shardid.next_ticket('orders'), shardid.next_ticket_gapless('invoices');
         REPLACE INTO flickr.Tickets64 (stub) VALUES ('a')",
    );
    source
}

/// A replica by row, up to now; what comes later does not reach it.
fn replica_of(source: &Server, engine: Engine) -> Server {
    let replica = follower_of(source, engine);
    promote(&replica);
    replica
}

/// A replica by row that goes on following, and has what the source had up to now.
fn follower_of(source: &Server, engine: Engine) -> Server {
    follower_with(source, engine, &plugins(engine))
}

fn follower_with(source: &Server, engine: Engine, option: &str) -> Server {
    let replica = Server::builder(engine)
        .bare()
        .name("the replica")
        .option("--server-id=2")
        .option(option)
        .start();
    source.query(
        "CREATE USER 'repl'@'%' IDENTIFIED BY 'repl'; GRANT REPLICATION SLAVE ON *.* TO 'repl'@'%'",
    );
    let port = source.port();
    let follow = match engine {
        Engine::MariaDb => format!(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'repl', MASTER_PASSWORD = 'repl', MASTER_LOG_FILE = 'binlog.000001', MASTER_LOG_POS = 4; START SLAVE"
        ),
        Engine::MySql => format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'repl', SOURCE_PASSWORD = 'repl', GET_SOURCE_PUBLIC_KEY = 1, SOURCE_LOG_FILE = 'binlog.000001', SOURCE_LOG_POS = 4; START REPLICA"
        ),
    };
    source.query("CREATE DATABASE arrived");
    let arrived = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'arrived'";
    replica.query(&follow);
    wait_until(Duration::from_secs(60), "the replica", || replica.value::<i64>(arrived) == 1);
    replica
}

/// Makes a server of its own of a replica.
fn promote(replica: &Server) {
    replica.query(match replica.engine() {
        Engine::MariaDb => "STOP SLAVE; RESET SLAVE ALL",
        Engine::MySql => "STOP REPLICA; RESET REPLICA ALL",
    });
}

fn tickets(client: &mut Conn, count: usize) -> Vec<i64> {
    (0..count).map(|_| query::<i64>(client, "SELECT shardid.next_ticket('orders')")[0]).collect()
}

fn flickr(client: &mut Conn) -> i64 {
    let sql = "REPLACE INTO flickr.Tickets64 (stub) VALUES ('a'); SELECT last_insert_id()";
    query(client, sql)[0]
}

fn a_promoted_replica_hands_out_nothing_before_it_is_adopted(engine: Engine) {
    let source = source_with_everything(engine);
    let replica = replica_of(&source, engine);
    // What the replica never hears of, and as far ahead of the clock as ids may be.
    let old = &mut source.connect();
    for (counter, us) in [("counter", 1), ("counter_128", 128)] {
        query::<u64>(
            old,
            &format!(
                "INSERT INTO shardid.{counter} (id, session) VALUES ((timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 9990000) DIV {us}, 0)"
            ),
        );
    }
    let last_id = *ids(old, 5, 200).last().expect("some");
    let last_53 = *ids(old, 6, 200).last().expect("some");
    let last_ticket = *tickets(old, 300).last().expect("some");
    let last_flickr = (0..20).map(|_| flickr(old)).last().expect("some");
    query::<(i64, i64, i64)>(old, "CALL shardid.next_segment('payments', NULL)");

    let new = &mut replica.connect();
    for (sql, what) in [
        ("SELECT shardid.next_id(5)", "shard 5"),
        ("SELECT shardid.next_id(6)", "shard 6"),
        ("SELECT shardid.next_ticket('orders')", "ticket orders"),
        ("SELECT shardid.next_tickets('orders', 5)", "ticket orders"),
        ("CALL shardid.next_tickets('orders', 5)", "ticket orders"),
        ("SELECT shardid.next_ticket_gapless('invoices')", "ticket invoices"),
        ("REPLACE INTO flickr.Tickets64 (stub) VALUES ('a')", "ticket Tickets64"),
        ("CALL shardid.next_segment('payments', NULL)", "segment tag payments"),
    ] {
        let words = expect_refused(new, sql, "55000");
        // One without gaps is not adopted with the rest.
        let mend = match what {
            "ticket invoices" => "raise_ticket('invoices', its last number)",
            _ => "adopt()",
        };
        let said = format!(
            "{what} is of the server that this one was made from: hint: CALL shardid.{mend}"
        );
        assert_eq!(words, said);
    }
    query::<Adopted>(new, "CALL shardid.adopt()");
    assert!(ids(new, 5, 1)[0] > last_id);
    assert!(ids(new, 6, 1)[0] > last_53);
    let next = tickets(new, 1)[0];
    assert!(next > last_ticket && next % 3 == 2, "{next}");
    let next = flickr(new);
    assert!(next > last_flickr && next % 2 == 1, "{next}");
    let first: Vec<(i64, i64, i64)> = query(new, "CALL shardid.next_segment('payments', NULL)");
    assert!(first[0].0 > 1000, "{first:?}");
    // Its source goes on, should it come back: whoever fenced it off decides.
    ids(old, 5, 1);
}

/// Dropped and made again it was of the new server, whose counters knew nothing of the old one's last ids.
fn a_shard_is_not_made_on_a_promoted_replica_before_it_is_adopted(engine: Engine) {
    let source = source_with_everything(engine);
    let replica = replica_of(&source, engine);
    let old = &mut source.connect();
    query::<u64>(
        old,
        "INSERT INTO shardid.counter (id, session) VALUES (timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) + 9000000, 0)",
    );
    let last = *ids(old, 5, 200).last().expect("some");

    let new = &mut replica.connect();
    query::<u64>(new, "CALL shardid.drop_shard(5); CALL shardid.drop_shard(6)");
    for shard in [5, 7] {
        let sql = format!("CALL shardid.create_shard({shard}, 'instagram')");
        let words = expect_refused(new, &sql, "55000");
        assert!(words.contains("hint: CALL shardid.adopt()"), "{words}");
    }
    query::<Adopted>(new, "CALL shardid.adopt()");
    query::<u64>(new, "CALL shardid.create_shard(5, 'instagram')");
    let next = ids(new, 5, 1)[0];
    assert!(next > last, "{next} is not above {last}");
}

/// What, its name, above what it goes on, whether it is this server's.
type Adopted = (String, String, Option<u64>, bool);

fn what_is_left_out_is_chosen_and_a_gapless_ticket_is_adopted_by_hand(engine: Engine) {
    let source = source_with_everything(engine);
    let replica = replica_of(&source, engine);
    let new = &mut replica.connect();
    expect_refused(new, "CALL shardid.adopt_leaving_out(-1)", "22023");
    expect_refused(new, "CALL shardid.adopt_leaving_out(NULL)", "22023");
    let rows: Vec<Adopted> = query(new, "CALL shardid.adopt_leaving_out(0)");
    let of = |name: &str| rows.iter().find(|row| row.1 == name).expect("it is shown").clone();
    assert_eq!(of("orders"), ("ticket".into(), "orders".into(), Some(2), true));
    assert_eq!(of("invoices"), ("ticket".into(), "invoices".into(), Some(1), false));
    assert_eq!(of("2"), ("shards".into(), "2".into(), None, true));
    assert_eq!(tickets(new, 1), [5], "a synchronous replica has every number");
    let next = "SELECT shardid.next_ticket_gapless('invoices')";
    expect_refused(new, next, "55000");
    query::<u64>(new, "CALL shardid.raise_ticket('invoices', 7)");
    assert_eq!(query::<i64>(new, next), [8]);
}

fn adopting_where_nothing_is_strange_changes_nothing(engine: Engine) {
    let server = source_with_everything(engine);
    let client = &mut server.connect();
    let before = ids(client, 5, 1)[0];
    query::<Adopted>(client, "CALL shardid.adopt()");
    assert_eq!(tickets(client, 1), [5]);
    assert_eq!(flickr(client), 3);
    let after = ids(client, 5, 1)[0];
    let ms =
        "SELECT timestampdiff(MICROSECOND, shardid.id_time({a}), shardid.id_time({b})) < 5000000"
            .replace("{a}", &before.to_string())
            .replace("{b}", &after.to_string());
    assert!(after > before && server.value::<bool>(&ms));
}

fn a_semi_synchronous_replica_has_every_number_that_a_client_was_told(engine: Engine) {
    let source = source_with_everything(engine);
    let replica = follower_of(&source, engine);
    // MariaDB has it built in, and waits after the commit where it is not told otherwise.
    let (on_replica, on_source, clients) = match engine {
        Engine::MariaDb => (
            "SET GLOBAL rpl_semi_sync_slave_enabled = ON; STOP SLAVE IO_THREAD; START SLAVE IO_THREAD",
            "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC, GLOBAL rpl_semi_sync_master_timeout = 60000, GLOBAL rpl_semi_sync_master_enabled = ON",
            "Rpl_semi_sync_master_clients",
        ),
        Engine::MySql => (
            "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'; SET GLOBAL rpl_semi_sync_replica_enabled = ON; STOP REPLICA IO_THREAD; START REPLICA IO_THREAD",
            "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'; SET GLOBAL rpl_semi_sync_source_timeout = 60000, GLOBAL rpl_semi_sync_source_enabled = ON",
            "Rpl_semi_sync_source_clients",
        ),
    };
    source.query(on_source);
    replica.query(on_replica);
    let status = format!("SHOW GLOBAL STATUS LIKE '{clients}'");
    wait_until(Duration::from_secs(60), "the replica that answers", || {
        source.value::<(String, String)>(&status).1 == "1"
    });

    // One client of each; the source dies at whatever they are doing.
    let statements = [
        "SELECT shardid.next_id(5)",
        "SELECT shardid.next_id(6)",
        "SELECT shardid.next_ticket('orders')",
        "REPLACE INTO flickr.Tickets64 (stub) VALUES ('a'); SELECT last_insert_id()",
    ];
    let told: Vec<i64> = scope(|scope| {
        let threads = statements.map(|sql| {
            let client = &source;
            scope.spawn(move || {
                let mut client = client.connect();
                let mut last = 0;
                while let Ok(number) = try_query::<i64>(&mut client, sql) {
                    assert!(number[0] > last);
                    last = number[0];
                }
                last
            })
        });
        sleep(Duration::from_secs(1));
        source.kill9();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });

    wait_until(Duration::from_secs(60), "what has arrived", || has_done_what_arrived(&replica));
    promote(&replica);
    let new = &mut replica.connect();
    query::<Adopted>(new, "CALL shardid.adopt_leaving_out(0)");
    for (sql, told) in statements.into_iter().zip(told) {
        let next = query::<i64>(new, sql)[0];
        assert!(told > 2 && next > told, "{sql} gave {next}, and {told} was told before");
    }
}

/// Whether a replica has done all that it has of its source.
fn has_done_what_arrived(replica: &Server) -> bool {
    let (sql, read, done) = match replica.engine() {
        Engine::MariaDb => ("SHOW SLAVE STATUS", "Read_Master_Log_Pos", "Exec_Master_Log_Pos"),
        Engine::MySql => ("SHOW REPLICA STATUS", "Read_Source_Log_Pos", "Exec_Source_Log_Pos"),
    };
    let row = query::<Row>(&mut replica.connect(), sql).pop().expect("it is a replica");
    row.get::<u64, _>(read) == row.get::<u64, _>(done)
}

fn a_copy_of_the_files_hands_out_nothing_where_it_is_known_by_another_number(engine: Engine) {
    let source = source_with_everything(engine);
    source.stop();
    // The limit: nothing tells two servers apart that have one number. Only a cluster file
    // with both of them does; see `a_copy_of_a_server_is_refused`.
    let copy = Server::builder(engine).copy_of(&source).start();
    assert_eq!(tickets(&mut copy.connect(), 1), [5]);
    drop(copy);
    let mut other = Server::builder(engine).copy_of(&source);
    match engine {
        Engine::MariaDb => other = other.option("--server-id=2"),
        Engine::MySql => std::fs::remove_file(source.folder().join("data/auto.cnf"))
            .expect("MySQL keeps its server_uuid there"),
    }
    let other = other.start();
    let client = &mut other.connect();
    for sql in ["SELECT shardid.next_ticket('orders')", "SELECT shardid.next_id(5)"] {
        let words = expect_refused(client, sql, "55000");
        assert!(words.contains("CALL shardid.adopt()"), "{words}");
    }
    query::<Adopted>(client, "CALL shardid.adopt()");
    assert_eq!(tickets(client, 1), [3_000_005]);
}

/// A dump is a copy as well, also in two parts: the rows come into a schema that is there.
fn a_restored_dump_hands_out_nothing_where_the_server_has_another_number(engine: Engine) {
    let source = source_with_everything(engine);
    let whole: &[&[&str]] = &[&["--routines", "--triggers"]];
    let parts: &[&[&str]] =
        &[&["--routines", "--triggers", "--no-data"], &["--no-create-info", "--skip-triggers"]];
    for dumps in [whole, parts] {
        let restored = Server::builder(engine).bare().option("--server-id=2").start();
        for options in dumps {
            let dump = source
                .command("dump")
                .args(["--single-transaction", "--databases", "shardid"])
                .args(*options)
                .args((engine == Engine::MySql).then_some("--set-gtid-purged=OFF"))
                .output()
                .expect("the dump runs");
            let mut input =
                restored.command("client").stdin(Stdio::piped()).spawn().expect("the client runs");
            input.stdin.take().expect("a pipe").write_all(&dump.stdout).expect("it reads");
            assert!(input.wait().expect("it ends").success());
        }
        let client = &mut restored.connect();
        for sql in [
            "SELECT shardid.next_ticket('orders')",
            "SELECT shardid.next_id(5)",
            "CALL shardid.next_segment('payments', NULL)",
            "REPLACE INTO shardid.Tickets64 (stub) VALUES ('a')",
        ] {
            let words = expect_refused(client, sql, "55000");
            assert!(words.contains("CALL shardid.adopt()"), "{words}");
        }
        query::<Adopted>(client, "CALL shardid.adopt_leaving_out(0)");
        assert_eq!(tickets(client, 1), [5]);
        // What is made there is of there.
        query::<u64>(
            client,
            "CALL shardid.create_ticket('new', 1, 1); CALL shardid.create_shard(7, 'instagram'); CALL shardid.create_segment('new', 10)",
        );
        query::<(u64, u64)>(client, "SELECT shardid.next_ticket('new'), shardid.next_id(7)");
        query::<(i64, i64, i64)>(client, "CALL shardid.next_segment('new', NULL)");
    }
}

/// What MariaDB keeps of a routine is what it runs itself, and on a MySQL server with the same server_id that was of here.
#[test]
fn a_dump_of_mariadb_hands_out_nothing_on_mysql_before_it_is_adopted() {
    let source = source_with_everything(Engine::MariaDb);
    let number = source.value::<u64>("SELECT @@GLOBAL.server_id");
    let restored =
        Server::builder(Engine::MySql).bare().option(&format!("--server-id={number}")).start();
    let dump = source
        .command("dump")
        .args(["--single-transaction", "--databases", "shardid", "--routines", "--triggers"])
        .output()
        .expect("the dump runs");
    let mut input =
        restored.command("client").stdin(Stdio::piped()).spawn().expect("the client runs");
    input.stdin.take().expect("a pipe").write_all(&dump.stdout).expect("it reads");
    assert!(input.wait().expect("it ends").success());
    let client = &mut restored.connect();
    for sql in [
        "SELECT shardid.next_ticket('orders')",
        "SELECT shardid.next_tickets('orders', 2)",
        "SELECT shardid.next_ticket_gapless('invoices')",
        "SELECT shardid.next_id(5)",
        "CALL shardid.next_segment('payments', NULL)",
        "REPLACE INTO shardid.Tickets64 (stub) VALUES ('a')",
        "CALL shardid.create_shard(9, 'instagram')",
    ] {
        let words = expect_refused(client, sql, "55000");
        assert!(words.contains(" of the server that this one was made from"), "{sql}: {words}");
    }
    let last: u64 = source.value("SELECT shardid.next_tickets('orders', 100)");
    query::<Adopted>(client, "CALL shardid.adopt()");
    assert!(tickets(client, 1)[0] > i64::try_from(last).expect("it is small") + 300);
    assert!(source.value::<i64>("SELECT shardid.next_ticket('orders')") > 0, "its own goes on");
}

/// MariaDB may run the triggers of a replica for what it is sent.
fn rows_that_are_sent_by_a_replica_with_triggers_stay_those_of_their_server(engine: Engine) {
    let source = Server::builder(engine).name("the source").start();
    source.query(
        "CALL shardid.create_ticket('orders', 2, 3); CALL shardid.create_shard(5, 'instagram')",
    );
    let option = match engine {
        Engine::MariaDb => "--slave-run-triggers-for-rbr=ENFORCE".to_owned(),
        Engine::MySql => plugins(engine),
    };
    let replica = follower_with(&source, engine, &option);
    promote(&replica);
    let client = &mut replica.connect();
    expect_refused(client, "SELECT shardid.next_ticket('orders')", "55000");
    expect_refused(client, "SELECT shardid.next_id(5)", "55000");
}
