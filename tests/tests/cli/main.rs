//! Tests that run the program `shardid` as a user does, against real servers.

mod apply;
mod cluster;
mod cut;
mod dev;
mod file;
mod hints;
mod ids;
mod leftovers;
mod lock;
mod map;
mod plan;
mod program;
mod refuse;
mod restore;
mod scale;
mod shell;
mod status;
mod tls;
mod verify;
