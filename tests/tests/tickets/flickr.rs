//! Flickr's own tables, with their servers declared in the cluster file.

use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    flickrs_statement_gives_odd_and_even_numbers_and_then_thirds,
    a_table_that_is_nearly_used_up_refuses_another_server,
}

/// Two servers that share Flickr's tables in database `app`.
fn flickr(engine: Engine) -> Servers {
    let servers = Servers::up(engine, 0, 2);
    servers.edit(
        "[tickets.orders]\nservers = [\"my1\", \"my2\"]",
        "[tickets.Tickets64]\nservers = [\"my1\", \"my2\"]\n[tickets.Tickets32]\nservers = [\"my1\", \"my2\"]",
    );
    servers.run(&["apply", "--yes"]).ok();
    for (node, server) in [("my1", 1), ("my2", 2)] {
        servers.sql(node, &format!("CALL shardid.create_flickr_tables('app', {server}, 2)"));
    }
    servers
}

fn replace(servers: &Servers, node: &str, table: &str) -> u64 {
    let sql = format!("USE app; REPLACE INTO {table} (stub) VALUES ('a'); SELECT LAST_INSERT_ID()");
    servers.sql(node, &sql).parse().unwrap()
}

fn flickrs_statement_gives_odd_and_even_numbers_and_then_thirds(engine: Engine) {
    let servers = flickr(engine);
    for table in ["Tickets64", "Tickets32"] {
        let numbers = ["my1", "my2", "my1", "my2"].map(|node| replace(&servers, node, table));
        assert_eq!(numbers, [1, 2, 3, 4]);
    }
    servers.is_clean();
    servers.grow(3);
    servers.run(&["tickets", "add-server", "Tickets64", "my3", "--yes"]).ok();
    servers.sql("my3", "CALL shardid.create_flickr_tables('app', 3, 3)");
    let nodes = ["my1", "my2", "my3"];
    let first = nodes.map(|node| replace(&servers, node, "Tickets64"));
    assert_eq!(first.map(|number| number % 3), [1, 2, 0]);
    assert!(first.iter().all(|number| *number > 100_000), "{first:?}");
    let second = nodes.map(|node| replace(&servers, node, "Tickets64"));
    assert_eq!(second, first.map(|number| number + 3));
    servers.kill9("my2");
    servers.dev_up(0, 3);
    let after = replace(&servers, "my2", "Tickets64");
    assert!(after > second[1] && after % 3 == 2, "{after} after {}", second[1]);
    let run = servers.run(&["tickets", "verify"]);
    assert_eq!(run.code, 1, "my3 has Tickets32 too, which nobody declared");
    assert!(run.stdout.contains("ticket Tickets32 is on my3"), "{}", run.stdout);
}

fn a_table_that_is_nearly_used_up_refuses_another_server(engine: Engine) {
    let servers = flickr(engine);
    servers.sql("my1", "CALL shardid.raise_ticket('Tickets32', 4294900000)");
    servers.grow(3);
    let error = servers.run(&["tickets", "add-server", "Tickets32", "my3", "--yes"]).refused();
    assert!(error.contains("the numbers end at 4294967295"), "{error}");
    assert!(error.contains("Tickets64 in place of Tickets32"), "{error}");
    assert_eq!(replace(&servers, "my1", "Tickets32"), 4_294_900_001);
}
