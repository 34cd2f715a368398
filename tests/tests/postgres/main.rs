//! Tests on real PostgreSQL servers: one program, so that they share a server.

mod ask;
mod changes;
mod clock;
mod crash;
mod ddl;
mod errors;
mod fence;
mod harness;
mod smoke;
mod standby;
mod surface;
mod transactions;
mod unique;
