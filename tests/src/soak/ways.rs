//! The ways of taking ids.

use std::io::BufRead;
use std::time::Instant;

use postgres::Error;
use postgres::fallible_iterator::FallibleIterator;
use rand::Rng;

use super::Maker;
use super::session::Session;
use super::world::World;

/// A way, and how often it is gone.
const WAYS: [(Way, u32); 10] = [
    (Way::Single, 6),
    (Way::Bulk, 8),
    (Way::Many, 5),
    (Way::PageOnEveryCall, 3),
    (Way::Savepoints, 6),
    (Way::TwoRoles, 3),
    (Way::Default, 3),
    (Way::HereOrSchema, 3),
    (Way::Copy, 3),
    (Way::Stranger, 1),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// One after another, each a transaction.
    Single,
    /// In one statement.
    Bulk,
    /// `next_ids`.
    Many,
    PageOnEveryCall,
    /// In a transaction with savepoints that are rolled back or not.
    Savepoints,
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
}

/// Whether ids of this way rise in a session and keep to `shardid.max_drift`.
pub(super) fn obeys_the_clock(world: &World, way: &str) -> bool {
    way != "nextval" && world.soak.maker != Maker::Classic
}

/// Takes some ids from a generator, in a way of its own choice.
pub(super) fn take(session: &mut Session<'_>, which: usize) -> Result<(), Error> {
    let generator = &session.world.generators[which];
    let (next, shard) = (generator.next.clone(), generator.shard);
    let mut way = choose(session);
    let of_shards_only = matches!(way, Way::Many | Way::Default | Way::HereOrSchema);
    if session.world.soak.maker == Maker::Classic || !generator.is_shard && of_shards_only {
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
        Way::Savepoints => savepoints(session, which, since, &next, count),
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
    }
}

fn choose(session: &mut Session<'_>) -> Way {
    let mut left = session.rng.random_range(0..WAYS.iter().map(|(_, weight)| weight).sum());
    for (way, weight) in WAYS {
        if left < weight {
            return way;
        }
        left -= weight;
    }
    Way::Bulk
}

/// Receives the rows of a query as they come: what has come counts, also where
/// the rest never does.
fn rows(
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

fn savepoints(
    session: &mut Session<'_>,
    which: usize,
    since: Instant,
    next: &str,
    count: i64,
) -> Result<(), Error> {
    session.client.batch_execute("BEGIN")?;
    let steps = session.rng.random_range(1..6);
    let sql = format!("SELECT {next} FROM generate_series(1, {})", count / steps + 1);
    for _ in 0..steps {
        session.client.batch_execute("SAVEPOINT step")?;
        rows(session, which, "savepoints", since, &sql)?;
        let end = if session.rng.random() { "ROLLBACK TO step" } else { "RELEASE step" };
        session.client.batch_execute(end)?;
        rows(session, which, "savepoints", since, &format!("SELECT {next}"))?;
    }
    let end = if session.rng.random() { "COMMIT" } else { "ROLLBACK" };
    session.client.batch_execute(end)
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
    {
        let mut lines = session.client.copy_out(&format!("COPY ({sql}) TO STDOUT"))?;
        let mut line = String::new();
        // A line without an end was cut off, and nobody knows what it was to be.
        while lines.read_line(&mut line).is_ok_and(|_| line.ends_with('\n')) {
            ids.push(line.trim_end().parse().expect("COPY writes a number in each line"));
            line.clear();
        }
    }
    session.receive(which, "copy", since, &ids);
    // Where the copy was cut off, this says why.
    session.client.batch_execute("")
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
