//! Id layouts, the clock rule and the lease rule of shardid.
//!
//! Everything here is values in, values out: no I/O, no clock, no server. The
//! PostgreSQL extension and the program `shardid` both stand on it, and the
//! SQL for other engines is tested against it.
//!
//! - [`Layout`] puts an id together and takes it apart;
//! - [`advance`] is the clock rule: the next position, whatever the clock does;
//! - [`Class`] is the numbers that one of several ticket servers hands out;
//! - [`renew`] is the lease rule: up to where a position must be in WAL;
//! - [`visit()`] takes ids from the page of a sequence, whatever has come over it;
//! - [`encode_text`] and [`conceal`] are the two other faces of an id.
#![forbid(unsafe_code)]

mod builtin;
mod class;
mod clock;
mod conceal;
mod layout;
mod lease;
mod text;
mod visit;

pub use builtin::{BUILTIN, Builtin, DEFAULT_LAYOUT, builtin};
pub use class::Class;
pub use clock::{ClockBase, Position, Refused, advance};
pub use conceal::{ConcealError, ConcealKey, KEY_BYTES_MIN};
pub use layout::{IdError, Layout, LayoutError, Parts, Shard, TIME_MAX_US};
pub use lease::{Renewal, renew};
pub use text::{TEXT_LENGTH, TextError, decode_text, encode_text};
pub use visit::{File, Flush, Flushed, LIVE, Page, Refusal, Request, Server, Trace, Visit, visit};
