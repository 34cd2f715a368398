//! The ids received from one generator, and the rules they must keep.

use std::collections::VecDeque;
use std::time::Instant;

use roaring::RoaringTreemap;

use super::generators::Generator;

/// What a session has received from a generator at one time.
pub(super) struct Receipt<'a> {
    pub(super) session: &'a str,
    /// How it asked.
    pub(super) way: &'static str,
    /// When it had not asked yet.
    pub(super) since: Instant,
    pub(super) ids: &'a [i64],
    /// The latest instant an id may have, in Unix microseconds; none for ids
    /// that strangers took, who do not look at the clock.
    pub(super) latest_us: Option<i64>,
}

/// All ids received from a generator over its whole life.
#[derive(Default, Clone)]
pub(super) struct Ledger {
    /// By serial number, which has no gaps between ticks: an eighth of a byte
    /// to two bytes an id.
    seen: RoaringTreemap,
    /// The latest receipts, to name who had an id before.
    recent: VecDeque<(i64, i64, String)>,
    /// The highest id.
    pub(super) highest: i64,
}

/// How many receipts are remembered by name.
const RECENT: usize = 20_000;

impl Ledger {
    /// Enters what a session has received; the error is the rule that it breaks.
    pub(super) fn enter(&mut self, generator: &Generator, receipt: &Receipt) -> Result<(), String> {
        let Receipt { session, way, ids, .. } = receipt;
        let name = &generator.name;
        for &id in *ids {
            let shard = generator.layout.shard(id);
            if id < 0 || shard != i64::from(generator.shard) {
                return Err(format!("{name} gave {session} the id {id}, of shard {shard}"));
            }
            if !self.seen.insert(generator.layout.serial(id)) {
                return Err(format!(
                    "id {id} of {name} came twice: first to {}, then to {session} by {way}",
                    self.first_holder(id)
                ));
            }
            let time_us = generator.layout.time_us(id);
            if let Some(ahead_us) = receipt.latest_us.map(|latest| time_us - latest)
                && ahead_us > generator.layout.tick_us
            {
                return Err(format!(
                    "id {id} of {name} came to {session} by {way} {:.3} s further ahead of the clock than shardid.max_drift allows",
                    ahead_us as f64 / 1e6
                ));
            }
            self.highest = self.highest.max(id);
        }
        if let (Some(low), Some(high)) = (ids.iter().min(), ids.iter().max()) {
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back((*low, *high, format!("{session} by {way}")));
        }
        Ok(())
    }

    fn first_holder(&self, id: i64) -> &str {
        self.recent
            .iter()
            .find(|(low, high, _)| (low..=high).contains(&&id))
            .map_or("somebody long ago, or the same receipt", |(_, _, who)| who)
    }

    /// How many ids there are.
    pub(super) fn count(&self) -> u64 {
        self.seen.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::generators::Layout;

    fn instagram(shard: i32) -> Generator {
        Generator::for_tests(
            shard,
            Layout { epoch_us: 0, tick_us: 1_000, shards: 1 << 13, slots: 1 << 10 },
        )
    }

    fn id(tick: i64, shard: i64, slot: i64) -> i64 {
        tick << 23 | shard << 10 | slot
    }

    fn receipt<'a>(ids: &'a [i64], latest_us: Option<i64>) -> Receipt<'a> {
        Receipt { session: "session 1", way: "one", since: Instant::now(), ids, latest_us }
    }

    #[test]
    fn an_id_that_comes_again_is_found_in_whichever_receipt() {
        let mut ledger = Ledger::default();
        let first: Vec<i64> = (0..1000).map(|slot| id(7, 5, slot)).collect();
        ledger.enter(&instagram(5), &receipt(&first, None)).expect("all are new");
        ledger.enter(&instagram(5), &receipt(&[id(8, 5, 3)], None)).expect("it is new");
        let error = ledger.enter(&instagram(5), &receipt(&[id(7, 5, 999)], None)).unwrap_err();
        assert!(error.contains("came twice: first to session 1 by one"), "{error}");
        assert_eq!(ledger.count(), 1001);
        let twice = [id(9, 5, 0), id(9, 5, 0)];
        assert!(ledger.enter(&instagram(5), &receipt(&twice, None)).is_err());
    }

    #[test]
    fn an_id_of_another_shard_is_found() {
        let error =
            Ledger::default().enter(&instagram(5), &receipt(&[id(7, 6, 0)], None)).unwrap_err();
        assert!(error.contains("of shard 6"), "{error}");
        assert!(Ledger::default().enter(&instagram(5), &receipt(&[-1], None)).is_err());
    }

    #[test]
    fn drift_is_allowed_up_to_its_limit_and_one_tick() {
        let mut ledger = Ledger::default();
        ledger.enter(&instagram(5), &receipt(&[id(11, 5, 0)], Some(10_000))).expect("one tick");
        let error =
            ledger.enter(&instagram(5), &receipt(&[id(12, 5, 0)], Some(10_000))).unwrap_err();
        assert!(error.contains("0.002 s further ahead"), "{error}");
    }
}
