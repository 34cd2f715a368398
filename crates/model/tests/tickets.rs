//! Does no number of a ticket come twice, whatever happens to the programs that change its
//! servers? And does it when a rule is left out?

use shardid_model::tickets::{Plot, Rule, explore_tickets};

fn told(plot: &Plot) -> (usize, Option<String>) {
    let began = std::time::Instant::now();
    let found = explore_tickets(plot);
    println!("{} states, {:.1} s", found.states, began.elapsed().as_secs_f64());
    (found.states, found.wrong.map(|(what, way)| format!("{what}: {way:?}")))
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

plots! { growing growing_late at_odds there_and_back }

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
    ceilings_first: growing without CeilingsFirst;
    raise_floor: growing without RaiseFloor;
    known_servers: at_odds without KnownServers;
    server_lock: growing_late without ServerLock;
    read_when_taken: growing without ReadWhenTaken;
}

/// The locks of the servers are enough; that the journal compares is a second bolt.
#[test]
fn compare_and_set() {
    let (_, wrong) = told(&Plot::growing().without(&[Rule::ServerLock, Rule::CompareAndSet]));
    assert!(wrong.is_some());
    nothing_is_wrong(Plot::growing().without(&[Rule::CompareAndSet]));
}
