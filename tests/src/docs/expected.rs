//! What a page says a block prints, and whether that is what it printed.

use std::collections::HashMap;

use regex::{Captures, Regex};

/// Stands for anything within a line, or for any number of lines.
const ANYTHING: &str = "…";

/// An id (15 digits or more), or a time as PostgreSQL or ISO 8601 writes it.
const EXAMPLE: &str = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[+-][0-9]{2}(?::[0-9]{2})?|Z)?|[0-9]{15,}";

/// The output that a page shows.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) line: usize,
    pub(super) text: String,
    /// Whether ids and times stand for those of another day.
    pub(super) example: bool,
}

impl Output {
    /// Whether it shows that something fails.
    pub(super) fn shows_error(&self) -> bool {
        self.text.lines().any(|line| line.starts_with("ERROR:") || line.starts_with("error:"))
    }

    /// The same for the client of MariaDB and MySQL.
    pub(super) fn shows_my_error(&self) -> bool {
        self.text.lines().any(|line| line.starts_with("ERROR "))
    }

    /// Compares with what was printed.
    ///
    /// Blank lines, the width of columns and the end of lines do not count.
    pub(super) fn compare(&self, printed: &str) -> Result<(), String> {
        let shown: Vec<String> = lines(&self.text);
        let printed_lines: Vec<String> = lines(printed);
        let patterns: Vec<Pattern> = shown.iter().map(|l| Pattern::new(l, self.example)).collect();
        let mut pairs = Vec::new();
        if !matches(&patterns, &printed_lines, &mut pairs) {
            return Err(format!("the page shows\n\n{}\nand it prints\n\n{printed}", self.text));
        }
        one_to_one(&pairs)
    }
}

/// A line of a page.
enum Pattern {
    AnyLines,
    /// The line, and the example ids in it.
    Line(Regex, Vec<String>),
}

impl Pattern {
    fn new(line: &str, example: bool) -> Self {
        if line == ANYTHING {
            return Self::AnyLines;
        }
        let mut ids = Vec::new();
        let mut pattern = String::from("^");
        let mut rest = line;
        let examples = Regex::new(EXAMPLE).expect("it is a pattern");
        while let Some(found) = examples.find(rest).filter(|_| example) {
            push_literal(&mut pattern, &rest[..found.start()]);
            if found.as_str().contains('-') {
                pattern.push_str(&format!("(?:{EXAMPLE})"));
            } else {
                ids.push(found.as_str().to_owned());
                pattern.push_str(r"([0-9]{15,})");
            }
            rest = &rest[found.end()..];
        }
        push_literal(&mut pattern, rest);
        pattern.push('$');
        Self::Line(Regex::new(&pattern).expect("its parts are patterns"), ids)
    }
}

fn push_literal(pattern: &mut String, text: &str) {
    let parts: Vec<String> = text.split(ANYTHING).map(regex::escape).collect();
    pattern.push_str(&parts.join(".*"));
}

/// Lines that count, with the width of columns taken out.
fn lines(text: &str) -> Vec<String> {
    let rule = Regex::new("-{2,}").expect("it is a pattern");
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty())
        .map(|line| rule.replace_all(&line, "--").into_owned())
        .collect()
}

/// Matches lines against patterns; `pairs` gets example ids with the real ones.
fn matches(patterns: &[Pattern], printed: &[String], pairs: &mut Vec<(String, String)>) -> bool {
    let Some((first, patterns)) = patterns.split_first() else { return printed.is_empty() };
    let (pattern, ids) = match first {
        Pattern::AnyLines => {
            let before = pairs.len();
            return (0..=printed.len()).any(|skipped| {
                pairs.truncate(before);
                matches(patterns, &printed[skipped..], pairs)
            });
        }
        Pattern::Line(pattern, ids) => (pattern, ids),
    };
    let Some((line, printed)) = printed.split_first() else { return false };
    let Some(found) = pattern.captures(line) else { return false };
    let real = |(i, id): (usize, &String)| (id.clone(), group(&found, i + 1));
    pairs.extend(ids.iter().enumerate().map(real));
    matches(patterns, printed, pairs)
}

fn group(found: &Captures<'_>, number: usize) -> String {
    found.get(number).map(|group| group.as_str().to_owned()).unwrap_or_default()
}

/// Checks that one id of the page is one id of the output, and two are two.
fn one_to_one(pairs: &[(String, String)]) -> Result<(), String> {
    let (mut there, mut back) = (HashMap::new(), HashMap::new());
    for (shown, printed) in pairs {
        let known = there.insert(shown, printed);
        if known.is_some_and(|known| known != printed) {
            return Err(format!("the page shows {shown} where there are two different ids"));
        }
        let known = back.insert(printed, shown);
        if known.is_some_and(|known| known != shown) {
            return Err(format!("the page shows two ids where there is one, {printed}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(text: &str, example: bool, printed: &str) -> bool {
        Output { line: 1, text: text.into(), example }.compare(printed).is_ok()
    }

    #[test]
    fn width_does_not_count_and_words_do() {
        assert!(compare(
            " id | n\n---+--\n  1 | 2\n",
            false,
            "  id  |  n  \n------+----\n 1 | 2\n\n"
        ));
        assert!(!compare(" id | n\n", false, " id | m\n"));
        assert!(!compare("1\n", false, "1\n2\n"));
        assert!(!compare("1\n2\n", false, "1\n"));
    }

    #[test]
    fn three_dots_are_anything() {
        assert!(compare("took … ms\n", false, "took 12.5 ms\n"));
        assert!(!compare("took … ms\n", false, "took 12.5 s\n"));
        assert!(compare("a\n…\nz\n", false, "a\nb (c)\nd\nz\n"));
        assert!(compare("a\n…\nz\n", false, "a\nz\n"));
        assert!(!compare("a\n…\nz\n", false, "a\nb\n"));
        assert!(!compare("a.c\n", false, "abc\n"), "a point is a point");
    }

    #[test]
    fn an_example_stands_for_another_id_or_time_and_only_there() {
        let (shown, printed) = (
            "235086380428956672 | 2026-11-21 08:34:40.394+00\n",
            "335086380428956679 | 2027-01-02 03:04:05+00\n",
        );
        assert!(compare(shown, true, printed));
        assert!(!compare(shown, false, printed));
        assert!(!compare(shown, true, "5 | 2027-01-02 03:04:05+00\n"));
        assert!(!compare(shown, true, "335086380428956679 | never\n"));
    }

    #[test]
    fn equal_ids_are_equal_and_different_ones_differ() {
        let (a, b) = ("235086380428956672", "235086380428956673");
        let both = format!("{a}\n{b}\n");
        assert!(compare(&both, true, &format!("{b}\n{a}\n")));
        assert!(!compare(&both, true, &format!("{b}\n{b}\n")));
        assert!(compare(&format!("{a}\n{a}\n"), true, &format!("{b}\n{b}\n")));
        assert!(!compare(&format!("{a}\n{a}\n"), true, &both));
    }
}
