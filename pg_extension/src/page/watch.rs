//! What is called when a relation, a role or the owner of the connection changes.
//!
//! What a backend remembers is above, and says here what it is to forget.

use core::cell::Cell;
use core::ffi::{c_char, c_int};

use pgrx::{is_a, pg_sys};

use super::backend::BackendLocal;
use super::ffi;

/// What forgets something; none of it panics or calls PostgreSQL.
#[derive(Clone, Copy)]
pub(crate) struct Forget {
    /// What is known of a relation, or of all where there is no oid.
    pub(crate) relation: fn(pg_sys::Oid),
    /// Who may do what.
    pub(crate) rights: fn(),
    /// The last id.
    pub(crate) last_id: fn(),
}

/// Set once, while the library loads.
static FORGET: BackendLocal<Cell<Option<Forget>>> = BackendLocal::new(Cell::new(None));

/// Has what is remembered forgotten when a relation or a role changes, or all may have, and when a
/// pool gives the connection to somebody else.
pub(crate) fn watch(forget: Forget) {
    FORGET.get().set(Some(forget));
    watch_relations();
    watch_discard();
}

fn watch_relations() {
    unsafe extern "C-unwind" fn changed(_: pg_sys::Datum, relation: pg_sys::Oid) {
        if let Some(forget) = FORGET.get().get() {
            (forget.relation)(relation);
        }
    }
    unsafe extern "C-unwind" fn role_changed(_: pg_sys::Datum, _: c_int, _: u32) {
        if let Some(forget) = FORGET.get().get() {
            (forget.rights)();
        }
    }
    // SAFETY: called once, while the library loads; a library is never unloaded,
    // and what forgets neither panics nor calls PostgreSQL.
    unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(changed), pg_sys::Datum::from(0));
        // As PostgreSQL's own memory of who is a member of what: whoever owns the database is pg_database_owner.
        for cache in [
            pg_sys::SysCacheIdentifier::DATABASEOID,
            pg_sys::SysCacheIdentifier::AUTHOID,
            pg_sys::SysCacheIdentifier::AUTHMEMROLEMEM,
            pg_sys::SysCacheIdentifier::AUTHMEMMEMROLE,
        ] {
            let none = pg_sys::Datum::from(0);
            pg_sys::CacheRegisterSyscacheCallback(cache as _, Some(role_changed), none);
        }
    }
}

/// The hook that was there before ours, if any.
static mut BEFORE: pg_sys::ProcessUtility_hook_type = None;

/// Has `last_id()` end with `DISCARD ALL` and `DISCARD SEQUENCES`, as `lastval()` does.
fn watch_discard() {
    // SAFETY: called once, while the library loads, by the backend's one thread.
    unsafe {
        BEFORE = pg_sys::ProcessUtility_hook;
        pg_sys::ProcessUtility_hook = Some(utility);
    }
}

/// Runs a statement that is no query, as PostgreSQL would without us.
///
/// # Safety
/// Called by PostgreSQL. No guard is around the call of the next one: there is nothing here to
/// drop when an error leaves it.
#[allow(clippy::too_many_arguments)]
unsafe extern "C-unwind" fn utility(
    statement: *mut pg_sys::PlannedStmt,
    text: *const c_char,
    read_only_tree: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    parameters: pg_sys::ParamListInfo,
    environment: *mut pg_sys::QueryEnvironment,
    receiver: *mut pg_sys::DestReceiver,
    completion: *mut pg_sys::QueryCompletion,
) {
    // SAFETY: the arguments are PostgreSQL's, and are passed on as they are. The statement may
    // be gone after it has run, so it is looked at before.
    unsafe {
        let parsed = (*statement).utilityStmt;
        let discards = is_a(parsed, pg_sys::NodeTag::T_DiscardStmt)
            && matches!(
                (*parsed.cast::<pg_sys::DiscardStmt>()).target,
                pg_sys::DiscardMode::DISCARD_ALL | pg_sys::DiscardMode::DISCARD_SEQUENCES
            );
        let next = BEFORE.unwrap_or(ffi::standard_ProcessUtility);
        next(
            statement,
            text,
            read_only_tree,
            context,
            parameters,
            environment,
            receiver,
            completion,
        );
        if discards && let Some(forget) = FORGET.get().get() {
            (forget.last_id)();
        }
    }
}
