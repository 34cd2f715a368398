//! What is asked of every protocol: nothing is wrong with it, and something without a rule.

use shardid_model::protocol::{Protocol, explore_protocol};

/// How many states a check may go through. A protocol is to be looked at by whoever changes it: a
/// check takes less than a minute, also on two processors that others use. The largest has
/// 830,000 states, and 5 s; all of the moves take 6 s of a processor, all of the tickets 20 s.
const STATES_MAX: usize = 2_000_000;

/// How many states there are, and what is wrong with the last of them on which way.
pub(crate) fn told<P: Protocol>(plot: &P) -> (usize, Option<String>) {
    let began = std::time::Instant::now();
    let found = explore_protocol(plot);
    println!("{} states, {:.1} s", found.states, began.elapsed().as_secs_f64());
    // By the clock it would fail where the machine has other things to do.
    assert!(found.states <= STATES_MAX, "{} states take too long to go through", found.states);
    let wrong = found.wrong.map(|(what, way)| {
        let steps: Vec<_> = way.iter().filter_map(|(_, action)| action.as_ref()).collect();
        let end = way.last().map(|(world, _)| format!("{world:?}")).unwrap_or_default();
        format!("{what}: {steps:?}\n{end}")
    });
    (found.states, wrong)
}

pub(crate) fn nothing_is_wrong<P: Protocol>(plot: &P) {
    if let (states, Some(wrong)) = told(plot) {
        panic!("after {states} states: {wrong}");
    }
}

/// Something is wrong, and begins with that.
pub(crate) fn is_found<P: Protocol>(plot: &P, what: &str) {
    let (states, wrong) = told(plot);
    let wrong = wrong.unwrap_or_else(|| panic!("nothing found in {states} states"));
    assert!(wrong.starts_with(what), "{wrong}");
    println!("{wrong}");
}

/// Something is wrong without these rules, and nothing without all but the last of them.
pub(crate) fn is_needed<P: Protocol>(plot: &P, without: &[P::Rule]) {
    let (_, others) = without.split_last().expect("a rule is left out");
    println!("without {without:?}");
    is_found(&plot.clone().without(without), "");
    if !others.is_empty() {
        nothing_is_wrong(&plot.clone().without(others));
    }
}

macro_rules! plots {
    ($($name:ident)*) => {
        $(#[test] fn $name() { protocol::nothing_is_wrong(&Plot::$name()); })*
    };
}

macro_rules! red {
    ($($name:ident: $plot:ident without $($rule:ident)+;)*) => {
        $(#[test] fn $name() { protocol::is_needed(&Plot::$plot(), &[$(Rule::$rule),+]); })*
    };
}
