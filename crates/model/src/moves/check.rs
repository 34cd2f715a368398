//! In which order does a shard come to be open twice or nowhere, or a row to be lost?

use shardid_cluster::MoveState;
use stateright::{Model, Property};

use super::program::{At, Program, Task};
use super::rule::Rule;
use super::statement::Statement;
use super::work::Todo;
use super::world::{Copy, Gate, Node, Says, World};
use crate::protocol::{Protocol, Rules};

/// One step of somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A program begins.
    Begin(usize, Task),
    /// Its next step.
    Step(usize),
    /// It is killed with that under way.
    Late(usize),
    /// It is killed.
    Kill(usize),
    /// It loses its lock, and does not know.
    LoseLock(usize),
    /// It gives its fence up.
    GiveUpFence(usize),
    /// What was under way is done, or refused.
    ArrivesLate,
    /// A node has what the other has written.
    Deliver(usize),
    /// The client reads the map.
    ReadMap,
    /// It writes a row.
    Write,
    /// Somebody takes a number of the sequence on a node, whatever the map says.
    Draw(usize),
    /// A standby that is behind takes over from the target.
    FailOver,
    /// The same from the source.
    FailOverSource,
    /// The catalog is lost, and made anew from the nodes.
    LoseCatalog,
}

/// Who takes part, and how often what happens.
#[derive(Debug, Clone)]
pub struct Plot {
    /// What programs are told.
    pub tasks: &'static [Task],
    /// Whether the shard was moved, and its old copy follows.
    pub has_moved: bool,
    /// Whether the client believes what was so long ago.
    pub old_map: bool,
    /// How many programs begin.
    pub begins: u8,
    /// How many statements are late.
    pub lates: u8,
    /// How many locks are lost.
    pub losses: u8,
    /// How many fences are given up.
    pub fences: u8,
    /// How many rows are written.
    pub writes: u8,
    /// How many numbers are taken.
    pub draws: u8,
    /// How often a standby that is behind takes over from the target.
    pub fail_overs: u8,
    /// And from the source, while its copy is made.
    pub source_fail_overs: u8,
    /// How often the catalog is lost.
    pub catalog_losses: u8,
    /// Whether programs are killed.
    pub kills: bool,
    /// What is left out.
    pub rules: Rules,
}

impl Plot {
    /// Somebody moves a shard, and others resume or abort that. Locks are lost.
    pub fn moving() -> Self {
        Self {
            tasks: &[Task::Move, Task::Resume, Task::Abort],
            has_moved: false,
            old_map: false,
            begins: 3,
            lates: 0,
            losses: 1,
            fences: 1,
            writes: 1,
            draws: 0,
            fail_overs: 0,
            source_fail_overs: 0,
            catalog_losses: 0,
            kills: true,
            rules: Rules::default(),
        }
    }

    /// The same where what a server was told may be done late.
    pub fn moving_late() -> Self {
        Self { lates: 1, losses: 0, fences: 0, ..Self::moving() }
    }

    /// The same where nothing is late and no lock is lost.
    pub fn moving_in_order() -> Self {
        Self { losses: 0, writes: 2, ..Self::moving() }
    }

    /// A shard was moved, and is taken back, or its old copy dropped. Locks are lost.
    pub fn going_back() -> Self {
        Self {
            tasks: &[Task::Rollback, Task::Resume, Task::Abort, Task::Retire],
            has_moved: true,
            ..Self::moving()
        }
    }

    /// The same where what a server was told may be done late.
    pub fn going_back_late() -> Self {
        Self { lates: 1, losses: 0, fences: 0, ..Self::going_back() }
    }

    /// Two programs are told the same, and one has looked at the map long ago.
    pub fn moving_twice() -> Self {
        Self { tasks: &[Task::Move, Task::Abort], ..Self::moving_in_order() }
    }

    /// A standby that is behind takes over from the node that the shard goes to.
    pub fn failing_over() -> Self {
        Self { fail_overs: 1, writes: 1, ..Self::moving_in_order() }
    }

    /// The same where what a server was told may be done late.
    pub fn failing_over_late() -> Self {
        Self { fail_overs: 1, ..Self::moving_late() }
    }

    /// The same of the node that a shard goes back to.
    pub fn failing_over_back() -> Self {
        Self { fail_overs: 1, losses: 0, fences: 0, ..Self::going_back() }
    }

    /// A standby that is behind takes over from the node that the shard is copied from.
    pub fn failing_over_source() -> Self {
        Self { source_fail_overs: 1, ..Self::moving_in_order() }
    }

    /// The same where what a server was told may be done late.
    pub fn failing_over_source_late() -> Self {
        Self { source_fail_overs: 1, ..Self::moving_late() }
    }

    /// The catalog is lost, and a standby that is behind takes over from the node that the shard goes to.
    pub fn losing_catalog() -> Self {
        Self { fail_overs: 1, catalog_losses: 1, writes: 1, ..Self::moving_in_order() }
    }

    /// The same of the node that a shard goes back to.
    pub fn losing_catalog_back() -> Self {
        Self { fail_overs: 1, catalog_losses: 1, losses: 0, fences: 0, ..Self::going_back() }
    }

    /// The client goes by a map of two moves ago.
    pub fn old_map() -> Self {
        Self { old_map: true, ..Self::moving_in_order() }
    }

    /// Numbers of the shard's sequence are taken all the while, by plain `nextval` on either node.
    pub fn numbers() -> Self {
        Self { writes: 0, draws: 3, fences: 0, ..Self::moving_in_order() }
    }

    /// The same while a move is taken back.
    pub fn numbers_back() -> Self {
        Self { writes: 0, draws: 3, fences: 0, losses: 0, ..Self::going_back() }
    }

    fn world(&self) -> World {
        let copy =
            Copy { rows: 0, last: 0, closed: false, noted: None, held: None, gate: Gate::Open };
        let home =
            Node { copy: Some(copy), says: Says::Open, term: 0, stream: None, sent: None, life: 0 };
        let other = Node { copy: None, says: Says::Moved, ..home };
        let mut world = World {
            nodes: [home, other],
            owner: 0,
            term: 0,
            moves: Vec::new(),
            lock: None,
            programs: [Program::out(0), Program::out(1)],
            late: None,
            believes: u8::from(self.old_map),
            acknowledged: 0,
            given: 0,
            twice: false,
            begins: self.begins,
            lates: self.lates,
            losses: self.losses,
            fences: self.fences,
            writes: self.writes,
            draws: self.draws,
            fail_overs: 0,
            source_fail_overs: self.source_fail_overs,
            catalog_losses: self.catalog_losses,
            was_rebuilt: false,
        };
        if self.has_moved {
            // Whoever believed it to be there still does.
            world.begin(0, Task::Move);
            while world.programs[0].at != At::Out {
                match world.todo(0, Rules::default()) {
                    Todo::Own => assert!(world.own(0, Rules::default())),
                    Todo::Skip => world.go_on(0, None, Rules::default()),
                    Todo::Run(statement) => {
                        let term = world.programs[0].term;
                        assert!(world.run(statement, term, Rules::default()));
                        world.go_on(0, Some(statement), Rules::default());
                    }
                }
            }
        }
        world.fail_overs = self.fail_overs;
        world
    }

    /// What is not worth a state of its own.
    fn skip(&self, world: &mut World) {
        for who in 0..2 {
            while world.programs[who].at != At::Out
                && matches!(world.todo(who, self.rules), Todo::Skip)
            {
                world.go_on(who, None, self.rules);
            }
        }
    }

    fn after(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        let w = &mut next;
        let done = match action {
            Action::Begin(who, task) => {
                w.begins -= 1;
                w.begin(who, task)
            }
            Action::Step(who) => match w.todo(who, self.rules) {
                Todo::Own => w.own(who, self.rules),
                Todo::Skip => unreachable!("it was skipped"),
                Todo::Run(statement) => {
                    if waits(w, who, statement) {
                        return None;
                    }
                    match w.run(statement, w.programs[who].term, self.rules) {
                        true => w.go_on(who, Some(statement), self.rules),
                        false => w.fail(who),
                    }
                    true
                }
            },
            Action::Late(who) => {
                let Todo::Run(statement) = w.todo(who, self.rules) else { return None };
                if matches!(statement, Statement::Hold(..)) {
                    return None;
                }
                w.lates -= 1;
                w.late = Some((statement, w.programs[who].term));
                w.leave(who);
                true
            }
            Action::Kill(who) => {
                w.leave(who);
                true
            }
            Action::LoseLock(who) => {
                w.losses -= 1;
                w.lock.take() == Some(w.programs[who].number)
            }
            Action::GiveUpFence(who) => {
                w.fences -= 1;
                w.programs[who].at = At::LoseFence;
                true
            }
            Action::ArrivesLate => {
                let (statement, term) = w.late.take()?;
                w.run(statement, term, self.rules);
                true
            }
            Action::Deliver(from) => w.deliver(from),
            Action::ReadMap => {
                w.believes = w.owner;
                true
            }
            Action::Write => w.write(),
            Action::Draw(node) => w.draw(node),
            Action::FailOver => w.fail_over(),
            Action::FailOverSource => w.fail_over_source(),
            Action::LoseCatalog => w.lose_catalog(self.rules),
        };
        if done {
            self.skip(w);
        }
        done.then_some(next)
    }
}

/// Whether a statement waits for another program's session.
fn waits(world: &World, who: usize, statement: Statement) -> bool {
    let (Statement::Hold(node, _) | Statement::Guard(node, _) | Statement::Drop(node)) = statement
    else {
        return false;
    };
    let number = world.programs[who].number;
    let held = world.nodes[usize::from(node)].copy.and_then(|copy| copy.held);
    held.is_some_and(|by| by != number)
}

impl Model for Plot {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![self.world()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (who, program) in world.programs.iter().enumerate() {
            if program.at == At::Out {
                // Two that nobody runs are one as good as the other.
                let first = (0..who).all(|other| world.programs[other].at != At::Out);
                if world.begins > 0 && first {
                    actions.extend(self.tasks.iter().map(|task| Action::Begin(who, *task)));
                }
                continue;
            }
            actions.push(Action::Step(who));
            if self.kills {
                actions.push(Action::Kill(who));
            }
            if world.lates > 0 && world.late.is_none() {
                actions.push(Action::Late(who));
            }
            if world.losses > 0 && world.lock == Some(program.number) {
                actions.push(Action::LoseLock(who));
            }
            if world.fences > 0
                && program.state == MoveState::Fenced
                && matches!(program.at, At::Effect(..))
            {
                actions.push(Action::GiveUpFence(who));
            }
        }
        if world.late.is_some() {
            actions.push(Action::ArrivesLate);
        }
        actions.extend([Action::Deliver(0), Action::Deliver(1)]);
        if world.believes != world.owner && world.writes > 0 {
            actions.push(Action::ReadMap);
        }
        actions.extend([Action::Write, Action::Draw(0), Action::Draw(1)]);
        if world.fail_overs > 0 {
            actions.push(Action::FailOver);
        }
        if world.source_fail_overs > 0 {
            actions.push(Action::FailOverSource);
        }
        if world.catalog_losses > 0 {
            actions.push(Action::LoseCatalog);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        self.after(world, action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(SAFE, |_, world: &World| world.wrong().is_none()),
            Property::always(ENDS, |plot: &Self, world: &World| {
                let at_work = world.programs.iter().any(|program| program.at != At::Out);
                at_work || world.late.is_some() || world.ends_badly(plot.rules).is_none()
            }),
        ]
    }
}

const SAFE: &str = "open once, and no number twice";
const ENDS: &str = "resume or abort ends it well";

impl Protocol for Plot {
    type Rule = Rule;

    fn without(self, out: &[Rule]) -> Self {
        Self { rules: Rules::without(out), ..self }
    }

    fn what_is_wrong(&self, world: &World) -> Option<&'static str> {
        world.wrong().or_else(|| world.ends_badly(self.rules))
    }
}
