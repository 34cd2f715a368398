//! The program `shardid`: one file declares a cluster, and this makes it so.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod cuts;
mod dev;
mod failure;
mod file;
mod intent;
mod moving;
mod mysql;
mod postgres;
mod printable;
mod random;
mod refinery;
mod stdout;
mod talk;
mod tickets;
mod verify;
mod view;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(commands::run(cli)),
        Err(error) => Err(failure::Failure::new(format!("cannot start: {error}"))),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}
