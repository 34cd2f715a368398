//! What does a program do next with the change that it works on?

use shardid_cluster::{ChangeState, MARGIN, change_effects, first_floor, next_change_state};

use super::program::{At, Program};
use super::rule::Rule;
use super::statement::{Ran, Record, Statement};
use super::world::World;
use crate::protocol::Rules;

/// What a program does next.
pub(crate) enum Todo {
    Own,
    Run(Statement),
}

impl World {
    /// What a program does next.
    pub(crate) fn todo(&self, who: usize, rules: Rules) -> Todo {
        let Program { at, change } = &self.programs[who];
        let Some(change) = change else { return Todo::Own };
        match at {
            At::Begin(known) => Todo::Run(Statement::Begin(change.clone(), known.clone())),
            At::Effect(n, _) => {
                let mut all = effects(change, rules);
                if *n < all.len() { Todo::Run(all.swap_remove(*n)) } else { Todo::Own }
            }
            At::Next => match next_change_state(change.state) {
                Some(next) => Todo::Run(Statement::Advance(change.state, next)),
                None => Todo::Own,
            },
            At::Raise(floor) => Todo::Run(Statement::Raise(*floor)),
            _ => Todo::Own,
        }
    }

    /// What it does by itself; false where it waits.
    pub(crate) fn own(&mut self, who: usize, rules: Rules) -> bool {
        let by = u8::try_from(who).expect("there are two");
        let program = self.programs[who].clone();
        let at = match (program.at, program.change) {
            (At::Lock(wanted), _) => {
                if self.lock.is_some() {
                    return false;
                }
                self.lock = Some(by);
                match (wanted, self.standing()) {
                    (Some(after), false) if after != self.known => {
                        let states: Vec<_> =
                            self.servers.iter().flatten().map(|s| s.state()).collect();
                        let floor = first_floor(&states, 0).expect("numbers do not end");
                        let (before, state) = (self.known.clone(), ChangeState::Planned);
                        let change = Record { before, after, floor, state, term: 0 };
                        self.programs[who].change = Some(change);
                        At::Servers(true)
                    }
                    (None, true) => {
                        self.programs[who].change = self.change.clone();
                        At::Servers(false)
                    }
                    _ => return self.leave(who),
                }
            }
            (At::Servers(begins), Some(change)) => {
                if rules.hold(Rule::ServerLock) {
                    let all = || change.before.iter().chain(&change.after).map(|s| usize::from(*s));
                    if all().any(|server| self.locks[server].is_some()) {
                        return false;
                    }
                    all().for_each(|server| self.locks[server] = Some(by));
                }
                if begins { At::Begin(change.before) } else { At::Take }
            }
            (At::Take, Some(read)) => {
                let Some(change) = self.change.as_mut() else { return self.leave(who) };
                if change.state == ChangeState::Done {
                    return self.leave(who);
                }
                change.term += 1;
                let mut taken = change.clone();
                if !rules.hold(Rule::ReadWhenTaken) {
                    (taken.state, taken.floor) = (read.state, read.floor);
                }
                self.programs[who].change = Some(taken);
                At::Effect(0, false)
            }
            (At::Effect(_, false), _) => At::Next,
            (At::Effect(_, true), Some(change)) => {
                let states: Vec<_> = (change.before.iter())
                    .filter_map(|server| self.servers[usize::from(*server)])
                    .map(|server| server.state())
                    .collect();
                At::Raise(first_floor(&states, change.floor + MARGIN).expect("numbers do not end"))
            }
            _ => return self.leave(who),
        };
        self.programs[who].at = at;
        true
    }

    /// A statement was run.
    pub(crate) fn ran(&mut self, who: usize, statement: &Statement, ran: Ran, rules: Rules) {
        let program = &mut self.programs[who];
        let Some(change) = program.change.as_mut() else { return };
        let is_over = matches!(statement, Statement::Advance(_, ChangeState::Done));
        if ran == Ran::Refused || is_over {
            self.leave(who);
            return;
        }
        let passed = ran == Ran::Passed && rules.hold(Rule::RaiseFloor);
        program.at = match (statement, program.at.clone()) {
            (Statement::Begin(..), _) => At::Take,
            (Statement::Advance(_, to), _) => {
                change.state = *to;
                At::Effect(0, false)
            }
            (Statement::Raise(floor), _) => {
                change.floor = change.floor.max(*floor);
                At::Effect(0, false)
            }
            (_, At::Effect(n, before)) => At::Effect(n + 1, before || passed),
            (_, at) => at,
        };
    }

    /// A program ends, or is killed: its locks go with its sessions.
    pub(crate) fn leave(&mut self, who: usize) -> bool {
        let by = u8::try_from(who).expect("there are two");
        for lock in self.locks.iter_mut().chain([&mut self.lock]) {
            if *lock == Some(by) {
                *lock = None;
            }
        }
        self.programs[who] = Program::OUT;
        true
    }
}

/// What the real rule asks for; the order can be left out.
fn effects(change: &Record, rules: Rules) -> Vec<Statement> {
    let of = |state| {
        let change = Record { state, ..change.clone() };
        change_effects(&change.change()).iter().map(Statement::of).collect::<Vec<_>>()
    };
    let mut all = of(change.state);
    if change.state == ChangeState::Planned && !rules.hold(Rule::CeilingsFirst) {
        all.extend(of(ChangeState::Limited));
        all.sort_by_key(Statement::server);
    }
    all
}
