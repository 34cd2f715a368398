//! Has the node that a shard moved to lost what its old copy still has?

use shardid_cluster::{Ahead, Descent, Lineage, ahead};

use super::journal::Move;
use super::move_session::MoveSession;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::sql;

/// What a node says of where its writes come from, and of what follows it.
#[derive(sqlx::FromRow)]
pub(crate) struct DescentRow {
    system_identifier: i64,
    timeline: i64,
    position: i64,
    history: Option<String>,
    slots: Vec<String>,
}

/// The same, read.
pub(crate) struct Owner {
    pub(crate) descent: Descent,
    slots: Vec<String>,
}

impl From<DescentRow> for Owner {
    fn from(row: DescentRow) -> Self {
        let now = Lineage {
            system_identifier: row.system_identifier,
            timeline: u32::try_from(row.timeline).unwrap_or_default(),
        };
        let position = row.position.cast_unsigned();
        let left = row.history.as_deref().map(timelines).unwrap_or_default();
        Self { descent: Descent { now, position, left }, slots: row.slots }
    }
}

impl Owner {
    /// Whether the old copy of a move may have what this node has lost.
    pub(crate) fn is_behind(
        &self,
        id: i64,
        followed: Option<Lineage>,
        reached: Option<i64>,
    ) -> Option<Ahead> {
        let has_slot = self.slots.contains(&format!("shardid_back_{id}"));
        ahead(followed, &self.descent, reached.map(i64::cast_unsigned), has_slot)
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

/// Of which server and timeline a node's writes are.
pub(super) async fn descent(server: &mut MoveSession) -> Result<Owner, Failure> {
    let row: Option<DescentRow> =
        server.row(sqlx::query_as(sql!("move/clean/descent.sql"))).await?;
    let standby = || Failure::new("it is a standby").at(format!("node {}", server.node));
    row.map(Owner::from).ok_or_else(standby)
}

/// Why the old copy of a move may have rows that its new node has lost.
async fn look(
    source: &mut MoveSession,
    target: &mut MoveSession,
    record: &Move,
) -> Result<Option<Ahead>, Failure> {
    // Without a way back the copy has had nothing from there.
    if !record.way_back {
        return Ok(None);
    }
    // Before the node is asked, which goes on meanwhile.
    let query = sqlx::query_as(sql!("move/clean/reached.sql"));
    let reached: Vec<(String, Option<i64>)> = source.rows(query).await?;
    let name = record.way_back_stream();
    let reached = reached.into_iter().find(|(other, _)| *other == name).and_then(|(_, it)| it);
    Ok(descent(target).await?.is_behind(record.id, record.followed, reached))
}

/// Refuses to drop an old copy that may have rows which the shard has lost.
pub(super) async fn check_not_ahead(
    source: &mut MoveSession,
    target: &mut MoveSession,
    record: &Move,
) -> Result<(), Failure> {
    let why = look(source, target, record).await?;
    why.map_or(Ok(()), |why| Err(refused(record, why)))
}

/// The moves of these whose old copy may have rows that the shard has lost, as far as their nodes
/// answer.
pub(crate) async fn old_copies_ahead(file: &ClusterFile, moves: &[Move]) -> Vec<Failure> {
    let mut found = Vec::new();
    for record in moves.iter().filter(|record| record.can_roll_back()) {
        let (Ok(mut source), Ok(mut target)) = (
            MoveSession::look(file, &record.source).await,
            MoveSession::look(file, &record.target).await,
        ) else {
            continue;
        };
        if let Ok(Some(why)) = look(&mut source, &mut target, record).await {
            found.push(refused(record, why));
        }
    }
    found
}

fn refused(record: &Move, why: Ahead) -> Failure {
    let Move { id, shard, source, target, .. } = record;
    Failure::new(problem(shard, source, target, why)).hint(mend(*id))
}

/// What is the matter with an old copy that may be ahead, and what is to be done about it.
pub(crate) fn problem(
    shard: impl std::fmt::Display,
    source: impl std::fmt::Display,
    target: impl std::fmt::Display,
    why: Ahead,
) -> String {
    format!(
        "the old copy of shard {shard} on {source} may have rows that node {target} has lost: {why}"
    )
}

/// What is to be done about it.
pub(crate) fn mend(id: i64) -> String {
    format!(
        "compare both copies, and bring over what is missing, as docs/when-a-move-stops.md has it; then `shardid retire {id} --accept-loss`"
    )
}
