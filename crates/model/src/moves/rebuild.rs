//! Where is the shard when the catalog is lost, and its map made anew from the nodes?

use std::collections::BTreeMap;

use shardid_cluster::{
    ClusterName, Declared, DeclaredNode, Engine, Extension, Identity, LayoutName, MapVersion,
    Membership, MoveState, NodeName, NodeTruth, Shard, ShardCount, ShardSet, Truth, Whole,
};

use super::lives::{END, descent, lineage};
use super::rule::Rule;
use super::world::{Gate, Node, Says, World};
use crate::protocol::Rules;

const NAMES: [&str; 2] = ["pg1", "pg2"];

fn name(number: usize) -> NodeName {
    NodeName::new(NAMES[number]).expect("a name")
}

fn declared() -> Declared {
    let node = |number| DeclaredNode { name: name(number), engine: Engine::Postgres, weight: 1 };
    Declared {
        name: ClusterName::new("photos").expect("a name"),
        shards: ShardCount::new(1).expect("a count"),
        layout: LayoutName::new("instagram").expect("a name"),
        catalog: name(0),
        nodes: vec![node(0), node(1)],
        tickets: Vec::new(),
    }
}

/// What a node says of the shard.
fn truth(number: usize, node: &Node, rules: Rules) -> NodeTruth {
    let shard = Shard::new(0).expect("there is one");
    let one = || std::iter::once(shard).collect::<ShardSet>();
    let when = |is_so| if is_so { one() } else { ShardSet::new() };
    let is_moved = node.says == Says::Moved;
    let note = node.sent.filter(|_| is_moved).flatten();
    let left = if rules.hold(Rule::CheckRebuilt) { END - 1 } else { END };
    let whole = |life| Whole { of: lineage(life), database: 5, position: END };
    NodeTruth {
        identity: Identity { system_identifier: 1, database: NAMES[number].into() },
        standby: false,
        extension: Extension::default(),
        layout: None,
        member: Some(Membership {
            cluster: "photos".into(),
            node: NAMES[number].into(),
            map_version: MapVersion(1),
            newest: MapVersion(1),
        }),
        open: when(node.says == Says::Open),
        fenced: when(node.says == Says::Fenced),
        fences: when(node.says == Says::Fenced),
        dropped: ShardSet::new(),
        moved: BTreeMap::from([(NAMES[1 - number].to_owned(), when(is_moved))]),
        sent: when(is_moved && node.sent.is_some()),
        wholes: note.map(|life| (shard, whole(life))).into_iter().collect(),
        descent: Some(descent(node.life, left)),
        slots: Vec::new(),
        publications: Vec::new(),
        filled: Vec::new(),
        copies: ShardSet::new(),
        unstamped: ShardSet::new(),
        copy_of: None,
        other_layout: ShardSet::new(),
        followers: None,
    }
}

impl World {
    /// The catalog is lost and made anew while a move stands switched: whoever is at work loses what it has in
    /// hand, the map is as the nodes have it, and the shard is opened there. Where that is refused, the shard goes
    /// back to the node that has closed it.
    pub(crate) fn lose_catalog(&mut self, rules: Rules) -> bool {
        let Some(id) = self.standing() else { return false };
        if self.moves[id].state != MoveState::Switched {
            return false;
        }
        let nodes =
            || (0..2).map(|number| (name(number), truth(number, &self.nodes[number], rules)));
        let mut seen = Truth { nodes: nodes().collect(), ..Truth::default() };
        let refused = seen.rebuild_map(&declared(), false).is_err();
        if refused && seen.rebuild_map(&declared(), true).is_err() {
            return false;
        }
        let shard = Shard::new(0).expect("there is one");
        let home = seen.catalog.map.node_of(shard).expect("the map is whole");
        let owner = usize::from(*home == name(1));
        for who in 0..self.programs.len() {
            self.leave(who);
        }
        self.late = None;
        self.term += 1;
        let last = self.nodes.iter().filter_map(|node| node.copy).map(|copy| copy.last).max();
        for node in &mut self.nodes {
            node.term = self.term;
            node.stream = None;
            node.sent = None;
        }
        let node = &mut self.nodes[owner];
        node.says = Says::Open;
        if let Some(copy) = node.copy.as_mut() {
            copy.gate = Gate::Open;
            copy.closed = false;
            copy.last = last.unwrap_or_default();
        }
        self.owner = u8::try_from(owner).expect("there are two");
        for record in &mut self.moves {
            if !record.state.is_over() {
                record.state = MoveState::Aborted;
            }
            record.retired = true;
            record.copy_left = None;
            record.stream_left = [false; 2];
        }
        self.catalog_losses -= 1;
        self.was_rebuilt = true;
        true
    }
}
