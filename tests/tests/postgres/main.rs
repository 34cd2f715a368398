//! Tests on real PostgreSQL servers: one program, so that they share a server.

mod clock;
mod crash;
mod fence;
mod harness;
mod smoke;
mod standby;
mod unique;
