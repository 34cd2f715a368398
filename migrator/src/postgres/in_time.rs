//! What is to be over in time, whatever a statement calls.
//!
//! A cancel and `statement_timeout` are errors, and a function of a table's owner may catch these and
//! go on. That its session is ended, it cannot catch.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use shardid_cluster::NodeName;

use super::{connect, failure, sql};
use crate::failure::Failure;
use crate::file::Address;

/// How long a statement that was cancelled may take to end before its session is ended.
const LATE: Duration = Duration::from_secs(5);

/// How long it is tried to end one.
const TRIED: Duration = Duration::from_secs(10);

/// The sessions that were ended, or are about to be.
static ENDED: Mutex<BTreeSet<(NodeName, i32)>> = Mutex::new(BTreeSet::new());

/// Whether we have ended one of these sessions ourselves.
pub(crate) fn has_ended(node: &NodeName, pids: &[i32]) -> bool {
    let ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    pids.iter().any(|pid| ended.contains(&(node.clone(), *pid)))
}

/// Does something; none where that was not over in time, and is given up.
pub(crate) async fn within<T>(most: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(most + LATE, work).await.ok()
}

/// Ends those of these sessions that are still at a statement, and says so; none where there is none, or the node
/// does not answer.
pub(crate) async fn end(node: &NodeName, address: &Address, pids: Vec<i32>) -> Option<Failure> {
    let about: Vec<(NodeName, i32)> = pids.iter().map(|pid| (node.clone(), *pid)).collect();
    ENDED.lock().unwrap_or_else(PoisonError::into_inner).extend(about.iter().cloned());
    let ended = tokio::time::timeout(TRIED, terminate(node, address, pids)).await;
    let ended = ended.ok().and_then(Result::ok).unwrap_or_default();
    if ended.is_empty() {
        let mut known = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        about.iter().for_each(|it| {
            known.remove(it);
        });
        return None;
    }
    let ended: Vec<String> = ended.iter().map(i32::to_string).collect();
    let process = ended.join(", ");
    let what = format!(
        "a statement went on after its time was over, and its session (process {process}) was ended"
    );
    Some(Failure::new(what).at(format!("node {node}")).hint(
        "a function that an index or a constraint there calls may catch a cancel (EXCEPTION WHEN query_canceled): \
         ask the owner of the table",
    ))
}

async fn terminate(
    node: &NodeName,
    address: &Address,
    pids: Vec<i32>,
) -> Result<Vec<i32>, Failure> {
    let mut connection = connect(node, address, "end").await?;
    let query = sqlx::query_scalar(sql!("session/end.sql")).bind(pids);
    query.fetch_all(&mut connection).await.map_err(|error| failure(node, &error))
}
