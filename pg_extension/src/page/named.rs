//! What may a superuser's statement name that is on somebody's behalf?
//!
//! PostgreSQL locks what a statement names while it analyses it, and calls nothing of it before that is done. Here it is
//! looked at who owns it: on nobody's behalf (`shardid.on_behalf_of = none`) it may be a superuser's alone, so that what
//! others have put in the place of something is neither read nor called, whenever they did; on a role's behalf its
//! relations may be that role's and superusers', so that a table which was renamed meanwhile is not read with the rights of
//! who owned the one before. What a function names is its own affair.

use core::cell::Cell;
use core::ffi::{c_int, c_void};

use pgrx::pg_sys::{self, Node, NodeTag, Oid};
use pgrx::{is_a, pg_guard};

use super::backend::BackendLocal;
use super::functions::{self, Behalf};
use super::relations;
use crate::report::{self, Report};

static OTHERS: BackendLocal<Cell<pg_sys::post_parse_analyze_hook_type>> =
    BackendLocal::new(Cell::new(None));

/// Has PostgreSQL tell of each statement that it has analysed, once, while the library loads.
pub(crate) fn watch_statements() {
    // SAFETY: called once, while the library loads, which is never unloaded.
    unsafe {
        OTHERS.get().set(pg_sys::post_parse_analyze_hook);
        pg_sys::post_parse_analyze_hook = Some(analysed);
    }
}

/// Called by PostgreSQL when it has analysed a statement, and nothing of it runs yet.
///
/// # Safety
/// Called by PostgreSQL, within a transaction.
unsafe extern "C-unwind" fn analysed(
    state: *mut pg_sys::ParseState,
    query: *mut pg_sys::Query,
    jumble: *mut pg_sys::JumbleState,
) {
    if functions::is_on() || OTHERS.get().get().is_some() {
        // SAFETY: as for us.
        unsafe { analysed_guarded(state, query, jumble) };
    }
}

/// # Safety
/// As for [`analysed`].
#[pg_guard]
unsafe extern "C-unwind" fn analysed_guarded(
    state: *mut pg_sys::ParseState,
    query: *mut pg_sys::Query,
    jumble: *mut pg_sys::JumbleState,
) {
    // SAFETY: what was there before us, with its own arguments; and a statement as it was analysed.
    unsafe {
        if let Some(others) = OTHERS.get().get() {
            others(state, query, jumble);
        }
        check(query).unwrap_or_else(|report| report.throw());
    }
}

/// Refuses a statement that names what it may not.
///
/// # Safety
/// Within a transaction; the statement was analysed.
unsafe fn check(query: *mut pg_sys::Query) -> Result<(), Report> {
    // SAFETY: as the caller says.
    unsafe {
        if !functions::is_on() || functions::is_within() {
            return Ok(());
        }
        // As SET, by which a session goes on to another role, and ROLLBACK, where a transaction has failed and nothing can be
        // looked up.
        if (*query).commandType == pg_sys::CmdType::CMD_UTILITY
            && pg_sys::UtilityContainsQuery((*query).utilityStmt).is_null()
        {
            return Ok(());
        }
        if !functions::is_superusers_turn() {
            return Ok(());
        }
        let whose = match functions::on_behalf_of()? {
            Behalf::OfNobody => Oid::INVALID,
            Behalf::Of(role) => role,
            Behalf::Unsaid | Behalf::OfSuperuser | Behalf::OfEverybody => return Ok(()),
        };
        let mut named = Named { whose, found: None };
        names_others(query.cast(), (&raw mut named).cast());
        match named.found {
            Some(Found::Relation(relation)) => {
                let is_on_a_roles = whose != Oid::INVALID;
                Err(report::not_read_on_behalf(&relations::relation_name(relation), is_on_a_roles))
            }
            Some(Found::Function(function)) => Err(functions::not_called_for_nobody(function)),
            None => Ok(()),
        }
    }
}

/// What is looked for in a statement, and what of it was found.
struct Named {
    /// Whose relations it may name beside superusers'; no role's where it is on nobody's behalf.
    whose: Oid,
    found: Option<Found>,
}

enum Found {
    Relation(Oid),
    Function(Oid),
}

/// Whether a part of a statement names what it may not.
///
/// # Safety
/// Called by PostgreSQL's walkers, for a statement that was analysed and a [`Named`].
#[pg_guard]
unsafe extern "C-unwind" fn names_others(node: *mut Node, context: *mut c_void) -> bool {
    if node.is_null() {
        return false;
    }
    // SAFETY: the tag says what a node is; the walkers call this again for what is in it.
    unsafe {
        let named = &mut *context.cast::<Named>();
        let within = Some(names_others as unsafe extern "C-unwind" fn(_, _) -> _);
        if is_a(node, NodeTag::T_RangeTblEntry) {
            let entry = node.cast::<pg_sys::RangeTblEntry>();
            if (*entry).rtekind == pg_sys::RTEKind::RTE_RELATION && !may_be_read(named, entry) {
                named.found = Some(Found::Relation((*entry).relid));
                return true;
            }
            // What it is made of comes next.
            return false;
        }
        if is_a(node, NodeTag::T_Query) {
            let query = node.cast::<pg_sys::Query>();
            if (*query).commandType == pg_sys::CmdType::CMD_UTILITY {
                let inner = pg_sys::UtilityContainsQuery((*query).utilityStmt);
                return names_others(inner.cast(), context);
            }
            let flags = pg_sys::QTW_EXAMINE_RTES_BEFORE as c_int;
            return pg_sys::query_tree_walker(query, within, context, flags);
        }
        if named.whose == Oid::INVALID
            && pg_sys::check_functions_in_node(node, Some(is_others), context)
        {
            return true;
        }
        pg_sys::expression_tree_walker(node, within, context)
    }
}

/// # Safety
/// As for [`names_others`].
#[pg_guard]
unsafe extern "C-unwind" fn is_others(function: Oid, context: *mut c_void) -> bool {
    if functions::is_superusers(function) {
        return false;
    }
    // SAFETY: as the caller says.
    unsafe { (*context.cast::<Named>()).found = Some(Found::Function(function)) };
    true
}

/// # Safety
/// `entry` is of a relation, which is locked.
unsafe fn may_be_read(named: &Named, entry: *mut pg_sys::RangeTblEntry) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        // It has no expressions.
        if (*entry).relkind as u8 == pg_sys::RELKIND_SEQUENCE {
            return true;
        }
        let owner = functions::owner_of_relation((*entry).relid);
        owner.is_some_and(|owner| owner == named.whose || pg_sys::superuser_arg(owner))
    }
}
