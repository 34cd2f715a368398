//! The servers that share a ticket.

use clap::{Args, Subcommand};
use shardid_cluster::{NodeName, TicketName};

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
    /// Interrupted at any point, no number is handed out twice, and `shardid tickets
    /// resume` goes on.
    AddServer(TicketServers),
    /// Let fewer servers hand out a ticket
    ///
    /// As with `add-server`; those that leave hand out nothing more, and refuse
    /// their clients.
    RemoveServer(TicketsRemove),
    /// Go on with a change of servers that is unfinished
    Resume {
        /// The ticket
        ticket: TicketName,
        /// A server of it that never comes back: end the change without it
        ///
        /// It is refused while the server answers and has the ticket. Until every old server has
        /// its end, you must know how far one that is gone has got: `--above`. Where others have new
        /// numbers already, it stays a server that nobody asks until `remove-server --gone`.
        #[arg(long, value_name = "NODE")]
        gone: Vec<NodeName>,
        /// A number at or above all that servers which are gone can have handed out
        #[arg(long, value_name = "NUMBER", requires = "gone")]
        above: Option<u64>,
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
