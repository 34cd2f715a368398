//! Which repeats are there that the rules do not prevent today? Each is a limit to be
//! stated, or to be mended; the test then turns red and goes.

use shardid_model::{Kind, Scenario, Settings, explore};

fn comes_twice(scenario: Scenario) {
    let found = explore(&scenario, &[]);
    let way = found.twice.unwrap_or_else(|| panic!("nothing found in {} states", found.states));
    let steps: Vec<_> = way.iter().filter_map(|(_, action)| *action).collect();
    println!("{} states: {steps:?}", found.states);
}

/// The largest drift is remembered by the server that is gone: a session that has raised
/// `shardid.max_drift` after the point of the restore has run further ahead.
#[test]
fn a_drift_that_was_raised_after_the_point_of_a_restore() {
    let first = Settings { lease: 2, max_drift: 4 };
    let second = Settings { lease: 1, max_drift: 1 };
    comes_twice(
        Scenario { sessions: vec![first, second], drift_is_noted: false, ..Scenario::quiet() }
            .with(&[(Kind::Visit, 5), (Kind::Restore, 1), (Kind::Tick, 1)]),
    );
}

/// The clock of the server that takes over is behind by no more than the drift.
#[test]
fn a_clock_that_is_behind_a_little_after_a_restore() {
    comes_twice(Scenario { back: 2, ..Scenario::quiet() }.with(&[
        (Kind::Visit, 5),
        (Kind::Restore, 1),
        (Kind::Back, 1),
        (Kind::Tick, 1),
    ]));
}

/// A shard's making is rolled back, and the clock set back before it is made again.
#[test]
fn a_clock_that_is_set_back_after_a_making_that_was_rolled_back() {
    comes_twice(Scenario { has_shard: false, back: 1, ..Scenario::quiet() }.with(&[
        (Kind::Visit, 3),
        (Kind::Create, 2),
        (Kind::Tick, 2),
        (Kind::Back, 1),
    ]));
}

/// The old library leaves no trace: `setval` backwards takes from everybody what it gave.
#[test]
fn setval_backwards_beside_the_old_library() {
    comes_twice(Scenario::quiet().with(&[
        (Kind::Visit, 2),
        (Kind::OldVisit, 2),
        (Kind::SetvalBack, 1),
    ]));
}

/// The old library raises no horizon.
#[test]
fn a_shard_that_is_lost_and_made_again_after_the_old_library() {
    comes_twice(Scenario::quiet().with(&[
        (Kind::Visit, 3),
        (Kind::OldVisit, 3),
        (Kind::Drop, 1),
        (Kind::Create, 1),
    ]));
}

/// Others that may run further ahead are restarted in every tick, and so each answer is a
/// new one: who gives up each time, and may run ahead less, gets no ids meanwhile.
#[test]
fn a_session_that_gives_up_among_others_that_are_restarted_all_the_time() {
    let first = Settings { lease: 2, max_drift: 4 };
    let last = Settings { lease: 1, max_drift: 1 };
    let scenario = Scenario { sessions: vec![first, last], ..Scenario::quiet() };
    let scenario = scenario.with(&[(Kind::Visit, 1), (Kind::Crash, 1)]);
    let starves = shardid_model::starves(&scenario);
    assert_eq!(starves, [false, false, true]);
}
