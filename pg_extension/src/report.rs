//! Every error a user can see: SQLSTATE, message, detail and hint, in one place.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};
use shardid_ids::{ConcealError, DEFAULT_LAYOUT, IdError, LayoutError, TextError};

use crate::page::held::Unusable;
use crate::page::text::for_any;

/// What a user is told.
pub(crate) struct Report {
    /// Five characters, chosen by what a program should do about it.
    pub(crate) sqlstate: &'static [u8; 5],
    pub(crate) message: String,
    pub(crate) detail: Option<String>,
    pub(crate) hint: Option<String>,
}

impl Report {
    fn new(sqlstate: &'static [u8; 5], message: String) -> Self {
        Self { sqlstate, message, detail: None, hint: None }
    }

    fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Raises the error from a function that pgrx wraps; `SI...` states need
    /// [`guarded`](crate::page::guard::guarded).
    pub(crate) fn throw(self) -> ! {
        let code = PgSqlErrorCode::from(sqlstate_number(self.sqlstate));
        let mut error = ErrorReport::new(code, for_any(self.message), "shardid");
        if let Some(detail) = self.detail {
            error = error.set_detail(for_any(detail));
        }
        if let Some(hint) = self.hint {
            error = error.set_hint(for_any(hint));
        }
        error.report(PgLogLevel::ERROR);
        unreachable!("an error report does not return")
    }
}

/// A SQLSTATE as the number PostgreSQL keeps it in (`MAKE_SQLSTATE`).
pub(crate) fn sqlstate_number(state: &[u8; 5]) -> i32 {
    state.iter().rev().fold(0, |sum, c| (sum << 6) + ((i32::from(*c) - i32::from(b'0')) & 0x3F))
}

/// Seconds for people: three digits after the point.
fn seconds(us: i64) -> String {
    format!("{:.3} s", us as f64 / 1e6)
}

/// The database does not know the shard; where no layout may have it, say that instead.
pub(crate) fn no_such_shard(shard: i32) -> Report {
    let layout = shardid_ids::builtin(DEFAULT_LAYOUT).expect("the default layout is built in");
    if layout.shard(shard.into()).is_err() {
        return shard_not_in_layout(shard.into(), DEFAULT_LAYOUT, layout.shards());
    }
    Report::new(b"42704", format!("shard {shard} does not exist in this database"))
        .hint(format!("SELECT create_shard({shard});"))
}

/// A number that no shard of any layout has.
pub(crate) fn no_such_number(shard: i64) -> Report {
    let layout = shardid_ids::builtin(DEFAULT_LAYOUT).expect("the default layout is built in");
    shard_not_in_layout(shard, DEFAULT_LAYOUT, layout.shards())
}

pub(crate) fn moved(shard: i32, node: &str, map_version: Option<i64>) -> Report {
    let report =
        Report::new(b"SI001", format!("shard {shard} lives on node \"{node}\", not on this one"));
    let report = match map_version {
        Some(version) => report.detail(format!("The map says so since version {version}.")),
        None => report,
    };
    report.hint(format!("Connect to node \"{node}\", or read the map again: shardid map"))
}

pub(crate) fn fenced(shard: i32) -> Report {
    Report::new(b"SI002", format!("shard {shard} is fenced: it takes no writes while it is moved"))
        .hint("Try again in a moment; shardid moves shows the move.")
}

pub(crate) fn guard_gone(table: &str) -> Report {
    Report::new(b"42501", format!("table {table} of a copy of a shard keeps its guards"))
        .detail("Its shard is fenced or lives elsewhere, and no row comes to it but by a move.")
        .hint("The guards go when the shard is open here, or the copy is retired; shardid moves shows the moves.")
}

pub(crate) fn trigger_beside_guards(table: &str, trigger: &str) -> Report {
    Report::new(b"42501", format!("trigger {trigger} would fire for rows that come to a copy of a shard"))
        .detail(format!("It is a trigger of {table}, whose shard is fenced or lives elsewhere."))
        .hint(format!("ALTER TABLE {table} ENABLE TRIGGER {trigger}; has it fire for clients alone. shardid moves shows the moves."))
}

pub(crate) fn restored_elsewhere(shard: i32, database: &str) -> Report {
    Report::new(
        b"SI003",
        format!("shard {shard} belongs to another server or database, of which this is a copy"),
    )
    .detail(format!(
        "It was placed in database \"{database}\" of the server it came from, which may still hand out its ids."
    ))
    .hint(format!(
        "When the other copy is gone for good: SELECT adopt_shard({shard}); or, for a whole node, shardid apply --adopt NODE"
    ))
}

pub(crate) fn shard_not_in_layout(shard: i64, layout: &str, shards: i64) -> Report {
    Report::new(b"22003", format!("shard {shard} is out of range for layout \"{layout}\""))
        .detail(format!("Its shards are 0 to {}.", shards - 1))
        .hint("SELECT name, shards FROM shardid.layouts;")
}

pub(crate) fn no_shard_chosen(known: u64) -> Report {
    let report = Report::new(b"55000", "next_id() does not know which shard to use".into())
        .detail(format!("shardid.shard is not set, and this database has {known} shards."));
    if known == 0 {
        report.hint("SELECT create_shard(0);")
    } else {
        report.hint("SET shardid.shard = ...; or name the shard: next_id(...)")
    }
}

/// Whether [`relation_name`](crate::page::relations::relation_name) found no name any more.
fn is_gone(relation: &str) -> bool {
    relation.bytes().all(|byte| byte.is_ascii_digit())
}

fn dropped_meanwhile(number: &str) -> Report {
    Report::new(b"42704", format!("there is no sequence with oid {number} any more"))
        .detail("It was dropped while this call waited for it, or before.")
        .hint("create_shard(shard), create_id_sequence(name, shard) and create_segment(tag, step) make them.")
}

pub(crate) fn no_id_sequence(name: &str) -> Report {
    if is_gone(name) {
        return dropped_meanwhile(name);
    }
    Report::new(b"42704", format!("\"{name}\" is not an id sequence"))
        .hint("Make one with create_id_sequence(name, shard), or a shard with create_shard(shard).")
}

/// A sequence that is listed as a shard's, and is not as one is.
pub(crate) fn not_its_generator(
    sequence: &str,
    shard: i64,
    is_id_sequence: bool,
    increment: i64,
    min: i64,
) -> Report {
    let again = if is_id_sequence {
        format!("make an id sequence: SELECT create_id_sequence('another name', {shard});")
    } else {
        format!("SELECT create_shard({shard}); makes the shard's again.")
    };
    Report::new(b"55000", format!("sequence {sequence} is not a generator of shard {shard}"))
        .detail(format!(
            "A generator of it has INCREMENT {increment} and MINVALUE {min}; the row may have been restored where its number is that of another sequence."
        ))
        .hint(format!(
            "If it is this one and was altered: ALTER SEQUENCE {sequence} INCREMENT {increment} MINVALUE {min}; if it is another one, {again}"
        ))
}

pub(crate) fn no_privilege(sequence: &str) -> Report {
    Report::new(b"42501", format!("permission denied for sequence {sequence}"))
        .hint(format!("GRANT USAGE ON SEQUENCE {sequence} TO ...;"))
}

pub(crate) fn may_not_write(table: &str) -> Report {
    Report::new(b"42501", format!("permission denied for table {table}"))
        .hint(format!("GRANT INSERT, UPDATE ON {table} TO ...;"))
}

/// What was found by its number is gone since.
pub(crate) fn replaced_meanwhile() -> Report {
    Report::new(b"40001", "a sequence was dropped while it was waited for".into())
        .hint("Try again.")
}

pub(crate) fn not_owned(sequence: &str) -> Report {
    Report::new(b"42501", format!("must be owner of sequence {sequence}"))
        .hint("SET ROLE to its owner first.")
}

/// With the words of PostgreSQL, whose own error would carry a backtrace of ours.
pub(crate) fn read_only(command: &str, standby: bool) -> Report {
    let why = if standby { "during recovery" } else { "in a read-only transaction" };
    Report::new(b"25006", format!("cannot execute {command} {why}"))
        .hint("Take ids on the primary, in a transaction that may write.")
}

/// Of code that has changed a setting of a session by which rows of others are written, too.
pub(crate) fn set_in_stream(setting: &str) -> Report {
    Report::new(b"42501", format!("a function has changed setting \"{setting}\" while rows come by a stream of a move"))
        .detail("Checks, domains and expressions of indexes run for such rows, and those of others run in the same session.")
        .hint("Have the function set it by its definition: ALTER FUNCTION ... SET ...")
}

/// Of a stream whose role may write by more than its rows.
pub(crate) fn writable_stream(role: &str) -> Report {
    Report::new(
        b"42501",
        format!("what rows of a stream of a move meet could write as role {role}"),
    )
    .detail("default_transaction_read_only is on for such a role, and is off now.")
    .hint(format!("ALTER ROLE {role} IN DATABASE ... SET default_transaction_read_only = on"))
}

/// Of a function that would set what outlives it, or become somebody else.
pub(crate) fn has_settings(function: &str) -> Report {
    Report::new(
        b"42501",
        format!(
            "function {function} has settings of its own, and cannot be called in this session"
        ),
    )
    .detail("No superuser owns it, and shardid.functions_run_as_owner is on.")
    .hint(format!(
        "ALTER FUNCTION {function} RESET ALL; and name in its body what is in which schema."
    ))
}

/// Of a procedure, which may end the transaction that says who is at work.
pub(crate) fn is_procedure(procedure: &str) -> Report {
    Report::new(b"42501", format!("procedure {procedure} cannot be called in this session"))
        .detail("No superuser owns it, and shardid.functions_run_as_owner is on.")
        .hint("SET ROLE to its owner in another session, and CALL it there.")
}

/// Of a function that may do anything, which an expression of somebody else calls.
pub(crate) fn not_on_behalf(function: &str, role: &str) -> Report {
    Report::new(
        b"42501",
        format!("function {function} is not called with a superuser's rights on behalf of role \"{role}\""),
    )
    .detail("It is compiled and not immutable, and an expression in what that role owns calls it.")
    .hint("Have a function in SQL or PL/pgSQL call it, and the expression call that.")
}

/// Of a function of somebody else, in a statement that is the session's own.
pub(crate) fn not_called_for_nobody(function: &str) -> Report {
    Report::new(
        b"42501",
        format!(
            "function {function} belongs to no superuser, and is not called on nobody's behalf"
        ),
    )
    .detail("shardid.functions_run_as_owner is on, and shardid.on_behalf_of is none.")
    .hint("SET LOCAL shardid.on_behalf_of to the role for which it is called.")
}

/// Of a relation of somebody else than the role whose a statement is, or of anybody in one that is the session's own.
pub(crate) fn not_read_on_behalf(relation: &str, is_on_a_roles: bool) -> Report {
    let (whose, set) = match is_on_a_roles {
        true => ("belongs neither to the role on whose behalf it is read nor to", "another role"),
        false => ("does not belong to", "none"),
    };
    Report::new(b"42501", format!("relation {relation} {whose} a superuser"))
        .detail(format!("shardid.functions_run_as_owner is on, and shardid.on_behalf_of is {set}."))
        .hint("SET LOCAL shardid.on_behalf_of to the role that owns it.")
}

/// Of a function of somebody else, which an expression calls whose owner may not.
pub(crate) fn may_not_execute(function: &str) -> Report {
    Report::new(b"42501", format!("permission denied for function {function}"))
        .detail("It is called with the rights of shardid.on_behalf_of.")
}

pub(crate) fn no_role(role: &str) -> Report {
    Report::new(b"42704", format!("role \"{role}\" does not exist"))
        .hint("\\du in psql shows the roles.")
}

pub(crate) fn in_transaction_block() -> Report {
    Report::new(b"25001", "create_shards() cannot run inside a transaction block".into())
        .detail("It commits after every hundred shards.")
        .hint("COMMIT first; or make a few at a time: SELECT create_shard(s) FROM generate_series(0, 99) s;")
}

/// A sequence that ids or numbers cannot be taken from as it is.
pub(crate) fn unusable(sequence: &str, unusable: Unusable) -> Report {
    match unusable {
        Unusable::Gone => {
            Report::new(b"42704", format!("sequence {sequence} does not exist any more"))
                .hint("SELECT * FROM shardid.shards; lists the generators of this database.")
        }
        Unusable::NotPermanent => {
            Report::new(b"55000", format!("sequence {sequence} is not permanent"))
                .detail("Ids of an unlogged or temporary sequence would repeat after a crash.")
                .hint(format!("ALTER SEQUENCE {sequence} SET LOGGED;"))
        }
        Unusable::NewFile => {
            Report::new(b"55000", format!("sequence {sequence} has a new file in this transaction"))
                .detail("ALTER SEQUENCE or TRUNCATE ... RESTART IDENTITY made it. A rollback would bring the old one back, and with it the ids that were taken from the new one.")
                .hint("COMMIT first, then take ids.")
        }
        Unusable::Replaces => replaces(sequence),
        Unusable::NotASequence => {
            Report::new(b"42809", format!("relation {sequence} is not a sequence"))
                .hint("SELECT * FROM shardid.shards; lists the generators of this database.")
        }
        Unusable::Broken => {
            Report::new(b"XX001", format!("sequence {sequence} has a damaged page"))
                .hint("Restore it from a backup or a standby; see pg_amcheck.")
        }
    }
}

pub(crate) fn not_made_here(sequence: &str) -> Report {
    Report::new(b"55000", format!("sequence {sequence} was not made in this transaction"))
        .hint("create_shard() and create_id_sequence() make generators.")
}

/// A generator that may take the place of another one, which a rollback would bring back.
pub(crate) fn replaces(sequence: &str) -> Report {
    Report::new(b"55000", format!("sequence {sequence} was replaced or restored in this transaction"))
        .detail("A rollback would bring the one before it back, and with it the numbers that were taken from this one.")
        .hint("COMMIT first, then take more.")
}

/// A sequence of the extension was dropped by hand, or while this call waited for it.
pub(crate) fn horizon_lost() -> Report {
    Report::new(b"55000", "the extension shardid was dropped or changed meanwhile".into())
        .hint("Try again.")
}

/// A parallel worker does not know whether its transaction may write.
pub(crate) fn in_parallel_worker(function: &str) -> Report {
    Report::new(b"25000", format!("cannot execute {function} in a parallel worker"))
        .detail("A function that calls it is marked PARALLEL SAFE.")
        .hint("ALTER FUNCTION ... PARALLEL RESTRICTED; for those that came with the extension: ALTER EXTENSION shardid UPDATE;")
}

/// The last id of a shard is too far ahead of the clock, and stayed so.
pub(crate) fn too_far_ahead(
    sequence: &str,
    shard: i64,
    drift_us: i64,
    tick_us: i64,
    max_drift_us: i64,
    max_wait_ms: i64,
) -> Report {
    let report =
        Report::new(b"55000", format!("shard {shard} is {} ahead of the clock", seconds(drift_us)));
    let waited = seconds(max_wait_ms * 1_000);
    // No drift lets it into the next tick before that has come.
    if tick_us > max_drift_us && drift_us <= tick_us {
        return report
            .detail(format!(
                "The present tick of its layout, of {}, has no ids left for {sequence}, or the clock was set back; waited {waited}.",
                seconds(tick_us)
            ))
            .hint(format!(
                "Wait until the next tick begins. A shardid.max_drift ({}) of a tick or more allows ids of it before; a crash then puts other shards as far ahead.",
                seconds(max_drift_us)
            ));
    }
    report
        .detail(format!(
            "The clock was set back, ids of {sequence} were taken faster than its layout allows, or it was restarted, restored or taken over by this server; waited {waited}."
        ))
        .hint(format!(
            "Set the clock right or wait; shardid.max_drift ({}) allows more drift, shardid.max_wait ({waited}) longer waits.",
            seconds(max_drift_us)
        ))
}

/// The same of one whose past is not known, and that begins beyond what all others can have given.
pub(crate) fn beyond_all_others(too_far: Report, sequence: &str) -> Report {
    let detail = format!(
        "Of the last ids of {sequence} nothing is known, as after a crash, a promotion, a restore, a copy or ALTER SEQUENCE: it begins beyond all that any shard of this database may have given out, which may be as far ahead."
    );
    let hint = too_far.hint.unwrap_or_default();
    Report {
        detail: Some(detail),
        hint: Some(format!(
            "{hint} SELECT shard, drift FROM shardid.shards; shows how far each is."
        )),
        ..too_far
    }
}

/// The same of one that no other shard has put there: its ticks are long.
pub(crate) fn beyond_its_tick(too_far: Report, sequence: &str) -> Report {
    let detail = format!(
        "How far ids of {sequence} went in the present tick of its layout is not known, as after a crash, a promotion, a restore, a copy or ALTER SEQUENCE, or where it was made again: it begins with the next one."
    );
    Report { detail: Some(detail), ..too_far }
}

/// A generator has no ids left of the present tick, in the transaction that made it.
pub(crate) fn ahead_where_made(sequence: &str, shard: i64) -> Report {
    Report::new(
        b"55000",
        format!("shard {shard} cannot run ahead of the clock in the transaction that made it"),
    )
    .detail(format!("Nothing would remember the ids of {sequence} after a rollback but the clock."))
    .hint("COMMIT first, then take more ids.")
}

/// The clock jumped into a future that may be wrong.
pub(crate) fn clock_jumped(jump_us: i64, max_jump_us: i64) -> Report {
    Report::new(b"55000", format!("the clock has jumped forward by {}", seconds(jump_us)))
        .detail("One id from a wrong future would put its shard ahead of the clock for good.")
        .hint(format!(
            "Set the clock right; if the clock is correct now, reconnect, or allow more with shardid.max_jump ({}).",
            seconds(max_jump_us)
        ))
}

/// An id by which nobody may have the whole database wait.
pub(crate) fn horizon_too_far(id: i64, max_jump_us: i64) -> Report {
    Report::new(b"55000", format!("the horizon cannot be raised to id {id}"))
        .detail(format!("It is of more than shardid.max_jump ({}) after now, and no generator would give an id before that once it comes back from a crash.", seconds(max_jump_us)))
        .hint("Give the highest id that was handed out; a superuser may go further.")
}

/// Nobody knows how far a generator went, and by the horizon it may have gone to its layout's end.
pub(crate) fn beyond_its_layout(sequence: &str, shard: i64, ahead_us: i64) -> Report {
    Report::new(
        b"55000",
        format!("shard {shard} may have given ids up to the end of its layout"),
    )
    .detail(format!(
        "How far {sequence} went is not known, and ids of this database may be {} ahead of the clock (shardid.horizon).",
        seconds(ahead_us)
    ))
    .hint("If the clock was wrong for a moment, the page on clocks says how ids go on below that: ALTER SEQUENCE shardid.horizon RESTART; where no id of then is left.")
}

pub(crate) fn layout_ended(layout: &str) -> Report {
    Report::new(
        b"22003",
        format!(
            "layout \"{layout}\" has no ids left: the next one would be of a time past its end"
        ),
    )
    .hint(
        "SELECT name, ends_at FROM shardid.layouts; create the shard anew on a layout that lasts.",
    )
}

pub(crate) fn layout_not_begun(shard: i64, layout: &str) -> Report {
    Report::new(
        b"55000",
        format!("shard {shard} has no ids yet: the time of layout \"{layout}\" has not begun"),
    )
    .hint("SELECT name, epoch FROM shardid.layouts; create the shard on a layout whose epoch has passed, or set the clock right.")
}

/// A time that no id of the layout can be of.
pub(crate) fn time_past_layout(layout: &str) -> Report {
    Report::new(b"22003", format!("the time is past the end of layout \"{layout}\""))
        .hint("SELECT name, ends_at FROM shardid.layouts;")
}

pub(crate) fn no_last_id() -> Report {
    Report::new(b"55000", "last_id is not yet defined in this session".into())
        .hint("Call next_id first.")
}

pub(crate) fn no_layout(name: &str) -> Report {
    Report::new(b"42704", format!("layout \"{name}\" does not exist"))
        .hint("SELECT name FROM shardid.layouts; create_layout(...) adds one.")
}

pub(crate) fn count_out_of_range(count: i64) -> Report {
    Report::new(b"22003", format!("count must not be negative, but is {count}"))
        .hint("Ask for 0 or more: SELECT * FROM next_ids(5, 1000);")
}

pub(crate) fn no_ticket(name: &str) -> Report {
    let literal = name.replace('\'', "''");
    Report::new(b"42704", format!("ticket \"{name}\" does not exist"))
        .hint(format!("SELECT create_ticket('{literal}');"))
}

/// `last` is what the row knows, of a gapless one.
pub(crate) fn ticket_without_sequence(
    name: &str,
    (server, servers): (i32, i32),
    last: Option<i64>,
) -> Report {
    let literal = name.replace('\'', "''");
    let (known, above, number) = match last {
        Some(last) => (format!("Its last number was {last}."), "", last.to_string()),
        None => (
            "How far its numbers went is not known any more.".into(),
            "With a number above all of them: ",
            "...".into(),
        ),
    };
    Report::new(b"55000", format!("the sequence of ticket \"{name}\" was dropped"))
        .detail(known)
        .hint(format!(
            "{above}SELECT shardid.create_ticket_above('{literal}', {server}, {servers}, {number});"
        ))
}

/// A sequence that is listed as a ticket's, and is not as one is.
pub(crate) fn not_its_sequence(sequence: &str, name: &str) -> Report {
    let literal = name.replace('\'', "''");
    Report::new(b"55000", format!("sequence {sequence} is not that of ticket \"{name}\""))
        .detail("The row may have been restored where its number is that of another sequence.")
        .hint(format!(
            "SELECT server, servers, floor, last_gapless FROM shardid.ticket WHERE name = '{literal}'; then, with these and a number above all: SELECT shardid.create_ticket_above('{literal}', server, servers, ...);"
        ))
}

pub(crate) fn ticket_is_gapless(name: &str) -> Report {
    let literal = name.replace('\'', "''");
    Report::new(b"55000", format!("ticket \"{name}\" is gapless"))
        .detail("Numbers that do not wait for one another would leave gaps in it.")
        .hint(format!("SELECT next_ticket_gapless('{literal}');"))
}

/// The ticket's numbers are held below a ceiling, for a change of its servers.
pub(crate) fn ticket_at_ceiling(name: &str, last: i64, ceiling: i64) -> Report {
    Report::new(b"55000", format!("ticket \"{name}\" ends before {ceiling} on this server"))
        .detail(format!(
            "It stands at {last}. Its servers are being changed, or this one was taken away."
        ))
        .hint("Take a number from another server, and look: shardid tickets status")
}

/// Of a dump that did not see its first number.
pub(crate) fn ticket_counts_nothing(name: &str) -> Report {
    let literal = name.replace('\'', "''");
    Report::new(
        b"55000",
        format!("ticket \"{name}\" is gapless, and how far it went is not known here"),
    )
    .detail("The dump that it comes from was taken while it handed out its first number.")
    .hint(format!(
        "Say its last number, by the table that has it: SELECT shardid.raise_ticket('{literal}', 1000);"
    ))
}

pub(crate) fn ticket_ended(name: &str, last: i64, top: i64) -> Report {
    Report::new(b"22003", format!("ticket \"{name}\" has not enough numbers left"))
        .detail(format!("It stands at {last}, and ends at {top}."))
        .hint("Make another ticket, or another column type if it was kept to that.")
}

pub(crate) fn ticket_count_out_of_range(count: i64, max: i64) -> Report {
    Report::new(b"22023", format!("count must be 1 to {max}, but is {count}"))
        .hint("SELECT * FROM next_tickets('photos', 1000);")
}

pub(crate) fn sequence_ended(sequence: &str, count: i64, last: i64, top: i64) -> Report {
    Report::new(b"22003", format!("sequence {sequence} has fewer than {count} numbers left"))
        .detail(format!("It stands at {last}, and ends at {top}."))
        .hint("Ask for fewer, or begin another one.")
}

pub(crate) fn not_a_rising_sequence(relation: &str) -> Report {
    if is_gone(relation) {
        return dropped_meanwhile(relation);
    }
    Report::new(b"42809", format!("{relation} is not a sequence that rises"))
        .hint("Segments and their sequences are made by create_segment(tag, step).")
}

/// An id or a time that is not of the layout it is read with.
pub(crate) fn not_of_layout(error: IdError, layout: &str) -> Report {
    let report =
        Report::new(b"22003", error.to_string()).detail(format!("Read with layout \"{layout}\"."));
    match error {
        IdError::Beyond { id, .. } => {
            report.hint(format!("See which layout it may be of: SELECT * FROM id_explain({id});"))
        }
        IdError::Negative(_) => report.hint("Ids are positive; one that a client has shown as unsigned, or scrambled, is another number."),
        _ => report.hint("SELECT name, epoch, ends_at FROM shardid.layouts;"),
    }
}

pub(crate) fn bad_layout(error: &LayoutError) -> Report {
    let report = Report::new(b"22023", error.to_string());
    match error {
        LayoutError::TooLarge { .. } => {
            report.hint("ticks * shards * slots must stay within 2^63.")
        }
        _ => report.hint("SELECT create_layout('mine', '2026-01-01Z', '1 ms', 8192, 1024);"),
    }
}

/// A null for a function that only ours call, with something.
pub(crate) fn not_called_by_hand() -> Report {
    Report::new(b"22004", "a shard and a layout are needed".into())
        .hint("create_shard() calls this function; there is no need to call it by hand.")
}

/// Nothing would remember the number.
pub(crate) fn gapless_while_replicating(name: &str) -> Report {
    Report::new(
        b"0A000",
        format!("ticket \"{name}\" cannot give a number without gaps while rows are replicated"),
    )
    .hint("Take it in a trigger of the subscriber's table: ALTER TABLE ... ENABLE ALWAYS TRIGGER ...;")
}

/// A trigger's function, called by hand; in PostgreSQL's own words.
pub(crate) fn not_a_trigger() -> Report {
    Report::new(b"0A000", "trigger functions can only be called as triggers".into()).hint(
        "The tables in schema shardid have the triggers; there is no need to call it by hand.",
    )
}

/// A trigger of ours on a table of somebody's.
pub(crate) fn not_our_table(function: &str, table: &str) -> Report {
    Report::new(b"0A000", format!("{function} is no trigger for table {table}")).hint(
        "The tables in schema shardid have it; a table of your own needs a function of your own.",
    )
}

pub(crate) fn layout_without_a_part() -> Report {
    Report::new(b"22004", "a layout needs an epoch, a tick, shards and slots".into())
        .hint("SELECT create_layout('mine', '2026-01-01Z', '1 ms', 8192, 1024);")
}

pub(crate) fn bad_tick() -> Report {
    Report::new(b"22023", "tick must be a fixed length of time".into())
        .detail("Months and days have no fixed length.")
        .hint("Use microseconds to hours: interval '1 ms'.")
}

pub(crate) fn infinite_time() -> Report {
    Report::new(b"22008", "an infinite time has no id".into())
        .hint("Use an instant, such as now() or '2026-01-01Z'.")
}

pub(crate) fn bad_text(text: &str, error: &TextError) -> Report {
    Report::new(b"22P02", format!("\"{text}\" is not an id as text: {error}"))
        .hint("Such texts are made by id_text(id).")
}

pub(crate) fn bad_conceal(error: ConcealError) -> Report {
    match error {
        ConcealError::ShortKey(_) => Report::new(b"22023", error.to_string())
            .hint("Use random bytes, as openssl rand -hex 32 gives them, and keep them as you keep a password."),
        ConcealError::Negative(_) => Report::new(b"22003", error.to_string())
            .hint("Ids are positive, scrambled ones as well."),
    }
}
