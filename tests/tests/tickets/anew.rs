//! Servers that come back while what knew them is new, or that another cluster has taken.

use crate::backup::{backup, restore, take};
use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    a_new_catalog_is_told_how_far_restored_servers_were,
    a_change_ends_without_a_server_that_another_cluster_has_taken,
    a_server_that_another_cluster_has_taken_can_be_let_go_of,
    a_server_that_is_taken_out_of_the_file_is_named_before_anything_is_changed,
    servers_that_are_in_no_file_are_let_go_of_by_one_command,
    a_catalog_from_before_a_server_left_goes_on_on_another_machine,
    a_dead_server_is_let_go_of_while_the_one_in_its_place_is_empty,
    a_dump_without_routines_is_opened_above_its_numbers_alone,
    a_server_from_before_a_change_does_not_tell_how_many_they_are,
    a_ticket_is_not_begun_anew_that_another_server_was_told_of,
    a_catalog_from_before_a_server_left_lets_the_others_go_on,
    a_ticket_whose_only_server_is_gone_goes_on_elsewhere,
    a_segment_of_a_restored_server_is_named_with_what_leaves_out_what_it_gave,
    a_number_is_taken_of_a_ticket_that_the_catalog_alone_has_on_a_restored_server,
}

/// The cluster file of another cluster with the same servers, and its catalog on the last one.
fn other_file(servers: &Servers, catalog: &str) -> String {
    let ours = std::fs::read_to_string(servers.path("shardid.toml")).unwrap();
    let named = ours.replace("name    = \"dev\"", "name = \"other\"");
    let other = named.replace("catalog = \"my1\"", &format!("catalog = \"{catalog}\""));
    assert_ne!(ours, other);
    other
}

/// It went on a little above the backup, and the numbers came twice.
fn a_new_catalog_is_told_how_far_restored_servers_were(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.is_clean();
    // It was told nothing yet.
    servers.grow_without_apply(3);
    backup(&servers, "my1", 3);
    backup(&servers, "my2", 3);
    let last = take(&servers, "my1", 300_000) + take(&servers, "my2", 500_000) + 2 * 500_000;
    restore(&servers, "my1", 3);
    restore(&servers, "my2", 3);
    // The old one was on another machine, which is lost as well.
    servers.sql("my1", "DROP DATABASE IF EXISTS shardid_catalog");
    servers.edit("catalog = \"my1\"", "catalog = \"my3\"");
    let both = ["apply", "--yes", "--restored", "my1", "--restored", "my2"];
    let refused = servers.run(&both).refused();
    let asks = "shardid apply --restored my1 --restored my2 --above NUMBER";
    assert!(refused.contains("nobody remembers how far ticket orders was"), "{refused}");
    assert!(refused.contains(asks), "{refused}");
    let above = last.to_string();
    servers.run(&[&both[..], &["--above", &above]].concat()).ok();
    for node in ["my1", "my2"] {
        assert!(take(&servers, node, 1) > last, "{node}");
    }
    servers.is_clean();
}

/// It went on, and gave a class to a server that handed out another one for its new owner.
fn a_change_ends_without_a_server_that_another_cluster_has_taken(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    take(&servers, "my2", 300);
    servers.is_clean();
    let add = ["tickets", "add-server", "orders", "my3", "--yes"];
    servers.run_cut("tickets/planned/before-2", &add);
    take_my2_over(&servers);
    let before = servers.sql("my2", "SELECT * FROM shardid.tickets");
    let refused = servers.run(&["tickets", "resume", "orders"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    for words in [
        "node my2 hands out tickets of cluster other",
        "`shardid tickets resume orders --gone my2 --above NUMBER`",
    ] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert_eq!(servers.sql("my2", "SELECT * FROM shardid.tickets"), before);
    let gone = ["tickets", "resume", "orders", "--gone", "my2", "--above", "400000"];
    servers.run(&gone).ok();
    let (odd, even) = (take(&servers, "my1", 1), take(&servers, "my3", 1));
    assert!(odd > 400_000 && even > 400_000 && odd % 2 != even % 2, "{odd} {even}");
    assert_eq!(servers.sql("my2", "SELECT * FROM shardid.tickets"), before);
}

/// Another cluster, whose only server is my2, takes it over; then the file is ours again.
fn take_my2_over(servers: &Servers) {
    let ours = std::fs::read_to_string(servers.path("shardid.toml")).unwrap();
    let other = other_file(servers, "my2").replace("\"my1\", \"my2\"", "\"my2\"");
    // It knows of no other server.
    let at = |text: &str| other.find(text).unwrap_or(other.len());
    let its_end = at("[nodes.my3]").min(at("[tickets."));
    let its = &other[at("[nodes.my2]")..its_end];
    servers.write(&format!("{}{its}{}", &other[..at("[nodes.my1]")], &other[at("[tickets.")..]));
    let take_over = ["--restored", "my2", "--accept-unseen", "--above", "200000"];
    let words = [&["plan"][..], &take_over].concat();
    let plan = servers.run(&words).ok();
    assert!(
        plan.contains("node my2 hands out tickets of cluster dev, and is taken over"),
        "{plan}"
    );
    servers.run(&[&["apply", "--yes"][..], &take_over].concat()).ok();
    servers.run(&["tickets", "verify"]).ok();
    servers.write(&ours);
}

/// One hint told to take it out without `--gone`, the other one to say `--gone`.
fn a_server_that_another_cluster_has_taken_can_be_let_go_of(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my2", 300);
    servers.is_clean();
    take_my2_over(&servers);
    let status = servers.run(&["tickets", "status"]);
    assert_eq!(status.code, 1, "{}", status.stdout);
    assert!(status.stdout.contains("taken"), "{}", status.stdout);
    assert!(status.stderr.contains("hands out tickets of cluster other"), "{}", status.stderr);
    let remove = ["tickets", "remove-server", "orders", "my2", "--yes"];
    let refused = servers.run(&remove).refused();
    let lets_go = "`shardid tickets remove-server orders my2 --gone --above NUMBER` lets go of it";
    assert!(refused.contains(lets_go), "{refused}");
    let before = servers.sql("my2", "SELECT * FROM shardid.tickets");
    servers.run(&[&remove[..], &["--gone", "--above", "400000"]].concat()).ok();
    assert!(take(&servers, "my1", 1) > 400_000);
    assert_eq!(servers.sql("my2", "SELECT * FROM shardid.tickets"), before);
}

/// The plan promised to make the ticket there again, and `apply` failed half-way.
fn a_server_that_is_taken_out_of_the_file_is_named_before_anything_is_changed(engine: Engine) {
    let servers = Servers::start(engine, 2);
    let last = take(&servers, "my2", 300) + 2 * 299;
    servers.is_clean();
    let file = std::fs::read_to_string(servers.path("shardid.toml")).unwrap();
    let at = file.find("[nodes.my2]").expect("it is a node");
    let end = file[at..].find("[tickets.").expect("it comes last") + at;
    let without = format!("{}{}", &file[..at], &file[end..]).replace(", \"my2\"", "");
    servers.write(&without);
    for command in [&["plan"][..], &["apply", "--yes"]] {
        let refused = servers.run(command).refused();
        for words in [
            "ticket orders is handed out by my2, and there is no such node in",
            "`shardid tickets remove-server orders my2 --gone --above NUMBER`",
        ] {
            assert!(refused.contains(words), "{command:?}: {refused}");
        }
    }
    let above = (last + 1000).to_string();
    let gone = ["tickets", "remove-server", "orders", "my2", "--yes", "--gone", "--above", &above];
    servers.run(&gone).ok();
    servers.is_clean();
    assert!(take(&servers, "my1", 1) > last + 1000);
}

/// Takes nodes out of the file, and their tickets with them.
fn take_out(servers: &Servers, nodes: &[&str]) {
    let mut file = std::fs::read_to_string(servers.path("shardid.toml")).unwrap();
    for node in nodes {
        let at = file.find(&format!("[nodes.{node}]")).expect("it is a node");
        let end = file[at + 1..].find("\n[").expect("another table comes") + at + 2;
        file.replace_range(at..end, "");
        file = file.replace(&format!(", \"{node}\""), "");
    }
    servers.write(&file);
}

/// Each of two hints wanted the other server to be there.
fn servers_that_are_in_no_file_are_let_go_of_by_one_command(engine: Engine) {
    let servers = Servers::start(engine, 3);
    take(&servers, "my2", 300);
    servers.is_clean();
    take_out(&servers, &["my2", "my3"]);
    let refused = servers.run(&["plan"]).refused();
    let hint = "`shardid tickets remove-server orders my2 my3 --gone --above NUMBER`";
    assert!(refused.contains(hint), "{refused}");
    let mut words = vec!["tickets", "remove-server", "orders", "my2", "my3"];
    words.extend(["--gone", "--above", "5000", "--yes"]);
    servers.run(&words).ok();
    servers.is_clean();
    assert!(take(&servers, "my1", 1) > 5000);
}

/// The hint of each command named another one that was refused.
fn a_catalog_from_before_a_server_left_goes_on_on_another_machine(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.is_clean();
    backup(&servers, "my1", 2);
    servers.run(&["tickets", "remove-server", "orders", "my2", "--yes"]).ok();
    take_out(&servers, &["my2"]);
    servers.is_clean();
    let last = take(&servers, "my1", 300) + 300;
    restore(&servers, "my1", 2);
    // Another machine.
    servers.sql(
        "my1",
        "UPDATE shardid.server SET home = 'another'; UPDATE shardid.ticket SET home = 'another'",
    );
    let above = last.to_string();
    let restored = ["apply", "--yes", "--restored", "my1", "--above", &above];
    let refused = servers.run(&restored).refused();
    assert!(refused.contains("`shardid apply --accept-unseen`"), "{refused}");
    servers.run(&[&restored[..], &["--accept-unseen"]].concat()).ok();
    assert!(take(&servers, "my1", 1) > last);
    let gone = ["tickets", "remove-server", "orders", "my2", "--gone", "--above", &above, "--yes"];
    servers.run(&gone).ok();
    servers.is_clean();
    take(&servers, "my1", 1);
}

/// It had done all, and then failed at the new one's mark, which the catalog had been told of.
fn a_dead_server_is_let_go_of_while_the_one_in_its_place_is_empty(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my2", 300);
    servers.is_clean();
    servers.grow_without_apply(3);
    take_out(&servers, &["my2"]);
    servers.stop("my2");
    let remove =
        ["tickets", "remove-server", "orders", "my2", "--gone", "--above", "5000", "--yes"];
    servers.run(&remove).ok();
    let found = servers.run(&["tickets", "verify"]);
    assert!(!found.stdout.contains("backup") && found.stderr.is_empty(), "{}", found.stderr);
    let plan = servers.run(&["plan"]).ok();
    assert!(!plan.contains("it has forgotten numbers"), "{plan}");
    servers.run(&["apply", "--yes"]).ok();
    servers.run(&["tickets", "add-server", "orders", "my3", "--yes"]).ok();
    servers.is_clean();
}

/// `apply` made the routines, and the server repeated what it had given since the dump.
fn a_dump_without_routines_is_opened_above_its_numbers_alone(engine: Engine) {
    let servers = Servers::start(engine, 2);
    take(&servers, "my2", 10);
    servers.is_clean();
    backup(&servers, "my2", 2);
    let last = take(&servers, "my2", 300) + 2 * 299;
    restore(&servers, "my2", 2);
    let all = "SELECT CONCAT('DROP ', ROUTINE_TYPE, ' shardid.', ROUTINE_NAME, ';') FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'shardid'";
    servers.sql("my2", &servers.sql("my2", all));
    for command in [&["plan"][..], &["apply", "--yes"]] {
        let refused = servers.run(command).refused();
        for words in ["none of its routines", "`shardid apply --restored my2`"] {
            assert!(refused.contains(words), "{command:?}: {refused}");
        }
    }
    servers.run(&["apply", "--yes", "--restored", "my2"]).ok();
    assert!(take(&servers, "my2", 1) > last);
    servers.is_clean();
}

/// It was refused for classes that are no more: of three servers, where there are two since.
fn a_server_from_before_a_change_does_not_tell_how_many_they_are(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    servers.run(&["tickets", "add-server", "orders", "my3", "--yes"]).ok();
    servers.is_clean();
    backup(&servers, "my2", 3);
    servers.run(&["tickets", "remove-server", "orders", "my3", "--yes"]).ok();
    // Nobody asks it any more, and so nobody has its class.
    take_out(&servers, &["my3"]);
    servers.is_clean();
    let last = take(&servers, "my2", 300) + 2 * 299;
    restore(&servers, "my2", 3);
    servers.run(&["apply", "--yes", "--restored", "my2"]).ok();
    let (odd, even) = (take(&servers, "my1", 1), take(&servers, "my2", 1));
    assert!(odd % 2 == 1 && even % 2 == 0 && even > last, "{odd} {even} {last}");
    servers.is_clean();
}

/// It began at 1: the catalog that knew it was lost with the only server that had it.
fn a_ticket_is_not_begun_anew_that_another_server_was_told_of(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.run(&["tickets", "remove-server", "orders", "my2", "--yes"]).ok();
    servers.edit("\"my1\", \"my2\"", "\"my1\"");
    let mut last = 0;
    for _ in 0..2 {
        last = take(&servers, "my1", 700) + 699;
        servers.is_clean();
    }
    servers.sql("my1", "DROP DATABASE shardid");
    let applied = servers.run(&["apply", "--yes"]);
    assert_eq!(applied.code, 0, "{}", applied.stderr);
    assert!(take(&servers, "my1", 1) > last);
    servers.is_clean();
    // Nor on another server, which begins above what it was told itself.
    servers.sql("my1", "DROP DATABASE shardid");
    servers.edit("servers = [\"my1\"]", "servers = [\"my2\"]");
    servers.run(&["apply", "--yes"]).ok();
    assert!(take(&servers, "my2", 1) > last + 1);
    servers.is_clean();
}

/// The ticket was closed everywhere, and then it was said that there is no such node: at each try again, 100,000 higher.
fn a_catalog_from_before_a_server_left_lets_the_others_go_on(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow_without_apply(3);
    catalog_on(&servers, "my3");
    take(&servers, "my2", 300);
    servers.is_clean();
    backup(&servers, "my3", 3);
    servers.run(&["tickets", "remove-server", "orders", "my2", "--yes"]).ok();
    take_out(&servers, &["my2"]);
    servers.is_clean();
    let last = take(&servers, "my1", 300) + 299;
    restore(&servers, "my3", 3);
    let refused = servers.run(&["plan"]).refused();
    assert!(refused.contains("`shardid apply --accept-unseen`"), "{refused}");
    let planned = servers.run(&["plan", "--accept-unseen"]).ok();
    assert!(planned.contains("ticket orders goes on without my2"), "{planned}");
    assert!(!planned.contains("is still handed out by my2"), "{planned}");
    servers.run(&["apply", "--yes", "--accept-unseen"]).ok();
    assert!(take(&servers, "my1", 1) > last);
    servers.is_clean();
}

/// One command would have left it without a server, and the others wanted the old one to be there.
fn a_ticket_whose_only_server_is_gone_goes_on_elsewhere(engine: Engine) {
    let servers = Servers::start(engine, 2);
    catalog_on(&servers, "my2");
    servers.run(&["tickets", "remove-server", "orders", "my2", "--yes"]).ok();
    servers.edit("\"my1\", \"my2\"", "\"my1\"");
    let last = take(&servers, "my1", 300) + 299;
    servers.is_clean();
    servers.stop("my1");
    servers.edit("servers = [\"my1\"]", "servers = [\"my2\"]");
    take_out(&servers, &["my1"]);
    let refused = servers.run(&["plan"]).refused();
    assert!(refused.contains("`shardid apply --accept-unseen`"), "{refused}");
    assert!(!refused.contains("remove-server"), "{refused}");
    servers.run(&["apply", "--yes", "--accept-unseen"]).ok();
    assert!(take(&servers, "my2", 1) > last);
    servers.is_clean();
}

/// The catalog of a new cluster is on another server.
fn catalog_on(servers: &Servers, node: &str) {
    servers.edit("catalog = \"my1\"", &format!("catalog = \"{node}\""));
    servers.run(&["apply", "--yes"]).ok();
}

/// Its blocks came twice without a word.
fn a_segment_of_a_restored_server_is_named_with_what_leaves_out_what_it_gave(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.sql(
        "my2",
        "CALL shardid.create_segment('it''s', 10); CALL shardid.create_segment('unused', 10)",
    );
    let block = "CALL shardid.next_segment('it''s', NULL)";
    servers.sql("my2", block);
    servers.is_clean();
    backup(&servers, "my2", 2);
    let last = servers.sql("my2", block);
    servers.is_clean();
    restore(&servers, "my2", 2);
    let planned = servers.run(&["plan", "--restored", "my2"]).ok();
    let named = "segment tag it's of my2 is not raised";
    let statement = "CALL shardid.next_segment('it''s', NUMBER);";
    for words in [named, statement] {
        assert!(planned.contains(words), "{planned}");
    }
    // One that had given nothing by then may have since.
    assert!(planned.contains("segment tag unused of my2 is not raised"), "{planned}");
    let applied = servers.run(&["apply", "--yes", "--restored", "my2"]);
    assert!(applied.stderr.contains(named), "{}{}", applied.stdout, applied.stderr);
    servers.sql("my2", &statement.replace("NUMBER", "10"));
    assert_ne!(servers.sql("my2", block), last);
}

/// The number that the hint asked for was refused, and what was taken instead went for tickets that end much earlier, too.
fn a_number_is_taken_of_a_ticket_that_the_catalog_alone_has_on_a_restored_server(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.edit("[tickets.orders]", "[tickets.photos]\nservers = [\"my1\"]\n\n[tickets.orders]");
    servers.run(&["apply", "--yes"]).ok();
    catalog_on(&servers, "my2");
    servers.sql("my1", "SELECT shardid.next_ticket('photos')");
    servers.is_clean();
    backup(&servers, "my2", 2);
    servers.run(&["tickets", "add-server", "photos", "my2", "--yes"]).ok();
    servers.run(&["tickets", "remove-server", "photos", "my1", "--yes"]).ok();
    servers.is_clean();
    backup(&servers, "my1", 1);
    let last = take(&servers, "my1", 100).max(take(&servers, "my2", 100)) + 200;
    servers.is_clean();
    restore(&servers, "my1", 1);
    restore(&servers, "my2", 2);
    let apply = ["apply", "--yes", "--restored", "my1", "--restored", "my2"];
    let numbers = [format!("orders={last}"), "photos=1000".to_owned()];
    let of_each = [&apply[..], &["--above", &numbers[0], "--above", &numbers[1]]].concat();
    servers.run(&of_each).ok();
    assert!(take(&servers, "my1", 1) > last && take(&servers, "my2", 1) > last);
    servers.is_clean();
}
