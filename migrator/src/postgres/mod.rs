//! The rim towards PostgreSQL: connections, what is there, and changes to it.

pub(crate) mod catalog;
mod connect;
pub(crate) mod descent;
pub(crate) mod effects;
mod error;
pub(crate) mod followers;
pub(crate) mod ids;
pub(crate) mod in_time;
pub(crate) mod installation;
pub(crate) mod lock;
pub(crate) mod look;
mod secret;
mod statement;
pub(crate) mod statistics;
mod waiting;

pub(crate) use connect::{commits_wait, connect, hold_table, on_behalf, who};
pub(crate) use error::{failure, failure_of_ours, has_hint, is_sqlstate, message, part_of};
pub(crate) use secret::Secret;
pub(crate) use statement::sql;
pub(crate) use waiting::{Holder, WAITED, Waiter};
