//! No file of a crate needs one that needs it: a newcomer can read each from the bottom up.
//!
//! A file is below another if that names something of it: in a `use` line, handed on to
//! others or not, or by a path such as `crate::talk::line` or `super::Journal`. A name
//! counts for the file that defines it, whichever files hand it on. So a `mod.rs` may show
//! what its children have; what they use themselves stands in a file below them. `mod x;`
//! ties nothing, and neither does what is compiled for unit tests alone. Methods and macros
//! that nobody imports are not seen.

mod graph;
mod planted;
mod source;

use std::fs;
use std::path::Path;

use graph::Graph;

/// The folders of all crates but the tests, from the root.
fn crates(root: &Path) -> Vec<String> {
    let mut crates: Vec<String> = fs::read_dir(root.join("crates"))
        .unwrap()
        .map(|entry| format!("crates/{}", entry.unwrap().file_name().display()))
        .filter(|folder| root.join(folder).join("Cargo.toml").exists())
        .collect();
    crates.extend(["migrator".to_owned(), "pg_extension".to_owned()]);
    crates.sort();
    crates
}

#[test]
fn no_file_needs_one_that_needs_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = crates(&root);
    assert!(crates.len() >= 5, "{crates:?}");
    let mut told = String::new();
    for folder in &crates {
        let graph = Graph::read(&root.join(folder));
        assert!(graph.ties() > 0, "nothing is read in {folder}");
        for cycle in graph.cycles() {
            told += &format!("{folder}/src:\n{cycle}\n");
        }
    }
    assert!(
        told.is_empty(),
        "files that need each other, and the names that tie them; what both need belongs below both:\n\n{told}"
    );
}
