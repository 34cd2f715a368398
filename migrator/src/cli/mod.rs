//! The command line: every flag has its one place and its help here.

mod dev;
mod id;
mod moving;
mod tickets;
mod value;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use shardid_cluster::{NameError, NodeName, TicketName};

pub(crate) use dev::{Dev, DevDown, DevUp, MysqlEngine};
pub(crate) use id::{Id, IdAt, IdDecode, IdNext, LayoutArg};
pub(crate) use moving::{
    Abort, By, Drain, EndMoves, ManyMoves, Move, MoveOptions, Moves, Rebalance, Retire, Several,
    Standing,
};
pub(crate) use tickets::{TicketServers, Tickets, TicketsRemove, TicketsVerify};
use value::path;

/// One file declares a cluster of logical shards; this program makes it so
///
/// shardid spreads logical shards over PostgreSQL servers, and each server hands
/// out unique, time-ordered 64-bit ids by itself. `shardid.toml` declares the
/// cluster; `plan` shows what is different on the servers, and `apply` changes
/// that and nothing else.
///
/// Data goes to stdout and messages to stderr. Exit codes: 0 done; 1 refused or
/// failed, with nothing half-way; 2 the command line or the cluster file is
/// invalid; 3 a move is unfinished and wants `resume` or `abort`, or a change of the
/// servers of a ticket wants `tickets resume`.
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
    /// Installs or upgrades the extension and the catalog, creates shards on
    /// their nodes, and gives every node a copy of the map. A new cluster's
    /// shards are spread by weight; a shard that has a place is never moved.
    /// Makes the tickets, and lets servers that have forgotten numbers go on above
    /// them; it adds and removes no server of a ticket.
    ///
    /// Shows the plan and asks first. Only one program changes a cluster at a
    /// time; others wait. Interrupted at any point (also by `kill -9`), it leaves
    /// nothing that the next `apply` does not finish. Run twice it changes
    /// nothing.
    Apply(Apply),

    /// Make the catalog anew where it is lost
    Catalog {
        #[command(subcommand)]
        command: Catalog,
    },

    /// Show nodes, versions, shards, sizes and clocks
    ///
    /// A node that does not answer is shown as down; the exit code is then 1.
    Status(Status),

    /// Show which shard lives on which node
    ///
    /// Read from the catalog, so it is right even while nodes are down.
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

    /// Even out the nodes with as few moves as possible
    ///
    /// Shows the plan and asks first. Run twice it changes nothing.
    Rebalance(Rebalance),

    /// Show the journal of moves, and what can be done with each
    Moves(Moves),

    /// Go on with a move that is unfinished
    Resume(Standing),

    /// Give a move up: the shard stays where it is, and everything that was made is removed
    ///
    /// Possible until the move is switched; after that there is `rollback`. A switched move whose new node was
    /// promoted or restored without rows that had come to it goes back to the old node, which has them.
    Abort(Abort),

    /// Go back to the old copy of a move that is done
    ///
    /// The old copy has followed since, so this is a fence and a switch, and
    /// loses nothing. It is a move of its own, which can be resumed or aborted.
    Rollback(EndMoves),

    /// Drop the old copies of moves that are done
    ///
    /// After it there is no way back but another move.
    Retire(Retire),

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

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) adopt: Adopt,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Catalog {
    /// Take the map from the nodes, where the catalog is lost or older than they are
    ///
    /// All nodes must answer, and each shard be on exactly one of them. The node that the
    /// cluster file names as `catalog` becomes the catalog, and the map begins a new term:
    /// its version is above all that anybody has read. Moves that were unfinished are ended in
    /// its journal, if it has one; `shardid verify` then shows what they left.
    ///
    /// Shows the plan and asks first. Refused where the catalog is as new as the nodes.
    Rebuild(Rebuild),
}

#[derive(Debug, Args)]
pub(crate) struct Rebuild {
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Show the plan and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Longest time to wait for another program that changes the cluster
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) wait_seconds_max: u32,

    /// Have shards go back whose new node may have lost rows
    ///
    /// Where a lost move had closed a shard on one node, and nothing shows that the other has all of its rows, as
    /// one that was promoted or restored since, the rebuild is refused. With this the shard is opened again where
    /// it was closed, with all rows from before. Had it been opened on the other, what was written there is lost.
    #[arg(long)]
    pub(crate) accept_loss: bool,

    #[command(flatten)]
    pub(crate) adopt: Adopt,
}

/// A number at or above all that was handed out, of one ticket or of all.
#[derive(Debug, Clone)]
pub(crate) struct Above {
    pub(crate) ticket: Option<TicketName>,
    pub(crate) number: u64,
}

impl FromStr for Above {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (ticket, number) = match text.split_once('=') {
            Some((ticket, number)) => {
                (Some(ticket.parse().map_err(|error: NameError| error.to_string())?), number)
            }
            None => (None, text),
        };
        let number = number.parse().map_err(|_| format!("{number} is no number"))?;
        Ok(Self { ticket, number })
    }
}

#[derive(Debug, Default, Args)]
pub(crate) struct Adopt {
    /// Take the database that answers for this node, though it is another than before
    ///
    /// For a node that was restored or upgraded to a new server. The old one
    /// must be gone for good: two copies would hand out the same ids.
    #[arg(long = "adopt", value_name = "NODE")]
    pub(crate) nodes: Vec<NodeName>,

    /// This ticket server was restored: go on above all its numbers
    ///
    /// A restored server is mostly known by the mark it lacks; say this where it
    /// was restored to a moment after the last `shardid tickets verify`. Tickets that
    /// are not in the cluster file are named, not raised.
    ///
    /// Where nobody else remembers how far it was, say that too: `--above`. So it is where a server
    /// is alone with its catalog, and where all are restored.
    #[arg(long, value_name = "NODE")]
    pub(crate) restored: Vec<NodeName>,

    /// At or above all that restored servers can have handed out
    ///
    /// Your own tables know it: the highest one in all columns that hold their tickets, or
    /// TICKET=NUMBER for one ticket; of several numbers the highest counts. They go on 100,000 above it, and
    /// never below what is known otherwise: all up to there is left out, which costs something of Tickets32 alone.
    #[arg(long, value_name = "[TICKET=]NUMBER", requires = "restored")]
    pub(crate) above: Vec<Above>,

    /// Take ticket servers that repeat the last second's numbers after a power loss
    ///
    /// That is innodb_flush_log_at_trx_commit = 2, which is faster, or sync_binlog other than 1.
    #[arg(long)]
    pub(crate) accept_power_loss: bool,

    /// Take servers that hand out a ticket, and are not in the cluster file, for gone for good
    ///
    /// The others go on above all that they know of. Where such a server has handed out higher
    /// numbers, or is there still, numbers repeat: put it into the file instead.
    #[arg(long)]
    pub(crate) accept_unseen: bool,
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

    /// Give nodes that follow others new secrets to log in with
    ///
    /// A secret is made where it is needed, nobody types it, and it stands in the subscriptions
    /// of the node that follows alone, and so in a dump of that node by a superuser. After
    /// this, one that somebody has seen is worth nothing. What follows connects anew, and what
    /// is being copied begins again.
    #[arg(long)]
    pub(crate) new_secrets: bool,

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

    /// Longest time that a look at a table may take with `--data`; past it the table is named
    #[arg(long, requires = "data", hide_short_help = true, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) table_seconds_max: u32,

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
