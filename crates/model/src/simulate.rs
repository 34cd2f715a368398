//! Does an id come twice in long random orders of everything?

use crate::actions::Action;
use crate::scenario::Scenario;
use crate::world::World;

/// Walks at random, always the same for a seed; returns how many steps were made, and the
/// last walk's if an id came twice in it.
pub fn simulate(scenario: &Scenario, seed: u64, walks: u32) -> (u64, Option<Vec<Action>>) {
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(1));
    let mut made = 0;
    let mut choices = Vec::new();
    for _ in 0..walks {
        let mut world = World::begin(scenario);
        let mut steps = Vec::new();
        loop {
            choices.clear();
            scenario.all_actions(&world, &mut choices);
            let next = loop {
                if choices.is_empty() {
                    break None;
                }
                let action = choices.swap_remove(random.below(choices.len()));
                if let Some(next) = scenario.after(&world, action) {
                    break Some((action, next));
                }
            };
            let Some((action, next)) = next else { break };
            steps.push(action);
            made += 1;
            world = next;
            if world.given.twice.is_some() {
                return (made, Some(steps));
            }
        }
    }
    (made, None)
}

/// xorshift64*: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        mixed as usize % end
    }
}
