//! Does what stands come to an end, by whoever takes it up next and is left alone?

use super::program::{At, Task};
use super::work::Todo;
use super::world::World;
use crate::protocol::Rules;

/// No program takes as many steps.
const STEPS_MAX: usize = 400;

impl World {
    /// What is wrong about how it ends, with nobody at work and nothing late: `resume` or
    /// `abort` ends it, and neither leaves anything that is not right.
    pub(crate) fn ends_badly(&self, rules: Rules) -> Option<&'static str> {
        if self.standing().is_none() {
            return self.wrong_at_rest();
        }
        let mut ended = false;
        for task in [Task::Resume, Task::Abort] {
            let mut world = self.clone();
            if let Some(wrong) = world.alone(task, rules) {
                return Some(wrong);
            }
            if world.standing().is_none() {
                ended = true;
                if let Some(wrong) = world.wrong_at_rest() {
                    return Some(wrong);
                }
            }
        }
        // The copy may have what its source has lost: that is brought over, and the loss accepted.
        let held_back = self.standing().filter(|id| self.source_has_lost(*id));
        if let Some(id) = held_back.filter(|_| !ended) {
            let mut world = self.clone();
            world.bring_over(id);
            if let Some(wrong) = world.alone(Task::Abort, rules) {
                return Some(wrong);
            }
            if world.standing().is_none() {
                return world.wrong_at_rest();
            }
        }
        let open_again = self.standing().filter(|id| self.source_is_open(*id));
        if let Some(id) = open_again.filter(|_| !ended) {
            let mut world = self.clone();
            world.take_over(id);
            if let Some(wrong) = world.alone(Task::Resume, rules) {
                return Some(wrong);
            }
            if world.standing().is_none() {
                return world.wrong_at_rest();
            }
        }
        (!ended).then_some("neither resume nor abort ends it")
    }

    /// A program runs to its end, with nobody else; what was wrong meanwhile.
    fn alone(&mut self, task: Task, rules: Rules) -> Option<&'static str> {
        self.begin(0, task);
        for _ in 0..STEPS_MAX {
            if self.programs[0].at == At::Out {
                return None;
            }
            self.deliver(0);
            self.deliver(1);
            match self.todo(0, rules) {
                Todo::Own => {
                    if !self.own(0, rules) {
                        return None;
                    }
                }
                Todo::Skip => self.go_on(0, None, rules),
                Todo::Run(statement) => {
                    let term = self.programs[0].term;
                    match self.run(statement, term, rules) {
                        true => self.go_on(0, Some(statement), rules),
                        false => self.fail(0),
                    }
                }
            }
            if let Some(wrong) = self.wrong() {
                return Some(wrong);
            }
        }
        Some("a program does not end")
    }
}
