//! The long way to ids: a visit to the page, again for as long as a rule asks for it.

use shardid_ids::{Layout, Position, Refusal, Refused};

use super::{BACKEND, Generator};
use crate::page::held::{Place, Unusable};
use crate::page::sequence::{self, Request, Visit};
use crate::page::{backend, clocks, relations};
use crate::report::{self, Report};
use crate::{horizon, settings};

/// How long at least a generator waits for the clock in the transaction that made it: it
/// may not run ahead there, and so waits where it would run ahead otherwise.
const NEW_WAIT_US: i64 = 3_000_000;

impl Generator {
    /// Takes up to `want` ids of one tick: the first, how many, and the instant the tick ends.
    pub(super) fn take(&self, want: i64) -> Result<(i64, i64, i64), Report> {
        let facts = self.ready()?;
        let mut request = Request {
            sequence: facts.sequence,
            layout: facts.layout,
            shard: facts.shard,
            want,
            floor: self.floor.get(),
            lease_slots: facts.layout.whole_slots(settings::lease_us()),
            max_drift_ticks: facts.layout.whole_ticks(settings::max_drift_us()),
            noted_drift_ticks: horizon::get().noted_drift_ticks(facts.layout),
            clock_checked_until_us: BACKEND.get().clock_checked_until_us.get(),
            horizon_us: horizon::get().known_us(),
            beyond: None,
            trusts_new: false,
            flushed: self.flushed.get(),
            timeline: backend::timeline(),
            installation: facts.installation,
            place: self.place.get(),
        };
        let name = || relations::relation_name(facts.sequence);
        let mut give_up_us = None;
        let mut raises = 0;
        loop {
            // Whatever a rule asks for, and how often: it can be cancelled.
            clocks::check_for_interrupts();
            let refusal = match sequence::visit(&request) {
                Visit::Taken { first, count, position, flushed, place } => {
                    self.flushed.set(flushed);
                    self.floor.set(first + (count - 1));
                    self.place.set(Some(place));
                    return Ok((first, count, facts.layout.time_us(position.tick + 1)));
                }
                Visit::CheckClock => {
                    request.clock_checked_until_us = check_clock()?;
                    continue;
                }
                Visit::Unusable(Unusable::Gone) => {
                    self.facts.set(None);
                    return Err(self.unknown());
                }
                Visit::Unusable(other) => return Err(report::unusable(&name(), other)),
                Visit::Refused(refusal, place) => (refusal, place),
            };
            match refusal {
                (Refusal::UnknownPast { lsn, restarted }, _) => {
                    request.beyond = Some(last_index(lsn, restarted, facts.layout)?);
                }
                (Refusal::UnnotedDrift { by_horizon }, _) => {
                    // Where the horizon has put it there, by a tick or two, it waits for these: what is noted is all that
                    // is allowed to this session, and counts at the next promotion.
                    let beyond = by_horizon.filter(|_| horizon::get().is_usual_noted());
                    let beyond_us = beyond.map(|drift| {
                        (drift - request.noted_drift_ticks).saturating_mul(facts.layout.tick_us())
                    });
                    if let Some(wait_us) = beyond_us {
                        let give_up_us = *give_up_us.get_or_insert_with(|| wait_until(0));
                        if wait_us <= give_up_us - clocks::steady_us() {
                            nap(wait_us);
                            continue;
                        }
                    }
                    horizon::get().note_drift()?;
                    request.noted_drift_ticks = horizon::get().noted_drift_ticks(facts.layout);
                }
                (Refusal::BeyondHorizon { until_us, target_us }, place) => {
                    raise_horizon(until_us, target_us, facts.layout.tick_us(), raises, &place)?;
                    raises += 1;
                    request.horizon_us = horizon::get().known_us();
                }
                (Refusal::Replaces, _) if horizon::get().read_us()?.is_none() => {
                    request.trusts_new = true;
                }
                (Refusal::Replaces, _) => return Err(report::replaces(&name())),
                (Refusal::Clock(Refused::TooFarAhead { drift, ready_tick }), place) => {
                    let drift_max = if place.made_here() { 0 } else { request.max_drift_ticks };
                    let least_us = if place.made_here() { NEW_WAIT_US } else { 0 };
                    let give_up_us = *give_up_us.get_or_insert_with(|| wait_until(least_us));
                    let wait_us = facts.layout.time_us(ready_tick) - clocks::now_us();
                    let left_us = give_up_us - clocks::steady_us();
                    // What can be behind the clock here is a new one only.
                    if left_us <= 0 && place.made_here() && drift <= request.max_drift_ticks.max(1)
                    {
                        return Err(report::ahead_where_made(&name(), facts.shard.number()));
                    }
                    if left_us <= 0 && clocks::now_us() < facts.layout.epoch_us() {
                        let layout = self.layout_name();
                        return Err(report::layout_not_begun(facts.shard.number(), &layout));
                    }
                    if left_us <= 0 {
                        let begins_us = facts.layout.time_us(ready_tick + drift_max);
                        let too_far = report::too_far_ahead(
                            &name(),
                            facts.shard.number(),
                            // From now to where its tick begins, not in whole ticks. The clock may
                            // be there by now.
                            (begins_us - clocks::now_us()).max(1_000),
                            facts.layout.tick_us(),
                            settings::max_drift_us(),
                            settings::max_wait_ms(),
                        );
                        let allowed_us = clocks::now_us() + settings::max_drift_us();
                        return Err(match request.beyond {
                            Some(_) if horizon::get().known_us() <= allowed_us => {
                                report::beyond_its_tick(too_far, &name())
                            }
                            Some(_) => report::beyond_all_others(too_far, &name()),
                            None => too_far,
                        });
                    }
                    nap(wait_us.min(left_us));
                }
                (Refusal::Clock(Refused::Ended), _)
                    if request.beyond.is_some() && clocks::now_us() < facts.layout.ends_at_us() =>
                {
                    let until_us = horizon::get().read_us()?.unwrap_or(i64::MAX);
                    let ahead_us = until_us.saturating_sub(clocks::now_us());
                    return Err(report::beyond_its_layout(&name(), facts.shard.number(), ahead_us));
                }
                (Refusal::Clock(Refused::Ended), _) => {
                    return Err(report::layout_ended(&self.layout_name()));
                }
            }
        }
    }
}

/// Until when, by the steady clock, a call waits for the wall clock that begins to do so now, for so long at least.
fn wait_until(least_us: i64) -> i64 {
    clocks::steady_us() + (settings::max_wait_ms() * 1_000).max(least_us)
}

/// Waits for so long, but not all at once: the clock may be set right meanwhile.
fn nap(us: i64) {
    clocks::sleep_interruptibly((us.clamp(1, 100_000) + 999) / 1_000);
}

/// Has the horizon reach to an instant, and on to another if the tick after that is no
/// further ahead than ids may be: a generator that is restarted then can go on at once.
///
/// Where looking at the clock takes longer than a tick, the next visit asks for more each time: from the second
/// time on (`before` is how often it was raised in this call) it goes twice as far beyond what is asked for.
fn raise_horizon(
    until_us: i64,
    target_us: i64,
    tick_us: i64,
    before: u32,
    place: &Place,
) -> Result<(), Report> {
    let most_us = clocks::now_us().saturating_add(settings::max_drift_us() - tick_us);
    let margin_us = if before == 0 { 0 } else { tick_us.saturating_mul(1 << before.min(20)) };
    let target_us = target_us.min(until_us.max(most_us)).max(until_us.saturating_add(margin_us));
    // What is logged with the ids brings the horizon to disk with it.
    let flush = !place.needs_wal();
    horizon::get().raise(target_us, flush)?;
    Ok(())
}

/// The last index that can have been given out before WAL ended at `lsn`, where the
/// generator does not know.
fn last_index(lsn: u64, restarted: bool, layout: &Layout) -> Result<i64, Report> {
    let until_us = match horizon::get().at_most_at(lsn)? {
        // Where it was never raised, this is before anything that is known here.
        Some(until_us) => until_us,
        // The extension's SQL is that of 0.1.0, which trusts a sequence that says where it
        // stands.
        None if !restarted => return Ok(-1),
        None => clocks::now_us().saturating_add(settings::max_drift_us()),
    };
    // The clock rule counts in whole ticks: now and the drift is somewhere in the last one.
    let end_of = |tick: i64| layout.index_of(Position { tick: tick + 1, slot: 0 }) - 1;
    let index = match backend::timeline().begins {
        0 => layout.index_at(until_us),
        _ => end_of(layout.tick_at(until_us)),
    };
    let restored = horizon::get().restored_tick(layout)?.map(end_of);
    Ok(restored.map_or(index, |restored| restored.max(index)))
}

/// How long one look at the steady clock is good for, in microseconds of the wall clock.
const CLOCK_CHECK_US: i64 = 1_000_000;

/// Refuses a clock that has jumped too far forward since the library was loaded.
///
/// Returns up to which time it need not be looked at again: a jump that matters
/// leaps over that.
fn check_clock() -> Result<i64, Report> {
    let state = BACKEND.get();
    // With shared_preload_libraries the postmaster has read them, perhaps before its clock was set right.
    if state.clock_of.get() != std::process::id() {
        super::start();
    }
    let now = clocks::clock_base();
    if let Some(max_us) = settings::max_jump_us() {
        let jump_us = state.clock.get().jump_us(now);
        if jump_us > max_us {
            return Err(report::clock_jumped(jump_us, max_us));
        }
    }
    state.clock_checked_until_us.set(now.wall_us + CLOCK_CHECK_US);
    Ok(now.wall_us + CLOCK_CHECK_US)
}
