//! Which tests are run where not all are: the seed draws them.

use std::collections::HashSet;

use rand::Rng;
use rand::seq::SliceRandom;
use shardid_tests::rng;

const ENGINES: [&str; 2] = ["on_mariadb::", "on_mysql::"];

/// Leaves each test of a program on one of both engines, drawn by the seed; what is there for one
/// engine alone stays.
pub(crate) fn engines(program: &str, tests: Vec<String>) -> Vec<String> {
    let all: HashSet<String> = tests.iter().cloned().collect();
    tests
        .into_iter()
        .filter(|test| {
            let Some(own) = ENGINES.iter().position(|engine| test.contains(engine)) else {
                return true;
            };
            let pair = ENGINES.map(|engine| test.replace(ENGINES[own], engine));
            !pair.iter().all(|one| all.contains(one))
                || usize::from(rng(&format!("{program}::{}", pair[0])).random_bool(0.5)) == own
        })
        .collect()
}

/// Leaves half of a program's tests, and all that have something in their names, in the order in which they were.
pub(crate) fn half(program: &str, tests: Vec<String>, always: &str) -> Vec<String> {
    let mut drawn: Vec<&String> = tests.iter().filter(|test| !test.contains(always)).collect();
    drawn.shuffle(&mut rng(&format!("half of {program}")));
    drawn.truncate(drawn.len().div_ceil(2));
    let drawn: HashSet<String> = drawn.into_iter().cloned().collect();
    tests.into_iter().filter(|test| test.contains(always) || drawn.contains(test)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_pair_one_is_left_and_nothing_else_goes() {
        let name = |engine: usize, test: usize| format!("lost::{}test_{test}", ENGINES[engine]);
        let mut tests: Vec<String> = (0..200).flat_map(|n| [name(0, n), name(1, n)]).collect();
        let others = ["lost::on_mysql::alone", "lost::neither"].map(str::to_owned);
        tests.extend(others.clone());
        let left = engines("tickets", tests.clone());
        assert_eq!(left, engines("tickets", tests), "a seed draws the same");
        assert!(others.iter().all(|other| left.contains(other)));
        for n in 0..200 {
            assert!(left.contains(&name(0, n)) != left.contains(&name(1, n)), "{n}");
        }
        let first = left.iter().filter(|test| test.contains(ENGINES[0])).count();
        assert!((60..140).contains(&first), "{first} of 200 on MariaDB");
    }

    #[test]
    fn half_of_the_tests_are_left_and_those_that_are_always_run() {
        let tests: Vec<String> = (0..101).map(|n| format!("matrix{}::{n}", n % 5)).collect();
        let left = half("moves", tests.clone(), "matrix0::");
        assert_eq!(left, half("moves", tests.clone(), "matrix0::"), "a seed draws the same");
        assert_eq!(left.iter().filter(|test| test.contains("matrix0::")).count(), 21);
        assert_eq!(left.len(), 21 + 40);
        assert!(left.is_sorted_by_key(|test| tests.iter().position(|one| one == test)));
    }
}
