//! From nothing to servers that share a ticket.

use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    two_servers_give_odd_and_even_numbers_and_apply_twice_changes_nothing,
    a_look_before_the_first_apply_has_nothing_to_remember,
    two_names_of_one_server_are_said_where_the_second_waits_for_the_first,
    a_ticket_that_a_server_has_already_is_gone_on_above_its_numbers,
    a_cluster_of_ticket_servers_alone_says_what_it_cannot_do,
    servers_go_down_and_up_and_keep_their_numbers,
    a_server_with_a_new_name_serves_on,
    servers_whose_sessions_begin_with_safe_updates_are_set_up_and_changed,
    servers_of_another_cluster_are_left_alone_unless_that_is_said_to_be_gone,
}

fn two_servers_give_odd_and_even_numbers_and_apply_twice_changes_nothing(engine: Engine) {
    let servers = Servers::up(engine, 0, 2);
    let plan = servers.run(&["plan"]).ok();
    assert!(plan.contains("+ my1: ticket orders, 1, 3, 5, …"), "{plan}");
    assert!(plan.contains("+ my2: ticket orders, 2, 4, 6, …"), "{plan}");
    assert_eq!(servers.sql("my1", "SHOW DATABASES LIKE 'shardid'"), "", "a plan makes nothing");
    servers.run(&["apply", "--yes"]).ok();
    let take = |node: &str| {
        servers.sql(node, "SELECT shardid.next_ticket('orders'), shardid.next_ticket('orders')")
    };
    assert_eq!((take("my1").as_str(), take("my2").as_str()), ("1\t3", "2\t4"));
    let again = servers.run(&["apply", "--yes"]);
    assert!(again.stderr.contains("nothing to do"), "{}", again.stderr);
    servers.is_clean();

    let json = servers.run(&["tickets", "status", "--json"]).ok();
    assert!(json.contains("\"last\": 4") && json.contains("\"high_water\": 4"), "{json}");
    let status = servers.run(&["status"]);
    assert_eq!(status.code, 0, "{}", status.stderr);
    assert!(status.stdout.contains("my2   up"), "{}", status.stdout);
}

/// The raw error named a table that was not there.
fn a_look_before_the_first_apply_has_nothing_to_remember(engine: Engine) {
    let servers = Servers::up(engine, 0, 2);
    servers.stop("my2");
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let says = "ticket orders of the cluster file is not in the catalog: shardid apply";
    assert!(run.stdout.contains(says), "{}", run.stdout);
    assert!(run.stdout.contains("could not reach node my2"), "{}", run.stdout);
    assert_eq!(run.stderr, "");
    assert_eq!(servers.sql("my1", "SHOW DATABASES LIKE 'shardid'"), "", "a look makes nothing");
}

fn two_names_of_one_server_are_said_where_the_second_waits_for_the_first(engine: Engine) {
    let servers = Servers::up(engine, 0, 2);
    let text = std::fs::read_to_string(servers.path("shardid.toml")).unwrap();
    let url = |node: &str| {
        let (_, after) = text.split_once(&format!("[nodes.{node}]")).unwrap();
        after.lines().find(|line| line.starts_with("url")).unwrap().to_owned()
    };
    servers.edit(&url("my2"), &url("my1"));
    let refused = servers.run(&["apply", "--yes", "--wait-seconds-max", "1"]);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    assert!(
        refused.stderr.contains("two nodes of the cluster file are one server"),
        "{}",
        refused.stderr
    );
}

fn a_ticket_that_a_server_has_already_is_gone_on_above_its_numbers(engine: Engine) {
    let servers = Servers::start(engine, 1);
    servers.sql("my1", "CALL shardid.create_ticket('photos', 1, 1)");
    servers.sql("my1", "SELECT shardid.next_tickets('photos', 5000)");
    servers.grow(2);
    let text = std::fs::read_to_string(servers.path("shardid.toml")).unwrap();
    servers.write(&(text + "\n[tickets.photos]\nservers = [\"my1\", \"my2\"]\n"));
    servers.run(&["apply", "--yes"]).ok();
    let take = |node: &str| {
        let number = servers.sql(node, "SELECT shardid.next_ticket('photos')");
        number.parse::<u64>().unwrap()
    };
    let (odd, even) = (take("my1"), take("my2"));
    assert!(odd > 5000 && even > 5000 && odd % 2 == 1 && even % 2 == 0, "{odd} {even}");
    servers.is_clean();
}

fn a_cluster_of_ticket_servers_alone_says_what_it_cannot_do(engine: Engine) {
    let servers = Servers::start(engine, 1);
    for command in
        [["map"].as_slice(), &["move", "5", "--to", "my1"], &["moves"], &["id", "next", "5"]]
    {
        let run = servers.run(command);
        assert_eq!(run.code, 2, "{command:?}: {}", run.stderr);
        assert!(run.stderr.contains("has no shards, only ticket servers"), "{}", run.stderr);
    }
    let error = servers.run(&["tickets", "add-server", "nothing", "my1"]).refused();
    assert!(error.contains("there is no ticket nothing"), "{error}");
    let error = servers.run(&["tickets", "add-server", "orders", "my9"]).refused();
    assert!(error.contains("there is no node my9"), "{error}");
    let error = servers.run(&["tickets", "remove-server", "orders", "my1"]).refused();
    assert!(error.contains("would have 0 servers"), "{error}");
    let error = servers.run(&["tickets", "resume", "orders"]).refused();
    assert!(error.contains("no change of the servers of ticket orders is unfinished"), "{error}");
    let run = servers.run(&["dev", "up", "--nodes", "1"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("begin anew"), "{}", run.stderr);
}

fn servers_go_down_and_up_and_keep_their_numbers(engine: Engine) {
    let servers = Servers::start(engine, 2);
    assert_eq!(servers.sql("my2", "SELECT shardid.next_tickets('orders', 3)"), "2");
    servers.run(&["dev", "down"]).ok();
    assert_eq!(servers.pid("my1"), "-");
    let down = servers.run(&["tickets", "status"]);
    assert_eq!(down.code, 1, "the catalog is down too");
    servers.dev_up(0, 2);
    servers.kill9("my2");
    let status = servers.run(&["tickets", "status"]);
    assert_eq!(status.code, 1, "{}", status.stderr);
    assert!(status.stdout.contains("my2   down"), "{}", status.stdout);
    servers.dev_up(0, 2);
    // The class is in a table, and holds without any option file.
    assert_eq!(servers.sql("my2", "SELECT shardid.next_ticket('orders')"), "8");
    servers.is_clean();
}

fn a_server_with_a_new_name_serves_on(engine: Engine) {
    let servers = Servers::start(engine, 2);
    let take = |node: &str| servers.sql(node, "SELECT shardid.next_ticket('orders')");
    assert_eq!((take("my1").as_str(), take("my2").as_str()), ("1", "2"));
    for (from, to) in [("my2", "paris"), ("my1", "rome")] {
        servers.edit(&format!("nodes.{from}]"), &format!("nodes.{to}]"));
        // In the list of the ticket's servers, and as the catalog.
        servers.edit(&format!("\"{from}\""), &format!("\"{to}\""));
        // What looks in between takes it for no other server, and what changes is refused.
        servers.run(&["tickets", "verify"]).ok();
        let refused = servers.run(&["tickets", "add-server", "orders", to]).refused();
        assert!(refused.contains(&format!("node {from} is called {to}")), "{refused}");
        assert!(refused.contains("`shardid apply`"), "{refused}");
        let plan = servers.run(&["plan"]).ok();
        assert!(plan.contains(&format!("{from} is called {to}")), "{plan}");
        servers.run_cut("tickets/apply/after-0", &["apply", "--yes"]);
        servers.run(&["apply", "--yes"]).ok();
        let again = servers.run(&["apply", "--yes"]);
        assert!(again.stderr.contains("nothing to do"), "{}", again.stderr);
    }
    assert_eq!((take("my1").as_str(), take("my2").as_str()), ("3", "4"));
    let status = servers.run(&["tickets", "status"]).ok();
    assert!(status.contains("paris") && status.contains("rome"), "{status}");
    assert!(!status.contains("my1") && !status.contains("my2"), "{status}");
    servers.is_clean();
}

/// It failed half-way with the engine's own error, and left routines half made.
fn servers_whose_sessions_begin_with_safe_updates_are_set_up_and_changed(engine: Engine) {
    let servers = Servers::up(engine, 0, 3);
    for node in ["my1", "my2", "my3"] {
        servers.sql(node, "SET GLOBAL sql_safe_updates = 1");
    }
    assert_eq!(servers.sql("my1", "SELECT @@SESSION.sql_safe_updates"), "1");
    servers.run(&["apply", "--yes"]).ok();
    servers.is_clean();
    servers.run(&["tickets", "remove-server", "orders", "my2", "--yes"]).ok();
    servers.run(&["tickets", "add-server", "orders", "my2", "--yes"]).ok();
    servers.run(&["tickets", "status"]).ok();
    servers.sql("my1", "SELECT shardid.next_ticket('orders')");
}

/// Each cluster took the marks of the other one for those of a backup, and raised all tickets, again and again.
fn servers_of_another_cluster_are_left_alone_unless_that_is_said_to_be_gone(engine: Engine) {
    let servers = Servers::start(engine, 2);
    let take = |node: &str, ticket: &str| -> u64 {
        servers.sql(node, &format!("SELECT shardid.next_ticket('{ticket}')")).parse().unwrap()
    };
    let ours = std::fs::read_to_string(servers.path("shardid.toml")).unwrap();
    let other = ours
        .replace("name    = \"dev\"", "name = \"other\"")
        .replace("catalog = \"my1\"", "catalog = \"my2\"")
        .replace("[tickets.orders]", "[tickets.others]");
    assert_ne!(ours, other);
    servers.write(&other);
    let says = "hands out tickets of cluster dev";
    for command in [["plan"].as_slice(), &["apply", "--yes"]] {
        let refused = servers.run(command).refused();
        assert!(refused.contains(&format!("node my1 {says}")), "{command:?}: {refused}");
        assert!(refused.contains(&format!("node my2 {says}")), "{command:?}: {refused}");
        assert!(refused.contains("`shardid apply --restored my2`"), "{command:?}: {refused}");
    }
    let found = servers.run(&["tickets", "verify"]);
    assert!(found.code == 1 && found.stdout.contains(says), "{}", found.stdout);
    // Nothing was changed by that.
    servers.write(&ours);
    servers.is_clean();
    assert_eq!((take("my1", "orders"), take("my2", "orders")), (1, 2));
    servers.run(&["tickets", "verify"]).ok();

    // By another name it is the same: the catalog knows the marks.
    servers.write(&ours.replace("name    = \"dev\"", "name = \"renamed\""));
    servers.is_clean();
    servers.write(&ours);
    servers.run(&["tickets", "verify"]).ok();

    servers.write(&other);
    servers.run(&["apply", "--yes", "--restored", "my1", "--restored", "my2"]).ok();
    servers.run(&["tickets", "verify"]).ok();
    let (odd, even) = (take("my1", "others"), take("my2", "others"));
    assert!(odd % 2 == 1 && even % 2 == 0, "{odd} {even}");
    servers.write(&ours);
    let found = servers.run(&["tickets", "verify"]);
    assert!(found.stdout.contains("hands out tickets of cluster other"), "{}", found.stdout);
}
