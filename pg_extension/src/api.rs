//! The SQL surface written in Rust, but for what hands out ids (`page::entry`).
//!
//! Each function is declared in `sql/shardid--0.2.0.sql`, which also holds the
//! comments, the volatility and the parallel marks.

use core::cell::Cell;
use core::ffi::CStr;
use std::ffi::CString;

use pgrx::datum::{Interval, TimestampWithTimeZone};
use pgrx::prelude::*;
use shardid_ids::{
    ConcealKey, DEFAULT_LAYOUT, IdError, Layout, Parts, Position, Shard, builtin, decode_text,
    encode_text,
};

use crate::page::text::given;
use crate::page::{
    BackendLocal, backend, calls, catalog, clocks, follower, guards, held, look, relations,
    sequence,
};
use crate::report::{self, Report};
use crate::{generator, horizon, settings};

/// Unwraps, or raises the error.
fn or_throw<T>(result: Result<T, Report>) -> T {
    result.unwrap_or_else(|report| report.throw())
}

/// The layout of that name: a built-in one without a look, others from the table.
fn layout(name: &str) -> Layout {
    let found = builtin(name).or_else(|| catalog::layout(name));
    or_throw(found.ok_or_else(|| report::no_layout(name)))
}

fn parts(id: i64, name: &str) -> (Layout, Parts) {
    let layout = layout(name);
    let parts = or_throw(layout.decode(id).map_err(|e| report::not_of_layout(e, name)));
    (layout, parts)
}

fn to_timestamp(time_us: i64) -> TimestampWithTimeZone {
    let since_2000 = time_us - catalog::POSTGRES_EPOCH_US;
    TimestampWithTimeZone::try_from(since_2000).expect("a layout ends within timestamptz")
}

fn from_timestamp(time: TimestampWithTimeZone) -> i64 {
    let since_2000 = i64::from(time);
    if since_2000 == i64::MIN || since_2000 == i64::MAX {
        report::infinite_time().throw();
    }
    since_2000.saturating_add(catalog::POSTGRES_EPOCH_US)
}

#[pg_extern]
fn last_id() -> i64 {
    or_throw(generator::last_id().ok_or_else(report::no_last_id))
}

#[pg_extern]
fn id_time(id: i64) -> TimestampWithTimeZone {
    id_time_in(id, DEFAULT_LAYOUT.as_bytes())
}

#[pg_extern]
fn id_time_in(id: i64, layout: &[u8]) -> TimestampWithTimeZone {
    let (layout, parts) = parts(id, &given(layout));
    to_timestamp(layout.time_us(parts.tick))
}

#[pg_extern]
fn id_shard(id: i64) -> i32 {
    id_shard_in(id, DEFAULT_LAYOUT.as_bytes())
}

#[pg_extern]
fn id_shard_in(id: i64, layout: &[u8]) -> i32 {
    // A layout has at most 2^31 shards, so the largest number fits.
    parts(id, &given(layout)).1.shard as i32
}

#[pg_extern]
fn id_slot(id: i64) -> i64 {
    id_slot_in(id, DEFAULT_LAYOUT.as_bytes())
}

#[pg_extern]
fn id_slot_in(id: i64, layout: &[u8]) -> i64 {
    parts(id, &given(layout)).1.slot
}

#[pg_extern]
fn id_at(time: TimestampWithTimeZone) -> i64 {
    id_at_in(time, DEFAULT_LAYOUT.as_bytes())
}

#[pg_extern]
fn id_at_in(time: TimestampWithTimeZone, layout: &[u8]) -> i64 {
    let layout = &*given(layout);
    let found = self::layout(layout).id_at(from_timestamp(time));
    or_throw(found.map_err(|e| match e {
        IdError::Ended => report::time_past_layout(layout),
        other => report::not_of_layout(other, layout),
    }))
}

#[pg_extern]
fn id_text(id: i64) -> String {
    let id =
        u64::try_from(id).map_err(|_| report::not_of_layout(IdError::Negative(id), DEFAULT_LAYOUT));
    encode_text(or_throw(id))
}

#[pg_extern]
fn id_from_text(text: &[u8]) -> i64 {
    let text = &*given(text);
    or_throw(decode_text(text).map_err(|e| report::bad_text(text, &e)))
}

#[pg_extern]
fn conceal_id(id: i64, key: &[u8]) -> i64 {
    or_throw(ConcealKey::new(key).and_then(|k| k.conceal(id)).map_err(report::bad_conceal))
}

#[pg_extern]
fn reveal_id(id: i64, key: &[u8]) -> i64 {
    or_throw(ConcealKey::new(key).and_then(|k| k.reveal(id)).map_err(report::bad_conceal))
}

/// How many ticks a layout of these parts has; refuses what is no layout.
#[pg_extern]
fn layout_ticks(
    epoch: Option<TimestampWithTimeZone>,
    tick: Option<Interval>,
    shards: Option<i64>,
    slots: Option<i64>,
    ticks: Option<i64>,
) -> i64 {
    let (Some(epoch), Some(tick), Some(shards), Some(slots)) = (epoch, tick, shards, slots) else {
        report::layout_without_a_part().throw()
    };
    if tick.months() != 0 || tick.days() != 0 {
        report::bad_tick().throw();
    }
    let layout = Layout::new(from_timestamp(epoch), tick.micros(), ticks, shards, slots);
    or_throw(layout.map_err(|e| report::bad_layout(&e))).ticks()
}

/// Where a new generator begins: where the clock is, to the slot, and above `floor`.
///
/// If a transaction has just made it, taken ids and rolled back, they lie behind the clock.
/// If it was made before a restore to a point in time or a promotion, and is lost with what
/// came last, they lie before the horizon of then. If it takes the place of one of a dump, all
/// of the tick in which that came may be given.
#[pg_extern]
fn first_id(shard: Option<i64>, layout: Option<&[u8]>, floor: Option<i64>) -> i64 {
    let (shard, layout) = or_throw(shard.zip(layout).ok_or_else(report::not_called_by_hand));
    let layout = &*given(layout);
    let rule = self::layout(layout);
    let shard = checked_shard(&rule, shard, layout);
    let now_us = clocks::now_us();
    let mut begin = Position { tick: rule.tick_at(now_us), slot: rule.slot_at(now_us) };
    if let Some(until_us) = or_throw(horizon::get().of_earlier_timelines()) {
        begin = begin.max(Position { tick: rule.tick_at(until_us) + 1, slot: 0 });
    }
    let after = floor.and_then(|floor| rule.position_at_or_below(shard, floor));
    if let Some(after) = after {
        begin = begin.max(rule.position_of(rule.index_of(after) + 1));
        if let Some(tick) = or_throw(horizon::get().restored_tick(&rule)) {
            begin = begin.max(Position { tick: tick + 1, slot: 0 });
        }
    }
    if begin.tick >= rule.ticks() {
        report::layout_ended(layout).throw();
    }
    rule.id(shard, begin.max(Position { tick: 0, slot: 0 }))
}

/// Has a sequence of the caller's, which this transaction has made, begin there.
#[pg_extern]
fn begin_generator(sequence: pg_sys::Oid, first: i64, replaces: bool) {
    let name = || relations::relation_name(sequence);
    if !relations::owns(sequence) {
        report::no_privilege(&name()).throw();
    }
    LOADED_US.get().set(i64::MIN);
    held::lock(sequence);
    match sequence::begin(sequence, first, replaces, backend::timeline()) {
        Ok(true) => {}
        Ok(false) => report::not_made_here(&name()).throw(),
        Err(unusable) => report::unusable(&name(), unusable).throw(),
    }
}

/// Has a sequence of the caller's go on above `last`: a generator that has given nothing out
/// above it, and has done so on another node.
#[pg_extern]
fn go_on_above(sequence: pg_sys::Oid, last: i64) {
    let name = || relations::relation_name(sequence);
    if !relations::owns(sequence) {
        report::no_privilege(&name()).throw();
    }
    held::lock(sequence);
    // Of one that has given nothing it may be -1, which no generator stands at.
    let last = catalog::sequence_shape(sequence).map_or(last, |shape| last.max(shape.min));
    if let Err(unusable) = sequence::go_on_above(sequence, last, false, backend::timeline()) {
        report::unusable(&name(), unusable).throw();
    }
}

/// The highest id that a generator can have given out, -1 for none; `sequence` is null where it
/// is lost.
#[pg_extern]
fn last_id_at_most(
    sequence: Option<pg_sys::Oid>,
    shard: Option<i64>,
    layout: Option<&[u8]>,
) -> i64 {
    let (shard, layout) = or_throw(shard.zip(layout).ok_or_else(report::not_called_by_hand));
    let layout = &*given(layout);
    let rule = self::layout(layout);
    let shard = checked_shard(&rule, shard, layout);
    if sequence.is_some_and(|sequence| !relations::may_see(sequence)) {
        report::no_privilege(&sequence.map(relations::relation_name).unwrap_or_default()).throw();
    }
    // The lock is kept: whoever may only read a table gets none on it.
    let sequence = sequence.filter(|sequence| relations::is_sequence(*sequence));
    let known = sequence.and_then(|sequence| {
        held::lock(sequence);
        // Of an unlogged one, or in a new file, nothing is known.
        sequence::last(sequence, backend::timeline()).ok().flatten()
    });
    // Where a new one stands whose layout's time has not begun: that is none of its ids.
    let given = |id: i64| if id <= rule.id(shard, Position { tick: 0, slot: 0 }) { -1 } else { id };
    match known {
        Some(id) => given(id),
        None => {
            // What a dump has brought may be further than any lease here.
            let shown = sequence.and_then(|sequence| sequence::shown(sequence).ok());
            last_id_by_horizon(&rule, shard).max(shown.map_or(-1, given))
        }
    }
}

/// The highest id that any generator here can have given out; -1 for none.
fn last_id_by_horizon(rule: &Layout, shard: Shard) -> i64 {
    let until_us = or_throw(horizon::get().read_us()).unwrap_or_else(clocks::now_us);
    let end = rule.index_of(rule.last_position());
    match rule.index_at(until_us).min(end) {
        index @ 0.. => rule.id(shard, rule.position_of(index)),
        _ => -1,
    }
}

/// What ids of dropped id sequences are not above; `None` where none was dropped.
///
/// As of now: a transaction may not see in SQL what was dropped since it began.
#[pg_extern]
fn remembered_floor(shard: Option<i64>, layout: Option<&[u8]>) -> Option<i64> {
    let (number, layout) = shard.zip(layout)?;
    let layout = &*given(layout);
    let known = i32::try_from(number).ok()?;
    let (floor, lost) = catalog::dropped_id_sequence(known, layout).unwrap_or((None, false));
    if !lost && !catalog::has_bare_id_sequence(known, layout) {
        return floor;
    }
    let rule = self::layout(layout);
    let shard = checked_shard(&rule, number, layout);
    Some(last_id_by_horizon(&rule, shard)).max(floor)
}

/// Whether this transaction has dropped an id sequence of that shard and layout.
#[pg_extern]
fn has_dropped_id_sequence(shard: Option<i32>, layout: Option<&[u8]>) -> bool {
    shard
        .zip(layout)
        .is_some_and(|(shard, layout)| catalog::has_dropped_id_sequence(shard, &given(layout)))
}

/// State, node and version of the map of a shard as of now, whatever the snapshot of the transaction.
#[pg_extern]
fn place_now(shard: i32) -> Vec<Option<String>> {
    catalog::shard(shard).map_or_else(Vec::new, |row| {
        let version = row.map_version.map(|version| version.to_string());
        vec![Some(row.state), row.node, version]
    })
}

/// Refuses what would leave a table of a shard that is not open here with less guards, but for a superuser.
///
/// Whoever alters a table of theirs need have no right to what is called here.
#[pg_extern]
fn guards_kept() {
    if backend::is_superuser() {
        return;
    }
    match guards::loosened() {
        None => {}
        Some((table, None)) => report::guard_gone(&table).throw(),
        Some((table, Some(trigger))) => report::trigger_beside_guards(&table, &trigger).throw(),
    }
}

/// Whether this session writes what a copy of that table gets.
#[pg_extern]
fn is_follower(table: pg_sys::Oid) -> bool {
    follower::is_follower(table)
}

/// Has the horizon be no earlier than an id, whose generator nobody here has known so far.
#[pg_extern]
fn raise_horizon(id: i64, layout: &[u8]) {
    let rule = self::layout(&given(layout));
    if let Ok(parts) = rule.decode(id) {
        let index = rule.index_of(Position { tick: parts.tick, slot: parts.slot });
        let instant_us = rule.instant_of(index);
        // All generators of the database go by it, and it never comes back. Whoever may set the bound
        // may pass it.
        if let Some(jump_us) = settings::max_jump_us()
            && !backend::is_superuser()
            && instant_us - clocks::now_us() > jump_us.max(settings::max_drift_us())
        {
            report::horizon_too_far(id, jump_us).throw();
        }
        or_throw(horizon::get().raise(instant_us, true));
    }
}

/// The last id of a dropped generator, whose place another one takes; or, if its tick is further
/// ahead of the clock than ids may be, where ids may be. `None` where none can be.
///
/// What lies beyond that is before the horizon already, or was never given out: somebody has set a
/// sequence to it, or taken a number by `nextval`.
#[pg_extern]
fn floor_within_drift(floor: i64, layout: &[u8]) -> Option<i64> {
    let rule = self::layout(&given(layout));
    let drift_us = settings::max_drift_us().max(settings::max_drift_of_any_us());
    let until_us = clocks::now_us().saturating_add(drift_us);
    let is_within = rule.tick_of(floor).is_some_and(|tick| tick <= rule.tick_at(until_us));
    if is_within {
        return Some(floor);
    }
    let position = rule.position_of(rule.index_at(until_us)).min(rule.last_position());
    (position.tick >= 0).then(|| position.tick * rule.per_tick() + position.slot)
}

/// Refuses whoever may write rows neither of shards nor of id sequences.
fn must_list() {
    if ![c"shard", c"id_sequence"].into_iter().any(|t| relations::may_write(catalog::table(t))) {
        report::may_not_write("shardid.shard").throw();
    }
}

/// Has the horizon be a drift ahead of the clock where a generator comes from elsewhere, with
/// a dump: its ids may have gone so far there, and neither it nor the dump says.
#[pg_extern]
fn note_restored(sequence: Option<pg_sys::Oid>) {
    // It is called where a row was written, and the horizon moves for all.
    must_list();
    if !sequence.is_some_and(|sequence| look::is_begun(sequence, backend::timeline())) {
        or_throw(horizon::get().raise_for_restored());
    }
}

/// When a load was last asked for in this session, by the steady clock.
static LOADED_US: BackendLocal<Cell<i64>> = BackendLocal::new(Cell::new(i64::MIN));

/// Whether this session has not asked within the last second, nor made a generator since: all that
/// a load brings is of one moment, and there is a row for each shard.
#[pg_extern]
fn is_load_new() -> bool {
    let now_us = clocks::steady_us();
    let asked_us = LOADED_US.get().replace(now_us);
    asked_us == i64::MIN || now_us - asked_us > 1_000_000
}

/// Whether the page says where a generator stands, see [`look::is_begun`].
#[pg_extern]
fn is_begun(sequence: Option<pg_sys::Oid>) -> bool {
    // The page is read under a lock that is kept, which nobody else is to have on it.
    must_list();
    sequence.is_some_and(|sequence| look::is_begun(sequence, backend::timeline()))
}

/// Has a generator of the caller's be beyond what one of a dump can have given: whatever fits into the
/// tick that is a drift ahead of the clock, and the horizon.
#[pg_extern]
fn go_on_beyond(sequence: Option<pg_sys::Oid>, shard: Option<i64>, layout: Option<&[u8]>) {
    let Some((sequence, (number, layout))) = sequence.zip(shard.zip(layout)) else { return };
    let Some(shape) = catalog::sequence_shape(sequence) else { return };
    if !relations::owns(sequence) {
        return;
    }
    // A dump's rows come in any order: one of a layout that is not there yet begins beyond the horizon.
    let layout = &*given(layout);
    let Some(rule) = builtin(layout).or_else(|| catalog::layout(layout)) else { return };
    let Ok(shard) = rule.shard(number) else { return };
    let begin = rule.id(shard, Position { tick: 0, slot: 0 });
    if (shape.increment, shape.min) != (rule.per_tick(), begin) {
        return;
    }
    let drift_us = settings::max_drift_us().max(settings::max_drift_of_any_us());
    let tick = rule.tick_at(clocks::now_us().saturating_add(drift_us));
    let end = Position { tick, slot: rule.slots() - 1 }.min(rule.last_position());
    let of_tick = if tick < 0 { shape.min } else { rule.id(shard, end) };
    // There may be more of them than one transaction may lock.
    held::while_locked(sequence, || {
        let last = last_id_by_horizon(&rule, shard).max(of_tick);
        // One that was dropped meanwhile gives no ids.
        let _ = sequence::go_on_above(sequence, last, true, backend::timeline());
    });
}

/// Waits for who holds a number of those in a table alone.
#[pg_extern]
fn wait_for_number(listed: pg_sys::Oid, number: i32) {
    if !relations::may_write(listed) {
        report::may_not_write(&relations::relation_name(listed)).throw();
    }
    relations::wait_for_number(listed, number.cast_unsigned());
}

/// How long a generator that is dropped waits for its last id at least, in microseconds.
const WAIT_US: i64 = 60_000_000;

/// Waits until a new generator would begin above an id, if that is a minute at most, or no longer
/// than ids may be ahead; returns whether it would.
#[pg_extern]
fn wait_for_clock(id: i64, layout: &[u8]) -> bool {
    let rule = self::layout(&given(layout));
    let Ok(parts) = rule.decode(id) else { return true };
    let position = Position { tick: parts.tick, slot: parts.slot };
    let until_us = rule.slot_after(position);
    let left_us = || until_us - clocks::now_us();
    // A crash leaves a shard ahead by a lease and a half more.
    let most_us = WAIT_US.max(settings::max_drift_of_any_us() + 2 * settings::lease_us());
    if left_us() > most_us {
        return false;
    }
    while left_us() > 0 {
        clocks::sleep_interruptibly(left_us() / 1_000 + 1);
    }
    true
}

/// When a new generator would begin above an id.
#[pg_extern]
fn slot_end(id: i64, layout: &[u8]) -> Option<TimestampWithTimeZone> {
    let rule = self::layout(&given(layout));
    let parts = rule.decode(id).ok()?;
    Some(to_timestamp(rule.slot_after(Position { tick: parts.tick, slot: parts.slot })))
}

fn checked_shard(rule: &Layout, shard: i64, layout: &str) -> Shard {
    or_throw(
        rule.shard(shard).map_err(|_| report::shard_not_in_layout(shard, layout, rule.shards())),
    )
}

/// Where a sequence stands, by its number; see [`look::stand`].
#[pg_extern]
fn read_sequence(
    sequence: pg_sys::Oid,
) -> TableIterator<'static, (name!(last_value, i64), name!(is_called, bool))> {
    let name = || relations::relation_name(sequence);
    if !relations::may_see(sequence) {
        report::no_privilege(&name()).throw();
    }
    let stand = look::stand(sequence);
    TableIterator::once(or_throw(stand.map_err(|e| report::unusable(&name(), e))))
}

/// The last number of a sequence, as `pg_sequence_last_value` gives it, but null where it is
/// no sequence or is being dropped by another.
#[pg_extern]
fn last_number(sequence: pg_sys::Oid) -> Option<i64> {
    if !relations::may_see(sequence) {
        return None;
    }
    look::stand(sequence).ok().and_then(|(last, is_called)| is_called.then_some(last))
}

/// Keeps everybody else out of a sequence of the caller's until the transaction ends.
#[pg_extern]
fn hold_sequence(sequence: pg_sys::Oid) {
    let check = || {
        if !relations::is_there(sequence) {
            report::replaced_meanwhile().throw();
        }
    };
    check();
    if !relations::owns(sequence) {
        report::not_owned(&relations::relation_name(sequence)).throw();
    }
    relations::lock_alone(sequence);
    check();
}

/// Whether a stored expression calls one of some functions with that as the first argument; see
/// [`calls::calls_with`]. As bytes, since that is what a `pg_node_tree` and a text are.
#[pg_extern]
fn calls_with(
    expression: &[u8],
    functions: Vec<Option<pg_sys::Oid>>,
    argument: &[u8],
) -> Option<i32> {
    let tree = CString::new(expression).ok()?;
    let functions: Vec<pg_sys::Oid> = functions.into_iter().flatten().collect();
    calls::calls_with(&tree, &functions, argument)
}

/// Locks a number of those in a table, for a caller who may write to it.
#[pg_extern]
fn lock_number(listed: pg_sys::Oid, number: i32, alone: bool) {
    if !relations::may_write(listed) {
        report::may_not_write(&relations::relation_name(listed)).throw();
    }
    relations::lock_number(listed, number.cast_unsigned(), alone);
}

/// Refuses to go on inside `BEGIN`, for what commits by itself.
#[pg_extern]
fn refuse_transaction_block() {
    if backend::in_transaction_block() {
        report::in_transaction_block().throw();
    }
}

/// Reads the name of a sequence: 0 for one that is not there.
///
/// As bits, since pgrx has the oid 0 be null, which an input function must not give.
#[pg_extern]
fn regsequence_in(name: &CStr) -> i32 {
    let name = given(name.to_bytes());
    let sequence = match &*name {
        "-" => pg_sys::Oid::INVALID,
        // The bare number of what was dropped, as regclass writes it: here it may be that of
        // anything. A name of digits has quotes.
        number if number.parse::<u32>().is_ok() => pg_sys::Oid::INVALID,
        name => relations::relation(name),
    };
    sequence.to_u32().cast_signed()
}
