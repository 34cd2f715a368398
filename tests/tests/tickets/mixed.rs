//! PostgreSQL nodes and MySQL nodes that share a ticket.

use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    a_postgresql_node_and_a_mysql_node_share_a_ticket_and_change_places,
    a_shard_of_the_map_that_a_mysql_server_makes_ids_for_is_found,
}

fn a_postgresql_node_and_a_mysql_node_share_a_ticket_and_change_places(engine: Engine) {
    let servers = Servers::up(engine, 2, 1);
    servers.edit(
        "[tickets.orders]\nservers = [\"my1\"]",
        "[tickets.orders]\nservers = [\"pg2\", \"my1\"]",
    );
    servers.run(&["apply", "--yes"]).ok();
    let on = |node: &str| -> u64 {
        let number = match node {
            "my1" => servers.sql(node, "SELECT shardid.next_ticket('orders')"),
            _ => servers.psql(node, "SELECT next_ticket('orders')"),
        };
        number.parse().unwrap()
    };
    assert_eq!([on("pg2"), on("my1"), on("pg2"), on("my1")], [1, 2, 3, 4]);
    servers.is_clean();
    let verify = servers.run(&["verify"]);
    assert_eq!(verify.code, 0, "{}", verify.stdout);

    servers.run(&["tickets", "add-server", "orders", "pg1", "pg1", "--yes"]).ok();
    let thirds = [on("pg2"), on("my1"), on("pg1")];
    assert_eq!(thirds.map(|number| number % 3), [1, 2, 0]);
    assert!(thirds.iter().all(|number| *number > 100_000), "{thirds:?}");
    servers.run(&["tickets", "remove-server", "orders", "pg2", "--yes"]).ok();
    let halves = [on("my1"), on("pg1")];
    assert_eq!(halves.map(|number| number % 2), [1, 0]);
    let error = servers.try_psql("pg2", "SELECT next_ticket('orders')");
    assert!(!error.status.success(), "a server that left hands out nothing");
    servers.run(&["tickets", "add-server", "orders", "pg2", "--yes"]).ok();
    assert_eq!(on("pg2") % 3, 0);
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 0, "{}", run.stdout);

    // A sequence that somebody set back has forgotten numbers too.
    servers.psql("pg2", "SELECT setval(sequence, 5, true) FROM shardid.tickets");
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("ticket orders on pg2 stands at"), "{}", run.stdout);
    servers.run(&["apply", "--yes"]).ok();
    assert!(on("pg2") > 100_000);
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 0, "{}", run.stdout);

    // As a dump leaves it that is put back.
    servers.psql("pg2", "UPDATE shardid.ticket SET history = 'restored'");
    let run = servers.run(&["verify"]);
    let says = "and may have handed out more before: `shardid apply --restored pg2`";
    assert!(run.code == 1 && run.stdout.contains(says), "{}", run.stdout);
    let last = on("pg2");
    servers.run(&["apply", "--yes", "--restored", "pg2"]).ok();
    assert!(on("pg2") >= last + 100_000);
    let run = servers.run(&["verify"]);
    assert_eq!(run.code, 0, "{}", run.stdout);

    // Its row stays, and hands out nothing.
    let last = on("pg2");
    let drop = servers.psql("pg2", "SELECT 'DROP SEQUENCE ' || sequence FROM shardid.tickets");
    servers.psql("pg2", &drop);
    let says = "the sequence of ticket orders on pg2 was dropped: it hands out nothing there";
    let above = "SELECT shardid.create_ticket_above('orders', 3, 3, …)";
    for command in [&["tickets", "verify"][..], &["verify"]] {
        let run = servers.run(command);
        assert!(run.code == 1 && run.stdout.contains(says), "{}", run.stdout);
        assert!(run.stdout.contains(above), "{}", run.stdout);
    }
    let refused = servers.run(&["apply", "--yes"]);
    assert!(refused.stderr.contains(says) && refused.stderr.contains(above), "{}", refused.stderr);
    servers.psql("pg2", &above.replace('…', &last.to_string()));
    servers.run(&["apply", "--yes"]).ok();
    assert!(on("pg2") > last);
    let run = servers.run(&["verify"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
}

fn a_shard_of_the_map_that_a_mysql_server_makes_ids_for_is_found(engine: Engine) {
    let servers = Servers::up(engine, 1, 1);
    servers.run(&["apply", "--yes"]).ok();
    // The map has shards 0 to 63.
    servers.sql("my1", "CALL shardid.create_shard(64, 'instagram')");
    let run = servers.run(&["verify"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    servers.sql("my1", "CALL shardid.create_shard(5, 'instagram')");
    let run = servers.run(&["verify"]);
    assert_eq!(run.code, 1);
    let said = "shards 5 make ids on my1, although the map has them on PostgreSQL nodes";
    assert!(run.stdout.contains(said), "{}", run.stdout);
}
