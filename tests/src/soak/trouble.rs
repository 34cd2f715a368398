//! What comes over the sessions: one thing after another, at random.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::world::{Fence, World};
use super::{Maker, Scenario};
use crate::{Server, wait_until};

/// How long nothing may come before the run is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Fewer ids than this are not worth a look: shards that are seldom used still
/// have some where the busy ones are refused.
const FEW: u64 = 1_000;

/// Something that happens.
type Event = fn(&mut Trouble);

/// What may happen, and how often compared to the rest.
const EVENTS: [(Event, u32); 11] = [
    (Trouble::crash, 6),
    (Trouble::kill_backend, 3),
    (Trouble::restart, 2),
    (Trouble::step_clock, 10),
    (Trouble::set_forward, 3),
    (Trouble::checkpoint, 5),
    (Trouble::standby, 3),
    (Trouble::dump_and_restore, 1),
    (Trouble::change_settings, 2),
    (Trouble::fence, 3),
    (Trouble::pause, 3),
];

pub(super) struct Trouble {
    pub(super) world: Arc<World>,
    pub(super) rng: StdRng,
    /// Follows the server, to take over from it.
    pub(super) standby: Option<Server>,
    pub(super) databases: u32,
    /// How many ids there were when it was last looked, and when that was.
    progress: (u64, Instant),
    /// Since when hardly an id has come and nothing was done about it.
    stuck_since: Instant,
}

/// Lets things happen until the run is over.
pub(super) fn run(world: &Arc<World>) {
    let mut trouble = Trouble {
        world: Arc::clone(world),
        rng: world.soak.rng("trouble"),
        standby: None,
        databases: 1,
        progress: (0, Instant::now()),
        stuck_since: Instant::now(),
    };
    match world.soak.scenario {
        Scenario::Random(limit) => trouble.at_random(limit),
        Scenario::Crashes { ids_each } => trouble.crashes(ids_each * 6),
    }
}

impl Trouble {
    fn at_random(&mut self, limit: Duration) {
        let end = Instant::now() + limit;
        let weights: u32 = EVENTS.iter().map(|(_, weight)| weight).sum();
        while Instant::now() < end && !self.world.is_stopped() {
            let wait = Duration::from_millis(self.rng.random_range(50..1000));
            sleep(wait.min(end.saturating_duration_since(Instant::now())));
            let mut left = self.rng.random_range(0..weights);
            for (event, weight) in EVENTS {
                if left < weight {
                    event(self);
                    break;
                }
                left -= weight;
            }
            if self.world.soak.maker == Maker::PutBack {
                self.put_back();
            }
            self.look_for_progress();
            self.mend_the_clock();
        }
    }

    /// 20 crashes spread over the ids that are to be taken, clock steps between
    /// them, and one promotion.
    fn crashes(&mut self, ids: u64) {
        let mut due: Vec<(u64, Event)> = Vec::new();
        for number in 0..20 {
            due.push((self.rng.random_range(0..ids * 9 / 10), Self::crash));
            if number % 2 == 0 {
                due.push((self.rng.random_range(0..ids * 9 / 10), Self::step_clock));
            }
        }
        due.push((ids / 5, Self::standby));
        due.push((ids / 2, Self::promote_surely));
        due.sort_by_key(|(at, _)| *at);
        for (at, event) in due {
            while self.world.ids() < at && !self.world.is_stopped() {
                self.wait_a_moment();
            }
            sleep(Duration::from_micros(self.rng.random_range(0..20_000)));
            event(self);
            if self.world.is_stopped() {
                return;
            }
        }
        while self.world.content.load(Ordering::Relaxed) < 6 && !self.world.is_stopped() {
            self.wait_a_moment();
        }
    }

    fn wait_a_moment(&mut self) {
        sleep(Duration::from_millis(5));
        self.look_for_progress();
        self.mend_the_clock();
    }

    /// Ends the run when hardly an id comes any more.
    fn look_for_progress(&mut self) {
        let ids = self.world.ids();
        if ids > self.progress.0 + FEW {
            self.progress = (ids, Instant::now());
            self.stuck_since = Instant::now();
        } else if self.progress.1.elapsed() > PATIENCE {
            self.world.fail(&format!("hardly an id has come for {PATIENCE:?}"));
        }
    }

    /// Sets the clock right where it is so far behind that most are refused.
    fn mend_the_clock(&mut self) {
        if self.stuck_since.elapsed() > Duration::from_millis(1500) {
            self.catch_up();
            self.stuck_since = Instant::now();
        }
    }

    /// Time in which nothing happens.
    fn pause(&mut self) {
        sleep(Duration::from_millis(self.rng.random_range(0..1500)));
    }

    /// `kill -9` of everything; the clock may be another one afterwards.
    fn crash(&mut self) {
        let server = self.world.server();
        let before = match self.rng.random_range(0..10) {
            // What was logged before a checkpoint is not read again after the crash.
            0..3 => {
                server.checkpoint();
                sleep(Duration::from_millis(self.rng.random_range(0..200)));
                "after a checkpoint"
            }
            3 => {
                self.set_forward();
                "after a setval"
            }
            _ => "",
        };
        server.kill9();
        let clock = if self.rng.random() {
            let by = -self.behind();
            self.world.set_clock(self.world.offset() + by);
            format!("clock {by:+.1} s")
        } else {
            String::new()
        };
        server.start();
        let what: Vec<&str> = [before, &clock].into_iter().filter(|s| !s.is_empty()).collect();
        self.world.tell("crash", &what.join(", "));
    }

    /// `kill -9` of one session, on which the server throws out all others.
    fn kill_backend(&mut self) {
        let server = self.world.server();
        let sessions = server.psql(
            "postgres",
            "SELECT pid FROM pg_stat_activity WHERE datname LIKE 'soak%' AND backend_type = 'client backend'",
        );
        let pids: Vec<&str> = sessions.lines().collect();
        let Some(pid) = pids.choose(&mut self.rng) else {
            return;
        };
        let recoveries = || server.log().matches("ready to accept connections").count();
        let before = recoveries();
        server.kill9_backend(pid.parse().expect("a process number"));
        // A session may have ended by itself just before.
        let deadline = Instant::now() + Duration::from_secs(2);
        while recoveries() == before && Instant::now() < deadline {
            sleep(Duration::from_millis(10));
        }
        wait_until(PATIENCE, "the recovery", || server.try_connect("postgres").is_ok());
        self.world.tell("killed session", "");
    }

    fn restart(&mut self) {
        self.world.server().restart();
        self.world.tell("restart", "");
    }

    fn checkpoint(&mut self) {
        self.world.server().checkpoint();
        self.world.tell("checkpoint", "");
    }

    /// A step of the clock, back or forth, by seconds to an hour.
    fn step_clock(&mut self) {
        if self.world.lead() > 9.0 && self.rng.random_bool(0.5) {
            self.catch_up();
            return;
        }
        let by = match self.rng.random_range(0..100) {
            0..45 => self.rng.random_range(-9.0..0.0),
            45..65 => self.rng.random_range(-3600.0..-9.0),
            65..90 => self.rng.random_range(0.0..30.0),
            _ => self.rng.random_range(30.0..3600.0),
        };
        self.world.set_clock(self.world.offset() + by);
        self.world.tell("clock step", &format!("{by:+.1} s"));
    }

    /// Sets the clock right, as seen from the ids: they are a little ahead. A
    /// crash may have left the shards at leases that nobody has seen ids of.
    fn catch_up(&mut self) {
        let by = self.world.lead().max(0.0) + self.rng.random_range(-5.0..8.0);
        self.world.set_clock(self.world.offset() + by);
        self.world.tell("clock step", &format!("{by:+.1} s, to where the ids are"));
    }

    /// How far behind a clock is that nobody has looked after, in seconds:
    /// mostly so little that ids go on at once.
    pub(super) fn behind(&mut self) -> f64 {
        if self.rng.random_bool(0.8) {
            self.rng.random_range(-3.0..9.0)
        } else {
            self.rng.random_range(9.0..3600.0)
        }
    }

    /// A stranger's `setval`, some seconds ahead: more than can go by between
    /// the look at the sequence and the call.
    fn set_forward(&mut self) {
        let generators = &self.world.generators;
        let generator = generators.choose(&mut self.rng).expect("there is one");
        let ticks = self.rng.random_range(5_000_000..9_000_000) / generator.layout.tick_us;
        let by = ticks.max(1) * generator.layout.per_tick();
        let sequence = &generator.sequence;
        self.world.server().psql(
            &self.world.database(),
            &format!(
                "SELECT setval('{sequence}', last_value + {by}) FROM {sequence}
                 WHERE last_value < 9000000000000000000 - {by}"
            ),
        );
        self.world.tell("setval forward", &generator.name);
    }

    /// What must never happen, and makes ids repeat: a sequence is put back
    /// while the clock is behind.
    fn put_back(&mut self) {
        let (server, database) = (self.world.server(), self.world.database());
        let sequence = &self.world.generators[0].sequence;
        let before = server.psql(&database, &format!("SELECT last_value FROM {sequence}"));
        sleep(Duration::from_millis(300));
        self.world.set_clock(self.world.offset() - 5.0);
        server.psql(&database, &format!("SELECT setval('{sequence}', {before})"));
        self.world.tell("setval back", "");
    }

    /// Another lease, and another limit of the drift.
    fn change_settings(&mut self) {
        let lease = *[1, 20, 200, 1_000, 5_000].choose(&mut self.rng).expect("it has five");
        // With a day of drift, a clock that is far behind still gives ids.
        let drift = *[10, 60, 86_400].choose(&mut self.rng).expect("it has three");
        let server = self.world.server();
        self.world.announce(None, Some(Duration::from_secs(86_400)));
        server.set_conf(&format!("shardid.lease = '{lease}ms'"));
        server.set_conf(&format!("shardid.max_drift = '{drift}s'"));
        self.world.announce(None, Some(Duration::from_secs(drift)));
        self.world.tell("settings", &format!("lease {lease} ms, drift up to {drift} s"));
    }

    /// A shard takes no writes for a moment.
    fn fence(&mut self) {
        let shards: Vec<i32> =
            self.world.generators.iter().filter(|g| g.is_shard).map(|g| g.shard).collect();
        let Some(shard) = shards.choose(&mut self.rng) else {
            return;
        };
        let (server, database) = (self.world.server(), self.world.database());
        let set = |state: &str| {
            server.psql(
                &database,
                &format!("UPDATE shardid.shard SET state = '{state}' WHERE shard = {shard}"),
            )
        };
        self.world.fence(Fence::Closing);
        set("fenced");
        self.world.fence(Fence::Closed { shard: *shard, from: Instant::now() });
        sleep(Duration::from_millis(self.rng.random_range(10..300)));
        self.world.fence(Fence::Opening);
        set("open");
        self.world.fence(Fence::Open { from: Instant::now() });
        self.world.tell("fence", &format!("shard {shard}"));
    }
}
