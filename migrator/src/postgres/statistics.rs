//! What `status` tells about a node beyond what a plan needs.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use shardid_cluster::{Declared, NodeName};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, FromRow};

use crate::failure::Failure;
use crate::file::Address;
use crate::postgres::look::{Seen, look};
use crate::postgres::{connect, failure, is_sqlstate, sql};

/// A node that answered.
pub(crate) struct Statistics {
    /// What it is and has.
    pub(crate) seen: Seen,
    /// How far its clock is ahead of this machine's.
    pub(crate) skew: Skew,
    /// Bytes in the schemas of its shards; `None` where counting took too long.
    pub(crate) bytes: Option<i64>,
    /// Shards whose last id is ahead of the server's clock.
    pub(crate) drifts: Vec<Drift>,
    /// Replication slots with our name.
    pub(crate) slots: Vec<Slot>,
}

/// How far a clock is ahead of this machine's, and how sure that is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Skew {
    pub(crate) ahead_us: i64,
    pub(crate) error_us: i64,
}

/// A shard that is ahead of the clock.
#[derive(Debug, FromRow)]
pub(crate) struct Drift {
    pub(crate) shard: i32,
    pub(crate) drift_ms: i64,
}

/// A replication slot.
#[derive(Debug, FromRow)]
pub(crate) struct Slot {
    pub(crate) slot: String,
    pub(crate) active: bool,
    pub(crate) bytes: i64,
    /// Whether nobody can follow by it any more.
    pub(crate) is_lost: bool,
}

/// Asks a node for everything that `status` shows.
pub(crate) async fn ask(
    declared: &Declared,
    node: &NodeName,
    address: &Address,
) -> Result<Statistics, Failure> {
    let mut connection = connect(node, address, "status").await?;
    let skew = skew(&mut connection, node).await?;
    let seen = look(&mut connection, declared, node).await?;
    let failed = |error: sqlx::Error| failure(node, &error);
    let has_shards = seen.truth.extension.installed.is_some();
    let drifts = match has_shards {
        true => read_only(&mut connection, sql!("status/drift.sql")).await.map_err(failed)?,
        false => Some(Vec::new()),
    };
    let bytes: Option<Vec<(i64,)>> = match has_shards {
        true => read_only(&mut connection, sql!("status/size.sql")).await.map_err(failed)?,
        false => None,
    };
    let slots = read_only(&mut connection, sql!("move/slots.sql", "status/slots.sql"))
        .await
        .map_err(failed)?;
    let _ = connection.close().await;
    Ok(Statistics {
        seen,
        skew,
        bytes: bytes.and_then(|rows| rows.first().map(|row| row.0)),
        drifts: drifts.unwrap_or_default(),
        slots: slots.unwrap_or_default(),
    })
}

/// The rows of a query that changes nothing; `None` where it took too long.
async fn read_only<R>(
    connection: &mut PgConnection,
    query: &'static str,
) -> Result<Option<Vec<R>>, sqlx::Error>
where
    R: for<'r> FromRow<'r, sqlx::postgres::PgRow> + Send + Unpin,
{
    let mut transaction = connection.begin_with(sql!("look/begin.sql")).await?;
    sqlx::query(sql!("look/limits.sql")).execute(&mut *transaction).await?;
    let rows = sqlx::query_as(query).fetch_all(&mut *transaction).await;
    transaction.rollback().await?;
    match rows {
        Err(error) if is_sqlstate(&error, "57014") => Ok(None),
        other => other.map(Some),
    }
}

/// Compares clocks; the best of a few tries, as the first one is slow.
pub(crate) async fn skew(connection: &mut PgConnection, node: &NodeName) -> Result<Skew, Failure> {
    let mut best: Option<Skew> = None;
    for _ in 0..3 {
        let (here, start) = (now_us(), Instant::now());
        let there: i64 = sqlx::query_scalar(sql!("status/clock.sql"))
            .fetch_one(&mut *connection)
            .await
            .map_err(|error| failure(node, &error))?;
        let half = i64::try_from(start.elapsed().as_micros() / 2).unwrap_or(i64::MAX);
        if best.is_none_or(|best| half < best.error_us) {
            best = Some(Skew { ahead_us: there - here - half, error_us: half });
        }
    }
    Ok(best.expect("three tries were made"))
}

fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
