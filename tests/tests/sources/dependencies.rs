//! Versions of other people's crates, in Cargo.lock.

use shardid_tests::docs;

#[test]
fn no_dependency_is_a_release_candidate() {
    let lock = docs::read("Cargo.lock");
    let versions: Vec<(&str, &str)> = lock
        .split("[[package]]")
        .filter_map(|package| {
            let line = |key: &str| {
                let line = package.lines().find_map(|line| line.strip_prefix(key))?;
                Some(line.trim_matches(['=', ' ', '"']))
            };
            Some((line("name")?, line("version")?))
        })
        .collect();
    assert!(versions.len() > 100, "{} versions", versions.len());
    // What stands behind a + is where it was built from.
    let is_unfinished = |version: &str| version.split('+').next().unwrap_or(version).contains('-');
    let unfinished: Vec<_> =
        versions.iter().filter(|(_, version)| is_unfinished(version)).collect();
    assert!(unfinished.is_empty(), "{unfinished:?}");
}
