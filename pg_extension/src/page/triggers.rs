//! The trigger functions that PostgreSQL calls without pgrx in between, and what they do.
//!
//! pgrx ends what was called by hand, and not by a trigger, as an internal error.

use core::ffi::CStr;

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Oid, TriggerData};
use pgrx::{FromDatum, is_a};

use super::backend;
use super::entry::{describe, guarded};
use crate::report;

describe!(pg_finfo_generator_changed_wrapper, pg_finfo_shardid_replicated_row);

/// `shardid.generator_changed()`: what a row says of a sequence takes effect when nobody uses
/// it any more, and every backend reads it anew.
///
/// # Safety
/// Called by PostgreSQL.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn generator_changed_wrapper(call: FunctionCallInfo) -> Datum {
    guarded(move || {
        let data = trigger_data(call).ok_or_else(report::not_a_trigger)?;
        // SAFETY: the trigger's table is open.
        let table = unsafe { (*data.tg_relation).rd_id };
        if !backend::is_ours(table) {
            return Err(report::not_our_table(
                "generator_changed()",
                &backend::relation_name(table),
            ));
        }
        for tuple in [data.tg_trigtuple, data.tg_newtuple] {
            // SAFETY: both are null or rows of the trigger's own table.
            if let Some(sequence) = unsafe { sequence_of(tuple, (*data.tg_relation).rd_att) } {
                backend::lock_and_forget(sequence);
            }
        }
        backend::forget_table(table);
        // What comes out of a trigger after the change is not looked at.
        Ok(0)
    })
}

/// `shardid.replicated_row()`: leaves out a row that another server's table has.
///
/// Only a worker replicates; who sets `session_replication_role` in a session of his own, as to
/// load a dump, means the row.
///
/// # Safety
/// Called by PostgreSQL.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn shardid_replicated_row(call: FunctionCallInfo) -> Datum {
    guarded(move || {
        let data = trigger_data(call).ok_or_else(report::not_a_trigger)?;
        // SAFETY: a plain variable of the backend.
        let replicates = unsafe { !pg_sys::MyBgworkerEntry.is_null() };
        let row = if data.tg_newtuple.is_null() { data.tg_trigtuple } else { data.tg_newtuple };
        Ok(if replicates { 0 } else { row as i64 })
    })
}

/// What a trigger is called with; `None` for a call by hand.
fn trigger_data<'a>(call: FunctionCallInfo) -> Option<&'a TriggerData> {
    // SAFETY: the context is null or a node, and lives as long as the call.
    unsafe {
        let context = (*call).context;
        let is_trigger = !context.is_null() && is_a(context, pg_sys::NodeTag::T_TriggerData);
        is_trigger.then(|| &*context.cast::<TriggerData>())
    }
}

/// The value of a row's column `sequence`.
///
/// # Safety
/// The row is null, or one that the descriptor is of.
unsafe fn sequence_of(tuple: pg_sys::HeapTuple, descriptor: pg_sys::TupleDesc) -> Option<Oid> {
    const SEQUENCE: &CStr = c"sequence";
    if tuple.is_null() {
        return None;
    }
    let mut is_null = false;
    // SAFETY: the caller says so; the extension's tables declare that column as regclass.
    unsafe {
        let column = pg_sys::SPI_fnumber(descriptor, SEQUENCE.as_ptr());
        let datum = pg_sys::heap_getattr(tuple, column, descriptor, &mut is_null);
        Oid::from_datum(datum, is_null).filter(|&sequence| sequence != Oid::INVALID)
    }
}
