//! The rim towards MySQL and MariaDB: connections, what is there, and the schema.

mod connect;
mod error;
pub(crate) mod look;
pub(crate) mod migrate;
mod migrations;
mod option_files;
mod routines;
mod statement;

pub(crate) use connect::connect;
pub(crate) use error::{failure, naming_prepared, sqlstate};
pub(crate) use option_files::Login;
pub(crate) use statement::sql;
