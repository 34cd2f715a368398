//! MariaDB and MySQL servers of our own, to start, crash and clean up.
//!
//! As for PostgreSQL: throw-away [`Server`]s in the run's folder, one of each
//! engine that the tests of a program share ([`shared`]), and a way to have a
//! test on both engines ([`on_both_engines`](crate::on_both_engines)).

mod builder;
mod client;
mod engine;
mod install;
mod plays;
mod server;
mod variables;

pub use builder::{Builder, make_data};
pub use client::{Refused, expect_refused, query, try_query};
pub use engine::find;
pub use plays::{Finding, Ledger, Played, Plays};
pub use server::{Server, shared};
pub use shardid_servers::Engine;
pub use variables::{Setting, settings};

/// Gives each test two names, `on_mariadb::NAME` and `on_mysql::NAME`.
///
/// A test is a function of the [`Engine`].
#[macro_export]
macro_rules! on_both_engines {
    ($($name:ident),* $(,)?) => {
        mod on_mariadb {
            $(#[test] fn $name() { super::$name($crate::my::Engine::MariaDb); })*
        }
        mod on_mysql {
            $(#[test] fn $name() { super::$name($crate::my::Engine::MySql); })*
        }
    };
}
