//! Throw-away servers.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use shardid_servers::Engine;

use super::value::path;

#[derive(Debug, Subcommand)]
pub(crate) enum Dev {
    /// Start servers, making those that are not there yet
    ///
    /// The servers are real ones, of an installed PostgreSQL (and MySQL or MariaDB
    /// for `--ticket-servers`), and live in `.shardid` here, with their logs in `.shardid/log` and a cluster file that
    /// every command uses where there is no `shardid.toml`. They listen on free
    /// ports of 127.0.0.1 (the password is in `.shardid/pgpass`) and on sockets
    /// that only you can reach (no password). Run again it starts what is not
    /// running and adds what is missing.
    ///
    /// PostgreSQL refuses to run as root: then the servers belong to user
    /// `postgres`, or `nobody`.
    Up(DevUp),
    /// Stop them
    ///
    /// Their data stays, for the next `dev up`, unless `--delete` is given.
    Down(DevDown),
    /// Show them
    Status,
}

#[derive(Debug, Args)]
pub(crate) struct DevUp {
    /// How many PostgreSQL nodes
    ///
    /// Two where it is not said. More than there are adds nodes; fewer takes
    /// none away. 0 is for ticket servers alone.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(0..=64))]
    pub(crate) nodes: Option<u16>,

    /// How many MySQL or MariaDB servers that share a ticket
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=64))]
    pub(crate) ticket_servers: u16,

    /// Which of the two the ticket servers are
    ///
    /// Without it: what is installed, MariaDB first.
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<MysqlEngine>,

    /// The mysqld or mariadbd to use
    ///
    /// Without it: the one on the path, or in /usr/sbin.
    #[arg(long, env = "SHARDID_MYSQLD", value_name = "FILE", hide_env_values = true, value_parser = path())]
    pub(crate) mysqld: Option<PathBuf>,

    /// How many logical shards their cluster file declares
    ///
    /// Fixed once the servers are there; 64 where it is not said.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) shards: Option<u32>,

    /// The pg_config of the PostgreSQL to use
    ///
    /// Without it: the one on the path, or the newest that is installed, if it
    /// has the extension.
    #[arg(long, env = "PG_CONFIG", value_name = "FILE", hide_env_values = true, value_parser = path())]
    pub(crate) pg_config: Option<PathBuf>,
}

/// Which server speaks MySQL's language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MysqlEngine {
    /// MariaDB
    Mariadb,
    /// MySQL
    Mysql,
}

impl From<MysqlEngine> for Engine {
    fn from(engine: MysqlEngine) -> Self {
        match engine {
            MysqlEngine::Mariadb => Self::MariaDb,
            MysqlEngine::Mysql => Self::MySql,
        }
    }
}

impl From<Engine> for MysqlEngine {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::MariaDb => Self::Mariadb,
            Engine::MySql => Self::Mysql,
        }
    }
}

impl std::fmt::Display for MysqlEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Engine::from(*self).fmt(f)
    }
}

#[derive(Debug, Args)]
pub(crate) struct DevDown {
    /// Delete their data too, and `.shardid` with it
    #[arg(long)]
    pub(crate) delete: bool,
}
