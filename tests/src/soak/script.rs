//! What does a session say in one transaction? Statements at random: ids, savepoints, operations.

use std::fmt;
use std::str::FromStr;

use rand::Rng;
use rand::rngs::StdRng;

use super::fault::by_weight;
use super::operation::Operation;

/// One thing that a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Begin,
    /// A savepoint, which has its depth for a name.
    Savepoint,
    /// Back to the last savepoint, which stays.
    RollbackTo,
    /// The last savepoint goes.
    Release,
    /// Some ids, in a way that is chosen then.
    Ids,
    Do(Operation),
    Commit,
    Rollback,
}

/// How what a script does ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// There is no transaction: each statement is committed by itself.
    TopLevel,
    /// The transaction commits.
    Commit,
    /// The transaction rolls back.
    Rollback,
    /// It is rolled back to a savepoint, and then ends in either way.
    Savepoint,
}

/// How scripts end, and how often.
const ENDINGS: [(Ending, u32); 4] =
    [(Ending::TopLevel, 2), (Ending::Commit, 3), (Ending::Rollback, 2), (Ending::Savepoint, 2)];

/// Makes a script that does the operations in this order, with ids and savepoints
/// between them.
pub(super) fn at_random(
    rng: &mut StdRng,
    operations: &[Operation],
    ending: Option<Ending>,
) -> Vec<Step> {
    let ending = ending.unwrap_or_else(|| *by_weight(&ENDINGS, rng));
    if ending == Ending::TopLevel && !operations.is_empty() {
        return operations.iter().flat_map(|one| [Step::Do(*one), Step::Ids]).collect();
    }
    let mut steps = vec![Step::Begin];
    let (mut depth, mut least) = (0, 0);
    some_between(rng, &mut steps, &mut depth, least);
    if ending == Ending::Savepoint {
        steps.push(Step::Savepoint);
        depth += 1;
        least = depth;
    }
    for operation in operations {
        steps.push(Step::Do(*operation));
        some_between(rng, &mut steps, &mut depth, least);
    }
    if ending == Ending::Savepoint {
        while depth > least {
            steps.push(Step::Release);
            depth -= 1;
        }
        steps.extend([Step::RollbackTo, Step::Ids]);
    }
    let commits = match ending {
        Ending::Savepoint => rng.random(),
        _ => ending != Ending::Rollback,
    };
    steps.push(if commits { Step::Commit } else { Step::Rollback });
    steps.push(Step::Ids);
    steps
}

/// What comes between operations: ids mostly, and never fewer savepoints than `least`.
fn some_between(rng: &mut StdRng, steps: &mut Vec<Step>, depth: &mut u32, least: u32) {
    for _ in 0..rng.random_range(1..4) {
        steps.push(match rng.random_range(0..10) {
            0..2 if *depth < 4 => {
                *depth += 1;
                Step::Savepoint
            }
            2..4 if *depth > least => Step::RollbackTo,
            4 if *depth > least => {
                *depth -= 1;
                Step::Release
            }
            _ => Step::Ids,
        });
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TopLevel => "top-level",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::Savepoint => "savepoint",
        })
    }
}

impl FromStr for Ending {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ENDINGS.iter().map(|(ending, _)| *ending).find(|one| one.to_string() == text);
        found.ok_or_else(|| "top-level, commit, rollback or savepoint".into())
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_script_ends_as_it_was_told_with_ids_after_its_operation() {
        let mut rng = StdRng::seed_from_u64(1);
        let operation = Step::Do(Operation::Start);
        for (ending, _) in ENDINGS {
            assert_eq!(ending.to_string().parse(), Ok(ending));
            let mut ids_after = 0;
            for _ in 0..100 {
                let script = at_random(&mut rng, &[Operation::Start], Some(ending));
                let at = script.iter().position(|step| *step == operation).expect("it is there");
                let after = &script[at + 1..];
                assert!(!after.contains(&operation));
                ids_after += usize::from(after[0] == Step::Ids);
                match ending {
                    Ending::TopLevel => assert_eq!(after, [Step::Ids]),
                    Ending::Commit => assert!(after.contains(&Step::Commit)),
                    Ending::Rollback => assert!(after.contains(&Step::Rollback)),
                    Ending::Savepoint => {
                        assert_eq!(after[after.len() - 4..][..2], [Step::RollbackTo, Step::Ids]);
                    }
                }
            }
            assert!(ids_after > 20, "{ending} {ids_after}");
        }
    }

    #[test]
    fn savepoints_are_there_when_they_are_named() {
        let mut rng = StdRng::seed_from_u64(2);
        for _ in 0..1000 {
            let mut depth = 0;
            for step in at_random(&mut rng, &[Operation::Start], None) {
                match step {
                    Step::Savepoint => depth += 1,
                    Step::Release => depth -= 1,
                    Step::RollbackTo => assert!(depth > 0),
                    _ => {}
                }
                assert!(depth >= 0);
            }
        }
    }
}
