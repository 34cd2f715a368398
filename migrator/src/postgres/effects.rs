//! The effects of a plan's steps, each of which may be cut and run again.

mod hand;
mod map;

pub(crate) use hand::Hand;
pub(crate) use map::publish;
