//! What is a relation, who may do what with it, and who keeps others from it?

use core::ffi::CStr;

use pgrx::pg_sys;

use super::{ffi, text};

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

/// The relation of that name, or no oid.
pub(crate) fn relation(name: &str) -> pg_sys::Oid {
    // SAFETY: the function takes a text, and gives a regclass or null.
    let found = unsafe {
        pgrx::direct_function_call::<pg_sys::Oid>(pg_sys::to_regclass, &[Some(text::datum(name))])
    };
    found.unwrap_or(pg_sys::Oid::INVALID)
}

/// Whether a relation has that number.
pub(crate) fn is_there(relation: pg_sys::Oid) -> bool {
    // SAFETY: a lookup that returns a copy or null.
    unsafe { !pg_sys::get_rel_name(relation).is_null() }
}

/// Whether a relation is a sequence.
pub(crate) fn is_sequence(relation: pg_sys::Oid) -> bool {
    // SAFETY: a lookup.
    unsafe { pg_sys::get_rel_relkind(relation) as u8 == pg_sys::RELKIND_SEQUENCE }
}

/// Whether a relation is one of the extension's, by where it is: nobody else makes any there.
pub(crate) fn is_ours(relation: pg_sys::Oid) -> bool {
    // SAFETY: lookups; what is missing is in no schema.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"shardid".as_ptr(), true);
        schema != pg_sys::Oid::INVALID && pg_sys::get_rel_namespace(relation) == schema
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

/// Whether the user may write rows to a table.
pub(crate) fn may_write(table: pg_sys::Oid) -> bool {
    // SAFETY: reads a variable.
    has_any(table, unsafe { ffi::GetUserId() }, pg_sys::ACL_INSERT | pg_sys::ACL_UPDATE)
        .unwrap_or(false)
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

/// Whether a user has one of some privileges on a relation; `None` where there is none.
fn has_any(relation: pg_sys::Oid, user: pg_sys::Oid, privileges: u32) -> Option<bool> {
    let mut is_missing = false;
    // SAFETY: a lookup, which tells by `is_missing` that there is nothing to find.
    let result =
        unsafe { pg_sys::pg_class_aclcheck_ext(relation, user, privileges as _, &mut is_missing) };
    (!is_missing).then_some(result == pg_sys::AclResult::ACLCHECK_OK)
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

/// Waits for who holds such a number alone, and keeps nobody from it.
pub(crate) fn wait_for_number(table: pg_sys::Oid, number: u32) {
    let (number, mode) = (pg_sys::Oid::from(number), pg_sys::RowShareLock as _);
    // SAFETY: as in `lock_number`; what was taken is given back.
    unsafe {
        pg_sys::LockDatabaseObject(table, number, 0, mode);
        pg_sys::UnlockDatabaseObject(table, number, 0, mode);
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
