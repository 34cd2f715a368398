//! What it takes to run throw-away servers: whose they are, where they listen, and how each
//! engine makes its data. `shardid dev` has such servers, and so have the tests.
#![forbid(unsafe_code)]

mod account;
mod mysql;
mod port;

pub use account::Account;
pub use mysql::{Engine, Program};
pub use port::{free_port, free_port_at_random};
