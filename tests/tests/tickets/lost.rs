//! A server is lost for good while the servers of a ticket are changed, or the catalog is one from then.

use crate::backup::{back_up_catalog, restore_catalog, take};
use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    a_change_that_has_lost_an_old_server_for_good_ends_above_what_it_can_have_given,
    a_server_that_lets_nobody_in_is_not_taken_for_gone,
    a_change_that_has_lost_a_new_server_for_good_ends_and_takes_it_out_afterwards,
    a_change_of_a_catalog_from_before_its_end_begins_anew_above_all_numbers,
}

/// It wanted that server for ever, and the server's own hint would have begun the ticket anew.
fn a_change_that_has_lost_an_old_server_for_good_ends_above_what_it_can_have_given(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    take(&servers, "my2", 3000);
    servers.is_clean();
    let add = ["tickets", "add-server", "orders", "my3", "--yes"];
    servers.run_cut("tickets/planned/before-2", &add);
    servers.kill9("my2");
    let resume = |more: &[&str]| {
        let words = [&["tickets", "resume", "orders"], more].concat();
        servers.run(&words)
    };
    let refused = resume(&[]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let instead =
        "where my2 never comes back: `shardid tickets resume orders --gone my2 --above NUMBER`";
    assert!(refused.stderr.contains(instead), "{}", refused.stderr);
    for (more, words) in [
        (&["--gone", "my2"][..], "nobody knows how far my2 has got"),
        (&["--gone", "my2", "--above", "100"], "--above 100 is below 6000, which was handed out"),
        (&["--gone", "my1", "--above", "500000"], "node my1 answers, and has the ticket"),
        (&["--gone", "my9", "--above", "500000"], "my9 takes no part in the change"),
    ] {
        let refused = resume(more);
        assert_eq!(refused.code, 3, "{more:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{more:?}: {}", refused.stderr);
    }
    // Cut right after it was written down, it is known to the next one.
    servers.run_cut(
        "tickets/after-gone",
        &["tickets", "resume", "orders", "--gone", "my2", "--above", "500000"],
    );
    resume(&[]).ok();
    let status = servers.run(&["tickets", "status"]).stdout;
    assert!(status.contains("1 of 2") && status.contains("2 of 2"), "{status}");
    assert!(!status.lines().any(|line| line.contains("my2")), "{status}");
    let (odd, even) = (take(&servers, "my1", 1), take(&servers, "my3", 1));
    assert!(odd > 500_000 && even > 500_000 && odd % 2 != even % 2, "{odd} {even}");
}

/// It went on with its class for whoever was in, and the numbers came twice.
fn a_server_that_lets_nobody_in_is_not_taken_for_gone(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    take(&servers, "my2", 30);
    servers.is_clean();
    servers
        .run_cut("tickets/planned/before-2", &["tickets", "add-server", "orders", "my3", "--yes"]);
    let file = std::fs::read_to_string(servers.path("shardid.toml")).expect("the file is there");
    let at = file.find("[nodes.my2]").expect("it is a node");
    let astray = file[at..].replacen("mysql://root@", "mysql://nobody@", 1);
    assert_ne!(astray, file[at..], "{file}");
    servers.write(&format!("{}{astray}", &file[..at]));
    let stands = servers.run(&["tickets", "resume", "orders"]);
    assert_eq!(stands.code, 3, "{}", stands.stderr);
    assert!(!stands.stderr.contains("--gone"), "{}", stands.stderr);
    let gone = ["tickets", "resume", "orders", "--gone", "my2", "--above", "500000"];
    let refused = servers.run(&gone);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("node my2 answers, so it is not gone"), "{}", refused.stderr);
    servers.write(&file);
    servers.run(&["tickets", "resume", "orders"]).ok();
    servers.run(&["apply", "--yes"]).ok();
    servers.is_clean();
}

fn a_change_that_has_lost_a_new_server_for_good_ends_and_takes_it_out_afterwards(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    let add = ["tickets", "add-server", "orders", "my3", "--yes"];
    servers.run_cut("tickets/limited/after-1", &add);
    servers.kill9("my3");
    let resume = ["tickets", "resume", "orders"];
    assert_eq!(servers.run(&resume).code, 3);
    let run = servers.run(&[&resume[..], &["--gone", "my3"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let words = "my3 is one of its servers still, and nobody hands its numbers out: `shardid tickets remove-server orders my3 --gone --above NUMBER`";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    let before = take(&servers, "my1", 1).max(take(&servers, "my2", 1));
    let remove =
        ["tickets", "remove-server", "orders", "my3", "--gone", "--above", "700000", "--yes"];
    servers.run(&remove).ok();
    let (odd, even) = (take(&servers, "my1", 1), take(&servers, "my2", 1));
    assert!(before < 700_000 && odd > 700_000 && even > 700_000 && odd % 2 != even % 2);
}

/// `resume` told servers to end, and others to begin, at numbers that they had passed long ago, and stood for
/// ever.
fn a_change_of_a_catalog_from_before_its_end_begins_anew_above_all_numbers(engine: Engine) {
    let remove = ["tickets", "remove-server", "orders", "my2", "--yes"];
    let cases: [(&str, &[&str]); 3] = [
        ("tickets/planned/before-2", &[]),
        ("tickets/planned/before-2", &remove),
        ("tickets/limited/before-2", &remove),
    ];
    for (place, later) in cases {
        let servers = Servers::start(engine, 2);
        servers.grow(3);
        servers.run_cut(place, &["tickets", "add-server", "orders", "my3", "--yes"]);
        back_up_catalog(&servers);
        servers.run(&["tickets", "resume", "orders"]).ok();
        if !later.is_empty() {
            servers.run(later).ok();
        }
        let step = if later.is_empty() { 3 } else { 2 };
        let last = take(&servers, "my3", 300_000) + step * 299_999;
        restore_catalog(&servers);
        let verify = servers.run(&["tickets", "verify"]);
        assert!(verify.stdout.contains("shardid tickets resume orders"), "{}", verify.stdout);
        let words = "the catalog is of an earlier time than the servers: the change begins anew";
        servers.run_cut("tickets/after-anew", &["tickets", "resume", "orders"]);
        let run = servers.run(&["tickets", "resume", "orders"]);
        assert_eq!(run.code, 0, "{place}, {later:?}: {}", run.stderr);
        assert!(!run.stderr.contains(words), "{place}, {later:?}: {}", run.stderr);
        let mut classes = Vec::new();
        for node in ["my1", "my2", "my3"] {
            let next = take(&servers, node, 1);
            assert!(next > last, "{place}, {later:?}: {next} of {node} is not above {last}");
            classes.push(next % 3);
        }
        classes.sort_unstable();
        assert_eq!(classes, [0, 1, 2], "{place}, {later:?}");
        servers.run(&["apply", "--yes"]).ok();
        servers.is_clean();
    }
}
