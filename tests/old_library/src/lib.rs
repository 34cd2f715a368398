//! The page protocol of shardid 0.1.0, frozen: what a session does that still has
//! the library of then loaded, beside sessions that have the one of now.
//!
//! **Nothing here is mended.** The code is that of 0.1.0, its faults included, and
//! the tests assert one of them. It is built for tests only, and never installed
//! by `make install`. `old_next_ids.sql` declares the one function:
//! `old_next_ids(shard int, count int)` is `next_ids` of 0.1.0 on a shard of the
//! layout `instagram`, one row a call and one visit to the page a tick.
//!
//! - [`rules`] is the clock rule and the lease rule of then;
//! - [`page`] finds the sequence's page and writes its record;
//! - [`visit`] is one visit to it: lock, advance, log, release, flush;
//! - [`session`] is what a backend remembers: what it knows to be flushed, and
//!   where the page is, until PostgreSQL says that the relation changed.
//!
//! Left out is what does not touch the page: blocks of `next_id` and the floor
//! that they raise (`next_ids` had none), privileges, the state of a shard (so
//! this gives ids of a fenced shard too), and the check for a clock that jumps.
//! The settings are those of the session if `shardid.lease`, `shardid.max_drift`
//! and `shardid.max_wait` are set there, and else the defaults of then. It
//! defines none, so it may be in one backend with the installed library.
//!
//! A library that PostgreSQL calls is `unsafe` at its edges and this one is
//! little else; the workspace's denial is lifted for it as for `pg_extension/src/page`.
#![allow(unsafe_code)]

mod ffi;
mod page;
mod rules;
mod session;
mod visit;

use pgrx::pg_sys::{self, Datum, FuncCallContext, FunctionCallInfo};

pgrx::pg_module_magic!();

/// Runs when a backend loads the library.
#[pgrx::pg_guard]
#[allow(non_snake_case)]
extern "C-unwind" fn _PG_init() {
    session::watch_relations();
}

/// What `old_next_ids` keeps between two rows, in the query's own memory.
struct NextIds {
    shard: i32,
    next: i64,
    end: i64,
    remaining: i64,
}

/// Tells PostgreSQL that `old_next_ids` takes arguments the new way.
#[unsafe(no_mangle)]
pub extern "C" fn pg_finfo_old_next_ids() -> &'static pg_sys::Pg_finfo_record {
    static RECORD: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
    &RECORD
}

/// `old_next_ids(shard int, count int)`
///
/// # Safety
/// Called by PostgreSQL as declared: strict, with two `int`s, returning a set.
#[unsafe(no_mangle)]
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn old_next_ids(call: FunctionCallInfo) -> Datum {
    // SAFETY: the value-per-call protocol of PostgreSQL's funcapi.h. The state is
    // plain data in memory that lives as long as the calls for this set.
    unsafe {
        if (*(*call).flinfo).fn_extra.is_null() {
            let arguments = (*call).args.as_ptr();
            let shard = (*arguments).value.value() as i32;
            let count = (*arguments.add(1)).value.value() as i32;
            if count < 0 {
                pgrx::error!("count must be at least 0, not {count}");
            }
            let context = pg_sys::init_MultiFuncCall(call);
            let memory = (*context).multi_call_memory_ctx;
            let kept = pg_sys::MemoryContextAlloc(memory, size_of::<NextIds>()).cast::<NextIds>();
            kept.write(NextIds { shard, next: 0, end: -1, remaining: count.into() });
            (*context).user_fctx = kept.cast();
        }
        let context = (*(*call).flinfo).fn_extra.cast::<FuncCallContext>();
        let state = &mut *(*context).user_fctx.cast::<NextIds>();
        let result = (*call).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        if state.remaining == 0 {
            pg_sys::end_MultiFuncCall(call, context);
            (*result).isDone = pg_sys::ExprDoneCond::ExprEndResult;
            (*call).isnull = true;
            return Datum::from(0);
        }
        if state.next > state.end {
            let (first, count) = session::take(state.shard, state.remaining);
            (state.next, state.end) = (first, first + (count - 1));
        }
        let id = state.next;
        state.next += 1;
        state.remaining -= 1;
        (*result).isDone = pg_sys::ExprDoneCond::ExprMultipleResult;
        (*call).isnull = false;
        Datum::from(id)
    }
}
