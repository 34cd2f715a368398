//! In which order does a number come twice, or does a change never end?

use std::collections::BTreeSet;

use shardid_cluster::Class;
use stateright::{Model, Property};

use super::program::{At, Program};
use super::rule::Rule;
use super::statement::Server;
use super::work::Todo;
use super::world::World;
use crate::protocol::{Protocol, Rules};

/// One step of somebody.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// A program begins, to bring about these servers, or to resume what stands.
    Begin(usize, Option<Vec<u8>>),
    /// Its next step.
    Step(usize),
    /// It is killed with that under way.
    Late(usize),
    /// It is killed.
    Kill(usize),
    /// It loses the lock of the cluster, and does not know.
    LoseLock(usize),
    /// What was under way is done, or refused.
    ArrivesLate,
    /// A client takes a number of a server.
    Take(usize),
    /// Clients take all numbers of a server up to there.
    Rush(usize, u64),
}

/// Who takes part, and how often what happens.
#[derive(Debug, Clone)]
pub struct Plot {
    /// The servers that programs are told to bring about.
    pub wanted: &'static [&'static [u8]],
    /// How many programs begin.
    pub begins: u8,
    /// How many statements are late.
    pub lates: u8,
    /// How many locks are lost.
    pub losses: u8,
    /// How many numbers are taken.
    pub takes: u8,
    /// How often clients are quicker than anybody believes.
    pub rushes: u8,
    /// What is left out.
    pub rules: Rules,
}

impl Plot {
    /// From one server to two, by programs that lose the lock. Clients are quick.
    pub fn growing() -> Self {
        Self {
            wanted: &[&[0, 1]],
            begins: 3,
            lates: 0,
            losses: 1,
            takes: 3,
            rushes: 1,
            rules: Rules::default(),
        }
    }

    /// The same where what a server was told may be done late.
    pub fn growing_late() -> Self {
        Self { lates: 1, losses: 0, ..Self::growing() }
    }

    /// Two programs want different servers.
    pub fn at_odds() -> Self {
        Self { wanted: &[&[0, 1], &[0, 2]], takes: 2, rushes: 0, ..Self::growing() }
    }

    /// A server goes, and comes back.
    pub fn there_and_back() -> Self {
        Self { wanted: &[&[0, 1], &[0]], takes: 2, rushes: 0, ..Self::growing_late() }
    }

    fn after(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        let w = &mut next;
        let done = match action {
            Action::Begin(who, wanted) => {
                w.begins -= 1;
                w.programs[who].at = At::Lock(wanted);
                true
            }
            Action::Step(who) => match w.todo(who, self.rules) {
                Todo::Own => w.own(who, self.rules),
                Todo::Run(statement) => {
                    let ran = w.run(&statement, term(w, who), self.rules);
                    w.ran(who, &statement, ran, self.rules);
                    true
                }
            },
            Action::Late(who) => {
                let Todo::Run(statement) = w.todo(who, self.rules) else { return None };
                let (by, term) = (u8::try_from(who).ok()?, term(w, who));
                w.lates -= 1;
                w.leave(who);
                // The session that runs it has the lock of its server until it is done.
                if let Some(server) =
                    statement.server().filter(|_| self.rules.hold(Rule::ServerLock))
                {
                    w.locks[server] = Some(LATE);
                }
                w.late = Some((statement, by, term));
                true
            }
            Action::Kill(who) => w.leave(who),
            Action::LoseLock(who) => {
                w.losses -= 1;
                w.lock.take().is_some_and(|by| usize::from(by) == who)
            }
            Action::ArrivesLate => {
                let (statement, _, term) = w.late.take()?;
                w.run(&statement, term, self.rules);
                for lock in w.locks.iter_mut().filter(|lock| **lock == Some(LATE)) {
                    *lock = None;
                }
                true
            }
            Action::Take(server) => {
                w.takes -= 1;
                w.take(server, 0)
            }
            Action::Rush(server, above) => {
                w.rushes -= 1;
                w.take(server, above)
            }
        };
        done.then_some(next)
    }

    /// What is wrong about how it ends, with nobody at work and nothing late.
    fn ends_badly(&self, world: &World) -> Option<&'static str> {
        let mut world = world.clone();
        if world.standing() {
            world.programs[0].at = At::Lock(None);
            for _ in 0..STEPS_MAX {
                if world.programs[0].at == At::Out {
                    break;
                }
                match world.todo(0, self.rules) {
                    Todo::Own => {
                        if !world.own(0, self.rules) {
                            return Some("a change cannot be resumed");
                        }
                    }
                    Todo::Run(statement) => {
                        let ran = world.run(&statement, term(&world, 0), self.rules);
                        world.ran(0, &statement, ran, self.rules);
                    }
                }
            }
            if world.standing() {
                return Some("a change does not end");
            }
        }
        world.wrong_at_rest()
    }
}

/// What holds the lock of a server that is none of the programs.
const LATE: u8 = 9;

/// No program takes as many steps.
const STEPS_MAX: usize = 200;

fn term(world: &World, who: usize) -> u8 {
    world.programs[who].change.as_ref().map_or(0, |change| change.term)
}

impl Model for Plot {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let class = Class { server: 1, servers: 1 };
        let first = Server { class, last: 0, floor: 0, ceiling: None };
        vec![World {
            servers: [Some(first), None, None],
            locks: [None; 3],
            known: vec![0],
            change: None,
            lock: None,
            programs: [Program::OUT, Program::OUT],
            late: None,
            given: BTreeSet::new(),
            twice: false,
            begins: self.begins,
            lates: self.lates,
            losses: self.losses,
            takes: self.takes,
            rushes: self.rushes,
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (who, program) in world.programs.iter().enumerate() {
            if program.at == At::Out {
                let first = world.programs[..who].iter().all(|other| other.at != At::Out);
                if world.begins > 0 && first {
                    actions
                        .extend(self.wanted.iter().map(|to| Action::Begin(who, Some(to.to_vec()))));
                    if world.standing() {
                        actions.push(Action::Begin(who, None));
                    }
                }
                continue;
            }
            actions.extend([Action::Step(who), Action::Kill(who)]);
            if world.lates > 0 {
                actions.push(Action::Late(who));
            }
            if world.losses > 0 && world.lock.is_some_and(|by| usize::from(by) == who) {
                actions.push(Action::LoseLock(who));
            }
        }
        if world.late.is_some() {
            actions.push(Action::ArrivesLate);
        }
        let floors: BTreeSet<u64> = (world.change.iter())
            .chain(world.programs.iter().filter_map(|program| program.change.as_ref()))
            .map(|change| change.floor)
            .chain(world.servers.iter().flatten().map(|server| server.floor))
            .collect();
        for server in 0..world.servers.len() {
            if world.takes > 0 {
                actions.push(Action::Take(server));
            }
            if world.rushes > 0 {
                actions.extend(floors.iter().map(|floor| Action::Rush(server, *floor)));
            }
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        self.after(world, action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(TWICE, |_, world: &World| !world.twice),
            Property::always(ENDS, |plot: &Self, world: &World| {
                let at_work = world.programs.iter().any(|program| program.at != At::Out);
                at_work || world.late.is_some() || plot.ends_badly(world).is_none()
            }),
        ]
    }
}

const TWICE: &str = "no number twice";
const ENDS: &str = "whoever resumes a change ends it";

impl Protocol for Plot {
    type Rule = Rule;

    fn without(self, out: &[Rule]) -> Self {
        Self { rules: Rules::without(out), ..self }
    }

    fn what_is_wrong(&self, world: &World) -> Option<&'static str> {
        if world.twice { Some("a number came twice") } else { self.ends_badly(world) }
    }
}
