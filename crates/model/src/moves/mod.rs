//! Looks for a shard that is open twice or nowhere, and for a row that is lost: two programs,
//! two nodes, the catalog, a client with an old map, and every fault between any two steps.
//!
//! The programs go by the very [`shardid_cluster::next_state`] and [`shardid_cluster::effects`]
//! that the program `shardid` goes by; around them is a model of what it does with its locks,
//! its terms, the journal and the nodes. What can happen between any two steps: a program is
//! killed, loses the lock of the shard without knowing, gives its fence up, or dies with a
//! statement under way that a server runs at any later moment, however late; and a standby that lacks what
//! came last takes over from the node to which the map has just taken the shard, or from the one that it is copied from;
//! and the catalog is lost, and its map made anew by the very [`shardid_cluster::Truth::rebuild_map`].
//!
//! The properties: one node at most has the shard open; no row that was acknowledged is
//! missing where the shard lives, and no number of a sequence is given twice; whatever stands,
//! `resume` or `abort` ends it, and then the map and the nodes say the same and nothing is
//! left that no move knows of. A [`Rule`] can be left out, and then one of them breaks: that
//! is tested too.
//!
//! # What is abstracted
//!
//! A transaction on a server is one step, and so is a statement; the shard has one table and
//! one sequence; a stream carries all rows or none. What only checks, compares or waits is no
//! step, but for the wait behind the fence. Sessions of earlier programs are not ended when a
//! shard is claimed, which the program does beside asking for the term: what is late here
//! comes later than it can.

mod check;
mod ends;
mod lives;
mod program;
mod rebuild;
mod rule;
mod run;
mod statement;
mod work;
mod world;

pub use check::{Action, Plot};
pub use program::{At, Program, Task};
pub use rule::Rule;
pub use statement::Statement;
pub use world::{Copy, Gate, Node, Record, World};
