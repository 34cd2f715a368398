//! Links from page to page: each leads to a file that is there, and to a heading in it.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Lists the links of pages (name and text) that lead nowhere, as `page:line: target`.
///
/// `exists` tells whether there is a file or folder at a path below the root.
pub fn broken_links(pages: &[(String, String)], exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let headings: HashMap<&str, Vec<String>> =
        pages.iter().map(|(name, text)| (name.as_str(), anchors(text))).collect();
    let mut broken = Vec::new();
    for (name, text) in pages {
        for (line, target) in links(text) {
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = if path.is_empty() { PathBuf::from(name) } else { beside(name, path) };
            let known = headings.get(file.to_string_lossy().as_ref());
            let there = match known {
                Some(anchors) => anchor.is_empty() || anchors.iter().any(|known| known == anchor),
                None => anchor.is_empty() && exists(&file),
            };
            if !there {
                broken.push(format!("{name}:{line}: {target}"));
            }
        }
    }
    broken
}

/// The target of every link that stays in the repository, with its line.
fn links(text: &str) -> Vec<(usize, String)> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let line = text[..range.start].matches('\n').count() + 1;
                let outside = dest_url.contains("://") || dest_url.starts_with("mailto:");
                (!outside).then(|| (line, dest_url.into_string()))
            }
            _ => None,
        })
        .collect()
}

/// What a link says to reach each heading: lower case, without marks, with hyphens.
fn anchors(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => found.extend(heading.take().map(|h| slug(&h))),
            Event::Text(more) | Event::Code(more) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&more);
                }
            }
            _ => {}
        }
    }
    found
}

fn slug(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// The path of a target that is written relative to a page.
fn beside(page: &str, target: &str) -> PathBuf {
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_file_and_a_heading_that_are_there() {
        let page = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let pages = [
            page(
                "README.md",
                "# A\n[1](docs/b.md) [2](docs/b.md#the-end-of-it) [3](#a) [4](LICENSE) [5](https://example.org/x)\n\
                 [6](docs/c.md)\n[7](docs/b.md#no)\n[8](#b)\n`[9](no.md)`\n",
            ),
            page("docs/b.md", "# `The` end, of it\n[up](../README.md#a)\n[no](README.md)\n"),
        ];
        let broken = broken_links(&pages, |path| path == Path::new("LICENSE"));
        assert_eq!(
            broken,
            [
                "README.md:3: docs/c.md",
                "README.md:4: docs/b.md#no",
                "README.md:5: #b",
                "docs/b.md:3: README.md"
            ]
        );
    }
}
