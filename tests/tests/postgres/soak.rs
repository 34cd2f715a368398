//! A short random run with every kind of fault in it, and proof that it would find something.

use std::time::Duration;

use shardid_tests::seed;
use shardid_tests::soak::{Finding, Kind, Maker, Part, Report, Scenario, Soak, kinds};

fn soak(scenario: Scenario, maker: Maker) -> Soak {
    Soak { seed: seed(), scenario, maker, talk: false }
}

#[track_caller]
fn run(soak: &Soak) -> Report {
    let report = soak.run().unwrap_or_else(|finding| panic!("{finding}"));
    println!("{report}");
    report
}

#[track_caller]
fn found(part: Part, maker: Maker) -> Finding {
    soak(Scenario::Random(part), maker).run().expect_err("it repeats")
}

#[test]
fn no_id_comes_twice_through_each_kind_of_fault_and_planted_repeats_are_noticed() {
    let report = run(&soak(Scenario::Random(Part::each_kind()), Maker::Shardid));
    assert!(report.ids > 10_000, "{report}");
    for kind in kinds() {
        assert_eq!(report.faults.get(kind.name()), Some(&1), "{kind}: {report}");
    }
    // A shard that has to wait for the clock up to the end gives none.
    let noticed: u64 = report.noticed.values().sum();
    assert!(noticed * 10 > report.faults.len() as u64 * 8, "{report}");
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
    let finding = found(Part::lasting(Duration::from_secs(60)), Maker::Classic);
    assert!(finding.what.contains("of the classic function came twice"), "{finding}");
}

#[test]
fn a_soak_finds_out_a_function_that_now_and_then_repeats_the_last_id() {
    let finding = found(Part::lasting(Duration::from_secs(60)), Maker::Planted);
    assert!(finding.what.contains("of the planted function came twice"), "{finding}");
}

#[test]
fn a_soak_finds_out_an_id_from_before_a_fault() {
    let part = Part { only: vec![Kind::Crash], ..Part::lasting(Duration::from_secs(60)) };
    let finding = found(part, Maker::Forged);
    assert!(
        finding.what.contains("came twice") && finding.what.ends_with("after crash"),
        "{finding}"
    );
}
