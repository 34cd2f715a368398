//! What has a transaction made of the guards of tables that it may not write to?

use std::collections::BTreeMap;
use std::ffi::CStr;

use pgrx::pg_sys::{self, Datum, Oid};

use super::backend::{self, Seen};
use super::relations;

/// The trigger function of fences and guards.
const GUARD: &CStr = c"refuse_write";

/// The columns of `pg_depend` that say what a dependency is on: the catalog, and the number in it.
const REFERENCED: [i16; 2] = [4, 5];

/// The guards of a table.
struct Guards {
    /// A letter for each that is on.
    on: String,
    /// A trigger beside them that fires for rows that come.
    another: Option<String>,
}

/// A table whose guards this transaction has taken, and the trigger that it has made beside them, if that is it. What was so before is
/// not its doing.
pub(crate) fn loosened() -> Option<(String, Option<String>)> {
    if !are_there() {
        return None;
    }
    let now = as_seen(Seen::All);
    as_seen(Seen::OfOthers).into_iter().find_map(|(number, then)| {
        let (table, now) = (Oid::from(number), now.get(&number));
        let Some(now) = now else {
            // They went with the table, or without it.
            return relations::is_there(table).then(|| (relations::relation_name(table), None));
        };
        let is_less = !then.on.chars().all(|guard| now.on.contains(guard));
        let is_beside = now.another.is_some() && now.another != then.another;
        let another = now.another.clone().filter(|_| !is_less);
        (is_less || is_beside).then(|| (relations::relation_name(table), another))
    })
}

/// The guards by table, in the order of their numbers.
fn as_seen(seen: Seen) -> BTreeMap<u32, Guards> {
    let all = backend::with_snapshot(seen, |_| backend::call_for_texts(c"guard_state"));
    let guards = all.chunks(3).filter_map(|part| {
        let [Some(table), Some(on), another] = part else { return None };
        Some((table.parse().ok()?, Guards { on: on.clone(), another: another.clone() }))
    });
    guards.collect()
}

/// Whether a table had a guard before this transaction: most databases have none, and nothing more is asked there.
fn are_there() -> bool {
    let function = [Datum::from(pg_sys::ProcedureRelationId), backend::internal(GUARD).into()];
    let mut keys = [pg_sys::ScanKeyData::default(); 2];
    // SAFETY: an ordinary scan of a catalog by the first two columns of one of its indexes, which are numbers. If something
    // raises an error, the end of the transaction closes both.
    backend::with_snapshot(Seen::OfOthers, |snapshot| unsafe {
        for (key, (attribute, value)) in keys.iter_mut().zip(REFERENCED.into_iter().zip(function)) {
            let (equal, number) = (pg_sys::BTEqualStrategyNumber as _, Oid::from(pg_sys::F_OIDEQ));
            pg_sys::ScanKeyInit(key, attribute, equal, number, value);
        }
        let home = Oid::from(pg_sys::PG_CATALOG_NAMESPACE);
        let table = pg_sys::get_relname_relid(c"pg_depend".as_ptr(), home);
        let index = pg_sys::get_relname_relid(c"pg_depend_reference_index".as_ptr(), home);
        let relation = pg_sys::table_open(table, pg_sys::AccessShareLock as _);
        let scan =
            pg_sys::systable_beginscan(relation, index, true, snapshot, 2, keys.as_mut_ptr());
        let are_there = !pg_sys::systable_getnext(scan).is_null();
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(relation, pg_sys::AccessShareLock as _);
        are_there
    })
}
