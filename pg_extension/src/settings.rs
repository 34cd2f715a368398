//! The settings `shardid.*`: units, ranges, and what each means.

use std::ffi::CString;

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

use crate::page;

static LEASE_MS: GucSetting<i32> = GucSetting::<i32>::new(1_000);
static MAX_DRIFT_MS: GucSetting<i32> = GucSetting::<i32>::new(USUAL_DRIFT_MS);
static MAX_WAIT_MS: GucSetting<i32> = GucSetting::<i32>::new(1_000);
static MAX_JUMP_MS: GucSetting<i32> = GucSetting::<i32>::new(3_600_000);
static SHARD: GucSetting<i32> = GucSetting::<i32>::new(-1);
static BLOCK: GucSetting<i32> = GucSetting::<i32>::new(BLOCK_MAX);
static FUNCTIONS_RUN_AS_OWNER: GucSetting<bool> = GucSetting::<bool>::new(false);
static ON_BEHALF_OF: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(Some(c""));

const DAY_MS: i32 = 86_400_000;

/// The largest `shardid.block`, and its default.
pub(crate) const BLOCK_MAX: i32 = 256;

/// The default of `shardid.max_drift`.
const USUAL_DRIFT_MS: i32 = 10_000;
pub(crate) const USUAL_DRIFT_US: i64 = USUAL_DRIFT_MS as i64 * 1_000;

/// How far ahead in time a shard's position is logged, in microseconds; never above the drift allowed.
pub(crate) fn lease_us() -> i64 {
    i64::from(LEASE_MS.get().min(MAX_DRIFT_MS.get())) * 1_000
}

/// How far the last id may be ahead of the clock, in microseconds.
pub(crate) fn max_drift_us() -> i64 {
    i64::from(MAX_DRIFT_MS.get()) * 1_000
}

/// The same as the settings of server, database and role say it, whatever the session has set.
pub(crate) fn max_drift_of_all_us() -> i64 {
    page::others_settings::setting_of_all(c"shardid.max_drift").saturating_mul(1_000)
}

/// The largest that the settings of the server and of any role and database of it say.
///
/// Where some role or database has one of its own, that may be what hides the server's from this session: then it
/// is the default at least.
pub(crate) fn max_drift_of_any_us() -> i64 {
    let all_us = max_drift_of_all_us();
    match page::others_settings::largest_setting_of_any("shardid.max_drift") {
        Some(ms) => all_us.max(ms.saturating_mul(1_000)).max(USUAL_DRIFT_US),
        None => all_us,
    }
}

/// How long a call waits for the clock to catch up, in milliseconds.
pub(crate) fn max_wait_ms() -> i64 {
    i64::from(MAX_WAIT_MS.get())
}

/// How far the clock may jump forward, in microseconds; `None` where any jump is taken.
pub(crate) fn max_jump_us() -> Option<i64> {
    Some(MAX_JUMP_MS.get()).filter(|&ms| ms >= 0).map(|ms| i64::from(ms) * 1_000)
}

/// The session's shard for `next_id()`, if it has one.
pub(crate) fn shard() -> Option<i32> {
    Some(SHARD.get()).filter(|&shard| shard >= 0)
}

/// The most slots a backend takes at a time.
pub(crate) fn block() -> i64 {
    i64::from(BLOCK.get())
}

/// Whether functions that no superuser owns run as their owner where a superuser comes upon them.
pub(crate) fn functions_run_as_owner() -> bool {
    FUNCTIONS_RUN_AS_OWNER.get()
}

/// Who owns what a superuser's statement reads or makes, where that is said.
pub(crate) fn on_behalf_of() -> Option<CString> {
    ON_BEHALF_OF.get().filter(|name| !name.is_empty())
}

/// Defines the settings and reserves their prefix.
pub(crate) fn register() {
    GucRegistry::define_int_guc(
        c"shardid.lease",
        c"How far ahead in time a shard's position is written to WAL.",
        c"A busy shard writes one WAL record per lease, and goes on from its lease after a crash. At most shardid.max_drift counts.",
        &LEASE_MS,
        1,
        DAY_MS,
        GucContext::Suset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_int_guc(
        c"shardid.max_drift",
        c"How far the last id of a shard may be ahead of the clock.",
        c"Beyond it next_id waits for the clock (shardid.max_wait), then fails. 0 waits for the next tick whenever one is full.",
        &MAX_DRIFT_MS,
        0,
        DAY_MS,
        GucContext::Suset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_int_guc(
        c"shardid.max_wait",
        c"How long next_id waits for the clock to catch up before it fails.",
        c"0 fails at once. The wait can be cancelled and blocks nobody else.",
        &MAX_WAIT_MS,
        0,
        DAY_MS,
        GucContext::Userset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_int_guc(
        c"shardid.max_jump",
        c"How far the clock may jump forward, against a clock nobody sets, before next_id refuses.",
        c"Counted from when the session loaded the library. One id from a wrong future would poison its shard. -1 takes any jump.",
        &MAX_JUMP_MS,
        -1,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_int_guc(
        c"shardid.shard",
        c"The shard that next_id() without an argument takes ids from.",
        c"Set it for a session, a role or a database. -1 means none: then the only shard there is.",
        &SHARD,
        -1,
        i32::MAX,
        GucContext::Userset,
        GucFlags::empty(),
    );
    GucRegistry::define_int_guc(
        c"shardid.block",
        c"The most ids a session takes from a shard at a time, within one transaction and tick.",
        c"1 visits the sequence on every call.",
        &BLOCK,
        1,
        BLOCK_MAX,
        GucContext::Userset,
        GucFlags::empty(),
    );
    GucRegistry::define_bool_guc(
        c"shardid.functions_run_as_owner",
        c"Whether a function that no superuser owns runs with its owner's rights in the session of a superuser.",
        c"It runs in a security-restricted operation, as in a REINDEX. The program shardid sets it in its sessions.",
        &FUNCTIONS_RUN_AS_OWNER,
        GucContext::Suset,
        GucFlags::empty(),
    );
    GucRegistry::define_string_guc(
        c"shardid.on_behalf_of",
        c"The role that owns what a superuser's statement reads or makes, while shardid.functions_run_as_owner is on.",
        c"Functions run with its rights, and of those that superusers own only immutable ones are called. none: nothing of others is named; public: with what everybody has; empty: it is not said.",
        &ON_BEHALF_OF,
        GucContext::Suset,
        GucFlags::empty(),
    );
    page::reserve_settings(c"shardid");
}
