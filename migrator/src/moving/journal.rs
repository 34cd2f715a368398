//! The journal of moves in the catalogue: read, written before each effect.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use shardid_cluster::{
    LeftoverKind, MoveEvent, MoveKind, MoveState, NodeName, Shard, UnknownWord, next_state,
};
use sqlx::Connection;

use super::server::{Server, Term};
use crate::cuts;
use crate::failure::Failure;
use crate::file::ClusterFile;
use crate::postgres::{failure, sql, who};

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
    pub(crate) planned_us: i64,
    pub(crate) since_us: i64,
    pub(crate) retired_us: Option<i64>,
    /// Whether the old copy is being dropped, or was.
    pub(crate) retiring: bool,
    pub(crate) planned_by: String,
}

impl Move {
    /// The name of publication, slot and subscription that fill the target.
    pub(crate) fn stream(&self) -> String {
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

    /// Whether the old copy follows, to be gone back to.
    pub(crate) fn can_roll_back(&self) -> bool {
        self.has_old_copy() && self.way_back && !self.retiring
    }
}

#[derive(sqlx::FromRow)]
struct MoveRow {
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
            planned_us: row.planned_us,
            since_us: row.since_us,
            retired_us: row.retired_us,
            retiring: row.retiring,
            planned_by: row.planned_by,
        })
    }
}

/// An object that will have to be removed.
#[derive(Debug, Clone)]
pub(crate) struct Leftover {
    leftover: i64,
    pub(crate) node: NodeName,
    pub(crate) kind: LeftoverKind,
    pub(crate) name: String,
}

/// How long a program waits for the lock of a move, and how often it tries: the
/// server takes a moment to notice that one which had it was killed.
const LOCK_MAX: Duration = Duration::from_secs(5);
const LOCK_EVERY: Duration = Duration::from_millis(50);

/// The catalogue, for as long as a session lasts.
pub(crate) struct Journal {
    pub(crate) server: Server,
    /// The move that is worked on, and the term by which.
    hand: Option<(i64, i64)>,
}

impl Journal {
    /// Connects to the catalogue.
    pub(crate) async fn open(file: &ClusterFile) -> Result<Self, Failure> {
        Ok(Self { server: Server::connect(file, &file.declared.catalog).await?, hand: None })
    }

    /// Connects to the catalogue to look: the server forbids a change.
    pub(crate) async fn look(file: &ClusterFile) -> Result<Self, Failure> {
        Ok(Self { server: Server::look(file, &file.declared.catalog).await?, hand: None })
    }

    /// Writes a move down. Somebody else's move of the shard is in the way.
    #[allow(clippy::too_many_arguments)]
    pub(crate) async fn plan(
        &mut self,
        shard: Shard,
        source: &NodeName,
        target: &NodeName,
        rollback_of: Option<i64>,
        schema: &str,
        way_back: bool,
    ) -> Result<i64, Failure> {
        let kind = rollback_of.map_or(MoveKind::Copy, |_| MoveKind::Rollback);
        cuts::at(format_args!("plan/before"));
        let query = sqlx::query_scalar(sql!("move/journal/plan.sql"))
            .bind(shard.as_sql())
            .bind(source.as_str())
            .bind(target.as_str())
            .bind(kind.as_str())
            .bind(rollback_of)
            .bind(schema)
            .bind(way_back)
            .bind(who());
        match query.fetch_optional(&mut self.server.connection).await {
            Ok(Some(id)) => Ok(id),
            Ok(None) => {
                let home = sqlx::query_scalar(sql!("move/journal/home_of.sql"));
                let home: Vec<String> = self.server.column(home.bind(shard.as_sql())).await?;
                if home.first().is_none_or(|home| home != source.as_str()) {
                    return Err(Failure::new(format!("shard {shard} is not on {source} any more"))
                        .hint("`shardid map` shows where each shard is"));
                }
                let earlier = rollback_of.unwrap_or_default();
                Err(Failure::new(format!("the old copy of move {earlier} is not there any more"))
                    .hint(format!("`shardid move {shard} --to {target}` takes it back")))
            }
            Err(error) if crate::postgres::is_sqlstate(&error, "23505") => {
                Err(Failure::new(format!("shard {shard} is already being moved"))
                    .hint("`shardid moves` shows it, with what can be done"))
            }
            Err(error) => Err(failure(&self.server.node, &error)),
        }
    }

    /// A move by its number.
    pub(crate) async fn read(&mut self, id: i64) -> Result<Move, Failure> {
        let row: Option<MoveRow> =
            self.server.row(sqlx::query_as(sql!("move/journal/read.sql")).bind(id)).await?;
        row.ok_or_else(|| {
            Failure::new(format!("there is no move {id}")).hint("`shardid moves` lists them")
        })?
        .try_into()
    }

    /// Moves, the latest last; of those that are over only the last `over_max`.
    pub(crate) async fn list(&mut self, over_max: i64) -> Result<Vec<Move>, Failure> {
        let rows: Vec<MoveRow> =
            self.server.rows(sqlx::query_as(sql!("move/journal/list.sql")).bind(over_max)).await?;
        rows.into_iter().map(Move::try_from).collect()
    }

    /// How long moves were in each state, in milliseconds and order.
    pub(crate) async fn log(
        &mut self,
        moves: &[Move],
    ) -> Result<BTreeMap<i64, Vec<(String, i64)>>, Failure> {
        let ids: Vec<i64> = moves.iter().map(|m| m.id).collect();
        let rows: Vec<(i64, String, i64)> =
            self.server.rows(sqlx::query_as(sql!("move/journal/log.sql")).bind(ids)).await?;
        let mut log: BTreeMap<i64, Vec<(String, i64)>> = BTreeMap::new();
        for (id, state, ms) in rows {
            log.entry(id).or_default().push((state, ms));
        }
        Ok(log)
    }

    /// Makes sure that nobody else works on moves of a shard as long as this session lasts.
    pub(crate) async fn lock(&mut self, shard: Shard) -> Result<(), Failure> {
        let deadline = Instant::now() + LOCK_MAX;
        while Instant::now() < deadline {
            let query = sqlx::query_scalar(sql!("move/journal/lock.sql")).bind(shard.as_sql());
            if self.server.column::<bool>(query).await? == [true] {
                return Ok(());
            }
            tokio::time::sleep(LOCK_EVERY).await;
        }
        Err(Failure::new(format!("somebody else is working on a move of shard {shard}"))
            .hint("wait for it to end: `shardid moves`"))
    }

    /// Begins to work on a move: locks its shard, and reads it.
    pub(crate) async fn begin(&mut self, id: i64) -> Result<Move, Failure> {
        let shard = self.read(id).await?.shard;
        self.lock(shard).await?;
        self.read(id).await
    }

    /// Claims the shard of a move on these nodes, and the move itself, for a term of ours.
    ///
    /// The lock keeps a second program out as long as the session that has it lasts; the
    /// term does after that, and for what a server does late. With the term the move is
    /// read again: from then on nobody else takes it further.
    pub(crate) async fn claim(
        &mut self,
        record: &mut Move,
        servers: &mut [&mut Server],
    ) -> Result<(), Failure> {
        let mut known = 0;
        'again: loop {
            let number = match self.hand {
                Some((id, number)) if id == record.id && known == 0 => number,
                _ => self.draw_term(record, known).await?,
            };
            for server in servers.iter_mut() {
                cuts::at(format_args!("claim/before-{}", server.node));
                known = server.claim(Term { shard: record.shard, number }).await?;
                if known != number {
                    // Another program's, unless the catalogue is older than the node.
                    continue 'again;
                }
            }
            return Ok(());
        }
    }

    /// Draws a term above one that a node knows, and has the move for it.
    async fn draw_term(&mut self, record: &mut Move, above: i64) -> Result<i64, Failure> {
        cuts::at(format_args!("claim/before-term"));
        let id = record.id;
        let node = self.server.node.clone();
        let said = |error: sqlx::Error| failure(&node, &error);
        let mut transaction = self.server.connection.begin().await.map_err(said)?;
        let number: Option<i64> = sqlx::query_scalar(sql!("move/journal/draw_term.sql"))
            .bind(above)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(|error| match crate::postgres::is_sqlstate(&error, "42703") {
                true => Failure::new("the catalogue is older than this program")
                    .at(format!("node {node}"))
                    .hint("`shardid apply` brings it up to date"),
                false => said(error),
            })?;
        let number = number.ok_or_else(|| overtaken(id))?;
        let taken: Option<i64> = sqlx::query_scalar(sql!("move/journal/take.sql"))
            .bind(id)
            .bind(number)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(said)?;
        let row: MoveRow = sqlx::query_as(sql!("move/journal/read.sql"))
            .bind(taken.ok_or_else(|| overtaken(id))?)
            .fetch_one(&mut *transaction)
            .await
            .map_err(said)?;
        transaction.commit().await.map_err(said)?;
        *record = row.try_into()?;
        self.hand = Some((id, number));
        Ok(number)
    }

    /// Writes something down, unless another program has taken the move over.
    async fn note(
        &mut self,
        query: sqlx::query::Query<'_, sqlx::Postgres, sqlx::postgres::PgArguments>,
    ) -> Result<(), Failure> {
        let (id, term) = self.hand()?;
        let node = self.server.node.clone();
        let said = |error: sqlx::Error| failure(&node, &error);
        let mut transaction = self.server.connection.begin().await.map_err(said)?;
        let held: Option<i64> = sqlx::query_scalar(sql!("move/journal/hold.sql"))
            .bind(id)
            .bind(term)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(said)?;
        if held.is_none() {
            return Err(overtaken(id));
        }
        query.execute(&mut *transaction).await.map_err(said)?;
        transaction.commit().await.map_err(said)
    }

    /// The move that is worked on, and the term.
    fn hand(&self) -> Result<(i64, i64), Failure> {
        self.hand.ok_or_else(|| Failure::new("no move was begun in the journal"))
    }

    /// Takes a move to the state that follows an event, from the one that the record has,
    /// if the catalogue still has that. The switch places the shard in the map by the same
    /// transaction.
    pub(crate) async fn advance(
        &mut self,
        record: &mut Move,
        event: MoveEvent,
    ) -> Result<(), Failure> {
        let next = next_state(record.kind, record.state, event).map_err(|refusal| {
            let (id, state) = (record.id, record.state);
            let failure = Failure::new(format!("move {id}: {refusal}"));
            match state {
                MoveState::Done => failure.hint(format!("`shardid rollback {id}` goes back")),
                state if state.is_over() => failure,
                _ => failure.hint(format!("`shardid resume {id}` goes on")),
            }
        })?;
        let (_, term) = self.hand()?;
        let node = self.server.node.clone();
        let said = |error: sqlx::Error| failure(&node, &error);
        let mut transaction = self.server.connection.begin().await.map_err(said)?;
        let moved: Option<i64> = sqlx::query_scalar(sql!("move/journal/advance.sql"))
            .bind(record.id)
            .bind(record.state.as_str())
            .bind(next.as_str())
            .bind(term)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(said)?;
        if moved.is_none() {
            return Err(overtaken(record.id));
        }
        if next == MoveState::Switched {
            let version: i64 = sqlx::query_scalar(sql!("move/journal/switch_catalog.sql"))
                .fetch_one(&mut *transaction)
                .await
                .map_err(said)?;
            let placed = sqlx::query(sql!("move/journal/switch_map.sql"))
                .bind(record.shard.as_sql())
                .bind(record.source.as_str())
                .bind(record.target.as_str())
                .bind(version)
                .execute(&mut *transaction)
                .await
                .map_err(said)?;
            if placed.rows_affected() != 1 {
                return Err(Failure::new(format!(
                    "the map does not have shard {} on node {} any more",
                    record.shard, record.source
                )));
            }
            for statement in
                [sql!("move/journal/switch_keep.sql"), sql!("move/journal/switch_leave.sql")]
            {
                sqlx::query(statement)
                    .bind(record.id)
                    .bind(record.source.as_str())
                    .bind(record.target.as_str())
                    .bind(record.schema.as_str())
                    .execute(&mut *transaction)
                    .await
                    .map_err(said)?;
            }
            sqlx::query(sql!("apply/write_history.sql"))
                .bind(version)
                .bind(who())
                .bind(format!(
                    "move {}: shard {} from {} to {}",
                    record.id, record.shard, record.source, record.target
                ))
                .execute(&mut *transaction)
                .await
                .map_err(said)?;
            sqlx::query(sql!("apply/notify.sql"))
                .bind(version)
                .execute(&mut *transaction)
                .await
                .map_err(said)?;
        }
        transaction.commit().await.map_err(said)?;
        record.state = next;
        Ok(())
    }

    /// Notes what the tables looked like when they were copied.
    pub(crate) async fn note_shape(&mut self, id: i64, shape: &str) -> Result<(), Failure> {
        self.note(sqlx::query(sql!("move/journal/shape.sql")).bind(id).bind(shape)).await
    }

    /// Notes from which position of the target on the old copy is to follow.
    pub(crate) async fn note_seal(&mut self, id: i64, seal: &str) -> Result<(), Failure> {
        self.note(sqlx::query(sql!("move/journal/seal.sql")).bind(id).bind(seal)).await
    }

    /// The version of the map that placed a shard where it is.
    pub(crate) async fn version_of(&mut self, shard: Shard) -> Result<i64, Failure> {
        let query = sqlx::query_scalar(sql!("move/journal/version_of.sql")).bind(shard.as_sql());
        let version = self.server.column(query).await?;
        version.first().copied().ok_or_else(|| Failure::new(format!("shard {shard} has no place")))
    }

    /// Notes an object before it is made.
    pub(crate) async fn leave(
        &mut self,
        id: i64,
        node: &NodeName,
        kind: LeftoverKind,
        name: &str,
    ) -> Result<(), Failure> {
        let query = sqlx::query(sql!("move/journal/leave.sql"))
            .bind(id)
            .bind(node.as_str())
            .bind(kind.as_str())
            .bind(name);
        self.note(query).await?;
        cuts::at(format_args!("left/{kind}"));
        Ok(())
    }

    /// What a move has left, the last made first.
    pub(crate) async fn leftovers(&mut self, id: i64) -> Result<Vec<Leftover>, Failure> {
        let query = sqlx::query_as(sql!("move/journal/leftovers.sql")).bind(id);
        let rows: Vec<(i64, String, String, String)> = self.server.rows(query).await?;
        let left = |(leftover, node, kind, name): (i64, String, String, String)| {
            let wrong = |what: String| {
                Failure::new(what).at(format!("leftover {leftover} of move {id} in the journal"))
            };
            Ok(Leftover {
                leftover,
                node: NodeName::new(&node).map_err(|e| wrong(e.to_string()))?,
                kind: kind.parse().map_err(|e: UnknownWord| wrong(e.to_string()))?,
                name,
            })
        };
        rows.into_iter().map(left).collect()
    }

    /// Notes that an object is gone.
    pub(crate) async fn removed(&mut self, left: &Leftover) -> Result<(), Failure> {
        cuts::at(format_args!("gone/{}", left.kind));
        self.note(sqlx::query(sql!("move/journal/removed.sql")).bind(left.leftover)).await
    }

    /// Writes down that the old copy of a move is being dropped; false where it is gone
    /// back to.
    pub(crate) async fn begin_retire(&mut self, id: i64) -> Result<bool, Failure> {
        let (_, term) = self.hand()?;
        let node = self.server.node.clone();
        let said = |error: sqlx::Error| failure(&node, &error);
        let mut transaction = self.server.connection.begin().await.map_err(said)?;
        sqlx::query(sql!("move/journal/hold_alone.sql"))
            .bind(id)
            .execute(&mut *transaction)
            .await
            .map_err(said)?;
        let begun: Option<i64> = sqlx::query_scalar(sql!("move/journal/begin_retire.sql"))
            .bind(id)
            .bind(term)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(said)?;
        transaction.commit().await.map_err(said)?;
        Ok(begun.is_some())
    }

    /// Notes that the old copy of a move is gone.
    pub(crate) async fn retired(&mut self, id: i64) -> Result<(), Failure> {
        self.note(sqlx::query(sql!("move/journal/retired.sql")).bind(id)).await
    }
}

/// Another program has begun to work on a move.
pub(super) fn overtaken(id: i64) -> Failure {
    Failure::new(format!("somebody else has begun to work on move {id}"))
        .hint("look again with `shardid moves`")
}
