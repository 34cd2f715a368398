//! What is on the servers, and should not be.

use super::*;

#[test]
fn wrong_addresses_are_noticed() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut twice = living(&declared);
    let pg1 = twice.nodes[&node("pg1")].clone();
    twice.nodes.insert(node("pg2"), pg1);
    assert!(refused(&declared, &twice).contains("nodes pg1 and pg2 are the same database"));

    let mut swapped = living(&declared);
    let (one, two) = (node("pg1"), node("pg2"));
    let first = swapped.nodes[&one].clone();
    let second = swapped.nodes.insert(two.clone(), first).unwrap();
    swapped.nodes.insert(one, second);
    assert!(refused(&declared, &swapped).contains("the database at pg1's address is node pg2"));

    // One that has left the cluster is no swapped one, and comes back where it is empty.
    let wider = self::declared(8, &[("pg1", 1), ("pg2", 1), ("pg3", 1)]);
    let mut back = living(&declared);
    let mut left = back.nodes[&two].clone();
    left.identity.system_identifier += 100;
    back.nodes.insert(node("pg3"), left.clone());
    let why = plan_of(&wider, &back).unwrap_err();
    let says = "the database at pg3's address is node pg2 of this cluster";
    assert_eq!(why.iter().map(ToString::to_string).collect::<Vec<_>>(), [says]);
    assert!(why[0].hint().contains("pg2 is another database by now"), "{why:?}");
    left.open = ShardSet::new();
    left.fenced = ShardSet::new();
    back.nodes.insert(node("pg3"), left);
    let plan = take_all(&wider, &mut back);
    let tells = |step: &Step| matches!(step, Step::TellNode { node, was: Some(was), .. } if node.as_str() == "pg3" && was == "pg2");
    assert!(plan.steps.iter().any(tells), "{:?}", plan.steps);

    let mut foreign = empty_servers(&declared);
    foreign.catalog = living(&declared).catalog;
    foreign.nodes.get_mut(&two).unwrap().member = Some(Membership {
        cluster: "other".into(),
        node: "x".into(),
        map_version: MapVersion(3),
        newest: MapVersion(3),
    });
    assert!(refused(&declared, &foreign).contains("node pg2 belongs to cluster other"));

    let mut standby = empty_servers(&declared);
    standby.nodes.get_mut(&two).unwrap().standby = true;
    assert!(refused(&declared, &standby).contains("node pg2 is a standby"));
}

#[test]
fn servers_without_a_usable_extension_are_named_all_at_once() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = empty_servers(&declared);
    truth.nodes.get_mut(&node("pg1")).unwrap().extension.available = None;
    truth.nodes.get_mut(&node("pg2")).unwrap().extension.available = Some(version("0.0.9"));
    let text = refused(&declared, &truth);
    assert!(text.contains("not installed in the server of node pg1"), "{text}");
    assert!(text.contains("pg2 offers version 0.0.9"), "{text}");
}

#[test]
fn an_older_extension_is_upgraded_and_a_newer_one_left() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = living(&declared);
    let offer = |truth: &mut Truth, name: &str, offered: &str| {
        truth.nodes.get_mut(&node(name)).unwrap().extension.available = Some(version(offered));
    };
    offer(&mut truth, "pg1", "0.10.0");
    offer(&mut truth, "pg2", "0.0.9");
    let plan = take_all(&declared, &mut truth);
    let (from, to) = (version("0.1.0"), version("0.10.0"));
    assert_eq!(plan.steps, [Step::UpgradeExtension { node: node("pg1"), from, to }]);
}

#[test]
fn a_catalog_of_another_program_is_refused_by_name() {
    let declared = declared(8, &[("pg1", 1)]);
    let mut newer = living(&declared);
    newer.catalog.program = Some(version("0.3.0"));
    newer.catalog.migrations.push(Migration { version: 3, name: "move".into(), checksum: 1 });
    assert_eq!(
        refused(&declared, &newer),
        "the catalog on pg1 was brought up to date by shardid 0.3.0, and this is shardid 0.1.0"
    );
    let mut edited = living(&declared);
    edited.catalog.migrations[1].checksum += 1;
    assert!(refused(&declared, &edited).starts_with("migration 2 (map) of the catalog on pg1"));
}

#[test]
fn shards_in_two_places_are_refused() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut before = empty_servers(&declared);
    for seen in before.nodes.values_mut() {
        seen.extension.installed = Some(version("0.1.0"));
        seen.layout = declared.builtin_layout();
        seen.open = set("5");
    }
    assert_eq!(refused(&declared, &before), "shard 5 is open on two nodes, pg1 and pg2");

    let mut astray = living(&declared);
    let pg2 = astray.nodes.get_mut(&node("pg2")).unwrap();
    pg2.open = pg2.open.or(&set("0-1"));
    assert_eq!(
        refused(&declared, &astray),
        "shards 0-1 are open on pg2, but the map has them on pg1"
    );
    astray.catalog.moving = set("0-1");
    assert!(plan_of(&declared, &astray).unwrap().is_empty(), "a move's shards are its own");

    let mut behind = living(&declared);
    let pg1 = behind.nodes.get_mut(&node("pg1")).unwrap();
    pg1.open = pg1.open.without(&set("3"));
    pg1.moved.insert("pg2".into(), set("3,4-7"));
    let text = refused(&declared, &behind);
    assert_eq!(text, "node pg1 says that shard 3 is on pg2, but the map has it on pg1");
    behind.nodes.get_mut(&node("pg1")).unwrap().member.as_mut().unwrap().newest = MapVersion(2);
    assert!(refused(&declared, &behind).contains("newer than version 1 of the catalog"));
}

#[test]
fn layouts_must_be_there_and_mean_the_same() {
    let mut custom = declared(8, &[("pg1", 1), ("pg2", 1)]);
    custom.layout = LayoutName::new("mine").unwrap();
    let mut truth = empty_servers(&custom);
    assert!(refused(&custom, &truth).contains("node pg1 has no layout mine"));
    for (seen, shards) in truth.nodes.values_mut().zip([4, 16]) {
        seen.layout = Some(shardid_ids::Layout::new(0, 1000, None, shards, 1024).unwrap());
    }
    let text = refused(&custom, &truth);
    assert!(text.contains("layout mine has room for at most 4 shards, not 8"), "{text}");
    assert!(text.contains("layout mine is not the same on nodes pg1 and pg2"), "{text}");
}

#[test]
fn without_weight_and_with_shards_outside() {
    let weightless = declared(8, &[("pg1", 0)]);
    let truth = empty_servers(&weightless);
    assert_eq!(refused(&weightless, &truth), "no node may hold shards: every weight is 0");

    let declared = declared(8, &[("pg1", 1)]);
    let mut truth = living(&declared);
    let pg1 = truth.nodes.get_mut(&node("pg1")).unwrap();
    pg1.open.insert(Shard::new(8).unwrap());
    let plan = plan_of(&declared, &truth).unwrap();
    assert!(plan.is_empty(), "{plan:?}");
    assert_eq!(plan.notes.len(), 1, "{plan:?}");
}

#[test]
fn a_fence_that_no_move_takes_down_is_taken_down_at_home() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = living(&declared);
    let pg1 = truth.nodes.get_mut(&node("pg1")).unwrap();
    pg1.open = pg1.open.without(&set("0-1"));
    // The row of one of them was put right by hand, its triggers were not.
    (pg1.fenced, pg1.fences) = (set("0-1"), set("0-2"));
    let mut at_work = truth.clone();
    at_work.catalog.moving = set("0-2");
    assert!(plan_of(&declared, &at_work).unwrap().is_empty());
    let mut twice = truth.clone();
    twice.nodes.get_mut(&node("pg2")).unwrap().open.insert(Shard::new(1).unwrap());
    let text = refused(&declared, &twice);
    assert_eq!(text, "shard 1 is open on pg2, but the map has it on pg1");

    let plan = take_all(&declared, &mut truth);
    let opened = Step::OpenShards { node: node("pg1"), shards: set("0-1") };
    let taken_away = Step::TakeAwayFences { node: node("pg1"), shards: set("2") };
    assert_eq!(plan.steps, [opened, taken_away]);
    assert!(plan_of(&declared, &truth).unwrap().is_empty());
}

#[test]
fn a_shard_that_was_dropped_by_hand_is_made_again() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = living(&declared);
    let pg1 = truth.nodes.get_mut(&node("pg1")).unwrap();
    pg1.open = pg1.open.without(&set("2"));
    pg1.dropped = set("2");
    let plan = take_all(&declared, &mut truth);
    assert_eq!(plan.steps[0], Step::CreateShards { node: node("pg1"), shards: set("2") });
    assert!(plan_of(&declared, &truth).unwrap().is_empty());
}
