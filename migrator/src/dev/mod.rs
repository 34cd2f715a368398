//! Throw-away servers: `shardid dev up`, `down` and `status`.

mod account;
mod find;
mod server;
mod state;

use std::path::{Path, PathBuf};

use futures_util::future::try_join_all;

use crate::cli::{DevDown, DevUp};
use crate::commands::print;
use crate::dev::account::Account;
use crate::dev::find::Installation;
use crate::dev::server::Server;
use crate::dev::state::State;
use crate::failure::Failure;
use crate::file::{EMBEDDED_FOLDER, FILE_NAME};
use crate::talk;
use crate::view::table::{Column, Table};

/// How many shards the cluster file declares where nobody says.
const SHARDS: u32 = 64;

/// A client program of an installed PostgreSQL, such as `pg_dump`: that of
/// PG_CONFIG, or of the newest server here, or whatever the path has.
pub(crate) fn client_program(name: &str) -> Result<tokio::process::Command, Failure> {
    let pg_config = std::env::var_os("PG_CONFIG").filter(|path| !path.is_empty());
    let installed = find::installation(pg_config.as_deref().map(Path::new));
    let program = installed.map(|found| found.program(name)).ok().filter(|path| path.exists());
    let program = program.unwrap_or_else(|| PathBuf::from(name));
    let mut command = tokio::process::Command::new(program);
    command.kill_on_drop(true);
    Ok(command)
}

/// Starts the servers, making those that are missing.
pub(crate) async fn up(args: &DevUp) -> Result<(), Failure> {
    let folder = folder()?;
    let pg_config = args.pg_config.as_deref().filter(|path| !path.as_os_str().is_empty());
    let account = Account::for_servers()?;
    let before = State::load(&folder)?;
    let installation = match (&before, pg_config) {
        (Some(state), None) => Installation::at(&state.bin)?,
        _ => find::installation(pg_config)?,
    };
    installation.check(&account)?;
    let mut state = match before {
        Some(state) => state,
        None => State::create(&folder, &account, args.shards.unwrap_or(SHARDS))?,
    };
    state.check_shards(args.shards)?;
    state.bin = installation.bin.clone();

    state.add_servers(usize::from(args.nodes))?;
    state.save(&folder)?;
    let starting = state.servers.clone().into_iter().map(|server| {
        let (state, account, installation) = (&state, &account, &installation);
        async move { Server::new(state, server, account, installation).up().await }
    });
    let servers = try_join_all(starting).await?;
    // A port that was taken meanwhile was changed for a free one.
    state.servers = servers;
    state.save(&folder)?;
    state.write_cluster_file(&folder)?;

    let file = Path::new(EMBEDDED_FOLDER).join(FILE_NAME);
    talk::line(format_args!("cluster file: {}", file.display()));
    if Path::new(FILE_NAME).exists() {
        talk::line(format_args!(
            "{FILE_NAME} here comes first: for these servers say `--file {}`",
            file.display()
        ));
    }
    if let Some(first) = state.servers.first() {
        talk::line(format_args!("look around:  {}", state.psql(first)));
    }
    talk::line("next:         shardid apply");
    talk::line("stop:         shardid dev down");
    Ok(())
}

/// Stops the servers.
pub(crate) async fn down(args: &DevDown) -> Result<(), Failure> {
    let folder = folder()?;
    let Some(state) = State::load(&folder)? else {
        talk::line(format_args!("there are no servers in {EMBEDDED_FOLDER}"));
        return Ok(());
    };
    let account = Account::for_servers()?;
    let installation = Installation::at(&state.bin)?;
    let stopping = state.servers.iter().map(|server| {
        let server = Server::new(&state, server.clone(), &account, &installation);
        async move { server.down().await }
    });
    try_join_all(stopping).await?;
    if args.delete {
        state.delete(&folder)?;
        talk::line(format_args!("deleted {EMBEDDED_FOLDER}"));
    }
    Ok(())
}

/// Shows the servers.
pub(crate) async fn status() -> Result<(), Failure> {
    let folder = folder()?;
    let state = State::load(&folder)?.ok_or_else(none)?;
    let account = Account::for_servers()?;
    let installation = Installation::at(&state.bin)?;
    let mut table = Table::new([
        Column::left("NODE"),
        Column::left("STATE"),
        Column::right("PID"),
        Column::right("PORT"),
        Column::left("LOG"),
    ]);
    for server in &state.servers {
        let pid = Server::new(&state, server.clone(), &account, &installation).pid().await?;
        table.row([
            server.name.clone(),
            if pid.is_some() { "up" } else { "down" }.to_owned(),
            pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
            server.port.to_string(),
            Path::new(EMBEDDED_FOLDER)
                .join("log")
                .join(format!("{}.log", server.name))
                .display()
                .to_string(),
        ]);
    }
    print(&table.to_string())?;
    talk::line(format_args!("\nPostgreSQL in {}", state.bin.display()));
    if let Some(first) = state.servers.first() {
        talk::line(format_args!("look around:  {}", state.psql(first)));
    }
    Ok(())
}

fn none() -> Failure {
    Failure::new(format!("there are no servers in {EMBEDDED_FOLDER}"))
        .hint("start some with `shardid dev up`")
}

/// `.shardid` here, as a full path: servers do not stay where we stand.
fn folder() -> Result<PathBuf, Failure> {
    let here = std::env::current_dir()
        .map_err(|error| Failure::new(format!("cannot tell which folder this is: {error}")))?;
    Ok(here.join(EMBEDDED_FOLDER))
}
