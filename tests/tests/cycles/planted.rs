//! Cycles that are planted are noticed, and what is none is let be.

use std::fs;

use crate::graph::Graph;

/// What is said of a crate of these files.
fn cycles(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join("src").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Graph::read(folder.path()).cycles().iter().map(ToString::to_string).collect()
}

#[test]
fn two_files_that_import_each_other_are_named_with_what_ties_them() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::{self as c, Two as Other}; pub(crate) struct One(Other, c::Two);"),
        ("b.rs", "use super::a::One; pub(crate) enum Two { Ends, Goes(Box<One>) }"),
        ("c.rs", "use crate::{a::One, b::Two};"),
    ];
    assert_eq!(cycles(&files), ["  a.rs -> b.rs: Two\n  b.rs -> a.rs: One\n"]);
}

#[test]
fn paths_in_code_tie_also_in_macros_and_by_the_name_of_a_module() {
    let files = [
        ("main.rs", "mod a; mod b; mod c; fn main() { a::f() }"),
        ("a.rs", "use crate::b; pub(crate) fn f() { b::g(); }"),
        ("b.rs", r#"pub(crate) fn g() { println!("{}", super::c::H) }"#),
        ("c.rs", "pub(crate) const H: u8 = 1; fn i() { if true { crate::a::f() } }"),
    ];
    let told = ["  a.rs -> b.rs: g\n  b.rs -> c.rs: H\n  c.rs -> a.rs: f\n"];
    assert_eq!(cycles(&files), told);
}

#[test]
fn a_name_counts_for_the_file_that_defines_it() {
    // Through two faces, one of which renames it.
    let files = [
        ("lib.rs", "mod a; mod b; pub use b::Deep;"),
        ("a.rs", "use crate::Deep; pub(crate) struct One;"),
        ("b/mod.rs", "mod deep; pub use deep::Two as Deep;"),
        ("b/deep.rs", "use crate::a::One; pub struct Two;"),
    ];
    assert_eq!(cycles(&files), ["  a.rs -> b/deep.rs: Two\n  b/deep.rs -> a.rs: One\n"]);
    // What only goes through a face is no cycle with it.
    let files = [
        ("lib.rs", "mod a; mod b; pub use {a::One, b::Two};"),
        ("a.rs", "use crate::Two; pub struct One;"),
        ("b.rs", "pub struct Two;"),
    ];
    assert_eq!(cycles(&files), [""; 0]);
}

#[test]
fn a_face_that_defines_what_its_children_use_is_a_cycle() {
    let files = [
        ("lib.rs", "mod a; pub(crate) fn print() {}"),
        ("a.rs", "mod b; pub(crate) use b::f; macro_rules! sql { () => {} } pub(crate) use sql;"),
        ("a/b.rs", "use super::sql; pub(crate) fn f() { sql!(); crate::print() }"),
    ];
    assert_eq!(cycles(&files), ["  a/b.rs -> a.rs: sql\n  a.rs -> a/b.rs: f\n"]);
}

#[test]
fn what_is_not_compiled_or_for_unit_tests_alone_ties_nothing() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "//! See [`crate::b::f`].\npub fn g() -> &'static str { \"crate::b::f\" }"),
        (
            "b.rs",
            "use crate::a::g; // super::b\n#[cfg(test)] mod tests;\n#[cfg(test)] use crate::b::f;\npub fn f() { g(); }",
        ),
        ("b/tests.rs", "use super::*; mod inner { use crate::b::f; }"),
    ];
    assert_eq!(cycles(&files), [""; 0]);
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub fn g() {} #[cfg(test)] mod tests { use super::*; use crate::b::f; }"),
        ("b.rs", "use crate::a::g; pub fn f() {}"),
    ];
    assert_eq!(cycles(&files), [""; 0]);
}
