//! More and fewer servers for a ticket, while clients go on.

use std::thread::sleep;
use std::time::Duration;

use crate::backup::take;
use crate::load::Load;
use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    from_one_to_five_servers_and_back_to_two_no_number_comes_twice,
    a_dry_run_shows_the_arithmetic_and_changes_nothing,
    a_server_that_is_down_refuses_a_change_unless_its_owner_gives_it_up,
    two_programs_do_not_change_servers_at_once,
    a_server_that_had_ended_is_not_said_to_end_later,
}

fn from_one_to_five_servers_and_back_to_two_no_number_comes_twice(engine: Engine) {
    let servers = Servers::start(engine, 1);
    servers.grow(5);
    let mut load = Load::start(&servers, &["my1"], 2);
    for (command, nodes) in [
        ("add-server", ["my2"].as_slice()),
        ("add-server", &["my3"]),
        ("add-server", &["my4", "my5"]),
        ("remove-server", &["my2", "my3", "my4"]),
    ] {
        sleep(Duration::from_millis(300));
        let arguments = [&["tickets", command, "orders"], nodes, &["--yes"]].concat();
        let run = servers.run(&arguments);
        assert_eq!(run.code, 0, "{}", run.stderr);
        if command == "add-server" {
            for node in nodes {
                load.add(&servers, node, 1);
            }
        }
    }
    sleep(Duration::from_millis(300));
    let all = load.end();
    for taken in &all {
        assert!(taken.numbers.len() > 20, "{} gave few numbers: {taken:?}", taken.node);
        // Clients of servers that stay hear nothing of it.
        if ["my1", "my5"].contains(&taken.node.as_str()) {
            assert!(taken.errors.is_empty(), "{:?}", taken.errors);
        } else {
            assert!(taken.errors.iter().all(|error| error.contains("55000")), "{:?}", taken.errors);
        }
    }
    let last: Vec<u64> = ["my1", "my5"]
        .map(|node| servers.sql(node, "SELECT shardid.next_ticket('orders')").parse().unwrap())
        .into();
    assert_eq!((last[0] % 2, last[1] % 2), (1, 0));
    servers.edit("[\"my1\"]", "[\"my1\", \"my5\"]");
    servers.is_clean();
}

fn a_dry_run_shows_the_arithmetic_and_changes_nothing(engine: Engine) {
    let servers = Servers::start(engine, 1);
    servers.sql("my1", "SELECT shardid.next_tickets('orders', 7)");
    servers.grow(2);
    let run = servers.run(&["tickets", "add-server", "orders", "my2", "--dry-run"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in ["1 server -> 2 servers", "100009, 100011, 100013, …", "up to 100007"] {
        assert!(run.stdout.contains(part), "{part} is not in\n{}", run.stdout);
    }
    assert_eq!(servers.sql("my1", "SELECT shardid.next_ticket('orders')"), "8");
    assert_eq!(servers.sql("my2", "SELECT count(*) FROM shardid.ticket"), "0");
    assert_eq!(servers.sql("my1", "SELECT count(*) FROM shardid.ticket_change"), "0");
    // Without a terminal and without --yes it is not made either.
    let error = servers.run(&["tickets", "add-server", "orders", "my2"]).refused();
    assert!(error.contains("there is no terminal to ask on"), "{error}");
    assert_eq!(servers.sql("my1", "SELECT count(*) FROM shardid.ticket_change"), "0");
}

fn a_server_that_is_down_refuses_a_change_unless_its_owner_gives_it_up(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    servers.sql("my2", "SELECT shardid.next_tickets('orders', 50)");
    servers.is_clean();
    let highest = servers.sql("my2", "SELECT shardid.next_tickets('orders', 20) + 38");
    servers.kill9("my2");
    for command in [["add-server", "orders", "my3"], ["remove-server", "orders", "my2"]] {
        let arguments = [&["tickets"], command.as_slice(), &["--yes"]].concat();
        let error = servers.run(&arguments).refused();
        assert!(error.contains("could not reach node my2"), "{error}");
        assert!(error.contains("--gone --above"), "{error}");
    }
    assert_eq!(servers.sql("my1", "SELECT shardid.next_ticket('orders')"), "1");

    let give_up = |above: &str| {
        servers.run(&[
            "tickets",
            "remove-server",
            "orders",
            "my2",
            "--gone",
            "--above",
            above,
            "--yes",
        ])
    };
    let error = give_up("60").refused();
    assert!(error.contains("--above 60 is below 100, which was handed out already"), "{error}");
    let run = give_up(&highest);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let next: u64 = servers.sql("my1", "SELECT shardid.next_ticket('orders')").parse().unwrap();
    assert!(next > highest.parse().unwrap(), "{next} is not above {highest}");

    // It was not gone after all, and goes on with its old class: it is found,
    // stands in the way of every other change, and can be taken in again.
    servers.dev_up(0, 3);
    servers.sql("my2", "SELECT shardid.next_tickets('orders', 900000)");
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1);
    let stray = "ticket orders is on my2, which is none of its servers";
    assert!(run.stdout.contains(stray), "{}", run.stdout);
    let error = servers.run(&["tickets", "add-server", "orders", "my3", "--yes"]).refused();
    assert!(error.contains(stray), "{error}");
    servers.run(&["tickets", "add-server", "orders", "my2", "my3", "--yes"]).ok();
    let next: u64 = servers.sql("my1", "SELECT shardid.next_ticket('orders')").parse().unwrap();
    assert!(next > 1_800_000, "{next} is not above what my2 gave");
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    let error = servers
        .run(&["tickets", "remove-server", "orders", "my2", "--gone", "--above", "9", "--yes"])
        .refused();
    assert!(error.contains("node my2 answers, so it is not gone"), "{error}");
}

fn two_programs_do_not_change_servers_at_once(engine: Engine) {
    let servers = Servers::start(engine, 1);
    servers.grow(3);
    let spawn = |node: &str| {
        let mut command = servers.command(&["tickets", "add-server", "orders", node, "--yes"]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        command.spawn().expect("the program runs")
    };
    let both = [spawn("my2"), spawn("my3")].map(|child| child.wait_with_output().unwrap());
    for output in &both {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let status = servers.run(&["tickets", "status"]).ok();
    assert!(status.contains("3 of 3") && !status.contains("of 2"), "{status}");
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
}

/// `apply` said `my1: ends before` the new floor, and the lower ceiling stayed.
fn a_server_that_had_ended_is_not_said_to_end_later(engine: Engine) {
    let servers = Servers::start(engine, 3);
    servers.run(&["tickets", "remove-server", "orders", "my1", "--yes"]).ok();
    let ceiling = servers.sql("my1", "SELECT ceiling FROM shardid.ticket WHERE name = 'orders'");
    take(&servers, "my2", 50_000);
    servers.edit("catalog = \"my1\"", "catalog = \"my3\"");
    let run = servers.run(&["apply", "--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let says = format!("my1: ends before {ceiling}\n");
    assert!(run.stderr.contains(&says), "{}", run.stderr);
}
