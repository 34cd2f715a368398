//! Whether this session applies what comes by replication, and by which.

use core::ffi::{CStr, c_char};

use pgrx::pg_sys::{self, Datum, Oid};

use super::ffi;

/// What the names of the program's subscriptions begin with; a number follows.
const STREAMS: [&str; 2] = ["shardid_move_", "shardid_back_"];

/// `DoNotReplicateId`: a session whose changes are not replicated, and come from nowhere.
const NOWHERE: u16 = u16::MAX;

/// Whether this session applies what comes by a stream of a move, and the table is one that it is
/// for: it is the worker of such a subscription. What an owner's code in it writes to the tables of
/// another shard does not come by the stream.
///
/// A worker's origin is named by its subscription's number: `pg_16384`, or `pg_16384_16390` where it
/// copies a table.
pub(crate) fn is_follower(table: Oid) -> bool {
    // SAFETY: a number of this backend's own.
    let origin = unsafe { pg_sys::replorigin_session_origin };
    if origin == 0 || origin == NOWHERE {
        return false;
    }
    let mut name: *mut c_char = core::ptr::null_mut();
    // SAFETY: `name` is written where the origin is known, and is then a string in this memory context.
    let known = unsafe { pg_sys::replorigin_by_oid(origin, true, &raw mut name) };
    if !known || name.is_null() {
        return false;
    }
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let Some(number) = name.strip_prefix(b"pg_") else { return false };
    let number = number.split(|byte| *byte == b'_').next().unwrap_or_default();
    let number: Option<u32> = str::from_utf8(number).ok().and_then(|text| text.parse().ok());
    let Some(subscription) = number.map(Oid::from_u32) else { return false };
    is_stream(subscription) && has_table(subscription, table)
}

/// Whether the subscription has that table.
fn has_table(subscription: Oid, table: Oid) -> bool {
    let cache = pg_sys::SysCacheIdentifier::SUBSCRIPTIONRELMAP as i32;
    let none = Datum::from(0);
    // SAFETY: the keys of pg_subscription_rel's index, in its order.
    unsafe { pg_sys::SearchSysCacheExists(cache, table.into(), subscription.into(), none, none) }
}

fn is_stream(subscription: Oid) -> bool {
    // SAFETY: one guard around the call, which gives a string in this memory context, or null.
    let name = unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| ffi::get_subscription_name(subscription, true))
    };
    if name.is_null() {
        return false;
    }
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    STREAMS.iter().any(|stream| {
        name.strip_prefix(stream.as_bytes())
            .is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
    })
}

/// How many callers an error that is raised now would name as its context: each function and statement has an entry, and so
/// has the message that a worker applies.
pub(crate) fn context_depth() -> i32 {
    let mut depth = 0;
    // SAFETY: the list of this backend, whose entries lie on the stack of those that called us.
    let mut entry = unsafe { pg_sys::error_context_stack };
    while !entry.is_null() {
        depth += 1;
        // SAFETY: as above.
        entry = unsafe { (*entry).previous };
    }
    depth
}

/// Whether what a statement writes to our tables now is taken for replicated rows: it is called
/// by the worker itself, as a default of a column that the publisher does not have.
pub(crate) fn own_rows_are_left_out() -> bool {
    // SAFETY: a plain variable of the backend.
    let as_replica = unsafe {
        pg_sys::SessionReplicationRole == pg_sys::SESSION_REPLICATION_ROLE_REPLICA as i32
    };
    as_replica && replicates_at(0)
}

/// Whether this is a worker, that many triggers deep.
pub(super) fn replicates_at(depth: i32) -> bool {
    // SAFETY: a plain variable of the backend; the function reads another, and takes nothing.
    unsafe {
        !pg_sys::MyBgworkerEntry.is_null()
            && pgrx::direct_function_call::<i32>(pg_sys::pg_trigger_depth, &[]) == Some(depth)
    }
}
