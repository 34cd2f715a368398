//! With whose rights do functions run that a superuser's statement comes upon?
//!
//! An index, a CHECK, a partition key, a domain or a view may call a function of its owner, and
//! merely planning a query calls those that are immutable. PostgreSQL runs them with the rights of
//! whoever says the statement. Where `shardid.functions_run_as_owner` is on, a function that no
//! superuser owns runs with the rights of its owner instead, in a security-restricted operation,
//! as in a REINDEX: it cannot become anybody else, leaves nothing in the session, and what it sets ends with it.
//!
//! By the time that we are told, PostgreSQL has done what the function itself asks for: it may be
//! SECURITY DEFINER. So it counts who has connected, and whether what goes on is restricted
//! already, not who the user is. A function with settings of its own is not called: PostgreSQL would keep what it
//! sets besides, and one of them may be a role.

use core::cell::{Cell, RefCell};
use core::ffi::{CStr, c_int};

use pgrx::pg_guard;
use pgrx::pg_sys::{self, Datum, FmgrHookEventType, FmgrInfo, Oid};

use super::backend::BackendLocal;
use super::text;
use crate::report::{self, Report};

/// Numbers below are of what `initdb` makes.
const FIRST_NORMAL_OID: u32 = pg_sys::FirstNormalObjectId;

/// As whom the session was at work before a function.
struct Before {
    /// None where PostgreSQL itself puts that back, as after a function that is SECURITY DEFINER.
    user: Option<(Oid, c_int)>,
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
        || (IS_ON.get().get()() && of_others(function).is_some())
}

/// A function that no superuser owns.
struct Others {
    owner: Oid,
    is_definer: bool,
    has_settings: bool,
}

/// What there is to know of a function, if no superuser owns it.
fn of_others(function: Oid) -> Option<Others> {
    if function.to_u32() < FIRST_NORMAL_OID {
        return None;
    }
    let cache = pg_sys::SysCacheIdentifier::PROCOID as c_int;
    // SAFETY: a lookup; the row is ours until it is released, and what is read of it is copied.
    unsafe {
        let row = pg_sys::SearchSysCache1(cache, Datum::from(function));
        if row.is_null() {
            return None;
        }
        let form = pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_proc>();
        let mut is_null = true;
        pg_sys::SysCacheGetAttr(cache, row, pg_sys::Anum_pg_proc_proconfig as _, &raw mut is_null);
        let (owner, is_definer) = ((*form).proowner, (*form).prosecdef);
        pg_sys::ReleaseSysCache(row);
        (!pg_sys::superuser_arg(owner)).then_some(Others {
            owner,
            is_definer,
            has_settings: !is_null,
        })
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
    argument: *mut Datum,
) {
    if event == FmgrHookEventType::FHET_START {
        // SAFETY: the function that is about to be called.
        let before = unsafe { begin((*function).fn_oid) }.unwrap_or_else(|report| report.throw());
        AT_WORK.get().borrow_mut().push(before);
    }
    if let Some(others) = OTHERS.get().get() {
        // SAFETY: what was there before us, with its own argument.
        unsafe { others(event, function, argument) };
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
            if let Some((user, context)) = before.user {
                pg_sys::SetUserIdAndSecContext(user, context);
            }
        }
    }
}

/// Goes on as the owner of a function that no superuser owns, where a superuser has connected and nothing
/// restricts what goes on yet.
///
/// # Safety
/// Within a transaction.
unsafe fn begin(function: Oid) -> Result<Option<Before>, Report> {
    // SAFETY: lookups and plain variables of the backend.
    unsafe {
        let (mut user, mut context) = (Oid::INVALID, 0);
        pg_sys::GetUserIdAndSecContext(&raw mut user, &raw mut context);
        let restricted = pg_sys::SECURITY_RESTRICTED_OPERATION as c_int;
        if context & restricted != 0
            || !IS_ON.get().get()()
            || !pg_sys::superuser_arg(pg_sys::GetAuthenticatedUserId())
        {
            return Ok(None);
        }
        let Some(Others { owner, is_definer, has_settings }) = of_others(function) else {
            return Ok(None);
        };
        if has_settings {
            return Err(report::has_settings(&function_name(function)));
        }
        let settings = pg_sys::NewGUCNestLevel();
        pg_sys::SetUserIdAndSecContext(owner, context | restricted);
        Ok(Some(Before { user: (!is_definer).then_some((user, context)), settings }))
    }
}

/// The name of a function, with its arguments, for messages.
fn function_name(function: Oid) -> String {
    // SAFETY: a lookup that gives a string in this memory context.
    unsafe {
        let name = pg_sys::format_procedure(function);
        text::from_server(CStr::from_ptr(name).to_bytes()).into_owned()
    }
}
