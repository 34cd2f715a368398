//! What PostgreSQL knows about this session: clocks, transaction, user, waits.

use core::cell::{Cell, UnsafeCell};
use core::ffi::{CStr, c_long};

use pgrx::pg_sys;
use shardid_ids::ClockBase;

use super::{ffi, text};
use crate::report::{self, Report};
use crate::{generator, tickets};

/// State of one backend.
///
/// A backend runs on one thread, and so does everything that this extension
/// does in it; that makes a plain static enough, and half as costly to reach
/// as a thread-local one.
pub(crate) struct BackendLocal<T>(UnsafeCell<T>);

// SAFETY: only the backend's one thread ever calls into the extension; pgrx
// checks this wherever it is entered through pgrx.
unsafe impl<T> Sync for BackendLocal<T> {}

impl<T> BackendLocal<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// A shared reference: what changes inside is in cells of its own.
    #[inline(always)]
    pub(crate) fn get(&self) -> &T {
        // SAFETY: no exclusive reference is ever made.
        unsafe { &*self.0.get() }
    }
}

/// What makes a block of ids valid: a transaction of a user that may write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transaction {
    local_id: u32,
    user: pg_sys::Oid,
}

impl Transaction {
    /// No transaction at all; equal to none that runs.
    pub(crate) const NONE: Self = Self { local_id: 0, user: pg_sys::Oid::INVALID };

    /// The transaction that runs, with the user it runs as at this moment.
    #[inline(always)]
    pub(crate) fn current() -> Self {
        // SAFETY: `MyProc` is set for the life of a backend, `GetUserId` only
        // returns a variable.
        unsafe {
            let process = &*pg_sys::MyProc;
            #[cfg(any(feature = "pg13", feature = "pg14", feature = "pg15", feature = "pg16"))]
            let local_id = process.lxid;
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            let local_id = process.vxid.lxid;
            Self { local_id, user: ffi::GetUserId() }
        }
    }

    /// Whether both are one transaction, of whichever user.
    pub(crate) fn same_transaction(self, other: Self) -> bool {
        self.local_id == other.local_id
    }

    pub(crate) fn user(self) -> pg_sys::Oid {
        self.user
    }
}

/// Whether the transaction is read-only; it may become so at any statement.
#[inline(always)]
pub(crate) fn read_only() -> bool {
    // SAFETY: a plain variable of the backend.
    unsafe { pg_sys::XactReadOnly }
}

/// Whether the transaction has more statements than this one, as far as can be known.
#[inline(always)]
pub(crate) fn in_transaction_block() -> bool {
    // SAFETY: reads the state of the backend's transaction.
    unsafe { ffi::IsTransactionBlock() }
}

/// The timeline that WAL is written on.
#[derive(Clone, Copy)]
pub(crate) struct Timeline {
    /// Its number, and the identity of the server: after `pg_upgrade` there is a first
    /// timeline again, on which nothing is known of the last one.
    pub(crate) number: u32,
    /// Where it begins in WAL; 0 for the first.
    pub(crate) begins: pg_sys::XLogRecPtr,
}

/// The timeline of this server, which stays the same once it takes writes.
pub(crate) fn timeline() -> Timeline {
    static KNOWN: BackendLocal<Cell<Option<Timeline>>> = BackendLocal::new(Cell::new(None));
    if let Some(known) = KNOWN.get().get() {
        return known;
    }
    // SAFETY: the caller may write, so recovery is over. The history is a list of at
    // least one entry, the present timeline's, in memory of the caller's context.
    let known = unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            let number = ffi::GetWALInsertionTimeLine();
            let history = ffi::readTimeLineHistory(number);
            let newest = (*(*history).elements).ptr_value.cast::<ffi::TimelineEntry>();
            Timeline {
                number: of_server(number, pg_sys::GetSystemIdentifier()),
                begins: (*newest).begin,
            }
        })
    };
    KNOWN.get().set(Some(known));
    known
}

/// A timeline's number, together with which server it is of. No two of one server are the same.
fn of_server(timeline: u32, system_identifier: u64) -> u32 {
    // The bits of an identifier that differ are its time, in the upper half, and a process.
    let server = (system_identifier ^ (system_identifier >> 32)) as u32;
    server.wrapping_mul(0x9E37_79B1).wrapping_add(timeline)
}

/// Refuses (25006) on a standby and in a read-only transaction, as `nextval` does, and
/// (25000) in a parallel worker, which does not know that its transaction is read-only.
pub(crate) fn refuse_where_no_writes(command: &'static CStr) -> Result<(), Report> {
    // SAFETY: a plain variable of the backend.
    if unsafe { pg_sys::ParallelWorkerNumber } >= 0 {
        return Err(report::in_parallel_worker(&command.to_string_lossy()));
    }
    // All transactions of a standby are read-only, too.
    if read_only() {
        // SAFETY: reads the state of the server.
        let standby = unsafe { pg_sys::RecoveryInProgress() };
        return Err(report::read_only(&command.to_string_lossy(), standby));
    }
    Ok(())
}

#[inline(always)]
fn clock_us(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to; these clocks always exist.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}

/// The clock on the wall, in Unix microseconds.
#[inline(always)]
pub(crate) fn now_us() -> i64 {
    clock_us(libc::CLOCK_REALTIME)
}

/// The clock on the wall as of the last tick of the kernel's timer: up to 10 ms
/// behind [`now_us`], at a third of its cost (5 ns instead of 17).
#[inline(always)]
pub(crate) fn now_coarse_us() -> i64 {
    clock_us(libc::CLOCK_REALTIME_COARSE)
}

/// The clock that nobody sets and that runs on while the machine sleeps, in microseconds.
pub(crate) fn steady_us() -> i64 {
    clock_us(libc::CLOCK_BOOTTIME)
}

/// Both clocks at one moment.
pub(crate) fn clock_base() -> ClockBase {
    ClockBase { wall_us: now_us(), steady_us: steady_us() }
}

/// Sleeps up to `ms` milliseconds; a cancel, a timeout or the postmaster's death ends it.
pub(crate) fn sleep_interruptibly(ms: i64) {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: `MyLatch` is this backend's own; no lock or page is held here.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as _, ms as c_long, pg_sys::PG_WAIT_EXTENSION);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    pgrx::check_for_interrupts!();
}

/// This server's system identifier, as PostgreSQL shows it in SQL.
pub(crate) fn system_identifier() -> i64 {
    // SAFETY: returns a number of the control file, read at start.
    unsafe { pg_sys::GetSystemIdentifier() as i64 }
}

/// Whether this backend's database has that name.
pub(crate) fn in_database(name: &str) -> bool {
    // SAFETY: returns a copy of the name, or null for a database dropped meanwhile.
    let current = unsafe {
        let current = pg_sys::get_database_name(pg_sys::MyDatabaseId);
        if current.is_null() {
            return false;
        }
        CStr::from_ptr(current)
    };
    text::from_server(current.to_bytes()) == name
}

/// Makes the settings under `prefix` ours: a misspelt one is an error, not a surprise.
pub(crate) fn reserve_settings(prefix: &'static CStr) {
    // SAFETY: called once, while the library loads.
    unsafe { pg_sys::MarkGUCPrefixReserved(prefix.as_ptr()) }
}

/// Has what is remembered of it forgotten when a relation changes, or all may have.
pub(crate) fn watch_relations() {
    unsafe extern "C-unwind" fn changed(_: pg_sys::Datum, relation: pg_sys::Oid) {
        generator::forget(relation);
        tickets::forget(relation);
    }
    unsafe extern "C-unwind" fn role_changed(_: pg_sys::Datum, _: core::ffi::c_int, _: u32) {
        generator::forget_rights();
    }
    // SAFETY: called once, while the library loads; a library is never unloaded,
    // and `forget` neither panics nor calls PostgreSQL.
    unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(changed), pg_sys::Datum::from(0));
        for cache in [
            pg_sys::SysCacheIdentifier::AUTHOID,
            pg_sys::SysCacheIdentifier::AUTHMEMROLEMEM,
            pg_sys::SysCacheIdentifier::AUTHMEMMEMROLE,
        ] {
            let none = pg_sys::Datum::from(0);
            pg_sys::CacheRegisterSyscacheCallback(cache as _, Some(role_changed), none);
        }
    }
}

/// Has every backend read again, from the transaction's end on, what it knows of a relation.
pub(crate) fn forget(sequence: pg_sys::Oid) {
    // SAFETY: an oid that names nothing is not found.
    unsafe {
        if !pg_sys::get_rel_name(sequence).is_null() {
            pg_sys::CacheInvalidateRelcacheByRelid(sequence);
        }
    }
}

/// Has every backend read again, from the transaction's end on, what it keeps of a table.
pub(crate) fn forget_table(table: pg_sys::Oid) {
    // SAFETY: the caller's trigger runs on that table, so it exists.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(table) }
}

/// Waits until nobody uses the sequence any more, and keeps others out until the transaction
/// ends: what `ALTER SEQUENCE` does, but for one that is known by its number.
pub(crate) fn lock_alone(sequence: pg_sys::Oid) {
    // SAFETY: an oid that names nothing is locked in vain.
    unsafe { pg_sys::LockRelationOid(sequence, pg_sys::ShareRowExclusiveLock as _) }
}

/// Locks a number of those that a table lists, until the transaction ends: alone, or beside others
/// who do not want it alone. No statement of a user takes such a lock, as `pg_advisory_lock` takes any.
pub(crate) fn lock_number(table: pg_sys::Oid, number: u32, alone: bool) {
    let mode = if alone { pg_sys::ExclusiveLock } else { pg_sys::RowShareLock };
    // SAFETY: a lock on what is no object is a lock as any other.
    unsafe { pg_sys::LockDatabaseObject(table, pg_sys::Oid::from(number), 0, mode as _) }
}

/// Whether a relation has that number.
pub(crate) fn is_there(relation: pg_sys::Oid) -> bool {
    // SAFETY: a lookup that returns a copy or null.
    unsafe { !pg_sys::get_rel_name(relation).is_null() }
}

/// Has errors come without backtraces, whatever `RUST_BACKTRACE` says where the server was started.
///
/// pgrx puts them into the DETAIL that every client reads, and writes one at each call into the server that an
/// error passes: minutes, from deep within an expression, in which nothing interrupts the backend. Who wants
/// them says `RUST_LIB_BACKTRACE=1`.
pub(crate) fn no_backtraces() {
    const NAME: &str = "RUST_LIB_BACKTRACE";
    if std::env::var_os(NAME).is_some() {
        return;
    }
    // SAFETY: a backend has but this thread.
    unsafe { std::env::set_var(NAME, "0") };
    // This library, and no other, remembers it from its first look on.
    let _ = std::backtrace::Backtrace::capture();
    // SAFETY: as above.
    unsafe { std::env::remove_var(NAME) };
}

/// Whether a relation is a sequence.
pub(crate) fn is_sequence(relation: pg_sys::Oid) -> bool {
    // SAFETY: a lookup.
    unsafe { pg_sys::get_rel_relkind(relation) as u8 == pg_sys::RELKIND_SEQUENCE }
}

/// `schema.name` of a relation, quoted, for messages; its number where it is gone.
pub(crate) fn relation_name(relation: pg_sys::Oid) -> String {
    // SAFETY: each lookup returns a copy or null.
    unsafe {
        let name = pg_sys::get_rel_name(relation);
        if name.is_null() {
            return relation.to_u32().to_string();
        }
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        let quoted = pg_sys::quote_qualified_identifier(schema, name);
        text::from_server(CStr::from_ptr(quoted).to_bytes()).into_owned()
    }
}

/// Whether a relation is one of the extension's, by where it is: nobody else makes any there.
pub(crate) fn is_ours(relation: pg_sys::Oid) -> bool {
    // SAFETY: lookups; what is missing is in no schema.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"shardid".as_ptr(), true);
        schema != pg_sys::Oid::INVALID && pg_sys::get_rel_namespace(relation) == schema
    }
}

/// The relation of that name, or no oid.
pub(crate) fn relation(name: &str) -> pg_sys::Oid {
    // SAFETY: the function takes a text, and gives a regclass or null.
    let found = unsafe {
        pgrx::direct_function_call::<pg_sys::Oid>(pg_sys::to_regclass, &[Some(text::datum(name))])
    };
    found.unwrap_or(pg_sys::Oid::INVALID)
}

/// Waits until WAL is on disk up to there, and on the standbys that a commit would wait for.
///
/// Free where it is; where a cancel ends the wait for the standbys, a warning says so.
pub(crate) fn wait_for_wal(lsn: pg_sys::XLogRecPtr) {
    // SAFETY: as `RecordTransactionCommit`, which holds interrupts off while it
    // waits for standbys; an error raised in between sets the count right again.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            ffi::XLogFlush(lsn);
            pg_sys::InterruptHoldoffCount += 1;
            ffi::SyncRepWaitForLSN(lsn, true);
            pg_sys::InterruptHoldoffCount -= 1;
        });
    }
}

/// Calls a function of ours that takes a text and gives a `bigint`, whoever may call it by SQL.
pub(crate) fn call_with_text(signature: &str, argument: &str) -> i64 {
    // SAFETY: the signature says what the function takes, and it never gives null.
    unsafe {
        let function: Option<pg_sys::Oid> =
            pgrx::direct_function_call(pg_sys::to_regprocedure, &[Some(text::datum(signature))]);
        let function = function.unwrap_or(pg_sys::Oid::INVALID);
        let argument = text::datum(argument);
        pg_sys::OidFunctionCall1Coll(function, pg_sys::DEFAULT_COLLATION_OID, argument).value()
            as i64
    }
}

/// Whether the user may take ids from the sequence: what it takes for `nextval`;
/// `None` where there is no such sequence any more.
pub(crate) fn may_use(sequence: pg_sys::Oid, user: pg_sys::Oid) -> Option<bool> {
    has_any(sequence, user, pg_sys::ACL_USAGE | pg_sys::ACL_UPDATE)
}

/// Whether the user may see where the sequence stands: what it takes for
/// `pg_sequence_last_value`. What is not there may be seen by all.
pub(crate) fn may_see(sequence: pg_sys::Oid) -> bool {
    // SAFETY: reads a variable.
    let user = unsafe { ffi::GetUserId() };
    has_any(sequence, user, pg_sys::ACL_SELECT | pg_sys::ACL_USAGE).unwrap_or(true)
}

/// Whether the user is a superuser.
pub(crate) fn is_superuser() -> bool {
    // SAFETY: a lookup.
    unsafe { pg_sys::superuser() }
}

/// Whether the user may write rows to a table.
pub(crate) fn may_write(table: pg_sys::Oid) -> bool {
    // SAFETY: reads a variable.
    has_any(table, unsafe { ffi::GetUserId() }, pg_sys::ACL_INSERT | pg_sys::ACL_UPDATE)
        .unwrap_or(false)
}

/// Whether a user has one of some privileges on a relation; `None` where there is none.
fn has_any(relation: pg_sys::Oid, user: pg_sys::Oid, privileges: u32) -> Option<bool> {
    let mut is_missing = false;
    // SAFETY: a lookup, which tells by `is_missing` that there is nothing to find.
    let result =
        unsafe { pg_sys::pg_class_aclcheck_ext(relation, user, privileges as _, &mut is_missing) };
    (!is_missing).then_some(result == pg_sys::AclResult::ACLCHECK_OK)
}

/// Whether the user owns the relation, or may act for its owner.
pub(crate) fn owns(relation: pg_sys::Oid) -> bool {
    // SAFETY: a lookup, which says no where there is no such relation, and an ordinary
    // error otherwise.
    unsafe {
        !pg_sys::get_rel_name(relation).is_null() && {
            #[cfg(feature = "pg15")]
            let owns = pg_sys::pg_class_ownercheck(relation, ffi::GetUserId());
            #[cfg(any(feature = "pg16", feature = "pg17", feature = "pg18"))]
            let owns =
                pg_sys::object_ownercheck(pg_sys::RelationRelationId, relation, ffi::GetUserId());
            owns
        }
    }
}
