//! The command line: every flag has its one place and its help here.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use shardid_cluster::{NodeName, Shard, ShardSet, ShardSetError, TicketName};

use crate::moving::Verify;

/// One file declares a cluster of logical shards; this program makes it so
///
/// shardid spreads logical shards over PostgreSQL servers, and each server hands
/// out unique, time-ordered 64-bit ids by itself. `shardid.toml` declares the
/// cluster; `plan` shows what is different on the servers, and `apply` changes
/// that and nothing else.
///
/// Data goes to stdout and talk to stderr. Exit codes: 0 done; 1 refused or
/// failed, with nothing half-way; 2 the command line or the cluster file makes no
/// sense; 3 a move is standing and wants `resume` or `abort`.
#[derive(Debug, Parser)]
#[command(name = "shardid", version, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "Begin with `shardid init`, or `shardid dev up` for servers to play with.")]
pub(crate) struct Cli {
    /// Cluster file
    ///
    /// Without it: `shardid.toml` here, else that of `shardid dev up`.
    #[arg(
        long,
        short,
        global = true,
        env = "SHARDID_FILE",
        value_parser = path(),
        value_name = "FILE",
        hide_env_values = true
    )]
    pub(crate) file: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a commented `shardid.toml` to begin with
    ///
    /// Refuses to overwrite a file. Nothing else is touched.
    Init(Init),

    /// Run throw-away servers to play with
    Dev {
        #[command(subcommand)]
        command: Dev,
    },

    /// Show what `apply` would change
    ///
    /// Looks at every node in a read-only transaction, so that the servers
    /// themselves forbid a change; a role that may read the tables in schema
    /// `shardid` is enough. All nodes must answer. The exit code is 0 whether
    /// there is something to do or not; `--json` tells.
    Plan(Plan),

    /// Make the servers what the cluster file says
    ///
    /// Installs or upgrades the extension and the catalogue, creates shards on
    /// their nodes, and gives every node a copy of the map. A new cluster's
    /// shards are spread by weight; a shard that has a place is never moved.
    ///
    /// Shows the plan and asks first. Only one program changes a cluster at a
    /// time; others wait. Cut at any instant (also by `kill -9`), it leaves
    /// nothing that the next `apply` does not finish. Run twice it changes
    /// nothing.
    Apply(Apply),

    /// Show nodes, versions, shards, sizes and clocks
    ///
    /// A node that does not answer is shown as down; the exit code is then 1.
    Status(Status),

    /// Show which shard lives on which node
    ///
    /// Read from the catalogue, so it is right even while nodes are down.
    Map(Map),

    /// Look for anything that could repeat or lose an id
    ///
    /// One line per finding, with the command that mends it; the exit code is
    /// then 1. Looks at all nodes in read-only transactions, so that nothing is
    /// changed; a node that cannot be looked at is a finding too. Looks for a
    /// shard open on two nodes or on none, nodes that are one database, copies of
    /// the map that differ, columns too small for ids, defaults that take ids of
    /// another shard or none, roles that may insert but take no ids, what moves
    /// have left over, clocks and extension versions apart, and layouts that end
    /// within a year.
    Verify(VerifyAll),

    /// Move shards to another node while they are in use
    ///
    /// A shard keeps taking reads throughout, and writes until the last step,
    /// where they wait for at most `--fence-seconds-max`, and then are refused
    /// with the new node's name. Everything that can refuse a move is looked at
    /// before anything is made. A move that is interrupted goes on with `shardid
    /// resume`, or is given up with `shardid abort`.
    ///
    /// The old copy stays until `shardid retire`, refuses clients, and follows
    /// the new one, so that `shardid rollback` loses nothing.
    Move(Move),

    /// Move every shard away from a node
    ///
    /// The shards go to the other nodes by weight, as with `rebalance`.
    Drain(Drain),

    /// Move as few shards as even the nodes out
    ///
    /// Shows the plan and asks first. Run twice it changes nothing.
    Rebalance(Rebalance),

    /// Show the journal of moves, and what can be done with each
    Moves(Moves),

    /// Go on with a move that is standing
    Resume(Standing),

    /// Give a move up: the shard stays where it is, and everything that was made is removed
    ///
    /// Possible until the move is switched; after that there is `rollback`.
    Abort(Standing),

    /// Go back to the old copy of a move that is done
    ///
    /// The old copy has followed since, so this is a fence and a switch, and
    /// loses nothing. It is a move of its own, which can be resumed or aborted.
    Rollback(Standing),

    /// Drop the old copy of a move that is done
    ///
    /// After it there is no way back but another move.
    Retire {
        /// Number of the move, as `shardid moves` shows it
        #[arg(value_name = "MOVE")]
        id: i64,
    },

    /// Look at and change the servers that share a ticket
    ///
    /// A ticket is a counter that several servers share by offset and step, so
    /// that none of them ever asks another: two give odd and even numbers. The
    /// cluster file declares tickets, `apply` makes them.
    Tickets {
        #[command(subcommand)]
        command: Tickets,
    },

    /// Take, read and make ids
    Id {
        #[command(subcommand)]
        command: Id,
    },

    /// Print a completion script for a shell
    ///
    /// For example: shardid completions bash > /etc/bash_completion.d/shardid
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },

    /// Write the man pages into a folder
    #[command(hide = true)]
    Man {
        /// The folder; it is made if need be
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Where to write it
    #[arg(value_name = "FILE", default_value = crate::file::FILE_NAME)]
    pub(crate) path: PathBuf,
}

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

impl std::fmt::Display for MysqlEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Mariadb => "MariaDB",
            Self::Mysql => "MySQL",
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct DevDown {
    /// Delete their data too, and `.shardid` with it
    #[arg(long)]
    pub(crate) delete: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) adopt: Adopt,
}

#[derive(Debug, Args)]
pub(crate) struct Adopt {
    /// Take the database that answers for this node, though it is another than before
    ///
    /// For a node that was restored or upgraded to a new server. The old one
    /// must be gone for good: two copies would hand out the same ids.
    #[arg(long = "adopt", value_name = "NODE")]
    pub(crate) nodes: Vec<NodeName>,

    /// This ticket server was restored from a backup: go on above all its numbers
    ///
    /// A restored server is mostly known by the mark it lacks; say this where it
    /// was restored to a moment after the last `shardid tickets verify`.
    #[arg(long, value_name = "NODE")]
    pub(crate) restored: Vec<NodeName>,

    /// Take ticket servers that repeat the last second's numbers after a power loss
    ///
    /// That is innodb_flush_log_at_trx_commit = 2, which is faster.
    #[arg(long)]
    pub(crate) accept_power_loss: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Show the plan and change nothing, as `shardid plan`
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Longest time to wait for another program that changes the cluster
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) wait_seconds_max: u32,

    #[command(flatten)]
    pub(crate) adopt: Adopt,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyAll {
    /// Look at the ids in the tables too
    ///
    /// Columns whose default takes ids are searched for ids beyond their
    /// sequence, at once where there is an index on the column, else by reading
    /// the table; and for ids of other shards or layouts, in a random sample of
    /// about 16 MiB of a table, or all of it if it is smaller.
    #[arg(long)]
    pub(crate) data: bool,

    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Map {
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: MapFormat,

    /// Go on, and print each change as it is made
    ///
    /// The map as it is comes first, then a line per change (with `--format
    /// json` an object per line), until it is ended by Ctrl-C.
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapFormat {
    /// A line per node, for people
    Table,
    /// Every shard with its node
    Json,
    /// A line per shard: shard,node
    Csv,
    /// The databases and sharded schemas of pgdog.toml
    Pgdog,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tickets {
    /// Show each ticket's servers and how far they are
    ///
    /// A server that does not answer is shown as down; the exit code is then 1.
    Status {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Let more servers hand out a ticket
    ///
    /// Every server gets another offset and step, while clients go on: first all
    /// servers are told to end their old numbers below a floor above everything
    /// handed out so far, and when all have said yes each begins its new numbers
    /// above it. A server that does not answer therefore refuses the change.
    /// Cut at any instant, no number is handed out twice, and `shardid tickets
    /// resume` goes on.
    AddServer(TicketServers),
    /// Let fewer servers hand out a ticket
    ///
    /// As with `add-server`; those that leave forget the ticket, and their
    /// clients are refused.
    RemoveServer(TicketsRemove),
    /// Go on with a change of servers that is standing
    Resume {
        /// The ticket
        ticket: TicketName,
        /// Longest time to wait for another program that changes the cluster
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        wait_seconds_max: u32,
    },
    /// Look for servers that could repeat a number
    ///
    /// Wrong offsets, servers restored from a backup or copied, tickets that are
    /// missing or where they should not be, settings with which a crash repeats
    /// numbers; exit code 1 with one line per finding and the command that mends
    /// it. Where nothing is found it remembers how far each server is, and leaves
    /// a mark there, by which one that comes back from a backup is known: run it
    /// every few minutes.
    Verify(TicketsVerify),
}

#[derive(Debug, Args)]
pub(crate) struct TicketServers {
    /// The ticket
    pub(crate) ticket: TicketName,

    /// The servers, as nodes of the cluster file
    #[arg(required = true, value_name = "NODE")]
    pub(crate) nodes: Vec<NodeName>,

    /// Show the arithmetic and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Longest time to wait for another program that changes the cluster
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) wait_seconds_max: u32,
}

#[derive(Debug, Args)]
pub(crate) struct TicketsRemove {
    #[command(flatten)]
    pub(crate) servers: TicketServers,

    /// These servers do not answer and never will again
    ///
    /// Nobody can ask them how far they got, so you must know: `--above`.
    #[arg(long, requires = "above")]
    pub(crate) gone: bool,

    /// A number at or above all that servers which are gone can have handed out
    #[arg(long, value_name = "NUMBER", requires = "gone")]
    pub(crate) above: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct TicketsVerify {
    /// Only look: remember nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Say nothing of settings with which a power loss repeats numbers
    #[arg(long)]
    pub(crate) accept_power_loss: bool,

    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Id {
    /// Take new ids of a shard, from the node it lives on
    ///
    /// Prints one id a line. They are used up: the shard never hands them out
    /// again.
    Next(IdNext),
    /// Tell time, shard and slot of ids
    ///
    /// Needs no server for the layouts that come with shardid; another layout is
    /// asked for at the catalogue node.
    Decode(IdDecode),
    /// Tell the lowest id of an instant
    ///
    /// Rows from then on are those with `id >= ` that number. Needs no server for
    /// the layouts that come with shardid.
    At(IdAt),
}

/// How moves are made.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct MoveOptions {
    /// Longest time writers may wait; past it the move goes back to following
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) fence_seconds_max: u32,

    /// How carefully both copies are compared
    #[arg(long, value_name = "HOW", default_value = "cheap")]
    pub(crate) verify: Verify,

    /// Longest time a copy, or what follows it, may stand still; past it the move stops
    ///
    /// Such as where the servers do not reach each other any more. The move is
    /// then standing.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) stall_seconds_max: u32,

    /// Hold copies and switches back while somebody is further behind than this
    ///
    /// Looks at the standbys of the target and at old copies that follow it, and
    /// at the targets of other moves from the same source. Without it nobody is
    /// waited for.
    #[arg(long, value_name = "MEGABYTES", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) lag_mb_max: Option<u32>,
}

/// How several moves are made.
#[derive(Debug, Args)]
pub(crate) struct ManyMoves {
    #[command(flatten)]
    pub(crate) options: MoveOptions,

    /// Do not have the old copy follow the new one: there is no rollback then
    #[arg(long)]
    pub(crate) no_rollback: bool,

    /// How many shards to move at once
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16))]
    pub(crate) parallel: u16,

    /// Show the plan, check it, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Move {
    /// Logical shards, as in the map: 5 or 5-12 or 3,5-12
    #[arg(value_name = "SHARDS", required = true)]
    pub(crate) shards: Vec<ShardSet>,

    /// Node that is to hold them
    #[arg(long, value_name = "NODE")]
    pub(crate) to: NodeName,

    #[command(flatten)]
    pub(crate) how: ManyMoves,
}

#[derive(Debug, Args)]
pub(crate) struct Drain {
    /// Node to empty
    pub(crate) node: NodeName,

    #[command(flatten)]
    pub(crate) how: ManyMoves,
}

#[derive(Debug, Args)]
pub(crate) struct Rebalance {
    /// What to even out
    #[arg(long, value_name = "WHAT", default_value = "count")]
    pub(crate) by: By,

    /// The most moves to make
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_moves: Option<u32>,

    /// Node to leave alone: it neither gives nor takes shards
    #[arg(long, value_name = "NODE")]
    pub(crate) exclude: Vec<NodeName>,

    #[command(flatten)]
    pub(crate) how: ManyMoves,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The number of shards
    Count,
    /// Their bytes on disk
    Size,
}

#[derive(Debug, Args)]
pub(crate) struct Moves {
    /// Print it as JSON, with the time in each state
    #[arg(long)]
    pub(crate) json: bool,

    /// How many of the moves that are over to show
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) over: u32,
}

#[derive(Debug, Args)]
pub(crate) struct Standing {
    /// Number of the move, as `shardid moves` shows it
    #[arg(value_name = "MOVE")]
    pub(crate) id: i64,

    #[command(flatten)]
    pub(crate) options: MoveOptions,
}

#[derive(Debug, Args)]
pub(crate) struct IdNext {
    /// Logical shard
    #[arg(value_parser = shard)]
    pub(crate) shard: Shard,

    /// How many
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(i32).range(1..=10_000_000))]
    pub(crate) count: i32,
}

#[derive(Debug, Args)]
pub(crate) struct IdDecode {
    /// Ids, as numbers or in their 13-character text form
    #[arg(required = true, value_name = "ID", allow_negative_numbers = true)]
    pub(crate) ids: Vec<String>,

    #[command(flatten)]
    pub(crate) layout: LayoutArg,

    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct IdAt {
    /// When: 2026-11-21, 2026-11-21T08:30:00Z, "2026-11-21 08:30" (your time
    /// zone), now, or as in "2 hours ago"
    #[arg(value_name = "TIME")]
    pub(crate) time: String,

    #[command(flatten)]
    pub(crate) layout: LayoutArg,
}

#[derive(Debug, Args)]
pub(crate) struct LayoutArg {
    /// Layout of the ids
    ///
    /// Without it: that of the cluster file, or `instagram` where there is none.
    #[arg(long, value_name = "NAME")]
    pub(crate) layout: Option<String>,
}

fn shard(text: &str) -> Result<Shard, ShardSetError> {
    // As in a set of shards, and just one.
    let set: ShardSet = text.parse()?;
    match (set.first(), set.len()) {
        (Some(shard), 1) => Ok(shard),
        _ => Err(ShardSetError::Form(text.to_owned())),
    }
}

/// A path; an empty variable in the environment is none.
fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}
