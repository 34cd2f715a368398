//! A change of servers that is cut anywhere goes on, and ends the same.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::load::Load;
use crate::on_both_engines;
use crate::servers::{Engine, Servers};

on_both_engines! {
    a_change_that_is_killed_at_any_step_goes_on_and_repeats_no_number,
    a_server_that_is_killed_in_the_middle_of_a_change_lets_it_stand_until_it_is_back,
    an_apply_that_is_killed_at_any_step_is_finished_by_the_next,
}

/// Every place at which a change from two servers to two others can be cut.
fn places() -> Vec<String> {
    let mut places = vec!["before-planned".to_owned(), "after-planned".to_owned()];
    for (state, effects) in [("planned", 2), ("limited", 2), ("stepped", 1)] {
        for effect in 1..=effects {
            places.push(format!("{state}/before-{effect}"));
            places.push(format!("{state}/after-{effect}"));
        }
        places.push(format!("{state}/before-next"));
        places.push(format!("{state}/after-next"));
    }
    places
}

fn a_change_that_is_killed_at_any_step_goes_on_and_repeats_no_number(engine: Engine) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    let load = Load::start(&servers, &["my1", "my2", "my3"], 1);
    // There and back: one of my2 and my3 serves beside my1.
    let (mut here, mut away) = ("my2", "my3");
    for place in places() {
        let swap = |cut: bool| {
            // One command that adds and one that removes; the cut is in either.
            let add = ["tickets", "add-server", "orders", away, "--yes"];
            let remove = ["tickets", "remove-server", "orders", here, "--yes"];
            let place = format!("tickets/{place}");
            match (cut, place.contains("stepped/before-1") || place.contains("stepped/after-1")) {
                // Only a removal has something to do in the last state.
                (true, true) => {
                    servers.run(&add).ok();
                    servers.run_cut(&place, &remove);
                }
                (true, false) => servers.run_cut(&place, &add),
                (false, _) => {
                    let status = servers.run(&["tickets", "status", "--json"]).ok();
                    let standing = !status.contains("\"changes\": []");
                    if standing {
                        // Another change is not begun before this one is whole.
                        let run =
                            servers.run(&["tickets", "remove-server", "orders", "my1", "--yes"]);
                        assert_eq!(run.code, 3, "after {place}: {}", run.stderr);
                        servers.run(&["tickets", "resume", "orders"]).ok();
                    }
                    servers.run(&add).ok();
                    servers.run(&remove).ok();
                }
            }
        };
        swap(true);
        swap(false);
        let status = servers.run(&["tickets", "status"]).ok();
        assert!(status.contains("1 of 2") && status.contains("2 of 2"), "after {place}:\n{status}");
        assert!(!status.contains("limited"), "after {place}:\n{status}");
        let run = servers.run(&["tickets", "verify"]);
        assert_eq!(run.code, 0, "after {place}: {}", run.stdout);
        std::mem::swap(&mut here, &mut away);
    }
    let all = load.end();
    assert!(all.iter().all(|taken| taken.numbers.len() > 100), "too few to tell");
    assert!(all[0].errors.is_empty(), "my1 served all the time: {:?}", all[0].errors);
}

fn a_server_that_is_killed_in_the_middle_of_a_change_lets_it_stand_until_it_is_back(
    engine: Engine,
) {
    let servers = Servers::start(engine, 2);
    servers.grow(3);
    for (place, victim) in [
        ("tickets/planned/before-2", "my2"),
        ("tickets/planned/before-next", "my2"),
        ("tickets/limited/before-2", "my2"),
        ("tickets/limited/before-3", "my3"),
    ] {
        let load = Load::start(&servers, &["my1"], 1);
        let mut command = servers.command(&["tickets", "add-server", "orders", "my3", "--yes"]);
        command.env("SHARDID_HOLD_AT", place).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().contains("held at")), "it comes to {place}");
        servers.kill9(victim);
        drop(child.stdin.take());
        let rest: Vec<String> = said.map_while(Result::ok).collect();
        let code = child.wait().unwrap().code();
        // Where the victim had nothing left to do, the change goes through.
        if place.ends_with("before-next") {
            assert_eq!(code, Some(3), "{place}: {rest:?}");
        }
        if code != Some(0) {
            assert_eq!(code, Some(3), "{place}: {rest:?}");
            assert!(
                rest.iter().any(|line| line.contains("shardid tickets resume orders")),
                "{rest:?}"
            );
            // It is still down, so going on is refused, and nothing is lost.
            let run = servers.run(&["tickets", "resume", "orders"]);
            assert_eq!(run.code, 3, "{}", run.stderr);
        }
        servers.dev_up(0, 3);
        if code != Some(0) {
            servers.run(&["tickets", "resume", "orders"]).ok();
        }
        let all = load.end();
        assert!(!all[0].numbers.is_empty());
        servers.run(&["tickets", "remove-server", "orders", "my3", "--yes"]).ok();
        let run = servers.run(&["tickets", "verify"]);
        assert_eq!(run.code, 0, "after {place}: {}", run.stdout);
    }
}

fn an_apply_that_is_killed_at_any_step_is_finished_by_the_next(engine: Engine) {
    let servers = Servers::up(engine, 0, 2);
    let mut cuts = 0;
    loop {
        let mut command = servers.command(&["apply", "--yes"]);
        command.env("SHARDID_CUT_AT", "tickets/apply/after-0");
        let run = shardid_tests::program::run(command);
        if run.code == 0 {
            break;
        }
        assert_eq!(run.code, -1, "{}", run.stderr);
        cuts += 1;
        assert!(cuts < 50, "it never ends: {}", run.stderr);
    }
    assert!(cuts > 5, "it was cut {cuts} times only");
    assert_eq!(servers.sql("my1", "SELECT shardid.next_ticket('orders')"), "1");
    assert_eq!(servers.sql("my2", "SELECT shardid.next_ticket('orders')"), "2");
    servers.is_clean();
}
