//! Whether this session writes what a copy of a shard gets, and what else its transactions do.
//!
//! Rows that come by a stream meet code of those who own the shard's tables: checks, domains, expressions of indexes. A worker
//! applies them as a role of the stream, whose transactions are read only: PostgreSQL applies rows all the same, and refuses all
//! that such code would write by a statement. That, and all other settings, the code could change for the transactions that
//! follow in the same session, and so for rows of others. So no transaction of such a worker commits that could have written, or
//! in which anything was set that still is when it ends.

use core::cell::{Cell, RefCell};
use core::ffi::{CStr, c_char, c_int, c_void};

use pgrx::pg_guard;
use pgrx::pg_sys::{self, Datum, Oid};

use super::backend::BackendLocal;
use super::{ffi, functions, text};
use crate::report::{self, Report};

/// What the names of the program's subscriptions begin with; a number follows.
const STREAMS: [&str; 2] = ["shardid_move_", "shardid_back_"];

/// The number of `pg_subscription`.
const SUBSCRIPTIONS: Oid = Oid::from_u32(6100);

/// A setting that is there since it was set, as nobody has reserved its name (`GUC_CUSTOM_PLACEHOLDER`).
const PLACEHOLDER: c_int = pg_sys::GUC_CUSTOM_PLACEHOLDER as c_int;

/// `DoNotReplicateId`: a session whose changes are not replicated, and come from nowhere.
const NOWHERE: u16 = u16::MAX;

/// The subscription of an origin, for as long as a transaction lasts.
#[derive(Clone, Copy)]
struct Known {
    origin: u16,
    stream: Option<Oid>,
}

static KNOWN: BackendLocal<Cell<Option<Known>>> = BackendLocal::new(Cell::new(None));
/// Whether the ends of transactions are told.
static IS_TOLD: BackendLocal<Cell<bool>> = BackendLocal::new(Cell::new(false));
/// Whether this is a worker that applies as the role of its stream.
static IS_BOUND: BackendLocal<Cell<bool>> = BackendLocal::new(Cell::new(false));

/// The settings that there are, as of when all that are set took so much room.
struct Settings {
    room: Option<usize>,
    all: Vec<*mut pg_sys::config_generic>,
}

static SETTINGS: BackendLocal<RefCell<Settings>> =
    BackendLocal::new(RefCell::new(Settings { room: None, all: Vec::new() }));

/// Whether what this session writes to a table is what the copy of a shard gets: it is the worker of a move's stream which
/// that table is of, or the program, which copies on behalf of who owns it. What an owner's code in a worker writes to the tables
/// of another shard does not come by the stream.
pub(crate) fn is_follower(table: Oid) -> bool {
    // SAFETY: a number of this backend's own.
    let origin = unsafe { pg_sys::replorigin_session_origin };
    if origin == 0 || origin == NOWHERE {
        return is_replica() && functions::is_on_behalf();
    }
    let known = KNOWN.get().get().filter(|known| known.origin == origin);
    let stream = known.map_or_else(|| look(origin), |known| known.stream);
    stream.is_some_and(|stream| has_table(stream, table))
}

/// The subscription of an origin, if a move has made it.
///
/// A worker's origin is named by its subscription's number: `pg_16384`, or `pg_16384_16390` where it
/// copies a table.
fn look(origin: u16) -> Option<Oid> {
    tell();
    let mut name: *mut c_char = core::ptr::null_mut();
    // SAFETY: `name` is written where the origin is known, and is then a string in this memory context.
    let known = unsafe { pg_sys::replorigin_by_oid(origin, true, &raw mut name) };
    let stream = (known && !name.is_null())
        // SAFETY: as above.
        .then(|| unsafe { CStr::from_ptr(name) }.to_bytes())
        .and_then(number_in)
        .filter(|&subscription| is_stream(subscription));
    KNOWN.get().set(Some(Known { origin, stream }));
    stream
}

/// The number of a subscription in the name of an origin.
fn number_in(origin: &[u8]) -> Option<Oid> {
    let number = origin.strip_prefix(b"pg_")?.split(|byte| *byte == b'_').next()?;
    str::from_utf8(number).ok()?.parse().ok().map(Oid::from_u32)
}

/// Whether the subscription has that table.
fn has_table(subscription: Oid, table: Oid) -> bool {
    let cache = pg_sys::SysCacheIdentifier::SUBSCRIPTIONRELMAP as i32;
    let none = Datum::from(0);
    // SAFETY: the keys of pg_subscription_rel's index, in its order.
    unsafe { pg_sys::SearchSysCacheExists(cache, table.into(), subscription.into(), none, none) }
}

/// Whether a move has made a subscription; a worker whose role has its name is bound from then on.
fn is_stream(subscription: Oid) -> bool {
    // SAFETY: one guard around the call, which gives a string in this memory context, or null.
    let name = unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| ffi::get_subscription_name(subscription, true))
    };
    if name.is_null() {
        return false;
    }
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) };
    let is_stream = STREAMS.iter().any(|stream| {
        name.to_bytes()
            .strip_prefix(stream.as_bytes())
            .is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
    });
    let is_stream = is_stream && only_a_superuser_made(subscription);
    if is_stream && role() == name.to_bytes() {
        IS_BOUND.get().set(true);
    }
    is_stream
}

/// Whether a subscription is one that only a superuser can have made, whatever its name and whoever has it: any, up to
/// PostgreSQL 15; one that asks for no password, from then on.
fn only_a_superuser_made(subscription: Oid) -> bool {
    let cache = pg_sys::SysCacheIdentifier::SUBSCRIPTIONOID as i32;
    let none = Datum::from(0);
    // SAFETY: a column's number by its name, or none; a row of pg_subscription by its number, which is given back, and a
    // column of it that is never null.
    unsafe {
        let column = pg_sys::get_attnum(SUBSCRIPTIONS, c"subpasswordrequired".as_ptr());
        if column == 0 {
            return true;
        }
        let row = pg_sys::SearchSysCache(cache, subscription.into(), none, none, none);
        if row.is_null() {
            return false;
        }
        let mut is_null = false;
        let asks = pg_sys::SysCacheGetAttr(cache, row, column, &raw mut is_null);
        pg_sys::ReleaseSysCache(row);
        !is_null && asks.value() == 0
    }
}

/// Whom this session has begun as; empty where that role is gone.
fn role() -> Vec<u8> {
    // SAFETY: gives a string in this memory context, or null, which is copied.
    unsafe {
        let name = pg_sys::GetUserNameFromId(pg_sys::GetSessionUserId(), true);
        if name.is_null() { Vec::new() } else { CStr::from_ptr(name).to_bytes().to_vec() }
    }
}

/// Has us told when a transaction ends.
fn tell() {
    if !IS_TOLD.get().replace(true) {
        // SAFETY: once for each backend, which never unloads the library.
        unsafe { pg_sys::RegisterXactCallback(Some(ends), core::ptr::null_mut()) };
    }
}

/// # Safety
/// Called by PostgreSQL, when a transaction is about to end, or has.
#[pg_guard]
unsafe extern "C-unwind" fn ends(event: pg_sys::XactEvent::Type, _nothing: *mut c_void) {
    KNOWN.get().set(None);
    let is_about_to = matches!(
        event,
        pg_sys::XactEvent::XACT_EVENT_PRE_COMMIT | pg_sys::XactEvent::XACT_EVENT_PRE_PREPARE
    );
    if is_about_to
        && IS_BOUND.get().get()
        && let Err(report) = check()
    {
        report.throw();
    }
}

/// Refuses to commit what could have been written by more than rows that come, or under other settings than those of the role.
fn check() -> Result<(), Report> {
    // SAFETY: a plain variable of the backend.
    if !unsafe { pg_sys::XactReadOnly } {
        return Err(report::writable_stream(&text::from_server(&role())));
    }
    changed_setting().map_or(Ok(()), |setting| Err(report::set_in_stream(&setting)))
}

/// A setting that this session has changed.
fn changed_setting() -> Option<String> {
    let mut settings = SETTINGS.get().borrow_mut();
    // SAFETY: reads the settings of this backend.
    let room = unsafe { ffi::EstimateGUCStateSpace() };
    // To list them takes time. One that is new is set, and so takes room, or nobody has changed it.
    if settings.room != Some(room) {
        let all = all_settings();
        // Those whose names nobody has reserved end where a library does: they are looked at anew each time.
        // SAFETY: each was listed just now.
        let are_all_kept = all.iter().all(|&it| unsafe { (*it).flags } & PLACEHOLDER == 0);
        *settings = Settings { room: are_all_kept.then_some(room), all };
    }
    let changed = |setting: *mut pg_sys::config_generic| {
        // SAFETY: listed just now, or one that lasts as long as the backend.
        let setting = unsafe { &*setting };
        // What was set and set back has a stack until the transaction ends; rows of others may have come in between.
        (setting.source == pg_sys::GucSource::PGC_S_SESSION || !setting.stack.is_null())
            // SAFETY: each has a name.
            .then(|| unsafe { CStr::from_ptr(setting.name) })
    };
    let changed = settings.all.iter().copied().find_map(changed)?;
    Some(text::from_server(changed.to_bytes()).into())
}

fn all_settings() -> Vec<*mut pg_sys::config_generic> {
    // SAFETY: an array of so many, which nobody changes before it is copied.
    #[cfg(feature = "pg15")]
    unsafe {
        let count = usize::try_from(pg_sys::GetNumConfigOptions()).unwrap_or(0);
        core::slice::from_raw_parts(ffi::get_guc_variables(), count).to_vec()
    }
    // SAFETY: as above, in this memory context.
    #[cfg(not(feature = "pg15"))]
    unsafe {
        let mut count = 0;
        let all = ffi::get_guc_variables(&raw mut count);
        let copied = core::slice::from_raw_parts(all, usize::try_from(count).unwrap_or(0)).to_vec();
        pg_sys::pfree(all.cast());
        copied
    }
}

/// Whether what a statement writes to our tables now is taken for replicated rows: it is called
/// by the worker itself, as a default of a column that the publisher does not have.
pub(crate) fn own_rows_are_left_out() -> bool {
    is_replica() && replicates_at(0)
}

fn is_replica() -> bool {
    // SAFETY: a plain variable of the backend.
    unsafe { pg_sys::SessionReplicationRole == pg_sys::SESSION_REPLICATION_ROLE_REPLICA as i32 }
}

/// Whether this is a worker, that many triggers deep.
pub(super) fn replicates_at(depth: i32) -> bool {
    // SAFETY: a plain variable of the backend; the function reads another, and takes nothing.
    unsafe {
        !pg_sys::MyBgworkerEntry.is_null()
            && pgrx::direct_function_call::<i32>(pg_sys::pg_trigger_depth, &[]) == Some(depth)
    }
}
