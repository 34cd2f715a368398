//! Tests on real PostgreSQL servers: one program, so that they share a server.

mod ask;
mod clock;
mod crash;
mod fence;
mod harness;
mod smoke;
mod standby;
mod surface;
mod unique;
