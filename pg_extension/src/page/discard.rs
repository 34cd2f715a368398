//! What a session forgets of itself where a pool gives its connection to somebody else.

use core::ffi::c_char;

use pgrx::{is_a, pg_sys};

use super::ffi;
use crate::generator;

/// The hook that was there before ours, if any.
static mut BEFORE: pg_sys::ProcessUtility_hook_type = None;

/// Has `last_id()` end with `DISCARD ALL` and `DISCARD SEQUENCES`, as `lastval()` does.
pub(crate) fn watch_discard() {
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
        if discards {
            generator::forget_last_id();
        }
    }
}
