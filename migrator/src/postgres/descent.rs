//! Where do the writes of a node come from, by its server and the timelines before?

use std::fmt;

use shardid_cluster::{Descent, Lineage, NodeName, Whole};
use sqlx::postgres::PgConnection;

use crate::failure::Failure;
use crate::postgres::{failure, sql};

/// What a node says of where its writes come from, and of what follows it.
#[derive(sqlx::FromRow)]
pub(crate) struct DescentRow {
    system_identifier: i64,
    timeline: i64,
    database: i64,
    position: i64,
    history: Option<String>,
    slots: Vec<String>,
    lost: Vec<String>,
}

/// The same, read.
pub(crate) struct Owner {
    pub(crate) descent: Descent,
    pub(crate) slots: Vec<String>,
    /// Those of them that are lost for good.
    lost: Vec<String>,
}

impl Owner {
    /// Asks a node; none of a standby.
    pub(crate) async fn of(
        connection: &mut PgConnection,
        node: &NodeName,
    ) -> Result<Option<Self>, Failure> {
        let row: Option<DescentRow> =
            sqlx::query_as(sql!("move/slots.sql", "move/clean/descent.sql"))
                .fetch_optional(connection)
                .await
                .map_err(|error| failure(node, &error))?;
        Ok(row.map(Self::from))
    }

    /// Why nobody can follow by a slot of this node any more, if that is so.
    pub(crate) fn fault(&self, slot: &str) -> Option<SlotFault> {
        let is_in = |slots: &[String]| slots.iter().any(|other| other == slot);
        match () {
            () if !is_in(&self.slots) => Some(SlotFault::Gone),
            () if is_in(&self.lost) => Some(SlotFault::Lost),
            () => None,
        }
    }
}

/// Why nobody can follow by a slot any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotFault {
    /// It is not there, as where the database was restored.
    Gone,
    /// It is there, so nothing was restored, and its server keeps nothing for it any more.
    Lost,
}

impl fmt::Display for SlotFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "is gone",
            Self::Lost => "is lost for good (see wal_status in pg_replication_slots)",
        })
    }
}

impl From<DescentRow> for Owner {
    fn from(row: DescentRow) -> Self {
        let now = Lineage {
            system_identifier: row.system_identifier,
            timeline: u32::try_from(row.timeline).unwrap_or_default(),
        };
        let database = u32::try_from(row.database).unwrap_or_default();
        let position = row.position.cast_unsigned();
        let left = row.history.as_deref().map(timelines).unwrap_or_default();
        Self {
            descent: Descent { now, database, position, left },
            slots: row.slots,
            lost: row.lost,
        }
    }
}

/// A timeline history file: timeline, position, and why it was left.
fn timelines(history: &str) -> Vec<(u32, u64)> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let timeline = words.next()?.parse().ok()?;
        let (high, low) = words.next()?.split_once('/')?;
        let (high, low) = (u64::from_str_radix(high, 16).ok()?, u64::from_str_radix(low, 16).ok()?);
        Some((timeline, (high << 32) | low))
    };
    history.lines().filter_map(line).collect()
}

/// What a node was when it had all rows of a shard, as the node that closed the shard has it noted.
#[derive(sqlx::FromRow)]
pub(crate) struct NotedRow {
    pub(crate) shard: i32,
    system_identifier: i64,
    timeline: i64,
    database: i64,
    position: i64,
}

impl NotedRow {
    /// The same, read.
    pub(crate) fn whole(&self) -> Option<Whole> {
        let of = Lineage {
            system_identifier: self.system_identifier,
            timeline: u32::try_from(self.timeline).ok()?,
        };
        let database = u32::try_from(self.database).ok()?;
        Some(Whole { of, database, position: self.position.cast_unsigned() })
    }
}
