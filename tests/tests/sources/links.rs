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
