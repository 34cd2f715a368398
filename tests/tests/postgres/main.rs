//! Tests on real PostgreSQL servers: one program, so that they share a server.

mod ask;
mod changes;
mod clock;
mod crash;
mod ddl;
mod decode;
mod docs;
mod dump;
mod errors;
mod fence;
mod harness;
mod partitions;
mod privileges;
mod segments;
mod smoke;
mod soak;
mod standby;
mod states;
mod surface;
mod tickets;
mod transactions;
mod unique;
mod upgrade;
