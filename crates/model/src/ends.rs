//! Does a visit end with ids, from every state, while the clock goes on?

use crate::ddl::Statement;
use crate::horizon::Other;
use crate::layout::layout;
use crate::scenario::{Kind, Scenario};
use crate::take::Meanwhile;
use crate::world::World;

/// What happens while a session tries again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trying {
    /// It gives up at each refusal and begins anew; nobody else does anything.
    AnewAndAlone,
    /// It waits; other generators take leases and are restarted in every tick.
    WaitingAmongOthers,
    /// It gives up, and the others do the same as above.
    AnewAmongOthers,
}

/// After so many ticks at most.
const TICKS: i64 = 24;

impl World {
    /// Whether the last session is given ids after a while.
    pub fn ends(&self, scenario: &Scenario, trying: Trying) -> bool {
        let mut world = self.clone();
        let who = world.sessions.len() - 1;
        world.sessions[0].asking = None;
        world.deliver(0);
        if world.transaction.is_some() {
            world.execute(scenario, Statement::Rollback);
        }
        if world.row.file.is_none() || world.row.unlogged {
            return true;
        }
        let until = world.now + TICKS * layout().slots();
        while world.now < until {
            if world.sessions[who].pending.is_some() {
                return true;
            }
            let ids = world.given.clone();
            let mut tried = world.clone();
            tried.left.refill(Kind::Visit);
            if tried.ask(scenario, who, 1, Meanwhile::Nothing) {
                if tried.given != ids {
                    return true;
                }
                world = tried;
                continue;
            }
            if trying != Trying::WaitingAmongOthers {
                world.sessions[who].asking = None;
            }
            if trying != Trying::AnewAndAlone {
                world.other(scenario, Other::Leases);
                world.other(scenario, Other::Asks);
            }
            world.now += layout().slots();
        }
        false
    }
}

/// Whether a session is refused for ever after a crash, however it tries.
pub fn starves(scenario: &Scenario) -> [bool; 3] {
    let mut world = World::begin(scenario);
    while world.sessions[0].pending.is_none() {
        world.left.refill(Kind::Visit);
        world.ask(scenario, 0, 1, Meanwhile::Nothing);
    }
    world.deliver(0);
    world.other(scenario, Other::Leases);
    world.wal.flush_all();
    world.crash();
    [Trying::AnewAndAlone, Trying::WaitingAmongOthers, Trying::AnewAmongOthers]
        .map(|trying| !world.ends(scenario, trying))
}
