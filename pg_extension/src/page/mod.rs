//! The sequence page, and everything else of the extension that is unsafe.
//!
//! What leaves this module is safe to call from a backend's only thread:
//! [`sequence`] takes ids from the page, [`numbers`] takes numbers, [`highest`] keeps a
//! number that only rises, [`held`] is what all know of it and [`look`] what it says to who only
//! reads, [`catalog`] reads the extension's tables, [`backend`] knows what PostgreSQL knows about
//! this session, [`relations`] about a relation, [`clocks`] what time it is, [`calls`] reads stored expressions, [`text`] has texts in UTF-8, [`entry`] holds
//! the functions that PostgreSQL calls without pgrx in between and [`triggers`] those that are
//! triggers, [`guard`] what these share, [`follower`] knows for whom a worker applies, [`functions`] with whose rights functions run, [`named`] what statements may name then, [`watch`] hears of what
//! changes, [`ffi`] has the few of PostgreSQL's functions
//! that are called without pgrx's guard.
#![allow(unsafe_code)]

pub(crate) mod backend;
pub(crate) mod calls;
pub(crate) mod catalog;
pub(crate) mod clocks;
pub(crate) mod entry;
mod ffi;
pub(crate) mod follower;
mod functions;
pub(crate) mod guard;
pub(crate) mod guards;
pub(crate) mod held;
pub(crate) mod highest;
pub(crate) mod look;
mod named;
pub(crate) mod numbers;
pub(crate) mod others_settings;
pub(crate) mod relations;
pub(crate) mod sequence;
pub(crate) mod text;
mod triggers;
mod watch;

pub(crate) use backend::{BackendLocal, no_backtraces, reserve_settings};
pub(crate) use follower::own_rows_are_left_out;
pub(crate) use functions::{Settings as FunctionSettings, watch_functions};
pub(crate) use named::watch_statements;
pub(crate) use watch::{Forget, watch};
