//! Looks for a number of a ticket that two servers hand out while the servers change: two
//! programs, three servers, the journal, clients, and every fault between any two steps.
//!
//! The programs go by the very [`shardid_cluster::change_effects`],
//! [`shardid_cluster::next_change_state`] and [`shardid_cluster::first_floor`] that the program
//! `shardid` goes by. What can happen between any two steps: clients take numbers, also all
//! up to where somebody believes nobody to be; a program is killed, also with a statement under
//! way, or loses the lock of the cluster without knowing.
//!
//! The properties: no number comes twice; and whatever stands, whoever resumes it ends it, and
//! then the servers that the catalog knows hand out their classes, and no others. A [`Rule`]
//! can be left out, and then one of them breaks.
//!
//! [`Restores`] is beside that: a server that is put back from a backup, once and again.
//!
//! # What is abstracted
//!
//! One ticket. A transaction on a server, or in the catalog, is one step. All servers of a
//! change are locked in one step, each by the session that changes it.

mod check;
mod program;
mod restores;
mod rule;
mod statement;
mod work;
mod world;

pub use check::{Action, Plot};
pub use program::{At, Program};
pub use restores::{Catalog, Happens, Kept, Part, Restores, State, Told};
pub use rule::Rule;
pub use statement::{Record, Server, Statement};
pub use world::World;
