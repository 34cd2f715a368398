//! Tests that move shards between servers while they are in use, and cut the
//! moves at every step.

mod cut;
