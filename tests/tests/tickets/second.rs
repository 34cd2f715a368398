//! Two programs at one change of servers: the journal decides, and each server is changed by
//! one of them at a time.

use shardid_tests::estate::Held;

use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    a_program_that_was_overtaken_takes_no_change_further,
    what_a_program_has_under_way_on_a_server_ends_before_another_begins,
    a_change_of_servers_that_were_others_is_not_begun,
    a_catalog_on_postgresql_decides_as_well,
    a_mark_that_another_program_leaves_meanwhile_is_no_restore,
    a_server_that_is_restored_before_verify_has_the_lock_is_not_remembered,
}

fn held(servers: &Servers, at: &str, arguments: &[&str]) -> Held {
    let mut command = servers.command(arguments);
    command.env("SHARDID_HOLD_AT", format!("tickets/{at}"));
    Held::start(command, &format!("tickets/{at}"))
}

const ADD: [&str; 5] = ["tickets", "add-server", "orders", "my2", "--yes"];
const RESUME: [&str; 3] = ["tickets", "resume", "orders"];
const STATE: &str = "SELECT state FROM shardid.ticket_change ORDER BY `change` DESC LIMIT 1";

fn a_program_that_was_overtaken_takes_no_change_further(engine: Engine) {
    let servers = Servers::start(engine, 1);
    servers.grow(2);
    let mut first = held(&servers, "planned/before-next", &ADD);
    for (state, next) in [
        ("planned", "limited/before-next"),
        ("limited", "stepped/before-next"),
        ("stepped", "stepped/before-next"),
    ] {
        // What another program does first that begins to work on it.
        servers.sql("my1", "UPDATE shardid.ticket_change SET term = term + 1");
        let run = first.let_go();
        assert_eq!(run.code, 3, "{state}: {}", run.stderr);
        assert!(
            run.stderr.contains("somebody else has begun to work on the change"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains("`shardid tickets status`"), "{}", run.stderr);
        assert_eq!(servers.sql("my1", STATE), state);
        first = held(&servers, next, &RESUME);
    }
    first.kill();

    // One that has read it as it was goes by what it is.
    servers.run(&RESUME).ok();
    servers.run(&["tickets", "remove-server", "orders", "my2", "--yes"]).ok();
    servers.run_cut("tickets/after-planned", &ADD);
    let late = held(&servers, "before-take", &RESUME);
    servers.sql(
        "my1",
        "UPDATE shardid.ticket_change SET `floor` = `floor` + 5000 WHERE state = 'planned'",
    );
    let floor = servers.sql("my1", "SELECT max(`floor`) FROM shardid.ticket_change");
    late.let_go().ok();
    assert_eq!(
        servers.sql("my2", "SELECT `floor` FROM shardid.ticket WHERE name = 'orders'"),
        floor
    );
    assert_eq!(servers.sql("my1", STATE), "done");
    servers.edit("[\"my1\"]", "[\"my1\", \"my2\"]");
    servers.is_clean();
}

/// The catalog's session is lost, and with it the cluster's lock; the one that changes
/// tickets on the same server is not.
fn what_a_program_has_under_way_on_a_server_ends_before_another_begins(engine: Engine) {
    let servers = Servers::start(engine, 1);
    servers.grow(2);
    let first = held(&servers, "planned/before-1", &ADD);
    for node in ["my1", "my2"] {
        let lost = servers.sql(node, "SELECT is_used_lock('shardid.cluster')");
        servers.sql(node, &format!("KILL {lost}"));
    }
    let wait = ["tickets", "resume", "orders", "--wait-seconds-max", "1"];
    let refused = servers.run(&wait);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let words = "node my1: another program is changing tickets there";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
    first.kill();
    servers.run(&RESUME).ok();
    servers.edit("[\"my1\"]", "[\"my1\", \"my2\"]");
    servers.is_clean();
}

fn a_change_of_servers_that_were_others_is_not_begun(engine: Engine) {
    let servers = Servers::start(engine, 1);
    servers.grow(3);
    let first =
        held(&servers, "before-planned", &["tickets", "add-server", "orders", "my3", "--yes"]);
    // Another program, which has had the lock meanwhile, has made my2 a server.
    servers.sql(
        "my1",
        "INSERT INTO shardid.ticket_server (ticket, server, node) VALUES ('orders', 2, 'my2')",
    );
    let refused = first.let_go().refused();
    assert!(
        refused.contains("somebody else has changed the servers of ticket orders"),
        "{refused}"
    );
    assert_eq!(servers.sql("my1", "SELECT count(*) FROM shardid.ticket_change"), "0");
    servers.sql("my1", "DELETE FROM shardid.ticket_server WHERE node = 'my2'");
    servers.run(&ADD).ok();
    servers.edit("[\"my1\"]", "[\"my1\", \"my2\"]");
    servers.is_clean();
}

fn a_catalog_on_postgresql_decides_as_well(engine: Engine) {
    let servers = Servers::up(engine, 1, 2);
    servers.edit("servers = [\"my1\", \"my2\"]", "servers = [\"pg1\"]");
    servers.run(&["apply", "--yes"]).ok();
    let first =
        held(&servers, "limited/before-next", &["tickets", "add-server", "orders", "my1", "--yes"]);
    servers.psql("pg1", "UPDATE shardid.ticket_change SET term = term + 1");
    let run = first.let_go();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("somebody else has begun to work on the change"), "{}", run.stderr);
    assert_eq!(servers.psql("pg1", "SELECT state FROM shardid.ticket_change"), "limited");
    servers.run(&RESUME).ok();

    let first =
        held(&servers, "before-planned", &["tickets", "add-server", "orders", "my2", "--yes"]);
    servers.psql("pg1", "DELETE FROM shardid.ticket_server WHERE server = 2");
    let refused = first.let_go().refused();
    assert!(
        refused.contains("somebody else has changed the servers of ticket orders"),
        "{refused}"
    );
}

/// The catalog was read before the mark was left, and the server after it: the worst of alarms, from
/// two `verify` at a time.
fn a_mark_that_another_program_leaves_meanwhile_is_no_restore(engine: Engine) {
    let servers = Servers::start(engine, 2);
    let verify = ["tickets", "verify"];
    let meanwhile = |arguments: &[&str]| {
        let late = held(&servers, "look/before-asking", arguments);
        let code = servers.run(&verify).code;
        (code, late.let_go())
    };
    let (first, late) = meanwhile(&verify);
    assert_eq!((first, late.code), (0, 0), "{}", late.stderr);
    let (first, late) = meanwhile(&["apply", "--yes"]);
    assert_eq!(first, 0);
    assert!(late.stderr.contains("nothing to do"), "{}", late.stderr);

    // One that was restored is told by both.
    servers.sql("my2", "UPDATE shardid.server SET mark = 'of before'");
    let (first, late) = meanwhile(&verify);
    assert_eq!((first, late.code), (1, 1), "{}", late.stderr);
    servers.run(&["apply", "--yes"]).ok();
    servers.is_clean();
}

/// It looked, waited for another program, and then left its mark on a server that it had not looked at since: nobody
/// would ever have been told.
fn a_server_that_is_restored_before_verify_has_the_lock_is_not_remembered(engine: Engine) {
    let servers = Servers::start(engine, 2);
    let verify = ["tickets", "verify"];
    servers.run(&verify).ok();
    let seen =
        || servers.sql("my1", "SELECT last_number FROM shardid.ticket_server WHERE node = 'my2'");
    let late = held(&servers, "verify/before-lock", &verify);
    servers.sql("my2", "SELECT shardid.next_tickets('orders', 5000)");
    servers.run(&verify).ok();
    assert_eq!(seen(), "10000");
    late.let_go().ok();
    assert_eq!(seen(), "10000", "another one has seen more");

    let late = held(&servers, "verify/before-lock", &verify);
    servers.sql("my2", "UPDATE shardid.server SET mark = 'of before'");
    assert_eq!(late.let_go().code, 1);
    assert_eq!(servers.run(&verify).code, 1, "it is not forgotten");
    servers.run(&["apply", "--yes"]).ok();
    servers.is_clean();

    // Where the lock is not to be had, what was found is said all the same.
    servers.sql("my2", "UPDATE shardid.server SET mark = 'of before'");
    let other = held(&servers, "apply/after-0", &["apply", "--yes"]);
    let run = servers.run(&verify);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("node my2 was restored from a backup"), "{}", run.stdout);
    assert!(run.stderr.contains("node my1"), "{}", run.stderr);
    other.let_go().ok();
    servers.is_clean();
}
