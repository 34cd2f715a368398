//! Tests that move shards between servers while they are in use, and cut the
//! moves at every step.

mod ahead;
mod another_database;
mod applications;
mod behind;
mod carried;
mod catalog;
mod compare;
mod cut;
mod following;
mod guard;
mod hints;
mod letter;
mod lost;
mod matrix;
mod network;
mod nodes;
mod preflight;
mod progress;
mod promoted;
mod rebalance;
mod refusals;
mod retire;
mod rollback;
mod second;
mod sequences;
mod servers;
mod shared;
mod soak;
mod standing;
mod traffic;
mod unseen;
mod versions;
mod zoo;
mod zoo_back;
mod zoo_kinds;
