//! How does a session go through a script, whatever it is refused on the way?

use postgres::Error;
use rand::Rng;

use super::script::Step;
use super::session::{After, Session};
use super::ways;

/// Where a session is in its transaction.
#[derive(Default)]
struct At {
    open: bool,
    /// How many savepoints there are.
    depth: usize,
    /// Below how many savepoints the transaction has made the generator, if it has.
    made: Option<usize>,
}

/// Plays a script on one generator; `older` is a value its sequence had a while ago.
///
/// What is refused is rolled back, to a savepoint where there is one. The error is one
/// that ends the connection.
pub(super) fn play(
    session: &mut Session<'_>,
    which: usize,
    script: &[Step],
    older: i64,
) -> Result<(), Error> {
    let mut at = At::default();
    for step in script {
        let Err(error) = take_step(session, which, *step, older, &mut at) else {
            continue;
        };
        if session.expect(which, &error) == After::Reconnect {
            session.withheld = None;
            return Err(error);
        }
        if at.open && at.depth > 0 {
            take_step(session, which, Step::RollbackTo, older, &mut at)?;
        } else if at.open {
            return take_step(session, which, Step::Rollback, older, &mut at);
        }
    }
    Ok(())
}

fn take_step(
    session: &mut Session<'_>,
    which: usize,
    step: Step,
    older: i64,
    at: &mut At,
) -> Result<(), Error> {
    match step {
        Step::Begin => {
            session.client.batch_execute("BEGIN")?;
            at.open = true;
        }
        Step::Savepoint => {
            session.client.batch_execute(&format!("SAVEPOINT s{}", at.depth + 1))?;
            at.depth += 1;
        }
        Step::RollbackTo => {
            session.client.batch_execute(&format!("ROLLBACK TO s{}", at.depth))?;
            if at.made.is_some_and(|made| made >= at.depth) {
                at.made = None;
                session.withheld = None;
            }
        }
        Step::Release => {
            session.client.batch_execute(&format!("RELEASE s{}", at.depth))?;
            at.depth -= 1;
            at.made = at.made.map(|made| made.min(at.depth));
        }
        // Ids that are refused must not take the rest of the transaction with them, mostly.
        Step::Ids if at.open && session.rng.random_bool(0.8) => {
            session.client.batch_execute("SAVEPOINT ids")?;
            if let Err(error) = ways::take_within(session, which) {
                if session.expect(which, &error) == After::Reconnect {
                    return Err(error);
                }
                session.client.batch_execute("ROLLBACK TO ids")?;
            }
            session.client.batch_execute("RELEASE ids")?;
        }
        Step::Ids => ways::take_within(session, which)?,
        Step::Do(operation) => {
            let generator = &session.world.generators[which];
            let makes = at.open && operation.makes_a_generator();
            for sql in operation.statements(generator, older) {
                session.client.batch_execute(&sql)?;
            }
            if makes && at.made.is_none() {
                at.made = Some(at.depth);
                session.withheld = Some(Vec::new());
            }
        }
        Step::Commit => {
            // Where this is cut off, nobody knows whether it was committed.
            let withheld = session.withheld.take();
            session.client.batch_execute("COMMIT")?;
            *at = At::default();
            session.withheld = withheld;
            session.receive_withheld();
        }
        Step::Rollback => {
            session.withheld = None;
            *at = At::default();
            session.client.batch_execute("ROLLBACK")?;
        }
    }
    Ok(())
}
