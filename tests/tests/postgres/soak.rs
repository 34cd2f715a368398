//! A short random run, and proof that it would find something.

use std::time::Duration;

use shardid_tests::seed;
use shardid_tests::soak::{Maker, Report, Scenario, Soak};

fn soak(scenario: Scenario, maker: Maker) -> Soak {
    Soak { seed: seed(), scenario, maker, talk: false }
}

#[track_caller]
fn run(soak: &Soak) -> Report {
    let report = soak.run().unwrap_or_else(|finding| panic!("{finding}"));
    println!("{report}");
    report
}

#[test]
fn no_id_comes_twice_whatever_happens_for_twenty_seconds() {
    let report = run(&soak(Scenario::Random(Duration::from_secs(20)), Maker::Shardid));
    assert!(report.ids > 10_000, "{report}");
}

#[test]
fn six_sessions_take_half_a_million_ids_each_in_twenty_crashes_and_none_comes_twice() {
    let report = run(&soak(Scenario::Crashes { ids_each: 500_000 }, Maker::Shardid));
    assert!(report.ids >= 3_000_000, "{report}");
    assert_eq!(report.events["crash"], 20, "{report}");
    assert!(report.events["promotion"] == 1 && report.events["clock step"] >= 10, "{report}");
}

#[test]
fn a_soak_finds_out_the_classic_function() {
    let soak = soak(Scenario::Random(Duration::from_secs(60)), Maker::Classic);
    let finding = soak.run().expect_err("it repeats when it is fast");
    assert!(finding.what.contains("of the classic function came twice"), "{finding}");
}

#[test]
fn a_soak_finds_out_a_sequence_that_is_put_back() {
    let soak = soak(Scenario::Random(Duration::from_secs(60)), Maker::PutBack);
    let finding = soak.run().expect_err("ids come again with the clock behind");
    assert!(finding.what.contains("came twice"), "{finding}");
}
