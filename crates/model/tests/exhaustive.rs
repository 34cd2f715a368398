//! Does no order of steps, within the bounds of a scenario, give an id out twice?

use shardid_model::{Scenario, explore};

/// Goes through all of it, and shows the shortest way to an id that came twice.
fn never_twice(scenario: Scenario) {
    let began = std::time::Instant::now();
    let found = explore(&scenario, &[]);
    println!("{} states, {:.1} s", found.states, began.elapsed().as_secs_f64());
    if let Some(way) = found.twice.or(found.stuck) {
        for (world, action) in &way {
            println!("{world:?}\n-> {action:?}");
        }
        let steps: Vec<_> = way.iter().filter_map(|(_, action)| *action).collect();
        panic!("an id came twice, or a session is refused for ever: {steps:?}");
    }
}

macro_rules! scenarios {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $($(#[$doc])* #[test] fn $name() { never_twice(Scenario::$name()); })*
    };
}

scenarios! {
    crashes checkpoint_in_visit chains nextval beyond_nextval setval old_library new_files restarts
    dropped_and_made_again made_and_rolled_back made_without_waiting made_with_savepoint
    made_again_and_put_back made_again_and_altered made_with_minimal_wal
    made_after_the_point_of_a_restore
    copies reinstalled others horizon_put_back
    restores restored_twice restored_and_crashed restored_for_strangers restored_and_altered
}

/// From every state a session is given ids, while the clock goes on.
fn always_ends(scenario: Scenario) {
    never_twice(Scenario { has_to_end: true, ..scenario });
}

#[test]
fn ends_after_a_crash() {
    always_ends(Scenario::chains());
}

#[test]
fn ends_after_a_restart() {
    always_ends(Scenario::restarts());
}

#[test]
fn ends_after_a_restore() {
    always_ends(Scenario::restores());
}

#[test]
fn ends_after_a_setval_of_the_horizon() {
    always_ends(Scenario::horizon_put_back());
}
