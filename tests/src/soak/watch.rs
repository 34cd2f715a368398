//! What was received, what happened, and what was found?

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::fault::Kind;
use super::generators::Generator;
use super::ledger::{Ledger, Receipt};
use super::proof::Plant;
use super::report::grouped;
use super::world::{World, lock, only_crashes};
use super::{Finding, Maker, Report};

impl World {
    /// Enters what a session has received; ends the run where that breaks a rule.
    pub(super) fn enter(&self, which: usize, receipt: &Receipt) {
        if receipt.ids.is_empty() {
            return;
        }
        let entered = lock(&self.ledgers[which]).enter(&self.generators[which], receipt);
        let count = receipt.ids.len() as u64;
        self.ids.fetch_add(count, Ordering::Relaxed);
        *lock(&self.ways).entry(receipt.way).or_default() += count;
        if let Err(what) = entered {
            self.fail(&what);
        }
        let due = lock(&self.proof).due(which, receipt.since);
        for plant in due {
            self.hand_in_again(plant, receipt.session);
        }
    }

    /// Has an id be handed in again later, to see that it is noticed.
    pub(super) fn plant(&self, plant: Plant) {
        lock(&self.proof).plant(plant);
    }

    fn hand_in_again(&self, Plant { kind, which, id, .. }: Plant, session: &str) {
        let again = Receipt {
            session,
            way: "planted repeat",
            since: Instant::now(),
            ids: &[id],
            latest_us: None,
        };
        let entered = lock(&self.ledgers[which]).enter(&self.generators[which], &again);
        match entered {
            Ok(()) => self.fail(&format!("a planted repeat after {kind} was not noticed: {id}")),
            Err(what) if self.soak.maker == Maker::Forged => {
                self.fail(&format!("{what}, after {kind}"));
            }
            Err(_) => lock(&self.proof).notice(kind),
        }
    }

    /// Notes that a fault is over.
    pub(super) fn count_fault(&self, kind: Kind) {
        *lock(&self.faults).entry(kind.name()).or_default() += 1;
    }

    /// Notes the number of the fault that comes next.
    pub(super) fn next_fault_is(&self, number: u64) {
        self.next_fault.store(number, Ordering::Relaxed);
    }

    /// What was received from a generator until now, for what goes its own way from here.
    pub(super) fn fork(&self, which: usize) -> Ledger {
        lock(&self.ledgers[which]).clone()
    }

    /// How many ids have been received.
    pub(super) fn ids(&self) -> u64 {
        self.ids.load(Ordering::Relaxed)
    }

    /// Ends the run with what was found, unless something was found before.
    pub(super) fn fail(&self, what: &str) {
        lock(&self.finding).get_or_insert_with(|| what.to_owned());
        self.stop();
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Tells what has happened.
    pub(super) fn tell(&self, name: &'static str, what: &str) {
        *lock(&self.events).entry(name).or_default() += 1;
        let line = format!(
            "{:7.1} s {:>13} ids  {name}{}{what}",
            self.start.elapsed().as_secs_f64(),
            grouped(self.ids()),
            if what.is_empty() { "" } else { ": " }
        );
        if self.soak.talk {
            eprintln!("{line}");
        }
        let mut told = lock(&self.told);
        told.push(line);
        if told.len() > 400 {
            told.drain(..200);
        }
    }

    /// Checks what must hold when all is quiet: no sequence is behind its ids.
    pub(super) fn check_the_end(&self) {
        if lock(&self.finding).is_some() || self.soak.maker != Maker::Shardid {
            return;
        }
        let mut client = match self.try_connect() {
            Ok(client) => client,
            Err(error) => return self.fail(&format!("the server is gone at the end: {error:?}")),
        };
        // One that was altered stands where it was put until it gives the next id.
        let kept = |generator: &Generator| !generator.altered || only_crashes(&self.soak);
        for (generator, ledger) in self.generators.iter().zip(&self.ledgers) {
            if !kept(generator) {
                continue;
            }
            let sql = format!("SELECT last_value FROM {}", generator.sequence);
            let last: i64 = client.query_one(&sql, &[]).expect("the sequence is there").get(0);
            let highest = lock(ledger).highest;
            if last < highest {
                self.fail(&format!(
                    "{} stands at {last}, below {highest}, which it gave",
                    generator.name
                ));
            }
        }
        if self.ids() == 0 {
            self.fail("nobody has received an id, so nothing was tested");
        }
    }

    /// What was seen or found.
    pub(super) fn report(&self, elapsed: Duration) -> Result<Report, Finding> {
        if let Some(what) = lock(&self.finding).take() {
            self.keep_log();
            let told = lock(&self.told);
            let events = told[told.len().saturating_sub(20)..].to_vec();
            let noticed = lock(&self.proof).noticed.clone();
            let next_fault = self.next_fault.load(Ordering::Relaxed);
            return Err(Finding { what, events, ids: self.ids(), next_fault, noticed });
        }
        Ok(Report {
            ids: self.ledgers.iter().map(|ledger| lock(ledger).count()).sum(),
            sessions: self.sessions.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            events: lock(&self.events).clone(),
            faults: lock(&self.faults).clone(),
            next_fault: self.next_fault.load(Ordering::Relaxed),
            noticed: lock(&self.proof).noticed.clone(),
            ways: lock(&self.ways).clone(),
            elapsed,
        })
    }

    fn keep_log(&self) {
        let server = self.server();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-logs");
        let file = folder.join(format!("soak-{}.log", server.port()));
        let _ =
            std::fs::create_dir_all(&folder).and_then(|()| std::fs::copy(server.log_file(), &file));
    }
}
