//! The node that a shard moved to is promoted or restored, and the old copy has followed further.

use std::time::Duration;

use shardid_tests::estate::{DATABASE, Estate};
use shardid_tests::{Server, wait_until};

use crate::catalog::shard_on_pg1;

/// Moves a shard to pg2, and has a standby of pg2 take over that lacks what is written last, if
/// something is.
fn fail_over(estate: &Estate, is_behind: bool) -> (u32, Server) {
    fail_over_in(estate, is_behind, |_| ())
}

/// The same in the midst of something.
fn fail_over_in(estate: &Estate, is_behind: bool, begin: impl Fn(u32)) -> (u32, Server) {
    let (shard, write) = shard_on_pg1(estate);
    estate.run(&["move", &shard.to_string(), "--to", "pg2", "--yes"]).ok();
    let primary = estate.node("pg2");
    let standby = Server::builder().fsync(false).name("standby").start_standby_of(primary);
    estate.psql("pg2", &write);
    primary.wait_for(&standby);
    if is_behind {
        standby.stop();
        estate.psql("pg2", &write);
    }
    let rows = format!("SELECT count(*), max(id) FROM shard_{shard:04}.item");
    let last = estate.psql("pg2", &rows);
    wait_until(Duration::from_secs(60), "the old copy to have the rows", || {
        estate.psql("pg1", &rows) == last
    });
    if !is_behind {
        primary.wait_for(&standby);
    }
    begin(shard);
    primary.kill9();
    if is_behind {
        standby.start();
    }
    standby.promote();
    estate.declare(4, |number, url| if number == 2 { standby.url(DATABASE) } else { url });
    (shard, standby)
}

/// It was named to be retired, and the only copy of the rows was dropped.
#[test]
fn an_old_copy_is_kept_that_has_what_a_promoted_server_has_lost() {
    let estate = Estate::start(2, 4);
    let (shard, standby) = fail_over(&estate, true);
    let id = estate.last_move(shard);
    let says = format!(
        "the old copy of shard {shard} on pg1 may have rows that node pg2 has lost: it was promoted or restored, and is on timeline 2"
    );
    let further = format!("{says}, which does not have all of timeline 1");
    let instead = format!("`shardid retire {id} --accept-loss`");
    let found = estate.run(&["verify"]).stdout;
    assert!(found.contains(&further) && found.contains(&instead), "{found}");
    assert!(!found.contains(&format!("`shardid retire {id}`")), "{found}");
    let moves = estate.run(&["moves"]).stderr;
    assert!(moves.contains(&further) && moves.contains(&instead), "{moves}");
    let json = estate.run(&["moves", "--json"]).ok();
    assert!(json.contains("\"old_copy\": \"kept\"") && !json.contains("follows\""), "{json}");
    assert!(json.contains("\"held_back\": true") && json.contains(&further), "{json}");
    assert!(json.contains(&instead), "{json}");
    // And nothing else of it.
    assert!(!moves.contains("goes back") && !moves.contains("drops it"), "{moves}");
    for how in ["--dry-run", "--yes"] {
        let refused = estate.run(&["retire", &id, how]).refused();
        assert!(refused.contains(&further) && refused.contains(&instead), "{refused}");
        let refused = estate.run(&["retire", "--all", how]).refused();
        assert!(refused.contains(&further), "{refused}");
    }
    // A move by an earlier program has not noted what was followed.
    estate.psql("pg1", "CREATE TABLE public.noted AS SELECT move, seal_timeline FROM shardid.move");
    estate.psql("pg1", "UPDATE shardid.move SET seal_timeline = NULL");
    let refused = estate.run(&["retire", &id, "--yes"]).refused();
    assert!(refused.contains(&says), "{refused}");
    estate.psql("pg1", "UPDATE shardid.move m SET seal_timeline = n.seal_timeline FROM public.noted n WHERE n.move = m.move");

    let rows = format!("SELECT count(*) FROM shard_{shard:04}.item");
    let (here, there) = (estate.psql("pg1", &rows), standby.psql(DATABASE, &rows));
    assert!(here > there, "{here} {there}");
    estate.run(&["retire", &id, "--accept-loss", "--yes"]).ok();
    assert_eq!(estate.psql("pg1", "SELECT count(*) FROM pg_subscription"), "0");
    standby.psql(DATABASE, &format!("INSERT INTO shard_{shard:04}.item (n) VALUES (99)"));
    estate.run(&["verify"]).ok();
}

#[test]
fn an_old_copy_that_is_no_further_than_the_promoted_server_is_retired() {
    let estate = Estate::start(2, 4);
    let (shard, _standby) = fail_over(&estate, false);
    let id = estate.last_move(shard);
    let found = estate.run(&["verify"]).stdout;
    assert!(found.contains(&format!("cannot be gone back to: `shardid retire {id}`")), "{found}");
    // It was said to follow, and to be gone back to.
    let moves = estate.run(&["moves"]);
    let instead = format!("follows no more: it cannot be gone back to: `shardid retire {id}`");
    assert!(moves.stderr.contains(&instead), "{moves:?}");
    assert!(!moves.stderr.contains("has lost") && !moves.stderr.contains("rollback"), "{moves:?}");
    assert!(moves.stdout.contains("kept") && !moves.stdout.contains("follows"), "{moves:?}");
    let refused = estate.run(&["move", &shard.to_string(), "--to", "pg1", "--dry-run"]).refused();
    assert!(refused.contains("is still there"), "{refused}");
    assert!(refused.contains(&format!("`shardid retire {id}`")), "{refused}");
    assert!(!refused.contains("shardid rollback"), "{refused}");
    let refused = estate.run(&["rollback", &id, "--yes"]).refused();
    assert!(refused.contains(&format!("slot shardid_back_{id} is gone")), "{refused}");
    assert!(refused.contains(&format!("`shardid retire {id}`")), "{refused}");
    assert_eq!(estate.last_move(shard), id);
    estate.run(&["retire", &id, "--yes"]).ok();
    estate.run(&["verify"]).ok();
}

/// `verify` was silent as soon as it was gone back to, and a way back was begun that there is not.
#[test]
fn an_old_copy_that_has_more_is_named_also_while_it_is_gone_back_to() {
    let says = |shard: u32| {
        format!("the old copy of shard {shard} on pg1 may have rows that node pg2 has lost")
    };
    for place in ["following/before-AwaitClose", "fenced/before-CarryOver"] {
        let estate = Estate::start(2, 4);
        let (shard, _standby) = fail_over_in(&estate, true, |shard| {
            estate.run_cut(place, &["rollback", &estate.last_move(shard), "--yes"]);
        });
        let found = estate.run(&["verify"]).stdout;
        assert!(found.contains(&says(shard)), "{place}: {found}");
        let id = estate.last_move(shard);
        // retire was named, which is refused as long as the other one stands.
        let moves = estate.run(&["moves"]).stderr;
        let line = moves.lines().find(|line| line.starts_with(&says(shard))).expect("it is said");
        assert!(line.contains(&format!("first `shardid abort {id}`; then compare")), "{line}");
        estate.run(&["abort", &id, "--yes"]).ok();
        let found = estate.run(&["verify"]).stdout;
        assert!(found.contains(&says(shard)), "{place}: {found}");
    }
    let estate = Estate::start(2, 4);
    let (shard, _standby) = fail_over(&estate, true);
    let id = estate.last_move(shard);
    for how in ["--dry-run", "--yes"] {
        let refused = estate.run(&["rollback", &id, how]).refused();
        assert!(refused.contains(&says(shard)), "{refused}");
        assert!(refused.contains("it cannot be gone back to"), "{refused}");
        assert!(refused.contains(&format!("`shardid retire {id} --accept-loss`")), "{refused}");
    }
    assert_eq!(estate.last_move(shard), id);
    let moves = estate.run(&["moves"]).stdout;
    assert!(!moves.contains("follows"), "{moves}");
}
