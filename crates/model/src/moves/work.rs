//! What does a program do next with the move that it works on?

use shardid_cluster::{Effect, MoveEvent, MoveKind, MoveState, effects};

use super::program::{At, Program, Task};
use super::rule::Rule;
use super::statement::Statement;
use super::world::{Gate, Says, World};
use crate::protocol::Rules;

/// What a program does next.
pub(crate) enum Todo {
    /// Something of its own that is no statement: it happens, or it waits.
    Own,
    /// A statement.
    Run(Statement),
    /// Nothing: the next place.
    Skip,
}

impl World {
    /// Begins a program; false where there is nothing for it to do.
    pub(crate) fn begin(&mut self, who: usize, task: Task) -> bool {
        let mut program = Program { task, ..Program::out(self.programs[who].number) };
        match task {
            Task::Move => program.at = At::Plan(self.owner),
            Task::Rollback | Task::Retire => {
                let old = self.moves.iter().rposition(|m| {
                    m.kind == MoveKind::Copy && m.state == MoveState::Done && !m.retired
                });
                let Some(id) = old else { return false };
                program.id = u8::try_from(id).expect("moves are few");
                program.at = match task {
                    Task::Retire => At::Lock,
                    _ => At::Plan(self.moves[id].target()),
                };
            }
            Task::Resume | Task::Abort => {
                let Some(id) = self.standing() else { return false };
                program.id = u8::try_from(id).expect("moves are few");
                program.at = At::Lock;
                program.state = self.moves[id].state;
            }
        }
        self.programs[who] = program;
        true
    }

    /// What a program does next.
    pub(crate) fn todo(&self, who: usize, rules: Rules) -> Todo {
        let program = &self.programs[who];
        let id = usize::from(program.id);
        match program.at {
            At::GiveUp => {
                let goes_back = program.state == MoveState::Switched && self.has_lost(id);
                let event = if goes_back { MoveEvent::GoBack } else { MoveEvent::Abort };
                Todo::Run(Statement::Advance(id, program.state, event))
            }
            At::LoseFence => Todo::Run(Statement::Advance(id, program.state, MoveEvent::FenceLost)),
            At::Next => Todo::Run(Statement::Advance(id, program.state, MoveEvent::Finished)),
            At::Relieve => match program.state {
                MoveState::Following | MoveState::Aborting => {
                    Todo::Run(Statement::Lower(self.moves[id].source))
                }
                _ => Todo::Skip,
            },
            At::Effect(number, part) => {
                let all = effects(self.moves[id].kind, program.state);
                match all.get(usize::from(number)) {
                    Some(effect) => self.effect(program, *effect, part, rules),
                    None => Todo::Skip,
                }
            }
            At::Retire(part) => self.retire(id, part),
            _ => Todo::Own,
        }
    }

    fn effect(&self, program: &Program, effect: Effect, part: u8, rules: Rules) -> Todo {
        let id = usize::from(program.id);
        let record = &self.moves[id];
        let (source, target) = (record.source, record.target());
        let going_back = record.kind == MoveKind::Rollback;
        // A note, then the thing; or the thing, then the note.
        let noted = |note, thing| match (part, rules.hold(Rule::NoteFirst)) {
            (0, true) | (1, false) => Todo::Run(note),
            (1, true) | (0, false) => Todo::Run(thing),
            _ => Todo::Skip,
        };
        let all = |statements: &[Statement]| match statements.get(usize::from(part)) {
            Some(statement) => Todo::Run(*statement),
            None => Todo::Skip,
        };
        let stream_of = record.rollback_of.map_or(id, usize::from);
        match effect {
            Effect::MakeSchema => {
                noted(Statement::NoteCopy(id, target), Statement::MakeCopy(target))
            }
            Effect::Subscribe => {
                noted(Statement::NoteStream(id, source), Statement::MakeStream(source, id))
            }
            Effect::RaiseFence => all(&[Statement::Raise(source)]),
            Effect::Check if part == 0 && !going_back => Todo::Own,
            Effect::AwaitDrained if part == 0 && rules.hold(Rule::Drain) => Todo::Own,
            Effect::CarryOver => match (part, program.last) {
                (0, _) => Todo::Run(Statement::Hold(source, program.number)),
                (1, Some(last)) => Todo::Run(Statement::Note(target, last)),
                _ => Todo::Skip,
            },
            Effect::NoteTarget | Effect::CheckTarget if part == 0 && self.has_fail_overs() => {
                Todo::Own
            }
            Effect::CheckSource if part == 0 && self.source_has_lost(id) => Todo::Own,
            Effect::OpenSource if record.was_switched => {
                let node = self.nodes[usize::from(source)];
                match (part, node.copy) {
                    (0, Some(_)) if node.says != Says::Open => Todo::Run(Statement::Open(source)),
                    _ => Todo::Skip,
                }
            }
            Effect::GuardSource => {
                let held = self.nodes[usize::from(source)].copy.is_some_and(|copy| {
                    copy.held == Some(program.number) && program.last.is_some()
                });
                let is_open = self.nodes[usize::from(target)].says == Says::Open;
                match (part, program.last) {
                    (0, _) if !held => Todo::Run(Statement::Hold(source, program.number)),
                    (1, Some(last)) if !is_open && rules.hold(Rule::NoteBeforeClose) => {
                        Todo::Run(Statement::Note(target, last))
                    }
                    (2, _) => Todo::Run(Statement::Guard(source, record.whole)),
                    _ => Todo::Skip,
                }
            }
            Effect::OpenTarget => all(&[Statement::Open(target)]),
            Effect::EndStream => {
                all(&[Statement::EndStream(source), Statement::ForgetStream(stream_of, source)])
            }
            Effect::OpenWayBack => {
                noted(Statement::NoteStream(id, target), Statement::MakeStream(target, id))
            }
            Effect::CleanUp if going_back => all(&[
                Statement::Drop(source),
                Statement::ForgetCopy(id),
                Statement::Retired(stream_of),
            ]),
            Effect::LowerFence => all(&[Statement::Lower(source)]),
            Effect::RemoveAll => {
                let has_stream = record.stream_left[usize::from(source)];
                let has_copy = record.copy_left == Some(target);
                match part {
                    0 if has_stream => Todo::Run(Statement::EndStream(source)),
                    1 if has_stream => Todo::Run(Statement::ForgetStream(id, source)),
                    2 if has_copy => Todo::Run(Statement::Drop(target)),
                    3 if has_copy => Todo::Run(Statement::ForgetCopy(id)),
                    _ => Todo::Skip,
                }
            }
            Effect::CloseOldCopy => all(&[Statement::Close(target)]),
            _ => Todo::Skip,
        }
    }

    fn retire(&self, id: usize, part: u8) -> Todo {
        let record = &self.moves[id];
        let (source, target) = (record.source, record.target());
        let back = record.stream_left[usize::from(target)];
        match part {
            0 => Todo::Run(Statement::BeginRetire(id)),
            1 if back => Todo::Run(Statement::EndStream(target)),
            2 if back => Todo::Run(Statement::ForgetStream(id, target)),
            3 if record.copy_left == Some(source) => Todo::Run(Statement::Drop(source)),
            4 => Todo::Run(Statement::ForgetCopy(id)),
            5 => Todo::Run(Statement::Retired(id)),
            _ => Todo::Skip,
        }
    }

    /// The last statement of the last effect was run, or there was none.
    pub(crate) fn go_on(&mut self, who: usize, ran: Option<Statement>, rules: Rules) {
        let program = &mut self.programs[who];
        let id = usize::from(program.id);
        if let Some(Statement::Advance(..)) = ran {
            program.state = self.moves[id].state;
        }
        if let Some(Statement::Hold(node, _)) = ran {
            program.last = self.nodes[usize::from(node)].copy.map(|copy| copy.last);
            if !rules.hold(Rule::HoldSequences)
                && let Some(copy) = self.nodes[usize::from(node)].copy.as_mut()
            {
                copy.held = None;
            }
        }
        let kind = self.moves[id].kind;
        if let (At::Effect(number, 0), None) = (program.at, ran)
            && effects(kind, program.state).get(usize::from(number)) == Some(&Effect::GuardSource)
        {
            // It has held the sequence ever since it was carried over.
            program.last = None;
        }
        program.at = match program.at {
            At::GiveUp => At::Relieve,
            At::Relieve => At::ClaimTarget,
            At::LoseFence => At::Effect(0, 0),
            At::Next if program.state.is_over() => return self.leave(who),
            At::Next => At::Effect(0, 0),
            At::Effect(number, part) => {
                let all = effects(kind, program.state);
                match (usize::from(number) < all.len(), part < 3) {
                    (false, _) => At::Next,
                    (true, true) => At::Effect(number, part + 1),
                    (true, false) => At::Effect(number + 1, 0),
                }
            }
            At::Retire(5) => return self.leave(who),
            At::Retire(part) => At::Retire(part + 1),
            other => other,
        };
        if matches!(program.at, At::Effect(_, 0)) && !behind_the_fence(program.state) {
            // Its session goes with the fence.
            self.let_go(who);
        }
    }

    /// What a program does by itself; none where it waits.
    pub(crate) fn own(&mut self, who: usize, rules: Rules) -> bool {
        let program = self.programs[who];
        let id = usize::from(program.id);
        match program.at {
            At::Plan(source) => {
                let (kind, of) = match program.task {
                    Task::Rollback => (MoveKind::Rollback, Some(program.id)),
                    _ => (MoveKind::Copy, None),
                };
                match self.plan(kind, source, of, rules) {
                    Some(id) => {
                        self.programs[who].id = u8::try_from(id).expect("moves are few");
                        self.programs[who].state = MoveState::Planned;
                        self.programs[who].at = At::Lock;
                    }
                    None => self.leave(who),
                }
            }
            At::Lock => {
                if self.lock.is_some() {
                    return false;
                }
                self.lock = Some(program.number);
                if rules.hold(Rule::ReadUnderLock) {
                    self.programs[who].state = self.moves[id].state;
                }
                self.programs[who].at = At::Draw;
            }
            At::Draw => {
                self.term += 1;
                self.programs[who].term = self.term;
                self.moves[id].term = self.term;
                if rules.hold(Rule::ReadWithTerm) {
                    self.programs[who].state = self.moves[id].state;
                }
                self.programs[who].at = At::ClaimSource;
            }
            At::ClaimSource | At::ClaimTarget => {
                let record = self.moves[id];
                let node = match program.at {
                    At::ClaimTarget => record.target(),
                    _ => record.source,
                };
                let known = &mut self.nodes[usize::from(node)].term;
                *known = program.term.max(*known);
                if *known != program.term {
                    // Somebody has begun after us.
                    self.leave(who);
                    return true;
                }
                let goes_back = program.state == MoveState::Switched && self.has_lost(id);
                self.programs[who].at = match (program.at, program.task) {
                    // Once it is seen what the target lacks.
                    (At::ClaimSource, Task::Abort) if goes_back => At::ClaimTarget,
                    (At::ClaimTarget, Task::Abort) if goes_back => At::GiveUp,
                    (At::ClaimSource, Task::Abort) => At::GiveUp,
                    (At::ClaimSource, _) => At::ClaimTarget,
                    (_, Task::Retire) => At::Retire(0),
                    _ if self.programs[who].state.is_over() => {
                        self.leave(who);
                        return true;
                    }
                    _ => At::Effect(0, 0),
                };
            }
            At::Effect(..) if program.state == MoveState::Planned => {
                // The check: the shard is there, and nothing of it where it is to go.
                let record = self.moves[id];
                let target = self.nodes[usize::from(record.target())];
                let source = self.nodes[usize::from(record.source)].copy;
                if target.copy.is_some() || source.is_none_or(|copy| copy.gate != Gate::Open) {
                    self.fail(who);
                    return true;
                }
                self.go_on(who, None, rules);
            }
            At::Effect(..) if program.state == MoveState::Switched => {
                // The look at the target, before anything else.
                if self.has_lost(id) && rules.hold(Rule::CheckTarget) {
                    self.fail(who);
                    return true;
                }
                self.go_on(who, None, rules);
            }
            At::Effect(number, _) if self.is_at(&program, number, Effect::CheckSource) => {
                // Whether the source has all that the copy may have.
                if rules.hold(Rule::CheckSource) {
                    self.fail(who);
                    return true;
                }
                self.go_on(who, None, rules);
            }
            At::Effect(number, _) if self.is_at(&program, number, Effect::NoteTarget) => {
                if rules.hold(Rule::JournalTerm) && self.moves[id].term != program.term {
                    self.fail(who);
                    return true;
                }
                let target = usize::from(self.moves[id].target());
                self.moves[id].whole = Some(self.nodes[target].life);
                self.go_on(who, None, rules);
            }
            At::Effect(..) => {
                // The wait for the target to have everything.
                let record = self.moves[id];
                let source = self.nodes[usize::from(record.source)];
                let target = self.nodes[usize::from(record.target())];
                let is_sending = self.is_sending(usize::from(record.source));
                let (Some(from), Some(to), true) = (source.copy, target.copy, is_sending) else {
                    self.fail(who);
                    return true;
                };
                if from.rows & !to.rows != 0 {
                    return false;
                }
                self.go_on(who, None, rules);
            }
            _ => return false,
        }
        true
    }

    /// Whether a program is at an effect.
    fn is_at(&self, program: &Program, number: u8, effect: Effect) -> bool {
        let all = effects(self.moves[usize::from(program.id)].kind, program.state);
        all.get(usize::from(number)) == Some(&effect)
    }

    /// Something was refused: behind the fence, that is given up.
    pub(crate) fn fail(&mut self, who: usize) {
        let program = &mut self.programs[who];
        match (program.at, program.state) {
            (At::Effect(..), MoveState::Fenced) => program.at = At::LoseFence,
            _ => self.leave(who),
        }
    }

    /// A program ends, or is killed: its lock and its sessions go.
    pub(crate) fn leave(&mut self, who: usize) {
        self.let_go(who);
        let number = self.programs[who].number;
        if self.lock == Some(number) {
            self.lock = None;
        }
        self.programs[who] = Program::out(number);
    }

    fn let_go(&mut self, who: usize) {
        let number = self.programs[who].number;
        self.programs[who].last = None;
        for node in &mut self.nodes {
            if let Some(copy) = node.copy.as_mut().filter(|copy| copy.held == Some(number)) {
                copy.held = None;
            }
        }
    }
}

fn behind_the_fence(state: MoveState) -> bool {
    matches!(state, MoveState::Fenced | MoveState::Switched)
}
