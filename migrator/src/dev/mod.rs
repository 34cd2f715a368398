//! Throw-away servers: `shardid dev up`, `down` and `status`.

mod account;
mod file;
mod find_mysql;
mod mysql;
mod names;
mod server;
mod start;
mod state;

use std::path::{Path, PathBuf};

use futures_util::future::try_join_all;
use shardid_servers::Account;

use crate::cli::{DevDown, DevUp};
use crate::dev::find_mysql::Mysql;
use crate::dev::server::PostgresServer;
use crate::dev::state::{ServerState, State};
use crate::failure::Failure;
use crate::file::{EMBEDDED_FOLDER, FILE_NAME};
use crate::postgres::installation::{self, Installation};
use crate::stdout::print;
use crate::talk;
use crate::view::table::{Column, Table};

/// How many PostgreSQL nodes there are where nobody says.
const NODES: usize = 2;

/// How many shards the cluster file declares where nobody says.
const SHARDS: u32 = 64;

/// Starts the servers, making those that are missing.
pub(crate) async fn up(args: &DevUp) -> Result<(), Failure> {
    let folder = folder()?;
    let account = account::for_servers()?;
    let before = State::load(&folder)?;
    let (nodes, tickets) = counts(args, before.as_ref())?;
    let installation = match nodes {
        0 => None,
        _ => Some(postgres(args, before.as_ref(), &account)?),
    };
    let mysql = match tickets {
        0 => None,
        _ => Some(mysql_of(args, before.as_ref())?),
    };
    let mut state = match before {
        Some(state) => state,
        None => State::create(&folder, &account, args.shards.unwrap_or(SHARDS))?,
    };
    state.check_shards(args.shards)?;
    if let Some(installation) = &installation {
        state.bin = installation.bin.clone();
    }
    state.mysql = mysql;
    state.add_servers(nodes, tickets)?;
    state.save(&folder)?;

    let (state_ref, account) = (&state, &account);
    let starting = state.servers.clone().into_iter().filter_map(|server| {
        let installation = installation.as_ref()?;
        Some(
            async move { PostgresServer::new(state_ref, server, account, installation).up().await },
        )
    });
    let servers = try_join_all(starting).await?;
    let starting = state.ticket_servers.clone().into_iter().filter_map(|server| {
        let mysql = state_ref.mysql.as_ref()?;
        Some(async move { mysql::MysqlServer::new(state_ref, server, account, mysql).up().await })
    });
    let ticket_servers = try_join_all(starting).await?;
    // A port that was taken meanwhile was changed for a free one.
    (state.servers, state.ticket_servers) = (servers, ticket_servers);
    state.save(&folder)?;
    file::write_cluster_file(&state, &folder)?;

    let file = Path::new(EMBEDDED_FOLDER).join(FILE_NAME);
    talk::line(format_args!("cluster file: {}", file.display()));
    if Path::new(FILE_NAME).exists() {
        talk::line(format_args!(
            "{FILE_NAME} here comes first: for these servers say `--file {}`",
            file.display()
        ));
    }
    look_around(&state);
    talk::line("next:         shardid apply");
    talk::line("stop:         shardid dev down");
    Ok(())
}

/// How many servers of each kind there are to be: never fewer than there are.
fn counts(args: &DevUp, before: Option<&State>) -> Result<(usize, usize), Failure> {
    let there = before.map_or((0, 0), |state| (state.servers.len(), state.ticket_servers.len()));
    let nodes = match (args.nodes, before) {
        (Some(nodes), _) => usize::from(nodes),
        (None, Some(_)) => there.0,
        (None, None) => NODES,
    };
    let counts = (nodes.max(there.0), usize::from(args.ticket_servers).max(there.1));
    match counts {
        (0, 0) => Err(Failure::usage("there would be no servers")
            .hint("for ticket servers alone: `shardid dev up --nodes 0 --ticket-servers 2`")),
        (nodes, _) if nodes > 0 && there.0 == 0 && there.1 > 0 => {
            // The catalog is on the first node, and stays there.
            Err(Failure::new("these are ticket servers alone, and a PostgreSQL node would have to keep the catalog")
                .hint("begin anew: `shardid dev down --delete`, then `shardid dev up`"))
        }
        counts => Ok(counts),
    }
}

fn postgres(
    args: &DevUp,
    before: Option<&State>,
    account: &Account,
) -> Result<Installation, Failure> {
    let pg_config = args.pg_config.as_deref().filter(|path| !path.as_os_str().is_empty());
    let installation = match (before, pg_config) {
        (Some(state), None) => Installation::at(&state.bin)?,
        _ => installation::installation(pg_config)?,
    };
    check(&installation, account)?;
    Ok(installation)
}

/// Checks that servers of this installation can run here and know the extension.
fn check(installation: &Installation, account: &Account) -> Result<(), Failure> {
    let postgres = installation.program("postgres");
    let runs = account.command(&postgres, Path::new("/")).arg("--version").output();
    if !runs.is_ok_and(|output| output.status.success()) {
        return Err(Failure::new(format!(
            "{} cannot be run by {}",
            postgres.display(),
            account.name()
        ))
        .hint("name another PostgreSQL with `--pg-config`, or let that user into the folder"));
    }
    if installation.has_extension() {
        return Ok(());
    }
    let config = installation.program("pg_config");
    Err(Failure::new(format!(
        "the extension shardid is not installed in the PostgreSQL at {}",
        installation.bin.display()
    ))
    .hint(format!("`make install PG_CONFIG={}`", config.display())))
}

fn mysql_of(args: &DevUp, before: Option<&State>) -> Result<Mysql, Failure> {
    let program = args.mysqld.as_deref().filter(|path| !path.as_os_str().is_empty());
    match (before.and_then(|state| state.mysql.clone()), program, args.engine) {
        (Some(known), None, None) => Ok(known),
        _ => Mysql::find(program, args.engine),
    }
}

fn look_around(state: &State) {
    if let Some(first) = state.servers.first() {
        talk::line(format_args!("look around:  {}", state.psql(first)));
    }
    if let (Some(first), Some(mysql)) = (state.ticket_servers.first(), &state.mysql) {
        talk::line(format_args!("look around:  {}", mysql.client(&state.socket(first))));
    }
}

/// Stops the servers.
pub(crate) async fn down(args: &DevDown) -> Result<(), Failure> {
    let folder = folder()?;
    let Some(state) = State::load(&folder)? else {
        talk::line(format_args!("there are no servers in {EMBEDDED_FOLDER}"));
        return Ok(());
    };
    let account = account::for_servers()?;
    if !state.servers.is_empty() {
        let installation = Installation::at(&state.bin)?;
        let stopping = state.servers.iter().map(|server| {
            let server = PostgresServer::new(&state, server.clone(), &account, &installation);
            async move { server.down().await }
        });
        try_join_all(stopping).await?;
    }
    if let Some(mysql) = &state.mysql {
        let stopping = state.ticket_servers.iter().map(|server| {
            let server = mysql::MysqlServer::new(&state, server.clone(), &account, mysql);
            async move { server.down().await }
        });
        try_join_all(stopping).await?;
    }
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
    let account = account::for_servers()?;
    let mut table = Table::new([
        Column::left("NODE"),
        Column::left("STATE"),
        Column::right("PID"),
        Column::right("PORT"),
        Column::left("LOG"),
    ]);
    let mut row = |server: &ServerState, pid: Option<u32>| {
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
    };
    let mut programs = String::new();
    if !state.servers.is_empty() {
        let installation = Installation::at(&state.bin)?;
        for server in &state.servers {
            row(
                server,
                PostgresServer::new(&state, server.clone(), &account, &installation).pid().await?,
            );
        }
        programs.push_str(&format!("\nPostgreSQL in {}", state.bin.display()));
    }
    if let Some(mysql) = &state.mysql {
        for server in &state.ticket_servers {
            row(server, mysql::MysqlServer::new(&state, server.clone(), &account, mysql).pid());
        }
        programs.push_str(&format!("\n{}", mysql.shown()));
    }
    print(&table.to_string())?;
    talk::line(programs);
    look_around(&state);
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
