//! The rim of tickets: servers of any engine, the catalog's journal, changes.

pub(crate) mod apply;
mod change;
mod clock;
mod journal;
mod look;
mod notes;
pub(crate) mod plan;
mod server;
mod session;
mod standing;
mod statement;

pub(crate) use change::{Wanted, change, resume};
pub(crate) use journal::TicketJournal;
pub(crate) use look::{Answer, Look, look, look_also, look_taking};
pub(crate) use notes::noted;
pub(crate) use server::TicketServer;
pub(crate) use session::Session;
pub(crate) use standing::Said;
