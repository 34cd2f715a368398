//! What a backend remembers of the shards it has used, and what it knows of itself.
//!
//! `generator.rs` and `page/backend.rs` of 0.1.0, as far as `next_ids` goes.

use core::cell::{Cell, RefCell, UnsafeCell};
use core::ffi::{CStr, c_long};
use std::ffi::CString;

use pgrx::{PgSqlErrorCode, ereport, pg_sys};
use shardid_ids::Layout;

use crate::page::{self, Place, Unusable};
use crate::rules::Refused;
use crate::visit::{self, Flushed, Request, Visit};

struct Generator {
    shard: i32,
    /// The sequence; invalid while it has to be looked for.
    sequence: Cell<pg_sys::Oid>,
    /// The table that 0.1.0 reads of the shard from: a change there is one of the shard.
    table: Cell<pg_sys::Oid>,
    /// In which transaction the sequence is locked and the place known.
    owner: Cell<u32>,
    flushed: Cell<Flushed>,
    /// Where the page is, known anew in each transaction.
    place: Cell<Option<Place>>,
}

struct Backend {
    generators: RefCell<Vec<&'static Generator>>,
    /// Counts what was forgotten, so that a look that was overtaken is made again.
    changes: Cell<u64>,
}

/// State of the one thread that a backend has.
struct BackendLocal(UnsafeCell<Backend>);

// SAFETY: only the backend's one thread ever calls into the library.
unsafe impl Sync for BackendLocal {}

static BACKEND: BackendLocal = BackendLocal(UnsafeCell::new(Backend {
    generators: RefCell::new(Vec::new()),
    changes: Cell::new(0),
}));

fn backend() -> &'static Backend {
    // SAFETY: no exclusive reference is ever made.
    unsafe { &*BACKEND.0.get() }
}

/// The layout `instagram` of 0.1.0.
fn instagram() -> Layout {
    Layout::new(1_767_225_600_000_000, 1_000, Some(1 << 40), 1 << 13, 1 << 10)
        .expect("a layout inside the limits")
}

/// Takes up to `want` ids of one tick: the first, and how many.
pub(crate) fn take(shard: i32, want: i64) -> (i64, i64) {
    let layout = instagram();
    let generator = find(shard);
    generator.ready();
    let max_drift_ms = setting_ms(c"shardid.max_drift", 10_000);
    let lease_ms = setting_ms(c"shardid.lease", 1_000).min(max_drift_ms);
    let max_wait_ms = setting_ms(c"shardid.max_wait", 1_000);
    let Ok(checked) = layout.shard(shard.into()) else {
        pgrx::error!("shard {shard} is out of range for layout \"instagram\"");
    };
    let request = Request {
        sequence: generator.sequence.get(),
        layout,
        shard: checked,
        want,
        lease_ticks: layout.whole_ticks(lease_ms * 1_000),
        max_drift_ticks: layout.whole_ticks(max_drift_ms * 1_000),
        flushed: generator.flushed.get(),
        place: generator.place.get(),
    };
    let mut give_up_us = None;
    loop {
        match visit::visit(&request) {
            Visit::Taken { first, count, flushed, place } => {
                generator.flushed.set(flushed);
                generator.place.set(Some(place));
                return (first, count);
            }
            Visit::Refused(Refused::TooFarAhead { ready_tick }) => {
                let give_up_us = *give_up_us.get_or_insert(steady_us() + max_wait_ms * 1_000);
                let wait_us = layout.time_us(ready_tick) - now_us();
                let left_us = give_up_us - steady_us();
                if left_us <= 0 {
                    refuse(&format!("shard {shard} is too far ahead of the clock"));
                }
                let nap_us = wait_us.min(left_us).clamp(1, 100_000);
                sleep_interruptibly((nap_us + 999) / 1_000);
            }
            Visit::Refused(Refused::Ended) => refuse("layout \"instagram\" has ended"),
            Visit::Unusable(Unusable::Gone) => {
                generator.sequence.set(pg_sys::Oid::INVALID);
                no_such_shard(shard);
            }
            Visit::Unusable(Unusable::NotPermanent) => {
                refuse(&format!("the sequence of shard {shard} is not permanent"));
            }
            Visit::Unusable(Unusable::Broken) => {
                refuse(&format!("the sequence of shard {shard} is not one"));
            }
        }
    }
}

/// The generator of that shard, new if this is its first use.
fn find(shard: i32) -> &'static Generator {
    let mut generators = backend().generators.borrow_mut();
    if let Some(known) = generators.iter().find(|known| known.shard == shard) {
        return known;
    }
    let new: &'static Generator = Box::leak(Box::new(Generator {
        shard,
        sequence: Cell::new(pg_sys::Oid::INVALID),
        table: Cell::new(pg_sys::Oid::INVALID),
        owner: Cell::new(0),
        flushed: Cell::new(Flushed::NOTHING),
        place: Cell::new(None),
    }));
    generators.push(new);
    new
}

impl Generator {
    /// Makes sure of the sequence and its lock.
    fn ready(&self) {
        let now = transaction();
        let known = self.sequence.get() != pg_sys::Oid::INVALID;
        // SAFETY: a plain variable of the backend.
        if known && self.owner.get() == now && !unsafe { pg_sys::XactReadOnly } {
            return;
        }
        // SAFETY: both take a name for their message and raise an ordinary error.
        unsafe {
            pg_sys::PreventCommandDuringRecovery(c"old_next_ids()".as_ptr());
            pg_sys::PreventCommandIfReadOnly(c"old_next_ids()".as_ptr());
        }
        loop {
            let changes = backend().changes.get();
            if self.sequence.get() == pg_sys::Oid::INVALID {
                self.look();
            }
            // Behind the lock the sequence may be another, and then that has been announced.
            page::lock(self.sequence.get());
            if backend().changes.get() == changes {
                break;
            }
        }
        self.owner.set(now);
        self.place.set(None);
    }

    /// Finds the sequence by its name.
    fn look(&self) {
        let schema = format!("shard_{:04}", self.shard);
        let sequence = relation(&schema, c"shard_id_seq");
        if sequence == pg_sys::Oid::INVALID {
            no_such_shard(self.shard);
        }
        self.sequence.set(sequence);
        self.table.set(relation("shardid", c"shard"));
    }
}

/// The oid of a relation, invalid where there is none.
fn relation(schema: &str, name: &CStr) -> pg_sys::Oid {
    let schema = CString::new(schema).expect("a name has no zeros");
    // SAFETY: two lookups; a missing schema has no relations.
    unsafe {
        let schema = pg_sys::get_namespace_oid(schema.as_ptr(), true);
        pg_sys::get_relname_relid(name.as_ptr(), schema)
    }
}

/// Has what is remembered of it forgotten when a relation changes, or all may have.
pub(crate) fn watch_relations() {
    unsafe extern "C-unwind" fn changed(_: pg_sys::Datum, relation: pg_sys::Oid) {
        forget(relation);
    }
    // SAFETY: called once, while the library loads; a library is never unloaded,
    // and `forget` neither panics nor calls PostgreSQL.
    unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(changed), pg_sys::Datum::from(0));
    }
}

fn forget(relation: pg_sys::Oid) {
    let backend = backend();
    backend.changes.set(backend.changes.get() + 1);
    let Ok(generators) = backend.generators.try_borrow() else { return };
    for generator in generators.iter() {
        let (sequence, table) = (generator.sequence.get(), generator.table.get());
        let known = sequence != pg_sys::Oid::INVALID;
        if known && [pg_sys::Oid::INVALID, sequence, table].contains(&relation) {
            generator.sequence.set(pg_sys::Oid::INVALID);
            generator.flushed.set(Flushed::NOTHING);
            generator.place.set(None);
        }
    }
}

/// The number of the transaction that runs, in this backend.
fn transaction() -> u32 {
    // SAFETY: `MyProc` is set for the life of a backend.
    unsafe {
        let process = &*pg_sys::MyProc;
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let local_id = process.lxid;
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        let local_id = process.vxid.lxid;
        local_id
    }
}

fn clock_us(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; these clocks always exist.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}

/// The clock on the wall, in Unix microseconds.
pub(crate) fn now_us() -> i64 {
    clock_us(libc::CLOCK_REALTIME)
}

/// The clock that nobody sets, in microseconds.
fn steady_us() -> i64 {
    clock_us(libc::CLOCK_BOOTTIME)
}

fn sleep_interruptibly(ms: i64) {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: `MyLatch` is this backend's own; no lock or page is held here.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as _, ms as c_long, pg_sys::PG_WAIT_EXTENSION);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    pgrx::check_for_interrupts!();
}

/// A setting in milliseconds, whether the installed library has defined it in this
/// session or it is but a name and a text; the default of then where it is not set.
fn setting_ms(name: &CStr, default: i32) -> i64 {
    // SAFETY: the text is PostgreSQL's and is read at once.
    unsafe {
        let text = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        let mut value = 0;
        let is_number = !text.is_null()
            && pg_sys::parse_int(text, &mut value, pg_sys::GUC_UNIT_MS as _, std::ptr::null_mut());
        i64::from(if is_number { value } else { default })
    }
}

fn refuse(message: &str) -> ! {
    let message = message.to_owned();
    ereport!(ERROR, PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message);
}

fn no_such_shard(shard: i32) -> ! {
    let message = format!("shard {shard} has no sequence in this database");
    ereport!(ERROR, PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, message);
}
