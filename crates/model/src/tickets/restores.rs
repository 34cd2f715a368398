//! Does a number come twice where a server of a ticket is put back from a backup, once and again?
//!
//! Two servers; the catalog is on the first, or elsewhere, and comes from a backup of the same moment as the first. Or both are put back,
//! of the same moment and once, and the catalog is elsewhere and stays as it is. `apply --restored` goes by the very
//! [`shardid_cluster::ticket_plan`] and [`shardid_cluster::notes`] that the program goes by, and is killed between
//! any two steps. Whoever was told that it is noted as restored goes on with a plain `apply`. Between two looks a server
//! hands out less than the room that is left: nobody can know of more.

use std::collections::VecDeque;

use shardid_cluster::{
    Class, DeclaredTicket, KnownServer, KnownTicket, NodeName, Notes, Restored, Seen, SeenAt,
    TicketName, TicketServer, TicketState, TicketStep, TicketTruth, mark_of_look, mark_of_restored,
    not_remembered, notes, problems, ticket_plan,
};
use stateright::{Model, Property};

use super::statement::{name, number};
use crate::protocol::{Protocol, Rules};

/// A rule that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Told {
    /// The other server is told how far the ticket is.
    AtAll,
    /// It is told before a restored server is raised. Out: after that.
    First,
    /// That a server was restored is noted on it before anything else is done.
    Restored,
    /// With it, that the other one was. Out: each tells of itself alone.
    Together,
}

impl From<Told> for u32 {
    fn from(rule: Told) -> Self {
        rule as Self
    }
}

/// The mark that says of a server that it was restored, and the one that says so of both.
const RESTORED: u8 = u8::MAX;
const BOTH_RESTORED: u8 = u8::MAX - 1;

/// What a server keeps, and a backup of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kept {
    last: u64,
    mark: u8,
    noted: u64,
}

/// What a server has at first.
const NOTHING: Kept = Kept { last: 0, mark: 0, noted: 0 };

/// What the catalog keeps: how far each server was seen, and the marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Catalog {
    seen: [u64; 2],
    marks: [u8; 2],
}

/// One step of `apply`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// It is noted on a server that it was restored; after the last one, whoever runs it is told so.
    Say(usize),
    /// It looks, and plans what follows; whether somebody has said now that it was restored.
    Plan(bool),
    /// A server is told that a ticket may be that far.
    Note(usize, u64),
    /// A server goes on above a number.
    Raise(usize, u64),
    /// The catalog has seen it there.
    Saw(usize, u64),
    /// A new mark is left.
    Mark(usize),
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    servers: [Kept; 2],
    catalog: Catalog,
    /// Of the servers that are put back, with the catalog where that is on one.
    backup: Option<([Kept; 2], Catalog)>,
    /// Whether they were put back, and `apply` has not ended since.
    is_restored: bool,
    /// Whether the program has said since that this is noted.
    is_said: bool,
    /// Whether each may hand out numbers: clients are kept away until it is raised.
    is_open: [bool; 2],
    todo: VecDeque<Part>,
    last_mark: u8,
    /// The highest number that each has ever given.
    given: [u64; 2],
    /// Whether it has handed out numbers since the last look.
    has_taken: [bool; 2],
    twice: bool,
    forgotten: bool,
    takes: u8,
    looks: u8,
    restores: u8,
    kills: u8,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happens {
    /// Clients take numbers of a server, fewer than the room.
    Take(usize),
    /// `shardid tickets verify`.
    Look,
    /// A backup is taken.
    Backup,
    /// It is put back.
    Restore,
    /// `shardid apply` begins; with `--restored`, unless that is said to be noted.
    Apply,
    /// The same without it, where something was found.
    ApplyAlone,
    /// It goes on.
    Step,
    /// It is killed.
    Kill,
}

/// Which servers are put back, and what is left out.
#[derive(Debug, Clone, Copy)]
pub struct Restores {
    servers: &'static [usize],
    /// Whether the catalog comes back with them.
    with_catalog: bool,
    /// Whether the catalog is on neither.
    is_elsewhere: bool,
    rules: Rules,
}

/// What clients take at once, with both servers: less than the room.
const TAKEN: u64 = 80_000;

impl Restores {
    /// That which keeps the catalog is put back.
    pub fn with_the_catalog() -> Self {
        Self { servers: &[0], with_catalog: true, is_elsewhere: false, rules: Rules::default() }
    }

    /// The other one is.
    pub fn without_the_catalog() -> Self {
        Self { servers: &[1], with_catalog: false, ..Self::with_the_catalog() }
    }

    /// That with the first number is, and the catalog, which is elsewhere.
    pub fn with_a_catalog_elsewhere() -> Self {
        Self { is_elsewhere: true, ..Self::with_the_catalog() }
    }

    /// Both are.
    pub fn both() -> Self {
        Self {
            servers: &[0, 1],
            with_catalog: false,
            is_elsewhere: true,
            ..Self::with_the_catalog()
        }
    }

    /// What the program sees.
    fn truth(&self, state: &State) -> TicketTruth {
        let catalog = name(if self.is_elsewhere { 2 } else { 0 });
        TicketTruth { catalog: Some(catalog), ..truth(state) }
    }

    fn plan(&self, state: &mut State, is_said: bool) {
        let truth = self.truth(state);
        let restored: Vec<NodeName> = self.servers.iter().map(|server| node(*server)).collect();
        let restored = if is_said { &restored[..] } else { &[] };
        state.forgotten |= !not_remembered(&truth, restored).is_empty();
        let nodes: Vec<NodeName> = truth.servers.keys().cloned().collect();
        let declared = [DeclaredTicket { name: ticket(), servers: nodes }];
        let restored = Restored { nodes: restored, ..Restored::default() };
        for step in ticket_plan(&declared, &truth, restored, (0, 0), 0).steps {
            match step {
                TicketStep::Raise { node, floor, .. } => {
                    let (server, other) = (number(&node), 1 - number(&node));
                    let mut parts = [Part::Note(other, floor), Part::Raise(server, floor)];
                    if !self.rules.hold(Told::First) {
                        parts.reverse();
                    }
                    // What another restore takes from both, the catalog knows before a client has it.
                    state.todo.push_back(Part::Saw(server, floor));
                    state.todo.extend(parts);
                }
                TicketStep::Know { node } => state.todo.push_back(Part::Mark(number(&node))),
                other => panic!("no such step is needed: {other:?}"),
            }
        }
    }

    fn run(&self, state: &mut State, part: Part) {
        let noted = notes(&self.truth(state)).get(&ticket()).map_or(0, Seen::high_water);
        let noted = if self.rules.hold(Told::AtAll) { noted } else { 0 };
        match part {
            Part::Say(server) => {
                let is_one = self.servers.len() == 1 || !self.rules.hold(Told::Together);
                let mark = if is_one { RESTORED } else { BOTH_RESTORED };
                if self.rules.hold(Told::Restored) {
                    state.servers[server].mark = mark;
                }
                state.is_said |= self.servers.last() == Some(&server);
            }
            Part::Plan(is_said) => self.plan(state, is_said),
            Part::Note(other, floor) if self.rules.hold(Told::AtAll) => {
                state.servers[other].noted = noted.max(floor);
            }
            Part::Note(..) => {}
            Part::Raise(server, floor) => {
                state.servers[server].last = state.servers[server].last.max(floor);
                // What it goes on above is noted, and so is the room from there.
                state.has_taken[server] = false;
                state.is_open[server] = true;
            }
            Part::Saw(server, floor) => {
                state.catalog.seen[server] = state.catalog.seen[server].max(floor);
            }
            Part::Mark(server) => {
                state.last_mark += 1;
                state.catalog.marks[server] = state.last_mark;
                state.servers[server].mark = state.last_mark;
                state.servers[server].noted = noted;
            }
        }
    }

    fn happens(&self, state: &mut State, action: Happens) -> bool {
        match action {
            Happens::Take(server) => {
                state.takes -= 1;
                let first = state.servers[server].last + 1;
                state.twice |= first <= state.given[server];
                state.servers[server].last += TAKEN;
                state.given[server] = state.given[server].max(state.servers[server].last);
                state.has_taken[server] = true;
            }
            Happens::Look => {
                if !problems(&self.truth(state)).is_empty() {
                    return false;
                }
                state.looks -= 1;
                for server in 0..2 {
                    self.run(state, Part::Saw(server, state.servers[server].last));
                }
                let mark = state.last_mark;
                for server in 0..2 {
                    // Those of one look are of one number.
                    state.last_mark = mark;
                    self.run(state, Part::Mark(server));
                }
                state.has_taken = [false; 2];
            }
            Happens::Backup => {
                let mut servers = [NOTHING; 2];
                self.servers.iter().for_each(|server| servers[*server] = state.servers[*server]);
                state.backup = Some((servers, state.catalog));
            }
            Happens::Restore => {
                let Some((servers, catalog)) = state.backup else { return false };
                state.restores -= 1;
                for server in self.servers {
                    state.servers[*server] = servers[*server];
                    state.is_open[*server] = false;
                }
                if self.with_catalog {
                    state.catalog = catalog;
                }
                (state.is_restored, state.is_said) = (true, false);
            }
            Happens::Apply => {
                if !state.is_said {
                    state.todo.extend(self.servers.iter().map(|server| Part::Say(*server)));
                }
                state.todo.push_back(Part::Plan(!state.is_said));
            }
            Happens::ApplyAlone => {
                if problems(&self.truth(state)).is_empty() {
                    return false;
                }
                state.todo.push_back(Part::Plan(false));
            }
            Happens::Step => {
                let Some(part) = state.todo.pop_front() else { return false };
                self.run(state, part);
                // Then clients are let to it again.
                if state.todo.is_empty() {
                    (state.is_restored, state.is_said, state.is_open) = (false, false, [true; 2]);
                }
            }
            Happens::Kill => {
                state.kills -= 1;
                state.todo.clear();
            }
        }
        true
    }
}

fn node(server: usize) -> NodeName {
    name(u8::try_from(server).expect("there are two"))
}

fn ticket() -> TicketName {
    TicketName::new("orders").expect("it is a name")
}

fn seen(number: u64) -> Seen {
    Seen::default().then(SeenAt { number, at_us: 0 })
}

/// The same, wherever the catalog is.
fn truth(state: &State) -> TicketTruth {
    let mut truth = TicketTruth { catalog_migration: Some(0), ..TicketTruth::default() };
    let mut known = KnownTicket::default();
    for (server, class) in [(0_u8, 1), (1, 2)] {
        let (node, at) = (name(server), usize::from(server));
        let kept = state.servers[at];
        let class = Class { server: class, servers: 2 };
        let has = TicketState { class, last: kept.last, floor: 0, ceiling: None, max: u64::MAX };
        let noted = (kept.noted > 0).then(|| (ticket(), seen(kept.noted)));
        truth.servers.insert(
            node.clone(),
            TicketServer {
                identity: node.to_string(),
                mark: Some(match kept.mark {
                    RESTORED => mark_of_restored([]),
                    BOTH_RESTORED => mark_of_restored(&[name(0), name(1)]),
                    mark => mark_of_look("m", mark.into()),
                }),
                notes: noted.into_iter().collect::<Notes>(),
                migration: Some(0),
                tickets: [(ticket(), has)].into(),
                ..TicketServer::default()
            },
        );
        let marks = vec![mark_of_look("m", state.catalog.marks[at].into())];
        truth.known_servers.insert(node.clone(), KnownServer { identity: node.to_string(), marks });
        known.servers.push((node, seen(state.catalog.seen[at])));
    }
    truth.known.insert(ticket(), known);
    truth
}

impl Model for Restores {
    type State = State;
    type Action = Happens;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            servers: [NOTHING; 2],
            catalog: Catalog { seen: [0; 2], marks: [0; 2] },
            backup: None,
            is_restored: false,
            is_said: false,
            is_open: [true; 2],
            todo: VecDeque::new(),
            last_mark: 0,
            given: [0; 2],
            has_taken: [false; 2],
            twice: false,
            forgotten: false,
            takes: 3,
            looks: 2,
            restores: if self.servers.len() == 1 { 3 } else { 2 },
            kills: 1,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Happens>) {
        for server in 0..2 {
            if state.takes > 0 && state.is_open[server] && !state.has_taken[server] {
                actions.push(Happens::Take(server));
            }
        }
        if !state.todo.is_empty() {
            actions.push(Happens::Step);
            if state.kills > 0 {
                actions.push(Happens::Kill);
            }
            return;
        }
        if state.is_restored {
            actions.push(Happens::Apply);
            // Of both, put back again without a word, nobody knows what they gave since they were looked at.
            if !state.is_said && (self.servers.len() == 1 || state.restores > 0) {
                actions.push(Happens::ApplyAlone);
            }
        }
        // `verify` is run every few minutes, also where an `apply` was cut.
        if state.looks > 0 && (!state.is_restored || state.is_said) {
            actions.push(Happens::Look);
        }
        if state.backup.is_none() {
            actions.push(Happens::Backup);
        } else if state.restores > 0 {
            actions.push(Happens::Restore);
        }
    }

    fn next_state(&self, state: &State, action: Happens) -> Option<State> {
        let mut next = state.clone();
        self.happens(&mut next, action).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no number twice", |_, state: &State| !state.twice),
            Property::always("somebody remembers", |_, state: &State| !state.forgotten),
        ]
    }
}

impl Protocol for Restores {
    type Rule = Told;

    fn without(self, out: &[Told]) -> Self {
        Self { rules: Rules::without(out), ..self }
    }

    fn what_is_wrong(&self, state: &State) -> Option<&'static str> {
        if state.twice { Some("a number came twice") } else { Some("nobody remembers") }
    }
}
