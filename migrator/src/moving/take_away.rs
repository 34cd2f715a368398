//! What a fence leaves around a shard that is open: triggers that let everybody write, and that each who writes
//! pays for.

use std::fmt;
use std::time::Duration;

use shardid_cluster::{NodeName, Shard};
use sqlx::FromRow;

use super::held::{held, holders};
use super::move_session::{Batch, MoveSession};
use crate::failure::Failure;
use crate::postgres::sql;
use crate::talk;

/// How long the lock on a table is waited for at a time: whoever comes meanwhile waits behind that.
const WAIT_MS: u64 = 100;

/// How often each table is tried, with a pause in between, and how many locks are waited for in vain in all.
const TRIES_MAX: u32 = 10;
const MISSES_MAX: u32 = 40;
const PAUSE: Duration = Duration::from_millis(100);

/// The same where something else is to go on at once.
const MISSES_IN_PASSING_MAX: u32 = 3;

/// A table that has triggers of the fence.
#[derive(Debug, FromRow)]
struct Table {
    remove: String,
    /// Where one of them is on.
    switch_off: Option<String>,
}

/// Tables on which they stay, for a lock that somebody holds.
pub(super) struct Kept {
    node: NodeName,
    tables: usize,
    /// Who holds locks there, if anybody does still.
    holders: Option<String>,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, tables, holders } = self;
        let tables = match tables {
            1 => "1 table".to_owned(),
            more => format!("{more} tables"),
        };
        write!(f, "triggers of the fence stay on {tables} on {node}, which takes writes: ")?;
        match holders {
            Some(holders) => write!(f, "locks there are held by {holders}; ")?,
            None => f.write_str("somebody held a lock there; ")?,
        }
        f.write_str("`shardid apply` takes them away later")
    }
}

/// Takes them away as far as nobody is in the way, in a moment.
pub(super) async fn in_passing(
    server: &mut MoveSession,
    shard: Shard,
    schema: &str,
) -> Result<(), Failure> {
    sweep(server, shard, schema, &mut 0, MISSES_IN_PASSING_MAX).await
}

/// Takes them away where others read and write, one table at a time. Who stays in the way keeps them.
pub(super) async fn patiently(
    server: &mut MoveSession,
    shard: Shard,
    schema: &str,
) -> Result<Option<Kept>, Failure> {
    let mut misses = 0;
    for tried in 0..TRIES_MAX {
        if tried > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        sweep(server, shard, schema, &mut misses, MISSES_MAX).await?;
        let tables = tables(server, shard, schema).await?.len();
        if tables == 0 {
            return Ok(None);
        }
        if misses >= MISSES_MAX || tried + 1 == TRIES_MAX {
            let (node, holders) = (server.node.clone(), holders(server, schema).await);
            return Ok(Some(Kept { node, tables, holders }));
        }
    }
    Ok(None)
}

/// The same, where no progress is shown.
pub(super) async fn or_say(
    server: &mut MoveSession,
    shard: Shard,
    schema: &str,
) -> Result<(), Failure> {
    if let Some(kept) = patiently(server, shard, schema).await? {
        talk::line(format_args!("  shard {shard}: {kept}"));
    }
    Ok(())
}

/// The same, where it is an error that they stay.
pub(super) async fn all_or_fail(
    server: &mut MoveSession,
    shard: Shard,
    schema: &str,
) -> Result<(), Failure> {
    match patiently(server, shard, schema).await? {
        None => Ok(()),
        Some(kept) => {
            let what = match kept.tables {
                1 => "triggers of the fence stay on 1 table".to_owned(),
                more => format!("triggers of the fence stay on {more} tables"),
            };
            Err(held(server, schema, &format!("shard {shard} is open, and {what}")).await)
        }
    }
}

async fn tables(
    server: &mut MoveSession,
    shard: Shard,
    schema: &str,
) -> Result<Vec<Table>, Failure> {
    let query = sqlx::query_as(sql!("move/fence/take_away.sql"));
    server.rows(query.bind(shard.as_sql()).bind(schema)).await
}

/// Tries each table once, each by itself: nobody who waits for one holds up another. What cannot be dropped for
/// somebody who reads is switched off.
async fn sweep(
    server: &mut MoveSession,
    shard: Shard,
    schema: &str,
    misses: &mut u32,
    most: u32,
) -> Result<(), Failure> {
    for Table { remove, switch_off } in tables(server, shard, schema).await? {
        for statement in std::iter::once(remove).chain(switch_off) {
            if *misses >= most {
                return Ok(());
            }
            match server.all_or_none(vec![statement], WAIT_MS).await? {
                Batch::Done => break,
                Batch::LockTimeout => *misses += 1,
            }
        }
    }
    Ok(())
}
