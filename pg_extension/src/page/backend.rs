//! What PostgreSQL knows about this session: its transaction, its user, its server.

use core::cell::{Cell, UnsafeCell};
use core::ffi::CStr;

use pgrx::{FromDatum, pg_sys};

use super::{ffi, text};
use crate::report::{self, Report};

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

/// A transaction of this backend, of whichever user.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalTransaction(u32);

impl LocalTransaction {
    /// No transaction at all; equal to none that runs.
    pub(crate) const NONE: Self = Self(0);
}

/// What makes a block of ids valid: a transaction of a user that may write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transaction {
    local: LocalTransaction,
    user: pg_sys::Oid,
}

impl Transaction {
    /// No transaction at all; equal to none that runs.
    pub(crate) const NONE: Self =
        Self { local: LocalTransaction::NONE, user: pg_sys::Oid::INVALID };

    /// The transaction that runs, with the user it runs as at this moment.
    #[inline(always)]
    pub(crate) fn current() -> Self {
        // SAFETY: `MyProc` is set for the life of a backend, `GetUserId` only
        // returns a variable.
        unsafe {
            let process = &*pg_sys::MyProc;
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            let local_id = process.lxid;
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            let local_id = process.vxid.lxid;
            Self { local: LocalTransaction(local_id), user: ffi::GetUserId() }
        }
    }

    /// Whether both are one transaction, of whichever user.
    pub(crate) fn same_transaction(self, other: Self) -> bool {
        self.local == other.local
    }

    /// The transaction, of whichever user.
    pub(crate) fn local(self) -> LocalTransaction {
        self.local
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
    let function = function(signature);
    let argument = text::datum(argument);
    // SAFETY: the signature says what the function takes, and it never gives null.
    unsafe {
        pg_sys::OidFunctionCall1Coll(function, pg_sys::DEFAULT_COLLATION_OID, argument).value()
            as i64
    }
}

/// Which changes a snapshot of now has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// All that are committed, and those of this transaction.
    All,
    /// All but those of this transaction.
    OfOthers,
}

/// Does something with a snapshot of now: that of the transaction may be older than what it is about.
pub(crate) fn with_snapshot<T>(seen: Seen, work: impl FnOnce(pg_sys::Snapshot) -> T) -> T {
    // SAFETY: the snapshot that is pushed is a copy, which nobody else holds; an error takes it away with the transaction.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetLatestSnapshot());
        let snapshot = pg_sys::GetActiveSnapshot();
        if seen == Seen::OfOthers {
            (*snapshot).curcid = pg_sys::FirstCommandId;
        }
        let result = work(snapshot);
        pg_sys::PopActiveSnapshot();
        result
    }
}

/// Calls a stable function of ours that takes nothing and gives a `text[]`, with the snapshot that is active. Nothing where there is
/// none: the extension is not whole yet.
pub(crate) fn call_for_texts(name: &CStr) -> Vec<Option<String>> {
    let function = internal(name);
    if function == pg_sys::Oid::INVALID {
        return Vec::new();
    }
    // SAFETY: the function never gives null, and what it gives is in memory of the caller's.
    unsafe {
        let found = pg_sys::OidFunctionCall0Coll(function, pg_sys::DEFAULT_COLLATION_OID);
        Vec::from_datum(found, false).unwrap_or_default()
    }
}

/// The function of that name in schema shardid that takes nothing, or no oid; whoever asks need have no right to the schema.
pub(super) fn internal(name: &CStr) -> pg_sys::Oid {
    // SAFETY: lookups by name, of which none raises an error where there is nothing of that name.
    unsafe {
        let home = pg_sys::get_namespace_oid(c"shardid".as_ptr(), true);
        let nothing = pg_sys::buildoidvector(core::ptr::null(), 0);
        pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as _,
            pg_sys::Anum_pg_proc_oid as _,
            pg_sys::Datum::from(name.as_ptr()),
            pg_sys::Datum::from(nothing),
            pg_sys::Datum::from(home),
            pg_sys::Datum::from(0),
        )
    }
}

/// The function of ours of that signature, or no oid.
pub(super) fn function(signature: &str) -> pg_sys::Oid {
    // SAFETY: the function takes a text, and gives a regprocedure or null.
    let function = unsafe {
        pgrx::direct_function_call(pg_sys::to_regprocedure, &[Some(text::datum(signature))])
    };
    function.unwrap_or(pg_sys::Oid::INVALID)
}

/// Whether the user is a superuser.
pub(crate) fn is_superuser() -> bool {
    // SAFETY: a lookup.
    unsafe { pg_sys::superuser() }
}
