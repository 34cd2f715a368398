//! With whose rights do functions run that a superuser's statement comes upon?
//!
//! An index, a CHECK, a partition key, a domain or a view may call a function of its owner, and
//! merely planning a query calls those that are immutable. PostgreSQL runs them with the rights of
//! whoever says the statement. Where `shardid.functions_run_as_owner` is on, a function that no
//! superuser owns runs with the rights of its owner instead, in a security-restricted operation,
//! as in a REINDEX: it cannot become anybody else, and what it sets ends with it.

use core::cell::{Cell, RefCell};
use core::ffi::c_int;

use pgrx::pg_guard;
use pgrx::pg_sys::{self, Datum, FmgrHookEventType, FmgrInfo, Oid};

use super::backend::BackendLocal;

/// Numbers below are of what `initdb` makes.
const FIRST_NORMAL_OID: u32 = pg_sys::FirstNormalObjectId;

/// As whom the session was at work before a function.
struct Before {
    user: Oid,
    context: c_int,
    /// Settings made since end with the function.
    settings: c_int,
}

static IS_ON: BackendLocal<Cell<fn() -> bool>> = BackendLocal::new(Cell::new(|| false));
static OTHERS_NEED: BackendLocal<Cell<pg_sys::needs_fmgr_hook_type>> =
    BackendLocal::new(Cell::new(None));
static OTHERS: BackendLocal<Cell<pg_sys::fmgr_hook_type>> = BackendLocal::new(Cell::new(None));
/// An entry for each function that is at work and of which we are told; none where it runs as its caller.
static AT_WORK: BackendLocal<RefCell<Vec<Option<Before>>>> =
    BackendLocal::new(RefCell::new(Vec::new()));

/// Has PostgreSQL ask before it calls a function, once, while the library loads.
pub(crate) fn watch_functions(is_on: fn() -> bool) {
    IS_ON.get().set(is_on);
    // SAFETY: called once, while the library loads, which is never unloaded.
    unsafe {
        OTHERS_NEED.get().set(pg_sys::needs_fmgr_hook);
        OTHERS.get().set(pg_sys::fmgr_hook);
        pg_sys::needs_fmgr_hook = Some(needs);
        pg_sys::fmgr_hook = Some(called);
    }
}

/// Whether PostgreSQL is to tell of each call of a function.
///
/// # Safety
/// Called by PostgreSQL, within a transaction.
#[pg_guard]
unsafe extern "C-unwind" fn needs(function: Oid) -> bool {
    // SAFETY: what was there before us.
    OTHERS_NEED.get().get().is_some_and(|others| unsafe { others(function) })
        || (IS_ON.get().get()() && owner_to_be(function).is_some())
}

/// The owner of a function, if it is none of a superuser's.
fn owner_to_be(function: Oid) -> Option<Oid> {
    if function.to_u32() < FIRST_NORMAL_OID {
        return None;
    }
    // SAFETY: a lookup; the row is ours until it is released.
    unsafe {
        let row = pg_sys::SearchSysCache1(
            pg_sys::SysCacheIdentifier::PROCOID as _,
            Datum::from(function),
        );
        if row.is_null() {
            return None;
        }
        let owner = (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_proc>()).proowner;
        pg_sys::ReleaseSysCache(row);
        (!pg_sys::superuser_arg(owner)).then_some(owner)
    }
}

/// Called by PostgreSQL before and after a function of which it is to tell.
///
/// # Safety
/// Called by PostgreSQL: each beginning has an end, or an error that ends it.
#[pg_guard]
unsafe extern "C-unwind" fn called(
    event: FmgrHookEventType::Type,
    function: *mut FmgrInfo,
    of_others: *mut Datum,
) {
    if event == FmgrHookEventType::FHET_START {
        // SAFETY: the function that is about to be called.
        let before = unsafe { begin((*function).fn_oid) };
        AT_WORK.get().borrow_mut().push(before);
    }
    if let Some(others) = OTHERS.get().get() {
        // SAFETY: what was there before us, with its own argument.
        unsafe { others(event, function, of_others) };
    }
    if event == FmgrHookEventType::FHET_START {
        return;
    }
    let before = AT_WORK.get().borrow_mut().pop().flatten();
    if let Some(before) = before {
        // SAFETY: what was there before the function. After an error its settings end with the
        // transaction or the savepoint, as ever.
        unsafe {
            if event == FmgrHookEventType::FHET_END {
                pg_sys::AtEOXact_GUC(false, before.settings);
            }
            pg_sys::SetUserIdAndSecContext(before.user, before.context);
        }
    }
}

/// Goes on as the owner of a function, if it is a superuser who calls it and none who owns it.
///
/// # Safety
/// Within a transaction.
unsafe fn begin(function: Oid) -> Option<Before> {
    // SAFETY: lookups and plain variables of the backend.
    unsafe {
        if !IS_ON.get().get()() || !pg_sys::superuser() {
            return None;
        }
        let owner = owner_to_be(function)?;
        let (mut user, mut context) = (Oid::INVALID, 0);
        pg_sys::GetUserIdAndSecContext(&raw mut user, &raw mut context);
        let settings = pg_sys::NewGUCNestLevel();
        pg_sys::SetUserIdAndSecContext(
            owner,
            context | pg_sys::SECURITY_RESTRICTED_OPERATION as c_int,
        );
        Some(Before { user, context, settings })
    }
}
