//! A session that takes ids all the time, and comes back when it is thrown out.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use postgres::{Client, Error};
use rand::Rng;
use rand::rngs::StdRng;

use super::ledger::Receipt;
use super::world::World;
use super::{Scenario, generators, ways};

/// One connection of a session.
pub(super) struct Session<'a> {
    pub(super) world: &'a World,
    pub(super) client: Client,
    pub(super) rng: StdRng,
    pub(super) name: &'a str,
    /// The highest id of each generator in this connection: the next is above.
    highest: HashMap<usize, i64>,
    /// How many ids the session has received, over all connections.
    taken: u64,
}

/// What an error leaves of the connection.
enum After {
    /// It can go on.
    GoOn,
    /// It is broken, or of no more use.
    Reconnect,
}

/// Takes ids until the run is stopped or the session has all it wants.
pub(super) fn run(world: &World, number: usize) {
    let name = format!("session {number}");
    let mut rng = world.soak.rng(&name);
    let mut taken = 0;
    while !world.is_stopped() {
        let Ok(client) = world.try_connect() else {
            // The server is down or not up yet.
            sleep(Duration::from_millis(5));
            continue;
        };
        world.sessions.fetch_add(1, Ordering::Relaxed);
        let mut session =
            Session { world, client, rng, name: &name, highest: HashMap::new(), taken };
        session.take_until_thrown_out();
        Session { rng, taken, .. } = session;
        if let Scenario::Crashes { ids_each } = world.soak.scenario
            && taken >= ids_each
        {
            world.content.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
}

impl Session<'_> {
    fn take_until_thrown_out(&mut self) {
        let ids_wanted = match self.world.soak.scenario {
            Scenario::Crashes { ids_each } => ids_each,
            Scenario::Random(_) => u64::MAX,
        };
        while !self.world.is_stopped() && self.taken < ids_wanted {
            if self.world.calm.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(50));
            }
            let _open = self.world.enter_gate();
            if self.rng.random_ratio(1, 300) {
                return;
            }
            let which = generators::choose(&self.world.generators, &mut self.rng);
            if let Err(error) = ways::take(self, which)
                && let After::Reconnect = self.judge(&error)
            {
                return;
            }
        }
    }

    /// Notes ids as received: from now on they must not come again.
    pub(super) fn receive(&mut self, which: usize, way: &'static str, since: Instant, ids: &[i64]) {
        self.taken += ids.len() as u64;
        let latest_us = ways::obeys_the_clock(self.world, way).then(|| self.world.latest_us(since));
        self.world.enter(which, &Receipt { session: self.name, way, ids, latest_us });
        if latest_us.is_none() {
            return;
        }
        let generator = &self.world.generators[which];
        if !ids.is_empty() && self.world.is_fenced_since(generator.shard, since) {
            self.world.fail(&format!(
                "{} gave ids to {} by {way}, and it was fenced all the while",
                generator.name, self.name
            ));
        }
        let highest = self.highest.entry(which).or_insert(-1);
        for &id in ids {
            if id <= *highest {
                self.world.fail(&format!(
                    "id {id} of {} came to {} by {way} after {highest}: ids of a session must rise",
                    self.world.generators[which].name, self.name
                ));
            }
            *highest = id;
        }
    }

    /// Decides whether an error is one of those that must be expected.
    fn judge(&mut self, error: &Error) -> After {
        let Some(said) = error.as_db_error() else {
            // The server was killed.
            return After::Reconnect;
        };
        let (state, message) = (said.code().code(), said.message());
        let after = match state {
            // Shut down, crashed, another session crashed, starting; database dropped.
            "57P01" | "57P02" | "57P03" | "3D000" => return After::Reconnect,
            // For this session's library the clock has jumped, and stays so.
            "55000" if message.contains("has jumped") => After::Reconnect,
            "55000" if message.contains("ahead of the clock") => After::GoOn,
            "SI002" if self.world.may_be_fenced() => After::GoOn,
            _ => {
                self.world.fail(&format!("{} was told: {state} {message}", self.name));
                return After::Reconnect;
            }
        };
        self.world.refused.fetch_add(1, Ordering::Relaxed);
        // Ends a transaction, if one was open.
        if self.client.batch_execute("ROLLBACK; RESET ROLE").is_err() {
            return After::Reconnect;
        }
        after
    }
}
