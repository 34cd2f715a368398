//! The functions that PostgreSQL calls without pgrx in between.
//!
//! They are the ones that hand out ids: the next id of a block is returned
//! before any guard is set up, and errors carry SQLSTATEs that pgrx's list
//! does not have.

use pgrx::FromDatum;
use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Oid};

use super::guard::{describe, guarded};
use super::{ffi, text};
use crate::generator::{self, Key};
use crate::report;
use crate::tickets::{self, Run};

/// `next_id(shard bigint)`, and those with an `int` that earlier versions have declared.
///
/// # Safety
/// Called by PostgreSQL as declared: strict, with a number first.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn shardid_next_id(call: FunctionCallInfo) -> Datum {
    // SAFETY: as declared in SQL.
    let number = unsafe { argument(call, 0).value() as i64 };
    let key = shard_key(number);
    match key.and_then(generator::hand_out) {
        Some(id) => Datum::from(id),
        None => {
            guarded(move || generator::next_id(key.ok_or_else(|| report::no_such_number(number))?))
        }
    }
}

/// The shard of that number, if it can be one of a layout.
///
/// A negative `int` may come with or without its sign in the upper half, and is none either way.
#[inline(always)]
fn shard_key(number: i64) -> Option<Key> {
    i32::try_from(number).ok().filter(|&shard| shard >= 0).map(Key::shard)
}

/// `next_id()`
///
/// # Safety
/// Called by PostgreSQL as declared: without arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn shardid_next_id_here(_: FunctionCallInfo) -> Datum {
    match generator::known_shard_here().and_then(|shard| generator::hand_out(Key::shard(shard))) {
        Some(id) => Datum::from(id),
        None => guarded(|| generator::next_id(Key::shard(generator::shard_here()?))),
    }
}

/// `next_id_from(sequence regclass)`
///
/// # Safety
/// Called by PostgreSQL as declared: strict, with one `regclass`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn shardid_next_id_from(call: FunctionCallInfo) -> Datum {
    // SAFETY: as declared in SQL.
    let key = Key::sequence(Oid::from(unsafe { argument(call, 0).value() as u32 }));
    match generator::hand_out(key) {
        Some(id) => Datum::from(id),
        None => guarded(move || generator::next_id(key)),
    }
}

/// What `next_ids` keeps between two rows, in the query's own memory.
struct NextIds {
    key: Key,
    next: i64,
    end: i64,
    remaining: i64,
}

/// `next_ids(shard bigint, count int)`: one row a call, one page visit a tick.
///
/// # Safety
/// Called by PostgreSQL as declared: strict, with a number and an `int`, returning a set.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn shardid_next_ids(call: FunctionCallInfo) -> Datum {
    // SAFETY: the value-per-call protocol of PostgreSQL's funcapi.h. The state
    // is plain data in memory that lives as long as the call's context.
    unsafe {
        if (*(*call).flinfo).fn_extra.is_null() {
            let number = argument(call, 0).value() as i64;
            let count = argument(call, 1).value() as i32;
            let key = shard_key(number);
            guarded(move || {
                generator::check_count(count.into())?;
                key.map(|_| 0).ok_or_else(|| report::no_such_number(number))
            });
            let key = key.expect("what is no shard was refused");
            begin_rows(call, NextIds { key, next: 0, end: -1, remaining: count.into() });
        }
        let state = rows::<NextIds>(call);
        if state.remaining == 0 {
            return row(call, None);
        }
        if state.next > state.end {
            let (key, remaining) = (state.key, state.remaining);
            let first = guarded(move || generator::take_many(key, remaining)).value() as i64;
            state.next = first;
            state.end = generator::end_of_many();
        }
        let id = state.next;
        state.next += 1;
        state.remaining -= 1;
        generator::remember_last(id);
        row(call, Some(id))
    }
}

/// What `next_tickets` keeps between two rows.
struct NextTickets {
    run: Run,
    remaining: i64,
}

/// `next_tickets(name text, count int)`: one row a call, all taken at the first.
///
/// # Safety
/// Called by PostgreSQL as declared: strict, with a `text` and an `int`, returning a set.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn shardid_next_tickets(call: FunctionCallInfo) -> Datum {
    // SAFETY: as `shardid_next_ids`. The name is only looked at while the first call lasts.
    unsafe {
        if (*(*call).flinfo).fn_extra.is_null() {
            let name = argument(call, 0);
            let count = i64::from(argument(call, 1).value() as i32);
            let mut run = Run { first: 0, step: 0 };
            let taken = &mut run;
            guarded(move || {
                tickets::check_count(count)?;
                let name = <&[u8]>::from_datum(name, false).expect("the function is strict");
                *taken = tickets::take(&text::given(name), count)?;
                Ok(0)
            });
            begin_rows(call, NextTickets { run, remaining: count });
        }
        let state = rows::<NextTickets>(call);
        if state.remaining == 0 {
            return row(call, None);
        }
        let number = state.run.first;
        state.remaining -= 1;
        // There may be no number after the last one.
        state.run.first = number.wrapping_add(state.run.step);
        row(call, Some(number))
    }
}

/// Begins a set of rows, with what is to be kept between them.
///
/// # Safety
/// At the first of the calls for a set; `state` is plain data.
unsafe fn begin_rows<T>(call: FunctionCallInfo, state: T) {
    // SAFETY: the memory lives as long as the calls for this set.
    unsafe {
        let context = ffi::init_MultiFuncCall(call);
        let memory = (*context).multi_call_memory_ctx;
        let kept = ffi::MemoryContextAlloc(memory, size_of::<T>()).cast::<T>();
        kept.write(state);
        (*context).user_fctx = kept.cast();
    }
}

/// What `begin_rows` has kept.
///
/// # Safety
/// After `begin_rows` with a state of this type.
unsafe fn rows<'a, T>(call: FunctionCallInfo) -> &'a mut T {
    // SAFETY: as the caller says; only one call runs at a time.
    unsafe {
        let context = (*(*call).flinfo).fn_extra.cast::<pg_sys::FuncCallContext>();
        &mut *(*context).user_fctx.cast::<T>()
    }
}

/// Gives PostgreSQL the next row, or says that there is none.
///
/// # Safety
/// After `begin_rows`; nothing of it is used after the last row.
unsafe fn row(call: FunctionCallInfo, value: Option<i64>) -> Datum {
    // SAFETY: the value-per-call protocol of PostgreSQL's funcapi.h.
    unsafe {
        let result = &mut *(*call).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        (*call).isnull = value.is_none();
        match value {
            Some(value) => {
                result.isDone = pg_sys::ExprDoneCond::ExprMultipleResult;
                Datum::from(value)
            }
            None => {
                let context = (*(*call).flinfo).fn_extra.cast::<pg_sys::FuncCallContext>();
                ffi::end_MultiFuncCall(call, context);
                result.isDone = pg_sys::ExprDoneCond::ExprEndResult;
                Datum::from(0)
            }
        }
    }
}

describe!(
    pg_finfo_shardid_next_id,
    pg_finfo_shardid_next_id_here,
    pg_finfo_shardid_next_id_from,
    pg_finfo_shardid_next_ids,
    pg_finfo_shardid_next_tickets
);

/// The `index`-th argument.
///
/// # Safety
/// The call has that many arguments, and it is not null.
#[inline(always)]
unsafe fn argument(call: FunctionCallInfo, index: usize) -> Datum {
    // SAFETY: the caller says so.
    unsafe { (*(*call).args.as_ptr().add(index)).value }
}
