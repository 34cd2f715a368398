//! What a backend remembers of the tickets it uses, and how it takes numbers from them.
//!
//! A ticket is a row of `shardid.ticket` and a sequence. The row is read once and
//! again whenever PostgreSQL says that it or the sequence has changed; changes
//! wait for the lock that a transaction takes on the sequence with its first
//! number. Tickets are never freed: there are as many as a session has used.

use core::cell::{Cell, RefCell};

use pgrx::pg_sys::{Oid, XLogRecPtr};
use pgrx::prelude::*;
use rustc_hash::FxHashMap;
use shardid_ids::Class;

use crate::page::backend::{self, Transaction};
use crate::page::held::{self, Place, Unusable};
use crate::page::numbers::{self, Request, Visit};
use crate::page::text::given;
use crate::page::{BackendLocal, catalog, clocks, own_rows_are_left_out, relations};
use crate::report::{self, Report};

/// How many numbers a record covers beyond the one it was written for, as with
/// `nextval`: a crash skips so many.
const AHEAD: i64 = 32;

/// Each record of a session covers twice as many as the one before, up to this,
/// while records come in one transaction or within a second: all who take numbers
/// wait for a record, so a busy ticket must not need many. A crash skips about as
/// many numbers as were taken in its busiest second.
const AHEAD_MAX: i64 = 65_536;
const BUSY_US: i64 = 1_000_000;

/// The most tickets at a time.
const COUNT_MAX: i64 = 1_000_000;

/// The minimum of every ticket's sequence, which is below where it can stand: by this it is known.
pub(crate) const LOWEST: i64 = -1000;

/// What was read of a ticket in the extension's tables.
#[derive(Clone, Copy)]
struct Facts {
    sequence: Oid,
    /// The table they were read from: with it goes what it said.
    table: Oid,
    class: Class,
    floor: i64,
    /// Where the numbers end.
    end: i64,
    /// The first number that may not be handed out, while there is one.
    ceiling: Option<i64>,
    gapless: bool,
}

struct Ticket {
    name: Box<str>,
    facts: Cell<Option<Facts>>,
    /// The transaction that has locked the sequence and may use it.
    owner: Cell<Transaction>,
    /// How many numbers the next record is to cover.
    ahead: Cell<i64>,
    /// When this session wrote the last one, by the steady clock.
    recorded_us: Cell<i64>,
    /// The end of WAL that is known to be safe.
    safe: Cell<XLogRecPtr>,
    /// Where the page is, known anew in each transaction.
    place: Cell<Option<Place>>,
}

struct Backend {
    /// The ticket used last.
    hot: Cell<Option<&'static Ticket>>,
    tickets: RefCell<Option<FxHashMap<&'static str, &'static Ticket>>>,
    /// Counts what was forgotten, so that a read that was overtaken is read again.
    changes: Cell<u64>,
    /// The last transaction that has dropped a ticket or a tag.
    dropped: Cell<Transaction>,
}

static BACKEND: BackendLocal<Backend> = BackendLocal::new(Backend {
    hot: Cell::new(None),
    tickets: RefCell::new(None),
    changes: Cell::new(0),
    dropped: Cell::new(Transaction::NONE),
});

/// Numbers that were taken at once: each is `step` above the one before.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) first: i64,
    pub(crate) step: i64,
}

/// Forgets what may no longer be true of a relation, or of all of them.
pub(crate) fn forget(relation: Oid) {
    let state = BACKEND.get();
    state.changes.set(state.changes.get() + 1);
    if let Ok(Some(tickets)) = state.tickets.try_borrow().as_deref() {
        for ticket in tickets.values() {
            let concerned =
                |facts: Facts| [Oid::INVALID, facts.sequence, facts.table].contains(&relation);
            if ticket.facts.get().is_some_and(concerned) {
                ticket.facts.set(None);
                ticket.place.set(None);
            }
        }
    }
}

/// Forgets who may take numbers, also within a transaction, of which a savepoint may have given a
/// right that goes with it.
pub(crate) fn forget_rights() {
    let state = BACKEND.get();
    state.changes.set(state.changes.get() + 1);
    if let Ok(Some(tickets)) = state.tickets.try_borrow().as_deref() {
        for ticket in tickets.values() {
            ticket.owner.set(Transaction::NONE);
        }
    }
}

/// The next `count` numbers of a ticket.
pub(crate) fn take(name: &str, count: i64) -> Result<Run, Report> {
    let ticket = match BACKEND.get().hot.get() {
        Some(hot) if *hot.name == *name => hot,
        _ => find(name)?,
    };
    BACKEND.get().hot.set(Some(ticket));
    ticket.take(count)
}

/// Whether this transaction has dropped a ticket or a tag: one that it makes may be another of
/// that name, and a rollback would bring the one before back, with the numbers taken from the new one.
fn has_dropped() -> bool {
    BACKEND.get().dropped.get().same_transaction(Transaction::current())
}

/// Has this transaction take no numbers from what it makes, as it has dropped a ticket or a tag.
#[pg_extern]
fn note_dropped() {
    BACKEND.get().dropped.set(Transaction::current());
}

/// Refuses a number of tickets that is not meant.
pub(crate) fn check_count(count: i64) -> Result<(), Report> {
    match (1..=COUNT_MAX).contains(&count) {
        true => Ok(()),
        false => Err(report::ticket_count_out_of_range(count, COUNT_MAX)),
    }
}

/// The ticket of that name; what does not exist is not remembered.
fn find(name: &str) -> Result<&'static Ticket, Report> {
    let known = |tickets: &FxHashMap<_, &'static Ticket>| tickets.get(name).copied();
    if let Some(ticket) = BACKEND.get().tickets.borrow().as_ref().and_then(known) {
        return Ok(ticket);
    }
    // Not while the map is borrowed: what changes meanwhile must be forgotten.
    read(name)?;
    let ticket: &'static Ticket = Box::leak(Box::new(Ticket {
        name: name.into(),
        facts: Cell::new(None),
        owner: Cell::new(Transaction::NONE),
        ahead: Cell::new(AHEAD),
        recorded_us: Cell::new(0),
        safe: Cell::new(0),
        place: Cell::new(None),
    }));
    let mut tickets = BACKEND.get().tickets.borrow_mut();
    tickets.get_or_insert_default().insert(&ticket.name, ticket);
    Ok(ticket)
}

fn read(name: &str) -> Result<Facts, Report> {
    let row = catalog::ticket(name).ok_or_else(|| report::no_ticket(name))?;
    let shape = catalog::sequence_shape(row.sequence);
    let shape = shape.ok_or_else(|| {
        let last = row.last_gapless.map(|last| last.max(row.floor));
        report::ticket_without_sequence(name, (row.server, row.servers), last)
    })?;
    // Its number may have come from a dump, and be that of anything here.
    if shape.min != LOWEST {
        return Err(report::not_its_sequence(&relations::relation_name(row.sequence), name));
    }
    let class = Class::new(row.server.into(), row.servers.into());
    Ok(Facts {
        sequence: row.sequence,
        table: catalog::table(c"ticket"),
        class: class.expect("the table checks that servers are positive"),
        floor: row.floor,
        // The sequence's own end is lower while there is a ceiling, too.
        end: shape.max,
        ceiling: row.ceiling,
        gapless: row.last_gapless.is_some(),
    })
}

impl Ticket {
    fn take(&self, count: i64) -> Result<Run, Report> {
        let facts = self.ready()?;
        if facts.gapless {
            return Err(report::ticket_is_gapless(&self.name));
        }
        // The last number of all says that the ticket is gapless: nobody else leaves its sequence there.
        let top = facts.ceiling.map_or(facts.end - 1, |ceiling| facts.end.min(ceiling - 1));
        let request = Request {
            sequence: facts.sequence,
            class: facts.class,
            floor: facts.floor,
            top,
            count,
            ahead: self.ahead.get(),
            safe: self.safe.get(),
            timeline: backend::timeline(),
            place: self.place.get(),
            replaces: has_dropped(),
        };
        match numbers::visit(&request) {
            Visit::Taken { first, logged, safe, place } => {
                self.place.set(Some(place));
                self.safe.set(safe);
                if logged {
                    self.ahead.set((self.ahead.get() * 2).min(AHEAD_MAX));
                    self.recorded_us.set(clocks::steady_us());
                }
                Ok(Run { first, step: facts.class.step() })
            }
            Visit::Exhausted { last } => Err(match facts.ceiling {
                Some(ceiling) => report::ticket_at_ceiling(&self.name, last, ceiling),
                None if last == facts.end => report::ticket_counts_nothing(&self.name),
                None => report::ticket_ended(&self.name, last, request.top),
            }),
            Visit::Unusable(unusable) => {
                self.facts.set(None);
                Err(match unusable {
                    Unusable::Gone => report::no_ticket(&self.name),
                    other => unusable_sequence(facts.sequence, other),
                })
            }
        }
    }

    /// Makes sure of the facts, the lock, and the right to take numbers.
    fn ready(&self) -> Result<Facts, Report> {
        let now = Transaction::current();
        if self.owner.get() == now
            && !backend::read_only()
            && let Some(facts) = self.facts.get()
        {
            return Ok(facts);
        }
        backend::refuse_where_no_writes(c"next_ticket()")?;
        let facts = loop {
            let changes = BACKEND.get().changes.get();
            let facts = match self.facts.get() {
                Some(facts) => facts,
                None => read(&self.name)?,
            };
            // Before the lock, which would be kept: whoever may take none hinders nobody.
            let may = relations::may_use(facts.sequence, now.user());
            if may == Some(false) {
                return Err(report::no_privilege(&relations::relation_name(facts.sequence)));
            }
            // Whoever changes or drops the ticket holds this lock; behind it the
            // facts may be others, and then the change has been announced.
            held::lock(facts.sequence);
            if BACKEND.get().changes.get() == changes {
                // It went past the extension's tables.
                if may.is_none() {
                    return Err(report::no_ticket(&self.name));
                }
                self.facts.set(Some(facts));
                break facts;
            }
        };
        let anew = !self.owner.get().same_transaction(now);
        if anew && clocks::steady_us() - self.recorded_us.get() > BUSY_US {
            self.ahead.set(AHEAD);
        }
        self.owner.set(now);
        self.place.set(None);
        Ok(facts)
    }
}

fn check_privilege(
    sequence: Oid,
    now: Transaction,
    gone: impl FnOnce() -> Report,
) -> Result<(), Report> {
    match relations::may_use(sequence, now.user()) {
        Some(true) => Ok(()),
        Some(false) => Err(report::no_privilege(&relations::relation_name(sequence))),
        None => Err(gone()),
    }
}

fn unusable_sequence(sequence: Oid, unusable: Unusable) -> Report {
    let name = relations::relation_name(sequence);
    match unusable {
        Unusable::Gone => report::not_a_rising_sequence(&name),
        other => report::unusable(&name, other),
    }
}

/// The next number of a ticket.
#[pg_extern]
fn next_ticket(name: &[u8]) -> i64 {
    take(&given(name), 1).unwrap_or_else(|report| report.throw()).first
}

/// The next number of a ticket that waits for other transactions and leaves no gap.
///
/// Who may take numbers is decided here; the row that counts them is written by
/// a function with its owner's rights.
#[pg_extern]
fn next_ticket_gapless(name: &[u8]) -> i64 {
    let name = &*given(name);
    let allowed = || {
        let facts = read(name)?;
        let now = Transaction::current();
        check_privilege(facts.sequence, now, || report::no_ticket(name))
    };
    let checked = || {
        backend::refuse_where_no_writes(c"next_ticket_gapless()")?;
        if own_rows_are_left_out() {
            return Err(report::gapless_while_replicating(name));
        }
        allowed()
    };
    checked().unwrap_or_else(|report: Report| report.throw());
    let number = backend::call_with_text("shardid.take_gapless(pg_catalog.text)", name);
    // Its row is locked now. Before, somebody may have made the ticket anew, for others.
    allowed().unwrap_or_else(|report| report.throw());
    number
}

/// How many numbers may be taken at once, as many as a segment may span.
const MOST_AT_ONCE: i64 = 1_000_000_000;

/// The first of the next `count` numbers of a sequence, taken at once.
#[pg_extern]
fn take_numbers(sequence: Oid, count: i64) -> i64 {
    take_from(sequence, count).unwrap_or_else(|report| report.throw())
}

fn take_from(sequence: Oid, count: i64) -> Result<i64, Report> {
    backend::refuse_where_no_writes(c"take_numbers()")?;
    if !(1..=MOST_AT_ONCE).contains(&count) {
        return Err(report::ticket_count_out_of_range(count, MOST_AT_ONCE));
    }
    let wrong = || report::not_a_rising_sequence(&relations::relation_name(sequence));
    if catalog::sequence_shape(sequence).is_none() {
        return Err(wrong());
    }
    // Before the lock, which would be kept.
    check_privilege(sequence, Transaction::current(), wrong)?;
    held::lock(sequence);
    // Segments count by one; a generator of ids counts by ticks, and its clock rule is not here.
    let shape = catalog::sequence_shape(sequence).filter(|s| s.increment == 1).ok_or_else(wrong)?;
    let class = Class::new(shape.start, shape.increment).ok_or_else(wrong)?;
    let (floor, top) = (shape.min.saturating_sub(1), shape.max);
    let request = Request {
        sequence,
        class,
        floor,
        top,
        count,
        ahead: AHEAD,
        safe: 0,
        timeline: backend::timeline(),
        place: None,
        replaces: has_dropped(),
    };
    match numbers::visit(&request) {
        Visit::Taken { first, .. } => Ok(first),
        Visit::Exhausted { last } => {
            Err(report::sequence_ended(&relations::relation_name(sequence), count, last, top))
        }
        Visit::Unusable(unusable) => Err(unusable_sequence(sequence, unusable)),
    }
}
