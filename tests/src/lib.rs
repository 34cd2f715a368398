//! What the tests stand on: real servers, started, crashed and cleaned up.
//!
//! The tests speak SQL to PostgreSQL and run the program; they link neither the
//! extension nor the program, so that what they see is what a user sees. The
//! parts here start throw-away servers ([`Server`]), give each test a database
//! of its own in a server they share ([`Database`]), steer a server's clock
//! ([`Clock`]), and look for the one thing that must never happen
//! ([`assert_unique`]).
//!
//! Everything lives in one folder under `/tmp`; a watchdog ends the servers
//! in it and removes it when the test program is gone, however it went.
#![forbid(unsafe_code)]

mod clock;
mod database;
pub mod docs;
pub mod estate;
mod installation;
pub mod my;
mod old_library;
mod processes;
pub mod program;
mod random;
mod reach;
mod refusal;
mod run_folder;
pub mod said;
mod server;
pub mod soak;
mod start;
mod template;
mod unique;
mod wait;

pub use clock::{Clock, ahead_for};
pub use database::{Database, shared};
pub use installation::Installation;
pub use old_library::OLD_NEXT_IDS;
pub use random::{is_whole, rng, sample, seed};
pub use refusal::{Refusal, expect_error};
pub use run_folder::{folder, keep_on_disk};
pub use server::Server;
pub use start::Builder;
pub use unique::{Duplicate, assert_rising, assert_unique, find_duplicate};
pub use wait::{crowded, wait_until};

/// The `mysql` crate, for tests that name its types.
pub use mysql;
/// The `postgres` crate, as used by the harness, for tests that name its types.
pub use postgres;
/// The `rand` crate, for tests that draw from [`rng`].
pub use rand;
