//! The shard map of a cluster and the plan that changes it.
//!
//! Everything here is values in, values out: no I/O, no clock, no server. The
//! program `shardid` reads the cluster file into a [`Declared`], looks at the
//! servers for a [`Truth`], and asks [`plan()`] for the [`Step`]s between them.
//!
//! - [`Declared`] is what should be, [`Truth`] is what is;
//! - [`plan()`] is the difference, or the reasons why there is no way from here to there;
//! - [`spread()`] gives a new cluster's shards to its nodes by weight;
//! - [`ticket_plan`] is the same for tickets, [`change_effects`] how their servers come and go;
//! - [`ShardMap`] says which shard lives on which node, [`ShardSet`] names many shards shortly.
#![forbid(unsafe_code)]

mod ahead;
mod declared;
mod follower;
mod identity;
mod map;
mod moving;
mod names;
mod plan;
mod rebalance;
mod refusal;
mod rename;
mod set;
mod shard;
mod spread;
mod tickets;
mod truth;
mod words;

pub use ahead::{
    Ahead, Descent, Lineage, Origin, Whole, ahead, copy_ahead, lost, unnoted_copy_ahead,
};
pub use declared::{Declared, DeclaredError, DeclaredNode, DeclaredTicket, Engine};
pub use follower::{
    FOLLOWER_PREFIX, FollowerRole, Stream, StreamFault, follower_role, is_own_role,
};
pub use identity::Identity;
pub use map::{MapChange, MapVersion, ShardMap, changes};
pub use moving::{
    Effect, GoneNode, LeftoverKind, MoveEvent, MoveKind, MoveState, NoSuchStep, effects,
    effects_without, next_state,
};
pub use names::{ClusterName, LayoutName, NameError, NodeName, TicketName};
pub use plan::{NodeChange, Note, Plan, Program, Step, plan};
pub use rebalance::{BalanceBy, NodeLoad, PlannedMove, RebalanceError, rebalance};
pub use refusal::Refusal;
pub use rename::{Rename, renamed, renames};
pub use set::{ShardSet, ShardSetError};
pub use shard::{Shard, ShardCount, ShardError};
pub use spread::{SpreadError, spread};
pub use tickets::{
    ByHand, ChangeEffect, ChangeState, Class, KnownServer, KnownTicket, MARGIN, NoRoom, NotGone,
    Notes, Restored, SERVERS_MAX, Seen, SeenAt, TicketChange, TicketNote, TicketPlan,
    TicketProblem, TicketServer, TicketState, TicketStep, TicketTruth, change_effects, classes,
    first_floor, forgetful_steps, forgotten_above, handed_out_by, has_forgotten, mark_of_look,
    mark_of_restored, mark_with_notes, marked_by, marked_with, next_change_state, not_remembered,
    notes, problems, safe_floor, ticket_plan, unseen,
};
pub use truth::{
    CatalogCluster, CatalogNode, CatalogTruth, CopyAhead, Extension, Filled, Membership, Migration,
    NodeTruth, Truth,
};
pub use words::UnknownWord;
