//! The rim towards MySQL and MariaDB: connections, what is there, and the schema.

mod connect;
mod error;
pub(crate) mod look;
pub(crate) mod migrate;
mod migrations;
mod option_files;

pub(crate) use connect::connect;
pub(crate) use error::{failure, sqlstate};
pub(crate) use option_files::Login;

/// One statement from a file under `sql/mysql`.
macro_rules! sql {
    ($path:literal) => {
        include_str!(concat!("../../../sql/mysql/", $path))
    };
}
pub(crate) use sql;
