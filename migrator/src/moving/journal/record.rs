//! A move, and what it has left, as the journal has them.

use shardid_cluster::{
    LeftoverKind, Lineage, MoveKind, MoveState, NodeName, Origin, Shard, UnknownWord, Whole,
};

use crate::failure::Failure;

/// A move as the journal has it.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    pub(crate) id: i64,
    pub(crate) shard: Shard,
    pub(crate) source: NodeName,
    pub(crate) target: NodeName,
    pub(crate) kind: MoveKind,
    pub(crate) rollback_of: Option<i64>,
    pub(crate) schema: String,
    pub(crate) way_back: bool,
    pub(crate) state: MoveState,
    pub(crate) shape: Option<String>,
    pub(crate) seal: Option<String>,
    /// Which server the seal is of, and on which timeline.
    pub(crate) followed: Option<Lineage>,
    /// What the source was when the copy began.
    pub(crate) origin: Option<Origin>,
    /// What the target was when it had all rows.
    pub(crate) whole: Option<Whole>,
    /// By what the source's sequences were bound then, as JSON (`move/sequence/rules.sql`).
    pub(crate) rules: Option<String>,
    /// Whether somebody may have written to the target.
    pub(crate) opening: bool,
    /// Whether the source was found open after the switch, as one that was promoted without its fence.
    pub(crate) reopened: bool,
    /// Whether the map has had the shard on the target by it.
    pub(crate) was_switched: bool,
    pub(crate) planned_us: i64,
    pub(crate) since_us: i64,
    pub(crate) retired_us: Option<i64>,
    /// Whether the old copy is being dropped, or was.
    pub(crate) retiring: bool,
    pub(crate) planned_by: String,
    /// The name of its stream, where no journal has the move.
    pub(crate) in_stream: Option<String>,
}

impl Move {
    /// The name of publication, slot and subscription that fill the target.
    pub(crate) fn stream(&self) -> String {
        if let Some(name) = &self.in_stream {
            return name.clone();
        }
        match self.rollback_of {
            // It goes back along the way that the earlier move left.
            Some(earlier) => format!("shardid_back_{earlier}"),
            None => format!("shardid_move_{}", self.id),
        }
    }

    /// The name of those by which the old copy follows.
    pub(crate) fn way_back_stream(&self) -> String {
        format!("shardid_back_{}", self.id)
    }

    /// Whether there is an old copy still, or some of it.
    pub(crate) fn has_old_copy(&self) -> bool {
        self.state == MoveState::Done && self.kind == MoveKind::Copy && self.retired_us.is_none()
    }

    /// Whether there is one, of these moves, that is neither being dropped nor the shard again.
    pub(crate) fn keeps_old_copy(&self, moves: &[Self]) -> bool {
        let takes_back = |m: &&Self| m.rollback_of == Some(self.id);
        let is_back = moves.iter().filter(takes_back).any(|m| m.state == MoveState::Switched);
        self.has_old_copy() && !self.retiring && !is_back
    }

    /// Whether the old copy follows, to be gone back to.
    pub(crate) fn can_roll_back(&self) -> bool {
        self.has_old_copy() && self.way_back && !self.retiring
    }
}

/// A row of the journal, with words that may be none.
#[derive(sqlx::FromRow)]
pub(super) struct MoveRow {
    #[sqlx(rename = "move")]
    id: i64,
    shard: i32,
    source: String,
    target: String,
    kind: String,
    rollback_of: Option<i64>,
    schema: String,
    way_back: bool,
    state: String,
    shape: Option<String>,
    seal: Option<String>,
    planned_us: i64,
    since_us: i64,
    retired_us: Option<i64>,
    retiring: bool,
    planned_by: String,
    seal_system_identifier: Option<i64>,
    seal_timeline: Option<i64>,
    #[sqlx(flatten)]
    origin: OriginRow,
    #[sqlx(flatten)]
    whole: WholeRow,
    rules: Option<String>,
    opening: bool,
    reopened: bool,
    was_switched: bool,
}

/// What the source was when the copy began, if the journal is not too old.
#[derive(Debug, sqlx::FromRow)]
struct OriginRow {
    origin_system_identifier: Option<i64>,
    origin_timeline: Option<i64>,
    origin_database: Option<i64>,
}

impl OriginRow {
    fn read(&self) -> Option<Origin> {
        Some(Origin {
            of: lineage(self.origin_system_identifier, self.origin_timeline)?,
            database: u32::try_from(self.origin_database?).ok()?,
        })
    }
}

/// What the target was when it had all rows, if the journal is not too old.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct WholeRow {
    whole_system_identifier: Option<i64>,
    whole_timeline: Option<i64>,
    whole_database: Option<i64>,
    whole_position: Option<i64>,
}

impl WholeRow {
    /// The same, read.
    pub(crate) fn read(&self) -> Option<Whole> {
        Some(Whole {
            of: lineage(self.whole_system_identifier, self.whole_timeline)?,
            database: u32::try_from(self.whole_database?).ok()?,
            position: self.whole_position?.cast_unsigned(),
        })
    }
}

impl TryFrom<MoveRow> for Move {
    type Error = Failure;

    fn try_from(row: MoveRow) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::new(what).at(format!("move {} in the journal", row.id));
        Ok(Self {
            id: row.id,
            shard: Shard::try_from(row.shard).map_err(|e| wrong(e.to_string()))?,
            source: NodeName::new(&row.source).map_err(|e| wrong(e.to_string()))?,
            target: NodeName::new(&row.target).map_err(|e| wrong(e.to_string()))?,
            kind: row.kind.parse().map_err(|e: UnknownWord| wrong(e.to_string()))?,
            rollback_of: row.rollback_of,
            state: row.state.parse().map_err(|e: UnknownWord| wrong(e.to_string()))?,
            schema: row.schema,
            way_back: row.way_back,
            shape: row.shape,
            seal: row.seal,
            followed: lineage(row.seal_system_identifier, row.seal_timeline),
            origin: row.origin.read(),
            whole: row.whole.read(),
            rules: row.rules,
            opening: row.opening,
            reopened: row.reopened,
            was_switched: row.was_switched,
            planned_us: row.planned_us,
            since_us: row.since_us,
            retired_us: row.retired_us,
            retiring: row.retiring,
            planned_by: row.planned_by,
            in_stream: None,
        })
    }
}

/// What was noted of the node that an old copy follows, if the journal is not too old.
pub(crate) fn lineage(system_identifier: Option<i64>, timeline: Option<i64>) -> Option<Lineage> {
    let timeline = u32::try_from(timeline?).ok()?;
    Some(Lineage { system_identifier: system_identifier?, timeline })
}

/// An object that will have to be removed.
#[derive(Debug, Clone)]
pub(crate) struct Leftover {
    pub(super) leftover: i64,
    pub(crate) node: NodeName,
    pub(crate) kind: LeftoverKind,
    pub(crate) name: String,
}
