//! The trigger functions that PostgreSQL calls without pgrx in between, and what they do.
//!
//! pgrx ends what was called by hand, and not by a trigger, as an internal error.

use core::ffi::CStr;

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Oid, TriggerData};
use pgrx::{FromDatum, is_a};

use super::follower::replicates_at;
use super::guard::{describe, guarded};
use super::text::given;
use super::{catalog, relations};
use crate::{report, tickets};

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
        if !relations::is_ours(table) {
            return Err(report::not_our_table(
                "generator_changed()",
                &relations::relation_name(table),
            ));
        }
        for tuple in [data.tg_trigtuple, data.tg_newtuple] {
            // SAFETY: both are null or rows of the trigger's own table.
            let row = unsafe { Row::of(tuple, (*data.tg_relation).rd_att) };
            let Some((row, sequence)) = row.and_then(|row| Some((row, row.sequence()?))) else {
                continue;
            };
            // Nobody takes numbers by this row from what is none of its kind, and a lock on it,
            // as on a table of somebody else's, would keep others from what the row is not about.
            if row.may_take_from(sequence) {
                relations::lock_alone(sequence);
            }
            relations::forget(sequence);
        }
        relations::forget_table(table);
        // What comes out of a trigger after the change is not looked at.
        Ok(0)
    })
}

/// `shardid.replicated_row()`: leaves out a row that another server's table has.
///
/// Only a worker replicates, and by no statement: a row that comes of a trigger of the subscriber's
/// own, which it runs, is one of ours. Who sets `session_replication_role` in a session of his
/// own, as to load a dump, means the row, too.
///
/// # Safety
/// Called by PostgreSQL.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn shardid_replicated_row(call: FunctionCallInfo) -> Datum {
    guarded(move || {
        let data = trigger_data(call).ok_or_else(report::not_a_trigger)?;
        let replicates = replicates_at(1);
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

/// A row of one of the tables that name a sequence.
#[derive(Clone, Copy)]
struct Row {
    tuple: pg_sys::HeapTuple,
    descriptor: pg_sys::TupleDesc,
}

impl Row {
    /// # Safety
    /// The row is null, or one that the descriptor is of; both live as long as this.
    unsafe fn of(tuple: pg_sys::HeapTuple, descriptor: pg_sys::TupleDesc) -> Option<Self> {
        (!tuple.is_null()).then_some(Self { tuple, descriptor })
    }

    /// The value of a column, if there is one of that name, and it is not null.
    fn value<T: FromDatum>(self, column: &CStr) -> Option<T> {
        let mut is_null = false;
        // SAFETY: `of` was told so; a column that is not there has a number below 1.
        unsafe {
            let column = pg_sys::SPI_fnumber(self.descriptor, column.as_ptr());
            if column < 1 {
                return None;
            }
            let datum = pg_sys::heap_getattr(self.tuple, column, self.descriptor, &mut is_null);
            T::from_datum(datum, is_null)
        }
    }

    fn sequence(self) -> Option<Oid> {
        self.value(c"sequence").filter(|&sequence| sequence != Oid::INVALID)
    }

    /// Whether the sequence is of the shape that the row's kind has: others are refused
    /// wherever numbers are taken by the row.
    fn may_take_from(self, sequence: Oid) -> bool {
        let Some(shape) = catalog::sequence_shape(sequence) else { return false };
        match (self.value::<i32>(c"shard"), self.value::<&[u8]>(c"layout")) {
            (Some(shard), Some(layout)) => catalog::layout(&given(layout)).is_some_and(|layout| {
                let (increment, min) =
                    (layout.shards() * layout.slots(), i64::from(shard) * layout.slots());
                (shape.increment, shape.min) == (increment, min)
            }),
            // A ticket's.
            _ => shape.min == tickets::LOWEST,
        }
    }
}
