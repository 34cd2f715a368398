//! The same backup put back twice, with `--restored` each time: nothing that was given in between comes again.

use crate::backup::{back_up_catalog, backup, restore, restore_catalog, take};
use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    a_backup_with_the_catalog_that_is_put_back_twice_repeats_nothing,
    a_backup_with_the_catalog_goes_on_above_what_the_last_look_left_on_another_server,
    a_backup_without_the_catalog_that_is_put_back_twice_repeats_nothing,
    a_look_between_a_restore_and_who_says_so_takes_no_room_away,
    a_backup_beside_a_catalog_that_is_lost_or_as_old_goes_on_above_what_others_were_told,
    a_server_alone_with_its_catalog_goes_on_above_what_its_owner_says,
    servers_that_are_all_restored_go_on_above_what_their_owner_says,
    a_postgresql_node_with_the_catalog_that_is_put_back_twice_repeats_nothing,
    a_restore_that_is_cut_is_gone_on_with_without_saying_it_again,
    a_number_that_was_said_before_a_cut_is_not_asked_for_again,
    a_cut_between_the_notes_on_two_restored_servers_forgets_neither,
    an_error_between_the_notes_on_two_restored_servers_says_how_to_go_on,
    of_numbers_that_are_said_of_one_ticket_the_highest_counts,
    tickets_that_do_not_go_as_far_as_each_other_take_numbers_of_their_own,
}

/// Two looks with nothing handed out in between: nothing tells of a restore.
fn is_quiet(servers: &Servers) {
    servers.is_clean();
    servers.is_clean();
}

fn a_backup_with_the_catalog_that_is_put_back_twice_repeats_nothing(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my1", 1000);
    take(&servers, "my2", 1000);
    is_quiet(&servers);
    backup(&servers, "my1", 2);
    let mut last = take(&servers, "my1", 10) + 2 * 9;
    for _ in 0..3 {
        restore(&servers, "my1", 2);
        servers.run(&["apply", "--yes", "--restored", "my1"]).ok();
        let next = take(&servers, "my1", 20_000);
        assert!(next > last, "{next} is not above {last}, which was given before");
        last = next + 2 * 19_999;
    }
    servers.is_clean();
}

/// More than the room that is left, and as much as nobody can guess from the backup.
fn a_backup_with_the_catalog_goes_on_above_what_the_last_look_left_on_another_server(
    engine: Engine,
) {
    let servers = Servers::start(engine, 2);
    is_quiet(&servers);
    backup(&servers, "my1", 2);
    let mut last = 0;
    for _ in 0..2 {
        restore(&servers, "my1", 2);
        servers.run(&["apply", "--yes", "--restored", "my1"]).ok();
        let next = take(&servers, "my1", 1_000_000);
        assert!(next > last, "{next} is not above {last}, which was given before");
        servers.is_clean();
        last = next + 2 * 999_999;
        last = take(&servers, "my1", 1000).max(last) + 2 * 999;
    }
    // The catalog is made anew from nothing at last: the other server tells of it still.
    restore(&servers, "my1", 2);
    servers.run(&["apply", "--yes"]).ok();
    assert!(take(&servers, "my1", 1) > last);
    servers.is_clean();
}

fn a_backup_without_the_catalog_that_is_put_back_twice_repeats_nothing(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my2", 1000);
    is_quiet(&servers);
    backup(&servers, "my2", 2);
    let mut last = take(&servers, "my2", 10) + 2 * 9;
    for _ in 0..2 {
        restore(&servers, "my2", 2);
        servers.run(&["apply", "--yes", "--restored", "my2"]).ok();
        let next = take(&servers, "my2", 20_000);
        assert!(next > last, "{next} is not above {last}, which was given before");
        last = next + 2 * 19_999;
    }
    servers.is_clean();
}

/// `verify` runs every few minutes.
fn a_look_between_a_restore_and_who_says_so_takes_no_room_away(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my2", 1000);
    servers.is_clean();
    take(&servers, "my2", 200_000);
    servers.is_clean();
    backup(&servers, "my2", 2);
    let last = take(&servers, "my2", 200_000) + 2 * 199_999;
    restore(&servers, "my2", 2);
    // Nothing tells of it yet.
    is_quiet(&servers);
    servers.run(&["apply", "--yes", "--restored", "my2"]).ok();
    let next = take(&servers, "my2", 1);
    assert!(next > last, "{next} is not above {last}, which was given before");
    servers.is_clean();
}

/// What the last look has left on the other server is all that tells of it.
fn a_backup_beside_a_catalog_that_is_lost_or_as_old_goes_on_above_what_others_were_told(
    engine: Engine,
) {
    let servers = Servers::start(engine, 2);
    let lose = "SET foreign_key_checks = 0; DROP TABLE shardid.ticket_change, shardid.ticket_node, shardid.ticket_server, shardid.catalog_history";
    for is_lost in [true, false] {
        take(&servers, "my2", 10);
        is_quiet(&servers);
        backup(&servers, "my2", 2);
        back_up_catalog(&servers);
        let last = take(&servers, "my2", 300_000) + 2 * 299_999;
        servers.is_clean();
        restore(&servers, "my2", 2);
        match is_lost {
            true => drop(servers.sql("my1", lose)),
            false => restore_catalog(&servers),
        }
        let found = servers.run(&["tickets", "verify"]);
        let says = "node my2 has an earlier mark than other servers, and the catalog knows";
        assert!(found.stdout.contains(says), "{}", found.stdout);
        assert!(!found.stdout.contains("my1 was restored"), "{}", found.stdout);
        servers.run(&["apply", "--yes"]).ok();
        let next = take(&servers, "my2", 1);
        assert!(next > last, "{next} is not above {last}, which was given before");
        servers.is_clean();
    }
}

fn a_server_alone_with_its_catalog_goes_on_above_what_its_owner_says(engine: Engine) {
    let servers = Servers::start(engine, 1);
    take(&servers, "my1", 1000);
    is_quiet(&servers);
    backup(&servers, "my1", 1);
    let mut last = take(&servers, "my1", 10) + 9;
    for _ in 0..2 {
        restore(&servers, "my1", 1);
        for command in [&["plan"][..], &["apply", "--yes"]] {
            let refused = servers.run(&[command, &["--restored", "my1"]].concat()).refused();
            let says = "nobody remembers how far ticket orders was on my1, which was restored";
            assert!(refused.contains(says) && refused.contains("--above NUMBER"), "{refused}");
            assert!(refused.contains("SELECT max("), "{refused}");
        }
        let above = last.to_string();
        let apply = ["apply", "--yes", "--restored", "my1", "--above", &above];
        servers.run(&apply).ok();
        let next = take(&servers, "my1", 300_000);
        assert!(next > last, "{next} is not above {last}, which was given before");
        last = next + 299_999;
    }
    // One that is too low does no harm where the room is enough.
    restore(&servers, "my1", 1);
    servers.run(&["apply", "--yes", "--restored", "my1", "--above", "7"]).ok();
    assert!(take(&servers, "my1", 1) > 101_000);
    let usage = servers.run(&["apply", "--yes", "--above", "7"]);
    assert_eq!(usage.code, 2, "{}", usage.stderr);
    servers.is_clean();
}

fn servers_that_are_all_restored_go_on_above_what_their_owner_says(engine: Engine) {
    let servers = Servers::start(engine, 2);
    is_quiet(&servers);
    let last = take(&servers, "my2", 300_000) + 2 * 299_999;
    let both = ["apply", "--yes", "--restored", "my1", "--restored", "my2"];
    let refused = servers.run(&both).refused();
    for node in ["my1", "my2"] {
        let says = format!("nobody remembers how far ticket orders was on {node}");
        assert!(refused.contains(&says), "{refused}");
    }
    let hint = "`shardid apply --restored my1 --restored my2 --above NUMBER`";
    assert!(refused.contains(hint), "{refused}");
    servers.run(&[&both[..], &["--above", "7000000"]].concat()).ok();
    for node in ["my1", "my2"] {
        let next = take(&servers, node, 1);
        assert!(next > 7_000_000.max(last), "{next} of {node}");
    }
    servers.is_clean();
}

/// The next `apply` had nothing to do, `verify` found nothing, and the numbers since the backup came again.
fn a_restore_that_is_cut_is_gone_on_with_without_saying_it_again(engine: Engine) {
    let servers = Servers::up(engine, 0, 2);
    let both = "servers = [\"my1\", \"my2\"]";
    servers.edit("[tickets.orders]", &format!("[tickets.photos]\n{both}\n\n[tickets.orders]"));
    servers.run(&["apply", "--yes"]).ok();
    let take = |ticket: &str| -> u64 {
        let sql = format!("SELECT shardid.next_tickets('{ticket}', 500)");
        servers.sql("my1", &sql).parse().expect("a number")
    };
    for ticket in ["orders", "photos"] {
        take(ticket);
    }
    is_quiet(&servers);
    backup(&servers, "my1", 2);
    let mut last = ["orders", "photos"].map(|ticket| take(ticket) + 2 * 499);
    for place in [
        "tickets/said-restored-my1",
        "tickets/noted-my2",
        // One ticket is raised, and the other is not.
        "tickets/apply/after-0",
        "tickets/apply/after-1",
    ] {
        restore(&servers, "my1", 2);
        servers.run_cut(place, &["apply", "--yes", "--restored", "my1"]);
        let found = servers.run(&["tickets", "verify"]);
        assert_eq!(found.code, 1, "{place}: {}", found.stdout);
        let says = "node my1 was restored from a backup, and is not raised above all";
        assert!(found.stdout.contains(says), "{place}: {}", found.stdout);
        servers.run(&["apply", "--yes"]).ok();
        for (ticket, last) in ["orders", "photos"].into_iter().zip(&mut last) {
            let next = take(ticket);
            assert!(next > *last, "{place}: {next} of {ticket} is not above {last}");
            *last = next + 2 * 499;
        }
        servers.is_clean();
    }
}

fn a_number_that_was_said_before_a_cut_is_not_asked_for_again(engine: Engine) {
    let servers = Servers::start(engine, 1);
    is_quiet(&servers);
    backup(&servers, "my1", 1);
    let last = take(&servers, "my1", 300_000) + 299_999;
    restore(&servers, "my1", 1);
    let above = last.to_string();
    let apply = ["apply", "--yes", "--restored", "my1", "--above", &above];
    servers.run_cut("tickets/said-restored-my1", &apply);
    servers.run(&["apply", "--yes"]).ok();
    let next = take(&servers, "my1", 1);
    assert!(next > last, "{next} is not above {last}, which was given before");
    servers.is_clean();
}

/// Two of three servers that were put back, and what they gave last.
fn two_restored(engine: Engine) -> (Servers, [(&'static str, u64); 2]) {
    let servers = Servers::start(engine, 3);
    for node in ["my2", "my3"] {
        take(&servers, node, 1000);
    }
    is_quiet(&servers);
    for node in ["my2", "my3"] {
        backup(&servers, node, 3);
    }
    let last = ["my2", "my3"].map(|node| (node, take(&servers, node, 1000) + 3 * 999));
    for node in ["my2", "my3"] {
        restore(&servers, node, 3);
    }
    (servers, last)
}

/// Both are found, and a plain `apply` raises both.
fn both_are_raised(servers: &Servers, last: [(&str, u64); 2]) {
    let found = servers.run(&["tickets", "verify"]);
    for (node, _) in last {
        let says = format!("node {node} was restored from a backup, and is not raised above all");
        assert!(found.code == 1 && found.stdout.contains(&says), "{}", found.stdout);
    }
    servers.run(&["apply", "--yes"]).ok();
    for (node, last) in last {
        let next = take(servers, node, 1);
        assert!(next > last, "{next} of {node} is not above {last}, which was given before");
    }
    servers.is_clean();
}

const BOTH: [&str; 6] = ["apply", "--yes", "--restored", "my2", "--restored", "my3"];

/// The first was raised, nothing was found any more, and the second repeated its numbers.
fn a_cut_between_the_notes_on_two_restored_servers_forgets_neither(engine: Engine) {
    let (servers, last) = two_restored(engine);
    servers.run_cut("tickets/said-restored-my2", &BOTH);
    both_are_raised(&servers, last);
    // The number that was said goes for both as well; a cut later on changes nothing.
    for place in ["tickets/said-restored-my3", "tickets/said-restored-my2", "tickets/noted-my1"] {
        let above = take(&servers, "my2", 1) + 10_000_000;
        let said = format!("orders={above}");
        servers.run_cut(place, &[&BOTH[..], &["--above", &said]].concat());
        both_are_raised(&servers, ["my2", "my3"].map(|node| (node, above)));
    }
}

/// As where the connection is lost there.
fn an_error_between_the_notes_on_two_restored_servers_says_how_to_go_on(engine: Engine) {
    let (servers, last) = two_restored(engine);
    let refuse =
        "ALTER TABLE shardid.server ADD CONSTRAINT unnoted CHECK (mark NOT LIKE 'restored%')";
    let take_it = "ALTER TABLE shardid.server DROP CONSTRAINT unnoted";
    servers.sql("my2", refuse);
    let error = servers.run(&BOTH).refused();
    let says = "No server is noted as restored yet: say it again, with the same numbers, `shardid apply --restored my2 --restored my3`.";
    assert!(error.contains(says), "{error}");
    servers.sql("my2", take_it);
    servers.sql("my3", refuse);
    let error = servers.run(&BOTH).refused();
    let says = "It is noted on my2 that my2, my3 were restored: `shardid apply` goes on with them.";
    assert!(error.contains(says), "{error}");
    servers.sql("my3", take_it);
    both_are_raised(&servers, last);
}

/// As when each of two restored servers had a number of its own: the first counted, and the other was dropped.
fn of_numbers_that_are_said_of_one_ticket_the_highest_counts(engine: Engine) {
    let servers = Servers::start(engine, 2);
    is_quiet(&servers);
    let apply = ["apply", "--yes", "--restored", "my1", "--restored", "my2"];
    for (said, highest) in [
        (["orders=1999", "orders=7000000"], 7_000_000),
        (["orders=9000000", "orders=1999"], 9_000_000),
        (["1999", "20000000"], 20_000_000),
    ] {
        let above = said.map(|said| ["--above", said]).concat();
        servers.run(&[&apply[..], &above].concat()).ok();
        for node in ["my1", "my2"] {
            let next = take(&servers, node, 1);
            assert!(next > highest, "{said:?}: {next} of {node}");
        }
    }
    servers.is_clean();
}

/// No number was right for both, and the first that failed left the others as they were.
fn tickets_that_do_not_go_as_far_as_each_other_take_numbers_of_their_own(engine: Engine) {
    let servers = Servers::up(engine, 0, 1);
    servers
        .edit("[tickets.orders]", "[tickets.Tickets32]\nservers = [\"my1\"]\n\n[tickets.orders]");
    servers.run(&["apply", "--yes"]).ok();
    servers.sql("my1", "CALL shardid.create_ticket('byhand', 1, 1)");
    let apply = ["apply", "--yes", "--restored", "my1"];
    let refused = servers.run(&apply).refused();
    let hint = "`shardid apply --restored my1 --above Tickets32=NUMBER --above orders=NUMBER`";
    assert!(refused.contains(hint) && !refused.contains("byhand"), "{refused}");
    for number in ["5000000000", "7"] {
        let refused = servers.run(&[&apply[..], &["--above", number]].concat()).refused();
        assert!(refused.contains("ticket Tickets32 ends at 4294967295"), "{refused}");
        assert!(refused.contains(hint), "{refused}");
    }
    let orders = ["--above", "orders=5000000000"];
    let refused = servers.run(&[&apply[..], &orders].concat()).refused();
    let hint = "`shardid apply --restored my1 --above orders=5000000000 --above Tickets32=NUMBER`";
    assert!(refused.contains(hint), "{refused}");
    let with = |said: &'static str| [&apply[..], &orders, &["--above", said]].concat();
    for (said, says) in [
        ("Tickets32=4294967290", "leaves nothing of ticket Tickets32, which ends at 4294967295"),
        ("9223372036854775807", "leaves nothing of ticket Tickets32"),
    ] {
        let refused = servers.run(&with(said)).refused();
        assert!(refused.contains(says), "{said}: {refused}");
    }
    for wrong in ["photos=5", "orders=many", "=5"] {
        let refused = servers.run(&with(wrong));
        assert!(matches!(refused.code, 1 | 2), "{wrong}: {}", refused.stderr);
    }
    // Nothing was changed by any of these.
    servers.is_clean();
    assert_eq!(take(&servers, "my1", 1), 1);
    let run = servers.run(&with("Tickets32=1000"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(take(&servers, "my1", 1) > 5_000_000_000);
    let stands = "SELECT last_ticket FROM shardid.ticket WHERE name = 'Tickets32'";
    let stands: u64 = servers.sql("my1", stands).parse().unwrap();
    assert!((101_000..200_000).contains(&stands), "{stands}");
    servers.is_clean();
}

/// What a dump of it has: how far its ticket was, its mark, and its catalog.
fn a_postgresql_node_with_the_catalog_that_is_put_back_twice_repeats_nothing(engine: Engine) {
    let servers = Servers::up(engine, 1, 1);
    servers.edit(
        "[tickets.orders]\nservers = [\"my1\"]",
        "[tickets.orders]\nservers = [\"pg1\", \"my1\"]",
    );
    servers.run(&["apply", "--yes"]).ok();
    let take_on = |count: u64| -> u64 {
        let sql = format!("SELECT max(n) FROM next_tickets('orders', {count}) AS n");
        servers.psql("pg1", &sql).parse().unwrap()
    };
    take_on(1000);
    is_quiet(&servers);
    let kept = ["ticket_node", "ticket_server", "server"];
    servers.psql("pg1", "CREATE SCHEMA older");
    for table in kept {
        let sql = format!("CREATE TABLE older.{table} AS SELECT * FROM shardid.{table}");
        servers.psql("pg1", &sql);
    }
    let stood = servers.psql("pg1", "SELECT last_ticket FROM shardid.tickets");
    let mut last = take_on(10);
    for _ in 0..3 {
        for table in kept {
            let sql = format!(
                "DELETE FROM shardid.{table}; INSERT INTO shardid.{table} SELECT * FROM older.{table}"
            );
            servers.psql("pg1", &sql);
        }
        let back = format!(
            "UPDATE shardid.ticket SET floor = 0; SELECT setval(sequence, {stood}) FROM shardid.tickets"
        );
        servers.psql("pg1", &back);
        servers.run(&["apply", "--yes", "--restored", "pg1"]).ok();
        let next = take_on(1);
        assert!(next > last, "{next} is not above {last}, which was given before");
        last = take_on(20_000);
    }
    servers.is_clean();
}
