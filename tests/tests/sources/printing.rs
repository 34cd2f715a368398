//! The program never stops because nobody can read what it says.

use std::fs;
use std::path::Path;

/// `print!` and its like panic where the terminal is gone or the disk of a log is full.
#[test]
fn nothing_is_printed_by_a_macro_that_panics() {
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrator/src");
    let mut folders = vec![root];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let text = fs::read_to_string(&path).unwrap();
            for (number, line) in text.lines().enumerate() {
                if ["println!(", "print!("].iter().any(|name| line.contains(name)) {
                    found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
                }
            }
        }
    }
    assert!(files > 50, "only {files} files were read");
    assert!(found.is_empty(), "use talk::line or stdout::print:\n{}", found.join("\n"));
}
