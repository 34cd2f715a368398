//! Plans for tickets, from nothing to servers that have forgotten numbers.

use super::*;
use crate::set::ShardSet;
use crate::tickets::{
    ChangeState, KnownServer, KnownTicket, MARGIN, Notes, Seen, SeenAt, TicketChange,
    TicketProblem, TicketServer, TicketState, forgotten_above, mark_of_look, not_remembered,
    unseen,
};

const NOW: i64 = 1_000_000;

fn node(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

fn ticket() -> TicketName {
    TicketName::new("orders").unwrap()
}

fn declared(servers: &[&str]) -> Vec<DeclaredTicket> {
    vec![DeclaredTicket { name: ticket(), servers: servers.iter().map(|n| node(n)).collect() }]
}

/// Servers that stand as they should, at these numbers.
fn standing(servers: &[(&str, u64)]) -> TicketTruth {
    let mut truth = TicketTruth::default();
    let nodes: Vec<NodeName> = servers.iter().map(|(name, _)| node(name)).collect();
    let mut known = KnownTicket::default();
    for ((name, class), (_, last)) in classes(&nodes).zip(servers) {
        let state = TicketState { class, last: *last, floor: 0, ceiling: None, max: u64::MAX };
        let server = TicketServer {
            identity: format!("id of {name}"),
            mark: Some("m".into()),
            notes: Notes::new(),
            elsewhere: false,
            by_hand: Vec::new(),
            without_sequence: Vec::new(),
            migration: Some(3),
            tickets: [(ticket(), state)].into(),
            segments: Vec::new(),
            shards: ShardSet::new(),
        };
        truth.servers.insert(name.clone(), server);
        let knows = KnownServer { identity: format!("id of {name}"), marks: vec!["m".into()] };
        truth.known_servers.insert(name.clone(), knows);
        known
            .servers
            .push((name.clone(), Seen::default().then(SeenAt { number: *last, at_us: NOW })));
    }
    truth.known.insert(ticket(), known);
    truth
}

fn plan_of(declared: &[DeclaredTicket], truth: &TicketTruth) -> TicketPlan {
    ticket_plan(declared, truth, Restored::default(), (3, 1), NOW)
}

fn said(nodes: &[NodeName]) -> Restored<'_> {
    Restored { nodes, ..Restored::default() }
}

fn state<'a>(truth: &'a mut TicketTruth, name: &str) -> &'a mut TicketState {
    truth.servers.get_mut(&node(name)).unwrap().tickets.get_mut(&ticket()).unwrap()
}

#[test]
fn a_server_with_a_new_name_is_renamed_and_serves_on() {
    let renamed = |changes: Vec<TicketChange>| {
        let mut truth = standing(&[("a", 101), ("b", 102)]);
        let server = truth.servers.remove(&node("b")).unwrap();
        truth.servers.insert(node("paris"), server);
        truth.changes = changes;
        truth.find_renames(|name| ["a", "paris"].contains(&name.as_str()));
        truth
    };
    let truth = renamed(Vec::new());
    let rename = Rename { from: node("b"), to: node("paris") };
    let plan = plan_of(&declared(&["a", "paris"]), &truth);
    assert_eq!(plan, TicketPlan { steps: vec![TicketStep::Rename { rename }], notes: Vec::new() });
    // Not within a change, which has it by the old name.
    let change = TicketChange {
        id: 1,
        ticket: ticket(),
        before: vec![node("a")],
        after: vec![node("a"), node("b")],
        gone: Vec::new(),
        floor: 0,
        state: ChangeState::Planned,
    };
    assert_eq!(renamed(vec![change]).renames, []);
}

#[test]
fn two_empty_servers_are_installed_then_written_down_then_given_odd_and_even() {
    let mut truth = TicketTruth { catalog_migration: Some(0), ..TicketTruth::default() };
    for name in ["a", "b"] {
        // Nobody has told them yet which servers they are.
        let server = TicketServer { migration: Some(0), ..TicketServer::default() };
        truth.servers.insert(node(name), server);
    }
    let class = |server| Class { server, servers: 2 };
    let create = |name, server| TicketStep::Create {
        ticket: ticket(),
        node: node(name),
        class: class(server),
        floor: 0,
    };
    let steps = plan_of(&declared(&["b", "a"]), &truth).steps;
    assert_eq!(
        steps,
        [
            TicketStep::Install { node: node("a"), from: 0, to: 3 },
            TicketStep::Install { node: node("b"), from: 0, to: 3 },
            TicketStep::MigrateCatalog { from: 0, to: 1 },
            TicketStep::Write { ticket: ticket(), servers: vec![node("b"), node("a")] },
            create("b", 1),
            create("a", 2),
            TicketStep::Know { node: node("a") },
            TicketStep::Know { node: node("b") },
        ]
    );
}

#[test]
fn what_stands_as_it_should_needs_nothing() {
    let truth = standing(&[("a", 7), ("b", 8)]);
    assert_eq!(plan_of(&declared(&["a", "b"]), &truth), TicketPlan::default());
    assert_eq!(problems(&truth), []);
}

#[test]
fn no_plan_adds_or_removes_a_server_but_each_names_the_command() {
    let truth = standing(&[("a", 7), ("b", 8)]);
    let plan = plan_of(&declared(&["b", "c"]), &truth);
    assert_eq!(plan.steps, []);
    let notes: Vec<String> = plan.notes.iter().map(ToString::to_string).collect();
    assert!(notes[0].contains("shardid tickets add-server orders c"), "{notes:?}");
    assert!(notes[1].contains("shardid tickets remove-server orders a"), "{notes:?}");
    let plan = plan_of(&declared(&["b", "a"]), &truth);
    assert_eq!(plan.notes, [TicketNote::Order { ticket: ticket(), servers: "a, b".into() }]);
    assert_eq!(plan_of(&[], &truth).notes, [TicketNote::Undeclared(ticket())]);
}

#[test]
fn a_server_with_an_old_mark_goes_on_above_all_and_is_known_again() {
    let mut truth = standing(&[("a", 7_001), ("b", 8_000)]);
    state(&mut truth, "a").last = 1_001;
    truth.servers.get_mut(&node("a")).unwrap().mark = Some("old".into());
    let found = problems(&truth);
    assert_eq!(found[0], TicketProblem::OldMark(node("a")));
    assert!(matches!(found[1], TicketProblem::Behind { last: 1_001, high_water: 7_001, .. }));
    let raise =
        TicketStep::Raise { ticket: ticket(), node: node("a"), from: 1_001, floor: 8_000 + MARGIN };
    let steps = plan_of(&declared(&["a", "b"]), &truth).steps;
    assert_eq!(steps, [raise, TicketStep::Know { node: node("a") }]);
}

/// What a look has left, with its number, and what it has told of the ticket.
fn mark(truth: &mut TicketTruth, name: &str, look: u64, number: u64) {
    let server = truth.servers.get_mut(&node(name)).unwrap();
    server.mark = Some(mark_of_look(name, look));
    let told = Seen::default().then(SeenAt { number, at_us: NOW });
    server.notes = [(ticket(), told)].into();
}

#[test]
fn a_server_from_a_backup_of_the_same_moment_as_the_catalog_is_found_and_raised() {
    let mut truth = standing(&[("a", 801), ("b", 20)]);
    truth.catalog = Some(node("c"));
    mark(&mut truth, "a", 7, 801);
    mark(&mut truth, "b", 9, 900_001);
    for name in ["a", "b"] {
        truth.known_servers.get_mut(&node(name)).unwrap().marks = vec![mark_of_look(name, 7)];
    }
    let found = problems(&truth);
    let (restored, newer) = (node("a"), node("b"));
    assert_eq!(found, [TicketProblem::EarlierMark(restored), TicketProblem::OldCatalog(newer)]);
    let raised = |truth: &TicketTruth| {
        let steps = plan_of(&declared(&["a", "b"]), truth).steps;
        let of_a = |step: &TicketStep| match step {
            TicketStep::Raise { node, floor, .. } | TicketStep::Close { node, floor, .. } => {
                (node.as_str() == "a").then_some(*floor)
            }
            _ => None,
        };
        steps.iter().find_map(of_a).unwrap_or(0)
    };
    assert_eq!(raised(&truth), 900_001 + MARGIN);
    // The same with a catalog that is new.
    truth.known.clear();
    truth.known_servers.clear();
    assert_eq!(problems(&truth), [TicketProblem::EarlierMark(node("a"))]);
    assert_eq!(raised(&truth), 900_001 + MARGIN);
    // Where it comes alone from a backup, no server is named.
    mark(&mut truth, "a", 9, 900_001);
    assert_eq!(problems(&truth), []);
    assert_eq!(truth.next_look(), 10);
}

/// A look that is cut has left marks on some of the servers.
#[test]
fn a_server_that_a_look_did_not_come_to_is_none_from_a_backup() {
    let mut truth = standing(&[("a", 801), ("b", 20)]);
    for (name, here) in [("a", 8), ("b", 7)] {
        mark(&mut truth, name, here, 801);
        truth.known_servers.get_mut(&node(name)).unwrap().marks = vec![mark_of_look(name, here)];
    }
    assert_eq!(problems(&truth), []);
}

#[test]
fn a_server_that_caught_up_with_its_old_numbers_is_still_known_by_its_mark() {
    let mut truth = standing(&[("a", 7_001), ("b", 8_000)]);
    state(&mut truth, "a").last = 9_001;
    truth.servers.get_mut(&node("a")).unwrap().mark = None;
    assert_eq!(problems(&truth), [TicketProblem::OldMark(node("a"))]);
    let steps = plan_of(&declared(&["a", "b"]), &truth).steps;
    assert!(matches!(steps[0], TicketStep::Raise { from: 9_001, .. }), "{steps:?}");
}

#[test]
fn a_catalog_from_a_backup_takes_its_own_server_with_it() {
    let mut truth = standing(&[("a", 7), ("b", 8_000)]);
    truth.catalog = Some(node("a"));
    // What the catalog has forgotten is what it left on the others since.
    truth.servers.get_mut(&node("b")).unwrap().mark = Some("newer".into());
    let steps = plan_of(&declared(&["a", "b"]), &truth).steps;
    let raised: Vec<&NodeName> = steps
        .iter()
        .filter_map(|step| match step {
            TicketStep::Raise { node, floor, .. } if *floor >= 8_000 + MARGIN => Some(node),
            _ => None,
        })
        .collect();
    assert_eq!(raised, [&node("a"), &node("b")]);
    assert!(steps.contains(&TicketStep::Know { node: node("a") }), "{steps:?}");
}

#[test]
fn an_owner_who_says_that_a_server_was_restored_is_believed() {
    let truth = standing(&[("a", 7), ("b", 8)]);
    let plan = ticket_plan(&declared(&["a", "b"]), &truth, said(&[node("b")]), (3, 1), NOW);
    assert!(matches!(&plan.steps[0], TicketStep::Raise { node: n, .. } if *n == node("b")));
    assert_eq!(plan.steps[1], TicketStep::Know { node: node("b") });
}

#[test]
fn a_wrong_class_brings_all_servers_above_before_any_goes_on() {
    let mut truth = standing(&[("a", 7), ("b", 8)]);
    state(&mut truth, "b").class = Class { server: 1, servers: 2 };
    assert!(matches!(problems(&truth)[0], TicketProblem::WrongClass { .. }));
    let nodes = vec![node("a"), node("b")];
    let steps = plan_of(&declared(&["a", "b"]), &truth).steps;
    assert_eq!(
        steps,
        [TicketStep::Realign { ticket: ticket(), before: nodes.clone(), after: nodes, above: 0 }]
    );
}

#[test]
fn a_ticket_that_a_server_has_already_is_taken_over_above_its_numbers() {
    let mut truth = standing(&[("a", 500)]);
    truth.known.clear();
    let mut other = standing(&[("b", 0)]);
    let mut b = other.servers.remove(&node("b")).unwrap();
    b.tickets.clear();
    truth.servers.insert(node("b"), b);
    let both = vec![node("a"), node("b")];
    let steps = plan_of(&declared(&["a", "b"]), &truth).steps;
    assert_eq!(steps[0], TicketStep::Write { ticket: ticket(), servers: both.clone() });
    assert_eq!(
        steps[1],
        TicketStep::Realign { ticket: ticket(), before: vec![node("a")], after: both, above: 0 }
    );
}

#[test]
fn a_ticket_that_is_gone_from_a_server_is_made_again_above_what_was_seen() {
    let mut truth = standing(&[("a", 7), ("b", 8_000)]);
    truth.servers.get_mut(&node("b")).unwrap().tickets.clear();
    assert_eq!(problems(&truth), [TicketProblem::Missing { ticket: ticket(), node: node("b") }]);
    let class = Class { server: 2, servers: 2 };
    assert_eq!(
        plan_of(&declared(&["a", "b"]), &truth).steps,
        [TicketStep::Create { ticket: ticket(), node: node("b"), class, floor: 8_000 + MARGIN }]
    );
}

#[test]
fn clones_strays_and_ceilings_without_a_change_are_found() {
    let mut truth = standing(&[("a", 7), ("b", 8)]);
    truth.servers.get_mut(&node("b")).unwrap().identity = "id of a".into();
    assert!(problems(&truth).contains(&TicketProblem::SameServer(node("a"), node("b"))));

    let mut truth = standing(&[("a", 7), ("b", 8)]);
    truth.known.get_mut(&ticket()).unwrap().servers.truncate(1);
    state(&mut truth, "a").class = Class { server: 1, servers: 1 };
    assert_eq!(problems(&truth), [TicketProblem::Stray { ticket: ticket(), node: node("b") }]);

    let mut truth = standing(&[("a", 7), ("b", 8)]);
    state(&mut truth, "a").ceiling = Some(100);
    assert!(matches!(problems(&truth)[0], TicketProblem::Ceiling { ceiling: 100, .. }));
}

#[test]
fn a_shard_that_two_servers_make_ids_for_is_found() {
    let set = |text: &str| -> ShardSet { text.parse().unwrap() };
    let mut truth = standing(&[("a", 7), ("b", 8)]);
    truth.mapped = set("0-63");
    truth.servers.get_mut(&node("a")).unwrap().shards = set("100-104");
    assert_eq!(problems(&truth), []);
    truth.servers.get_mut(&node("b")).unwrap().shards = set("63,104");
    let found: Vec<String> = problems(&truth).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "shards 63 make ids on b, although the map has them on PostgreSQL nodes",
            "shards 104 make ids on a and on b"
        ]
    );
}

#[test]
fn a_server_that_stands_below_what_was_seen_is_raised_whatever_its_mark_says() {
    let mut truth = standing(&[("a", 7_001), ("b", 8_000)]);
    state(&mut truth, "a").last = 1_001;
    assert!(matches!(problems(&truth)[..], [TicketProblem::Behind { .. }]));
    let steps = plan_of(&declared(&["a", "b"]), &truth).steps;
    assert!(matches!(steps[..], [TicketStep::Raise { from: 1_001, .. }]), "{steps:?}");
}

#[test]
fn a_server_that_has_ended_and_one_that_is_about_to_begin_are_no_strays() {
    let mut truth = standing(&[("a", 7), ("b", 8)]);
    truth.known.get_mut(&ticket()).unwrap().servers.truncate(1);
    state(&mut truth, "a").class = Class { server: 1, servers: 1 };
    state(&mut truth, "b").ceiling = Some(9);
    assert_eq!(problems(&truth), []);

    state(&mut truth, "b").ceiling = None;
    truth.changes.push(TicketChange {
        id: 1,
        ticket: ticket(),
        before: vec![node("a")],
        after: vec![node("a"), node("b")],
        gone: Vec::new(),
        floor: 100,
        state: ChangeState::Limited,
    });
    assert_eq!(problems(&truth), [TicketProblem::Standing(ticket())]);
    let steps = plan_of(&declared(&["a", "b"]), &truth).steps;
    assert_eq!(steps, [TicketStep::Resume { ticket: ticket() }]);
}

#[test]
fn a_change_that_stands_goes_on_above_what_its_servers_have_forgotten() {
    let mut truth = standing(&[("a", 1_001), ("b", 240_004)]);
    let mut change = TicketChange {
        id: 1,
        ticket: ticket(),
        before: vec![node("a"), node("b")],
        after: vec![node("a"), node("b"), node("c")],
        gone: Vec::new(),
        floor: 100_002,
        state: ChangeState::Planned,
    };
    let above = |truth: &TicketTruth, change: &TicketChange, restored: &[NodeName]| {
        forgotten_above(change, truth, restored, NOW)
    };
    assert_eq!(above(&truth, &change, &[]), 0, "nobody has forgotten anything");
    let all = 240_004 + MARGIN;
    // By what was seen, by what somebody says, by its mark, and where another server has its place.
    assert_eq!(above(&truth, &change, &[node("b")]), all);
    state(&mut truth, "b").last = 2;
    assert_eq!(above(&truth, &change, &[]), all);
    truth.servers.get_mut(&node("b")).unwrap().mark = Some("older".into());
    state(&mut truth, "b").last = 240_004;
    assert_eq!(above(&truth, &change, &[]), all);
    truth.servers.get_mut(&node("b")).unwrap().mark = Some("m".into());
    truth.servers.get_mut(&node("b")).unwrap().elsewhere = true;
    assert_eq!(above(&truth, &change, &[]), all);
    // Who is gone is not asked: the floor is above what was said of it.
    change.gone.push(node("b"));
    assert_eq!(above(&truth, &change, &[]), 0);
}

#[test]
fn a_server_that_has_forgotten_hands_out_nothing_before_a_change_goes_on() {
    let mut truth = standing(&[("a", 1_001), ("b", 1_000)]);
    let mut change = TicketChange {
        id: 1,
        ticket: ticket(),
        before: vec![node("a"), node("b")],
        after: vec![node("a"), node("b"), node("c")],
        gone: Vec::new(),
        floor: 100_002,
        state: ChangeState::Planned,
    };
    let latest = (3, 1);
    let steps = |truth: &TicketTruth| {
        ticket_plan(&declared(&["a", "b"]), truth, said(&[node("b")]), latest, NOW).steps
    };
    let floor = 1_001 + MARGIN;
    let close = TicketStep::Close { ticket: ticket(), node: node("b"), from: 1_000, floor };
    let (resume, know) =
        (TicketStep::Resume { ticket: ticket() }, TicketStep::Know { node: node("b") });
    truth.changes.push(change.clone());
    assert_eq!(steps(&truth), [close, resume.clone(), know.clone()]);

    // One that has its new class keeps it.
    change.state = ChangeState::Stepped;
    truth.changes = vec![change];
    *state(&mut truth, "b") = TicketState {
        class: Class { server: 2, servers: 3 },
        last: 100_010,
        floor: 100_002,
        ceiling: None,
        max: state(&mut truth, "b").max,
    };
    let floor = 100_010 + MARGIN;
    let raise = TicketStep::Raise { ticket: ticket(), node: node("b"), from: 100_010, floor };
    assert_eq!(steps(&truth), [raise, resume, know]);
}

#[test]
fn a_server_that_stands_above_the_floor_of_a_change_gets_no_class_by_it() {
    let mut truth = standing(&[("a", 1_001)]);
    let mut change = TicketChange {
        id: 1,
        ticket: ticket(),
        before: vec![node("a")],
        after: vec![node("a")],
        gone: Vec::new(),
        floor: 1_001,
        state: ChangeState::Limited,
    };
    assert!(!change.is_passed_by(state(&mut truth, "a")));
    state(&mut truth, "a").last = 1_002;
    assert!(change.is_passed_by(state(&mut truth, "a")));
    state(&mut truth, "a").floor = 1_001;
    assert!(!change.is_passed_by(state(&mut truth, "a")), "it has it already");
    state(&mut truth, "a").floor = 0;
    change.state = ChangeState::Planned;
    assert!(!change.is_passed_by(state(&mut truth, "a")), "the floor can rise");
}

#[test]
fn a_server_that_took_over_is_raised_before_it_is_adopted() {
    let mut truth = standing(&[("a", 1001), ("b", 1000)]);
    truth.servers.get_mut(&node("b")).unwrap().elsewhere = true;
    let steps = plan_of(&declared(&["a", "b"]), &truth).steps;
    let [TicketStep::Raise { node: raised, from: 1000, floor, .. }, adopt, know] = &steps[..]
    else {
        panic!("{steps:?}");
    };
    assert!(*raised == node("b") && *floor > 1001, "{steps:?}");
    assert_eq!(*adopt, TicketStep::Adopt { node: node("b") });
    assert_eq!(*know, TicketStep::Know { node: node("b") });
}

#[test]
fn a_server_that_a_new_catalog_is_not_to_have_ends_all_the_same() {
    // c was added, the file was not edited, and the catalog is new.
    let mut truth = standing(&[("a", 101), ("b", 102), ("c", 99)]);
    truth.known.clear();
    let plan = plan_of(&declared(&["a", "b"]), &truth);
    let realigned = TicketStep::Realign {
        ticket: ticket(),
        before: vec![node("a"), node("b"), node("c")],
        after: vec![node("a"), node("b")],
        above: 0,
    };
    assert!(plan.steps.contains(&realigned), "{plan:?}");
    state(&mut truth, "c").ceiling = Some(100);
    let plan = plan_of(&declared(&["a", "b"]), &truth);
    assert!(!plan.steps.contains(&realigned), "it has ended: {plan:?}");
}

#[test]
fn a_server_that_neither_file_nor_catalog_know_is_missed_by_the_classes_of_the_others() {
    let names = ["a", "b"].map(node);
    let of = |truth: &TicketTruth| -> Vec<String> {
        unseen(&ticket(), &names, truth).iter().map(ToString::to_string).collect()
    };
    let mut truth = standing(&[("a", 101), ("b", 102), ("c", 99)]);
    truth.known.get_mut(&ticket()).unwrap().servers.pop();
    assert!(of(&truth).is_empty(), "c has answered");
    truth.servers.remove(&node("c"));
    assert_eq!(of(&truth), ["class 3 of 3 of ticket orders is on no server of the cluster file"]);
    let found = problems(&truth);
    assert!(found.iter().any(|p| matches!(p, TicketProblem::Unseen { .. })), "{found:?}");
    // One that has other numbers already was one of the three.
    let mut half = truth.clone();
    state(&mut half, "a").class = Class { server: 1, servers: 2 };
    let (left, c) =
        (of(&half), standing(&[("a", 0), ("b", 0), ("c", 99)]).servers.remove(&node("c")));
    assert_eq!(left.len(), 2);
    half.servers.insert(node("c"), c.unwrap());
    assert!(of(&half).is_empty());
    assert!(of(&standing(&[("a", 1), ("b", 2)])).is_empty());
    // All that a lost server had is lost with its catalog.
    let mut lost = standing(&[("a", 1), ("b", 2)]);
    lost.servers.get_mut(&node("a")).unwrap().tickets.clear();
    assert!(of(&lost).is_empty(), "the catalog knows how far it was");
    lost.known.clear();
    // It is in the file, and is named.
    assert_eq!(
        of(&lost),
        [
            "class 1 of 2 of ticket orders is on no server of the cluster file; node a has nothing of it"
        ]
    );
    let mends = unseen(&ticket(), &names, &lost)[0].mend();
    assert!(mends.starts_with("if node a has lost it, put its schema"), "{mends}");
    assert!(mends.contains("apply --restored a`; else put the server"), "{mends}");
}

#[test]
fn a_ticket_beside_the_file_is_named_where_its_server_is_raised() {
    let mut truth = standing(&[("a", 101), ("b", 102)]);
    let state = truth.state(&node("a"), &ticket()).unwrap().clone();
    let hand = TicketName::new("hand").unwrap();
    truth.servers.get_mut(&node("a")).unwrap().tickets.insert(hand.clone(), state);
    let of = |restored: &[NodeName]| {
        ticket_plan(&declared(&["a", "b"]), &truth, said(restored), (3, 1), NOW).notes
    };
    assert_eq!(of(&[]), []);
    assert_eq!(of(&[node("a")]), [TicketNote::NotRaised { ticket: hand, node: node("a") }]);
}

#[test]
fn a_server_that_was_raised_is_where_it_should_be_whatever_its_numbers_are() {
    let mut truth = standing(&[("a", 101), ("b", 102)]);
    for _ in 0..3 {
        state(&mut truth, "a").last = 51;
        let plan = plan_of(&declared(&["a", "b"]), &truth);
        let [TicketStep::Raise { floor, .. }] = plan.steps[..] else { panic!("{plan:?}") };
        assert!(floor < 1_000_000, "{floor}");
        // The server goes on from its own number below that; what is remembered is the floor.
        let class = state(&mut truth, "a").class;
        state(&mut truth, "a").last = class.at_or_below(floor);
        let known = &mut truth.known.get_mut(&ticket()).unwrap().servers[0].1;
        *known = known.raised(SeenAt { number: floor, at_us: NOW });
        assert_eq!(plan_of(&declared(&["a", "b"]), &truth).steps, []);
        assert!(problems(&truth).is_empty());
    }
}

#[test]
fn a_restored_server_goes_on_above_what_another_one_was_told() {
    let mut truth = standing(&[("a", 100), ("b", 100)]);
    truth.catalog = Some(node("a"));
    let told = Seen::default().then(SeenAt { number: 900_000, at_us: NOW });
    truth.servers.get_mut(&node("b")).unwrap().notes.insert(ticket(), told);
    let plan = ticket_plan(&declared(&["a", "b"]), &truth, said(&[node("a")]), (3, 1), NOW);
    let (ticket, node) = (ticket(), node("a"));
    let raise = TicketStep::Raise { ticket, node, from: 100, floor: 900_000 + MARGIN };
    assert_eq!(plan.steps[0], raise);
}

#[test]
fn a_number_that_is_said_is_gone_on_above_and_does_no_harm_where_it_is_too_low() {
    let floor_of = |above: u64| {
        let truth = standing(&[("a", 500), ("b", 100)]);
        let (a, b) = (node("a"), node("b"));
        let nodes = std::slice::from_ref(&a);
        let restored = Restored { nodes, above, ..Restored::default() };
        let plan = ticket_plan(&declared(&["a", "b"]), &truth, restored, (3, 1), NOW);
        let raised = plan.steps.iter().find_map(|step| match step {
            TicketStep::Raise { node, floor, .. } if *node == a => Some(*floor),
            TicketStep::Raise { node, .. } if *node == b => panic!("b has forgotten nothing"),
            _ => None,
        });
        raised.unwrap()
    };
    assert_eq!(floor_of(0), 500 + MARGIN);
    assert_eq!(floor_of(499), 500 + MARGIN);
    assert_eq!(floor_of(7_000_000), 7_000_000 + MARGIN);
}

/// `apply` failed for ever, and left the others as they were, where a pace that nobody had took a guess beyond the end.
#[test]
fn a_guess_ends_within_the_ticket() {
    let mut truth = standing(&[("a", 11), ("b", 11)]);
    let end = u64::from(u32::MAX);
    for server in truth.servers.values_mut() {
        server.tickets.get_mut(&ticket()).unwrap().max = end;
    }
    // Somebody has raised it by hand between two looks.
    let raised = Seen::default().then(SeenAt { number: 11, at_us: NOW - 80_000_000 });
    let raised = raised.then(SeenAt { number: 200_000_000, at_us: NOW - 60_000_000 });
    truth.known.get_mut(&ticket()).unwrap().servers[0].1 = raised;
    let floors: Vec<u64> = plan_of(&declared(&["a", "b"]), &truth)
        .steps
        .iter()
        .filter_map(TicketStep::forgotten)
        .collect();
    assert_eq!(floors.len(), 1, "one has forgotten numbers");
    assert!(floors[0] > 200_000_000 + MARGIN && floors[0] < 500_000_000, "{floors:?}");

    // What is said beside a ticket is not for it, and of several numbers for it the highest is.
    let (a, other) = ([node("a")], [1_999, 7_000, 6_000].map(|above| (ticket(), above)));
    let restored = Restored { nodes: &a, above: 5_000_000_000, above_of: &other };
    let truth = standing(&[("a", 500), ("b", 100)]);
    let plan = ticket_plan(&declared(&["a", "b"]), &truth, restored, (3, 1), NOW);
    assert!(plan.steps.iter().any(|step| step.forgotten() == Some(7_000 + MARGIN)), "{plan:?}");
}

#[test]
fn a_server_is_remembered_by_another_catalog_or_another_server_and_else_by_nobody() {
    let (a, b) = (node("a"), node("b"));
    let lost = |truth: &TicketTruth, restored: &[&NodeName]| {
        let restored: Vec<NodeName> = restored.iter().map(|node| (*node).clone()).collect();
        let lost = not_remembered(truth, &restored).into_iter();
        lost.map(|(_, node)| node.to_string()).collect::<Vec<_>>()
    };
    let mut alone = standing(&[("a", 100)]);
    // Its catalog is on a server that is none of the ticket's.
    alone.catalog = Some(node("c"));
    assert!(lost(&alone, &[&a]).is_empty());
    alone.catalog = Some(a.clone());
    assert_eq!(lost(&alone, &[&a]), ["a"]);
    assert!(lost(&alone, &[]).is_empty());
    // One that is made from a backup is another server than before, where MySQL tells.
    alone.servers.get_mut(&a).unwrap().identity = "another".into();
    assert_eq!(lost(&alone, &[]), ["a"]);
    alone.servers.get_mut(&a).unwrap().migration = None;
    assert!(lost(&alone, &[]).is_empty());

    let mut two = standing(&[("a", 100), ("b", 100)]);
    two.catalog = Some(a.clone());
    assert!(lost(&two, &[&a]).is_empty());
    assert!(lost(&two, &[&b]).is_empty());
    assert_eq!(lost(&two, &[&a, &b]), ["a", "b"]);
    // A server beside that has never heard of the ticket.
    two.servers.get_mut(&b).unwrap().tickets.clear();
    assert_eq!(lost(&two, &[&a]), ["a"]);
    two.servers.get_mut(&b).unwrap().notes.insert(ticket(), Seen::default());
    assert!(lost(&two, &[&a]).is_empty());
}

#[test]
fn a_ticket_goes_on_without_a_server_that_nobody_can_ask() {
    let mut truth = standing(&[("a", 101), ("b", 502)]);
    truth.servers.remove(&node("b"));
    let plan = plan_of(&declared(&["a"]), &truth);
    let [TicketStep::Realign { before, after, above, .. }] = &plan.steps[..] else {
        panic!("{plan:?}")
    };
    assert_eq!((before, after), (&vec![node("a")], &vec![node("a")]));
    assert!(*above > 502, "{above}");
    let gone = TicketNote::Gone { ticket: ticket(), node: node("b") };
    assert!(plan.notes.contains(&gone), "{plan:?}");
    // Where none of them is left, on those of the file.
    let mut truth = standing(&[("a", 101), ("c", 0)]);
    truth.known.get_mut(&ticket()).unwrap().servers.pop();
    truth.servers.get_mut(&node("c")).unwrap().tickets.clear();
    truth.servers.remove(&node("a"));
    let plan = plan_of(&declared(&["c"]), &truth);
    let [TicketStep::Realign { before, after, above, .. }] = &plan.steps[..] else {
        panic!("{plan:?}")
    };
    assert_eq!((before, after), (&vec![], &vec![node("c")]));
    assert!(*above > 101, "{above}");
}

#[test]
fn a_ticket_that_nobody_has_begins_above_what_was_noted_of_it() {
    let mut truth = standing(&[("a", 0), ("b", 0)]);
    truth.known.clear();
    for server in truth.servers.values_mut() {
        server.tickets.clear();
    }
    let floor_of = |truth: &TicketTruth| {
        let plan = plan_of(&declared(&["a"]), truth);
        let floor = plan.steps.iter().find_map(|step| match step {
            TicketStep::Create { floor, .. } => Some(*floor),
            _ => None,
        });
        floor.expect("it is made")
    };
    assert_eq!(floor_of(&truth), 0);
    let noted = Seen::default().then(SeenAt { number: 700, at_us: NOW });
    truth.servers.get_mut(&node("b")).unwrap().notes.insert(ticket(), noted);
    assert!(floor_of(&truth) > 700);
    // It was written down, and not made.
    truth.known.insert(ticket(), KnownTicket { servers: vec![(node("a"), Seen::default())] });
    assert!(floor_of(&truth) > 700);
}
