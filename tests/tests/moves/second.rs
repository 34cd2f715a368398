//! Two programs at one move: what the second one decides holds for the state that it
//! finds once the first one has let go.

use std::thread;
use std::time::Duration;

use shardid_tests::estate::Writer;

use crate::shared;

#[test]
fn an_abort_that_was_overtaken_by_the_switch_changes_nothing() {
    let (estate, shard) = (shared::estate(), shared::shard());
    estate.make_tables(shard);
    let number = shard.to_string();
    let writer = Writer::begin(estate, shard, 0, Duration::from_millis(2));
    let mut home = ("pg1", "pg2");
    for cut in ["fenced/after-next", "switched/before-GuardSource", "switched/after-OpenTarget"] {
        let mover = estate.run_held_then_cut(
            "fenced/before-next",
            cut,
            &["move", &number, "--to", home.1, "--yes", "--no-rollback"],
        );
        let id = estate.last_move(shard);
        let aborted = thread::scope(|scope| {
            let aborting = scope.spawn(|| estate.run(&["abort", &id]));
            // Until it waits for the mover to end.
            thread::sleep(Duration::from_millis(1_500));
            assert!(!aborting.is_finished(), "the move is locked");
            mover.let_go();
            aborting.join().expect("it ends")
        });
        let said = aborted.stderr;
        assert_eq!(aborted.code, 3, "{cut}: {said}");
        assert!(said.contains("a move that is switched cannot be aborted"), "{cut}: {said}");
        assert!(said.contains(&format!("`shardid resume {id}`")), "{cut}: {said}");
        assert_eq!(estate.state(&id), "switched", "{cut}");
        estate.run(&["resume", &id]).ok();
        assert_eq!((estate.state(&id).as_str(), estate.home(shard).as_str()), ("done", home.1));
        writer.wait_for(20);
        estate.run(&["retire", &id]).ok();
        home = (home.1, home.0);
    }
    let tally = writer.end();
    estate.assert_whole(shard, &tally);
}
