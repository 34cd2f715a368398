//! The effects of a plan's steps, each of which may be cut and run again.

mod claim;
mod map;
mod node_session;

pub(crate) use map::publish;
pub(crate) use node_session::NodeSession;
