//! The node that a shard goes to is promoted or restored while the move is switched, without rows that had
//! come to it: it is not opened, and the move goes back to its source, which has them.

use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate};
use shardid_tests::{Server, wait_until};

use crate::another_database::{copy, lead_astray};
use crate::catalog::shard_on_pg1;
use crate::gone::shard_on;

/// A standby of a node that is stopped, and so lacks what is written from now on.
pub(crate) fn standby_behind(estate: &Estate, node: &str) -> Server {
    let primary = estate.node(node);
    let standby = Server::builder().fsync(false).name("standby").start_standby_of(primary);
    primary.wait_for(&standby);
    standby.stop();
    standby
}

/// Has a standby take over from a node that is lost.
pub(crate) fn fail_over(estate: &mut Estate, node: &str, standby: Server) {
    estate.node(node).kill9();
    standby.start();
    standby.promote();
    let number: usize = node.trim_start_matches("pg").parse().expect("a number");
    estate.servers[number - 1] = standby;
    estate.declare(4, |_, url| url);
}

/// Moves a shard to pg2, cut at a place once it follows; a standby of pg2 lacks what came last.
fn cut_move(estate: &Estate, place: &str, more: &[&str]) -> (u32, String, String, Server) {
    let (shard, write) = shard_on_pg1(estate);
    estate.psql(
        "pg1",
        &format!(
            "CREATE SEQUENCE shard_{shard:04}.round MINVALUE 5 MAXVALUE 50 CYCLE; SELECT nextval('shard_{shard:04}.round');
             SELECT create_id_sequence('shard_{shard:04}.of_table', {shard})"
        ),
    );
    estate.psql("pg1", &write);
    let number = shard.to_string();
    let mut command = vec!["move", &number, "--to", "pg2", "--yes"];
    command.extend(more);
    let mut held = estate.run_held_then_cut("following/before-LowerFence", place, &command);
    let standby = standby_behind(estate, "pg2");
    estate.psql("pg1", &write);
    held.go_on();
    assert_eq!(held.end().code, -1, "{place}");
    (shard, write, estate.last_move(shard), standby)
}

fn rows(shard: u32) -> String {
    format!("SELECT count(*), max(id) FROM shard_{shard:04}.item")
}

/// `resume` opened it, and `retire`, which was named then, dropped the last copy of the rows.
#[test]
fn a_promoted_target_that_lacks_rows_is_not_opened_and_the_move_goes_back() {
    for (place, more) in [
        ("switched/before-CheckTarget", &["--no-rollback"][..]),
        ("switched/after-GuardSource", &[]),
        ("switched/after-OpenTarget", &[]),
        // Which has ended what is there again on the standby.
        ("switched/after-EndStream", &[]),
    ] {
        let mut estate = Estate::start(2, 4);
        let (shard, write, id, standby) = cut_move(&estate, place, more);
        let was_open = matches!(place, "switched/after-OpenTarget" | "switched/after-EndStream");
        let last = estate.psql("pg1", &rows(shard));
        let mut of_shard = estate.node("pg1").connect(DATABASE);
        let before: i64 = of_shard
            .query_one(&format!("SELECT last_value FROM shard_{shard:04}.shard_id_seq"), &[])
            .unwrap()
            .get(0);
        fail_over(&mut estate, "pg2", standby);
        assert_ne!(estate.psql("pg2", &rows(shard)), last, "{place}: the test shows nothing");
        let says = format!(
            "node pg2 may have lost rows of shard {shard} that had come to it: it was promoted or restored, and is on timeline 2"
        );
        let refused = estate.run(&["resume", &id]);
        assert_eq!(refused.code, 3, "{place}: {}", refused.stderr);
        assert!(refused.stderr.contains(&says), "{place}: {}", refused.stderr);
        // What was written there since is not on pg1; it said that pg1 had it, and `abort` then wanted the word.
        let word = if was_open { " --accept-loss" } else { "" };
        let back = format!("`shardid abort {id}{word}` goes back to pg1");
        let moves = estate.run(&["moves"]).stderr;
        assert!(moves.contains(&back) && !moves.contains("resume"), "{place}: {moves}");
        assert!(refused.stderr.contains(&back), "{place}: {}", refused.stderr);
        assert!(estate.node("pg2").try_psql(DATABASE, &write).is_err(), "{place}");

        if was_open {
            let refused = estate.run(&["abort", &id, "--yes"]);
            assert_eq!(refused.code, 3, "{place}: {}", refused.stderr);
            let instead = format!("`shardid abort {id} --accept-loss`");
            assert!(refused.stderr.contains(&instead), "{place}: {}", refused.stderr);
            estate.run(&["abort", &id, "--yes", "--accept-loss"]).ok();
        } else {
            let shown = estate.run(&["abort", &id, "--dry-run"]).ok();
            let line = format!("shard {shard} goes back to pg1: node pg2 may have lost rows");
            assert!(shown.contains(&line), "{place}: {shown}");
            // Cut at each step, it goes on.
            estate.run_cut("aborting/before-OpenSource", &["abort", &id, "--yes"]);
            assert_eq!(estate.home(shard), "pg1", "{place}");
            estate.run_cut("aborting/after-OpenSource", &["resume", &id]);
            estate.run(&["resume", &id]).ok();
        }
        assert_eq!((estate.state(&id).as_str(), estate.home(shard).as_str()), ("aborted", "pg1"));
        assert_eq!(estate.psql("pg1", &rows(shard)), last, "{place}");
        estate.psql("pg1", &write);
        assert!(estate.node("pg2").try_psql(DATABASE, &write).is_err(), "{place}");
        let next = estate.psql("pg1", &format!("SELECT next_id({shard})"));
        assert!(next.parse::<i64>().unwrap() > before, "{place}: {next} is not above {before}");
        let id_sequence = format!("SELECT next_id_from('shard_{shard:04}.of_table')");
        assert!(estate.psql("pg1", &id_sequence).parse::<i64>().unwrap() > before, "{place}");
        let round = format!(
            "SELECT seqmin, seqmax, seqcycle, nextval(seqrelid) > 5 FROM pg_sequence WHERE seqrelid = 'shard_{shard:04}.round'::regclass"
        );
        assert_eq!(estate.psql("pg1", &round), "5|50|t|t", "{place}");
        estate.assert_no_trace(shard);
        estate.run(&["verify"]).ok();
        // And it can be moved.
        estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
        estate.psql("pg2", &write);
    }
}

/// It opened a database without the rows once that was adopted.
#[test]
fn an_adopted_target_that_lacks_rows_is_not_opened_and_the_move_goes_back() {
    let estate = Estate::start(2, 4);
    let (shard, write) = shard_on_pg1(&estate);
    let number = shard.to_string();
    let mut held = estate.run_held_then_cut(
        "following/before-next",
        "switched/before-GuardSource",
        &["move", &number, "--to", "pg2", "--yes", "--no-rollback"],
    );
    copy(&estate, "pg2");
    estate.psql("pg1", &write);
    held.go_on();
    assert_eq!(held.end().code, -1);
    let (id, last) = (estate.last_move(shard), estate.psql("pg1", &rows(shard)));
    lead_astray(&estate, 2);
    estate.run(&["apply", "--adopt", "pg2", "--yes"]).ok();
    let refused = estate.run(&["resume", &id]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let says = format!(
        "node pg2 may have lost rows of shard {shard} that had come to it: it was restored to another database"
    );
    assert!(refused.stderr.contains(&says), "{}", refused.stderr);
    estate.run(&["abort", &id, "--yes"]).ok();
    assert_eq!(estate.psql("pg1", &rows(shard)), last);
    estate.psql("pg1", &write);
    assert!(estate.node("pg2").try_psql("copy", &write).is_err());
}

/// The old copy is kept then, and `retire` knows that it has more.
#[test]
fn a_target_that_lacks_rows_is_opened_where_that_is_accepted_and_the_old_copy_stays() {
    let mut estate = Estate::start(2, 4);
    let place = "switched/before-CheckTarget";
    let (shard, write, id, standby) = cut_move(&estate, place, &["--no-rollback"]);
    let last = estate.psql("pg1", &rows(shard));
    fail_over(&mut estate, "pg2", standby);
    estate.run_cut("switched/after-OpenTarget", &["resume", &id, "--accept-loss"]);
    // It is not gone back from then, and only what goes on is named.
    let on = format!("`shardid resume {id} --accept-loss` goes on with it");
    for command in [&["moves"][..], &["abort", &id, "--yes"]] {
        let said = estate.run(command).stderr;
        assert!(said.contains(&on) && !said.contains("abort"), "{command:?}: {said}");
    }
    estate.run(&["resume", &id, "--accept-loss"]).ok();
    estate.psql("pg2", &write);
    // Its node has lost how they go on as well.
    let next = format!("SELECT nextval('shard_{shard:04}.round')");
    assert_eq!(estate.psql("pg2", &next), "6");
    assert_eq!(estate.psql("pg1", &rows(shard)), last);
    let says = format!("the old copy of shard {shard} on pg1 may have rows that node pg2 has lost");
    for command in [&["verify"][..], &["moves"], &["retire", &id, "--yes"]] {
        let run = estate.run(command);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(&says), "{command:?}: {said}");
        assert!(said.contains("--accept-loss"), "{command:?}: {said}");
    }
    assert_eq!(estate.psql("pg1", &rows(shard)), last);
    estate.run(&["retire", &id, "--accept-loss", "--yes"]).ok();
    estate.run(&["verify"]).ok();
}

/// It named itself, for ever.
#[test]
fn a_move_whose_target_was_promoted_while_it_was_copied_is_to_be_given_up() {
    let mut estate = Estate::start(2, 4);
    let (shard, write, id, standby) = cut_move(&estate, "following/before-AwaitClose", &[]);
    fail_over(&mut estate, "pg2", standby);
    let refused = estate.run(&["resume", &id, "--stall-seconds-max", "10"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let says = format!("replication slot shardid_back_{id} is gone");
    assert!(refused.stderr.contains(&says), "{}", refused.stderr);
    let instead = format!("give the move up with `shardid abort {id}`\n");
    assert!(refused.stderr.contains(&instead), "{}", refused.stderr);
    estate.run(&["abort", &id, "--yes"]).ok();
    estate.psql("pg1", &write);
    estate.assert_no_trace(shard);
}

/// Without its source, too.
#[test]
fn a_target_that_lacks_rows_is_opened_without_its_source_only_where_that_is_accepted() {
    let mut estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    let number = shard.to_string();
    let next = format!("SELECT nextval('shard_{shard:04}.plain')");
    estate.psql("pg2", &format!("CREATE SEQUENCE shard_{shard:04}.plain; {next}; {next}"));
    let command = ["move", &number, "--to", "pg3", "--yes"];
    let mut held =
        estate.run_held_then_cut("following/before-next", "switched/before-GuardSource", &command);
    let standby = standby_behind(&estate, "pg3");
    estate.psql("pg2", &write);
    held.go_on();
    assert_eq!(held.end().code, -1);
    let id = estate.last_move(shard);
    fail_over(&mut estate, "pg3", standby);
    estate.node("pg2").kill9();
    let gone = ["resume", &id, "--gone", "pg2"];
    let refused = estate.run(&gone);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("may have lost rows of shard"), "{}", refused.stderr);
    let instead = format!("`shardid resume {id} --gone pg2 --accept-loss`");
    assert!(refused.stderr.contains(&instead), "{}", refused.stderr);
    assert!(estate.node("pg3").try_psql(DATABASE, &write).is_err());
    let opened = estate.run(&["resume", &id, "--gone", "pg2", "--accept-loss"]);
    let says = format!(
        "they give nothing: shard_{shard:04}.line_serial_seq, shard_{shard:04}.plain; give"
    );
    assert!(opened.code == 0 && opened.stderr.contains(&says), "{}", opened.stderr);
    // It would have begun where it was made to.
    assert!(estate.node("pg3").try_psql(DATABASE, &next).is_err());
    estate.psql("pg3", &write);
}

/// `resume` was the only word, and dropped the only whole copy in the same breath.
#[test]
fn a_move_back_to_a_promoted_copy_that_lacks_rows_stays_where_it_is_whole() {
    for place in ["switched/before-CheckTarget", "switched/after-GuardSource"] {
        let mut estate = Estate::start(3, 4);
        let (shard, write) = shard_on(&estate, "pg2");
        estate.run(&["move", &shard.to_string(), "--to", "pg3", "--yes"]).ok();
        let moved = estate.last_move(shard);
        let standby = standby_behind(&estate, "pg2");
        estate.psql("pg3", &write);
        let last = estate.psql("pg3", &rows(shard));
        wait_until(Duration::from_secs(60), "the old copy to have the row", || {
            estate.psql("pg2", &rows(shard)) == last
        });
        estate.run_cut(place, &["rollback", &moved, "--yes"]);
        let id = estate.last_move(shard);
        fail_over(&mut estate, "pg2", standby);
        for resume in [&["resume", &id][..], &["resume", &id, "--accept-loss"]] {
            let refused = estate.run(resume);
            assert_eq!(refused.code, 3, "{place}: {}", refused.stderr);
            let says = format!("node pg2 may have lost rows of shard {shard}");
            assert!(refused.stderr.contains(&says), "{place}: {}", refused.stderr);
            let back = format!("`shardid abort {id}` goes back to pg3, which has them all");
            assert!(refused.stderr.contains(&back), "{place}: {}", refused.stderr);
        }
        assert_eq!(estate.psql("pg3", &rows(shard)), last, "{place}");
        estate.run(&["abort", &id, "--yes"]).ok();
        assert_eq!((estate.state(&id).as_str(), estate.home(shard).as_str()), ("aborted", "pg3"));
        estate.psql("pg3", &write);
        assert!(estate.node("pg2").try_psql(DATABASE, &write).is_err(), "{place}");
        // The old copy is dropped only by who has been told.
        let refused = estate.run(&["rollback", &moved, "--yes", "--stall-seconds-max", "10"]);
        assert_ne!(refused.code, 0, "{place}: {}", refused.stderr);
        if estate.state(&estate.last_move(shard)) != "aborted" {
            estate.run(&["abort", &estate.last_move(shard), "--yes"]).ok();
        }
        estate.run(&["retire", &moved, "--yes", "--accept-loss"]).ok();
        estate.psql("pg3", &write);
        estate.assert_no_streams();
        estate.run(&["verify"]).ok();
    }
}

/// Nothing ended it but a server that had the rows.
#[test]
fn a_switched_move_goes_back_without_a_target_that_never_comes_back() {
    for (place, was_opened) in [
        ("switched/before-CheckTarget", false),
        ("switched/before-OpenTarget", false),
        ("switched/after-OpenTarget", true),
    ] {
        let estate = Estate::start(2, 4);
        let (shard, write) = shard_on_pg1(&estate);
        estate.psql("pg1", &write);
        let before = estate.psql("pg1", &rows(shard));
        estate.run_cut(place, &["move", &shard.to_string(), "--to", "pg2", "--yes"]);
        let id = estate.last_move(shard);
        estate.node("pg2").kill9();
        let never = format!("where pg2 never comes back: `shardid abort {id} --gone pg2`");
        for word in [&["resume", &id][..], &["abort", &id, "--yes"]] {
            let refused = estate.run(word);
            assert!(refused.stderr.contains(&never), "{place}, {word:?}: {}", refused.stderr);
        }
        let refused = estate.run(&["resume", &id, "--gone", "pg2"]);
        let instead = format!("`shardid abort {id} --gone pg2` goes back to pg1");
        assert!(refused.stderr.contains(&instead), "{place}: {}", refused.stderr);
        let gone = ["abort", &id, "--gone", "pg2", "--yes"];
        if was_opened {
            let refused = estate.run(&gone);
            assert_eq!(refused.code, 3, "{place}: {}", refused.stderr);
            assert!(
                refused.stderr.contains("may have been opened on pg2 already"),
                "{}",
                refused.stderr
            );
            estate.run(&["abort", &id, "--gone", "pg2", "--accept-loss", "--yes"]).ok();
        } else {
            estate.run_cut("without/aborting", &gone);
            estate.run(&["resume", &id, "--gone", "pg2"]).ok();
        }
        assert_eq!(estate.state(&id), "aborted", "{place}");
        assert_eq!(estate.psql("pg1", &rows(shard)), before, "{place}");
        estate.psql("pg1", &write);
        // Should it come back, its copy takes no writes, unless it had been opened.
        estate.servers[1].start();
        assert_eq!(estate.node("pg2").try_psql(DATABASE, &write).is_err(), !was_opened, "{place}");
    }
}

/// The standby had no fence: it was left without a guard, and both nodes took writes for good.
#[test]
fn a_source_that_was_promoted_without_its_fence_is_closed_before_the_target_is_opened() {
    let mut estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    estate.psql("pg2", &write);
    // What the standby has not got of these was given as well, and is not given again.
    let numbers = |count: u32| {
        let of = |name: &str| format!("max(abs(nextval('shard_{shard:04}.{name}')))");
        format!(
            "SELECT {}, {}, {} FROM generate_series(1, {count})",
            of("bill"),
            of("down"),
            of("round")
        )
    };
    estate.psql(
        "pg2",
        &format!(
            "CREATE SEQUENCE shard_{shard:04}.bill; CREATE SEQUENCE shard_{shard:04}.down INCREMENT -1;
             CREATE SEQUENCE shard_{shard:04}.round MAXVALUE 900 CYCLE"
        ),
    );
    assert_eq!(estate.psql("pg2", &numbers(5)), "5|5|5");
    let number = shard.to_string();
    let mut held = estate.run_held_then_cut(
        "following/before-LowerFence",
        "switched/before-GuardSource",
        &["move", &number, "--to", "pg3", "--yes"],
    );
    let standby = standby_behind(&estate, "pg2");
    estate.psql("pg2", &write);
    assert_eq!(estate.psql("pg2", &numbers(70)), "75|75|75");
    let all = estate.psql("pg2", &rows(shard));
    held.go_on();
    assert_eq!(held.end().code, -1);
    let id = estate.last_move(shard);
    fail_over(&mut estate, "pg2", standby);
    estate.psql("pg2", &write);
    assert_ne!(estate.psql("pg2", &numbers(1)), "76|76|76", "the test shows nothing");
    // Names tell nothing there.
    let rename =
        |from: &str, to: &str| format!("ALTER SEQUENCE shard_{shard:04}.{from} RENAME TO {to}");
    estate.psql("pg2", &rename("bill", "old_bill"));
    estate.psql("pg2", &format!("CREATE SEQUENCE shard_{shard:04}.bill"));
    let refused = estate.run(&["resume", &id]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let words = format!("shard {shard} is open on pg2, behind whose fence it was switched");
    assert!(refused.stderr.contains(&words), "{}", refused.stderr);
    let instead = format!("`shardid resume {id} --accept-loss` closes pg2");
    let (found, moves) = (estate.run(&["verify"]).stdout, estate.run(&["moves"]).stderr);
    for said in [&found, &moves] {
        assert!(said.contains(&words) && said.contains(&instead), "{said}");
    }
    let refused = estate.run(&["abort", &id, "--yes"]);
    assert!(refused.stderr.contains("is switched and cannot be aborted"), "{}", refused.stderr);
    assert!(estate.node("pg3").try_psql(DATABASE, &write).is_err());
    let acknowledged = estate.psql("pg2", &format!("SELECT max(id) FROM shard_{shard:04}.item"));
    estate.run_cut("reopened/noted", &["resume", &id, "--accept-loss"]);
    estate.run(&["resume", &id, "--accept-loss"]).ok();
    assert_eq!(estate.psql("pg3", &rows(shard)), all);
    assert_eq!(estate.psql("pg3", &numbers(1)), "76|76|76");
    estate.psql("pg3", &write);
    let closed = estate.node("pg2").try_psql(DATABASE, &write).expect_err("it is an old copy");
    assert!(closed.to_string().contains("pg3"), "{closed}");

    // What was written there is there alone, and everybody says so.
    let says = format!(
        "the old copy of shard {shard} on pg2 may have rows that never came to node pg3: it was promoted or restored without the fence, and was open"
    );
    let instead = format!("`shardid retire {id} --accept-loss`");
    let (found, moves) = (estate.run(&["verify"]).stdout, estate.run(&["moves"]).stderr);
    assert!(found.contains(&says) && found.contains(&instead), "{found}");
    assert!(moves.contains(&says) && moves.contains(&instead), "{moves}");
    assert!(!moves.contains("goes back") && !moves.contains("drops it"), "{moves}");
    for command in [&["retire", &id][..], &["retire", "--all"], &["rollback", &id]] {
        let refused = estate.run(&[command, &["--yes"]].concat()).refused();
        assert!(refused.contains(&says) && refused.contains(&instead), "{refused}");
    }
    assert_eq!(estate.last_move(shard), id);
    let it = format!("SELECT count(*) FROM shard_{shard:04}.item WHERE id = {acknowledged}");
    assert_eq!((estate.psql("pg2", &it), estate.psql("pg3", &it)), ("1".into(), "0".into()));
    estate.run(&["retire", &id, "--yes", "--accept-loss"]).ok();
    estate.run(&["verify"]).ok();
}

/// The word for what was written on the target dropped the copy that had rows which the source had lost as well.
#[test]
fn a_move_that_goes_back_keeps_a_copy_that_has_what_its_source_has_lost() {
    let mut estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    estate.psql("pg2", &write);
    let mut held = estate.run_held_then_cut(
        "following/before-LowerFence",
        "switched/before-OpenTarget",
        &["move", &shard.to_string(), "--to", "pg3", "--yes"],
    );
    let of_source = standby_behind(&estate, "pg2");
    estate.psql("pg2", &write);
    let last = estate.psql("pg2", &rows(shard));
    wait_until(Duration::from_secs(60), "the new copy to have the row", || {
        estate.psql("pg3", &rows(shard)) == last
    });
    let of_target = standby_behind(&estate, "pg3");
    estate.psql("pg2", &write);
    held.go_on();
    assert_eq!(held.end().code, -1);
    let id = estate.last_move(shard);
    fail_over(&mut estate, "pg2", of_source);
    fail_over(&mut estate, "pg3", of_target);
    let back = ["abort", &id, "--yes", "--accept-loss"];
    let kept = estate.run(&back);
    assert_eq!(kept.code, 3, "{}", kept.stderr);
    let says = format!("the copy of shard {shard} on pg3 may have rows that node pg2 has lost");
    assert!(kept.stderr.contains(&says), "{}", kept.stderr);
    assert_eq!((estate.state(&id).as_str(), estate.home(shard).as_str()), ("aborting", "pg2"));
    assert_eq!(estate.psql("pg3", &rows(shard)), last);
    estate.psql("pg2", &write);
    estate.run(&back).ok();
    assert_eq!(estate.state(&id), "aborted");
    estate.assert_no_trace(shard);
}

/// It went back without a word, and what the standby had not got was gone with the target.
#[test]
fn a_source_without_its_fence_is_gone_back_to_only_where_that_is_accepted() {
    let mut estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    estate.psql("pg2", &write);
    let mut held = estate.run_held_then_cut(
        "following/before-LowerFence",
        "switched/before-GuardSource",
        &["move", &shard.to_string(), "--to", "pg3", "--yes"],
    );
    let standby = standby_behind(&estate, "pg2");
    estate.psql("pg2", &write);
    held.go_on();
    assert_eq!(held.end().code, -1);
    let id = estate.last_move(shard);
    fail_over(&mut estate, "pg2", standby);
    estate.node("pg3").kill9();
    let gone = ["abort", &id, "--gone", "pg3", "--yes"];
    let refused = estate.run(&gone);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let words = format!("shard {shard} is open on pg2, behind whose fence it was switched");
    assert!(refused.stderr.contains(&words), "{}", refused.stderr);
    let instead = format!("`shardid abort {id} --gone pg3 --accept-loss` goes back without them");
    assert!(refused.stderr.contains(&instead), "{}", refused.stderr);
    assert_eq!(estate.state(&id), "switched");
    estate.run(&[&gone[..], &["--accept-loss"]].concat()).ok();
    assert_eq!((estate.state(&id).as_str(), estate.home(shard).as_str()), ("aborted", "pg2"));
    estate.psql("pg2", &write);
}

/// A promoted source goes ahead of the clock, and gives ids there. The target, where it was open already, went on at the
/// clock, and gave them again.
#[test]
fn a_target_that_is_open_goes_on_above_what_its_promoted_source_has_given() {
    let mut estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    estate.psql(
        "pg2",
        &format!("SELECT create_id_sequence('shard_{shard:04}.own', {shard}); {write}"),
    );
    let mut held = estate.run_held_then_cut(
        "following/before-LowerFence",
        "switched/after-OpenTarget",
        &["move", &shard.to_string(), "--to", "pg3", "--yes"],
    );
    let standby = standby_behind(&estate, "pg2");
    estate.psql("pg2", &write);
    held.go_on();
    assert_eq!(held.end().code, -1);
    let id = estate.last_move(shard);
    fail_over(&mut estate, "pg2", standby);
    let generators = [format!("next_id({shard})"), format!("next_id_from('shard_{shard:04}.own')")];
    let given: Vec<String> = generators
        .iter()
        .map(|next| {
            estate.psql("pg2", &format!("SELECT max({next}) FROM generate_series(1, 5000)"))
        })
        .collect();
    // What is no generator is not put back to where it stands on the old node.
    let serial = format!("shard_{shard:04}.line_serial_seq");
    estate.psql("pg3", &format!("SELECT setval('{serial}', 77)"));
    estate.psql("pg3", &write);
    // What closed pg2 by hand was named first, and no command went on with the move after it.
    let found = estate.run(&["verify"]).stdout;
    let instead = format!("`shardid resume {id} --accept-loss` closes pg2");
    assert!(found.contains(&instead) && !found.contains("state = 'moved'"), "{found}");
    estate.run(&["resume", &id, "--accept-loss"]).ok();
    for (next, given) in generators.iter().zip(&given) {
        let above = format!("SELECT {next} > {given}");
        assert_eq!(estate.psql("pg3", &above), "t", "{next}");
    }
    assert_eq!(estate.psql("pg3", &format!("SELECT last_value FROM {serial}")), "77");
    estate.psql("pg3", &write);
    estate.run(&["retire", &id, "--yes", "--accept-loss"]).ok();
    estate.run(&["verify"]).ok();
}

/// `resume --accept-loss` dropped its copy in the same breath, with rows that were acknowledged there.
#[test]
fn a_move_back_drops_no_copy_that_was_promoted_without_its_fence_before_its_rows_can_be_brought_over()
 {
    for place in ["switched/before-GuardSource", "switched/after-OpenTarget"] {
        let mut estate = Estate::start(3, 4);
        let (shard, write) = shard_on(&estate, "pg2");
        estate.run(&["move", &shard.to_string(), "--to", "pg3", "--yes"]).ok();
        let moved = estate.last_move(shard);
        estate.psql("pg3", &write);
        let command = ["rollback", &moved, "--yes"];
        let mut held = estate.run_held_then_cut("following/before-LowerFence", place, &command);
        let standby = standby_behind(&estate, "pg3");
        estate.psql("pg3", &write);
        held.go_on();
        assert_eq!(held.end().code, -1);
        let id = estate.last_move(shard);
        let before = estate.psql("pg2", &rows(shard));
        fail_over(&mut estate, "pg3", standby);
        estate.psql("pg3", &write);
        let acknowledged = estate.psql("pg3", &rows(shard));
        let words = format!("shard {shard} is open on pg3, behind whose fence it was switched");
        let moves = estate.run(&["moves"]).stderr;
        assert!(moves.contains(&words), "{place}: {moves}");
        let found = estate.run(&["verify"]).stdout;
        assert!(found.contains(&words), "{place}: {found}");

        if place == "switched/before-GuardSource" {
            let abort = format!("`shardid abort {id}`");
            for resume in [&["resume", &id][..], &["resume", &id, "--accept-loss"]] {
                let refused = estate.run(resume);
                assert_eq!(refused.code, 3, "{}", refused.stderr);
                assert!(refused.stderr.contains(&words), "{}", refused.stderr);
                assert!(refused.stderr.contains(&abort), "{}", refused.stderr);
            }
            assert!(moves.contains(&abort) && !moves.contains("resume"), "{moves}");
            let shown = estate.run(&["abort", &id, "--dry-run"]).ok();
            assert!(shown.contains(&format!("shard {shard} goes back to pg3: {words}")), "{shown}");
            estate.run_cut("aborting/after-OpenSource", &["abort", &id, "--yes"]);
            estate.run(&["resume", &id]).ok();
            assert_eq!((estate.state(&id), estate.home(shard)), ("aborted".into(), "pg3".into()));
            // Each has its own rows, and the old copy is held back.
            assert_eq!(estate.psql("pg3", &rows(shard)), acknowledged);
            assert_eq!(estate.psql("pg2", &rows(shard)), before);
            let refused = estate.run(&["retire", &moved, "--yes"]);
            assert!(refused.stderr.contains("--accept-loss"), "{}", refused.stderr);
            assert!(estate.node("pg2").try_psql(DATABASE, &write).is_err());
            estate.psql("pg3", &write);
            estate.run(&["retire", &moved, "--yes", "--accept-loss"]).ok();
        } else {
            for command in [&["resume", &id][..], &["abort", &id, "--yes", "--accept-loss"]] {
                let refused = estate.run(command);
                assert_eq!(refused.code, 3, "{}", refused.stderr);
                assert!(refused.stderr.contains(&words), "{}", refused.stderr);
                let says = format!("`shardid resume {id} --accept-loss` drops the copy on pg3");
                assert!(refused.stderr.contains(&says), "{}", refused.stderr);
                assert!(moves.contains(&says), "{moves}");
            }
            assert_eq!(estate.psql("pg3", &rows(shard)), acknowledged);
            // As it says, they are brought over first.
            estate.psql("pg2", &write);
            estate.run(&["resume", &id, "--accept-loss"]).ok();
            estate.psql("pg2", &write);
        }
        estate.run(&["verify"]).ok();
    }
}
