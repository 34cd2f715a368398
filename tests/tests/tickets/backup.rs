//! Servers that were restored, copied or set wrong hand out no old numbers.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use shardid_tests::wait_until;

use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    a_server_from_an_old_backup_is_noticed_and_goes_on_above_its_old_numbers,
    a_restored_server_that_has_caught_up_is_noticed_by_its_mark,
    a_catalog_from_a_backup_is_not_believed_about_its_own_server,
    a_server_restored_after_the_last_look_is_raised_when_its_owner_says_so,
    looks_from_machines_with_other_clocks_are_told_apart_by_the_catalogs,
    a_copy_of_a_server_is_refused,
    a_wrong_offset_is_named_and_mended,
    a_ticket_that_was_dropped_is_made_again_above_what_was_seen,
    a_server_that_is_down_keeps_nobody_from_noticing_a_restore_of_another,
    a_schema_restored_without_its_routines_is_found_and_mended,
    a_table_that_is_missing_is_named_and_not_made_anew,
    a_view_that_is_missing_or_shows_nothing_is_found_and_made_again,
    a_table_that_counts_no_more_is_named_with_what_mends_it,
    a_server_that_took_over_is_found_and_goes_on_above_what_was_seen,
    a_catalog_that_has_forgotten_a_server_lets_nobody_repeat_its_numbers,
    a_server_that_was_removed_and_comes_back_from_a_backup_ends_again,
    a_change_that_stands_goes_on_above_what_a_restored_server_has_forgotten,
    a_restored_server_repeats_nothing_while_a_change_stands_that_cannot_go_on,
    a_restored_server_that_had_its_new_class_repeats_nothing_of_that_either,
    a_removed_server_that_is_restored_ends_above_all_that_it_can_have_given,
    a_catalog_that_is_named_anew_opens_no_server_that_was_removed,
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    let done = Command::new("cp").arg("-a").args([from, to]).status().expect("cp runs");
    assert!(done.success());
}

/// Takes a backup of a server in good order.
pub(crate) fn backup(servers: &Servers, node: &str, count: usize) {
    servers.stop(node);
    copy(&servers.path(&format!(".shardid/{node}")), &servers.path(&format!("{node}.backup")));
    servers.dev_up(0, count);
}

/// Puts the backup in the place of the server.
pub(crate) fn restore(servers: &Servers, node: &str, count: usize) {
    servers.stop(node);
    copy(&servers.path(&format!("{node}.backup")), &servers.path(&format!(".shardid/{node}")));
    servers.dev_up(0, count);
}

pub(crate) fn take(servers: &Servers, node: &str, count: u64) -> u64 {
    let sql = format!("SELECT shardid.next_tickets('orders', {count})");
    servers.sql(node, &sql).parse().unwrap()
}

fn a_server_from_an_old_backup_is_noticed_and_goes_on_above_its_old_numbers(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my2", 10);
    backup(&servers, "my2", 2);
    let last = take(&servers, "my2", 3000) + 2 * 2999;
    servers.is_clean();
    restore(&servers, "my2", 2);

    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("node my2 was restored from a backup"), "{}", run.stdout);
    assert!(
        run.stdout.contains(&format!(
            "ticket orders on my2 stands at 20, although {last} was handed out"
        )),
        "{}",
        run.stdout
    );
    let status = servers.run(&["tickets", "status"]);
    assert!(status.stderr.contains("restored from a backup"), "{}", status.stderr);
    // A change of servers would build on what it has forgotten.
    let error = servers.run(&["tickets", "remove-server", "orders", "my1", "--yes"]).refused();
    assert!(error.contains("restored from a backup"), "{error}");

    servers.run(&["apply", "--yes"]).ok();
    let next = take(&servers, "my2", 1);
    assert!(next > last && next.is_multiple_of(2), "{next} is not above {last}");
    servers.is_clean();
}

fn a_restored_server_that_has_caught_up_is_noticed_by_its_mark(engine: Engine) {
    let servers = Servers::start(engine, 2);
    backup(&servers, "my2", 2);
    let last = take(&servers, "my2", 100) + 2 * 99;
    servers.is_clean();
    restore(&servers, "my2", 2);
    // Clients were quicker than anybody's look: it stands above the mark again.
    let repeated = take(&servers, "my2", 500) + 2 * 499;
    assert!(repeated > last);
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("node my2 was restored from a backup"), "{}", run.stdout);
    servers.run(&["apply", "--yes"]).ok();
    assert!(take(&servers, "my2", 1) > repeated);
    servers.is_clean();
}

fn a_catalog_from_a_backup_is_not_believed_about_its_own_server(engine: Engine) {
    let servers = Servers::start(engine, 2);
    backup(&servers, "my1", 2);
    let last = take(&servers, "my1", 100) + 2 * 99;
    servers.is_clean();
    // The catalog is on my1, and has forgotten together with it.
    restore(&servers, "my1", 2);
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    servers.run(&["apply", "--yes"]).ok();
    assert!(take(&servers, "my1", 1) > last);
    servers.is_clean();
}

fn a_server_restored_after_the_last_look_is_raised_when_its_owner_says_so(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.is_clean();
    backup(&servers, "my2", 2);
    let last = take(&servers, "my2", 100) + 2 * 99;
    restore(&servers, "my2", 2);
    let error = servers.run(&["apply", "--yes", "--restored", "my7"]);
    assert_eq!(error.code, 2, "{}", error.stderr);
    servers.run(&["apply", "--yes", "--restored", "my2"]).ok();
    assert!(take(&servers, "my2", 1) > last);
    servers.is_clean();
}

/// By the clock of a machine that is ahead, no time had passed until a later look, and there was no room.
fn looks_from_machines_with_other_clocks_are_told_apart_by_the_catalogs(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my2", 10);
    let mut ahead = servers.command(&["tickets", "verify"]);
    shardid_tests::ahead_for(&mut ahead, 3600);
    shardid_tests::program::run(ahead).ok();
    let age = "SELECT abs(timestampdiff(SECOND, '1970-01-01', utc_timestamp()) - max(last_us) DIV 1000000) < 60 FROM shardid.ticket_server";
    assert_eq!(servers.sql("my1", age), "1");
}

fn a_server_that_is_down_keeps_nobody_from_noticing_a_restore_of_another(engine: Engine) {
    let servers = Servers::start(engine, 3);
    servers.is_clean();
    servers.stop("my3");
    backup(&servers, "my2", 2);
    servers.stop("my3");
    let last = take(&servers, "my2", 500) + 3 * 499;
    // The look that must remember how far my2 is, although my3 does not answer.
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("not remembered of my3"), "{}", run.stdout);
    restore(&servers, "my2", 2);
    servers.stop("my3");
    let run = servers.run(&["tickets", "verify"]);
    assert!(run.stdout.contains("node my2 was restored from a backup"), "{}", run.stdout);
    assert!(run.stdout.contains(&format!("although {last} was handed out")), "{}", run.stdout);
    assert!(run.stdout.contains("not remembered of my2, my3"), "{}", run.stdout);
    servers.dev_up(0, 3);
    servers.run(&["apply", "--yes"]).ok();
    assert!(take(&servers, "my2", 1) > last);
    servers.is_clean();
}

fn a_schema_restored_without_its_routines_is_found_and_mended(engine: Engine) {
    let servers = Servers::start(engine, 2);
    let last = take(&servers, "my2", 10) + 2 * 9;
    // What is there after a dump without --routines.
    servers.sql("my2", "DROP TRIGGER shardid.before_tickets64; DROP FUNCTION shardid.next_id; DROP PROCEDURE shardid.next_tickets; DROP FUNCTION shardid.next_tickets");
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("and 3 more of schema shardid are missing"), "{}", run.stdout);
    let plan = servers.run(&["plan"]);
    assert!(plan.stdout.contains("my2"), "{}", plan.stdout);
    servers.run(&["apply", "--yes"]).ok();
    assert!(take(&servers, "my2", 1) > last);
    servers.sql("my2", "CALL shardid.create_shard(5, 'instagram'); SELECT shardid.next_id(5)");
    let plan = servers.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
}

/// A dump makes views of nothing first, and the right ones at its end.
fn a_view_that_is_missing_or_shows_nothing_is_found_and_made_again(engine: Engine) {
    let servers = Servers::start(engine, 2);
    let last = take(&servers, "my2", 10) + 2 * 9;
    servers.is_clean();
    for broken in [
        "DROP VIEW shardid.tickets, shardid.layouts",
        "CREATE OR REPLACE VIEW shardid.tickets AS SELECT 1 AS name, 1 AS last_ticket; DROP VIEW shardid.shards",
    ] {
        servers.sql("my2", broken);
        let run = servers.run(&["tickets", "verify"]);
        assert_eq!(run.code, 1);
        let said = "and 1 more of schema shardid are missing";
        assert!(run.stdout.contains("view ") && run.stdout.contains(said), "{}", run.stdout);
        assert!(!run.stdout.contains("another server"), "{}", run.stdout);
        servers.run(&["apply", "--yes"]).ok();
        let shown =
            servers.sql("my2", "SELECT last_ticket FROM shardid.tickets WHERE name = 'orders'");
        assert_eq!(shown, last.to_string());
        servers.sql("my2", "SELECT * FROM shardid.layouts; SELECT * FROM shardid.shards");
        servers.is_clean();
    }
    assert!(take(&servers, "my2", 1) > last);
}

/// A dump by `--skip-opt` leaves it out on MariaDB.
fn a_table_that_counts_no_more_is_named_with_what_mends_it(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.sql("my2", "CALL shardid.create_shard(5, 'instagram'); SELECT shardid.next_id(5)");
    let last = take(&servers, "my2", 10) + 2 * 9;
    servers.is_clean();
    servers.sql("my2", "ALTER TABLE shardid.counter MODIFY id BIGINT UNSIGNED NOT NULL; ALTER TABLE shardid.Tickets32 MODIFY id INT UNSIGNED NOT NULL");
    for arguments in [&["tickets", "verify"][..], &["apply", "--yes"]] {
        let run = servers.run(arguments);
        let text = format!("{}{}", run.stdout, run.stderr);
        assert_eq!(run.code, 1, "{text}");
        for table in ["counter", "Tickets32"] {
            let says = format!("table shardid.{table} has lost its AUTO_INCREMENT");
            assert!(text.contains(&says), "{text}");
        }
    }
    let said = servers.run(&["tickets", "verify"]).stdout;
    for (i, _) in said.match_indices("ALTER TABLE") {
        servers.sql("my2", said[i..].split(", then").next().unwrap());
    }
    servers.run(&["apply", "--yes", "--restored", "my2"]).ok();
    servers.sql("my2", "SELECT shardid.next_id(5)");
    assert!(take(&servers, "my2", 1) > last);
    servers.is_clean();
}

fn a_table_that_is_missing_is_named_and_not_made_anew(engine: Engine) {
    let servers = Servers::start(engine, 2);
    let last = take(&servers, "my2", 10) + 2 * 9;
    servers.is_clean();
    servers.sql("my2", "RENAME TABLE shardid.ticket TO shardid.hidden, shardid.counter_128 TO shardid.hidden_too; DROP FUNCTION shardid.next_id");
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1);
    let said = "node my2: table counter_128 and 1 more of schema shardid are missing";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    let error = servers.run(&["apply", "--yes"]).refused();
    assert!(error.contains(said) && error.contains("shardid apply --restored my2"), "{error}");
    assert_eq!(servers.sql("my2", "SHOW TABLES FROM shardid LIKE 'ticket'"), "");
    servers.sql(
        "my2",
        "RENAME TABLE shardid.hidden TO shardid.ticket, shardid.hidden_too TO shardid.counter_128",
    );
    servers.run(&["apply", "--yes", "--restored", "my2"]).ok();
    assert!(take(&servers, "my2", 1) > last);
    servers.is_clean();
}

fn a_server_that_took_over_is_found_and_goes_on_above_what_was_seen(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.sql("my2", "CALL shardid.create_shard(5, 'instagram'); CALL shardid.create_ticket('own', 1, 1); SELECT shardid.next_ticket('own'); \
         CALL shardid.create_ticket('invoices', 1, 1); SELECT shardid.next_ticket_gapless('invoices')");
    let last = take(&servers, "my2", 100) + 2 * 99;
    servers.is_clean();
    // What a replica has that was promoted: all of another server, but not its number.
    servers.sql(
        "my2",
        match engine {
            Engine::MariaDb => "SET GLOBAL server_id = 77",
            Engine::MySql => {
                "UPDATE shardid.ticket SET home = 'another'; UPDATE shardid.shard SET home = 'another'"
            }
        },
    );
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1);
    let said = "node my2 took over from another server, or was made from one: it hands out no ids and no tickets: shardid apply";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    let plan = servers.run(&["plan"]);
    assert!(plan.stdout.contains("my2: hand out what another server did"), "{}", plan.stdout);
    servers.run(&["apply", "--yes"]).ok();
    let next = take(&servers, "my2", 1);
    assert!(next > last && next.is_multiple_of(2), "{next} is not above {last}");
    // One that is no ticket of the cluster file goes on a million numbers later.
    assert_eq!(servers.sql("my2", "SELECT shardid.next_ticket('own')"), "1000002");
    servers.sql("my2", "SELECT shardid.next_id(5)");
    // Of one without gaps nobody but its owner knows the last number; nothing else is raised for it
    // again and again.
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1);
    let said = "ticket invoices, which has no gaps, on my2 is of the server that this one took over from, and hands out nothing: \
         on my2, with its last number: CALL shardid.raise_ticket('invoices', …)";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    assert!(!run.stdout.contains("took over from another server"), "{}", run.stdout);
    let plan = servers.run(&["plan"]);
    assert!(!plan.stdout.contains("my2"), "{}", plan.stdout);
    let refused = servers.try_sql("my2", "SELECT shardid.next_ticket_gapless('invoices')");
    let refused = String::from_utf8_lossy(&refused.stderr);
    assert!(
        refused.contains("CALL shardid.raise_ticket('invoices', its last number)"),
        "{refused}"
    );
    servers.sql("my2", "CALL shardid.raise_ticket('invoices', 1)");
    assert_eq!(servers.sql("my2", "SELECT shardid.next_ticket_gapless('invoices')"), "2");
    servers.is_clean();
}

/// What MySQL alone has: a server that is made from a backup gets another identity.
mod uuid_on_mysql {
    use super::{backup, restore, take};
    use crate::servers::{Engine, Servers, has_mysql};

    #[test]
    fn a_server_restored_after_the_last_look_is_noticed_by_its_uuid() {
        if !has_mysql() {
            eprintln!("skipped: SHARDID_MYSQLD names no MySQL server");
            return;
        }
        let servers = Servers::start(Engine::MySql, 2);
        servers.is_clean();
        backup(&servers, "my2", 2);
        let last = take(&servers, "my2", 100) + 2 * 99;
        // Backup programs leave the file out, and the server makes another.
        let identity = servers.path("my2.backup/auto.cnf");
        std::fs::remove_file(&identity).expect("MySQL keeps its server_uuid there");
        restore(&servers, "my2", 2);
        let run = servers.run(&["tickets", "verify"]);
        assert_eq!(run.code, 1);
        let words = "node my2 is another server than before, or a restored one";
        assert!(run.stdout.contains(words), "{}", run.stdout);
        servers.run(&["apply", "--yes"]).ok();
        assert!(take(&servers, "my2", 1) > last);
        servers.is_clean();
    }
}

fn a_copy_of_a_server_is_refused(engine: Engine) {
    let servers = Servers::start(engine, 1);
    take(&servers, "my1", 10);
    servers.run(&["dev", "up", "--nodes", "0", "--ticket-servers", "2"]).ok();
    backup(&servers, "my1", 2);
    servers.stop("my2");
    copy(&servers.path("my1.backup"), &servers.path(".shardid/my2"));
    servers.grow_without_apply(2);
    let error = servers.run(&["apply", "--yes"]).refused();
    assert!(
        error.contains("nodes my1 and my2 are one server, or one is a copy of the other"),
        "{error}"
    );
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("nodes my1 and my2 are one server"), "{}", run.stdout);
}

fn a_wrong_offset_is_named_and_mended(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my1", 5);
    servers.sql("my2", "UPDATE shardid.ticket SET server = 1 WHERE name = 'orders'");
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1);
    let said = "ticket orders on my2 hands out class 1 of 2 and not 2 of 2: shardid apply";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    servers.run(&["apply", "--yes"]).ok();
    let (odd, even) = (take(&servers, "my1", 1), take(&servers, "my2", 1));
    assert!(odd % 2 == 1 && even % 2 == 0 && odd > 9 && even > 9, "{odd} {even}");
    servers.is_clean();
}

fn a_ticket_that_was_dropped_is_made_again_above_what_was_seen(engine: Engine) {
    let servers = Servers::start(engine, 2);
    let last = take(&servers, "my2", 40) + 2 * 39;
    servers.is_clean();
    servers.sql("my2", "CALL shardid.drop_ticket('orders')");
    let run = servers.run(&["tickets", "verify"]);
    assert!(run.stdout.contains("ticket orders is not on my2"), "{}", run.stdout);
    servers.run(&["apply", "--yes"]).ok();
    let next = take(&servers, "my2", 1);
    assert!(next > last && next.is_multiple_of(2), "{next}");
    servers.is_clean();
}

const CATALOG: [&str; 3] = ["ticket_node", "ticket_server", "ticket_change"];

/// The same, of the catalog alone, on my1.
pub(crate) fn back_up_catalog(servers: &Servers) {
    servers.sql("my1", "DROP DATABASE IF EXISTS older; CREATE DATABASE older");
    for table in CATALOG {
        servers.sql("my1", &format!("CREATE TABLE older.{table} AS SELECT * FROM shardid.{table}"));
    }
}

pub(crate) fn restore_catalog(servers: &Servers) {
    let put_back = CATALOG.map(|table| {
        let columns = servers.sql(
            "my1",
            &format!(
                "SELECT group_concat(concat('`', column_name, '`')) FROM information_schema.columns WHERE table_schema = 'shardid' \
                 AND table_name = '{table}' AND coalesce(generation_expression, '') = ''"
            ),
        );
        format!("DELETE FROM shardid.{table}; INSERT INTO shardid.{table} ({columns}) SELECT {columns} FROM older.{table}")
    });
    servers.sql("my1", &format!("SET foreign_key_checks = 0; {}", put_back.join("; ")));
}

/// The others went on with all numbers above their own, and one that the catalog had forgotten
/// went on as well.
fn a_catalog_that_has_forgotten_a_server_lets_nobody_repeat_its_numbers(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    let ends = |last: u64| {
        let ended = servers.try_sql("my3", "SELECT shardid.next_tickets('orders', 1)");
        assert!(!ended.status.success(), "my3 goes on");
        let next = take(&servers, "my1", 1);
        assert!(next > last, "{next} is not above {last}, which my3 gave");
        servers.is_clean();
    };
    // In the middle of a change.
    let remove = ["tickets", "remove-server", "orders", "my2", "--yes"];
    servers.run_cut("tickets/after-planned", &remove);
    back_up_catalog(&servers);
    servers.run(&["tickets", "resume", "orders"]).ok();
    servers.run(&["tickets", "add-server", "orders", "my3", "--yes"]).ok();
    let last = take(&servers, "my3", 300_000) + 2 * 299_999;
    restore_catalog(&servers);
    servers.run(&["tickets", "resume", "orders"]).ok();
    servers.run(&["apply", "--yes"]).ok();
    ends(last);

    // Where nothing stands.
    back_up_catalog(&servers);
    servers.run(&["tickets", "add-server", "orders", "my3", "--yes"]).ok();
    let last = take(&servers, "my3", 300_000) + 2 * 299_999;
    restore_catalog(&servers);
    servers.run(&["apply", "--yes"]).ok();
    ends(last);
}

fn a_server_that_was_removed_and_comes_back_from_a_backup_ends_again(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my2", 10);
    backup(&servers, "my2", 2);
    servers.run(&["tickets", "remove-server", "orders", "my2", "--yes"]).ok();
    let last = take(&servers, "my1", 100);
    restore(&servers, "my2", 2);
    take(&servers, "my2", 1);
    let run = servers.run(&["tickets", "verify"]);
    assert!(run.stdout.contains("is on my2, which is none of its servers"), "{}", run.stdout);
    servers.run(&["apply", "--yes", "--restored", "my2"]).ok();
    let ended = servers.try_sql("my2", "SELECT shardid.next_tickets('orders', 1)");
    assert!(!ended.status.success(), "my2 goes on");
    assert!(take(&servers, "my1", 1) > last);
    servers.is_clean();
}

/// It was not limited yet, went beyond the floor that was planned, and forgot that: the others were given its
/// numbers, and nothing told of it after `apply` had left a new mark there.
fn a_change_that_stands_goes_on_above_what_a_restored_server_has_forgotten(engine: Engine) {
    for end in [&["tickets", "resume", "orders"][..], &["apply", "--yes"]] {
        let servers = Servers::start(engine, 2);
        servers.grow(3);
        take(&servers, "my2", 1);
        servers.is_clean();
        backup(&servers, "my2", 3);
        let add = ["tickets", "add-server", "orders", "my3", "--yes"];
        servers.run_cut("tickets/planned/before-2", &add);
        let last = take(&servers, "my2", 200_000) + 2 * 199_999;
        // What is seen while a change stands is remembered.
        let run = servers.run(&["tickets", "verify"]);
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert!(!run.stdout.contains("not remembered"), "{}", run.stdout);
        restore(&servers, "my2", 3);
        servers.run(end).ok();
        for node in ["my1", "my2", "my3"] {
            let next = take(&servers, node, 1);
            assert!(next > last, "{node} gives {next}, and my2 had given up to {last}");
        }
        // The change does not take away what tells of the restore.
        if end[0] == "tickets" {
            let run = servers.run(&["tickets", "verify"]);
            assert!(run.stdout.contains("my2 was restored from a backup"), "{}", run.stdout);
            servers.run(&["apply", "--yes"]).ok();
        }
        servers.is_clean();
    }
}

/// The number that a server gives next, if it gives any.
fn next(servers: &Servers, node: &str) -> Option<u64> {
    let said = servers.try_sql(node, "SELECT shardid.next_tickets('orders', 1)");
    let number = said.status.success().then(|| String::from_utf8(said.stdout).unwrap());
    number.map(|number| number.trim().parse().unwrap())
}

/// `apply --restored` said that no number is handed out twice meanwhile, and left the restored server open at its old
/// number, where another one kept the change from going on.
fn a_restored_server_repeats_nothing_while_a_change_stands_that_cannot_go_on(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    take(&servers, "my2", 1);
    servers.is_clean();
    let add = ["tickets", "add-server", "orders", "my3", "--yes"];
    servers.run_cut("tickets/planned/before-1", &add);
    backup(&servers, "my2", 3);
    let last = take(&servers, "my2", 300) + 2 * 299;
    restore(&servers, "my2", 3);
    let mut holder = servers.client("my1");
    holder.args(["-e", "BEGIN; SELECT name FROM shardid.ticket FOR UPDATE; SELECT sleep(60)"]);
    let mut holder = holder.args(["-n"]).stdout(Stdio::piped()).spawn().expect("the client runs");
    let mut held = String::new();
    let out = holder.stdout.as_mut().expect("it is piped");
    BufReader::new(out).read_line(&mut held).expect("it says so");
    let run = servers.run(&["apply", "--yes", "--restored", "my2"]);
    let given = next(&servers, "my2");
    holder.kill().expect("it is ours");
    holder.wait().expect("it is ours");
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("no number is handed out twice meanwhile"), "{}", run.stderr);
    assert!(given.is_none_or(|given| given > last), "my2 gave {given:?} and {last} before");
    // What was said of the restore need not be said again.
    wait_until(Duration::from_secs(60), "the row to be let go", || {
        servers.run(&["tickets", "resume", "orders"]).code == 0
    });
    servers.run(&["apply", "--yes"]).ok();
    for node in ["my1", "my2", "my3"] {
        let next = take(&servers, node, 1);
        assert!(next > last, "{node} gives {next}, and my2 had given up to {last}");
    }
    servers.is_clean();
}

fn a_restored_server_that_had_its_new_class_repeats_nothing_of_that_either(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    take(&servers, "my2", 1);
    servers.is_clean();
    backup(&servers, "my2", 3);
    let add = ["tickets", "add-server", "orders", "my3", "--yes"];
    servers.run_cut("tickets/limited/after-2", &add);
    let last = take(&servers, "my2", 300) + 3 * 299;
    restore(&servers, "my2", 3);
    servers.run_cut("tickets/stepped/before-next", &["apply", "--yes", "--restored", "my2"]);
    let given = next(&servers, "my2");
    assert!(given.is_none_or(|given| given > last), "my2 gave {given:?} and {last} before");
    servers.run(&["apply", "--yes", "--restored", "my2"]).ok();
    for node in ["my1", "my2", "my3"] {
        let next = take(&servers, node, 1);
        assert!(next > last, "{node} gives {next}, and my2 had given up to {last}");
    }
    servers.is_clean();
}

/// It ended at the number of the backup: whoever lifted that ceiling later had it repeat the others.
fn a_removed_server_that_is_restored_ends_above_all_that_it_can_have_given(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my2", 10);
    servers.is_clean();
    backup(&servers, "my2", 2);
    let last = take(&servers, "my2", 300) + 2 * 299;
    servers.run(&["tickets", "remove-server", "orders", "my2", "--yes"]).ok();
    restore(&servers, "my2", 2);
    // Before the others are asked for anything.
    servers.run_cut("tickets/before-planned", &["apply", "--yes", "--restored", "my2"]);
    assert_eq!(next(&servers, "my2"), None);
    servers.run(&["apply", "--yes", "--restored", "my2"]).ok();
    servers.sql("my2", "CALL shardid.limit_ticket('orders', NULL)");
    let given = take(&servers, "my2", 1);
    assert!(given > last, "my2 gave {given}, and {last} before");
}

/// Its ceiling was raised, with the others': it gave what those had given since.
fn a_catalog_that_is_named_anew_opens_no_server_that_was_removed(engine: Engine) {
    let servers = Servers::start(engine, 3);
    servers.run(&["tickets", "remove-server", "orders", "my1", "--yes"]).ok();
    let last = take(&servers, "my2", 50_000) + 2 * 49_999;
    servers.edit("catalog = \"my1\"", "catalog = \"my3\"");
    servers.run_cut("tickets/planned/after-3", &["apply", "--yes"]);
    assert_eq!(next(&servers, "my1"), None);
    servers.run(&["apply", "--yes"]).ok();
    for node in ["my1", "my2", "my3"] {
        let next = take(&servers, node, 1);
        assert!(next > last, "{node} gives {next}, and my2 had given up to {last}");
    }
    servers.is_clean();
}
