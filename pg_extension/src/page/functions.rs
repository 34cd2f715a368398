//! With whose rights do functions run that a superuser's statement comes upon?
//!
//! An index, a CHECK, a partition key, a domain or a view may call a function of its owner, and
//! merely planning a query calls those that are immutable. PostgreSQL runs them with the rights of
//! whoever says the statement. Where `shardid.functions_run_as_owner` is on, a function that no
//! superuser owns runs with the rights of its owner instead, in a security-restricted operation,
//! as in a REINDEX: it cannot become anybody else, leaves nothing in the session, and what it sets ends with it.
//!
//! By the time that we are told, PostgreSQL has done what the function itself asks for: it may be
//! SECURITY DEFINER. So it counts who has connected, and whether we have restricted what goes on
//! already, not who the user is: where an index is built, PostgreSQL does that with the rights of the table's owner, who may
//! be a superuser. A function with settings of its own is not called: PostgreSQL would keep what it
//! sets besides, and one of them may be a role.
//!
//! An expression also names functions of others than who wrote it, and of superusers. Where it is said on whose behalf a
//! statement is (`shardid.on_behalf_of`: who owns the table that is read, or what is made), that role has to have
//! `EXECUTE` on them. Its own run with its rights, as do those that superusers have written; those of others with what
//! everybody has, since who has written the expression is not known: the planner of one statement meets those of several
//! tables, and of domains. What is compiled knows no rights but those of its caller: it is called only if it is immutable,
//! which `lo_export` is not. Triggers of a superuser, as those that see each DDL, are called by nobody's expression.
//!
//! Where a statement is on nobody's behalf (`none`) no function of others is called at all, but for triggers; where a third one
//! may have written it, as a key to somebody else's table (`public`), all that others have written run with what everybody has.
//! Which relations a statement may name then is in [`super::named`].
//!
//! Such a function writes nothing: while it is at work the transaction is read only. What a superuser's session copies comes
//! past triggers and keys, and so would what it wrote to the tables of a third one.
//!
//! For its estimates the planner calls functions that no expression names, as those of an operator's negator, past all that.
//! So it gets to see no index of others with an expression or a predicate, and none of their statistics.

use core::cell::{Cell, RefCell};
use core::ffi::{CStr, c_int, c_void};
use std::ffi::CString;

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
    /// Whether the transaction was read only.
    is_read_only: bool,
}

/// What a session has set.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    /// Whether functions of others run with their rights.
    pub(crate) is_on: fn() -> bool,
    /// On behalf of which role a statement is, if that is said.
    pub(crate) on_behalf_of: fn() -> Option<CString>,
}

/// A function that is at work.
struct Frame {
    /// None where it runs as its caller.
    before: Option<Before>,
    /// Whether a superuser has written it, and it runs as its caller: what it calls is not looked at.
    is_superusers: bool,
}

static SETTINGS: BackendLocal<Cell<Settings>> =
    BackendLocal::new(Cell::new(Settings { is_on: || false, on_behalf_of: || None }));
static OTHERS_NEED: BackendLocal<Cell<pg_sys::needs_fmgr_hook_type>> =
    BackendLocal::new(Cell::new(None));
static OTHERS: BackendLocal<Cell<pg_sys::fmgr_hook_type>> = BackendLocal::new(Cell::new(None));
static OTHERS_RELATION_INFO: BackendLocal<Cell<pg_sys::get_relation_info_hook_type>> =
    BackendLocal::new(Cell::new(None));
static OTHERS_ACCESS: BackendLocal<Cell<pg_sys::object_access_hook_type>> =
    BackendLocal::new(Cell::new(None));
/// Those that are at work, of which we are told.
static AT_WORK: BackendLocal<RefCell<Vec<Frame>>> = BackendLocal::new(RefCell::new(Vec::new()));

/// Has PostgreSQL ask before it calls a function, once, while the library loads.
pub(crate) fn watch_functions(settings: Settings) {
    SETTINGS.get().set(settings);
    // SAFETY: called once, while the library loads, which is never unloaded.
    unsafe {
        OTHERS_NEED.get().set(pg_sys::needs_fmgr_hook);
        OTHERS.get().set(pg_sys::fmgr_hook);
        pg_sys::needs_fmgr_hook = Some(needs);
        pg_sys::fmgr_hook = Some(called);
        OTHERS_ACCESS.get().set(pg_sys::object_access_hook);
        pg_sys::object_access_hook = Some(accessed);
        OTHERS_RELATION_INFO.get().set(pg_sys::get_relation_info_hook);
        pg_sys::get_relation_info_hook = Some(planned);
    }
}

/// Whether it is said on whose behalf a statement is.
pub(super) fn is_on_behalf() -> bool {
    (SETTINGS.get().get().on_behalf_of)().is_some()
}

pub(super) fn is_on() -> bool {
    (SETTINGS.get().get().is_on)()
}

/// Whether a function is at work, of which we are told.
pub(super) fn is_within() -> bool {
    !AT_WORK.get().borrow().is_empty()
}

/// Whether a function is PostgreSQL's own, or a superuser's.
pub(super) fn is_superusers(function: Oid) -> bool {
    not_built_in(function).is_none_or(|it| it.is_superusers)
}

/// Of a function that a statement on nobody's behalf would call.
pub(super) fn not_called_for_nobody(function: Oid) -> Report {
    report::not_called_for_nobody(&function_name(function))
}

/// Whether PostgreSQL is to tell of each call of a function.
///
/// # Safety
/// Called by PostgreSQL, within a transaction.
unsafe extern "C-unwind" fn needs(function: Oid) -> bool {
    // Each statement that calls a function comes here, and a guard takes time.
    if !is_on() && OTHERS_NEED.get().get().is_none() {
        return false;
    }
    // SAFETY: as for us.
    unsafe { needs_guarded(function) }
}

/// # Safety
/// As for [`needs`].
#[pg_guard]
unsafe extern "C-unwind" fn needs_guarded(function: Oid) -> bool {
    // SAFETY: what was there before us.
    OTHERS_NEED.get().get().is_some_and(|others| unsafe { others(function) })
        || (is_on() && not_built_in(function).is_some_and(|it| !it.is_superusers || it.is_written))
}

/// A function that `initdb` has not made.
struct Function {
    owner: Oid,
    is_superusers: bool,
    is_definer: bool,
    has_settings: bool,
    is_procedure: bool,
    /// Whether it is a trigger, or an event trigger.
    is_trigger: bool,
    /// Whether it is in a language that says what it calls; else it is compiled.
    is_written: bool,
}

/// What there is to know of a function that is not PostgreSQL's own.
fn not_built_in(function: Oid) -> Option<Function> {
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
        let (owner, is_definer, language) = ((*form).proowner, (*form).prosecdef, (*form).prolang);
        let is_procedure = (*form).prokind == pg_sys::PROKIND_PROCEDURE as core::ffi::c_char;
        let is_trigger =
            [pg_sys::TRIGGEROID, pg_sys::EVENT_TRIGGEROID].contains(&(*form).prorettype);
        pg_sys::ReleaseSysCache(row);
        Some(Function {
            owner,
            is_superusers: pg_sys::superuser_arg(owner),
            is_definer,
            has_settings: !is_null,
            is_procedure,
            is_trigger,
            is_written: ![INTERNAL, C].contains(&language.to_u32()),
        })
    }
}

/// Languages whose functions are compiled.
const INTERNAL: u32 = 12;
const C: u32 = 13;

/// Called by PostgreSQL when a statement gets ready to call a function, whoever wrote it, among other occasions.
///
/// # Safety
/// Called by PostgreSQL, within a transaction.
unsafe extern "C-unwind" fn accessed(
    access: pg_sys::ObjectAccessType::Type,
    class: Oid,
    object: Oid,
    part: c_int,
    argument: *mut c_void,
) {
    if is_on() || OTHERS_ACCESS.get().get().is_some() {
        // SAFETY: as for us.
        unsafe { accessed_guarded(access, class, object, part, argument) };
    }
}

/// # Safety
/// As for [`accessed`].
#[pg_guard]
unsafe extern "C-unwind" fn accessed_guarded(
    access: pg_sys::ObjectAccessType::Type,
    class: Oid,
    object: Oid,
    part: c_int,
    argument: *mut c_void,
) {
    if let Some(others) = OTHERS_ACCESS.get().get() {
        // SAFETY: what was there before us, with its own arguments.
        unsafe { others(access, class, object, part, argument) };
    }
    if access == pg_sys::ObjectAccessType::OAT_FUNCTION_EXECUTE && is_on() {
        may_call(object).unwrap_or_else(|report| report.throw());
    }
}

/// Refuses what the role may not execute on whose behalf a superuser would call it, and what is compiled and does more
/// than look at its arguments.
fn may_call(function: Oid) -> Result<(), Report> {
    let Some(role) = (SETTINGS.get().get().on_behalf_of)() else { return Ok(()) };
    // SAFETY: lookups.
    unsafe {
        let is_within_superusers = AT_WORK.get().borrow().last().is_some_and(|it| it.is_superusers);
        if is_within_superusers || !is_superusers_turn() {
            return Ok(());
        }
        let whose = match on_behalf_of()? {
            Behalf::OfNobody if is_superusers(function) => return Ok(()),
            Behalf::OfNobody => return Err(not_called_for_nobody(function)),
            Behalf::Of(role) => Some(role),
            Behalf::OfEverybody => Some(EVERYBODY),
            Behalf::Unsaid | Behalf::OfSuperuser => None,
        };
        if whose.is_some_and(|role| !may_execute(function, role)) {
            return Err(report::may_not_execute(&function_name(function)));
        }
        let is_immutable =
            pg_sys::func_volatile(function) == pg_sys::PROVOLATILE_IMMUTABLE as core::ffi::c_char;
        let runs_as_another =
            || not_built_in(function).is_some_and(|it| it.is_written || !it.is_superusers);
        if is_immutable || runs_as_another() {
            return Ok(());
        }
    }
    Err(report::not_on_behalf(&function_name(function), &text::from_server(role.to_bytes())))
}

/// Whether what goes on is restricted, since a function is at work that runs as another than its caller.
fn is_restricted(context: c_int) -> bool {
    context & pg_sys::SECURITY_RESTRICTED_OPERATION as c_int != 0
        && AT_WORK.get().borrow().iter().any(|frame| frame.before.is_some())
}

/// Whether a superuser is at work, and we do not restrict what goes on.
///
/// # Safety
/// Within a transaction.
pub(super) unsafe fn is_superusers_turn() -> bool {
    let (mut user, mut context) = (Oid::INVALID, 0);
    // SAFETY: a lookup, and plain variables of the backend.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&raw mut user, &raw mut context);
        !is_restricted(context) && pg_sys::superuser_arg(user)
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
        let frame = unsafe { begin((*function).fn_oid) }.unwrap_or_else(|report| report.throw());
        AT_WORK.get().borrow_mut().push(frame);
    }
    if let Some(others) = OTHERS.get().get() {
        // SAFETY: what was there before us, with its own argument.
        unsafe { others(event, function, argument) };
    }
    if event == FmgrHookEventType::FHET_START {
        return;
    }
    let before = AT_WORK.get().borrow_mut().pop().and_then(|frame| frame.before);
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
            pg_sys::XactReadOnly = before.is_read_only;
        }
    }
}

/// Goes on with the rights of those on whose behalf a function is called that no superuser owns, or of its owner,
/// where a superuser has connected and we do not restrict what goes on yet.
///
/// # Safety
/// Within a transaction.
unsafe fn begin(function: Oid) -> Result<Frame, Report> {
    // SAFETY: lookups and plain variables of the backend.
    unsafe {
        let found = not_built_in(function);
        let is_superusers = found.as_ref().is_none_or(|it| it.is_superusers);
        let as_it_is = Frame { before: None, is_superusers };
        let (mut user, mut context) = (Oid::INVALID, 0);
        pg_sys::GetUserIdAndSecContext(&raw mut user, &raw mut context);
        let restricted = pg_sys::SECURITY_RESTRICTED_OPERATION as c_int;
        if is_restricted(context)
            || !is_on()
            || !pg_sys::superuser_arg(pg_sys::GetAuthenticatedUserId())
        {
            return Ok(as_it_is);
        }
        let behalf = on_behalf_of()?;
        let is_trusted = |it: &Function| {
            it.is_superusers
                && (matches!(behalf, Behalf::Unsaid | Behalf::OfNobody)
                    || it.is_trigger
                    || it.is_procedure)
        };
        let Some(it) = found.filter(|it| !is_trusted(it)) else { return Ok(as_it_is) };
        if it.has_settings && !it.is_superusers {
            return Err(report::has_settings(&function_name(function)));
        }
        // A ROLLBACK in it would bring the superuser back.
        if it.is_procedure {
            return Err(report::is_procedure(&function_name(function)));
        }
        let runs_as = match behalf {
            Behalf::Of(role) if role != it.owner && !may_execute(function, role) => {
                return Err(report::may_not_execute(&function_name(function)));
            }
            Behalf::OfEverybody if !may_execute(function, EVERYBODY) => {
                return Err(report::may_not_execute(&function_name(function)));
            }
            _ if it.is_definer => it.owner,
            Behalf::Unsaid | Behalf::OfNobody => it.owner,
            Behalf::Of(role) if role == it.owner || it.is_superusers => role,
            Behalf::Of(_) | Behalf::OfSuperuser | Behalf::OfEverybody => EVERYBODY,
        };
        let is_read_only = pg_sys::XactReadOnly;
        let settings = pg_sys::NewGUCNestLevel();
        pg_sys::SetUserIdAndSecContext(runs_as, context | restricted);
        // What is read or made on somebody's behalf is all that such a statement writes. Where an error is caught, PostgreSQL
        // puts that back as it does with the user; nobody may make a transaction writable that has read anything.
        pg_sys::XactReadOnly |= !matches!(behalf, Behalf::Unsaid | Behalf::OfNobody);
        let before =
            Before { user: (!it.is_definer).then_some((user, context)), settings, is_read_only };
        Ok(Frame { before: Some(before), is_superusers: false })
    }
}

/// No role: it has what is granted to `PUBLIC`, is member of nothing, and nothing can be made that it would own.
const EVERYBODY: Oid = Oid::from_u32(u32::MAX);

/// Called by PostgreSQL when the planner knows what there is to know of a relation that a query reads.
///
/// # Safety
/// Called by PostgreSQL, within a transaction.
unsafe extern "C-unwind" fn planned(
    root: *mut pg_sys::PlannerInfo,
    relation: Oid,
    is_parent: bool,
    info: *mut pg_sys::RelOptInfo,
) {
    if is_on() || OTHERS_RELATION_INFO.get().get().is_some() {
        // SAFETY: as for us.
        unsafe { planned_guarded(root, relation, is_parent, info) };
    }
}

/// # Safety
/// As for [`planned`].
#[pg_guard]
unsafe extern "C-unwind" fn planned_guarded(
    root: *mut pg_sys::PlannerInfo,
    relation: Oid,
    is_parent: bool,
    info: *mut pg_sys::RelOptInfo,
) {
    // SAFETY: what was there before us, with its own arguments; and lists of the planner, which are made anew.
    unsafe {
        if let Some(others) = OTHERS_RELATION_INFO.get().get() {
            others(root, relation, is_parent, info);
        }
        if !is_on() || !is_superusers_turn() || is_superusers_relation(relation) {
            return;
        }
        let mut plain = core::ptr::null_mut();
        for index in pgrx::PgList::<pg_sys::IndexOptInfo>::from_pg((*info).indexlist).iter_ptr() {
            if (*index).indexprs.is_null() && (*index).indpred.is_null() {
                plain = pg_sys::lappend(plain, index.cast());
            }
        }
        (*info).indexlist = plain;
        (*info).statlist = core::ptr::null_mut();
    }
}

/// # Safety
/// Within a transaction.
unsafe fn is_superusers_relation(relation: Oid) -> bool {
    // SAFETY: as the caller says.
    unsafe { owner_of_relation(relation).is_some_and(|owner| pg_sys::superuser_arg(owner)) }
}

/// # Safety
/// Within a transaction.
pub(super) unsafe fn owner_of_relation(relation: Oid) -> Option<Oid> {
    let cache = pg_sys::SysCacheIdentifier::RELOID as c_int;
    // SAFETY: a lookup; the row is ours until it is released, and what is read of it is copied.
    unsafe {
        let row = pg_sys::SearchSysCache1(cache, Datum::from(relation));
        if row.is_null() {
            return None;
        }
        let owner = (*pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_class>()).relowner;
        pg_sys::ReleaseSysCache(row);
        Some(owner)
    }
}

/// On whose behalf a statement is.
#[derive(Clone, Copy)]
pub(super) enum Behalf {
    Unsaid,
    /// The statement is the session's own, and nothing of others is named in it.
    OfNobody,
    /// A third one may have written what it makes.
    OfEverybody,
    /// A superuser owns what is read or made, which may have a domain of anybody in it.
    OfSuperuser,
    Of(Oid),
}

pub(super) fn on_behalf_of() -> Result<Behalf, Report> {
    let Some(name) = (SETTINGS.get().get().on_behalf_of)() else { return Ok(Behalf::Unsaid) };
    // No role can have one of these names.
    match name.to_bytes() {
        b"none" => return Ok(Behalf::OfNobody),
        b"public" => return Ok(Behalf::OfEverybody),
        _ => {}
    }
    // SAFETY: lookups.
    unsafe {
        let role = pg_sys::get_role_oid(name.as_ptr(), true);
        if role == Oid::INVALID {
            return Err(report::no_role(&text::from_server(name.to_bytes())));
        }
        Ok(if pg_sys::superuser_arg(role) { Behalf::OfSuperuser } else { Behalf::Of(role) })
    }
}

/// # Safety
/// Within a transaction.
unsafe fn may_execute(function: Oid, role: Oid) -> bool {
    let execute = pg_sys::AclMode::from(pg_sys::ACL_EXECUTE);
    // SAFETY: a lookup.
    unsafe {
        #[cfg(feature = "pg15")]
        let answer = pg_sys::pg_proc_aclcheck(function, role, execute);
        #[cfg(not(feature = "pg15"))]
        let answer = pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, role, execute);
        answer == pg_sys::AclResult::ACLCHECK_OK
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
