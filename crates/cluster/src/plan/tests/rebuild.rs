//! A catalog that is lost, or older than the nodes.

use super::*;
use crate::truth::{CatalogTruth, Filled};

/// Has a node know a version of the map.
fn tell(seen: &mut NodeTruth, version: i64) {
    let member = seen.member.as_mut().unwrap();
    (member.map_version, member.newest) = (MapVersion(version), MapVersion(version));
}

/// Two nodes; shard 0 was moved to pg2 by version 2.
fn moved() -> (Declared, Truth) {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = living(&declared);
    let one = set("0");
    truth.catalog.map.place(&node("pg2"), &one);
    truth.catalog.map.version = MapVersion(2);
    let pg2 = truth.nodes.get_mut(&node("pg2")).unwrap();
    pg2.open = pg2.open.or(&one);
    let at_pg1 = pg2.moved.get_mut("pg1").unwrap();
    *at_pg1 = at_pg1.without(&one);
    tell(pg2, 2);
    let pg1 = truth.nodes.get_mut(&node("pg1")).unwrap();
    pg1.open = pg1.open.without(&one);
    let at_pg2 = pg1.moved.get_mut("pg2").unwrap();
    *at_pg2 = at_pg2.or(&one);
    tell(pg1, 2);
    assert_eq!(plan_of(&declared, &truth).unwrap().steps, []);
    (declared, truth)
}

/// What is rebuilt is the map that there was, in a new term; and then there is nothing to do.
fn is_rebuilt(declared: &Declared, mut truth: Truth, term: i64) {
    truth.rebuild_map(declared, false).unwrap();
    let plan = take_all(declared, &mut truth);
    assert!(plan.steps.iter().any(|step| matches!(step, Step::RebuildMap { .. })), "{plan:?}");
    assert!(!plan.steps.iter().any(|step| matches!(step, Step::CreateShards { .. })), "{plan:?}");
    assert_eq!(truth.catalog.map.version, MapVersion(term * 1_000_000_000 + 1));
    assert_eq!(truth.catalog.map.on(&node("pg2")).to_string(), "0,4-7");
    assert_eq!(plan_of(declared, &truth).unwrap().steps, []);
    let again = truth.rebuild_map(declared, false).unwrap_err();
    assert!(again.to_string().contains("and no node a newer one"), "{again}");
}

#[test]
fn a_lost_catalog_is_made_anew_from_the_nodes_above_all_versions() {
    let (declared, mut truth) = moved();
    truth.catalog = CatalogTruth::default();
    let hint = plan_of(&declared, &truth).unwrap_err()[0].hint();
    assert!(hint.contains("`shardid catalog rebuild`"), "{hint}");
    is_rebuilt(&declared, truth, 1);
}

#[test]
fn a_catalog_from_an_older_backup_is_brought_up_to_the_nodes() {
    let (declared, truth) = moved();
    let mut older = truth.clone();
    older.catalog = living(&declared).catalog;
    older.catalog.moving = set("0");
    older.catalog.at_work.insert(node("pg2"), vec![1]);
    let refused = &plan_of(&declared, &older).unwrap_err()[0];
    assert!(refused.hint().contains("`shardid catalog rebuild`"), "{}", refused.hint());
    is_rebuilt(&declared, older.clone(), 1);
    // The second time it is lost the term is the next one.
    for seen in older.nodes.values_mut() {
        tell(seen, 1_000_000_017);
    }
    is_rebuilt(&declared, older, 2);
}

#[test]
fn a_catalog_that_is_as_new_as_the_nodes_is_left_alone() {
    let (declared, mut truth) = moved();
    assert!(truth.rebuild_map(&declared, false).is_err());
    let mut none = empty_servers(&declared);
    assert!(none.rebuild_map(&declared, false).is_err(), "there was no cluster");
}

#[test]
fn a_shard_that_is_on_no_node_or_on_two_is_nothing_to_make_a_map_from() {
    let (declared, mut truth) = moved();
    truth.catalog = CatalogTruth::default();
    let mut lost = truth.clone();
    lost.nodes.get_mut(&node("pg1")).unwrap().open = set("1-2");
    let words = lost.rebuild_map(&declared, false).unwrap_err().to_string();
    assert_eq!(words, "shard 3 is on no node of the cluster file");
    let pg1 = truth.nodes.get_mut(&node("pg1")).unwrap();
    pg1.fenced = set("0");
    let words = truth.rebuild_map(&declared, false).unwrap_err().to_string();
    assert_eq!(words, "shard 0 is open on two nodes, pg1 and pg2");
}

/// pg1 has closed shards 0 and 1, which a move was about to open on pg2.
fn closed_and_not_open() -> (Declared, Truth) {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1), ("pg3", 1)]);
    let mut truth = living(&declared);
    let sent = set("0-1");
    let pg1 = truth.nodes.get_mut(&node("pg1")).unwrap();
    pg1.open = pg1.open.without(&sent);
    pg1.sent = sent.clone();
    pg1.moved.entry("pg2".into()).or_default();
    let at_pg2 = pg1.moved.get_mut("pg2").unwrap();
    *at_pg2 = at_pg2.or(&sent);
    // pg2 had all rows at position 500 of its first timeline.
    let of = Lineage { system_identifier: 2, timeline: 1 };
    let whole = Whole { of, database: 5, position: 500 };
    let pg1 = truth.nodes.get_mut(&node("pg1")).unwrap();
    pg1.wholes = sent.iter().map(|shard| (shard, whole)).collect();
    descend(&mut truth, Descent { now: of, database: 5, position: 600, left: Vec::new() });
    (declared, truth)
}

/// Has pg2 say where its writes come from.
fn descend(truth: &mut Truth, descent: Descent) {
    truth.nodes.get_mut(&node("pg2")).unwrap().descent = Some(descent);
}

/// The standby that took over from pg2 lacked what had come last, and was opened.
#[test]
fn what_a_lost_move_was_about_to_open_goes_back_where_nothing_shows_that_it_has_all_rows() {
    let (declared, whole) = closed_and_not_open();
    let mut whole = whole;
    whole.catalog = CatalogTruth::default();
    let of = Lineage { system_identifier: 2, timeline: 2 };
    let promoted = Descent { now: of, database: 5, position: 900, left: vec![(1, 499)] };
    let mut behind = whole.clone();
    descend(&mut behind, promoted.clone());
    let mut unnoted = whole.clone();
    unnoted.nodes.get_mut(&node("pg1")).unwrap().wholes.clear();
    let mut unread = whole.clone();
    unread.nodes.get_mut(&node("pg2")).unwrap().descent = None;
    let says = "node pg2 may have lost rows of 2 shards (0-1) that had come to it: it was promoted or restored";
    let nothing = "nothing shows that node pg2 has all rows of 2 shards (0-1), which a move has closed on pg1";
    for (truth, words) in [(behind, says), (unnoted, nothing), (unread, nothing)] {
        let refused = truth.clone().rebuild_map(&declared, false).unwrap_err();
        assert!(refused.to_string().starts_with(words), "{refused}");
        let hint = refused.hint();
        assert!(hint.contains("`shardid catalog rebuild --accept-loss`"), "{hint}");
        let mut truth = truth;
        truth.rebuild_map(&declared, true).unwrap();
        let plan = take_all(&declared, &mut truth);
        let opened = Step::OpenShards { node: node("pg1"), shards: set("0-1") };
        assert!(plan.steps.contains(&opened), "{plan:?}");
        assert!(!plan.steps.iter().any(|step| matches!(step, Step::CreateShards { .. })));
        assert!(set("0-1").without(&truth.nodes[&node("pg1")].open).is_empty());
        assert!(truth.nodes[&node("pg2")].open.and(&set("0-1")).is_empty());
        assert_eq!(plan_of(&declared, &truth).unwrap().steps, []);
    }
    // One that was promoted with all of it is opened; nothing is gone back to then.
    for go_back in [false, true] {
        let mut exact = whole.clone();
        descend(&mut exact, Descent { left: vec![(1, 500)], ..promoted.clone() });
        exact.rebuild_map(&declared, go_back).unwrap();
        let plan = take_all(&declared, &mut exact);
        let opened = Step::OpenShards { node: node("pg2"), shards: set("0-1") };
        assert!(plan.steps.contains(&opened), "{plan:?}");
    }
}

/// The map was made anew already, and the node was promoted before it opened the shards.
#[test]
fn a_map_that_waits_for_a_node_that_has_lost_rows_is_made_anew_where_that_is_accepted() {
    let (declared, mut truth) = closed_and_not_open();
    truth.catalog = CatalogTruth::default();
    truth.rebuild_map(&declared, false).unwrap();
    let map = truth.catalog.map.clone();
    truth.catalog.rebuilt = false;
    for seen in truth.nodes.values_mut() {
        tell(seen, map.version.0);
    }
    let of = Lineage { system_identifier: 2, timeline: 2 };
    descend(&mut truth, Descent { now: of, database: 5, position: 900, left: vec![(1, 400)] });
    assert!(truth.clone().rebuild_map(&declared, false).is_err());
    // A move that is in the journal has its own way back.
    let mut moving = truth.clone();
    moving.catalog.moving = set("0-1");
    assert!(moving.rebuild_map(&declared, true).is_err());
    truth.rebuild_map(&declared, true).unwrap();
    assert!(set("0-1").without(&truth.catalog.map.on(&node("pg1"))).is_empty());
    assert!(truth.catalog.map.version > map.version);
}

#[test]
fn what_a_lost_move_was_about_to_open_is_opened_there() {
    let (declared, mut truth) = closed_and_not_open();
    truth.catalog = CatalogTruth::default();
    let pg3 = truth.nodes[&node("pg3")].clone();
    assert!(pg3.moved["pg1"].contains(Shard::new(0).unwrap()), "it has not been told");
    assert_eq!(truth.awaited(&node("pg2")).to_string(), "0-1");
    assert!(truth.awaited(&node("pg1")).is_empty() && truth.awaited(&node("pg3")).is_empty());
    // A node that was never told of the shards knows nothing of them.
    let mut new = truth.clone();
    for known in new.nodes.get_mut(&node("pg2")).unwrap().moved.values_mut() {
        *known = known.without(&set("0-1"));
    }
    for mut truth in [truth, new] {
        truth.rebuild_map(&declared, false).unwrap();
        let plan = take_all(&declared, &mut truth);
        let opened = Step::OpenShards { node: node("pg2"), shards: set("0-1") };
        assert!(plan.steps.contains(&opened), "{plan:?}");
        assert!(!plan.steps.iter().any(|step| matches!(step, Step::CreateShards { .. })));
        assert!(set("0-1").without(&truth.nodes[&node("pg2")].open).is_empty());
        assert_eq!(plan_of(&declared, &truth).unwrap().steps, []);
    }
}

#[test]
fn a_map_that_was_told_is_not_taken_for_a_move() {
    // pg3 was down when the shard went from pg1 to pg2, and the node that has it is lost.
    let (declared, mut truth) = closed_and_not_open();
    truth.catalog = CatalogTruth::default();
    let at_pg1 = truth.nodes.get_mut(&node("pg1")).unwrap();
    at_pg1.sent = ShardSet::new();
    assert!(truth.awaited(&node("pg2")).is_empty(), "pg1 publishes nothing");
    assert!(truth.rebuild_map(&declared, false).is_err());
    let (_, mut truth) = closed_and_not_open();
    let at_pg2 = &mut truth.nodes.get_mut(&node("pg2")).unwrap().moved;
    for known in at_pg2.values_mut() {
        *known = known.without(&set("0-1"));
    }
    at_pg2.insert("pg3".into(), set("0-1"));
    assert!(truth.awaited(&node("pg2")).is_empty(), "it has gone on from there");
}

/// It was taken for the shard without a word, and the copy for one that nobody needs.
#[test]
fn a_copy_that_has_more_than_the_node_that_a_map_is_taken_from_is_named() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1), ("pg3", 1)]);
    let mut truth = living(&declared);
    truth.catalog = CatalogTruth::default();
    let shard = truth.nodes[&node("pg2")].open.iter().next().unwrap();
    let now = Lineage { system_identifier: 2, timeline: 2 };
    descend(&mut truth, Descent { now, database: 5, position: 900, left: vec![(1, 499)] });
    let named = |truth: &Truth| {
        let mut truth = truth.clone();
        truth.rebuild_map(&declared, false).unwrap();
        let notes = plan_of(&declared, &truth).unwrap().notes;
        let copies = notes.into_iter().filter(|note| matches!(note, Note::CopyAhead(_)));
        copies.map(|note| note.to_string()).collect::<Vec<_>>()
    };
    let fill = |truth: &mut Truth, reached| {
        let filled = Filled { shard, stream: "shardid_move_1".into(), reached: Some(reached) };
        truth.nodes.get_mut(&node("pg3")).unwrap().filled = vec![filled];
    };
    assert_eq!(named(&truth), Vec::<String>::new());
    fill(&mut truth, 499);
    assert_eq!(named(&truth), Vec::<String>::new());
    fill(&mut truth, 500);
    let says = format!(
        "the copy of shard {shard} on pg3 may have rows that node pg2 has lost: it was promoted or restored, and is on timeline 2"
    );
    let found = named(&truth);
    assert!(found.len() == 1 && found[0].starts_with(&says), "{found:?}");
    // It has what it is filled by, or another one has, from where it was before.
    for name in ["pg2", "pg1"] {
        let mut slot = truth.clone();
        slot.nodes.get_mut(&node(name)).unwrap().slots.push("shardid_move_1".into());
        assert_eq!(named(&slot), Vec::<String>::new(), "{name}");
    }
    // It was filled from another node, which has lost nothing, whatever the position of this one is.
    let mut other = truth.clone();
    other.nodes.get_mut(&node("pg1")).unwrap().publications.push("shardid_move_1".into());
    let now = Lineage { system_identifier: 1, timeline: 1 };
    let at_pg1 = Descent { now, database: 5, position: 900, left: Vec::new() };
    other.nodes.get_mut(&node("pg1")).unwrap().descent = Some(at_pg1);
    assert_eq!(named(&other), Vec::<String>::new());
    let at_pg1 = other.nodes.get_mut(&node("pg1")).unwrap().descent.as_mut().unwrap();
    at_pg1.position = 499;
    let found = named(&other);
    let says = "may have rows that node pg1 has lost: it was restored";
    assert!(found.len() == 1 && found[0].contains(says), "{found:?}");
    // It is on no other node than the one that has the shard.
    let filled = std::mem::take(&mut truth.nodes.get_mut(&node("pg3")).unwrap().filled);
    truth.nodes.get_mut(&node("pg2")).unwrap().filled = filled;
    assert_eq!(named(&truth), Vec::<String>::new());
}

/// The node that a lost move had closed comes back open, and the map that was rebuilt in between names the other one, on which
/// nothing was opened: nothing mended that.
#[test]
fn a_shard_that_is_open_on_another_node_alone_stays_there_if_that_is_accepted() {
    let (declared, mut truth) = moved();
    let (one, pg1, pg2) = (set("0"), node("pg1"), node("pg2"));
    let seen = truth.nodes.get_mut(&pg2).unwrap();
    seen.open = seen.open.without(&one);
    let seen = truth.nodes.get_mut(&pg1).unwrap();
    seen.open = seen.open.or(&one);
    let at_pg2 = seen.moved.get_mut("pg2").unwrap();
    *at_pg2 = at_pg2.without(&one);
    let shard = one.iter().next().unwrap();
    assert_eq!(truth.astray(), [(shard, &pg1, &pg2)]);
    assert!(truth.rebuild_map(&declared, false).is_err());
    let mut moving = truth.clone();
    moving.catalog.moving = one.clone();
    assert_eq!(moving.astray(), []);
    assert!(moving.rebuild_map(&declared, true).is_err());
    truth.rebuild_map(&declared, true).unwrap();
    assert!(truth.catalog.map.on(&pg1).contains(shard));
    assert_eq!(truth.astray(), []);
    take_all(&declared, &mut truth);
    assert_eq!(plan_of(&declared, &truth).unwrap().steps, []);
}
