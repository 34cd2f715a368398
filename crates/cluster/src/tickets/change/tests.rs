//! Changes of servers, played through on counters that behave as the servers do.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// A server that hands out one ticket, with the rules of the SQL.
#[derive(Debug, Clone)]
struct Counter {
    class: Class,
    last: u64,
    floor: u64,
    ceiling: Option<u64>,
}

impl Counter {
    fn new(class: Class, floor: u64) -> Self {
        Self { class, last: floor, floor, ceiling: None }
    }

    fn take(&mut self) -> Option<u64> {
        let next = (self.last + 1..).find(|n| self.class.contains(*n))?;
        if self.ceiling.is_some_and(|ceiling| next >= ceiling) {
            return None;
        }
        self.last = next;
        Some(next)
    }

    fn state(&self) -> TicketState {
        let Self { class, last, floor, ceiling } = *self;
        TicketState { class, last, floor, ceiling, max: u64::MAX }
    }
}

type Servers = BTreeMap<NodeName, Counter>;

/// Does one effect as the SQL would, or says that the number is past the ceiling.
fn act(servers: &mut Servers, effect: &ChangeEffect) -> Result<(), u64> {
    match effect {
        ChangeEffect::Limit { node, ceiling } => {
            let counter = servers.get_mut(node).expect("an old server is there");
            if counter.last >= *ceiling {
                return Err(counter.last);
            }
            counter.ceiling = Some(*ceiling);
        }
        ChangeEffect::Restep { node, class, floor } => {
            let counter = servers.get_mut(node).expect("an old server is there");
            if (counter.class, counter.floor) != (*class, *floor) {
                assert!(counter.last <= *floor, "a number above the floor was handed out");
                *counter = Counter::new(*class, *floor);
            }
        }
        ChangeEffect::Create { node, class, floor } => {
            let new = Counter::new(*class, *floor);
            let counter = servers.entry(node.clone()).or_insert_with(|| new.clone());
            if (counter.class, counter.floor) != (*class, *floor) {
                assert!(counter.last <= *floor, "a number above the floor was handed out");
                *counter = new;
            }
        }
        ChangeEffect::Retire { node, floor } => {
            let counter = servers.get_mut(node).expect("an old server is there");
            assert!(counter.last <= *floor, "a number above the floor was handed out");
            counter.ceiling = Some(counter.last + 1);
        }
    }
    Ok(())
}

fn node(number: usize) -> NodeName {
    NodeName::new(&format!("n{number}")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Clients take numbers between any two effects; the program is cut and
    /// begins a state again at random, with all its effects once more.
    #[test]
    fn no_number_is_handed_out_twice_while_servers_come_and_go(
        sizes in prop::collection::vec(prop::collection::btree_set(0_usize..6, 1..5), 2..6),
        haste in prop::collection::vec(0_usize..60, 200),
        cuts in prop::collection::vec(0_u8..4, 200),
        passed in prop::collection::vec(any::<bool>(), 6),
    ) {
        let mut taken = BTreeSet::new();
        let mut haste = haste.into_iter().cycle();
        let mut cuts = cuts.into_iter().cycle();
        let mut clients = |servers: &mut Servers| {
            for counter in servers.values_mut() {
                for _ in 0..haste.next().unwrap() {
                    if let Some(number) = counter.take() {
                        assert!(taken.insert(number), "{number} was handed out twice");
                    }
                }
            }
        };
        let lists: Vec<Vec<NodeName>> =
            sizes.iter().map(|set| set.iter().map(|n| node(*n)).collect()).collect();
        let mut servers: Servers =
            classes(&lists[0]).map(|(n, class)| (n.clone(), Counter::new(class, 0))).collect();
        for ((before, after), passed) in lists.iter().zip(&lists[1..]).zip(passed) {
            clients(&mut servers);
            let old = servers.iter().filter(|(name, _)| before.contains(name));
            let states: Vec<_> = old.map(|(_, counter)| counter.state()).collect();
            let mut floor = first_floor(&states, 0).unwrap();
            if passed {
                // As if clients had been quicker than the margin allows for.
                floor = states.iter().map(|state| state.last).min().unwrap();
            }
            let mut change = TicketChange {
                id: 1, ticket: TicketName::new("t").unwrap(), before: before.clone(),
                after: after.clone(), gone: Vec::new(), floor, state: ChangeState::Planned,
            };
            while let Some(next) = next_change_state(change.state) {
                let mut whole = true;
                for effect in change_effects(&change) {
                    clients(&mut servers);
                    if let Err(last) = act(&mut servers, &effect) {
                        change.floor = change.floor.max(last) + MARGIN;
                        whole = false;
                        break;
                    }
                    if cuts.next() == Some(0) {
                        whole = false;
                        break;
                    }
                }
                if whole {
                    change.state = next;
                }
            }
            let serving = servers.iter().filter(|(_, counter)| counter.ceiling.is_none());
            let now: Vec<_> = serving.map(|(n, c)| (n.clone(), c.class)).collect();
            let mut wanted: Vec<_> = classes(after).map(|(n, c)| (n.clone(), c)).collect();
            wanted.sort();
            prop_assert_eq!(now, wanted);
            for (name, counter) in servers.iter_mut().filter(|(name, _)| !after.contains(name)) {
                prop_assert!(counter.state().has_ended(), "{}", name);
                prop_assert_eq!(counter.take(), None);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A server is lost for good at any step of a change, which is ended without it; then it is taken
    /// out, where it is still one of the servers.
    #[test]
    fn no_number_is_handed_out_twice_where_a_server_is_lost_within_a_change(
        before in prop::collection::btree_set(0_usize..4, 1..4),
        after in prop::collection::btree_set(0_usize..4, 1..4),
        victim in 0_usize..4, dies_at in 0_usize..12, haste in prop::collection::vec(0_usize..60, 100),
        modest in any::<bool>(),
    ) {
        let list = |set: BTreeSet<usize>| set.into_iter().map(node).collect::<Vec<_>>();
        let (before, after, victim) = (list(before), list(after), node(victim));
        let others = |list: &[NodeName]| list.iter().any(|node| *node != victim);
        prop_assume!(others(&before) && others(&after));
        let mut servers: Servers =
            classes(&before).map(|(n, class)| (n.clone(), Counter::new(class, 0))).collect();
        let mut taken = BTreeSet::new();
        let mut haste = haste.into_iter().cycle();
        // What clients of the lost server have taken at the end, quicker than anybody knows.
        let rushed = |number: u64, of: &Option<(Class, u64, u64)>| {
            of.is_some_and(|(class, from, to)| class.contains(number) && from < number && number <= to)
        };
        let mut rush = None;
        let mut clients = |servers: &mut Servers, rush: &Option<(Class, u64, u64)>| {
            for counter in servers.values_mut() {
                for _ in 0..haste.next().unwrap() {
                    if let Some(number) = counter.take() {
                        assert!(taken.insert(number) && !rushed(number, rush), "{number} was handed out twice");
                    }
                }
            }
        };
        let states = |servers: &Servers, of: &[NodeName]| {
            let of = servers.iter().filter(|(name, _)| of.contains(name));
            of.map(|(_, counter)| counter.state()).collect::<Vec<_>>()
        };
        clients(&mut servers, &rush);
        let floor = match modest {
            true => first_floor(&states(&servers, &before), 0).unwrap(),
            // As if clients had been quicker than the margin allows for.
            false => states(&servers, &before).iter().map(|state| state.last).min().unwrap(),
        };
        let mut change = TicketChange {
            id: 1, ticket: TicketName::new("t").unwrap(), before: before.clone(), after,
            gone: Vec::new(), floor, state: ChangeState::Planned,
        };
        let (mut steps, mut lost) = (0, None);
        while let Some(next) = next_change_state(change.state) {
            let mut whole = true;
            for effect in change_effects(&change) {
                clients(&mut servers, &rush);
                if steps == dies_at && lost.is_none() {
                    steps += 1;
                    let takes_part = before.contains(&victim) || change.after.contains(&victim);
                    if takes_part {
                        let dead = servers.remove(&victim);
                        rush = dead.clone().filter(|it| it.ceiling.is_none()).map(|it| {
                            let n = u64::from(it.class.servers);
                            (it.class, it.last, it.last.div_ceil(n) * n + 3 * MARGIN * n)
                        });
                        let last = rush.map(|(.., to)| to).or(dead.map(|it| it.last));
                        lost = Some(last.unwrap_or(0));
                        change = change.without(std::slice::from_ref(&victim), &states(&servers, &before), lost).unwrap();
                        whole = false;
                        break;
                    }
                }
                steps += 1;
                if let Err(last) = act(&mut servers, &effect) {
                    change.floor = change.floor.max(last) + MARGIN;
                    whole = false;
                    break;
                }
            }
            if whole {
                change.state = next;
            }
        }
        clients(&mut servers, &rush);
        if let (Some(last), true) = (lost, change.after.contains(&victim)) {
            let left: Vec<NodeName> =
                change.after.iter().filter(|node| **node != victim).cloned().collect();
            let floor = first_floor(&states(&servers, &left), last).unwrap();
            let mut change = TicketChange {
                before: change.after.clone(), after: left, gone: vec![victim.clone()], floor,
                state: ChangeState::Planned, ..change
            };
            while let Some(next) = next_change_state(change.state) {
                for effect in change_effects(&change) {
                    clients(&mut servers, &rush);
                    act(&mut servers, &effect).unwrap();
                }
                change.state = next;
            }
            clients(&mut servers, &rush);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// The journal is put back to what it was at any step of a change, when that and perhaps another
    /// one are over, or have come any way.
    #[test]
    fn no_number_is_handed_out_twice_where_the_journal_is_of_an_earlier_time(
        lists in prop::collection::vec(prop::collection::btree_set(0_usize..4, 1..4), 3),
        kept_at in 0_usize..14, stops_at in 0_usize..30,
        haste in prop::collection::vec(0_usize..60, 100), passed in any::<bool>(),
    ) {
        let lists: Vec<Vec<NodeName>> =
            lists.into_iter().map(|set| set.into_iter().map(node).collect()).collect();
        let mut servers: Servers =
            classes(&lists[0]).map(|(n, class)| (n.clone(), Counter::new(class, 0))).collect();
        let mut taken = BTreeSet::new();
        let mut haste = haste.into_iter().cycle();
        let mut clients = |servers: &mut Servers| {
            for counter in servers.values_mut() {
                for _ in 0..haste.next().unwrap() {
                    if let Some(number) = counter.take() {
                        assert!(taken.insert(number), "{number} was handed out twice");
                    }
                }
            }
        };
        let (mut steps, mut kept): (usize, Option<TicketChange>) = (0, None);
        clients(&mut servers);
        'all: for (before, after) in lists.iter().zip(&lists[1..]) {
            let old = servers.iter().filter(|(name, _)| before.contains(name));
            let states: Vec<_> = old.map(|(_, counter)| counter.state()).collect();
            let floor = match passed {
                true => states.iter().map(|state| state.last.max(state.floor)).max().unwrap(),
                false => first_floor(&states, 0).unwrap(),
            };
            let mut change = TicketChange {
                id: 1, ticket: TicketName::new("t").unwrap(), before: before.clone(),
                after: after.clone(), gone: Vec::new(), floor, state: ChangeState::Planned,
            };
            while let Some(next) = next_change_state(change.state) {
                let mut whole = true;
                for effect in change_effects(&change) {
                    steps += 1;
                    if steps == kept_at + 1 {
                        kept = Some(change.clone());
                    }
                    if kept.is_some() && steps > stops_at {
                        break 'all;
                    }
                    clients(&mut servers);
                    if let Err(last) = act(&mut servers, &effect) {
                        change.floor = change.floor.max(last) + MARGIN;
                        whole = false;
                        break;
                    }
                }
                if whole {
                    change.state = next;
                }
            }
        }
        let Some(mut change) = kept else { return Ok(()) };
        let states: Vec<_> = servers.iter().map(|(n, counter)| (n.clone(), counter.state())).collect();
        if change.is_outdated(states.iter().map(|(_, state)| state)) {
            let out: Vec<_> = states.iter().filter(|(_, state)| !state.has_ended())
                .map(|(name, state)| (name.clone(), state)).collect();
            change = change.anew(&out, 0).unwrap();
        }
        while let Some(next) = next_change_state(change.state) {
            let mut whole = true;
            for effect in change_effects(&change) {
                clients(&mut servers);
                if let Err(last) = act(&mut servers, &effect) {
                    prop_assert_eq!(change.state, ChangeState::Planned);
                    change.floor = change.floor.max(last) + MARGIN;
                    whole = false;
                    break;
                }
            }
            if whole {
                change.state = next;
            }
        }
        let serving = servers.iter().filter(|(_, counter)| counter.ceiling.is_none());
        let now: Vec<_> = serving.map(|(n, _)| n.clone()).collect();
        let mut wanted = change.after.clone();
        wanted.sort();
        prop_assert_eq!(now, wanted);
    }
}

#[test]
fn who_is_gone_takes_part_leaves_somebody_and_has_been_so_far() {
    let change = |state| TicketChange {
        id: 1,
        ticket: TicketName::new("t").unwrap(),
        before: vec![node(1), node(2)],
        after: vec![node(2), node(3)],
        gone: Vec::new(),
        floor: 10,
        state,
    };
    let none: [&TicketState; 0] = [];
    let planned = change(ChangeState::Planned);
    assert_eq!(planned.without(&[node(1)], none, None), Err(NotGone::HowFar(node(1))));
    let no_part = planned.without(&[node(4)], none, Some(7));
    assert_eq!(no_part, Err(NotGone::NoPart(node(4), planned.ticket.clone())));
    let both = [node(2), node(3)];
    assert!(matches!(planned.without(&both, none, Some(7)), Err(NotGone::NoServer(_))));
    let raised = planned.without(&[node(2)], none, Some(700)).unwrap();
    assert_eq!((raised.after, raised.floor), (vec![node(3)], 700 + MARGIN));
    // One that never served the ticket has handed nothing out.
    assert_eq!(planned.without(&[node(3)], none, None).unwrap().after, [node(2)]);
    let limited = change(ChangeState::Limited).without(&[node(2)], none, None).unwrap();
    assert_eq!((limited.after.len(), limited.floor), (2, 10));
    assert_eq!(change_effects(&limited).len(), 1);
    assert!(matches!(limited.without(&[node(3)], none, None), Err(NotGone::NoServer(_))));
}

#[test]
fn a_floor_is_above_everything_that_is_known_and_never_wraps() {
    let counter = |last, max| TicketState {
        class: Class { server: 1, servers: 1 },
        last,
        floor: 0,
        ceiling: None,
        max,
    };
    assert_eq!(first_floor(&[counter(7, u64::MAX), counter(900, u64::MAX)], 0), Ok(900 + MARGIN));
    assert_eq!(first_floor(&[counter(7, u64::MAX)], 5_000), Ok(5_000 + MARGIN));
    let max = u64::from(u32::MAX);
    assert!(first_floor(&[counter(max - 3 * MARGIN, max)], 0).is_ok());
    assert_eq!(first_floor(&[counter(max - MARGIN, max)], 0), Err(NoRoom { max, floor: max }));
    assert!(first_floor(&[counter(u64::MAX - 1, u64::MAX)], 0).is_err());
}

#[test]
fn a_server_that_is_gone_is_not_asked() {
    let change = |state| TicketChange {
        id: 1,
        ticket: TicketName::new("t").unwrap(),
        before: vec![node(1), node(2)],
        after: vec![node(1)],
        gone: vec![node(2)],
        floor: 10,
        state,
    };
    for state in [ChangeState::Planned, ChangeState::Limited, ChangeState::Stepped] {
        for effect in change_effects(&change(state)) {
            let (ChangeEffect::Limit { node: asked, .. }
            | ChangeEffect::Restep { node: asked, .. }
            | ChangeEffect::Create { node: asked, .. }
            | ChangeEffect::Retire { node: asked, .. }) = effect;
            assert_eq!(asked, node(1), "in {}", state.as_str());
        }
    }
}
