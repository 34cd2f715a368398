//! The catalog is lost while a move stands switched, and the node that it was about to open is promoted without
//! rows that had come to it: the node that has closed the shard has them all, and knows what the other one was.

use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate};
use shardid_tests::{Server, wait_until};

use crate::catalog::{is_as_the_file_says, lose};
use crate::gone::shard_on;
use crate::switched::{fail_over, standby_behind};

/// Moves a shard from pg2 to pg3, or back, until pg2 has closed it; a standby of the other node lacks what came
/// last, or has it.
fn close(estate: &Estate, more: &[&str], is_behind: bool) -> (u32, String, Server) {
    let (shard, write) = shard_on(estate, "pg2");
    estate.psql(
        "pg2",
        &format!(
            "CREATE SEQUENCE shard_{shard:04}.round MINVALUE 5 MAXVALUE 50 CYCLE; SELECT nextval('shard_{shard:04}.round');
             SELECT create_id_sequence('shard_{shard:04}.of_table', {shard})"
        ),
    );
    estate.psql("pg2", &write);
    let number = shard.to_string();
    let mut command = vec!["move", &number, "--to", "pg3", "--yes"];
    command.extend(more);
    let places = ("following/before-LowerFence", "switched/before-OpenTarget");
    let mut held = estate.run_held_then_cut(places.0, places.1, &command);
    let standby = standby_behind(estate, "pg3");
    estate.psql("pg2", &write);
    held.go_on();
    assert_eq!(held.end().code, -1);
    if !is_behind {
        standby.start();
        estate.node("pg3").wait_for(&standby);
        standby.stop();
    }
    (shard, write, standby)
}

fn rows(shard: u32) -> String {
    format!("SELECT count(*), max(id) FROM shard_{shard:04}.item")
}

/// It was opened without them, and nothing said so.
#[test]
fn a_promoted_node_that_lacks_rows_is_not_opened_where_the_catalog_is_lost_as_well() {
    for more in [&["--no-rollback"][..], &[]] {
        let mut estate = Estate::start(3, 4);
        let (shard, write, standby) = close(&estate, more, true);
        let last = estate.psql("pg2", &rows(shard));
        fail_over(&mut estate, "pg3", standby);
        assert_ne!(estate.psql("pg3", &rows(shard)), last, "the test shows nothing");
        lose(&estate);
        let says = format!(
            "node pg3 may have lost rows of shard {shard} that had come to it: it was promoted or restored, and is on timeline 2, which does not have all of timeline 1"
        );
        for how in ["--dry-run", "--yes"] {
            let refused = estate.run(&["catalog", "rebuild", how]).refused();
            assert!(refused.contains(&says), "{refused}");
            assert!(refused.contains("bring a server back as pg3 that has them"), "{refused}");
            let instead =
                format!("`shardid catalog rebuild --accept-loss` opens shard {shard} on pg2 again");
            assert!(refused.contains(&instead), "{refused}");
        }
        assert_eq!(estate.psql("pg2", &rows(shard)), last);
        assert!(estate.node("pg3").try_psql(DATABASE, &write).is_err());
        let shown = estate.run(&["catalog", "rebuild", "--dry-run", "--accept-loss"]).ok();
        assert!(shown.contains(&format!("~ pg2: open 1 shard: {shard} (")), "{shown}");
        let rebuild = ["catalog", "rebuild", "--yes", "--accept-loss"];
        // Where it is cut, `apply` goes on.
        if more.is_empty() {
            estate.run_cut("open/claimed", &rebuild);
            estate.run(&["apply", "--yes"]).ok();
        } else {
            estate.run(&rebuild).ok();
        }
        is_as_the_file_says(&estate);
        assert_eq!(estate.home(shard), "pg2");
        assert_eq!(estate.psql("pg2", &rows(shard)), last);
        estate.psql("pg2", &write);
        assert!(estate.node("pg3").try_psql(DATABASE, &write).is_err());
        let id_sequence = format!("SELECT next_id_from('shard_{shard:04}.of_table')");
        let next: i64 = estate.psql("pg2", &id_sequence).parse().unwrap();
        let highest = last.rsplit_once('|').expect("two").1;
        assert!(next > highest.parse().unwrap(), "{next} is not above {highest}");
        let round = format!(
            "SELECT seqmin, seqmax, seqcycle, nextval(seqrelid) > 5 FROM pg_sequence WHERE seqrelid = 'shard_{shard:04}.round'::regclass"
        );
        assert_eq!(estate.psql("pg2", &round), "5|50|t|t");
    }
}

#[test]
fn a_node_that_has_all_rows_is_opened_where_the_catalog_is_lost_also_when_it_was_promoted() {
    let mut estate = Estate::start(3, 4);
    let (shard, write, standby) = close(&estate, &[], false);
    let last = estate.psql("pg2", &rows(shard));
    fail_over(&mut estate, "pg3", standby);
    lose(&estate);
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    is_as_the_file_says(&estate);
    assert_eq!((estate.home(shard).as_str(), estate.psql("pg3", &rows(shard))), ("pg3", last));
    estate.psql("pg3", &write);
    assert!(estate.node("pg2").try_psql(DATABASE, &write).is_err());
}

/// The server that has them comes back: nothing is lost either way.
#[test]
fn a_node_that_is_back_with_all_rows_is_opened_where_the_catalog_is_lost() {
    let mut estate = Estate::start(3, 4);
    let (shard, write, standby) = close(&estate, &["--no-rollback"], true);
    let last = estate.psql("pg2", &rows(shard));
    estate.node("pg3").kill9();
    standby.start();
    standby.promote();
    let original = std::mem::replace(&mut estate.servers[2], standby);
    estate.declare(4, |_, url| url);
    lose(&estate);
    estate.run(&["catalog", "rebuild", "--yes"]).refused();
    let standby = std::mem::replace(&mut estate.servers[2], original);
    standby.stop();
    estate.servers[2].start();
    estate.declare(4, |_, url| url);
    estate.run(&["catalog", "rebuild", "--yes"]).ok();
    assert_eq!((estate.home(shard).as_str(), estate.psql("pg3", &rows(shard))), ("pg3", last));
    estate.psql("pg3", &write);
}

/// One by an earlier program has noted nothing.
#[test]
fn a_node_of_which_nothing_shows_that_it_has_all_rows_is_not_opened() {
    let estate = Estate::start(3, 4);
    let (shard, write, _standby) = close(&estate, &[], true);
    let name = estate.psql("pg2", "SELECT pubname FROM pg_publication");
    estate.psql("pg2", &format!("COMMENT ON PUBLICATION {name} IS 'mine'"));
    lose(&estate);
    let refused = estate.run(&["catalog", "rebuild", "--yes"]).refused();
    let says = format!(
        "nothing shows that node pg3 has all rows of shard {shard}, which a move has closed on pg2"
    );
    assert!(refused.contains(&says), "{refused}");
    estate.run(&["catalog", "rebuild", "--yes", "--accept-loss"]).ok();
    is_as_the_file_says(&estate);
    estate.psql("pg2", &write);
    assert!(estate.node("pg3").try_psql(DATABASE, &write).is_err());
}

/// As above, of the node that a shard goes back to.
#[test]
fn a_shard_that_goes_back_stays_where_it_is_whole_when_the_catalog_is_lost_as_well() {
    let mut estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    estate.run(&["move", &shard.to_string(), "--to", "pg3", "--yes"]).ok();
    let moved = estate.last_move(shard);
    let standby = standby_behind(&estate, "pg2");
    estate.psql("pg3", &write);
    let last = estate.psql("pg3", &rows(shard));
    estate.run_cut("switched/before-OpenTarget", &["rollback", &moved, "--yes"]);
    fail_over(&mut estate, "pg2", standby);
    lose(&estate);
    let refused = estate.run(&["catalog", "rebuild", "--yes"]).refused();
    let says = format!("node pg2 may have lost rows of shard {shard} that had come to it");
    assert!(refused.contains(&says), "{refused}");
    estate.run(&["catalog", "rebuild", "--yes", "--accept-loss"]).ok();
    is_as_the_file_says(&estate);
    assert_eq!((estate.home(shard).as_str(), estate.psql("pg3", &rows(shard))), ("pg3", last));
    estate.psql("pg3", &write);
    assert!(estate.node("pg2").try_psql(DATABASE, &write).is_err());
}

/// Follows what `verify` says can be said in SQL, from the first line on.
fn follow(estate: &Estate, verify: &str) {
    for line in verify.lines() {
        let Some((_, statements)) = line.rsplit_once(": `") else { continue };
        if statements.starts_with("shardid") {
            continue;
        }
        for statement in statements.trim_end_matches('`').split("; ") {
            estate.psql(&line[..3], statement);
        }
    }
}

/// The note by which the shard goes back was named to be dropped, and then it was open nowhere, for good.
#[test]
fn what_a_shard_can_go_back_by_is_not_named_to_be_dropped_before_it_is_open() {
    let mut estate = Estate::start(3, 4);
    let (shard, write, standby) = close(&estate, &[], true);
    let last = estate.psql("pg2", &rows(shard));
    lose(&estate);
    estate.run_cut("apply/before-Open-pg3", &["catalog", "rebuild", "--yes"]);
    fail_over(&mut estate, "pg3", standby);
    let says = format!(
        "node pg3 may have lost rows of shard {shard} that had come to it: it was promoted or restored, and is on timeline 2"
    );
    let instead =
        format!("`shardid catalog rebuild --accept-loss` opens shard {shard} on pg2 again");
    let found = estate.run(&["verify"]).stdout;
    assert!(found.contains(&says) && found.contains(&instead), "{found}");
    assert!(!found.contains("was about to open it") && found.contains("left over"), "{found}");
    follow(&estate, &found);
    let found = estate.run(&["verify"]).stdout;
    assert!(found.contains(&says) && !found.contains("left over"), "{found}");
    let refused = estate.run(&["apply", "--yes"]);
    assert!(refused.stderr.contains(&says), "{}", refused.stderr);

    // Cut again, it says what there is to be done, and keeps the note as well.
    let rebuild = ["catalog", "rebuild", "--yes", "--accept-loss"];
    estate.run_cut("apply/before-Open-pg2", &rebuild);
    let found = estate.run(&["verify"]).stdout;
    let says = format!(
        "pg2: shard {shard} should be open here, and a lost move has closed it: `shardid apply`\n"
    );
    assert!(found.contains(&says), "{found}");
    assert!(!found.contains("an old copy is on") && !found.contains("PUBLICATION"), "{found}");
    estate.run(&["apply", "--yes"]).ok();
    is_as_the_file_says(&estate);
    assert_eq!((estate.home(shard).as_str(), estate.psql("pg2", &rows(shard))), ("pg2", last));
    estate.psql("pg2", &write);
    assert!(estate.node("pg3").try_psql(DATABASE, &write).is_err());
    let found = estate.run(&["verify"]).stdout;
    assert!(found.contains("PUBLICATION"), "{found}");
    follow(&estate, &found);
    estate.run(&["verify"]).ok();
}

/// Its node was taken for whole, and the copy that had more was called one that no move knows.
#[test]
fn a_copy_that_has_what_a_promoted_source_has_lost_is_named_where_the_catalog_is_lost_as_well() {
    for is_behind in [true, false] {
        let mut estate = Estate::start(3, 4);
        let (shard, write) = shard_on(&estate, "pg2");
        estate.psql("pg2", &write);
        let command = ["move", &shard.to_string(), "--to", "pg3", "--yes"];
        let places = ("following/before-LowerFence", "switched/before-GuardSource");
        let mut held = estate.run_held_then_cut(places.0, places.1, &command);
        let standby = standby_behind(&estate, "pg2");
        if is_behind {
            estate.psql("pg2", &write);
        }
        let all = estate.psql("pg2", &rows(shard));
        held.go_on();
        assert_eq!(held.end().code, -1);
        if !is_behind {
            standby.start();
            estate.node("pg2").wait_for(&standby);
            standby.stop();
        }
        fail_over(&mut estate, "pg2", standby);
        assert_eq!(estate.psql("pg2", &rows(shard)) != all, is_behind);
        lose(&estate);
        let says = format!(
            "the copy of shard {shard} on pg3 may have rows that node pg2 has lost: it was promoted or restored, and is on timeline 2"
        );
        let shown = estate.run(&["catalog", "rebuild", "--dry-run"]).ok();
        let said = estate.run(&["catalog", "rebuild", "--yes"]).stderr;
        assert_eq!((shown.contains(&says), said.contains(&says)), (is_behind, is_behind), "{said}");
        assert_eq!(estate.home(shard), "pg2");
        let found = estate.run(&["verify"]).stdout;
        assert_eq!(found.contains(&says), is_behind, "{found}");
        assert_eq!(!found.contains("put it out of the way"), is_behind, "{found}");
        assert_eq!(estate.psql("pg3", &rows(shard)), all);
        if is_behind {
            // Once both are compared, what filled it goes, and then the copy out of the way.
            let line = found.lines().find(|line| line.starts_with(&says)).unwrap();
            let (_, statements) = line.rsplit_once("; then on pg3 `").expect("a command");
            for statement in statements.trim_end_matches('`').split("; ") {
                estate.psql("pg3", statement);
            }
        }
        follow(&estate, &estate.run(&["verify"]).stdout);
        follow(&estate, &estate.run(&["verify"]).stdout);
        estate.run(&["verify"]).ok();
        let kept = format!("SELECT count(*), max(id) FROM shard_{shard:04}_left.item");
        assert_eq!(estate.psql("pg3", &kept), all);
    }
}

/// The same of an old copy, which had followed further.
#[test]
fn an_old_copy_that_has_what_a_promoted_node_has_lost_is_named_where_the_catalog_is_lost_as_well() {
    let mut estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    estate.run(&["move", &shard.to_string(), "--to", "pg3", "--yes"]).ok();
    let standby = standby_behind(&estate, "pg3");
    estate.psql("pg3", &write);
    let last = estate.psql("pg3", &rows(shard));
    wait_until(Duration::from_secs(60), "the old copy to have the row", || {
        estate.psql("pg2", &rows(shard)) == last
    });
    fail_over(&mut estate, "pg3", standby);
    lose(&estate);
    let says = format!(
        "the copy of shard {shard} on pg2 may have rows that node pg3 has lost: it was promoted or restored"
    );
    let said = estate.run(&["catalog", "rebuild", "--yes"]).stderr;
    assert!(said.contains(&says), "{said}");
    let found = estate.run(&["verify"]).stdout;
    assert!(found.contains(&says) && !found.contains("out of the way"), "{found}");
    // Nor does another node come to have lost them, by having the shard.
    estate.run(&["move", &shard.to_string(), "--to", "pg1", "--yes"]).ok();
    let found = estate.run(&["verify"]).stdout;
    assert!(found.contains(&says) && !found.contains("node pg1 has lost"), "{found}");
}

/// The map that is made from the nodes names the one that a lost move was about to open; the rebuild is cut, and the one
/// that had closed the shard is promoted without its fence. Each command led to another one, and none mended it.
#[test]
fn a_shard_that_only_a_promoted_source_gives_is_named_and_stays_there_if_that_is_accepted() {
    let mut estate = Estate::start(3, 4);
    let (shard, write) = shard_on(&estate, "pg2");
    estate.psql("pg2", &write);
    let mut held = estate.run_held_then_cut(
        "following/before-LowerFence",
        "switched/before-OpenTarget",
        &["move", &shard.to_string(), "--to", "pg3", "--yes"],
    );
    let standby = standby_behind(&estate, "pg2");
    estate.psql("pg2", &write);
    held.go_on();
    assert_eq!(held.end().code, -1);
    lose(&estate);
    estate.run_cut("apply/before-Open-pg3", &["catalog", "rebuild", "--yes"]);
    fail_over(&mut estate, "pg2", standby);
    estate.psql("pg2", &write);
    let says = format!("shard {shard} is open on pg2 alone, and the map has it on pg3");
    let found = estate.run(&["verify"]).stdout;
    assert!(found.contains(&says), "{found}");
    assert!(
        found.contains("`shardid catalog rebuild --accept-loss` has the map name pg2"),
        "{found}"
    );
    estate.run(&["apply", "--yes"]).refused();
    estate.run(&["catalog", "rebuild", "--yes"]).refused();
    estate.run(&["catalog", "rebuild", "--yes", "--accept-loss"]).ok();
    assert_eq!(estate.home(shard), "pg2");
    estate.psql("pg2", &write);
    let found = estate.run(&["verify"]).stdout;
    assert!(!found.contains(&says), "{found}");
    let copy = format!("SELECT count(*) > 0 FROM shard_{shard:04}.item");
    assert_eq!(estate.psql("pg3", &copy), "t", "its rows are kept");
    estate.run(&["plan"]).ok();
}
