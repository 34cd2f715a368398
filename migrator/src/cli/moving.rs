//! Moves and what can be done with one.

use std::collections::BTreeSet;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use shardid_cluster::{NodeName, ShardSet};

use crate::moving::Verify;

/// How moves are made.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct MoveOptions {
    /// Longest time writers may wait; past it the move goes back to following
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) fence_seconds_max: u32,

    /// How carefully both copies are compared
    #[arg(long, value_name = "HOW", default_value = "full")]
    pub(crate) verify: Verify,

    /// Longest time a copy, or what follows it, may stand still; past it the move stops
    ///
    /// Such as where the servers do not reach each other any more. The move is
    /// then standing.
    #[arg(long, hide_short_help = true, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) stall_seconds_max: u32,

    /// Hold copies and switches back while somebody is further behind than this
    ///
    /// Looks at the standbys of the target and at old copies that follow it, and
    /// at the targets of other moves from the same source. Without it nobody is
    /// waited for.
    #[arg(long, hide_short_help = true, value_name = "MEGABYTES", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) lag_mb_max: Option<u32>,
}

/// How the rows of a shard are copied.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct CopyOptions {
    /// By how many sessions at once the rows of a shard are copied, large tables in parts
    ///
    /// With 1, PostgreSQL's own workers copy them, a table each.
    #[arg(long, hide_short_help = true, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=32))]
    pub(crate) jobs: u16,
}

/// How several moves are made.
#[derive(Debug, Args)]
pub(crate) struct ManyMoves {
    #[command(flatten)]
    pub(crate) options: MoveOptions,

    #[command(flatten)]
    pub(crate) copy: CopyOptions,

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

    /// Its source, which never comes back after the move was switched
    ///
    /// The shard is opened on the target, which has all rows, and the old copy is forgotten. It is
    /// refused while the node answers. An aborting move ends without its target in the same way.
    #[arg(long, value_name = "NODE")]
    pub(crate) gone: Option<NodeName>,

    /// Open the shard on its new node though that may have lost rows
    ///
    /// Where that node was promoted or restored after the move was switched, it may lack what had come to it
    /// last. `abort` goes back to the old node, which has all rows; with this the shard goes on with what the
    /// new one has, and the old copy is kept. Where it is the old node that was, it is open again, and with this is closed.
    #[arg(long)]
    pub(crate) accept_loss: bool,

    #[command(flatten)]
    pub(crate) options: MoveOptions,

    #[command(flatten)]
    pub(crate) copy: CopyOptions,
}

/// Moves by their numbers: `3`, `1-3`, `1-3,7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers(Vec<i64>);

/// The most moves that one list may name.
const NUMBERS_MAX: i64 = 100_000;

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |word: &str| match word.trim().parse::<i64>() {
            Ok(number) if number > 0 => Ok(number),
            _ => {
                Err(format!("{:?} is not the number of a move; a list is like 1-3,7", word.trim()))
            }
        };
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if last < first || last - first >= NUMBERS_MAX {
                return Err(format!("{:?} is not a range of moves", part.trim()));
            }
            numbers.extend(first..=last);
        }
        Ok(Self(numbers))
    }
}

/// Moves that something is done about which drops data or switches traffic.
#[derive(Debug, Args)]
pub(crate) struct Several {
    /// Numbers of the moves, as `shardid moves` shows them: 3 or 1-3 or 1-3,7
    #[arg(value_name = "MOVES", required_unless_present = "all", conflicts_with = "all")]
    moves: Vec<Numbers>,

    /// All moves for which there is something to do
    #[arg(long)]
    pub(crate) all: bool,

    /// Show what would be done, and change nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

impl Several {
    /// The numbers that were given, each once and in order.
    pub(crate) fn ids(&self) -> BTreeSet<i64> {
        self.moves.iter().flat_map(|numbers| numbers.0.iter().copied()).collect()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Retire {
    #[command(flatten)]
    pub(crate) several: Several,

    /// A node that never comes back: forget the old copies that were there
    ///
    /// It is refused while the node answers. Rows that an old copy alone had are gone with the node, so
    /// that --accept-loss is not said beside it.
    #[arg(long, value_name = "NODE")]
    pub(crate) gone: Option<NodeName>,

    /// Drop an old copy though it may have rows that the shard has lost
    ///
    /// Where the node that has the shard was promoted or restored, its old copy may have followed
    /// further than that node goes back to. Compare both first.
    #[arg(long, conflicts_with = "gone")]
    pub(crate) accept_loss: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Abort {
    #[command(flatten)]
    pub(crate) moves: EndMoves,

    /// A target that never comes back: what was made there is gone with it
    ///
    /// It is refused while the node answers.
    #[arg(long, value_name = "NODE")]
    pub(crate) gone: Option<NodeName>,

    /// Lose what is on the new node alone
    ///
    /// Before the switch: drop a copy that may have rows which the shard's node has lost, because that was
    /// promoted or restored. Compare both first. A switched move is given up only where its new node was promoted or restored without rows that
    /// the old one has, or never comes back. Where it had been opened before, what was written there since is lost.
    #[arg(long)]
    pub(crate) accept_loss: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EndMoves {
    #[command(flatten)]
    pub(crate) several: Several,

    #[command(flatten)]
    pub(crate) options: MoveOptions,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_moves_names_each_and_refuses_what_is_none() {
        let ids = |text: &str| text.parse::<Numbers>().map(|numbers| numbers.0);
        assert_eq!(ids("3"), Ok(vec![3]));
        assert_eq!(ids("1-3,7"), Ok(vec![1, 2, 3, 7]));
        for wrong in ["", "0", "-1", "1-", "3-1", "x", "1,,2", "1-9223372036854775807"] {
            assert!(ids(wrong).is_err(), "{wrong:?}");
        }
    }
}
