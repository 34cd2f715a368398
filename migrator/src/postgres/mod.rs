//! The rim towards PostgreSQL: connections, what is there, and changes to it.

pub(crate) mod catalog;
mod connect;
pub(crate) mod effects;
mod error;
pub(crate) mod followers;
pub(crate) mod ids;
pub(crate) mod lock;
pub(crate) mod look;
mod secret;
pub(crate) mod statistics;

pub(crate) use connect::{commits_wait, connect, who};
pub(crate) use error::{failure, is_sqlstate, message, part_of};
pub(crate) use secret::Secret;

/// One statement from a file under `sql/postgres`.
macro_rules! sql {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../sql/postgres/", $path))
    };
    // A query over what the first says.
    ($over:literal, $path:literal) => {
        concat!(
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../sql/postgres/", $over)),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../sql/postgres/", $path))
        )
    };
}
pub(crate) use sql;
