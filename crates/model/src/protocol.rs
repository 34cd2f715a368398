//! What the models of moves and of ticket servers share: rules that can be left out, and the
//! search for the shortest way to what is wrong.

use std::fmt::Debug;
use std::hash::Hash;

use stateright::{Checker, HasDiscoveries, Model};

/// The rules of a protocol that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rules(u32);

impl Rules {
    /// All but these.
    pub fn without<R: Copy + Into<u32>>(out: &[R]) -> Self {
        Self(out.iter().fold(0, |bits, &rule| bits | 1 << rule.into()))
    }

    /// Whether it holds.
    pub fn hold<R: Into<u32>>(self, rule: R) -> bool {
        self.0 & (1 << rule.into()) == 0
    }
}

/// A protocol, and the faults it is tried with.
pub trait Protocol:
    Model<
        State: Clone + Debug + Hash + PartialEq + Send + Sync,
        Action: Clone + Debug + PartialEq + Send + Sync,
    > + Clone
    + Send
    + Sync
    + 'static
{
    /// A rule that can be left out.
    type Rule: Copy + Debug + Into<u32>;

    /// The same without these rules.
    #[must_use]
    fn without(self, out: &[Self::Rule]) -> Self;

    /// What is wrong with a world that breaks a property.
    fn what_is_wrong(&self, world: &Self::State) -> Option<&'static str>;
}

/// What the checker has found.
#[derive(Debug)]
pub struct Found<S, A> {
    /// How many states there are.
    pub states: usize,
    /// What is wrong, and the shortest way there.
    pub wrong: Option<(&'static str, Way<S, A>)>,
}

/// Worlds, and what was done in each.
pub type Way<S, A> = Vec<(S, Option<A>)>;

/// Goes through all orders, until something is wrong.
pub fn explore_protocol<P: Protocol>(plot: &P) -> Found<P::State, P::Action> {
    let checker = plot
        .clone()
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let found = plot.properties().iter().find_map(|property| checker.discovery(property.name));
    let wrong = found.map(|path| {
        let way = path.into_vec();
        let last = &way.last().expect("a way ends").0;
        (plot.what_is_wrong(last).unwrap_or("?"), way)
    });
    Found { states: checker.unique_state_count(), wrong }
}
