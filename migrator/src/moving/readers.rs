//! Whether the streams of moves are read: one that is not keeps WAL until a disk is full.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use shardid_cluster::{MoveState, NodeName};

use super::journal::Move;
use super::login;
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::descent::SlotFault;
use crate::postgres::sql;

/// A reader that has failed is tried again by its server within this time.
const AGAIN: Duration = Duration::from_secs(2);

/// A new reader comes within this time: its server looks for new ones from time to time (`wal_retrieve_retry_interval`),
/// and moves end beside each other.
const FIRST: Duration = Duration::from_secs(15);

/// A stream that nobody reads, or that could not be looked at.
pub(crate) struct Reader {
    pub(crate) id: i64,
    /// Whether it is an old copy that should follow.
    pub(crate) old_copy: bool,
    /// Who should read.
    pub(crate) reader: NodeName,
    pub(crate) slot: String,
    /// Where the slot is.
    pub(crate) node: NodeName,
    pub(crate) kept_bytes: i64,
    /// Whether the slot is lost for good.
    is_lost: bool,
    /// Why the reader cannot connect, if it cannot.
    pub(crate) refused: Option<String>,
    /// Whether its move has just come to where it is read.
    is_new: bool,
}

impl Reader {
    /// That it cannot connect, and what mends that.
    pub(crate) fn refusal(&self) -> Option<Failure> {
        let why = self.refused.as_ref()?;
        Some(login::refused(&self.reader, &self.node, why))
    }

    /// Whether the slot is lost for good: nobody can read it any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// That the copy of a move that stands cannot follow any more, and what is to be done. Of an old copy that
    /// is kept more is to be said than this.
    pub(crate) fn lost(&self) -> Option<(String, String)> {
        let Self { id, reader, slot, node, .. } = self;
        let (is_of_move, fault) = (!self.old_copy && self.is_lost, SlotFault::Lost);
        is_of_move.then(|| {
            (
                format!(
                    "the copy on {reader} cannot follow any more: slot {slot} of {node} {fault}"
                ),
                format!("`shardid abort {id}`"),
            )
        })
    }
}

/// The streams of these moves that nobody reads, on the nodes that answer.
pub(crate) async fn readers(file: &ClusterFile, moves: &[Move]) -> Vec<Reader> {
    let looked = by_node(moves).into_iter().map(|(node, wanted)| async move {
        // A node that does not answer is for `shardid status`.
        unread(file, &node, wanted).await.unwrap_or_default()
    });
    let mut unread: Vec<Reader> = join_all(looked).await.into_iter().flatten().collect();
    let silent = unread.iter_mut().filter(|reader| !reader.is_lost);
    join_all(silent.map(|reader| ask(file, reader))).await;
    unread.retain(|reader| reader.is_lost || reader.refused.is_some() || !reader.is_new);
    unread
}

/// Those of them that are lost for good.
pub(crate) async fn lost_streams(file: &ClusterFile, moves: &[Move]) -> Vec<Reader> {
    let looked = by_node(moves).into_iter().map(|(node, mut wanted)| async move {
        let mut server = MoveSession::look(file, &node).await.ok()?;
        look(&mut server, &mut wanted).await.ok()?;
        wanted.retain(|reader| reader.is_lost);
        Some(wanted)
    });
    join_all(looked).await.into_iter().flatten().flatten().collect()
}

/// The streams that should be read, by the node that has the slot.
fn by_node(moves: &[Move]) -> BTreeMap<NodeName, Vec<Reader>> {
    let mut by_node: BTreeMap<NodeName, Vec<Reader>> = BTreeMap::new();
    for record in moves {
        let goes_back = |m: &Move| m.rollback_of == Some(record.id) && !m.state.is_over();
        // A move back that stands reads it, or has ended that: it is what is to be gone on with.
        let old_copy = record.has_old_copy() && record.way_back && !moves.iter().any(goes_back);
        let under_way = matches!(record.state, MoveState::Following | MoveState::Fenced);
        let (node, reader, slot) = match (old_copy, under_way) {
            (true, _) => (&record.target, &record.source, record.way_back_stream()),
            (_, true) => (&record.source, &record.target, record.stream()),
            _ => continue,
        };
        by_node.entry(node.clone()).or_default().push(Reader {
            id: record.id,
            old_copy,
            reader: reader.clone(),
            slot,
            node: node.clone(),
            kept_bytes: 0,
            is_lost: false,
            refused: None,
            is_new: old_copy && is_new(record.since_us),
        });
    }
    by_node
}

/// Whether that was just now, by the clock here.
fn is_new(since_us: i64) -> bool {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let since = Duration::from_micros(u64::try_from(since_us).unwrap_or_default());
    now.checked_sub(since).is_none_or(|passed| passed < FIRST)
}

/// Finds out whether it is for want of a connection that a stream is not read.
async fn ask(file: &ClusterFile, reader: &mut Reader) {
    let Ok(publisher) = file.address(&reader.node) else { return };
    // The same: a node that does not answer is for `shardid status`.
    let Ok(mut follower) = MoveSession::look(file, &reader.reader).await else { return };
    let asked = login::try_again(&mut follower, &reader.slot, publisher.connect_timeout());
    reader.refused = asked.await.unwrap_or_default();
}

async fn unread(
    file: &ClusterFile,
    node: &NodeName,
    mut wanted: Vec<Reader>,
) -> Result<Vec<Reader>, Failure> {
    let mut server = MoveSession::look(file, node).await?;
    for tried in 0..2 {
        look(&mut server, &mut wanted).await?;
        if wanted.iter().all(|reader| reader.is_lost) {
            break;
        }
        if tried == 0 {
            tokio::time::sleep(AGAIN).await;
        }
    }
    Ok(wanted)
}

/// Keeps those that nobody reads now, with what their node says of each.
async fn look(server: &mut MoveSession, wanted: &mut Vec<Reader>) -> Result<(), Failure> {
    let slots: Vec<String> = wanted.iter().map(|reader| reader.slot.clone()).collect();
    let query = sqlx::query_as(sql!("move/slots.sql", "move/stream/readers.sql")).bind(slots);
    let found: Vec<(String, bool, i64, bool)> = server.rows(query).await?;
    wanted.retain_mut(|reader| {
        let slot = found.iter().find(|(slot, ..)| *slot == reader.slot);
        let Some((_, active, bytes, is_lost)) = slot else { return false };
        (reader.kept_bytes, reader.is_lost) = (*bytes, *is_lost);
        !active
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_has_a_while_to_come_and_no_longer() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let before = |passed: Duration| i64::try_from((now - passed).as_micros()).unwrap();
        assert!(is_new(before(Duration::ZERO)));
        assert!(is_new(before(FIRST - Duration::from_secs(1))));
        assert!(!is_new(before(FIRST + Duration::from_secs(1))));
        // A clock that is behind the catalog's.
        assert!(is_new(before(Duration::ZERO) + 5_000_000));
    }
}
