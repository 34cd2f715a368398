//! How long a test may take.

use std::collections::HashMap;
use std::time::Duration;

use crate::program::Program;

/// The limits of tests/limits.txt, and one for all others.
#[derive(Debug)]
pub(crate) struct Limits {
    usual: Duration,
    named: HashMap<String, Duration>,
}

impl Limits {
    /// Reads the file; `usual` is in seconds.
    pub(crate) fn read(usual: u64) -> Self {
        Self {
            usual: Duration::from_secs(usual),
            named: parse(include_str!("../../../limits.txt")),
        }
    }

    /// Limits with one name, all in seconds.
    #[cfg(test)]
    pub(crate) fn of_one(usual: u64, name: &str, seconds: u64) -> Self {
        let named = HashMap::from([(name.to_owned(), Duration::from_secs(seconds))]);
        Self { usual: Duration::from_secs(usual), named }
    }

    /// The limit of a test, by its name with the program's: `moves::cut::…`.
    pub(crate) fn of(&self, name: &str) -> Duration {
        self.named.get(name).copied().unwrap_or(self.usual)
    }

    /// The names for which there is no test, though their program is there.
    pub(crate) fn unknown(&self, programs: &[(Program, Vec<String>)]) -> Vec<String> {
        let is_unknown = |name: &String| {
            name.split_once("::").is_some_and(|(program, test)| {
                programs.iter().any(|(one, tests)| {
                    one.name == program && !tests.iter().any(|known| known == test)
                })
            })
        };
        let mut unknown: Vec<String> =
            self.named.keys().filter(|n| is_unknown(n)).cloned().collect();
        unknown.sort();
        unknown
    }
}

/// Reads lines of seconds and a name; `#` begins a comment.
fn parse(text: &str) -> HashMap<String, Duration> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .map(|line| {
            let read = || {
                let (seconds, name) = line.split_once(' ')?;
                Some((name.trim().to_owned(), Duration::from_secs(seconds.parse().ok()?)))
            };
            read().unwrap_or_else(|| panic!("tests/limits.txt: {line:?} is no `SECONDS NAME`"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_the_limit_of_its_line_or_the_usual_one() {
        let named = parse("# seconds, name\n600 moves::matrix::all # long\n\n");
        let limits = Limits { usual: Duration::from_secs(60), named };
        assert_eq!(limits.of("moves::matrix::all"), Duration::from_secs(600));
        assert_eq!(limits.of("moves::matrix::other"), Duration::from_secs(60));
    }

    #[test]
    fn a_line_for_a_test_that_is_gone_is_found() {
        let limits = Limits { usual: Duration::ZERO, named: parse("9 a::is\n9 a::was\n9 b::c\n") };
        let program = Program { name: "a".into(), path: "a".into(), folder: ".".into() };
        assert_eq!(limits.unknown(&[(program, vec!["is".into()])]), ["a::was"]);
    }
}
