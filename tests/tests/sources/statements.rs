//! Statements in `sql/`, and the program that has them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use shardid_tests::{docs, program};

/// All files below a folder that are SQL.
fn statements(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).expect("it is a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            statements(&path, found);
        } else if path.extension().is_some_and(|end| end == "sql") {
            found.insert(path.canonicalize().expect("it is there"));
        }
    }
}

/// What the program was built from, by cargo, in the file beside it.
fn built_from() -> BTreeSet<PathBuf> {
    let list = program::program().with_extension("d");
    let list = fs::read_to_string(&list)
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", list.display()));
    let (_, files) = list.split_once(": ").expect("the program, then its files");
    // A space in a path stands behind a backslash.
    let files = files.replace("\\ ", "\0");
    let paths = files.split_whitespace().map(|path| path.replace('\0', " "));
    paths.filter_map(|path| Path::new(&path).canonicalize().ok()).collect()
}

#[test]
fn every_statement_is_in_the_program() {
    let mut all = BTreeSet::new();
    statements(&docs::root().join("sql"), &mut all);
    assert!(all.len() > 300, "{} statements", all.len());
    let unused: Vec<String> =
        all.difference(&built_from()).map(|path| path.display().to_string()).collect();
    assert!(unused.is_empty(), "nothing includes these:\n{}", unused.join("\n"));
}
