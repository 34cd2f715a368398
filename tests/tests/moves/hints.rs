//! A command that a refusal names is one that works: each is run, or its dry run.

use shardid_tests::estate::Estate;

use crate::shared;

/// The commands that a text names.
fn commands(text: &str) -> Vec<Vec<&str>> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|it| it.strip_prefix("shardid ")).map(|it| it.split(' ').collect()).collect()
}

/// Does what a hint says, step by step: of the last one the dry run. Returns the hint.
#[track_caller]
fn follow(estate: &Estate, said: &str) -> String {
    let (_, hint) = said.split_once("\n\nhint: ").expect("a refusal has a hint");
    let steps: Vec<_> = hint.split("; then ").map(commands).collect();
    for (n, step) in steps.iter().enumerate() {
        assert!(!step.is_empty(), "no command in {hint}");
        for command in step {
            let how: &[&str] = match command[0] {
                // It has no dry run; the tests say it where it stands.
                "resume" => continue,
                "map" | "moves" => &[],
                _ if n + 1 < steps.len() => &["--yes"],
                _ => &["--dry-run"],
            };
            let run = estate.run(&[command, how].concat());
            assert_eq!(run.code, 0, "{command:?} of {hint}\nis refused: {}", run.stderr);
            assert!(!run.stderr.contains("nothing to"), "{command:?} of {hint}: {}", run.stderr);
        }
    }
    hint.to_owned()
}

/// The hint of a command that is refused, once what it names was tried.
#[track_caller]
fn hint(estate: &Estate, command: &[&str]) -> String {
    follow(estate, &estate.run(command).refused())
}

/// It named a move to where the shard was.
#[test]
fn a_move_that_was_rolled_back_is_said_to_be_back_already() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let moving = ["move", &shard.to_string(), "--to", "pg2", "--yes"];
    estate.run(&moving).ok();
    let id = estate.last_move(shard);
    estate.run(&["rollback", &id, "--yes"]).ok();
    let back = estate.last_move(shard);
    for how in ["--yes", "--dry-run"] {
        let run = estate.run(&["rollback", &id, how]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let says =
            format!("move {id} was rolled back by move {back}: shard {shard} is on pg1 again");
        assert!(run.stderr.contains(&says), "{}", run.stderr);
        assert!(run.stderr.contains("nothing to do"), "{}", run.stderr);
    }
    assert_eq!(estate.last_move(shard), back, "nothing was begun");
    // Beside one that can be.
    estate.run(&moving).ok();
    let again = estate.last_move(shard);
    // The shard has left once more, and goes back from there.
    let said = hint(estate, &["rollback", &id, "--yes"]);
    assert!(said.contains(&format!("`shardid rollback {again}`")), "{said}");
    // The copy that the first one had come to is the shard again.
    let refused = estate.run(&["rollback", &back, "--yes"]).refused();
    assert!(refused.contains(&format!("it took move {id} back itself")), "{refused}");
    assert!(refused.contains(&format!("shard {shard} is on pg2")), "{refused}");
    follow(estate, &refused);
    estate.run(&["retire", &again, "--yes"]).ok();
    let said = hint(estate, &["rollback", &id, "--yes"]);
    assert!(said.contains(&format!("`shardid move {shard} --to pg1` takes it back")), "{said}");
    estate.assert_no_trace(shard);
}

/// What takes a shard to a node.
fn goes(shard: u32, to: &str) -> String {
    format!("`shardid move {shard} --to {to}` takes ")
}

/// It named the rollback, of which there was one.
#[test]
fn abort_of_a_move_that_is_being_rolled_back_names_the_rollback_that_stands() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    let abort = || hint(estate, &["abort", &id, "--yes"]);
    assert!(abort().contains(&format!("`shardid rollback {id}` goes back")));
    for (at, can_abort) in
        [("fenced/before-AwaitDrained", true), ("switched/before-CleanUp", false)]
    {
        estate.run_cut(at, &["rollback", &id, "--yes"]);
        let back = estate.last_move(shard);
        let said = abort();
        assert!(said.contains(&format!("`shardid resume {back}`")), "{said}");
        assert_eq!(said.contains(&format!("`shardid abort {back}`")), can_abort, "{said}");
        match can_abort {
            true => estate.run(&["abort", &back, "--yes"]).ok(),
            false => estate.run(&["resume", &back]).ok(),
        };
    }
    estate.assert_no_trace(shard);
}

/// It named `retire`, of a rollback, which has no old copy.
#[test]
fn abort_of_a_rollback_that_is_done_names_the_move_there() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    estate.run(&["rollback", &id, "--yes"]).ok();
    let back = estate.last_move(shard);
    let said = hint(estate, &["abort", &back, "--yes"]);
    assert!(said.starts_with(&goes(shard, "pg2")), "{said}");
}

/// It named a move to where the shard was.
#[test]
fn abort_of_a_move_that_was_rolled_back_says_where_the_shard_is() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    estate.run(&["rollback", &id, "--yes"]).ok();
    let said = hint(estate, &["abort", &id, "--yes"]);
    assert!(said.contains(&format!("shard {shard} is on pg1")), "{said}");
}

/// It named a move that was refused, where the shard has gone on and is followed.
#[test]
fn abort_of_a_retired_move_names_what_takes_the_shard_back() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let name = shard.to_string();
    estate.run(&["move", &name, "--to", "pg2", "--yes", "--no-rollback"]).ok();
    let kept = estate.last_move(shard);
    let abort = || hint(estate, &["abort", &kept, "--yes"]);
    // Its old copy is there, and does not follow.
    let said = abort();
    assert!(said.contains(&format!("`shardid retire {kept}`")), "{said}");
    assert!(said.contains(&goes(shard, "pg1")), "{said}");
    // By that it was retired.
    let said = abort();
    assert!(said.starts_with(&goes(shard, "pg1")), "{said}");
    estate.run(&["move", &name, "--to", "pg3", "--yes"]).ok();
    let last = estate.last_move(shard);
    let said = abort();
    assert!(said.contains(&format!("`shardid retire {last}`")), "{said}");
    assert!(said.contains(&goes(shard, "pg1")), "{said}");
    estate.assert_no_trace(shard);
}

#[test]
fn a_move_to_where_the_old_copy_follows_names_the_rollback() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let name = shard.to_string();
    estate.run(&["move", &name, "--to", "pg2", "--yes"]).ok();
    let id = estate.last_move(shard);
    for how in ["--yes", "--dry-run"] {
        let said = hint(estate, &["move", &name, "--to", "pg1", how]);
        assert!(said.contains(&format!("`shardid rollback {id}` goes back to it")), "{said}");
        assert!(said.contains(&format!("`shardid retire {id}` drops it")), "{said}");
    }
    estate.run(&["rollback", &id, "--yes"]).ok();
    estate.assert_no_trace(shard);
}

#[test]
fn a_move_of_a_shard_that_stands_fenced_names_resume_and_abort() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let name = shard.to_string();
    let moving = ["move", &name, "--to", "pg2", "--yes"];
    for (at, state) in [
        ("fenced/before-AwaitDrained", "fenced"),
        ("fenced/before-next", "fenced"),
        ("switched/before-OpenTarget", "switched"),
    ] {
        for word in ["abort", "resume"] {
            if state == "switched" && word == "abort" {
                continue;
            }
            estate.run_cut(at, &moving);
            let id = estate.last_move(shard);
            assert_eq!(estate.state(&id), state);
            for to in ["pg1", "pg2", "pg3"] {
                // By the map it is on one of the two.
                if to == estate.home(shard) {
                    continue;
                }
                let refused = estate.run(&["move", &name, "--to", to, "--yes"]).refused();
                let is = format!("is already being moved: move {id} to pg2 is {state}");
                assert!(refused.contains(&is), "{refused}");
                let said = follow(estate, &refused);
                assert!(said.contains(&format!("`shardid resume {id}` goes on")), "{said}");
                let abort = format!("`shardid abort {id}` gives it up");
                assert_eq!(said.contains(&abort), state == "fenced", "{said}");
            }
            assert_eq!(estate.say(word, &id).code, 0);
            if word == "resume" {
                assert_eq!(estate.home(shard), "pg2");
                estate.run(&["rollback", &id, "--yes"]).ok();
            }
            assert_eq!(estate.home(shard), "pg1");
            estate.assert_no_trace(shard);
        }
    }
}
