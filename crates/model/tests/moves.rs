//! Does a shard stay open once, and every row where the shard lives, whatever happens to the
//! programs that move it? And does it not when a rule is left out?

#[macro_use]
mod protocol;

use protocol::{is_found, nothing_is_wrong};
use shardid_model::moves::{Plot, Rule};
use shardid_model::protocol::Protocol;

plots! { moving moving_late moving_in_order going_back going_back_late moving_twice old_map numbers
numbers_back failing_over failing_over_late failing_over_back failing_over_source failing_over_source_late
losing_catalog losing_catalog_back }

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
    open_by_shard: numbers without OpenByShard;
    open_by_shard_back: numbers_back without OpenByShard;
    open_once: numbers without OpenOnce;
    note_before_close: numbers without NoteBeforeClose;
    check_target: failing_over without CheckTarget;
    check_target_back: failing_over_back without CheckTarget;
    check_source: failing_over_source without CheckSource;
    check_rebuilt: losing_catalog without CheckRebuilt;
    check_rebuilt_back: losing_catalog_back without CheckRebuilt;
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
    is_found(&Plot::moving_in_order().without(&without), "");
    nothing_is_wrong(&Plot::moving_in_order().without(&[Rule::CompareAndSet]));
}
