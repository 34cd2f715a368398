//! What comes over the sessions: one thing after another, at random.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::fault::{Faults, Kind};
use super::proof::Plant;
use super::script::Ending;
use super::world::{Fence, World};
use super::{Maker, Part, Scenario};
use crate::{Server, wait_until};

/// How long nothing may come before the run is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

const DAY: Duration = Duration::from_secs(86_400);

/// Fewer ids than this are not worth a look: shards that are seldom used still
/// have some where the busy ones are refused.
const FEW: u64 = 1_000;

/// How long sessions go on after the last fault, so that what it broke is seen.
const AFTERGLOW: Duration = Duration::from_millis(1500);

/// Something that happens.
type Event = fn(&mut Trouble);

/// One who lets things happen.
pub(super) struct Trouble {
    pub(super) world: Arc<World>,
    /// The choices of the fault that happens now.
    pub(super) rng: StdRng,
    /// Follows the server, to take over from it.
    pub(super) standby: Option<Server>,
    pub(super) databases: u32,
    /// The generator that the fault came over, if it was one.
    pub(super) touched: Option<usize>,
    /// How all operations end, if not at random.
    pub(super) ending: Option<Ending>,
    /// How many ids there were when it was last looked, and when that was.
    progress: (u64, Instant),
    /// Since when hardly an id has come and nothing was done about it.
    stuck_since: Instant,
    /// How often something was done about it and did not help.
    stuck_times: i32,
}

/// Lets things happen until the run is over.
pub(super) fn run(world: &Arc<World>) {
    let mut trouble = Trouble {
        world: Arc::clone(world),
        rng: world.soak.rng("trouble"),
        standby: None,
        databases: 1,
        touched: None,
        ending: None,
        progress: (0, Instant::now()),
        stuck_since: Instant::now(),
        stuck_times: 0,
    };
    match &world.soak.scenario {
        Scenario::Random(part) => trouble.part(part),
        Scenario::Crashes { ids_each } => trouble.crashes(*ids_each * 6),
    }
}

impl Trouble {
    /// The numbered faults of a part, one after another.
    fn part(&mut self, part: &Part) {
        let world = Arc::clone(&self.world);
        let maker = world.soak.maker;
        let faults = Faults::new(&world.soak, |kind| {
            (part.only.is_empty() || part.only.contains(&kind))
                && (matches!(maker, Maker::Shardid | Maker::Forged) || kind.is_plain())
                && !(world.has_old_library && kind.breaks_the_old_library())
        });
        world.next_fault_is(part.from);
        self.ending = part.ending;
        let end = Instant::now() + part.limit;
        for number in part.from..=part.to {
            let kind;
            (kind, self.rng) = faults.number(&world.soak, number);
            let wait = Duration::from_millis(self.rng.random_range(50..700));
            sleep(wait.min(end.saturating_duration_since(Instant::now())));
            if Instant::now() >= end || world.is_stopped() {
                break;
            }
            let before = world.highest();
            self.touched = None;
            self.happen(kind);
            if !world.is_stopped() {
                world.count_fault(kind);
                world.next_fault_is(number + 1);
                self.plant(kind, &before);
            }
            self.look_for_progress();
            self.mend_the_clock();
        }
        self.shine_after();
    }

    fn happen(&mut self, kind: Kind) {
        match kind {
            Kind::Crash => self.crash(),
            Kind::KilledSession => self.kill_backend(),
            Kind::Restart => self.restart(),
            Kind::ClockStep => self.step_clock(),
            Kind::SetvalForward => self.set_forward(),
            Kind::Checkpoint => self.checkpoint(),
            Kind::Standby => self.follow(),
            Kind::Promotion => self.promote(),
            Kind::LostTail => self.lose_the_tail(),
            Kind::PointInTime => self.restore_to_a_point(),
            Kind::Dump => self.dump_and_restore(),
            Kind::CopyMoved => self.move_to_a_copy(),
            Kind::CopyBeside => self.use_a_copy(),
            Kind::Settings => self.change_settings(),
            Kind::Fence => self.fence(),
            Kind::Pause => self.pause(),
            Kind::Drift => self.drift(),
            Kind::ReadOnly => self.read_only(),
            Kind::Parallel => self.parallel(),
            Kind::Operation(operation) => self.operation(operation),
            Kind::Mixed => self.mixed(),
        }
    }

    /// Has an id from before the fault be handed in once more after it.
    fn plant(&mut self, kind: Kind, before: &[i64]) {
        let used: Vec<usize> = (0..before.len()).filter(|which| before[*which] > 0).collect();
        let which = self.touched.or_else(|| used.choose(&mut self.rng).copied());
        if let Some(which) = which.filter(|which| used.contains(which)) {
            self.world.plant(Plant { kind, which, id: before[which], from: Instant::now() });
        }
    }

    /// Lets sessions take ids for a while, at a clock that allows it.
    fn shine_after(&mut self) {
        self.world.announce(None, Some(DAY));
        if self.world.server().is_running() {
            self.world.server().set_conf("shardid.max_drift = '1d'");
        }
        let end = Instant::now() + AFTERGLOW;
        while Instant::now() < end && !self.world.is_stopped() {
            self.wait_a_moment();
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
        due.push((ids / 5, Self::follow));
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
            self.stuck_times = 0;
        } else if self.progress.1.elapsed() > PATIENCE {
            self.world.fail(&format!("hardly an id has come for {PATIENCE:?}"));
        }
    }

    /// Sets the clock right where it is so far behind that most are refused.
    ///
    /// Generators may stand further ahead than any id that was seen: each time it did not
    /// help the step is four times as long, up to the day that `shardid.max_drift` may have been.
    fn mend_the_clock(&mut self) {
        if self.stuck_since.elapsed() > Duration::from_millis(1500) {
            let further = f64::from(4_i32.pow(self.stuck_times.clamp(0, 7).cast_unsigned()) - 1);
            self.catch_up_by(10.0 * further);
            self.stuck_times += 1;
            self.stuck_since = Instant::now();
        }
    }

    /// Time in which nothing happens.
    fn pause(&mut self) {
        sleep(Duration::from_millis(self.rng.random_range(0..1500)));
    }

    /// `kill -9` of everything; the clock may be another one afterwards.
    pub(super) fn crash(&mut self) {
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
        server.start_over_left_files();
        let what: Vec<&str> = [before, &clock].into_iter().filter(|s| !s.is_empty()).collect();
        self.world.tell("crash", &what.join(", "));
    }

    /// `kill -9` of one session, on which the server throws out all others.
    pub(super) fn kill_backend(&mut self) {
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
        wait_until(PATIENCE, "the recovery", || {
            if server.has_ended() {
                server.kill9();
                server.start_over_left_files();
            }
            server.try_connect("postgres").is_ok()
        });
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

    /// A stranger's `setval`, some seconds ahead: more than can go by between
    /// the look at the sequence and the call.
    fn set_forward(&mut self) {
        let generators: Vec<_> = self.world.generators.iter().filter(|g| !g.altered).collect();
        let Some(generator) = generators.choose(&mut self.rng) else {
            return;
        };
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

    /// Another lease, and another limit of the drift.
    fn change_settings(&mut self) {
        let lease = *[1, 20, 200, 1_000, 5_000].choose(&mut self.rng).expect("it has five");
        // With a day of drift, a clock that is far behind still gives ids.
        let drift = *[10, 60, 86_400].choose(&mut self.rng).expect("it has three");
        let server = self.world.server();
        self.world.announce(None, Some(DAY));
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
