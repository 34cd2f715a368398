//! Links of pages, and the way to each page.

use shardid_tests::docs;

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let pages: Vec<(String, String)> =
        docs::pages().into_iter().map(|page| (page.clone(), docs::read(&page))).collect();
    let broken = docs::broken_links(&pages, |path| docs::root().join(path).exists());
    assert!(broken.is_empty(), "these lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn every_page_is_reached_from_the_readme() {
    let readme = docs::read("README.md");
    for page in docs::pages().iter().filter(|page| *page != "README.md") {
        assert!(readme.contains(&format!("({page})")), "README.md has no link to {page}");
    }
}

/// What a newcomer asks first, and the file that answers.
const ASKED: [(&str, &str); 5] = [
    ("Where is a fence raised and lowered?", "migrator/src/moving/fence.rs"),
    ("how MySQL's `next_id` is made", "sql/mysql/schema/V21__draw_id.sql"),
    ("What refuses a bad layout", "crates/ids/src/layout.rs"),
    ("that of `status`", "migrator/src/view/status.rs"),
    ("where is the drift limit applied?", "crates/ids/src/clock.rs"),
];

#[test]
fn a_page_that_is_read_at_one_sitting_says_where_things_are() {
    let page = docs::read("ARCHITECTURE.md");
    assert!(page.lines().count() < 200, "ARCHITECTURE.md has {} lines", page.lines().count());
    for (question, file) in ASKED {
        let found =
            page.lines().any(|line| line.contains(question) && line.contains(&format!("({file})")));
        assert!(found, "no line of ARCHITECTURE.md answers {question:?} by {file}");
    }
}
