//! What a backend remembers of the generators it uses, and how it takes ids from them.
//!
//! A generator is a shard's sequence or an id sequence of its own. Its facts
//! (layout, shard, where the sequence is) are read once and again whenever
//! PostgreSQL says that the sequence has changed; the block of ids it holds is
//! good for one user and one tick, and after its transaction for a millisecond.
//! Generators are never freed: there are as many as a session has used, at under 200 bytes each.

use core::cell::{Cell, RefCell};
use core::hash::BuildHasher;

use hashbrown::HashTable;
use pgrx::pg_sys::Oid;
use rustc_hash::FxBuildHasher;
use shardid_ids::{ClockBase, Flushed, Layout, Shard};

use crate::page::backend::{self, LocalTransaction, Transaction};
use crate::page::held::Place;
use crate::page::{BackendLocal, catalog, clocks, relations};
use crate::report::{self, Report};
use crate::{horizon, settings};

mod facts;
mod take;

/// Names a generator: a shard's number, or the oid of an id sequence.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key(u64);

const SEQUENCE: u64 = 1 << 32;

impl Key {
    pub(crate) fn shard(shard: i32) -> Self {
        Self(u64::from(shard as u32))
    }

    pub(crate) fn sequence(sequence: Oid) -> Self {
        Self(SEQUENCE | u64::from(sequence.to_u32()))
    }

    /// The sequence, if that is what it names.
    fn as_sequence(self) -> Option<Oid> {
        (self.0 & SEQUENCE != 0).then(|| Oid::from(self.0 as u32))
    }

    fn as_shard(self) -> i32 {
        self.0 as i32
    }
}

/// What was read of a generator in the extension's tables.
#[derive(Clone, Copy)]
struct Facts {
    sequence: Oid,
    /// The table they were read from: with it goes what it said.
    table: Oid,
    /// The table of shards, which an update keeps: with another extension come other tables.
    installation: Oid,
    shard: Shard,
    /// Shared by all generators that have it.
    layout: &'static Layout,
}

/// A session has one for each shard it has used: what is small is in a small type.
struct Generator {
    key: Key,
    facts: Cell<Option<Facts>>,
    /// Which sequence is locked, and by which transaction.
    locked: Cell<Oid>,
    locked_in: Cell<LocalTransaction>,
    /// The block: the next id and the last one, and the instant its tick ends.
    next: Cell<i64>,
    end: Cell<i64>,
    until_us: Cell<i64>,
    /// Whether the coarse clock may show that the tick lasts.
    far_ahead: Cell<bool>,
    /// Whose block it is.
    owner: Cell<Transaction>,
    /// Up to when later transactions may use it.
    kept_until_us: Cell<i64>,
    /// How many ids the block was meant to have.
    size: Cell<u16>,
    /// How many ids were taken since `kept_until_us` was set.
    taken: Cell<u16>,
    /// How many ids a block may have that outlives its transaction.
    most_kept: Cell<u16>,
    /// The highest id this session was given by the generator; -1 for none.
    floor: Cell<i64>,
    /// The layout of that id: a number may be given to another generator, of another layout.
    floor_layout: Cell<Option<&'static Layout>>,
    flushed: Cell<Flushed>,
    /// Where the page is, while the sequence does not change.
    place: Cell<Option<Place>>,
    /// The user that may take ids, by a look in this transaction.
    allowed: Cell<Oid>,
}

struct Backend {
    /// The generator used last.
    hot: Cell<Option<&'static Generator>>,
    /// The last id of the session; negative before the first.
    last_id: Cell<i64>,
    /// The end of what `take_many` took.
    end_of_many: Cell<i64>,
    /// By their keys, which they have themselves.
    generators: RefCell<HashTable<&'static Generator>>,
    /// The layouts of the generators, each once.
    layouts: RefCell<Vec<&'static Layout>>,
    /// The only shard there is, while it is known to be that.
    only_shard: Cell<Option<i32>>,
    /// Counts what was forgotten, so that a read that was overtaken is read again.
    changes: Cell<u64>,
    /// Both clocks when the library was loaded, or first used by a process that had it from the one that has made it.
    clock: Cell<ClockBase>,
    /// The process that has read them.
    clock_of: Cell<u32>,
    /// Up to which time the wall clock needs no further look.
    clock_checked_until_us: Cell<i64>,
}

/// Before all time.
const NEVER_US: i64 = i64::MIN;

/// How far the coarse clock may lag: some ticks of the slowest kernel timer. Were it
/// ever more, an id would be late in its tick by the difference, and still be unique.
const COARSE_LAG_US: i64 = 50_000;

/// How long a block may be used after the transaction that took it.
const KEPT_US: i64 = 1_000;

/// The part of the ids of that time that such a block has at most: what is not used of it
/// should not be missed, also where each of many sessions has one.
const KEPT_PART: i64 = 32;

const NO_CLOCK: ClockBase = ClockBase { wall_us: 0, steady_us: 0 };

static BACKEND: BackendLocal<Backend> = BackendLocal::new(Backend {
    hot: Cell::new(None),
    last_id: Cell::new(-1),
    end_of_many: Cell::new(-1),
    generators: RefCell::new(HashTable::new()),
    layouts: RefCell::new(Vec::new()),
    only_shard: Cell::new(None),
    changes: Cell::new(0),
    clock: Cell::new(NO_CLOCK),
    clock_of: Cell::new(0),
    clock_checked_until_us: Cell::new(i64::MIN),
});

/// Reads the clocks that later jumps are measured against.
pub(crate) fn start() {
    let state = BACKEND.get();
    state.clock.set(clocks::clock_base());
    state.clock_of.set(std::process::id());
}

/// The next id of the block at hand, if that is all it takes.
#[inline(always)]
pub(crate) fn hand_out(key: Key) -> Option<i64> {
    let generator = BACKEND.get().hot.get()?;
    if generator.key == key { generator.next_of_block() } else { None }
}

/// The next id of a generator.
pub(crate) fn next_id(key: Key) -> Result<i64, Report> {
    let generator = match BACKEND.get().hot.get() {
        Some(hot) if hot.key == key => hot,
        _ => find(key),
    };
    BACKEND.get().hot.set(Some(generator));
    if let Some(id) = generator.next_of_block() {
        return Ok(id);
    }
    let first = generator.refill()?;
    remember_last(first);
    Ok(first)
}

/// Takes up to `want` ids of one tick; returns the first, [`end_of_many`] the last.
pub(crate) fn take_many(key: Key, want: i64) -> Result<i64, Report> {
    let generator = find(key);
    // What is left of a block would come out below what is taken now.
    generator.drop_block();
    let (first, count, _) = generator.take(want)?;
    BACKEND.get().end_of_many.set(first + (count - 1));
    Ok(first)
}

/// The last id of the run that [`take_many`] has just taken.
pub(crate) fn end_of_many() -> i64 {
    BACKEND.get().end_of_many.get()
}

pub(crate) fn check_count(count: i64) -> Result<(), Report> {
    if count < 0 { Err(report::count_out_of_range(count)) } else { Ok(()) }
}

/// Notes the id as the session's last.
#[inline(always)]
pub(crate) fn remember_last(id: i64) {
    BACKEND.get().last_id.set(id);
}

/// Forgets the last id: who has the connection next must not see it.
pub(crate) fn forget_last_id() {
    BACKEND.get().last_id.set(-1);
}

/// The last id this session was given.
pub(crate) fn last_id() -> Option<i64> {
    Some(BACKEND.get().last_id.get()).filter(|&id| id >= 0)
}

/// The shard that `next_id()` uses, where that is known without looking.
pub(crate) fn known_shard_here() -> Option<i32> {
    settings::shard().or_else(|| BACKEND.get().only_shard.get())
}

/// The shard that `next_id()` uses: the session's, or the only one there is.
pub(crate) fn shard_here() -> Result<i32, Report> {
    if let Some(shard) = known_shard_here() {
        return Ok(shard);
    }
    match catalog::shards_here() {
        (1, Some(shard)) => {
            BACKEND.get().only_shard.set(Some(shard));
            Ok(shard)
        }
        (count, _) => Err(report::no_shard_chosen(count)),
    }
}

/// Forgets what may no longer be true of a relation, or of all of them.
pub(crate) fn forget(relation: Oid) {
    let state = BACKEND.get();
    state.changes.set(state.changes.get() + 1);
    horizon::get().forget(relation);
    // Any relation may be the table of shards; reading that again is cheap.
    state.only_shard.set(None);
    if let Ok(generators) = state.generators.try_borrow() {
        for generator in generators.iter() {
            let concerned =
                |facts: Facts| [Oid::INVALID, facts.sequence, facts.table].contains(&relation);
            if generator.facts.get().is_some_and(concerned) {
                generator.facts.set(None);
                generator.flushed.set(Flushed::NOTHING);
                generator.place.set(None);
                generator.drop_block();
            }
        }
    }
}

/// Forgets who may take ids: what a role may do, or is a member of, has changed.
///
/// Also within a transaction, of which a savepoint may have given a right that goes with it.
pub(crate) fn forget_rights() {
    let state = BACKEND.get();
    state.changes.set(state.changes.get() + 1);
    if let Ok(generators) = state.generators.try_borrow() {
        for generator in generators.iter() {
            generator.allowed.set(Oid::INVALID);
            generator.drop_block();
            // One that changes roles as it goes on should not leave a block behind each time.
            generator.size.set(0);
        }
    }
}

/// The generator of that key, new if this is its first use.
fn find(key: Key) -> &'static Generator {
    let mut generators = BACKEND.get().generators.borrow_mut();
    let hash = |key| FxBuildHasher.hash_one(key);
    if let Some(known) = generators.find(hash(key), |known| known.key == key) {
        return known;
    }
    let new: &'static Generator = Box::leak(Box::new(Generator::new(key)));
    generators.insert_unique(hash(key), new, |other| hash(other.key));
    new
}

/// The one copy of a layout: a few there are, and each is needed as long as the session.
fn shared(layout: Layout) -> &'static Layout {
    let mut layouts = BACKEND.get().layouts.borrow_mut();
    if let Some(known) = layouts.iter().find(|known| ***known == layout) {
        return known;
    }
    let new: &'static Layout = Box::leak(Box::new(layout));
    layouts.push(new);
    new
}

impl Generator {
    fn new(key: Key) -> Self {
        Self {
            key,
            facts: Cell::new(None),
            locked: Cell::new(Oid::INVALID),
            locked_in: Cell::new(LocalTransaction::NONE),
            next: Cell::new(0),
            end: Cell::new(-1),
            until_us: Cell::new(NEVER_US),
            far_ahead: Cell::new(false),
            owner: Cell::new(Transaction::NONE),
            kept_until_us: Cell::new(NEVER_US),
            size: Cell::new(0),
            taken: Cell::new(0),
            most_kept: Cell::new(1),
            floor: Cell::new(-1),
            floor_layout: Cell::new(None),
            flushed: Cell::new(Flushed::NOTHING),
            place: Cell::new(None),
            allowed: Cell::new(Oid::INVALID),
        }
    }

    #[inline(always)]
    fn next_of_block(&self) -> Option<i64> {
        let next = self.next.get();
        if next > self.end.get() || backend::read_only() {
            return None;
        }
        let now = Transaction::current();
        let good = if self.owner.get() == now { self.tick_lasts() } else { self.is_kept_for(now) };
        if !good {
            return None;
        }
        self.next.set(next + 1);
        remember_last(next);
        Some(next)
    }

    /// Whether the clock has not passed the block's tick.
    ///
    /// A session that takes ids faster than the layout has them is ahead of the
    /// clock, and the coarse clock is enough to see that: 7 ns a call instead of 24.
    #[inline(always)]
    fn tick_lasts(&self) -> bool {
        let until_us = self.until_us.get();
        (self.far_ahead.get() && clocks::now_coarse_us() < until_us - COARSE_LAG_US)
            || clocks::now_us() < until_us
    }

    /// Whether what is left of another transaction's block may be used in this one.
    ///
    /// Statements that are transactions of their own, and follow each other closely, then
    /// visit the page and lock the sequence once for many. The transaction that took the
    /// block has left nothing behind that its rollback would take away; and whatever changed
    /// the shard, its sequence or a right before this one began has been told to it. A
    /// transaction of several statements locks the sequence.
    #[inline(never)]
    fn is_kept_for(&self, now: Transaction) -> bool {
        self.owner.get().user() == now.user()
            && !backend::in_transaction_block()
            && self.facts.get().is_some_and(|facts| {
                // Asked anew, as PostgreSQL does: what is remembered of members may be out of date.
                relations::may_use(facts.sequence, now.user()) == Some(true)
            })
            // The look may have been told of a change, which ends the block.
            && self.next.get() <= self.end.get()
            && clocks::now_us() < self.kept_until_us.get()
    }

    /// Takes a block, twice the last one in a run, and returns its first id.
    fn refill(&self) -> Result<i64, Report> {
        if settings::block() == 1 {
            // No block: nothing of it to remember, and no clock to read for it.
            self.drop_block();
            return self.take(1).map(|(first, _, _)| first);
        }
        let now_us = clocks::now_us();
        let (size, kept_until_us) = (i64::from(self.size.get()) * 2, self.kept_until_us.get());
        let most = settings::block().min(self.most_kept.get().into());
        let goes_on = now_us < kept_until_us;
        let size = if self.owner.get().same_transaction(Transaction::current()) {
            size.min(settings::block())
        } else if goes_on {
            size.min(most)
        } else if now_us - KEPT_US < kept_until_us {
            // As many as were used in the time before.
            (i64::from(self.taken.get()) - (self.end.get() - self.next.get() + 1)).min(most)
        } else {
            1
        };
        let size = size.max(1);
        let (first, count, until_us) = self.take(size)?;
        self.size.set(size as u16);
        self.next.set(first + 1);
        self.end.set(first + (count - 1));
        self.until_us.set(until_us);
        self.far_ahead.set(now_us < until_us.saturating_sub(COARSE_LAG_US));
        // Ahead of the clock another session may be in the next tick already.
        let tick_us = self.facts.get().map_or(0, |facts| facts.layout.tick_us());
        let lasts =
            until_us - now_us <= tick_us && self.place.get().is_some_and(|place| place.lasts());
        let (taken, kept_us) = match goes_on {
            true => (self.taken.get(), kept_until_us),
            false => (0, now_us + KEPT_US),
        };
        // More than a block is not needed of it.
        self.taken.set(count.saturating_add(taken.into()).min(u16::MAX.into()) as u16);
        self.kept_until_us.set(if lasts { kept_us.min(until_us) } else { NEVER_US });
        Ok(first)
    }

    fn drop_block(&self) {
        self.next.set(self.end.get() + 1);
    }
}
