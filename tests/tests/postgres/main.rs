//! Tests on real PostgreSQL servers: one program, so that they share a server.

mod harness;
