//! Plans on values alone: a world of nodes that steps are applied to.

mod following;
mod random;
mod rebuild;
mod renaming;
mod servers;

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;

use super::*;
use crate::ahead::{Descent, Lineage, Whole};
use crate::declared::{DeclaredNode, Engine};
use crate::follower::{FollowerRole, follower_role};
use crate::identity::Identity;
use crate::map::MapVersion;
use crate::names::{ClusterName, LayoutName};
use crate::set::ShardSet;
use crate::shard::{Shard, ShardCount};
use crate::truth::{CatalogCluster, CatalogNode, Extension, Membership, Migration, NodeTruth};

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
        fences: ShardSet::new(),
        dropped: ShardSet::new(),
        moved: BTreeMap::new(),
        sent: ShardSet::new(),
        wholes: BTreeMap::new(),
        descent: None,
        slots: Vec::new(),
        publications: Vec::new(),
        filled: Vec::new(),
        copies: ShardSet::new(),
        unstamped: ShardSet::new(),
        copy_of: None,
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
                newest: *to,
            });
        }
        Step::TakeAwayFences { node, shards } => {
            let seen = truth.nodes.get_mut(node).unwrap();
            seen.fences = seen.fences.without(shards);
        }
        Step::OpenShards { node, shards } => {
            assert!(shards.without(&truth.catalog.map.on(node)).is_empty(), "opened elsewhere");
            assert!(shards.and(&truth.catalog.moving).is_empty(), "a move has it in hand");
            let seen = truth.nodes.get_mut(node).unwrap();
            assert_eq!(seen.member.as_ref().unwrap().map_version, truth.catalog.map.version);
            seen.open = seen.open.or(shards);
            seen.fenced = seen.fenced.without(shards);
            seen.fences = seen.fences.without(shards);
            for known in seen.moved.values_mut() {
                *known = known.without(shards);
            }
            seen.sent = seen.sent.without(shards);
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
fn no_shard_is_made_anew_of_which_another_node_has_an_old_copy() {
    let both = declared(8, &[("pg1", 1), ("pg2", 1)]);
    let mut truth = living(&both);
    truth.nodes.get_mut(&node("pg1")).unwrap().copies = set("4-5");
    // What is where the map has it may have old copies anywhere.
    assert_eq!(plan_of(&both, &truth).unwrap().steps, []);
    let lost = truth.nodes.get_mut(&node("pg2")).unwrap();
    lost.open = lost.open.without(&set("5-6"));
    let words = "shard 5 is not on node pg2, where the map has it, and node pg1 has an old copy";
    assert_eq!(refused(&both, &truth), words);
    // Nobody has rows of the other.
    truth.nodes.get_mut(&node("pg1")).unwrap().copies = ShardSet::new();
    assert!(plan_of(&both, &truth).is_ok());
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
    assert_eq!(refused(&other, &truth), "the catalog on pg1 is about cluster photos, not pics");
    other = declared(8, &nodes);
    other.catalog = node("pg2");
    let mut elsewhere = truth;
    elsewhere.catalog = Default::default();
    assert!(refused(&other, &elsewhere).contains("pg2 has no catalog, but node pg1 belongs"));
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
