//! Somebody operates on the sequence of a generator while all others take ids from it.

use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use postgres::{CancelToken, Error, NoTls};
use rand::Rng;
use rand::seq::{IndexedRandom, IteratorRandom};

use super::operation::{self, Operation};
use super::play;
use super::script;
use super::session::{FAR, Session, Sort};
use super::trouble::{PATIENCE, Trouble};
use super::ways;
use super::world::World;
use crate::wait_until;

/// How long the surgeon's statements may take together before they are cancelled.
const LIMIT: Duration = Duration::from_secs(8);

impl Trouble {
    /// One operation, at top level or in a transaction, on a shard that is mostly ahead
    /// of its clock, and perhaps a crash soon after.
    pub(super) fn operation(&mut self, operation: Operation) {
        let Some(which) = self.patient(|suiting| suiting.contains(&operation)) else {
            return;
        };
        self.be_ahead(which, if operation.makes_a_generator() { 2.0 } else { 8.0 });
        self.operate(which, &[operation]);
        self.aftermath();
    }

    /// Several operations in one transaction.
    pub(super) fn mixed(&mut self) {
        let Some(which) = self.patient(|_| true) else {
            return;
        };
        self.be_ahead(which, 4.0);
        let operations = self.some_operations(which, 3);
        self.operate(which, &operations);
        self.aftermath();
    }

    /// A session that allows itself more drift takes ids in the far future, and goes;
    /// then somebody else operates on the sequence.
    pub(super) fn drift(&mut self) {
        let Some(which) = self.patient(|_| true) else {
            return;
        };
        let world = Arc::clone(&self.world);
        self.put_ahead(which, FAR.as_secs_f64() * 0.3..FAR.as_secs_f64() * 0.8);
        let mut session = self.surgeon(&world);
        let went = session.go_far();
        take_some(&mut session, which, went);
        drop(session);
        world.tell("drift", &format!("{:.1} s ahead", world.lead_of(which)));
        let operations = self.some_operations(which, 1);
        self.operate(which, &operations);
        self.catch_up();
        self.aftermath();
    }

    /// A generator that has operations of this sort.
    fn patient(&mut self, wanted: impl Fn(&[Operation]) -> bool) -> Option<usize> {
        let generators = &self.world.generators;
        let suits = |which: &usize| {
            let of_it: Vec<_> =
                operation::ALL.into_iter().filter(|one| one.suits(&generators[*which])).collect();
            !of_it.is_empty() && wanted(&of_it)
        };
        let which = (0..generators.len()).filter(suits).choose(&mut self.rng);
        self.touched = which;
        which
    }

    fn some_operations(&mut self, which: usize, most: usize) -> Vec<Operation> {
        let generator = &self.world.generators[which];
        let suiting: Vec<_> =
            operation::ALL.into_iter().filter(|one| one.suits(generator)).collect();
        let count = self.rng.random_range(1..=most);
        (0..count).filter_map(|_| suiting.choose(&mut self.rng).copied()).collect()
    }

    /// Has a shard be ahead of the clock, mostly.
    fn be_ahead(&mut self, which: usize, seconds: f64) {
        if self.rng.random_bool(0.8) {
            self.put_ahead(which, 0.1 * seconds..seconds);
        }
    }

    /// Takes some ids from a generator, in several statements.
    pub(super) fn take_some(&mut self, world: &World, which: usize) {
        take_some(&mut self.surgeon(world), which, Ok(()));
    }

    fn surgeon<'a>(&mut self, world: &'a World) -> Session<'a> {
        let client = world.server().connect(&world.database());
        Session::new(world, client, self.rng.clone(), "the surgeon", Sort::Surgeon)
    }

    fn operate(&mut self, which: usize, operations: &[Operation]) {
        let world = Arc::clone(&self.world);
        let generator = &world.generators[which];
        let mut session = self.surgeon(&world);
        let older: i64 = session
            .client
            .query_one(&format!("SELECT last_value FROM {}", generator.sequence), &[])
            .map_or_else(|_| i64::from(generator.shard) * generator.layout.slots, |row| row.get(0));
        sleep(Duration::from_millis(self.rng.random_range(20..400)));
        if self.rng.random_bool(0.2) {
            world.server().checkpoint();
        }
        world.begin_operation(which);
        let script = script::at_random(&mut self.rng, operations, self.ending);
        {
            let _limit = Limit::on(session.client.cancel_token());
            if let Err(error) = play::play(&mut session, which, &script, older) {
                session.judge(which, &error);
            }
        }
        drop(session);
        world.tell("operation", &format!("{} {script:?}", generator.name));
        sleep(Duration::from_millis(self.rng.random_range(0..300)));
        self.mend(which);
        world.end_operation(which);
    }

    /// Makes the generator usable again, whatever was left of it.
    fn mend(&mut self, which: usize) {
        let world = Arc::clone(&self.world);
        let generator = &world.generators[which];
        let (server, database) = (world.server(), world.database());
        let sequence = &generator.sequence;
        let persistence =
            format!("SELECT relpersistence FROM pg_class WHERE oid = to_regclass('{sequence}')");
        let make_again = || {
            for sql in generator.make_again() {
                // What is there already is refused.
                let _ = server.try_psql(&database, &sql);
            }
        };
        wait_until(PATIENCE, "the generator to be mended", || {
            match server.try_psql(&database, &persistence).as_deref() {
                Ok("p") => return true,
                Ok("u") => {
                    let sql = format!("ALTER SEQUENCE {sequence} SET LOGGED");
                    let _ = server.try_psql(&database, &sql);
                }
                Ok(_) => make_again(),
                Err(_) => {}
            }
            false
        });
        // It may have been cut off before it was granted or owned.
        if generator.dropped {
            make_again();
        }
    }

    /// What comes soon after an operation.
    fn aftermath(&mut self) {
        sleep(Duration::from_millis(self.rng.random_range(0..400)));
        match self.rng.random_range(0..10) {
            0..5 => self.crash(),
            5 => self.kill_backend(),
            6 => self.step_clock(),
            _ => {}
        }
    }
}

/// Goes on from what was done before, if that went well.
fn take_some(session: &mut Session<'_>, which: usize, before: Result<(), Error>) {
    let taken =
        (0..5).fold(before, |so_far, _| so_far.and_then(|()| ways::take_within(session, which)));
    if let Err(error) = taken {
        session.judge(which, &error);
    }
}

/// Cancels what a session is at when it has taken too long, again and again until dropped.
///
/// The server's own timers cannot be relied on: with a clock that is ahead they do not
/// fire in a session that waits (see [`crate::Clock`]).
struct Limit {
    done: mpsc::Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Limit {
    fn on(token: CancelToken) -> Self {
        let (done, is_done) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut patience = LIMIT;
            while is_done.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = token.cancel_query(NoTls);
                patience = Duration::from_millis(500);
            }
        });
        Self { done, thread: Some(thread) }
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        let _ = self.done.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
