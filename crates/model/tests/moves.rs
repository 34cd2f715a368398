//! Does a shard stay open once, and every row where the shard lives, whatever happens to the
//! programs that move it? And does it not when a rule is left out?

use shardid_model::moves::{Plot, Rule, explore_moves};

fn told(plot: &Plot) -> (usize, Option<String>) {
    let began = std::time::Instant::now();
    let found = explore_moves(plot);
    println!("{} states, {:.1} s", found.states, began.elapsed().as_secs_f64());
    let wrong = found.wrong.map(|(what, way)| {
        let steps: Vec<_> = way.iter().filter_map(|(_, action)| *action).collect();
        let end = way.last().map(|(world, _)| format!("{world:?}")).unwrap_or_default();
        format!("{what}: {steps:?}\n{end}")
    });
    (found.states, wrong)
}

fn nothing_is_wrong(plot: Plot) {
    if let (states, Some(wrong)) = told(&plot) {
        panic!("after {states} states: {wrong}");
    }
}

macro_rules! plots {
    ($($name:ident)*) => {
        $(#[test] fn $name() { nothing_is_wrong(Plot::$name()); })*
    };
}

plots! { moving moving_late moving_in_order going_back going_back_late moving_twice old_map numbers }

/// Something is wrong without these rules, and nothing without all but the last of them.
fn is_needed(plot: Plot, without: &[Rule]) {
    let (_, others) = without.split_last().expect("a rule is left out");
    let (states, wrong) = told(&plot.clone().without(without));
    let wrong = wrong.unwrap_or_else(|| panic!("nothing found in {states} states"));
    println!("without {without:?}: {wrong}");
    if !others.is_empty() {
        nothing_is_wrong(plot.without(others));
    }
}

macro_rules! red {
    ($($name:ident: $plot:ident without $($rule:ident)+;)*) => {
        $(#[test] fn $name() { is_needed(Plot::$plot(), &[$(Rule::$rule),+]); })*
    };
}

red! {
    read_with_term: moving without ReadWithTerm;
    journal_term: moving without JournalTerm;
    node_term: moving without NodeTerm;
    node_term_late: moving_late without NodeTerm;
    fence_refuses: moving_in_order without FenceRefuses;
    drain: moving_in_order without Drain;
    note_first: moving_in_order without NoteFirst;
    // Where nobody loses a lock, one that reads under it reads what holds.
    read_under_lock: moving_in_order without ReadWithTerm ReadUnderLock;
    // A move from where the shard is no more cannot begin; who gives it up leaves the old
    // copy's guard alone.
    plan_from_map: moving_twice without LowerFenceOnly PlanFromMap;
    lower_fence_only: moving_twice without PlanFromMap LowerFenceOnly;
    retire_is_written: going_back without RetireIsWritten;
    rollback_is_seen: going_back without RollbackIsSeen;
    guard_new_copy: old_map without GuardNewCopy;
    hold_sequences: numbers without HoldSequences;
}

/// As it was at first: no terms, and a state that was read before the lock was had. Reading
/// with the term is enough today; that the journal compares is a second bolt.
#[test]
fn compare_and_set() {
    let without = [
        Rule::ReadWithTerm,
        Rule::ReadUnderLock,
        Rule::JournalTerm,
        Rule::NodeTerm,
        Rule::CompareAndSet,
    ];
    is_found(Plot::moving_in_order().without(&without), "");
    nothing_is_wrong(Plot::moving_in_order().without(&[Rule::CompareAndSet]));
}

/// What nothing prevents today: each is a limit that is stated, or to be mended.
fn is_found(plot: Plot, what: &str) {
    let (states, wrong) = told(&plot);
    let wrong = wrong.unwrap_or_else(|| panic!("nothing found in {states} states"));
    assert!(wrong.starts_with(what), "{wrong}");
}

/// A program that is killed between the switch and the guard holds the sequences no more: a
/// plain `nextval` on the source, and one on the target by the new map, give the same number.
#[test]
fn a_plain_nextval_between_the_switch_and_the_guard() {
    is_found(Plot { kills: true, ..Plot::numbers() }, "a number was given twice");
}

/// An old copy that is nearly gone back to has its sequences open, until that is given up.
#[test]
fn a_plain_nextval_on_an_old_copy_that_is_nearly_gone_back_to() {
    let plot = Plot { writes: 0, draws: 2, losses: 0, ..Plot::going_back() };
    is_found(plot, "a number was given twice");
}
