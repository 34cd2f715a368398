//! Plans on values alone: a world of nodes that steps are applied to.

mod following;
mod rebuild;
mod renaming;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::declared::{DeclaredNode, Engine};
use crate::follower::{FollowerRole, follower_role};
use crate::names::{ClusterName, LayoutName};
use crate::shard::{Shard, ShardCount};
use crate::truth::{CatalogCluster, CatalogNode, Extension, Membership, NodeTruth};

fn node(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

fn set(text: &str) -> ShardSet {
    text.parse().unwrap()
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn declared(shards: i64, nodes: &[(&str, u32)]) -> Declared {
    Declared {
        name: ClusterName::new("photos").unwrap(),
        shards: ShardCount::new(shards).unwrap(),
        layout: LayoutName::new("instagram").unwrap(),
        catalog: node(nodes[0].0),
        tickets: Vec::new(),
        nodes: nodes
            .iter()
            .map(|(n, w)| DeclaredNode { name: node(n), engine: Engine::Postgres, weight: *w })
            .collect(),
    }
    .check()
    .unwrap()
}

fn program() -> Program {
    let migration = |version, name: &str| Migration { version, name: name.into(), checksum: 7 };
    Program {
        version: version("0.1.0"),
        extension_min: version("0.1.0"),
        migrations: vec![migration(1, "node"), migration(2, "map")],
    }
}

/// A server with the extension's files, and nothing else.
fn empty_server(number: i64) -> NodeTruth {
    NodeTruth {
        identity: Identity { system_identifier: number, database: "app".into() },
        standby: false,
        extension: Extension { available: Some(version("0.1.0")), installed: None },
        layout: None,
        member: None,
        open: ShardSet::new(),
        fenced: ShardSet::new(),
        dropped: ShardSet::new(),
        moved: BTreeMap::new(),
        unstamped: ShardSet::new(),
        other_layout: ShardSet::new(),
        followers: Some(BTreeMap::new()),
    }
}

fn empty_servers(declared: &Declared) -> Truth {
    let nodes = declared.nodes.iter().zip(1..).map(|(n, i)| (n.name.clone(), empty_server(i)));
    Truth { nodes: nodes.collect(), ..Truth::default() }
}

fn plan_of(declared: &Declared, truth: &Truth) -> Result<Plan, Vec<Refusal>> {
    plan(declared, truth, &program(), &BTreeSet::new())
}

/// What the servers look like after a step.
fn take(declared: &Declared, truth: &mut Truth, step: &Step) {
    match step {
        Step::InstallExtension { node, version }
        | Step::UpgradeExtension { node, to: version, .. } => {
            let seen = truth.nodes.get_mut(node).unwrap();
            seen.extension.installed = Some(version.clone());
            seen.layout = declared.builtin_layout();
        }
        Step::MigrateCatalog { to, .. } => {
            truth.catalog.migrations = program().migrations[..*to as usize].to_vec();
        }
        Step::WriteNode { node, weight, identity, .. } => {
            assert!(!truth.catalog.migrations.is_empty());
            let row = CatalogNode { weight: *weight, identity: identity.clone() };
            truth.catalog.nodes.insert(node.clone(), row);
        }
        Step::RenameNode { rename, version, .. } => {
            assert!(truth.catalog.nodes.contains_key(&rename.to));
            truth.catalog.map.version = *version;
            truth.catalog.renames.retain(|other| other != rename);
        }
        Step::WriteMap { map } => {
            assert!(map.nodes().all(|(node, _)| truth.catalog.nodes.contains_key(node)));
            truth.catalog.map = map.clone();
            truth.catalog.cluster = Some(CatalogCluster {
                name: declared.name.to_string(),
                layout: declared.layout.to_string(),
                shards: declared.shards.get().into(),
            });
        }
        Step::RebuildMap { map } => {
            assert!(map.nodes().all(|(node, _)| truth.catalog.nodes.contains_key(node)));
            truth.catalog.rebuilt = false;
            truth.catalog.map = map.clone();
            truth.catalog.cluster = Some(CatalogCluster {
                name: declared.name.to_string(),
                layout: declared.layout.to_string(),
                shards: declared.shards.get().into(),
            });
        }
        Step::CreateShards { node, shards } => {
            let seen = truth.nodes.get_mut(node).unwrap();
            assert!(seen.extension.installed.is_some());
            assert!(seen.held().and(shards).is_empty(), "created twice");
            seen.open = seen.open.or(shards);
            seen.unstamped = seen.unstamped.or(shards);
            seen.dropped = seen.dropped.without(shards);
        }
        Step::TellNode { node, to, shards, .. } => {
            let map = truth.catalog.map.clone();
            assert_eq!(map.version, *to, "told before it was written");
            let seen = truth.nodes.get_mut(node).unwrap();
            for shard in shards.iter() {
                let home = map.node_of(shard).unwrap();
                let one: ShardSet = [shard].into_iter().collect();
                for there in seen.moved.values_mut() {
                    *there = there.without(&one);
                }
                if home == node {
                    assert!(seen.held().contains(shard), "told before it was created");
                } else {
                    assert!(!seen.held().contains(shard), "open on two nodes");
                    let there = seen.moved.entry(home.to_string()).or_default();
                    *there = there.or(&one);
                    seen.dropped = seen.dropped.without(&one);
                }
            }
            seen.unstamped = seen.unstamped.without(shards);
            seen.member = Some(Membership {
                cluster: declared.name.to_string(),
                node: node.to_string(),
                map_version: *to,
            });
        }
        Step::RemoveNode { node } => {
            assert!(truth.catalog.map.on(node).is_empty());
            truth.catalog.nodes.remove(node);
        }
        Step::LetFollow { node, followers } => {
            let seen = truth.nodes.get_mut(node).unwrap();
            let ready = FollowerRole { here: true, sound: true };
            let made = followers.iter().map(|(_, role)| (role.clone(), ready));
            seen.followers.as_mut().unwrap().extend(made);
        }
        Step::Connect { node, streams, .. } => {
            for known in truth.streams.get_mut(node).unwrap() {
                if streams.iter().any(|stream| stream.name == known.name) {
                    known.fault = None;
                }
            }
        }
        Step::ForgetFollowers { node, roles } => {
            let seen = truth.nodes.get_mut(node).unwrap();
            seen.followers.as_mut().unwrap().retain(|role, _| !roles.contains(role));
        }
    }
}

fn take_all(declared: &Declared, truth: &mut Truth) -> Plan {
    let plan = plan_of(declared, truth).unwrap();
    for step in &plan.steps {
        take(declared, truth, step);
    }
    plan
}

/// A cluster that was applied.
fn living(declared: &Declared) -> Truth {
    let mut truth = empty_servers(declared);
    take_all(declared, &mut truth);
    truth
}

fn refused(declared: &Declared, truth: &Truth) -> String {
    let refusals = plan_of(declared, truth).unwrap_err();
    assert!(refusals.iter().all(|refusal| !refusal.hint().is_empty()));
    refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn from_empty_servers_to_a_cluster_and_then_nothing() {
    let declared = declared(64, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = empty_servers(&declared);
    let plan = take_all(&declared, &mut truth);
    let kinds: Vec<String> = plan
        .steps
        .iter()
        .map(|step| format!("{step:?}").split(' ').next().unwrap().to_owned())
        .collect();
    let expected = "InstallExtension InstallExtension MigrateCatalog WriteNode WriteNode WriteMap \
                    CreateShards TellNode CreateShards TellNode LetFollow LetFollow";
    assert_eq!(kinds.join(" "), expected);
    assert_eq!(plan.map.version, MapVersion(1));
    assert_eq!(plan.map.on(&node("pg2")).to_string(), "32-63");
    assert!(plan_of(&declared, &truth).unwrap().is_empty());
}

#[test]
fn shards_that_exist_before_the_cluster_stay_where_they_are() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = empty_servers(&declared);
    let pg2 = truth.nodes.get_mut(&node("pg2")).unwrap();
    pg2.extension.installed = Some(version("0.1.0"));
    pg2.layout = declared.builtin_layout();
    pg2.open = set("0-2");
    pg2.unstamped = set("0-2");
    let plan = take_all(&declared, &mut truth);
    assert_eq!(plan.map.on(&node("pg2")).to_string(), "0-2,7");
    assert!(plan_of(&declared, &truth).unwrap().is_empty());
}

#[test]
fn a_new_node_gets_the_map_and_no_shards() {
    let truth_before = living(&declared(8, &[("pg1", 1)]));
    let grown = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = truth_before;
    truth.nodes.insert(node("pg2"), empty_server(2));
    let plan = take_all(&grown, &mut truth);
    assert_eq!(plan.map.version, MapVersion(1));
    assert_eq!(plan.map.on(&node("pg1")).len(), 8);
    assert_eq!(truth.nodes[&node("pg2")].moved["pg1"].to_string(), "0-7");
    let again = plan_of(&grown, &truth).unwrap();
    assert!(again.is_empty());
    assert_eq!(again.notes, [Note::Empty(node("pg2"))]);
}

#[test]
fn a_node_that_holds_shards_cannot_go_and_an_empty_one_can() {
    let both = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = living(&both);
    let one = declared(8, &[("pg1", 1)]);
    truth.nodes.remove(&node("pg2"));
    assert_eq!(
        refused(&one, &truth),
        "node pg2 is not in the cluster file, but it holds 4 shards (4-7)"
    );
    let mut spare = living(&declared(8, &[("pg1", 1), ("pg2", 0)]));
    spare.nodes.remove(&node("pg2"));
    let mut needed = spare.clone();
    needed.catalog.needed.insert(node("pg2"), vec![3, 5]);
    let words = "node pg2 is not in the cluster file, but moves 3, 5 need it";
    assert_eq!(refused(&one, &needed), words);
    // One that is gone already is none of the plan's.
    spare.catalog.needed.insert(node("pg9"), vec![1]);
    let plan = take_all(&one, &mut spare);
    let roles = vec![follower_role(&node("pg2"), &empty_server(2).identity)];
    let forget = Step::ForgetFollowers { node: node("pg1"), roles };
    assert_eq!(plan.steps, [forget, Step::RemoveNode { node: node("pg2") }]);
}

#[test]
fn what_a_cluster_is_for_life_cannot_be_changed() {
    let nodes = [("pg1", 1), ("pg2", 1)];
    let truth = living(&declared(8, &nodes));
    assert!(refused(&declared(16, &nodes), &truth).contains("8 shards for the whole of its life"));
    let mut other = declared(8, &nodes);
    other.layout = LayoutName::new("snowflake").unwrap();
    assert!(refused(&other, &truth).contains("layout instagram for the whole of its life"));
    other = declared(8, &nodes);
    other.name = ClusterName::new("pics").unwrap();
    assert_eq!(refused(&other, &truth), "the catalogue on pg1 is about cluster photos, not pics");
    other = declared(8, &nodes);
    other.catalog = node("pg2");
    let mut elsewhere = truth;
    elsewhere.catalog = Default::default();
    assert!(refused(&other, &elsewhere).contains("pg2 has no catalogue, but node pg1 belongs"));
}

#[test]
fn a_database_that_is_not_the_one_it_was_is_refused_until_adopted() {
    let declared = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = living(&declared);
    let pg2 = truth.nodes.get_mut(&node("pg2")).unwrap();
    pg2.identity.system_identifier = 99;
    pg2.unstamped = pg2.open.clone();
    assert!(
        refused(&declared, &truth)
            .contains("pg2 is another database than before: app on system 99")
    );
    let adopt = BTreeSet::from([node("pg2")]);
    let adopted = plan(&declared, &truth, &program(), &adopt).unwrap();
    // It follows by another role, as it is another database.
    assert_eq!(adopted.steps.len(), 4, "{adopted:?}");
    for step in &adopted.steps {
        take(&declared, &mut truth, step);
    }
    assert!(plan_of(&declared, &truth).unwrap().is_empty());
}

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

    let mut foreign = empty_servers(&declared);
    foreign.catalog = living(&declared).catalog;
    foreign.nodes.get_mut(&two).unwrap().member =
        Some(Membership { cluster: "other".into(), node: "x".into(), map_version: MapVersion(3) });
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
fn a_catalogue_of_another_program_is_refused_by_name() {
    let declared = declared(8, &[("pg1", 1)]);
    let mut newer = living(&declared);
    newer.catalog.program = Some(version("0.3.0"));
    newer.catalog.migrations.push(Migration { version: 3, name: "move".into(), checksum: 1 });
    assert_eq!(
        refused(&declared, &newer),
        "the catalogue on pg1 was brought up to date by shardid 0.3.0, and this is shardid 0.1.0"
    );
    let mut edited = living(&declared);
    edited.catalog.migrations[1].checksum += 1;
    assert!(refused(&declared, &edited).starts_with("migration 2 (map) of the catalogue on pg1"));
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
    behind.nodes.get_mut(&node("pg1")).unwrap().member.as_mut().unwrap().map_version =
        MapVersion(2);
    assert!(refused(&declared, &behind).contains("newer than version 1 of the catalogue"));
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
    pg1.open = pg1.open.without(&set("2"));
    pg1.fenced = set("2");
    let plan = plan_of(&declared, &truth).unwrap();
    assert!(plan.is_empty(), "{plan:?}");
    assert_eq!(plan.notes.len(), 2, "{plan:?}");
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

proptest! {
    /// Cut anywhere, any number of times: the next plan goes on, the map that
    /// was written stays, and `take` asserts that no shard is made twice.
    #[test]
    fn a_plan_cut_anywhere_is_finished_by_the_next(
        shards in 1i64..40,
        weights in proptest::collection::vec(0u32..4, 1..5),
        existing in proptest::collection::vec(proptest::option::of(0usize..5), 40),
        cuts in proptest::collection::vec(0usize..12, 0..5),
    ) {
        prop_assume!(weights.iter().any(|w| *w > 0));
        let names: Vec<String> = (0..weights.len()).map(|i| format!("n{i}")).collect();
        let nodes: Vec<_> = names.iter().map(String::as_str).zip(weights.iter().copied()).collect();
        let declared = declared(shards, &nodes);
        let mut truth = empty_servers(&declared);
        for (shard, owner) in ShardSet::all(declared.shards).iter().zip(existing) {
            let Some(name) = owner.and_then(|o| names.get(o)) else { continue };
            let seen = truth.nodes.get_mut(&node(name)).unwrap();
            seen.extension.installed = Some(version("0.1.0"));
            seen.layout = declared.builtin_layout();
            seen.open.insert(shard);
            seen.unstamped.insert(shard);
        }
        for cut in cuts {
            let steps = plan_of(&declared, &truth).unwrap().steps;
            for step in steps.iter().take(cut) {
                take(&declared, &mut truth, step);
            }
        }
        let written = truth.catalog.map.clone();
        let plan = take_all(&declared, &mut truth);
        if written.version != MapVersion(0) {
            prop_assert_eq!(&written, &plan.map);
        }
        prop_assert!(plan_of(&declared, &truth).unwrap().is_empty());
        prop_assert_eq!(truth.catalog.map.version, MapVersion(1));
        for (name, seen) in &truth.nodes {
            prop_assert_eq!(&seen.open, &truth.catalog.map.on(name));
        }
    }
}
