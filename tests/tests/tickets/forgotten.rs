//! Servers of a ticket that a new or an older catalog, or the cluster file, does not know.

use crate::backup::{back_up_catalog, restore_catalog, take};
use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    a_new_catalog_ends_a_server_to_which_the_file_does_not_give_the_ticket,
    a_server_that_neither_file_nor_catalog_know_is_missed,
    a_ticket_that_no_file_can_name_is_left_alone,
}

/// A third server, in the file and in use, and not among those of the ticket there.
fn with_a_third(engine: Engine) -> Servers {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    servers
}

fn add_the_third(servers: &Servers) -> u64 {
    servers.run(&["tickets", "add-server", "orders", "my3", "--yes"]).ok();
    take(servers, "my3", 300_000) + 3 * 299_999
}

fn has_ended(servers: &Servers, last: u64) {
    let ended = servers.try_sql("my3", "SELECT shardid.next_tickets('orders', 1)");
    assert!(!ended.status.success(), "my3 goes on");
    for node in ["my1", "my2"] {
        let next = take(servers, node, 1);
        assert!(next > last, "{next} of {node} is not above {last}, which my3 gave");
    }
    servers.is_clean();
    let again = servers.run(&["plan"]);
    assert!(again.stdout.contains("nothing to do"), "{}{}", again.stdout, again.stderr);
}

fn a_new_catalog_ends_a_server_to_which_the_file_does_not_give_the_ticket(engine: Engine) {
    let servers = with_a_third(engine);
    let last = add_the_third(&servers);
    servers.sql(
        "my1",
        "SET foreign_key_checks = 0; DROP TABLE shardid.ticket_change, shardid.ticket_node, shardid.ticket_server, shardid.catalog_history",
    );
    servers.run(&["apply", "--yes"]).ok();
    has_ended(&servers, last);
}

fn a_server_that_neither_file_nor_catalog_know_is_missed(engine: Engine) {
    let servers = with_a_third(engine);
    let file = std::fs::read_to_string(servers.path("shardid.toml")).unwrap();
    back_up_catalog(&servers);
    let last = add_the_third(&servers);
    restore_catalog(&servers);
    let at = file.find("[nodes.my3]").expect("it is in the file");
    let end = at + file[at..].find("[tickets").expect("tickets come last");
    servers.write(&format!("{}{}", &file[..at], &file[end..]));

    let missed = "class 3 of 3 of ticket orders is on no server of the cluster file";
    let verify = servers.run(&["tickets", "verify"]);
    assert_eq!(verify.code, 1, "{}", verify.stdout);
    assert!(verify.stdout.contains(missed), "{}", verify.stdout);
    for command in [&["plan"][..], &["apply", "--yes"]] {
        let refused = servers.run(command).refused();
        assert!(refused.contains(missed) && refused.contains("--accept-unseen"), "{refused}");
    }
    servers.write(&file);
    servers.run(&["apply", "--yes"]).ok();
    has_ended(&servers, last);

    // One that is gone for good.
    servers.run(&["tickets", "add-server", "orders", "my3", "--yes"]).ok();
    restore_catalog(&servers);
    servers.write(&format!("{}{}", &file[..at], &file[end..]));
    servers.run(&["apply", "--yes", "--accept-unseen"]).ok();
    servers.is_clean();
}

fn a_ticket_that_no_file_can_name_is_left_alone(engine: Engine) {
    let servers = Servers::start(engine, 2);
    for name in ["order items", "it''s", "a/b"] {
        servers.sql("my1", &format!("CALL shardid.create_ticket('{name}', 1, 1)"));
    }
    servers.is_clean();
    let plan = servers.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
    assert_eq!(servers.sql("my1", "SELECT shardid.next_ticket('order items')"), "1");
    servers.run(&["apply", "--yes", "--restored", "my1"]).ok();
}
