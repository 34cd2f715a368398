//! Ids, by hand.

use clap::{Args, Subcommand};
use shardid_cluster::Shard;

use super::value::shard;

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
    /// asked for at the catalog node.
    Decode(IdDecode),
    /// Tell the lowest id of an instant
    ///
    /// Rows from then on are those with `id >= ` that number. Needs no server for
    /// the layouts that come with shardid.
    At(IdAt),
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
