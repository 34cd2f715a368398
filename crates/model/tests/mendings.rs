//! Does an id come twice when a rule is left out, and not before?

use shardid_model::{Mending, Scenario, explore};

/// An id comes twice without these rules, and does not without all but the last of them:
/// where another rule would be enough, it is left out as well.
fn comes_twice(scenario: Scenario, without: &[Mending]) {
    let (_, others) = without.split_last().expect("a rule is left out");
    let found = explore(&scenario, without);
    let way = found.twice.unwrap_or_else(|| panic!("nothing found in {} states", found.states));
    let steps: Vec<_> = way.iter().filter_map(|(_, action)| *action).collect();
    println!("without {without:?}, after {} states: {steps:?}", found.states);
    if !others.is_empty() {
        let found = explore(&scenario, others);
        println!("without {others:?}: {} states", found.states);
        let steps = |way: Vec<_>| way.into_iter().filter_map(|(_, a)| a).collect::<Vec<_>>();
        assert!(found.twice.is_none(), "the others are enough: {:?}", found.twice.map(steps));
    }
}

macro_rules! red {
    ($($name:ident: $scenario:ident without $($mending:ident)+;)*) => {
        $(#[test] fn $name() {
            comes_twice(Scenario::$scenario(), &[$(Mending::$mending),+]);
        })*
    };
}

red! {
    redo: crashes without Redo;
    flush: crashes without Flush;
    dirty_first: checkpoint_in_visit without DirtyFirst;
    last: setval without Last;
    horizon_after_setval: setval without Horizon;
    horizon_after_restart: restarts without Horizon;
    horizon_first: setval without HorizonFirst;
    new_file: new_files without NewFile;
    replaces: dropped_and_made_again without Replaces;
    no_drift: made_and_rolled_back without NoDrift;
    live: old_library without Live;
    // A stranger's record leaves no trace, and so the horizon would hold after a crash.
    lsn: nextval without Horizon Lsn;
    // A crash leaves no trace, and so the horizon would hold; before 0.2.0 there was none.
    chain: beyond_nextval without Horizon Chain;
    lsn_of_a_copy: copies without Horizon Database Lsn;
    // What is copied has another LSN, or is older than the redo pointer; and the horizon holds.
    database: copies without Horizon Lsn Database;
    // A new file has a page of its own, a record of its own, and the horizon.
    outside: new_files without Horizon Lsn File Outside;
    file: new_files without Horizon Lsn Outside File;
    take_over: restores without TakeOver;
    timeline: restores without Timeline;
    earlier: made_after_the_point_of_a_restore without Earlier;
    largest_drift: restores without LargestDrift;
    kept_lsn: others without KeptLsn;
    installation: reinstalled without Installation;
    kept_number: horizon_put_back without KeptNumber;
    uncommitted: made_without_waiting without Uncommitted;
    slot: made_and_rolled_back without Slot;
    own_new_file: made_with_savepoint without Untold OwnNewFile;
    untold: made_again_and_altered without Untold;
    begins: dropped_and_made_again without Begins;
    asked_flushed: others without AskedFlushed;
}
