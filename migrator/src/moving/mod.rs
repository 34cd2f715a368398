//! Moving shards from one node to another while they are in use.
//!
//! The rule is `shardid_cluster::{next_state, effects}`: a state is written into
//! the journal before its effects begin, and each effect may run twice. Here
//! are the effects ([`schema`], [`stream`], [`following`], [`compare`], [`fence`],
//! [`carry`], [`sequences`], [`clean`], [`back`], [`login`]), the journal they are driven by ([`journal`]),
//! what is looked at before anything is made ([`checks`]), what holds a move back
//! ([`throttle`]), what nobody sees yet ([`unseen`]), and the loop ([`drive`](mod@drive)).

pub(crate) mod ahead;
mod answers;
mod back;
mod bound;
mod capacity;
mod carry;
mod catalog_rows;
mod checks;
mod claimed;
mod clean;
mod clocks;
mod compare;
mod context;
mod copies;
mod copy_pace;
mod drive;
mod drop_copy;
mod dumped;
mod dumped_schema;
mod elsewhere;
mod event_triggers;
mod exported;
mod fence;
mod fingerprint;
mod following;
mod gone;
mod held;
mod home;
pub(crate) mod journal;
mod key_states;
mod login;
mod member;
mod move_session;
mod old_copy;
mod open;
mod options;
pub(crate) mod origin;
mod outcome;
mod pace;
mod parts;
mod preflight;
mod printed;
mod problem;
mod progress;
mod readers;
mod reprinted;
mod rights;
mod row_guard;
mod same;
mod schema;
mod sequences;
mod sizes;
mod stop;
mod stream;
mod subscribe;
mod take_away;
mod throttle;
mod unseen;
mod watch;

pub(crate) use back::{check_not_opened, go_back, lost_moves};
pub(crate) use capacity::Pace;
pub(crate) use checks::{Checked, check_all};
pub(crate) use claimed::ClaimedMove;
pub(crate) use context::MoveContext;
pub(crate) use copies::Unguarded;
pub(crate) use drive::drive;
pub(crate) use gone::{Without, check_gone, end_without};
pub(crate) use journal::{Move, MoveJournal};
pub(crate) use login::connect_anew;
pub(crate) use member::swapped;
pub(crate) use move_session::MoveSession;
pub(crate) use old_copy::{Retiring, check_gone_copy, check_old_copy, retire};
pub(crate) use open::{open_shards, take_away_fences};
pub(crate) use options::{Options, Verify};
pub(crate) use origin::lost_sources;
pub(crate) use progress::line;
pub(crate) use readers::{Reader, lost_streams, readers};
pub(crate) use schema::look_at_way_back;
pub(crate) use sizes::shard_sizes;
pub(crate) use stop::{asked as asked_to_stop, stop, watch_for_interrupts};
pub(crate) use watch::{nodes_of, over as watched};
