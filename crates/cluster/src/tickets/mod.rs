//! Tickets: numbers from a counter that several servers share by offset and step.
//!
//! N servers hand out one ticket: number k of them has the numbers that leave
//! the rest k when divided by N (N itself leaves 0). No server ever asks
//! another. What is left to do, and is done here as values in, values out:
//!
//! - [`class`] says which numbers are whose;
//! - [`change`] grows or shrinks the set of servers without a repeated number;
//! - [`rebase`] says how far a server must jump that has forgotten numbers;
//! - `mark` is what a look leaves on a server, and `notes` what that is told of the others, in case that the catalog is lost;
//! - [`truth`] is what was seen;
//! - [`plan`] is the difference between what should be and what is;
//! - [`problems()`] is what could repeat a number on the servers as they are.

mod change;
mod class;
mod forgetful;
mod mark;
mod notes;
mod plan;
mod problems;
mod rebase;
mod truth;

pub use change::{
    ChangeEffect, ChangeState, NoRoom, NotGone, TicketChange, change_effects, first_floor,
    next_change_state,
};
pub use class::{Class, SERVERS_MAX, TicketState, classes};
pub(crate) use forgetful::forgetful;
pub use forgetful::{forgotten_above, handed_out_by, has_forgotten, not_remembered};
pub(crate) use mark::{look_of, restored_by};
pub use mark::{mark_of_look, mark_of_restored};
pub use notes::{mark_with_notes, marked_by, marked_with, notes};
pub use plan::{Restored, TicketNote, TicketPlan, TicketStep, forgetful_steps, ticket_plan};
pub use problems::{TicketProblem, problems, unseen};
pub use rebase::{MARGIN, Notes, Seen, SeenAt, safe_floor};
pub use truth::{ByHand, KnownServer, KnownTicket, TicketServer, TicketTruth};
