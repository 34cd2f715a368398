//! The places that each program comes to which stands first, in order.
//!
//! The program itself says them: `places.txt` is written by it, and each case that is played
//! compares what it came to. What the sources name is looked up there, so that a place which
//! is new is missed at once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use shardid_cluster::{LeftoverKind, MoveKind, MoveState, effects};

use super::First;

const PLACES: &str = include_str!("places.txt");

/// Places that are in no move, and where they are cut.
const ELSEWHERE: &[(&str, &str)] = &[
    ("without/", "a move of which one node is gone for good: tests/moves/gone.rs"),
    ("rebuild/", "a catalog that is made anew beside a mover: tests/moves/rebuild.rs"),
    ("reopened/", "a source that was promoted without its fence: tests/moves/switched.rs"),
    ("made/", "a table that is renamed while a copy is made: tests/moves/in_the_way.rs"),
    (
        "apply/before-Unfence-",
        "what a fence has left around an open shard: tests/moves/left_fence.rs",
    ),
    ("tickets/", "a change of ticket servers: tests/tickets/cut.rs and second.rs"),
    ("schema/before-grants", "a server of tickets: tests/tickets"),
];

/// What a first program comes to. A node's name is `here` where the shard is when it begins,
/// and `there` for the other one.
pub(super) fn of(first: First) -> Vec<&'static str> {
    let title = format!("[{first:?}]");
    let lines = PLACES.lines().skip_while(|line| *line != title).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty()).collect()
}

/// Writes the file anew.
pub(super) fn write(recorded: &[(First, Vec<String>)]) {
    let text: String = recorded
        .iter()
        .map(|(first, places)| format!("[{first:?}]\n{}\n\n", places.join("\n")))
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/moves/matrix/places.txt");
    fs::write(path, text.trim_end().to_owned() + "\n").expect("the sources can be written");
}

/// The places of some states, in order, without those within an effect.
pub(crate) fn places(kind: MoveKind, states: &[MoveState]) -> Vec<String> {
    let mut places = Vec::new();
    for state in states {
        for effect in effects(kind, *state) {
            places.push(format!("{state}/before-{effect:?}"));
        }
        places.push(format!("{state}/before-next"));
        places.push(format!("{state}/after-next"));
    }
    places
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the sources") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// The texts between two others.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    text.split(begin).skip(1).map(|rest| rest.split_once(end).expect("it ends").0).collect()
}

/// What the sources name, as `left/{kind}`, with the values that may stand there; `*` is for
/// a node.
fn named() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut files = Vec::new();
    sources(&root.join("migrator/src"), &mut files);
    let mut named = BTreeSet::new();
    for file in files.iter().filter(|file| !file.ends_with("cuts.rs")) {
        let text = fs::read_to_string(file).expect("text");
        for call in between(&text, "cuts::at(", ");") {
            let name = call.trim_start().strip_prefix("format_args!(\"");
            let name = name.and_then(|name| name.split_once('"'));
            let (name, _) = name.unwrap_or_else(|| panic!("{}: {call}", file.display()));
            named.extend(values(name, &text));
        }
    }
    named
}

fn values(name: &str, source: &str) -> Vec<String> {
    let states = || MoveState::ALL.iter().filter(|state| !state.is_over());
    let kinds = |at: &str| LeftoverKind::ALL.iter().map(|kind| format!("{at}/{kind}")).collect();
    match name {
        "left/{kind}" => kinds("left"),
        "gone/{}" => kinds("gone"),
        "claim/before-{}" => vec!["claim/before-*".to_owned()],
        "apply/before-{:?}-{}" => between(source, "enum Phase {", "}")
            .concat()
            .split(',')
            .map(str::trim)
            .filter(|phase| !phase.is_empty())
            .map(|phase| format!("apply/before-{phase}-*"))
            .collect(),
        "{state}/before-{effect:?}" | "{state}/after-{effect:?}" => {
            let word = between(name, "/", "-").concat();
            let of = |kind| {
                let word = &word;
                states().flat_map(move |state| {
                    effects(kind, *state).iter().map(move |e| format!("{state}/{word}-{e:?}"))
                })
            };
            of(MoveKind::Copy).chain(of(MoveKind::Rollback)).collect()
        }
        // Before the state stands what it is a state of: nothing for a move, and a change of
        // ticket servers is elsewhere.
        "{}{state}/before-next" | "{}{state}/after-next" => {
            let what = name.trim_start_matches("{}{state}");
            states().map(|state| format!("{state}{what}")).collect()
        }
        plain => vec![plain.to_owned()],
    }
}

/// Whether one of the programs comes to a place.
fn is_come_to(place: &str, firsts: &[First]) -> bool {
    firsts.iter().flat_map(|first| of(*first)).any(|known| match place.strip_suffix('*') {
        Some(begin) => known.starts_with(begin),
        None => known == place,
    })
}

#[test]
fn every_place_that_the_sources_name_is_in_the_matrix() {
    let elsewhere = |place: &str| ELSEWHERE.iter().any(|(begin, _)| place.starts_with(begin));
    let named = named();
    let missing: Vec<&String> =
        named.iter().filter(|place| !elsewhere(place) && !is_come_to(place, &First::ALL)).collect();
    assert!(missing.is_empty(), "no program that stands first comes to {missing:?}: see First");
    for (begin, _) in ELSEWHERE {
        assert!(
            named.iter().any(|place| place.starts_with(begin)),
            "{begin} is not there any more"
        );
    }
    // Each kind of move has places of its own.
    use MoveState::{Aborting, Copying, Fenced, Following, Planned, Switched};
    let back = [First::Rollback, First::AbortRollback, First::ResumeRollback];
    let states = [Planned, Copying, Following, Fenced, Switched, Aborting];
    let there: Vec<First> = First::ALL.into_iter().filter(|first| !back.contains(first)).collect();
    for place in places(MoveKind::Copy, &states) {
        assert!(is_come_to(&place, &there), "{place}");
    }
    for place in places(MoveKind::Rollback, &states) {
        assert!(
            place.starts_with("copying/") || is_come_to(&place, &back),
            "{place} of a rollback"
        );
    }
}
