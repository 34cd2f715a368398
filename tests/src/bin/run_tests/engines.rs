//! Tests that are there for MariaDB and for MySQL: which of the two is run.

use std::collections::HashSet;

use rand::Rng;
use shardid_tests::rng;

const ENGINES: [&str; 2] = ["on_mariadb::", "on_mysql::"];

/// Leaves each test of a program on one of both engines, drawn by the seed; what is there for one
/// engine alone stays.
pub(crate) fn draw(program: &str, tests: Vec<String>) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_pair_one_is_left_and_nothing_else_goes() {
        let name = |engine: usize, test: usize| format!("lost::{}test_{test}", ENGINES[engine]);
        let mut tests: Vec<String> = (0..200).flat_map(|n| [name(0, n), name(1, n)]).collect();
        let others = ["lost::on_mysql::alone", "lost::neither"].map(str::to_owned);
        tests.extend(others.clone());
        let left = draw("tickets", tests.clone());
        assert_eq!(left, draw("tickets", tests), "a seed draws the same");
        assert!(others.iter().all(|other| left.contains(other)));
        for n in 0..200 {
            assert!(left.contains(&name(0, n)) != left.contains(&name(1, n)), "{n}");
        }
        let first = left.iter().filter(|test| test.contains(ENGINES[0])).count();
        assert!((60..140).contains(&first), "{first} of 200 on MariaDB");
    }
}
