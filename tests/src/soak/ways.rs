//! The ways of taking ids.

use std::io::BufRead;
use std::time::Instant;

use postgres::Error;
use postgres::fallible_iterator::FallibleIterator;
use rand::Rng;

use super::fault::by_weight;
use super::session::{Session, Sort};
use super::world::World;
use super::{Maker, play, script};

/// A way, and how often it is gone.
const WAYS: [(Way, u32); 10] = [
    (Way::Single, 6),
    (Way::Bulk, 8),
    (Way::Many, 5),
    (Way::PageOnEveryCall, 3),
    (Way::Mixed, 8),
    (Way::TwoRoles, 3),
    (Way::Default, 3),
    (Way::HereOrSchema, 3),
    (Way::Copy, 3),
    (Way::Stranger, 1),
];

/// The ways that can be gone in the middle of a transaction.
const WITHIN: [(Way, u32); 5] =
    [(Way::Single, 2), (Way::Bulk, 4), (Way::Many, 3), (Way::PageOnEveryCall, 1), (Way::Copy, 1)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// One after another, each a transaction.
    Single,
    /// In one statement.
    Bulk,
    /// `next_ids`.
    Many,
    PageOnEveryCall,
    /// In a transaction with savepoints that are rolled back or not, in several ways.
    Mixed,
    /// Two roles in one transaction.
    TwoRoles,
    /// By the default of a column.
    Default,
    /// `next_id()` on the session's shard, or the one of a schema.
    HereOrSchema,
    /// `COPY … TO`.
    Copy,
    /// `nextval` by somebody who does not know what the sequence is.
    Stranger,
    /// By the library of version 0.1.0.
    Old,
}

/// Whether ids of this way rise in a session and keep to `shardid.max_drift`.
pub(super) fn obeys_the_clock(world: &World, way: &str) -> bool {
    !["nextval", "old library", "parallel"].contains(&way) && !has_no_choice(world)
}

/// Whether the generator is a function that knows but one way.
fn has_no_choice(world: &World) -> bool {
    matches!(world.soak.maker, Maker::Classic | Maker::Planted)
}

/// Takes some ids from a generator, in a way of its own choice.
pub(super) fn take(session: &mut Session<'_>, which: usize) -> Result<(), Error> {
    let way = match session.sort {
        Sort::Old => Way::Old,
        _ => *by_weight(&WAYS, &mut session.rng),
    };
    go(session, which, way)
}

/// Takes some ids in the middle of a transaction.
pub(super) fn take_within(session: &mut Session<'_>, which: usize) -> Result<(), Error> {
    let way = *by_weight(&WITHIN, &mut session.rng);
    go(session, which, way)
}

fn go(session: &mut Session<'_>, which: usize, mut way: Way) -> Result<(), Error> {
    let generator = &session.world.generators[which];
    let (next, shard) = (generator.next.clone(), generator.shard);
    let of_shards_only = matches!(way, Way::Many | Way::Default | Way::HereOrSchema);
    if has_no_choice(session.world)
        || !generator.is_shard && of_shards_only
        || generator.altered && way == Way::Stranger
        || session.world.is_lost(which) && matches!(way, Way::Stranger | Way::Old)
    {
        way = Way::Bulk;
    }
    // Not more than a second's worth, and mostly few.
    let most = generator.layout.per_second().clamp(1, 20_000) as f64;
    let count = most.powf(session.rng.random_range(0.2..1.0)) as i64;
    let series = format!("SELECT {next} FROM generate_series(1, {count})");
    let since = Instant::now();
    match way {
        Way::Single => {
            let statement = session.client.prepare(&format!("SELECT {next}"))?;
            for _ in 0..count.min(200) {
                let id = session.client.query_one(&statement, &[])?.get(0);
                session.receive(which, "single", since, &[id]);
            }
            Ok(())
        }
        Way::Bulk => rows(session, which, "bulk", since, &series),
        Way::Many => {
            let sql = format!("SELECT next_ids({shard}, {count})");
            rows(session, which, "next_ids", since, &sql)
        }
        Way::PageOnEveryCall => {
            let block = if session.rng.random() { 1 } else { session.rng.random_range(1..=256) };
            session.client.batch_execute(&format!("SET shardid.block = {block}"))?;
            let taken = rows(session, which, "small blocks", since, &series);
            taken.and_then(|()| session.client.batch_execute("RESET shardid.block"))
        }
        Way::Mixed => {
            let script = script::at_random(&mut session.rng, &[], None);
            play::play(session, which, &script, 0)
        }
        Way::TwoRoles => two_roles(session, which, since, &next, count),
        Way::Default if shard == 5 => {
            let sql = format!(
                "INSERT INTO filled (n) SELECT generate_series(1, {}) RETURNING id",
                count.min(2000)
            );
            rows(session, which, "default", since, &sql)
        }
        Way::Default | Way::HereOrSchema => {
            session.client.batch_execute(&format!("SET shardid.shard = {shard}"))?;
            let own = if session.rng.random() {
                "next_id()".into()
            } else {
                format!("shard_{shard:04}.next_id()")
            };
            let sql = format!("SELECT {own} FROM generate_series(1, {count})");
            rows(session, which, "next_id()", since, &sql)
        }
        Way::Copy => copy(session, which, since, &series),
        Way::Stranger => stranger(session, which, since),
        Way::Old => {
            let sql = format!("SELECT old_next_ids({shard}, {count})");
            rows(session, which, "old library", since, &sql)
        }
    }
}

/// Receives the rows of a query as they come: what has come counts, also where
/// the rest never does.
pub(super) fn rows(
    session: &mut Session<'_>,
    which: usize,
    way: &'static str,
    since: Instant,
    sql: &str,
) -> Result<(), Error> {
    let mut ids = Vec::new();
    let mut result = Ok(());
    {
        let no_parameters: [&str; 0] = [];
        let mut rows = session.client.query_raw(sql, no_parameters)?;
        loop {
            match rows.next() {
                Ok(Some(row)) => ids.push(row.get(0)),
                Ok(None) => break,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
    }
    session.receive(which, way, since, &ids);
    result
}

fn two_roles(
    session: &mut Session<'_>,
    which: usize,
    since: Instant,
    next: &str,
    count: i64,
) -> Result<(), Error> {
    session.client.batch_execute("BEGIN")?;
    let sql = format!("SELECT {next} FROM generate_series(1, {})", count / 4 + 1);
    for role in ["ann", "bob", "ann", "bob"] {
        session.client.batch_execute(&format!("SET LOCAL ROLE {role}"))?;
        rows(session, which, "two roles", since, &sql)?;
    }
    session.client.batch_execute("COMMIT")
}

fn copy(session: &mut Session<'_>, which: usize, since: Instant, sql: &str) -> Result<(), Error> {
    let mut ids = Vec::new();
    let cut_off = {
        let mut lines = session.client.copy_out(&format!("COPY ({sql}) TO STDOUT"))?;
        let mut line = String::new();
        loop {
            line.clear();
            match lines.read_line(&mut line) {
                // A line without an end was cut off, and nobody knows what it was to be.
                Ok(_) if !line.ends_with('\n') => break None,
                Ok(_) => ids.push(line.trim_end().parse().expect("COPY writes numbers")),
                Err(error) => break error.into_inner(),
            }
        }
    };
    session.receive(which, "copy", since, &ids);
    match cut_off.map(|error| error.downcast::<Error>()) {
        Some(Ok(error)) => Err(*error),
        // Where the connection was cut off, this says why.
        _ => session.client.batch_execute(""),
    }
}

/// Takes ids as a program would that was told that this is a sequence.
///
/// Its ids only count when the statement has ended, as always with `nextval`:
/// PostgreSQL may send them before they are safe.
fn stranger(session: &mut Session<'_>, which: usize, since: Instant) -> Result<(), Error> {
    let generator = &session.world.generators[which];
    // Each one takes a whole tick.
    let times = if generator.layout.tick_us < 1_000_000 { 20 } else { 1 };
    let sql = format!("SELECT nextval('{}')", generator.sequence);
    for _ in 0..session.rng.random_range(1..=times) {
        let id = session.client.query_one(&sql, &[])?.get(0);
        session.receive(which, "nextval", since, &[id]);
    }
    Ok(())
}
