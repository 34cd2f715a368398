//! The address of a node is another one, or leads to another database than the catalog knows.

use std::process::Stdio;
use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate, Proxy};
use shardid_tests::wait_until;

use crate::catalog::shard_on_pg1;

/// Makes database `copy` beside that of a node, from a dump of it.
pub(crate) fn copy(estate: &Estate, node: &str) {
    let server = estate.node(node);
    server.psql("postgres", "CREATE DATABASE copy");
    let dump = ["--dbname=app", "--no-subscriptions", "--no-publications"];
    let mut dump =
        server.command("pg_dump").args(dump).stdout(Stdio::piped()).spawn().expect("pg_dump runs");
    let output = dump.stdout.take().expect("its output is a pipe");
    let restored = server
        .command("psql")
        .args(["-Xq", "-d", "copy"])
        .stdin(output)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(dump.wait().unwrap().success() && restored.unwrap().success());
}

/// Has the cluster file name that copy for node number so.
pub(crate) fn lead_astray(estate: &Estate, node: usize) {
    let address = |number: usize, url: String| match number == node {
        true => estate.servers[number - 1].url("copy"),
        false => url,
    };
    estate.declare(4, address);
}

fn is_refused(estate: &Estate, command: &[&str], node: &str) {
    let refused = estate.run(command);
    assert_ne!(refused.code, 0, "{command:?}: {}{}", refused.stdout, refused.stderr);
    let said = format!("{}{}", refused.stdout, refused.stderr);
    let words = format!("node {node} is another database than before: copy on system");
    assert!(said.contains(&words) && said.contains("instead of app on system"), "{said}");
    assert!(said.contains(&format!("correct `url` of node {node}; or")), "{said}");
}

/// A move went on there: its rows came to a database that nobody uses, and the old copy
/// was dropped at home.
#[test]
fn nothing_is_done_with_moves_where_an_address_leads_to_another_database() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    estate.psql("pg2", &write);
    let done = estate.last_move(shard);
    let other = (0..4).find(|s| *s != shard && estate.home(*s) == "pg1").expect("it has two");
    let moving = ["move", &other.to_string(), "--to", "pg2", "--yes"];
    estate.run_cut("copying/before-next", &moving);
    let standing = estate.last_move(other);
    let back = (0..4).find(|s| *s != shard && estate.home(*s) == "pg2").expect("it has three");
    let back = back.to_string();
    for node in ["pg1", "pg2"] {
        copy(&estate, node);
        lead_astray(&estate, if node == "pg1" { 1 } else { 2 });
        for command in [
            &["plan"][..],
            &["verify"],
            &["apply", "--yes"],
            &["move", &back, "--to", "pg1", "--yes"],
            &["rollback", &done, "--yes"],
            &["retire", &done, "--yes"],
            &["retire", &done, "--dry-run"],
            &["resume", &standing],
            &["abort", &standing, "--yes"],
        ] {
            is_refused(&estate, command, node);
        }
        let asked = "SELECT count(*) FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid AND d.datname = 'copy'";
        assert_eq!(estate.psql(node, asked), "0");
        // It has rights of the roles that streams apply by.
        estate.node(node).psql("postgres", "DROP DATABASE copy");
    }
    estate.declare(4, |_, url| url);
    estate.run(&["resume", &standing]).ok();
    estate.run(&["retire", "--all", "--yes"]).ok();
    estate.assert_no_streams();
    estate.run(&["verify"]).ok();
}

/// `apply` had nothing to do, and the old copy followed by the old address until that was gone.
#[test]
fn what_follows_a_node_is_told_of_its_new_address() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let proxy = Proxy::to(estate.node("pg2").port());
    estate.declare(4, |number, url| match number {
        2 => format!("postgres://postgres@127.0.0.1:{}/{DATABASE}", proxy.port()),
        _ => url,
    });
    let id = estate.last_move(shard);
    let line = format!("~ pg1: connect shardid_back_{id} anew: pg2 has another address");
    let plan = estate.run(&["plan"]).ok();
    assert!(plan.contains(&line), "{plan}");
    estate.run(&["apply", "--yes"]).ok();
    let way_in = estate.psql("pg1", "SELECT subconninfo FROM pg_subscription");
    assert!(way_in.contains(&format!("127.0.0.1:{}/", proxy.port())), "{way_in}");
    let plan = estate.run(&["plan"]).ok();
    assert!(plan.contains("nothing to do"), "{plan}");
    estate.psql("pg2", &write);
    let rows = format!("SELECT count(*), max(id) FROM shard_{shard:04}.item");
    wait_until(Duration::from_secs(60), "the old copy to follow by the new address", || {
        estate.psql("pg1", &rows) == estate.psql("pg2", &rows)
    });
    estate.run(&["rollback", &id, "--yes"]).ok();
    estate.assert_no_streams();
}

/// The database that the copy was restored from goes on following beside it, by the slot: what it had got was taken for
/// what the copy has.
#[test]
fn a_copy_that_was_restored_beside_the_one_that_follows_is_not_gone_back_to() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    copy(&estate, "pg1");
    estate.psql("pg2", &write);
    lead_astray(&estate, 1);
    // The node keeps the catalog as well, which came along.
    estate.run(&["apply", "--adopt", "pg1", "--yes"]).ok();
    let words = format!(
        "subscription shardid_back_{id} is gone, and the old copy of shard {shard} on pg1 follows no more"
    );
    let hint = format!("it cannot be gone back to: `shardid retire {id}`");
    for how in [&["--dry-run"][..], &["--yes"], &["--yes", "--verify", "none"]] {
        let refused = estate.run(&[&["rollback", &id], how].concat()).refused();
        assert!(refused.contains(&words) && refused.contains(&hint), "{refused}");
    }
    let run = estate.run(&["moves"]);
    assert!(run.stderr.contains(&words), "{}{}", run.stdout, run.stderr);
    let found = estate.run(&["verify"]).stdout;
    assert!(found.contains(&words), "{found}");
    estate.run(&["retire", &id, "--yes"]).ok();
    let found = estate.run(&["verify"]).stdout;
    assert!(!found.contains(&words), "{found}");
}
