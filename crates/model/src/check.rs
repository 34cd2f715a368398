//! In which order does an id come twice, or is a session refused for ever?

use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::actions::Action;
use crate::ends::Trying;
use crate::mending::Mending;
use crate::scenario::Scenario;
use crate::world::World;

impl Model for Scenario {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::begin(self)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        self.all_actions(world, actions);
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        self.after(world, action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![Property::always(TWICE, |_, world: &World| world.given.twice.is_none())];
        if self.has_to_end {
            all.push(Property::always(ENDS, |scenario: &Self, world: &World| {
                [Trying::AnewAndAlone, Trying::WaitingAmongOthers]
                    .iter()
                    .all(|trying| world.ends(scenario, *trying))
            }));
        }
        all
    }
}

/// What the checker has found.
#[derive(Debug)]
pub struct Found {
    /// How many states there are.
    pub states: usize,
    /// The shortest way to an id that came twice, step by step, if there is one.
    pub twice: Option<Vec<(World, Option<Action>)>>,
    /// The shortest way to a state where a session is refused for ever.
    pub stuck: Option<Vec<(World, Option<Action>)>>,
}

const TWICE: &str = "no id twice";
const ENDS: &str = "a visit ends with ids";

/// Goes through all orders, until an id comes twice.
pub fn explore(scenario: &Scenario, without: &[Mending]) -> Found {
    let model = scenario.clone().without(without);
    let checker =
        model.checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let way = |of| checker.discovery(of).map(|path| path.into_vec());
    let stuck = if scenario.has_to_end { way(ENDS) } else { None };
    Found { states: checker.unique_state_count(), twice: way(TWICE), stuck }
}
