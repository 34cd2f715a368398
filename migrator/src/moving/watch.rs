//! Watching over the ways to the servers while something waits for them.
//!
//! A network that swallows packets says nothing: a statement would be waited for
//! for ever. So each node is asked now and then by a session of its own whether it
//! still answers, and whether the sessions at work are still there.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use futures_util::future::select_all;
use shardid_cluster::NodeName;

use super::journal::Move;
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{in_time, sql};

/// How often a node is asked.
const EVERY: Duration = Duration::from_secs(3);

/// How long an answer may take, with a new connection where it needs one.
const PATIENCE: Duration = Duration::from_secs(6);

/// How often in a row there is no answer before the way counts as lost.
const MISSES_MAX: u32 = 3;

/// Nodes with the server processes of the sessions that work there.
pub(crate) type Sessions = BTreeMap<NodeName, Vec<i32>>;

/// Does something, and gives it up where the way to a node is lost meanwhile.
pub(crate) async fn over<T>(
    file: &ClusterFile,
    sessions: Sessions,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let beats = sessions.into_iter().map(|(node, pids)| Box::pin(lost(file, node, pids)));
    tokio::select! {
        biased;
        outcome = work => outcome,
        (failure, ..) = select_all(beats) => Err(failure),
    }
}

/// The nodes that a move needs, whatever works there.
pub(crate) fn nodes_of(file: &ClusterFile, record: &Move) -> Sessions {
    let nodes = [&file.declared.catalog, &record.source, &record.target];
    nodes.into_iter().map(|node| (node.clone(), Vec::new())).collect()
}

/// Returns once the way to a node is lost.
async fn lost(file: &ClusterFile, node: NodeName, pids: Vec<i32>) -> Failure {
    let mut server = None;
    let mut misses = 0;
    loop {
        tokio::time::sleep(EVERY).await;
        let beat = beat(file, &node, &mut server, pids.clone());
        match tokio::time::timeout(PATIENCE, beat).await {
            Ok(Ok(true)) => misses = 0,
            Ok(Ok(false)) if in_time::has_ended(&node, &pids) => misses = 0,
            Ok(Ok(false)) => {
                return Failure::new("the server has ended our session")
                    .at(format!("node {node}"))
                    .hint("look at the server's log, and at what is between you and it");
            }
            // Sessions at work notice by themselves what is said aloud.
            Ok(Err(_)) | Err(_) => {
                server = None;
                misses += 1;
            }
        }
        if misses == MISSES_MAX {
            let seconds = (EVERY + PATIENCE).as_secs() * u64::from(MISSES_MAX);
            return Failure::new(format!("node {node} has not answered for up to {seconds} s"))
                .hint("is the server up, and the network between you and it?");
        }
    }
}

/// Whether all of these sessions are there.
async fn beat(
    file: &ClusterFile,
    node: &NodeName,
    server: &mut Option<MoveSession>,
    pids: Vec<i32>,
) -> Result<bool, Failure> {
    let server = match server {
        Some(server) => server,
        none => none.insert(MoveSession::connect(file, node).await?),
    };
    let query = sqlx::query_scalar(sql!("move/sessions.sql")).bind(pids);
    Ok(server.column::<bool>(query).await? == [true])
}
