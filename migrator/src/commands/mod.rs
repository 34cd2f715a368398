//! What each command does, in the order of a user's day.

mod apply;
mod ending;
mod id;
mod init;
mod map;
mod moving;
mod plan;
mod shell;
mod status;
mod tickets;
mod verify;
mod way;

use std::process::ExitCode;

use crate::cli::{Catalog, Cli, Command, Dev, Id};
use crate::dev;
use crate::failure::Failure;

/// Runs a command to its exit code.
pub(crate) async fn run(cli: Cli) -> Result<ExitCode, Failure> {
    let file = cli.file.as_deref().filter(|file| !file.as_os_str().is_empty());
    match cli.command {
        Command::Init(args) => init::run(&args),
        Command::Dev { command: Dev::Up(args) } => dev::up(&args).await,
        Command::Dev { command: Dev::Down(args) } => dev::down(&args).await,
        Command::Dev { command: Dev::Status } => dev::status().await,
        Command::Plan(args) => plan::run(file, &args).await,
        Command::Apply(args) => apply::run(file, &args).await,
        Command::Catalog { command: Catalog::Rebuild(args) } => apply::rebuild(file, args).await,
        Command::Status(args) => return status::run(file, &args).await,
        Command::Verify(args) => return verify::run(file, &args).await,
        Command::Map(args) => map::run(file, &args).await,
        Command::Move(args) => moving::shards(file, &args).await,
        Command::Drain(args) => moving::drain(file, &args).await,
        Command::Rebalance(args) => moving::rebalance(file, &args).await,
        Command::Moves(args) => moving::moves(file, &args).await,
        Command::Resume(args) => moving::resume(file, &args).await,
        Command::Abort(args) => ending::abort(file, &args).await,
        Command::Rollback(args) => ending::rollback(file, &args).await,
        Command::Retire(args) => ending::retire(file, &args).await,
        Command::Tickets { command } => return tickets::run(file, &command).await,
        Command::Id { command: Id::Next(args) } => id::next(file, &args).await,
        Command::Id { command: Id::Decode(args) } => id::decode(file, &args).await,
        Command::Id { command: Id::At(args) } => id::at(file, &args).await,
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { folder } => shell::man(&folder),
    }
    .map(|()| ExitCode::SUCCESS)
}
