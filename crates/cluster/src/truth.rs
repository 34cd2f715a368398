//! What is: what was seen on the servers of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use semver::Version;
use shardid_ids::Layout;

use crate::ahead::{Ahead, Descent, Whole, lost, unnoted_copy_ahead};
use crate::declared::Declared;
use crate::follower::{FollowerRole, Stream, StreamFault, follower_role};
use crate::identity::Identity;
use crate::map::{MapVersion, ShardMap};
use crate::names::NodeName;
use crate::refusal::Refusal;
use crate::rename::{Rename, renamed, renames};
use crate::set::ShardSet;
use crate::shard::Shard;

/// Everything that was seen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Truth {
    /// What the catalog node keeps.
    pub catalog: CatalogTruth,
    /// What each PostgreSQL node of the cluster file said.
    pub nodes: BTreeMap<NodeName, NodeTruth>,
    /// The streams that each node follows by, as far as the journal of moves knows them.
    pub streams: BTreeMap<NodeName, Vec<Stream>>,
}

impl Truth {
    /// Finds the nodes to which the cluster file gives another name than the catalog, and
    /// has what is known of them be by the new one.
    pub fn find_renames(&mut self, is_declared: impl Fn(&NodeName) -> bool) {
        let known = self.catalog.nodes.iter();
        let known = known.map(|(name, node)| (name.clone(), node.identity.clone())).collect();
        let seen = self.nodes.iter().map(|(name, node)| (name, &node.identity));
        let found = renames(&known, seen, is_declared);
        self.catalog.rename(found);
    }
}

impl Truth {
    /// [`NodeTruth::awaited`] of a node.
    pub fn awaited(&self, name: &NodeName) -> ShardSet {
        self.nodes.get(name).map_or_else(ShardSet::new, |seen| seen.awaited(name, &self.nodes))
    }

    /// Shards that a node has closed for a move, and that the map has there all the same: it goes back to
    /// them, for where they were to be opened may not have all of their rows.
    pub fn recalled(&self, name: &NodeName) -> ShardSet {
        let sent = self.nodes.get(name).map(|seen| seen.sent.clone()).unwrap_or_default();
        sent.and(&self.catalog.map.on(name)).without(&self.catalog.moving)
    }

    /// Shards that the map has on a node, and that no node has: neither open nor fenced.
    pub fn nowhere(&self, name: &NodeName) -> ShardSet {
        let held = self.nodes.values().fold(ShardSet::new(), |all, seen| all.or(&seen.held()));
        self.catalog.map.on(name).without(&held).without(&self.catalog.moving)
    }

    /// Why a node does not open shards that a lost move was about to open there, by the map: nothing shows that it has
    /// all of their rows.
    pub fn doubts(&self, name: &NodeName) -> Vec<(ShardSet, Refusal)> {
        let nowhere = self.nowhere(name);
        let here = self.unproven().into_iter().filter(|(_, target, ..)| *target == name);
        let doubt = |(shards, target, source, why): (ShardSet, &NodeName, &NodeName, _)| {
            let (shards, node, home) = (shards.and(&nowhere), target.clone(), source.clone());
            (shards.clone(), Refusal::MayLack { shards, node, home, why })
        };
        here.map(doubt).filter(|(shards, _)| !shards.is_empty()).collect()
    }

    /// Shards of which nothing shows that the node which was to open them has all rows, with that node, the
    /// one that has closed them, and what speaks against it, if anything does.
    fn unproven(&self) -> Vec<(ShardSet, &NodeName, &NodeName, Option<Ahead>)> {
        let mut found: Vec<(ShardSet, &NodeName, &NodeName, Option<Ahead>)> = Vec::new();
        for (target, seen) in &self.nodes {
            for (source, shards) in seen.awaited_from(target, &self.nodes) {
                for shard in shards.iter() {
                    let why = match (self.nodes[source].wholes.get(&shard), &seen.descent) {
                        (Some(whole), Some(now)) => match lost(whole, now) {
                            None => continue,
                            why => why,
                        },
                        _ => None,
                    };
                    let one: ShardSet = [shard].into_iter().collect();
                    let same = |(_, at, from, known): &&mut (
                        ShardSet,
                        &NodeName,
                        &NodeName,
                        Option<Ahead>,
                    )| {
                        (*at, *from, *known) == (target, source, why)
                    };
                    match found.iter_mut().find(same) {
                        Some((shards, ..)) => *shards = shards.or(&one),
                        None => found.push((one, target, source, why)),
                    }
                }
            }
        }
        found
    }

    /// Has what nodes follow each other by be of no use any more: streams want new secrets, and a role by which nothing
    /// follows is made anew. It is of a server, whichever of its databases is followed.
    pub fn renew_secrets(&mut self) {
        let server = |node: &NodeName| Some(self.nodes.get(node)?.identity.system_identifier);
        let mut at_work = BTreeSet::new();
        for (follower, streams) in &mut self.streams {
            let Some(seen) = self.nodes.get(follower) else { continue };
            let role = follower_role(follower, &seen.identity);
            for stream in streams {
                stream.fault = Some(StreamFault::Secret);
                at_work.insert((server(&stream.publisher), role.clone()));
            }
        }
        for seen in self.nodes.values_mut() {
            let server = Some(seen.identity.system_identifier);
            for (role, known) in seen.followers.iter_mut().flatten() {
                known.sound &= at_work.contains(&(server, role.clone()));
            }
        }
    }

    /// Copies of shards that other nodes fill, or did, and that may have rows which those have lost. What they were made
    /// from, the journal notes; here it is what the nodes say.
    pub fn copies_ahead(&self) -> Vec<CopyAhead> {
        let mut found = Vec::new();
        for (node, seen) in &self.nodes {
            for copy in &seen.filled {
                let Some(home) = self.catalog.map.node_of(copy.shard).filter(|home| *home != node)
                else {
                    continue;
                };
                let Some(at_home) = self.nodes.get(home) else { continue };
                // It may be filled from a node that had the shard before.
                let has_slot = |seen: &NodeTruth| seen.slots.contains(&copy.stream);
                let filled_from_home = has_slot(at_home) || !self.nodes.values().any(has_slot);
                if !filled_from_home || !at_home.held().contains(copy.shard) {
                    continue;
                }
                // Or it was: a promotion, which comes without the slot, comes with what is published. Positions of
                // any other node tell nothing.
                let publishes =
                    |it: &(&NodeName, &NodeTruth)| it.1.publications.contains(&copy.stream);
                let from = match publishes(&(home, at_home)) {
                    true => None,
                    false => self.nodes.iter().filter(|(other, _)| *other != node).find(publishes),
                };
                let (from, seen) = from.unwrap_or((home, at_home));
                let Some(now) = &seen.descent else { continue };
                if let Some(why) = unnoted_copy_ahead(now, copy.reached, has_slot(seen)) {
                    let (shard, stream) = (copy.shard, copy.stream.clone());
                    let (node, from) = (node.clone(), from.clone());
                    found.push(CopyAhead { shard, node, stream, from, why });
                }
            }
        }
        found
    }

    /// Shards that are open on another node than where the map has them, and nowhere else, with both: that node, and
    /// the one of the map. No move has them in hand.
    pub fn astray(&self) -> Vec<(Shard, &NodeName, &NodeName)> {
        let mut found = Vec::new();
        for (node, seen) in &self.nodes {
            for (home, shards) in self.catalog.map.nodes().filter(|(home, _)| *home != node) {
                let elsewhere = self.nodes.iter().filter(|(other, _)| *other != node);
                let elsewhere = elsewhere.fold(ShardSet::new(), |all, (_, it)| all.or(&it.held()));
                let astray = seen.open.and(shards).without(&elsewhere);
                let astray = astray.without(&self.catalog.moving);
                found.extend(astray.iter().map(|shard| (shard, node, home)));
            }
        }
        found
    }

    /// Takes the map from the nodes, where the catalog is lost or older than they are.
    ///
    /// Each shard is on the node that has it, and that has to be one; or where a move that is
    /// lost with the catalog was about to open it, if that has all rows: what it was when it had
    /// them is noted by the node that has closed the shard. Where nothing shows it, that node has
    /// them, and with `go_back` the shard is there again; so it is where it is open on a node that the
    /// map does not name, and nowhere else. The map begins a new term, and what the
    /// catalog knows of moves is nothing to go by.
    pub fn rebuild_map(&mut self, declared: &Declared, go_back: bool) -> Result<(), Refusal> {
        let members = self.nodes.values().filter_map(|node| node.member.as_ref());
        let ours = members.filter(|member| member.cluster == declared.name.as_str());
        let newest = ours.map(|member| member.newest).max().unwrap_or_default();
        let version = self.catalog.map.version;
        let unproven = self.unproven();
        // The catalog may have been made anew, and the node promoted before it opened them.
        let stuck = |shards: &ShardSet| !shards.without(&self.catalog.moving).is_empty();
        let back = unproven.iter().any(|(shards, ..)| stuck(shards)) || !self.astray().is_empty();
        if newest <= version && !(go_back && back) {
            return Err(Refusal::NothingToRebuild { catalog: declared.catalog.clone(), version });
        }
        let mut map = ShardMap::new(newest.max(version).next_term());
        for (name, node) in &self.nodes {
            let here = node.held().and(&ShardSet::all(declared.shards));
            for (first, placed) in map.nodes() {
                let shards = placed.and(&here);
                if !shards.is_empty() {
                    let (first, second) = (first.clone(), name.clone());
                    return Err(Refusal::OpenTwice { shards, first, second });
                }
            }
            map.place(name, &here);
        }
        let nowhere = ShardSet::all(declared.shards).without(&map.shards());
        let mut doubted = ShardSet::new();
        for (shards, target, source, why) in unproven {
            let shards = shards.and(&nowhere);
            if shards.is_empty() {
                continue;
            }
            if !go_back {
                let (node, home) = (target.clone(), source.clone());
                return Err(Refusal::MayLack { shards, node, home, why });
            }
            map.place(source, &map.on(source).or(&shards));
            doubted = doubted.or(&shards);
        }
        let nowhere = nowhere.without(&doubted);
        for name in self.nodes.keys() {
            map.place(name, &map.on(name).or(&self.awaited(name).and(&nowhere)));
        }
        let shards = ShardSet::all(declared.shards).without(&map.shards());
        if !shards.is_empty() {
            return Err(Refusal::OnNoNode(shards));
        }
        self.catalog.map = map;
        self.catalog.moving = ShardSet::new();
        self.catalog.needed.clear();
        self.catalog.at_work.clear();
        self.catalog.rebuilt = true;
        Ok(())
    }
}

/// A copy of a shard that is filled by a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// The shard.
    pub shard: Shard,
    /// The slot that it is filled by.
    pub stream: String,
    /// Up to which position of the other node it has got, if that is known.
    pub reached: Option<u64>,
}

/// A copy that may have rows which the node that it was filled from has lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyAhead {
    /// The shard.
    pub shard: Shard,
    /// Where the copy is.
    pub node: NodeName,
    /// The slot that it is, or was, filled by.
    pub stream: String,
    /// The node that fills it, or did.
    pub from: NodeName,
    /// What speaks for it.
    pub why: Ahead,
}

impl fmt::Display for CopyAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, node, from, why, .. } = self;
        write!(
            f,
            "the copy of shard {shard} on {node} may have rows that node {from} has lost: {why}"
        )
    }
}

/// What the catalog node keeps about the cluster.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CatalogTruth {
    /// The migrations of the catalog's tables that were run, in order.
    pub migrations: Vec<Migration>,
    /// The program that last brought the tables up to date.
    pub program: Option<Version>,
    /// The cluster it is about; `None` until one was made.
    pub cluster: Option<CatalogCluster>,
    /// The nodes it knows.
    pub nodes: BTreeMap<NodeName, CatalogNode>,
    /// The map; version 0 until there is one.
    pub map: ShardMap,
    /// Shards that are being moved, which are nobody else's business.
    pub moving: ShardSet,
    /// Nodes that moves need, with the numbers of those.
    pub needed: BTreeMap<NodeName, Vec<i64>>,
    /// Nodes that unfinished moves work on, with the numbers of those.
    pub at_work: BTreeMap<NodeName, Vec<i64>>,
    /// Nodes that it still knows by the names that they had. All else here, and the streams,
    /// have the names that they are to have.
    pub renames: Vec<Rename>,
    /// Whether the map is one that was made from the nodes, to be written.
    pub rebuilt: bool,
}

impl CatalogTruth {
    /// Why what answers for a node is not to be worked on: it is another database than the one
    /// that the catalog knows.
    pub fn another_database(&self, node: &NodeName, found: &Identity) -> Option<Refusal> {
        let known = &self.nodes.get(node)?.identity;
        (known != found).then(|| Refusal::AnotherServer {
            node: node.clone(),
            known: known.clone(),
            found: found.clone(),
            rebuilt: self.rebuilt,
        })
    }

    /// That what answers for a node is another one of the cluster, by what the catalog knows of both.
    pub fn swapped(&self, node: &NodeName, found: &Identity) -> Option<Refusal> {
        let is_it =
            |(other, known): &(&NodeName, &CatalogNode)| *other != node && known.identity == *found;
        let (other, _) = self.nodes.iter().find(is_it)?;
        let (node, found) = (node.clone(), other.to_string());
        Some(Refusal::OtherNode { node, found, is_taken: false })
    }

    /// Gives nodes the names that they are to have.
    fn rename(&mut self, renames: Vec<Rename>) {
        fn keys<T>(map: &mut BTreeMap<NodeName, T>, renames: &[Rename]) {
            let old = std::mem::take(map);
            map.extend(old.into_iter().map(|(name, it)| (renamed(&name, renames).clone(), it)));
        }
        keys(&mut self.nodes, &renames);
        keys(&mut self.needed, &renames);
        keys(&mut self.at_work, &renames);
        let mut map = ShardMap::new(self.map.version);
        for (node, shards) in self.map.nodes() {
            map.place(renamed(node, &renames), shards);
        }
        self.map = map;
        self.renames = renames;
    }
}

/// The cluster that a catalog is about. Texts, because they are not ours to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogCluster {
    /// Its name.
    pub name: String,
    /// The name of its layout.
    pub layout: String,
    /// How many shards it has.
    pub shards: i64,
}

/// A node as the catalog knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogNode {
    /// Its weight.
    pub weight: u32,
    /// The database it was when it joined.
    pub identity: Identity,
}

/// One migration of the catalog's tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// Its number, from 1 on.
    pub version: i32,
    /// Its name.
    pub name: String,
    /// A checksum over number, name and text.
    pub checksum: u64,
}

/// What a node said.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeTruth {
    /// Which database it is.
    pub identity: Identity,
    /// Whether it is a standby, which takes no writes.
    pub standby: bool,
    /// The extension there.
    pub extension: Extension,
    /// The cluster's layout, as the node has it.
    pub layout: Option<Layout>,
    /// The cluster the node belongs to.
    pub member: Option<Membership>,
    /// Shards that hand out ids here.
    pub open: ShardSet,
    /// Shards that live here and are fenced.
    pub fenced: ShardSet,
    /// Shards that live here and whose tables have the triggers of a fence.
    pub fences: ShardSet,
    /// Shards that lived here until somebody dropped them.
    pub dropped: ShardSet,
    /// Shards that the node knows to live on another one, by that node's name.
    pub moved: BTreeMap<String, ShardSet>,
    /// Those of them that are still published from here by the move that took them away, which
    /// ends that when it has opened them there.
    pub sent: ShardSet,
    /// What the node that those were to be opened on was when it had all of their rows, as far as that was
    /// noted here when they were closed.
    pub wholes: BTreeMap<Shard, Whole>,
    /// Where the writes of this node come from; `None` where that is not for us to know.
    pub descent: Option<Descent>,
    /// The slots of moves here.
    pub slots: Vec<String>,
    /// What moves publish from here.
    pub publications: Vec<String>,
    /// The copies here that moves fill, as far as that is for us to know.
    pub filled: Vec<Filled>,
    /// Those of them whose old copy is here.
    pub copies: ShardSet,
    /// Shards here that do not carry this cluster, node and server as their home.
    pub unstamped: ShardSet,
    /// The database that shards here were taken in by for this cluster, if that is another: this
    /// one was made from it.
    pub copy_of: Option<Identity>,
    /// Shards here that have another layout than the cluster's.
    pub other_layout: ShardSet,
    /// The roles by which other nodes follow this one; `None` where that is not for us to
    /// know, nor to change.
    pub followers: Option<BTreeMap<String, FollowerRole>>,
}

impl NodeTruth {
    /// Shards that are open here, and have the triggers of a fence still.
    pub fn left_fences(&self) -> ShardSet {
        self.fences.and(&self.open)
    }

    /// Shards that exist here, open or fenced.
    pub fn held(&self) -> ShardSet {
        self.open.or(&self.fenced)
    }

    /// Shards that a move has closed on another node, and was about to open on this one.
    ///
    /// The other one says that they live here, and publishes them still; here they are closed,
    /// and what is known of them is older: that they live on the other one, or nothing. No map
    /// has two nodes that name each other, and a move takes no shard on before it has opened it.
    pub fn awaited(&self, name: &NodeName, nodes: &BTreeMap<NodeName, Self>) -> ShardSet {
        let awaited = self.awaited_from(name, nodes).into_iter();
        awaited.fold(ShardSet::new(), |all, (_, shards)| all.or(&shards))
    }

    /// The same, by the node that has closed them.
    fn awaited_from<'n>(
        &self,
        name: &NodeName,
        nodes: &'n BTreeMap<NodeName, Self>,
    ) -> Vec<(&'n NodeName, ShardSet)> {
        let mut awaited = Vec::new();
        for (other, it) in nodes {
            let Some(gone) = it.moved.get(name.as_str()) else { continue };
            let gone = gone.and(&it.sent);
            if gone.is_empty() {
                continue;
            }
            let elsewhere = self.moved.iter().filter(|(home, _)| *home != other.as_str());
            let elsewhere = elsewhere.fold(self.dropped.clone(), |all, (_, some)| all.or(some));
            let here = gone.without(&elsewhere);
            let here = here.without(&self.held());
            if !here.is_empty() {
                awaited.push((other, here));
            }
        }
        awaited
    }
}

/// The extension on a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extension {
    /// The version that the server's files offer.
    pub available: Option<Version>,
    /// The version that the database has.
    pub installed: Option<Version>,
}

/// What a node believes to be. Texts, because they are not ours to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Of which cluster.
    pub cluster: String,
    /// By which name.
    pub node: String,
    /// The version of the map it has a copy of.
    pub map_version: MapVersion,
    /// The newest version that it or a shard here knows of: a move opens and closes its shard before
    /// it brings the map.
    pub newest: MapVersion,
}
