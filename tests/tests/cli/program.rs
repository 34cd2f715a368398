//! Running the program and looking at what it says.

pub(crate) use shardid_tests::program::{Run, command, program, run};
