//! Looks for an id given out twice: a server, its sessions and its faults, in every order.
//!
//! The sessions call the very [`shardid_ids::visit()`] that the extension calls under the
//! page's lock; around it is a model of what PostgreSQL and the extension's rim do with
//! pages, WAL, files and transactions. A [`Scenario`] says who takes part and how often;
//! a model checker goes through all orders of their steps, and [`simulate()`] through long
//! random ones of all of them.
//!
//! The property: the library never gives out an id that this generator has given before,
//! to whomever. A generator is a shard of a database; a copied database is a new one. A
//! [`Mending`] can be left out, and then an id comes twice: that is tested too, since a
//! check that cannot fail proves nothing.
//!
//! `tests/findings.rs` has the repeats that nothing prevents.
//!
//! A second property, for some scenarios: from every state, with the clock going on, a
//! visit ends with ids.
//!
//! # What is abstracted
//!
//! A tick has two ids; the clock goes on by a tick or by half of one. An LSN is the number of a WAL record. A page
//! that is made, dropped or copied is one step; a visit is one step for each time that it
//! holds the page, one for the question where ids begin, and one for the flush before its
//! ids leave. The other generators of the database are one that raises the horizon as far
//! as it may, asks, or writes WAL; their ids are not looked at. `nextval` logs two ahead,
//! not 32. An unlogged sequence is one that refuses visits: its file is put back by a
//! crash to what it was made with, as a logged one is, since nobody writes to it here.
//!
//! # Limits that are stated elsewhere, and are no part of the property
//!
//! - A snapshot restored on the same timeline: lost storage. Nothing restores so here.
//! - `DROP EXTENSION` and `CREATE EXTENSION` within the drift, where the sequence is dropped as well, or was put
//!   back before.
//! - The old library beside operations that make new files, and beside `setval` backwards:
//!   [`Scenario::old_library`] has neither.
//! - The clock set back between a creation that was rolled back and the next.
//! - The horizon put back by hand, and its page's trace lost by a crash, a copy or a restore.
//! - The clock set back across a change of the timeline: it does not go back there.
//! - What `nextval` gave is forgotten by whoever puts the sequence back (`setval`,
//!   `RESTART`, `DROP`) or restores to before it: it is bound by no drift and no horizon.
#![forbid(unsafe_code)]

mod actions;
mod begin;
mod check;
mod copy;
mod ddl;
mod ends;
mod given;
mod highest;
mod horizon;
mod layout;
mod leave_out;
mod makings;
mod mending;
pub mod moves;
mod number;
mod old;
mod pages;
pub mod protocol;
mod recovery;
mod reinstall;
mod scenario;
mod scenarios;
mod session;
mod shards;
mod simulate;
mod storage;
mod stranger;
mod take;
pub mod tickets;
mod transaction;
mod wal;
mod world;

pub use actions::Action;
pub use check::{Found, explore};
pub use copy::Copying;
pub use ddl::Statement;
pub use ends::{Trying, starves};
pub use given::Given;
pub use horizon::Other;
pub use mending::{Mending, Off};
pub use number::{Kept, Number, NumberPage, Which};
pub use pages::{Backup, Image, Stored};
pub use scenario::{Budget, Kind, Scenario, Settings};
pub use session::{Asking, Old, Pending, Session};
pub use simulate::simulate;
pub use stranger::Setval;
pub use transaction::Transaction;
pub use wal::{Record, Row, Wal};
pub use world::World;
