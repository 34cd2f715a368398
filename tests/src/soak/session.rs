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
use super::{Maker, Scenario, generators, ways};

/// One connection of a session.
pub(super) struct Session<'a> {
    pub(super) world: &'a World,
    pub(super) client: Client,
    pub(super) rng: StdRng,
    pub(super) name: &'a str,
    pub(super) sort: Sort,
    /// The highest id of each generator in this connection: the next is above.
    highest: HashMap<usize, i64>,
    /// How many ids the session has received, over all connections.
    pub(super) taken: u64,
    /// Ids of a generator that this transaction has made: they count once it is committed.
    pub(super) withheld: Option<Vec<Withheld>>,
}

/// What kind of session it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// One like the others.
    Usual,
    /// One whose limit of the drift is larger than the others'.
    Far,
    /// One with the library of version 0.1.0.
    Old,
    /// The one that operates on sequences, and is cancelled when it waits for long.
    Surgeon,
}

/// `shardid.max_drift` of [`Sort::Far`].
pub(super) const FAR: Duration = Duration::from_secs(60);

/// Ids that may yet be taken back.
pub(super) struct Withheld {
    which: usize,
    way: &'static str,
    since: Instant,
    ids: Vec<i64>,
}

/// What an error leaves of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// It can go on.
    GoOn,
    /// It is broken, or of no more use.
    Reconnect,
}

/// Takes ids until the run is stopped or the session has all it wants.
pub(super) fn run(world: &World, number: usize) {
    let name = format!("session {number}");
    let part = match &world.soak.scenario {
        Scenario::Random(part) => part.from,
        Scenario::Crashes { .. } => 1,
    };
    let mut rng = world.soak.rng(&format!("{name} from fault {part}"));
    let mut taken = 0;
    while !world.is_stopped() {
        // Behind the gate nobody connects: a database may be copied there.
        let connected = {
            let _open = world.enter_gate();
            world.try_connect()
        };
        let Ok(client) = connected else {
            // The server is down or not up yet.
            sleep(Duration::from_millis(5));
            continue;
        };
        world.sessions.fetch_add(1, Ordering::Relaxed);
        let mut session = Session::new(world, client, rng, &name, Sort::Usual);
        session.taken = taken;
        if session.choose_sort().is_ok() {
            session.take_until_thrown_out();
        }
        Session { rng, taken, .. } = session;
        if let Scenario::Crashes { ids_each } = world.soak.scenario
            && taken >= ids_each
        {
            world.content.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
}

impl<'a> Session<'a> {
    pub(super) fn new(
        world: &'a World,
        client: Client,
        rng: StdRng,
        name: &'a str,
        sort: Sort,
    ) -> Self {
        let (highest, taken, withheld) = (HashMap::new(), 0, None);
        Self { world, client, rng, name, sort, highest, taken, withheld }
    }

    /// Some sessions of a random run are not like the others.
    fn choose_sort(&mut self) -> Result<(), Error> {
        let random = matches!(self.world.soak.scenario, Scenario::Random(_));
        if !random || self.world.soak.maker != Maker::Shardid {
            return Ok(());
        }
        match self.rng.random_range(0..10) {
            0..3 if self.world.has_old_library => self.sort = Sort::Old,
            3 => self.go_far()?,
            _ => {}
        }
        Ok(())
    }

    /// Allows itself a larger drift than the others.
    pub(super) fn go_far(&mut self) -> Result<(), Error> {
        self.sort = Sort::Far;
        self.world.allow(FAR);
        self.client.batch_execute(&format!("SET shardid.max_drift = '{}s'", FAR.as_secs()))
    }

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
            if self.sort == Sort::Old && !self.world.generators[which].serves_the_old_library() {
                continue;
            }
            if let Err(error) = ways::take(self, which)
                && let After::Reconnect = self.judge(which, &error)
            {
                return;
            }
        }
    }

    /// Notes ids as received: from now on they must not come again.
    pub(super) fn receive(&mut self, which: usize, way: &'static str, since: Instant, ids: &[i64]) {
        if let Some(withheld) = &mut self.withheld {
            withheld.push(Withheld { which, way, since, ids: ids.to_vec() });
            return;
        }
        self.taken += ids.len() as u64;
        let own_drift = if self.sort == Sort::Far { FAR } else { Duration::ZERO };
        let latest_us =
            ways::obeys_the_clock(self.world, way).then(|| self.world.latest_us(since, own_drift));
        self.world.enter(which, &Receipt { session: self.name, way, since, ids, latest_us });
        if latest_us.is_none() {
            return;
        }
        let generator = &self.world.generators[which];
        if !ids.is_empty() {
            self.world.found(which);
        }
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

    /// Receives what was withheld: it is committed.
    pub(super) fn receive_withheld(&mut self) {
        for Withheld { which, way, since, ids } in self.withheld.take().into_iter().flatten() {
            self.receive(which, way, since, &ids);
        }
    }

    /// Decides whether an error is one of those that must be expected, and ends the
    /// transaction that it was in.
    pub(super) fn judge(&mut self, which: usize, error: &Error) -> After {
        let after = self.expect(which, error);
        if after == After::GoOn && self.client.batch_execute("ROLLBACK; RESET ROLE").is_err() {
            return After::Reconnect;
        }
        after
    }

    /// Decides whether an error is one of those that must be expected; the run ends where not.
    pub(super) fn expect(&mut self, which: usize, error: &Error) -> After {
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
            // Cancelled, since it has waited for long.
            "57014" if self.sort == Sort::Surgeon => After::GoOn,
            _ if self.world.is_operated(which) && is_of_an_operation(state, message) => After::GoOn,
            _ => {
                self.world.fail(&format!("{} was told: {state} {message}", self.name));
                return After::Reconnect;
            }
        };
        self.world.refused.fetch_add(1, Ordering::Relaxed);
        after
    }
}

/// Whether this is what sessions are told while somebody operates on the sequence.
fn is_of_an_operation(state: &str, message: &str) -> bool {
    match state {
        // Unlogged at the moment; or altered in this very transaction. Waited for the
        // lock. The shard, its schema or its function is gone, or made again and not
        // granted yet.
        "55000" | "55P03" | "40P01" | "42704" | "3F000" | "42883" | "42P01" | "42501" => true,
        "XX000" => {
            message.contains("could not open relation") || message.contains("cache lookup failed")
        }
        _ => false,
    }
}
